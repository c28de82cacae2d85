//! The states in which a run may have left the database.
//!
//! Where updates lock, a row's versions are ordered as their writers committed, and there is one final state. Where they do not, the
//! level may leave it open who wrote last, and every commit order that it allows leaves a state of its own:
//!
//! ```text
//!   a: w(x,1)      b: w(x,2)          x = 1 or x = 2
//! ```
//!
//! Which last versions go together the growing history knows; here they become rows. Checks of constraints ask for the rows as they stand
//! now, which is the final state if nobody else went on.

use crate::store::Store;
use rustc_hash::FxHashMap;
use skew_check::{Updates, Version};
use skew_history::{KeyId, SessionId};
use skew_sql::{KeyRange, Row, RowKey, Stop};
use skew_value::Datum;
use std::collections::BTreeSet;

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
        let rows = (0..self.keys.len() as u32).map(KeyId).filter(|&key| !self.keys.is_cell(key));
        rows.filter_map(|key| self.row_with(key, value)).collect()
    }

    /// The rows of a range as a transaction would leave them if it committed now; nothing where updates do not lock.
    pub(crate) fn present(&self, session: SessionId, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        let transaction = self.transaction(session)?;
        if transaction.loading || self.options.updates == Updates::Plain {
            return Ok(None);
        }
        let value = |key: KeyId| match transaction.writes.get(&key) {
            Some(own) => own.clone(),
            None => self.versions.value(key, self.growing.latest(key)),
        };
        let committed = self.keys.from(range.space, &range.prefix, range.low.as_ref()).map(|(_, key)| key);
        let own = transaction.writes.keys().copied().filter(|&key| !self.keys.is_cell(key));
        let keys: BTreeSet<KeyId> = committed.chain(own).filter(|&key| range.contains(self.keys.row_of(key))).collect();
        let mut rows: Vec<(RowKey, Row)> = keys.into_iter().filter_map(|key| self.row_with(key, value)).collect();
        rows.sort_by(|one, other| one.0.parts.cmp(&other.0.parts));
        Ok(Some(rows))
    }

    /// The row under a key when keys have these values, if there is one.
    fn row_with(&self, key: KeyId, value: impl Fn(KeyId) -> Option<Row>) -> Option<(RowKey, Row)> {
        let row = value(key)?;
        let key_of_row = self.keys.row_of(key).clone();
        let row = if self.has_cells(key_of_row.space) { self.row_of_cells(key, value) } else { row };
        Some((key_of_row, row))
    }

    /// A row that exists, from its cells.
    fn row_of_cells(&self, row: KeyId, value: impl Fn(KeyId) -> Option<Row>) -> Row {
        let row = self.keys.row_of(row);
        let cells = (0..).map_while(|column| self.keys.known(&self.keys.layout.cell(row, column)));
        let datum = |cell: KeyId| value(cell).and_then(|value| value.first().cloned()).unwrap_or(Datum::Null);
        cells.map(datum).collect()
    }
}
