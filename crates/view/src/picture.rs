//! What is shown of a counterexample.
//!
//! A [`Counterexample`] that was just found and a [`crate::Finding`] that was read back from a file look the same to everybody who
//! draws; the second has lost its proof, which no drawing needs.

use skew_check::{AnomalyKind, Case, Counterexample, Told};
use skew_history::{History, IsolationLevel, TransactionId, Writer};

/// How many transactions a counterexample has at most that was made small.
const LARGEST_SMALL: usize = 60;

/// A counterexample, as far as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The level that is violated.
    pub level: IsolationLevel,
    /// What it is called.
    pub kind: AnomalyKind,
    /// The smallest part of the input that violates the level.
    pub history: &'a History,
    /// Why it does: all ways to order the transactions, each with its cycle.
    pub cases: &'a [Case],
}

impl<'a> From<&'a Counterexample> for Picture<'a> {
    fn from(found: &'a Counterexample) -> Picture<'a> {
        Picture { level: found.level, kind: found.kind, history: &found.history, cases: &found.cases }
    }
}

impl<'a> Picture<'a> {
    /// The edges of all cases, each once, in the order in which they are told.
    pub fn edges(&self) -> Vec<&'a Told> {
        let mut edges: Vec<&Told> = Vec::new();
        for told in self.cases.iter().flat_map(|case| &case.edges) {
            if !edges.contains(&told) {
                edges.push(told);
            }
        }
        edges
    }

    /// The transactions that the story is about: an edge ends there, they read something, or a sentence names them. The others are
    /// there so that every read has its writer.
    pub fn taking_part(&self) -> Vec<TransactionId> {
        let ends: Vec<Writer> =
            self.cases.iter().flat_map(|case| &case.edges).flat_map(|told| [told.from, told.to]).collect();
        let history = self.history;
        // What was not made small holds reads that have nothing to do with the story.
        let is_small = history.transaction_count() <= LARGEST_SMALL;
        let reads = |id| history.events_of(id).iter().any(skew_history::Event::is_read);
        let takes_part = |id: &TransactionId| {
            ends.contains(&Writer::Transaction(*id)) || is_small && (reads(*id) || self.names(*id))
        };
        history.transactions().filter(takes_part).collect()
    }

    fn names(&self, id: TransactionId) -> bool {
        let name = self.history.transaction_in_words(id);
        let within = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '#');
        let named_in = |text: &str| {
            text.match_indices(&name).any(|(at, _)| {
                let (before, after) = (&text[..at], &text[at + name.len()..]);
                !within(before.chars().next_back()) && !within(after.chars().next())
            })
        };
        self.cases.iter().flat_map(|case| &case.edges).any(|told| named_in(&told.because))
    }
}

/// All anomalies, so that a name in a file can be turned back into one.
const KINDS: [AnomalyKind; 19] = [
    AnomalyKind::Internal,
    AnomalyKind::ThinAir,
    AnomalyKind::AbortedRead,
    AnomalyKind::IntermediateRead,
    AnomalyKind::CircularInformationFlow,
    AnomalyKind::DirtyWrite,
    AnomalyKind::IncompatibleLists,
    AnomalyKind::NonRepeatableRead,
    AnomalyKind::FracturedRead,
    AnomalyKind::SessionViolation,
    AnomalyKind::CausalityViolation,
    AnomalyKind::LostUpdate,
    AnomalyKind::StaleUpdate,
    AnomalyKind::LongFork,
    AnomalyKind::WriteSkew,
    AnomalyKind::ReadOnlyAnomaly,
    AnomalyKind::RealTimeViolation,
    AnomalyKind::BrokenLock,
    AnomalyKind::DependencyCycle,
];

/// The anomaly with this name.
pub fn kind_named(name: &str) -> Option<AnomalyKind> {
    KINDS.into_iter().find(|kind| kind.name() == name)
}
