//! What the text of a statement makes certain: equalities of columns, variables that cannot be NULL, the least and the greatest.
//!
//! ```text
//!   SELECT MIN(id) FROM new_order WHERE warehouse = w AND district = d AND carrier IS NULL
//!
//!   equal: warehouse = Variable(w), district = Variable(d)      more: yes, the carrier      extremum: the least id
//!
//!   IF seats > 0 AND known IS NOT NULL THEN                     where it is true, neither seats nor known is NULL
//! ```
//!
//! Whatever is not understood is left out: who rests an argument on these facts may rest it on fewer.

use crate::origin::origin;
use crate::touched::{Extremum, KnownOfRows, TestedVariables, ValueOrigin};
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{AggregateCall, AggregateKind, Plan};
use crate::tree::read::Read;
use crate::tree::visit;
use skew_value::Datum;

/// What every row that a read finds fulfils.
pub(crate) fn of_read(read: &Read) -> KnownOfRows {
    let conditions = read.condition.clone().map(Expression::conjuncts).unwrap_or_default();
    let mut known = KnownOfRows { more: read.access.is_limited(), ..KnownOfRows::default() };
    for condition in &conditions {
        match equality(read, condition) {
            Some(equal) => known.equal.push(equal),
            None => known.more = true,
        }
    }
    known
}

fn equality(read: &Read, condition: &Expression) -> Option<(String, ValueOrigin)> {
    let Node::Call(call) = &condition.node else { return None };
    let [first, second] = call.arguments.as_slice() else { return None };
    if call.routine.name != "=" {
        return None;
    }
    let (column, value) = match (own_column(first), own_column(second)) {
        (Some(column), None) => (column, second),
        (None, Some(column)) => (column, first),
        _ => return None,
    };
    let name = read.table.columns.get(column).filter(|column| !column.dropped)?.name.clone();
    match origin(value, None) {
        ValueOrigin::Unknown => None,
        value => Some((name, value)),
    }
}

fn own_column(expression: &Expression) -> Option<usize> {
    match &expression.node {
        Node::Column { depth: 0, index } => Some(*index),
        _ => None,
    }
}

/// A query that asks for the least or the greatest value of a column and for nothing else.
pub(crate) fn extremum(plan: &Plan) -> Option<Extremum> {
    let (read, call) = only_aggregate(plan)?;
    let AggregateKind::Function(function) = &call.kind else { return None };
    let greatest = match function.name {
        "max" => true,
        "min" => false,
        _ => return None,
    };
    let [Expression { node: Node::Column { depth: 0, index }, .. }] = call.arguments.as_slice() else { return None };
    let column = read.table.columns.get(*index).filter(|column| !column.dropped)?.name.clone();
    Some(Extremum { greatest, column })
}

/// Whether a query asks how many rows there are, and for nothing else.
pub(crate) fn counts_rows(plan: &Plan) -> bool {
    only_aggregate(plan).is_some_and(|(_, call)| {
        matches!(&call.kind, AggregateKind::Function(function) if function.name == "count") && call.arguments.is_empty()
    })
}

/// The aggregate over rows of a table that is all that a query asks for.
fn only_aggregate(plan: &Plan) -> Option<(&Read, &AggregateCall)> {
    let Plan::Project(input, expressions) = plan else { return None };
    let (Plan::Aggregate(aggregation), [Expression { node: Node::Column { depth: 0, index: 0 }, .. }]) =
        (&**input, expressions.as_slice())
    else {
        return None;
    };
    match (&aggregation.input, aggregation.calls.as_slice(), aggregation.groups.is_empty()) {
        (Plan::Read(read), [call], true) if call.filter.is_none() && !read.access.is_limited() => Some((read, call)),
        _ => None,
    }
}

/// Whether a query has exactly one row, whatever the tables hold.
pub(crate) fn has_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::OneRow => true,
        Plan::Project(input, _) => has_one_row(input),
        Plan::Aggregate(aggregation) => aggregation.groups.is_empty() && aggregation.sets.len() <= 1,
        _ => false,
    }
}

/// What the truth of a condition without FROM says about variables.
pub(crate) fn tested(plan: &Plan) -> TestedVariables {
    let mut tested = TestedVariables::default();
    let Plan::Project(input, expressions) = plan else { return tested };
    let (Plan::OneRow, [condition]) = (&**input, expressions.as_slice()) else { return tested };
    let conditions = asked(condition.clone()).conjuncts();
    for condition in &conditions {
        test(condition, &mut tested);
    }
    tested.exact = conditions.len() == 1 && (is_null_test(&conditions[0]) || zero_test(&conditions[0]).is_some());
    tested
}

/// What stands inside `(…) IS TRUE`.
fn asked(condition: Expression) -> Expression {
    match condition.node {
        Node::Is(inner, true) => asked(*inner),
        node => Expression { node, ..condition },
    }
}

fn is_null_test(condition: &Expression) -> bool {
    match &condition.node {
        Node::IsNull(operand) => matches!(operand.node, Node::Variable(_)),
        Node::Not(inner) => matches!(inner.node, Node::IsNull(_)) && is_null_test(inner),
        _ => false,
    }
}

/// A comparison of a variable with zero: the variable, and whether the comparison wants it to be zero. Negative values are not thought of.
fn zero_test(condition: &Expression) -> Option<(usize, bool)> {
    let Node::Call(call) = &condition.node else { return None };
    let [first, second] = call.arguments.as_slice() else { return None };
    let is_zero = |one: &Expression| matches!(one.node, Node::Constant(Datum::Integer(0)));
    match (call.routine.name, variable(first), variable(second)) {
        ("=", Some(number), None) if is_zero(second) => Some((number, true)),
        ("=", None, Some(number)) if is_zero(first) => Some((number, true)),
        ("<>" | ">", Some(number), None) if is_zero(second) => Some((number, false)),
        _ => None,
    }
}

fn test(condition: &Expression, tested: &mut TestedVariables) {
    match zero_test(condition) {
        Some((number, true)) => tested.zero.push(number),
        Some((number, false)) => tested.not_zero.push(number),
        None => {}
    }
    match &condition.node {
        Node::IsNull(operand) => tested.null.extend(variable(operand)),
        Node::Not(inner) => match &inner.node {
            Node::IsNull(operand) => tested.not_null.extend(variable(operand)),
            _ => tested.not_null.extend(strict_variables(inner)),
        },
        _ => tested.not_null.extend(strict_variables(condition)),
    }
}

fn variable(expression: &Expression) -> Option<usize> {
    match &expression.node {
        Node::Variable(number) => Some(*number),
        _ => None,
    }
}

/// The variables that a comparison needs: it is NULL where one of them is.
fn strict_variables(expression: &Expression) -> Vec<usize> {
    match &expression.node {
        Node::Call(call) if ["=", "<", ">", "<=", ">=", "<>"].contains(&call.routine.name) => {
            call.arguments.iter().flat_map(operand_variables).collect()
        }
        _ => Vec::new(),
    }
}

fn operand_variables(operand: &Expression) -> Vec<usize> {
    match &operand.node {
        Node::Variable(number) => vec![*number],
        Node::Cast(cast) => operand_variables(&cast.operand),
        Node::Call(call) if ["+", "-", "*"].contains(&call.routine.name) => {
            call.arguments.iter().flat_map(operand_variables).collect()
        }
        _ => Vec::new(),
    }
}

/// The variable that a value is greater than by a constant: `number + 1`.
pub(crate) fn raised(value: &Expression) -> Option<usize> {
    let Node::Call(call) = &value.node else { return None };
    let [Expression { node: Node::Variable(number), .. }, Expression { node: Node::Constant(more), .. }] =
        call.arguments.as_slice()
    else {
        return None;
    };
    let grows = matches!(more, Datum::Integer(by) if *by > 0);
    (call.routine.name == "+" && grows && visit::columns(value).own.is_empty()).then_some(*number)
}
