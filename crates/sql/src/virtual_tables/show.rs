//! MySQL's SHOW and DESCRIBE, as queries of `information_schema`.
//!
//! ```text
//!   SHOW TABLES LIKE 'a%'     SELECT table_name AS `Tables_in_…` FROM information_schema.tables WHERE table_schema = database() AND …
//!   DESCRIBE item             SELECT column_name AS `Field`, column_type AS `Type`, … FROM information_schema.columns WHERE …
//! ```
//!
//! SHOW CREATE TABLE is a text that makes the same table again. Settings (SHOW VARIABLES, SHOW STATUS) belong to whoever keeps them.

use super::mysql::column_type;
use super::object::action_words;
use crate::catalog::name::parts;
use crate::catalog::{Catalog, ColumnDefault, Index, IndexColumn, ReferentialAction, Table};
use skew_value::{Dialect, SqlError};
use sqlparser::ast::{
    ObjectName, ShowCreateObject, ShowStatementFilter, ShowStatementFilterPosition, ShowStatementOptions, Statement,
};

/// The query that answers a SHOW; `None` if the statement is none of these.
pub(crate) fn query_of(statement: &Statement, catalog: &Catalog) -> Result<Option<String>, SqlError> {
    Ok(Some(match statement {
        Statement::ShowTables { full, show_options, .. } => show_tables(*full, show_options)?,
        Statement::ShowColumns { full, show_options, .. } => {
            let Some(table) = show_options.show_in.as_ref().and_then(|place| place.parent_name.as_ref()) else {
                return Ok(None);
            };
            show_columns(table, *full, filter(show_options, "column_name")?)?
        }
        Statement::ExplainTable { table_name, .. } => show_columns(table_name, false, String::new())?,
        Statement::ShowDatabases { show_options, .. } => {
            let filter = filter(show_options, "schema_name")?;
            format!("SELECT schema_name AS `Database` FROM information_schema.schemata WHERE true{filter} ORDER BY 1")
        }
        Statement::ShowCreate { obj_type: ShowCreateObject::Table, obj_name } => {
            let name = catalog.resolve(obj_name, Dialect::MySql)?;
            let table = catalog.expect_table(&name)?;
            let text = table_text(catalog, table);
            format!("SELECT '{}' AS `Table`, '{}' AS `Create Table`", escaped(super::apart(&name).1), escaped(&text))
        }
        Statement::ShowVariable { variable } => {
            let words: Vec<&str> = variable.iter().map(|word| word.value.as_str()).collect();
            match words.as_slice() {
                [kind, from, table] if is_index_word(kind) && is_from(from) => show_index(table),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    }))
}

fn is_index_word(word: &str) -> bool {
    ["index", "indexes", "keys"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn is_from(word: &str) -> bool {
    word.eq_ignore_ascii_case("from") || word.eq_ignore_ascii_case("in")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "''")
}

fn filter(options: &ShowStatementOptions, column: &str) -> Result<String, SqlError> {
    let filter = match &options.filter_position {
        None => return Ok(String::new()),
        Some(ShowStatementFilterPosition::Infix(filter) | ShowStatementFilterPosition::Suffix(filter)) => filter,
    };
    match filter {
        ShowStatementFilter::Like(pattern) => Ok(format!(" AND {column} LIKE '{}'", escaped(pattern))),
        other => Err(SqlError::unsupported(format!("SHOW … {other}"))),
    }
}

fn show_tables(full: bool, options: &ShowStatementOptions) -> Result<String, SqlError> {
    let namespace = options.show_in.as_ref().and_then(|place| place.parent_name.as_ref());
    let schema = match namespace {
        Some(name) => format!("'{}'", escaped(&parts(name, Dialect::MySql)?.1)),
        None => "database()".to_owned(),
    };
    let kind = if full { ", table_type AS `Table_type`" } else { "" };
    let filter = filter(options, "table_name")?;
    Ok(format!(
        "SELECT table_name AS `Tables`{kind} FROM information_schema.tables WHERE table_schema = {schema}{filter} ORDER BY 1"
    ))
}

fn show_columns(table: &ObjectName, full: bool, filter: String) -> Result<String, SqlError> {
    let (namespace, name) = parts(table, Dialect::MySql)?;
    let schema = namespace.map_or_else(|| "database()".to_owned(), |schema| format!("'{}'", escaped(&schema)));
    let (collation, more) = match full {
        true => (", collation_name AS `Collation`", ", privileges AS `Privileges`, column_comment AS `Comment`"),
        false => ("", ""),
    };
    Ok(format!(
        "SELECT column_name AS `Field`, column_type AS `Type`{collation}, is_nullable AS `Null`, column_key AS `Key`, \
         column_default AS `Default`, extra AS `Extra`{more} FROM information_schema.columns \
         WHERE table_schema = {schema} AND table_name = '{}'{filter} ORDER BY ordinal_position",
        escaped(&name)
    ))
}

fn show_index(table: &str) -> String {
    format!(
        "SELECT table_name AS `Table`, non_unique AS `Non_unique`, index_name AS `Key_name`, seq_in_index AS `Seq_in_index`, \
         column_name AS `Column_name`, collation AS `Collation`, cardinality AS `Cardinality`, sub_part AS `Sub_part`, \
         packed AS `Packed`, nullable AS `Null`, index_type AS `Index_type`, comment AS `Comment`, \
         index_comment AS `Index_comment`, is_visible AS `Visible`, expression AS `Expression` \
         FROM information_schema.statistics WHERE table_schema = database() AND table_name = '{}'",
        escaped(table)
    )
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn quoted_columns(table: &Table, places: &[usize]) -> String {
    places.iter().map(|&place| quoted(&table.columns[place].name)).collect::<Vec<String>>().join(",")
}

/// CREATE TABLE, as MySQL writes it.
fn table_text(catalog: &Catalog, table: &Table) -> String {
    let mut lines: Vec<String> = table.live_columns().map(|(place, _)| column_text(catalog, table, place)).collect();
    if let Some(key) = &table.primary_key {
        lines.push(format!("PRIMARY KEY ({})", quoted_columns(table, &key.columns)));
    }
    lines.extend(table.indexes.iter().map(|index| index_text(table, index)));
    for key in &table.foreign_keys {
        let parent = catalog.tables.get(&key.parent);
        let mut line = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({})",
            quoted(&key.name),
            quoted_columns(table, &key.columns),
            quoted(&key.parent),
            parent.map(|parent| quoted_columns(parent, &key.parent_columns)).unwrap_or_default()
        );
        for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
            if action != ReferentialAction::Refuse {
                line.push_str(&format!(" ON {event} {}", action_words(action)));
            }
        }
        lines.push(line);
    }
    lines.extend(
        table.checks.iter().map(|check| format!("CONSTRAINT {} CHECK (({}))", quoted(&check.name), check.condition)),
    );
    let name = quoted(super::apart(&table.name).1);
    format!("CREATE TABLE {name} (\n  {}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", lines.join(",\n  "))
}

fn column_text(catalog: &Catalog, table: &Table, place: usize) -> String {
    let column = &table.columns[place];
    let mut text = format!("{} {}", quoted(&column.name), column_type(catalog, &column.sql_type));
    if !column.nullable {
        text.push_str(" NOT NULL");
    }
    match &column.default {
        Some(ColumnDefault::Sequence(_) | ColumnDefault::Identity(_)) => text.push_str(" AUTO_INCREMENT"),
        Some(ColumnDefault::Generated(expression)) => {
            text.push_str(&format!(" GENERATED ALWAYS AS ({expression}) STORED"));
        }
        Some(ColumnDefault::Expression(expression)) => text.push_str(&format!(" DEFAULT {expression}")),
        None if column.nullable => text.push_str(" DEFAULT NULL"),
        None => {}
    }
    if let Some(on_update) = &column.on_update {
        text.push_str(&format!(" ON UPDATE {on_update}"));
    }
    text
}

fn index_text(table: &Table, index: &Index) -> String {
    let term = |column: &IndexColumn| match column {
        IndexColumn::Column(place) => quoted(&table.columns[*place].name),
        IndexColumn::Expression(text) => format!("({text})"),
    };
    let terms = index.columns.iter().map(term).collect::<Vec<String>>().join(",");
    format!("{}KEY {} ({terms})", if index.unique { "UNIQUE " } else { "" }, quoted(&index.name))
}
