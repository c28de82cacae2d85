//! Predictions against the definition, against the paper's traces, and on the textbook's bugs.

mod fixpoint;
mod micro;
mod observed;
mod random;
mod textbook;

use skew_history::notation::parse;
use skew_history::{History, IsolationLevel};
use skew_predict::{Outlook, PredictQuestion, Work, predict};

/// The levels that a run can be predicted at, weakest first.
const LEVELS: [IsolationLevel; 6] = [
    IsolationLevel::ReadCommitted,
    IsolationLevel::ReadAtomic,
    IsolationLevel::Causal,
    IsolationLevel::Prefix,
    IsolationLevel::ParallelSnapshot,
    IsolationLevel::Snapshot,
];

fn history(text: &str) -> History {
    parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"))
}

/// The answer, with enough work for any small history.
fn ask(history: &History, question: &PredictQuestion) -> Outlook {
    predict(history, question, &mut Work::rounds(1_000_000))
}

/// What an answer is called.
fn word(answer: &Outlook) -> &'static str {
    match answer {
        Outlook::Found(..) => "found",
        Outlook::Nothing => "none",
        Outlook::Observed(_) => "observed",
        Outlook::Open(_) => "open",
        Outlook::Unknown => "unknown",
    }
}
