//! `pg_class` and what hangs on it: columns, defaults, indexes, constraints, sequences, comments.

use super::object::view_row_type_number;
use super::object::{
    Constraint, DEFAULT_COLLATION, action_letter, constraint_number, index_definition, namespace_number, number_of,
    primary_definition, primary_index_number, row_type_number, table_number,
};
use super::operator_class::{BTREE, HEAP, usual_class};
use super::{Listed, Shape, apart, count, nothing, number, numbers, optional, text, truth};
use crate::catalog::{Catalog, Column, ColumnDefault, IndexColumn, Table};
use crate::storage::Row;
use skew_value::function::Environment;
use skew_value::{Datum, SqlType};

const CLASS: &str = "oid oid, relname name, relnamespace oid, reltype oid=0, reloftype oid=0, relowner oid=10, relam oid=0, \
    relfilenode oid=0, reltablespace oid=0, relpages int=0, reltuples real=-1, relallvisible int=0, \
    reltoastrelid oid=0, relhasindex bool=false, relisshared bool=false, relpersistence letter='p', \
    relkind letter='r', relnatts small=0, relchecks small=0, relhasrules bool=false, relhastriggers bool=false, \
    relhassubclass bool=false, relrowsecurity bool=false, relforcerowsecurity bool=false, \
    relispopulated bool=true, relreplident letter='d', relispartition bool=false, relrewrite oid=0, \
    relfrozenxid oid=0, relminmxid oid=0, relacl text[], reloptions text[], relpartbound text";
const ATTRDEF: &str = "oid oid, adrelid oid, adnum small, adbin text";
const INDEX: &str = "indexrelid oid, indrelid oid, indnatts small, indnkeyatts small, indisunique bool, \
    indnullsnotdistinct bool=false, indisprimary bool, indisexclusion bool=false, indimmediate bool=true, \
    indisclustered bool=false, indisvalid bool=true, indcheckxmin bool=false, indisready bool=true, \
    indislive bool=true, indisreplident bool=false, indkey int2vector, indcollation oidvector, \
    indclass oidvector, indoption int2vector, indexprs text, indpred text";
const CONSTRAINT: &str = "oid oid, conname name, connamespace oid, contype letter, condeferrable bool=false, condeferred bool=false, \
    convalidated bool=true, conrelid oid=0, contypid oid=0, conindid oid=0, conparentid oid=0, confrelid oid=0, \
    confupdtype letter=' ', confdeltype letter=' ', confmatchtype letter=' ', conislocal bool=true, \
    coninhcount int=0, connoinherit bool=true, conkey small[], confkey small[], conpfeqop oid[], \
    conppeqop oid[], conffeqop oid[], confdelsetcols small[], conexclop oid[], conbin text";
const SEQUENCE: &str = "seqrelid oid, seqtypid oid=20, seqstart big, seqincrement big, seqmax big, seqmin big, seqcache big=1, \
    seqcycle bool";
const DESCRIPTION: &str = "objoid oid, classoid oid, objsubid int, description text";
const TABLES_VIEW: &str = "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool=false, \
    hastriggers bool=false, rowsecurity bool=false";
const INDEXES_VIEW: &str = "schemaname name, tablename name, indexname name, tablespace name, indexdef text";
const VIEWS_VIEW: &str = "schemaname name, viewname name, viewowner name, definition text";
const SEQUENCES_VIEW: &str = "schemaname name, sequencename name, sequenceowner name, data_type regtype=20, start_value big, \
    min_value big, max_value big, increment_by big, cycle bool, cache_size big=1, last_value big";
const DEPEND: &str =
    "classid oid, objid oid, objsubid int, refclassid oid, refobjid oid, refobjsubid int, deptype letter";

/// The tables of this file.
pub(super) const TABLES: &[Listed] = &[
    Listed { name: "pg_class", shape: CLASS, rows: classes },
    Listed { name: "pg_attrdef", shape: ATTRDEF, rows: defaults },
    Listed { name: "pg_index", shape: INDEX, rows: indexes },
    Listed { name: "pg_constraint", shape: CONSTRAINT, rows: constraints },
    Listed { name: "pg_sequence", shape: SEQUENCE, rows: sequences },
    Listed { name: "pg_description", shape: DESCRIPTION, rows: descriptions },
    Listed { name: "pg_tables", shape: TABLES_VIEW, rows: tables_view },
    Listed { name: "pg_indexes", shape: INDEXES_VIEW, rows: indexes_view },
    Listed { name: "pg_views", shape: VIEWS_VIEW, rows: views_view },
    Listed { name: "pg_sequences", shape: SEQUENCES_VIEW, rows: sequences_view },
    Listed { name: "pg_depend", shape: DEPEND, rows: dependencies },
    Listed {
        name: "pg_inherits",
        shape: "inhrelid oid, inhparent oid, inhseqno int, inhdetachpending bool",
        rows: nothing,
    },
];

/// The number of `pg_class` itself, which comments and dependencies point to.
pub(super) const CLASS_OF_RELATIONS: i128 = 1259;

fn classes(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(CLASS);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        rows.push(table_class(&shape, catalog, table));
        rows.extend(index_classes(&shape, catalog, table));
    }
    for view in catalog.views.values() {
        let (namespace, name) = apart(&view.name);
        rows.push(shape.row(&[
            ("oid", number(view_number(catalog, &view.name))),
            ("relname", text(name)),
            ("relnamespace", number(namespace_number(catalog, namespace))),
            ("reltype", number(view_row_type_number(catalog, &view.name))),
            ("relkind", text("v")),
            ("relnatts", count(view.shape.as_ref().map_or(0, Vec::len))),
            ("relhasrules", truth(true)),
        ]));
    }
    for sequence in catalog.sequences.values() {
        let (namespace, name) = apart(&sequence.name);
        rows.push(shape.row(&[
            ("oid", number(number_of(sequence.id.0))),
            ("relname", text(name)),
            ("relnamespace", number(namespace_number(catalog, namespace))),
            ("relkind", text("S")),
            ("relnatts", number(3)),
        ]));
    }
    rows
}

/// Views have no number of their own: their place among the views, behind everything else.
pub(super) fn view_number(catalog: &Catalog, name: &str) -> i128 {
    let place = catalog.views.keys().position(|known| known == name).unwrap_or(0);
    (1 << 27) + place as i128
}

fn table_class(shape: &Shape, catalog: &Catalog, table: &Table) -> Row {
    let (namespace, name) = apart(&table.name);
    shape.row(&[
        ("oid", number(table_number(table))),
        ("relname", text(name)),
        ("relnamespace", number(namespace_number(catalog, namespace))),
        ("reltype", number(row_type_number(table))),
        ("relam", number(HEAP)),
        ("relfilenode", number(table_number(table))),
        ("relhasindex", truth(table.primary_key.is_some() || !table.indexes.is_empty())),
        ("relpersistence", text(if table.temporary { "t" } else { "p" })),
        ("relnatts", count(table.columns.len())),
        ("relchecks", count(table.checks.len())),
        ("relhastriggers", truth(has_triggers(catalog, table))),
    ])
}

/// Foreign keys are kept by triggers, on both sides.
fn has_triggers(catalog: &Catalog, table: &Table) -> bool {
    !table.foreign_keys.is_empty() || catalog.references_to(&table.name).next().is_some()
}

fn index_classes(shape: &Shape, catalog: &Catalog, table: &Table) -> Vec<Row> {
    let namespace = namespace_number(catalog, apart(&table.name).0);
    let row = |oid: i128, name: &str, width: usize| {
        shape.row(&[
            ("oid", number(oid)),
            ("relname", text(apart(name).1)),
            ("relnamespace", number(namespace)),
            ("relkind", text("i")),
            ("relam", number(BTREE)),
            ("relnatts", count(width)),
        ])
    };
    let primary = table.primary_key.iter().map(|key| row(primary_index_number(table), &key.name, key.columns.len()));
    let others = table.indexes.iter().map(|index| row(number_of(index.space.0), &index.name, index.columns.len()));
    primary.chain(others).collect()
}

/// The default of a column as text.
pub(super) fn default_text(catalog: &Catalog, column: &Column) -> Option<String> {
    match column.default.as_ref()? {
        ColumnDefault::Expression(text) => Some(told_default(text, &column.sql_type)),
        ColumnDefault::Generated(text) => Some(text.to_string()),
        ColumnDefault::Sequence(id) => {
            let sequence = catalog.sequence_by_id(*id).filter(|sequence| !sequence.identity)?;
            Some(format!("nextval('{}'::regclass)", super::object::quoted(&sequence.name)))
        }
        ColumnDefault::Identity(_) => None,
    }
}

/// A default as PostgreSQL tells it: literals have their type behind them, unless they show it.
fn told_default(written: &str, sql_type: &SqlType) -> String {
    let written = written.trim();
    let inner = written.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let plain = inner.filter(|inner| !inner[..inner.len().saturating_sub(1)].contains(')') && inner.contains('('));
    let written = plain.unwrap_or(written);
    let literal = written.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let Some(literal) = literal.filter(|inner| !inner.replace("''", "").contains('\'')) else {
        return match written {
            "TRUE" | "True" => "true".to_owned(),
            "FALSE" | "False" => "false".to_owned(),
            other => other.to_owned(),
        };
    };
    match (sql_type, skew_value::input(literal, sql_type, skew_value::Dialect::Postgres)) {
        (SqlType::Boolean, Ok(Datum::Boolean(value))) => value.to_string(),
        (SqlType::Integer { .. }, Ok(Datum::Integer(value))) if value >= 0 => value.to_string(),
        (SqlType::Character(_), _) => format!("{written}::bpchar"),
        (SqlType::Text(Some(_)), _) => format!("{written}::character varying"),
        (SqlType::Enumeration(_), _) => written.to_owned(),
        _ => format!("{written}::{}", sql_type.unbounded()),
    }
}

fn defaults(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(ATTRDEF);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        for (place, column) in table.live_columns() {
            if let Some(default) = default_text(catalog, column) {
                rows.push(shape.row(&[
                    ("oid", number(constraint_number(table, 128 + place))),
                    ("adrelid", number(table_number(table))),
                    ("adnum", count(place + 1)),
                    ("adbin", text(default)),
                ]));
            }
        }
    }
    rows
}

fn indexes(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(INDEX);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        if let Some(key) = &table.primary_key {
            let columns = key.columns.iter().map(|&place| place as i128 + 1).collect();
            rows.push(index_row(&shape, table, primary_index_number(table), columns, (true, true, false), None, None));
        }
        for index in &table.indexes {
            let places = index.columns.iter().map(|column| match column {
                IndexColumn::Column(place) => *place as i128 + 1,
                IndexColumn::Expression(_) => 0,
            });
            let expressions: Vec<&str> = index
                .columns
                .iter()
                .filter_map(|column| match column {
                    IndexColumn::Expression(text) => Some(text.as_ref()),
                    IndexColumn::Column(_) => None,
                })
                .collect();
            let expressions = (!expressions.is_empty()).then(|| expressions.join(", "));
            let flags = (index.unique, false, index.nulls_not_distinct);
            let oid = number_of(index.space.0);
            rows.push(index_row(&shape, table, oid, places.collect(), flags, expressions, index.predicate.as_deref()));
        }
    }
    rows
}

fn index_row(
    shape: &Shape,
    table: &Table,
    oid: i128,
    columns: Vec<i128>,
    (unique, primary, nulls_not_distinct): (bool, bool, bool),
    expressions: Option<String>,
    predicate: Option<&str>,
) -> Row {
    let width = columns.len();
    let types = columns.iter().map(|place| {
        let place = usize::try_from(place - 1).ok();
        place.and_then(|place| table.columns.get(place)).map_or(SqlType::TEXT, |column| column.sql_type.clone())
    });
    let types: Vec<SqlType> = types.collect();
    let collations = types.iter().map(|one| if one.is_text() { DEFAULT_COLLATION } else { 0 });
    shape.row(&[
        ("indexrelid", number(oid)),
        ("indrelid", number(table_number(table))),
        ("indnatts", count(width)),
        ("indnkeyatts", count(width)),
        ("indisunique", truth(unique)),
        ("indnullsnotdistinct", truth(nulls_not_distinct)),
        ("indisprimary", truth(primary)),
        ("indkey", numbers(columns)),
        ("indcollation", numbers(collations)),
        ("indclass", numbers(types.iter().map(usual_class))),
        ("indoption", numbers(std::iter::repeat_n(0, width))),
        ("indexprs", optional(expressions)),
        ("indpred", optional(predicate)),
    ])
}

fn constraints(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(CONSTRAINT);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        let namespace = namespace_number(catalog, apart(&table.name).0);
        for (place, constraint) in Constraint::of(table).iter().enumerate() {
            let key = constraint.columns();
            let mut values = vec![
                ("oid", number(constraint_number(table, place))),
                ("conname", text(apart(constraint.name()).1)),
                ("connamespace", number(namespace)),
                ("contype", text(constraint.kind().0)),
                ("conrelid", number(table_number(table))),
                (
                    "conkey",
                    if key.is_empty() { Datum::Null } else { numbers(key.iter().map(|&place| place as i128 + 1)) },
                ),
            ];
            values.extend(constraint_values(catalog, table, constraint));
            rows.push(shape.row(&values));
        }
    }
    rows
}

fn constraint_values(catalog: &Catalog, table: &Table, constraint: &Constraint<'_>) -> Vec<(&'static str, Datum)> {
    match constraint {
        Constraint::Primary(_) => vec![("conindid", number(primary_index_number(table)))],
        Constraint::Unique(index) => vec![("conindid", number(number_of(index.space.0)))],
        Constraint::Check(check) => vec![("conbin", text(&check.condition)), ("connoinherit", truth(false))],
        Constraint::Exclude(_) => Vec::new(),
        Constraint::Foreign(key) => {
            let parent = catalog.tables.get(&key.parent);
            vec![
                ("condeferrable", truth(key.deferred)),
                ("condeferred", truth(key.deferred)),
                ("confrelid", number(parent.map_or(0, |parent| table_number(parent)))),
                ("conindid", number(parent.map_or(0, |parent| parent_index(parent, &key.parent_columns)))),
                ("confupdtype", text(action_letter(key.on_update))),
                ("confdeltype", text(action_letter(key.on_delete))),
                ("confmatchtype", text("s")),
                ("confkey", numbers(key.parent_columns.iter().map(|&place| place as i128 + 1))),
            ]
        }
    }
}

fn parent_index(parent: &Table, columns: &[usize]) -> i128 {
    if parent.primary_key.as_ref().is_some_and(|key| key.columns == columns) {
        return primary_index_number(parent);
    }
    let same = parent.indexes.iter().find(|index| index.unique && index.plain_columns() == columns);
    same.map_or(0, |index| number_of(index.space.0))
}

fn sequences(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(SEQUENCE);
    let row = |sequence: &crate::catalog::Sequence| {
        shape.row(&[
            ("seqrelid", number(number_of(sequence.id.0))),
            ("seqtypid", number(sequence_type(sequence).oid())),
            ("seqstart", number(sequence.rule.start)),
            ("seqincrement", number(sequence.rule.increment)),
            ("seqmax", number(sequence.rule.greatest)),
            ("seqmin", number(sequence.rule.least)),
            ("seqcycle", truth(sequence.rule.cycles)),
        ])
    };
    catalog.sequences.values().map(|sequence| row(sequence)).collect()
}

/// The type of a sequence's values, told by where it ends.
pub(super) fn sequence_type(sequence: &crate::catalog::Sequence) -> SqlType {
    match sequence.rule.greatest {
        greatest if greatest == i64::from(i16::MAX) => SqlType::SMALLINT,
        greatest if greatest == i64::from(i32::MAX) => SqlType::INTEGER,
        _ => SqlType::BIGINT,
    }
}

fn descriptions(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(DESCRIPTION);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        let own = table.comment.iter().map(|comment| (0, comment));
        let columns = table.live_columns().filter_map(|(place, column)| Some((place + 1, column.comment.as_ref()?)));
        for (place, comment) in own.chain(columns) {
            rows.push(shape.row(&[
                ("objoid", number(table_number(table))),
                ("classoid", number(CLASS_OF_RELATIONS)),
                ("objsubid", count(place)),
                ("description", text(comment)),
            ]));
        }
    }
    rows
}

/// That a sequence belongs to a column, which clients look for.
fn dependencies(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(DEPEND);
    let row = |sequence: &crate::catalog::Sequence| {
        let (table, column) = sequence.owner.as_ref()?;
        let table = catalog.tables.get(table)?;
        let place = table.column_place(column)?;
        Some(shape.row(&[
            ("classid", number(CLASS_OF_RELATIONS)),
            ("objid", number(number_of(sequence.id.0))),
            ("objsubid", number(0)),
            ("refclassid", number(CLASS_OF_RELATIONS)),
            ("refobjid", number(table_number(table))),
            ("refobjsubid", count(place + 1)),
            ("deptype", text("a")),
        ]))
    };
    catalog.sequences.values().filter_map(|sequence| row(sequence)).collect()
}

fn tables_view(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(TABLES_VIEW);
    let row = |table: &Table| {
        let (namespace, name) = apart(&table.name);
        shape.row(&[
            ("schemaname", text(namespace)),
            ("tablename", text(name)),
            ("tableowner", text(&environment.user)),
            ("hasindexes", truth(table.primary_key.is_some() || !table.indexes.is_empty())),
            ("hastriggers", truth(has_triggers(catalog, table))),
        ])
    };
    catalog.tables.values().map(|table| row(table)).collect()
}

fn indexes_view(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(INDEXES_VIEW);
    let mut rows = Vec::new();
    for table in catalog.tables.values() {
        let (namespace, name) = apart(&table.name);
        let primary = table.primary_key.iter().map(|key| (key.name.as_str(), primary_definition(table, key)));
        let others = table.indexes.iter().map(|index| (index.name.as_str(), index_definition(table, index)));
        for (index, definition) in primary.chain(others) {
            rows.push(shape.row(&[
                ("schemaname", text(namespace)),
                ("tablename", text(name)),
                ("indexname", text(apart(index).1)),
                ("indexdef", text(definition)),
            ]));
        }
    }
    rows
}

fn views_view(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(VIEWS_VIEW);
    let row = |view: &crate::catalog::View| {
        let (namespace, name) = apart(&view.name);
        shape.row(&[
            ("schemaname", text(namespace)),
            ("viewname", text(name)),
            ("viewowner", text(&environment.user)),
            ("definition", text(&view.query)),
        ])
    };
    catalog.views.values().map(|view| row(view)).collect()
}

fn sequences_view(catalog: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(SEQUENCES_VIEW);
    let row = |sequence: &crate::catalog::Sequence| {
        let (namespace, name) = apart(&sequence.name);
        shape.row(&[
            ("schemaname", text(namespace)),
            ("sequencename", text(name)),
            ("sequenceowner", text(&environment.user)),
            ("data_type", number(sequence_type(sequence).oid())),
            ("start_value", number(sequence.rule.start)),
            ("min_value", number(sequence.rule.least)),
            ("max_value", number(sequence.rule.greatest)),
            ("increment_by", number(sequence.rule.increment)),
            ("cycle", truth(sequence.rule.cycles)),
        ])
    };
    catalog.sequences.values().map(|sequence| row(sequence)).collect()
}
