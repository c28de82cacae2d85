//! When a schedule of the form that counterexamples have can happen at the levels of its transactions.
//!
//! ```text
//!   t1   first statements, up to b1                                          the rest
//!   t2                             whole
//!   …                                     whole, one after the other
//!   tm                                                             whole
//! ```
//!
//! Without locks, if any execution is not serializable, one of this form is not (Vandevoort, Ketsman, Koch, Neven: PVLDB 2021; with levels of each
//! transaction, PODS 2023): b1 reads what a2 of t2 overwrites, each of t2 … tm is in conflict with the next, and bm of tm is in conflict with a1 of t1.
//! Here are the conditions under which it can happen; who looks for transactions that fulfil them is `search`. Nothing here may be forbidden unless it
//! is certain, so only rows that must be equal count, and searches count for nothing.
//!
//! A lock in common is no dependency, so with locks that argument does not hold. This one does. Of a shortest cycle let t2 be the one that commits
//! first, and t1 the one before it: then b1 comes before the commit of t2, and that before every other commit.
//!
//! ```text
//!   t2   committed while t1 held whatever it had locked up to b1: the two cannot both have locked one row
//!   tm   committed later; if both have locked one row, then tm did so after the commit of t1, and what closes the cycle was read by tm before
//!   …    may have locked it after the commit of t1; any conflict with t1 would make the cycle shorter
//! ```

use crate::closure::Labels;
use crate::effect::{LockStrength, Looking};
use crate::template::{EXISTS, OperationAt, RowOperation, Template};
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
    /// t2, which overwrites what the first read by its operation b1.
    Second { read_by: OperationAt },
    /// tm, which closes the cycle by its operation bm, onto a1 of the first.
    Last { by: OperationAt, onto: OperationAt },
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

    /// Pairs of operations that are certainly on one row, each after the number of its statement; that of the first comes first.
    fn meetings<'b>(
        &'b self,
        other: &'b OtherTransaction<'_>,
    ) -> impl Iterator<Item = (usize, &'b RowOperation, usize, &'b RowOperation)> {
        let own = self.template.operations().filter(|(_, mine)| self.has_own(mine));
        own.flat_map(move |(number, mine)| {
            let meets = move |(_, theirs): &(usize, &RowOperation)| match (mine.row, theirs.row) {
                (Some(my_row), Some(row)) => mine.table == theirs.table && self.labels[my_row] == other.labels[row],
                _ => false,
            };
            let theirs = other.template.operations().filter(meets);
            theirs.map(move |(their_number, theirs)| (number, mine, their_number, theirs))
        })
    }

    /// Whether an operation of this one is done by the time of b1, or counts whenever it is done because a snapshot is older than t2.
    fn is_held(&self, number: usize) -> bool {
        self.level != Level::ReadCommitted || number < self.prefix
    }

    /// Whether two operations on one row cannot both succeed in such a schedule, whoever of the others does the second.
    fn excludes(&self, number: usize, mine: &RowOperation, theirs: &RowOperation) -> bool {
        // A snapshot is not too old to insert a row where another one has deleted one since.
        let inserts_anew = self.level != Level::ReadCommitted && mine.inserts && !mine.inserts_once;
        (mine.inserts_once && theirs.inserts_once)
            || (self.is_held(number) && !inserts_anew && mine.writes & theirs.writes != 0)
    }

    /// Whether another one can be there in a role.
    pub(crate) fn allows(&self, role: Role, other: &OtherTransaction<'_>) -> bool {
        match role {
            Role::Second { read_by } => self.can_second(other, read_by),
            Role::Last { by, onto } => self.can_last(other, by, onto),
            Role::Between => !self.meetings(other).any(|(_, mine, _, theirs)| mine.conflicts(theirs)),
        }
    }

    /// Whether another one can be the second: nothing that it writes or locks is held.
    fn can_second(&self, other: &OtherTransaction<'_>, read_by: OperationAt) -> bool {
        let serializable = self.level == Level::Serializable && other.level == Level::Serializable;
        let both = serializable && self.watches(read_by);
        !self.meetings(other).any(|(number, mine, _, theirs)| {
            self.excludes(number, mine, theirs)
                || self.keeps_away(number, mine, theirs)
                || (both && mine.writes & theirs.watched_reads() != 0)
        })
    }

    /// Whether a lock of this one keeps another one away as long as this one runs.
    fn keeps_away(&self, number: usize, mine: &RowOperation, theirs: &RowOperation) -> bool {
        let inserts_anew = self.level != Level::ReadCommitted && mine.inserts && !mine.inserts_once;
        self.is_held(number) && !inserts_anew && blocks(mine, theirs, self.level == Level::ReadCommitted)
    }

    /// Whether another one can be the last, and close the cycle by one of its operations onto one of this one.
    fn can_last(&self, other: &OtherTransaction<'_>, by: OperationAt, onto: OperationAt) -> bool {
        let serializable = self.level == Level::Serializable && other.level == Level::Serializable;
        let both = serializable && self.is_watched(other.template, by, onto);
        let overwrites = other.template.at(by).reads & self.template.at(onto).writes != 0;
        let step = |number: usize| other.template.chunks[number].step;
        let is_later = |one: usize, two: usize| one > two && step(one) != step(two);
        !self.meetings(other).any(|(number, mine, their_number, theirs)| {
            // It locks the row after the commit of this one: what it reads later is no older than that.
            let reads_before = overwrites && (other.level != Level::ReadCommitted || !is_later(by.0, their_number));
            self.excludes(number, mine, theirs)
                || (self.keeps_away(number, mine, theirs) && !reads_before)
                || (both && mine.watched_reads() & theirs.writes != 0)
        })
    }

    /// Whether a conflict between an operation of the last and one of this one, in its statement, closes the cycle.
    pub(crate) fn closes(&self, last: &RowOperation, number: usize, mine: &RowOperation) -> bool {
        let same = last.table == mine.table;
        let overwrites = same && last.reads & mine.writes != 0;
        let makes_room = same && last.looking != Looking::Inserting && last.writes & mine.latest_reads() != 0;
        match self.level {
            Level::ReadCommitted => overwrites || (number >= self.prefix && last.conflicts(mine)),
            Level::Snapshot | Level::Serializable => overwrites || makes_room,
        }
    }

    /// Whether PostgreSQL would know of the conflict that closes a cycle if all were serializable: as a read that is overwritten. It does not know
    /// of what a constraint has seen. An INSERT makes no room for others.
    pub(crate) fn is_watched(&self, last: &Template, by: OperationAt, onto: OperationAt) -> bool {
        let (theirs, mine) = (last.at(by), self.template.at(onto));
        theirs.looking == Looking::Inserting || theirs.watched_reads() & mine.writes != 0
    }

    /// The same of the conflict that a cycle begins with: what a key has seen nobody overwrites while its transaction is open.
    pub(crate) fn watches(&self, read_by: OperationAt) -> bool {
        self.template.at(read_by).looking != Looking::Forgotten
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

/// A counterexample: t1, t2, …, tm, and what joins them.
#[derive(Clone, Debug)]
pub(crate) struct SplitFound {
    /// The templates, t1 first.
    pub(crate) templates: Vec<usize>,
    /// How many statements of t1 come before the others.
    pub(crate) prefix: usize,
    /// b1 and a2, the links from each to the next, bm and a1.
    pub(crate) links: Vec<(OperationAt, OperationAt)>,
    /// Rows of t1 that are not there.
    pub(crate) missing: Vec<usize>,
}
