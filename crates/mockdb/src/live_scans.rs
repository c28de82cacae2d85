//! Scans whose transactions still matter: who saw the absence of a key that comes into being later.
//!
//! ```text
//!   t1  scan account/ lo 1 hi 9        read account/3
//!   t2  INSERT account/5               t1 read its absence, at its place between the others
//! ```

use crate::operation::{Covered, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_check::GrowingId;
use skew_history::KeyId;
use skew_history::scan::ascending;
use std::sync::Arc;

/// A scan whose transaction still matters to the level.
#[derive(Debug)]
struct LiveScan {
    covered: Covered,
    /// How many reads its transaction had before it.
    start: usize,
    /// What it read, in ascending order of names, each with how many versions of others it read before; what it left out counts as its own.
    reads: Vec<(Arc<str>, usize)>,
    /// How many versions of others it read.
    external: usize,
    /// Keys that came into being since.
    noticed: FxHashSet<KeyId>,
}

impl LiveScan {
    fn new(covered: Covered, start: usize, mut reads: Vec<(Arc<str>, Source)>) -> LiveScan {
        let prefix = covered.prefix.len();
        // They nearly always are in order already.
        reads.sort_by(|one, other| ascending(&one.0[prefix..], &other.0[prefix..]));
        let mut external = 0;
        let count = |(name, source): (Arc<str>, Source)| {
            let before = external;
            external += usize::from(source != Source::Own);
            (name, before)
        };
        let reads = reads.into_iter().map(count).collect();
        LiveScan { covered, start, reads, external, noticed: FxHashSet::default() }
    }

    /// Where the absence of a key stands among the transaction's reads; nothing if the scan read the key.
    fn place(&self, name: &str) -> Option<usize> {
        let prefix = self.covered.prefix.len();
        let found = self.reads.binary_search_by(|read| ascending(&read.0[prefix..], &name[prefix..]));
        let behind = found.err()?;
        Some(self.start + self.reads.get(behind).map_or(self.external, |read| read.1))
    }
}

/// The scans of all transactions that still matter.
///
/// A join leaves one for each of its rows, so those that may cover a key are found by what its name begins with.
#[derive(Default, Debug)]
pub(crate) struct LiveScans {
    /// By their prefix, up to its last `/`.
    below: FxHashMap<Arc<str>, Vec<(GrowingId, LiveScan)>>,
    /// Where those of a transaction are.
    of: FxHashMap<GrowingId, FxHashSet<Arc<str>>>,
}

impl LiveScans {
    /// A key is born: who read its absence, and where among their reads.
    pub(crate) fn notice(&mut self, key: KeyId, name: &str) -> Vec<(GrowingId, usize)> {
        let mut absent = Vec::new();
        for folder in std::iter::once("").chain(folders(name)) {
            let scans = self.below.get_mut(folder).into_iter().flatten();
            // A key that was buried and is born again may have been read or noticed before: then there is nothing to notice.
            absent.extend(scans.filter_map(|(id, scan)| {
                let place = if scan.covered.covers(name) { scan.place(name)? } else { return None };
                scan.noticed.insert(key).then_some((*id, place))
            }));
        }
        // Of several scans of one transaction the last saw most, and so says all that the others say.
        absent.sort_unstable_by(|one, other| other.cmp(one));
        absent.dedup_by_key(|absent| absent.0);
        absent.reverse();
        absent
    }

    /// Forgets the scans of a transaction.
    pub(crate) fn remove(&mut self, id: GrowingId) {
        for folder in self.of.remove(&id).into_iter().flatten() {
            if let Some(scans) = self.below.get_mut(&folder) {
                scans.retain(|scan| scan.0 != id);
                if scans.is_empty() {
                    self.below.remove(&folder);
                }
            }
        }
    }

    /// Forgets the scans of transactions that no longer matter.
    pub(crate) fn retain(&mut self, matters: impl Fn(GrowingId) -> bool) {
        let gone: Vec<GrowingId> = self.of.keys().copied().filter(|&id| !matters(id)).collect();
        gone.into_iter().for_each(|id| self.remove(id));
    }

    /// A transaction that had so many reads before has scanned a range: what it read there, with where that came from; what it left out
    /// counts as its own.
    pub(crate) fn add(&mut self, id: GrowingId, covered: Covered, start: usize, reads: Vec<(Arc<str>, Source)>) {
        let scan = LiveScan::new(covered, start, reads);
        let folder: Arc<str> = folders(&scan.covered.prefix).last().unwrap_or("").into();
        self.of.entry(id).or_default().insert(Arc::clone(&folder));
        self.below.entry(folder).or_default().push((id, scan));
    }
}

/// What a name begins with, up to each `/` of it: `a/` and `a/7/` of `a/7/x`.
fn folders(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').map(|(place, _)| &name[..=place])
}
