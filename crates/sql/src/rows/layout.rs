//! How rows are keys: whole, or cell by cell; and what the keys are called.
//!
//! ```text
//!   granularity row     account/7            the row
//!   granularity cell    account/7            whether the row exists
//!                       account/7#balance    a column of it
//!   an index            account@owner/ann/7  an entry, which has no cells
//! ```
//!
//! A cell is a key like any other: cells live in a space of their own beside that of their table, under the key of their row and the number
//! of their column. An INSERT writes the row's existence and every cell, an UPDATE the cells that it assigns, a DELETE the existence alone:
//! whoever sees that the row exists has seen its INSERT, and with it a version of every cell.
//!
//! Names of spaces never change and never come twice: a table that is created again gets a suffix (`account~2`), one that is renamed keeps
//! the name under which its keys first appeared.

use crate::catalog::Catalog;
use crate::storage::{Columns, Granularity, KeyPart, Row, RowKey, SpaceId};
use skew_value::{Datum, Dialect, SqlType, output};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Spaces of cells have this bit; the numbers of others come from counting tables and indexes.
const CELLS: u32 = 1 << 31;

/// What a space is to the reader of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceShape {
    /// What its keys' names start with: `account`, `account@owner`; empty: keys have no first part.
    pub name: String,
    /// The names of the physical columns of a table's rows, and which of them the key repeats; nothing for an index.
    pub columns: Vec<(String, bool)>,
    /// Whether its entries are an index's: they have no columns and no cells.
    pub index: bool,
}

/// What is known of spaces.
#[derive(Clone, Default, Debug)]
pub struct Layout {
    granularity: Granularity,
    spaces: BTreeMap<SpaceId, SpaceShape>,
    names: BTreeSet<String>,
    /// The spaces of the entries of primary keys, with those of their rows.
    key_entries: BTreeMap<SpaceId, SpaceId>,
    /// The columns of each table's unique indexes.
    unique_columns: BTreeMap<SpaceId, Vec<usize>>,
}

impl Layout {
    /// A layout without any space.
    pub fn new(granularity: Granularity) -> Layout {
        Layout { granularity, ..Layout::default() }
    }

    /// Says what a space is. Its name and those of its columns are final, because a version is told in one way by whoever wrote it and by
    /// all who read it; columns may be added.
    pub fn describe(&mut self, id: SpaceId, shape: SpaceShape) {
        if let Some(known) = self.spaces.get_mut(&id) {
            let count = known.columns.len();
            known.columns.extend(shape.columns.into_iter().skip(count));
            return;
        }
        let wanted = KeyPart::Text(shape.name.as_str().into()).to_string();
        let tries = std::iter::once(wanted.clone()).chain((2..).map(|again| format!("{wanted}~{again}")));
        let name = tries.into_iter().find(|name| self.names.insert(name.clone())).unwrap_or(wanted);
        self.spaces.insert(id, SpaceShape { name, ..shape });
    }

    /// Says what the spaces of all tables and indexes are.
    pub fn describe_catalog(&mut self, catalog: &Catalog) {
        for table in catalog.tables.values() {
            let key = table.primary_key.as_ref().map_or(&[][..], |key| &key.columns);
            let columns = table.columns.iter().enumerate();
            let columns = columns.map(|(place, column)| (column.name.clone(), key.contains(&place))).collect();
            self.describe(table.space, SpaceShape { name: table.name.clone(), columns, index: false });
            if let Some(space) = table.key_entries {
                let name = format!("{}@pkey", table.name);
                self.key_entries.insert(space, table.space);
                self.describe(space, SpaceShape { name, columns: Vec::new(), index: true });
            }
            let unique = table.indexes.iter().filter(|index| index.is_plain_unique());
            self.unique_columns.insert(table.space, unique.flat_map(|index| index.plain_columns()).collect());
            for index in &table.indexes {
                let name = format!("{}@{}", table.name, index.name);
                self.describe(index.space, SpaceShape { name, columns: Vec::new(), index: true });
            }
        }
    }

    /// The row whose primary key an entry is; nothing if it is something else.
    pub fn row_of_key_entry(&self, entry: &RowKey) -> Option<RowKey> {
        let space = *self.key_entries.get(&entry.space)?;
        Some(RowKey { space, parts: Arc::clone(&entry.parts) })
    }

    /// Whether two versions of a row of a space have other values in a unique index.
    pub fn has_other_keys(&self, space: SpaceId, one: &Row, other: &Row) -> bool {
        let columns = self.unique_columns.get(&space).into_iter().flatten();
        columns.into_iter().any(|&column| one.get(column) != other.get(column))
    }

    /// Whether any table has an index.
    pub fn has_indexes(&self) -> bool {
        self.spaces.values().any(|shape| shape.index)
    }

    /// What is known of a space.
    pub fn shape(&self, space: SpaceId) -> Option<&SpaceShape> {
        self.spaces.get(&space)
    }

    /// Whether the rows of a space are told cell by cell.
    pub fn has_cells(&self, space: SpaceId) -> bool {
        self.granularity == Granularity::Cell
            && space.0 & CELLS == 0
            && self.shape(space).is_none_or(|shape| !shape.index)
    }

    /// The key of a column of a row.
    pub fn cell(&self, row: &RowKey, column: usize) -> RowKey {
        let parts = row.parts.iter().cloned().chain([KeyPart::Number(column as i128)]).collect();
        RowKey { space: SpaceId(row.space.0 | CELLS), parts }
    }

    /// The row and the column that a key is the cell of; nothing if it is none.
    pub fn of_cell(&self, key: &RowKey) -> Option<(RowKey, usize)> {
        let (KeyPart::Number(column), row) = key.parts.split_last().filter(|_| key.space.0 & CELLS != 0)? else {
            return None;
        };
        Some((RowKey { space: SpaceId(key.space.0 & !CELLS), parts: row.into() }, usize::try_from(*column).ok()?))
    }

    /// The columns that a read wants of a row with cells.
    pub fn wanted(&self, space: SpaceId, columns: &Columns) -> Vec<usize> {
        match columns {
            Columns::All => (0..self.shape(space).map_or(0, |shape| shape.columns.len())).collect(),
            Columns::Some(columns) => columns.clone(),
        }
    }

    /// A row that exists, from those of its cells that are wanted; columns that were not asked for are NULL. It ends with the first cell that
    /// is missing: that column is younger than the row.
    pub fn row_of_cells<E>(
        wanted: Vec<usize>,
        mut cell: impl FnMut(usize) -> Result<Option<Row>, E>,
    ) -> Result<Row, E> {
        let mut values = Vec::new();
        for column in wanted {
            let Some(value) = cell(column)? else { break };
            values.resize(column, Datum::Null);
            values.extend(value.first().cloned());
        }
        Ok(values.into())
    }

    /// The keys that a whole row is, with what is written under them.
    pub fn split(&self, key: &RowKey, row: &Row) -> Vec<(RowKey, Row)> {
        if !self.has_cells(key.space) {
            return vec![(key.clone(), row.clone())];
        }
        let cells = row.iter().enumerate().map(|(column, datum)| (self.cell(key, column), [datum.clone()].into()));
        std::iter::once((key.clone(), Row::from([]))).chain(cells).collect()
    }

    /// The rows that keys are, the other way round; a cell of a row that does not exist is nothing.
    pub fn join(&self, keys: impl IntoIterator<Item = (RowKey, Row)>) -> Vec<(RowKey, Row)> {
        let mut rows: BTreeMap<RowKey, Row> = BTreeMap::new();
        let mut cells: BTreeMap<RowKey, Vec<(usize, Datum)>> = BTreeMap::new();
        for (key, row) in keys {
            match self.of_cell(&key) {
                None => drop(rows.insert(key, row)),
                Some((key, column)) => {
                    cells.entry(key).or_default().extend(row.first().map(|datum| (column, datum.clone())));
                }
            }
        }
        for (key, cells) in cells {
            let Some(row) = rows.get_mut(&key) else { continue };
            let columns = self.shape(key.space).map_or(0, |shape| shape.columns.len());
            let width = cells.iter().map(|cell| cell.0 + 1).max().unwrap_or(0).max(columns);
            let mut values = vec![Datum::Null; width];
            cells.into_iter().for_each(|(column, datum)| values[column] = datum);
            *row = values.into();
        }
        rows.into_iter().collect()
    }

    /// What a key is called in histories.
    pub fn name(&self, key: &RowKey) -> String {
        let Some((row, column)) = self.of_cell(key) else {
            return joined(&self.space_name(key.space), &key.parts);
        };
        let column = match self.shape(row.space).and_then(|shape| shape.columns.get(column)) {
            Some((name, _)) => KeyPart::Text(name.as_str().into()).to_string(),
            None => column.to_string(),
        };
        format!("{}#{column}", self.name(&row))
    }

    /// What the names of all keys of a space with this prefix start with.
    pub fn prefix_name(&self, space: SpaceId, prefix: &[KeyPart]) -> String {
        let mut name = joined(&self.space_name(space), prefix);
        if !name.is_empty() {
            name.push('/');
        }
        name
    }

    fn space_name(&self, space: SpaceId) -> String {
        self.shape(space).map_or_else(|| format!("space{}", space.0), |shape| shape.name.clone())
    }

    /// How a version is told: a row without the columns that its key repeats; one that is left over as it is, several by their names.
    pub fn shown(&self, key: &RowKey, row: &Row) -> Datum {
        let shape = self.shape(key.space).filter(|shape| !shape.index);
        let columns = shape.map_or(&[][..], |shape| &shape.columns);
        let told = row.iter().enumerate().map(|(place, datum)| (columns.get(place), datum));
        let told: Vec<(Option<&(String, bool)>, &Datum)> =
            told.filter(|(column, _)| column.is_none_or(|column| !column.1)).collect();
        match told.as_slice() {
            [] => Datum::Boolean(true),
            [(_, only)] => (*only).clone(),
            several => {
                let text = |(column, datum): &(Option<&(String, bool)>, &Datum)| match column {
                    Some((name, _)) => format!("{name}={}", text(datum)),
                    None => text(datum),
                };
                Datum::text(several.iter().map(text).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// A value among others, as PostgreSQL shows it; only a character and a single precision would look different with their type.
pub fn text(datum: &Datum) -> String {
    match datum {
        Datum::Null => "NULL".to_owned(),
        Datum::Boolean(truth) => truth.to_string(),
        datum => output(datum, &SqlType::TEXT, Dialect::Postgres),
    }
}

fn joined(space: &str, parts: &[KeyPart]) -> String {
    let mut name = space.to_owned();
    for (place, part) in parts.iter().enumerate() {
        if place > 0 || !space.is_empty() {
            name.push('/');
        }
        name.push_str(&part.to_string());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(granularity: Granularity) -> Layout {
        let mut layout = Layout::new(granularity);
        let columns = vec![("id".to_owned(), true), ("a/b".to_owned(), false), ("c".to_owned(), false)];
        layout.describe(SpaceId(1), SpaceShape { name: "item".to_owned(), columns: columns.clone(), index: false });
        layout.describe(SpaceId(2), SpaceShape { name: "item".to_owned(), columns, index: false });
        layout.describe(SpaceId(3), SpaceShape { name: String::new(), columns: Vec::new(), index: false });
        layout.describe(SpaceId(4), SpaceShape { name: "item@c".to_owned(), columns: Vec::new(), index: true });
        layout
    }

    fn key(space: u32, parts: &[KeyPart]) -> RowKey {
        RowKey { space: SpaceId(space), parts: parts.into() }
    }

    fn row(values: [i128; 3]) -> Row {
        values.map(Datum::Integer).into()
    }

    #[test]
    fn names_of_spaces_never_come_twice_and_separators_are_escaped() {
        let layout = layout(Granularity::Row);
        let seven = key(1, &[KeyPart::Number(7)]);
        assert_eq!(layout.name(&seven), "item/7");
        assert_eq!(layout.name(&key(2, &[KeyPart::Number(7), KeyPart::Text("a#b/c".into())])), "item~2/7/a%23b%2fc");
        assert_eq!(layout.name(&key(3, &[KeyPart::Text("x".into()), KeyPart::Number(-3)])), "x/-3");
        assert_eq!(layout.name(&layout.cell(&seven, 1)), "item/7#a%2fb");
        assert_eq!(layout.name(&key(9, &[KeyPart::Null])), "space9/%null");
        assert_eq!(
            (layout.prefix_name(SpaceId(1), &[]), layout.prefix_name(SpaceId(3), &[])),
            ("item/".into(), String::new())
        );
    }

    #[test]
    fn rows_are_split_into_cells_and_joined_again() {
        let layout = layout(Granularity::Cell);
        let (seven, eight) = (key(1, &[KeyPart::Number(7)]), key(1, &[KeyPart::Number(8)]));
        let mut keys = layout.split(&seven, &row([7, 1, 2]));
        assert_eq!(keys.len(), 4);
        keys.push((layout.cell(&eight, 1), [Datum::Integer(5)].into()));
        assert_eq!(layout.join(keys), [(seven.clone(), row([7, 1, 2]))], "a cell without a row is nothing");
        assert_eq!(layout.of_cell(&layout.cell(&seven, 2)), Some((seven, 2)));
        assert!(!layout.has_cells(SpaceId(4)) && layout.has_cells(SpaceId(1)));
    }

    #[test]
    fn versions_are_told_without_what_their_key_repeats() {
        let layout = layout(Granularity::Row);
        let seven = key(1, &[KeyPart::Number(7)]);
        assert_eq!(layout.shown(&seven, &row([7, 1, 2])), Datum::text("a/b=1 c=2".to_owned()));
        assert_eq!(layout.shown(&seven, &[Datum::Integer(7), Datum::Null].into()), Datum::Null);
        assert_eq!(layout.shown(&key(4, &[]), &Row::from([])), Datum::Boolean(true));
    }
}
