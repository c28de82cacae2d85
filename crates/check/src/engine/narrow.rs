//! Reads that several could explain, narrowed down for a guess.
//!
//! Rows that come and go leave the same nothing behind each time, so who inserts a row again may have seen any of the deletions. Mostly what is
//! certain about others leaves one:
//!
//! ```text
//!   t1 deletes the initial row      t2 inserts one: after t1, or after t3?      t3 deletes t2's row ──> t2 did not see what t3 left
//!   t4 inserts one: after t1, or after t3?  Under its lock t2 saw what t1 left, and changed it ──> t4 saw what t3 left
//! ```
//!
//! A few looks at what is certain are enough for that. Only the guess uses it: a contradiction has to name everybody that it needs.

use super::holders::{HolderId, Holders};
use super::reads::{EngineRead, ReadWay, Reads};
use super::told_order::is_minded_by_changes;
use crate::resolve::PackedWriter;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{KeyId, TransactionId};

/// So often all reads are looked at again.
const ROUNDS: usize = 4;
/// So many versions are followed back.
const FOLLOWED: usize = 4;

/// Reads with several ways of which one is left: it, and whose version it returned.
pub(super) fn narrowed(reads: &Reads, holders: &Holders) -> Vec<(u32, PackedWriter)> {
    let is_several = |read: &EngineRead| reads.ways(read).len() > 1;
    let keys: FxHashSet<KeyId> = reads.all.iter().filter(|read| is_several(read)).map(|read| read.key).collect();
    let (mut known, mut open) = (CertainReads::default(), Vec::new());
    for (number, read) in reads.all.iter().enumerate().filter(|(_, read)| keys.contains(&read.key)) {
        match reads.ways(read) {
            &[ReadWay::Latest(writer)] => known.add(read, writer, holders),
            _ => open.push(number as u32),
        }
    }
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let still_open = open.len();
        open.retain(|&number| {
            let read = &reads.all[number as usize];
            let left = known.only_way(reads.ways(read), read, holders);
            left.inspect(|&writer| known.add(read, writer, holders))
                .map(|writer| found.push((number, writer)))
                .is_none()
        });
        if open.len() == still_open {
            break;
        }
    }
    found
}

/// What is certain about keys of which some reads are open.
#[derive(Default)]
struct CertainReads {
    /// Whose version of a key a transaction has read.
    origins: FxHashMap<(TransactionId, KeyId), PackedWriter>,
    /// Who read a version under a lock and then changed it.
    changers: FxHashMap<(PackedWriter, KeyId), HolderId>,
}

impl CertainReads {
    fn add(&mut self, read: &EngineRead, writer: PackedWriter, holders: &Holders) {
        self.origins.insert((read.transaction, read.key), writer);
        if let Some(holder) = changing(holders, read) {
            self.changers.insert((writer, read.key), holder);
        }
    }

    fn only_way(&self, ways: &[ReadWay], read: &EngineRead, holders: &Holders) -> Option<PackedWriter> {
        let mut allowed = ways.iter().filter(|&&way| self.allows(holders, read, way));
        match (allowed.next(), allowed.next()) {
            (Some(&ReadWay::Latest(writer)), None) => Some(writer),
            _ => None,
        }
    }

    fn allows(&self, holders: &Holders, read: &EngineRead, way: ReadWay) -> bool {
        let ReadWay::Latest(writer) = way else { return true };
        let is_changed_by_another = || {
            let by = self.changers.get(&(writer, read.key)).copied();
            by.is_some() && changing(holders, read).is_some_and(|mine| by != Some(mine))
        };
        !self.comes_from(writer, read) && !is_changed_by_another()
    }

    /// Whether a version was made by somebody who had seen the reader's own.
    fn comes_from(&self, mut writer: PackedWriter, read: &EngineRead) -> bool {
        for _ in 0..FOLLOWED {
            let Some(transaction) = writer.transaction() else { return false };
            let Some(&origin) = self.origins.get(&(transaction, read.key)) else { return false };
            if origin == read.transaction.into() {
                return true;
            }
            writer = origin;
        }
        false
    }
}

/// Who reads under a lock that every change minds, and changes the key itself.
fn changing(holders: &Holders, read: &EngineRead) -> Option<HolderId> {
    let holder = holders.get(read.holder?);
    (holder.changes.is_some() && is_minded_by_changes(holder)).then_some(read.holder?)
}
