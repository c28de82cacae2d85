//! The end of a statement: children follow their parents, and every child has one.
//!
//! Foreign keys are looked at when all rows of a statement are written, as the standard has it, so that rows may point to rows that
//! come later in the same statement. What follows from a parent's change may change rows that are parents themselves: a queue, no
//! recursion.
//!
//! ```text
//!   DELETE FROM shop WHERE id = 3
//!     parents: shop/3 gone ─ item ON DELETE CASCADE ─ item/7 gone ─ parents: item/7 gone ─ line ON DELETE SET NULL ─ line/9 item NULL
//! ```
//!
//! Foreign keys that are INITIALLY DEFERRED wait for the commit: [`check_deferred`]. Whatever happened until then, the rows are looked
//! at as they are.

use super::writer::{ParentChange, Writer};
use crate::catalog::{Catalog, ColumnDefault, ForeignKey, ReferentialAction, Table};
use crate::constraint::reference;
use crate::execute::Execution;
use crate::stop::Stop;
use crate::storage::{Columns, Lock, Row, RowKey};
use crate::tree::change::ChildCheck;
use crate::violation;
use skew_value::{Datum, SqlError, SqlState};
use std::sync::Arc;

/// How many rows one statement may change through foreign keys.
const MOST_FOLLOWERS: usize = 10_000_000;

impl Writer<'_, '_> {
    /// Lets children follow and looks for parents. What waits for the commit is returned.
    pub(crate) fn settle(&mut self) -> Result<Vec<ChildCheck>, Stop> {
        let mut followed = 0;
        while let Some(change) = self.parents.pop_front() {
            followed += 1;
            if followed > MOST_FOLLOWERS {
                return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, "too many rows follow through foreign keys").into());
            }
            self.follow(&change)?;
        }
        for check in std::mem::take(&mut self.children) {
            check_child(&check, &self.catalog.clone(), self.execution)?;
        }
        Ok(std::mem::take(&mut self.deferred))
    }

    fn follow(&mut self, change: &ParentChange) -> Result<(), Stop> {
        let catalog = self.catalog.clone();
        for (child, key) in catalog.references_to(&change.table.name) {
            let Some(old) = reference::values_of(&key.parent_columns, &change.old) else { continue };
            let new = change.new.as_ref().map(|row| values_at(&key.parent_columns, row));
            if new.as_ref() == Some(&old) {
                continue;
            }
            let action = if new.is_some() { key.on_update } else { key.on_delete };
            match action {
                ReferentialAction::Refuse => self.refuse_children(change, child, key, &old)?,
                action => self.change_children(change, child, key, &old, new, action)?,
            }
        }
        Ok(())
    }

    /// NO ACTION: fine if there are no children, or the key is there again.
    fn refuse_children(
        &mut self,
        change: &ParentChange,
        child: &Arc<Table>,
        key: &ForeignKey,
        old: &[Datum],
    ) -> Result<(), Stop> {
        let children = reference::children(child, key, &change.table, old, Lock::Share, self.execution)?;
        if children.is_empty() {
            return Ok(());
        }
        if key.deferred {
            let checks = children.into_iter().map(|(row, _)| (child.name.clone(), key.name.clone(), row));
            self.deferred.extend(checks.map(|(table, key, row)| ChildCheck { table, key, row }));
            return Ok(());
        }
        let values = reference::values_of(&key.columns, &children[0].1).unwrap_or_default();
        match reference::parent_exists(child, key, &values, &self.catalog.clone(), self.execution)? {
            true => Ok(()),
            false => Err(violation::needed(&change.table, child, key, old, self.execution.style()).into()),
        }
    }

    fn change_children(
        &mut self,
        change: &ParentChange,
        child: &Arc<Table>,
        key: &ForeignKey,
        old: &[Datum],
        new: Option<Vec<Datum>>,
        action: ReferentialAction,
    ) -> Result<(), Stop> {
        let rules = self.rules(child)?;
        for (row_key, row) in reference::children(child, key, &change.table, old, Lock::Update, self.execution)? {
            match (action, &new) {
                (ReferentialAction::Cascade, None) => self.delete(&rules, &row_key, &row)?,
                (ReferentialAction::Cascade, Some(values)) => {
                    let values = self.as_child(&change.table, child, key, values)?;
                    self.assign_children(&rules, &row_key, &row, key, values)?;
                }
                (ReferentialAction::SetDefault, _) => {
                    let values = self.default_values(child, key)?;
                    self.assign_children(&rules, &row_key, &row, key, values)?;
                }
                _ => self.assign_children(&rules, &row_key, &row, key, vec![Datum::Null; key.columns.len()])?,
            }
        }
        Ok(())
    }

    fn assign_children(
        &mut self,
        rules: &crate::constraint::Rules,
        row_key: &RowKey,
        row: &Row,
        key: &ForeignKey,
        values: Vec<Datum>,
    ) -> Result<(), Stop> {
        let mut changed = row.to_vec();
        for (&place, value) in key.columns.iter().zip(values) {
            changed[place] = value;
        }
        self.update(rules, row_key, row, changed, &key.columns)?;
        Ok(())
    }

    /// The parent's new values as the child's columns have them.
    fn as_child(
        &self,
        parent: &Table,
        child: &Table,
        key: &ForeignKey,
        values: &[Datum],
    ) -> Result<Vec<Datum>, SqlError> {
        let types = key.parent_columns.iter().zip(&key.columns);
        types
            .zip(values)
            .map(|((&from, &to), value)| {
                let (from, to) = (&parent.columns[from].sql_type, &child.columns[to].sql_type);
                skew_value::cast(value, from, to, skew_value::CastKind::Assignment, self.execution.style())
            })
            .collect()
    }

    fn default_values(&mut self, child: &Arc<Table>, key: &ForeignKey) -> Result<Vec<Datum>, Stop> {
        let mut values = Vec::with_capacity(key.columns.len());
        for &place in &key.columns {
            values.push(match &child.columns[place].default {
                Some(ColumnDefault::Expression(_)) => {
                    let expression = crate::bind::default_of(child, place, &self.catalog, self.dialect())?;
                    self.execution.evaluate_over(&expression, &[])?
                }
                _ => Datum::Null,
            });
        }
        Ok(values)
    }
}

fn values_at(columns: &[usize], row: &[Datum]) -> Vec<Datum> {
    columns.iter().map(|&place| row[place].clone()).collect()
}

/// Looks whether a row that needs a parent has one. A row, key or table that is gone meanwhile needs none.
fn check_child(check: &ChildCheck, catalog: &Catalog, execution: &mut Execution<'_>) -> Result<(), Stop> {
    let Some(table) = catalog.tables.get(&check.table) else { return Ok(()) };
    let Some(key) = table.foreign_keys.iter().find(|key| key.name == check.key) else { return Ok(()) };
    let Some(row) = execution.storage().get(&check.row, &Columns::All, Lock::Share)? else { return Ok(()) };
    let Some(values) = reference::values_of(&key.columns, &table.complete(&row)) else { return Ok(()) };
    match reference::parent_exists(table, key, &values, catalog, execution)? {
        true => Ok(()),
        false => Err(violation::orphan(table, key, &values, execution.style()).into()),
    }
}

/// The foreign keys that were deferred: before a commit, with everything that [`Outcome::deferred`](crate::tree::change::Outcome) of the
/// transaction's statements told.
pub(crate) fn check_deferred(
    checks: &[ChildCheck],
    catalog: &Catalog,
    execution: &mut Execution<'_>,
) -> Result<(), Stop> {
    checks.iter().try_for_each(|check| check_child(check, catalog, execution))
}
