//! A SQL connection: statements, and the transactions that they are part of.
//!
//! ```text
//!            BEGIN                        a statement fails (PostgreSQL), or the store ends the transaction
//!   idle ───────────> in a transaction ─────────────────────────────────────────────────────────> failed
//!    ▲  a statement by itself │  COMMIT, ROLLBACK                                                    │
//!    └── commits by itself    └──> idle <────────────────────────────── ROLLBACK, COMMIT (rolls back) ┘
//! ```
//!
//! [`Connection::execute`] may answer [`Interrupt::Wait`]: the caller calls it again, with the same statement, when the store says that
//! the wait is over. The connection remembers how far it was.

use crate::database::Database;
use crate::statement::Ending;
use crate::store::Begin;
use skew_history::{IsolationLevel, SessionId};
use skew_sql::session::{Answer, Control, DeclaredLevel, Modes, Prepared, Session};
use skew_sql::{
    Catalog, Columns, Datum, Dialect, Interrupt, KeyPart, KeyRange, Lock, Row, RowKey, SequenceId, SequenceRule,
    SpaceId, SqlError, SqlState, Stop, Storage, Write,
};
use std::sync::Arc;

/// Where a connection stands between statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// No transaction is open.
    Idle,
    /// A transaction is open.
    Open,
    /// The transaction can only be rolled back.
    Failed,
}

/// A client that speaks SQL.
pub struct Connection {
    id: SessionId,
    session: Session,
    status: Status,
    /// The transaction of a statement by itself, which may still be waiting.
    implicit: bool,
    /// A statement by itself that is done and only waits for its commit.
    done: Option<Answer>,
    /// The transaction changed the schema.
    defines: bool,
    /// The database's generation when it first did.
    generation: u64,
    /// The catalog at each savepoint, and whether it was the transaction's own.
    savepoints: Vec<(String, Arc<Catalog>, bool)>,
    /// What transactions begin with.
    modes: Modes,
    /// What the next transaction begins with (MySQL's SET TRANSACTION).
    next_modes: Option<Modes>,
}

impl Connection {
    /// Connects under a name, which is the session's in the history.
    pub fn open(database: &mut Database, name: &str, dialect: Dialect) -> Connection {
        Connection {
            id: database.store.connect(name),
            session: Session::new(dialect, Arc::clone(&database.catalog)),
            status: Status::Idle,
            implicit: false,
            done: None,
            defines: false,
            generation: 0,
            savepoints: Vec::new(),
            modes: Modes::default(),
            next_modes: None,
        }
    }

    /// Disconnects; what is open is rolled back.
    pub fn close(mut self, database: &mut Database) {
        database.store.disconnect(self.id);
        self.forget_definitions(database);
    }

    /// Its session in the store.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The SQL session, to parse with.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Binds a statement against the catalog of now.
    pub fn prepare(
        &mut self,
        database: &Database,
        statement: &skew_sql::Statement,
        parameter_types: &[skew_sql::SqlType],
    ) -> Result<Prepared, SqlError> {
        self.see_catalog(database);
        self.session.prepare(statement, parameter_types)
    }

    fn see_catalog(&mut self, database: &Database) {
        if !self.defines {
            self.session.set_catalog(Arc::clone(&database.catalog));
        }
    }

    /// Runs a statement, or goes on with it after a wait.
    pub fn execute(
        &mut self,
        database: &mut Database,
        prepared: &Prepared,
        parameters: &[Datum],
    ) -> Result<Answer, Stop> {
        if let Some(answer) = self.done.take() {
            return self.finish_implicit(database, answer);
        }
        if self.status == Status::Failed {
            return self.execute_failed(database, prepared, parameters);
        }
        if !database.store.in_transaction(self.id) {
            self.begin(database, Modes::default())?;
            self.implicit = true;
        }
        self.see_catalog(database);
        let before = Arc::clone(self.session.catalog());
        let text = prepared.statement().text().to_owned();
        database
            .store
            .begin_statement(self.id, Some(&text))
            .inspect_err(|stop| self.stopped(database, stop, &before))?;
        let result = self.session.execute(prepared, parameters, &mut database.store.view(self.id));
        database.store.end_statement(self.id, ending_of(&result));
        let answer = result.inspect_err(|stop| self.stopped(database, stop, &before))?;
        self.answered(database, answer)
    }

    fn begin(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
        let next = self.next_modes.take().unwrap_or_default();
        let level = modes.level.or(next.level).or(self.modes.level);
        let read_only = modes.read_only.or(next.read_only).or(self.modes.read_only).unwrap_or(false);
        let level = level.filter(|_| database.obeys_levels).map(level_of);
        database.store.begin(self.id, Begin { level, read_only, chooser: None })?;
        Ok(())
    }

    /// A statement did not come to its end.
    fn stopped(&mut self, database: &mut Database, stop: &Stop, before: &Arc<Catalog>) {
        self.session.set_catalog(Arc::clone(before));
        if *stop == Stop::Interrupted(Interrupt::Wait) {
            return;
        }
        let over = !database.store.in_transaction(self.id);
        let explicit = !std::mem::take(&mut self.implicit);
        // In PostgreSQL a transaction with an error is lost; in MySQL only the statement is, unless the store ended it all.
        let lost = self.session.dialect() == Dialect::Postgres || over;
        if explicit && !lost {
            return;
        }
        if !explicit || over {
            database.store.abort(self.id);
            self.session.forget_deferred();
            self.forget_definitions(database);
        }
        self.status = match self.session.dialect() {
            Dialect::Postgres if explicit => Status::Failed,
            _ => Status::Idle,
        };
    }

    fn forget_definitions(&mut self, database: &mut Database) {
        if std::mem::take(&mut self.defines) {
            database.forget_catalog(self.session.catalog());
        }
        self.savepoints.clear();
        self.see_catalog(database);
    }

    /// In a failed transaction only its end is listened to.
    fn execute_failed(
        &mut self,
        database: &mut Database,
        prepared: &Prepared,
        parameters: &[Datum],
    ) -> Result<Answer, Stop> {
        let before = Arc::clone(self.session.catalog());
        let answer = self.session.execute(prepared, parameters, &mut NoStorage);
        self.session.set_catalog(before);
        let open = database.store.in_transaction(self.id);
        match answer {
            Ok(Answer::Transaction(Control::Commit { chain } | Control::Rollback { chain })) => {
                self.roll_back(database, chain)?;
                Ok(Answer::Done("ROLLBACK".to_owned()))
            }
            Ok(Answer::Transaction(Control::RollbackTo(name))) if open => {
                database.store.rollback_to_savepoint(self.id, &name)?;
                self.move_savepoints(&Control::RollbackTo(name));
                self.status = Status::Open;
                Ok(Answer::Done("ROLLBACK".to_owned()))
            }
            _ => Err(failed().into()),
        }
    }

    fn answered(&mut self, database: &mut Database, answer: Answer) -> Result<Answer, Stop> {
        if let Answer::Transaction(control) = answer {
            return self.control(database, control);
        }
        if matches!(answer, Answer::Defined(_)) {
            if !std::mem::replace(&mut self.defines, true) {
                self.generation = database.generation;
            }
            database.reserve_numbers(self.session.catalog());
            database.store.describe_catalog(self.session.catalog());
            // In MySQL a change of the schema commits.
            self.implicit |= self.session.dialect() == Dialect::MySql;
        }
        if self.implicit { self.finish_implicit(database, answer) } else { Ok(answer) }
    }

    /// A statement by itself commits.
    fn finish_implicit(&mut self, database: &mut Database, answer: Answer) -> Result<Answer, Stop> {
        match self.commit(database) {
            Ok(()) => Ok(answer),
            Err(stop) => {
                if stop == Stop::Interrupted(Interrupt::Wait) {
                    self.done = Some(answer);
                }
                Err(stop)
            }
        }
    }

    fn commit(&mut self, database: &mut Database) -> Result<(), Stop> {
        if self.defines && self.generation != database.generation {
            self.roll_back(database, false)?;
            let message = "another transaction changed the schema at the same time";
            return Err(SqlError::new(SqlState("40001"), message).with_hint("run the transaction again").into());
        }
        if let Err(stop) = self.check_deferred(database) {
            if stop != Stop::Interrupted(Interrupt::Wait) {
                self.roll_back(database, false)?;
            }
            return Err(stop);
        }
        let result = database.store.commit(self.id);
        if result == Err(Interrupt::Wait) {
            return Err(Interrupt::Wait.into());
        }
        (self.implicit, self.status) = (false, Status::Idle);
        if self.defines && result.is_ok() {
            database.publish(self.session.catalog());
            // Whoever finds the new table finds the rows that were there when it was made.
            database.store.settle();
            self.defines = false;
        }
        self.forget_definitions(database);
        Ok(result?)
    }

    /// Foreign keys that wait for the commit. The look at them is a statement of its own, which may have to wait.
    fn check_deferred(&mut self, database: &mut Database) -> Result<(), Stop> {
        if !self.session.has_deferred() {
            return Ok(());
        }
        database.store.begin_statement(self.id, Some("COMMIT"))?;
        let result = self.session.check_deferred(&mut database.store.view(self.id));
        database.store.end_statement(self.id, ending_of(&result));
        result
    }

    fn roll_back(&mut self, database: &mut Database, chain: bool) -> Result<(), Stop> {
        database.store.abort(self.id);
        self.session.forget_deferred();
        (self.implicit, self.status) = (false, Status::Idle);
        self.forget_definitions(database);
        if chain { self.begin_explicit(database, Modes::default()) } else { Ok(()) }
    }

    fn begin_explicit(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
        if !database.store.in_transaction(self.id) {
            self.begin(database, modes)?;
        }
        (self.implicit, self.status) = (false, Status::Open);
        Ok(())
    }

    fn control(&mut self, database: &mut Database, control: Control) -> Result<Answer, Stop> {
        let done = |words: &str| Ok(Answer::Done(words.to_owned()));
        let alone = self.implicit;
        match control {
            Control::Begin(modes) => {
                // The transaction that this statement would have had by itself goes; the asked one begins. In MySQL an open one commits.
                if alone {
                    database.store.abort(self.id);
                } else if self.session.dialect() == Dialect::MySql {
                    self.commit(database)?;
                }
                self.begin_explicit(database, modes)?;
                done("BEGIN")
            }
            Control::Commit { chain } => {
                self.commit(database)?;
                if chain {
                    self.begin_explicit(database, Modes::default())?;
                }
                done("COMMIT")
            }
            Control::Rollback { chain } => {
                self.roll_back(database, chain)?;
                done("ROLLBACK")
            }
            Control::SetSession(modes) => {
                self.modes = together(modes, self.modes);
                self.end_alone(database)?;
                done("SET")
            }
            Control::SetTransaction(modes) => {
                self.set_transaction(database, modes)?;
                done("SET")
            }
            control => self.savepoint(database, control),
        }
    }

    fn end_alone(&mut self, database: &mut Database) -> Result<(), Stop> {
        if self.implicit { self.commit(database) } else { Ok(()) }
    }

    fn set_transaction(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
        if self.session.dialect() == Dialect::MySql {
            self.next_modes = Some(modes);
            return self.end_alone(database);
        }
        if self.implicit {
            // PostgreSQL warns that there is no transaction that it could be about.
            return self.commit(database);
        }
        let level = modes.level.filter(|_| database.obeys_levels).map(level_of);
        let read_only = modes.read_only.or(self.modes.read_only).unwrap_or(false);
        database.store.begin_anew(self.id, Begin { level, read_only, chooser: None })?;
        Ok(())
    }

    fn savepoint(&mut self, database: &mut Database, control: Control) -> Result<Answer, Stop> {
        if self.implicit && self.session.dialect() == Dialect::Postgres {
            self.roll_back(database, false)?;
            let message = "a savepoint can only be used in a transaction";
            return Err(SqlError::new(SqlState("25P01"), message).with_hint("BEGIN one first").into());
        }
        let (store, id) = (&mut database.store, self.id);
        let (result, words) = match &control {
            Control::Savepoint(name) => (store.savepoint(id, name), "SAVEPOINT"),
            Control::Release(name) => (store.release_savepoint(id, name), "RELEASE"),
            Control::RollbackTo(name) => (store.rollback_to_savepoint(id, name), "ROLLBACK"),
            _ => (Ok(()), "SET"),
        };
        let before = Arc::clone(self.session.catalog());
        result.inspect_err(|stop| self.stopped(database, stop, &before))?;
        self.move_savepoints(&control);
        self.end_alone(database)?;
        Ok(Answer::Done(words.to_owned()))
    }
}

impl Connection {
    /// The catalog follows the savepoints.
    fn move_savepoints(&mut self, control: &Control) {
        let place = |savepoints: &[(String, Arc<Catalog>, bool)], name: &str| {
            savepoints.iter().rposition(|savepoint| savepoint.0 == name).unwrap_or(savepoints.len())
        };
        match control {
            Control::Savepoint(name) => {
                self.savepoints.push((name.clone(), Arc::clone(self.session.catalog()), self.defines));
            }
            Control::Release(name) => self.savepoints.truncate(place(&self.savepoints, name)),
            Control::RollbackTo(name) => {
                self.savepoints.truncate(place(&self.savepoints, name) + 1);
                if let Some((_, catalog, defines)) = self.savepoints.last() {
                    self.defines = *defines;
                    self.session.set_catalog(Arc::clone(catalog));
                }
            }
            _ => {}
        }
    }
}

/// What the store did to a transaction, as the error that clients know.
pub fn error_of(interrupt: Interrupt) -> SqlError {
    let (state, message) = match interrupt {
        Interrupt::Deadlock => ("40P01", "deadlock detected"),
        Interrupt::SerializationFailure => ("40001", "could not serialize access due to concurrent transactions"),
        Interrupt::Wait => ("55P03", "could not obtain the lock on a row"),
        Interrupt::Cancelled => ("57014", "canceling statement due to user request"),
    };
    SqlError::new(SqlState(state), message).with_hint("run the transaction again")
}

fn failed() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new(SqlState("25P02"), message)
}

fn together(first: Modes, second: Modes) -> Modes {
    Modes { level: first.level.or(second.level), read_only: first.read_only.or(second.read_only) }
}

/// What PostgreSQL means by the words of the standard; MySQL's repeatable read is not a level of the axioms, and comes closest to this.
fn level_of(level: DeclaredLevel) -> IsolationLevel {
    match level {
        DeclaredLevel::ReadUncommitted | DeclaredLevel::ReadCommitted => IsolationLevel::ReadCommitted,
        DeclaredLevel::RepeatableRead | DeclaredLevel::Snapshot => IsolationLevel::Snapshot,
        DeclaredLevel::Serializable => IsolationLevel::Serializable,
    }
}

fn ending_of<T>(result: &Result<T, Stop>) -> Ending {
    match result {
        Ok(_) => Ending::Done,
        Err(Stop::Interrupted(Interrupt::Wait)) => Ending::Waiting,
        Err(_) => Ending::Failed,
    }
}

/// What a failed transaction may read and write: nothing.
struct NoStorage;

impl Storage for NoStorage {
    fn get(&mut self, _: &RowKey, _: &Columns, _: Lock) -> Result<Option<Row>, Stop> {
        Err(failed().into())
    }

    fn scan(&mut self, _: &KeyRange, _: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        Err(failed().into())
    }

    fn present(&mut self, _: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        Err(failed().into())
    }

    fn put(&mut self, _: &RowKey, _: Write) -> Result<(), Stop> {
        Err(failed().into())
    }

    fn next_value(&mut self, _: SequenceId, _: &SequenceRule) -> Result<i64, Stop> {
        Err(failed().into())
    }

    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<(), Stop> {
        Err(failed().into())
    }

    fn current_value(&mut self, _: SequenceId) -> Option<i64> {
        None
    }

    fn fresh_key(&mut self, _: SpaceId) -> Result<KeyPart, Stop> {
        Err(failed().into())
    }

    fn now(&self) -> i64 {
        0
    }

    fn random(&mut self) -> u64 {
        0
    }
}
