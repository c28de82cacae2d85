//! From a type as it is written in a statement to the type it means: names of enumerations first, then those that every database has.
//!
//! ```text
//!   mood                          the enumeration, if the catalog has one
//!   TIMESTAMP(3) WITH TIME ZONE   "timestamp with time zone", [3]
//!   INT[]                         an array of "int"
//! ```
//!
//! What the names mean is told in [`value`](skew_value); here the name is only taken apart.

use super::Catalog;
use crate::catalog::name::parts;
use skew_value::{Dialect, EnumerationId, SqlError, SqlType};
use sqlparser::ast::{ArrayElemTypeDef, DataType};

impl Catalog {
    /// The type that a statement names.
    pub(crate) fn sql_type(&self, data_type: &DataType, dialect: Dialect) -> Result<SqlType, SqlError> {
        match data_type {
            DataType::Array(ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _)) => {
                Ok(SqlType::Array(Box::new(self.sql_type(element, dialect)?)))
            }
            DataType::Custom(name, modifiers) => {
                if is_letter(name) {
                    return Ok(SqlType::Letter);
                }
                let (_, name) = parts(name, dialect)?;
                match self.enumeration(&name) {
                    Some(id) if modifiers.is_empty() => Ok(SqlType::Enumeration(id)),
                    _ => named_type(&data_type.to_string(), dialect),
                }
            }
            other => named_type(&other.to_string(), dialect),
        }
    }

    /// The type of a number: a built-in one or an enumeration, or an array of either.
    pub fn type_of_oid(&self, oid: u32) -> Option<SqlType> {
        let own = || {
            let types = self.enumerations.values().map(|enumeration| SqlType::Enumeration(enumeration.id));
            let mut all = types.flat_map(|one| [one.clone(), SqlType::Array(Box::new(one))]);
            all.find(|one| one.oid() == oid)
        };
        SqlType::from_oid(oid).or_else(own)
    }

    fn enumeration(&self, name: &str) -> Option<EnumerationId> {
        self.enumerations.get(name).map(|enumeration| enumeration.id)
    }
}

/// `"char"` in its quotes, which is not `char`.
fn is_letter(name: &sqlparser::ast::ObjectName) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|ident| ident.value == "char" && ident.quote_style == Some('"'))
}

/// Takes `numeric(10, 2)` apart.
fn named_type(text: &str, dialect: Dialect) -> Result<SqlType, SqlError> {
    let text = text.to_lowercase();
    let text = text.trim().replace('"', "");
    let Some((before, rest)) = text.split_once('(') else {
        return SqlType::from_name(&single_blanks(&text), &[], dialect);
    };
    let (inside, after) = rest.split_once(')').unwrap_or((rest, ""));
    let numbers: Result<Vec<u32>, SqlError> = inside
        .split(',')
        .map(|number| {
            number
                .trim()
                .parse()
                .map_err(|_| SqlError::unsupported(format!("the modifier ({inside}) of type {before}")))
        })
        .collect();
    SqlType::from_name(&single_blanks(&format!("{before} {after}")), &numbers?, dialect)
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}
