//! One PostgreSQL server: snapshots, tuples, row locks, waits and refusals, as they are there.
//!
//! ```text
//!   statement ── snapshot ── select: what it shows                                   EngineRead: what is told of it
//!                         ├─ seek: what fits is locked, and looked at again ───────┬─ found, passed over, gone
//!                         ├─ check: whether a key is free, whatever it shows       └─ NotNow: wait, or refused
//!                         └─ write: others see it after the commit
//! ```
//!
//! A read never returns what was overwritten before its statement began (before its transaction did, above read committed), and a write acts
//! on the latest. Nothing here sleeps: who has to wait is told so and asks again when woken; what it holds by then it keeps.
//!
//! | module | holds |
//! |---|---|
//! | `tuple` | rows as tuples, and who sees which |
//! | `queue` | row locks, and who waits for them |
//! | `rows` | what statements do to rows, with both |
//! | `serial` | whether the transactions at serializable could have run one after the other |
//!
//! What depends on the engine is here, and what every store has (sessions, names, sequences, the record) is in the parts beside it: InnoDB
//! will be another module like this one.

mod queue;
mod rows;
mod serial;
mod tuple;

pub(crate) use rows::{EngineRead, NotNow, Sought};
pub(crate) use serial::Footprint;

use queue::{RowQueues, Want};
use rustc_hash::FxHashMap;
use serial::{Committer, SerialOrder};
use skew_check::GrowingId;
use skew_history::{EngineLevel, KeyId, SessionId, StatementKind};
use tuple::{TupleSight, TupleTable};

/// A transaction that is open.
#[derive(Debug)]
struct EngineTransaction {
    id: GrowingId,
    level: EngineLevel,
    /// What it sees, and the statement for which that was taken.
    snapshot: Option<(u32, u64)>,
    /// How many statements have asked for something.
    statement: u32,
    /// Whether the statement that runs is one of them.
    has_asked: bool,
    /// The parent whose check has the number of its own that was given last.
    parent: Option<KeyId>,
    kind: StatementKind,
    /// A row that is there is left as it is.
    ignores: bool,
    /// The row that its statement has just ended, which may go on under another key.
    moving: Option<KeyId>,
    /// The keys whose tuples it has made or ended.
    touched: Vec<KeyId>,
}

impl EngineTransaction {
    fn is_repeatable(&self) -> bool {
        self.level != EngineLevel::PostgresReadCommitted
    }

    fn touch(&mut self, key: KeyId) {
        if !self.touched.contains(&key) {
            self.touched.push(key);
        }
    }
}

/// The state of a server.
#[derive(Default, Debug)]
pub(crate) struct ServerEngine {
    tuples: TupleTable,
    queues: RowQueues,
    open: FxHashMap<SessionId, EngineTransaction>,
    sessions: FxHashMap<GrowingId, SessionId>,
    /// How many transactions have committed.
    commits: u64,
    /// How many have begun.
    begun: u32,
    serial: SerialOrder,
    /// Those whose wait is over and who were not told yet.
    woken: Vec<SessionId>,
    /// The oldest snapshot when tuples were last dropped.
    cleaned: u64,
    /// Keys of which nothing is left, as if nobody had ever written them.
    unborn: Vec<KeyId>,
}

/// Transactions and statements.
impl ServerEngine {
    /// The levels that it has.
    pub(crate) fn levels() -> impl Iterator<Item = EngineLevel> + Clone {
        skew_history::Engine::Postgres.levels()
    }

    /// A transaction begins.
    pub(crate) fn begin(&mut self, session: SessionId, level: EngineLevel) -> GrowingId {
        let id = GrowingId(self.begun);
        self.begun += 1;
        self.sessions.insert(id, session);
        let (kind, touched) = (StatementKind::Select, Vec::new());
        let begun = EngineTransaction {
            id,
            level,
            snapshot: None,
            statement: 0,
            has_asked: false,
            parent: None,
            kind,
            ignores: false,
            moving: None,
            touched,
        };
        self.open.insert(session, begun);
        id
    }

    /// Whether the transaction of a session goes on seeing what its first statement sees, and whether it is serializable.
    pub(crate) fn isolation(&self, session: SessionId) -> (bool, bool) {
        let level = self.open.get(&session).map(|transaction| transaction.level);
        let is = |wanted| level == Some(wanted);
        let is_serializable = is(EngineLevel::PostgresSerializable);
        (is_serializable || is(EngineLevel::PostgresRepeatableRead), is_serializable)
    }

    /// A statement of this kind begins, which leaves rows that are there as they are or does not.
    pub(crate) fn begin_statement(&mut self, session: SessionId, kind: StatementKind, ignores: bool) {
        if let Some(transaction) = self.open.get_mut(&session) {
            (transaction.kind, transaction.ignores, transaction.has_asked) = (kind, ignores, false);
            (transaction.parent, transaction.moving) = (None, None);
        }
    }

    /// A statement is over: at read committed nobody needs what it saw.
    pub(crate) fn end_statement(&mut self, session: SessionId) {
        if let Some(transaction) = self.open.get_mut(&session).filter(|transaction| !transaction.is_repeatable()) {
            transaction.snapshot = None;
        }
    }

    /// What the statement that runs is.
    pub(crate) fn kind(&self, session: SessionId) -> StatementKind {
        self.open.get(&session).map_or(StatementKind::Select, |transaction| transaction.kind)
    }

    /// The number of the statement that asked last.
    pub(crate) fn statement(&self, session: SessionId) -> u32 {
        self.open.get(&session).map_or(0, |transaction| transaction.statement)
    }

    /// Something is asked: a statement that asks for the first time gets a number.
    pub(crate) fn ask(&mut self, session: SessionId) {
        if let Some(transaction) = self.open.get_mut(&session)
            && !std::mem::replace(&mut transaction.has_asked, true)
        {
            transaction.statement += 1;
        }
    }

    /// The server looks after a reference itself: that is a statement of its own, with a snapshot of its own.
    pub(crate) fn ask_about(&mut self, session: SessionId, key: KeyId) {
        if let Some(transaction) = self.open.get_mut(&session)
            && transaction.parent.replace(key) != Some(key)
        {
            transaction.has_asked = false;
        }
        self.ask(session);
    }

    /// From here on a transaction above read committed sees the same, also if its statement asks for no row.
    pub(crate) fn take_snapshot(&mut self, session: SessionId) {
        let commits = self.commits;
        let Some(transaction) = self.open.get_mut(&session) else { return };
        let serves = |taken: u32| transaction.is_repeatable() || taken == transaction.statement;
        if !transaction.snapshot.is_some_and(|(taken, _)| serves(taken)) {
            transaction.snapshot = Some((transaction.statement, commits));
        }
    }

    fn sight(&mut self, session: SessionId) -> TupleSight {
        self.take_snapshot(session);
        let transaction = self.open.get(&session);
        let seen = |transaction: &EngineTransaction| TupleSight {
            id: transaction.id,
            commits: transaction.snapshot.map_or(0, |(_, commits)| commits),
        };
        transaction.map_or(TupleSight { id: GrowingId(u32::MAX), commits: self.commits }, seen)
    }

    /// Whether one snapshot serves the whole transaction of a session.
    pub(crate) fn is_repeatable(&self, session: SessionId) -> bool {
        self.open.get(&session).is_some_and(EngineTransaction::is_repeatable)
    }

    /// The open transactions that have written or locked something.
    pub(crate) fn writers(&self) -> Vec<(SessionId, GrowingId)> {
        let has_some =
            |session: SessionId, one: &EngineTransaction| !one.touched.is_empty() || self.queues.has_any(session);
        let open = self.open.iter().filter(|(session, one)| has_some(**session, one));
        let mut writers: Vec<_> = open.map(|(session, one)| (*session, one.id)).collect();
        writers.sort_unstable();
        writers
    }

    /// The sessions that wait for a row.
    pub(crate) fn waiting(&self) -> Vec<SessionId> {
        let mut waiting: Vec<SessionId> =
            self.open.keys().copied().filter(|session| self.queues.is_waiting(*session)).collect();
        waiting.sort_unstable();
        waiting
    }

    /// The open transaction of a session.
    pub(crate) fn transaction_of(&self, session: SessionId) -> Option<GrowingId> {
        self.open.get(&session).map(|transaction| transaction.id)
    }

    /// How many tuples are kept.
    pub(crate) fn tuple_count(&self) -> usize {
        self.tuples.count()
    }

    /// How many transactions matter to those that go on.
    pub(crate) fn transaction_count(&self) -> usize {
        self.open.len() + self.serial.len()
    }
}

/// Ends.
impl ServerEngine {
    /// Whether a transaction may commit: at serializable those that did could still have run one after the other.
    pub(crate) fn may_commit(&mut self, session: SessionId, footprint: impl FnOnce() -> Footprint) -> bool {
        let Some(transaction) = self.open.get(&session) else { return true };
        if transaction.level != EngineLevel::PostgresSerializable {
            return true;
        }
        let snapshot = transaction.snapshot.map_or(self.commits, |(_, commits)| commits);
        let oldest = self.oldest();
        let one = Committer { id: transaction.id, session, snapshot, commit: self.commits + 1 };
        self.serial.commit(one, footprint(), oldest)
    }

    /// A transaction has committed: its changes are seen by all who look from now on.
    pub(crate) fn commit(&mut self, session: SessionId) {
        let Some(transaction) = self.open.get(&session) else { return };
        self.commits += 1;
        self.tuples.stamp(&transaction.touched, transaction.id, self.commits);
        self.end(session);
    }

    /// A transaction is over, and as if it had never been.
    pub(crate) fn forget(&mut self, session: SessionId) {
        let Some(transaction) = self.open.get(&session) else { return };
        self.unborn.extend(self.tuples.take_back(&transaction.touched, transaction.id, 0));
        self.end(session);
    }

    fn end(&mut self, session: SessionId) {
        self.stop_waiting(session);
        let Some(transaction) = self.open.remove(&session) else { return };
        self.sessions.remove(&transaction.id);
        let mut freed = self.queues.take_back(session, 0);
        freed.extend(transaction.touched);
        self.wake_all(freed);
    }

    /// As if the statements of a transaction behind this one had never been: who waits for what they locked may go on.
    pub(crate) fn back_to(&mut self, session: SessionId, since: u32) {
        let Some(transaction) = self.open.get(&session) else { return };
        self.unborn.extend(self.tuples.take_back(&transaction.touched, transaction.id, since));
        let mut freed = self.queues.take_back(session, since);
        freed.extend(&transaction.touched);
        self.wake_all(freed);
    }

    /// Keys of which nothing is left, as if nobody had ever written them, since this was last asked.
    pub(crate) fn take_unborn(&mut self) -> Vec<KeyId> {
        std::mem::take(&mut self.unborn)
    }

    fn oldest(&self) -> u64 {
        let snapshots = self.open.values().filter_map(|transaction| transaction.snapshot.map(|taken| taken.1));
        snapshots.min().unwrap_or(self.commits)
    }

    /// Drops what nobody sees any more: the keys of which nothing is left but a deletion, and who deleted them.
    pub(crate) fn clean(&mut self) -> Vec<(KeyId, GrowingId)> {
        let oldest = self.oldest();
        if oldest == self.cleaned {
            return Vec::new();
        }
        self.cleaned = oldest;
        self.tuples.clean(oldest)
    }
}

/// Waits.
impl ServerEngine {
    /// The sessions that keep another one from what it wants.
    fn blockers(&self, session: SessionId, key: KeyId, want: Want) -> Vec<SessionId> {
        let mut all: Vec<SessionId> = match want {
            Want::Row { life, strength } => self.queues.holders(session, key, life, strength).collect(),
            Want::Free { .. } | Want::Write => {
                let own = self.open.get(&session).map(|transaction| transaction.id);
                let pending = self.tuples.pending(key).filter(|id| Some(*id) != own);
                let pending: Vec<SessionId> = pending.filter_map(|id| self.sessions.get(&id).copied()).collect();
                match (self.tuples.standing(key), rows::strength_of(want)) {
                    (Some(last), Some(strength)) if pending.is_empty() => {
                        self.queues.holders(session, key, last.life, strength).collect()
                    }
                    _ => pending,
                }
            }
        };
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether somebody would have to wait.
    fn would_wait(&self, session: SessionId, key: KeyId, want: Want) -> bool {
        !self.blockers(session, key, want).is_empty() || !self.queues.woken_before(session, key, want).is_empty()
    }

    /// Goes on if nobody is in the way, else waits.
    fn pass(&mut self, session: SessionId, key: KeyId, want: Want) -> Result<(), NotNow> {
        if self.would_wait(session, key, want) {
            self.queues.wait(session, key, want);
            return Err(NotNow::Wait);
        }
        Ok(())
    }

    /// The sessions that keep one from going on that waits.
    pub(crate) fn waits_for(&self, session: SessionId) -> Vec<SessionId> {
        let Some((key, want)) = self.queues.awaited(session) else { return Vec::new() };
        let queued = self.queues.queued_before(session, key, want);
        if !queued.is_empty() {
            return queued;
        }
        let blockers = self.blockers(session, key, want);
        if blockers.is_empty() { self.queues.woken_before(session, key, want) } else { blockers }
    }

    /// Whether a session waits.
    pub(crate) fn is_waiting(&self, session: SessionId) -> bool {
        self.queues.is_waiting(session)
    }

    /// The row that a session waits for.
    pub(crate) fn awaited(&self, session: SessionId) -> Option<KeyId> {
        self.queues.awaited(session).map(|(key, _)| key)
    }

    /// A session waits no longer: those behind it may come forward.
    pub(crate) fn stop_waiting(&mut self, session: SessionId) {
        if let Some(key) = self.queues.leave(session) {
            self.wake(key);
        }
    }

    fn wake_all(&mut self, mut keys: Vec<KeyId>) {
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            self.wake(key);
            self.queues.forget(key);
        }
    }

    /// Wakes those whom nobody keeps from going on any more.
    fn wake(&mut self, key: KeyId) {
        for (session, want) in self.queues.asleep(key) {
            if !self.would_wait(session, key, want) {
                self.queues.wake(session, key);
                self.woken.push(session);
            }
        }
    }

    /// The sessions whose wait is over since this was last asked.
    pub(crate) fn take_woken(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.woken)
    }
}
