//! What a workload is: tables, what is in them, operations drawn by chance, and what must hold at the end.

use crate::connection::Connection;
use crate::load::Loader;
use crate::session::Session;
use crate::table::{Names, Table};
use crate::{Failure, Random, Row, Transaction, Value, Values};
use std::cell::Cell;

/// A program that many sessions run at once.
pub trait Workload: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Its tables; one that refers to another stands after it.
    fn tables(&self) -> &[Table];

    /// The rows that are there before the first operation.
    fn load(&self, loader: &mut Loader);

    /// The operation with this number of a session, both counted from 0. It depends on nothing but the arguments: the same seed gives
    /// the same operations, whatever happened before.
    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation;

    /// What must hold when all is over.
    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let _ = end;
        Ok(Vec::new())
    }
}

/// Something that a session does: mostly one transaction, sometimes several.
pub struct Operation {
    /// What reports and the history call it.
    pub name: &'static str,
    run: OperationBody,
}

type OperationBody = Box<dyn FnOnce(&mut Session<'_>) -> Result<(), Failure>>;

impl Operation {
    /// An operation of one transaction. The code may run several times, when the database refuses; all that it needs was drawn before.
    pub fn new(name: &'static str, code: impl Fn(&mut Transaction<'_>) -> Result<(), Failure> + 'static) -> Operation {
        Operation::of_session(name, move |session| session.transact(name, &code).map(|_| ()))
    }

    /// An operation of one transaction that also tells what it saw or did; see [`FinalState::observations`].
    pub fn observed(
        name: &'static str,
        code: impl Fn(&mut Transaction<'_>) -> Result<Vec<Value>, Failure> + 'static,
    ) -> Operation {
        Operation::of_session(name, move |session| {
            if let Some(seen) = session.transact(name, &code)?.committed() {
                session.observe(name, seen);
            }
            Ok(())
        })
    }

    /// An operation of any number of transactions.
    pub fn of_session(
        name: &'static str,
        code: impl FnOnce(&mut Session<'_>) -> Result<(), Failure> + 'static,
    ) -> Operation {
        Operation { name, run: Box::new(code) }
    }

    pub(crate) fn run(self, session: &mut Session<'_>) -> Result<(), Failure> {
        (self.run)(session)
    }
}

/// Something that a session saw or did in a transaction that committed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Whose it is, counted from 0.
    pub session: usize,
    /// What the workload calls it.
    pub name: &'static str,
    /// What was seen.
    pub values: Vec<Value>,
}

/// Something that must hold when all is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assertion {
    /// Its name: `A13 money`.
    pub name: String,
    /// Whether it does.
    pub holds: bool,
    /// What was found, in a few words with the numbers.
    pub detail: String,
}

impl Assertion {
    /// An assertion that holds or not, with what was found.
    pub fn new(name: impl Into<String>, holds: bool, detail: impl Into<String>) -> Assertion {
        Assertion { name: name.into(), holds, detail: detail.into() }
    }
}

/// The database when all sessions have ended, and what they saw on the way.
pub struct FinalState<'a> {
    connection: &'a mut dyn Connection,
    names: &'a Names,
    observations: &'a [Observation],
    is_complete: bool,
    /// Whether somebody was told that observations are missing.
    left_out: Cell<bool>,
}

impl<'a> FinalState<'a> {
    pub(crate) fn new(
        connection: &'a mut dyn Connection,
        names: &'a Names,
        observations: &'a [Observation],
        is_complete: bool,
    ) -> FinalState<'a> {
        FinalState { connection, names, observations, is_complete, left_out: Cell::new(false) }
    }

    /// Whether an assertion was left out because observations are missing.
    pub(crate) fn left_out(&self) -> bool {
        self.left_out.get()
    }

    /// Asks the database; `{accounts}` stands for a table. All questions are asked in one transaction.
    pub fn query(&mut self, sql: &str, arguments: impl Values) -> Result<Vec<Row>, Failure> {
        let sql = self.names.expand(sql);
        Ok(self.connection.execute(&sql, &arguments.values())?.rows)
    }

    /// The one number that a question is answered with; NULL, the sum of nothing, is 0.
    pub fn number(&mut self, sql: &str, arguments: impl Values) -> Result<i64, Failure> {
        let rows = self.query(sql, arguments)?;
        let row = rows.first().ok_or_else(|| Failure::Other(format!("no row came back from: {sql}")))?;
        Ok(row.optional_int(0)?.unwrap_or(0))
    }

    /// What the sessions told of their committed transactions, session by session, in order.
    pub fn observations(&self) -> &[Observation] {
        self.observations
    }

    /// Whether every committed transaction is among the observations: false when the answer to a commit was lost, and then what
    /// counts observations cannot be asserted.
    pub fn is_complete(&self) -> bool {
        self.left_out.set(self.left_out.get() || !self.is_complete);
        self.is_complete
    }
}
