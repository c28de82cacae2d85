//! Catalogs as tables: `information_schema` and `pg_catalog`, computed from the [`Catalog`] whenever they are read.
//!
//! ```text
//!   SELECT relname FROM pg_catalog.pg_class     find(Some("pg_catalog"), "pg_class")   columns, and rows from the catalog
//!   SELECT relname FROM pg_class                find(None, "pg_class")                 as pg_catalog is always searched
//! ```
//!
//! They are read-only and outside the weak choice: reading one is no event, everybody sees the catalog of their own transaction.
//!
//! A table is a line of a list: its name, its columns as text with what they hold when a row does not say (`relkind text='r'`), and a
//! function from the catalog to rows. Clients ask for many columns that mean nothing here; they get what PostgreSQL 15 has for a plain
//! table.
//!
//! | file | holds |
//! |---|---|
//! | `object` | numbers of things (oid), types, texts of definitions |
//! | `attribute` | `pg_attribute` |
//! | `relation` | `pg_class`, `pg_index`, `pg_constraint`, … |
//! | `types` | `pg_type`, `pg_range`, `pg_enum` |
//! | `operator_class` | `pg_opclass`, `pg_am` |
//! | `absent` | `pg_policy`, `pg_publication`, …: always empty |
//! | `system` | `pg_namespace`, `pg_database`, `pg_roles`, … |
//! | `standard` | `information_schema` |
//! | `mysql` | what MySQL's `information_schema` has instead |
//! | `show` | MySQL's SHOW as queries of these |
//! | `registered` | `'item'::regclass` and back |
//! | `function` | `format_type`, `pg_get_expr`, `to_regclass`, … |

mod absent;
mod attribute;
pub(crate) mod function;
mod mysql;
mod object;
mod operator_class;
pub(crate) mod registered;
mod relation;
pub(crate) mod show;
mod standard;
pub(crate) mod system;
mod types;

use crate::catalog::Catalog;
use crate::storage::Row;
use skew_value::function::Environment;
use skew_value::{Datum, Dialect, Registry, SqlType};
use std::sync::Arc;

/// A table that is computed.
#[derive(Clone, Debug)]
pub(crate) struct VirtualTable {
    /// Its name.
    pub(crate) name: &'static str,
    /// The names and types of its columns.
    pub(crate) columns: Vec<(&'static str, SqlType)>,
    /// Its rows, every value of its column's type.
    pub(crate) rows: fn(&Catalog, &Environment) -> Vec<Row>,
}

/// A line of the list of virtual tables.
struct Listed {
    name: &'static str,
    shape: &'static str,
    rows: fn(&Catalog, &Environment) -> Vec<Row>,
}

/// The tables of `pg_catalog`.
const POSTGRES_CATALOG: &[&[Listed]] =
    &[relation::TABLES, attribute::TABLES, types::TABLES, operator_class::TABLES, system::TABLES, absent::TABLES];

/// The virtual table of a name, in a namespace if one is named.
pub(crate) fn find(namespace: Option<&str>, name: &str, dialect: Dialect) -> Option<VirtualTable> {
    let lists: &[&[Listed]] = match (dialect, namespace.map(str::to_ascii_lowercase).as_deref()) {
        (Dialect::Postgres, None | Some("pg_catalog")) => POSTGRES_CATALOG,
        (Dialect::Postgres, Some("information_schema")) => &[standard::TABLES, standard::POSTGRES],
        (Dialect::MySql, Some("information_schema")) => &[mysql::TABLES, standard::TABLES],
        _ => &[],
    };
    let same = |listed: &&Listed| match dialect {
        Dialect::Postgres => listed.name == name,
        Dialect::MySql => listed.name.eq_ignore_ascii_case(name),
    };
    let listed = lists.iter().flat_map(|list| list.iter()).find(same)?;
    let columns = Shape::of(listed.shape).columns.into_iter().map(|(name, sql_type, _)| (name, sql_type)).collect();
    Some(VirtualTable { name: listed.name, columns, rows: listed.rows })
}

/// The columns of a virtual table, and what stands in them when a row does not say.
struct Shape {
    columns: Vec<(&'static str, SqlType, Datum)>,
}

impl Shape {
    /// Reads `name type=default, …`; without default it is NULL.
    fn of(text: &'static str) -> Shape {
        let columns = text.split(',').map(str::trim).filter(|column| !column.is_empty()).map(|column| {
            let (name, rest) = column.split_once(' ').unwrap_or((column, "text"));
            let (type_name, default) = match rest.split_once('=') {
                Some((type_name, default)) => (type_name, Some(default)),
                None => (rest, None),
            };
            let sql_type = column_type(type_name.trim());
            let default = default.map_or(Datum::Null, |text| default_value(text, &sql_type));
            (name, sql_type, default)
        });
        Shape { columns: columns.collect() }
    }

    /// A row with some of its values.
    fn row(&self, values: &[(&str, Datum)]) -> Row {
        debug_assert!(
            values.iter().all(|(name, _)| self.columns.iter().any(|(known, ..)| known == name)),
            "a value without column"
        );
        let value = |(name, _, default): &(&str, SqlType, Datum)| {
            values.iter().find(|(given, _)| given == name).map_or_else(|| default.clone(), |(_, value)| value.clone())
        };
        self.columns.iter().map(value).collect()
    }
}

fn column_type(name: &str) -> SqlType {
    match name {
        "text" => SqlType::TEXT,
        "name" => SqlType::Name,
        "letter" => SqlType::Letter,
        "varchar" => SqlType::VARYING,
        "regproc" => SqlType::Registered(Registry::Function),
        "regtype" => SqlType::Registered(Registry::Type),
        "regclass" => SqlType::Registered(Registry::Relation),
        "int2vector" => SqlType::Vector(Box::new(SqlType::SMALLINT)),
        "oidvector" => SqlType::Vector(Box::new(SqlType::ObjectId)),
        "bytes" => SqlType::Bytes,
        "void" => SqlType::Void,
        "name[]" => SqlType::Array(Box::new(SqlType::Name)),
        "letter[]" => SqlType::Array(Box::new(SqlType::Letter)),
        "oid" => SqlType::ObjectId,
        "int" => SqlType::INTEGER,
        "small" => SqlType::SMALLINT,
        "big" => SqlType::BIGINT,
        "bool" => SqlType::Boolean,
        "real" => SqlType::Single,
        "time" => SqlType::TIMESTAMPTZ,
        "text[]" => SqlType::Array(Box::new(SqlType::TEXT)),
        "small[]" => SqlType::Array(Box::new(SqlType::SMALLINT)),
        "oid[]" => SqlType::Array(Box::new(SqlType::ObjectId)),
        other => unreachable_type(other),
    }
}

/// The lists are constant, and a test reads them all.
fn unreachable_type(name: &str) -> SqlType {
    debug_assert!(false, "no type {name}");
    SqlType::TEXT
}

fn default_value(text: &str, sql_type: &SqlType) -> Datum {
    match sql_type {
        SqlType::Boolean => Datum::Boolean(text == "true"),
        SqlType::Integer { .. } | SqlType::ObjectId | SqlType::Registered(_) => {
            Datum::Integer(text.parse().unwrap_or(0))
        }
        SqlType::Single => Datum::Real(text.parse().unwrap_or(0.0)),
        SqlType::Array(_) | SqlType::Vector(_) => Datum::Array(Arc::from([])),
        _ => Datum::text(text.trim_matches('\'')),
    }
}

/// A text.
fn text(value: impl AsRef<str>) -> Datum {
    Datum::text(value.as_ref())
}

/// A text, or NULL.
fn optional(value: Option<impl AsRef<str>>) -> Datum {
    value.map_or(Datum::Null, text)
}

/// A number.
fn number(value: impl Into<i128>) -> Datum {
    Datum::Integer(value.into())
}

/// A count or place.
fn count(value: usize) -> Datum {
    Datum::Integer(value as i128)
}

/// True or false.
fn truth(value: bool) -> Datum {
    Datum::Boolean(value)
}

/// `YES` or `NO`, as the standard has it.
fn yes(value: bool) -> Datum {
    text(if value { "YES" } else { "NO" })
}

/// Some numbers.
fn numbers(values: impl IntoIterator<Item = i128>) -> Datum {
    Datum::Array(values.into_iter().map(Datum::Integer).collect())
}

/// A name apart: its namespace and the name in it.
fn apart(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("public", name))
}

/// Tables that are always empty here.
fn nothing(_: &Catalog, _: &Environment) -> Vec<Row> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_virtual_table_has_columns_of_known_types_and_rows_for_an_empty_catalog() {
        let postgres = [POSTGRES_CATALOG, &[standard::TABLES, standard::POSTGRES]].concat();
        for (dialect, lists) in [(Dialect::Postgres, postgres), (Dialect::MySql, vec![mysql::TABLES, standard::TABLES])]
        {
            let environment = Environment::new(dialect, 0, 0);
            for listed in lists.iter().flat_map(|list| list.iter()) {
                let width = Shape::of(listed.shape).columns.len();
                for row in (listed.rows)(&Catalog::default(), &environment) {
                    assert_eq!(row.len(), width, "{}", listed.name);
                }
            }
        }
    }

    #[test]
    fn a_catalog_is_found_with_and_without_its_namespace() {
        assert!(find(None, "pg_class", Dialect::Postgres).is_some());
        assert!(find(Some("pg_catalog"), "pg_class", Dialect::Postgres).is_some());
        assert!(find(None, "tables", Dialect::Postgres).is_none());
        assert!(find(Some("INFORMATION_SCHEMA"), "TABLES", Dialect::MySql).is_some());
        assert!(find(Some("public"), "pg_class", Dialect::Postgres).is_none());
    }
}
