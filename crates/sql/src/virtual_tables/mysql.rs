//! What MySQL's `information_schema` has in its own shape: names of types, keys and what a column does by itself.

use super::standard::{catalog_name, character_length, schema, time_digits};
use super::{Listed, Shape, apart, count, nothing, number, optional, text, yes};
use crate::catalog::{Catalog, Column, ColumnDefault, IndexColumn, Table};
use crate::storage::Row;
use skew_value::function::Environment;
use skew_value::{Datum, IntegerWidth, SqlType};

const TABLES_SHAPE: &str = "table_catalog text, table_schema text, table_name text, table_type text, engine text='InnoDB', \
    version big=10, row_format text='Dynamic', table_rows big=0, avg_row_length big=0, data_length big=0, \
    max_data_length big=0, index_length big=0, data_free big=0, auto_increment big, create_time text, update_time text, \
    check_time text, table_collation text='utf8mb4_0900_ai_ci', checksum big, create_options text='', table_comment text=''";
const COLUMNS_SHAPE: &str = "table_catalog text, table_schema text, table_name text, column_name text, ordinal_position big, \
    column_default text, is_nullable text, data_type text, character_maximum_length big, character_octet_length big, \
    numeric_precision big, numeric_scale big, datetime_precision big, character_set_name text, collation_name text, \
    column_type text, column_key text='', extra text='', privileges text='select', column_comment text='', \
    generation_expression text='', srs_id big";
const STATISTICS: &str = "table_catalog text, table_schema text, table_name text, non_unique big, index_schema text, \
    index_name text, seq_in_index big, column_name text, collation text='A', cardinality big=0, sub_part big, packed text, \
    nullable text='', index_type text='BTREE', comment text='', index_comment text='', is_visible text='YES', expression text";

/// The tables of this file.
pub(super) const TABLES: &[Listed] = &[
    Listed { name: "tables", shape: TABLES_SHAPE, rows: tables },
    Listed { name: "columns", shape: COLUMNS_SHAPE, rows: columns },
    Listed { name: "statistics", shape: STATISTICS, rows: statistics },
    Listed {
        name: "engines",
        shape: "engine text, support text, comment text, transactions text, xa text, savepoints text",
        rows: engines,
    },
    Listed {
        name: "files",
        shape: "file_id big, file_name text, file_type text, tablespace_name text, table_catalog text, \
        logfile_group_name text, engine text, total_extents big, extent_size big, initial_size big, extra text",
        rows: nothing,
    },
    Listed {
        name: "partitions",
        shape: "table_catalog text, table_schema text, table_name text, partition_name text, \
        tablespace_name text",
        rows: nothing,
    },
    Listed {
        name: "processlist",
        shape: "id big, user text, host text, db text, command text, time int, state text, info text",
        rows: nothing,
    },
    Listed {
        name: "parameters",
        shape: "specific_schema text, specific_name text, ordinal_position big, parameter_mode text, \
        parameter_name text, data_type text",
        rows: nothing,
    },
];

fn tables(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(TABLES_SHAPE);
    let place = |name: &str| {
        vec![
            ("table_catalog", catalog_name(environment)),
            ("table_schema", text(schema(name, environment))),
            ("table_name", text(apart(name).1)),
        ]
    };
    let tables = catalog.tables.values().map(|table| {
        let mut values = place(&table.name);
        values.push(("table_type", text("BASE TABLE")));
        values.push(("table_comment", text(table.comment.as_deref().unwrap_or_default())));
        shape.row(&values)
    });
    let views = catalog.views.keys().map(|view| {
        let mut values = place(view);
        values.extend([("table_type", text("VIEW")), ("engine", Datum::Null), ("table_comment", text("VIEW"))]);
        shape.row(&values)
    });
    tables.chain(views).collect()
}

fn columns(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(COLUMNS_SHAPE);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        for (position, (place, column)) in table.live_columns().enumerate() {
            let mut values = vec![
                ("table_catalog", catalog_name(environment)),
                ("table_schema", text(schema(&table.name, environment))),
                ("table_name", text(apart(&table.name).1)),
                ("column_name", text(&column.name)),
                ("ordinal_position", count(position + 1)),
                ("is_nullable", yes(column.nullable)),
                ("column_key", text(column_key(table, place))),
                ("column_comment", text(column.comment.as_deref().unwrap_or_default())),
            ];
            values.extend(type_values(catalog, column));
            values.extend(default_values(column));
            rows.push(shape.row(&values));
        }
    }
    rows
}

fn column_key(table: &Table, place: usize) -> &'static str {
    if table.primary_key.as_ref().is_some_and(|key| key.columns.contains(&place)) {
        return "PRI";
    }
    let first = |columns: &[usize]| columns.first() == Some(&place);
    let starts = table.indexes.iter().filter(|index| first(&index.plain_columns()));
    match starts.map(|index| index.unique && index.columns.len() == 1).max() {
        Some(true) => "UNI",
        Some(false) => "MUL",
        None => "",
    }
}

fn type_values(catalog: &Catalog, column: &Column) -> Vec<(&'static str, Datum)> {
    let whole = column_type(catalog, &column.sql_type);
    let name = whole.split(['(', ' ']).next().unwrap_or_default().to_owned();
    let length = character_length(&column.sql_type);
    let precision = match &column.sql_type {
        SqlType::Decimal(Some((precision, scale))) => Some((i128::from(*precision), i128::from(*scale))),
        SqlType::Integer { width, .. } => Some((integer_digits(*width), 0)),
        _ => None,
    };
    vec![
        ("data_type", text(name)),
        ("column_type", text(whole)),
        ("character_maximum_length", length.map_or(Datum::Null, number)),
        ("character_octet_length", length.map_or(Datum::Null, |length| number(4 * length))),
        ("numeric_precision", precision.map_or(Datum::Null, |(precision, _)| number(precision))),
        ("numeric_scale", precision.map_or(Datum::Null, |(_, scale)| number(scale))),
        ("datetime_precision", time_digits(&column.sql_type).map_or(Datum::Null, number)),
        ("character_set_name", optional(column.collation.as_ref().map(|_| "utf8mb4"))),
        ("collation_name", optional(column.collation.as_ref())),
    ]
}

fn integer_digits(width: IntegerWidth) -> i128 {
    match width {
        IntegerWidth::Tiny => 3,
        IntegerWidth::Small => 5,
        IntegerWidth::Medium => 7,
        IntegerWidth::Normal => 10,
        IntegerWidth::Big => 19,
    }
}

/// A type as MySQL writes it.
pub(super) fn column_type(catalog: &Catalog, sql_type: &SqlType) -> String {
    let digits = |name: &str, digits: &Option<u8>| match digits {
        None | Some(0) => name.to_owned(),
        Some(digits) => format!("{name}({digits})"),
    };
    match sql_type {
        SqlType::Integer { width, unsigned } => {
            let name = match width {
                IntegerWidth::Tiny => "tinyint",
                IntegerWidth::Small => "smallint",
                IntegerWidth::Medium => "mediumint",
                IntegerWidth::Normal => "int",
                IntegerWidth::Big => "bigint",
            };
            format!("{name}{}", if *unsigned { " unsigned" } else { "" })
        }
        SqlType::Boolean => "tinyint(1)".to_owned(),
        SqlType::Single => "float".to_owned(),
        SqlType::Double => "double".to_owned(),
        SqlType::Decimal(Some((precision, scale))) => format!("decimal({precision},{scale})"),
        SqlType::Decimal(None) => "decimal(65,30)".to_owned(),
        SqlType::Text(Some(length)) => format!("varchar({length})"),
        SqlType::Character(length) => format!("char({length})"),
        SqlType::Bytes => "blob".to_owned(),
        SqlType::Time(seconds) => digits("time", seconds),
        SqlType::Timestamp(seconds) | SqlType::TimestampZoned(seconds) => digits("datetime", seconds),
        SqlType::Enumeration(id) => {
            let found = catalog.enumerations.values().find(|enumeration| enumeration.id == *id);
            let labels = found.map(|found| found.labels.iter().map(|label| format!("'{}'", label.replace('\'', "''"))));
            format!("enum({})", labels.map(|labels| labels.collect::<Vec<String>>().join(",")).unwrap_or_default())
        }
        other => other.to_string(),
    }
}

fn default_values(column: &Column) -> Vec<(&'static str, Datum)> {
    let on_update = column.on_update.as_ref().map(|text| format!("on update {text}"));
    match &column.default {
        Some(ColumnDefault::Sequence(_) | ColumnDefault::Identity(_)) => vec![("extra", text("auto_increment"))],
        Some(ColumnDefault::Generated(expression)) => {
            vec![("extra", text("STORED GENERATED")), ("generation_expression", text(expression))]
        }
        Some(ColumnDefault::Expression(expression)) => {
            let literal = expression.trim_matches('\'');
            let is_computed = !expression.starts_with('\'') && expression.contains('(')
                || expression.to_ascii_uppercase().starts_with("CURRENT_TIMESTAMP");
            let mut extra = if is_computed { "DEFAULT_GENERATED".to_owned() } else { String::new() };
            if let Some(on_update) = on_update {
                extra = format!("{extra} {on_update}").trim().to_owned();
            }
            let default = if literal.eq_ignore_ascii_case("null") { Datum::Null } else { text(literal) };
            vec![("column_default", default), ("extra", text(extra))]
        }
        None => vec![("extra", text(on_update.unwrap_or_default()))],
    }
}

fn statistics(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(STATISTICS);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        let primary = table.primary_key.iter().map(|key| {
            let columns = key.columns.iter().map(|&place| IndexColumn::Column(place)).collect::<Vec<IndexColumn>>();
            (key.name.clone(), true, columns)
        });
        let others = table.indexes.iter().map(|index| (index.name.clone(), index.unique, index.columns.clone()));
        for (name, unique, columns) in primary.chain(others) {
            for (position, column) in columns.iter().enumerate() {
                let (column, nullable, expression) = match column {
                    IndexColumn::Column(place) => {
                        let column = &table.columns[*place];
                        (text(&column.name), column.nullable, Datum::Null)
                    }
                    IndexColumn::Expression(expression) => (Datum::Null, true, text(expression)),
                };
                rows.push(shape.row(&[
                    ("table_catalog", catalog_name(environment)),
                    ("table_schema", text(schema(&table.name, environment))),
                    ("table_name", text(apart(&table.name).1)),
                    ("non_unique", number(i128::from(!unique))),
                    ("index_schema", text(schema(&table.name, environment))),
                    ("index_name", text(&name)),
                    ("seq_in_index", count(position + 1)),
                    ("column_name", column),
                    ("nullable", text(if nullable { "YES" } else { "" })),
                    ("expression", expression),
                ]));
            }
        }
    }
    rows
}

fn engines(_: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of("engine text, support text, comment text, transactions text, xa text, savepoints text");
    vec![shape.row(&[
        ("engine", text("InnoDB")),
        ("support", text("DEFAULT")),
        ("comment", text("rows in memory, as weak as the level allows")),
        ("transactions", yes(true)),
        ("xa", yes(false)),
        ("savepoints", yes(true)),
    ])]
}
