//! Statements that change rows, bound; and what came of one.

use super::expression::Expression;
use super::plan::Plan;
use crate::answer::ResultColumn;
use crate::catalog::Table;
use crate::storage::RowKey;
use skew_value::Datum;
use std::sync::Arc;

/// A bound statement that changes rows.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
}

/// INSERT and REPLACE.
#[derive(Clone, Debug)]
pub(crate) struct Insert {
    /// Where the rows go.
    pub(crate) table: Arc<Table>,
    /// The physical columns that the source gives, in its order.
    pub(crate) targets: Vec<usize>,
    /// The rows, their values already of the columns' types.
    pub(crate) source: Plan,
    /// COPY: rows that come from the client instead.
    pub(crate) copied: Option<CopiedRows>,
    /// What the other columns get: an expression over no row.
    pub(crate) defaults: Vec<(usize, Expression)>,
    /// What happens when a key is taken.
    pub(crate) conflict: Conflict,
    /// RETURNING.
    pub(crate) returning: Option<Returning>,
}

/// Rows of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopiedRows {
    /// The rows as they came: all texts, or all of the columns' types.
    pub(crate) rows: Arc<Vec<Vec<Datum>>>,
    /// From a row to the values of the columns.
    pub(crate) conversions: Vec<Expression>,
}

/// What happens when a key that should be inserted is there already.
#[derive(Clone, Debug)]
pub(crate) enum Conflict {
    /// The statement is wrong.
    Refuse,
    /// The new row is left out, if the key is one of these ([`Arbiter`]); INSERT IGNORE and ON CONFLICT DO NOTHING name none: all.
    Skip(Option<Vec<Arbiter>>),
    /// The old row is changed instead.
    Update(Box<ConflictUpdate>),
    /// REPLACE: the old rows go.
    Replace,
}

impl Conflict {
    /// Whether it is known what becomes of a row when this key is taken, whatever the others are.
    pub(crate) fn is_settled_by(&self, arbiter: Arbiter) -> bool {
        let arbiters = match self {
            Conflict::Skip(arbiters) => arbiters.as_deref(),
            Conflict::Update(update) => update.arbiters.as_deref(),
            Conflict::Refuse | Conflict::Replace => return false,
        };
        arbiters.is_none_or(|arbiters| arbiters.contains(&arbiter))
    }
}

/// A key of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arbiter {
    /// The primary key.
    Primary,
    /// A unique index, by its place in the table.
    Index(usize),
}

/// ON CONFLICT … DO UPDATE, ON DUPLICATE KEY UPDATE.
#[derive(Clone, Debug)]
pub(crate) struct ConflictUpdate {
    /// The keys that count; none named: all.
    pub(crate) arbiters: Option<Vec<Arbiter>>,
    /// The physical columns and their new values, over the old row and, behind it, the row that was to be inserted.
    pub(crate) assignments: Vec<(usize, Expression)>,
    /// WHERE: otherwise nothing happens.
    pub(crate) condition: Option<Expression>,
}

/// UPDATE.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    /// The rows that qualify.
    pub(crate) source: RowSource,
    /// The physical columns and their new values, over the source's row.
    pub(crate) assignments: Vec<(usize, Expression)>,
    /// RETURNING, over the source's row with the table's part changed.
    pub(crate) returning: Option<Returning>,
}

/// DELETE.
#[derive(Clone, Debug)]
pub(crate) struct Delete {
    /// The rows that qualify.
    pub(crate) source: RowSource,
    /// RETURNING, over the source's row.
    pub(crate) returning: Option<Returning>,
}

/// The rows that an UPDATE or DELETE is about.
#[derive(Clone, Debug)]
pub(crate) struct RowSource {
    /// Whose rows change.
    pub(crate) table: Arc<Table>,
    /// What finds them, and what FROM or USING brings along.
    pub(crate) plan: Plan,
    /// Where the table's physical columns start in the plan's row. Without a primary key the row's key stands behind them.
    pub(crate) start: usize,
    /// What a row must fulfil, over the plan's row: asked again when the row is locked and differs.
    pub(crate) condition: Option<Expression>,
    /// Whether the plan reads the rows with a lock already.
    pub(crate) locked: bool,
    /// Whether other relations decide with the row whether it qualifies.
    pub(crate) joined: bool,
}

/// RETURNING.
#[derive(Clone, Debug)]
pub(crate) struct Returning {
    /// The columns that a client sees.
    pub(crate) columns: Vec<ResultColumn>,
    /// Their values.
    pub(crate) expressions: Vec<Expression>,
}

impl Change {
    /// The words of its command.
    pub(crate) fn command(&self) -> &'static str {
        match self {
            Change::Insert(_) => "INSERT",
            Change::Update(_) => "UPDATE",
            Change::Delete(_) => "DELETE",
        }
    }

    /// RETURNING.
    pub(crate) fn returning(&self) -> Option<&Returning> {
        match self {
            Change::Insert(insert) => insert.returning.as_ref(),
            Change::Update(update) => update.returning.as_ref(),
            Change::Delete(delete) => delete.returning.as_ref(),
        }
    }

    /// The columns of RETURNING; none without it.
    pub(crate) fn returning_columns(&self) -> &[ResultColumn] {
        self.returning().map_or(&[], |returning| &returning.columns)
    }
}

/// What a change did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Rows inserted, updated or deleted, as the dialect counts them.
    pub(crate) count: u64,
    /// Rows that qualified.
    pub(crate) found: u64,
    /// RETURNING's rows.
    pub(crate) returned: Vec<Vec<Datum>>,
    /// The first value that AUTO_INCREMENT gave.
    pub(crate) insert_id: Option<i64>,
    /// Foreign keys to be looked at when the transaction commits.
    pub(crate) deferred: Vec<ChildCheck>,
}

/// A row that needs a parent: looked at again at the end of the statement, or of the transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChildCheck {
    /// The table by name, as it may be dropped meanwhile.
    pub(crate) table: String,
    /// The foreign key by name.
    pub(crate) key: String,
    /// The row.
    pub(crate) row: RowKey,
}
