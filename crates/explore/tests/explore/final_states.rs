//! How runs may have ended, and what assertions say about it.

use skew_check::Budget;
use skew_explore::{ExplorationFailure, IsolationLevel, Options, Program, Search, explore};
use std::collections::BTreeSet;

/// All pairs of last values of x and y, over all runs.
fn ends(program: &Program, level: IsolationLevel) -> BTreeSet<Vec<String>> {
    let mut search = Search::new(program, Options::new(level)).unwrap();
    let mut ends = BTreeSet::new();
    while let Some(run) = search.next_run().unwrap() {
        if run.answer(Budget::UNLIMITED) != skew_explore::RunAnswer::Holds {
            continue;
        }
        for state in run.final_states(100, Budget::UNLIMITED).unwrap() {
            ends.insert(state.iter().map(|(key, row)| format!("{:?}={:?}", key.parts, row)).collect());
        }
    }
    ends
}

fn blind_writers() -> Program {
    let mut program = Program::new();
    for (name, value) in [("a", 1), ("b", 2)] {
        program.session(name).transaction(move |t| {
            t.write("x", value)?;
            t.write("y", value)
        });
    }
    program
}

#[test]
fn blind_writes_end_in_either_order_but_together() {
    for level in IsolationLevel::of_papers() {
        assert_eq!(ends(&blind_writers(), level).len(), 2, "{level}");
    }
}

#[test]
fn a_lost_update_may_end_with_either_value() {
    let mut program = Program::new();
    program.initially("x", 0);
    program.session("a").transaction(|t| {
        let x: i64 = t.read("x")?;
        t.write("x", x + 1)
    });
    program.session("b").transaction(|t| {
        let x: i64 = t.read("x")?;
        t.write("x", x + 10)
    });
    assert_eq!(ends(&program, IsolationLevel::Causal).len(), 3, "11, 1 and 10");
    assert_eq!(ends(&program, IsolationLevel::Serializable).len(), 1, "11");
}

#[test]
fn who_was_seen_cannot_be_last() {
    let mut program = Program::new();
    program.session("a").transaction(|t| t.write("x", 1));
    program.session("b").transaction(|t| {
        t.read::<Option<i64>>("x").map(drop)?;
        t.write("x", 2)
    });
    program.assert("b is last when it saw a", |end| end.get::<i64>("x") == Some(2));
    // When b did not see a, causal allows a to be the last, and so does serializable.
    for level in [IsolationLevel::Causal, IsolationLevel::Serializable] {
        let Err(ExplorationFailure::Violated { violations, report, .. }) = explore(&program).level(level).check()
        else {
            panic!("a may be the last")
        };
        assert_eq!((violations[0].runs, report.runs), (1, 2), "{level}");
    }
}

#[test]
fn atomic_increments_end_in_one_state_at_every_level() {
    let mut program = Program::new();
    program.initially("x", 0);
    for name in ["a", "b", "c"] {
        program.session(name).transaction(|t| {
            let x: i64 = t.read_for_update("x")?;
            t.write("x", x + 1)
        });
    }
    program.assert("nothing is lost", |end| end.get("x") == Some(3));
    for level in IsolationLevel::of_papers() {
        assert_eq!(explore(&program).level(level).check().unwrap().runs, 6, "{level}");
    }
}

#[test]
fn assertions_see_what_transactions_returned_and_later_transactions_too() {
    let mut program = Program::new();
    program.initially("stock", 1);
    for name in ["a", "b"] {
        program
            .session(name)
            .transaction(|t| {
                let stock: i64 = t.read("stock")?;
                if stock == 0 {
                    return t.abort();
                }
                t.write("stock", stock - 1)?;
                Ok(stock)
            })
            .transaction(|t| {
                let sold = t.returned::<i64>(0).is_some();
                Ok(sold)
            });
    }
    program.assert("sold once", |end| {
        let sold = |name: &str| *end.returned::<bool>(name, 1).unwrap();
        sold("a") != sold("b") && end.returned::<i64>("a", 0).is_some() == sold("a")
    });
    assert!(explore(&program).level(IsolationLevel::Snapshot).check().is_ok());
    let failure = explore(&program).level(IsolationLevel::Prefix).check().unwrap_err();
    let text = failure.to_string();
    assert!(text.starts_with("`sold once` fails in 1 of 3 runs at prefix, for example in this one:\n"), "{text}");
    assert!(text.contains("it is not serializable (lost-update)"), "{text}");
}

#[test]
fn levels_of_single_transactions_count() {
    let mut program = Program::new();
    program.initially("x", 0).initially("y", 0);
    program.session("a").transaction(|t| {
        t.read::<i64>("y").map(drop)?;
        t.write("x", 1)
    });
    program.session("b").transaction(|t| {
        t.read::<i64>("x").map(drop)?;
        t.write("y", 1)
    });
    let runs = |program: &Program| explore(program).level(IsolationLevel::Serializable).check().unwrap().runs;
    assert_eq!(runs(&program), 2);
    program.session("b").at(IsolationLevel::ReadCommitted);
    assert_eq!(runs(&program), 3);
}

#[test]
fn a_scan_that_counts_before_it_inserts_overbooks_at_snapshot() {
    let mut program = Program::new();
    for name in ["a", "b"] {
        program.session(name).transaction(move |t| {
            if t.scan::<i64>("booking")?.is_empty() {
                t.write(&format!("booking/{name}"), 1)?;
            }
            Ok(())
        });
    }
    program.assert("one booking", |end| end.scan::<i64>("booking").len() == 1);
    assert_eq!(explore(&program).level(IsolationLevel::Serializable).check().unwrap().runs, 2);
    let failure = explore(&program).level(IsolationLevel::Snapshot).check().unwrap_err();
    assert!(failure.to_string().starts_with("`one booking` fails in 1 of 3 runs at snapshot"), "{failure}");
}

#[test]
fn what_was_not_seen_to_its_end_is_not_a_success() {
    let program = blind_writers();
    let failure = explore(&program).level(IsolationLevel::Causal).most_runs(0).check().unwrap_err();
    assert!(matches!(failure, ExplorationFailure::Inconclusive { .. }));
}
