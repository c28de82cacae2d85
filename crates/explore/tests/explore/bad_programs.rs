//! Programs that cannot be explored say so, by name.

use crate::script::Script;
use skew_explore::{ExplorationFailure, ExploreError, IsolationLevel, Program, explore};
use std::sync::atomic::{AtomicI64, Ordering};

fn error(program: &Program) -> String {
    explore(program).level(IsolationLevel::Causal).check().unwrap_err().to_string()
}

#[test]
fn a_program_without_sessions_has_nothing_to_explore() {
    let mut program = Program::new();
    assert!(error(&program).starts_with("the program has no transaction to explore"));
    program.session("a");
    assert!(error(&program).starts_with("the program has no transaction to explore"));
}

#[test]
fn a_closure_that_counts_its_runs_is_not_deterministic() {
    let mut program = Program::new();
    let runs = AtomicI64::new(0);
    program.session("a").transaction(move |t| t.write("x", runs.fetch_add(1, Ordering::Relaxed)));
    assert_eq!(
        error(&program),
        "transaction a#0 is not deterministic: its event 1 was a write of x, and with the same answers it is now a write of x with \
         something else in it; what it does may depend only on what it reads"
    );
}

#[test]
fn a_closure_that_reads_another_key_the_second_time_is_not_deterministic() {
    let mut program = Program::new();
    program.initially("x", 0).initially("y", 0);
    let runs = AtomicI64::new(0);
    program.session("a").transaction(move |t| {
        let _: i64 = t.read(if runs.fetch_add(1, Ordering::Relaxed) % 2 == 0 { "x" } else { "y" })?;
        t.write("z", 1)
    });
    let message = error(&program);
    assert!(
        message.contains("a#0") && message.contains("event 1 was a read of x") && message.contains("now a read of y"),
        "{message}"
    );
}

#[test]
fn a_closure_that_ends_later_or_otherwise_the_second_time_is_not_deterministic() {
    for aborts in [false, true] {
        let mut program = Program::new();
        let runs = AtomicI64::new(0);
        program.session("a").transaction(move |t| {
            t.write("x", 1)?;
            match runs.fetch_add(1, Ordering::Relaxed) {
                0 => Ok(()),
                _ if aborts => t.abort(),
                _ => t.write("y", 1),
            }
        });
        let message = error(&program);
        assert!(message.contains("event 2 was its end"), "{message}");
    }
}

#[test]
fn a_loop_without_end_is_bounded() {
    let mut program = Program::new();
    program.initially("x", 0);
    program.session("a").transaction(|t| -> Result<(), _> {
        loop {
            let _: i64 = t.read("x")?;
        }
    });
    let failure = explore(&program).level(IsolationLevel::Causal).most_events(50).check().unwrap_err();
    assert!(matches!(failure, ExplorationFailure::Program(ExploreError::TooManyEvents { limit: 50, .. })), "{failure}");
    assert!(failure.to_string().starts_with("transaction a#0 has more than 50 events; is there a loop without end?"));
}

#[test]
fn a_value_of_another_type_and_an_absent_one_are_told() {
    let mut program = Program::new();
    program.initially("x", "text");
    program.session("a").transaction(|t| t.read::<i64>("x"));
    assert_eq!(error(&program), "transaction a#0: x holds text, which is of another type");
    let mut program = Program::new();
    program.session("a").transaction(|t| t.read::<i64>("x"));
    assert_eq!(error(&program), "transaction a#0: x is absent; read it as an Option");
}

#[test]
fn an_interrupt_that_is_swallowed_is_handed_out_all_the_same() {
    let mut program = Program::new();
    program.initially("x", 0);
    program.session("a").transaction(|t| t.write("x", 1));
    program.session("b").transaction(|t| {
        let read = t.read::<i64>("x");
        let again = t.read::<i64>("x");
        // Without the interrupt this would be a run in which nothing was read.
        if read.is_err() {
            assert!(again.is_err())
        }
        Ok(())
    });
    let report = explore(&program).level(IsolationLevel::ReadAtomic).check().unwrap();
    assert_eq!(report.runs, 2);
}

#[test]
fn levels_that_cannot_be_explored_are_named() {
    use IsolationLevel::{ParallelSnapshot, StrictSerializable};
    let mut program = Program::new();
    program.session("a").transaction(|t| t.write("x", 1));
    let failure = explore(&program).level(StrictSerializable).check().unwrap_err();
    assert!(failure.to_string().starts_with("strict-serializable cannot be explored: it speaks about real time"));
    program.session("b").transaction(|t| t.write("x", 2)).at(ParallelSnapshot);
    assert!(error(&program).starts_with("b#0 is at psi and others are not"));
}

#[test]
fn more_transactions_than_a_set_holds_are_refused() {
    let text = vec!["w(x)"; 128].join("|");
    let refused = crate::script::search(&Script::parse(&text), skew_explore::Options::new(IsolationLevel::Causal));
    assert_eq!(refused.unwrap_err(), ExploreError::TooManyTransactions { count: 128, limit: 127 });
    let text = vec!["w(x)"; 127].join("|");
    assert_eq!(crate::script::count(&text, IsolationLevel::Causal), 1);
}
