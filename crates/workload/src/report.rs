//! What came out of a run.

use crate::fault::Injected;
use crate::histogram::Histogram;
use crate::session::Tally;
use crate::transaction::Notes;
use crate::workload::{Assertion, Observation};
use std::collections::BTreeMap;
use std::time::Duration;

/// What came out of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Why it ended.
    pub end: End,
    /// Operations that sessions finished, whatever became of their transactions.
    pub operations: u64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that their programs rolled back.
    pub rolled_back: u64,
    /// Transactions that the database did not let through, by reason. A try that failed counts, also when a later one went well.
    pub aborted: BTreeMap<&'static str, u64>,
    /// Tries after the first.
    pub retried: u64,
    /// Transactions that were refused as often as they were tried.
    pub given_up: u64,
    /// Commits that nobody answered.
    pub unknown: u64,
    /// How long committed transactions took, in nanoseconds, by name.
    pub latency: BTreeMap<&'static str, Histogram>,
    /// From the first operation to the last.
    pub elapsed: Duration,
    /// What should hold at the end. Empty when the run did not finish.
    pub assertions: Vec<Assertion>,
    /// Why some or all assertions were not asked, though the run finished.
    pub not_asked: Option<String>,
    /// What the history leaves out or leaves open.
    pub notes: Notes,
    /// What happened to the servers meanwhile.
    pub faults: Vec<Injected>,
}

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All operations are done.
    Finished,
    /// Somebody wanted it to end.
    Stopped,
    /// A session could not go on, or the assertions could not be asked; the reason, with the name of the session.
    Failed(String),
}

impl Report {
    /// Committed transactions per second.
    pub fn throughput(&self) -> f64 {
        self.committed as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// How long committed transactions took, in nanoseconds, all of them.
    pub fn latencies(&self) -> Histogram {
        let mut all = Histogram::default();
        self.latency.values().for_each(|one| all.merge(one));
        all
    }

    pub(crate) fn new(tallies: Vec<Tally>, end: End, operations: u64, elapsed: Duration) -> (Report, Vec<Observation>) {
        let mut report = Report {
            end,
            operations,
            committed: 0,
            rolled_back: 0,
            aborted: BTreeMap::new(),
            retried: 0,
            given_up: 0,
            unknown: 0,
            latency: BTreeMap::new(),
            elapsed,
            assertions: Vec::new(),
            not_asked: None,
            notes: Notes::default(),
            faults: Vec::new(),
        };
        let mut observations = Vec::new();
        for tally in tallies {
            report.committed += tally.committed;
            report.rolled_back += tally.rolled_back;
            report.retried += tally.retried;
            report.given_up += tally.given_up;
            report.unknown += tally.unknown;
            report.notes.add(&tally.notes);
            tally.aborted.iter().for_each(|(kind, count)| *report.aborted.entry(kind).or_default() += count);
            tally.latency.iter().for_each(|(name, more)| report.latency.entry(name).or_default().merge(more));
            observations.extend(tally.observations);
        }
        (report, observations)
    }
}
