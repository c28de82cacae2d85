//! Lists: a text column to which numbers are appended, `7,12,3`.
//!
//! A list shows the order of all its writers to everybody who reads it, so a history of lists leaves little to guess.

use super::{Transaction, check_key, joined};
use crate::table::Table;
use crate::{Failure, Value, Values};
use skew_value::Dialect;

impl Transaction<'_> {
    /// Puts a number that no other append uses at the end of the list in a column. The number, or nothing when there is no such row.
    ///
    /// It is the version of this write: a try that was refused and the one after it append different numbers.
    pub fn append(&mut self, table: &Table, key: impl Values, column: &str) -> Result<Option<i64>, Failure> {
        let key = key.values();
        check_key(table, &key)?;
        let longer = match self.dialect() {
            Dialect::Postgres => format!("{column} = {column} || ?"),
            Dialect::MySql => format!("{column} = CONCAT({column}, ?)"),
        };
        let name = self.names.table(table);
        let sql = format!("UPDATE {name} SET {longer}, prev = ver, ver = ? WHERE {}", table.key_condition());
        let version = self.versions.next();
        let arguments = joined(&[&[format!("{version},").into(), Value::Int(version)], &key]);
        if self.run(&sql, &arguments)?.affected == 0 {
            return Ok(None);
        }
        self.events.append(&table.key_name(&key), version);
        Ok(Some(version))
    }

    /// The list in a column.
    pub fn read_list(&mut self, table: &Table, key: impl Values, column: &str) -> Result<Vec<i64>, Failure> {
        let key = key.values();
        check_key(table, &key)?;
        let sql = format!("SELECT {column} FROM {} WHERE {}", self.names.table(table), table.key_condition());
        let rows = self.run(&sql, &key)?.rows;
        let text = rows.first().map_or(Ok(""), |row| row.text(0))?;
        let elements = text.split_terminator(',').map(str::parse).collect::<Result<Vec<i64>, _>>();
        let elements = elements.map_err(|_| Failure::Other(format!("`{text}` is not a list of numbers")))?;
        self.events.read_list(&table.key_name(&key), &elements);
        Ok(elements)
    }
}
