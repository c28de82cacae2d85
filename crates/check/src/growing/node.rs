//! The transactions and keys of a growing history.

use super::bits::Bits;
use super::order::Edge;
use super::writes::Writes;
use super::{GrowingId, Version};
use crate::ids::dense_id;
use crate::levels::{Moment, Reads, Rule, Sight};
use rustc_hash::FxHashMap;
use skew_history::{KeyId, SessionId};

dense_id!(
    /// The place of a transaction among those that are kept.
    Slot
);

dense_id!(
    /// The begin or the commit of a transaction: twice its place, and one more for the commit.
    Point
);

impl Slot {
    /// The point of its begin.
    pub(super) fn begin(self) -> Point {
        Point(2 * self.0)
    }

    /// The point of its commit.
    pub(super) fn commit(self) -> Point {
        Point(2 * self.0 + 1)
    }
}

impl Point {
    /// The transaction that it is of.
    pub(super) fn slot(self) -> Slot {
        Slot(self.0 / 2)
    }

    pub(super) fn is_commit(self) -> bool {
        self.0 % 2 == 1
    }
}

/// Where a read came from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Source {
    /// The version before all that are kept: the initial one, or what is left of sealed ones.
    Base,
    /// A transaction that is kept.
    Node(Slot),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Pending,
    Committed,
    /// By its own program: its reads stay.
    Aborted,
    /// By the database: nothing stays.
    Gone,
}

/// A read, and the edges that follow from it alone.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) key: KeyId,
    pub(super) source: Source,
    pub(super) locking: bool,
    /// A scan read the absence of a key that came into being later.
    pub(super) late: bool,
    pub(super) edges: Vec<Edge>,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: GrowingId,
    pub(super) session: SessionId,
    pub(super) rule: &'static Rule,
    pub(super) state: State,
    pub(super) reads: Vec<Read>,
    /// How many of them are absences that were added later.
    pub(super) late_reads: usize,
    pub(super) writes: Writes,
    /// Edges that do not come from a read: session order, and the order of sealed transactions.
    pub(super) edges: Vec<Edge>,
    /// All that is before it in session order.
    pub(super) session_past: Bits,
    /// What it must see at read-committed too.
    pub(super) granted: Bits,
    /// The writers of its plain reads.
    pub(super) plain_writers: Bits,
    /// What its plain reads must see at causal.
    pub(super) plain_past: Bits,
    /// What those who read from it must see at causal.
    pub(super) full_past: Bits,
    /// It may read below the frozen versions.
    pub(super) exempt: bool,
    /// It goes on reading what it saw when the past was sealed for the second time: these versions, else the base.
    pub(super) pinned: Option<FxHashMap<KeyId, Version>>,
    /// It is one of those whose order is fixed.
    pub(super) frozen: bool,
    /// It has to be aborted.
    pub(super) doomed: bool,
}

impl Node {
    /// The point of a moment; both are the commit where the level does not tell them apart.
    fn at(&self, slot: Slot, moment: Moment) -> Point {
        if self.rule.is_split && moment == Moment::Begin { slot.begin() } else { slot.commit() }
    }

    /// The point before which all that it must see has committed.
    pub(super) fn start(&self, slot: Slot) -> Point {
        self.at(slot, Moment::Begin)
    }

    /// The edge between its points, where there are two.
    pub(super) fn own_edge(&self, slot: Slot) -> Option<Edge> {
        self.rule.is_split.then_some((slot.begin(), slot.commit()))
    }

    /// Where the dependency on what it reads from ends.
    pub(super) fn read_target(&self, slot: Slot, locking: bool) -> Point {
        self.at(slot, if locking { self.rule.locking_read_ends } else { Moment::Begin })
    }

    /// Whether its plain reads must have seen a transaction.
    pub(super) fn has_seen(&self, other: Slot, sight: Sight) -> bool {
        match sight {
            Sight::EarlierReads => self.granted.contains(other) || self.plain_writers.contains(other),
            Sight::SessionAndReads => self.session_past.contains(other) || self.plain_writers.contains(other),
            Sight::CausalPast => self.plain_past.contains(other),
        }
    }

    /// How many reads it made, apart from absences that were added later.
    pub(super) fn made_reads(&self) -> usize {
        self.reads.len() - self.late_reads
    }

    /// Where its reads from a number on begin, absences that were added after the one before included.
    pub(super) fn place_of_read(&self, number: usize) -> usize {
        if self.late_reads == 0 {
            return number.min(self.reads.len());
        }
        let made = self.reads.iter().enumerate().filter(|(_, read)| !read.late);
        let before = made.take(number).last();
        before.map_or(0, |(place, _)| place + 1)
    }

    /// The point at which a read has to be the latest version, for levels that speak of the commit order and for locking reads.
    pub(super) fn read_point(&self, slot: Slot, locking: bool) -> Point {
        match self.rule.reads {
            Reads::LatestAt(moment) if !locking => self.at(slot, moment),
            Reads::LatestAt(_) | Reads::Seen(_) => slot.commit(),
        }
    }
}

/// What is kept of a key that somebody who is kept wrote or read.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Who wrote it, in the order of commits.
    pub(super) writers: Vec<Slot>,
    /// The last of the frozen ones in their order: others may read nothing older.
    pub(super) floor: Option<Slot>,
    /// Who read it where the commit order matters, and from whom.
    pub(super) readers: Vec<(Slot, Source, bool)>,
}

/// All transactions and keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    pub(super) rows: FxHashMap<KeyId, Row>,
    /// Per key the version before all that are kept, where that is not the initial one.
    pub(super) bases: FxHashMap<KeyId, Version>,
    pub(super) slots: FxHashMap<GrowingId, Slot>,
    /// Counts changes of who reads or wrote which key.
    pub(super) moment: u64,
}

impl Nodes {
    pub(super) fn node(&self, slot: Slot) -> &Node {
        &self.nodes[slot.index()]
    }

    pub(super) fn node_mut(&mut self, slot: Slot) -> &mut Node {
        &mut self.nodes[slot.index()]
    }

    pub(super) fn writers(&self, key: KeyId) -> &[Slot] {
        self.rows.get(&key).map_or(&[], |row| &row.writers)
    }

    pub(super) fn readers(&self, key: KeyId) -> &[(Slot, Source, bool)] {
        self.rows.get(&key).map_or(&[], |row| &row.readers)
    }

    /// The name of a version outside.
    pub(super) fn version(&self, key: KeyId, source: Source) -> Version {
        match source {
            Source::Base => self.bases.get(&key).copied().unwrap_or(Version::Initial),
            Source::Node(slot) => Version::Of(self.node(slot).id),
        }
    }

    /// The version of that name, if it is still there.
    pub(super) fn source(&self, key: KeyId, version: Version) -> Option<Source> {
        if self.version(key, Source::Base) == version {
            return Some(Source::Base);
        }
        let Version::Of(id) = version else { return None };
        let slot = *self.slots.get(&id)?;
        self.writers(key).contains(&slot).then_some(Source::Node(slot))
    }

    /// Whether the commit order has to be asked about a read.
    pub(super) fn is_watched(&self, slot: Slot, locking: bool) -> bool {
        locking || self.node(slot).rule.sight().is_none()
    }

    /// Works out anew what a transaction sees, after some of its reads went.
    pub(super) fn see_again(&mut self, slot: Slot) {
        let node = self.node(slot);
        let mut plain_writers = Bits::default();
        let mut plain_past = self.causal_past_of(node.session_past.iter());
        let mut full_past = plain_past.clone();
        for read in &node.reads {
            let Source::Node(writer) = read.source else { continue };
            let past = self.causal_past_of(std::iter::once(writer));
            full_past.add(&past);
            if !read.locking {
                plain_writers.insert(writer);
                plain_past.add(&past);
            }
        }
        let node = self.node_mut(slot);
        (node.plain_writers, node.plain_past, node.full_past) = (plain_writers, plain_past, full_past);
    }

    /// Some transactions and all that is causally before them.
    pub(super) fn causal_past_of(&self, slots: impl Iterator<Item = Slot>) -> Bits {
        let mut past = Bits::default();
        for slot in slots {
            past.add(&self.node(slot).full_past);
            past.insert(slot);
        }
        past
    }
}
