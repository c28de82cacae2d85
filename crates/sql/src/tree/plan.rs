//! Plans: where the rows of a query come from, operator by operator.
//!
//! ```text
//!   SELECT shop, count(*) FROM item WHERE price < 10 GROUP BY shop
//!
//!   Project ── Aggregate ── Filter ── Read item
//! ```
//!
//! A plan is made by the binder, changed by the planner and carried out by the executor.

use super::change::Change;
use super::expression::Expression;
use super::read::{Access, Asks, Order, Read};
use super::visit;
use crate::answer::ResultColumn;
use crate::catalog::Table;
use crate::storage::{Columns, Lock, Patience};
use crate::virtual_tables::VirtualTable;
use skew_value::function::{Aggregate, TableRoutine, WindowRoutine};
use std::sync::Arc;

/// A bound query.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Where its rows come from.
    pub(crate) plan: Plan,
    /// Its columns; the plan yields exactly these.
    pub(crate) columns: Vec<ResultColumn>,
    /// Whether it refers to rows of queries around it.
    pub(crate) correlated: bool,
    /// The common table expressions of queries around it that it reads, by number.
    pub(crate) common: Vec<usize>,
}

/// An operator with its inputs. The expressions of an operator see its input's row at depth 0.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// One row without columns: SELECT without FROM.
    OneRow,
    /// Rows of a table, all physical columns.
    Read(Box<Read>),
    /// Rows of a catalog table.
    Virtual(Box<VirtualTable>),
    /// VALUES: the expressions see no row at depth 0.
    Values(Vec<Vec<Expression>>),
    /// A table function: the arguments see no row at depth 0.
    Function(Box<FunctionRead>),
    /// The rows for which a condition is true.
    Filter(Box<Plan>, Expression),
    /// A row of other expressions for each.
    Project(Box<Plan>, Vec<Expression>),
    /// Pairs of rows.
    Join(Box<Join>),
    /// A row per group: the groups' values, then the aggregates' values.
    Aggregate(Box<Aggregation>),
    /// The input's row, then the value of every window function.
    Window(Box<Plan>, Vec<WindowCall>),
    /// Rows without duplicates by some columns; the first of equal ones stays.
    Distinct(Box<Plan>, Vec<usize>),
    /// Rows in an order.
    Sort(Box<Plan>, Vec<SortKey>),
    /// Some of the rows.
    Limit(Box<Plan>, Box<Limit>),
    /// Rows that are locked as they come: PostgreSQL's FOR UPDATE over a join, an order or a limit.
    Lock(Box<Locking>),
    /// The first columns only.
    Cut(Box<Plan>, usize),
    /// UNION, EXCEPT, INTERSECT.
    SetOperation(Box<SetOperation>),
    /// The rows of a common table expression.
    Common(CommonReference),
    /// Common table expressions and the query that uses them.
    With(Box<With>),
    /// Rows that do not depend on the rows outside, read once in a statement however often they are asked for.
    Kept(Box<Kept>),
}

/// Tells a part of a plan from all others, so that a statement can keep what it found there. Copies of a part have the same one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Identity(Arc<()>);

impl Identity {
    /// A number that no other part has, as long as this one is there.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

/// Rows that are read once, and those of them that fulfil a condition on the rows outside.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Which one it is.
    pub(crate) identity: Identity,
    /// Where the rows come from.
    pub(crate) input: Plan,
    /// The common table expressions that the input reads: with them its rows change.
    pub(crate) common: Vec<usize>,
    /// Equal parts, by which rows are found; the condition is evaluated all the same.
    pub(crate) equalities: Vec<Equality>,
    /// Whether rows for which an equality is NULL are asked about the rest of the condition, because that reads.
    pub(crate) asks_about_null: bool,
    /// What a row must fulfil.
    pub(crate) condition: Option<Expression>,
}

/// Two parts of a condition that must be equal.
#[derive(Clone, Debug)]
pub(crate) struct Equality {
    /// Over the row itself.
    pub(crate) inner: Expression,
    /// Over the rows outside alone.
    pub(crate) outer: Expression,
}

/// A reference to a common table expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonReference {
    /// Its number in the statement.
    pub(crate) number: usize,
    /// How many columns it has.
    pub(crate) width: usize,
}

/// A call of a table function.
#[derive(Clone, Debug)]
pub(crate) struct TableCall {
    /// The function.
    pub(crate) routine: TableRoutine,
    /// Its arguments.
    pub(crate) arguments: Vec<Expression>,
}

/// Table functions in FROM.
#[derive(Clone, Debug)]
pub(crate) struct FunctionRead {
    /// The calls, whose rows stand side by side: the shorter ones go on with NULL.
    pub(crate) calls: Vec<TableCall>,
    /// WITH ORDINALITY: rows are numbered in a last column.
    pub(crate) ordinality: bool,
}

/// A join. Its row is the left row, then the right row.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    /// What happens to rows without a partner.
    pub(crate) kind: JoinKind,
    /// The left side.
    pub(crate) left: Plan,
    /// The right side.
    pub(crate) right: Plan,
    /// Whether the right side is evaluated for every left row, which it sees at depth 1.
    pub(crate) lateral: bool,
    /// Equal parts, left and right, each over its own side's row: rows are found by them; the condition is evaluated all the same.
    pub(crate) hashed: Vec<(Expression, Expression)>,
    /// What a pair must fulfil.
    pub(crate) condition: Option<Expression>,
    /// Where the join is asked for again and again, and its right side has the same rows every time: how these are kept.
    pub(crate) kept: Option<KeptSide>,
}

/// How a statement keeps the right side of a join.
#[derive(Clone, Debug)]
pub(crate) struct KeptSide {
    /// Which join it is.
    pub(crate) identity: Identity,
    /// The common table expressions that the side reads.
    pub(crate) common: Vec<usize>,
}

/// What happens to rows without a partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JoinKind {
    /// Both go.
    Inner,
    /// Left rows stay.
    Left,
    /// Right rows stay.
    Right,
    /// All stay.
    Full,
}

/// Grouping.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    /// What is grouped.
    pub(crate) input: Plan,
    /// What rows of a group have in common.
    pub(crate) groups: Vec<Expression>,
    /// Which of the groups' expressions each grouping set has; without GROUP BY one set of none.
    pub(crate) sets: Vec<Vec<usize>>,
    /// The aggregates.
    pub(crate) calls: Vec<AggregateCall>,
}

/// An aggregate over rows.
#[derive(Clone, Debug)]
pub(crate) struct AggregateCall {
    /// Which, or how a grouping set is told apart.
    pub(crate) kind: AggregateKind,
    /// Its arguments.
    pub(crate) arguments: Vec<Expression>,
    /// FILTER (WHERE …).
    pub(crate) filter: Option<Expression>,
    /// ORDER BY inside the call.
    pub(crate) order: Vec<(Expression, Direction)>,
}

/// Aggregates, and GROUPING(), which looks like one.
#[derive(Clone, Debug)]
pub(crate) enum AggregateKind {
    /// A function of the rows of a group.
    Function(Aggregate),
    /// GROUPING(…): a bit per expression, set where the grouping set does not have it.
    Grouping(Vec<usize>),
}

/// A window function.
#[derive(Clone, Debug)]
pub(crate) struct WindowCall {
    /// What is computed.
    pub(crate) kind: WindowKind,
    /// Its arguments.
    pub(crate) arguments: Vec<Expression>,
    /// FILTER (WHERE …), for aggregates.
    pub(crate) filter: Option<Expression>,
    /// PARTITION BY.
    pub(crate) partition: Vec<Expression>,
    /// ORDER BY.
    pub(crate) order: Vec<(Expression, Direction)>,
    /// Which rows around each row count.
    pub(crate) frame: Frame,
}

/// What a window function computes.
#[derive(Clone, Debug)]
pub(crate) enum WindowKind {
    /// `rank`, `lag`, `first_value` and so on, by name.
    Routine(WindowRoutine),
    /// An aggregate over the frame.
    Aggregate(Aggregate),
}

/// ROWS or RANGE BETWEEN … AND ….
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// ROWS rather than RANGE.
    pub(crate) rows: bool,
    /// Where it starts.
    pub(crate) start: FrameBound,
    /// Where it ends.
    pub(crate) end: FrameBound,
}

/// An end of a frame.
#[derive(Clone, Debug)]
pub(crate) enum FrameBound {
    /// UNBOUNDED PRECEDING or FOLLOWING.
    Unbounded,
    /// CURRENT ROW.
    Current,
    /// So many rows before.
    Preceding(Expression),
    /// So many rows after.
    Following(Expression),
}

impl FrameBound {
    /// The expressions in it.
    pub(crate) fn expressions(&mut self) -> impl Iterator<Item = &mut Expression> {
        match self {
            FrameBound::Preceding(expression) | FrameBound::Following(expression) => Some(expression).into_iter(),
            FrameBound::Unbounded | FrameBound::Current => None.into_iter(),
        }
    }
}

/// How a value sorts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Direction {
    /// DESC.
    pub(crate) descending: bool,
    /// NULLS FIRST.
    pub(crate) nulls_first: bool,
    /// The labels of an enumeration, in their order.
    pub(crate) labels: Option<Arc<[String]>>,
}

/// A column that rows are sorted by.
#[derive(Clone, Debug)]
pub(crate) struct SortKey {
    /// Its place in the row.
    pub(crate) index: usize,
    /// How.
    pub(crate) direction: Direction,
}

/// LIMIT and OFFSET; the expressions see no row.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    /// How many.
    pub(crate) count: Option<Expression>,
    /// After how many.
    pub(crate) offset: Option<Expression>,
    /// FETCH FIRST … WITH TIES: rows equal to the last one by the sort keys come too.
    pub(crate) ties: Option<Vec<SortKey>>,
}

/// The rows of a query whose tables' rows are locked when they have come through joins, conditions and the order.
#[derive(Clone, Debug)]
pub(crate) struct Locking {
    /// The scope of what its locks show, by a number that no subquery of the statement has.
    pub(crate) scope: usize,
    /// What the query gives, then the row of FROM that it was made from.
    pub(crate) input: Plan,
    /// How many columns the query gives.
    pub(crate) width: usize,
}

/// UNION, EXCEPT, INTERSECT.
#[derive(Clone, Debug)]
pub(crate) struct SetOperation {
    /// Which.
    pub(crate) operator: SetOperator,
    /// Whether duplicates stay.
    pub(crate) all: bool,
    /// The left side.
    pub(crate) left: Plan,
    /// The right side, with columns of the same types.
    pub(crate) right: Plan,
}

/// The operators of sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SetOperator {
    /// Either.
    Union,
    /// The first without the second.
    Except,
    /// Both.
    Intersect,
}

/// WITH.
#[derive(Clone, Debug)]
pub(crate) struct With {
    /// The expressions by number.
    pub(crate) definitions: Vec<(usize, Definition)>,
    /// For each of them what its rows depend on.
    pub(crate) needs: Vec<Needs>,
    /// The query that uses them.
    pub(crate) body: Plan,
}

/// What the rows of a common table expression depend on.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    /// Whether on rows outside: then it is evaluated for each of them, else once.
    pub(crate) outer: bool,
    /// On which other common table expressions, by number.
    pub(crate) common: Vec<usize>,
}

/// What a common table expression is.
#[derive(Clone, Debug)]
pub(crate) enum Definition {
    /// A query, evaluated when first used.
    Query(Plan),
    /// WITH RECURSIVE: `step` sees the rows that were new last time.
    Recursive {
        /// Where it starts.
        base: Plan,
        /// What follows from the last rows.
        step: Plan,
        /// UNION ALL rather than UNION.
        all: bool,
    },
    /// INSERT, UPDATE or DELETE … RETURNING, carried out once whether it is used or not.
    Change(Arc<Change>),
}

impl With {
    /// Common table expressions and the query that uses them.
    pub(crate) fn new(definitions: Vec<(usize, Definition)>, body: Plan) -> With {
        let needs = definitions.iter().map(|(number, definition)| Needs::of(*number, definition)).collect();
        With { definitions, needs, body }
    }
}

impl Needs {
    fn of(number: usize, definition: &Definition) -> Needs {
        let plans: Vec<&Plan> = match definition {
            Definition::Query(plan) => vec![plan],
            Definition::Recursive { base, step, .. } => vec![base, step],
            Definition::Change(_) => Vec::new(),
        };
        let found: Vec<visit::Dependence> = plans.into_iter().map(visit::dependence).collect();
        let outer = found.iter().any(|found| found.columns.outer);
        let common = found.into_iter().flat_map(|found| found.common).filter(|other| *other != number).collect();
        Needs { outer, common }
    }
}

/// How wide the row of a table is when it is read: its physical columns, then, without a primary key, the key it was given.
pub(crate) fn row_width(table: &Table) -> usize {
    table.columns.len() + usize::from(table.primary_key.is_none())
}

impl Plan {
    /// How many columns its rows have.
    pub(crate) fn width(&self) -> usize {
        match self {
            Plan::OneRow => 0,
            Plan::Read(read) => row_width(&read.table),
            Plan::Virtual(table) => table.columns.len(),
            Plan::Values(rows) => rows.first().map_or(0, Vec::len),
            Plan::Function(function) => {
                let columns: usize = function.calls.iter().map(|call| call.routine.columns.len()).sum();
                columns + usize::from(function.ordinality)
            }
            Plan::Project(_, expressions) => expressions.len(),
            Plan::Join(join) => join.left.width() + join.right.width(),
            Plan::Aggregate(aggregation) => aggregation.groups.len() + aggregation.calls.len(),
            Plan::Window(input, calls) => input.width() + calls.len(),
            Plan::Filter(input, _) | Plan::Distinct(input, _) | Plan::Sort(input, _) | Plan::Limit(input, _) => {
                input.width()
            }
            Plan::Cut(_, width) => *width,
            Plan::Lock(locking) => locking.width,
            Plan::SetOperation(operation) => operation.left.width(),
            Plan::Common(reference) => reference.width,
            Plan::With(with) => with.body.width(),
            Plan::Kept(kept) => kept.input.width(),
        }
    }

    /// A read of all of a table.
    pub(crate) fn scan(table: Arc<Table>) -> Plan {
        Plan::Read(Box::new(Read {
            table,
            access: Access::Scan(Order::default()),
            condition: None,
            columns: Columns::All,
            lock: Lock::None,
            takes_keys: false,
            moves: Arc::from([]),
            is_taken_above: false,
            is_locked_alone: false,
            patience: Patience::Wait,
            exact: true,
            asks: Asks::Nothing,
        }))
    }
}
