//! From a refutation to something that an engineer understands in a minute.
//!
//! ```text
//!   Anomaly of a million transactions
//!      └─ core ──> only the events that the refutation speaks about, and whom those were read from;
//!      │           or the two of a lost update, if there is one and the level forbids it (simple)
//!          └─ shrink ──> nothing left that could be dropped: re-checked after every step
//!              ├─ classify ──> its name
//!              └─ tell ──> each edge in a sentence
//! ```
//!
//! What is impossible on a server comes with a few transactions already, and is told in other words (`server`).

mod classify;
mod core;
mod overwrite;
mod server;
mod shrink;
mod simple;
mod tell;

use crate::anomaly::{Anomaly, Refutation};
use crate::budget::{Budget, Phase};
use crate::counterexample::Counterexample;
use skew_history::{History, IsolationLevel};

/// Makes a violation small, names it and tells it.
pub fn explain(history: &History, level: IsolationLevel, anomaly: &Anomaly, budget: Budget<'_>) -> Counterexample {
    budget.enter(Phase::Shrink, history.transaction_count());
    if let Refutation::Alone(alone) = &anomaly.refutation {
        return server::explain(history, level, alone, budget);
    }
    let (small, anomaly) = shrink::shrink(history, level, anomaly, budget);
    let kind = classify::classify(&small, history, level, &anomaly);
    let cases = tell::cases(&small, &anomaly);
    Counterexample { level, kind, history: small, anomaly, cases }
}
