//! The states in which a run may have left the database.
//!
//! Where updates lock, a row's versions are ordered as their writers committed, and there is one final state. Where they do not, the
//! level may leave it open who wrote last, and every commit order that it allows leaves a state of its own:
//!
//! ```text
//!   a: w(x,1)      b: w(x,2)          x = 1 or x = 2
//! ```
//!
//! Which last versions go together the growing history knows; here they become rows.

use crate::keys::KeyKind;
use crate::store::Store;
use rustc_hash::FxHashMap;
use skew_check::Version;
use skew_history::KeyId;
use skew_sql::{Datum, Row, RowKey};

impl Store {
    /// The rows of every final state that some allowed commit order leaves; nothing when there are more than `limit`.
    pub fn final_states(&self, limit: usize) -> Option<Vec<Vec<(RowKey, Row)>>> {
        let ways = self.growing.last_versions(limit)?;
        Some(ways.into_iter().map(|way| self.rows_of(&way.into_iter().collect())).collect())
    }

    /// The rows that committed last.
    pub fn latest_rows(&self) -> Vec<(RowKey, Row)> {
        self.rows_of(&FxHashMap::default())
    }

    /// The rows that there are when these versions are the last ones, and of other keys the latest.
    fn rows_of(&self, last: &FxHashMap<KeyId, Version>) -> Vec<(RowKey, Row)> {
        let value = |key: KeyId| {
            let version = last.get(&key).copied().unwrap_or_else(|| self.growing.latest(key));
            self.versions.value(key, version)
        };
        let rows = (0..self.keys.len() as u32).map(KeyId).filter(|&key| self.keys.kind(key) == KeyKind::Row);
        let found = rows.filter_map(|key| {
            let row = value(key)?;
            let key_of_row = self.keys.row_of(key).clone();
            let row = if self.has_cells(key_of_row.space) { self.row_of_cells(key, value) } else { row };
            Some((key_of_row, row))
        });
        found.collect()
    }

    /// A row that exists, from its cells.
    fn row_of_cells(&self, row: KeyId, value: impl Fn(KeyId) -> Option<Row>) -> Row {
        let cells = (0..).map_while(|column| self.keys.known_cell(row, column));
        let datum = |cell: KeyId| value(cell).and_then(|value| value.first().cloned()).unwrap_or(Datum::Null);
        cells.map(datum).collect()
    }
}
