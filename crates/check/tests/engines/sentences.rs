//! What the definition says about programs that people write, each as a sentence.
//!
//! The simulators are asked, too: what is said here is said by both.

use crate::program::Program;
use crate::run::{Code, End, Run, Saw, Source, What};
use crate::{candidates, serial, simulate};
use skew_history::EngineLevel::{self, *};
use skew_history::StatementKind;
use std::collections::BTreeSet;

/// All runs of a program at a level, about which simulator and definition agree.
fn runs(text: &str, level: EngineLevel) -> BTreeSet<Run> {
    let program = Program::parse(text);
    let levels = vec![level; program.scripts().count()];
    if level == PostgresSerializable {
        let allowed = candidates::allowed_runs(&program, &levels, false, usize::MAX).expect("no limit");
        let mut shown = simulate(&program, &levels);
        shown.retain(|run| !run.is_refused() && serial::is_serializable(&program, run));
        assert_eq!(shown, allowed, "{level}: {text}");
        return allowed;
    }
    let allowed = candidates::allowed_runs(&program, &levels, true, usize::MAX).expect("no limit");
    assert_eq!(simulate(&program, &levels), allowed, "{level}: {text}");
    allowed
}

/// Whether some INSERT of a run found the key taken.
fn has_duplicate(run: &Run) -> bool {
    let is_duplicate = |saw: &Saw| saw.kind == StatementKind::Insert && matches!(saw.what, What::Read(_, Some(_)));
    run.0.iter().any(|told| told.events.iter().any(is_duplicate))
}

fn is_refused_with(run: &Run, code: Code) -> bool {
    run.0.iter().any(|told| matches!(told.end, End::Refused(_, with) if with == code))
}

/// Whether all transactions of a run came after one another.
fn is_serial(text: &str, run: &Run) -> bool {
    serial::is_serializable(&Program::parse(text), run)
}

/// Whether the first statement of everybody found nothing in the initial state.
fn found_nothing_first(run: &Run) -> bool {
    let found_nothing = |saw: &Saw| saw.what == What::Read(Source::Initial, None);
    run.0.iter().all(|told| told.events.first().is_some_and(found_nothing))
}

const TEXTBOOK_UPSERT: &str = "absent x: update x; insert x || update x; insert x";

#[test]
fn textbook_upsert_meets_a_duplicate_at_postgres_below_serializable() {
    for level in [PostgresReadCommitted, PostgresRepeatableRead] {
        assert!(runs(TEXTBOOK_UPSERT, level).iter().any(has_duplicate), "{level}");
    }
    let serializable = runs(TEXTBOOK_UPSERT, PostgresSerializable);
    assert!(!serializable.iter().any(|run| found_nothing_first(run) && has_duplicate(run)));
}

#[test]
fn against_a_blind_insert_the_textbook_upsert_meets_a_duplicate_at_postgres_serializable_too() {
    let text = "absent x: update x; insert x || insert x";
    let found_nothing = |run: &Run| run.0[0].events[0].what == What::Read(Source::Initial, None);
    assert!(runs(text, PostgresSerializable).iter().any(|run| found_nothing(run) && run.0[0].events.len() == 2));
}

#[test]
fn textbook_upsert_meets_a_duplicate_at_mysql_read_committed_and_a_deadlock_above() {
    assert!(runs(TEXTBOOK_UPSERT, MysqlReadCommitted).iter().any(has_duplicate));
    for level in [MysqlRepeatableRead, MysqlSerializable] {
        let runs = runs(TEXTBOOK_UPSERT, level);
        assert!(runs.iter().any(|run| is_refused_with(run, Code::Deadlock)), "{level}");
        assert!(!runs.iter().any(|run| found_nothing_first(run) && has_duplicate(run)), "{level}");
    }
}

#[test]
fn at_postgres_repeatable_read_a_duplicate_is_met_that_the_snapshot_does_not_have() {
    let text = "absent x: select x; insert x || select x; insert x";
    assert!(runs(text, PostgresRepeatableRead).iter().any(|run| found_nothing_first(run) && has_duplicate(run)));
}

const LOCK_THEN_COUNT: &str = "absent y z: for-update x; select y z; insert y || for-update x; select y z; insert z";

#[test]
fn locking_the_parent_then_counting_is_right_at_postgres_read_committed_and_wrong_at_repeatable_read() {
    assert!(runs(LOCK_THEN_COUNT, PostgresReadCommitted).iter().all(|run| is_serial(LOCK_THEN_COUNT, run)));
    assert!(!runs(LOCK_THEN_COUNT, PostgresRepeatableRead).iter().all(|run| is_serial(LOCK_THEN_COUNT, run)));
    assert!(runs(LOCK_THEN_COUNT, PostgresSerializable).iter().all(|run| is_serial(LOCK_THEN_COUNT, run)));
}

#[test]
fn locking_the_parent_then_counting_is_right_at_mysql_unless_a_plain_read_came_before() {
    for level in [MysqlReadCommitted, MysqlRepeatableRead, MysqlSerializable] {
        assert!(
            runs(LOCK_THEN_COUNT, level).iter().all(|run| run.is_refused() || is_serial(LOCK_THEN_COUNT, run)),
            "{level}"
        );
    }
    let text =
        "absent y z: select x; for-update x; select y z; insert y || select x; for-update x; select y z; insert z";
    assert!(!runs(text, MysqlRepeatableRead).iter().all(|run| run.is_refused() || is_serial(text, run)));
}

#[test]
fn deleting_and_inserting_again_makes_a_waiting_update_find_nothing_at_postgres_read_committed() {
    let text = "delete x; insert x || update x";
    let is_lost = |run: &Run| run.0[1].events.iter().any(|saw| saw.what == What::Gone(0));
    assert!(runs(text, PostgresReadCommitted).iter().any(is_lost));
    for level in EngineLevel::ALL.into_iter().filter(|level| *level != PostgresReadCommitted) {
        assert!(!runs(text, level).iter().any(is_lost), "{level}");
    }
}

#[test]
fn a_write_orders_what_its_transaction_reads_later_and_not_what_it_read_before() {
    // t1 updated x after t0, which had committed z before: t1 sees it after the update.
    let later = "update z; update x || update x; select z";
    let before = "update z; update x || select z; update x";
    let is_stale = |run: &Run| {
        let events = &run.0[1].events;
        let reads = |row: u8| events.iter().find(|saw| saw.cell.row == row).map(|saw| saw.what);
        reads(0) == Some(What::Read(Source::Of(0), Some(0))) && reads(2) == Some(What::Read(Source::Initial, Some(0)))
    };
    for level in [PostgresReadCommitted, MysqlReadCommitted, MysqlRepeatableRead] {
        assert!(!runs(later, level).iter().any(is_stale), "{level}");
        assert!(runs(before, level).iter().any(is_stale), "{level}");
    }
}

#[test]
fn at_mysql_repeatable_read_an_update_is_lost_when_the_read_was_plain_and_not_when_it_locks() {
    let plain = "select x; update x || select x; update x";
    let locking = "for-update x; update x || for-update x; update x";
    assert!(!runs(plain, MysqlRepeatableRead).iter().all(|run| is_serial(plain, run)));
    assert!(runs(locking, MysqlRepeatableRead).iter().all(|run| is_serial(locking, run)));
}

#[test]
fn one_session_alone_is_right_at_every_engine_level() {
    for text in [
        "update x; select x | select x; delete x | insert x; select x",
        "absent y: insert y; update x y if 0 set 1; select x y | delete x if 1; upsert x; for-share x; ignore y",
    ] {
        for level in EngineLevel::ALL {
            let runs = runs(text, level);
            assert_eq!(runs.len(), 1, "{level}: {text}");
            assert!(!runs.iter().any(Run::is_refused), "{level}: {text}");
        }
    }
}

#[test]
fn at_postgres_read_committed_an_update_that_waited_sees_its_row_new_and_the_rest_of_the_statement_old() {
    // One statement over two rows: x is what t0 left, y, which t0 inserted, is not there yet.
    let text = "absent y: update x; insert y || update x y";
    let is_half_old = |run: &Run| {
        let events = &run.0[1].events;
        events[0].what == What::Read(Source::Of(0), Some(0)) && events[2].what == What::Read(Source::Initial, None)
    };
    assert!(runs(text, PostgresReadCommitted).iter().any(is_half_old));
    assert!(!runs(text, MysqlReadCommitted).iter().any(is_half_old));
}

#[test]
fn postgres_serializable_takes_no_notice_of_a_row_that_on_conflict_do_nothing_found() {
    // Live: both commit, and neither can have come after the other.
    let text = "ignore x; update y || select y; delete x";
    let is_skewed = |run: &Run| {
        run.0[0].events[0].what == What::Read(Source::Initial, Some(0))
            && run.0[1].events[0].what == What::Read(Source::Initial, Some(0))
    };
    assert!(runs(text, PostgresSerializable).iter().any(is_skewed));
}

#[test]
fn repeatable_read_has_histories_that_read_committed_lacks() {
    for (text, repeatable, committed) in [
        ("delete x || insert x; select x", PostgresRepeatableRead, PostgresReadCommitted),
        ("select y; for-update x; select z || update z; update x", MysqlRepeatableRead, MysqlReadCommitted),
    ] {
        let (repeatable, committed) = (runs(text, repeatable), runs(text, committed));
        assert!(repeatable.difference(&committed).any(|run| !run.is_refused()), "{text}");
    }
}
