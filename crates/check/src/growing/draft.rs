//! What follows from one more read, or from one more committed writer.
//!
//! Weak levels force edges by what the reader has seen; the others ask questions about the commit order ([`super::order`]).
//!
//! ```text
//!   t3 reads x from t1           wr                t1 ──> t3
//!     rc, ra, cc                 forced            t2 ──> t1    for writers t2 of x that t3 must have seen, now or by an earlier read
//!                                                  t2 ──> s1    for writers t2 of y that only this read made visible, y read from s1
//!     pc, si, ser, locking       question          t2 ──> t1   or   t3 ──> t2
//!   t writes x and commits       questions         the same with t as t2, for all who read x; write conflicts at snapshot
//!     updates lock               edge              the last writer of x ──> t
//! ```
//!
//! A pending transaction is last: nobody reads from it and nothing follows it in its session. So what it sees grows, but what others
//! see does not, and the edges of the weak levels are final as soon as they are there.

use super::bits::Bits;
use super::node::{Nodes, Slot, Source};
use super::order::{Edge, Knowledge, Question};
use super::writes::Meeting;
use super::{GrowingHistory, Updates};
use crate::levels::Sight;
use skew_history::KeyId;

/// A read that may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) reader: Slot,
    pub(super) key: KeyId,
    pub(super) source: Source,
    pub(super) locking: bool,
}

impl Nodes {
    /// The edges that a read forces; none when it contradicts the level by itself.
    pub(super) fn edges_of_read(&self, candidate: Candidate) -> Option<Vec<Edge>> {
        let Candidate { reader, key, source, locking } = candidate;
        let node = self.node(reader);
        let mut edges = Vec::new();
        if let Source::Node(writer) = source {
            edges.push((writer.commit(), node.read_target(reader, locking)));
        }
        if let Some(sight) = node.rule.sight().filter(|_| !locking) {
            self.force(candidate, sight, &mut edges)?;
        } else if source == Source::Base && !node.rule.watches_overwrites() {
            let point = node.read_point(reader, locking);
            edges.extend(self.others(key, source, reader).map(|other| (point, other.commit())));
        }
        Some(edges)
    }

    /// The other writers of a key.
    fn others(&self, key: KeyId, source: Source, reader: Slot) -> impl Iterator<Item = Slot> + '_ {
        self.writers(key).iter().copied().filter(move |&other| Source::Node(other) != source && other != reader)
    }

    /// The edges that read-committed, read-atomic and causal force.
    fn force(&self, candidate: Candidate, sight: Sight, edges: &mut Vec<Edge>) -> Option<()> {
        let Candidate { reader, key, source, .. } = candidate;
        let node = self.node(reader);
        let mut order = |other: Slot, source: Source| match source {
            Source::Base => None,
            Source::Node(writer) => {
                edges.push((other.commit(), writer.commit()));
                Some(())
            }
        };
        let new = self.made_visible(source, sight);
        let seen = |other: Slot| node.has_seen(other, sight);
        for other in self.others(key, source, reader) {
            if seen(other) || new.contains(other) {
                order(other, source)?;
            }
        }
        // Earlier reads matter only when this one shows something new. A scan of a table of n rows, most of them by few writers, is n
        // reads: to look back from each of them would be n² steps.
        let fresh: Bits = new.iter().filter(|&other| !seen(other)).collect();
        if fresh.iter().next().is_none() {
            return Some(());
        }
        for read in node.reads.iter().filter(|read| !read.locking) {
            for other in self.others(read.key, read.source, reader) {
                if fresh.contains(other) {
                    order(other, read.source)?;
                }
            }
        }
        Some(())
    }

    /// What a plain read of a weak transaction lets it see, apart from what read-committed lets later reads see.
    fn made_visible(&self, source: Source, sight: Sight) -> Bits {
        let Source::Node(writer) = source else { return Bits::default() };
        match sight {
            Sight::EarlierReads => Bits::default(),
            Sight::SessionAndReads => std::iter::once(writer).collect(),
            Sight::CausalPast => self.causal_past_of(std::iter::once(writer)),
        }
    }

    /// What the commit order has to say about a read.
    pub(super) fn questions_of_read(&self, candidate: Candidate, knowledge: &mut Knowledge) {
        let Candidate { reader, key, source, locking } = candidate;
        if !self.is_watched(reader, locking) {
            return;
        }
        for other in self.others(key, source, reader) {
            if let Some(question) = self.overwrite(reader, source, locking, other) {
                knowledge.ask(question);
            }
        }
    }

    /// Either the other version is older than the one that was read, or the read came before it. Reads of the base leave no choice.
    fn overwrite(&self, reader: Slot, source: Source, locking: bool, other: Slot) -> Option<Question> {
        let writer = match source {
            Source::Base => None,
            Source::Node(writer) => Some(writer.commit()),
        };
        if self.node(reader).rule.watches_overwrites() {
            return Some(Question::Seen { reader: reader.commit(), writer, other: other.commit() });
        }
        let point = self.node(reader).read_point(reader, locking);
        writer.map(|writer| Question::Either((other.commit(), writer), (point, other.commit())))
    }
}

impl GrowingHistory {
    /// Adds what follows from a transaction's versions of keys that somebody else read or wrote; false on a contradiction.
    #[must_use]
    pub(super) fn add_meeting(&self, knowledge: &mut Knowledge, writer: Slot, meeting: Meeting) -> bool {
        match meeting {
            Meeting::Reader(_, source, _) if source == Source::Node(writer) => true,
            Meeting::Reader(reader, source, locking) => {
                if let Some(question) = self.nodes.overwrite(reader, source, locking, writer) {
                    knowledge.ask(question);
                    return true;
                }
                let point = self.nodes.node(reader).read_point(reader, locking);
                knowledge.insert((point, writer.commit()))
            }
            Meeting::Writer(other) => self.add_conflict(knowledge, writer, other),
            Meeting::LastWriter(last) => self.add_lock(knowledge, writer, Some(&last)),
        }
    }

    /// Two writers of one key.
    pub(super) fn add_conflict(&self, knowledge: &mut Knowledge, writer: Slot, other: Slot) -> bool {
        if self.nodes.node(writer).rule.watches_overwrites() {
            let (one, two) = (other.commit(), writer.commit());
            knowledge.ask(Question::Either((one, two), (two, one)));
            return true;
        }
        for (snapshot, other) in [(writer, other), (other, writer)] {
            let node = self.nodes.node(snapshot);
            if node.rule.writes_conflict {
                let first = (other.commit(), node.start(snapshot));
                knowledge.ask(Question::Either(first, (snapshot.commit(), other.commit())));
            }
        }
        true
    }

    /// Where updates lock, versions are in the order of commits. That who read with a lock was done before follows from its question.
    pub(super) fn add_lock(&self, knowledge: &mut Knowledge, writer: Slot, last: Option<&Slot>) -> bool {
        match last {
            Some(&last) if self.options.updates == Updates::Atomic && last != writer => {
                knowledge.insert((last.commit(), writer.commit()))
            }
            _ => true,
        }
    }
}
