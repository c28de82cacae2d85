//! GROUP BY: expressions over rows become expressions over groups.
//!
//! ```text
//!   SELECT shop + 1, sum(price), name FROM item GROUP BY shop, id
//!   the row of a group:  shop  id  name  sum(price)          name came along: id is the primary key, so it is one per group
//! ```
//!
//! Whatever equals a grouping expression becomes its column; an aggregate becomes its column; a column that is neither is an error,
//! unless the primary key of its table is grouped by, for then a group has one value of it.

use super::Scope;
use super::select::Outputs;
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{AggregateCall, AggregateKind, Aggregation, Plan};
use crate::tree::visit;
use skew_value::{SqlError, SqlState, SqlType};

/// So many grouping sets may CUBE and its kin multiply to.
const SET_LIMIT: usize = 4096;

/// What GROUP BY says.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    keys: Vec<Expression>,
    /// The grouping sets; none yet is one of no keys.
    sets: Vec<Vec<usize>>,
}

/// The parts of ROLLUP, CUBE or GROUPING SETS.
pub(super) struct Sets(pub(super) Vec<Vec<usize>>);

impl Sets {
    /// All prefixes, the longest first.
    pub(super) fn rollup(self) -> Vec<Vec<usize>> {
        (0..=self.0.len()).rev().map(|length| self.0[..length].concat()).collect()
    }

    /// All subsets, the largest first.
    pub(super) fn cube(self) -> Result<Vec<Vec<usize>>, SqlError> {
        if self.0.len() > 12 {
            return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, "CUBE is limited to 12 elements"));
        }
        let count = self.0.len();
        let subset = |mask: usize| {
            (0..count)
                .filter(|part| mask & (1 << (count - 1 - part)) != 0)
                .flat_map(|part| self.0[part].clone())
                .collect()
        };
        Ok((0..1 << count).rev().map(subset).collect())
    }
}

impl Grouping {
    /// The number of a key, which may be there already.
    pub(super) fn key(&mut self, key: Expression) -> Result<usize, SqlError> {
        let mut aggregate = false;
        visit::expression(&mut key.clone(), 0, &mut |one, level| {
            aggregate |= level == 0 && matches!(one.node, Node::Aggregate(_) | Node::Window(_));
        });
        if aggregate {
            return Err(SqlError::new(SqlState::GROUPING_ERROR, "aggregate functions are not allowed in GROUP BY"));
        }
        if let Some(known) = self.keys.iter().position(|known| same(known, &key)) {
            return Ok(known);
        }
        self.keys.push(key);
        Ok(self.keys.len() - 1)
    }

    /// Another element of GROUP BY: every set so far with every set of it.
    pub(super) fn multiply(&mut self, alternatives: &[Vec<usize>]) -> Result<(), SqlError> {
        let before = if self.sets.is_empty() { vec![Vec::new()] } else { std::mem::take(&mut self.sets) };
        if before.len().saturating_mul(alternatives.len()) > SET_LIMIT {
            return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, "too many grouping sets"));
        }
        for set in &before {
            for alternative in alternatives {
                let mut set = set.clone();
                set.extend(alternative.iter().filter(|key| !set.contains(key)).copied().collect::<Vec<usize>>());
                self.sets.push(set);
            }
        }
        Ok(())
    }

    /// MySQL's WITH ROLLUP: all keys, then without the last, and so on.
    pub(super) fn roll_up(&mut self) {
        self.sets = (0..=self.keys.len()).rev().map(|length| (0..length).collect()).collect();
    }

    /// Groups the rows of a plan, and rewrites what is computed afterwards.
    pub(super) fn apply(mut self, plan: Plan, outputs: &mut Outputs, scope: &Scope<'_>) -> Result<Plan, SqlError> {
        let calls = scope.aggregates.take();
        if self.sets.is_empty() {
            self.sets.push((0..self.keys.len()).collect());
        }
        let mut rewriting = Rewriting { declared: self.keys.clone(), grouping: self, scope, error: None };
        for output in outputs.expressions() {
            rewriting.expression(output);
        }
        let mut windows = scope.windows.borrow_mut();
        for (call, _) in windows.iter_mut() {
            call.arguments.iter_mut().chain(&mut call.filter).for_each(|one| rewriting.expression(one));
            call.partition.iter_mut().for_each(|one| rewriting.expression(one));
            call.order.iter_mut().for_each(|(one, _)| rewriting.expression(one));
        }
        if let Some(error) = rewriting.error {
            return Err(error);
        }
        let Grouping { keys, sets } = rewriting.grouping;
        let first = keys.len();
        for output in outputs.expressions() {
            place_aggregates(output, first);
        }
        for (call, _) in windows.iter_mut() {
            call.arguments.iter_mut().chain(&mut call.filter).for_each(|one| place_aggregates(one, first));
            call.partition.iter_mut().for_each(|one| place_aggregates(one, first));
            call.order.iter_mut().for_each(|(one, _)| place_aggregates(one, first));
        }
        let calls: Result<Vec<AggregateCall>, SqlError> =
            calls.into_iter().map(|(call, _)| settle_grouping(call, &keys)).collect();
        Ok(Plan::Aggregate(Box::new(Aggregation { input: plan, groups: keys, sets, calls: calls? })))
    }
}

fn place_aggregates(output: &mut Expression, first: usize) {
    visit::expression(output, 0, &mut |one, level| {
        if let Node::Aggregate(number) = one.node
            && level == 0
        {
            one.node = Node::Column { depth: 0, index: first + number };
        }
    });
}

/// GROUPING(…) names grouping keys by their numbers.
fn settle_grouping(mut call: AggregateCall, keys: &[Expression]) -> Result<AggregateCall, SqlError> {
    if let AggregateKind::Grouping(numbers) = &mut call.kind {
        for argument in call.arguments.drain(..) {
            let number = keys.iter().position(|key| same(key, &argument)).ok_or_else(|| {
                let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                SqlError::new(SqlState::GROUPING_ERROR, message)
            })?;
            numbers.push(number);
        }
    }
    Ok(call)
}

/// Expressions on their way from rows to groups.
struct Rewriting<'scope, 'outer> {
    /// The keys that were written.
    declared: Vec<Expression>,
    /// The same, and those that came along.
    grouping: Grouping,
    scope: &'scope Scope<'outer>,
    error: Option<SqlError>,
}

impl Rewriting<'_, '_> {
    fn expression(&mut self, output: &mut Expression) {
        visit::expression(output, 0, &mut |one, level| self.one(one, level));
    }

    fn one(&mut self, one: &mut Expression, level: usize) {
        if level == 0
            && !matches!(one.node, Node::Constant(_))
            && let Some(key) = self.declared.iter().position(|key| same(key, one))
        {
            one.node = Node::Column { depth: 0, index: key };
            return;
        }
        let Node::Column { depth, index } = one.node else { return };
        if depth != level {
            return;
        }
        match self.column(index, &one.sql_type) {
            Some(place) => one.node = Node::Column { depth, index: place },
            None => self.refuse(index),
        }
    }

    /// The place of a column in the row of a group.
    fn column(&mut self, index: usize, sql_type: &SqlType) -> Option<usize> {
        let is_it = |key: &Expression| matches!(key.node, Node::Column { depth: 0, index: known } if known == index);
        if let Some(place) = self.grouping.keys.iter().position(is_it) {
            return Some(place);
        }
        if !self.depends_on_key(index) {
            return None;
        }
        self.grouping.keys.push(Expression::column(index, sql_type.clone()));
        let place = self.grouping.keys.len() - 1;
        self.grouping.sets.iter_mut().for_each(|set| set.push(place));
        Some(place)
    }

    /// Whether the column's table is grouped by its primary key.
    fn depends_on_key(&self, index: usize) -> bool {
        let relation = self.scope.relations.iter().rev().find(|relation| relation.start <= index);
        let Some((relation, table)) = relation.and_then(|relation| Some((relation, relation.table.as_ref()?))) else {
            return false;
        };
        let Some(key) = &table.primary_key else { return false };
        let grouped = |column: usize| {
            let wanted = relation.start + column;
            self.declared.iter().any(|key| matches!(key.node, Node::Column { depth: 0, index } if index == wanted))
        };
        self.grouping.sets.len() == 1 && key.columns.iter().all(|&column| grouped(column))
    }

    fn refuse(&mut self, index: usize) {
        let names = self.scope.names.iter();
        let named = names
            .rev()
            .find(|name| matches!(name.meaning.node, Node::Column { depth: 0, index: known } if known == index));
        let column = match named {
            Some(name) => match &name.qualifier {
                Some(qualifier) => format!("{qualifier}.{}", name.name),
                None => name.name.clone(),
            },
            None => "?".to_owned(),
        };
        let message =
            format!("column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function");
        self.error.get_or_insert(SqlError::new(SqlState::GROUPING_ERROR, message));
    }
}

/// Whether two expressions are the same, so that one value stands for both.
pub(super) fn same(left: &Expression, right: &Expression) -> bool {
    let all = |left: &[Expression], right: &[Expression]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
    };
    match (&left.node, &right.node) {
        (Node::Constant(left), Node::Constant(right)) => left == right,
        (Node::Column { depth, index }, Node::Column { depth: other_depth, index: other }) => {
            (depth, index) == (other_depth, other)
        }
        (Node::Parameter(left), Node::Parameter(right)) | (Node::Variable(left), Node::Variable(right)) => {
            left == right
        }
        (Node::Aggregate(left), Node::Aggregate(right)) | (Node::Window(left), Node::Window(right)) => left == right,
        (Node::UserVariable(left), Node::UserVariable(right)) => left == right,
        (Node::Call(left), Node::Call(right)) => {
            left.routine.name == right.routine.name
                && left.routine.parameters == right.routine.parameters
                && all(&left.arguments, &right.arguments)
        }
        (Node::Cast(one), Node::Cast(other)) => left.sql_type == right.sql_type && same(&one.operand, &other.operand),
        (Node::And(left), Node::And(right))
        | (Node::Or(left), Node::Or(right))
        | (Node::Coalesce(left), Node::Coalesce(right))
        | (Node::Array(left), Node::Array(right)) => all(left, right),
        (Node::Not(left), Node::Not(right)) | (Node::IsNull(left), Node::IsNull(right)) => same(left, right),
        (Node::Is(left, value), Node::Is(right, other)) => value == other && same(left, right),
        (Node::Same(left, right), Node::Same(other_left, other_right))
        | (Node::NullIf(left, right), Node::NullIf(other_left, other_right))
        | (Node::Subscript(left, right), Node::Subscript(other_left, other_right)) => {
            same(left, other_left) && same(right, other_right)
        }
        (Node::Case { branches, otherwise }, Node::Case { branches: others, otherwise: other }) => {
            branches.len() == others.len()
                && branches.iter().zip(others).all(|(one, other)| same(&one.0, &other.0) && same(&one.1, &other.1))
                && same(otherwise, other)
        }
        (Node::Extreme { operands, greatest }, Node::Extreme { operands: others, greatest: other }) => {
            greatest == other && all(operands, others)
        }
        (Node::InList(one), Node::InList(other)) => same(&one.operand, &other.operand) && all(&one.list, &other.list),
        (Node::Subquery(_), Node::Subquery(_)) => same_subqueries(left, right),
        _ => false,
    }
}

/// Whether two subqueries are the same but for their numbers, and answer the same when asked twice.
fn same_subqueries(left: &Expression, right: &Expression) -> bool {
    let told = |expression: &Expression| {
        let mut copy = expression.clone();
        visit::expression(&mut copy, 0, &mut |one, _| {
            if let Node::Subquery(subquery) = &mut one.node {
                subquery.number = 0;
            }
        });
        format!("{copy:?}")
    };
    !visit::columns(left).volatile && told(left) == told(right)
}
