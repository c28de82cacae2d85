//! Where rows are locked: as they are read, or when they have come through joins and the order.
//!
//! ```text
//!   SELECT … FROM item WHERE id = 7 FOR UPDATE                    Read item, with the lock
//!   SELECT … FROM item JOIN shop … ORDER BY … LIMIT 1 FOR UPDATE  Limit ── Lock ── Sort ── Project ── Join ── Read item, Read shop
//! ```
//!
//! PostgreSQL reads plainly, and locks a row of a table only if it is part of a row that the query gives: what has no partner, or
//! comes behind the last row that is wanted, stays free. Where a query reads one table in the order in which it gives its rows, that is
//! the same as locking what is read, row by row. MySQL's servers lock what they read, and have no such operator.

use super::access;
use super::optimise::{push, substitute};
use crate::storage::Lock;
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Limit, Locking, Plan};
use crate::tree::read::{Access, Read, Values};
use crate::tree::visit;
use skew_value::{Datum, SqlType};

/// Something in FROM whose row is a part of what a lock gets, and the places of its columns there.
pub(crate) struct Leaf<'plan> {
    /// Where the row came from.
    pub(crate) plan: &'plan Plan,
    /// Where its columns stand.
    pub(crate) places: Vec<usize>,
}

/// A lock over rows that fulfil some conditions, below a limit if there is one; the locks of a read where they can be taken there.
pub(super) fn placed(locking: Locking, conditions: Vec<Expression>, limit: Option<&Limit>) -> Plan {
    let Locking { scope, input, width } = locking;
    let mut input = push(input, conditions);
    match read_in_order(&input, width, limit) {
        Some(plain) => plain,
        None if take_above(&mut input) => Plan::Lock(Box::new(Locking { scope, input, width })),
        None => Plan::Cut(Box::new(input), width),
    }
}

/// The plan that locks the rows of one table as it reads them, where it reads them as the lock would get them.
fn read_in_order(input: &Plan, width: usize, limit: Option<&Limit>) -> Option<Plan> {
    let (keys, below) = match input {
        Plan::Sort(below, keys) => (keys.as_slice(), &**below),
        other => (&[][..], other),
    };
    let Plan::Project(from, expressions) = below else { return None };
    let (from, expressions) = over_subqueries(from, expressions)?;
    let Plan::Read(read) = from else { return None };
    let mut read = read.clone();
    read.is_locked_alone = true;
    let from = Box::new(Plan::Read(read.clone()));
    let given = Plan::Project(from, expressions.iter().take(width).cloned().collect());
    let plain = if keys.is_empty() { given } else { Plan::Sort(Box::new(given), keys.to_vec()) };
    let is_sorted = keys.is_empty() || {
        let columns: Option<Vec<_>> =
            keys.iter().map(|key| Some((access::own_column(&expressions[key.index])?, key.clone()))).collect();
        columns.and_then(|columns| access::key_order(&read, &columns)) == Some(false)
    };
    let is_right = has_one_row(&read)
        || match limit {
            None => is_sorted,
            Some(_) if keys.is_empty() && goes_row_by_row(&read.access) => true,
            Some(Limit { count: Some(count), offset: None, ties: None }) => stops_at(&plain, count),
            Some(_) => false,
        };
    is_right.then_some(plain)
}

/// What projects the rows of subqueries, as what projects the rows that these are made of.
fn over_subqueries<'plan>(from: &'plan Plan, expressions: &[Expression]) -> Option<(&'plan Plan, Vec<Expression>)> {
    let (mut from, mut expressions) = (from, expressions.to_vec());
    while let Plan::Project(inner, given) = from {
        let is_plain = |one: &Expression| {
            let found = visit::columns(one);
            !found.volatile && !found.subquery
        };
        if !expressions.iter().chain(given).all(is_plain) {
            return None;
        }
        expressions = expressions.into_iter().map(|one| substitute(one, given)).collect();
        from = inner;
    }
    Some((from, expressions))
}

/// Whether a read finds one row at most, and knows its key before anything else is read.
pub(crate) fn finds_one(read: &Read) -> bool {
    let (Access::Points(alternatives) | Access::UniquePoints(_, alternatives)) = &read.access else { return false };
    let is_known = |values: &Values| match values {
        Values::Each(expressions) => expressions.iter().all(|one| !visit::columns(one).outer),
        Values::Elements(_) => false,
    };
    has_one_row(read) && alternatives.iter().flatten().all(is_known)
}

/// Whether a read finds one row at most.
fn has_one_row(read: &Read) -> bool {
    let (Access::Points(alternatives) | Access::UniquePoints(_, alternatives)) = &read.access else { return false };
    matches!(alternatives.as_slice(), [values] if values.iter().all(access::is_single))
}

/// Whether a row is locked only when those before it were not enough.
fn goes_row_by_row(access: &Access) -> bool {
    matches!(access, Access::Points(_) | Access::UniquePoints(..) | Access::IndexRange(..))
}

/// Whether the read below a limit goes along the keys of its table, and stops there by itself.
fn stops_at(plain: &Plan, count: &Expression) -> bool {
    let mut limited = plain.clone();
    access::push_limit(&mut limited, count);
    let mut below = &limited;
    while let Plan::Sort(input, _) | Plan::Project(input, _) = below {
        below = input;
    }
    let Plan::Read(read) = below else { return false };
    matches!(read.access, Access::Scan(_) | Access::KeyRange(_)) && read.access.is_limited()
}

/// Whether a query of one table locks what it reads there.
pub(super) fn locks_as_it_reads(plan: &Plan) -> bool {
    match plan {
        Plan::Sort(input, _) | Plan::Project(input, _) | Plan::Cut(input, _) => locks_as_it_reads(input),
        Plan::Read(read) => read.lock_here() != Lock::None,
        _ => false,
    }
}

/// How many rows are read for a limit behind an offset, where both are written as numbers.
pub(super) fn sum(count: &Expression, offset: &Expression) -> Option<Expression> {
    match (&count.node, &offset.node) {
        (Node::Constant(Datum::Integer(count)), Node::Constant(Datum::Integer(offset))) => {
            Some(Expression::constant(Datum::Integer(count.checked_add(*offset)?), SqlType::BIGINT))
        }
        _ => None,
    }
}

/// The reads below are plain ones: what they find is locked above, unless a subquery locks it by itself. Whether there is any.
fn take_above(plan: &mut Plan) -> bool {
    match plan {
        Plan::Sort(input, _) | Plan::Filter(input, _) => take_above(input),
        Plan::Project(input, expressions) if carried(expressions, input.width()).is_some() => take_above(input),
        Plan::Join(join) => take_above(&mut join.left) | take_above(&mut join.right),
        Plan::Read(read) => {
            read.is_taken_above = read.lock != Lock::None && !read.is_locked_alone;
            read.is_taken_above
        }
        _ => false,
    }
}

/// What a row that a lock gets is made of.
pub(crate) fn leaves(input: &Plan) -> Vec<Leaf<'_>> {
    let places = (0..input.width()).collect();
    let mut leaves = Vec::new();
    walk(input, places, &mut leaves);
    // PostgreSQL locks in the order in which tables are written.
    leaves.sort_by(|left: &Leaf<'_>, right| left.places.cmp(&right.places));
    leaves
}

fn walk<'plan>(plan: &'plan Plan, mut places: Vec<usize>, leaves: &mut Vec<Leaf<'plan>>) {
    match plan {
        Plan::Sort(input, _) | Plan::Filter(input, _) => walk(input, places, leaves),
        Plan::Join(join) => {
            let right = places.split_off(join.left.width());
            walk(&join.left, places, leaves);
            walk(&join.right, right, leaves);
        }
        Plan::Project(input, expressions) => match carried(expressions, input.width()) {
            Some(columns) => walk(input, columns.into_iter().map(|column| places[column]).collect(), leaves),
            None => leaves.push(Leaf { plan, places }),
        },
        plan => leaves.push(Leaf { plan, places }),
    }
}

/// Where a projection gives on each column of its input, if it gives on all of them.
fn carried(expressions: &[Expression], width: usize) -> Option<Vec<usize>> {
    let place = |column: usize| {
        expressions.iter().rposition(|one| matches!(one.node, Node::Column { depth: 0, index } if index == column))
    };
    (0..width).map(place).collect()
}
