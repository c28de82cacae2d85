//! What is there before a run: the statements that make and fill the tables.
//!
//! ```text
//!   Workload::load ── Loader::insert(table, key, values) ── CREATE TABLE …; INSERT INTO … VALUES (…), (…), …
//!                                                        └─ {"initial": {"accounts/1": 0, …}} in the header of the history
//! ```
//!
//! The statements are plain text with all values in it, the same for the same workload. So a server can be filled by a driver, and the
//! mock database by a script before its history begins.

use crate::table::{Names, Table};
use crate::{Value, Values, Workload};
use skew_value::Dialect;
use std::fmt::Write as _;

/// How many rows one INSERT has.
const BATCH: usize = 200;

/// Collects the rows of the tables.
pub struct Loader {
    names: Names,
    dialect: Dialect,
    statements: Vec<String>,
    /// The table of the last statement and how many rows it has already.
    open: Option<(&'static str, usize)>,
    initial: Vec<String>,
}

/// The tables and rows of a workload, as statements and as keys.
pub struct Setup {
    /// In this order; each can be sent by itself.
    pub statements: Vec<String>,
    /// The keys of all rows, as the history calls them.
    pub initial: Vec<String>,
}

impl Setup {
    /// What `workload` needs before it runs.
    pub fn new(workload: &dyn Workload, names: &Names, dialect: Dialect) -> Setup {
        let create = workload.tables().iter().flat_map(|table| table.create(names, dialect)).collect();
        let mut loader = Loader { names: names.clone(), dialect, statements: create, open: None, initial: Vec::new() };
        workload.load(&mut loader);
        Setup { statements: loader.statements, initial: loader.initial }
    }

    /// All statements in one text, for whoever takes a script.
    pub fn script(&self) -> String {
        self.statements.iter().map(|statement| format!("{statement};\n")).collect()
    }
}

impl Loader {
    /// A row: its key, then all other columns in the order of the table.
    pub fn insert(&mut self, table: &Table, key: impl Values, values: impl Values) {
        let key = key.values();
        self.initial.push(table.key_name(&key));
        self.push(table, &key, &values.values());
    }

    /// A row whose column is an empty list, see [`crate::Transaction::append`]: the history has it as one that nobody appended to.
    pub fn insert_list(&mut self, table: &Table, key: impl Values) {
        self.push(table, &key.values(), &["".into()]);
    }

    fn push(&mut self, table: &Table, key: &[Value], values: &[Value]) {
        let row = self.row(key.iter().chain(values));
        match (&mut self.open, self.statements.last_mut()) {
            (Some((name, rows)), Some(statement)) if *name == table.name && *rows < BATCH => {
                *rows += 1;
                statement.push_str(", ");
                statement.push_str(&row);
            }
            _ => {
                self.open = Some((table.name, 1));
                let columns: Vec<&str> = table.key.iter().chain(table.columns).map(|column| column.name).collect();
                let name = self.names.table(table);
                self.statements.push(format!("INSERT INTO {name} ({}, ver) VALUES {row}", columns.join(", ")));
            }
        }
    }

    fn row<'a>(&self, values: impl Iterator<Item = &'a Value>) -> String {
        let mut row = "(".to_owned();
        for value in values {
            match value {
                Value::Null => row.push_str("NULL, "),
                Value::Int(number) => {
                    let _ = write!(row, "{number}, ");
                }
                Value::Text(text) => {
                    let _ = write!(row, "{}, ", literal(text, self.dialect));
                }
            }
        }
        row.push_str("0)");
        row
    }
}

/// Text between quotes. A backslash is a letter like others for PostgreSQL only.
fn literal(text: &str, dialect: Dialect) -> String {
    let doubled = text.replace('\'', "''");
    match dialect {
        Dialect::Postgres => format!("'{doubled}'"),
        Dialect::MySql => format!("'{}'", doubled.replace('\\', "\\\\")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::table::{int, text};
    use crate::workload::Operation;

    const NOTES: Table = Table::new("notes", &[int("id")], &[text("words")]);

    struct Notes;

    impl Workload for Notes {
        fn name(&self) -> &'static str {
            "notes"
        }

        fn tables(&self) -> &[Table] {
            &[NOTES]
        }

        fn load(&self, loader: &mut Loader) {
            loader.insert(&NOTES, 1, r"it's a \");
            (2..=201).for_each(|id| loader.insert(&NOTES, id, Value::Null));
        }

        fn draw(&self, _: &mut Random, _: usize, _: u64) -> Operation {
            Operation::new("nothing", |_| Ok(()))
        }
    }

    #[test]
    fn rows_come_in_batches_with_version_zero() {
        let setup = Setup::new(&Notes, &Names::default(), Dialect::MySql);
        assert_eq!(setup.statements.len(), 3);
        let start =
            r"INSERT INTO skew_notes (id, words, ver) VALUES (1, 'it''s a \\', 0), (2, NULL, 0), (3, NULL, 0), ";
        assert!(setup.statements[1].starts_with(start), "{}", setup.statements[1]);
        assert_eq!(setup.statements[2], "INSERT INTO skew_notes (id, words, ver) VALUES (201, NULL, 0)");
        assert_eq!((setup.initial.len(), setup.initial[0].as_str()), (201, "notes/1"));
        let postgres = Setup::new(&Notes, &Names::default(), Dialect::Postgres).script();
        assert!(postgres.contains(r"(1, 'it''s a \', 0)") && postgres.ends_with("(201, NULL, 0);\n"));
    }
}
