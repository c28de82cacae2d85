//! Statements that change the schema: from syntax to a new [`Catalog`].
//!
//! ```text
//!   CREATE TABLE item (id int PRIMARY KEY, price int CHECK (price > 0))
//!     table    space 1, columns id, price; primary key item_pkey; check item_price_check "price > 0"
//!   CREATE INDEX ON item (price)
//!     index    space 2, item_price_idx; every row that is there gets its entry, through the same transaction's storage
//! ```
//!
//! A definition works on a copy of the catalog. If it comes to its end, the session goes on with the copy; whoever keeps transactions
//! publishes it at commit and forgets it at rollback, as it does with the rows that were rewritten.
//!
//! Expressions are kept as text and bound when they are needed; they are bound once here, so that a definition that cannot work is
//! refused when it is made. Views are kept as text too: after every definition those that could be bound before must still be.
//!
//! | file | holds |
//! |---|---|
//! | `table` | CREATE TABLE |
//! | `column` | the options of a column |
//! | `constraint` | primary keys, unique keys, checks, foreign keys, exclusions, and the names they get |
//! | `index` | CREATE INDEX, and the entries of the rows that are there |
//! | `alter` | ALTER TABLE |
//! | `rewrite` | what definitions do to rows |
//! | `sequence` | sequences and enumerations |
//! | `drop` | DROP, TRUNCATE, RENAME, COMMENT |
//! | `view` | views, and what depends on what |
//! | `table_lock` | which tables a definition locks, and how |
//! | `zone` | what a definition may not leave to the time zone |

mod alter;
mod alter_column;
mod column;
mod constraint;
mod drop;
mod index;
mod rewrite;
mod sequence;
mod table;
mod table_lock;
mod view;
mod zone;

pub(crate) use table_lock::lock_tables;

use crate::catalog::{Catalog, Table};
use crate::stop::Stop;
use crate::storage::{SpaceId, Storage};
use skew_value::{Dialect, SqlError, SqlState, Style, Zone};
use sqlparser::ast::{AlterTableOperation, DropBehavior, ObjectName, Statement};
use std::sync::Arc;

/// A definition under way: the catalog as it will be, and the rows as the transaction has them.
pub(crate) struct Definition<'storage> {
    pub(crate) dialect: Dialect,
    pub(crate) zone: Zone,
    pub(crate) catalog: Catalog,
    pub(crate) storage: &'storage mut dyn Storage,
}

/// Whether a statement changes the schema.
pub(crate) fn is_definition(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateTable(_)
            | Statement::CreateView(_)
            | Statement::CreateIndex(_)
            | Statement::CreateSequence { .. }
            | Statement::CreateType { .. }
            | Statement::CreateSchema { .. }
            | Statement::CreateDatabase { .. }
            | Statement::CreateExtension(_)
            | Statement::DropExtension(_)
            | Statement::AlterTable(_)
            | Statement::AlterIndex { .. }
            | Statement::AlterType(_)
            | Statement::Drop { .. }
            | Statement::Truncate(_)
            | Statement::RenameTable(_)
            | Statement::Comment { .. }
    )
}

/// Carries a definition out: the new catalog and the words that clients are told. `None` if the statement is no definition.
pub(crate) fn define(
    statement: &Statement,
    catalog: &Catalog,
    style: Style,
    storage: &mut dyn Storage,
) -> Result<Option<(Catalog, String)>, Stop> {
    if !is_definition(statement) {
        return Ok(None);
    }
    let mut definition = Definition { dialect: style.dialect, zone: style.zone, catalog: catalog.clone(), storage };
    let words = definition.carry_out(statement)?;
    definition.check_zone(catalog)?;
    definition.check_views(catalog, cascades(statement))?;
    definition.catalog.version = catalog.version + 1;
    Ok(Some((definition.catalog, words.to_owned())))
}

impl Definition<'_> {
    fn carry_out(&mut self, statement: &Statement) -> Result<&'static str, Stop> {
        match statement {
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateView(create) => Ok(self.create_view(create)?),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateSequence { temporary, if_not_exists, name, data_type, sequence_options, owned_by } => {
                if *temporary {
                    return Err(SqlError::unsupported("CREATE TEMPORARY SEQUENCE").into());
                }
                let owner = owned_by.as_ref();
                Ok(self.create_sequence(name, *if_not_exists, data_type.as_ref(), sequence_options, owner)?)
            }
            Statement::CreateType { name, representation } => Ok(self.create_type(name, representation.as_ref())?),
            Statement::CreateSchema { schema_name, if_not_exists, .. } => {
                Ok(self.create_schema(schema_name, *if_not_exists)?)
            }
            Statement::CreateDatabase { db_name, if_not_exists, .. } => {
                Ok(self.create_database(db_name, *if_not_exists)?)
            }
            // Extensions bring functions; which of them exist is seen when they are called.
            Statement::CreateExtension(_) => Ok("CREATE EXTENSION"),
            Statement::DropExtension(_) => Ok("DROP EXTENSION"),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::AlterIndex { name, operation } => Ok(self.alter_index(name, operation)?),
            Statement::AlterType(alter) => Ok(self.alter_type(alter)?),
            Statement::Drop { .. } => Ok(self.drop_things(statement)?),
            Statement::Truncate(truncate) => self.truncate(truncate),
            Statement::RenameTable(renames) => Ok(self.rename_tables(renames)?),
            Statement::Comment { object_type, object_name, comment, if_exists } => {
                Ok(self.comment(*object_type, object_name, comment.as_deref(), *if_exists)?)
            }
            other => Err(SqlError::unsupported(first_words(&other.to_string())).into()),
        }
    }

    /// A space that nothing lived in before.
    pub(super) fn fresh_space(&mut self) -> SpaceId {
        SpaceId(self.catalog.fresh_number())
    }

    /// A copy of a table, to be changed and put back.
    pub(super) fn table(&self, name: &ObjectName) -> Result<Table, SqlError> {
        let name = self.catalog.resolve(name, self.dialect)?;
        Ok(self.catalog.expect_table(&name)?.as_ref().clone())
    }

    /// Puts a table (back) into the catalog.
    pub(super) fn keep(&mut self, table: Table) {
        self.catalog.tables.insert(table.name.clone(), Arc::new(table));
    }

    /// Whether a relation of this name exists: tables, views, sequences and PostgreSQL's indexes share their names.
    pub(super) fn has_relation(&self, name: &str) -> bool {
        self.catalog.tables.contains_key(name)
            || self.catalog.views.contains_key(name)
            || (self.dialect == Dialect::Postgres
                && (self.catalog.sequences.contains_key(name) || self.catalog.find_index(name).is_some()))
    }

    /// Refuses a name that a relation has already.
    pub(super) fn refuse_duplicate(&self, name: &str) -> Result<(), SqlError> {
        match self.has_relation(name) {
            true => Err(SqlError::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))),
            false => Ok(()),
        }
    }
}

/// Whether a statement lets go what depends on what it drops.
fn cascades(statement: &Statement) -> bool {
    match statement {
        Statement::Drop { cascade, .. } => *cascade,
        Statement::AlterTable(alter) => alter.operations.iter().any(|operation| match operation {
            AlterTableOperation::DropColumn { drop_behavior, .. }
            | AlterTableOperation::DropConstraint { drop_behavior, .. } => {
                *drop_behavior == Some(DropBehavior::Cascade)
            }
            _ => false,
        }),
        _ => false,
    }
}

/// The first two words of a statement, for errors that name it.
fn first_words(text: &str) -> String {
    text.split_whitespace().take(2).collect::<Vec<&str>>().join(" ")
}
