//! What is outside of transactions, as in every database: sequences, keys for tables without a primary key, random numbers.
//!
//! ```text
//!   a  nextval → 1   ROLLBACK
//!   b                nextval → 2        nobody gets a value twice, whatever becomes of those who got it
//! ```

use crate::chance::{Chance, Stream};
use skew_history::SessionId;
use skew_sql::{SequenceId, SequenceRule, SpaceId};
use skew_value::SqlError;
use std::collections::BTreeMap;

/// Where sequences and the like stand.
pub(crate) struct Sequences {
    /// Their last values, and whether these were handed out.
    last: BTreeMap<SequenceId, (i64, bool)>,
    /// What each session last got.
    current: BTreeMap<SessionId, BTreeMap<SequenceId, i64>>,
    keys: BTreeMap<SpaceId, i128>,
    numbers: Chance,
}

impl Sequences {
    pub(crate) fn new(seed: u64) -> Sequences {
        let numbers = Chance::new(seed, Stream::Numbers);
        Sequences { last: BTreeMap::new(), current: BTreeMap::new(), keys: BTreeMap::new(), numbers }
    }

    /// The last value of a sequence, and whether it was handed out.
    pub(crate) fn last(&self, sequence: SequenceId) -> Option<(i64, bool)> {
        self.last.get(&sequence).copied()
    }

    /// The next value of a sequence, for a session.
    pub(crate) fn next(
        &mut self,
        session: SessionId,
        sequence: SequenceId,
        rule: &SequenceRule,
    ) -> Result<i64, SqlError> {
        let next = rule.next(self.last(sequence))?;
        self.set(session, sequence, next, true);
        Ok(next)
    }

    /// A sequence goes on after a value, or, if that was not handed out, at it.
    pub(crate) fn set(&mut self, session: SessionId, sequence: SequenceId, value: i64, called: bool) {
        self.last.insert(sequence, (value, called));
        if called {
            self.hand_out(session, sequence, value);
        }
    }

    /// A sequence goes on behind a value that a row has without having asked for it, unless it is there already.
    pub(crate) fn pass(&mut self, sequence: SequenceId, rule: &SequenceRule, value: i64) {
        if let Some(passed) = rule.passed(self.last(sequence), value) {
            self.last.insert(sequence, passed);
        }
    }

    /// A session gets a value, wherever that came from.
    pub(crate) fn hand_out(&mut self, session: SessionId, sequence: SequenceId, value: i64) {
        self.current.entry(session).or_default().insert(sequence, value);
    }

    /// What a session last got from a sequence.
    pub(crate) fn current(&self, session: SessionId, sequence: SequenceId) -> Option<i64> {
        self.current.get(&session)?.get(&sequence).copied()
    }

    /// Nobody knows any more what a session got.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.current.remove(&session);
    }

    /// What one session got another one has got.
    pub(crate) fn rename(&mut self, session: SessionId, renamed: SessionId) {
        if let Some(current) = self.current.remove(&session) {
            self.current.insert(renamed, current);
        }
    }

    /// The last key that was made for a space.
    pub(crate) fn last_key(&self, space: SpaceId) -> Option<i128> {
        self.keys.get(&space).copied()
    }

    /// A key that no other row of the space has.
    pub(crate) fn fresh_key(&mut self, space: SpaceId) -> i128 {
        let last = self.keys.entry(space).or_default();
        *last += 1;
        *last
    }

    /// The next random number.
    pub(crate) fn random(&mut self) -> u64 {
        self.numbers.number()
    }
}
