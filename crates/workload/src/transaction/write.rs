//! Changes: every one writes a fresh version and says which one it replaced.
//!
//! PostgreSQL tells what was replaced with `RETURNING prev`. MySQL and MariaDB have no such thing for updates, but a transaction sees
//! its own row, and `prev` stands in it; so one more SELECT by key tells the same, whatever the level. That one locks what is locked
//! already: a plain SELECT might be the first of its transaction, and decide what the others see.
//!
//! A change by key that finds no row has read that there is none. Which version a server has looked at, its level says; a weak database
//! does not say, and a read that claims the wrong one would accuse it: there such a change leaves no event.

use super::read::{FoundRow, split};
use super::{Transaction, check_key, joined, selected, version_of, without_first};
use crate::table::Table;
use crate::{Failure, Row, Value, Values};
use skew_history::StatementKind::{self, Delete, ForUpdate, Select, Update};
use skew_value::Dialect;

impl Transaction<'_> {
    /// Changes the row with this key: `update(&ACCOUNTS, 7, "balance = balance + ?", 10)`. Whether there is such a row.
    pub fn update(
        &mut self,
        table: &Table,
        key: impl Values,
        set: &str,
        arguments: impl Values,
    ) -> Result<bool, Failure> {
        Ok(self.update_returning(table, key, set, arguments, &[])?.is_some())
    }

    /// The same, and some columns as they are after the change.
    pub fn update_returning(
        &mut self,
        table: &Table,
        key: impl Values,
        set: &str,
        arguments: impl Values,
        columns: &[&str],
    ) -> Result<Option<Row>, Failure> {
        let key = key.values();
        self.first_look(table)?;
        let row = self.replace(table, &key, ("", &[]), (set, &arguments.values()), columns)?;
        if row.is_none() {
            self.found_nothing(table, &key, Update);
        }
        Ok(row)
    }

    /// Changes the row with this key if it also fulfils a condition; whether it did. Compare and swap:
    /// `update_if(&STACK, 0, ("head = ?", old), ("head = ?", new))`.
    ///
    /// When it did not, what is there instead is read by a statement of its own, so that the history shows why.
    pub fn update_if(
        &mut self,
        table: &Table,
        key: impl Values,
        (condition, condition_arguments): (&str, impl Values),
        (set, set_arguments): (&str, impl Values),
    ) -> Result<bool, Failure> {
        let key = key.values();
        let (only, change) = (condition_arguments.values(), set_arguments.values());
        self.first_look(table)?;
        if self.replace(table, &key, (condition, &only), (set, &change), &[])?.is_some() {
            return Ok(true);
        }
        self.select_row(table, &key, &[], Select)?;
        Ok(false)
    }

    /// An UPDATE by key with both columns of versions; the columns after it, or nothing when no row fits.
    fn replace(
        &mut self,
        table: &Table,
        key: &[Value],
        (condition, condition_arguments): (&str, &[Value]),
        (set, set_arguments): (&str, &[Value]),
        columns: &[&str],
    ) -> Result<Option<Row>, Failure> {
        check_key(table, key)?;
        let (version, name) = (self.versions.next(), self.names.table(table));
        let (by_key, list) = (table.key_condition(), selected("prev", columns));
        let condition = if condition.is_empty() { String::new() } else { format!(" AND {condition}") };
        let sql = format!("UPDATE {name} SET {set}, prev = ver, ver = ? WHERE {by_key}{condition}");
        let arguments = joined(&[set_arguments, &[Value::Int(version)], key, condition_arguments]);
        let row = match self.dialect() {
            Dialect::Postgres => self.run(&format!("{sql} RETURNING {list}"), &arguments)?.rows.into_iter().next(),
            Dialect::MySql if self.run(&sql, &arguments)?.affected == 0 => None,
            Dialect::MySql => {
                self.send(&format!("SELECT {list} FROM {name} WHERE {by_key} FOR UPDATE"), key)?.rows.into_iter().next()
            }
        };
        let Some(row) = row else { return Ok(None) };
        let key_name = table.key_name(key);
        self.events.read(&key_name, version_of(&row, 0)?, Update);
        self.events.write(&key_name, Some(version), Update);
        Ok(Some(without_first(row, 1)))
    }

    /// Changes the row with this key without a look at what it was: the history has a write and no read. Whether there is such a
    /// row.
    pub fn overwrite(
        &mut self,
        table: &Table,
        key: impl Values,
        set: &str,
        arguments: impl Values,
    ) -> Result<bool, Failure> {
        let key = key.values();
        check_key(table, &key)?;
        self.first_look(table)?;
        let (version, name) = (self.versions.next(), self.names.table(table));
        let sql = format!("UPDATE {name} SET {set}, prev = ver, ver = ? WHERE {}", table.key_condition());
        let arguments = joined(&[&arguments.values(), &[Value::Int(version)], &key]);
        let there = self.run(&sql, &arguments)?.affected > 0;
        if there {
            self.events.write(&table.key_name(&key), Some(version), Update);
        } else {
            self.found_nothing(table, &key, Update);
        }
        Ok(there)
    }

    /// Changes all rows that fulfil a condition; their keys. Where no server says which they were, they are locked first and then
    /// changed one by one.
    pub fn update_where(
        &mut self,
        table: &Table,
        (condition, condition_arguments): (&str, impl Values),
        (set, set_arguments): (&str, impl Values),
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let (only, change) = (condition_arguments.values(), set_arguments.values());
        self.first_look(table)?;
        if self.dialect() == Dialect::MySql {
            let found = self.scan_rows(table, condition, &only, &[], ForUpdate)?;
            let keys: Vec<Vec<Value>> = found.into_iter().map(|found| found.key).collect();
            for key in &keys {
                self.replace(table, key, ("", &[]), (set, &change), &[])?;
            }
            return Ok(keys);
        }
        self.notes.scans += 1;
        let (version, name, condition) = (self.versions.next(), self.names.table(table), self.names.expand(condition));
        let list = format!("prev, {}", table.key_list());
        let sql = format!("UPDATE {name} SET {set}, prev = ver, ver = ? WHERE {condition} RETURNING {list}");
        let rows = self.run(&sql, &joined(&[&change, &[Value::Int(version)], &only]))?.rows;
        let rows = self.in_order(table, "", rows);
        Ok(rows.into_iter().map(|row| self.replaced(table, row, Some(version))).collect())
    }

    /// A new row: its key, then all other columns in the order of the table.
    pub fn insert(&mut self, table: &Table, key: impl Values, values: impl Values) -> Result<(), Failure> {
        let key = key.values();
        check_key(table, &key)?;
        let version = self.versions.next();
        let columns: Vec<&str> = table.key.iter().chain(table.columns).map(|column| column.name).collect();
        let places = vec!["?"; columns.len() + 1].join(", ");
        let sql = format!("INSERT INTO {} ({}, ver) VALUES ({places})", self.names.table(table), columns.join(", "));
        let inserted = self.run(&sql, &joined(&[&key, &values.values(), &[Value::Int(version)]]));
        match &inserted {
            Ok(_) => self.events.insert(&table.key_name(&key), version),
            Err(Failure::Duplicate) => self.events.duplicate(&table.key_name(&key)),
            Err(_) => {}
        }
        inserted.map(|_| ())
    }

    /// Deletes the row with this key; whether there was one.
    pub fn delete(&mut self, table: &Table, key: impl Values) -> Result<bool, Failure> {
        let key = key.values();
        check_key(table, &key)?;
        self.first_look(table)?;
        let is_there = !self.delete_rows(table, &table.key_condition(), &key)?.is_empty();
        if !is_there {
            let kind = if self.connection.returns_deleted() { Delete } else { ForUpdate };
            self.found_nothing(table, &key, kind);
        }
        Ok(is_there)
    }

    /// Deletes all rows that fulfil a condition; their keys.
    pub fn delete_where(
        &mut self,
        table: &Table,
        condition: &str,
        arguments: impl Values,
    ) -> Result<Vec<Vec<Value>>, Failure> {
        self.notes.scans += 1;
        self.first_look(table)?;
        let condition = self.names.expand(condition);
        self.delete_rows(table, &condition, &arguments.values())
    }

    fn delete_rows(&mut self, table: &Table, condition: &str, arguments: &[Value]) -> Result<Vec<Vec<Value>>, Failure> {
        let name = self.names.table(table);
        if !self.connection.returns_deleted() {
            return self.delete_one_by_one(table, condition, arguments);
        }
        let list = format!("ver, {}", table.key_list());
        let rows = self.run(&format!("DELETE FROM {name} WHERE {condition} RETURNING {list}"), arguments)?.rows;
        let rows = self.in_order(table, "", rows);
        self.notes.deletions += rows.len() as u64;
        Ok(rows.into_iter().map(|row| self.replaced(table, row, None)).collect())
    }

    /// Locks the rows first, and deletes those: one that came after the look fulfils the condition too, and nobody would know that it was
    /// deleted.
    fn delete_one_by_one(
        &mut self,
        table: &Table,
        condition: &str,
        arguments: &[Value],
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let (name, list) = (self.names.table(table), format!("ver, {}", table.key_list()));
        let rows = self.run(&format!("SELECT {list} FROM {name} WHERE {condition} FOR UPDATE"), arguments)?.rows;
        let rows = self.in_order(table, "", rows);
        let found: Vec<(FoundRow, Option<i64>)> = rows.into_iter().map(|row| split(table, row)).collect();
        for (found, version) in &found {
            self.events.read(&table.key_name(&found.key), *version, ForUpdate);
        }
        for (found, version) in &found {
            self.run(&format!("DELETE FROM {name} WHERE {}", table.key_condition()), &found.key)?;
            self.events.read(&table.key_name(&found.key), *version, Delete);
            self.events.write(&table.key_name(&found.key), None, Delete);
        }
        self.notes.deletions += found.len() as u64;
        Ok(found.into_iter().map(|(found, _)| found.key).collect())
    }

    /// A change by key that found no row has read that there is none, where it is known what it looked at.
    fn found_nothing(&mut self, table: &Table, key: &[Value], kind: StatementKind) {
        if !self.events.found_nothing(&table.key_name(key), kind) {
            self.notes.unrecorded += 1;
        }
    }

    /// The events of a change that answered with what it replaced; the key.
    fn replaced(&mut self, table: &Table, row: Row, version: Option<i64>) -> Vec<Value> {
        let (found, previous) = split(table, row);
        let (key_name, kind) = (table.key_name(&found.key), if version.is_some() { Update } else { Delete });
        self.events.read(&key_name, previous, kind);
        self.events.write(&key_name, version, kind);
        found.key
    }
}
