//! CREATE INDEX and ALTER INDEX.
//!
//! An index that is made over rows gets its entries at once, through the transaction's storage; a unique one refuses a second row
//! with the same values.

use super::Definition;
use super::constraint::base_name;
use crate::catalog::Table;
use crate::catalog::name::identifier;
use crate::stop::Stop;
use skew_value::{SqlError, SqlState};
use sqlparser::ast::{AlterIndexOperation, CreateIndex, IndexType, ObjectName};
use std::sync::Arc;

impl Definition<'_> {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str, Stop> {
        refuse_unknown(create)?;
        let mut table = self.table(&create.table_name)?;
        let columns = self.index_columns(&table, &create.columns)?;
        let name = match &create.name {
            Some(name) => self.index_name_in(&table, name)?,
            None => self.index_name(&table, &columns, "idx"),
        };
        let exists = self.catalog.find_index(&name).is_some() || table.indexes.iter().any(|index| index.name == name);
        if create.if_not_exists && exists {
            return Ok("CREATE INDEX");
        }
        let predicate: Option<Arc<str>> = create.predicate.as_ref().map(|condition| condition.to_string().into());
        if let Some(condition) = &predicate {
            self.check_predicate(&table, condition)?;
        }
        self.add_index(&mut table, name, columns, create.unique)?;
        if let Some(index) = table.indexes.last_mut() {
            index.nulls_not_distinct = create.nulls_distinct == Some(false);
            index.predicate = predicate;
        }
        self.fill_indexes(&table, table.indexes.len() - 1)?;
        self.keep(table);
        Ok("CREATE INDEX")
    }

    /// An index lives in the namespace of its table.
    fn index_name_in(&self, table: &Table, name: &ObjectName) -> Result<String, SqlError> {
        let name = name.0.last().and_then(|part| part.as_ident()).map(|ident| identifier(ident, self.dialect));
        let name = name.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "an index needs a name"))?;
        Ok(match table.name.rsplit_once('.') {
            Some((namespace, _)) => format!("{namespace}.{name}"),
            None => name,
        })
    }

    pub(super) fn alter_index(
        &mut self,
        name: &ObjectName,
        operation: &AlterIndexOperation,
    ) -> Result<&'static str, SqlError> {
        let AlterIndexOperation::RenameIndex { index_name } = operation;
        let old = self.catalog.resolve(name, self.dialect)?;
        let new = self.catalog.resolve(index_name, self.dialect)?;
        self.refuse_duplicate(&new)?;
        let Some((table, place)) = self.catalog.find_index(&old) else {
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{old}\" does not exist")));
        };
        let mut table = table.as_ref().clone();
        base_name(&new).clone_into(&mut table.indexes[place].name);
        self.keep(table);
        Ok("ALTER INDEX")
    }
}

fn refuse_unknown(create: &CreateIndex) -> Result<(), SqlError> {
    match &create.using {
        // All of them find rows by equality; what else they are good for is asked by operators that are refused themselves.
        None | Some(IndexType::BTree | IndexType::Hash | IndexType::BRIN) => Ok(()),
        Some(other) => Err(SqlError::unsupported(format!("an index USING {other}"))),
    }
}
