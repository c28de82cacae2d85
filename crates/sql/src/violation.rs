//! The words of refusals, as each database says them: programs look at the SQLSTATE, at the name of the constraint, and some at the
//! text.
//!
//! ```text
//!   PostgreSQL   duplicate key value violates unique constraint "item_pkey"
//!   MySQL        Duplicate entry '7' for key 'item.PRIMARY'
//! ```

use crate::catalog::{Enumeration, ForeignKey, Table};
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType, Style, output};

/// A value as a refusal shows it.
fn shown(values: &[Datum], style: Style) -> Vec<String> {
    values.iter().map(|value| output(value, &SqlType::Unknown, style)).collect()
}

/// NULL where it may not be.
pub(crate) fn null(table: &Table, column: &str, dialect: Dialect) -> SqlError {
    let message = match dialect {
        Dialect::Postgres => {
            format!("null value in column \"{column}\" of relation \"{}\" violates not-null constraint", table.name)
        }
        Dialect::MySql => format!("Column '{column}' cannot be null"),
    };
    SqlError::new(SqlState::NOT_NULL, message)
}

/// A text that is no label of its enumeration.
pub(crate) fn label(enumeration: &Enumeration, label: &str, column: &str, dialect: Dialect) -> SqlError {
    match dialect {
        Dialect::Postgres => SqlError::new(
            SqlState::INVALID_TEXT,
            format!("invalid input value for enum {}: \"{label}\"", enumeration.name),
        ),
        Dialect::MySql => SqlError::new(SqlState("01000"), format!("Data truncated for column '{column}' at row 1")),
    }
}

/// A CHECK that is false.
pub(crate) fn check(table: &Table, name: &str, dialect: Dialect) -> SqlError {
    let message = match dialect {
        Dialect::Postgres => format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name),
        Dialect::MySql => format!("Check constraint '{name}' is violated."),
    };
    SqlError::new(SqlState::CHECK, message).of_constraint(name)
}

/// A key that is taken.
pub(crate) fn duplicate(table: &Table, name: &str, columns: &[String], values: &[Datum], style: Style) -> SqlError {
    let values = shown(values, style);
    let error = match style.dialect {
        Dialect::Postgres => {
            let message = format!("duplicate key value violates unique constraint \"{name}\"");
            let detail = format!("Key ({})=({}) already exists.", columns.join(", "), values.join(", "));
            SqlError::new(SqlState::UNIQUE, message).with_detail(detail)
        }
        Dialect::MySql => {
            let message = format!("Duplicate entry '{}' for key '{}.{name}'", values.join("-"), table.name);
            SqlError::new(SqlState::UNIQUE, message)
        }
    };
    error.of_constraint(name)
}

/// A child without parent.
pub(crate) fn orphan(child: &Table, key: &ForeignKey, values: &[Datum], style: Style) -> SqlError {
    let message = match style.dialect {
        Dialect::Postgres => {
            format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", child.name, key.name)
        }
        Dialect::MySql => {
            format!(
                "Cannot add or update a child row: a foreign key constraint fails (`{}`, CONSTRAINT `{}`)",
                child.name, key.name
            )
        }
    };
    let columns: Vec<&str> = key.columns.iter().map(|&place| child.columns[place].name.as_str()).collect();
    let values = shown(values, style);
    SqlError::new(SqlState::FOREIGN_KEY, message)
        .with_detail(format!(
            "Key ({})=({}) is not present in table \"{}\".",
            columns.join(", "),
            values.join(", "),
            key.parent
        ))
        .of_constraint(key.name.as_str())
}

/// A parent that still has children.
pub(crate) fn needed(parent: &Table, child: &Table, key: &ForeignKey, values: &[Datum], style: Style) -> SqlError {
    let message = match style.dialect {
        Dialect::Postgres => format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            parent.name, key.name, child.name
        ),
        Dialect::MySql => format!(
            "Cannot delete or update a parent row: a foreign key constraint fails (`{}`, CONSTRAINT `{}`)",
            child.name, key.name
        ),
    };
    let columns: Vec<&str> = key.parent_columns.iter().map(|&place| parent.columns[place].name.as_str()).collect();
    let values = shown(values, style);
    SqlError::new(SqlState::FOREIGN_KEY, message)
        .with_detail(format!(
            "Key ({})=({}) is still referenced from table \"{}\".",
            columns.join(", "),
            values.join(", "),
            child.name
        ))
        .of_constraint(key.name.as_str())
}

/// Two rows that exclude one another.
pub(crate) fn conflicting(name: &str) -> SqlError {
    SqlError::new(SqlState::EXCLUSION, format!("conflicting key value violates exclusion constraint \"{name}\""))
        .of_constraint(name)
}
