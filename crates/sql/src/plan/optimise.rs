//! Moving conditions down to where rows are read.
//!
//! ```text
//!   Filter(id = 7)                          Project(id, 2 * price)
//!     Project(id, 2 * price)        ──>       Read item, point 7
//!       Read item, scan
//! ```
//!
//! A condition goes through an operator when it would have kept the same rows below it: through projections by putting in what a
//! column is, through grouping when it is about grouping keys, through inner joins to the side it is about, through an outer join to
//! the side whose rows are kept. It never goes through LIMIT or window functions, and a condition that may differ between two
//! evaluations stays where it was written.

use super::{access, join, keep, lock};
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Definition, Plan, SetOperation, With};
use crate::tree::visit;

/// A plan with the same rows that looks at fewer keys. Subqueries in expressions are optimised when they are bound.
pub(crate) fn optimise(plan: Plan) -> Plan {
    finished(plan, false)
}

/// The same for a plan that is carried out again and again, for each of the rows outside.
pub(crate) fn optimise_repeated(plan: Plan) -> Plan {
    finished(plan, true)
}

fn finished(plan: Plan, repeated: bool) -> Plan {
    let mut plan = push(plan, Vec::new());
    super::columns::narrow(&mut plan);
    keep::keep(plan, repeated)
}

/// The rows of a plan that fulfil some conditions, each over the plan's row.
pub(super) fn push(plan: Plan, conditions: Vec<Expression>) -> Plan {
    match plan {
        Plan::Filter(input, condition) => {
            let all = condition.conjuncts().into_iter().chain(conditions).collect();
            push_filter(*input, all)
        }
        Plan::Project(input, expressions) => push_project(*input, expressions, conditions),
        Plan::Join(join) => join::push_join(*join, conditions),
        Plan::Aggregate(mut aggregation) => {
            let single = aggregation.sets.len() == 1 && !aggregation.groups.is_empty();
            let keys = aggregation.groups.len();
            let (below, above) =
                split(conditions, |found| single && is_plain(found) && found.own.iter().all(|&index| index < keys));
            let below = below.into_iter().map(|condition| substitute(condition, &aggregation.groups)).collect();
            aggregation.input = push(aggregation.input, below);
            filter(Plan::Aggregate(aggregation), above)
        }
        Plan::Distinct(input, keys) => {
            let (below, above) =
                split(conditions, |found| !found.volatile && found.own.iter().all(|index| keys.contains(index)));
            filter(Plan::Distinct(Box::new(push(*input, below)), keys), above)
        }
        Plan::Sort(input, keys) => Plan::Sort(Box::new(push(*input, conditions)), keys),
        Plan::Cut(input, width) => Plan::Cut(Box::new(push(*input, conditions)), width),
        Plan::Lock(locking) => lock::placed(*locking, conditions, None),
        Plan::Limit(input, limit) => {
            let mut input = match *input {
                Plan::Lock(locking) => lock::placed(*locking, Vec::new(), Some(&limit)),
                other => push(other, Vec::new()),
            };
            match (&limit.count, &limit.offset, &limit.ties) {
                (Some(count), None, None) => access::push_limit(&mut input, count),
                // Who locks as it reads goes no further than it must.
                (Some(count), Some(offset), None) if lock::locks_as_it_reads(&input) => {
                    lock::sum(count, offset).into_iter().for_each(|count| access::push_limit(&mut input, &count));
                }
                _ => {}
            }
            filter(Plan::Limit(Box::new(input), limit), conditions)
        }
        Plan::Window(input, calls) => filter(Plan::Window(Box::new(push(*input, Vec::new())), calls), conditions),
        Plan::SetOperation(operation) => push_set(*operation, conditions),
        Plan::With(with) => push_with(*with, conditions),
        Plan::Read(read) => Plan::Read(Box::new(access::choose(*read, conditions))),
        other => filter(other, conditions),
    }
}

/// The rows of a plan that fulfil the conditions, tested here.
pub(super) fn filter(plan: Plan, conditions: Vec<Expression>) -> Plan {
    match Expression::all(conditions) {
        Some(condition) => Plan::Filter(Box::new(plan), condition),
        None => plan,
    }
}

fn is_plain(found: &visit::ColumnUse) -> bool {
    !found.volatile && !found.subquery
}

/// Conditions that may go down, and those that stay.
fn split(
    conditions: Vec<Expression>,
    may_go: impl Fn(&visit::ColumnUse) -> bool,
) -> (Vec<Expression>, Vec<Expression>) {
    conditions.into_iter().partition(|condition| may_go(&visit::columns(condition)))
}

fn push_filter(input: Plan, conditions: Vec<Expression>) -> Plan {
    let (below, above) = split(conditions, |found| !found.volatile);
    filter(push(input, below), above)
}

fn push_project(input: Plan, expressions: Vec<Expression>, conditions: Vec<Expression>) -> Plan {
    let movable: Vec<bool> = expressions.iter().map(|expression| is_plain(&visit::columns(expression))).collect();
    let (below, above) = split(conditions, |found| {
        is_plain(found) && found.own.iter().all(|&index| movable.get(index).copied().unwrap_or(false))
    });
    let below = below.into_iter().map(|condition| substitute(condition, &expressions)).collect();
    filter(Plan::Project(Box::new(push(input, below)), expressions), above)
}

/// A condition over a projection as one over its input. There are no subqueries in it, so all its columns are of its own row or outer.
pub(super) fn substitute(mut condition: Expression, expressions: &[Expression]) -> Expression {
    fn replace(expression: &mut Expression, expressions: &[Expression]) {
        if let Node::Column { depth: 0, index } = expression.node {
            let sql_type = expression.sql_type.clone();
            *expression = Expression { sql_type, ..expressions[index].clone() };
        }
    }
    // The walk goes from the outside in, so what was put in must not be replaced again: columns are marked first.
    let mut places = Vec::new();
    visit::expression(&mut condition, 0, &mut |one, _| {
        if let Node::Column { depth: 0, index } = one.node {
            places.push(index);
            one.node = Node::Aggregate(index);
        }
    });
    visit::expression(&mut condition, 0, &mut |one, _| {
        if let Node::Aggregate(index) = one.node {
            one.node = Node::Column { depth: 0, index };
            replace(one, expressions);
        }
    });
    condition
}

fn push_set(operation: SetOperation, conditions: Vec<Expression>) -> Plan {
    let (below, above) = split(conditions, is_plain);
    let SetOperation { operator, all, left, right } = operation;
    let left = push(left, below.clone());
    let right = push(right, below);
    filter(Plan::SetOperation(Box::new(SetOperation { operator, all, left, right })), above)
}

/// A common table expression that is used once is put in its place, so that conditions reach it.
fn push_with(mut with: With, conditions: Vec<Expression>) -> Plan {
    let mut kept = Vec::new();
    while let Some((number, definition)) = with.definitions.pop() {
        if !matches!(definition, Definition::Change(_)) && uses(number, &with, &kept) == 0 {
            // Nobody asks for it: it is not evaluated, as in PostgreSQL.
            continue;
        }
        let definition = match definition {
            Definition::Query(plan) if is_inlined(number, &plan, &with, &kept) => {
                let mut plan = Some(plan);
                put_in(&mut with.body, number, &mut plan);
                for (_, other) in &mut kept {
                    if let Definition::Query(other) = other {
                        put_in(other, number, &mut plan);
                    }
                }
                match plan {
                    None => continue,
                    Some(plan) => Definition::Query(plan),
                }
            }
            other => other,
        };
        kept.push((number, definition));
    }
    kept.reverse();
    let definitions: Vec<(usize, Definition)> =
        kept.into_iter().map(|(number, definition)| (number, push_definition(definition))).collect();
    let body = push(with.body, conditions);
    match definitions.is_empty() {
        true => body,
        false => Plan::With(Box::new(With::new(definitions, body))),
    }
}

fn push_definition(definition: Definition) -> Definition {
    match definition {
        Definition::Query(plan) => Definition::Query(push(plan, Vec::new())),
        Definition::Recursive { base, step, all } => {
            Definition::Recursive { base: push(base, Vec::new()), step: push(step, Vec::new()), all }
        }
        other => other,
    }
}

/// Used once in all, and the same wherever it is evaluated.
fn is_inlined(number: usize, plan: &Plan, with: &With, others: &[(usize, Definition)]) -> bool {
    let found = visit::plan_columns(plan);
    !found.volatile && !found.outer && uses(number, with, others) == 1
}

/// How often a common table expression is referred to, subqueries included.
fn uses(number: usize, with: &With, others: &[(usize, Definition)]) -> usize {
    let needle = format!("CommonReference {{ number: {number},");
    let text = format!("{:?}{:?}", with.body, others);
    text.matches(&needle).count()
}

/// Puts a plan where it is referred to, if that place is in FROM somewhere.
fn put_in(plan: &mut Plan, number: usize, definition: &mut Option<Plan>) {
    match plan {
        Plan::Common(reference) if reference.number == number => {
            if let Some(definition) = definition.take() {
                *plan = definition;
            }
        }
        Plan::Filter(input, _)
        | Plan::Project(input, _)
        | Plan::Window(input, _)
        | Plan::Distinct(input, _)
        | Plan::Sort(input, _)
        | Plan::Limit(input, _)
        | Plan::Cut(input, _) => put_in(input, number, definition),
        Plan::Join(join) => {
            put_in(&mut join.left, number, definition);
            put_in(&mut join.right, number, definition);
        }
        Plan::Aggregate(aggregation) => put_in(&mut aggregation.input, number, definition),
        Plan::Lock(locking) => put_in(&mut locking.input, number, definition),
        Plan::SetOperation(operation) => {
            put_in(&mut operation.left, number, definition);
            put_in(&mut operation.right, number, definition);
        }
        Plan::With(with) => put_in(&mut with.body, number, definition),
        _ => {}
    }
}
