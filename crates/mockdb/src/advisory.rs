//! Advisory locks: numbers that applications lock, whatever they mean by them.
//!
//! ```text
//!   SELECT pg_advisory_lock(7)            the session holds 7 until it gives it back as often as it took it, or leaves
//!   SELECT pg_advisory_xact_lock(7)       the transaction holds 7 until it ends
//! ```
//!
//! They are outside of histories: no version is read or written. A session that closes a cycle of sessions that wait for one another,
//! for these locks or for rows, is refused; a cycle that a row lock closes is left to the time limit of a wait.

use crate::lock::waits_for_itself;
use crate::store::Store;
use skew_history::SessionId;
use skew_sql::{AdvisoryRequest, Interrupt, Stop};
use std::collections::BTreeMap;

/// How often a session holds a lock.
#[derive(Clone, Copy, Debug)]
struct Holder {
    session: SessionId,
    shared: bool,
    /// Until the transaction ends.
    transaction: bool,
    count: u32,
}

/// All advisory locks of a store.
#[derive(Default, Debug)]
pub(crate) struct AdvisoryTable {
    holders: BTreeMap<i128, Vec<Holder>>,
    /// What sessions wait for, and whether they would share it.
    waiting: BTreeMap<SessionId, (i128, bool)>,
}

impl AdvisoryTable {
    /// The other sessions that stand in the way.
    fn in_the_way(&self, session: SessionId, key: i128, shared: bool) -> Vec<SessionId> {
        let holders = self.holders.get(&key).into_iter().flatten();
        let others = holders.filter(|holder| holder.session != session && !(shared && holder.shared));
        others.map(|holder| holder.session).collect()
    }

    fn hold(&mut self, session: SessionId, key: i128, shared: bool, transaction: bool) {
        self.waiting.remove(&session);
        let holders = self.holders.entry(key).or_default();
        let same = |holder: &&mut Holder| {
            holder.session == session && holder.shared == shared && holder.transaction == transaction
        };
        match holders.iter_mut().find(same) {
            Some(holder) => holder.count += 1,
            None => holders.push(Holder { session, shared, transaction, count: 1 }),
        }
    }

    /// Gives one back; false if the session does not hold it.
    fn free(&mut self, session: SessionId, key: i128, shared: bool) -> bool {
        let Some(holders) = self.holders.get_mut(&key) else { return false };
        let same = |holder: &Holder| holder.session == session && holder.shared == shared && !holder.transaction;
        let Some(place) = holders.iter().position(same) else { return false };
        holders[place].count -= 1;
        if holders[place].count == 0 {
            holders.remove(place);
        }
        true
    }

    fn free_all(&mut self, session: SessionId, is_freed: impl Fn(&Holder) -> bool) {
        self.waiting.remove(&session);
        for holders in self.holders.values_mut() {
            holders.retain(|holder| holder.session != session || !is_freed(holder));
        }
        self.holders.retain(|_, holders| !holders.is_empty());
    }

    /// Those that could have now what they wait for.
    fn ready(&self) -> impl Iterator<Item = SessionId> {
        let free = |(session, (key, shared)): &(&SessionId, &(i128, bool))| {
            self.in_the_way(**session, *key, *shared).is_empty()
        };
        self.waiting.iter().filter(free).map(|(session, _)| *session)
    }

    /// A session waits no longer.
    pub(crate) fn stop_waiting(&mut self, session: SessionId) {
        self.waiting.remove(&session);
    }

    /// Whether a session waits.
    pub(crate) fn is_waiting(&self, session: SessionId) -> bool {
        self.waiting.contains_key(&session)
    }

    /// What a session waits for.
    pub(crate) fn awaited(&self, session: SessionId) -> Option<i128> {
        self.waiting.get(&session).map(|(key, _)| *key)
    }

    /// Those that hold what a session waits for.
    pub(crate) fn waits_for(&self, session: SessionId) -> Vec<SessionId> {
        self.waiting.get(&session).map_or(Vec::new(), |(key, shared)| self.in_the_way(session, *key, *shared))
    }
}

impl Store {
    /// Does what a function of advisory locks asks; whether it could.
    pub(crate) fn advisory(&mut self, session: SessionId, key: i128, request: AdvisoryRequest) -> Result<bool, Stop> {
        let done = match request {
            AdvisoryRequest::Take { shared, waits, transaction } => {
                if self.advisory.in_the_way(session, key, shared).is_empty() {
                    self.advisory.hold(session, key, shared, transaction);
                    return Ok(true);
                }
                if waits {
                    return Err(self.wait_for_advisory(session, key, shared).into());
                }
                false
            }
            AdvisoryRequest::Free { shared } => self.advisory.free(session, key, shared),
            AdvisoryRequest::FreeAll => {
                self.advisory.free_all(session, |holder| !holder.transaction);
                true
            }
        };
        self.wake_ready();
        Ok(done)
    }

    fn wait_for_advisory(&mut self, session: SessionId, key: i128, shared: bool) -> Interrupt {
        self.advisory.waiting.insert(session, (key, shared));
        if waits_for_itself(session, |other| self.waits_for(other)) {
            self.advisory.waiting.remove(&session);
            return self.abort_by_database(session, Interrupt::Deadlock);
        }
        Interrupt::Wait
    }

    /// The locks of a session's transaction end with it, and with the session all of them.
    pub(crate) fn free_advisory(&mut self, session: SessionId, all: bool) {
        self.advisory.free_all(session, |holder| all || holder.transaction);
        self.wake_ready();
    }

    /// Wakes those that could go on, each once until somebody asks.
    fn wake_ready(&mut self) {
        for session in self.advisory.ready() {
            if !self.woken.contains(&session) {
                self.woken.push(session);
            }
        }
    }
}
