//! Lookups that read whole tables, as a store without indexes does.
//!
//! ```text
//!   select(&ACCOUNTS, 2, &["balance"])            of the accounts 1 to 3
//!     SELECT ver, id FROM …                       {"scan":"accounts/","reads":[{"k":"accounts/1","v":0},…]}      which rows are there
//!     SELECT ver, id, balance FROM …              {"r":"accounts/1","v":0},{"r":"accounts/2","v":0},…            what is in them
//!     the row of account 2 is picked here
//! ```
//!
//! The store of the MonkeyDB and IsoPredict papers looks for a row in this way: for every row of a table it asks whether it is there, and for its
//! columns. A statement that finds its rows by a condition, or changes them, comes after such a look.

use super::read::{FoundRow, split};
use super::{Transaction, selected};
use crate::table::Table;
use crate::{Failure, Row, Value};
use skew_history::StatementKind;

/// How rows are found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lookups {
    /// Whether every row of the table is read first.
    pub(crate) whole: bool,
    /// Whether rows that come in an order that nobody asked for are put into that of their keys.
    pub(crate) sorted: bool,
}

impl Transaction<'_> {
    /// Looks at the whole table, where lookups do so.
    pub(super) fn first_look(&mut self, table: &Table) -> Result<(), Failure> {
        if self.lookups.whole { self.all_rows(table, &[]).map(|_| ()) } else { Ok(()) }
    }

    /// The row with this key among all rows of its table.
    pub(super) fn pick(&mut self, table: &Table, key: &[Value], columns: &[&str]) -> Result<Option<Row>, Failure> {
        let (all, wanted) = (self.all_rows(table, columns)?, table.key_name(key));
        Ok(all.into_iter().find(|found| table.key_name(&found.key) == wanted).map(|found| found.row))
    }

    fn all_rows(&mut self, table: &Table, columns: &[&str]) -> Result<Vec<FoundRow>, Failure> {
        self.rows_of_prefix(table, &[], &[])?;
        let (name, key) = (self.names.table(table), table.key_list());
        let list = selected(&format!("ver, {key}"), columns);
        let rows = self.run(&format!("SELECT {list} FROM {name} ORDER BY {key}"), &[])?.rows;
        let found = rows.into_iter().map(|row| split(table, row)).collect();
        Ok(self.record_rows(table, found, StatementKind::Select))
    }

    /// Rows that begin with a version and the key, in the order in which they are told.
    pub(super) fn in_order(&self, table: &Table, condition: &str, mut rows: Vec<Row>) -> Vec<Row> {
        if self.lookups.sorted && !condition.contains("ORDER BY") {
            let key = |row: &Row| row.0.iter().skip(1).take(table.key.len()).cloned().collect::<Vec<Value>>();
            rows.sort_by_cached_key(key);
        }
        rows
    }
}
