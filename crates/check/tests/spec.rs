//! The oracle, and the fast checker beside it, against the examples that everybody knows.
//!
//! ```text
//!   examples        one line of notation, and the levels at which it holds
//!   counts          how many of all conceivable histories of a tiny program a level allows
//! ```
//!
//! What the oracle has to say about random histories is in `spec_properties.rs`.

use skew_check::{Budget, check, spec};
use skew_history::builder::ClaimedWriter;
use skew_history::{History, HistoryBuilder, IsolationLevel, IsolationLevel::*, Value, notation};

/// What the oracle says, and the fast checker with it.
fn satisfies(history: &History, level: IsolationLevel) -> bool {
    let holds = spec::satisfies(history, level);
    if skew_check::cannot_ask(history, level).is_none() {
        let fast = check(history, level, Budget::UNLIMITED);
        assert_eq!(fast.word(), if holds { "holds" } else { "fails" }, "{level} of\n{}", notation::write(history));
    }
    holds
}

/// Seven letters, one per level from read-committed to serializable: `+` holds, `-` fails.
fn verdicts(history: &History) -> String {
    let letter = |level| if satisfies(history, level) { '+' } else { '-' };
    IsolationLevel::of_papers().map(letter).collect()
}

fn parse(text: &str) -> History {
    notation::parse(text).expect(text)
}

/// Asserts the verdicts at `rc ra cc pc psi si ser`.
#[track_caller]
fn expect(verdict: &str, text: &str) {
    assert_eq!(verdicts(&parse(text)), verdict, "rc ra cc pc psi si ser of {text}");
}

const EVERYWHERE: &str = "+++++++";
const NOWHERE: &str = "-------";

// What separates neighbours.

#[test]
fn lost_update_is_allowed_up_to_prefix() {
    expect("++++---", "r(x,init) w(x,1); r(x,init) w(x,2)");
}

#[test]
fn a_row_that_was_found_may_be_any_version_that_is_there() {
    // Of two versions, the one that makes it right; without `found` it is the one that was read.
    expect(EVERYWHERE, "w(x,1) w(y,1); w(x,2) w(y,2); r(x,found) r(y,1)");
    expect("-------", "init(x,1)\na: w(x,nil) w(y,1); b: r(y,1) r(x,found)");
    expect(EVERYWHERE, "init(x,1)\na: w(x,nil) w(y,1); b: r(x,found) r(y,init)");
    expect("++++---", "init(x,1)\na: r(x,found) w(x,2); b: r(x,found)<-init w(x,nil); c: r(x,nil)");
    // Who wrote it may be said, and then it is that version.
    expect("+------", "a: w(x,1) | w(x,2); b: w(z,1); c: r(x,found)<-a#0 r(x,found)<-a#1");
    expect(NOWHERE, "a: w(x,nil); b: r(x,found)<-a#0");
    // Own writes come first, and only what is there is found.
    expect(EVERYWHERE, "w(x,1) r(x,found)");
    expect(NOWHERE, "init(x,5)\na: w(x,nil) r(x,found)");
}

#[test]
fn a_row_that_was_gone_is_a_version_that_its_writer_replaced() {
    expect(NOWHERE, "init(x,5)\na: w(x,nil) w(x,7); b: r(x,gone)@1:update<-a#0");
    expect(NOWHERE, "a: w(x,nil) w(x,7) w(x,nil); b: r(x,gone)<-a#0");
    expect(EVERYWHERE, "init(x,5)\na: w(x,nil) w(x,7); b: r(x,gone)@1:update<-a#0 !40001");
}

#[test]
fn write_skew_fails_serializable_only() {
    expect("++++++-", "r(x,init) r(y,init) w(x,1); r(x,init) r(y,init) w(y,2)");
}

#[test]
fn long_fork_is_allowed_by_psi() {
    expect("+++-+--", "w(x,1); w(y,2); r(x,1) r(y,init); r(x,init) r(y,2)");
}

#[test]
fn causality_violation_fails_causal() {
    expect("++-----", "w(x,1); r(x,1) w(y,2); r(y,2) r(x,init)");
}

#[test]
fn fractured_read_fails_read_atomic() {
    expect("+------", "w(x,1) w(y,2); r(x,init) r(y,2)");
    expect("+------", "w(x,0) w(y,0); r(x,0) r(y,0) w(x,1) w(y,2); r(x,0) r(y,2)");
}

#[test]
fn fractured_read_of_unordered_writers_is_allowed() {
    // The old version need not be the older one.
    expect(EVERYWHERE, "w(x,0); w(x,1) w(y,2); r(x,0) r(y,2)");
}

#[test]
fn fractured_read_with_the_new_value_first_fails_read_committed() {
    expect(NOWHERE, "w(x,1) w(y,2); r(y,2) r(x,init)");
}

#[test]
fn non_repeatable_read_fails_read_atomic() {
    expect("+------", "w(x,1); r(x,init) r(x,1)");
    expect("+------", "w(x,1) | w(x,2); r(x,1) r(x,2)");
}

#[test]
fn non_repeatable_read_of_new_then_old_fails_read_committed() {
    expect(NOWHERE, "w(x,1); r(x,1) r(x,init)");
    expect(NOWHERE, "w(x,1) | w(x,2); r(x,2) r(x,1)");
}

#[test]
fn read_only_anomaly_fails_serializable_only() {
    let writers = "r(x,init) r(y,init) w(x,1); r(y,init) w(y,2)";
    expect(EVERYWHERE, writers);
    expect("++++++-", &format!("{writers}; r(x,init) r(y,2)"));
}

#[test]
fn real_time_violations_fail_the_strong_levels_only() {
    let stale = parse("w(x,1) @1..2; r(x,init) @3..4");
    assert_eq!(verdicts(&stale), EVERYWHERE);
    assert!(!satisfies(&stale, StrongSnapshot) && !satisfies(&stale, StrictSerializable));
    // The same instant is no order; neither is an end that nobody knows.
    for text in ["w(x,1) @1..3; r(x,init) @3..4", "w(x,1) @1..; r(x,init) @3..4", "w(x,1) @1..2; r(x,init) @..4"] {
        assert!(satisfies(&parse(text), StrictSerializable), "{text}");
    }
}

#[test]
fn write_skew_fails_strict_serializable_and_holds_at_strong_snapshot() {
    let history = parse("r(x,init) r(y,init) w(x,1) @1..5; r(x,init) r(y,init) w(y,2) @2..6");
    assert!(satisfies(&history, StrongSnapshot) && !satisfies(&history, StrictSerializable));
}

#[test]
fn an_unknown_outcome_ends_at_infinity() {
    // t1 counts, because t3 read from it; yet t2 may have come before it.
    let text = "w(x,1) @1..2 ?; r(x,init) @3..4; r(x,1) @5..6";
    assert!(satisfies(&parse(text), StrictSerializable));
    assert!(!satisfies(&parse(&text.replace('?', "")), StrictSerializable));
}

#[test]
fn read_committed_lets_a_session_miss_its_own_earlier_write() {
    expect("+------", "w(x,1) | r(x,init)");
}

// The regressions of other checkers.

#[test]
fn the_initial_state_is_before_everything() {
    expect(EVERYWHERE, "w(x,1); r(x,1) r(x,1)");
    expect(NOWHERE, "w(x,1) | w(x,2) w(y,3); r(y,3) r(x,1)");
    expect(NOWHERE, "w(x,1) w(y,2); w(x,3) w(y,4); r(x,1) r(y,4); r(x,3) r(y,2)");
    expect("++-----", "w(x,1); r(x,1) | r(x,init)");
    expect(NOWHERE, "w(x,1) w(y,2); r(x,1) r(y,init)");
    expect("+------", "w(x,1) | r(x,init)");
}

#[test]
fn snapshot_is_not_prefix_and_psi_together() {
    expect("+++++--", "w(y,1) r(x,init); w(x,2) | r(y,init); w(y,3) r(x,init)");
}

#[test]
fn a_pair_ordered_only_by_commit_still_needs_its_version_order() {
    expect("++++---", "w(x,1) w(z,2); r(x,1) r(y,init); w(x,3) w(y,4) r(z,init)");
}

// Reads that no level allows.

#[test]
fn impossible_reads_violate_every_level() {
    for text in [
        "w(x,1) r(x,2); w(x,2)",        // internal
        "w(x,1) r(x,init)",             // internal
        "w(x,1) !; r(x,1)",             // aborted by the database
        "w(x,1) !!; r(x,1)",            // aborted by its program
        "w(x,1) w(x,2); r(x,1)",        // intermediate
        "r(x,7)",                       // thin air
        "r(x,1) w(x,1)",                // future, of its own
        "r(x,1) | w(x,1)",              // future
        "r(x,1) w(y,2); r(y,2) w(x,1)", // circular
    ] {
        expect(NOWHERE, text);
    }
}

#[test]
fn own_writes_are_read_and_the_last_of_several_is_visible() {
    expect(EVERYWHERE, "w(x,1) r(x,1) w(x,2) r(x,2); r(x,2)");
    expect(EVERYWHERE, "w(x,1) w(x,2) w(x,1); r(x,1)");
}

#[test]
fn a_database_abort_drops_the_reads_and_a_program_abort_keeps_them() {
    expect(EVERYWHERE, "r(x,7) !");
    expect(NOWHERE, "r(x,7) !!");
    expect("+------", "w(x,1) | r(x,init) !!");
    // Its writes are nobody's: no write conflict, and no lost update.
    expect(EVERYWHERE, "r(x,init) w(x,1); r(x,init) w(x,2) !!");
    // What it saw, its session has seen.
    expect("++-----", "w(x,1); r(x,1) !! | r(x,init)");
}

// Unknown outcomes.

#[test]
fn an_unknown_outcome_counts_when_it_was_read() {
    expect(EVERYWHERE, "r(x,7) w(x,1) ?");
    expect(NOWHERE, "r(x,7) w(x,1) ?; r(x,1)");
    expect("++++---", "r(x,init) w(x,1) ?; r(x,init) w(x,2); r(x,1)");
    expect(EVERYWHERE, "r(x,init) w(x,1) ?; r(x,init) w(x,2)");
}

#[test]
fn unknown_outcomes_are_a_least_fixpoint() {
    // b counts through a, c through b; d is dropped with its impossible read.
    expect(EVERYWHERE, "a: r(x,1); b: r(y,2) w(x,1) ?; c: w(y,2) ?; d: r(z,9) w(u,1) ?");
    expect(NOWHERE, "a: r(x,1); b: r(y,2) w(x,1) ?; c: r(z,9) w(y,2) ?");
    // Two that only read from each other do not lift themselves up.
    expect(EVERYWHERE, "r(y,2) w(x,1) ?; r(x,1) w(y,2) ?");
}

#[test]
fn a_reader_that_its_program_aborted_makes_an_unknown_outcome_count() {
    expect(EVERYWHERE, "w(x,1) ?; r(x,1) !!");
    expect(NOWHERE, "r(z,9) w(x,1) ?; r(x,1) !!");
    expect(EVERYWHERE, "r(z,9) w(x,1) ?; r(x,1) !");
}

// Values that repeat, and claims.

#[test]
fn a_repeated_value_may_come_from_any_writer() {
    // From t1 it would be a stale read of its own session; from t3 it is fine.
    expect("+------", "w(x,1) | w(x,2) | r(x,1)");
    expect(EVERYWHERE, "w(x,1) | w(x,2) | r(x,1); w(x,1)");
    // An aborted or intermediate write of the same value does no harm.
    expect(EVERYWHERE, "w(x,1); w(x,1) !; w(x,1) w(x,2); r(x,1)");
    expect(EVERYWHERE, "r(x,nil); w(x,nil)");
}

#[test]
fn ambiguous_reads_choose_together() {
    // Both readings explain one of the two reads; none explains both.
    expect("+------", "w(x,1) w(y,1) | w(x,2) w(y,2) | w(x,1) w(y,3) | r(x,1) r(y,1)");
}

#[test]
fn an_unknown_outcome_counts_only_in_readings_that_read_from_it() {
    // From the second writer the read is fine; from the first it would bring in a thin-air read.
    expect(EVERYWHERE, "r(z,9) w(x,1) ?; w(x,1); r(x,1)");
}

/// One reader of `x = 1`, which t1 and t2 wrote and t3 overwrote, with a claim.
fn claiming(value: i64, claim: Option<ClaimedWriter<'_>>) -> History {
    let mut builder = HistoryBuilder::new();
    let (x, one) = (builder.key("x"), builder.values().integer(1));
    let (two, read) = (builder.values().integer(2), builder.values().integer(value));
    for (session, id, written) in [("a", "t1", one), ("b", "t2", one), ("b", "t3", two)] {
        let session = builder.session(session);
        builder.begin(session, Some(id.into())).unwrap();
        builder.write(x, written);
    }
    let session = builder.session("b");
    builder.begin(session, Some("t4".into())).unwrap();
    builder.read(x, read);
    claim.into_iter().for_each(|claim| builder.claim(claim));
    builder.finish().unwrap()
}

#[test]
fn a_claim_names_the_only_candidate() {
    let from = |id: &'static str| Some(ClaimedWriter::Transaction(id.into()));
    assert_eq!(verdicts(&claiming(1, None)), EVERYWHERE);
    assert_eq!(verdicts(&claiming(1, from("t1"))), EVERYWHERE);
    assert_eq!(verdicts(&claiming(1, from("t2"))), "+------");
    assert_eq!(verdicts(&claiming(1, from("t3"))), NOWHERE, "t3 wrote 2");
    assert_eq!(verdicts(&claiming(1, from("t4"))), NOWHERE, "t4 wrote nothing");
    assert_eq!(verdicts(&claiming(1, Some(ClaimedWriter::Initial))), NOWHERE, "x was absent");
    assert_eq!(verdicts(&claiming(7, from("t1"))), NOWHERE, "nobody wrote 7");
}

#[test]
fn after_an_own_write_only_the_transaction_itself_may_be_claimed() {
    let history = |claim: &'static str, key: &'static str| {
        let mut builder = HistoryBuilder::new();
        let (x, one) = (builder.key(key), builder.values().integer(1));
        for id in ["t1", "t2"] {
            let session = builder.session(id);
            builder.begin(session, Some(id.into())).unwrap();
            builder.write(x, one);
        }
        builder.read(x, one);
        builder.claim(ClaimedWriter::Transaction(claim.into()));
        builder.finish().unwrap()
    };
    assert_eq!(verdicts(&history("t2", "x")), EVERYWHERE);
    assert_eq!(verdicts(&history("t1", "x")), NOWHERE);
}

// Range reads.

#[test]
fn counting_then_inserting_holds_at_snapshot_only() {
    expect("++++++-", "scan(p/:) w(p/1,1); scan(p/:) w(p/2,1)");
    expect(EVERYWHERE, "scan(p/:) w(p/1,1); scan(p/: p/1=1) w(p/2,1)");
}

#[test]
fn a_deleted_key_is_absent_for_a_scan() {
    expect(EVERYWHERE, "w(p/1,1) | w(p/1,nil) | scan(p/:)");
    expect(EVERYWHERE, "w(p/1,1); w(p/1,nil); scan(p/:)");
    expect("+------", "w(p/1,1) | scan(p/:)");
}

// Locking reads.

/// Over all ways for two sessions to read `x` from the initial state or from each other, in a transaction of `reads` (true is
/// locking) and then a write of `x`: how many histories each level allows.
fn count_updates(reads: &[bool]) -> [usize; 7] {
    let mut counts = [0; 7];
    for choice in 0..1u32 << (2 * reads.len()) {
        let session = |own: usize| {
            let returned = |place: usize| match choice >> (own * reads.len() + place) & 1 {
                0 => "init".to_owned(),
                _ => format!("{}", 2 - own),
            };
            let read = |place: usize| format!("{}r(x,{}) ", if reads[place] { "lock " } else { "" }, returned(place));
            (0..reads.len()).map(read).collect::<String>() + &format!("w(x,{})", own + 1)
        };
        let history = parse(&format!("{}; {}", session(0), session(1)));
        for (count, level) in counts.iter_mut().zip(IsolationLevel::of_papers()) {
            *count += usize::from(satisfies(&history, level));
        }
    }
    counts
}

#[test]
fn select_then_update_has_as_many_histories_as_the_definitions_say() {
    assert_eq!(count_updates(&[false, true]), [4, 4, 4, 4, 2, 2, 2]);
    assert_eq!(count_updates(&[false, false]), [5, 3, 3, 3, 2, 2, 2]);
}

#[test]
fn an_atomic_increment_is_never_lost() {
    assert_eq!(count_updates(&[true]), [2; 7]);
    assert_eq!(count_updates(&[false]), [3, 3, 3, 3, 2, 2, 2]);
}

#[test]
fn a_locking_read_does_not_bind_the_plain_reads_of_its_transaction() {
    // From psi up it does.
    expect("++++---", "w(x,1) w(y,2); lock r(x,1) r(y,init)");
    expect(NOWHERE, "w(x,1) w(y,2); r(x,1) r(y,init)");
    expect("++++---", "w(x,1); r(x,init) lock r(x,1)");
    // For others it is a read like any other.
    expect("++-----", "w(x,1); lock r(x,1) w(y,2); r(y,2) r(x,init)");
    expect(NOWHERE, "w(x,1) | lock r(x,init)");
}

#[test]
fn a_cycle_of_locking_reads_fails_every_level() {
    expect(NOWHERE, "lock r(x,init) w(y,1); lock r(y,init) w(x,2)");
    expect("++++++-", "lock r(x,init) w(y,1); r(y,init) w(x,2)");
}

// Mixed levels.

#[test]
fn each_transaction_is_held_to_its_own_level() {
    let holds = |text: &str| satisfies(&parse(text), Declared);
    assert!(!holds("w(x,1) @ser | r(x,init) @ra"));
    assert!(holds("w(x,1) @ser | r(x,init) @rc"));
    // Write skew needs one of the two to be careful.
    assert!(holds("r(x,init) r(y,init) w(x,1) @si; r(x,init) r(y,init) w(y,2) @si"));
    assert!(!holds("r(x,init) r(y,init) w(x,1) @ser; r(x,init) r(y,init) w(y,2) @ser"));
    assert!(holds("r(x,init) r(y,init) w(x,1) @ser; r(x,init) r(y,init) w(y,2) @si"));
    // Lost update: whoever comes second must not be at snapshot.
    assert!(holds("r(x,init) w(x,1) @si; r(x,init) w(x,2) @pc"));
    assert!(!holds("r(x,init) w(x,1) @si; r(x,init) w(x,2) @si"));
    assert!(!holds("r(x,init) w(x,1) @si; r(x,init) w(x,2) @pc; r(x,2) r(x,1) @rc"));
}

#[test]
fn psi_is_declared_by_all_or_not_at_all() {
    let holds = |text: &str| satisfies(&parse(text), Declared);
    assert!(holds("w(x,1) @psi; w(y,2) @psi; r(x,1) r(y,init) @psi; r(x,init) r(y,2) @psi"));
    assert!(!holds("r(x,init) w(x,1) @psi; r(x,init) w(x,2) @psi"));
}

// Lists.

#[test]
fn lists_are_prefixes_of_one_another() {
    expect(EVERYWHERE, "append(x,1); append(x,2); r(x,[1]); r(x,[1 2])");
    expect(NOWHERE, "append(x,1); append(x,2); r(x,[1 2]); r(x,[2])");
    expect(NOWHERE, "append(x,1); append(x,2); r(x,[1 2]); r(x,[2 1])");
}

#[test]
fn the_order_of_a_list_is_part_of_every_commit_order() {
    expect(NOWHERE, "append(x,1) | append(x,2); r(x,[2 1])");
    expect(NOWHERE, "append(x,1) append(y,1); append(x,2) append(y,2); r(x,[1 2]); r(y,[2 1])");
    expect("+------", "append(x,1); append(x,2); r(x,[1]) r(x,[1 2])");
    expect(NOWHERE, "append(x,1); append(x,2); r(x,[1 2]) r(x,[1])");
}

#[test]
fn unread_appends_come_after_all_that_were_read() {
    expect(NOWHERE, "append(x,1) | append(x,2); r(x,[2])");
    expect(EVERYWHERE, "append(x,1) | append(x,2); r(x,[1])");
    expect(EVERYWHERE, "append(x,1) ? | append(x,2); r(x,[2])");
    expect(EVERYWHERE, "append(x,1) ! | append(x,2); r(x,[2])");
    // Write skew between two unread appends, whichever comes first.
    expect("++++---", "r(x,[]) append(x,1); r(x,[]) append(x,2)");
    expect("++++---", "append(x,0); r(x,[0]) append(x,1); r(x,[0]) append(x,2)");
}

#[test]
fn impossible_lists_violate_every_level() {
    for text in [
        "append(x,1) !; r(x,[1])",                            // aborted
        "append(x,1) !; append(x,2); r(x,[1 2])",             // aborted, inside
        "r(x,[7])",                                           // thin air
        "append(x,1); r(x,[7 1])",                            // thin air, inside
        "append(x,1) append(x,2); r(x,[1])",                  // intermediate
        "append(x,1) append(x,2); r(x,[2 1])",                // out of program order
        "append(x,1) append(x,2); append(x,3); r(x,[1 3 2])", // torn apart
        "append(x,1); r(x,[1 1])",                            // twice
        "append(x,1); r(x,1)",                                // no list
        "append(x,1); append(x,2) r(x,[1])",                  // internal
        "append(x,1); append(x,2) r(x,[2 1])",                // internal
        "append(x,1) r(x,nil)",                               // internal
        "r(x,[1]) append(x,1)",                               // future
    ] {
        expect(NOWHERE, text);
    }
}

#[test]
fn what_precedes_own_appends_is_an_external_read() {
    expect(EVERYWHERE, "append(x,1); append(x,2) r(x,[1 2])");
    expect(EVERYWHERE, "append(x,1); append(x,2) r(x,[2])");
    expect("+------", "append(x,1) | append(x,2) r(x,[2])");
    // A lost update, although both read after their append.
    expect("++++---", "append(x,1) r(x,[1]); append(x,2) r(x,[2])");
    expect(NOWHERE, "append(x,1) !; append(x,2) r(x,[1 2])");
}

#[test]
fn absent_and_empty_lists_read_the_initial_version() {
    expect(EVERYWHERE, "append(x,1); r(x,[]); r(x,nil); r(x,init)");
    expect("+------", "append(x,1) | r(x,[])");
    expect("+------", "append(x,1) | r(x,nil)");
    expect(EVERYWHERE, "r(x,[])");
}

#[test]
fn every_element_counts_as_read_for_unknown_outcomes() {
    expect(EVERYWHERE, "append(x,1) ?; append(x,2); r(x,[1 2])");
    expect(NOWHERE, "r(z,9) append(x,1) ?; append(x,2); r(x,[1 2])");
    // One that counts because of x is a writer of y too, and then its unread append comes after what was read.
    expect(NOWHERE, "append(y,1) append(x,1) ? | append(y,2); r(x,[1]); r(y,[2])");
    expect(EVERYWHERE, "append(y,1) append(x,1) ? | append(y,2); r(y,[2])");
}

#[test]
fn an_element_that_several_appended_may_be_anybodys() {
    expect(EVERYWHERE, "append(x,1) | append(x,2); append(x,1); r(x,[1 2 1])");
    expect("+------", "append(x,1); append(x,1) | r(x,[])");
    expect(EVERYWHERE, "append(x,1) append(x,2); append(x,1); append(x,2); r(x,[1]); r(x,[1 2])");
    // Together they must agree: the shorter list ends inside the only transaction that can begin the longer one.
    expect(NOWHERE, "append(x,1) append(x,2); append(x,1); r(x,[1 2]); r(x,[1])");
}

#[test]
fn an_initial_list_comes_first() {
    let history = |read: &[i64]| {
        let mut builder = HistoryBuilder::new();
        let (x, a, b) = (builder.key("x"), builder.session("a"), builder.session("b"));
        let integers = |builder: &mut HistoryBuilder, numbers: &[i64]| {
            let elements: Vec<Value> = numbers.iter().map(|&number| builder.values().integer(number)).collect();
            builder.values().list(elements)
        };
        let initial = integers(&mut builder, &[7, 8]);
        let (read, one) = (integers(&mut builder, read), builder.values().integer(7));
        builder.initial(x, initial);
        builder.begin(a, None).unwrap();
        builder.append(x, one);
        builder.begin(b, None).unwrap();
        builder.read(x, read);
        builder.finish().unwrap()
    };
    assert_eq!(verdicts(&history(&[7, 8])), EVERYWHERE);
    assert_eq!(verdicts(&history(&[7, 8, 7])), EVERYWHERE);
    for impossible in [&[7][..], &[], &[7, 7, 8], &[7, 8, 7, 7], &[8, 7]] {
        assert_eq!(verdicts(&history(impossible)), NOWHERE, "{impossible:?}");
    }
}
