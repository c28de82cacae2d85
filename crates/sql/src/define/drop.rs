//! DROP, TRUNCATE, RENAME, COMMENT.
//!
//! Nothing is deleted from the store: a space whose number is forgotten is never looked at again, and a table that is made anew has
//! another number. So TRUNCATE is the change of numbers, and no event.

use super::Definition;
use crate::catalog::name::{identifier, is_same, parts};
use crate::catalog::{ColumnDefault, Table};
use crate::stop::Stop;
use crate::storage::SequenceId;
use skew_value::{Dialect, EnumerationId, SqlError, SqlState, SqlType};
use sqlparser::ast::{
    CascadeOption, CommentObject, ObjectName, ObjectType, RenameTable, Statement, Truncate, TruncateIdentityOption,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Definition<'_> {
    pub(super) fn drop_things(&mut self, statement: &Statement) -> Result<&'static str, SqlError> {
        let Statement::Drop { object_type, if_exists, names, cascade, table, .. } = statement else {
            return Err(SqlError::unsupported(statement));
        };
        // Tables that go together may point to one another.
        let together: Vec<String> =
            names.iter().filter_map(|name| self.catalog.resolve(name, self.dialect).ok()).collect();
        for name in names {
            match object_type {
                ObjectType::Table => self.drop_table(name, *if_exists, *cascade, &together)?,
                ObjectType::View => self.drop_view(name, *if_exists)?,
                ObjectType::Index => self.drop_index(name, table.as_ref(), *if_exists, *cascade)?,
                ObjectType::Sequence => self.drop_sequence(name, *if_exists, *cascade)?,
                ObjectType::Type => self.drop_type(name, *if_exists)?,
                ObjectType::Schema | ObjectType::Database => self.drop_namespace(name, *if_exists, *cascade)?,
                other => return Err(SqlError::unsupported(format!("DROP {other}"))),
            }
        }
        Ok(match object_type {
            ObjectType::Table => "DROP TABLE",
            ObjectType::View => "DROP VIEW",
            ObjectType::Index => "DROP INDEX",
            ObjectType::Sequence => "DROP SEQUENCE",
            ObjectType::Type => "DROP TYPE",
            ObjectType::Schema => "DROP SCHEMA",
            _ => "DROP DATABASE",
        })
    }

    fn drop_table(
        &mut self,
        name: &ObjectName,
        if_exists: bool,
        cascade: bool,
        together: &[String],
    ) -> Result<(), SqlError> {
        let name = self.resolve_or_missing(name, if_exists)?;
        let Some(name) = name.filter(|name| !if_exists || self.has_relation(name)) else { return Ok(()) };
        if !self.catalog.tables.contains_key(&name) && !self.catalog.views.contains_key(&name) {
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, format!("table \"{name}\" does not exist")));
        }
        self.catalog.expect_table(&name)?;
        self.release_references(&name, cascade, together)?;
        self.forget_table(&name);
        Ok(())
    }

    /// Without CASCADE a table that others point to stays.
    fn release_references(&mut self, name: &str, cascade: bool, together: &[String]) -> Result<(), SqlError> {
        let children: Vec<String> = self
            .catalog
            .references_to(name)
            .map(|(child, _)| child.name.clone())
            .filter(|child| child != name && !together.contains(child))
            .collect();
        if let (Some(child), false) = (children.first(), cascade) {
            return Err(still_needed(&format!("table {name}"), &format!("table {child}")));
        }
        for child in children {
            if let Some(table) = self.catalog.tables.get_mut(&child) {
                Arc::make_mut(table).foreign_keys.retain(|key| key.parent != name);
            }
        }
        Ok(())
    }

    fn forget_table(&mut self, name: &str) {
        self.catalog.tables.remove(name);
        self.catalog.sequences.retain(|_, sequence| sequence.owner.as_ref().is_none_or(|(table, _)| table != name));
        if self.dialect == Dialect::MySql {
            self.forget_unused_enumerations();
        }
    }

    /// MySQL's enumerations came with columns; a table that was made like another has the same ones.
    fn forget_unused_enumerations(&mut self) {
        let columns = self.catalog.tables.values().flat_map(|table| table.columns.iter());
        let used: BTreeSet<EnumerationId> = columns
            .filter_map(|column| match column.sql_type {
                SqlType::Enumeration(id) => Some(id),
                _ => None,
            })
            .collect();
        self.catalog.enumerations.retain(|_, enumeration| used.contains(&enumeration.id));
    }

    fn drop_view(&mut self, name: &ObjectName, if_exists: bool) -> Result<(), SqlError> {
        let Some(name) = self.resolve_or_missing(name, if_exists)? else { return Ok(()) };
        match self.catalog.views.remove(&name) {
            Some(_) => Ok(()),
            None if self.catalog.tables.contains_key(&name) => {
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view")))
            }
            None if if_exists => Ok(()),
            None => Err(SqlError::new(SqlState::UNDEFINED_TABLE, format!("view \"{name}\" does not exist"))),
        }
    }

    fn drop_index(
        &mut self,
        name: &ObjectName,
        table: Option<&ObjectName>,
        if_exists: bool,
        cascade: bool,
    ) -> Result<(), SqlError> {
        let Some(name) = self.resolve_or_missing(name, if_exists)? else { return Ok(()) };
        let found = match table {
            Some(table) => {
                let table = self.table(table)?;
                let place = table.indexes.iter().position(|index| is_same(&index.name, &name, self.dialect));
                place.map(|place| (table, place))
            }
            None => self.catalog.find_index(&name).map(|(table, place)| (table.as_ref().clone(), place)),
        };
        let Some((mut table, place)) = found else {
            return match if_exists {
                true => Ok(()),
                false => Err(SqlError::new(SqlState::UNDEFINED_OBJECT, format!("index \"{name}\" does not exist"))),
            };
        };
        if table.indexes[place].constraint && self.dialect == Dialect::Postgres {
            return Err(still_needed(&format!("index {name}"), &format!("constraint {name} on table {}", table.name)));
        }
        let before = table.clone();
        table.indexes.remove(place);
        self.release_keys(&before, &mut table, cascade)?;
        self.keep(table);
        Ok(())
    }

    fn drop_sequence(&mut self, name: &ObjectName, if_exists: bool, cascade: bool) -> Result<(), SqlError> {
        let Some(name) = self.resolve_or_missing(name, if_exists)? else { return Ok(()) };
        let Some(sequence) = self.catalog.sequences.get(&name).cloned() else {
            return match if_exists {
                true => Ok(()),
                false => Err(SqlError::new(SqlState::UNDEFINED_TABLE, format!("sequence \"{name}\" does not exist"))),
            };
        };
        let users: Vec<String> = self
            .catalog
            .tables
            .values()
            .filter(|table| table.columns.iter().any(|column| counts_with(column.default.as_ref(), sequence.id)))
            .map(|table| table.name.clone())
            .collect();
        if let (Some(user), false) = (users.first(), cascade) {
            return Err(still_needed(
                &format!("sequence {name}"),
                &format!("default value for a column of table {user}"),
            ));
        }
        for user in users {
            if let Some(table) = self.catalog.tables.get_mut(&user) {
                for column in &mut Arc::make_mut(table).columns {
                    column.default.take_if(|default| counts_with(Some(default), sequence.id));
                }
            }
        }
        self.catalog.sequences.remove(&name);
        Ok(())
    }

    fn drop_type(&mut self, name: &ObjectName, if_exists: bool) -> Result<(), SqlError> {
        let Some(name) = self.resolve_or_missing(name, if_exists)? else { return Ok(()) };
        let Some(enumeration) = self.catalog.enumerations.get(&name) else {
            return match if_exists {
                true => Ok(()),
                false => Err(SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))),
            };
        };
        let wanted = SqlType::Enumeration(enumeration.id);
        let uses = |table: &Table| table.live_columns().any(|(_, column)| column.sql_type == wanted);
        if let Some(table) = self.catalog.tables.values().find(|table| uses(table)) {
            return Err(still_needed(&format!("type {name}"), &format!("a column of table {}", table.name)));
        }
        self.catalog.enumerations.remove(&name);
        Ok(())
    }

    fn drop_namespace(&mut self, name: &ObjectName, if_exists: bool, cascade: bool) -> Result<(), SqlError> {
        let (_, name) = parts(name, self.dialect)?;
        if !self.catalog.namespaces.contains(&name) {
            return match if_exists {
                true => Ok(()),
                false => Err(SqlError::new(SqlState::INVALID_NAMESPACE, format!("schema \"{name}\" does not exist"))),
            };
        }
        let inside = format!("{name}.");
        let tables: Vec<String> =
            self.catalog.tables.keys().filter(|table| table.starts_with(&inside)).cloned().collect();
        if let (Some(table), false, Dialect::Postgres) = (tables.first(), cascade, self.dialect) {
            return Err(still_needed(&format!("schema {name}"), &format!("table {table}")));
        }
        for table in &tables {
            self.release_references(table, true, &tables)?;
            self.forget_table(table);
        }
        self.catalog.views.retain(|view, _| !view.starts_with(&inside));
        self.catalog.sequences.retain(|sequence, _| !sequence.starts_with(&inside));
        if self.dialect == Dialect::Postgres {
            self.drop_types_in(&inside)?;
        }
        self.catalog.namespaces.retain(|namespace| namespace != &name);
        Ok(())
    }

    /// The enumerations of a namespace go, unless a table outside has one of them.
    fn drop_types_in(&mut self, inside: &str) -> Result<(), SqlError> {
        let enumerations =
            self.catalog.enumerations.values().filter(|enumeration| enumeration.name.starts_with(inside));
        for wanted in enumerations.map(|enumeration| SqlType::Enumeration(enumeration.id)) {
            let uses = |table: &Table| table.live_columns().any(|(_, column)| column.sql_type == wanted);
            if let Some(table) = self.catalog.tables.values().find(|table| uses(table)) {
                let construct = format!("DROP SCHEMA with a type that a column of table \"{}\" has", table.name);
                return Err(SqlError::unsupported(construct));
            }
        }
        self.catalog.enumerations.retain(|enumeration, _| !enumeration.starts_with(inside));
        Ok(())
    }

    /// The name in the catalog; with IF EXISTS a namespace that is not there is no error.
    pub(super) fn resolve_or_missing(&self, name: &ObjectName, if_exists: bool) -> Result<Option<String>, SqlError> {
        match self.catalog.resolve(name, self.dialect) {
            Ok(name) => Ok(Some(name)),
            Err(error) if if_exists && error.state == SqlState::INVALID_NAMESPACE => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn truncate(&mut self, truncate: &Truncate) -> Result<&'static str, Stop> {
        let mut names = Vec::new();
        for target in &truncate.table_names {
            let name = self.catalog.resolve(&target.name, self.dialect)?;
            self.catalog.expect_table(&name)?;
            names.push(name);
        }
        self.follow_references(&mut names, truncate.cascade == Some(CascadeOption::Cascade))?;
        let restart = self.dialect == Dialect::MySql || truncate.identity == Some(TruncateIdentityOption::Restart);
        for name in names {
            self.empty_out(&name, restart)?;
        }
        Ok("TRUNCATE TABLE")
    }

    /// Tables that point to an emptied one are emptied too, or the statement is refused.
    fn follow_references(&self, names: &mut Vec<String>, cascade: bool) -> Result<(), SqlError> {
        let mut next = 0;
        while next < names.len() {
            let name = names[next].clone();
            for (child, _) in self.catalog.references_to(&name) {
                if names.contains(&child.name) {
                    continue;
                }
                if !cascade {
                    return Err(SqlError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot truncate a table referenced in a foreign key constraint",
                    )
                    .with_hint(format!(
                        "truncate table \"{}\" at the same time, or use TRUNCATE … CASCADE",
                        child.name
                    )));
                }
                names.push(child.name.clone());
            }
            next += 1;
        }
        Ok(())
    }

    fn empty_out(&mut self, name: &str, restart: bool) -> Result<(), Stop> {
        let mut table = self.catalog.expect_table(name)?.as_ref().clone();
        table.space = self.fresh_space();
        table.key_entries = table.key_entries.map(|_| self.fresh_space());
        for index in &mut table.indexes {
            index.space = crate::storage::SpaceId(self.catalog.fresh_number());
        }
        if restart {
            for (_, column) in table.live_columns() {
                if let Some(ColumnDefault::Sequence(id) | ColumnDefault::Identity(id)) = column.default
                    && let Some(sequence) = self.catalog.sequence_by_id(id)
                {
                    self.storage.set_value(id, sequence.rule.start, false)?;
                }
            }
        }
        self.keep(table);
        Ok(())
    }

    pub(super) fn rename_tables(&mut self, renames: &[RenameTable]) -> Result<&'static str, SqlError> {
        for rename in renames {
            let old = self.catalog.resolve(&rename.old_name, self.dialect)?;
            self.rename_table(&old, &rename.new_name)?;
        }
        Ok("RENAME TABLE")
    }

    pub(super) fn comment(
        &mut self,
        object: CommentObject,
        name: &ObjectName,
        comment: Option<&str>,
        if_exists: bool,
    ) -> Result<&'static str, SqlError> {
        let changed = match object {
            CommentObject::Table => self.comment_table(name, comment),
            CommentObject::Column => self.comment_column(name, comment),
            // Nobody asks for the others.
            _ => Ok(()),
        };
        match changed {
            Err(error) if !if_exists => Err(error),
            _ => Ok("COMMENT"),
        }
    }

    fn comment_table(&mut self, name: &ObjectName, comment: Option<&str>) -> Result<(), SqlError> {
        let mut table = self.table(name)?;
        table.comment = comment.map(str::to_owned);
        self.keep(table);
        Ok(())
    }

    fn comment_column(&mut self, name: &ObjectName, comment: Option<&str>) -> Result<(), SqlError> {
        let mut parts = name.0.clone();
        let column = parts.pop().and_then(|part| part.as_ident().map(|ident| identifier(ident, self.dialect)));
        let column = column.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "column name must be qualified"))?;
        let mut table = self.table(&ObjectName(parts))?;
        let place = table.expect_column(&column, self.dialect)?;
        table.columns[place].comment = comment.map(str::to_owned);
        self.keep(table);
        Ok(())
    }
}

fn counts_with(default: Option<&ColumnDefault>, sequence: SequenceId) -> bool {
    matches!(default, Some(ColumnDefault::Sequence(id) | ColumnDefault::Identity(id)) if *id == sequence)
}

/// What else needs the thing that should go.
pub(super) fn still_needed(thing: &str, user: &str) -> SqlError {
    SqlError::new(SqlState::DEPENDENT_OBJECTS, format!("cannot drop {thing} because other objects depend on it"))
        .with_hint(format!("{user} depends on it; use DROP … CASCADE to drop the dependent objects too"))
}
