//! The keys that a transaction wrote, and whom it meets by them.
//!
//! ```text
//!   writes 100,000 rows, which t1 wrote and t2 read       meets   t1 as a writer, t2 as a reader of t1's version
//! ```
//!
//! What a version means for the order depends on who else read or wrote its key, not on the key. Keys may be many; those who are met are
//! few, and they are kept as the transaction goes on, so that one more write does not look through all that were there before.
//! They hold as long as nobody else reads or commits ([`Nodes::moment`]); then they are collected anew.

use super::node::{Nodes, ReadSource, Slot};
use rustc_hash::FxHashSet;
use skew_history::KeyId;

/// Somebody else who has to do with a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Meeting {
    /// Read it, from a source, with a lock or without.
    Reader(Slot, ReadSource, bool),
    /// Wrote it.
    Writer(Slot),
    /// Wrote it last.
    LastWriter(Slot),
}

/// The keys in the order of their first writes.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnWrites {
    keys: Vec<KeyId>,
    known: FxHashSet<KeyId>,
    met: Vec<Meeting>,
    known_met: FxHashSet<Meeting>,
    /// When those who are met were collected; never, if there is none.
    moment: Option<u64>,
}

impl OwnWrites {
    pub(super) fn keys(&self) -> &[KeyId] {
        &self.keys
    }

    /// Those who are met, as of the last [`Nodes::collect_meetings`].
    pub(super) fn met(&self) -> &[Meeting] {
        &self.met
    }

    /// Keeps the first keys only.
    pub(super) fn truncate(&mut self, kept: usize) {
        if kept >= self.keys.len() {
            return;
        }
        for key in self.keys.drain(kept..) {
            self.known.remove(&key);
        }
        self.moment = None;
    }

    fn meet(&mut self, meetings: impl Iterator<Item = Meeting>) {
        for meeting in meetings {
            if self.known_met.insert(meeting) {
                self.met.push(meeting);
            }
        }
    }
}

impl Nodes {
    /// Who else has to do with a key.
    pub(super) fn meetings(&self, writer: Slot, key: KeyId) -> impl Iterator<Item = Meeting> + '_ {
        let readers = self.readers(key).iter().filter(move |(reader, _, _)| *reader != writer);
        let others = self.writers(key).iter().copied().filter(move |&other| other != writer);
        let last = self.writers(key).last().copied().filter(|&last| last != writer);
        let readers = readers.map(|&(reader, source, locking)| Meeting::Reader(reader, source, locking));
        readers.chain(others.map(Meeting::Writer)).chain(last.map(Meeting::LastWriter))
    }

    /// A transaction writes a key.
    pub(super) fn note_write(&mut self, slot: Slot, key: KeyId) {
        let mut writes = std::mem::take(&mut self.node_mut(slot).writes);
        if writes.known.insert(key) {
            writes.keys.push(key);
            if writes.moment == Some(self.moment) {
                writes.meet(self.meetings(slot, key));
            }
        }
        self.node_mut(slot).writes = writes;
    }

    /// Collects whom a transaction meets, unless that is known.
    pub(super) fn collect_meetings(&mut self, slot: Slot) {
        let moment = Some(self.moment);
        if self.node(slot).writes.moment == moment {
            return;
        }
        let mut writes = std::mem::take(&mut self.node_mut(slot).writes);
        writes.met.clear();
        writes.known_met.clear();
        for at in 0..writes.keys.len() {
            writes.meet(self.meetings(slot, writes.keys[at]));
        }
        writes.moment = moment;
        self.node_mut(slot).writes = writes;
    }

    /// Who reads or wrote what has changed: meetings that were collected no longer hold, except for the one who changed it, which does
    /// not meet itself.
    pub(super) fn pass_moment(&mut self, by: Option<Slot>) {
        let before = Some(self.moment);
        self.moment += 1;
        let now = Some(self.moment);
        if let Some(slot) = by
            && self.node(slot).writes.moment == before
        {
            self.node_mut(slot).writes.moment = now;
        }
    }
}
