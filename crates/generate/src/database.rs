//! What every small database here can do, and the table of rows that all of them use.

use crate::attempt::{Attempt, Content, GeneratedEvent};
use skew_chance::Random;

/// A database that transactions run on, step by step.
pub(crate) trait Database {
    /// A transaction begins. A database with snapshots lets it do all its steps here: what it will read is settled now.
    fn begin(&mut self, attempt: &mut Attempt, random: &mut Random);

    /// A transaction comes to its next step.
    fn advance(&mut self, attempt: &mut Attempt) -> Advance;

    /// A transaction wants to commit. Refused when false: then nothing has happened, and it has to start over.
    fn commit(&mut self, attempt: &Attempt, random: &mut Random) -> bool;

    /// A transaction is rolled back by its program, or for no reason of the database's own.
    fn abort(&mut self, _attempt: &Attempt) {}

    /// Everything is at rest: what is under way arrives.
    fn settle(&mut self);
}

/// What came of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advance {
    /// It is done.
    Done,
    /// Somebody is in the way: it has to be tried again.
    Waits,
    /// The transaction is rolled back, with this code, and has to start over.
    Refused(&'static str),
}

/// What one key holds, and since which commit.
#[derive(Clone, Default)]
pub(crate) struct CommittedValue {
    pub(crate) content: Content,
    pub(crate) commit: u64,
}

/// One version of every key; keys are small numbers.
#[derive(Default)]
pub(crate) struct CommittedValues(Vec<CommittedValue>);

impl CommittedValues {
    pub(crate) fn content(&self, key: u64) -> Content {
        self.0.get(key as usize).map_or(Content::Absent, |row| row.content.clone())
    }

    /// The commit that wrote the key; 0 for the initial state.
    pub(crate) fn commit(&self, key: u64) -> u64 {
        self.0.get(key as usize).map_or(0, |row| row.commit)
    }

    pub(crate) fn row(&mut self, key: u64) -> &mut CommittedValue {
        let key = key as usize;
        if key >= self.0.len() {
            self.0.resize(key + 1, CommittedValue::default());
        }
        &mut self.0[key]
    }

    /// Lets a write or an append happen.
    pub(crate) fn apply(&mut self, event: &GeneratedEvent, commit: u64) {
        let row = self.row(event.key);
        row.content.apply(event);
        row.commit = commit;
    }
}
