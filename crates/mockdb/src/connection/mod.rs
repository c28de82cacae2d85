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

mod savepoint;
mod settings;

use crate::database::Database;
use crate::statement::StatementEnding;
use savepoint::Savepoint;
use settings::SessionSettings;
use skew_history::SessionId;
use skew_sql::session::{Answer, Control, Modes, Prepared, Session};
use skew_sql::{Catalog, Interrupt, NoStorage, Patience, SpaceId, Stop, Storage};
use skew_value::{Datum, Dialect, SqlError, SqlState};
use std::collections::BTreeSet;
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

/// Where a connection finds the database: it is the caller's alone, or shared with others who may work on it in between.
pub(crate) trait Desk {
    /// The database. Between two calls others may have worked on it.
    fn database(&mut self) -> &mut Database;

    /// Does a statement's work in the open transaction of a session. Others may do theirs between any two calls of the storage, as they may
    /// while a statement waits.
    fn work(
        &mut self,
        session: SessionId,
        statement: &mut dyn FnMut(&mut dyn Storage) -> Result<Answer, Stop>,
    ) -> Result<Answer, Stop>;
}

impl Desk for Database {
    fn database(&mut self) -> &mut Database {
        self
    }

    fn work(
        &mut self,
        session: SessionId,
        statement: &mut dyn FnMut(&mut dyn Storage) -> Result<Answer, Stop>,
    ) -> Result<Answer, Stop> {
        statement(&mut *self.store.view(session))
    }
}

/// A client that speaks SQL.
pub struct Connection {
    id: SessionId,
    session: Session,
    status: Status,
    /// The transaction of a statement by itself, which may still be waiting, or of the statements of a block.
    implicit: bool,
    /// Statements by themselves share one transaction, until the block ends.
    block: bool,
    /// A statement by itself that is done and only waits for its commit.
    done: Option<Answer>,
    /// The transaction changed the schema.
    defines: bool,
    /// How many transactions had committed when it first did.
    defined_at: u64,
    /// How many transactions had committed when the transaction first wrote.
    wrote_at: Option<u64>,
    /// The transaction sees tables as they were before somebody moved their rows.
    keeps_tables: bool,
    savepoints: Vec<Savepoint>,
    /// What the transaction was asked to be; outside of one, what the last one was.
    modes: Modes,
    settings: SessionSettings,
}

impl Connection {
    /// Connects under a name, which is the session's in the history.
    pub fn open(database: &mut Database, name: &str, dialect: Dialect) -> Connection {
        Connection::of(database.store.connect(name), Session::new(dialect, Arc::clone(database.catalog())))
    }

    /// A connection that stands for this one while it is elsewhere.
    pub(crate) fn stand_in(&self) -> Connection {
        Connection::of(self.id, Session::new(self.session.dialect(), Arc::clone(self.session.catalog())))
    }

    fn of(id: SessionId, session: Session) -> Connection {
        Connection {
            id,
            session,
            status: Status::Idle,
            implicit: false,
            block: false,
            done: None,
            defines: false,
            defined_at: 0,
            wrote_at: None,
            keeps_tables: false,
            savepoints: Vec::new(),
            modes: Modes::default(),
            settings: SessionSettings::default(),
        }
    }

    /// Gives the session another name, as long as no transaction of it is part of the history; whether it did.
    pub fn rename(&mut self, database: &mut Database, name: &str) -> bool {
        match database.store.rename(self.id, name) {
            Some(id) => self.id = id,
            None => return false,
        }
        true
    }

    /// Disconnects; what is open is rolled back.
    pub fn close(mut self, database: &mut Database) {
        self.disconnect(database);
    }

    /// The same for whoever cannot give it away.
    pub(crate) fn disconnect(&mut self, database: &mut Database) {
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

    /// The same, to say who is connected.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Binds a statement against the catalog of now.
    pub fn prepare(
        &mut self,
        database: &Database,
        statement: &skew_sql::Statement,
        parameter_types: &[skew_value::SqlType],
    ) -> Result<Prepared, SqlError> {
        self.see_catalog(database);
        let prepared = self.session.prepare(statement, parameter_types);
        if self.status == Status::Failed && prepared.as_ref().map_or(true, Prepared::uses_storage) {
            // Whatever is wrong with it, nothing is listened to.
            return Err(failed());
        }
        prepared
    }

    fn see_catalog(&mut self, database: &Database) {
        if self.defines {
            return;
        }
        let own = self.session.catalog();
        let changed = own.version != database.catalog().version && database.store.sees_one_state(self.id);
        let old = changed.then(|| database.catalog_with_tables_of(own)).flatten();
        self.keeps_tables = old.is_some();
        self.session.set_catalog(old.map_or_else(|| Arc::clone(database.catalog()), Arc::new));
    }

    /// Runs a statement, or goes on with it after a wait.
    pub fn execute(
        &mut self,
        database: &mut Database,
        prepared: &Prepared,
        parameters: &[Datum],
    ) -> Result<Answer, Stop> {
        self.execute_at(database, prepared, parameters)
    }

    /// The same where others may work on the database meanwhile.
    pub(crate) fn execute_at(
        &mut self,
        desk: &mut dyn Desk,
        prepared: &Prepared,
        parameters: &[Datum],
    ) -> Result<Answer, Stop> {
        let database = desk.database();
        if let Some(answer) = self.done.take() {
            return self.finish_implicit(database, answer);
        }
        if self.status == Status::Failed {
            return self.execute_failed(database, prepared, parameters);
        }
        self.see_catalog(database);
        let before = Arc::clone(self.session.catalog());
        if !prepared.uses_storage() {
            let answer = self.session.execute(prepared, parameters, &mut NoStorage(|| database.store.is_cancelled()));
            let now = database.commits();
            let answer = answer.and_then(|answer| self.answered(database, answer, now));
            return answer.inspect_err(|stop| self.stopped(database, stop, &before));
        }
        if prepared.only_locks() && !self.is_in_block() {
            let message = "LOCK TABLE can only be used in transaction blocks";
            return Err(SqlError::new(SqlState("25P01"), message).into());
        }
        if !database.store.in_transaction(self.id) {
            self.begin(database, Modes::default())?;
            self.implicit = self.commits_by_itself();
            self.status = if self.implicit { Status::Idle } else { Status::Open };
        }
        let settings = Arc::clone(self.session.settings());
        // What others commit while the statement works is later than what it looked at.
        let now = database.commits();
        let result = self.run_statement(desk, prepared, parameters);
        let database = desk.database();
        let result = result.and_then(|answer| self.set_by_functions(database, settings).map(|()| answer));
        let answer = result.inspect_err(|stop| self.stopped(database, stop, &before))?;
        self.answered(database, answer, now)
    }

    fn run_statement(
        &mut self,
        desk: &mut dyn Desk,
        prepared: &Prepared,
        parameters: &[Datum],
    ) -> Result<Answer, Stop> {
        let (id, session) = (self.id, &mut self.session);
        let store = &mut desk.database().store;
        store.begin_statement(id, Some(prepared.statement().text()))?;
        // LOCK TABLE is no look at rows; it may refuse to wait, and says so itself.
        let locks = match prepared.only_locks() {
            true => &[][..],
            false => {
                store.declare(id, prepared.purpose());
                prepared.table_locks()
            }
        };
        let result = match store.lock_tables(id, locks, Patience::Wait) {
            Ok(()) => desk.work(id, &mut |storage| session.execute(prepared, parameters, storage)),
            Err(stop) => Err(stop),
        };
        desk.database().store.end_statement(id, StatementEnding::of(&result));
        result
    }

    /// From here to [`Connection::end_block`] statements by themselves are one transaction: the statements of one message, or of a
    /// pipeline up to its end.
    pub fn begin_block(&mut self) {
        self.block = true;
    }

    /// Commits what statements by themselves did since [`Connection::begin_block`]; after a wait it is called again.
    pub fn end_block(&mut self, database: &mut Database) -> Result<(), Stop> {
        self.block = false;
        if self.implicit {
            return self.commit(database);
        }
        if self.status == Status::Idle {
            self.end_settings(true);
        }
        Ok(())
    }

    /// Whether what is set may be taken back with what else is done.
    fn is_in_block(&self) -> bool {
        self.block || self.status == Status::Open
    }

    /// A statement failed before it could be executed, or is waited for no longer: to its transaction that is as bad as any failure.
    pub fn fail(&mut self, database: &mut Database) {
        let before = Arc::clone(self.session.catalog());
        database.store.stop_waiting(self.id);
        (self.done, self.block) = (None, false);
        self.stopped(database, &Stop::Interrupted(Interrupt::Cancelled), &before);
        if self.status == Status::Idle {
            self.end_settings(false);
        }
    }

    /// A statement did not come to its end.
    fn stopped(&mut self, database: &mut Database, stop: &Stop, before: &Arc<Catalog>) {
        self.session.set_catalog(Arc::clone(before));
        if *stop == Stop::Interrupted(Interrupt::Wait) {
            return;
        }
        let over = !database.store.in_transaction(self.id);
        let explicit = !std::mem::take(&mut self.implicit);
        if explicit && self.status != Status::Open {
            return;
        }
        // In PostgreSQL a transaction with an error is lost; in MySQL only the statement is, unless the store ended it all.
        let lost = self.session.dialect() == Dialect::Postgres || over;
        if explicit && !lost {
            return;
        }
        if explicit {
            database.store.fail(self.id);
        }
        let over = !database.store.in_transaction(self.id);
        if !explicit || over {
            database.store.abort(self.id);
            self.end_transaction(database, false);
        }
        self.status = match self.session.dialect() {
            Dialect::Postgres if explicit => Status::Failed,
            _ => Status::Idle,
        };
    }

    /// What the transaction was for its client alone ends with it.
    fn end_transaction(&mut self, database: &mut Database, committed: bool) {
        self.session.forget_deferred();
        self.end_settings(committed);
        self.forget_definitions(database);
        self.rename_late(database);
    }

    fn forget_definitions(&mut self, database: &mut Database) {
        self.wrote_at = None;
        if std::mem::take(&mut self.defines) | std::mem::take(&mut self.keeps_tables) {
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
        if prepared.uses_storage() {
            return Err(failed().into());
        }
        let answer = self.session.execute(prepared, parameters, &mut NoStorage(|| database.store.is_cancelled()));
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

    /// A statement has an answer; when it began this many transactions had committed.
    fn answered(&mut self, database: &mut Database, answer: Answer, commits: u64) -> Result<Answer, Stop> {
        let answer = match answer {
            Answer::Transaction(control) => return self.control(database, control),
            Answer::Set { .. } | Answer::SetSeveral(_) | Answer::Show(_) => return self.set_or_show(database, answer),
            Answer::Done(words) if words == "DISCARD ALL" => {
                let all = Answer::Set { name: "all".to_owned(), value: None, local: false };
                self.set_or_show(database, all)?;
                Answer::Done(words)
            }
            answer => answer,
        };
        // What is done to a table that is kept is done to one that is no longer.
        let now = if self.keeps_tables { 0 } else { commits };
        if self.wrote_at.is_none() && database.store.has_written(self.id) {
            self.wrote_at = Some(now);
        }
        if matches!(answer, Answer::Defined(_)) {
            if !std::mem::replace(&mut self.defines, true) {
                self.defined_at = now;
            }
            database.reserve_numbers(self.session.catalog());
            database.store.describe_catalog(self.session.catalog());
            // In MySQL a change of the schema commits.
            self.implicit |= self.session.dialect() == Dialect::MySql;
        }
        if self.implicit && !self.block { self.finish_implicit(database, answer) } else { Ok(answer) }
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
        let written = database.store.written_spaces(self.id);
        if let Some(message) = self.schema_conflict(database, &written) {
            self.roll_back(database, false)?;
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
        if result.is_ok() {
            database.note_commit(written);
        }
        if self.defines && result.is_ok() {
            database.publish(self.session.catalog());
            // Whoever finds the new table finds the rows that were there when it was made.
            database.store.settle();
            self.defines = false;
        }
        self.end_transaction(database, result.is_ok());
        result.map_err(|interrupt| database.store.error_of_commit(interrupt))
    }

    /// Why what this transaction did does not go together with what others did to the same tables meanwhile.
    fn schema_conflict(&self, database: &Database, written: &BTreeSet<SpaceId>) -> Option<&'static str> {
        if self.defines && database.published_since(self.defined_at) {
            return Some("another transaction changed the schema at the same time");
        }
        // On a server the locks of tables let nobody come so far.
        if database.store.engine().is_some() {
            return None;
        }
        if self.defines && database.written_since(self.defined_at, self.session.catalog()) {
            return Some("another transaction changed rows of a table whose definition this one changes");
        }
        let altered = self.wrote_at.is_some_and(|wrote_at| database.altered_since(wrote_at, written));
        altered.then_some("another transaction changed the definition of a table whose rows this one changed")
    }

    /// Foreign keys that wait for the commit. The look at them is a statement of its own, which may have to wait.
    fn check_deferred(&mut self, database: &mut Database) -> Result<(), Stop> {
        if !self.session.has_deferred() {
            return Ok(());
        }
        let (id, session) = (self.id, &mut self.session);
        database.store.run_statement(id, Some("COMMIT"), |store| session.check_deferred(&mut *store.view(id)))
    }

    fn roll_back(&mut self, database: &mut Database, chain: bool) -> Result<(), Stop> {
        database.store.abort(self.id);
        (self.implicit, self.status) = (false, Status::Idle);
        self.end_transaction(database, false);
        if chain { self.begin_explicit(database, self.modes) } else { Ok(()) }
    }

    fn begin_explicit(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
        if database.store.in_transaction(self.id) {
            // In a block the statements before this one become part of the transaction; PostgreSQL warns of a second BEGIN.
            self.change_transaction(database, modes)?;
        } else {
            self.begin(database, modes)?;
        }
        (self.implicit, self.status) = (false, Status::Open);
        Ok(())
    }

    fn control(&mut self, database: &mut Database, control: Control) -> Result<Answer, Stop> {
        let done = |words: &str| Ok(Answer::Done(words.to_owned()));
        match control {
            Control::Begin(modes) => {
                // In MySQL an open transaction commits.
                if self.session.dialect() == Dialect::MySql {
                    self.commit(database)?;
                }
                self.begin_explicit(database, modes)?;
                done("BEGIN")
            }
            Control::Commit { chain } => {
                let chain = chain && database.store.in_transaction(self.id);
                self.commit(database)?;
                if chain {
                    self.begin_explicit(database, self.modes)?;
                }
                done("COMMIT")
            }
            Control::Rollback { chain } => {
                let chain = chain && database.store.in_transaction(self.id);
                self.roll_back(database, chain)?;
                done("ROLLBACK")
            }
            Control::SetSession(modes) => {
                self.set_session_modes(database, modes);
                done("SET")
            }
            Control::SetTransaction(modes) => {
                self.set_transaction(database, modes)?;
                done("SET")
            }
            control => self.savepoint(database, control),
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
