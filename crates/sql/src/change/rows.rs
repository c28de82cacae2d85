//! UPDATE and DELETE: the rows that qualify, one after the other.
//!
//! ```text
//!   one table, a condition on the row      the plan seeks the rows and locks them: nothing more to look at
//!   otherwise (joins, correlated           the plan reads plainly; each row found is locked, read again, and must qualify again
//!   subqueries, ORDER BY)
//! ```
//!
//! All rows are found and locked before the first is changed, so a statement never meets its own writes. A row that a join finds several
//! times is changed once, by the first partner. Where a row of a join is found changed, the join is asked again: the store answers what
//! it answered before, except for the rows that are locked now. Some stores keep partners: there the row is asked again with each one that
//! it had, and with no other.

use super::writer::Writer;
use crate::key;
use crate::plan::{leaves, links};
use crate::stop::Stop;
use crate::storage::{Row, RowKey};
use crate::tree::change::{Delete, Outcome, Returning, RowSource, Update};
use crate::tree::plan::Plan;
use skew_value::{Datum, Dialect};
use std::collections::{BTreeMap, BTreeSet};

/// A row that qualifies: its key, itself, and the whole row of the source around it.
struct Found {
    key: RowKey,
    row: Row,
    whole: Vec<Datum>,
}

impl Writer<'_, '_> {
    /// Carries an UPDATE out.
    pub(super) fn carry_out_update(&mut self, update: &Update, outcome: &mut Outcome) -> Result<(), Stop> {
        let rules = self.rules(&update.source.table)?;
        let places: Vec<usize> = update.assignments.iter().map(|(place, _)| *place).collect();
        // What is assigned may look at other rows of the table, which it must see as they were.
        let mut changes = Vec::new();
        for found in self.locked_rows(&update.source)? {
            let new = self.new_values(update, &found)?;
            changes.push((found, new));
        }
        self.answer_before(update.returning.as_ref())?;
        for (found, new) in changes {
            outcome.found += 1;
            // MySQL does not count a row that stays as it is; it is written all the same, for what others may see.
            let counts = self.dialect() != Dialect::MySql || new != *found.row;
            let new = self.update(&rules, &found.key, &found.row, new, &places)?;
            outcome.count += u64::from(counts);
            self.return_row(update.returning.as_ref(), &update.source, found.whole, &new, outcome)?;
        }
        Ok(())
    }

    /// Carries a DELETE out.
    pub(super) fn carry_out_delete(&mut self, delete: &Delete, outcome: &mut Outcome) -> Result<(), Stop> {
        let rules = self.rules(&delete.source.table)?;
        let rows = self.locked_rows(&delete.source)?;
        self.answer_before(delete.returning.as_ref())?;
        for found in rows {
            self.delete(&rules, &found.key, &found.row)?;
            outcome.found += 1;
            outcome.count += 1;
            self.return_row(delete.returning.as_ref(), &delete.source, found.whole, &found.row, outcome)?;
        }
        Ok(())
    }

    /// The rows that the plan finds, each with every partner.
    fn pairs(&mut self, source: &RowSource) -> Result<Vec<Found>, Stop> {
        let mut found = Vec::new();
        for whole in self.execution.run(&source.plan)? {
            let row: Row = whole[source.start..source.start + source.table.columns.len()].into();
            if let Some(key) = key::found_key(&source.table, &whole[source.start..])? {
                found.push(Found { key, row, whole: whole.to_vec() });
            }
        }
        Ok(found)
    }

    /// The rows that the plan finds, each once.
    fn candidates(&mut self, source: &RowSource) -> Result<Vec<Found>, Stop> {
        let mut seen = BTreeSet::new();
        let mut found = self.pairs(source)?;
        found.retain(|found| seen.insert(found.key.clone()));
        Ok(found)
    }

    /// The rows that qualify as they are now, each with its lock.
    fn locked_rows(&mut self, source: &RowSource) -> Result<Vec<Found>, Stop> {
        if source.locked {
            return self.candidates(source);
        }
        if self.execution.storage().keeps_partners() {
            return self.locked_with_partners(source);
        }
        let candidates = self.candidates(source)?;
        let mut rows = BTreeMap::new();
        let mut changed = false;
        for found in &candidates {
            let row = self.lock(&source.table, &found.key)?;
            changed |= row.as_ref() != Some(&found.row);
            rows.insert(found.key.clone(), row);
        }
        if !changed {
            return Ok(candidates);
        }
        let candidates = if source.joined { self.candidates(source)? } else { candidates };
        let mut qualified = Vec::new();
        for found in candidates {
            if let Some(Some(row)) = rows.get(&found.key)
                && let Some(found) = self.qualified(source, found, row)?
            {
                qualified.push(found);
            }
        }
        Ok(qualified)
    }

    /// The same where a row keeps the partners that it had: it is changed by the first with which it qualifies as it is now.
    fn locked_with_partners(&mut self, source: &RowSource) -> Result<Vec<Found>, Stop> {
        let pairs = self.pairs(source)?;
        let mut rows: BTreeMap<RowKey, Option<Row>> = BTreeMap::new();
        let (mut qualified, mut done) = (Vec::new(), BTreeSet::new());
        for found in pairs {
            if !rows.contains_key(&found.key) {
                let row = self.lock(&source.table, &found.key)?;
                self.settle_look(source, &found, row.as_ref())?;
                rows.insert(found.key.clone(), row);
            }
            let Some(Some(row)) = rows.get(&found.key) else { continue };
            if !done.contains(&found.key)
                && let Some(found) = self.qualified(source, found, row)?
            {
                done.insert(found.key.clone());
                qualified.push(found);
            }
        }
        Ok(qualified)
    }

    /// Forgets the first look at a row that is locked, if that makes no difference.
    fn settle_look(&mut self, source: &RowSource, found: &Found, row: Option<&Row>) -> Result<(), Stop> {
        let leaves = leaves(&source.plan);
        let Some(leaf) = leaves.iter().find(|leaf| leaf.places.first() == Some(&source.start)) else { return Ok(()) };
        match (leaf.plan, links(&source.plan, leaf.plan)) {
            (Plan::Read(read), Some(links)) => {
                self.execution.settle_look(read, &links, &found.key, &found.row, row.map(|row| &row[..]))
            }
            _ => Ok(()),
        }
    }

    /// A row that was found, as it is now, if it still qualifies.
    fn qualified(&mut self, source: &RowSource, mut found: Found, row: &Row) -> Result<Option<Found>, Stop> {
        if *row != found.row {
            let old = found.whole.clone();
            found.whole[source.start..source.start + row.len()].clone_from_slice(row);
            if !self.execution.still_holds(source.condition.as_ref(), &old, &found.whole)? {
                return Ok(None);
            }
        }
        Ok(Some(Found { row: row.clone(), ..found }))
    }

    fn new_values(&mut self, update: &Update, found: &Found) -> Result<Vec<Datum>, Stop> {
        let (start, width) = (update.source.start, found.row.len());
        if start == 0 {
            return self.assigned(&update.assignments, &found.whole, width);
        }
        let mut new = found.row.to_vec();
        for (place, expression) in &update.assignments {
            new[*place] = self.execution.evaluate_over(expression, &found.whole)?;
        }
        Ok(new)
    }

    /// The rows of subqueries in RETURNING are those before the statement's changes.
    pub(super) fn answer_before(&mut self, returning: Option<&Returning>) -> Result<(), Stop> {
        let expressions = returning.map_or(&[][..], |returning| &returning.expressions);
        self.execution.answer_subqueries(expressions)
    }

    fn return_row(
        &mut self,
        returning: Option<&Returning>,
        source: &RowSource,
        mut whole: Vec<Datum>,
        row: &Row,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        if let Some(returning) = returning {
            whole[source.start..source.start + row.len()].clone_from_slice(row);
            outcome.returned.push(self.execution.evaluate_all(&returning.expressions, &whole)?);
        }
        Ok(())
    }
}
