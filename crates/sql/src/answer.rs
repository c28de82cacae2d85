//! What a statement answers.

use skew_value::{Datum, SqlType};
use std::sync::Arc;

/// A column of an answer, as a client is told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultColumn {
    /// Its name; MySQL and PostgreSQL name unnamed expressions differently.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
}

/// Rows with the columns they have.
#[derive(Clone, PartialEq, Debug)]
pub struct Rows {
    /// The columns.
    pub columns: Arc<[ResultColumn]>,
    /// The rows.
    pub rows: Vec<Vec<Datum>>,
}

/// What a statement answers when it came to its end.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// A query's rows.
    Rows(Rows),
    /// INSERT, UPDATE, DELETE, REPLACE.
    Changed(Changed),
    /// A statement without rows; the words that clients are told (`CREATE TABLE`).
    Done(String),
    /// The catalog of the session is another one: the transaction publishes it when it commits.
    Defined(String),
    /// Something for whoever keeps transactions.
    Transaction(Control),
    /// SET name = value: the caller keeps settings. `None` is DEFAULT.
    Set {
        /// The setting, lower-case.
        name: String,
        /// The value as text.
        value: Option<String>,
        /// SET LOCAL: until the end of the transaction.
        local: bool,
    },
    /// SET a = 1, b = 2.
    SetSeveral(Vec<(String, Option<String>)>),
    /// SHOW name, and RESET (as `Set` to `None`): the caller answers from its settings.
    Show(String),
}

/// What a statement that changes rows did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Changed {
    /// The words of its command: `INSERT`, `UPDATE`, `DELETE`.
    pub command: &'static str,
    /// Rows inserted, updated or deleted. In MySQL an updated row that was not different does not count, an upserted row counts twice.
    pub count: u64,
    /// Rows that qualified, which MySQL clients may ask for instead.
    pub(crate) found: u64,
    /// RETURNING.
    pub returning: Option<Rows>,
    /// MySQL's LAST_INSERT_ID of this statement.
    pub(crate) insert_id: Option<i64>,
}

/// What whoever keeps transactions has to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Control {
    /// BEGIN, START TRANSACTION.
    Begin(Modes),
    /// COMMIT; with `chain` another transaction begins at once.
    Commit {
        /// AND CHAIN.
        chain: bool,
    },
    /// ROLLBACK.
    Rollback {
        /// AND CHAIN.
        chain: bool,
    },
    /// SAVEPOINT name.
    Savepoint(String),
    /// RELEASE SAVEPOINT name.
    Release(String),
    /// ROLLBACK TO SAVEPOINT name.
    RollbackTo(String),
    /// SET TRANSACTION: this transaction in PostgreSQL, the next one in MySQL.
    SetTransaction(Modes),
    /// SET SESSION TRANSACTION, SET SESSION CHARACTERISTICS: all later ones.
    SetSession(Modes),
}

/// How a transaction runs; `None` is as the session has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Modes {
    /// ISOLATION LEVEL.
    pub level: Option<DeclaredLevel>,
    /// READ ONLY or READ WRITE.
    pub read_only: Option<bool>,
}

/// The isolation levels that SQL has words for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DeclaredLevel {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SNAPSHOT.
    Snapshot,
    /// SERIALIZABLE.
    Serializable,
}
