//! Rows that are locked when they have come through joins and the order: PostgreSQL's FOR UPDATE.
//!
//! ```text
//!   a row of the query ──> lock the row of each table in it ──┬── all as they were read ────────────────────> the row
//!                                                             ├── one is gone ──────────────────────────────> no row
//!                                                             └── one was changed ── asked again, over it ──> the row, or none
//! ```
//!
//! A row that was changed since it was read is asked again: with its latest version, and with the very rows of the other tables that it
//! was joined with. Nothing is sorted again, and nobody looks for another partner.

use super::read::whole_row;
use super::{Execution, Flow, Frame, Sink};
use crate::key;
use crate::plan::{Leaf, alone, leaves, links};
use crate::stop::Stop;
use crate::storage::{Columns, RowKey};
use crate::tree::plan::{Locking, Plan};
use crate::tree::read::Read;
use skew_value::Datum;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows that stand in for parts of a plan, by the address of the part: one row each, or none; and what it was before it changed.
pub(super) type StandIns = Vec<(usize, Option<Vec<Datum>>, Option<Vec<Datum>>)>;

pub(super) fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan) as usize
}

impl<'run> Execution<'run> {
    pub(super) fn lock_rows(
        &mut self,
        locking: &Locking,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let leaves = leaves(&locking.input);
        self.each(&locking.input, outer, &mut |execution, row| match execution
            .locked_row(locking, &leaves, row, outer)?
        {
            Some(row) => sink(execution, row.get(..locking.width).unwrap_or(&row)),
            None => Ok(Flow::More),
        })
    }

    /// A row with its locks, as it is under them; nothing if it does not qualify any more.
    fn locked_row(
        &mut self,
        locking: &Locking,
        leaves: &[Leaf<'_>],
        row: &[Datum],
        outer: Option<&Frame<'_>>,
    ) -> Result<Option<Vec<Datum>>, Stop> {
        let mut stand_ins = StandIns::new();
        let mut is_changed = false;
        for leaf in leaves {
            let old: Vec<Datum> = leaf.places.iter().map(|&place| row[place].clone()).collect();
            let mut current = Some(old.clone()).filter(|old| !old.iter().all(Datum::is_null));
            let mut before = None;
            if let Plan::Read(read) = leaf.plan
                && read.is_taken_above
                && let Some(key) = key::found_key(&read.table, &old)?
            {
                let taken = self.take_again(locking, read, &key)?;
                if let Some(links) = links(&locking.input, leaf.plan) {
                    self.settle_look(read, &links, &key, &old, taken.as_deref())?;
                }
                let Some(new) = taken else { return Ok(None) };
                current = Some(new.to_vec());
                before = (*new != *old).then_some(old);
                is_changed |= before.is_some();
            }
            stand_ins.push((address(leaf.plan), current, before));
        }
        if is_changed { self.asked_again(&locking.input, stand_ins, outer) } else { Ok(Some(row.to_vec())) }
    }

    /// A row is locked that was looked at before: its first look is forgotten if the statement would come to the same without it, because no link
    /// of the row has changed, or the row is none that qualifies any more.
    pub(crate) fn settle_look(
        &mut self,
        read: &Read,
        links: &BTreeSet<usize>,
        key: &RowKey,
        old: &[Datum],
        new: Option<&[Datum]>,
    ) -> Result<(), Stop> {
        let is_same = |new: &[Datum]| links.iter().all(|&link| old.get(link) == new.get(link));
        let mut is_found = true;
        if let Some(new) = new.filter(|new| !is_same(new)) {
            for condition in alone(read) {
                is_found = is_found && self.holds(Some(condition), &Frame { row: new, outer: None })?;
            }
            if is_found {
                return Ok(());
            }
        }
        self.storage.forget_look(key);
        Ok(())
    }

    /// The row that is locked now, and its key where others refer to it; nothing if it is gone, or left out because somebody else has it.
    fn take_again(&mut self, locking: &Locking, read: &Read, key: &RowKey) -> Result<Option<Arc<[Datum]>>, Stop> {
        let scope = locking.scope;
        if self.is_left_out(read, key)? {
            return Ok(None);
        }
        let Some(row) = self.storage.take_again(key, &Columns::All, read.lock, scope)? else { return Ok(None) };
        let before = self.storage.enter(scope);
        let is_taken = self.takes_key(read, key);
        self.storage.enter(before);
        Ok(is_taken?.then(|| whole_row(read, key, &row)))
    }

    /// What the query makes of these rows and no others.
    pub(super) fn asked_again(
        &mut self,
        input: &Plan,
        stand_ins: StandIns,
        outer: Option<&Frame<'_>>,
    ) -> Result<Option<Vec<Datum>>, Stop> {
        let unsorted = if let Plan::Sort(input, _) = input { input } else { input };
        let before = std::mem::replace(&mut self.stand_ins, stand_ins);
        let mut found = None;
        let flow = self.each(unsorted, outer, &mut |_, row| {
            found = Some(row.to_vec());
            Ok(Flow::Enough)
        });
        self.stand_ins = before;
        flow.map(|_| found)
    }

    /// The row that stands in for a part of a plan: the outer option is none if the part is carried out as ever.
    pub(super) fn stand_in(&self, plan: &Plan) -> Option<Option<Vec<Datum>>> {
        self.stand_ins.iter().find(|(part, ..)| *part == address(plan)).map(|(_, row, _)| row.clone())
    }

    /// What it was before it changed, where partners are kept.
    fn before(&self, plan: &Plan) -> Option<Vec<Datum>> {
        let stand_in = self.stand_ins.iter().find(|(part, ..)| *part == address(plan) && self.storage.keeps_partners());
        stand_in.and_then(|(.., before)| before.clone())
    }

    /// Gives the row that stands in for a part of a plan, if it fulfils what the part asks.
    pub(super) fn give_stand_in(
        &mut self,
        plan: &Plan,
        row: Option<Vec<Datum>>,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let condition = match plan {
            Plan::Read(read) => read.condition.as_ref(),
            Plan::Kept(kept) => kept.condition.as_ref(),
            _ => None,
        };
        let Some(row) = row else { return Ok(Flow::More) };
        let frame = Frame { row: &row, outer };
        let holds = match self.before(plan) {
            Some(before) => self.holds_again(condition, &Frame { row: &before, outer }, &frame)?,
            None => self.holds(condition, &frame)?,
        };
        if holds { sink(self, &row) } else { Ok(Flow::More) }
    }
}
