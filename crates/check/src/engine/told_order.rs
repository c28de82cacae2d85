//! The versions of a key where locking reads tell their order.
//!
//! Whoever changes a row has nearly always read it under its lock, and so says which version came before its own:
//!
//! ```text
//!   initial ──> t3 read initial, changes ──> t1 read t3's, changes ──> t7 read t1's, changes
//!                  t5 read initial, FOR SHARE       t2 and t4 read t3's, FOR UPDATE: in which order is open
//! ```
//!
//! Where all of them do, and nobody holds a lock that some change does not mind, every order is known but that of those who lock the same version
//! and do not change it. Then nothing has to be asked of reachability, however many lock the key.

use super::holders::{HolderId, Holders, LockHolder};
use super::locks::EngineLock;
use super::reads::{ReadWay, Reads};
use crate::resolve::PackedWriter;

/// Per holder the version that it read under its lock, where that is one and certain.
#[derive(Clone)]
pub(super) struct LockedVersions(Vec<Option<PackedWriter>>);

impl LockedVersions {
    pub(super) fn new(holders: &Holders, reads: &Reads) -> LockedVersions {
        let mut versions: Vec<Option<PackedWriter>> = vec![None; holders.all.len()];
        let mut is_open = vec![false; holders.all.len()];
        for read in &reads.all {
            let Some(holder) = read.holder else { continue };
            // Where the row may change while it is held, the last version is the one that was locked.
            let may_change = !is_minded_by_changes(holders.get(holder));
            match reads.ways(read) {
                &[ReadWay::Latest(writer)]
                    if may_change || versions[holder.index()].is_none_or(|known| known == writer) =>
                {
                    versions[holder.index()] = Some(writer);
                }
                _ => is_open[holder.index()] = true,
            }
        }
        versions.iter_mut().zip(is_open).filter(|(_, is_open)| *is_open).for_each(|(version, _)| *version = None);
        LockedVersions(versions)
    }

    /// The same with versions that somebody takes for those of some reads.
    pub(super) fn with(&self, reads: &Reads, taken: &[(u32, PackedWriter)]) -> LockedVersions {
        let mut versions = self.clone();
        for &(read, writer) in taken {
            let holder = reads.all[read as usize].holder;
            holder.into_iter().for_each(|holder| versions.0[holder.index()] = Some(writer));
        }
        versions
    }
}

/// The order of the holders of a key.
#[derive(Default)]
pub(super) struct ToldOrder {
    /// Who changes the key for others, in order.
    pub(super) changers: Vec<HolderId>,
    /// The others, each behind the number of the changer whose version it locks, from one on; in order.
    pub(super) lockers: Vec<(u32, HolderId)>,
    /// Per version (the initial one, those of the holders) who changes it, as a place among the holders.
    next: Vec<u32>,
    /// Per version its number.
    numbers: Vec<u32>,
    /// Those that do not change the key, with the version that they lock.
    locked: Vec<(u32, HolderId)>,
}

const NOBODY: u32 = u32::MAX;

impl ToldOrder {
    /// Reads the order of those who keep locks on a key, sorted by transaction; false when it is not told.
    pub(super) fn read(&mut self, kept: &[HolderId], holders: &Holders, versions: &LockedVersions) -> bool {
        kept.iter().all(|&holder| is_minded_by_changes(holders.get(holder)))
            && self.follow_reads(kept, holders, versions)
    }

    /// The same whether or not changes mind all locks: then it is only likely.
    pub(super) fn follow_reads(&mut self, kept: &[HolderId], holders: &Holders, versions: &LockedVersions) -> bool {
        self.next.clear();
        self.next.resize(kept.len() + 1, NOBODY);
        self.locked.clear();
        let mut changers = 0;
        for (place, &number) in kept.iter().enumerate() {
            let holder = holders.get(number);
            let version = versions.0[number.index()].and_then(|writer| version(kept, holders, writer));
            let Some(version) = version else { return false };
            if holder.changes.is_none() {
                self.locked.push((version, number));
            } else if self.next[version as usize] == NOBODY {
                self.next[version as usize] = place as u32;
                changers += 1;
            } else {
                return false;
            }
        }
        self.follow(kept);
        self.changers.len() == changers && self.place_lockers()
    }

    /// From version to version, beginning with the initial one.
    fn follow(&mut self, kept: &[HolderId]) {
        self.changers.clear();
        self.numbers.clear();
        self.numbers.resize(kept.len() + 1, NOBODY);
        let mut version = 0;
        loop {
            self.numbers[version] = self.changers.len() as u32;
            let next = std::mem::replace(&mut self.next[version], NOBODY);
            if next == NOBODY {
                return;
            }
            self.changers.push(kept[next as usize]);
            version = next as usize + 1;
        }
    }

    fn place_lockers(&mut self) -> bool {
        self.lockers.clear();
        self.lockers.extend(self.locked.iter().map(|&(version, holder)| (self.numbers[version as usize], holder)));
        self.lockers.sort_by_key(|&(number, _)| number);
        self.lockers.iter().all(|&(number, _)| number != NOBODY)
    }
}

/// The number of a version among the initial one and those of the holders.
fn version(kept: &[HolderId], holders: &Holders, writer: PackedWriter) -> Option<u32> {
    let Some(writer) = writer.transaction() else { return Some(0) };
    let place = kept.binary_search_by_key(&writer, |&holder| holders.get(holder).transaction).ok()?;
    holders.get(kept[place]).changes.map(|_| place as u32 + 1)
}

/// Whether every change of the key has to wait for all that a holder has there.
pub(super) fn is_minded_by_changes(holder: &LockHolder) -> bool {
    let is_minded = |mode| {
        matches!(mode, EngineLock::Share | EngineLock::NoKeyUpdate | EngineLock::Exclusive | EngineLock::Insertion)
    };
    holder.locks.iter().all(|lock| is_minded(lock.strength.mode))
}
