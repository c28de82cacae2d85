//! A row that was changed since it was found, asked again: in PostgreSQL with the partner that it had.
//!
//! ```text
//!   EXISTS (…), IN (…)      a join: the row as it is now with the very row that it was found with, and no other one
//!   NOT EXISTS (…)          it had no partner, and nobody looks for one now
//!   the rest, and these below OR     asked as if for the first time
//! ```
//!
//! PostgreSQL makes joins of such subqueries where all conditions have to hold: of EXISTS where it looks at the row outside, of IN where it
//! does not. Only some stores can tell that a row has changed meanwhile: those say that they keep partners.

use super::lock::{StandIns, address};
use super::subquery::looked_up;
use super::{Execution, Flow, Frame};
use crate::plan::leaves;
use crate::stop::Stop;
use crate::tree::expression::{Expression, Node, Subquery, SubqueryKind};
use crate::tree::plan::Plan;
use skew_value::Datum;

impl Execution<'_> {
    /// Whether a row of a statement that qualified does so as it is now.
    pub(crate) fn still_holds(
        &mut self,
        condition: Option<&Expression>,
        old: &[Datum],
        new: &[Datum],
    ) -> Result<bool, Stop> {
        let (old, new) = (Frame { row: old, outer: None }, Frame { row: new, outer: None });
        if self.storage.keeps_partners() {
            self.holds_again(condition, &old, &new)
        } else {
            self.holds(condition, &new)
        }
    }

    /// Whether a row that qualified in one version does in another one.
    pub(crate) fn holds_again(
        &mut self,
        condition: Option<&Expression>,
        old: &Frame<'_>,
        new: &Frame<'_>,
    ) -> Result<bool, Stop> {
        let Some(condition) = condition else { return Ok(true) };
        match &condition.node {
            Node::And(operands) => {
                for operand in operands {
                    if !self.holds_again(Some(operand), old, new)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Not(operand) if partners(operand).is_some() => Ok(true),
            Node::Subquery(subquery) => match (partners(condition), compared(subquery)) {
                (Some(input), _) => self.partner_stays(subquery, input, old, new),
                (None, Some((operands, is_inside))) => {
                    let inside = |frame| if is_inside { Frame { row: &[], outer: Some(frame) } } else { *frame };
                    let old = self.evaluate_row(operands, &inside(old))?;
                    Ok(self.group_key(&old) == {
                        let new = self.evaluate_row(operands, &inside(new))?;
                        self.group_key(&new)
                    })
                }
                (None, None) => self.holds(Some(condition), new),
            },
            _ => self.holds(Some(condition), new),
        }
    }

    /// Whether the first row that EXISTS found for a row is one for it as it is now.
    fn partner_stays(
        &mut self,
        subquery: &Subquery,
        input: &Plan,
        old: &Frame<'_>,
        new: &Frame<'_>,
    ) -> Result<bool, Stop> {
        let around = self.storage.enter(subquery.number + 1);
        let mut partner = None;
        let found = self.each(input, Some(old), &mut |_, row| {
            partner = Some(row.to_vec());
            Ok(Flow::Enough)
        });
        let answer = match (found, partner) {
            (Err(stop), _) => Err(stop),
            (Ok(_), None) => Ok(None),
            (Ok(_), Some(partner)) => {
                let part =
                    |places: &[usize]| -> Vec<Datum> { places.iter().map(|&place| partner[place].clone()).collect() };
                let of_leaf = |places: &[usize]| Some(part(places)).filter(|row| !row.iter().all(Datum::is_null));
                let leaves = leaves(input);
                let stand_ins: StandIns =
                    leaves.iter().map(|leaf| (address(leaf.plan), of_leaf(&leaf.places), None)).collect();
                self.asked_again(input, stand_ins, Some(new))
            }
        };
        self.storage.enter(around);
        Ok(answer?.is_some())
    }
}

/// Where EXISTS finds its partners, if PostgreSQL makes a join of it.
fn partners(condition: &Expression) -> Option<&Plan> {
    let Node::Subquery(subquery) = &condition.node else { return None };
    let is_asked = matches!(subquery.kind, SubqueryKind::Exists) && subquery.query.correlated;
    let mut plan = &subquery.query.plan;
    while let Plan::Project(input, _) | Plan::Sort(input, _) | Plan::Cut(input, _) | Plan::Distinct(input, _) = plan {
        plan = input;
    }
    Some(plan).filter(|plan| is_asked && is_plain(plan))
}

/// Whether a plan only reads and joins.
fn is_plain(plan: &Plan) -> bool {
    match plan {
        Plan::Read(_) | Plan::Kept(_) => true,
        Plan::Filter(input, _) => is_plain(input),
        Plan::Join(join) => is_plain(&join.left) && is_plain(&join.right),
        _ => false,
    }
}

/// What IN, or `= ANY`, compares with the rows of a subquery, if PostgreSQL makes a join of it; and whether it stands one row further in.
fn compared(subquery: &Subquery) -> Option<(&[Expression], bool)> {
    let found = match &subquery.kind {
        SubqueryKind::In(operands) => Some((operands.as_slice(), false)),
        SubqueryKind::Quantified { comparison, all: false } => {
            looked_up(comparison, false).map(|operand| (std::slice::from_ref(operand), true))
        }
        _ => None,
    };
    found.filter(|_| !subquery.query.correlated)
}
