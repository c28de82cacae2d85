//! Advisory locks: numbers that applications lock, whatever they mean by them.
//!
//! ```text
//!   SELECT pg_advisory_lock(7)            the session holds 7 until it gives it back as often as it took it, or leaves
//!   SELECT pg_advisory_xact_lock(7)       the transaction holds 7 until it ends
//! ```
//!
//! They are outside of histories: no version is read or written. A session that closes a cycle of sessions that wait for one another,
//! for these locks or for rows, is refused ([`Waits`](crate::waits::Waits) knows both); a cycle that a row lock closes is left to the time
//! limit of a wait.

use skew_history::SessionId;
use std::collections::BTreeMap;

/// How often a session holds a lock.
#[derive(Clone, Copy, Debug)]
struct Holder {
    session: SessionId,
    shared: bool,
    /// Until the transaction ends.
    transaction: bool,
    count: u32,
    /// How many locks had been given when it got this one: a savepoint gives back what came later.
    since: u64,
}

/// All advisory locks of a store.
#[derive(Default, Debug)]
pub(crate) struct AdvisoryTable {
    holders: BTreeMap<i128, Vec<Holder>>,
    /// What sessions wait for, and whether they would share it.
    waiting: BTreeMap<SessionId, (i128, bool)>,
    given: u64,
}

impl AdvisoryTable {
    /// The other sessions that stand in the way.
    fn in_the_way(&self, session: SessionId, key: i128, shared: bool) -> Vec<SessionId> {
        let holders = self.holders.get(&key).into_iter().flatten();
        let others = holders.filter(|holder| holder.session != session && !(shared && holder.shared));
        others.map(|holder| holder.session).collect()
    }

    /// Takes a lock if nobody stands in the way; with `transaction` until that ends.
    pub(crate) fn take(&mut self, session: SessionId, key: i128, shared: bool, transaction: bool) -> bool {
        let is_free = self.in_the_way(session, key, shared).is_empty();
        if is_free {
            self.hold(session, key, shared, transaction);
        }
        is_free
    }

    /// A session waits from now on.
    pub(crate) fn wait(&mut self, session: SessionId, key: i128, shared: bool) {
        self.waiting.insert(session, (key, shared));
    }

    fn hold(&mut self, session: SessionId, key: i128, shared: bool, transaction: bool) {
        self.waiting.remove(&session);
        let holders = self.holders.entry(key).or_default();
        let same = |holder: &&mut Holder| {
            holder.session == session && holder.shared == shared && holder.transaction == transaction
        };
        match holders.iter_mut().find(same) {
            Some(holder) => holder.count += 1,
            None => {
                self.given += 1;
                holders.push(Holder { session, shared, transaction, count: 1, since: self.given });
            }
        }
    }

    /// Gives one back; false if the session does not hold it.
    pub(crate) fn free(&mut self, session: SessionId, key: i128, shared: bool) -> bool {
        let Some(holders) = self.holders.get_mut(&key) else { return false };
        let same = |holder: &Holder| holder.session == session && holder.shared == shared && !holder.transaction;
        let Some(place) = holders.iter().position(same) else { return false };
        holders[place].count -= 1;
        if holders[place].count == 0 {
            holders.remove(place);
        }
        true
    }

    /// Gives all back that the session can give back.
    pub(crate) fn free_all(&mut self, session: SessionId) {
        self.free_those(session, |holder| !holder.transaction);
    }

    /// Those of a session's transaction end with it.
    pub(crate) fn free_transaction(&mut self, session: SessionId) {
        self.free_those(session, |holder| holder.transaction);
    }

    /// How many locks were given so far, for a savepoint.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// Those of a session's transaction that came since then end with the savepoint.
    pub(crate) fn back_to(&mut self, session: SessionId, given: u64) {
        self.free_those(session, |holder| holder.transaction && holder.since > given);
    }

    /// All that is held and wanted: key, session, whether it is shared, and whether it is held.
    pub(crate) fn all(&self) -> impl Iterator<Item = (i128, SessionId, bool, bool)> {
        let held = self
            .holders
            .iter()
            .flat_map(|(key, holders)| holders.iter().map(|holder| (*key, holder.session, holder.shared, true)));
        held.chain(self.waiting.iter().map(|(session, (key, shared))| (*key, *session, *shared, false)))
    }

    /// All of them end with the session.
    pub(crate) fn free_session(&mut self, session: SessionId) {
        self.free_those(session, |_| true);
    }

    fn free_those(&mut self, session: SessionId, is_freed: impl Fn(&Holder) -> bool) {
        self.waiting.remove(&session);
        for holders in self.holders.values_mut() {
            holders.retain(|holder| holder.session != session || !is_freed(holder));
        }
        self.holders.retain(|_, holders| !holders.is_empty());
    }

    /// Those that could have now what they wait for.
    pub(crate) fn ready(&self) -> impl Iterator<Item = SessionId> {
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
