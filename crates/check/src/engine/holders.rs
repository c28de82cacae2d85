//! Who locks which key, from when to when.
//!
//! Whoever keeps a lock to its end is one holder of the key, with all its locks there; a lock that is let go at once is a holder of its own, a
//! *glance*.
//!
//! ```text
//!   t1: SELECT … FOR SHARE x; UPDATE x; COMMIT        holder:  SHARE at 1, NO KEY UPDATE at 2, until C
//!   t2: INSERT x (a duplicate)                        glance:  look at 1, until 1
//! ```

use super::locks::{self, EngineLock, LockStrength, Taken};
use super::looks::{Deed, EngineLook, Looks, Moment};
use crate::ids::dense_id;
use crate::resolve::Resolved;
use rustc_hash::FxHashMap;
use skew_history::{EngineLevel, History, KeyId, Outcome, StatementKind, TransactionId};

dense_id!(
    /// A holder.
    HolderId
);

/// One lock of a holder.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldLock {
    pub(super) strength: LockStrength,
    /// When it is got.
    pub(super) moment: Moment,
}

/// What is certain, and what depends on the order of versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Certainty {
    Yes,
    No,
    Perhaps,
}

/// What somebody does to the row under a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Changes {
    /// Whether it leaves no row.
    pub(super) leaves_nothing: bool,
    /// Whether the row that it leaves, or left for a while, is another one than the row before.
    pub(super) begins_a_row: Certainty,
    /// Whether it deletes a row that was there before.
    pub(super) deletes: Certainty,
}

/// Somebody who locks a key.
#[derive(Clone, Debug)]
pub(super) struct LockHolder {
    pub(super) transaction: TransactionId,
    pub(super) key: KeyId,
    /// In the order in which they are got; hardly ever more than three.
    pub(super) locks: Vec<HeldLock>,
    /// When others may have what was locked.
    pub(super) release: Moment,
    pub(super) is_kept: bool,
    /// What it does to the row, where it changes it for others.
    pub(super) changes: Option<Changes>,
    /// Whether it read the key, which others had written, under a lock that others who change the row have to mind.
    pub(super) has_read: bool,
    /// What its first statement on the key asked for.
    pub(super) kind: StatementKind,
}

impl LockHolder {
    /// Whether one of its locks conflicts with another one.
    pub(super) fn conflicts(&self, other: LockStrength) -> bool {
        self.locks.iter().any(|lock| lock.strength.conflicts(other))
    }

    /// When it gets its first lock that conflicts with one of another.
    pub(super) fn first_conflict(&self, other: &LockHolder) -> Option<Moment> {
        let conflicts = |lock: &&HeldLock| other.locks.iter().any(|held| lock.strength.conflicts(held.strength));
        self.locks.iter().find(conflicts).map(|lock| lock.moment)
    }
}

/// All holders.
pub(super) struct Holders {
    pub(super) all: Vec<LockHolder>,
    /// Per transaction its first holder, and the end; those of a transaction are sorted by key, glances last.
    first: Vec<u32>,
    /// Per key where its kept holders begin, and the end.
    kept_starts: Vec<u32>,
    kept: Vec<HolderId>,
    /// Per key where its glances begin, and the end.
    glance_starts: Vec<u32>,
    glances: Vec<HolderId>,
    /// Per look the holder that it belongs to.
    of_look: Vec<Option<HolderId>>,
}

impl Holders {
    pub(super) fn new(resolved: &Resolved<'_>, looks: &Looks, levels: &[EngineLevel], is_own: &[bool]) -> Holders {
        let history = resolved.history;
        let may_be_absent = keys_that_may_be_absent(history);
        let mut all: Vec<LockHolder> = Vec::new();
        let mut first = vec![0];
        let mut of_look: Vec<Option<HolderId>> = vec![None; looks.all.len()];
        let mut start = 0;
        let mut collector = LockCollector { mine: Vec::new(), kept_at: FxHashMap::default() };
        for transaction in history.transactions() {
            let mine = looks.of(transaction);
            let is_committed = matches!(history.outcome(transaction), Outcome::Committed | Outcome::Unknown);
            collector.kept_at.clear();
            for (place, look) in mine.iter().enumerate() {
                let end = looks.end(transaction);
                collector.add(look, place, levels[transaction.index()], is_own[start + place], end);
            }
            collector.mine.sort_by_key(|(holder, _)| (!holder.is_kept, holder.key));
            for (mut holder, places) in collector.mine.drain(..) {
                if is_committed && holder.locks.iter().any(|lock| lock.strength.changes) {
                    let events = places.iter().map(|&place| (&mine[place], is_own[start + place]));
                    holder.changes = Some(changes(events, may_be_absent[holder.key.index()]));
                }
                places.into_iter().for_each(|place| of_look[start + place] = Some(HolderId::new(all.len())));
                all.push(holder);
            }
            first.push(all.len() as u32);
            start += mine.len();
        }
        let (kept_starts, kept) = by_key(&all, history.key_count(), true);
        let (glance_starts, glances) = by_key(&all, history.key_count(), false);
        Holders { all, first, kept_starts, kept, glance_starts, glances, of_look }
    }

    pub(super) fn get(&self, holder: HolderId) -> &LockHolder {
        &self.all[holder.index()]
    }

    /// The holders of a transaction that keep their locks, sorted by key.
    pub(super) fn kept_by(&self, transaction: TransactionId) -> &[LockHolder] {
        let at = transaction.index();
        let mine = &self.all[self.first[at] as usize..self.first[at + 1] as usize];
        &mine[..mine.partition_point(|holder| holder.is_kept)]
    }

    /// A transaction as one that keeps a lock on a key.
    pub(super) fn find(&self, transaction: TransactionId, key: KeyId) -> Option<&LockHolder> {
        self.number(transaction, key).map(|holder| self.get(holder))
    }

    /// The number of that.
    pub(super) fn number(&self, transaction: TransactionId, key: KeyId) -> Option<HolderId> {
        let place = self.kept_by(transaction).binary_search_by_key(&key, |holder| holder.key).ok()?;
        Some(HolderId::new(self.first[transaction.index()] as usize + place))
    }

    /// The holders that keep their locks on a key, by their transactions.
    pub(super) fn kept_on(&self, key: KeyId) -> &[HolderId] {
        &self.kept[self.kept_starts[key.index()] as usize..self.kept_starts[key.index() + 1] as usize]
    }

    /// The glances at a key.
    pub(super) fn glances_on(&self, key: KeyId) -> &[HolderId] {
        &self.glances[self.glance_starts[key.index()] as usize..self.glance_starts[key.index() + 1] as usize]
    }

    /// The holder that a look belongs to.
    pub(super) fn of_look(&self, look: usize) -> Option<HolderId> {
        self.of_look[look]
    }
}

/// The holders of one transaction, each with the places of its looks.
struct LockCollector {
    mine: Vec<(LockHolder, Vec<usize>)>,
    /// Those that keep their locks, by key.
    kept_at: FxHashMap<KeyId, usize>,
}

impl LockCollector {
    fn add(&mut self, look: &EngineLook, place: usize, level: EngineLevel, is_own: bool, end: Moment) {
        let Some(Taken { mode, is_kept }) = locks::taken(look, level) else { return };
        if is_own && (!is_kept || !keeps_lock_of_own_row(look)) {
            return;
        }
        let lock = HeldLock { strength: LockStrength { mode, changes: look.is_change() }, moment: look.moment };
        let has_read = !look.is_change() && !is_own && mode != EngineLock::KeyShare;
        if let Some(&known) = self.kept_at.get(&look.key).filter(|_| is_kept) {
            let (holder, places) = &mut self.mine[known];
            holder.locks.push(lock);
            holder.has_read |= has_read;
            places.push(place);
            return;
        }
        if is_kept {
            self.kept_at.insert(look.key, self.mine.len());
        }
        let release = if is_kept { end } else { look.moment };
        let EngineLook { transaction, key, kind, .. } = *look;
        let holder =
            LockHolder { transaction, key, locks: vec![lock], release, is_kept, changes: None, has_read, kind };
        self.mine.push((holder, vec![place]));
    }
}

/// Per key whether there ever may be no row.
fn keys_that_may_be_absent(history: &History) -> Vec<bool> {
    let mut may_be: Vec<bool> = history.keys().map(|key| history.initial(key).is_absent()).collect();
    for transaction in history.transactions() {
        let events = history.events_of(transaction).iter();
        let deletions = events.filter(|event| !event.is_read() && event.value.is_absent());
        deletions.for_each(|event| may_be[event.key.index()] = true);
    }
    may_be
}

/// What the looks of a holder, each with whether it is at an own row, do to the row. What was there before is what was last
/// read under the lock: the row may have changed while only its key was held.
fn changes<'l>(looks: impl Iterator<Item = (&'l EngineLook, bool)> + Clone, may_be_absent: bool) -> Changes {
    let before = looks.clone().take_while(|(look, _)| !look.is_change());
    let read = before.filter_map(|(look, is_own)| match look.deed {
        Deed::Read { absent, .. } if !is_own => Some(absent),
        _ => None,
    });
    let read = read.last();
    let was_absent = read.or((!may_be_absent).then_some(false));
    let mut is_absent = was_absent;
    let (mut begins, mut perhaps, mut deletes) = (false, false, false);
    for (look, _) in looks {
        if let Deed::Change { absent } = look.deed {
            begins |= is_absent == Some(true) && !absent;
            perhaps |= is_absent.is_none() && !absent;
            deletes |= absent;
            is_absent = Some(absent);
        }
    }
    let begins_a_row = match (begins, perhaps) {
        (true, _) => Certainty::Yes,
        (false, true) => Certainty::Perhaps,
        (false, false) => Certainty::No,
    };
    let deletes = match (deletes, was_absent) {
        (false, _) | (_, Some(true)) => Certainty::No,
        (true, Some(false)) => Certainty::Yes,
        (true, None) => Certainty::Perhaps,
    };
    Changes { leaves_nothing: is_absent == Some(true), begins_a_row, deletes }
}

/// A lock of an own row is not noticed by others, unless it is stronger than the change that made it one's own: it is kept then, too.
fn keeps_lock_of_own_row(look: &EngineLook) -> bool {
    let finds = matches!(look.deed, Deed::Read { absent: false, passed: false, .. });
    finds && !matches!(look.kind, StatementKind::Select | StatementKind::Insert)
}

fn by_key(all: &[LockHolder], keys: usize, is_kept: bool) -> (Vec<u32>, Vec<HolderId>) {
    let mut starts = vec![0u32; keys + 1];
    let wanted = || all.iter().enumerate().filter(|(_, holder)| holder.is_kept == is_kept);
    wanted().for_each(|(_, holder)| starts[holder.key.index() + 1] += 1);
    for key in 0..keys {
        starts[key + 1] += starts[key];
    }
    let mut next = starts.clone();
    let mut sorted = vec![HolderId::new(0); starts[keys] as usize];
    for (number, holder) in wanted() {
        let at = &mut next[holder.key.index()];
        sorted[*at as usize] = HolderId::new(number);
        *at += 1;
    }
    (starts, sorted)
}

impl LockHolder {
    /// Whether a change is its first lock that nobody has the key beside, or comes after that one.
    pub(super) fn locks_strongly(&self) -> bool {
        let is_strong = |lock: &HeldLock| matches!(lock.strength.mode, EngineLock::Exclusive | EngineLock::Insertion);
        let from = self.locks.iter().skip_while(|lock| !is_strong(lock));
        from.into_iter().any(|lock| lock.strength.changes)
    }

    /// Whether it inserts before it does anything else.
    pub(super) fn begins_with_insertion(&self) -> bool {
        self.locks.first().is_some_and(|lock| lock.strength.mode == EngineLock::Insertion)
    }
}
