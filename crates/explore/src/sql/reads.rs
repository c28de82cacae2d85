//! What a transaction need not ask for: what it wrote itself, and what its statement has read before.
//!
//! ```text
//!   read x    own write? ── known to the statement? ── else asked for, and remembered until the statement ends
//!   range     own rows ∪ what is known ∪ what is asked for around it
//! ```
//!
//! Who answers what is asked for is left to the caller: a request to the explorer, or to a path through a whole run.

use super::memory::Memory;
use skew_sql::{KeyRange, Row, RowKey};
use std::collections::BTreeMap;

/// Rows and the keys that they stand under.
type Rows = Vec<(RowKey, Row)>;

/// What is known inside of a transaction.
#[derive(Default, Debug)]
pub(crate) struct Reads {
    own: BTreeMap<RowKey, Option<Row>>,
    statement: Memory,
}

impl Reads {
    /// A statement begins: it knows nothing of what others read.
    pub(crate) fn begin_statement(&mut self) {
        self.statement = Memory::default();
    }

    /// One key: an own write, what the statement knows, or a read.
    pub(crate) fn read<E>(
        &mut self,
        key: &RowKey,
        locking: bool,
        ask: impl FnOnce() -> Result<Option<Row>, E>,
    ) -> Result<Option<Row>, E> {
        if let Some(own) = self.own.get(key) {
            return Ok(own.clone());
        }
        if let Some(known) = self.statement.get(key, locking) {
            return Ok(known);
        }
        let row = ask()?;
        self.statement.remember(key, locking, row.clone());
        Ok(row)
    }

    /// The rows of a range that exist, in the order of the range.
    pub(crate) fn range<E>(
        &mut self,
        range: &KeyRange,
        locking: bool,
        mut ask: impl FnMut(&KeyRange) -> Result<Rows, E>,
    ) -> Result<Rows, E> {
        let rows = match self.statement.range(range, locking) {
            Some(known) => self.with_own(range, known),
            None => {
                let (parts, known) = self.statement.around(range, locking);
                let mut rows = self.with_own(range, known);
                for part in parts {
                    let found = ask(&part)?;
                    self.remember_part(&part, locking, &found);
                    rows.extend(found);
                }
                rows
            }
        };
        let mut rows: Rows = rows.into_iter().collect();
        if range.descending {
            rows.reverse();
        }
        rows.truncate(range.limit.unwrap_or(usize::MAX));
        Ok(rows)
    }

    /// A range, or a part of one, was read anew.
    fn remember_part(&mut self, range: &KeyRange, locking: bool, found: &[(RowKey, Row)]) {
        let own = &self.own;
        let foreign: Rows = found.iter().filter(|(key, _)| !own.contains_key(key)).cloned().collect();
        self.statement.remember_range(range, locking, &foreign, range.limit.is_none());
    }

    /// What the statement knows of a range, and what the transaction wrote there.
    fn with_own(&self, range: &KeyRange, known: Rows) -> BTreeMap<RowKey, Row> {
        let mut rows: BTreeMap<RowKey, Row> = known.into_iter().collect();
        for (key, value) in self.own.iter().filter(|(key, _)| range.contains(key)) {
            match value {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
        }
        rows
    }

    /// The transaction wrote a row, or deleted it.
    pub(crate) fn write(&mut self, key: RowKey, value: Option<Row>) {
        self.own.insert(key, value);
    }
}
