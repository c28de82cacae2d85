//! CREATE TABLE.
//!
//! Columns first, then the constraints of columns and table in the order they are written (so that names are numbered as the databases
//! number them), then everything that mentions columns is bound once against the finished table.
//!
//! What has no meaning here is read and forgotten: ENGINE, CHARSET, storage parameters, UNLOGGED. What would change meaning is refused:
//! partitions, inheritance.

use super::Definition;
use super::column::literal_number;
use crate::catalog::{Column, ColumnDefault, Index, Table};
use crate::stop::Stop;
use skew_value::{Dialect, SqlError, SqlState, SqlType};
use sqlparser::ast::{
    CommentDef, CreateTable, CreateTableLikeDefaults, CreateTableLikeKind, CreateTableOptions, ObjectName, SqlOption,
    TableConstraint,
};

impl Definition<'_> {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Result<&'static str, Stop> {
        refuse_unknown(create)?;
        let name = self.catalog.resolve(&create.name, self.dialect)?;
        if create.if_not_exists && self.has_relation(&name) {
            return Ok("CREATE TABLE");
        }
        self.refuse_duplicate(&name)?;
        let mut table = self.empty_table(name, create.temporary);
        match &create.like {
            Some(like) => self.copy_columns(&mut table, like)?,
            None => self.add_columns(&mut table, create)?,
        }
        self.apply_table_options(&mut table, &create.table_options)?;
        if let Some(comment) = &create.comment {
            table.comment = Some(comment_text(comment));
        }
        match &create.query {
            Some(query) => self.fill_from_query(table, query),
            None => {
                self.check_table(&table)?;
                self.keep(table);
                Ok("CREATE TABLE")
            }
        }
    }

    pub(super) fn empty_table(&mut self, name: String, temporary: bool) -> Table {
        Table {
            name,
            space: self.fresh_space(),
            columns: Vec::new(),
            primary_key: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            key_entries: None,
            foreign_keys: Vec::new(),
            exclusions: Vec::new(),
            temporary,
            comment: None,
        }
    }

    fn add_columns(&mut self, table: &mut Table, create: &CreateTable) -> Result<(), Stop> {
        let mut constraints = Vec::new();
        for column in &create.columns {
            self.add_column(table, column, &mut constraints)?;
        }
        constraints.extend(create.constraints.iter().cloned());
        // Keys come first, because foreign keys may point to the table itself.
        let (keys, others): (Vec<_>, Vec<_>) = constraints.iter().partition(|constraint| is_key(constraint));
        keys.into_iter().chain(others).try_for_each(|constraint| self.add_constraint(table, constraint))
    }

    /// LIKE other: columns and NOT NULL; MySQL copies defaults and indexes too, PostgreSQL when asked.
    fn copy_columns(&mut self, table: &mut Table, like: &CreateTableLikeKind) -> Result<(), SqlError> {
        let (CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)) = like;
        let model = self.table(&like.name)?;
        let with_defaults =
            self.dialect == Dialect::MySql || matches!(like.defaults, Some(CreateTableLikeDefaults::Including));
        // Physical places are kept, so that keys and indexes mean the same columns.
        for column in &model.columns {
            let default = column.default.clone().filter(|_| with_defaults);
            table.columns.push(Column { default, ..column.clone() });
        }
        if self.dialect == Dialect::MySql {
            table.primary_key = model.primary_key.clone();
            table.checks = model.checks.clone();
            for index in &model.indexes {
                let space = self.fresh_space();
                table.indexes.push(Index { space, ..index.clone() });
            }
            self.renew_sequences(table)?;
        }
        Ok(())
    }

    /// A copied table counts by itself, not with its model.
    fn renew_sequences(&mut self, table: &mut Table) -> Result<(), SqlError> {
        for place in 0..table.columns.len() {
            if matches!(table.columns[place].default, Some(ColumnDefault::Sequence(_))) {
                let sequence = self.owned_sequence(table, place, &[])?;
                table.columns[place].default = Some(ColumnDefault::Sequence(sequence));
            }
        }
        Ok(())
    }

    fn apply_table_options(&mut self, table: &mut Table, options: &CreateTableOptions) -> Result<(), Stop> {
        let CreateTableOptions::Plain(options) = options else { return Ok(()) };
        for option in options {
            match option {
                SqlOption::Comment(comment) => table.comment = Some(comment_text(comment)),
                SqlOption::KeyValue { key, value } if key.value.eq_ignore_ascii_case("auto_increment") => {
                    self.start_counting_at(table, literal_number(value)?)?;
                }
                SqlOption::Partition { .. } => return Err(SqlError::unsupported("PARTITION").into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// AUTO_INCREMENT = n: the next value of the table's counting column.
    pub(super) fn start_counting_at(&mut self, table: &Table, value: i64) -> Result<(), Stop> {
        let sequence = table.live_columns().find_map(|(_, column)| match column.default {
            Some(ColumnDefault::Sequence(sequence)) => Some(sequence),
            _ => None,
        });
        match sequence {
            Some(sequence) => self.storage.set_value(sequence, value, false),
            None => Ok(()),
        }
    }

    /// Binds everything that mentions columns, so that a table that cannot be used is refused when it is made.
    pub(super) fn check_table(&mut self, table: &Table) -> Result<(), SqlError> {
        for (place, column) in table.live_columns() {
            match &column.default {
                Some(ColumnDefault::Generated(text)) => self.check_generated(table, place, text)?,
                Some(ColumnDefault::Expression(text)) => self.check_default(table, place, text)?,
                _ => {}
            }
            if column.sql_type == SqlType::Unknown {
                let message = format!("column \"{}\" has pseudo-type unknown", column.name);
                return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
            }
        }
        Ok(())
    }

    /// RENAME TABLE old TO new, ALTER TABLE … RENAME TO.
    pub(super) fn rename_table(&mut self, old: &str, new: &ObjectName) -> Result<String, SqlError> {
        let renamed = self.catalog.resolve(new, self.dialect)?;
        let renamed = match (old.rsplit_once('.'), renamed.contains('.')) {
            (Some((namespace, _)), false) => format!("{namespace}.{renamed}"),
            _ => renamed,
        };
        self.refuse_duplicate(&renamed)?;
        let mut table = self.catalog.expect_table(old)?.as_ref().clone();
        self.catalog.tables.remove(old);
        table.name.clone_from(&renamed);
        self.keep(table);
        self.follow_renamed_table(old, &renamed);
        Ok(renamed)
    }

    /// Foreign keys and sequences name tables.
    fn follow_renamed_table(&mut self, old: &str, new: &str) {
        for table in self.catalog.tables.values_mut() {
            if table.foreign_keys.iter().any(|key| key.parent == old) {
                let table = std::sync::Arc::make_mut(table);
                table
                    .foreign_keys
                    .iter_mut()
                    .filter(|key| key.parent == old)
                    .for_each(|key| new.clone_into(&mut key.parent));
            }
        }
        for sequence in self.catalog.sequences.values_mut() {
            if sequence.owner.as_ref().is_some_and(|(table, _)| table == old)
                && let Some((table, _)) = &mut std::sync::Arc::make_mut(sequence).owner
            {
                new.clone_into(table);
            }
        }
    }
}

fn is_key(constraint: &TableConstraint) -> bool {
    matches!(constraint, TableConstraint::PrimaryKey(_) | TableConstraint::Unique(_))
}

fn comment_text(comment: &CommentDef) -> String {
    match comment {
        CommentDef::WithEq(text) | CommentDef::WithoutEq(text) => text.clone(),
    }
}

fn refuse_unknown(create: &CreateTable) -> Result<(), SqlError> {
    let unknown = [
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.external, "CREATE EXTERNAL TABLE"),
        (create.partition_by.is_some() || create.partition_of.is_some(), "PARTITION"),
        (create.inherits.is_some(), "INHERITS"),
        (create.clone.is_some(), "CLONE"),
        (create.on_commit.is_some(), "ON COMMIT"),
    ];
    match unknown.iter().find(|(is_there, _)| *is_there) {
        Some((_, construct)) => Err(SqlError::unsupported(construct)),
        None => Ok(()),
    }
}
