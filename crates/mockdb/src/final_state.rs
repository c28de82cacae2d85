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

use crate::past::Past;
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
        if self.engine().is_some() {
            return Some(vec![self.latest_rows()]);
        }
        let ways = self.past().last_versions(limit)?;
        Some(ways.into_iter().map(|way| rows_of(self.past(), &way.into_iter().collect())).collect())
    }

    /// The rows that committed last.
    pub fn latest_rows(&self) -> Vec<(RowKey, Row)> {
        let Some(engine) = self.engine() else { return rows_of(self.past(), &FxHashMap::default()) };
        let past = self.past();
        let value = |key: KeyId| if engine.knows(key) { engine.latest(key) } else { past.initial(key).cloned() };
        let all = (0..past.keys().len() as u32).map(KeyId);
        all.filter_map(|key| Some((past.keys().row_of(key).clone(), value(key)?))).collect()
    }

    /// The rows of a range as a transaction would leave them if it committed now; nothing where updates do not lock.
    pub(crate) fn present(&self, session: SessionId, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        let (transaction, past) = (self.transaction(session)?, self.past());
        if transaction.is_loading() || self.options().updates == Updates::Plain {
            return Ok(None);
        }
        let value = |key: KeyId| match transaction.own(key) {
            Some(own) => own.clone(),
            None => past.value(key, past.latest(key)),
        };
        let keys = past.keys();
        let committed = keys.from(range.space, &range.prefix, range.low.as_ref()).map(|(_, key)| key);
        let own = transaction.writes().keys().copied().filter(|&key| !keys.is_cell(key));
        let inside: BTreeSet<KeyId> = committed.chain(own).filter(|&key| range.contains(keys.row_of(key))).collect();
        let mut rows: Vec<(RowKey, Row)> = inside.into_iter().filter_map(|key| row_with(past, key, value)).collect();
        rows.sort_by(|one, other| one.0.parts.cmp(&other.0.parts));
        Ok(Some(rows))
    }
}

/// The rows that there are when these versions are the last ones, and of other keys the latest.
fn rows_of(past: &Past, last: &FxHashMap<KeyId, Version>) -> Vec<(RowKey, Row)> {
    let value = |key: KeyId| {
        let version = last.get(&key).copied().unwrap_or_else(|| past.latest(key));
        past.value(key, version)
    };
    let rows = (0..past.keys().len() as u32).map(KeyId).filter(|&key| !past.keys().is_cell(key));
    rows.filter_map(|key| row_with(past, key, value)).collect()
}

/// The row under a key when keys have these values, if there is one.
fn row_with(past: &Past, key: KeyId, value: impl Fn(KeyId) -> Option<Row>) -> Option<(RowKey, Row)> {
    let row = value(key)?;
    let key = past.keys().row_of(key);
    Some((key.clone(), if past.has_cells(key.space) { row_of_cells(past, key, value) } else { row }))
}

/// A row that exists, from its cells.
fn row_of_cells(past: &Past, row: &RowKey, value: impl Fn(KeyId) -> Option<Row>) -> Row {
    let keys = past.keys();
    let cells = (0..).map_while(|column| keys.known(&keys.layout().cell(row, column)));
    let datum = |cell: KeyId| value(cell).and_then(|value| value.first().cloned()).unwrap_or(Datum::Null);
    cells.map(datum).collect()
}
