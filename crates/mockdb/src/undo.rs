//! Statements and savepoints: the parts of a transaction that can be taken back or run again.
//!
//! ```text
//!   begin_statement ── reads, writes ── end_statement(Done)      they stay
//!                                       end_statement(Failed)    the writes go; the reads stay, because they decided that it failed
//!                                       end_statement(Waiting)   the same, and they are answered as before when begin_statement runs
//!                                                                the statement again
//! ```
//!
//! `SAVEPOINT; INSERT` of a key that is taken`; ROLLBACK TO; SELECT` of that key has to find the row: the INSERT has read it. What was read
//! before ROLLBACK TO SAVEPOINT was seen by the client in the same way, so those reads stay, too; only the writes go.

use crate::statement::{Checkpoint, OpenStatement, StatementEnding, Told};
use crate::steering::refused;
use crate::store::Store;
use skew_history::{SessionId, StatementKind};
use skew_sql::{Interrupt, Purpose, SavepointId, Stop};
use skew_value::{SqlError, SqlState};

impl Store {
    /// Runs a statement, or runs it again after a wait, and ends it as it came out.
    pub fn run_statement<T>(
        &mut self,
        session: SessionId,
        sql: Option<&str>,
        work: impl FnOnce(&mut Store) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.begin_statement(session, sql)?;
        let result = work(self);
        self.end_statement(session, StatementEnding::of(&result));
        result
    }

    /// A statement begins, or begins again. A transaction that cannot commit any more is refused here.
    pub fn begin_statement(&mut self, session: SessionId, sql: Option<&str>) -> Result<(), Stop> {
        let transaction = self.transaction(session)?;
        if !transaction.is_loading() && self.engine().is_none() && self.past().is_doomed(transaction.id()) {
            return Err(self.abort_by_database(session, Interrupt::SerializationFailure).into());
        }
        if let Some(wheel) = self.wheel_mut() {
            wheel.begin_statement(session);
        }
        let checkpoint = self.checkpoint(session)?;
        let transaction = self.transaction_mut(session)?;
        match transaction.statement_mut() {
            Some(again) => again.begin_again(),
            None => {
                transaction.set_statement(OpenStatement::new(sql, checkpoint));
                if let Some(engine) = self.engine_mut() {
                    engine.begin_statement(session, StatementKind::Select, false);
                }
            }
        }
        Ok(())
    }

    /// A statement ends. After an interrupt that ended the transaction there is nothing left to end.
    pub fn end_statement(&mut self, session: SessionId, ending: StatementEnding) {
        let Ok(transaction) = self.transaction_mut(session) else { return };
        let Some(mut statement) = transaction.take_statement() else { return };
        let checkpoint = statement.checkpoint();
        match ending {
            StatementEnding::Done => {}
            StatementEnding::Waiting => {
                statement.wait();
                transaction.set_statement(statement);
                self.drop_writes(session, checkpoint);
            }
            StatementEnding::Failed => self.fail_statement(session, checkpoint),
        }
        if let Some(engine) = self.engine_mut().filter(|_| ending != StatementEnding::Waiting) {
            engine.end_statement(session);
        }
    }

    /// What a statement is for decides what a server locks for it.
    pub(crate) fn declare(&mut self, session: SessionId, purpose: Purpose) {
        let (kind, ignores) = kind_of(purpose);
        let is_new = self.statement_mut(session).is_some_and(|statement| statement.declare());
        if let Some(engine) = self.engine_mut().filter(|_| is_new) {
            engine.begin_statement(session, kind, ignores);
            if engine.is_repeatable(session) {
                engine.take_snapshot(session);
            }
        }
    }

    /// What a statement that failed wrote is gone. On a server all of its transaction is, up to the last savepoint ([`Store::fail`]).
    fn fail_statement(&mut self, session: SessionId, checkpoint: Checkpoint) {
        match self.engine_mut() {
            Some(engine) => {
                engine.back_to(session, checkpoint.statement());
                self.drop_writes(session, checkpoint);
            }
            None => self.take_back(session, checkpoint),
        }
    }

    /// A statement has failed where that is the end of all that came since the last savepoint: locks that others wait for are let go at once,
    /// and not when the client says ROLLBACK.
    pub(crate) fn fail(&mut self, session: SessionId) {
        if self.engine().is_none() {
            return;
        }
        let Ok(transaction) = self.transaction(session) else { return };
        if transaction.is_loading() {
            return;
        }
        match transaction.last_savepoint() {
            None => self.abort(session),
            Some(checkpoint) => {
                let refused = transaction.refused();
                self.take_back(session, checkpoint);
                if let (Some((code, statement)), Ok(transaction)) = (refused, self.transaction_mut(session)) {
                    transaction.refuse(code, statement);
                }
            }
        }
    }

    /// The session waits no longer for a lock: its statement did nothing, its transaction goes on.
    pub fn stop_waiting(&mut self, session: SessionId) {
        self.stop_for_good(session);
        self.end_statement(session, StatementEnding::Failed);
    }

    /// Where the open transaction of a session is.
    fn checkpoint(&self, session: SessionId) -> Result<Checkpoint, Stop> {
        let transaction = self.transaction(session)?;
        let engine = self.engine();
        let mark = (!transaction.is_loading() && engine.is_none()).then(|| self.past().mark(transaction.id()));
        let checkpoint = transaction.checkpoint(mark, engine.map_or(0, |engine| engine.statement(session)));
        Ok(checkpoint.with_locks(self.waits().given()))
    }

    fn drop_writes(&mut self, session: SessionId, checkpoint: Checkpoint) {
        let Ok(transaction) = self.transaction_mut(session) else { return };
        let loaded = transaction.take_back(checkpoint);
        self.past_mut().unload(loaded);
    }

    /// The same, and the level forgets them as well.
    fn take_back(&mut self, session: SessionId, checkpoint: Checkpoint) {
        self.drop_writes(session, checkpoint);
        self.waits_mut().back_to(session, checkpoint.locks());
        if let Some(engine) = self.engine_mut() {
            engine.back_to(session, checkpoint.statement());
            let is_repeatable = engine.is_repeatable(session);
            if let Ok(transaction) = self.transaction_mut(session) {
                transaction.let_go(checkpoint, is_repeatable);
            }
            return self.bury_unborn(&[]);
        }
        let (Some(mark), Ok(transaction)) = (checkpoint.mark(), self.transaction_mut(session)) else { return };
        let (id, gone) = (transaction.id(), transaction.forget_unborn());
        self.past_mut().take_back_writes(id, mark);
        self.bury_unborn(&gone);
    }

    /// SAVEPOINT. A second one of the same name hides the first.
    pub fn savepoint(&mut self, session: SessionId, name: &str) -> Result<(), Stop> {
        let (checkpoint, steered_writes) = (self.checkpoint(session)?, self.steered_writes(session));
        self.transaction_mut(session)?.save(name, checkpoint, steered_writes);
        Ok(())
    }

    /// A savepoint of a procedure, which looks after names itself: its number is its name here.
    pub(crate) fn numbered_savepoint(&mut self, session: SessionId) -> Result<SavepointId, Stop> {
        let number = self.transaction(session)?.savepoint_count();
        self.savepoint(session, &number.to_string())?;
        Ok(SavepointId(number))
    }

    /// RELEASE SAVEPOINT.
    pub fn release_savepoint(&mut self, session: SessionId, name: &str) -> Result<(), Stop> {
        if self.transaction_mut(session)?.release(name) { Ok(()) } else { Err(no_savepoint(name)) }
    }

    /// ROLLBACK TO SAVEPOINT: the writes since then go, the reads stay; so does the savepoint.
    pub fn rollback_to_savepoint(&mut self, session: SessionId, name: &str) -> Result<(), Stop> {
        let saved = self.transaction_mut(session)?.back_to(name);
        let (checkpoint, steered_writes) = saved.ok_or_else(|| no_savepoint(name))?;
        if self.steered_writes(session) > steered_writes {
            return refused("ROLLBACK TO a savepoint behind which something was written");
        }
        self.take_back(session, checkpoint);
        Ok(())
    }

    /// How many writes the open transaction has for whoever steers.
    fn steered_writes(&self, session: SessionId) -> usize {
        self.life().wheel().map_or(0, |wheel| wheel.writes(session))
    }
}

/// What a statement is told that is no read.
impl Store {
    /// What the session's statement was told at this place when it ran before, or what it is told now.
    pub(crate) fn tell(
        &mut self,
        session: SessionId,
        now: impl FnOnce(&mut Store) -> Result<Told, Stop>,
    ) -> Result<Told, Stop> {
        if let Some(told) = self.statement_mut(session).and_then(OpenStatement::told_before) {
            return Ok(told);
        }
        let told = now(self)?;
        if let Some(statement) = self.statement_mut(session) {
            statement.tell(told);
        }
        Ok(told)
    }

    /// The same for a number.
    pub(crate) fn tell_number(
        &mut self,
        session: SessionId,
        now: impl FnOnce(&mut Store) -> Result<i128, Stop>,
    ) -> Result<i128, Stop> {
        match self.tell(session, |store| now(store).map(Told::Number))? {
            Told::Number(number) => Ok(number),
            Told::Done => Err(SqlError::new(SqlState::INTERNAL, "a statement asked otherwise than before").into()),
        }
    }

    /// Whether the session's statement has not yet slept at this place; when it is run again it has.
    pub(crate) fn may_sleep(&mut self, session: SessionId) -> Result<bool, Stop> {
        let mut is_first = false;
        self.tell(session, |_| {
            is_first = true;
            Ok(Told::Done)
        })?;
        Ok(is_first)
    }

    /// The statement of a session that runs.
    pub(crate) fn statement_mut(&mut self, session: SessionId) -> Option<&mut OpenStatement> {
        self.transaction_mut(session).ok()?.statement_mut()
    }
}

/// What a statement is in a history, and whether it leaves a row that is there as it is.
fn kind_of(purpose: Purpose) -> (StatementKind, bool) {
    match purpose {
        Purpose::Read => (StatementKind::Select, false),
        Purpose::ReadForUpdate => (StatementKind::ForUpdate, false),
        Purpose::ReadForNoKeyUpdate => (StatementKind::ForNoKeyUpdate, false),
        Purpose::ReadForShare => (StatementKind::ForShare, false),
        Purpose::ReadForKeyShare => (StatementKind::ForKeyShare, false),
        Purpose::Insert { or_nothing: true } => (StatementKind::Upsert, true),
        Purpose::Insert { or_nothing: false } => (StatementKind::Insert, false),
        Purpose::InsertOrUpdate => (StatementKind::Upsert, false),
        Purpose::Update => (StatementKind::Update, false),
        Purpose::Delete => (StatementKind::Delete, false),
    }
}

pub(crate) fn no_savepoint(name: &str) -> Stop {
    SqlError::new(SqlState("3B001"), format!("there is no savepoint {name}")).into()
}
