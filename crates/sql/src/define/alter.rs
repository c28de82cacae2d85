//! ALTER TABLE: one operation after the other on a copy of the table, then the rows follow.
//!
//! ```text
//!   ADD COLUMN tax int DEFAULT 0          rows stay as they are: the column's `missing` value stands in for them
//!   ADD COLUMN id serial                  rows are rewritten, each gets its own value
//!   ADD PRIMARY KEY (id)                  rows move to a new space, under their new keys
//!   ADD CHECK (price > 0)                 rows are looked at
//! ```

use super::Definition;
use super::column::literal_number;
use super::constraint::has_constraint;
use super::rewrite::rename_identifier;
use crate::catalog::name::{identifier, is_same};
use crate::catalog::{ColumnDefault, Index, IndexColumn, Table};
use crate::stop::Stop;
use skew_value::{Datum, Dialect, SqlError, SqlState};
use sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnDef, DropBehavior, Expr, Ident, RenameTableNameKind, TableConstraint,
};
use std::sync::Arc;

impl Definition<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<&'static str, Stop> {
        let Some(mut name) = self.resolve_or_missing(&alter.name, alter.if_exists)? else { return Ok("ALTER TABLE") };
        if alter.if_exists && !self.has_relation(&name) {
            return Ok("ALTER TABLE");
        }
        for operation in &alter.operations {
            if let AlterTableOperation::RenameTable { table_name } = operation {
                let (RenameTableNameKind::As(new) | RenameTableNameKind::To(new)) = table_name;
                name = self.rename_any(&name, new)?;
                continue;
            }
            let table = self.catalog.expect_table(&name)?.as_ref().clone();
            if let Some(changed) = self.alter(table, operation)? {
                self.keep(changed);
            }
        }
        Ok("ALTER TABLE")
    }

    /// ALTER TABLE … RENAME works on views and sequences too.
    fn rename_any(&mut self, old: &str, new: &sqlparser::ast::ObjectName) -> Result<String, SqlError> {
        if self.catalog.tables.contains_key(old) {
            return self.rename_table(old, new);
        }
        let renamed = self.catalog.resolve(new, self.dialect)?;
        self.refuse_duplicate(&renamed)?;
        if let Some(view) = self.catalog.views.remove(old) {
            let mut view = view.as_ref().clone();
            view.name.clone_from(&renamed);
            self.catalog.views.insert(renamed.clone(), Arc::new(view));
        } else if let Some(sequence) = self.catalog.sequences.remove(old) {
            let mut sequence = sequence.as_ref().clone();
            sequence.name.clone_from(&renamed);
            self.catalog.sequences.insert(renamed.clone(), Arc::new(sequence));
        } else {
            self.catalog.expect_table(old)?;
        }
        Ok(renamed)
    }

    /// The table after one operation; `None` if it put the table back itself.
    fn alter(&mut self, mut table: Table, operation: &AlterTableOperation) -> Result<Option<Table>, Stop> {
        use AlterTableOperation::*;
        match operation {
            AddColumn { if_not_exists, column_def, column_position, .. } => {
                let name = identifier(&column_def.name, self.dialect);
                if *if_not_exists && table.find_column(&name, self.dialect).is_some() {
                    return Ok(None);
                }
                if let Some(position) = column_position {
                    return Err(SqlError::unsupported(format!("ADD COLUMN … {position}")).into());
                }
                self.alter_add_column(table, column_def).map(Some)
            }
            AddConstraint { constraint, .. } => self.alter_add_constraint(table, constraint).map(Some),
            DropColumn { column_names, if_exists, drop_behavior, .. } => self
                .drop_columns(table, column_names, *if_exists, *drop_behavior == Some(DropBehavior::Cascade))
                .map(Some),
            DropConstraint { name, if_exists, drop_behavior } => {
                let cascade = *drop_behavior == Some(DropBehavior::Cascade);
                self.drop_constraint(table, &identifier(name, self.dialect), *if_exists, cascade).map(Some)
            }
            DropPrimaryKey { .. } => {
                let name = table.primary_key.as_ref().map(|key| key.name.clone()).unwrap_or_default();
                self.drop_constraint(table, &name, false, false).map(Some)
            }
            DropForeignKey { name, .. } => Ok(Some(self.drop_foreign_key(table, &identifier(name, self.dialect))?)),
            DropIndex { name } => self.drop_constraint(table, &identifier(name, self.dialect), false, false).map(Some),
            RenameColumn { old_column_name, new_column_name } => {
                self.rename_column(&mut table, old_column_name, new_column_name)?;
                Ok(Some(table))
            }
            RenameConstraint { old_name, new_name } => {
                self.rename_constraint(&mut table, old_name, new_name)?;
                Ok(Some(table))
            }
            AlterColumn { column_name, op } => self.alter_column(table, column_name, op).map(Some),
            ModifyColumn { col_name, data_type, options, column_position } => {
                refuse_position(column_position.as_ref())?;
                self.change_column(table, col_name, col_name, data_type, options).map(Some)
            }
            ChangeColumn { old_name, new_name, data_type, options, column_position } => {
                refuse_position(column_position.as_ref())?;
                self.change_column(table, old_name, new_name, data_type, options).map(Some)
            }
            AutoIncrement { value, .. } => {
                let value = literal_number(&Expr::Value(value.clone()))?;
                self.start_counting_at(&table, value)?;
                Ok(Some(table))
            }
            // What these change does not exist here: owners, storage, how the change is made. Constraints are always valid.
            OwnerTo { .. }
            | Algorithm { .. }
            | Lock { .. }
            | SetLogged
            | SetUnlogged
            | SetOptionsParens { .. }
            | ValidateConstraint { .. }
            | ReplicaIdentity { .. } => Ok(Some(table)),
            other => Err(SqlError::unsupported(format!("ALTER TABLE … {other}")).into()),
        }
    }

    fn alter_add_column(&mut self, mut table: Table, definition: &ColumnDef) -> Result<Table, Stop> {
        let before = table.clone();
        let mut constraints = Vec::new();
        let place = self.add_column(&mut table, definition, &mut constraints)?;
        self.check_table(&table)?;
        let each_its_own = match table.columns[place].default.clone() {
            Some(ColumnDefault::Expression(text)) => match self.constant_default(&table, place, &text)? {
                Some(value) => {
                    table.columns[place].missing = value;
                    false
                }
                None => true,
            },
            Some(_) => true,
            None => {
                if self.dialect == Dialect::MySql && !table.columns[place].nullable {
                    table.columns[place].missing = super::rewrite::implicit_default(&table.columns[place].sql_type);
                }
                false
            }
        };
        if each_its_own {
            self.fill_column(&before, &mut table, place)?;
        }
        self.refuse_nulls(&table, place)?;
        for constraint in &constraints {
            table = self.alter_add_constraint(table, constraint)?;
        }
        Ok(table)
    }

    pub(super) fn alter_add_constraint(
        &mut self,
        mut table: Table,
        constraint: &TableConstraint,
    ) -> Result<Table, Stop> {
        let before = table.clone();
        self.add_constraint(&mut table, constraint)?;
        for column in 0..table.columns.len() {
            if before.columns[column].nullable && !table.columns[column].nullable {
                self.refuse_nulls(&table, column)?;
            }
        }
        if before.primary_key.is_none() && table.primary_key.is_some() {
            self.rewrite(&before, &mut table, |_, row| Ok(row))?;
            return Ok(table);
        }
        self.fill_indexes(&table, before.indexes.len())?;
        self.check_rows(&before, &table)?;
        Ok(table)
    }

    fn drop_columns(
        &mut self,
        mut table: Table,
        names: &[Ident],
        if_exists: bool,
        cascade: bool,
    ) -> Result<Table, Stop> {
        for name in names {
            let name = identifier(name, self.dialect);
            if if_exists && table.find_column(&name, self.dialect).is_none() {
                continue;
            }
            let place = table.expect_column(&name, self.dialect)?;
            table = self.drop_column(table, place, cascade)?;
        }
        Ok(table)
    }

    fn drop_column(&mut self, mut table: Table, place: usize, cascade: bool) -> Result<Table, Stop> {
        let before = table.clone();
        let name = table.columns[place].name.clone();
        if self.dialect == Dialect::MySql {
            refuse_shortened_keys(&table, place)?;
        }
        self.release_column(&table, place, cascade)?;
        table = self.drop_generated(table, place, cascade)?;
        let dialect = self.dialect;
        let mentions = |text: &str| super::rewrite::mentions(text, &name, dialect);
        table.foreign_keys.retain(|key| {
            let points_here = key.parent == before.name && key.parent_columns.contains(&place);
            !key.columns.contains(&place) && !points_here
        });
        table.checks.retain(|check| !mentions(&check.condition));
        table.exclusions.retain(|exclusion| {
            let texts = exclusion.elements.iter().map(|(text, _)| text).chain(&exclusion.predicate);
            !texts.into_iter().any(|text| mentions(text))
        });
        table.indexes.retain(|index| !index_mentions(index, place, mentions));
        table.columns[place].dropped = true;
        table.columns[place].nullable = true;
        table.columns[place].default = None;
        self.catalog.sequences.retain(|_, sequence| {
            sequence.owner.as_ref().is_none_or(|(owner, column)| owner != &before.name || column != &name)
        });
        if table.live_columns().next().is_none() && self.dialect == Dialect::MySql {
            let message = "you can't delete all columns with ALTER TABLE";
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message).with_hint("use DROP TABLE").into());
        }
        if table.primary_key.as_ref().is_some_and(|key| key.columns.contains(&place)) {
            table.primary_key = None;
            table.key_entries = None;
            self.rewrite(&before, &mut table, |_, row| Ok(row))?;
        }
        Ok(table)
    }

    /// Columns that are computed from one that goes, go with CASCADE only.
    fn drop_generated(&mut self, mut table: Table, place: usize, cascade: bool) -> Result<Table, Stop> {
        let name = table.columns[place].name.clone();
        let uses = |table: &Table, other: usize| match &table.columns[other].default {
            Some(ColumnDefault::Generated(text)) => super::rewrite::mentions(text, &name, self.dialect),
            _ => false,
        };
        let users: Vec<usize> =
            (0..table.columns.len()).filter(|&other| other != place && uses(&table, other)).collect();
        if let (Some(&user), false) = (users.first(), cascade && self.dialect == Dialect::Postgres) {
            let column = format!("column {name} of table {}", table.name);
            let user = format!("column {} of table {}", table.columns[user].name, table.name);
            return Err(super::drop::still_needed(&column, &user).into());
        }
        for user in users {
            table = self.drop_column(table, user, cascade)?;
        }
        Ok(table)
    }

    /// Foreign keys of other tables that point to a column go with CASCADE only.
    fn release_column(&mut self, table: &Table, place: usize, cascade: bool) -> Result<(), SqlError> {
        let children: Vec<String> = self
            .catalog
            .references_to(&table.name)
            .filter(|(child, key)| child.name != table.name && key.parent_columns.contains(&place))
            .map(|(child, _)| child.name.clone())
            .collect();
        if let (Some(child), false) = (children.first(), cascade) {
            let column = format!("column {} of table {}", table.columns[place].name, table.name);
            return Err(super::drop::still_needed(&column, &format!("a constraint on table {child}")));
        }
        for child in children {
            if let Some(child) = self.catalog.tables.get_mut(&child) {
                let keys = &mut Arc::make_mut(child).foreign_keys;
                keys.retain(|key| key.parent != table.name || !key.parent_columns.contains(&place));
            }
        }
        Ok(())
    }

    fn drop_constraint(&mut self, mut table: Table, name: &str, if_exists: bool, cascade: bool) -> Result<Table, Stop> {
        let dialect = self.dialect;
        if !has_constraint(&table, name, dialect) {
            if if_exists {
                return Ok(table);
            }
            let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message).into());
        }
        let before = table.clone();
        let other = |known: &String| !is_same(known, name, dialect);
        table.checks.retain(|check| other(&check.name));
        table.foreign_keys.retain(|key| other(&key.name));
        table.exclusions.retain(|exclusion| other(&exclusion.name));
        table.indexes.retain(|index| other(&index.name));
        table.primary_key = table.primary_key.filter(|key| other(&key.name));
        self.release_keys(&before, &mut table, cascade)?;
        if before.primary_key.is_some() && table.primary_key.is_none() {
            self.rewrite(&before, &mut table, |_, row| Ok(row))?;
        }
        Ok(table)
    }

    /// MySQL's DROP FOREIGN KEY leaves the index of the same name.
    fn drop_foreign_key(&self, mut table: Table, name: &str) -> Result<Table, SqlError> {
        let before = table.foreign_keys.len();
        table.foreign_keys.retain(|key| !is_same(&key.name, name, self.dialect));
        match table.foreign_keys.len() < before {
            true => Ok(table),
            false => {
                let message = format!("Can't DROP '{name}'; check that column/key exists");
                Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// A key that foreign keys point to goes with CASCADE only.
    pub(super) fn release_keys(&mut self, before: &Table, after: &mut Table, cascade: bool) -> Result<(), SqlError> {
        let is_key = |table: &Table, columns: &[usize]| {
            let same = |key: &[usize]| key.len() == columns.len() && columns.iter().all(|column| key.contains(column));
            table.primary_key.as_ref().is_some_and(|key| same(&key.columns))
                || table.indexes.iter().any(|index| index.is_plain_unique() && same(&index.plain_columns()))
        };
        let lost: Vec<(String, String)> = self
            .catalog
            .references_to(&before.name)
            .filter(|(_, key)| is_key(before, &key.parent_columns) && !is_key(after, &key.parent_columns))
            .map(|(child, key)| (child.name.clone(), key.name.clone()))
            .filter(|(child, key)| *child != before.name || after.foreign_keys.iter().any(|known| known.name == *key))
            .collect();
        if let (Some((child, key)), false) = (lost.first(), cascade) {
            let user = format!("constraint {key} on table {child}");
            return Err(super::drop::still_needed(&format!("constraint on table {}", before.name), &user));
        }
        for (child, key) in lost {
            if child == before.name {
                after.foreign_keys.retain(|known| known.name != key);
            } else if let Some(child) = self.catalog.tables.get_mut(&child) {
                Arc::make_mut(child).foreign_keys.retain(|known| known.name != key);
            }
        }
        Ok(())
    }

    /// Renames a column everywhere it is written: expressions are texts.
    pub(super) fn rename_column(&mut self, table: &mut Table, old: &Ident, new: &Ident) -> Result<(), SqlError> {
        let (old, new) = (identifier(old, self.dialect), identifier(new, self.dialect));
        let place = table.expect_column(&old, self.dialect)?;
        if table.find_column(&new, self.dialect).is_some_and(|(other, _)| other != place) {
            let message = format!("column \"{new}\" of relation \"{}\" already exists", table.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let dialect = self.dialect;
        let rename = |text: &mut Arc<str>| *text = rename_identifier(text, &old, &new, dialect).into();
        table.checks.iter_mut().for_each(|check| rename(&mut check.condition));
        for exclusion in &mut table.exclusions {
            exclusion.elements.iter_mut().for_each(|(text, _)| rename(text));
            exclusion.predicate.iter_mut().for_each(rename);
        }
        for index in &mut table.indexes {
            index.predicate.iter_mut().for_each(rename);
            for column in &mut index.columns {
                if let IndexColumn::Expression(text) = column {
                    rename(text);
                }
            }
        }
        for column in &mut table.columns {
            if let Some(ColumnDefault::Generated(text)) = &mut column.default {
                rename(text);
            }
        }
        table.columns[place].name.clone_from(&new);
        for sequence in self.catalog.sequences.values_mut() {
            let owner = Some((table.name.clone(), old.clone()));
            if sequence.owner == owner {
                Arc::make_mut(sequence).owner = Some((table.name.clone(), new.clone()));
            }
        }
        Ok(())
    }

    fn rename_constraint(&mut self, table: &mut Table, old: &Ident, new: &Ident) -> Result<(), SqlError> {
        let (old, new) = (identifier(old, self.dialect), identifier(new, self.dialect));
        let dialect = self.dialect;
        if !has_constraint(table, &old, dialect) {
            let message = format!("constraint \"{old}\" for table \"{}\" does not exist", table.name);
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        self.refuse_duplicate_constraint(table, &new)?;
        let names = (table.primary_key.iter_mut().map(|key| &mut key.name))
            .chain(table.indexes.iter_mut().map(|index| &mut index.name))
            .chain(table.checks.iter_mut().map(|check| &mut check.name))
            .chain(table.foreign_keys.iter_mut().map(|key| &mut key.name))
            .chain(table.exclusions.iter_mut().map(|exclusion| &mut exclusion.name));
        names.filter(|name| is_same(name, &old, dialect)).for_each(|name| name.clone_from(&new));
        Ok(())
    }

    /// Refuses a column that may not be NULL and is, in some row.
    pub(super) fn refuse_nulls(&mut self, table: &Table, place: usize) -> Result<(), Stop> {
        if table.columns[place].nullable {
            return Ok(());
        }
        let rows = self.rows(table)?;
        if rows.iter().any(|(_, row)| matches!(table.value(row, place), Datum::Null)) {
            let column = &table.columns[place].name;
            let message = format!("column \"{column}\" of relation \"{}\" contains null values", table.name);
            return Err(SqlError::new(SqlState::NOT_NULL, message).into());
        }
        Ok(())
    }
}

/// MySQL keeps a key of several columns with the others when one goes, which may make rows equal that were not.
fn refuse_shortened_keys(table: &Table, place: usize) -> Result<(), SqlError> {
    let primary = table.primary_key.iter().map(|key| key.columns.clone());
    let indexes = table.indexes.iter().map(Index::plain_columns);
    match primary.chain(indexes).any(|columns| columns.len() > 1 && columns.contains(&place)) {
        true => Err(SqlError::unsupported("dropping a column of a key that has others")
            .with_hint("drop the key first, and add it again without the column")),
        false => Ok(()),
    }
}

fn index_mentions(index: &Index, place: usize, mentions: impl Fn(&str) -> bool) -> bool {
    index.predicate.as_ref().is_some_and(|text| mentions(text))
        || index.columns.iter().any(|column| match column {
            IndexColumn::Column(column) => *column == place,
            IndexColumn::Expression(text) => mentions(text),
        })
}

fn refuse_position(position: Option<&sqlparser::ast::MySQLColumnPosition>) -> Result<(), SqlError> {
    match position {
        Some(position) => Err(SqlError::unsupported(format!("moving a column {position}"))),
        None => Ok(()),
    }
}
