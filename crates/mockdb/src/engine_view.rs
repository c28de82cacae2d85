//! The open transaction of a session where the store is a server: what SQL asks becomes what the engine does.
//!
//! ```text
//!   get, Lock::None    a plain read                        scan        one plain read per key of the range
//!   get, with a lock   by what the statement is:           look_over   which rows of a range fit, as the snapshot shows them
//!                      a row that stays, or a key          seek        the row is locked, and asked again
//!                      that has to be free                 put         a write, which waits for who is about to write there
//! ```
//!
//! A statement that waits is run again from its start. It has kept its snapshot, its number and its locks, its [`Memory`] answers as before
//! what it has read, and what it wrote is still there for others to wait for: so the second run goes on where the first one stopped.

use crate::engine::{EngineRead, NotNow, ServerEngine, Sought};
use crate::operation::RecordedAction;
use crate::scan::RangeScan;
use crate::statement::Told;
use crate::store::Store;
use skew_history::{Asked, KeyId, SessionId, StatementKind};
use skew_sql::rows::{Found, Looked, Memory, Reader, Scanned};
use skew_sql::{
    AdvisoryRequest, Columns, Fit, Fits, Interrupt, KeyPart, KeyRange, Lock, Patience, Row, RowKey, SavepointId,
    SequenceId, SequenceRule, SpaceId, Stop, Storage, TableLock, Write,
};
use skew_value::{SqlError, SqlState};

/// Where a statement remembers the rows that refer to one that goes: what it has read of them before was without a lock.
const CHILDREN: usize = usize::MAX;

/// The open transaction of a session on a server.
pub(crate) struct EngineView<'a> {
    store: &'a mut Store,
    session: SessionId,
}

/// What a locking read of one key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Locks {
    /// The key is to be free; where it is not, this may decide what the statement does.
    Free { decides: bool },
    /// The row is to stay as it is.
    Row(StatementKind),
    /// The same of a row that refers to one which goes: looked for by the server itself.
    Child(StatementKind),
}

/// What nothing is locked for.
const ANY: Locks = Locks::Free { decides: true };

impl<'a> EngineView<'a> {
    pub(crate) fn new(store: &'a mut Store, session: SessionId) -> EngineView<'a> {
        EngineView { store, session }
    }

    fn kind(&self) -> StatementKind {
        self.store.engine().map_or(StatementKind::Select, |engine| engine.kind(self.session))
    }

    /// What the statement does for a lock: a key that is to be taken has to be free, the parent of a foreign key has to stay.
    fn locks_of(&self, key: &RowKey, lock: Lock) -> Locks {
        use StatementKind::{Delete, ForKeyShare, ForNoKeyUpdate, ForShare, ForUpdate, ForeignKey, Update};
        let layout = self.store.past().keys().layout();
        let is_entry = layout.shape(key.space).is_some_and(|shape| shape.index);
        match self.kind() {
            kind @ (ForUpdate | ForNoKeyUpdate | ForShare | ForKeyShare) => Locks::Row(kind),
            _ if lock == Lock::Share => Locks::Row(ForeignKey),
            kind @ (Update | Delete) if !is_entry => Locks::Row(kind),
            _ => Locks::Free { decides: true },
        }
    }

    /// Asks the memory of the statement, which asks the engine for what it does not know.
    fn remembering<T>(
        &mut self,
        (locks, patience): (Locks, Patience),
        work: impl FnOnce(&mut Memory, &mut EngineReader<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let session = self.session;
        let statement = self.store.transaction_mut(session)?.statement_mut();
        let mut memory = statement.map(|statement| statement.take_memory()).unwrap_or_default();
        let answer = work(&mut memory, &mut EngineReader { store: self.store, session, locks, patience });
        if let Some(statement) = self.store.statement_mut(session) {
            statement.put_memory(memory);
        }
        answer
    }

    fn within<T>(&mut self, scope: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.enter(scope);
        let answer = work(self);
        self.enter(before);
        answer
    }

    /// A row of its own may stand beside one that the snapshot still has and somebody else has deleted: that one cannot be changed any more.
    fn refuse_beside(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<(), Stop> {
        let session = self.session;
        if self.store.own_row(session, key).is_none_or(|own| own.is_none()) {
            return Ok(());
        }
        let (engine, number) = self.store.engine_at(session, key)?;
        let refused = engine.beside(session, number).filter(|row| fits(key, row).is_sought());
        match refused {
            Some(_) => Err(self.store.stop_for(session, ServerEngine::refusal_of_deleted())),
            None => Ok(()),
        }
    }

    /// Does something once, however often the statement is run.
    fn once(&mut self, work: impl FnOnce(&mut Store)) -> Result<(), Stop> {
        let told = self.store.tell(self.session, |store| {
            work(store);
            Ok(Told::Done)
        });
        told.map(|_| ())
    }
}

impl Storage for EngineView<'_> {
    fn get(&mut self, key: &RowKey, _: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        let locks = self.locks_of(key, lock);
        self.remembering((locks, Patience::Wait), |memory, asked| memory.read(key, lock != Lock::None, asked))
    }

    fn get_taken(&mut self, key: &RowKey, decides: bool) -> Result<Option<Row>, Stop> {
        let asked = (Locks::Free { decides }, Patience::Wait);
        self.remembering(asked, |memory, asked| memory.read(key, true, asked))
    }

    fn standing_entry(&mut self, key: &RowKey) -> Result<Option<Row>, Stop> {
        if self.store.own_row(self.session, key).is_some() || self.store.knows_locked(self.session, key) {
            return Ok(None);
        }
        let (engine, number) = self.store.engine_at(self.session, key)?;
        Ok(engine.latest(number))
    }

    fn await_row(&mut self, key: &RowKey) -> Result<(), Stop> {
        let session = self.session;
        let (engine, number) = self.store.engine_at(session, key)?;
        let awaited = engine.await_change(session, number);
        awaited.map_err(|not_now| self.store.stop_for(session, not_now))
    }

    fn decide_by(&mut self, row: &RowKey) -> Result<(), Stop> {
        let session = self.session;
        let (engine, number) = self.store.engine_at(session, row)?;
        let seen = engine.decide_by(session, number);
        seen.map_err(|not_now| self.store.stop_for(session, not_now))
    }

    fn get_child(&mut self, key: &RowKey, lock: Lock) -> Result<Option<Row>, Stop> {
        let kind = match self.kind() {
            _ if lock == Lock::Share => StatementKind::ForeignKey,
            StatementKind::Delete => StatementKind::Delete,
            _ => StatementKind::Update,
        };
        self.within(CHILDREN, |view| {
            let asked = (Locks::Child(kind), Patience::Wait);
            view.remembering(asked, |memory, asked| memory.read(key, true, asked))
        })
    }

    fn would_wait(&mut self, key: &RowKey, lock: Lock) -> Result<bool, Stop> {
        let (session, locks) = (self.session, self.locks_of(key, lock));
        let own = self.store.own_row(session, key).is_some();
        let number = self.store.tell_number(session, |store| {
            let (engine, key) = store.engine_at(session, key)?;
            let waits = match locks {
                Locks::Row(kind) | Locks::Child(kind) => !own && engine.seek_would_wait(session, kind, key),
                Locks::Free { .. } => false,
            };
            Ok(i128::from(waits))
        })?;
        Ok(number != 0)
    }

    fn scan(&mut self, range: &KeyRange, _: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.remembering((ANY, Patience::Wait), |memory, asked| memory.range(range, false, asked))
    }

    fn seek(
        &mut self,
        key: &RowKey,
        _: &Columns,
        _: Lock,
        patience: Patience,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        self.refuse_beside(key, fits)?;
        self.remembering((ANY, patience), |memory, asked| memory.seek(key, fits, asked))
    }

    fn look_over(&mut self, range: &KeyRange, _: &Columns, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        self.remembering((ANY, Patience::Wait), |memory, asked| memory.look_over(range, fits, asked))
    }

    fn take_again(&mut self, key: &RowKey, _: &Columns, lock: Lock, scope: usize) -> Result<Option<Row>, Stop> {
        // A table may have a lock of its own, and a subquery one that the statement has not.
        let kind = match (self.kind(), lock) {
            (StatementKind::ForKeyShare, Lock::Share) => StatementKind::ForKeyShare,
            (_, Lock::Share) => StatementKind::ForShare,
            (StatementKind::ForNoKeyUpdate, _) => StatementKind::ForNoKeyUpdate,
            _ => StatementKind::ForUpdate,
        };
        self.within(scope, |view| {
            view.remembering((Locks::Row(kind), Patience::Wait), |memory, asked| memory.read(key, true, asked))
        })
    }

    fn keeps_partners(&self) -> bool {
        true
    }

    fn enter(&mut self, scope: usize) -> usize {
        self.store.statement_mut(self.session).map_or(0, |statement| statement.enter(scope))
    }

    fn present(&mut self, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        let session = self.session;
        if let Some(shown) = self.store.statement_mut(session).and_then(|statement| statement.shown_before()) {
            return Ok(Some(shown));
        }
        let rows = self.store.standing_rows(session, range)?;
        if let Some(statement) = self.store.statement_mut(session) {
            statement.show(rows.clone());
        }
        Ok(Some(rows))
    }

    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop> {
        let session = self.session;
        if self.store.transaction(session)?.is_read_only() {
            let message = "cannot write in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY, message).into());
        }
        let value = match write {
            Write::Row(row) | Write::Columns(row, _) => Some(row),
            Write::Delete => None,
        };
        let is_row = self.store.past().keys().layout().shape(key.space).is_some_and(|shape| !shape.index);
        let (engine, number) = self.store.engine_at(session, key)?;
        let kind = match engine.kind(session) {
            StatementKind::Select if engine.is_claimed(session, number) => StatementKind::Insert,
            kind => kind,
        };
        let old = engine.standing(number).cloned();
        let layout = self.store.past().keys().layout();
        let moves = match (&old, &value) {
            (Some(old), Some(new)) => layout.has_other_keys(key.space, old, new),
            _ => value.is_none(),
        };
        let (engine, _) = self.store.engine_at(session, key)?;
        if let Err(not_now) = engine.write(session, number, value.clone(), moves) {
            return Err(self.store.stop_for(session, not_now));
        }
        if is_row {
            engine.note_move(session, number, value.is_some());
        }
        let asked = Asked { statement: engine_statement(self.store, session), kind, ..Asked::default() };
        self.store.bear(number);
        self.store.transaction_mut(session)?.write(number, value, false, asked);
        Ok(())
    }

    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop> {
        let session = self.session;
        let next = |store: &mut Store| Ok(i128::from(store.sequences_mut().next(session, sequence, rule)?));
        Ok(self.store.tell_number(session, next)? as i64)
    }

    fn set_value(&mut self, sequence: SequenceId, value: i64, called: bool) -> Result<(), Stop> {
        let session = self.session;
        self.once(|store| store.sequences_mut().set(session, sequence, value, called))
    }

    fn pass_value(&mut self, sequence: SequenceId, rule: &SequenceRule, value: i64) -> Result<(), Stop> {
        self.once(|store| store.sequences_mut().pass(sequence, rule, value))
    }

    fn current_value(&mut self, sequence: SequenceId) -> Option<i64> {
        self.store.sequences_mut().current(self.session, sequence)
    }

    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop> {
        let number = self.store.tell_number(self.session, |store| Ok(store.sequences_mut().fresh_key(space)))?;
        Ok(KeyPart::Number(number))
    }

    fn advisory(&mut self, key: i128, request: AdvisoryRequest) -> Result<bool, Stop> {
        let session = self.session;
        let number = self.store.tell_number(session, |store| store.advisory(session, key, request).map(i128::from))?;
        Ok(number != 0)
    }

    fn lock_tables(&mut self, locks: &[TableLock], patience: Patience) -> Result<(), Stop> {
        self.store.lock_tables(self.session, locks, patience)
    }

    fn savepoint(&mut self) -> Result<SavepointId, Stop> {
        self.store.numbered_savepoint(self.session)
    }

    fn back_to(&mut self, savepoint: SavepointId) -> Result<(), Stop> {
        self.store.rollback_to_savepoint(self.session, &savepoint.0.to_string())
    }

    fn now(&self) -> i64 {
        self.store.time_of(self.session)
    }

    fn random(&mut self) -> u64 {
        let number = self.store.tell_number(self.session, |store| Ok(i128::from(store.sequences_mut().random())));
        number.map_or(0, |number| number as u64)
    }

    fn is_cancelled(&self) -> bool {
        self.store.is_cancelled()
    }
}

/// One statement's way to the engine.
struct EngineReader<'a> {
    store: &'a mut Store,
    session: SessionId,
    locks: Locks,
    patience: Patience,
}

impl EngineReader<'_> {
    /// What came of a row that was to be locked.
    fn settled(&mut self, sought: Result<Sought, NotNow>) -> Result<Found, Stop> {
        match sought {
            Ok(Sought::Passed(read)) => {
                let value = read.value.clone();
                self.store.tell_read(self.session, read)?;
                Ok(Found::Passed(value))
            }
            Ok(Sought::Locked(read, row)) => {
                self.store.tell_read(self.session, read)?;
                Ok(Found::Locked(row))
            }
            Err(not_now) => Err(self.store.stop_for(self.session, not_now)),
        }
    }

    fn seek(&mut self, key: &RowKey, kind: StatementKind, fits: &mut Fits<'_>) -> Result<Found, Stop> {
        let (engine, number) = self.store.engine_at(self.session, key)?;
        let sought = engine.seek(self.session, kind, (number, key), fits);
        self.settled(sought)
    }

    /// The kind of a statement that seeks rows to lock.
    fn seeking_kind(&self) -> StatementKind {
        match self.store.engine().map(|engine| engine.kind(self.session)) {
            None | Some(StatementKind::Select) => StatementKind::ForUpdate,
            Some(kind) => kind,
        }
    }

    /// Who holds on to a key holds on to its row: who wants to delete that waits for the row, and has locked nothing of it yet.
    fn hold_row(&mut self, entry: &RowKey) -> Result<(), Stop> {
        let Some(row) = self.store.past().keys().layout().row_of_key_entry(entry) else { return Ok(()) };
        let session = self.session;
        let (engine, number) = self.store.engine_at(session, &row)?;
        let held = engine.hold_key(session, number);
        held.map_err(|not_now| self.store.stop_for(session, not_now))
    }

    /// The row that a lock shows.
    fn lock(&mut self, key: &RowKey, kind: StatementKind) -> Result<Option<Row>, Stop> {
        Ok(match self.seek(key, kind, &mut |_, _| Fit::Yes)? {
            Found::Locked(row) => Some(row),
            Found::Passed(_) | Found::Wanted => None,
        })
    }
}

impl Reader for EngineReader<'_> {
    type Stop = Stop;

    fn own(&self, key: &RowKey) -> Option<Option<Row>> {
        self.store.own_row(self.session, key)
    }

    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        self.store.own_rows(self.session, range)
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Stop> {
        let session = self.session;
        match self.locks {
            _ if !locking => {
                let (engine, number) = self.store.engine_at(session, key)?;
                let read = engine.select(session, number);
                let value = read.value.clone();
                self.store.tell_read(session, read)?;
                Ok(value)
            }
            Locks::Free { decides } => {
                let (engine, number) = self.store.engine_at(session, key)?;
                let checked = engine.check(session, number, decides);
                self.store.bear(number);
                Ok(match self.settled(checked)? {
                    Found::Locked(row) => Some(row),
                    Found::Passed(_) | Found::Wanted => None,
                })
            }
            Locks::Row(StatementKind::ForeignKey) => {
                let (engine, number) = self.store.engine_at(session, key)?;
                engine.ask_about(session, number);
                self.hold_row(key)?;
                self.lock(key, StatementKind::ForeignKey)
            }
            Locks::Row(kind) => self.lock(key, kind),
            Locks::Child(kind) => {
                let (engine, number) = self.store.engine_at(session, key)?;
                engine.ask_about(session, number);
                match engine.unseen(session, number) {
                    None => self.lock(key, kind),
                    Some(row) if kind == StatementKind::ForeignKey => Ok(Some(row)),
                    Some(_) => {
                        let refused = NotNow::Refused(ServerEngine::refusal_of_unseen());
                        Err(self.store.stop_for(session, refused))
                    }
                }
            }
        }
    }

    fn scan(&mut self, range: &KeyRange, _: bool) -> Result<Scanned, Stop> {
        self.store.ask(self.session)?;
        RangeScan::read(self.store, self.session, range)
    }

    fn look(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, Stop> {
        let (session, kind) = (self.session, self.seeking_kind());
        if self.patience == Patience::Wait {
            return self.seek(key, kind, fits);
        }
        let (engine, number) = self.store.engine_at(session, key)?;
        match engine.look(session, kind, (number, key), fits) {
            None => Ok(Found::Wanted),
            Some(read) => self.settled(Ok(Sought::Passed(read))),
        }
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, Stop> {
        self.store.ask(self.session)?;
        RangeScan::look(self.store, self.session, range, fits)
    }

    fn claim(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Option<Option<Row>>, Stop> {
        let (session, kind) = (self.session, self.seeking_kind());
        if self.patience != Patience::Wait {
            let (engine, number) = self.store.engine_at(session, key)?;
            let waits = engine.seek_would_wait(session, kind, number);
            match self.patience {
                Patience::Refuse if waits => {
                    return Err(SqlError::new(SqlState("55P03"), "could not obtain lock on row").into());
                }
                Patience::Skip if waits => return Ok(None),
                _ => {}
            }
        }
        Ok(Some(match self.seek(key, kind, fits)? {
            Found::Locked(row) => Some(row),
            Found::Passed(row) => row.filter(|row| fits(key, row) != Fit::No),
            Found::Wanted => None,
        }))
    }
}

fn engine_statement(store: &Store, session: SessionId) -> u32 {
    store.engine().map_or(0, |engine| engine.statement(session))
}

/// What the engine does, for the store around it.
impl Store {
    /// The engine, and the number of a key in it; something is asked.
    pub(crate) fn engine_at(&mut self, session: SessionId, key: &RowKey) -> Result<(&mut ServerEngine, KeyId), Stop> {
        let number = self.past_mut().keys_mut().number(key);
        let initial = self.past().initial(number).cloned();
        let engine = self.engine_mut().ok_or_else(no_engine)?;
        engine.ask(session);
        engine.meet(number, initial.as_ref());
        Ok((engine, number))
    }

    /// A statement asks for something.
    fn ask(&mut self, session: SessionId) -> Result<(), Stop> {
        self.engine_mut().ok_or_else(no_engine)?.ask(session);
        Ok(())
    }

    /// A look at a row is told.
    pub(crate) fn tell_read(&mut self, session: SessionId, read: EngineRead) -> Result<(), Stop> {
        let EngineRead { kind, key, source, value, passed, waited } = read;
        let statement = engine_statement(self, session);
        let asked = Asked { statement, kind, passed, waited, found: false };
        let action = RecordedAction::Read { key, value, source, locking: false };
        self.transaction_mut(session)?.push_asked(action, asked);
        Ok(())
    }

    /// What a statement that cannot go on is told. Who closes a cycle of waits is refused.
    pub(crate) fn stop_for(&mut self, session: SessionId, not_now: NotNow) -> Stop {
        match not_now {
            NotNow::Refused(error) => self.refuse(session, error),
            NotNow::Wait if self.is_deadlock(session) => self.refuse_deadlock(session),
            NotNow::Wait => Interrupt::Wait.into(),
        }
    }

    /// Who closes a cycle of waits is refused.
    pub(crate) fn refuse_deadlock(&mut self, session: SessionId) -> Stop {
        self.stop_for_good(session);
        self.refuse(session, deadlock())
    }

    /// What a client is told whose commit is refused.
    pub(crate) fn error_of_commit(&self, interrupt: Interrupt) -> Stop {
        let is_refused = interrupt == Interrupt::SerializationFailure && self.engine().is_some();
        if is_refused { dependencies().into() } else { interrupt.into() }
    }

    /// The server refuses the statement that runs: what it has seen is not told.
    pub(crate) fn refuse(&mut self, session: SessionId, error: SqlError) -> Stop {
        let statement = engine_statement(self, session);
        if let Ok(transaction) = self.transaction_mut(session) {
            transaction.refuse(error.state.0, statement);
        }
        error.into()
    }

    /// Whether the statement of a session has read a row under its lock.
    fn knows_locked(&self, session: SessionId, key: &RowKey) -> bool {
        let statement = self.transaction(session).ok().and_then(|transaction| transaction.statement());
        statement.is_some_and(|statement| statement.knows_locked(key))
    }

    /// What the transaction of a session has written under a key.
    fn own_row(&self, session: SessionId, key: &RowKey) -> Option<Option<Row>> {
        let key = self.past().keys().known(key)?;
        self.transaction(session).ok()?.own(key).cloned()
    }

    /// The rows of a range as they stand: committed, or written by the transaction of a session.
    fn standing_rows(&mut self, session: SessionId, range: &KeyRange) -> Result<Vec<(RowKey, Row)>, Stop> {
        let keys = self.past().keys();
        let born = keys.from(range.space, &range.prefix, range.low.as_ref()).map(|(_, key)| key);
        let inside: Vec<RowKey> = born.map(|key| keys.row_of(key)).filter(|key| range.contains(key)).cloned().collect();
        let mut rows = Vec::new();
        for key in inside {
            let row = match self.own_row(session, &key) {
                Some(own) => own,
                None => {
                    let number = self.past_mut().keys_mut().number(&key);
                    let initial = self.past().initial(number).cloned();
                    let engine = self.engine_mut().ok_or_else(no_engine)?;
                    engine.meet(number, initial.as_ref());
                    engine.latest(number)
                }
            };
            rows.extend(row.map(|row| (key, row)));
        }
        Ok(rows)
    }
}

fn no_engine() -> Stop {
    SqlError::new(SqlState::INTERNAL, "a store without an engine was asked as one").into()
}

/// What a transaction is told after which those that committed could not have run one after the other.
fn dependencies() -> SqlError {
    let message = "could not serialize access due to read/write dependencies among transactions";
    SqlError::new(SqlState("40001"), message).with_hint("The transaction might succeed if retried.")
}

/// What the one is told that closes a cycle of waits.
fn deadlock() -> SqlError {
    SqlError::new(SqlState("40P01"), "deadlock detected").with_hint("See server log for query details.")
}
