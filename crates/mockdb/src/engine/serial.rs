//! Whether the transactions at serializable could have run one after the other: the history of those that committed, as it grows.
//!
//! ```text
//!   a  reads x, writes y      a ── b changed what a read ──> b         a commits; b would close the circle,
//!   b  reads y, writes x      b ── a changed what b read ──> a         so b is refused
//! ```
//!
//! PostgreSQL watches for a sign of such circles and refuses some transactions that need not be; here only what would be one is refused. Only
//! transactions at serializable count. A check for duplicates that found a row is no read, unless whoever wrote it had read the key, too:
//! PostgreSQL takes no other notice of it.
//!
//! A transaction is forgotten when nobody can come to stand before it any more: it committed before every open snapshot, and none of those
//! that did not has a way to it.

use crate::operation::{Covered, ReadOrigin, RecordedAction, RecordedOperation};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_check::{GrowingId, Version};
use skew_history::{KeyId, SessionId, StatementKind};
use std::sync::Arc;

/// Beyond so many transactions it is looked which of them can be forgotten.
const MANY: usize = 64;

/// What a transaction read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Regard {
    /// What its snapshot shows.
    Snapshot,
    /// That a key was free, as it stood.
    Free,
    /// A row in its way, as it stood.
    Duplicate,
}

/// What a transaction read and wrote.
#[derive(Default, Debug)]
pub(crate) struct Footprint {
    reads: Vec<(KeyId, Version, Regard)>,
    /// Ranges, without some keys.
    ranges: Vec<(Covered, Vec<KeyId>)>,
    writes: Vec<(KeyId, Arc<str>)>,
}

impl Footprint {
    /// That of a transaction that did this, and writes these keys.
    pub(crate) fn new(operations: &[RecordedOperation], writes: Vec<(KeyId, Arc<str>)>) -> Footprint {
        let mut footprint = Footprint { writes, ..Footprint::default() };
        for operation in operations {
            match &operation.action {
                RecordedAction::Read { key, value, source: ReadOrigin::Version(version), .. } => {
                    let is_check = matches!(operation.asked.kind, StatementKind::Insert | StatementKind::Upsert);
                    let regard = match (operation.asked.kind, value) {
                        (StatementKind::Insert, Some(_)) => Regard::Duplicate,
                        (_, None) if is_check => Regard::Free,
                        _ => Regard::Snapshot,
                    };
                    footprint.reads.push((*key, *version, regard));
                }
                RecordedAction::Scan { covered, listed, except, .. } => {
                    let sources = listed.iter().filter_map(|listed| match listed.source {
                        ReadOrigin::Version(version) => Some((listed.key, version, Regard::Snapshot)),
                        _ => None,
                    });
                    footprint.reads.extend(sources);
                    footprint.ranges.push((covered.clone(), except.clone()));
                }
                _ => {}
            }
        }
        footprint
    }

    fn has_read(&self, key: KeyId, name: &str) -> bool {
        let in_range = |(covered, except): &(Covered, Vec<KeyId>)| !except.contains(&key) && covered.covers(name);
        let is_noted = |read: &(KeyId, Version, Regard)| read.0 == key && read.2 != Regard::Duplicate;
        self.reads.iter().any(is_noted) || self.ranges.iter().any(in_range)
    }

    fn has_looked(&self, key: KeyId) -> bool {
        self.reads.iter().any(|read| read.0 == key && read.2 == Regard::Snapshot)
    }

    fn writes(&self, key: KeyId) -> bool {
        self.writes.iter().any(|write| write.0 == key)
    }
}

/// Who commits, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Committer {
    pub(super) id: GrowingId,
    pub(super) session: SessionId,
    /// How many transactions had committed when its snapshot was taken.
    pub(super) snapshot: u64,
    /// The number that its commit would have.
    pub(super) commit: u64,
}

#[derive(Debug)]
struct SerialNode {
    committer: Committer,
    footprint: Footprint,
    /// Who has to come after it.
    after: Vec<GrowingId>,
}

/// The transactions at serializable that committed, and who of them comes before whom.
#[derive(Default, Debug)]
pub(super) struct SerialOrder {
    nodes: FxHashMap<GrowingId, SerialNode>,
    /// At so many it is looked who can be forgotten.
    limit: usize,
}

impl SerialOrder {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A transaction commits, unless it would have to come before itself. Every open snapshot has this many commits at least.
    pub(super) fn commit(&mut self, one: Committer, footprint: Footprint, oldest: u64) -> bool {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (&id, node) in &self.nodes {
            if self.comes_before(node, one, &footprint) {
                before.push(id);
            }
            if comes_after(node, one, &footprint) {
                after.push(id);
            }
        }
        let reachable = self.reachable(after.iter().copied());
        if before.iter().any(|id| reachable.contains(id)) {
            return false;
        }
        for id in before {
            if let Some(node) = self.nodes.get_mut(&id) {
                node.after.push(one.id);
            }
        }
        self.nodes.insert(one.id, SerialNode { committer: one, footprint, after });
        self.forget(oldest);
        true
    }

    /// Whether somebody who committed comes before who commits now: in its session, or because it wrote what this one read or writes, or read
    /// what this one writes.
    fn comes_before(&self, node: &SerialNode, one: Committer, footprint: &Footprint) -> bool {
        let id = Version::Of(node.committer.id);
        let is_noted = |read: &(KeyId, Version, Regard)| {
            read.1 == id && (read.2 != Regard::Duplicate || node.footprint.has_looked(read.0))
        };
        node.committer.session == one.session
            || footprint.reads.iter().any(is_noted)
            || footprint
                .writes
                .iter()
                .any(|(key, name)| node.footprint.writes(*key) || node.footprint.has_read(*key, name))
    }

    fn reachable(&self, from: impl Iterator<Item = GrowingId>) -> FxHashSet<GrowingId> {
        let mut open: Vec<GrowingId> = from.collect();
        let mut seen = FxHashSet::default();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(self.nodes.get(&id).into_iter().flat_map(|node| &node.after));
            }
        }
        seen
    }

    /// Forgets those whom nobody can come to stand before any more.
    fn forget(&mut self, oldest: u64) {
        if self.nodes.len() < self.limit.max(MANY) {
            return;
        }
        let recent = self.nodes.values().filter(|node| node.committer.commit > oldest);
        let kept = self.reachable(recent.map(|node| node.committer.id));
        self.nodes.retain(|id, _| kept.contains(id));
        for node in self.nodes.values_mut() {
            node.after.retain(|id| kept.contains(id));
        }
        self.limit = 2 * self.nodes.len();
    }
}

/// Whether somebody who committed comes after who commits now: it changed what this one has read in an older snapshot.
fn comes_after(node: &SerialNode, one: Committer, footprint: &Footprint) -> bool {
    let is_seen = |key: KeyId, name: &str| {
        let in_range = |(covered, except): &(Covered, Vec<KeyId>)| !except.contains(&key) && covered.covers(name);
        footprint.reads.iter().any(|read| read.0 == key && read.2 == Regard::Snapshot)
            || footprint.ranges.iter().any(in_range)
    };
    node.committer.commit > one.snapshot && node.footprint.writes.iter().any(|(key, name)| is_seen(*key, name))
}
