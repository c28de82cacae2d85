//! What the code of a workload holds while a transaction runs: it sends SQL and writes down what came back.
//!
//! ```text
//!   select(&ACCOUNTS, 7, &["balance"])                    SELECT ver, balance FROM skew_accounts WHERE id = 7
//!     {"r":"accounts/7","v":0,"s":1}
//!   update(&ACCOUNTS, 7, "balance = balance + ?", 10)     UPDATE skew_accounts SET balance = balance + 10, prev = ver, ver = … WHERE id = 7
//!     {"r":"accounts/7","v":0,"lock":true,"s":2,"kind":"update"},{"w":"accounts/7","v":1000000001,"s":2,"kind":"update"}
//! ```
//!
//! | method | events | kind |
//! |---|---|---|
//! | `select`, `select_for_update` | a read of the version, or of absence | select, for-update |
//! | `scan`, `scan_for_update` | a read per row that came back | the same |
//! | `update`, `update_returning`, `update_if`, `update_where` | a read of what was replaced, a write; of no row, by its key, a read of absence | update |
//! | `overwrite` | a write: what was replaced does not matter; of no row a read of absence | update |
//! | `insert` | a read of absence, a write; of a row that is there a read that only found it | insert |
//! | `delete`, `delete_where` | a read of what was deleted, a write of absence; of no row, by its key, a read of absence | delete |
//! | `append`, `read_list` | an append; a read of a list | update, select |
//! | `query` | none | |
//!
//! Each of them can be told to read the whole table first, see `whole`. All events of a statement have its number.
//!
//! What was locked is read in its latest version, on the engines that this is for. What is *not there* cannot be locked on all
//! of them: `record` says what becomes of absence. Rows that an UPDATE looked at and passed over are left out, since no server tells which these were.
//! After the first failure every further call fails in the same way: no server
//! goes on with such a transaction in a way that programs agree on.

mod list;
mod read;
#[cfg(test)]
mod tests;
mod whole;
mod write;

pub use read::FoundRow;
pub(crate) use whole::Lookups;

use crate::connection::{Connection, StatementAnswer};
use crate::record::Events;
use crate::table::{Names, Table};
use crate::{Failure, Row, Value, Values};
use skew_value::Dialect;

/// Sessions have so many versions each: the second version of session `s3` is 3000000002.
const VERSIONS: i64 = 1_000_000_000;

/// Numbers that no other write of the run uses.
#[derive(Clone, Debug)]
pub(crate) struct VersionNumbers {
    next: i64,
}

impl VersionNumbers {
    pub(crate) fn of_session(session: usize) -> VersionNumbers {
        VersionNumbers { next: (session as i64 + 1) * VERSIONS }
    }

    fn next(&mut self) -> i64 {
        self.next += 1;
        self.next
    }
}

/// What a history leaves out or leaves open, counted over a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// Scans: the rows that they passed over are not in the history.
    pub scans: u64,
    /// Deletions: a later read of absence may be from any of those of its key.
    pub deletions: u64,
    /// Statements that left no event.
    pub unrecorded: u64,
    /// Transactions that their program rolled back and whose reads PostgreSQL does not vouch for: at serializable only what
    /// commits has read right.
    pub unclaimed: u64,
}

impl Notes {
    /// Adds those of another session or run.
    pub fn add(&mut self, other: &Notes) {
        self.scans += other.scans;
        self.deletions += other.deletions;
        self.unrecorded += other.unrecorded;
        self.unclaimed += other.unclaimed;
    }
}

/// A transaction that is open.
pub struct Transaction<'a> {
    connection: &'a mut dyn Connection,
    names: &'a Names,
    versions: &'a mut VersionNumbers,
    notes: &'a mut Notes,
    events: Events,
    failure: Option<Failure>,
    /// By their keys, unless a run wants otherwise.
    pub(crate) lookups: Lookups,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(
        connection: &'a mut dyn Connection,
        names: &'a Names,
        versions: &'a mut VersionNumbers,
        notes: &'a mut Notes,
        events: Events,
    ) -> Transaction<'a> {
        Transaction { connection, names, versions, notes, events, failure: None, lookups: Lookups::default() }
    }

    /// What is spoken, for the few statements that differ.
    pub fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    /// Runs SQL that leaves no event in the history: for what is no part of it. `{accounts}` stands for a table.
    pub fn query(&mut self, sql: &str, arguments: impl Values) -> Result<Vec<Row>, Failure> {
        self.notes.unrecorded += 1;
        let sql = self.names.expand(sql);
        let rows = self.run(&sql, &arguments.values())?.rows;
        self.note_look("");
        Ok(rows)
    }

    /// A SELECT was sent that left no event. That it was sent matters where the first one decides what the others see.
    fn note_look(&mut self, table: &str) {
        if self.dialect() == Dialect::MySql {
            self.events.looked(table);
        }
    }

    /// Runs the next statement of the program, unless one has failed already.
    fn run(&mut self, sql: &str, arguments: &[Value]) -> Result<StatementAnswer, Failure> {
        if self.failure.is_none() {
            self.events.next_statement();
        }
        self.send(sql, arguments)
    }

    /// Sends what belongs to the statement before, unless one has failed already.
    fn send(&mut self, sql: &str, arguments: &[Value]) -> Result<StatementAnswer, Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let answer = self.connection.execute(sql, arguments);
        self.failure = answer.as_ref().err().cloned();
        answer
    }

    /// What was recorded, and what went wrong, whether or not the program told.
    pub(crate) fn end(self) -> (Events, Option<Failure>) {
        (self.events, self.failure)
    }
}

/// The first column of a row, which statements of ours ask for: a version.
fn version_of(row: &Row, column: usize) -> Result<Option<i64>, Failure> {
    row.optional_int(column)
}

/// Arguments one after the other.
fn joined(parts: &[&[Value]]) -> Vec<Value> {
    parts.concat()
}

/// The columns to ask for, after those that we ask for ourselves.
fn selected(own: &str, columns: &[&str]) -> String {
    if columns.is_empty() { own.to_owned() } else { format!("{own}, {}", columns.join(", ")) }
}

/// A row without its first columns.
fn without_first(row: Row, count: usize) -> Row {
    Row(row.0.into_iter().skip(count).collect())
}

/// Keys have as many values as the table says; anything else is a mistake of the workload, told in words.
fn check_key(table: &Table, key: &[Value]) -> Result<(), Failure> {
    if key.len() == table.key.len() {
        return Ok(());
    }
    let (wanted, given) = (table.key.len(), key.len());
    Err(Failure::Other(format!("the key of {} has {wanted} columns, not {given}", table.name)))
}
