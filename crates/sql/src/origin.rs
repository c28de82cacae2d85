//! What a value is made of, told from the text of its expression.
//!
//! ```text
//!   7                      Constant
//!   customer               Variable
//!   customer + 1           Computed: the same function of equal variables is equal, in whatever transaction
//!   now(), random()        Unknown: each transaction has another one
//! ```
//!
//! Whoever argues that two transactions mean one row rests on a computed value being the same in both. So only what gives the same for equal
//! arguments, at any time and in any session, counts as computed: that is a short list of functions over types whose equal values cannot be told
//! apart. 1.0 and 1.00 are equal, but their texts are not; what a timestamp is as a text depends on the session.

use crate::catalog::Table;
use crate::touched::{ValueOrigin, live_names};
use crate::tree::expression::{Expression, Node};
use crate::tree::visit;
use skew_value::SqlType;

/// Functions that depend on nothing but their arguments.
const STEADY: [&str; 24] = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "mod",
    "abs",
    "||",
    "=",
    "<>",
    "<",
    ">",
    "<=",
    ">=",
    "lower",
    "upper",
    "length",
    "left",
    "right",
    "substring",
    "substr",
    "trim",
    "replace",
    "concat",
];

/// What an expression is made of; `row` is the table whose row it may look at.
pub(crate) fn origin(expression: &Expression, row: Option<&Table>) -> ValueOrigin {
    match &expression.node {
        Node::Constant(value) => ValueOrigin::Constant(value.clone()),
        Node::Variable(number) => ValueOrigin::Variable(*number),
        Node::Column { depth: 0, index } => {
            let name = row.and_then(|table| live_names(table, [*index].into_iter()).pop());
            name.map_or(ValueOrigin::Unknown, |name| ValueOrigin::Column(0, name))
        }
        Node::Cast(cast) if keeps_values(&cast.operand.sql_type, &expression.sql_type) => origin(&cast.operand, row),
        _ => computed(expression),
    }
}

/// Whether a conversion leaves different values different and equal ones equal.
pub fn keeps_values(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Integer { .. }, SqlType::Integer { .. }) => true,
        (SqlType::Text(_), SqlType::Text(None)) => true,
        _ => from == to,
    }
}

/// A function of variables and nothing else.
fn computed(expression: &Expression) -> ValueOrigin {
    let mut arguments: Vec<usize> = Vec::new();
    let mut shape = expression.clone();
    let mut is_function = true;
    visit::expression(&mut shape, 0, &mut |one, _| {
        is_function &= is_steady(one);
        if let Node::Variable(number) = &mut one.node {
            let known = arguments.iter().position(|argument| argument == number);
            *number = known.unwrap_or_else(|| {
                arguments.push(*number);
                arguments.len() - 1
            });
        }
    });
    match is_function {
        true => ValueOrigin::Computed(format!("{shape:?}"), arguments.into_iter().map(ValueOrigin::Variable).collect()),
        false => ValueOrigin::Unknown,
    }
}

/// Whether a part of an expression gives the same for equal arguments, whenever and for whomever.
fn is_steady(part: &Expression) -> bool {
    let plain = matches!(part.sql_type, SqlType::Boolean | SqlType::Integer { .. } | SqlType::Text(_));
    plain
        && match &part.node {
            Node::Call(call) => STEADY.contains(&call.routine.name) && !call.routine.volatile,
            Node::Constant(_) | Node::Variable(_) | Node::Cast(_) | Node::And(_) | Node::Or(_) | Node::Not(_) => true,
            Node::IsNull(_) | Node::Is(..) | Node::Same(..) | Node::Case { .. } | Node::Coalesce(_) => true,
            Node::NullIf(..) | Node::Extreme { .. } | Node::InList(_) => true,
            _ => false,
        }
}
