//! EXPLAIN: which keys a query would look at, as text.
//!
//! ```text
//!   EXPLAIN SELECT * FROM item, shop WHERE item.id = 7 AND shop.id = item.shop
//!   nested loop
//!     point read item/7
//!     point read shop/…
//! ```

use crate::storage::{Lock, Patience};
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Join, JoinKind, Plan, SetOperator};
use crate::tree::read::{Access, Bounds, Read, Values};
use skew_value::{Datum, SqlType, output};

/// The lines that tell a plan.
pub(crate) fn explain(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    tell(plan, 0, &mut lines);
    lines
}

fn tell(plan: &Plan, depth: usize, lines: &mut Vec<String>) {
    let mut line = |text: String| lines.push(format!("{}{text}", "  ".repeat(depth)));
    match plan {
        Plan::OneRow => line("one row".to_owned()),
        Plan::Read(read) => line(tell_read(read)),
        Plan::Virtual(table) => line(format!("catalog {}", table.name)),
        Plan::Values(rows) => line(format!("values, {} rows", rows.len())),
        Plan::Function(function) => {
            let names: Vec<&str> = function.calls.iter().map(|call| call.routine.name).collect();
            line(format!("function {}", names.join(", ")))
        }
        Plan::Common(reference) => line(format!("common table {}", reference.number)),
        Plan::Filter(input, _) => under("filter", &[input], depth, lines),
        Plan::Project(input, _) | Plan::Cut(input, _) => tell(input, depth, lines),
        Plan::Join(join) => under(&tell_join(join), &[&join.left, &join.right], depth, lines),
        Plan::Aggregate(aggregation) => under("aggregate", &[&aggregation.input], depth, lines),
        Plan::Window(input, _) => under("window", &[input], depth, lines),
        Plan::Distinct(input, _) => under("distinct", &[input], depth, lines),
        Plan::Sort(input, _) => under("sort", &[input], depth, lines),
        Plan::Limit(input, _) => under("limit", &[input], depth, lines),
        Plan::Lock(locking) => under("lock rows", &[&locking.input], depth, lines),
        Plan::SetOperation(operation) => {
            let name = match operation.operator {
                SetOperator::Union => "union",
                SetOperator::Except => "except",
                SetOperator::Intersect => "intersect",
            };
            under(name, &[&operation.left, &operation.right], depth, lines);
        }
        Plan::Kept(kept) => {
            let how = if kept.equalities.is_empty() { "rows once" } else { "rows once, looked up" };
            under(how, &[&kept.input], depth, lines);
        }
        Plan::With(with) => {
            line("with".to_owned());
            for (number, definition) in &with.definitions {
                lines.push(format!("{}common table {number}:", "  ".repeat(depth + 1)));
                match definition {
                    crate::tree::plan::Definition::Query(plan) => tell(plan, depth + 2, lines),
                    crate::tree::plan::Definition::Recursive { base, step, .. } => {
                        tell(base, depth + 2, lines);
                        tell(step, depth + 2, lines);
                    }
                    crate::tree::plan::Definition::Change(change) => {
                        lines.push(format!("{}{}", "  ".repeat(depth + 2), change.command().to_lowercase()));
                    }
                }
            }
            tell(&with.body, depth + 1, lines);
        }
    }
}

fn under(name: &str, inputs: &[&Plan], depth: usize, lines: &mut Vec<String>) {
    lines.push(format!("{}{name}", "  ".repeat(depth)));
    inputs.iter().for_each(|input| tell(input, depth + 1, lines));
}

fn tell_join(join: &Join) -> String {
    let how = match (join.lateral, join.hashed.is_empty()) {
        (true, _) => "nested loop",
        (false, true) => "nested loop, right side once",
        (false, false) => "hash join",
    };
    let kind = match join.kind {
        JoinKind::Inner => "",
        JoinKind::Left => " left",
        JoinKind::Right => " right",
        JoinKind::Full => " full",
    };
    format!("{how}{kind}")
}

/// One line for a read: `point read item/7`, `range item@price 10..`, `scan item`.
pub(crate) fn tell_read(read: &Read) -> String {
    let table = &read.table.name;
    let index = |place: usize| format!("{table}@{}", read.table.indexes[place].name);
    let path = match &read.access {
        Access::Scan(order) => format!("scan {table}{}", tell_order(order.descending, order.limit.as_ref())),
        Access::Points(alternatives) => format!("point read {}", tell_points(table, alternatives)),
        Access::UniquePoints(place, alternatives) => {
            format!("point read {}", tell_points(&index(*place), alternatives))
        }
        Access::KeyRange(bounds) => format!("range {table}{}", tell_bounds(bounds)),
        Access::IndexRange(place, bounds) => format!("range {}{}", index(*place), tell_bounds(bounds)),
    };
    let filter = if read.exact || read.condition.is_none() { "" } else { ", filtered" };
    let lock = match read.lock {
        Lock::None => "",
        Lock::Share => " for share",
        Lock::Update => " for update",
    };
    let patience = match read.patience {
        Patience::Wait => "",
        Patience::Skip => " skip locked",
        Patience::Refuse => " nowait",
    };
    format!("{path}{filter}{lock}{patience}")
}

fn tell_order(descending: bool, limit: Option<&Expression>) -> String {
    let backwards = if descending { " backwards" } else { "" };
    let limit = limit.map(|limit| format!(" limit {}", tell_value(limit))).unwrap_or_default();
    format!("{backwards}{limit}")
}

fn tell_points(space: &str, alternatives: &[Vec<Values>]) -> String {
    let told: Vec<String> = alternatives
        .iter()
        .map(|columns| {
            let columns: Vec<String> = columns.iter().map(tell_values).collect();
            format!("{space}/{}", columns.join("/"))
        })
        .collect();
    told.join(" ")
}

fn tell_values(values: &Values) -> String {
    match values {
        Values::Each(values) => values.iter().map(tell_value).collect::<Vec<String>>().join(","),
        Values::Elements(array) => format!("each of {}", tell_value(array)),
    }
}

fn tell_bounds(bounds: &Bounds) -> String {
    let prefix: String = bounds.prefix.iter().map(|values| format!("/{}", tell_values(values))).collect();
    let low = bounds.low.as_ref().map(|bound| tell_value(&bound.value));
    let high = bounds.high.as_ref().map(|bound| tell_value(&bound.value));
    let range = match (&low, &high) {
        (None, None) => String::new(),
        _ => format!(" {}..{}", low.unwrap_or_default(), high.unwrap_or_default()),
    };
    format!("{prefix}{range}{}", tell_order(bounds.order.descending, bounds.order.limit.as_ref()))
}

/// A constant as it prints, anything else by what it is.
fn tell_value(expression: &Expression) -> String {
    match &expression.node {
        Node::Constant(Datum::Null) => "NULL".to_owned(),
        Node::Constant(value) => match &expression.sql_type {
            SqlType::Unknown => format!("{value:?}"),
            sql_type => output(value, sql_type, skew_value::Dialect::Postgres),
        },
        Node::Parameter(number) => format!("${}", number + 1),
        Node::Cast(cast) => tell_value(&cast.operand),
        Node::Subquery(_) => "(subquery)".to_owned(),
        _ => "…".to_owned(),
    }
}
