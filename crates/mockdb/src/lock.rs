//! Row locks: who holds them, who waits, and who waits for himself.
//!
//! ```text
//!   account/1    held by t3 (update)          waiting: t4 (update), t5 (share)      first come, first served
//!   account/2    held by t4, t5 (share)       waiting: t3 (update)                  t3 → t4 → t3: refused
//! ```
//!
//! A transaction keeps its locks until it ends. One that cannot have a lock stands in the row's queue; whoever closes a cycle of
//! transactions that wait for each other is refused at once, so no wait is for ever unless a client sleeps. When a lock comes free it is
//! *given* to those in front, so that nobody who comes later overtakes them.

use rustc_hash::{FxHashMap, FxHashSet};
use skew_check::GrowingId;
use skew_history::KeyId;
use std::collections::VecDeque;
use std::hash::Hash;

/// How a row is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mode {
    Share,
    Update,
}

/// What came of asking for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Granted,
    Waits,
    Deadlock,
}

#[derive(Default, Debug)]
struct RowLock {
    holders: Vec<(GrowingId, Mode)>,
    queue: VecDeque<(GrowingId, Mode)>,
}

/// All locks of a store.
#[derive(Default, Debug)]
pub(crate) struct LockTable {
    rows: FxHashMap<KeyId, RowLock>,
    held: FxHashMap<GrowingId, Vec<KeyId>>,
    waits: FxHashMap<GrowingId, KeyId>,
}

fn together(one: Mode, other: Mode) -> bool {
    one == Mode::Share && other == Mode::Share
}

impl RowLock {
    fn mode_of(&self, transaction: GrowingId) -> Option<Mode> {
        self.holders.iter().find(|holder| holder.0 == transaction).map(|holder| holder.1)
    }

    /// Whom this transaction, at this place of the queue, waits for.
    fn ahead(&self, transaction: GrowingId, mode: Mode, place: usize) -> impl Iterator<Item = GrowingId> {
        let holders = self.holders.iter();
        let others = holders.chain(self.queue.iter().take(place)).filter(move |other| other.0 != transaction);
        others.filter(move |other| !together(other.1, mode)).map(|other| other.0)
    }

    fn place_of(&self, transaction: GrowingId) -> Option<usize> {
        self.queue.iter().position(|waiter| waiter.0 == transaction)
    }

    fn hold(&mut self, transaction: GrowingId, mode: Mode) {
        match self.holders.iter_mut().find(|holder| holder.0 == transaction) {
            Some(holder) => holder.1 = mode,
            None => self.holders.push((transaction, mode)),
        }
    }
}

impl LockTable {
    /// Asks for a lock; who has to wait asks again when told that the wait is over.
    pub(crate) fn acquire(&mut self, transaction: GrowingId, key: KeyId, mode: Mode) -> Answer {
        let row = self.rows.entry(key).or_default();
        let held = row.mode_of(transaction);
        if held.is_some_and(|held| held >= mode) {
            return Answer::Granted;
        }
        if row.place_of(transaction).is_some() {
            return Answer::Waits;
        }
        // Who holds a share and wants more goes first: everybody behind would wait for him anyway.
        let place = if held.is_some() { 0 } else { row.queue.len() };
        if row.ahead(transaction, mode, place).next().is_none() {
            row.hold(transaction, mode);
            if held.is_none() {
                self.held.entry(transaction).or_default().push(key);
            }
            return Answer::Granted;
        }
        row.queue.insert(place, (transaction, mode));
        self.waits.insert(transaction, key);
        if self.waits_for_itself(transaction) {
            self.stop_waiting(transaction);
            return Answer::Deadlock;
        }
        Answer::Waits
    }

    /// Whether a transaction that asked for a lock would have to wait.
    pub(crate) fn would_wait(&self, transaction: GrowingId, key: KeyId, mode: Mode) -> bool {
        let Some(row) = self.rows.get(&key) else { return false };
        let held = row.mode_of(transaction);
        let place = if held.is_some() { 0 } else { row.queue.len() };
        held.is_none_or(|held| held < mode) && row.ahead(transaction, mode, place).next().is_some()
    }

    /// Whether a transaction holds a lock of at least this mode.
    pub(crate) fn holds(&self, transaction: GrowingId, key: KeyId, mode: Mode) -> bool {
        self.rows.get(&key).and_then(|row| row.mode_of(transaction)).is_some_and(|held| held >= mode)
    }

    /// Whether a transaction stands in a queue.
    pub(crate) fn is_waiting(&self, transaction: GrowingId) -> bool {
        self.waits.contains_key(&transaction)
    }

    /// The row that a transaction waits for.
    pub(crate) fn awaited(&self, transaction: GrowingId) -> Option<KeyId> {
        self.waits.get(&transaction).copied()
    }

    /// Those that a waiting transaction waits for directly.
    pub(crate) fn waits_for(&self, transaction: GrowingId) -> Vec<GrowingId> {
        let Some(row) = self.waits.get(&transaction).and_then(|key| self.rows.get(key)) else { return Vec::new() };
        let Some(place) = row.place_of(transaction) else { return Vec::new() };
        row.ahead(transaction, row.queue[place].1, place).collect()
    }

    fn waits_for_itself(&self, transaction: GrowingId) -> bool {
        waits_for_itself(transaction, |other| self.waits_for(other))
    }

    /// Leaves the queue; those behind may come forward.
    pub(crate) fn stop_waiting(&mut self, transaction: GrowingId) -> Vec<GrowingId> {
        let Some(key) = self.waits.remove(&transaction) else { return Vec::new() };
        if let Some(row) = self.rows.get_mut(&key) {
            row.queue.retain(|waiter| waiter.0 != transaction);
        }
        self.promote(key)
    }

    /// Gives all locks of a transaction back, and says whose wait is over.
    pub(crate) fn release(&mut self, transaction: GrowingId) -> Vec<GrowingId> {
        let mut woken = self.stop_waiting(transaction);
        for key in self.held.remove(&transaction).unwrap_or_default() {
            if let Some(row) = self.rows.get_mut(&key) {
                row.holders.retain(|holder| holder.0 != transaction);
            }
            woken.extend(self.promote(key));
        }
        woken
    }

    /// Gives a lock to those in front of its queue.
    fn promote(&mut self, key: KeyId) -> Vec<GrowingId> {
        let mut woken = Vec::new();
        let Some(row) = self.rows.get_mut(&key) else { return woken };
        while let Some(&(transaction, mode)) = row.queue.front() {
            if row.ahead(transaction, mode, 0).next().is_some() {
                break;
            }
            row.queue.pop_front();
            if row.mode_of(transaction).is_none() {
                self.held.entry(transaction).or_default().push(key);
            }
            row.hold(transaction, mode);
            self.waits.remove(&transaction);
            woken.push(transaction);
        }
        if row.holders.is_empty() && row.queue.is_empty() {
            self.rows.remove(&key);
        }
        woken
    }
}

/// Whether somebody waits, in the end, for itself.
pub(crate) fn waits_for_itself<T: Copy + Eq + Hash>(who: T, waits_for: impl Fn(T) -> Vec<T>) -> bool {
    let mut seen = FxHashSet::default();
    let mut open = waits_for(who);
    while let Some(next) = open.pop() {
        if next == who {
            return true;
        }
        if seen.insert(next) {
            open.extend(waits_for(next));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: KeyId = KeyId(0);
    const Y: KeyId = KeyId(1);
    const A: GrowingId = GrowingId(1);
    const B: GrowingId = GrowingId(2);
    const C: GrowingId = GrowingId(3);

    #[test]
    fn shares_go_together_and_an_update_waits_for_them() {
        let mut locks = LockTable::default();
        assert_eq!(locks.acquire(A, X, Mode::Share), Answer::Granted);
        assert_eq!(locks.acquire(B, X, Mode::Share), Answer::Granted);
        assert_eq!(locks.acquire(C, X, Mode::Update), Answer::Waits);
        assert_eq!(locks.acquire(C, X, Mode::Update), Answer::Waits, "asking again changes nothing");
        assert_eq!(locks.waits_for(C), [A, B]);
        assert!(locks.release(A).is_empty());
        assert_eq!(locks.release(B), [C]);
        assert_eq!(locks.acquire(C, X, Mode::Update), Answer::Granted);
    }

    #[test]
    fn nobody_overtakes_a_waiting_update() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, Mode::Share);
        assert_eq!(locks.acquire(B, X, Mode::Update), Answer::Waits);
        assert_eq!(locks.acquire(C, X, Mode::Share), Answer::Waits);
        assert_eq!(locks.release(A), [B]);
        assert_eq!(locks.release(B), [C]);
    }

    #[test]
    fn who_closes_the_cycle_is_refused() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, Mode::Update);
        locks.acquire(B, Y, Mode::Update);
        assert_eq!(locks.acquire(A, Y, Mode::Update), Answer::Waits);
        assert_eq!(locks.acquire(B, X, Mode::Update), Answer::Deadlock);
        assert!(!locks.is_waiting(B));
        assert_eq!(locks.release(B), [A]);
    }

    #[test]
    fn two_shares_that_both_want_more_are_a_deadlock() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, Mode::Share);
        locks.acquire(B, X, Mode::Share);
        assert_eq!(locks.acquire(A, X, Mode::Update), Answer::Waits);
        assert_eq!(locks.acquire(B, X, Mode::Update), Answer::Deadlock);
        assert_eq!(locks.release(B), [A]);
        assert_eq!(locks.acquire(A, X, Mode::Update), Answer::Granted);
    }

    #[test]
    fn who_gives_up_waiting_lets_those_behind_forward() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, Mode::Share);
        locks.acquire(B, X, Mode::Update);
        locks.acquire(C, X, Mode::Share);
        assert_eq!(locks.stop_waiting(B), [C]);
        assert!(locks.release(A).is_empty() && locks.release(C).is_empty() && locks.rows.is_empty());
    }
}
