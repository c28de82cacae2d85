//! Reads: one row by its key, or all that fulfil a condition.

use super::{Transaction, check_key, selected, version_of, without_first};
use crate::table::Table;
use crate::{Failure, Row, Value, Values};
use skew_history::StatementKind::{self, ForUpdate, Select};

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
        self.select_row(table, &key.values(), columns, Select)
    }

    /// The same, and nobody else may change it until this transaction ends.
    pub fn select_for_update(
        &mut self,
        table: &Table,
        key: impl Values,
        columns: &[&str],
    ) -> Result<Option<Row>, Failure> {
        self.select_row(table, &key.values(), columns, ForUpdate)
    }

    pub(super) fn select_row(
        &mut self,
        table: &Table,
        key: &[Value],
        columns: &[&str],
        kind: StatementKind,
    ) -> Result<Option<Row>, Failure> {
        check_key(table, key)?;
        if self.lookups.whole && kind == Select {
            return self.pick(table, key, columns);
        }
        self.first_look(table)?;
        let (list, name) = (selected("ver", columns), self.names.table(table));
        let sql = format!("SELECT {list} FROM {name} WHERE {}{}", table.key_condition(), lock_of(kind));
        let mut rows = self.run(&sql, key)?.rows.into_iter();
        let (row, is_double) = (rows.next(), rows.next().is_some());
        let version = row.as_ref().map(|row| version_of(row, 0)).transpose()?.flatten();
        if is_double {
            self.notes.unrecorded += 1;
        } else {
            self.events.read(&table.key_name(key), version, kind);
        }
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
        self.first_look(table)?;
        self.rows_of_prefix(table, &prefix.values(), columns)
    }

    pub(super) fn rows_of_prefix(
        &mut self,
        table: &Table,
        prefix: &[Value],
        columns: &[&str],
    ) -> Result<Vec<FoundRow>, Failure> {
        let key: Vec<&str> = table.key.iter().map(|column| column.name).collect();
        if prefix.len() >= key.len() {
            return Err(Failure::Other(format!("{} values are no prefix of the key of {}", prefix.len(), table.name)));
        }
        let equal: Vec<String> = key[..prefix.len()].iter().map(|column| format!("{column} = ?")).collect();
        let condition = if equal.is_empty() { String::new() } else { format!(" WHERE {}", equal.join(" AND ")) };
        let list = selected(&format!("ver, {}", table.key_list()), columns);
        let name = self.names.table(table);
        let sql = format!("SELECT {list} FROM {name}{condition} ORDER BY {}", table.key_list());
        let rows = self.run(&sql, prefix)?.rows;
        let found: Vec<(FoundRow, Option<i64>)> = rows.into_iter().map(|row| split(table, row)).collect();
        let reads: Vec<(String, Option<i64>)> =
            found.iter().map(|(found, version)| (table.key_name(&found.key), *version)).collect();
        let doubles = self.doubles(reads.iter().map(|(key, _)| key.clone()).collect());
        let reads: Vec<(String, Option<i64>)> = reads.into_iter().filter(|(key, _)| !doubles.contains(key)).collect();
        self.events.scan(&table.prefix_name(prefix), &reads, &doubles);
        if reads.is_empty() {
            self.note_look(table.name);
        }
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
        self.first_look(table)?;
        self.scan_rows(table, condition, &arguments.values(), columns, Select)
    }

    /// The same, and nobody else may change these rows until this transaction ends.
    pub fn scan_for_update(
        &mut self,
        table: &Table,
        condition: &str,
        arguments: impl Values,
        columns: &[&str],
    ) -> Result<Vec<FoundRow>, Failure> {
        self.first_look(table)?;
        self.scan_rows(table, condition, &arguments.values(), columns, ForUpdate)
    }

    pub(super) fn scan_rows(
        &mut self,
        table: &Table,
        condition: &str,
        arguments: &[Value],
        columns: &[&str],
        kind: StatementKind,
    ) -> Result<Vec<FoundRow>, Failure> {
        self.notes.scans += 1;
        let list = selected(&format!("ver, {}", table.key_list()), columns);
        let condition =
            if condition.is_empty() { String::new() } else { format!(" WHERE {}", self.names.expand(condition)) };
        let sql = format!("SELECT {list} FROM {}{condition}{}", self.names.table(table), lock_of(kind));
        let rows = self.run(&sql, arguments)?.rows;
        if rows.is_empty() && kind == Select {
            self.note_look(table.name);
        }
        let rows = self.in_order(table, &condition, rows);
        let found = rows.into_iter().map(|row| split(table, row)).collect();
        Ok(self.record_rows(table, found, kind))
    }

    /// A read of each row; the rows.
    pub(super) fn record_rows(
        &mut self,
        table: &Table,
        found: Vec<(FoundRow, Option<i64>)>,
        kind: StatementKind,
    ) -> Vec<FoundRow> {
        let doubles = self.doubles(found.iter().map(|(found, _)| table.key_name(&found.key)).collect());
        for (found, version) in &found {
            let key = table.key_name(&found.key);
            if !doubles.contains(&key) {
                self.events.read(&key, *version, kind);
            }
        }
        found.into_iter().map(|(found, _)| found).collect()
    }

    /// Keys that came back twice. PostgreSQL does that at repeatable read and above when a transaction has inserted a key that somebody has
    /// deleted since its snapshot: the new row and the old one. Which transaction wrote the old one nobody here knows by its name, and
    /// without it such a read could not be told from a wrong one; so there is no event for these keys.
    fn doubles(&mut self, mut keys: Vec<String>) -> Vec<String> {
        keys.sort_unstable();
        let mut doubles: Vec<String> =
            keys.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect();
        doubles.dedup();
        self.notes.unrecorded += doubles.len() as u64;
        doubles
    }
}

/// What stands behind a SELECT.
fn lock_of(kind: StatementKind) -> &'static str {
    if kind == ForUpdate { " FOR UPDATE" } else { "" }
}

/// A row that begins with a version and the key.
pub(super) fn split(table: &Table, row: Row) -> (FoundRow, Option<i64>) {
    let version = row.optional_int(0).ok().flatten();
    let mut key = row.0;
    key.drain(..1.min(key.len()));
    let rest = key.split_off(table.key.len().min(key.len()));
    (FoundRow { key, row: Row(rest) }, version)
}
