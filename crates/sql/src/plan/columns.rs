//! Which columns of a table a query needs: for stores that keep every column under its own key.
//!
//! ```text
//!   SELECT price FROM item WHERE id = 7        price and id, not name
//! ```
//!
//! From the top down: what an operator's consumer needs, and what its own expressions need, is what its input must give.

use crate::storage::{Columns, Lock};
use crate::tree::expression::Expression;
use crate::tree::plan::Plan;
use crate::tree::read::Read;
use crate::tree::visit;
use std::collections::BTreeSet;

/// Notes in every read of a plan which columns are needed. All columns of the plan's own row are.
pub(super) fn narrow(plan: &mut Plan) {
    let width = plan.width();
    need(plan, (0..width).collect());
}

/// The same where only some columns of the plan's own row are needed.
pub(crate) fn narrow_to(plan: &mut Plan, needed: BTreeSet<usize>) {
    need(plan, needed);
}

fn used<'expressions>(expressions: impl IntoIterator<Item = &'expressions Expression>) -> BTreeSet<usize> {
    expressions.into_iter().flat_map(|expression| visit::columns(expression).own).collect()
}

fn need(plan: &mut Plan, mut needed: BTreeSet<usize>) {
    match plan {
        Plan::Read(read) => need_read(read, needed),
        Plan::Filter(input, condition) => {
            needed.extend(used([&*condition]));
            need(input, needed);
        }
        Plan::Project(input, expressions) => {
            need(input, used(expressions.iter()));
        }
        Plan::Join(join) => {
            let width = join.left.width();
            needed.extend(used(&join.condition));
            let (mut left, right): (BTreeSet<usize>, BTreeSet<usize>) =
                needed.into_iter().partition(|&index| index < width);
            let mut right: BTreeSet<usize> = right.into_iter().map(|index| index - width).collect();
            left.extend(used(join.hashed.iter().map(|(left, _)| left)));
            right.extend(used(join.hashed.iter().map(|(_, right)| right)));
            if join.lateral {
                // The right side looks at the left row in ways that are not followed here.
                left.extend(0..width);
            }
            need(&mut join.left, left);
            need(&mut join.right, right);
        }
        Plan::Aggregate(aggregation) => {
            let mut below = used(&aggregation.groups);
            for call in &aggregation.calls {
                below.extend(used(
                    call.arguments.iter().chain(&call.filter).chain(call.order.iter().map(|(one, _)| one)),
                ));
            }
            need(&mut aggregation.input, below);
        }
        Plan::Distinct(input, keys) => {
            needed.extend(keys.iter().copied());
            need(input, needed);
        }
        Plan::Sort(input, keys) => {
            needed.extend(keys.iter().map(|key| key.index));
            need(input, needed);
        }
        Plan::Limit(input, _) | Plan::Cut(input, _) => need(input, needed),
        // Of the row of FROM only what is locked is looked at, and that is read whole.
        Plan::Lock(locking) => need_locked(&mut locking.input, locking.width),
        Plan::Window(input, _) => narrow(input),
        Plan::SetOperation(operation) => {
            narrow(&mut operation.left);
            narrow(&mut operation.right);
        }
        // What is computed once for several readers gives all its columns.
        Plan::With(with) => need(&mut with.body, needed),
        // Rows are kept only when this is known.
        Plan::Kept(_) => {}
        Plan::OneRow | Plan::Virtual(_) | Plan::Values(_) | Plan::Function(_) | Plan::Common(_) => {}
    }
}

/// The columns that the input of a lock gives to the query.
fn need_locked(plan: &mut Plan, width: usize) {
    match plan {
        Plan::Sort(input, _) => need_locked(input, width),
        Plan::Project(input, expressions) => need(input, used(expressions.iter().take(width))),
        other => narrow(other),
    }
}

/// A row that is locked is read whole: its columns are looked at again, and are likely to be written.
fn need_read(read: &mut Read, mut needed: BTreeSet<usize>) {
    if read.lock != Lock::None {
        return;
    }
    needed.extend(used(&read.condition));
    // Behind the columns stands the key of a table without a primary key, which is no column.
    needed.retain(|&index| index < read.table.columns.len());
    read.columns = Columns::Some(needed.into_iter().collect());
}
