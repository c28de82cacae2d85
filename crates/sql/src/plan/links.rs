//! What of a row decides with whom it is joined, and where it comes in the order: all else may change without another row being found.
//!
//! ```text
//!   SELECT t.v FROM t JOIN c ON c.t = t.id WHERE t.v > 5 ORDER BY t.w FOR UPDATE OF t
//!   links of t:  id  by the join · w  by the order        t.v > 5 is about the row alone
//! ```
//!
//! PostgreSQL finds rows as they were when the statement began, and locks them as they are. Where no link of a row has changed in between,
//! the statement has found what it would find now, and its first look at the row tells nothing that the second one does not.

use crate::tree::expression::{Expression, Node};
use crate::tree::plan::Plan;
use crate::tree::read::Read;
use crate::tree::visit;
use std::collections::BTreeSet;

/// Columns of one table.
type Columns = BTreeSet<usize>;

/// What is known of the rows of a part of a plan.
struct Linked {
    /// Per column the columns of the table that it is made of.
    made_of: Vec<Columns>,
    /// The links so far.
    links: Columns,
}

/// The links of the rows of a read that is a part of a plan; nothing where the plan reads the table once more.
pub(crate) fn links(plan: &Plan, read: &Plan) -> Option<Columns> {
    let Plan::Read(found) = read else { return None };
    let mut count = 0;
    let mut note = |part: &Plan| {
        count += usize::from(matches!(part, Plan::Read(read) if read.table.space == found.table.space));
    };
    visit::parts(plan, &mut note, &mut |_| {});
    linked(plan, read).filter(|_| count == 1).map(|linked| linked.links)
}

/// The links of the rows of a read that stands alone: what subqueries and rows outside are compared with.
pub(crate) fn links_alone(read: &Read) -> Columns {
    let others = operands(read.condition.as_ref()).into_iter().filter(|one| !is_alone(one));
    others.flat_map(|one| visit::columns(one).own).collect()
}

/// The conditions of a read that are about the row alone.
pub(crate) fn alone(read: &Read) -> impl Iterator<Item = &Expression> {
    operands(read.condition.as_ref()).into_iter().filter(|one| is_alone(one))
}

fn is_alone(condition: &Expression) -> bool {
    let found = visit::columns(condition);
    !found.subquery && !found.outer && !found.volatile
}

fn operands(condition: Option<&Expression>) -> Vec<&Expression> {
    match condition.map(|condition| (condition, &condition.node)) {
        Some((_, Node::And(operands))) => operands.iter().collect(),
        Some((condition, _)) => vec![condition],
        None => Vec::new(),
    }
}

fn linked(plan: &Plan, read: &Plan) -> Option<Linked> {
    match plan {
        Plan::Read(found) if std::ptr::eq(plan, read) => {
            let made_of = (0..plan.width()).map(|column| Columns::from([column])).collect();
            Some(Linked { made_of, links: links_alone(found) })
        }
        Plan::Sort(input, keys) => {
            let mut linked = linked(input, read)?;
            keys.iter().for_each(|key| linked.link(key.index));
            Some(linked)
        }
        Plan::Filter(input, condition) => {
            let mut linked = linked(input, read)?;
            linked.link_all(&visit::columns(condition).own);
            Some(linked)
        }
        Plan::Project(input, expressions) => {
            let linked = linked(input, read)?;
            let made_of = expressions.iter().map(|one| linked.of_all(&visit::columns(one).own)).collect();
            Some(Linked { made_of, ..linked })
        }
        Plan::Join(join) => {
            let (left, right) = (linked(&join.left, read), linked(&join.right, read));
            let hashed = |side: fn(&(Expression, Expression)) -> &Expression| {
                join.hashed.iter().flat_map(|pair| visit::columns(side(pair)).own).collect::<Vec<usize>>()
            };
            let mut both = match (left, right) {
                (Some(mut left), _) => {
                    left.link_all(&hashed(|pair| &pair.0));
                    left.link_all(&if join.lateral { asked_outside(&join.right) } else { Vec::new() });
                    left.made_of.resize(join.left.width() + join.right.width(), Columns::new());
                    left
                }
                (None, right) => {
                    let mut right = right?;
                    right.link_all(&hashed(|pair| &pair.1));
                    let made_of = vec![Columns::new(); join.left.width()];
                    right.made_of = made_of.into_iter().chain(right.made_of).collect();
                    right
                }
            };
            join.condition.iter().for_each(|condition| both.link_all(&visit::columns(condition).own));
            Some(both)
        }
        Plan::Cut(input, _) => linked(input, read),
        _ => None,
    }
}

/// The columns of the row right outside of a plan that it refers to.
fn asked_outside(plan: &Plan) -> Vec<usize> {
    let mut asked = Vec::new();
    visit::plan(&mut plan.clone(), 0, &mut |one, level| {
        if let Node::Column { depth, index } = one.node
            && depth == level + 1
        {
            asked.push(index);
        }
    });
    asked
}

impl Linked {
    fn of_all(&self, columns: &[usize]) -> Columns {
        columns.iter().filter_map(|&column| self.made_of.get(column)).flatten().copied().collect()
    }

    fn link(&mut self, column: usize) {
        self.link_all(&[column]);
    }

    fn link_all(&mut self, columns: &[usize]) {
        self.links.extend(self.of_all(columns));
    }
}
