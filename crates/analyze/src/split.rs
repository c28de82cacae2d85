//! When a schedule of the form that counterexamples have can happen at the levels of its transactions.
//!
//! ```text
//!   t1   first statements, up to b1                                          the rest
//!   t2                             whole
//!   …                                     whole, one after the other
//!   tm                                                             whole
//! ```
//!
//! If any execution is not serializable, one of this form is not (Vandevoort, Ketsman, Koch, Neven: PVLDB 2021; with levels of each transaction, PODS
//! 2023): b1 reads what a2 of t2 overwrites, each of t2 … tm is in conflict with the next, and bm of tm is in conflict with a1 of t1. Here are
//! the conditions under which it can happen; who looks for transactions that fulfil them is `search`. Nothing here may be forbidden unless it
//! is certain, so only rows that must be equal count, and searches count for nothing.

use crate::closure::Labels;
use crate::effect::LockStrength;
use crate::template::{EXISTS, RowOperation, Template};
use skew_history::EngineLevel;

/// The levels of PostgreSQL, as far as they matter here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// `postgres:read-committed`.
    ReadCommitted,
    /// `postgres:repeatable-read`: snapshot isolation.
    Snapshot,
    /// `postgres:serializable`: snapshot isolation without dangerous structures among such transactions.
    Serializable,
}

impl Level {
    /// From the lowest.
    pub const ALL: [Level; 3] = [Level::ReadCommitted, Level::Snapshot, Level::Serializable];

    /// The level of the engine.
    pub fn of_engine(self) -> EngineLevel {
        match self {
            Level::ReadCommitted => EngineLevel::PostgresReadCommitted,
            Level::Snapshot => EngineLevel::PostgresRepeatableRead,
            Level::Serializable => EngineLevel::PostgresSerializable,
        }
    }
}

/// The first transaction of a schedule: where it is split, and what it must not meet.
pub(crate) struct FirstTransaction<'a> {
    pub(crate) template: &'a Template,
    pub(crate) labels: &'a Labels,
    pub(crate) level: Level,
    /// How many statements come before the others.
    pub(crate) prefix: usize,
    /// The labels of rows that are not there, for nobody.
    pub(crate) missing: &'a [u32],
}

/// Another one: its labels say which of its rows are rows of the first.
pub(crate) struct OtherTransaction<'a> {
    pub(crate) template: &'a Template,
    pub(crate) labels: &'a Labels,
    pub(crate) level: Level,
}

/// Which one of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// t2.
    Second,
    /// tm.
    Last,
    /// One of those between them.
    Between,
}

impl FirstTransaction<'_> {
    /// Whether the row of an operation is there: neither it nor a parent of it is missing.
    pub(crate) fn has(&self, template: &Template, labels: &Labels, operation: &RowOperation) -> bool {
        let is_missing = |row: &usize| self.missing.contains(&labels[*row]);
        let Some(row) = operation.row else { return true };
        let mut rows = vec![row];
        let mut next = 0;
        while next < rows.len() {
            let parents = template.needs.iter().filter(|(child, _)| *child == rows[next]).map(|(_, parent)| *parent);
            let parents: Vec<usize> = parents.filter(|parent| !rows.contains(parent)).collect();
            rows.extend(parents);
            next += 1;
        }
        !rows.iter().any(is_missing)
    }

    /// The same of one of its own.
    pub(crate) fn has_own(&self, operation: &RowOperation) -> bool {
        self.missing.is_empty() || self.has(self.template, self.labels, operation)
    }
    /// Pairs of operations that are certainly on one row: the number of the statement of the first, its operation, that of the other.
    fn meetings<'b>(
        &'b self,
        other: &'b OtherTransaction<'_>,
    ) -> impl Iterator<Item = (usize, &'b RowOperation, &'b RowOperation)> {
        let own = self.template.operations().filter(|(_, mine)| self.has_own(mine));
        own.flat_map(move |(number, mine)| {
            let theirs = other.template.operations().map(|(_, theirs)| theirs);
            let meets = move |theirs: &&RowOperation| match (mine.row, theirs.row) {
                (Some(my_row), Some(row)) => mine.table == theirs.table && self.labels[my_row] == other.labels[row],
                _ => false,
            };
            theirs.filter(meets).map(move |theirs| (number, mine, theirs))
        })
    }

    /// Whether another one may run as a whole while this one is split: nothing that it writes or locks is held.
    fn lets_pass(&self, other: &OtherTransaction<'_>) -> bool {
        !self.meetings(other).any(|(number, mine, theirs)| {
            let held = self.level != Level::ReadCommitted || number < self.prefix;
            // A snapshot is not too old to insert a row where another one has deleted one since.
            let inserts_anew = self.level != Level::ReadCommitted && mine.inserts && !mine.inserts_once;
            (mine.inserts_once && theirs.inserts_once)
                || (held && !inserts_anew && blocks(mine, theirs, self.level == Level::ReadCommitted))
        })
    }

    /// Whether another one can be there in a role.
    pub(crate) fn allows(&self, role: Role, other: &OtherTransaction<'_>) -> bool {
        match role {
            Role::Second => self.can_second(other),
            Role::Last => self.can_last(other),
            Role::Between => self.can_between(other),
        }
    }

    /// Whether another one can be the second.
    fn can_second(&self, other: &OtherTransaction<'_>) -> bool {
        let both = self.level == Level::Serializable && other.level == Level::Serializable;
        self.lets_pass(other)
            && !(both && self.meetings(other).any(|(_, mine, theirs)| mine.writes & theirs.reads != 0))
    }

    /// Whether another one can be the last.
    fn can_last(&self, other: &OtherTransaction<'_>) -> bool {
        let both = self.level == Level::Serializable && other.level == Level::Serializable;
        self.lets_pass(other)
            && !(both && self.meetings(other).any(|(_, mine, theirs)| mine.reads & theirs.writes != 0))
    }

    /// Whether another one can stand between the second and the last.
    fn can_between(&self, other: &OtherTransaction<'_>) -> bool {
        let locks = self.level == Level::ReadCommitted;
        !self.meetings(other).any(|(number, mine, theirs)| {
            mine.conflicts(theirs) || (locks && number < self.prefix && blocks(mine, theirs, true))
        })
    }

    /// Whether a conflict between an operation of the last and one of this one, in its statement, closes the cycle.
    pub(crate) fn closes(&self, last: &RowOperation, number: usize, mine: &RowOperation) -> bool {
        let overwrites = last.table == mine.table && last.reads & mine.writes != 0;
        overwrites || (self.level == Level::ReadCommitted && number >= self.prefix && last.conflicts(mine))
    }
}

/// Whether what was done to a row keeps another operation on it away: by a lock that is still held (`waits`), or because a snapshot is too old
/// for what was changed since. Writes of different columns pass, as if rows were cells.
pub(crate) fn blocks(held: &RowOperation, other: &RowOperation, waits: bool) -> bool {
    let locked = match held.lock {
        LockStrength::None => false,
        LockStrength::KeyShare => other.writes & EXISTS != 0,
        LockStrength::Share => other.writes != 0 || (waits && other.lock == LockStrength::Update),
        LockStrength::Update => other.writes != 0 || (waits && other.lock >= LockStrength::Share),
    };
    let written = match other.lock {
        LockStrength::None => false,
        LockStrength::KeyShare => held.writes & EXISTS != 0,
        LockStrength::Share | LockStrength::Update => held.writes != 0,
    };
    locked || (waits && written) || held.writes & other.writes != 0
}

/// Whether the levels of the first, the second and the last leave room for a cycle.
pub(crate) fn levels_allow(first: Level, second: Level, last: Level) -> bool {
    [first, second, last].iter().any(|level| *level != Level::Serializable)
}
