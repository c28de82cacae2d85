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
use skew_history::{KeyId, SessionId};
use std::collections::VecDeque;
use std::hash::Hash;

/// How a row is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum LockMode {
    Share,
    Update,
}

/// What came of asking for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockAnswer {
    Granted,
    Waits,
    Deadlock,
}

#[derive(Default, Debug)]
struct RowLock {
    holders: Vec<(SessionId, LockMode)>,
    queue: VecDeque<(SessionId, LockMode)>,
}

/// All locks of a store.
#[derive(Default, Debug)]
pub(crate) struct LockTable {
    rows: FxHashMap<KeyId, RowLock>,
    held: FxHashMap<SessionId, Vec<KeyId>>,
    waits: FxHashMap<SessionId, KeyId>,
}

fn together(one: LockMode, other: LockMode) -> bool {
    one == LockMode::Share && other == LockMode::Share
}

impl RowLock {
    fn mode_of(&self, session: SessionId) -> Option<LockMode> {
        self.holders.iter().find(|holder| holder.0 == session).map(|holder| holder.1)
    }

    /// Whom this session, at this place of the queue, waits for.
    fn ahead(&self, session: SessionId, mode: LockMode, place: usize) -> impl Iterator<Item = SessionId> {
        let holders = self.holders.iter();
        let others = holders.chain(self.queue.iter().take(place)).filter(move |other| other.0 != session);
        others.filter(move |other| !together(other.1, mode)).map(|other| other.0)
    }

    fn place_of(&self, session: SessionId) -> Option<usize> {
        self.queue.iter().position(|waiter| waiter.0 == session)
    }

    fn hold(&mut self, session: SessionId, mode: LockMode) {
        match self.holders.iter_mut().find(|holder| holder.0 == session) {
            Some(holder) => holder.1 = mode,
            None => self.holders.push((session, mode)),
        }
    }
}

impl LockTable {
    /// Asks for a lock; who has to wait asks again when told that the wait is over.
    pub(crate) fn acquire(&mut self, session: SessionId, key: KeyId, mode: LockMode) -> LockAnswer {
        let row = self.rows.entry(key).or_default();
        let held = row.mode_of(session);
        if held.is_some_and(|held| held >= mode) {
            return LockAnswer::Granted;
        }
        if row.place_of(session).is_some() {
            return LockAnswer::Waits;
        }
        // Who holds a share and wants more goes first: everybody behind would wait for him anyway.
        let place = if held.is_some() { 0 } else { row.queue.len() };
        if row.ahead(session, mode, place).next().is_none() {
            row.hold(session, mode);
            if held.is_none() {
                self.held.entry(session).or_default().push(key);
            }
            return LockAnswer::Granted;
        }
        row.queue.insert(place, (session, mode));
        self.waits.insert(session, key);
        if self.waits_for_itself(session) {
            self.stop_waiting(session);
            return LockAnswer::Deadlock;
        }
        LockAnswer::Waits
    }

    /// Whether a transaction that asked for a lock would have to wait.
    pub(crate) fn would_wait(&self, session: SessionId, key: KeyId, mode: LockMode) -> bool {
        let Some(row) = self.rows.get(&key) else { return false };
        let held = row.mode_of(session);
        let place = if held.is_some() { 0 } else { row.queue.len() };
        held.is_none_or(|held| held < mode) && row.ahead(session, mode, place).next().is_some()
    }

    /// Whether a transaction holds a lock of at least this mode.
    pub(crate) fn holds(&self, session: SessionId, key: KeyId, mode: LockMode) -> bool {
        self.rows.get(&key).and_then(|row| row.mode_of(session)).is_some_and(|held| held >= mode)
    }

    /// Whether a transaction stands in a queue.
    pub(crate) fn is_waiting(&self, session: SessionId) -> bool {
        self.waits.contains_key(&session)
    }

    /// The row that a transaction waits for.
    pub(crate) fn awaited(&self, session: SessionId) -> Option<KeyId> {
        self.waits.get(&session).copied()
    }

    /// Those that a waiting transaction waits for directly.
    pub(crate) fn waits_for(&self, session: SessionId) -> Vec<SessionId> {
        let Some(row) = self.waits.get(&session).and_then(|key| self.rows.get(key)) else { return Vec::new() };
        let Some(place) = row.place_of(session) else { return Vec::new() };
        row.ahead(session, row.queue[place].1, place).collect()
    }

    fn waits_for_itself(&self, session: SessionId) -> bool {
        waits_for_itself(session, |other| self.waits_for(other))
    }

    /// Leaves the queue; those behind may come forward.
    pub(crate) fn stop_waiting(&mut self, session: SessionId) -> Vec<SessionId> {
        let Some(key) = self.waits.remove(&session) else { return Vec::new() };
        if let Some(row) = self.rows.get_mut(&key) {
            row.queue.retain(|waiter| waiter.0 != session);
        }
        self.promote(key)
    }

    /// Gives all locks of a session back, and says whose wait is over.
    pub(crate) fn release(&mut self, session: SessionId) -> Vec<SessionId> {
        let mut woken = self.stop_waiting(session);
        for key in self.held.remove(&session).unwrap_or_default() {
            if let Some(row) = self.rows.get_mut(&key) {
                row.holders.retain(|holder| holder.0 != session);
            }
            woken.extend(self.promote(key));
        }
        woken
    }

    /// Gives a lock to those in front of its queue.
    fn promote(&mut self, key: KeyId) -> Vec<SessionId> {
        let mut woken = Vec::new();
        let Some(row) = self.rows.get_mut(&key) else { return woken };
        while let Some(&(session, mode)) = row.queue.front() {
            if row.ahead(session, mode, 0).next().is_some() {
                break;
            }
            row.queue.pop_front();
            if row.mode_of(session).is_none() {
                self.held.entry(session).or_default().push(key);
            }
            row.hold(session, mode);
            self.waits.remove(&session);
            woken.push(session);
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
    const A: SessionId = SessionId(1);
    const B: SessionId = SessionId(2);
    const C: SessionId = SessionId(3);

    #[test]
    fn shares_go_together_and_an_update_waits_for_them() {
        let mut locks = LockTable::default();
        assert_eq!(locks.acquire(A, X, LockMode::Share), LockAnswer::Granted);
        assert_eq!(locks.acquire(B, X, LockMode::Share), LockAnswer::Granted);
        assert_eq!(locks.acquire(C, X, LockMode::Update), LockAnswer::Waits);
        assert_eq!(locks.acquire(C, X, LockMode::Update), LockAnswer::Waits, "asking again changes nothing");
        assert_eq!(locks.waits_for(C), [A, B]);
        assert!(locks.release(A).is_empty());
        assert_eq!(locks.release(B), [C]);
        assert_eq!(locks.acquire(C, X, LockMode::Update), LockAnswer::Granted);
    }

    #[test]
    fn nobody_overtakes_a_waiting_update() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, LockMode::Share);
        assert_eq!(locks.acquire(B, X, LockMode::Update), LockAnswer::Waits);
        assert_eq!(locks.acquire(C, X, LockMode::Share), LockAnswer::Waits);
        assert_eq!(locks.release(A), [B]);
        assert_eq!(locks.release(B), [C]);
    }

    #[test]
    fn who_closes_the_cycle_is_refused() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, LockMode::Update);
        locks.acquire(B, Y, LockMode::Update);
        assert_eq!(locks.acquire(A, Y, LockMode::Update), LockAnswer::Waits);
        assert_eq!(locks.acquire(B, X, LockMode::Update), LockAnswer::Deadlock);
        assert!(!locks.is_waiting(B));
        assert_eq!(locks.release(B), [A]);
    }

    #[test]
    fn two_shares_that_both_want_more_are_a_deadlock() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, LockMode::Share);
        locks.acquire(B, X, LockMode::Share);
        assert_eq!(locks.acquire(A, X, LockMode::Update), LockAnswer::Waits);
        assert_eq!(locks.acquire(B, X, LockMode::Update), LockAnswer::Deadlock);
        assert_eq!(locks.release(B), [A]);
        assert_eq!(locks.acquire(A, X, LockMode::Update), LockAnswer::Granted);
    }

    #[test]
    fn who_gives_up_waiting_lets_those_behind_forward() {
        let mut locks = LockTable::default();
        locks.acquire(A, X, LockMode::Share);
        locks.acquire(B, X, LockMode::Update);
        locks.acquire(C, X, LockMode::Share);
        assert_eq!(locks.stop_waiting(B), [C]);
        assert!(locks.release(A).is_empty() && locks.release(C).is_empty() && locks.rows.is_empty());
    }
}
