//! `pg_attribute`: the columns of everything that has columns: tables with those that the system adds, indexes, views and sequences.

use super::object::{
    DEFAULT_COLLATION, index_terms, number_of, primary_index_number, table_number, type_modifier, type_number,
};
use super::relation::view_number;
use super::{Listed, Shape, count, number, text, truth};
use crate::catalog::{Catalog, Column, ColumnDefault, IndexColumn, Table};
use crate::storage::Row;
use skew_value::function::Environment;
use skew_value::oid::BuiltIn;
use skew_value::{Datum, SqlType};

const ATTRIBUTE: &str = "attrelid oid, attname name, atttypid oid, attstattarget int=-1, attlen small=-1, attnum small, \
    attndims int=0, attcacheoff int=-1, atttypmod int=-1, attbyval bool=false, attalign letter='i', \
    attstorage letter='p', attcompression letter='', attnotnull bool=false, atthasdef bool=false, \
    atthasmissing bool=false, attidentity letter='', attgenerated letter='', attisdropped bool=false, \
    attislocal bool=true, attinhcount int=0, attcollation oid=0, attacl text[], attoptions text[], \
    attfdwoptions text[], attmissingval text";

/// The tables of this file.
pub(super) const TABLES: &[Listed] = &[Listed { name: "pg_attribute", shape: ATTRIBUTE, rows: attributes }];

/// The columns that every table has besides its own: name, number of the type, place.
const SYSTEM_COLUMNS: [(&str, i128, i128); 6] =
    [("tableoid", 26, -6), ("cmax", 29, -5), ("xmax", 28, -4), ("cmin", 29, -3), ("xmin", 28, -2), ("ctid", 27, -1)];

fn attributes(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(ATTRIBUTE);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        rows.extend(SYSTEM_COLUMNS.iter().map(|column| system_column(&shape, table, column)));
        let own = table.columns.iter().enumerate();
        rows.extend(own.map(|(place, column)| table_column(&shape, catalog, table, place, column)));
        rows.extend(index_columns(&shape, table));
    }
    for view in catalog.views.values() {
        let relation = view_number(catalog, &view.name);
        let columns = view.shape.iter().flatten().enumerate();
        rows.extend(columns.map(|(place, column)| plain(&shape, relation, place, &column.name, &column.sql_type)));
    }
    for sequence in catalog.sequences.values() {
        let columns = [("last_value", SqlType::BIGINT), ("log_cnt", SqlType::BIGINT), ("is_called", SqlType::Boolean)];
        let relation = number_of(sequence.id.0);
        for (place, (name, sql_type)) in columns.iter().enumerate() {
            rows.push(plain(&shape, relation, place, name, sql_type));
        }
    }
    rows
}

fn system_column(shape: &Shape, table: &Table, (name, sql_type, place): &(&str, i128, i128)) -> Row {
    let length = if *name == "ctid" { 6 } else { 4 };
    shape.row(&[
        ("attrelid", number(table_number(table))),
        ("attname", text(name)),
        ("atttypid", number(*sql_type)),
        ("attlen", number(length)),
        ("attnum", number(*place)),
        ("attbyval", truth(length == 4)),
        ("attalign", text(if length == 4 { "i" } else { "s" })),
        ("attnotnull", truth(true)),
        ("attislocal", truth(true)),
    ])
}

/// A column by its type alone.
fn plain(shape: &Shape, relation: i128, place: usize, name: &str, sql_type: &SqlType) -> Row {
    let mut values = vec![
        ("attrelid", number(relation)),
        ("attname", text(name)),
        ("attnum", count(place + 1)),
        ("attndims", number(i128::from(matches!(sql_type, SqlType::Array(_))))),
    ];
    values.extend(type_values(sql_type));
    shape.row(&values)
}

/// What a column has from its type.
fn type_values(sql_type: &SqlType) -> Vec<(&'static str, Datum)> {
    let built_in = BuiltIn::find(sql_type.oid());
    let letters = match built_in {
        Some(built_in) => built_in.letters,
        None if matches!(sql_type, SqlType::Enumeration(_)) => "eEip",
        None => "bAix",
    };
    let length = sql_type.typlen();
    let collation = match sql_type {
        SqlType::Text(_) | SqlType::Character(_) => DEFAULT_COLLATION,
        SqlType::Name => 950,
        _ => 0,
    };
    vec![
        ("atttypid", number(type_number(sql_type))),
        ("atttypmod", number(type_modifier(sql_type))),
        ("attlen", number(length)),
        ("attbyval", truth(matches!(length, 1 | 2 | 4 | 8))),
        ("attalign", text(&letters[2..3])),
        ("attstorage", text(&letters[3..4])),
        ("attcollation", number(collation)),
    ]
}

fn table_column(shape: &Shape, catalog: &Catalog, table: &Table, place: usize, column: &Column) -> Row {
    let (identity, generated) = match &column.default {
        Some(ColumnDefault::Identity(_)) => ("a", ""),
        Some(ColumnDefault::Sequence(id)) if catalog.sequence_by_id(*id).is_some_and(|one| one.identity) => ("d", ""),
        Some(ColumnDefault::Generated(_)) => ("", "s"),
        _ => ("", ""),
    };
    let name = if column.dropped { format!("........pg.dropped.{}........", place + 1) } else { column.name.clone() };
    let mut values = vec![
        ("attrelid", number(table_number(table))),
        ("attname", text(name)),
        ("attnum", count(place + 1)),
        ("attndims", number(i128::from(matches!(column.sql_type, SqlType::Array(_))))),
        ("attnotnull", truth(!column.nullable)),
        ("atthasdef", truth(column.default.is_some() && identity.is_empty())),
        ("attidentity", text(identity)),
        ("attgenerated", text(generated)),
        ("attisdropped", truth(column.dropped)),
    ];
    values.extend(type_values(&column.sql_type));
    if column.dropped {
        values.retain(|(name, _)| *name != "atttypid");
        values.push(("atttypid", number(0)));
    }
    shape.row(&values)
}

fn index_columns(shape: &Shape, table: &Table) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(key) = &table.primary_key {
        for (place, &column) in key.columns.iter().enumerate() {
            let column = &table.columns[column];
            rows.push(plain(shape, primary_index_number(table), place, &column.name, &column.sql_type));
        }
    }
    for index in &table.indexes {
        for (place, (column, term)) in index.columns.iter().zip(index_terms(table, index)).enumerate() {
            let (name, sql_type) = match column {
                IndexColumn::Column(column) => {
                    (table.columns[*column].name.clone(), table.columns[*column].sql_type.clone())
                }
                // A call is named after its function, anything else is `expr`; its type is not kept.
                IndexColumn::Expression(_) => {
                    let name = term.split_once('(').map_or("", |(name, _)| name).trim();
                    (if name.is_empty() { "expr".to_owned() } else { name.to_owned() }, SqlType::TEXT)
                }
            };
            rows.push(plain(shape, number_of(index.space.0), place, &name, &sql_type));
        }
    }
    rows
}
