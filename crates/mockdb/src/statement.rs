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

use crate::steering::refused;
use crate::store::Store;
use crate::transaction::{Savepoint, Statement};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::SessionId;
use skew_sql::rows::Memory;
use skew_sql::{Interrupt, Stop};
use skew_value::{SqlError, SqlState};

/// How a statement ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It did what it should.
    Done,
    /// It was wrong, and changed nothing.
    Failed,
    /// It will be run again.
    Waiting,
}

impl Ending {
    /// How a statement with this result ended.
    pub(crate) fn of<T>(result: &Result<T, Stop>) -> Ending {
        match result {
            Ok(_) => Ending::Done,
            Err(Stop::Interrupted(Interrupt::Wait)) => Ending::Waiting,
            Err(_) => Ending::Failed,
        }
    }
}

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
        self.end_statement(session, Ending::of(&result));
        result
    }

    /// A statement begins, or begins again. A transaction that cannot commit any more is refused here.
    pub fn begin_statement(&mut self, session: SessionId, sql: Option<&str>) -> Result<(), Stop> {
        let transaction = self.transaction(session)?;
        let (id, loading) = (transaction.id, transaction.loading);
        if !loading && self.growing.is_doomed(id) {
            return Err(self.abort_by_database(session, Interrupt::SerializationFailure).into());
        }
        self.steered_statement(session);
        let mark = (!loading).then(|| self.growing.mark(id));
        let transaction = self.transaction_mut(session)?;
        match &mut transaction.statement {
            Some(again) => again.asked = 0,
            None => {
                transaction.statement = Some(Statement {
                    sql: sql.map(Into::into),
                    mark,
                    first_operation: transaction.operations.len(),
                    first_undo: transaction.undo.len(),
                    memory: Memory::default(),
                    turns: FxHashMap::default(),
                    own: FxHashSet::default(),
                    told: Vec::new(),
                    asked: 0,
                });
            }
        }
        Ok(())
    }

    /// A statement ends. After an interrupt that ended the transaction there is nothing left to end.
    pub fn end_statement(&mut self, session: SessionId, ending: Ending) {
        let Some(transaction) = &mut self.sessions[session.index()].transaction else { return };
        let Some(mut statement) = transaction.statement.take() else { return };
        let (first_operation, first_undo, mark) = (statement.first_operation, statement.first_undo, statement.mark);
        let id = transaction.id;
        match ending {
            Ending::Done => {}
            Ending::Waiting => {
                statement.own.clear();
                transaction.statement = Some(statement);
                self.drop_writes(session, first_operation, first_undo);
            }
            Ending::Failed => {
                self.drop_writes(session, first_operation, first_undo);
                if let Some(mark) = mark {
                    self.growing.take_back_writes(id, mark);
                    self.bury_taken_back(session);
                }
            }
        }
    }

    fn undo_to(&mut self, session: SessionId, left: usize) {
        let Some(mut transaction) = self.sessions[session.index()].transaction.take() else { return };
        if transaction.loading {
            self.undo_loading(&mut transaction, left);
        } else {
            transaction.undo_writes(left);
        }
        self.sessions[session.index()].transaction = Some(transaction);
    }

    fn drop_writes(&mut self, session: SessionId, first_operation: usize, first_undo: usize) {
        self.undo_to(session, first_undo);
        if let Some(transaction) = &mut self.sessions[session.index()].transaction {
            transaction.keep_external_reads(first_operation);
        }
    }

    /// SAVEPOINT. A second one of the same name hides the first.
    pub fn savepoint(&mut self, session: SessionId, name: &str) -> Result<(), Stop> {
        let transaction = self.transaction(session)?;
        let mark = (!transaction.loading).then(|| self.growing.mark(transaction.id));
        let steered_writes = self.steered_writes(session);
        let transaction = self.transaction_mut(session)?;
        transaction.savepoints.push(Savepoint {
            steered_writes,
            name: name.to_owned(),
            mark,
            first_operation: transaction.operations.len(),
            first_undo: transaction.undo.len(),
        });
        Ok(())
    }

    /// RELEASE SAVEPOINT.
    pub fn release_savepoint(&mut self, session: SessionId, name: &str) -> Result<(), Stop> {
        let transaction = self.transaction_mut(session)?;
        let place = transaction.savepoints.iter().rposition(|savepoint| savepoint.name == name);
        transaction.savepoints.truncate(place.ok_or_else(|| no_savepoint(name))?);
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT: the writes since then go, the reads stay; so does the savepoint.
    pub fn rollback_to_savepoint(&mut self, session: SessionId, name: &str) -> Result<(), Stop> {
        let transaction = self.transaction_mut(session)?;
        let place = transaction.savepoints.iter().rposition(|savepoint| savepoint.name == name);
        let place = place.ok_or_else(|| no_savepoint(name))?;
        transaction.savepoints.truncate(place + 1);
        let savepoint = &transaction.savepoints[place];
        let steered_writes = savepoint.steered_writes;
        let (mark, first_operation, first_undo) = (savepoint.mark, savepoint.first_operation, savepoint.first_undo);
        let id = transaction.id;
        if self.steered_writes(session) > steered_writes {
            return refused("ROLLBACK TO a savepoint behind which something was written");
        }
        self.drop_writes(session, first_operation, first_undo);
        if let Some(mark) = mark {
            self.growing.take_back_writes(id, mark);
            self.bury_taken_back(session);
        }
        Ok(())
    }
}

pub(crate) fn no_savepoint(name: &str) -> Stop {
    SqlError::new(SqlState("3B001"), format!("there is no savepoint {name}")).into()
}
