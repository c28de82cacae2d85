//! Which histories does an isolation level allow?
//!
//! [`check`] answers with a [`Verdict`]: `Holds` with a commit order, `Fails` with a refutation, or `Unknown` when the budget ran
//! out. Both certificates are re-checked by small code that shares nothing with the search: [`CommitOrder::justifies`] and
//! [`Anomaly::refutes`].
//!
//! Every axiom has one shape (Biswas & Enea 2019): a read of `x` by `reader` returned the version of `writer`; `other` also wrote
//! `x`; *if `reader` must have seen `other`, then `other` committed before `writer`.* Levels differ only in "must have seen".
//!
//! ```text
//!   History ── resolve ──> who wrote what was read; bad reads violate every level
//!                 │
//!              saturate ──> edges that are forced                                   all there is at rc, ra, cc
//!                 │
//!              levels, rules, polygraph ──> one graph of begins and commits, and open pairs
//!                 │
//!              prune ──> search ──> Verdict + certificate                           pc, psi, si, ser, strong, locking reads
//!                                      │
//!                                   explain ──> Counterexample
//! ```
//!
//! Tools that look for some other run ask [`OtherRun`], whose reads may have other writers, and [`Formula`], the solver.

pub mod anomaly;
pub mod budget;
mod certify;
mod clock;
pub mod commit_order;
pub mod counterexample;
mod decide;
mod engine;
mod explain;
mod formula;
mod graph;
mod growing;
mod ids;
mod levels;
mod lists;
mod other_run;
mod polygraph;
mod prove;
mod prune;
mod readers;
mod resolve;
mod rules;
mod saturate;
mod search;
mod solver;
pub mod spec;
mod split;
mod theory;
pub mod verdict;

pub use anomaly::{Anomaly, Assumption, BadRead, Edge, EdgeKind, Literal, Proof, ProofStep, Refutation};
pub use budget::{Budget, Phase, Progress, Statistics};
pub use commit_order::{CommitOrder, Instant};
pub use counterexample::{AnomalyKind, Case, Counterexample, DependencyKind, Told};
pub use explain::explain;
pub use formula::{Formula, Model, Solution, Term};
pub use growing::{GrowingHistory, GrowingId, GrowingOptions, Mark, Refused, Updates, Version};
pub use levels::{levels_to_ask, may_be_mixed, papers_levels_to_ask};
pub use other_run::{ExternalRead, NoVersion, OtherRun, SomeRun};
pub use skew_history::IsolationLevel;
pub use verdict::{Doubt, Verdict};

use levels::Holds;
use skew_history::History;

/// What was asked of one level, and the answer.
#[derive(Clone, Debug)]
pub struct LevelReport {
    /// The level.
    pub level: IsolationLevel,
    /// The answer.
    pub verdict: Verdict,
    /// What the check came across.
    pub statistics: Statistics,
}

/// What may be switched off, to measure what it is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Prune constraints before searching.
    pub prune: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { prune: true }
    }
}

/// Decides whether `history` satisfies `level`, doing at most `budget` work.
pub fn check(history: &History, level: IsolationLevel, budget: Budget<'_>) -> Verdict {
    let reports = check_levels(history, &[level], Options::default(), budget);
    reports.into_iter().next().map_or(Verdict::Unknown(Doubt::Unsaid), |report| report.verdict)
}

/// Decides several levels, sharing the work; the reports come in the order of `levels`.
pub fn check_levels(
    history: &History,
    levels: &[IsolationLevel],
    options: Options,
    budget: Budget<'_>,
) -> Vec<LevelReport> {
    split::check_levels(history, levels, options, budget)
}

/// Why `level` cannot be asked of `history` at all, in one line with what to do; `None` when it can.
pub fn cannot_ask(history: &History, level: IsolationLevel) -> Option<String> {
    match levels::row(level).holds {
        Holds::AsDeclared => undeclared(history),
        Holds::InRealTime(_) if !history.has_times() => Some(format!(
            "{level} speaks about real time, but no transaction has `begin` or `end`; ask for another level"
        )),
        Holds::All(_) | Holds::InRealTime(_) | Holds::OnServer(_) => None,
    }
}

fn undeclared(history: &History) -> Option<String> {
    let name = |transaction| history.transaction_name(transaction);
    let asked = || history.transactions().map(|transaction| (transaction, history.declared_level(transaction)));
    if let Some((transaction, _)) = asked().find(|(_, level)| level.is_none()) {
        return Some(format!(
            "transaction {} declares no level; add \"level\" to its line, or ask for one level for all",
            name(transaction)
        ));
    }
    let levels = || asked().filter_map(|(transaction, level)| Some((transaction, level?)));
    if let Some((transaction, level)) = levels().find(|(_, level)| !level.is_of_transactions()) {
        return Some(format!(
            "transaction {} declares {level}, which is a level of whole histories; declare one of the seven",
            name(transaction)
        ));
    }
    let (first, level) = levels().find(|(_, level)| !levels::rule(*level).mixes())?;
    let (other, _) = levels().find(|(_, other)| !may_be_mixed(level, *other))?;
    Some(format!(
        "transaction {} declares {level} and {} does not; {level} has no rule for single transactions, declare it for all or for none",
        name(first),
        name(other)
    ))
}
