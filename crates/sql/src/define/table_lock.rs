//! Which tables a definition locks, and how: what it changes nobody else may look at, but where PostgreSQL lets others go on.
//!
//! ```text
//!   ALTER TABLE line ADD FOREIGN KEY … REFERENCES item     line, item: SHARE ROW EXCLUSIVE, so that rows can be read
//!   CREATE INDEX ON line (…)                               line: SHARE, so that rows stay as they are
//!   DROP TABLE line                                        line, item: ACCESS EXCLUSIVE, since item loses a foreign key
//! ```

use crate::bind::Binder;
use crate::table_lock::TableMode;
use sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnOption, CreateTable, ObjectName, ObjectType, Statement, TableConstraint,
};

/// Tells the binder which tables a definition locks. Those that are not there are not locked: the definition says so itself.
pub(crate) fn lock_tables(statement: &Statement, binder: &mut Binder<'_>) {
    match statement {
        Statement::AlterTable(alter) => lock_altered(alter, binder),
        Statement::CreateTable(create) => lock_parents(create, binder),
        Statement::CreateIndex(create) => {
            let mode = if create.concurrently { TableMode::ShareUpdateExclusive } else { TableMode::Share };
            lock(&create.table_name, mode, binder);
        }
        Statement::Truncate(truncate) => {
            truncate.table_names.iter().for_each(|target| lock(&target.name, TableMode::AccessExclusive, binder));
        }
        Statement::RenameTable(renames) => {
            renames.iter().for_each(|rename| lock(&rename.old_name, TableMode::AccessExclusive, binder));
        }
        Statement::Drop { object_type: ObjectType::Table, names, .. } => {
            names.iter().for_each(|name| lock_dropped(name, binder));
        }
        Statement::Drop { object_type: ObjectType::Index, names, .. } => {
            names.iter().for_each(|name| lock_of_index(name, binder));
        }
        _ => {}
    }
}

fn lock(name: &ObjectName, mode: TableMode, binder: &mut Binder<'_>) {
    let catalog = binder.catalog;
    if let Some(name) = catalog.resolve(name, binder.dialect).ok().filter(|name| catalog.tables.contains_key(name)) {
        binder.lock_table(&name, mode);
    }
}

fn lock_altered(alter: &AlterTable, binder: &mut Binder<'_>) {
    let strongest = alter.operations.iter().map(mode_of).max();
    lock(&alter.name, strongest.unwrap_or(TableMode::AccessExclusive), binder);
    for operation in &alter.operations {
        match operation {
            AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(key), .. } => {
                lock(&key.foreign_table, TableMode::ShareRowExclusive, binder);
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                column_def.options.iter().for_each(|option| lock_parent(&option.option, binder));
            }
            _ => {}
        }
    }
}

fn mode_of(operation: &AlterTableOperation) -> TableMode {
    match operation {
        AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(_), .. } => {
            TableMode::ShareRowExclusive
        }
        AlterTableOperation::ValidateConstraint { .. } | AlterTableOperation::SetOptionsParens { .. } => {
            TableMode::ShareUpdateExclusive
        }
        _ => TableMode::AccessExclusive,
    }
}

fn lock_parents(create: &CreateTable, binder: &mut Binder<'_>) {
    for constraint in &create.constraints {
        if let TableConstraint::ForeignKey(key) = constraint {
            lock(&key.foreign_table, TableMode::ShareRowExclusive, binder);
        }
    }
    let options = create.columns.iter().flat_map(|column| &column.options);
    options.for_each(|option| lock_parent(&option.option, binder));
}

fn lock_parent(option: &ColumnOption, binder: &mut Binder<'_>) {
    if let ColumnOption::ForeignKey(key) = option {
        lock(&key.foreign_table, TableMode::ShareRowExclusive, binder);
    }
}

fn lock_dropped(name: &ObjectName, binder: &mut Binder<'_>) {
    lock(name, TableMode::AccessExclusive, binder);
    let catalog = binder.catalog;
    let Ok(name) = catalog.resolve(name, binder.dialect) else { return };
    let Some(table) = catalog.tables.get(&name) else { return };
    let parents = table.foreign_keys.iter().map(|key| key.parent.as_str());
    let children = catalog.references_to(&name).map(|(child, _)| child.name.as_str());
    for other in parents.chain(children) {
        binder.lock_table(other, TableMode::AccessExclusive);
    }
}

fn lock_of_index(name: &ObjectName, binder: &mut Binder<'_>) {
    let catalog = binder.catalog;
    let Ok(name) = catalog.resolve(name, binder.dialect) else { return };
    if let Some((table, _)) = catalog.find_index(&name) {
        binder.lock_table(&table.name, TableMode::AccessExclusive);
    }
}
