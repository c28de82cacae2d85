//! A connection to a server: statements go in, rows come out, and what fails has a kind.
//!
//! ```text
//!   connect(url, settings) ── begin(level) ── execute("SELECT … WHERE id = ?", [7]) … ── commit | rollback
//! ```
//!
//! Statements have `?` for their arguments whatever the server wants there, and are prepared once per connection. No call waits
//! longer than the timeout: an answer that does not come in time is a connection that is lost.

mod mysql;
mod postgres;
mod postgres_value;

use crate::failure::Objection;
use crate::{Failure, Row, Url, Value};
use skew_history::{EngineLevel, IsolationLevel};
use skew_value::Dialect;
use std::time::Duration;

/// A session with a server.
pub trait Connection: Send {
    /// What is spoken.
    fn dialect(&self) -> Dialect;

    /// Whether `DELETE … RETURNING` is understood.
    fn returns_deleted(&self) -> bool;

    /// Runs a statement with `?` where the arguments go.
    fn execute(&mut self, sql: &str, arguments: &[Value]) -> Result<StatementAnswer, Failure>;

    /// Sends a statement as somebody types it into a terminal: not prepared, without arguments. All values come back as text.
    fn type_in(&mut self, sql: &str) -> Result<StatementAnswer, Objection>;

    /// Runs statements without arguments whose answers nobody needs.
    fn command(&mut self, sql: &str) -> Result<(), Failure>;

    /// Begins a transaction. Levels that no server knows are left to the server: the mock database has its own.
    fn begin(&mut self, level: IsolationLevel) -> Result<(), Failure>;

    /// Ends the transaction well, or not.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Undoes the transaction.
    fn rollback(&mut self) -> Result<(), Failure>;
}

/// What a statement answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StatementAnswer {
    /// The rows that came back.
    pub rows: Vec<Row>,
    /// How many rows were changed.
    pub affected: u64,
}

/// How a connection is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How the server knows the session: `application_name` on PostgreSQL.
    pub name: String,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// Connects to a server.
pub fn connect(url: &Url, settings: &Settings) -> Result<Box<dyn Connection>, Failure> {
    Ok(match url.dialect {
        Dialect::Postgres => Box::new(postgres::Postgres::connect(url, settings)?),
        Dialect::MySql => Box::new(mysql::MySql::connect(url, settings)?),
    })
}

/// How SQL calls a level; nothing for those that no server has.
pub fn level_name(level: IsolationLevel) -> Option<&'static str> {
    use IsolationLevel::*;
    match level {
        ReadCommitted => Some("READ COMMITTED"),
        Snapshot => Some("REPEATABLE READ"),
        Serializable => Some("SERIALIZABLE"),
        Engine(level) => Some(engine_level_name(level)),
        ReadAtomic | Causal | Prefix | ParallelSnapshot | StrongSnapshot | StrictSerializable | Declared => None,
    }
}

fn engine_level_name(level: EngineLevel) -> &'static str {
    use EngineLevel::*;
    match level {
        PostgresReadCommitted | MysqlReadCommitted => "READ COMMITTED",
        // The snapshot isolation of MariaDB is a setting besides.
        PostgresRepeatableRead | MysqlRepeatableRead | MysqlSnapshotIsolation => "REPEATABLE READ",
        PostgresSerializable | MysqlSerializable => "SERIALIZABLE",
    }
}
