//! What a statement keeps because it would ask for it again and again.
//!
//! A subquery that looks at the rows outside is carried out for each of them, and so is the right side of a lateral join. What in it does
//! not depend on those rows is read once, and found by hash where an equality connects the two:
//!
//! ```text
//!   SELECT … FROM shop WHERE EXISTS (SELECT 1 FROM item WHERE item.city = shop.city AND item.price < shop.budget)
//!
//!   filter                                         rows once, looked up by city ── for each row of shop: the few with its city,
//!     scan item, for every row of shop     ──>       scan item                     of which the condition takes the right ones
//! ```
//!
//! What is read stays the same, since a store answers the second read of a range in one statement as the first. So only what reads all or
//! nothing is kept: a scan is one question to the store, and who groups or sorts has read everything before the first row comes. An index
//! range followed by a read of each row found is left alone: whoever has enough after the first row must not read the others.
//!
//! The condition is evaluated on every row that is found, in the order in which it is written, so the equalities only leave out rows that
//! could not fulfil it. An equality behind a part that reads or that may differ between two evaluations is not used: rows that are left
//! out would not be asked about that part any more. Before such a part it is, but NULL does not end an AND as false does: rows for which
//! the equality is NULL go on to it.

use super::join::have_equal_keys;
use crate::storage::Lock;
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Definition, Equality, Identity, Kept, KeptSide, Plan};
use crate::tree::read::{Access, Order, Read};
use crate::tree::visit;
use skew_value::CastKind;

/// The same plan, in which what does not depend on the rows outside is kept; `repeated` says whether it is carried out for each of them.
pub(super) fn keep(plan: Plan, repeated: bool) -> Plan {
    if repeated && is_at_once(&plan) && !matches!(plan, Plan::Common(_) | Plan::Values(_)) {
        let found = visit::dependence(&plan);
        if found.is_independent() {
            return kept(keep(plan, false), found.common, None);
        }
    }
    match plan {
        Plan::Read(read) => keep_read(*read, repeated),
        Plan::Filter(input, condition) => keep_filter(*input, condition, repeated),
        Plan::Join(mut join) => {
            join.left = keep(join.left, repeated);
            join.right = keep(join.right, repeated || join.lateral);
            if repeated && !join.lateral {
                join.kept = kept_side(&join.right, &join.hashed);
            }
            Plan::Join(join)
        }
        Plan::With(mut with) => {
            let definitions = with.definitions.into_iter();
            with.definitions = definitions.map(|(number, one)| (number, keep_definition(one, repeated))).collect();
            with.body = keep(with.body, repeated);
            Plan::With(with)
        }
        Plan::SetOperation(mut operation) => {
            operation.left = keep(operation.left, repeated);
            operation.right = keep(operation.right, repeated);
            Plan::SetOperation(operation)
        }
        Plan::Aggregate(mut aggregation) => {
            aggregation.input = keep(aggregation.input, repeated);
            Plan::Aggregate(aggregation)
        }
        Plan::Project(input, expressions) => Plan::Project(below(*input, repeated), expressions),
        Plan::Window(input, calls) => Plan::Window(below(*input, repeated), calls),
        Plan::Distinct(input, keys) => Plan::Distinct(below(*input, repeated), keys),
        Plan::Sort(input, keys) => Plan::Sort(below(*input, repeated), keys),
        Plan::Limit(input, limit) => Plan::Limit(below(*input, repeated), limit),
        Plan::Cut(input, width) => Plan::Cut(below(*input, repeated), width),
        Plan::Lock(mut locking) => {
            locking.input = keep(locking.input, repeated);
            Plan::Lock(locking)
        }
        other => other,
    }
}

fn below(input: Plan, repeated: bool) -> Box<Plan> {
    Box::new(keep(input, repeated))
}

/// The step of a recursion is carried out again and again, whatever is around it.
fn keep_definition(definition: Definition, repeated: bool) -> Definition {
    match definition {
        Definition::Query(plan) => Definition::Query(keep(plan, repeated)),
        Definition::Recursive { base, step, all } => {
            Definition::Recursive { base: keep(base, repeated), step: keep(step, true), all }
        }
        other => other,
    }
}

/// A scan whose condition looks at the rows outside: all rows are kept, the condition stays here.
fn keep_read(mut read: Read, repeated: bool) -> Plan {
    if !repeated || !is_plain_scan(&read) {
        return Plan::Read(Box::new(read));
    }
    let condition = read.condition.take();
    kept(Plan::Read(Box::new(read)), Vec::new(), condition)
}

fn keep_filter(input: Plan, condition: Expression, repeated: bool) -> Plan {
    if repeated && is_at_once(&input) {
        let found = visit::dependence(&input);
        if found.is_independent() {
            return kept(keep(input, false), found.common, Some(condition));
        }
    }
    Plan::Filter(below(input, repeated), condition)
}

fn kept(input: Plan, common: Vec<usize>, condition: Option<Expression>) -> Plan {
    let equalities = condition.as_ref().map(equalities).unwrap_or_default();
    let asks_about_null = !condition.as_ref().is_none_or(|condition| is_quiet(condition) && is_still(condition));
    let identity = Identity::default();
    Plan::Kept(Box::new(Kept { identity, input, common, equalities, asks_about_null, condition }))
}

fn kept_side(right: &Plan, hashed: &[(Expression, Expression)]) -> Option<KeptSide> {
    let found = visit::dependence(right);
    let keys_stay = hashed.iter().all(|(_, right)| !visit::columns(right).outer);
    (found.is_independent() && keys_stay).then(|| KeptSide { identity: Identity::default(), common: found.common })
}

fn is_plain_scan(read: &Read) -> bool {
    read.lock == Lock::None && matches!(read.access, Access::Scan(Order { descending: false, limit: None }))
}

/// Whether all that a plan reads is read before its first row comes.
fn is_at_once(plan: &Plan) -> bool {
    match plan {
        Plan::Read(read) => is_plain_scan(read) && read.condition.as_ref().is_none_or(is_quiet),
        Plan::Common(_) | Plan::Values(_) | Plan::Virtual(_) => true,
        Plan::Aggregate(_) | Plan::Sort(..) | Plan::Window(..) => true,
        Plan::Project(input, expressions) => is_at_once(input) && expressions.iter().all(is_quiet),
        Plan::Cut(input, _) => is_at_once(input),
        _ => false,
    }
}

/// Whether an expression has the same value however often it is evaluated.
fn is_still(expression: &Expression) -> bool {
    !visit::columns(expression).volatile
}

/// Whether an expression reads nothing.
fn is_quiet(expression: &Expression) -> bool {
    !visit::columns(expression).subquery
}

/// The equalities of a condition between its row and the rows outside.
fn equalities(condition: &Expression) -> Vec<Equality> {
    let conjuncts = condition.clone().conjuncts().into_iter();
    conjuncts.take_while(|one| is_quiet(one) && is_still(one)).filter_map(|one| equality(&one)).collect()
}

fn equality(condition: &Expression) -> Option<Equality> {
    let Node::Call(call) = &condition.node else { return None };
    let [first, second] = call.arguments.as_slice() else { return None };
    if call.routine.name != "=" || !have_equal_keys(&first.sql_type, &second.sql_type) {
        return None;
    }
    let is_outer = |one: &Expression| {
        let found = visit::columns(one);
        found.outer && found.own.is_empty()
    };
    match (is_column(first) && is_outer(second), is_column(second) && is_outer(first)) {
        (true, _) => Some(Equality { inner: first.clone(), outer: second.clone() }),
        (_, true) => Some(Equality { inner: second.clone(), outer: first.clone() }),
        _ => None,
    }
}

/// A column of the row itself, as it is or as the comparison wants it: that never fails, so it can be computed for rows which another part of
/// the condition would have ruled out.
fn is_column(expression: &Expression) -> bool {
    match &expression.node {
        Node::Column { depth, .. } => *depth == 0,
        Node::Cast(cast) => cast.kind == CastKind::Implicit && is_column(&cast.operand),
        _ => false,
    }
}
