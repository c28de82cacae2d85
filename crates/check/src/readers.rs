//! Who read each version.
//!
//! An order of two writers sends every reader of the earlier version before the later writer, so these are asked for all the time.
//! They stand in one vector, version by version; behind the written versions come the initial ones, key by key. Ambiguous reads
//! are not here: whether they read a version is a question for the search.
//!
//! ```text
//!   t1: w(x,1) w(y,2)     t2: r(x,1) r(z,init)           versions: x of t1 · y of t1 · initial x · initial y · initial z
//!                                                        readers:    t2        –           –           –           t2
//! ```

use crate::resolve::{ReadFrom, Resolved};
use skew_history::{KeyId, TransactionId};

/// The certain reads, by the version they returned.
pub(crate) struct Readers {
    starts: Vec<u32>,
    reads: Vec<(TransactionId, ReadFrom)>,
    versions: usize,
}

impl Readers {
    /// Nobody read anything: for the levels to which the order of versions does not matter.
    pub(crate) fn none() -> Readers {
        Readers { starts: Vec::new(), reads: Vec::new(), versions: 0 }
    }

    pub(crate) fn new(resolved: &Resolved<'_>) -> Readers {
        let versions = resolved.version_count();
        let slot = |read: &ReadFrom| match read.writer()?.transaction() {
            None => Some(versions + read.key.index()),
            Some(writer) => resolved.version(writer, read.key),
        };
        let mut starts = vec![0u32; versions + resolved.history.key_count() + 1];
        for reader in resolved.transactions() {
            for slot in resolved.reads(reader).iter().filter_map(slot) {
                starts[slot + 1] += 1;
            }
        }
        for slot in 1..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let mut reads = vec![(TransactionId(0), ReadFrom::INITIAL); starts[starts.len() - 1] as usize];
        let mut next = starts.clone();
        for reader in resolved.transactions() {
            for read in resolved.reads(reader) {
                if let Some(slot) = slot(read) {
                    reads[next[slot] as usize] = (reader, *read);
                    next[slot] += 1;
                }
            }
        }
        Readers { starts, reads, versions }
    }

    /// The readers of a version, with their reads.
    pub(crate) fn of_version(&self, version: usize) -> &[(TransactionId, ReadFrom)] {
        &self.reads[self.starts[version] as usize..self.starts[version + 1] as usize]
    }

    /// The readers of the initial version of a key.
    pub(crate) fn of_initial(&self, key: KeyId) -> &[(TransactionId, ReadFrom)] {
        self.of_version(self.versions + key.index())
    }
}
