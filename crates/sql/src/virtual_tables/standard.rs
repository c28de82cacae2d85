//! `information_schema` as the standard has it and PostgreSQL fills it; what both dialects have in common is in [`TABLES`].

use super::object::{Constraint, action_words};
use super::relation::{default_text, sequence_type};
use super::{Listed, Shape, apart, count, nothing, number, optional, text, yes};
use crate::catalog::{Catalog, Column, ColumnDefault, Table};
use crate::storage::Row;
use skew_value::function::Environment;
use skew_value::oid::BuiltIn;
use skew_value::{Datum, Dialect, IntegerWidth, SqlType};

const SCHEMATA: &str = "catalog_name name, schema_name name, schema_owner name, default_character_set_catalog name, \
    default_character_set_schema name, default_character_set_name name, sql_path varchar, \
    default_collation_name text";
const TABLES_SHAPE: &str = "table_catalog name, table_schema name, table_name name, table_type varchar, \
    self_referencing_column_name name, reference_generation varchar, user_defined_type_catalog name, \
    user_defined_type_schema name, user_defined_type_name name, is_insertable_into varchar='YES', \
    is_typed varchar='NO', commit_action varchar";
const COLUMNS_SHAPE: &str = "table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int, \
    column_default varchar, is_nullable varchar, data_type varchar, character_maximum_length int, \
    character_octet_length int, numeric_precision int, numeric_precision_radix int, numeric_scale int, \
    datetime_precision int, interval_type varchar, interval_precision int, character_set_catalog name, \
    character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, \
    collation_name name, domain_catalog name, domain_schema name, domain_name name, udt_catalog name, \
    udt_schema name='pg_catalog', udt_name name, scope_catalog name, scope_schema name, scope_name name, \
    maximum_cardinality int, dtd_identifier name, is_self_referencing varchar='NO', is_identity varchar='NO', \
    identity_generation varchar, identity_start varchar, identity_increment varchar, identity_maximum varchar, \
    identity_minimum varchar, identity_cycle varchar='NO', is_generated varchar='NEVER', \
    generation_expression varchar, is_updatable varchar='YES'";
const TABLE_CONSTRAINTS: &str = "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, \
    table_schema name, table_name name, constraint_type varchar, is_deferrable varchar='NO', \
    initially_deferred varchar='NO', enforced varchar='YES', nulls_distinct varchar";
const KEY_COLUMN_USAGE: &str = "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, \
    table_schema name, table_name name, column_name name, ordinal_position int, \
    position_in_unique_constraint int, referenced_table_schema text, referenced_table_name text, \
    referenced_column_name text";
const CONSTRAINT_COLUMN_USAGE: &str = "table_catalog name, table_schema name, table_name name, column_name name, constraint_catalog name, \
    constraint_schema name, constraint_name name";
const REFERENTIAL: &str = "constraint_catalog name, constraint_schema name, constraint_name name, unique_constraint_catalog name, \
    unique_constraint_schema name, unique_constraint_name name, match_option varchar='NONE', \
    update_rule varchar, delete_rule varchar, table_name text, referenced_table_name text";
const CHECKS: &str = "constraint_catalog name, constraint_schema name, constraint_name name, check_clause varchar";
const VIEWS: &str = "table_catalog name, table_schema name, table_name name, view_definition varchar, \
    check_option varchar='NONE', is_updatable varchar='NO', is_insertable_into varchar='NO', \
    is_trigger_updatable varchar, is_trigger_deletable varchar, is_trigger_insertable_into varchar";
const SEQUENCES: &str = "sequence_catalog name, sequence_schema name, sequence_name name, data_type varchar='bigint', \
    numeric_precision int=64, numeric_precision_radix int=2, numeric_scale int=0, start_value varchar, \
    minimum_value varchar, maximum_value varchar, increment varchar, cycle_option varchar";
const ROUTINES: &str = "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, \
    routine_name name, routine_type varchar, module_catalog name, module_schema name, module_name name, \
    udt_catalog name, udt_schema name, udt_name name, data_type varchar, character_maximum_length int, \
    character_octet_length int, character_set_catalog name, character_set_schema name, character_set_name name, \
    collation_catalog name, collation_schema name, collation_name name, numeric_precision int, \
    numeric_precision_radix int, numeric_scale int, datetime_precision int, interval_type varchar, \
    interval_precision int, type_udt_catalog name, type_udt_schema name, type_udt_name name, \
    scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int, dtd_identifier name, \
    routine_body varchar, routine_definition varchar, external_name varchar, external_language varchar, \
    parameter_style varchar, is_deterministic varchar, sql_data_access varchar, is_null_call varchar, \
    sql_path varchar, schema_level_routine varchar, max_dynamic_result_sets int, is_user_defined_cast varchar, \
    is_implicitly_invocable varchar, security_type varchar, to_sql_specific_catalog name, \
    to_sql_specific_schema name, to_sql_specific_name name, as_locator varchar, created time, \
    last_altered time, new_savepoint_level varchar, is_udt_dependent varchar, \
    result_cast_from_data_type varchar, result_cast_as_locator varchar, result_cast_char_max_length int, \
    result_cast_char_octet_length int, result_cast_char_set_catalog name, result_cast_char_set_schema name, \
    result_cast_char_set_name name, result_cast_collation_catalog name, result_cast_collation_schema name, \
    result_cast_collation_name name, result_cast_numeric_precision int, \
    result_cast_numeric_precision_radix int, result_cast_numeric_scale int, result_cast_datetime_precision int, \
    result_cast_interval_type varchar, result_cast_interval_precision int, result_cast_type_udt_catalog name, \
    result_cast_type_udt_schema name, result_cast_type_udt_name name, result_cast_scope_catalog name, \
    result_cast_scope_schema name, result_cast_scope_name name, result_cast_maximum_cardinality int, \
    result_cast_dtd_identifier name";
const TRIGGERS: &str = "trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation varchar, \
    event_object_catalog name, event_object_schema name, event_object_table name, action_order int, \
    action_condition varchar, action_statement varchar, action_orientation varchar, action_timing varchar, \
    action_reference_old_table name, action_reference_new_table name, action_reference_old_row name, \
    action_reference_new_row name, created time";

const CHARACTER_SETS: &str = "character_set_catalog name, character_set_schema name, character_set_name name='UTF8', \
    character_repertoire name='UCS', form_of_use name='UTF8', default_collate_catalog name, \
    default_collate_schema name='pg_catalog', default_collate_name name='C'";

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
    Listed { name: "character_sets", shape: CHARACTER_SETS, rows: character_sets },
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

fn character_sets(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let database = catalog_name(environment);
    vec![Shape::of(CHARACTER_SETS).row(&[("default_collate_catalog", database)])]
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
            values.extend(type_values(catalog, &column.sql_type));
            values.extend(default_values(catalog, column));
            rows.push(shape.row(&values));
        }
    }
    for view in catalog.views.values() {
        for (place, column) in view.shape.iter().flatten().enumerate() {
            let mut values = vec![
                ("table_catalog", catalog_name(environment)),
                ("table_schema", text(schema(&view.name, environment))),
                ("table_name", text(apart(&view.name).1)),
                ("column_name", text(&column.name)),
                ("ordinal_position", count(place + 1)),
                ("is_nullable", yes(true)),
                ("dtd_identifier", text((place + 1).to_string())),
                ("udt_catalog", catalog_name(environment)),
                ("is_updatable", yes(false)),
            ];
            values.extend(type_values(catalog, &column.sql_type));
            rows.push(shape.row(&values));
        }
    }
    rows
}

fn type_values(catalog: &Catalog, sql_type: &SqlType) -> Vec<(&'static str, Datum)> {
    let enumeration = match sql_type {
        SqlType::Enumeration(id) => catalog.enumerations.values().find(|enumeration| enumeration.id == *id),
        _ => None,
    };
    let found = BuiltIn::find(sql_type.oid()).or_else(|| BuiltIn::of_array(sql_type.oid()));
    let udt = match (sql_type, found, enumeration) {
        (_, _, Some(enumeration)) => enumeration.name.clone(),
        (SqlType::Array(_), Some(built_in), _) => format!("_{}", built_in.name),
        (_, Some(built_in), _) => built_in.name.to_owned(),
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
        SqlType::Text(Some(u32::MAX)) => None,
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
        Some(ColumnDefault::Identity(id) | ColumnDefault::Sequence(id))
            if catalog.sequence_by_id(*id).is_some_and(|one| one.identity) =>
        {
            let always = matches!(column.default, Some(ColumnDefault::Identity(_)));
            let generation = if always { "ALWAYS" } else { "BY DEFAULT" };
            let mut values = vec![("is_identity", yes(true)), ("identity_generation", text(generation))];
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
        let sql_type = sequence_type(sequence);
        shape.row(&[
            ("data_type", text(sql_type.to_string())),
            ("numeric_precision", number(8 * i128::from(sql_type.typlen()))),
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
