//! How PostgreSQL locks whole tables: eight modes, and which of them go together.
//!
//! ```text
//!                             AS   RS   RE   SUE  S    SRE  E    AE
//!   ACCESS SHARE                                                 ×     SELECT
//!   ROW SHARE                                                ×   ×     SELECT … FOR UPDATE, the look at a parent or child
//!   ROW EXCLUSIVE                           ×    ×    ×    ×     ×     INSERT, UPDATE, DELETE
//!   SHARE UPDATE EXCLUSIVE             ×    ×    ×    ×    ×     ×     CREATE INDEX CONCURRENTLY, VALIDATE CONSTRAINT
//!   SHARE                          ×   ×         ×    ×    ×     ×     CREATE INDEX
//!   SHARE ROW EXCLUSIVE            ×   ×    ×    ×    ×    ×     ×     ADD FOREIGN KEY, for both tables
//!   EXCLUSIVE                 ×    ×   ×    ×    ×    ×    ×     ×
//!   ACCESS EXCLUSIVE     ×    ×    ×   ×    ×    ×    ×    ×     ×     DROP, TRUNCATE, ALTER TABLE, LOCK TABLE without a mode
//! ```
//!
//! A statement locks its tables before it looks at any row, and keeps them until its transaction ends. What a statement locks is told
//! without running it ([`Prepared::table_locks`](crate::Prepared::table_locks)); who holds what is for the store.

use std::sync::Arc;

/// How a table is locked, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TableMode {
    /// Rows are read.
    AccessShare,
    /// Rows are read and locked.
    RowShare,
    /// Rows change.
    RowExclusive,
    /// Rows may change, the definition not, and nobody else looks after the table.
    ShareUpdateExclusive,
    /// Rows stay as they are.
    Share,
    /// The same, and for one transaction alone.
    ShareRowExclusive,
    /// Rows are only read.
    Exclusive,
    /// Nobody else comes near.
    AccessExclusive,
}

impl TableMode {
    /// All of them.
    pub const ALL: [TableMode; 8] = [
        TableMode::AccessShare,
        TableMode::RowShare,
        TableMode::RowExclusive,
        TableMode::ShareUpdateExclusive,
        TableMode::Share,
        TableMode::ShareRowExclusive,
        TableMode::Exclusive,
        TableMode::AccessExclusive,
    ];

    /// Whether two transactions cannot lock a table like this at the same time.
    pub fn conflicts(self, other: TableMode) -> bool {
        let weakest = match self {
            TableMode::AccessShare => TableMode::AccessExclusive,
            TableMode::RowShare => TableMode::Exclusive,
            TableMode::RowExclusive => TableMode::Share,
            TableMode::ShareUpdateExclusive => TableMode::ShareUpdateExclusive,
            // It goes with itself, and not with its weaker neighbour.
            TableMode::Share => {
                return other >= TableMode::RowExclusive && other != TableMode::Share;
            }
            TableMode::ShareRowExclusive => TableMode::RowExclusive,
            TableMode::Exclusive => TableMode::RowShare,
            TableMode::AccessExclusive => TableMode::AccessShare,
        };
        other >= weakest
    }

    /// Its name in `pg_locks`.
    pub fn name(self) -> &'static str {
        match self {
            TableMode::AccessShare => "AccessShareLock",
            TableMode::RowShare => "RowShareLock",
            TableMode::RowExclusive => "RowExclusiveLock",
            TableMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            TableMode::Share => "ShareLock",
            TableMode::ShareRowExclusive => "ShareRowExclusiveLock",
            TableMode::Exclusive => "ExclusiveLock",
            TableMode::AccessExclusive => "AccessExclusiveLock",
        }
    }
}

/// A table that a statement locks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableLock {
    /// Its name in the catalog, which TRUNCATE leaves it.
    pub table: Arc<str>,
    /// How it is locked.
    pub mode: TableMode,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_those_of_the_manual() {
        let count = |one: &TableMode| TableMode::ALL.iter().filter(|other| one.conflicts(**other)).count();
        let conflicting: Vec<usize> = TableMode::ALL.iter().map(count).collect();
        assert_eq!(conflicting, [1, 2, 4, 5, 5, 6, 7, 8]);
        for one in TableMode::ALL {
            assert!(TableMode::ALL.iter().all(|other| one.conflicts(*other) == other.conflicts(one)), "{one:?}");
        }
    }
}
