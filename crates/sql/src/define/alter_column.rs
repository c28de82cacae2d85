//! ALTER TABLE … ALTER COLUMN, and MySQL's MODIFY and CHANGE.
//!
//! A change of type rewrites the rows: each value is cast as an assignment would, or computed by USING. The rows move to a new space,
//! because keys of another type may be other keys.

use super::Definition;
use crate::bind::expression_over_table;
use crate::catalog::name::identifier;
use crate::catalog::{Column, ColumnDefault, Table};
use crate::stop::Stop;
use crate::storage::SequenceId;
use skew_value::{CastKind, Datum, SqlError, SqlState, SqlType, can_coerce, cast};
use sqlparser::ast::{
    AlterColumnOperation, ColumnDef, ColumnOption, ColumnOptionDef, DataType, Expr, GeneratedAs, Ident,
};
use std::sync::Arc;

impl Definition<'_> {
    pub(super) fn alter_column(
        &mut self,
        mut table: Table,
        name: &Ident,
        operation: &AlterColumnOperation,
    ) -> Result<Table, Stop> {
        let place = table.expect_column(&identifier(name, self.dialect), self.dialect)?;
        match operation {
            AlterColumnOperation::SetNotNull => {
                table.columns[place].nullable = false;
                self.refuse_nulls(&table, place)?;
            }
            AlterColumnOperation::DropNotNull => {
                if table.primary_key.as_ref().is_some_and(|key| key.columns.contains(&place)) {
                    let message = format!("column \"{}\" is in a primary key", table.columns[place].name);
                    return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message).into());
                }
                table.columns[place].nullable = true;
            }
            AlterColumnOperation::SetDefault { value } => self.set_default(&mut table, place, value)?,
            AlterColumnOperation::DropDefault => table.columns[place].default = None,
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                let sql_type = self.catalog.sql_type(data_type, self.dialect)?;
                let collation = table.columns[place].collation.clone();
                table = self.set_type(table, place, (sql_type, collation), using.as_ref())?;
            }
            AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
                let always = *generated_as == Some(GeneratedAs::Always);
                self.set_identity(&mut table, place, always, sequence_options.as_deref().unwrap_or_default())?;
            }
        }
        Ok(table)
    }

    fn set_type(
        &mut self,
        table: Table,
        place: usize,
        (sql_type, collation): (SqlType, Option<String>),
        using: Option<&Expr>,
    ) -> Result<Table, Stop> {
        let old_type = table.columns[place].sql_type.clone();
        let mut after = table.clone();
        after.columns[place].sql_type = sql_type.clone();
        after.columns[place].collation = collation;
        let style = self.style();
        if using.is_none() && !can_coerce(&old_type, &sql_type, CastKind::Assignment, self.dialect) {
            let name = &table.columns[place].name;
            let message = format!("column \"{name}\" cannot be cast automatically to type {sql_type}");
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint(format!("you might need to specify \"USING {name}::{sql_type}\""))
                .into());
        }
        let missing = table.columns[place].missing.clone();
        after.columns[place].missing = match using {
            None => cast(&missing, &old_type, &sql_type, CastKind::Assignment, style)?,
            // All rows are rewritten, so none is older than the column.
            Some(_) => Datum::Null,
        };
        match using {
            None => self.rewrite(&table, &mut after, |_, mut row| {
                row[place] = cast(&row[place], &old_type, &sql_type, CastKind::Assignment, style)?;
                Ok(row)
            })?,
            Some(expression) => {
                let (text, over) = (expression.to_string(), Arc::new(table.clone()));
                let formula = expression_over_table(&text, Some(&over), &self.catalog, style, Some(&sql_type))?;
                self.rewrite(&table, &mut after, |definition, mut row| {
                    row[place] = definition.evaluate(&formula, &row)?;
                    Ok(row)
                })?;
            }
        }
        self.check_table(&after)?;
        Ok(after)
    }

    /// MODIFY and CHANGE state the whole column anew: options that are not repeated are gone, keys stay.
    pub(super) fn change_column(
        &mut self,
        mut table: Table,
        old_name: &Ident,
        new_name: &Ident,
        data_type: &DataType,
        options: &[ColumnOption],
    ) -> Result<Table, Stop> {
        let place = table.expect_column(&identifier(old_name, self.dialect), self.dialect)?;
        self.rename_column(&mut table, old_name, new_name)?;
        let definition = ColumnDef {
            name: new_name.clone(),
            data_type: data_type.clone(),
            options: options.iter().map(|option| ColumnOptionDef { name: None, option: option.clone() }).collect(),
        };
        let mut constraints = Vec::new();
        let mut fresh = self.empty_table(table.name.clone(), table.temporary);
        self.add_column(&mut fresh, &definition, &mut constraints)?;
        let column = fresh.columns.remove(0);
        let counted = counting(table.columns[place].default.as_ref());
        let (sql_type, collation) = (column.sql_type.clone(), column.collation.clone());
        // Texts that another collation calls equal are other keys.
        let compares_otherwise = column.text_collation() != table.columns[place].text_collation();
        if sql_type != table.columns[place].sql_type || compares_otherwise {
            table.columns[place].default = None;
            table = self.set_type(table, place, (sql_type, collation), None)?;
        }
        state_anew(&mut table, place, column);
        self.refuse_nulls(&table, place)?;
        self.go_on_counting(&mut table, place, counted)?;
        for constraint in &constraints {
            table = self.alter_add_constraint(table, constraint)?;
        }
        Ok(table)
    }

    /// A column that goes on counting goes on with its sequence, one that begins to count begins behind its values, and a sequence that
    /// nobody counts with any more goes.
    fn go_on_counting(&mut self, table: &mut Table, place: usize, before: Option<SequenceId>) -> Result<(), Stop> {
        let after = counting(table.columns[place].default.as_ref());
        let known = |id| self.catalog.sequence_by_id(id).map(|sequence| (sequence.name.clone(), sequence.rule));
        match (before.and_then(known), after.and_then(known)) {
            (Some((old, _)), Some((new, rule))) => {
                self.catalog.sequences.remove(&new);
                if let Some(sequence) = self.catalog.sequences.get_mut(&old) {
                    Arc::make_mut(sequence).rule = rule;
                }
                table.columns[place].default = before.map(ColumnDefault::Sequence);
            }
            (None, Some((_, rule))) => {
                let rows = self.rows(table)?;
                let greatest = rows.iter().filter_map(|(_, row)| match table.value(row, place) {
                    Datum::Integer(value) => i64::try_from(*value).ok(),
                    _ => None,
                });
                if let (Some(greatest), Some(sequence)) = (greatest.max(), after) {
                    self.storage.pass_value(sequence, &rule, greatest)?;
                }
            }
            (Some((old, _)), None) => {
                self.catalog.sequences.remove(&old);
            }
            (None, None) => {}
        }
        Ok(())
    }
}

/// The sequence behind a column that counts by itself.
fn counting(default: Option<&ColumnDefault>) -> Option<SequenceId> {
    match default {
        Some(ColumnDefault::Sequence(id)) => Some(*id),
        _ => None,
    }
}

/// Gives a column its options anew.
fn state_anew(table: &mut Table, place: usize, column: Column) {
    let in_key = table.primary_key.as_ref().is_some_and(|key| key.columns.contains(&place));
    let slot = &mut table.columns[place];
    slot.default = column.default;
    slot.nullable = column.nullable && !in_key;
    slot.on_update = column.on_update;
    slot.collation = column.collation;
    slot.comment = column.comment;
}
