//! `information_schema` as the standard has it and PostgreSQL fills it; what both dialects have in common is in [`TABLES`].

use super::object::{Constraint, action_words, type_number};
use super::relation::default_text;
use super::{Listed, Shape, apart, count, nothing, number, optional, text, yes};
use crate::catalog::{Catalog, Column, ColumnDefault, Table};
use crate::dialect::Dialect;
use crate::function::Environment;
use crate::storage::Row;
use crate::value::Datum;
use crate::value::types::{IntegerWidth, SqlType};

const SCHEMATA: &str = "catalog_name text, schema_name text, schema_owner text, default_character_set_catalog text, \
    default_character_set_schema text, default_character_set_name text, default_collation_name text, sql_path text";
const TABLES_SHAPE: &str = "table_catalog text, table_schema text, table_name text, table_type text, \
    self_referencing_column_name text, reference_generation text, user_defined_type_catalog text, \
    user_defined_type_schema text, user_defined_type_name text, is_insertable_into text='YES', is_typed text='NO', \
    commit_action text";
const COLUMNS_SHAPE: &str = "table_catalog text, table_schema text, table_name text, column_name text, ordinal_position int, \
    column_default text, is_nullable text, data_type text, character_maximum_length int, character_octet_length int, \
    numeric_precision int, numeric_precision_radix int, numeric_scale int, datetime_precision int, interval_type text, \
    interval_precision int, character_set_catalog text, character_set_schema text, character_set_name text, \
    collation_catalog text, collation_schema text, collation_name text, domain_catalog text, domain_schema text, \
    domain_name text, udt_catalog text, udt_schema text='pg_catalog', udt_name text, scope_catalog text, scope_schema text, \
    scope_name text, maximum_cardinality int, dtd_identifier text, is_self_referencing text='NO', is_identity text='NO', \
    identity_generation text, identity_start text, identity_increment text, identity_maximum text, identity_minimum text, \
    identity_cycle text='NO', is_generated text='NEVER', generation_expression text, is_updatable text='YES'";
const TABLE_CONSTRAINTS: &str = "constraint_catalog text, constraint_schema text, constraint_name text, table_catalog text, \
    table_schema text, table_name text, constraint_type text, is_deferrable text='NO', initially_deferred text='NO', \
    enforced text='YES', nulls_distinct text";
const KEY_COLUMN_USAGE: &str = "constraint_catalog text, constraint_schema text, constraint_name text, table_catalog text, \
    table_schema text, table_name text, column_name text, ordinal_position int, position_in_unique_constraint int, \
    referenced_table_schema text, referenced_table_name text, referenced_column_name text";
const CONSTRAINT_COLUMN_USAGE: &str = "table_catalog text, table_schema text, table_name text, column_name text, \
    constraint_catalog text, constraint_schema text, constraint_name text";
const REFERENTIAL: &str = "constraint_catalog text, constraint_schema text, constraint_name text, \
    unique_constraint_catalog text, unique_constraint_schema text, unique_constraint_name text, match_option text='NONE', \
    update_rule text, delete_rule text, table_name text, referenced_table_name text";
const CHECKS: &str = "constraint_catalog text, constraint_schema text, constraint_name text, check_clause text";
const VIEWS: &str = "table_catalog text, table_schema text, table_name text, view_definition text, check_option text='NONE', \
    is_updatable text='NO', is_insertable_into text='NO'";
const SEQUENCES: &str = "sequence_catalog text, sequence_schema text, sequence_name text, data_type text='bigint', \
    numeric_precision int=64, numeric_precision_radix int=2, numeric_scale int=0, start_value text, minimum_value text, \
    maximum_value text, increment text, cycle_option text";
const ROUTINES: &str = "specific_schema text, specific_name text, routine_catalog text, routine_schema text, \
    routine_name text, routine_type text, data_type text, routine_definition text";
const TRIGGERS: &str = "trigger_catalog text, trigger_schema text, trigger_name text, event_manipulation text, \
    event_object_catalog text, event_object_schema text, event_object_table text, action_order int, action_condition text, \
    action_statement text, action_orientation text, action_timing text";

/// What both dialects have.
pub(super) const TABLES: &[Listed] = &[
    Listed { name: "schemata", shape: SCHEMATA, rows: schemata },
    Listed { name: "table_constraints", shape: TABLE_CONSTRAINTS, rows: table_constraints },
    Listed { name: "key_column_usage", shape: KEY_COLUMN_USAGE, rows: key_column_usage },
    Listed { name: "constraint_column_usage", shape: CONSTRAINT_COLUMN_USAGE, rows: constraint_column_usage },
    Listed { name: "referential_constraints", shape: REFERENTIAL, rows: referential_constraints },
    Listed { name: "check_constraints", shape: CHECKS, rows: check_constraints },
    Listed { name: "views", shape: VIEWS, rows: views },
    Listed { name: "sequences", shape: SEQUENCES, rows: sequences },
    Listed { name: "routines", shape: ROUTINES, rows: nothing },
    Listed { name: "triggers", shape: TRIGGERS, rows: nothing },
];

/// What PostgreSQL has in its own shape.
pub(super) const POSTGRES: &[Listed] = &[
    Listed { name: "tables", shape: TABLES_SHAPE, rows: tables },
    Listed { name: "columns", shape: COLUMNS_SHAPE, rows: columns },
];

/// The namespace of a thing as `information_schema` has it: MySQL's is the database.
pub(super) fn schema<'name>(name: &'name str, environment: &'name Environment) -> &'name str {
    match (name.rsplit_once('.'), environment.dialect) {
        (Some((namespace, _)), _) => namespace,
        (None, Dialect::Postgres) => "public",
        (None, Dialect::MySql) => &environment.database,
    }
}

/// The catalog of a thing: MySQL calls it `def`.
pub(super) fn catalog_name(environment: &Environment) -> Datum {
    match environment.dialect {
        Dialect::Postgres => text(&environment.database),
        Dialect::MySql => text("def"),
    }
}

fn schemata(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(SCHEMATA);
    let fixed: Vec<&str> = match environment.dialect {
        Dialect::Postgres => vec!["public", "pg_catalog", "information_schema"],
        Dialect::MySql => vec!["information_schema", &environment.database],
    };
    let own = catalog.namespaces.iter().map(String::as_str);
    let row = |name: &str| {
        shape.row(&[
            ("catalog_name", catalog_name(environment)),
            ("schema_name", text(name)),
            ("schema_owner", text(&environment.user)),
            ("default_character_set_name", text("utf8mb4")),
            ("default_collation_name", text("utf8mb4_0900_ai_ci")),
        ])
    };
    fixed.into_iter().chain(own).map(row).collect()
}

fn tables(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(TABLES_SHAPE);
    let row = |name: &str, kind: &str, insertable: bool| {
        shape.row(&[
            ("table_catalog", catalog_name(environment)),
            ("table_schema", text(schema(name, environment))),
            ("table_name", text(apart(name).1)),
            ("table_type", text(kind)),
            ("is_insertable_into", yes(insertable)),
        ])
    };
    let kind = |table: &Table| if table.temporary { "LOCAL TEMPORARY" } else { "BASE TABLE" };
    let own = catalog.tables.values().map(|table| row(&table.name, kind(table), true));
    own.chain(catalog.views.keys().map(|view| row(view, "VIEW", false))).collect()
}

fn columns(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(COLUMNS_SHAPE);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        for (place, column) in table.live_columns() {
            let mut values = vec![
                ("table_catalog", catalog_name(environment)),
                ("table_schema", text(schema(&table.name, environment))),
                ("table_name", text(apart(&table.name).1)),
                ("column_name", text(&column.name)),
                ("ordinal_position", count(place + 1)),
                ("is_nullable", yes(column.nullable)),
                ("dtd_identifier", text((place + 1).to_string())),
                ("udt_catalog", catalog_name(environment)),
            ];
            values.extend(type_values(catalog, column));
            values.extend(default_values(catalog, column));
            rows.push(shape.row(&values));
        }
    }
    rows
}

fn type_values(catalog: &Catalog, column: &Column) -> Vec<(&'static str, Datum)> {
    let sql_type = &column.sql_type;
    let enumeration = match sql_type {
        SqlType::Enumeration(id) => catalog.enumerations.values().find(|enumeration| enumeration.id == *id),
        _ => None,
    };
    let number_of_type = type_number(sql_type);
    let found = super::object::TYPES.iter().find(|(oid, array, ..)| *oid == number_of_type || *array == number_of_type);
    let udt = match (sql_type, found, enumeration) {
        (_, _, Some(enumeration)) => enumeration.name.clone(),
        (SqlType::Array(_), Some((_, _, name, ..)), _) => format!("_{name}"),
        (_, Some((_, _, name, ..)), _) => (*name).to_owned(),
        _ => sql_type.to_string(),
    };
    let (length, (precision, scale)) = (character_length(sql_type), numeric_bounds(sql_type));
    vec![
        ("data_type", text(base_type(sql_type))),
        ("udt_name", text(udt)),
        ("character_maximum_length", length.map_or(Datum::Null, number)),
        ("character_octet_length", length.map_or(Datum::Null, |length| number(4 * length))),
        ("numeric_precision", precision.map_or(Datum::Null, number)),
        ("numeric_precision_radix", precision.map_or(Datum::Null, |_| number(radix(sql_type)))),
        ("numeric_scale", scale.map_or(Datum::Null, number)),
        ("datetime_precision", time_digits(sql_type).map_or(Datum::Null, number)),
        ("collation_name", Datum::Null),
    ]
}

/// The name of a type without its bounds.
fn base_type(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Text(Some(_)) => "character varying".to_owned(),
        SqlType::Character(_) => "character".to_owned(),
        SqlType::Decimal(_) => "numeric".to_owned(),
        SqlType::Time(_) => "time without time zone".to_owned(),
        SqlType::Timestamp(_) => "timestamp without time zone".to_owned(),
        SqlType::TimestampZoned(_) => "timestamp with time zone".to_owned(),
        SqlType::Array(_) => "ARRAY".to_owned(),
        SqlType::Enumeration(_) => "USER-DEFINED".to_owned(),
        other => other.to_string(),
    }
}

/// How many characters a type holds at most.
pub(super) fn character_length(sql_type: &SqlType) -> Option<i128> {
    match sql_type {
        SqlType::Text(Some(length)) | SqlType::Character(length) => Some(i128::from(*length)),
        _ => None,
    }
}

/// Precision and scale of a number.
fn numeric_bounds(sql_type: &SqlType) -> (Option<i128>, Option<i128>) {
    match sql_type {
        SqlType::Integer { width, .. } => {
            let bits = match width {
                IntegerWidth::Tiny => 8,
                IntegerWidth::Small => 16,
                IntegerWidth::Medium => 24,
                IntegerWidth::Normal => 32,
                IntegerWidth::Big => 64,
            };
            (Some(bits), Some(0))
        }
        SqlType::Single => (Some(24), None),
        SqlType::Double => (Some(53), None),
        SqlType::Decimal(Some((precision, scale))) => (Some(i128::from(*precision)), Some(i128::from(*scale))),
        _ => (None, None),
    }
}

fn radix(sql_type: &SqlType) -> i128 {
    if matches!(sql_type, SqlType::Decimal(_)) { 10 } else { 2 }
}

/// The digits of the seconds of a time.
pub(super) fn time_digits(sql_type: &SqlType) -> Option<i128> {
    match sql_type {
        SqlType::Date => Some(0),
        SqlType::Time(digits) | SqlType::Timestamp(digits) | SqlType::TimestampZoned(digits) => {
            Some(i128::from(digits.unwrap_or(6)))
        }
        SqlType::Interval => Some(6),
        _ => None,
    }
}

fn default_values(catalog: &Catalog, column: &Column) -> Vec<(&'static str, Datum)> {
    let default = default_text(catalog, column);
    match &column.default {
        Some(ColumnDefault::Generated(expression)) => {
            vec![("is_generated", text("ALWAYS")), ("generation_expression", text(expression))]
        }
        Some(ColumnDefault::Identity(id)) => {
            let mut values = vec![("is_identity", yes(true)), ("identity_generation", text("ALWAYS"))];
            if let Some(sequence) = catalog.sequence_by_id(*id) {
                values.push(("identity_start", text(sequence.rule.start.to_string())));
                values.push(("identity_increment", text(sequence.rule.increment.to_string())));
                values.push(("identity_maximum", text(sequence.rule.greatest.to_string())));
                values.push(("identity_minimum", text(sequence.rule.least.to_string())));
            }
            values
        }
        _ => vec![("column_default", optional(default))],
    }
}

/// Every constraint with its table.
fn all_constraints<'catalog>(
    catalog: &'catalog Catalog,
) -> impl Iterator<Item = (&'catalog Table, Constraint<'catalog>)> {
    catalog.tables.values().flat_map(|table| Constraint::of(table).into_iter().map(move |one| (table.as_ref(), one)))
}

/// The columns that say which constraint of which table is meant.
fn constraint_place(
    table: &Table,
    constraint: &Constraint<'_>,
    environment: &Environment,
) -> Vec<(&'static str, Datum)> {
    vec![
        ("constraint_catalog", catalog_name(environment)),
        ("constraint_schema", text(schema(&table.name, environment))),
        ("constraint_name", text(apart(constraint.name()).1)),
    ]
}

fn table_place(table: &Table, environment: &Environment) -> Vec<(&'static str, Datum)> {
    vec![
        ("table_catalog", catalog_name(environment)),
        ("table_schema", text(schema(&table.name, environment))),
        ("table_name", text(apart(&table.name).1)),
    ]
}

fn table_constraints(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(TABLE_CONSTRAINTS);
    let row = |(table, constraint): (&Table, Constraint<'_>)| {
        let deferred = matches!(&constraint, Constraint::Foreign(key) if key.deferred);
        let mut values = constraint_place(table, &constraint, environment);
        values.extend(table_place(table, environment));
        values.push(("constraint_type", text(constraint.kind().1)));
        values.push(("is_deferrable", yes(deferred)));
        values.push(("initially_deferred", yes(deferred)));
        shape.row(&values)
    };
    all_constraints(catalog).map(row).collect()
}

fn key_column_usage(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(KEY_COLUMN_USAGE);
    let mut rows = Vec::new();
    for (table, constraint) in all_constraints(catalog) {
        for (position, &place) in constraint.columns().iter().enumerate() {
            let mut values = constraint_place(table, &constraint, environment);
            values.extend(table_place(table, environment));
            values.push(("column_name", text(&table.columns[place].name)));
            values.push(("ordinal_position", count(position + 1)));
            if let Constraint::Foreign(key) = &constraint
                && let Some(parent) = catalog.tables.get(&key.parent)
            {
                values.push(("position_in_unique_constraint", count(position + 1)));
                values.push(("referenced_table_schema", text(schema(&parent.name, environment))));
                values.push(("referenced_table_name", text(apart(&parent.name).1)));
                let column = &parent.columns[key.parent_columns[position]];
                values.push(("referenced_column_name", text(&column.name)));
            }
            rows.push(shape.row(&values));
        }
    }
    rows
}

fn constraint_column_usage(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(CONSTRAINT_COLUMN_USAGE);
    let mut rows = Vec::new();
    for (table, constraint) in all_constraints(catalog) {
        // A foreign key uses the columns it points to.
        let (used, columns) = match &constraint {
            Constraint::Foreign(key) => match catalog.tables.get(&key.parent) {
                Some(parent) => (parent.as_ref(), key.parent_columns.clone()),
                None => continue,
            },
            other => (table, other.columns()),
        };
        for place in columns {
            let mut values = constraint_place(table, &constraint, environment);
            values.extend(table_place(used, environment));
            values.push(("column_name", text(&used.columns[place].name)));
            rows.push(shape.row(&values));
        }
    }
    rows
}

fn referential_constraints(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(REFERENTIAL);
    let mut rows = Vec::new();
    for (table, constraint) in all_constraints(catalog) {
        let Constraint::Foreign(key) = &constraint else { continue };
        let parent = catalog.tables.get(&key.parent);
        let unique = parent.and_then(|parent| {
            let same = |one: &Constraint<'_>| {
                matches!(one, Constraint::Primary(_) | Constraint::Unique(_)) && one.columns() == key.parent_columns
            };
            Constraint::of(parent).into_iter().find(same).map(|one| one.name().to_owned())
        });
        let mut values = constraint_place(table, &constraint, environment);
        values.push(("unique_constraint_catalog", catalog_name(environment)));
        values.push(("unique_constraint_schema", text(schema(&key.parent, environment))));
        values.push(("unique_constraint_name", optional(unique)));
        values.push(("update_rule", text(action_words(key.on_update))));
        values.push(("delete_rule", text(action_words(key.on_delete))));
        values.push(("table_name", text(apart(&table.name).1)));
        values.push(("referenced_table_name", text(apart(&key.parent).1)));
        rows.push(shape.row(&values));
    }
    rows
}

fn check_constraints(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(CHECKS);
    let row = |(table, constraint): (&Table, Constraint<'_>)| match &constraint {
        Constraint::Check(check) => {
            let mut values = constraint_place(table, &constraint, environment);
            values.push(("check_clause", text(format!("({})", check.condition))));
            Some(shape.row(&values))
        }
        _ => None,
    };
    all_constraints(catalog).filter_map(row).collect()
}

fn views(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(VIEWS);
    let row = |view: &crate::catalog::View| {
        shape.row(&[
            ("table_catalog", catalog_name(environment)),
            ("table_schema", text(schema(&view.name, environment))),
            ("table_name", text(apart(&view.name).1)),
            ("view_definition", text(&view.query)),
        ])
    };
    catalog.views.values().map(|view| row(view)).collect()
}

fn sequences(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(SEQUENCES);
    let row = |sequence: &crate::catalog::Sequence| {
        shape.row(&[
            ("sequence_catalog", catalog_name(environment)),
            ("sequence_schema", text(schema(&sequence.name, environment))),
            ("sequence_name", text(apart(&sequence.name).1)),
            ("start_value", text(sequence.rule.start.to_string())),
            ("minimum_value", text(sequence.rule.least.to_string())),
            ("maximum_value", text(sequence.rule.greatest.to_string())),
            ("increment", text(sequence.rule.increment.to_string())),
            ("cycle_option", yes(sequence.rule.cycles)),
        ])
    };
    catalog.sequences.values().map(|sequence| row(sequence)).collect()
}
