//! Locks of whole tables: who holds them, who waits, and in which order.
//!
//! ```text
//!   account   held by a (ROW EXCLUSIVE)     waiting: b (SHARE), c (ROW EXCLUSIVE)      c goes with a, and stands behind b all the same
//!   item      held by a, b (ACCESS SHARE)   waiting: a (ACCESS EXCLUSIVE)              b, who asks for SHARE, is let before a
//! ```
//!
//! As in PostgreSQL, who asks stands at the end of the queue and waits for all before it that it does not go with, whether they hold the table
//! or only want it; but who holds what somebody in the queue does not go with comes before that one, else the two would wait for each
//! other. A lock is *given* to those in front as soon as they can have it, so nobody overtakes them.

use skew_history::SessionId;
use skew_sql::{TableLock, TableMode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A lock that a session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TableHolder {
    session: SessionId,
    mode: TableMode,
    /// How many locks had been given when it got this one: a savepoint gives back what came later.
    since: u64,
}

#[derive(Clone, Default, Debug)]
struct TableQueue {
    /// No two have the same one, not even of the same table one after the other.
    number: u64,
    holders: Vec<TableHolder>,
    waiters: Vec<(SessionId, TableMode)>,
}

impl TableQueue {
    fn holds(&self, session: SessionId, mode: TableMode) -> bool {
        self.holders.iter().any(|holder| holder.session == session && holder.mode == mode)
    }

    /// Whether a session holds something that does not go with a mode.
    fn is_in_the_way(&self, session: SessionId, mode: TableMode) -> bool {
        self.holders.iter().any(|holder| holder.session == session && holder.mode.conflicts(mode))
    }

    fn holders_against(&self, session: SessionId, mode: TableMode) -> impl Iterator<Item = SessionId> {
        let others = self.holders.iter().filter(move |holder| holder.session != session);
        others.filter(move |holder| holder.mode.conflicts(mode)).map(|holder| holder.session)
    }

    /// The place in the queue of somebody who comes now.
    fn place_for(&self, session: SessionId) -> usize {
        let before = self.waiters.iter().position(|waiter| self.is_in_the_way(session, waiter.1));
        before.unwrap_or(self.waiters.len())
    }

    fn waiters_against(&self, mode: TableMode, place: usize) -> impl Iterator<Item = SessionId> {
        self.waiters[..place].iter().filter(move |waiter| waiter.1.conflicts(mode)).map(|waiter| waiter.0)
    }
}

/// All locks of tables, by the names of these.
#[derive(Clone, Default, Debug)]
pub(crate) struct TableLocks {
    tables: BTreeMap<Arc<str>, TableQueue>,
    given: u64,
    queues: u64,
}

impl TableLocks {
    /// Takes a lock, or waits for it from now on; whether it has it.
    pub(crate) fn acquire(&mut self, session: SessionId, lock: &TableLock) -> bool {
        let queue = self.tables.entry(Arc::clone(&lock.table)).or_insert_with(|| {
            self.queues += 1;
            TableQueue { number: self.queues, ..TableQueue::default() }
        });
        if queue.holds(session, lock.mode) {
            return true;
        }
        if queue.waiters.iter().any(|waiter| waiter.0 == session) {
            return false;
        }
        let place = queue.place_for(session);
        if queue.waiters_against(lock.mode, place).next().is_none()
            && queue.holders_against(session, lock.mode).next().is_none()
        {
            self.given += 1;
            queue.holders.push(TableHolder { session, mode: lock.mode, since: self.given });
            return true;
        }
        queue.waiters.insert(place, (session, lock.mode));
        false
    }

    /// Whether a session could have a lock at once.
    pub(crate) fn is_free(&self, session: SessionId, lock: &TableLock) -> bool {
        let Some(queue) = self.tables.get(&lock.table) else { return true };
        let place = queue.place_for(session);
        queue.holds(session, lock.mode)
            || queue.waiters_against(lock.mode, place).next().is_none()
                && queue.holders_against(session, lock.mode).next().is_none()
    }

    /// The queue in which a session stands.
    pub(crate) fn awaited(&self, session: SessionId) -> Option<u64> {
        self.waiting(session).map(|(_, queue, _)| queue.number)
    }

    fn waiting(&self, session: SessionId) -> Option<(&Arc<str>, &TableQueue, usize)> {
        self.tables.iter().find_map(|(table, queue)| {
            let place = queue.waiters.iter().position(|waiter| waiter.0 == session)?;
            Some((table, queue, place))
        })
    }

    /// Whom a session waits for: those who hold what it wants, and those before it who want it.
    pub(crate) fn waits_for(&self, session: SessionId) -> Vec<SessionId> {
        let Some((_, queue, place)) = self.waiting(session) else { return Vec::new() };
        let mode = queue.waiters[place].1;
        queue.holders_against(session, mode).chain(queue.waiters_against(mode, place)).collect()
    }

    /// The table of a session's wait, where it waits for nobody who holds it, only for those before it: it could be let before them.
    pub(crate) fn overtake(&mut self, session: SessionId) -> Option<Arc<str>> {
        let (table, queue, place) = self.waiting(session)?;
        let mode = queue.waiters[place].1;
        let front = queue.waiters[..place].iter().position(|waiter| waiter.1.conflicts(mode))?;
        let table = Arc::clone(table);
        let queue = self.tables.get_mut(&table)?;
        let waiter = queue.waiters.remove(place);
        queue.waiters.insert(front, waiter);
        Some(table)
    }

    /// A session waits no longer: whose wait is over by that.
    pub(crate) fn stop_waiting(&mut self, session: SessionId) -> Vec<SessionId> {
        let Some(table) = self.waiting(session).map(|(table, ..)| Arc::clone(table)) else { return Vec::new() };
        if let Some(queue) = self.tables.get_mut(&table) {
            queue.waiters.retain(|waiter| waiter.0 != session);
        }
        self.promote(&table)
    }

    /// How many locks were given so far, for a savepoint.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// Gives back what a session got since then: whose wait is over by that.
    pub(crate) fn back_to(&mut self, session: SessionId, given: u64) -> Vec<SessionId> {
        let mut freed = Vec::new();
        for (table, queue) in &mut self.tables {
            let before = queue.holders.len();
            queue.holders.retain(|holder| holder.session != session || holder.since <= given);
            if queue.holders.len() < before {
                freed.push(Arc::clone(table));
            }
        }
        freed.iter().flat_map(|table| self.promote(table)).collect()
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self, session: SessionId) -> Vec<SessionId> {
        let mut woken = self.stop_waiting(session);
        woken.extend(self.back_to(session, 0));
        woken
    }

    /// Gives a table to those in its queue who can have it.
    pub(crate) fn promote(&mut self, table: &Arc<str>) -> Vec<SessionId> {
        let mut woken = Vec::new();
        let Some(queue) = self.tables.get_mut(table) else { return woken };
        let mut place = 0;
        while let Some(&(session, mode)) = queue.waiters.get(place) {
            if queue.waiters_against(mode, place).next().is_some()
                || queue.holders_against(session, mode).next().is_some()
            {
                place += 1;
                continue;
            }
            queue.waiters.remove(place);
            self.given += 1;
            queue.holders.push(TableHolder { session, mode, since: self.given });
            woken.push(session);
        }
        if queue.holders.is_empty() && queue.waiters.is_empty() {
            self.tables.remove(table);
        }
        woken
    }

    /// All that is held and wanted: table, session, mode, and whether it is held.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, SessionId, TableMode, bool)> {
        self.tables.iter().flat_map(|(table, queue)| {
            let held = queue.holders.iter().map(|holder| (&**table, holder.session, holder.mode, true));
            held.chain(queue.waiters.iter().map(|waiter| (&**table, waiter.0, waiter.1, false)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TableMode::{AccessExclusive, AccessShare, RowExclusive, Share};

    const A: SessionId = SessionId(1);
    const B: SessionId = SessionId(2);
    const C: SessionId = SessionId(3);

    fn lock(mode: TableMode) -> TableLock {
        TableLock { table: "item".into(), mode }
    }

    #[test]
    fn nobody_overtakes_who_wants_what_does_not_go_together() {
        let mut locks = TableLocks::default();
        assert!(locks.acquire(A, &lock(RowExclusive)));
        assert!(!locks.acquire(B, &lock(Share)));
        assert!(!locks.acquire(C, &lock(RowExclusive)));
        assert_eq!(locks.waits_for(C), [B]);
        assert_eq!(locks.release(A), [B]);
        assert_eq!(locks.waits_for(C), [B]);
        assert_eq!(locks.release(B), [C]);
    }

    #[test]
    fn who_holds_what_a_waiter_needs_comes_before_it() {
        let mut locks = TableLocks::default();
        assert!(locks.acquire(A, &lock(AccessShare)) && locks.acquire(B, &lock(AccessShare)));
        assert!(!locks.acquire(A, &lock(AccessExclusive)));
        assert!(locks.acquire(B, &lock(Share)), "else A and B would wait for each other");
        assert_eq!(locks.waits_for(A), [B, B]);
    }

    #[test]
    fn a_savepoint_gives_back_what_came_later() {
        let mut locks = TableLocks::default();
        assert!(locks.acquire(A, &lock(RowExclusive)));
        let given = locks.given();
        assert!(locks.acquire(A, &lock(AccessExclusive)) && !locks.acquire(B, &lock(RowExclusive)));
        assert_eq!(locks.back_to(A, given), [B]);
        assert!(locks.tables["item"].holds(A, RowExclusive));
    }

    #[test]
    fn who_waits_only_for_the_queue_may_be_let_before_it() {
        let mut locks = TableLocks::default();
        assert!(locks.acquire(A, &lock(AccessShare)));
        assert!(!locks.acquire(B, &lock(AccessExclusive)) && !locks.acquire(C, &lock(AccessShare)));
        let table = locks.overtake(C).expect("it waits");
        assert_eq!(locks.promote(&table), [C]);
        assert_eq!(locks.waits_for(B), [A, C]);
    }
}
