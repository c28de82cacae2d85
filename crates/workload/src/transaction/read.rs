//! Reads: one row by its key, or all that fulfil a condition.

use super::{Transaction, check_key, selected, version_of, without_first};
use crate::table::Table;
use crate::{Failure, Row, Value, Values};

/// A row that a scan found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundRow {
    /// Its key.
    pub key: Vec<Value>,
    /// The columns that were asked for.
    pub row: Row,
}

impl Transaction<'_> {
    /// The row with this key, if there is one.
    pub fn select(&mut self, table: &Table, key: impl Values, columns: &[&str]) -> Result<Option<Row>, Failure> {
        self.select_row(table, &key.values(), columns, false)
    }

    /// The same, and nobody else may change it until this transaction ends.
    pub fn select_for_update(
        &mut self,
        table: &Table,
        key: impl Values,
        columns: &[&str],
    ) -> Result<Option<Row>, Failure> {
        self.select_row(table, &key.values(), columns, true)
    }

    pub(super) fn select_row(
        &mut self,
        table: &Table,
        key: &[Value],
        columns: &[&str],
        locking: bool,
    ) -> Result<Option<Row>, Failure> {
        check_key(table, key)?;
        let (list, name) = (selected("ver", columns), self.names.table(table));
        let lock = if locking { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT {list} FROM {name} WHERE {}{lock}", table.key_condition());
        let row = self.run(&sql, key)?.rows.into_iter().next();
        let version = row.as_ref().map(|row| version_of(row, 0)).transpose()?.flatten();
        self.events.read(&table.key_name(key), version, locking && version.is_some());
        Ok(row.map(|row| without_first(row, 1)))
    }

    /// All rows whose key begins with these values, in the order of their keys: the lines of an order, or a whole table.
    ///
    /// The history gets a range read, which also says that no other row was there. So a row that should have been seen and was not is a
    /// violation that can be found; see [`Transaction::scan`] for other conditions, whose history knows less.
    pub fn scan_prefix(
        &mut self,
        table: &Table,
        prefix: impl Values,
        columns: &[&str],
    ) -> Result<Vec<FoundRow>, Failure> {
        let prefix = prefix.values();
        let key: Vec<&str> = table.key.iter().map(|column| column.name).collect();
        if prefix.len() >= key.len() {
            return Err(Failure::Other(format!("{} values are no prefix of the key of {}", prefix.len(), table.name)));
        }
        let equal: Vec<String> = key[..prefix.len()].iter().map(|column| format!("{column} = ?")).collect();
        let condition = if equal.is_empty() { String::new() } else { format!(" WHERE {}", equal.join(" AND ")) };
        let list = selected(&format!("ver, {}", table.key_list()), columns);
        let name = self.names.table(table);
        let sql = format!("SELECT {list} FROM {name}{condition} ORDER BY {}", table.key_list());
        let rows = self.run(&sql, &prefix)?.rows;
        let found: Vec<(FoundRow, Option<i64>)> = rows.into_iter().map(|row| split(table, row)).collect();
        let reads: Vec<(String, Option<i64>)> =
            found.iter().map(|(found, version)| (table.key_name(&found.key), *version)).collect();
        self.events.scan(&table.prefix_name(&prefix), &reads);
        Ok(found.into_iter().map(|(found, _)| found).collect())
    }

    /// The rows that fulfil a condition, which may be empty and may end with ORDER BY and LIMIT: `"owner = ? ORDER BY id LIMIT 3"`.
    ///
    /// The history gets a read per row that came back. What the scan passed over is left out.
    pub fn scan(
        &mut self,
        table: &Table,
        condition: &str,
        arguments: impl Values,
        columns: &[&str],
    ) -> Result<Vec<FoundRow>, Failure> {
        self.scan_rows(table, condition, &arguments.values(), columns, false)
    }

    /// The same, and nobody else may change these rows until this transaction ends.
    pub fn scan_for_update(
        &mut self,
        table: &Table,
        condition: &str,
        arguments: impl Values,
        columns: &[&str],
    ) -> Result<Vec<FoundRow>, Failure> {
        self.scan_rows(table, condition, &arguments.values(), columns, true)
    }

    pub(super) fn scan_rows(
        &mut self,
        table: &Table,
        condition: &str,
        arguments: &[Value],
        columns: &[&str],
        locking: bool,
    ) -> Result<Vec<FoundRow>, Failure> {
        self.notes.scans += 1;
        let list = selected(&format!("ver, {}", table.key_list()), columns);
        let condition =
            if condition.is_empty() { String::new() } else { format!(" WHERE {}", self.names.expand(condition)) };
        let lock = if locking { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT {list} FROM {}{condition}{lock}", self.names.table(table));
        let rows = self.run(&sql, arguments)?.rows;
        rows.into_iter().map(|row| self.found(table, row, locking)).collect()
    }

    fn found(&mut self, table: &Table, row: Row, locking: bool) -> Result<FoundRow, Failure> {
        let version = version_of(&row, 0)?;
        let (found, _) = split(table, row);
        self.events.read(&table.key_name(&found.key), version, locking);
        Ok(found)
    }
}

/// A row that begins with a version and the key.
pub(super) fn split(table: &Table, row: Row) -> (FoundRow, Option<i64>) {
    let version = row.optional_int(0).ok().flatten();
    let mut key = row.0;
    key.drain(..1.min(key.len()));
    let rest = key.split_off(table.key.len().min(key.len()));
    (FoundRow { key, row: Row(rest) }, version)
}
