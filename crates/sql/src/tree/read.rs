//! The read of a table: which keys are looked at, what a row must fulfil, and how rows are taken.
//!
//! ```text
//!   WHERE id = 7                      Points        item/7
//!   WHERE shop = 1 AND price < 10     IndexRange    item@shop_price/1/..10
//!   anything else                     Scan          item/
//! ```

use super::expression::Expression;
use crate::catalog::Table;
use crate::storage::{Columns, Lock, Patience};
use std::sync::Arc;

/// The read of a table.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The table.
    pub(crate) table: Arc<Table>,
    /// Which keys are looked at.
    pub(crate) access: Access,
    /// What a row must fulfil, over the table's physical columns at depth 0; always evaluated, whatever the access path.
    pub(crate) condition: Option<Expression>,
    /// Which physical columns are needed.
    pub(crate) columns: Columns,
    /// How rows are taken.
    pub(crate) lock: Lock,
    /// Whether their keys are taken, too: FOR UPDATE keeps children away that an UPDATE of other columns lets in.
    pub(crate) takes_keys: bool,
    /// What an UPDATE assigns to columns of keys: where that is not what stands there, rows are taken more strongly.
    pub(crate) moves: Arc<[(usize, Expression)]>,
    /// Whether an operator above takes them, if they come that far: here they are read plainly.
    pub(crate) is_taken_above: bool,
    /// A lock over this table alone has become its own, and no other one is to be had above it.
    pub(crate) is_locked_alone: bool,
    /// What happens where somebody else has taken them.
    pub(crate) patience: Patience,
    /// Whether the path finds exactly the rows that fulfil the condition.
    pub(crate) exact: bool,
    /// What the condition reads besides the row.
    pub(crate) asks: Asks,
}

impl Read {
    /// Whether rows are sought: locked if they fit, which is a function of the row alone.
    pub(crate) fn seeks(&self) -> bool {
        self.lock_here() != Lock::None && self.asks != Asks::PerRow
    }

    /// How rows are taken where they are read.
    pub(crate) fn lock_here(&self) -> Lock {
        if self.is_taken_above { Lock::None } else { self.lock }
    }
}

/// What a condition reads besides the row that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    /// Nothing.
    Nothing,
    /// Subqueries that are the same for every row: once they are answered it is a function of the row.
    Once,
    /// Subqueries that look at the row.
    PerRow,
}

/// Which keys of a table are looked at. The expressions in it do not refer to the table's own row, which has depth 0; they are
/// evaluated before it is read.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// Everything, in the order of the keys or backwards, perhaps only so many.
    Scan(Order),
    /// Rows by their whole primary key. Alternatives; in each, for every column the values it may have; all combinations are read.
    Points(Vec<Vec<Values>>),
    /// The same by all columns of a unique index: its place in the table.
    UniquePoints(usize, Vec<Vec<Values>>),
    /// Rows by a range of the primary key.
    KeyRange(Bounds),
    /// Rows by a range of an index: its place in the table.
    IndexRange(usize, Bounds),
}

impl Access {
    /// Whether it stops before all rows are seen.
    pub(crate) fn is_limited(&self) -> bool {
        match self {
            Access::Scan(order) => order.limit.is_some(),
            Access::KeyRange(bounds) | Access::IndexRange(_, bounds) => bounds.order.limit.is_some(),
            Access::Points(_) | Access::UniquePoints(..) => false,
        }
    }
}

/// In which order a range is read, and how far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Greatest first.
    pub(crate) descending: bool,
    /// Stop after so many rows; an expression without columns.
    pub(crate) limit: Option<Expression>,
}

/// The values that a column of a key may have.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// Each of these.
    Each(Vec<Expression>),
    /// Every element of an array.
    Elements(Expression),
}

/// A range: equality on the first columns, then at most one bounded column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// The values of the first columns of the key.
    pub(crate) prefix: Vec<Values>,
    /// The least value of the next column.
    pub(crate) low: Option<Bound>,
    /// The greatest value.
    pub(crate) high: Option<Bound>,
    /// How it is walked.
    pub(crate) order: Order,
}

/// An end of a range.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// The value, of the column's type.
    pub(crate) value: Expression,
    /// Whether rows with this value are inside.
    pub(crate) inclusive: bool,
}
