//! Things by their names and names by their numbers: what casts from and to `regclass` and its kin do.
//!
//! ```text
//!   'item'::regclass          16385     the thing must be there
//!   16385::regclass::text     item      a number that is of nothing stays a number
//! ```
//!
//! The values are numbers, so that catalogs are joined by them; they are written as names, which needs the catalog: the binder puts the
//! functions of this file where such a cast is written, and [`Session::text_of`](crate::Session::text_of) is asked for values of answers.

use super::function::{CatalogFunction, missing_namespace, relation_number, resolved, to_regtype};
use super::object::{
    OWNER, namespace_number, number_of, primary_index_number, quoted, row_type_number, table_number, type_name,
};
use super::relation::view_number;
use super::types::ARRAY_INPUT;
use super::{apart, number, text};
use crate::catalog::Catalog;
use skew_value::function::Environment;
use skew_value::oid::BUILT_IN;
use skew_value::{Datum, Registry, SqlError, SqlState, SqlType};

/// The function that a cast from text to such a type is.
pub(crate) fn reader(registry: Registry) -> CatalogFunction {
    let implementation = match registry {
        Registry::Relation => read_relation,
        Registry::Type => read_type,
        Registry::Function => read_function,
        Registry::Namespace => read_namespace,
        Registry::Role => read_role,
    };
    CatalogFunction::new(vec![SqlType::TEXT], SqlType::Registered(registry), implementation)
}

/// The function that a cast from such a type to text is.
pub(crate) fn writer(registry: Registry) -> CatalogFunction {
    let implementation = match registry {
        Registry::Relation => write_relation,
        Registry::Type => write_type,
        Registry::Function => write_function,
        Registry::Namespace => write_namespace,
        Registry::Role => write_role,
    };
    CatalogFunction::new(vec![SqlType::Registered(registry)], SqlType::TEXT, implementation)
}

fn written(arguments: &[Datum]) -> &str {
    match arguments.first() {
        Some(Datum::Text(text)) => text,
        _ => "",
    }
}

fn wanted(arguments: &[Datum]) -> i128 {
    match arguments.first() {
        Some(Datum::Integer(number)) => *number,
        _ => 0,
    }
}

/// A number as it is, `-` for none; else what the catalog has.
fn read(
    arguments: &[Datum],
    find: impl FnOnce(&str) -> Option<i128>,
    missing: impl FnOnce(&str) -> SqlError,
) -> Result<Datum, SqlError> {
    let written = written(arguments).trim();
    if written == "-" {
        return Ok(number(0));
    }
    if let Ok(oid) = written.parse::<u32>() {
        return Ok(number(oid));
    }
    find(written).map(number).ok_or_else(|| missing(written))
}

fn undefined(kind: &str, name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("{kind} \"{name}\" does not exist"))
}

fn read_relation(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let missing = |name: &str| match missing_namespace(catalog, name) {
        Some(namespace) => SqlError::new(SqlState::INVALID_NAMESPACE, format!("schema \"{namespace}\" does not exist")),
        None => SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")),
    };
    read(arguments, |name| relation_number(catalog, name), missing)
}

fn read_type(arguments: &[Datum], catalog: &Catalog, environment: &Environment) -> Result<Datum, SqlError> {
    let found = to_regtype(arguments, catalog, environment)?;
    let find = |_: &str| match found {
        Datum::Integer(oid) => Some(oid),
        _ => None,
    };
    read(arguments, find, |name| undefined("type", name))
}

fn read_function(arguments: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let find = |name: &str| {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        functions().find(|(_, known)| *known == name).map(|(oid, _)| i128::from(oid))
    };
    read(arguments, find, |name| {
        SqlError::new(SqlState::UNDEFINED_FUNCTION, format!("function \"{name}\" does not exist"))
    })
}

fn read_namespace(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let find = |name: &str| {
        let name = resolved(catalog, name);
        let known = ["public", "pg_catalog", "information_schema"].contains(&name.as_str())
            || catalog.namespaces.contains(&name);
        known.then(|| namespace_number(catalog, &name))
    };
    read(arguments, find, |name| {
        SqlError::new(SqlState::INVALID_NAMESPACE, format!("schema \"{name}\" does not exist"))
    })
}

fn read_role(arguments: &[Datum], _: &Catalog, environment: &Environment) -> Result<Datum, SqlError> {
    read(arguments, |name| (name == environment.user).then_some(OWNER), |name| undefined("role", name))
}

/// The functions whose numbers are told: those that read values of types.
fn functions() -> impl Iterator<Item = (u32, &'static str)> {
    BUILT_IN.iter().map(|one| one.input).chain([ARRAY_INPUT, (2290, "record_in"), (3504, "enum_in")])
}

/// A name, or the number where it is of nothing; zero is `-`.
fn name_or_number(arguments: &[Datum], name: Option<String>) -> Result<Datum, SqlError> {
    Ok(match (name, wanted(arguments)) {
        (Some(name), _) => text(name),
        (None, 0) => text("-"),
        (None, oid) => text(oid.to_string()),
    })
}

/// A name as it must be written where `public` is searched.
fn visible(name: &str) -> String {
    match apart(name) {
        ("public", name) => quoted(name),
        (namespace, name) => format!("{}.{}", quoted(namespace), quoted(name)),
    }
}

fn write_relation(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    name_or_number(arguments, relation_name(catalog, wanted(arguments)).map(|name| visible(&name)))
}

/// The relation of a number.
fn relation_name(catalog: &Catalog, oid: i128) -> Option<String> {
    for table in catalog.tables.values() {
        if table_number(table) == oid {
            return Some(table.name.clone());
        }
        if let Some(key) = table.primary_key.as_ref().filter(|_| primary_index_number(table) == oid) {
            return Some(key.name.clone());
        }
        if let Some(index) = table.indexes.iter().find(|index| number_of(index.space.0) == oid) {
            return Some(index.name.clone());
        }
    }
    let sequence = catalog.sequences.values().find(|sequence| number_of(sequence.id.0) == oid);
    let view = || catalog.views.keys().find(|view| view_number(catalog, view) == oid).cloned();
    let system = || super::function::system_relation(oid).map(str::to_owned);
    sequence.map(|sequence| sequence.name.clone()).or_else(view).or_else(system)
}

fn write_type(arguments: &[Datum], catalog: &Catalog, environment: &Environment) -> Result<Datum, SqlError> {
    let oid = wanted(arguments);
    let own = catalog.tables.values().find(|table| row_type_number(table) == oid);
    if let Some(table) = own {
        return Ok(text(visible(&table.name)));
    }
    if let Some(known @ SqlType::Enumeration(_)) = u32::try_from(oid).ok().and_then(|oid| catalog.type_of_oid(oid)) {
        return Ok(text(type_name(catalog, &known)));
    }
    let told = super::function::format_type(&[number(oid)], catalog, environment)?;
    let known = told != text("???");
    name_or_number(arguments, known.then(|| written(&[told]).to_owned()))
}

fn write_function(arguments: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let oid = wanted(arguments);
    let found = functions().find(|(known, _)| i128::from(*known) == oid);
    name_or_number(arguments, found.map(|(_, name)| name.to_owned()))
}

fn write_namespace(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let oid = wanted(arguments);
    let fixed = ["public", "pg_catalog", "information_schema"].into_iter();
    let mut all = fixed.chain(catalog.namespaces.iter().map(String::as_str));
    name_or_number(arguments, all.find(|name| namespace_number(catalog, name) == oid).map(quoted))
}

fn write_role(arguments: &[Datum], _: &Catalog, environment: &Environment) -> Result<Datum, SqlError> {
    name_or_number(arguments, (wanted(arguments) == OWNER).then(|| quoted(&environment.user)))
}
