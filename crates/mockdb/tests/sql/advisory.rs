//! Advisory locks exclude one another, end when they should, and never leave sessions waiting in a cycle.

use super::{Test, state};
use skew_mockdb::{ChooserKind, Level, Options};
use skew_sql::{Interrupt, Stop};
use skew_value::Datum;

fn test() -> Test {
    Test::new(Options::new(Level::ReadCommitted, 1), ChooserKind::Latest, &[])
}

const WAITS: Stop = Stop::Interrupted(Interrupt::Wait);

#[test]
fn a_session_holds_an_advisory_lock_until_it_gives_it_back_as_often_as_it_took_it() {
    let mut test = test();
    let (mut one, mut two) = (test.connect("one"), test.connect("two"));
    test.run(&mut one, "SELECT pg_advisory_lock(7)").unwrap();
    test.run(&mut one, "SELECT pg_advisory_lock(7)").unwrap();
    assert_eq!(test.value(&mut two, "SELECT pg_try_advisory_lock(7)"), Datum::Boolean(false));
    assert_eq!(test.value(&mut two, "SELECT pg_try_advisory_lock(0, 7)"), Datum::Boolean(true));
    assert_eq!(test.run(&mut two, "SELECT pg_advisory_lock(7)"), Err(WAITS));
    assert_eq!(test.value(&mut one, "SELECT pg_advisory_unlock(7)"), Datum::Boolean(true));
    assert_eq!(test.database.store.take_woken(), []);
    assert_eq!(test.value(&mut one, "SELECT pg_advisory_unlock(7)"), Datum::Boolean(true));
    assert_eq!(test.database.store.take_woken(), [two.id()]);
    test.run(&mut two, "SELECT pg_advisory_lock(7)").unwrap();
    assert_eq!(test.value(&mut one, "SELECT pg_advisory_unlock(7)"), Datum::Boolean(false));
    two.close(&mut test.database);
    assert_eq!(test.value(&mut one, "SELECT pg_try_advisory_lock(7)"), Datum::Boolean(true));
}

#[test]
fn the_lock_of_a_transaction_ends_with_it_and_shared_ones_stand_side_by_side() {
    let mut test = test();
    let (mut one, mut two) = (test.connect("one"), test.connect("two"));
    test.run(&mut one, "BEGIN").unwrap();
    test.run(&mut one, "SELECT pg_advisory_xact_lock_shared(1)").unwrap();
    assert_eq!(test.value(&mut two, "SELECT pg_try_advisory_xact_lock_shared(1)"), Datum::Boolean(true));
    assert_eq!(test.run(&mut two, "SELECT pg_advisory_xact_lock(1)"), Err(WAITS));
    test.run(&mut one, "ROLLBACK").unwrap();
    assert_eq!(test.database.store.take_woken(), [two.id()]);
    test.run(&mut two, "SELECT pg_advisory_xact_lock(1)").unwrap();
    assert_eq!(test.value(&mut one, "SELECT pg_try_advisory_lock(1)"), Datum::Boolean(true));
}

#[test]
fn two_sessions_that_wait_for_each_other_are_told_so() {
    let mut test = test();
    let (mut one, mut two) = (test.connect("one"), test.connect("two"));
    for connection in [&mut one, &mut two] {
        test.run(connection, "BEGIN").unwrap();
    }
    test.run(&mut one, "SELECT pg_advisory_xact_lock(1)").unwrap();
    test.run(&mut two, "SELECT pg_advisory_xact_lock(2)").unwrap();
    assert_eq!(test.run(&mut one, "SELECT pg_advisory_xact_lock(2)"), Err(WAITS));
    assert_eq!(test.run(&mut two, "SELECT pg_advisory_xact_lock(1)"), Err(Stop::Interrupted(Interrupt::Deadlock)));
    test.run(&mut one, "SELECT pg_advisory_xact_lock(2)").unwrap();
    assert_eq!(state(test.run(&mut two, "SELECT 1")), "25P02");
}
