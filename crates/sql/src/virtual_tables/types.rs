//! `pg_type`, `pg_range` and `pg_enum`: PostgreSQL's own types, then enumerations and the row types of tables and views.
//!
//! Drivers read these once and keep them: what is the element of this array type, which labels has this enumeration. Types that
//! Skew has no values of are listed too, as every PostgreSQL has them.

use super::object::{
    DEFAULT_COLLATION, namespace_number, number_of, row_type_number, table_number, type_number, view_row_type_number,
};
use super::relation::view_number;
use super::{Listed, Shape, apart, number, text, truth};
use crate::catalog::Catalog;
use crate::storage::Row;
use skew_value::function::Environment;
use skew_value::oid::{BUILT_IN, BuiltIn};
use skew_value::{Datum, SqlType};

const TYPE: &str = "oid oid, typname name, typnamespace oid=11, typowner oid=10, typlen small=-1, typbyval bool=false, \
    typtype letter='b', typcategory letter='U', typispreferred bool=false, typisdefined bool=true, \
    typdelim letter, typrelid oid=0, typsubscript regproc=0, typelem oid=0, typarray oid=0, typinput regproc=0, \
    typoutput regproc=0, typreceive regproc=0, typsend regproc=0, typmodin regproc=0, typmodout regproc=0, \
    typanalyze regproc=0, typalign letter='i', typstorage letter='p', typnotnull bool=false, typbasetype oid=0, \
    typtypmod int=-1, typndims int=0, typcollation oid=0, typdefaultbin text, typdefault text, typacl text[]";
const ENUM: &str = "oid oid, enumtypid oid, enumsortorder real, enumlabel name";
const RANGE: &str = "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical regproc, \
    rngsubdiff regproc";

/// The tables of this file.
pub(super) const TABLES: &[Listed] = &[
    Listed { name: "pg_type", shape: TYPE, rows: types },
    Listed { name: "pg_enum", shape: ENUM, rows: labels },
    Listed { name: "pg_range", shape: RANGE, rows: ranges },
];

/// The number of the function that reads arrays, by which drivers know array types.
pub(super) const ARRAY_INPUT: (u32, &str) = (750, "array_in");

fn types(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(TYPE);
    let mut rows = Vec::new();
    for built_in in BUILT_IN {
        rows.push(built_in_row(&shape, built_in));
        if built_in.array != 0 {
            rows.push(array_row(
                &shape,
                built_in.array.into(),
                built_in.oid.into(),
                built_in.name,
                11,
                collation(built_in),
            ));
        }
    }
    rows.extend(own_types(&shape, catalog));
    rows
}

fn collation(built_in: &BuiltIn) -> i128 {
    match built_in.name {
        "name" => 950,
        _ if &built_in.letters[1..2] == "S" || built_in.name == "pg_node_tree" => DEFAULT_COLLATION,
        _ => 0,
    }
}

fn built_in_row(shape: &Shape, built_in: &BuiltIn) -> Row {
    let letter = |place: usize| text(&built_in.letters[place..=place]);
    let element = match built_in.name {
        "name" => 18,
        "int2vector" => 21,
        "oidvector" => 26,
        "point" | "line" => 701,
        "lseg" | "box" => 600,
        _ => 0,
    };
    let by_value = matches!(built_in.length, 1 | 2 | 4 | 8) && built_in.name != "macaddr8";
    let preferred = ["bool", "text", "oid", "float8", "inet", "timestamptz", "interval", "varbit"];
    shape.row(&[
        ("oid", number(built_in.oid)),
        ("typname", text(built_in.name)),
        ("typlen", number(built_in.length)),
        ("typbyval", truth(by_value)),
        ("typtype", letter(0)),
        ("typcategory", letter(1)),
        ("typispreferred", truth(preferred.contains(&built_in.name))),
        ("typdelim", text(if built_in.name == "box" { ";" } else { "," })),
        ("typelem", number(element)),
        ("typarray", number(built_in.array)),
        ("typinput", number(built_in.input.0)),
        ("typalign", letter(2)),
        ("typstorage", letter(3)),
        ("typcollation", number(collation(built_in))),
    ])
}

fn array_row(shape: &Shape, oid: i128, element: i128, name: &str, namespace: i128, collation: i128) -> Row {
    let aligned_wide = u32::try_from(element).ok().and_then(BuiltIn::find).is_none_or(|one| &one.letters[2..3] == "d");
    let aligned_wide = aligned_wide && element < i128::from(skew_value::FIRST_USER_OBJECT);
    shape.row(&[
        ("oid", number(oid)),
        ("typname", text(format!("_{name}"))),
        ("typnamespace", number(namespace)),
        ("typtype", text(if name == "record" || name == "cstring" { "p" } else { "b" })),
        ("typcategory", text(if name == "record" || name == "cstring" { "P" } else { "A" })),
        ("typdelim", text(if name == "box" { ";" } else { "," })),
        ("typsubscript", number(6179)),
        ("typelem", number(element)),
        ("typinput", number(ARRAY_INPUT.0)),
        ("typalign", text(if aligned_wide { "d" } else { "i" })),
        ("typstorage", text("x")),
        ("typcollation", number(collation)),
    ])
}

/// Enumerations, and the row types of tables.
fn own_types(shape: &Shape, catalog: &Catalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for enumeration in catalog.enumerations.values() {
        let (namespace, name) = apart(&enumeration.name);
        let namespace = namespace_number(catalog, namespace);
        let array = type_number(&SqlType::Array(Box::new(SqlType::Enumeration(enumeration.id))));
        let oid = number_of(enumeration.id.0);
        rows.push(shape.row(&[
            ("oid", number(oid)),
            ("typname", text(name)),
            ("typnamespace", number(namespace)),
            ("typlen", number(4)),
            ("typbyval", truth(true)),
            ("typtype", text("e")),
            ("typcategory", text("E")),
            ("typarray", number(array)),
            ("typinput", number(3504)),
        ]));
        rows.push(array_row(shape, array, oid, name, namespace, 0));
    }
    for table in catalog.tables.values() {
        rows.push(row_type(shape, catalog, &table.name, row_type_number(table), table_number(table)));
    }
    for view in catalog.views.keys() {
        rows.push(row_type(shape, catalog, view, view_row_type_number(catalog, view), view_number(catalog, view)));
    }
    rows
}

fn row_type(shape: &Shape, catalog: &Catalog, name: &str, oid: i128, relation: i128) -> Row {
    let (namespace, name) = apart(name);
    shape.row(&[
        ("oid", number(oid)),
        ("typname", text(name)),
        ("typnamespace", number(namespace_number(catalog, namespace))),
        ("typtype", text("c")),
        ("typcategory", text("C")),
        ("typrelid", number(relation)),
        ("typinput", number(2290)),
        ("typalign", text("d")),
        ("typstorage", text("x")),
    ])
}

fn labels(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(ENUM);
    let mut rows = Vec::new();
    for enumeration in catalog.enumerations.values() {
        for (place, label) in enumeration.labels.iter().enumerate() {
            rows.push(shape.row(&[
                ("oid", number((1 << 28) + 4096 * i128::from(enumeration.id.0) + place as i128)),
                ("enumtypid", number(number_of(enumeration.id.0))),
                ("enumsortorder", Datum::Real(place as f64 + 1.0)),
                ("enumlabel", text(label)),
            ]));
        }
    }
    rows
}

/// The built-in ranges: number, element, multirange.
fn ranges(_: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(RANGE);
    let known = [
        (3904, 23, 4451),
        (3906, 1700, 4532),
        (3908, 1114, 4533),
        (3910, 1184, 4534),
        (3912, 1082, 4535),
        (3926, 20, 4536),
    ];
    let row = |(oid, element, multirange): (i128, i128, i128)| {
        shape.row(&[("rngtypid", number(oid)), ("rngsubtype", number(element)), ("rngmultitypid", number(multirange))])
    };
    known.into_iter().map(row).collect()
}
