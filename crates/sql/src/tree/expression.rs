//! Bound expressions: every name found, every type known.
//!
//! An expression is evaluated over a stack of rows. The row of the query it stands in has depth 0, the row of the query around that
//! one has depth 1, and so on:
//!
//! ```text
//!   SELECT name FROM shop WHERE EXISTS (SELECT 1 FROM item WHERE item.shop = shop.id AND item.price < $1)
//!                                                          Column{depth 0}  Column{depth 1}     Parameter(0)
//! ```
//!
//! The row of a query is the concatenation of the rows of what stands in its FROM, each table with its *physical* columns (dropped
//! ones included, rows that are older than their table's last columns filled up), so that a place in a stored row is a place here.
//!
//! What is decided here and nowhere else: coercions. Where an operand must become another type, a [`Node::Cast`] stands in between,
//! so the executor converts nothing by itself.

use crate::storage::{AdvisoryRequest, ConnectionRequest, SequenceId};
use crate::tree::plan::{Identity, Query};
use crate::virtual_tables::function::CatalogFunction;
use skew_value::function::Routine;
use skew_value::{CastKind, Datum, SqlType};
use std::sync::Arc;

/// A bound expression with its type.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    /// What it does.
    pub(crate) node: Node,
    /// What it yields.
    pub(crate) sql_type: SqlType,
}

/// What an expression does.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A value.
    Constant(Datum),
    /// A column of the row `depth` queries further out.
    Column {
        /// 0 is the query's own row.
        depth: usize,
        /// The place in that row.
        index: usize,
    },
    /// A parameter of the statement, from 0.
    Parameter(usize),
    /// A variable of the program that runs the statement, from 0.
    Variable(usize),
    /// MySQL's `@name`.
    UserVariable(Arc<str>),
    /// A function or operator.
    Call(Box<Call>),
    /// A conversion that is written or implied.
    Cast(Box<Cast>),
    /// All of them: false beats NULL beats true.
    And(Vec<Expression>),
    /// Any of them: true beats NULL beats false.
    Or(Vec<Expression>),
    /// NOT.
    Not(Box<Expression>),
    /// IS NULL.
    IsNull(Box<Expression>),
    /// IS TRUE (`true`), IS FALSE (`false`): never NULL.
    Is(Box<Expression>, bool),
    /// IS NOT DISTINCT FROM: NULL is equal to NULL.
    Same(Box<Expression>, Box<Expression>),
    /// The first condition that is true decides.
    Case {
        /// Conditions and results.
        branches: Vec<(Expression, Expression)>,
        /// When none is true.
        otherwise: Box<Expression>,
    },
    /// The first that is not NULL; the rest is not evaluated.
    Coalesce(Vec<Expression>),
    /// NULL where the comparison (first) is true, else the value (second).
    NullIf(Box<Expression>, Box<Expression>),
    /// The greatest (or least) that is not NULL.
    Extreme {
        /// The candidates, of one type.
        operands: Vec<Expression>,
        /// GREATEST rather than LEAST.
        greatest: bool,
    },
    /// `operand = ANY (list)`.
    InList(Box<InList>),
    /// ARRAY[…].
    Array(Vec<Expression>),
    /// `array[index]`.
    Subscript(Box<Expression>, Box<Expression>),
    /// `nextval` and its kin, which need the store.
    Sequence(Box<SequenceCall>),
    /// `format_type` and its kin, which read the catalog.
    Catalog(Box<CatalogCall>),
    /// A subquery.
    Subquery(Box<Subquery>),
    /// `left operator ANY/ALL (array)`.
    Quantified(Box<Quantified>),
    /// While a SELECT is bound: the aggregate of this number. No plan holds one.
    Aggregate(usize),
    /// While a SELECT is bound: the window function of this number. No plan holds one.
    Window(usize),
}

/// `operand = ANY (list)`.
#[derive(Clone, Debug)]
pub(crate) struct InList {
    /// The left side.
    pub(crate) operand: Expression,
    /// The right sides.
    pub(crate) list: Vec<Expression>,
    /// The equality of their common type.
    pub(crate) equality: Routine,
    /// Which list it is.
    pub(crate) identity: Identity,
}

/// `left operator ANY/ALL (array)`.
#[derive(Clone, Debug)]
pub(crate) struct Quantified {
    /// The left side.
    pub(crate) operand: Expression,
    /// The array.
    pub(crate) array: Expression,
    /// The comparison of the left side with an element.
    pub(crate) comparison: Routine,
    /// ALL rather than ANY.
    pub(crate) all: bool,
    /// Which array it is.
    pub(crate) identity: Identity,
}

/// A call of a function that reads the catalog.
#[derive(Clone, Debug)]
pub(crate) struct CatalogCall {
    /// The function.
    pub(crate) function: CatalogFunction,
    /// Its arguments, already of the types it wants.
    pub(crate) arguments: Vec<Expression>,
}

/// What is asked of a sequence.
#[derive(Clone, Debug)]
pub(crate) struct SequenceCall {
    /// Which function.
    pub(crate) operation: SequenceOperation,
    /// The name of the sequence, for all but `lastval`, and what else the function takes.
    pub(crate) arguments: Vec<Expression>,
}

/// The functions of sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SequenceOperation {
    /// `nextval(name)`.
    Next,
    /// `currval(name)`.
    Current,
    /// `lastval()`.
    Last,
    /// `setval(name, value [, called])`.
    Set,
    /// The default of a SERIAL column, whose sequence is known by number.
    Default(SequenceId),
    /// `skew_settle()`, which is about no sequence but needs the store as these do.
    Settle,
    /// `pg_advisory_lock(key)` and its kin, likewise.
    Advisory(AdvisoryRequest),
    /// `pg_sleep(seconds)` and its kin, likewise.
    Sleep(Sleep),
    /// `pg_blocking_pids(number)` and its kin, likewise.
    Connection(ConnectionRequest),
    /// `pg_isolation_test_session_is_blocked(number, others)`: whether it waits for one of them.
    Blocked,
}

/// How the end of a sleep is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sleep {
    /// `pg_sleep(seconds)`.
    Seconds,
    /// `pg_sleep_for(interval)`.
    For,
    /// `pg_sleep_until(moment)`.
    Until,
}

/// A call of a function or operator.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// What is called.
    pub(crate) routine: Routine,
    /// Its arguments, already of the types it wants.
    pub(crate) arguments: Vec<Expression>,
}

/// A conversion.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    /// What is converted; its type says from what.
    pub(crate) operand: Expression,
    /// Why, which decides what may be lost.
    pub(crate) kind: CastKind,
}

/// A query inside an expression.
#[derive(Clone, Debug)]
pub(crate) struct Subquery {
    /// The query, bound one depth further in.
    pub(crate) query: Arc<Query>,
    /// Its number in the statement, under which an answer that does not depend on outer rows is kept.
    pub(crate) number: usize,
    /// What is asked of it.
    pub(crate) kind: SubqueryKind,
}

/// What an expression asks of a query.
#[derive(Clone, Debug)]
pub(crate) enum SubqueryKind {
    /// Its only value; NULL where it has no row, an error where it has several.
    Scalar,
    /// Whether it has a row.
    Exists,
    /// Its values as an array.
    Array,
    /// `operands = ANY (query)`: hashed where the query does not depend on outer rows.
    In(Vec<Expression>),
    /// `operand operator ANY/ALL (query)`: the comparison sees the query's row at depth 0 and everything else one further out.
    Quantified {
        /// The comparison with one row.
        comparison: Expression,
        /// ALL rather than ANY.
        all: bool,
    },
}

impl Expression {
    /// A value of a type.
    pub(crate) fn constant(value: Datum, sql_type: SqlType) -> Expression {
        Expression { node: Node::Constant(value), sql_type }
    }

    /// TRUE or FALSE.
    pub(crate) fn boolean(value: bool) -> Expression {
        Expression::constant(Datum::Boolean(value), SqlType::Boolean)
    }

    /// A column of the query's own row.
    pub(crate) fn column(index: usize, sql_type: SqlType) -> Expression {
        Expression { node: Node::Column { depth: 0, index }, sql_type }
    }

    /// The conditions that all have to hold.
    pub(crate) fn conjuncts(self) -> Vec<Expression> {
        match self.node {
            Node::And(operands) => operands.into_iter().flat_map(Expression::conjuncts).collect(),
            _ => vec![self],
        }
    }

    /// All conditions as one; none is true.
    pub(crate) fn all(mut conditions: Vec<Expression>) -> Option<Expression> {
        match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Expression { node: Node::And(conditions), sql_type: SqlType::Boolean }),
        }
    }
}
