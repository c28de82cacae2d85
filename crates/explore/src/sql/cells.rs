//! How rows are keys: whole, or cell by cell; and what the keys are called.
//!
//! ```text
//!   granularity row     account/7            the row
//!   granularity cell    account/7            whether the row exists
//!                       account/7#balance    a column of it
//! ```
//!
//! A key of the exploration is a key of SQL, so a cell needs one, too: cells live in a space of their own beside that of their table, under
//! the key of their row and the number of their column. An INSERT writes the row's existence and every cell, an UPDATE the cells that it
//! assigns, a DELETE the existence alone: whoever sees that the row exists has seen its INSERT, and with it a version of every cell.
//! Index entries have no cells.

use crate::record::text;
use skew_sql::catalog::Table;
use skew_sql::{Catalog, Datum, Granularity, KeyPart, Row, RowKey, SpaceId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Spaces of cells have this bit; the numbers of others come from counting tables and indexes.
const CELLS: u32 = 1 << 31;

/// What is known of spaces.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    granularity: Granularity,
    spaces: BTreeMap<SpaceId, Space>,
}

#[derive(Clone, Debug)]
struct Space {
    name: String,
    /// The table whose rows live here; nothing for an index.
    table: Option<Arc<Table>>,
}

impl Layout {
    pub(crate) fn new(catalog: &Catalog, granularity: Granularity) -> Layout {
        let mut layout = Layout { granularity, spaces: BTreeMap::new() };
        let mut names = BTreeSet::new();
        for table in catalog.tables.values() {
            layout.describe(&mut names, table.space, table.name.clone(), Some(Arc::clone(table)));
            for index in &table.indexes {
                layout.describe(&mut names, index.space, format!("{}@{}", table.name, index.name), None);
            }
        }
        layout
    }

    /// Tables of two namespaces may have one name; keys must not.
    fn describe(&mut self, names: &mut BTreeSet<String>, id: SpaceId, wanted: String, table: Option<Arc<Table>>) {
        let wanted = KeyPart::Text(wanted.into()).to_string();
        let tries = std::iter::once(wanted.clone()).chain((2..).map(|again| format!("{wanted}~{again}")));
        if let Some(name) = tries.into_iter().find(|name| names.insert(name.clone())) {
            self.spaces.insert(id, Space { name, table });
        }
    }

    fn table(&self, space: SpaceId) -> Option<&Arc<Table>> {
        self.spaces.get(&space).and_then(|space| space.table.as_ref())
    }

    /// Whether the rows of a space are told cell by cell.
    pub(crate) fn has_cells(&self, space: SpaceId) -> bool {
        self.granularity == Granularity::Cell && self.table(space).is_some()
    }

    /// How many columns the rows of a space have.
    pub(crate) fn width(&self, space: SpaceId) -> usize {
        self.table(space).map_or(0, |table| table.columns.len())
    }

    /// The key of a column of a row.
    pub(crate) fn cell(&self, row: &RowKey, column: usize) -> RowKey {
        let parts = row.parts.iter().cloned().chain([KeyPart::Number(column as i128)]).collect();
        RowKey { space: SpaceId(row.space.0 | CELLS), parts }
    }

    /// The row and the column that a key is the cell of.
    fn of_cell(&self, key: &RowKey) -> Option<(RowKey, usize)> {
        let (KeyPart::Number(column), row) = key.parts.split_last().filter(|_| key.space.0 & CELLS != 0)? else {
            return None;
        };
        Some((RowKey { space: SpaceId(key.space.0 & !CELLS), parts: row.into() }, usize::try_from(*column).ok()?))
    }

    /// The keys that a row is, with what is written under them.
    pub(crate) fn split(&self, key: &RowKey, row: &Row) -> Vec<(RowKey, Row)> {
        match self.table(key.space).filter(|_| self.granularity == Granularity::Cell) {
            None => vec![(key.clone(), row.clone())],
            Some(table) => {
                let row = table.complete(row);
                let cells =
                    row.iter().enumerate().map(|(column, datum)| (self.cell(key, column), [datum.clone()].into()));
                std::iter::once((key.clone(), Row::from([]))).chain(cells).collect()
            }
        }
    }

    /// The rows that keys are, the other way round; a cell of a row that does not exist is nothing.
    pub(crate) fn join(&self, keys: impl IntoIterator<Item = (RowKey, Row)>) -> Vec<(RowKey, Row)> {
        let mut rows: BTreeMap<RowKey, Row> = BTreeMap::new();
        let mut cells: Vec<(RowKey, usize, Datum)> = Vec::new();
        for (key, row) in keys {
            match self.of_cell(&key) {
                None => {
                    rows.insert(key, row);
                }
                Some((key, column)) => cells.extend(row.first().map(|datum| (key, column, datum.clone()))),
            }
        }
        let mut joined: BTreeMap<RowKey, Vec<Datum>> = BTreeMap::new();
        for (key, column, datum) in cells.into_iter().filter(|(key, ..)| rows.contains_key(key)) {
            let width = self.width(key.space).max(column + 1);
            let row = joined.entry(key).or_insert_with(|| vec![Datum::Null; width]);
            row[column] = datum;
        }
        rows.extend(joined.into_iter().map(|(key, row)| (key, row.into())));
        rows.into_iter().collect()
    }

    /// What a key is called in histories.
    pub(crate) fn name(&self, key: &RowKey) -> String {
        if let Some((row, column)) = self.of_cell(key) {
            let column = match self.table(row.space).and_then(|table| table.columns.get(column)) {
                Some(column) => KeyPart::Text(column.name.as_str().into()).to_string(),
                None => column.to_string(),
            };
            return format!("{}#{column}", self.name(&row));
        }
        let mut name = match self.spaces.get(&key.space) {
            Some(space) => space.name.clone(),
            None => format!("space{}", key.space.0),
        };
        for part in key.parts.iter() {
            name.push('/');
            name.push_str(&part.to_string());
        }
        name
    }

    /// How a row is told: without the columns that its key repeats; one that is left over as it is, several by their names.
    pub(crate) fn shown(&self, key: &RowKey, row: &Row) -> Datum {
        let table = self.table(key.space).filter(|_| !self.has_cells(key.space));
        let Some(table) = table else {
            return match &**row {
                [] => Datum::Boolean(true),
                [only] => only.clone(),
                several => Datum::text(several.iter().map(text).collect::<Vec<_>>().join(" ")),
            };
        };
        let repeated = table.primary_key.as_ref().map_or(&[][..], |primary| &primary.columns);
        let told: Vec<(usize, &Datum)> =
            row.iter().enumerate().filter(|(place, _)| !repeated.contains(place)).collect();
        match told.as_slice() {
            [] => Datum::Boolean(true),
            [(_, only)] => (*only).clone(),
            several => {
                let named = |(place, datum): &(usize, &Datum)| match table.columns.get(*place) {
                    Some(column) => format!("{}={}", column.name, text(datum)),
                    None => text(datum),
                };
                Datum::text(several.iter().map(named).collect::<Vec<_>>().join(" "))
            }
        }
    }
}
