//! Another run that the same program might have had: where each session is cut, and which reads have other sources.
//!
//! ```text
//!   a: read x from t0 · write x | read y from t0 ✂          cut behind the read, which may have changed: so what follows it is gone
//!   b: read x from t1 · write y                             not cut
//! ```
//!
//! A candidate becomes a history for the checker: keys, sessions and values are numbers, and the version of a key that transaction 4 wrote
//! has the value 5. What the checker says about its events is said about the recording's reads and writes.

use crate::recording::{Act, ReadSource, Recording};
use skew_history::{Action, Event, EventId, History, HistoryBuilder, KeyId, Outcome, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CandidateRun {
    /// By session, how many of its steps are there.
    pub(crate) lengths: Vec<usize>,
    /// The reads that have another source than observed.
    pub(crate) changed: BTreeMap<usize, ReadSource>,
}

/// What an event of a candidate's history is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The read of this number.
    Read(usize),
    /// This transaction's write of this key.
    Write(usize, KeyId),
}

/// A candidate as the checker sees it.
pub(crate) struct CandidateHistory {
    pub(crate) history: History,
    /// What its events are.
    pub(crate) parts: Vec<Part>,
    /// The recording's transactions, by number of the history.
    pub(crate) transactions: Vec<usize>,
    /// The recording's keys, by number of the history.
    pub(crate) keys: Vec<KeyId>,
}

impl CandidateHistory {
    pub(crate) fn part(&self, event: EventId) -> Part {
        self.parts[event.index()]
    }
}

impl CandidateRun {
    /// The observed run.
    pub(crate) fn observed(recording: &Recording) -> CandidateRun {
        CandidateRun {
            lengths: recording.sessions.iter().map(|session| session.steps.len()).collect(),
            changed: BTreeMap::new(),
        }
    }

    /// What a read returns here.
    pub(crate) fn source(&self, recording: &Recording, read: usize) -> ReadSource {
        self.changed.get(&read).copied().unwrap_or(recording.reads[read].source)
    }

    /// Whether a read is there.
    pub(crate) fn has_read(&self, recording: &Recording, read: usize) -> bool {
        let RecordedReadPlace { session, place } = RecordedReadPlace::of(recording, read);
        place < self.lengths[session]
    }

    /// The reads that are there and have another source.
    pub(crate) fn changes(&self, recording: &Recording) -> Vec<usize> {
        let is_change = |&read: &usize| self.source(recording, read) != recording.reads[read].source;
        self.changed.keys().copied().filter(|&read| self.has_read(recording, read)).filter(is_change).collect()
    }

    /// Whether every read that is there returns a version that its writer's whole transaction left, and that hangs on no changed read.
    pub(crate) fn is_possible(&self, recording: &Recording) -> bool {
        let changed: BTreeSet<usize> =
            self.changes(recording).into_iter().map(|read| recording.reads[read].transaction).collect();
        (0..recording.reads.len()).filter(|&read| self.has_read(recording, read)).all(|read| {
            let Some(writer) = self.source(recording, read) else { return true };
            let other = &recording.transactions[writer];
            other.end <= self.lengths[other.session] && !changed.contains(&writer)
        })
    }

    /// The history for the checker.
    pub(crate) fn history(&self, recording: &Recording) -> CandidateHistory {
        let mut laid = Layout { builder: HistoryBuilder::new(), parts: Vec::new(), transactions: Vec::new() };
        let mut keys: Vec<KeyId> = Vec::new();
        for (number, session) in recording.sessions.iter().enumerate() {
            let mut current = None;
            for step in &session.steps[..self.lengths[number]] {
                let (key, event, part) = match step.act {
                    Act::Pause => {
                        laid.enter(recording, step.transaction, &mut current);
                        continue;
                    }
                    Act::Read(read) => {
                        let value = laid.version(self.source(recording, read));
                        let key = recording.reads[read].key;
                        let event = (Action::Read, value, recording.reads[read].locking);
                        (key, event, Part::Read(read))
                    }
                    Act::Write(key) => {
                        let value = laid.version(Some(step.transaction));
                        (key, (Action::Write, value, false), Part::Write(step.transaction, key))
                    }
                };
                laid.enter(recording, step.transaction, &mut current);
                let named = laid.builder.key(i64::from(key.0));
                if named.index() == keys.len() {
                    keys.push(key);
                }
                let (action, value, locking) = event;
                laid.builder.event(Event { locking, ..Event::new(action, named, value) });
                laid.parts.push(part);
            }
        }
        let Layout { builder, parts, transactions } = laid;
        let history = builder.finish().expect("numbers make no mistakes in writing");
        CandidateHistory { history, parts, transactions, keys }
    }
}

/// Where a read stands.
struct RecordedReadPlace {
    session: usize,
    place: usize,
}

impl RecordedReadPlace {
    fn of(recording: &Recording, read: usize) -> RecordedReadPlace {
        let read = &recording.reads[read];
        RecordedReadPlace { session: recording.transactions[read.transaction].session, place: read.place }
    }
}

/// A history on its way.
struct Layout {
    builder: HistoryBuilder,
    parts: Vec<Part>,
    transactions: Vec<usize>,
}

impl Layout {
    fn enter(&mut self, recording: &Recording, transaction: usize, current: &mut Option<usize>) {
        if *current == Some(transaction) {
            return;
        }
        *current = Some(transaction);
        let entry = &recording.transactions[transaction];
        let session = self.builder.session(entry.session as i64);
        self.builder.begin(session, None).expect("transactions are numbered");
        if !entry.is_committed {
            self.builder.outcome(Outcome::AbortedByProgram);
        }
        self.transactions.push(transaction);
    }

    fn version(&mut self, source: ReadSource) -> Value {
        source.map_or(Value::ABSENT, |transaction| self.builder.values().integer(transaction as i64 + 1))
    }
}
