//! Where a statement of a client works: first at the counter like everybody, then aside.
//!
//! ```text
//!   thread that serves      a: statement ──┬─ [`SLICE`] over: Wait ── b: statement, c: login, d: timeout, …     the clients go on
//!   a thread of its own                    └─ a: the statement again: rows, rows, a read, rows, a read, …       the database for each call
//! ```
//!
//! Nearly all statements are short: they are done at once on the thread that serves all clients, with the database in hand, so that
//! they cost no switch of threads and nobody comes between their reads. One that takes longer is put aside as if it had to wait, and is run
//! again on a thread of its own, where it is answered as before up to where it was. There it takes the database for each read and write
//! and gives it back, which is what the contract of [`Storage`] allows: others may do between two of its calls what they may do while it
//! waits for a row. A read is an event of its own, and the commit, in which a transaction becomes visible, is one step of the connection.
//!
//! What belongs together stays together: a look whether a row is locked and the read after it are done without a break. Statements
//! that change the schema number things by a catalog of their own, so one of them works at a time.
//!
//! Where somebody steers, one transaction runs at a time and each statement once: nobody is put aside, and nobody sleeps.

use super::hall::{Hall, Member};
use super::running::StopReason;
use super::walk::{Isolation, Touch};
use crate::connection::Desk;
use crate::database::Database;
use crate::shared::Work;
use crate::table_wait::StoreLock;
use skew_history::SessionId;
use skew_sql::session::Answer;
use skew_sql::{
    AdvisoryRequest, ClientFact, Columns, ConnectionRequest, Fits, Interrupt, KeyPart, KeyRange, Lock, LockFact,
    Patience, Row, RowKey, SequenceId, SequenceRule, SpaceId, Stop, Storage, TableLock, Write,
};
use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// How long a statement keeps everybody waiting before it steps aside.
const SLICE: Duration = Duration::from_millis(2);
/// A sleeper turns over so often, to look whether it should stop.
const NAP: Duration = Duration::from_millis(20);

/// The desk of a statement, for one attempt.
pub(crate) struct WireDesk<'a> {
    hall: &'a Hall,
    member: &'a Member,
    process: i32,
    session: SessionId,
    deadline: Option<Instant>,
    began: Instant,
    held: Option<Work<'a, Database>>,
    /// It is on a thread of its own.
    aside: bool,
    defining: Option<MutexGuard<'a, ()>>,
    stopped: Option<StopReason>,
    wants_aside: bool,
}

impl<'a> WireDesk<'a> {
    pub(crate) fn new(
        hall: &'a Hall,
        (process, member): (i32, &'a Member),
        session: SessionId,
        deadline: Option<Instant>,
        aside: bool,
    ) -> WireDesk<'a> {
        let (held, defining, stopped, wants_aside) = (None, None, None, false);
        let began = Instant::now();
        WireDesk { hall, member, process, session, deadline, began, held, aside, defining, stopped, wants_aside }
    }

    /// Whether the statement waits for nothing but a thread of its own.
    pub(crate) fn wants_aside(&self) -> bool {
        self.wants_aside
    }

    /// Why the statement was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.stopped.or(self.hall.running.is_closing().then_some(StopReason::Closing))
    }

    /// Whether nothing can be recorded any more. Asked behind a statement without a break: what it committed was recorded, or was not.
    pub(crate) fn is_unrecorded(&mut self) -> bool {
        self.database().store.recording_failure().is_some()
    }

    /// Waits until no other statement changes the schema.
    pub(crate) fn define(&mut self) -> Result<(), Stop> {
        self.touch(Touch::Define);
        loop {
            self.defining = match self.hall.defining.try_lock() {
                Ok(turn) => Some(turn),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            if self.defining.is_some() {
                return Ok(());
            }
            self.step_aside()?;
            self.look()?;
            std::thread::sleep(NAP);
        }
    }

    /// What follows takes long: it is for a thread of its own.
    fn step_aside(&mut self) -> Result<(), Stop> {
        if self.aside || self.hall.gate.is_some() {
            return Ok(());
        }
        self.wants_aside = true;
        Err(Interrupt::Wait.into())
    }

    fn let_go(&mut self) {
        if self.aside {
            self.held = None;
        }
    }

    /// Whoever says whose request is next is told what it touches.
    fn touch(&mut self, what: Touch<'_>) {
        let (hall, session) = (self.hall, self.session);
        let Some(walking) = &hall.walking else { return };
        let (keeps_snapshot, is_serializable) =
            self.database().store.engine().map_or((false, false), |engine| engine.isolation(session));
        walking.touch(self.process, what, Isolation { keeps_snapshot, is_serializable });
    }

    /// A call of the storage.
    fn call<R>(&mut self, call: impl FnOnce(&mut dyn Storage) -> R) -> R {
        let result = self.begin_call(call);
        self.let_go();
        result
    }

    /// The same, but the next one follows without a break.
    fn begin_call<R>(&mut self, call: impl FnOnce(&mut dyn Storage) -> R) -> R {
        let session = self.session;
        call(&mut *self.database().store.view(session))
    }

    /// Whether the statement should stop.
    fn look(&mut self) -> Result<(), Stop> {
        self.stopped = if self.hall.running.is_closing() {
            Some(StopReason::Closing)
        } else if self.member.is_gone() {
            Some(StopReason::Gone)
        } else if self.member.is_cancelled() {
            Some(StopReason::Cancelled)
        } else {
            self.deadline.filter(|deadline| Instant::now() >= *deadline).map(|_| StopReason::Late)
        };
        if self.stopped.is_some() { Err(Interrupt::Cancelled.into()) } else { Ok(()) }
    }
}

impl Desk for WireDesk<'_> {
    fn database(&mut self) -> &mut Database {
        let (database, aside) = (&self.hall.database, self.aside);
        self.held.get_or_insert_with(|| if aside { database.work_patiently() } else { database.work() })
    }

    fn work(
        &mut self,
        session: SessionId,
        statement: &mut dyn FnMut(&mut dyn Storage) -> Result<Answer, Stop>,
    ) -> Result<Answer, Stop> {
        self.session = session;
        statement(self)
    }
}

impl Storage for WireDesk<'_> {
    fn get(&mut self, key: &RowKey, columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        self.touch(if lock == Lock::None { Touch::Read(key) } else { Touch::Lock(key) });
        self.call(|view| view.get(key, columns, lock))
    }

    fn get_taken(&mut self, key: &RowKey, decides: bool) -> Result<Option<Row>, Stop> {
        self.touch(Touch::Lock(key));
        self.call(|view| view.get_taken(key, decides))
    }

    fn standing_entry(&mut self, key: &RowKey) -> Result<Option<Row>, Stop> {
        self.touch(Touch::Lock(key));
        self.begin_call(|view| view.standing_entry(key))
    }

    fn await_row(&mut self, key: &RowKey) -> Result<(), Stop> {
        self.touch(Touch::Lock(key));
        self.begin_call(|view| view.await_row(key))
    }

    fn decide_by(&mut self, row: &RowKey) -> Result<(), Stop> {
        self.call(|view| view.decide_by(row))
    }

    fn get_child(&mut self, key: &RowKey, lock: Lock) -> Result<Option<Row>, Stop> {
        self.touch(Touch::Lock(key));
        self.call(|view| view.get_child(key, lock))
    }

    fn would_wait(&mut self, key: &RowKey, lock: Lock) -> Result<bool, Stop> {
        self.touch(Touch::Lock(key));
        self.begin_call(|view| view.would_wait(key, lock))
    }

    fn scan(&mut self, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.touch(Touch::ReadAll(range.space));
        self.call(|view| view.scan(range, columns))
    }

    fn seek(
        &mut self,
        key: &RowKey,
        columns: &Columns,
        lock: Lock,
        patience: Patience,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        self.touch(Touch::Lock(key));
        self.call(|view| view.seek(key, columns, lock, patience, fits))
    }

    fn look_over(&mut self, range: &KeyRange, columns: &Columns, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        self.touch(Touch::ReadAll(range.space));
        self.call(|view| view.look_over(range, columns, fits))
    }

    fn take_again(&mut self, key: &RowKey, columns: &Columns, lock: Lock, scope: usize) -> Result<Option<Row>, Stop> {
        self.touch(Touch::Lock(key));
        self.call(|view| view.take_again(key, columns, lock, scope))
    }

    fn keeps_partners(&self) -> bool {
        self.hall.is_server
    }

    fn enter(&mut self, scope: usize) -> usize {
        self.call(|view| view.enter(scope))
    }

    fn present(&mut self, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        self.touch(Touch::ReadAll(range.space));
        self.begin_call(|view| view.present(range))
    }

    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop> {
        self.touch(Touch::Write(key));
        self.call(|view| view.put(key, write))
    }

    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop> {
        self.touch(Touch::Draw(sequence));
        self.call(|view| view.next_value(sequence, rule))
    }

    fn set_value(&mut self, sequence: SequenceId, value: i64, called: bool) -> Result<(), Stop> {
        self.touch(Touch::Draw(sequence));
        self.call(|view| view.set_value(sequence, value, called))
    }

    fn pass_value(&mut self, sequence: SequenceId, rule: &SequenceRule, value: i64) -> Result<(), Stop> {
        self.touch(Touch::Draw(sequence));
        self.call(|view| view.pass_value(sequence, rule, value))
    }

    fn current_value(&mut self, sequence: SequenceId) -> Option<i64> {
        self.call(|view| view.current_value(sequence))
    }

    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop> {
        self.touch(Touch::DrawKey(space));
        self.call(|view| view.fresh_key(space))
    }

    fn settle(&mut self) -> Result<(), Stop> {
        self.call(|view| view.settle())
    }

    fn advisory(&mut self, key: i128, request: AdvisoryRequest) -> Result<bool, Stop> {
        self.touch(Touch::LockName(key));
        self.call(|view| view.advisory(key, request))
    }

    fn lock_tables(&mut self, locks: &[TableLock], patience: Patience) -> Result<(), Stop> {
        self.call(|view| view.lock_tables(locks, patience))
    }

    fn connection(&mut self, number: i64, request: ConnectionRequest) -> Result<Vec<i64>, Stop> {
        Ok(match request {
            ConnectionRequest::Cancel => self.hall.cancel_by_number(number).into_iter().collect(),
            ConnectionRequest::SnapshotBlockers => Vec::new(),
            ConnectionRequest::Blockers => {
                let Some(session) = self.hall.session_of(number) else { return Ok(Vec::new()) };
                let holders = self.database().store.waits_for(session);
                self.let_go();
                self.hall.processes_of(&holders)
            }
        })
    }

    fn client_facts(&mut self) -> Result<Option<Vec<ClientFact>>, Stop> {
        let mut clients = self.hall.clients();
        for (session, client) in &mut clients {
            client.waits = self.database().store.kind_of_wait(*session);
        }
        self.let_go();
        Ok(Some(clients.into_iter().map(|(_, client)| client).collect()))
    }

    fn lock_facts(&mut self) -> Result<Option<Vec<LockFact>>, Stop> {
        let clients = self.hall.clients();
        let locks = self.database().store.all_locks();
        self.let_go();
        let process = |session: SessionId| clients.iter().find(|client| client.0 == session);
        let fact = |(session, thing, mode, granted): StoreLock| {
            let (_, client) = process(session)?;
            Some(LockFact { process: client.process, thing, mode, granted })
        };
        Ok(Some(locks.into_iter().filter_map(fact).collect()))
    }

    fn now(&self) -> i64 {
        match &self.held {
            Some(held) => held.store.time_of(self.session),
            None => self.hall.database.work_patiently().store.time_of(self.session),
        }
    }

    fn random(&mut self) -> u64 {
        self.touch(Touch::Chance);
        self.call(|view| view.random())
    }

    fn pause(&mut self) -> Result<(), Stop> {
        self.look()?;
        if !self.aside && self.began.elapsed() >= SLICE {
            self.step_aside()?;
        }
        self.let_go();
        Ok(())
    }

    fn sleep(&mut self, time: Duration) -> Result<(), Stop> {
        if self.hall.gate.is_some() {
            return Ok(());
        }
        self.step_aside()?;
        let session = self.session;
        let may_sleep = self.database().store.may_sleep(session);
        self.let_go();
        if !may_sleep? {
            return Ok(());
        }
        let end = Instant::now().checked_add(time);
        loop {
            self.look()?;
            let left = end.map_or(NAP, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}
