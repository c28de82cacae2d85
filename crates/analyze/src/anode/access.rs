//! Accesses: what a statement of an instance does to rows, with claims about when.
//!
//! ```text
//!   payment, instance 2:  UPDATE customer SET balance = … WHERE warehouse = w AND district = d AND id = c
//!
//!   reached   instance 2 runs payment                     target   the record customer(w, d, c)
//!   reads     existence                                   writes   balance
//! ```
//!
//! A *record* is a name for a row: a table and values for its key. Two names may be names of one row; whether they are is a claim about values.

use super::claims::{Claim, Claims, ValueNumber};
use super::moment::{AccessMoment, PointNumber, Viewer};
use super::shape::{ColumnBits, Existence};
use crate::effect::LockStrength;
use rustc_hash::FxHashMap;

/// A record, by number.
pub(crate) type RecordNumber = usize;

/// A name of a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Record {
    pub(crate) table: usize,
    pub(crate) key: Vec<ValueNumber>,
}

/// The records of a question.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) all: Vec<Record>,
    known: FxHashMap<Record, RecordNumber>,
}

impl Records {
    pub(crate) fn number(&mut self, record: Record) -> RecordNumber {
        if let Some(number) = self.known.get(&record) {
            return *number;
        }
        self.all.push(record.clone());
        self.known.insert(record, self.all.len() - 1);
        self.all.len() - 1
    }

    /// Whether two records are one row.
    pub(crate) fn same(&self, claims: &mut Claims, first: RecordNumber, second: RecordNumber) -> Claim {
        let (one, two) = (&self.all[first], &self.all[second]);
        if one.table != two.table {
            return claims.no();
        }
        let parts: Vec<Claim> = one.key.iter().zip(&two.key).map(|(one, two)| claims.equal(*one, *two)).collect();
        claims.all(parts)
    }
}

/// Which rows an access is on.
#[derive(Clone, Debug)]
pub(crate) enum AccessTarget {
    /// One row.
    Key(RecordNumber),
    /// Whatever rows are found.
    Search(SearchTarget),
}

/// A search.
#[derive(Clone, Debug)]
pub(crate) struct SearchTarget {
    /// The values that parts of the primary key must have.
    pub(crate) key: Vec<Option<ValueNumber>>,
    /// The values that other columns must have, by name.
    pub(crate) others: Vec<(String, ValueNumber)>,
    /// Whether rows must fulfil more.
    pub(crate) more: bool,
    /// The columns that decide whether a row is found; all that are read, where that is not known.
    pub(crate) asked: ColumnBits,
    /// Where only the least or greatest value of a part of the key is asked for.
    pub(crate) extremum: Option<ExtremumRead>,
    /// Where rows are counted: there was none.
    pub(crate) empty: Option<Claim>,
}

/// The least or greatest value of a part of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtremumRead {
    pub(crate) greatest: bool,
    /// The part of the key.
    pub(crate) part: usize,
    /// What was found.
    pub(crate) found: ValueNumber,
    /// Nothing was found.
    pub(crate) none: Claim,
}

/// What a statement of an instance does to rows.
#[derive(Clone, Debug)]
pub(crate) struct RowAccess {
    pub(crate) instance: usize,
    pub(crate) step: usize,
    /// Which of the rounds of its loop that are looked at; none outside of loops.
    pub(crate) round: Option<usize>,
    /// The statement is carried out, with a key that is not NULL.
    pub(crate) reached: Claim,
    pub(crate) table: usize,
    pub(crate) target: AccessTarget,
    pub(crate) reads: ColumnBits,
    pub(crate) writes: ColumnBits,
    pub(crate) existence: Existence,
    /// Whether the row must fulfil more than having its key.
    pub(crate) guarded: bool,
    /// What its columns are, where it comes into being.
    pub(crate) values: Vec<(String, ValueNumber)>,
    /// Whether the same procedure may have changed which rows there are, before.
    pub(crate) own_rows: bool,
    /// Whether the same procedure may have written what is read here, before.
    pub(crate) own_columns: bool,
    /// Whether nobody asks if the row was there: a DELETE whose count is not looked at.
    pub(crate) is_blind: bool,
    /// How rows are locked beyond what writes lock.
    pub(crate) lock: LockStrength,
    /// Whether a constraint looks, at what is there now.
    pub(crate) is_latest: bool,
    /// Who looks for what is read.
    pub(crate) viewer: Viewer,
    /// When rows are taken, where that is a matter of time.
    pub(crate) moment: Option<AccessMoment>,
    /// When its statement begins, where that is a matter of time.
    pub(crate) begins: Option<PointNumber>,
}
