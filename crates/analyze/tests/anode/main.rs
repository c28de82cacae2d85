//! Cycles among a few instances and proofs about any number: published results, what the explorer knows, and a second solver.

mod courseware;
mod postgres;
mod random;
mod second_opinion;
mod specifications;
mod tpcc;
mod withdraw;

use skew_analyze::Transactions;
use skew_analyze::anode::{BoundedAnalysis, BoundedQuestion, QuestionOutcome, Specification};
use skew_check::Budget;
use skew_program::Program;
use std::path::PathBuf;

/// Steps of the solver that no question of these tests comes near.
const STEPS: u64 = 2_000_000_000;

fn transactions(text: &str) -> Transactions {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    Transactions::of(&program)
}

/// A program at a level or a specification.
fn analysis(text: &str, specification: &str) -> BoundedAnalysis {
    let specification = Specification::parse("asked", specification).unwrap_or_else(|error| panic!("{error}"));
    BoundedAnalysis::new(transactions(text), specification).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn example(name: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/analyze").join(name);
    std::fs::read_to_string(file).expect("the example is there")
}

/// A cycle of some procedures, by name.
fn cycle_of(analysis: &BoundedAnalysis, names: &[&str]) -> QuestionOutcome {
    let number = |name: &&str| analysis.procedure(name).unwrap_or_else(|| panic!("there is no {name}"));
    let allowed = names.iter().map(|name| vec![number(name)]).collect();
    analysis.ask(&BoundedQuestion::Cycle(allowed), Budget::steps(STEPS))
}

/// A cycle of so many instances of any procedures.
fn cycle(analysis: &BoundedAnalysis, size: usize) -> QuestionOutcome {
    analysis.ask(&BoundedQuestion::Cycle(vec![analysis.everything(); size]), Budget::steps(STEPS))
}

fn is_found(outcome: &QuestionOutcome) -> bool {
    match outcome {
        QuestionOutcome::Found(_) => true,
        QuestionOutcome::None => false,
        QuestionOutcome::Unknown(reason) | QuestionOutcome::Disputed(reason) => panic!("{reason}"),
    }
}
