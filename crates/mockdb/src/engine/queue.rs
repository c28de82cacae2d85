//! Row locks of four strengths: who holds them, who waits, and in which order.
//!
//! ```text
//!   x (life 0)   held by a (NO KEY UPDATE)        waiting: b (UPDATE), c (UPDATE)       b waits for a, c waits for b
//!   y (life 0)   held by a (SHARE)                waiting: b (UPDATE)                   c may share it at once: nobody waits behind b
//! ```
//!
//! PostgreSQL writes locks into the row itself; only those who cannot have one stand in a queue. So whoever gets on with the holders overtakes
//! the queue. Who is *woken* and has not come back yet is about to take what it waited for: nobody who would be in its way overtakes that one.

use rustc_hash::FxHashMap;
use skew_history::{KeyId, RowStrength, SessionId};
use std::collections::VecDeque;

/// What somebody wants of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// The row of a life, locked.
    Row { life: u32, strength: RowStrength },
    /// The key is to be free: nobody may be about to change what is there. A row that is there is then locked, if it is to be changed.
    Free { locks: bool },
    /// An entry of an index, or a row under a new key, is written.
    Write,
}

impl Want {
    /// Whether two wants stand in one queue, one behind the other: rows have queues, keys have none.
    fn queues_behind(self, other: Want) -> bool {
        match (self, other) {
            (Want::Row { life, strength }, Want::Row { life: other_life, strength: other }) => {
                life == other_life && strength.conflicts(other)
            }
            _ => false,
        }
    }

    /// Whether it makes a difference which of the two comes first.
    fn races_with(self, other: Want) -> bool {
        match (self, other) {
            (Want::Row { .. }, Want::Row { .. }) => self.queues_behind(other),
            _ => true,
        }
    }
}

/// A lock that somebody holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HeldLock {
    session: SessionId,
    life: u32,
    strength: RowStrength,
    /// The statement that took it first.
    statement: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    session: SessionId,
    want: Want,
    /// It was told that its wait is over, and has not come back yet.
    woken: bool,
    /// It holds the row in some other way, and wants more: nobody stands behind it, else those would wait for each other.
    is_holder: bool,
}

#[derive(Default, Debug)]
struct RowQueue {
    holders: Vec<HeldLock>,
    waiters: VecDeque<Waiter>,
}

/// All row locks.
#[derive(Default, Debug)]
pub(super) struct RowQueues {
    rows: FxHashMap<KeyId, RowQueue>,
    held: FxHashMap<SessionId, Vec<KeyId>>,
    waits: FxHashMap<SessionId, KeyId>,
}

impl RowQueues {
    /// The other sessions that hold the row of a life in a way that does not go with a strength.
    pub(super) fn holders(
        &self,
        session: SessionId,
        key: KeyId,
        life: u32,
        strength: RowStrength,
    ) -> impl Iterator<Item = SessionId> {
        let held = self.rows.get(&key).into_iter().flat_map(|row| &row.holders);
        let others = held.filter(move |lock| lock.session != session && lock.life == life);
        others.filter(move |lock| lock.strength.conflicts(strength)).map(|lock| lock.session)
    }

    /// Whether a session holds any lock of a key.
    pub(super) fn holds(&self, session: SessionId, key: KeyId) -> bool {
        self.rows.get(&key).is_some_and(|row| row.holders.iter().any(|lock| lock.session == session))
    }

    /// Whether a session holds any lock.
    pub(super) fn has_any(&self, session: SessionId) -> bool {
        self.held.contains_key(&session)
    }

    /// Locks a row that nobody keeps from that.
    pub(super) fn hold(&mut self, session: SessionId, key: KeyId, life: u32, strength: RowStrength, statement: u32) {
        let row = self.rows.entry(key).or_default();
        let same = |lock: &HeldLock| (lock.session, lock.life, lock.strength) == (session, life, strength);
        if row.holders.iter().any(same) {
            return;
        }
        row.holders.push(HeldLock { session, life, strength, statement });
        let held = self.held.entry(session).or_default();
        if !held.contains(&key) {
            held.push(key);
        }
    }

    /// Gives up the locks of some lives.
    pub(super) fn give_up(&mut self, session: SessionId, lives: &[(KeyId, u32)]) {
        for (key, life) in lives {
            if let Some(row) = self.rows.get_mut(key) {
                row.holders.retain(|lock| lock.session != session || lock.life != *life);
            }
        }
    }

    /// Gives up the locks that were taken behind a statement: the keys that somebody may wait for.
    pub(super) fn take_back(&mut self, session: SessionId, since: u32) -> Vec<KeyId> {
        let held = self.held.remove(&session).unwrap_or_default();
        let (mut kept, mut freed) = (Vec::new(), Vec::new());
        for key in held {
            let Some(row) = self.rows.get_mut(&key) else { continue };
            row.holders.retain(|lock| lock.session != session || lock.statement <= since);
            if row.holders.iter().any(|lock| lock.session == session) {
                kept.push(key);
            }
            freed.push(key);
        }
        if !kept.is_empty() {
            self.held.insert(session, kept);
        }
        freed
    }

    /// Forgets a key that nobody holds or waits for.
    pub(super) fn forget(&mut self, key: KeyId) {
        if self.rows.get(&key).is_some_and(|row| row.holders.is_empty() && row.waiters.is_empty()) {
            self.rows.remove(&key);
        }
    }
}

/// Those who wait.
impl RowQueues {
    fn ahead(&self, session: SessionId, key: KeyId) -> impl Iterator<Item = &Waiter> {
        let waiters = self.rows.get(&key).into_iter().flat_map(|row| &row.waiters);
        waiters.take_while(move |waiter| waiter.session != session)
    }

    /// Those before a session in the queue of a row, whom it waits for instead of the holders.
    pub(super) fn queued_before(&self, session: SessionId, key: KeyId, want: Want) -> Vec<SessionId> {
        // Who holds the row in some other way stands in no queue for more, neither before others nor behind them.
        let is_holder = |waiter: &Waiter| waiter.session == session && waiter.is_holder;
        if self.rows.get(&key).is_some_and(|row| row.waiters.iter().any(is_holder)) {
            return Vec::new();
        }
        let queued = |waiter: &&Waiter| !waiter.is_holder && want.queues_behind(waiter.want);
        let before = self.ahead(session, key).filter(queued);
        before.map(|waiter| waiter.session).collect()
    }

    /// Those before a session who are about to take what they waited for.
    pub(super) fn woken_before(&self, session: SessionId, key: KeyId, want: Want) -> Vec<SessionId> {
        let before = self.ahead(session, key).filter(|waiter| waiter.woken && want.races_with(waiter.want));
        before.map(|waiter| waiter.session).collect()
    }

    /// A session waits from now on.
    pub(super) fn wait(&mut self, session: SessionId, key: KeyId, want: Want) {
        if self.waits.get(&session).is_some_and(|other| *other != key) {
            self.leave(session);
        }
        let row = self.rows.entry(key).or_default();
        let is_holder = row.holders.iter().any(|lock| lock.session == session);
        match row.waiters.iter_mut().find(|waiter| waiter.session == session) {
            Some(waiter) => (waiter.want, waiter.woken) = (want, false),
            None => row.waiters.push_back(Waiter { session, want, woken: false, is_holder }),
        }
        self.waits.insert(session, key);
    }

    /// A session waits no longer: the key that others may wait for behind it.
    pub(super) fn leave(&mut self, session: SessionId) -> Option<KeyId> {
        let key = self.waits.remove(&session)?;
        if let Some(row) = self.rows.get_mut(&key) {
            row.waiters.retain(|waiter| waiter.session != session);
        }
        Some(key)
    }

    /// What a session waits for.
    pub(super) fn awaited(&self, session: SessionId) -> Option<(KeyId, Want)> {
        let key = *self.waits.get(&session)?;
        let waiter = self.rows.get(&key)?.waiters.iter().find(|waiter| waiter.session == session)?;
        Some((key, waiter.want))
    }

    /// Whether a session waits and was not told that its wait is over.
    pub(super) fn is_waiting(&self, session: SessionId) -> bool {
        let row = self.waits.get(&session).and_then(|key| self.rows.get(key));
        row.is_some_and(|row| row.waiters.iter().any(|waiter| waiter.session == session && !waiter.woken))
    }

    /// Those who wait for a key and were not told that it is over, the first first.
    pub(super) fn asleep(&self, key: KeyId) -> Vec<(SessionId, Want)> {
        let waiters = self.rows.get(&key).into_iter().flat_map(|row| &row.waiters);
        waiters.filter(|waiter| !waiter.woken).map(|waiter| (waiter.session, waiter.want)).collect()
    }

    /// The wait of a session is over.
    pub(super) fn wake(&mut self, session: SessionId, key: KeyId) {
        let waiters = self.rows.get_mut(&key).into_iter().flat_map(|row| &mut row.waiters);
        waiters.filter(|waiter| waiter.session == session).for_each(|waiter| waiter.woken = true);
    }
}
