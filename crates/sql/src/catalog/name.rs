//! Names: which letters count, and where a thing is looked for.
//!
//! ```text
//!   PostgreSQL   Item → item      "Item" → Item       public.item → item       shop.item → shop.item
//!   MySQL        Item → Item      `Item` → Item       any.item → item unless a namespace of that name was created
//! ```
//!
//! A thing of another namespace has a qualified name in the [`Catalog`]'s maps; `public` is written without. Names of columns are
//! compared without case in MySQL, with case (after folding) in PostgreSQL.

use super::{Catalog, Column, Table};
use skew_value::{Dialect, SqlError, SqlState};
use sqlparser::ast::{Ident, ObjectName};

/// The name that an identifier means.
pub(crate) fn identifier(ident: &Ident, dialect: Dialect) -> String {
    match (dialect, ident.quote_style) {
        (Dialect::Postgres, None) => ident.value.to_lowercase(),
        _ => ident.value.clone(),
    }
}

/// Whether two names of columns (or indexes, or constraints) are the same.
pub(crate) fn is_same(left: &str, right: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgres => left == right,
        Dialect::MySql => left.eq_ignore_ascii_case(right),
    }
}

/// A name as written: the namespace, if there is one, and the name in it.
pub(crate) fn parts(name: &ObjectName, dialect: Dialect) -> Result<(Option<String>, String), SqlError> {
    let words: Option<Vec<String>> =
        name.0.iter().map(|part| part.as_ident().map(|ident| identifier(ident, dialect))).collect();
    match words.as_deref() {
        Some([name]) => Ok((None, name.clone())),
        Some([namespace, name]) => Ok((Some(namespace.clone()), name.clone())),
        // The first is the database, of which a connection knows only its own.
        Some([_, namespace, name]) => Ok((Some(namespace.clone()), name.clone())),
        _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, format!("improper qualified name: {name}"))),
    }
}

impl Catalog {
    /// The name under which a thing stands (or would stand) in the catalog.
    pub(crate) fn resolve(&self, name: &ObjectName, dialect: Dialect) -> Result<String, SqlError> {
        let (namespace, name) = parts(name, dialect)?;
        match namespace {
            None => Ok(name),
            Some(namespace) => self.qualify(&namespace, name, dialect),
        }
    }

    /// The name in the catalog of a table that a statement reads or changes rows of: in a namespace that is not there, no table is.
    pub(crate) fn resolve_existing(&self, name: &ObjectName, dialect: Dialect) -> Result<String, SqlError> {
        self.resolve(name, dialect).map_err(|error| match error.state {
            SqlState::INVALID_NAMESPACE => {
                let parts: Vec<String> =
                    name.0.iter().filter_map(|part| Some(identifier(part.as_ident()?, dialect))).collect();
                let message = format!("relation \"{}\" does not exist", parts.join("."));
                SqlError::new(SqlState::UNDEFINED_TABLE, message)
            }
            _ => error,
        })
    }

    /// The name in the catalog of a thing in a namespace.
    pub(crate) fn qualify(&self, namespace: &str, name: String, dialect: Dialect) -> Result<String, SqlError> {
        if self.namespaces.iter().any(|known| known == namespace) {
            return Ok(format!("{namespace}.{name}"));
        }
        match dialect {
            Dialect::MySql => Ok(name),
            Dialect::Postgres if namespace == "public" || namespace.starts_with("pg_temp") => Ok(name),
            Dialect::Postgres => {
                Err(SqlError::new(SqlState::INVALID_NAMESPACE, format!("schema \"{namespace}\" does not exist")))
            }
        }
    }
}

impl Table {
    /// A column that is there, by its name in a dialect, with its physical place.
    pub(crate) fn find_column(&self, name: &str, dialect: Dialect) -> Option<(usize, &Column)> {
        self.live_columns().find(|(_, column)| is_same(&column.name, name, dialect))
    }

    /// The place of a column, or the error that there is none.
    pub(crate) fn expect_column(&self, name: &str, dialect: Dialect) -> Result<usize, SqlError> {
        self.find_column(name, dialect).map(|(place, _)| place).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
            SqlError::new(SqlState::UNDEFINED_COLUMN, message)
        })
    }
}
