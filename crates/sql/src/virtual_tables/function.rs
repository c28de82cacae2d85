//! Functions that read the catalog: `format_type`, `pg_get_constraintdef`, `to_regclass`, ….
//!
//! They are ordinary functions except that they see the catalog of the session, so the binder finds them here ([`find`]) before it asks
//! the table of all functions. Expressions in `pg_attrdef` and `pg_index` are texts already: `pg_get_expr` only hands them on.

use super::object::{
    Constraint, DATABASE_OWNER, OWNER, constraint_number, index_definition, index_terms, number_of, primary_definition,
    primary_index_number, quoted, row_type_number, table_number, type_name, type_number,
};
use super::relation::view_number;
use super::{apart, number, text, truth};
use crate::catalog::{Catalog, Table};
use skew_value::function::Environment;
use skew_value::oid::{BUILT_IN, BuiltIn};
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType};
use std::sync::Arc;

/// What a function of the catalog computes.
pub(super) type Implementation = fn(&[Datum], &Catalog, &Environment) -> Result<Datum, SqlError>;

/// A function that reads the catalog.
#[derive(Clone, Debug)]
pub(crate) struct CatalogFunction {
    /// What its arguments are cast to.
    pub(crate) parameters: Vec<SqlType>,
    /// What it gives.
    pub(crate) result: SqlType,
    implementation: Implementation,
    /// Whether only its first argument must not be NULL.
    tolerant: bool,
}

impl CatalogFunction {
    /// A function by its parts.
    pub(super) fn new(parameters: Vec<SqlType>, result: SqlType, implementation: Implementation) -> CatalogFunction {
        CatalogFunction { parameters, result, implementation, tolerant: false }
    }

    /// Calls it; NULL among the arguments gives NULL.
    pub(crate) fn call(
        &self,
        arguments: &[Datum],
        catalog: &Catalog,
        environment: &Environment,
    ) -> Result<Datum, SqlError> {
        let counted = if self.tolerant { &arguments[..1] } else { arguments };
        if counted.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        (self.implementation)(arguments, catalog, environment)
    }
}

/// Name, parameters (those from the `?` on may be left out), result, implementation.
type Listed = (&'static str, &'static str, &'static str, Implementation);

const FUNCTIONS: &[Listed] = &[
    ("format_type", "oid ? int", "text", format_type),
    ("pg_get_expr", "text oid ? bool", "text", first),
    ("pg_get_constraintdef", "oid ? bool", "text", constraint_definition),
    ("pg_get_indexdef", "oid ? int bool", "text", definition_of_index),
    ("pg_get_viewdef", "text ? bool", "text", view_definition),
    ("pg_get_serial_sequence", "text text", "text", serial_sequence),
    ("pg_get_userbyid", "oid", "text", user_name),
    ("pg_table_is_visible", "oid", "bool", is_visible),
    ("pg_type_is_visible", "oid", "bool", always),
    ("pg_function_is_visible", "oid", "bool", always),
    ("pg_collation_is_visible", "oid", "bool", always),
    ("pg_relation_is_publishable", "oid", "bool", always),
    ("obj_description", "oid ? text", "text", object_description),
    ("col_description", "oid int", "text", column_description),
    ("shobj_description", "oid text", "text", nothing),
    ("to_regclass", "text", "regclass", to_regclass),
    ("to_regtype", "text", "regtype", to_regtype),
    ("pg_relation_size", "regclass ? text", "big", zero),
    ("pg_table_size", "regclass", "big", zero),
    ("pg_indexes_size", "regclass", "big", zero),
    ("pg_total_relation_size", "regclass", "big", zero),
    ("pg_database_size", "text", "big", zero),
    ("pg_encoding_to_char", "int", "text", encoding),
    ("has_table_privilege", "text text ? text", "bool", always),
    ("has_any_column_privilege", "text text ? text", "bool", always),
    ("has_column_privilege", "text text text ? text", "bool", always),
    ("has_schema_privilege", "text text ? text", "bool", always),
    ("has_database_privilege", "text text ? text", "bool", always),
    ("has_sequence_privilege", "text text ? text", "bool", always),
    ("has_function_privilege", "text text ? text", "bool", always),
    ("pg_has_role", "text text ? text", "bool", always),
    ("pg_is_in_recovery", "", "bool", never),
    ("pg_get_partkeydef", "oid", "text", nothing),
    ("pg_get_statisticsobjdef_columns", "oid", "text", nothing),
    ("pg_get_function_identity_arguments", "oid", "text", nothing),
    ("pg_get_function_arguments", "oid", "text", nothing),
    ("pg_get_function_result", "oid", "text", nothing),
    ("pg_get_functiondef", "oid", "text", nothing),
    ("pg_get_triggerdef", "oid ? bool", "text", nothing),
    ("pg_get_ruledef", "oid ? bool", "text", nothing),
    ("pg_tablespace_location", "oid", "text", nothing),
];

/// The function of a name with so many arguments.
pub(crate) fn find(name: &str, arguments: usize, dialect: Dialect) -> Option<CatalogFunction> {
    if dialect != Dialect::Postgres {
        return None;
    }
    let (_, parameters, result, implementation) = FUNCTIONS.iter().find(|(known, ..)| *known == name)?;
    let least = parameters.split('?').next().unwrap_or_default().split_whitespace().count();
    let all: Vec<SqlType> = parameters.split_whitespace().filter(|word| *word != "?").map(super::column_type).collect();
    let parameters = all.get(..arguments).filter(|_| arguments >= least)?.to_vec();
    Some(CatalogFunction {
        parameters,
        result: super::column_type(result),
        implementation: *implementation,
        tolerant: name == "format_type",
    })
}

fn first(arguments: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    Ok(arguments[0].clone())
}

fn always(_: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    Ok(truth(true))
}

fn never(_: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    Ok(truth(false))
}

fn nothing(_: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    Ok(Datum::Null)
}

fn zero(_: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    Ok(number(0))
}

fn encoding(_: &[Datum], _: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    Ok(text("UTF8"))
}

fn user_name(arguments: &[Datum], _: &Catalog, environment: &Environment) -> Result<Datum, SqlError> {
    Ok(match wanted(arguments, 0) {
        OWNER => text(&environment.user),
        DATABASE_OWNER => text("pg_database_owner"),
        other => text(format!("unknown (OID={other})")),
    })
}

fn wanted(arguments: &[Datum], place: usize) -> i128 {
    match arguments.get(place) {
        Some(Datum::Integer(number)) => *number,
        _ => 0,
    }
}

fn written(arguments: &[Datum], place: usize) -> &str {
    match arguments.get(place) {
        Some(Datum::Text(text)) => text,
        _ => "",
    }
}

fn table_of(catalog: &Catalog, oid: i128) -> Option<&Arc<Table>> {
    catalog.tables.values().find(|table| table_number(table) == oid)
}

/// The name of a type by its number; what bounds it is in the modifier, as `atttypmod` has it.
pub(super) fn format_type(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let oid = wanted(arguments, 0);
    let modifier = match arguments.get(1) {
        Some(Datum::Integer(modifier)) => *modifier,
        _ => -1,
    };
    let short = u32::try_from(oid).unwrap_or(0);
    if let Some(built_in) = BuiltIn::of_array(short) {
        return Ok(text(format!("{}[]", long_name(built_in.name, modifier))));
    }
    if let Some(built_in) = BuiltIn::find(short) {
        return Ok(text(long_name(built_in.name, modifier)));
    }
    if let Some(array @ SqlType::Array(_)) = catalog.type_of_oid(short) {
        return Ok(text(type_name(catalog, &array)));
    }
    if let Some(enumeration) = catalog.enumerations.values().find(|one| number_of(one.id.0) == oid) {
        return Ok(text(quoted(apart(&enumeration.name).1)));
    }
    let table = catalog.tables.values().find(|table| row_type_number(table) == oid);
    Ok(text(table.map_or_else(|| "???".to_owned(), |table| quoted(apart(&table.name).1))))
}

fn long_name(name: &str, modifier: i128) -> String {
    let length = if modifier > 4 { format!("({})", modifier - 4) } else { String::new() };
    let digits = if modifier >= 0 { format!("({modifier})") } else { String::new() };
    match name {
        "bool" => "boolean".to_owned(),
        "int2" => "smallint".to_owned(),
        "int4" => "integer".to_owned(),
        "int8" => "bigint".to_owned(),
        "float4" => "real".to_owned(),
        "float8" => "double precision".to_owned(),
        "char" => "\"char\"".to_owned(),
        "varchar" => format!("character varying{length}"),
        "bpchar" if length.is_empty() => "bpchar".to_owned(),
        "bpchar" => format!("character{length}"),
        "numeric" if modifier > 4 => {
            let bounds = modifier - 4;
            format!("numeric({},{})", bounds >> 16, bounds & 0x7ff)
        }
        "time" => format!("time{digits} without time zone"),
        "timestamp" => format!("timestamp{digits} without time zone"),
        "timestamptz" => format!("timestamp{digits} with time zone"),
        other => other.to_owned(),
    }
}

fn constraint_definition(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let oid = wanted(arguments, 0);
    for table in catalog.tables.values() {
        for (place, constraint) in Constraint::of(table).iter().enumerate() {
            if constraint_number(table, place) == oid {
                let definition = constraint.definition(catalog, table);
                let pretty = arguments.get(1) == Some(&Datum::Boolean(true));
                let short = definition.strip_prefix("CHECK ((").and_then(|rest| rest.strip_suffix("))"));
                return Ok(text(match short.filter(|_| pretty) {
                    Some(condition) => format!("CHECK ({condition})"),
                    None => definition,
                }));
            }
        }
    }
    Ok(Datum::Null)
}

/// CREATE INDEX …, or only the column at a place.
fn definition_of_index(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let (oid, place) = (wanted(arguments, 0), wanted(arguments, 1));
    for table in catalog.tables.values() {
        let (definition, terms) = if let Some(key) = &table.primary_key
            && primary_index_number(table) == oid
        {
            let terms = key.columns.iter().map(|&place| quoted(&table.columns[place].name)).collect::<Vec<String>>();
            (primary_definition(table, key), terms)
        } else if let Some(index) = table.indexes.iter().find(|index| number_of(index.space.0) == oid) {
            (index_definition(table, index), index_terms(table, index))
        } else {
            continue;
        };
        let pretty = arguments.get(2) == Some(&Datum::Boolean(true));
        return Ok(match usize::try_from(place) {
            // The short form names the namespace only where it must.
            Ok(0) | Err(_) if pretty => text(definition.replacen(" ON public.", " ON ", 1)),
            Ok(0) | Err(_) => text(definition),
            Ok(place) => terms.get(place - 1).map_or_else(|| text(""), text),
        });
    }
    Ok(Datum::Null)
}

/// By name, or by number as text.
fn view_definition(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let wanted = written(arguments, 0);
    let oid = wanted.parse::<i128>().ok();
    let found = catalog.views.values().find(|view| {
        oid == Some(view_number(catalog, &view.name)) || view.name == wanted || apart(&view.name).1 == wanted
    });
    Ok(found.map_or(Datum::Null, |view| text(format!(" {};", view.query))))
}

fn serial_sequence(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let (table, column) = (written(arguments, 0), written(arguments, 1));
    let table = match table.parse::<i128>() {
        Ok(oid) => table_of(catalog, oid).map(|table| table.name.clone()),
        Err(_) => Some(resolved(catalog, table)).filter(|name| catalog.tables.contains_key(name)),
    };
    let Some(table) = table else {
        let message = format!("relation \"{}\" does not exist", written(arguments, 0));
        return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
    };
    catalog.expect_table(&table)?.expect_column(column, Dialect::Postgres)?;
    let owner = Some((table, column.to_owned()));
    let found = catalog.sequences.values().find(|sequence| sequence.owner == owner);
    Ok(found.map_or(Datum::Null, |sequence| {
        let (namespace, name) = apart(&sequence.name);
        text(format!("{}.{}", quoted(namespace), quoted(name)))
    }))
}

/// Tables of `public` are found without their namespace.
fn is_visible(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let oid = wanted(arguments, 0);
    let hidden = catalog.tables.values().any(|table| {
        apart(&table.name).0 != "public"
            && (table_number(table) == oid
                || primary_index_number(table) == oid
                || table.indexes.iter().any(|index| number_of(index.space.0) == oid))
    });
    Ok(truth(!hidden))
}

fn object_description(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let table = table_of(catalog, wanted(arguments, 0));
    Ok(super::optional(table.and_then(|table| table.comment.as_ref())))
}

fn column_description(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let place = usize::try_from(wanted(arguments, 1) - 1).unwrap_or(usize::MAX);
    let column = table_of(catalog, wanted(arguments, 0)).and_then(|table| table.columns.get(place));
    Ok(super::optional(column.and_then(|column| column.comment.as_ref())))
}

/// A name that is written, as the catalog has it: folded unless quoted, without `public`.
pub(crate) fn resolved(catalog: &Catalog, written: &str) -> String {
    let words: Vec<String> = split_name(written);
    match words.as_slice() {
        [namespace, name] if catalog.namespaces.contains(namespace) => format!("{namespace}.{name}"),
        [.., name] => name.clone(),
        [] => String::new(),
    }
}

/// The namespace that a name is written with, if there is none such.
pub(crate) fn missing_namespace(catalog: &Catalog, written: &str) -> Option<String> {
    let words = split_name(written);
    let [namespace, _] = words.as_slice() else { return None };
    let built_in = ["public", "pg_catalog", "information_schema"].contains(&namespace.as_str());
    let known = built_in || namespace.starts_with("pg_temp") || catalog.namespaces.contains(namespace);
    (!known).then(|| namespace.clone())
}

/// The words of a qualified name.
fn split_name(written: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut inside = false;
    for character in written.chars() {
        match character {
            '"' => inside = !inside,
            '.' if !inside => words.push(String::new()),
            character => {
                let last = words.last_mut();
                let folded: String = if inside { character.to_string() } else { character.to_lowercase().collect() };
                if let Some(last) = last {
                    last.push_str(&folded);
                }
            }
        }
    }
    words
}

/// The number of a relation by its name.
pub(crate) fn relation_number(catalog: &Catalog, written: &str) -> Option<i128> {
    if let Ok(oid) = written.parse::<i128>() {
        return Some(oid);
    }
    if missing_namespace(catalog, written).is_some() {
        return None;
    }
    let name = resolved(catalog, written);
    if let Some(table) = catalog.tables.get(&name) {
        return Some(table_number(table));
    }
    if let Some(sequence) = catalog.sequences.get(&name) {
        return Some(number_of(sequence.id.0));
    }
    if catalog.views.contains_key(&name) {
        return Some(view_number(catalog, &name));
    }
    if let Some((table, place)) = catalog.find_index(&name) {
        return Some(number_of(table.indexes[place].space.0));
    }
    let primary = |table: &&Arc<Table>| table.primary_key.as_ref().is_some_and(|key| key.name == name);
    if let Some(table) = catalog.tables.values().find(primary) {
        return Some(primary_index_number(table));
    }
    SYSTEM_RELATIONS.iter().find(|(known, _)| *known == name).map(|(_, oid)| *oid)
}

/// The numbers of catalogs that clients name.
const SYSTEM_RELATIONS: &[(&str, i128)] = &[
    ("pg_class", 1259),
    ("pg_attribute", 1249),
    ("pg_type", 1247),
    ("pg_proc", 1255),
    ("pg_constraint", 2606),
    ("pg_namespace", 2615),
    ("pg_attrdef", 2604),
    ("pg_index", 2610),
    ("pg_database", 1262),
    ("pg_trigger", 2620),
];

/// The name of a catalog by its number.
pub(super) fn system_relation(oid: i128) -> Option<&'static str> {
    SYSTEM_RELATIONS.iter().find(|(_, known)| *known == oid).map(|(name, _)| *name)
}

fn to_regclass(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    Ok(relation_number(catalog, written(arguments, 0)).map_or(Datum::Null, number))
}

/// The number of a type by its name.
pub(super) fn to_regtype(arguments: &[Datum], catalog: &Catalog, _: &Environment) -> Result<Datum, SqlError> {
    let written = written(arguments, 0);
    if let Some(built_in) = BUILT_IN.iter().find(|one| one.name == written) {
        return Ok(number(built_in.oid));
    }
    if let Some(enumeration) = catalog.enumerations.get(&resolved(catalog, written)) {
        return Ok(number(number_of(enumeration.id.0)));
    }
    let known = SqlType::from_name(&written.to_lowercase(), &[], Dialect::Postgres).ok();
    Ok(known.map_or(Datum::Null, |sql_type| number(type_number(&sql_type))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_with_its_least_and_its_most_arguments() {
        for (name, parameters, ..) in FUNCTIONS {
            let least = parameters.split('?').next().unwrap_or_default().split_whitespace().count();
            let most = parameters.split_whitespace().filter(|word| *word != "?").count();
            assert!(find(name, least, Dialect::Postgres).is_some(), "{name}");
            assert!(find(name, most, Dialect::Postgres).is_some(), "{name}");
            assert!(find(name, most + 1, Dialect::Postgres).is_none(), "{name}");
        }
    }

    #[test]
    fn types_are_told_with_what_bounds_them() {
        let told = |sql_type: SqlType| {
            let arguments = [number(type_number(&sql_type)), number(super::super::object::type_modifier(&sql_type))];
            let environment = Environment::new(Dialect::Postgres, 0, 0);
            format_type(&arguments, &Catalog::default(), &environment).unwrap()
        };
        for sql_type in [
            SqlType::INTEGER,
            SqlType::Text(Some(20)),
            SqlType::Character(3),
            SqlType::Decimal(Some((10, 2))),
            SqlType::Timestamp(Some(3)),
            SqlType::TIMESTAMPTZ,
            SqlType::Array(Box::new(SqlType::INTEGER)),
            SqlType::Uuid,
        ] {
            assert_eq!(told(sql_type.clone()), text(sql_type.to_string()));
        }
    }

    #[test]
    fn names_are_folded_unless_they_are_quoted() {
        assert_eq!(split_name("public.Item"), ["public", "item"]);
        assert_eq!(split_name("\"Shop.A\".\"Item\""), ["Shop.A", "Item"]);
    }
}
