//! Numbers and texts of things.
//!
//! PostgreSQL's catalogs point to one another by number (oid). Here a thing's number follows from the number it has in the
//! [`Catalog`], so it is the same as long as the thing lives, in every session and every run:
//!
//! ```text
//!   tables, indexes, sequences, enumerations   16384 + their number, which they share
//!   the index behind a primary key             2^24 + the number of its table
//!   constraints                                2^25 + 256 × the number of their table + their place
//!   row types of tables                        2^26 + the number of their table
//! ```

use crate::catalog::{Catalog, ForeignKey, Index, IndexColumn, PrimaryKey, ReferentialAction, Table};
use skew_value::SqlType;

const FIRST_USER_OBJECT: i128 = skew_value::FIRST_USER_OBJECT as i128;
const PRIMARY_INDEX: i128 = 1 << 24;
const CONSTRAINT: i128 = 1 << 25;
const ROW_TYPE: i128 = 1 << 26;

/// The number of the namespace `public`.
pub(super) const PUBLIC: i128 = 2200;
/// The number of the namespace `pg_catalog`.
pub(super) const PG_CATALOG: i128 = 11;
/// The number of the namespace `information_schema`.
pub(super) const INFORMATION_SCHEMA: i128 = 13_000;
/// The number of the only user.
pub(super) const OWNER: i128 = 10;
/// The number of whoever owns the database, to whom `public` belongs.
pub(super) const DATABASE_OWNER: i128 = 6171;
/// The number of the default collation.
pub(super) const DEFAULT_COLLATION: i128 = 100;

/// The number of a table, index, sequence or enumeration.
pub(super) fn number_of(own: u32) -> i128 {
    FIRST_USER_OBJECT + i128::from(own)
}

/// The number of a table.
pub(super) fn table_number(table: &Table) -> i128 {
    number_of(table.space.0)
}

/// The number of the index behind a primary key.
pub(super) fn primary_index_number(table: &Table) -> i128 {
    PRIMARY_INDEX + i128::from(table.space.0)
}

/// The number of the row type of a table.
pub(super) fn row_type_number(table: &Table) -> i128 {
    ROW_TYPE + i128::from(table.space.0)
}

/// The number of the row type of a view.
pub(super) fn view_row_type_number(catalog: &Catalog, name: &str) -> i128 {
    super::relation::view_number(catalog, name) + (1 << 24)
}

/// The number of a constraint, by its place among the table's constraints.
pub(super) fn constraint_number(table: &Table, place: usize) -> i128 {
    CONSTRAINT + 256 * i128::from(table.space.0) + place as i128
}

/// The number of a namespace.
pub(super) fn namespace_number(catalog: &Catalog, name: &str) -> i128 {
    match name {
        "public" => PUBLIC,
        "pg_catalog" => PG_CATALOG,
        "information_schema" => INFORMATION_SCHEMA,
        other => {
            let place = catalog.namespaces.iter().position(|known| known == other).unwrap_or(0);
            INFORMATION_SCHEMA + 1 + place as i128
        }
    }
}

/// The number of a type.
pub(super) fn type_number(sql_type: &SqlType) -> i128 {
    i128::from(sql_type.oid())
}

/// What bounds a type, as `atttypmod` has it.
pub(super) fn type_modifier(sql_type: &SqlType) -> i128 {
    i128::from(sql_type.typmod())
}

/// The name of a type, enumerations included.
pub(super) fn type_name(catalog: &Catalog, sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Enumeration(id) => {
            let found = catalog.enumerations.values().find(|enumeration| enumeration.id == *id);
            found.map_or_else(|| sql_type.to_string(), |enumeration| quoted(&enumeration.name))
        }
        SqlType::Array(element) => format!("{}[]", type_name(catalog, element)),
        other => other.to_string(),
    }
}

/// A name as it must be written.
pub(super) fn quoted(name: &str) -> String {
    let plain = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The names of columns as they must be written.
pub(super) fn quoted_columns(table: &Table, places: &[usize]) -> String {
    places.iter().map(|&place| quoted(&table.columns[place].name)).collect::<Vec<String>>().join(", ")
}

/// What an index orders by, as text.
pub(super) fn index_terms(table: &Table, index: &Index) -> Vec<String> {
    let term = |column: &IndexColumn| match column {
        IndexColumn::Column(place) => quoted(&table.columns[*place].name),
        IndexColumn::Expression(text) if text.ends_with(')') => text.to_string(),
        IndexColumn::Expression(text) => format!("({text})"),
    };
    index.columns.iter().map(term).collect()
}

/// CREATE INDEX, as `pg_get_indexdef` tells it.
pub(super) fn index_definition(table: &Table, index: &Index) -> String {
    let (namespace, name) = super::apart(&table.name);
    let mut text = format!(
        "CREATE {}INDEX {} ON {}.{} USING btree ({})",
        if index.unique { "UNIQUE " } else { "" },
        quoted(&index.name),
        quoted(namespace),
        quoted(name),
        index_terms(table, index).join(", ")
    );
    if index.nulls_not_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if let Some(predicate) = &index.predicate {
        text.push_str(&format!(" WHERE ({predicate})"));
    }
    text
}

/// The same for the index behind a primary key.
pub(super) fn primary_definition(table: &Table, key: &PrimaryKey) -> String {
    let (namespace, name) = super::apart(&table.name);
    let columns = quoted_columns(table, &key.columns);
    format!(
        "CREATE UNIQUE INDEX {} ON {}.{} USING btree ({columns})",
        quoted(&key.name),
        quoted(namespace),
        quoted(name)
    )
}

/// FOREIGN KEY …, as `pg_get_constraintdef` tells it.
pub(super) fn reference_definition(catalog: &Catalog, table: &Table, key: &ForeignKey) -> String {
    let parent = catalog.tables.get(&key.parent);
    let parent_columns = parent.map(|parent| quoted_columns(parent, &key.parent_columns)).unwrap_or_default();
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({parent_columns})",
        quoted_columns(table, &key.columns),
        quoted(super::apart(&key.parent).1)
    );
    for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        if action != ReferentialAction::Refuse {
            text.push_str(&format!(" ON {event} {}", action_words(action)));
        }
    }
    if key.deferred {
        text.push_str(" DEFERRABLE INITIALLY DEFERRED");
    }
    text
}

/// An action in words.
pub(super) fn action_words(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Refuse => "NO ACTION",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

/// An action as `confupdtype` has it.
pub(super) fn action_letter(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Refuse => "a",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}

/// The constraints of a table in the order of their places, as `pg_constraint` has them.
pub(super) enum Constraint<'table> {
    /// PRIMARY KEY.
    Primary(&'table PrimaryKey),
    /// UNIQUE.
    Unique(&'table Index),
    /// CHECK.
    Check(&'table crate::catalog::Check),
    /// FOREIGN KEY.
    Foreign(&'table ForeignKey),
    /// EXCLUDE.
    Exclude(&'table crate::catalog::Exclusion),
}

impl Constraint<'_> {
    /// The constraints of a table.
    pub(super) fn of(table: &Table) -> Vec<Constraint<'_>> {
        let primary = table.primary_key.iter().map(Constraint::Primary);
        let unique = table.indexes.iter().filter(|index| index.constraint).map(Constraint::Unique);
        let checks = table.checks.iter().map(Constraint::Check);
        let foreign = table.foreign_keys.iter().map(Constraint::Foreign);
        let exclusions = table.exclusions.iter().map(Constraint::Exclude);
        primary.chain(unique).chain(checks).chain(foreign).chain(exclusions).collect()
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        match self {
            Constraint::Primary(key) => &key.name,
            Constraint::Unique(index) => &index.name,
            Constraint::Check(check) => &check.name,
            Constraint::Foreign(key) => &key.name,
            Constraint::Exclude(exclusion) => &exclusion.name,
        }
    }

    /// Its kind as `contype` has it, and in words.
    pub(super) fn kind(&self) -> (&'static str, &'static str) {
        match self {
            Constraint::Primary(_) => ("p", "PRIMARY KEY"),
            Constraint::Unique(_) => ("u", "UNIQUE"),
            Constraint::Check(_) => ("c", "CHECK"),
            Constraint::Foreign(_) => ("f", "FOREIGN KEY"),
            Constraint::Exclude(_) => ("x", "EXCLUDE"),
        }
    }

    /// Its physical columns.
    pub(super) fn columns(&self) -> Vec<usize> {
        match self {
            Constraint::Primary(key) => key.columns.clone(),
            Constraint::Unique(index) => index.plain_columns(),
            Constraint::Foreign(key) => key.columns.clone(),
            Constraint::Check(_) | Constraint::Exclude(_) => Vec::new(),
        }
    }

    /// Its text, as `pg_get_constraintdef` tells it.
    pub(super) fn definition(&self, catalog: &Catalog, table: &Table) -> String {
        match self {
            Constraint::Primary(key) => format!("PRIMARY KEY ({})", quoted_columns(table, &key.columns)),
            Constraint::Unique(index) => format!("UNIQUE ({})", index_terms(table, index).join(", ")),
            Constraint::Check(check) => format!("CHECK (({}))", check.condition),
            Constraint::Foreign(key) => reference_definition(catalog, table, key),
            Constraint::Exclude(exclusion) => {
                let elements = exclusion.elements.iter().map(|(text, operator)| format!("{text} WITH {operator}"));
                format!("EXCLUDE USING gist ({})", elements.collect::<Vec<String>>().join(", "))
            }
        }
    }
}
