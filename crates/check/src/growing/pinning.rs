//! Transactions that stay open while the past is sealed again and again.
//!
//! A pending transaction that has read below what is frozen may go on to read below, for which all that is frozen is kept. One that
//! is left open (a forgotten console, the outer transaction of a test suite) would keep everything for as long as it is there. So at the
//! second freeze it is held to what it has seen, its *view*, and all else goes:
//!
//! ```text
//!   frozen, in order:   t1: x=1 y=1    t2: x=2 y=2    t3: y=3
//!   p, at read-atomic:  read x from t1                             view: x → t1, y → t1        kept: these two versions, no transaction
//! ```
//!
//! The view has, per key, the last version in the frozen order that was written by somebody whom the level says it has seen: by session order
//! and the writers it read from (read-atomic), what is causally before it (causal), all that is before its begin (prefix); where there is
//! none, the base. Such a version is always allowed: it shows nobody new, so no earlier read is contradicted, and everybody
//! seen who wrote the key is before its writer in the order, which is part of the commit order. What commits later is not read (but by reads that
//! lock, which are about the latest version at every level), and comes after all that is frozen, so it asks nothing of the view.
//!
//! Read-committed needs no view. The last frozen version of a key is always allowed there, whatever was read before: the axiom speaks only of
//! those the transaction has read from, and they are frozen before it or still there. So it goes on as if it had read nothing
//! below, and sees what is new, which who polls inside a transaction waits for.

use super::node::{Point, Slot, Source};
use super::{GrowingHistory, Version};
use crate::levels::Sight;
use rustc_hash::FxHashMap;
use skew_history::KeyId;

impl GrowingHistory {
    /// Holds a pending transaction to what it has seen. All that is committed is frozen, in this order of points.
    pub(super) fn pin(&mut self, slot: Slot, order: &[Point]) {
        let sight = self.nodes.node(slot).rule.sight();
        if sight == Some(Sight::EarlierReads) {
            return;
        }
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(position, &point)| place[point.index()] = position);
        let mut view = FxHashMap::default();
        for (&key, row) in self.nodes.rows.iter().filter(|(_, row)| !row.writers.is_empty()) {
            let seen = row.writers.iter().copied().filter(|&writer| self.has_seen(slot, writer, &place));
            let last = seen.max_by_key(|&writer| place[writer.commit().index()]);
            view.insert(key, self.nodes.version(key, last.map_or(Source::Base, Source::Node)));
        }
        self.nodes.node_mut(slot).pinned = Some(view);
        if sight.is_none() {
            self.fix_begin(slot, &place);
        }
    }

    fn has_seen(&self, slot: Slot, writer: Slot, place: &[usize]) -> bool {
        let node = self.nodes.node(slot);
        match node.rule.sight() {
            Some(sight) => node.has_seen(writer, sight),
            None => place[writer.commit().index()] < place[node.start(slot).index()],
        }
    }

    /// As long as the frozen ones are kept for others, its begin stays between the two where it is.
    fn fix_begin(&mut self, slot: Slot, place: &[usize]) {
        let start = self.nodes.node(slot).start(slot);
        let is_before = |frozen: &Slot| place[frozen.commit().index()] < place[start.index()];
        let before = self.frozen.partition_point(is_before);
        let last = before.checked_sub(1).map(|last| (self.frozen[last].commit(), start));
        let next = self.frozen.get(before).map(|&next| (start, next.commit()));
        self.nodes.node_mut(slot).edges.extend(last.into_iter().chain(next));
    }

    /// The version of the view of a transaction that has one.
    fn pinned_version(&self, slot: Slot, key: KeyId) -> Option<Version> {
        let view = self.nodes.node(slot).pinned.as_ref()?;
        Some(view.get(&key).copied().unwrap_or_else(|| self.nodes.version(key, Source::Base)))
    }

    /// Where that one comes from: once its writer is dropped it is to this reader what the base is to others.
    pub(super) fn pinned_source(&self, slot: Slot, key: KeyId) -> Option<Source> {
        let version = self.pinned_version(slot, key)?;
        Some(self.nodes.source(key, version).unwrap_or(Source::Base))
    }

    /// The name of a version outside, for a reader.
    pub(super) fn version_for(&self, slot: Slot, key: KeyId, source: Source) -> Version {
        self.pinned_version(slot, key).unwrap_or_else(|| self.nodes.version(key, source))
    }

    /// The version of that name, if a reader may ask for it.
    pub(super) fn source_for(&self, slot: Slot, key: KeyId, version: Version, locking: bool) -> Option<Source> {
        match self.pinned_version(slot, key).filter(|_| !locking) {
            Some(pinned) => (pinned == version).then(|| self.pinned_source(slot, key)).flatten(),
            None => self.nodes.source(key, version),
        }
    }

    /// The base of some keys goes: whoever is held to it keeps it in its view.
    pub(super) fn pin_bases(&mut self, bases: &[(KeyId, Version)]) {
        for view in self.nodes.nodes.iter_mut().filter_map(|node| node.pinned.as_mut()) {
            bases.iter().for_each(|&(key, base)| _ = view.entry(key).or_insert(base));
        }
    }

    /// A transaction has ended: what was kept for it alone goes.
    pub(super) fn unpin(&mut self, slot: Slot) {
        let Some(view) = self.nodes.node_mut(slot).pinned.take() else { return };
        let is_kept = |key: KeyId, version: Version| self.nodes.source(key, version).is_some();
        let left: Vec<_> = view.into_iter().filter(|&(key, version)| !is_kept(key, version)).collect();
        self.forget_versions(left);
    }

    /// Says that nobody will read these versions again, but those that a view has.
    pub(super) fn forget_versions(&mut self, mut versions: Vec<(KeyId, Version)>) {
        let views: Vec<_> = self.nodes.nodes.iter().filter_map(|node| node.pinned.as_ref()).collect();
        versions.retain(|(key, version)| !views.iter().any(|view| view.get(key) == Some(version)));
        // Maps have no order of their own.
        versions.sort_unstable();
        self.dropped.extend(versions);
    }
}
