//! Tables as data, and the SQL that makes them.
//!
//! Every table has two columns more than its workload says. `ver` names the version of the row, a number that no other write of
//! the run uses; `prev` is the version that it replaced:
//!
//! ```text
//!   UPDATE accounts SET balance = balance + 10, prev = ver, ver = 2000000007 WHERE id = 1
//!
//!   id  balance  ver         prev
//!   1   110      2000000007  0            version 0 is that of a loaded row
//! ```
//!
//! So a read knows from whom it read, whatever the values are, and an update knows what it overwrote. Names get a prefix, so that a
//! run never touches what others keep in the same database. In SQL that a workload writes itself, `{accounts}` stands for the
//! table of that name.

use crate::Value;
use skew_value::Dialect;
use std::fmt::Write as _;

/// What stands for itself nowhere inside a part of a key.
const SEPARATORS: [char; 4] = ['/', '#', '%', '\''];

/// A table of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its name, without prefix; also the first part of the keys of its rows in the history.
    pub name: &'static str,
    /// The columns of its primary key.
    pub key: &'static [Column],
    /// The other columns.
    pub columns: &'static [Column],
    /// Indexes: lists of columns, separated by commas.
    pub indexes: &'static [&'static str],
    /// Constraints, in SQL that both dialects know: `UNIQUE (name)`, `FOREIGN KEY (owner) REFERENCES {users} (id)`.
    pub constraints: &'static [&'static str],
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name, a word that neither dialect reserves.
    pub name: &'static str,
    /// What is in it.
    pub kind: ColumnKind,
}

/// What is in a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// A whole number.
    Int,
    /// At most 255 letters.
    Text,
    /// Text of any length, which cannot be part of a key.
    LongText,
}

/// A column of whole numbers.
pub const fn int(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Int }
}

/// A column of short texts.
pub const fn text(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Text }
}

/// A column of texts of any length.
pub const fn long_text(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::LongText }
}

impl Table {
    /// A table without indexes and constraints besides its primary key.
    pub const fn new(name: &'static str, key: &'static [Column], columns: &'static [Column]) -> Table {
        Table { name, key, columns, indexes: &[], constraints: &[] }
    }

    /// The same with indexes.
    pub const fn with_indexes(self, indexes: &'static [&'static str]) -> Table {
        Table { indexes, ..self }
    }

    /// The same with constraints.
    pub const fn with_constraints(self, constraints: &'static [&'static str]) -> Table {
        Table { constraints, ..self }
    }

    /// The names of the key's columns, separated by commas.
    pub(crate) fn key_list(&self) -> String {
        let names: Vec<&str> = self.key.iter().map(|column| column.name).collect();
        names.join(", ")
    }

    /// `w_id = ? AND d_id = ?`
    pub(crate) fn key_condition(&self) -> String {
        let parts: Vec<String> = self.key.iter().map(|column| format!("{} = ?", column.name)).collect();
        parts.join(" AND ")
    }

    /// The name of a row in the history: `district/1/2`.
    ///
    /// A slash inside a text is written `%2F`, so that two rows never share a name; and so on with what else has a meaning in the keys of
    /// the mock database. That one calls a row of a table with the same name as this does, but writes a slash `%2f`.
    pub fn key_name(&self, key: &[Value]) -> String {
        let mut name = self.name.to_owned();
        for part in key {
            name.push('/');
            match part {
                Value::Text(text) if text.contains(SEPARATORS) => text.chars().for_each(|letter| {
                    if SEPARATORS.contains(&letter) {
                        let _ = write!(name, "%{:02X}", u32::from(letter));
                    } else {
                        name.push(letter);
                    }
                }),
                part => {
                    let _ = write!(name, "{part}");
                }
            }
        }
        name
    }

    /// What the names of all rows begin with whose key begins with these values: `district/1/`.
    pub fn prefix_name(&self, key: &[Value]) -> String {
        format!("{}/", self.key_name(key))
    }

    /// The statements that make the table.
    pub fn create(&self, names: &Names, dialect: Dialect) -> Vec<String> {
        let mut parts: Vec<String> =
            self.key.iter().map(|column| format!("{} {} NOT NULL", column.name, column.kind.sql(dialect))).collect();
        parts.extend(self.columns.iter().map(|column| format!("{} {}", column.name, column.kind.sql(dialect))));
        parts.push("ver BIGINT NOT NULL".to_owned());
        parts.push("prev BIGINT".to_owned());
        parts.push(format!("PRIMARY KEY ({})", self.key_list()));
        parts.extend(self.constraints.iter().map(|constraint| names.expand(constraint)));
        let table = names.table(self);
        // The collation: letters that differ are different keys, as they are on PostgreSQL.
        let storage = match dialect {
            Dialect::Postgres => "",
            Dialect::MySql => " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        };
        let mut statements = vec![format!("CREATE TABLE {table} ({}){storage}", parts.join(", "))];
        for (number, columns) in self.indexes.iter().enumerate() {
            statements.push(format!("CREATE INDEX {table}_{number} ON {table} ({columns})"));
        }
        statements
    }
}

impl ColumnKind {
    fn sql(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (ColumnKind::Int, _) => "BIGINT",
            (ColumnKind::Text, _) => "VARCHAR(255)",
            (ColumnKind::LongText, Dialect::Postgres) => "TEXT",
            (ColumnKind::LongText, Dialect::MySql) => "LONGTEXT",
        }
    }
}

/// How the tables of a run are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    prefix: String,
}

impl Default for Names {
    fn default() -> Names {
        Names { prefix: "skew_".to_owned() }
    }
}

impl Names {
    /// Names with a prefix: letters, digits and underscores.
    pub fn with_prefix(prefix: &str) -> Option<Names> {
        let starts_well = prefix.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
        let is_word = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_';
        (starts_well && prefix.len() < 32 && prefix.bytes().all(is_word)).then(|| Names { prefix: prefix.to_owned() })
    }

    /// Names as the tables have them, for a database where nobody else is.
    pub fn bare() -> Names {
        Names { prefix: String::new() }
    }

    /// What all names start with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name of a table in the database.
    pub fn table(&self, table: &Table) -> String {
        format!("{}{}", self.prefix, table.name)
    }

    /// SQL with the real names in place of `{accounts}`.
    pub fn expand(&self, sql: &str) -> String {
        let mut expanded = String::with_capacity(sql.len() + 16);
        for letter in sql.chars() {
            match letter {
                '{' => expanded.push_str(&self.prefix),
                '}' => {}
                letter => expanded.push(letter),
            }
        }
        expanded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: Table = Table::new("orders", &[int("shop"), text("number")], &[long_text("remark"), int("total")])
        .with_indexes(&["shop, total"])
        .with_constraints(&["FOREIGN KEY (shop) REFERENCES {shops} (id)"]);

    #[test]
    fn a_table_is_made_with_its_two_columns_of_versions() {
        assert_eq!(
            ORDERS.create(&Names::default(), Dialect::Postgres),
            [
                "CREATE TABLE skew_orders (shop BIGINT NOT NULL, number VARCHAR(255) NOT NULL, remark TEXT, \
                 total BIGINT, ver BIGINT NOT NULL, prev BIGINT, PRIMARY KEY (shop, number), \
                 FOREIGN KEY (shop) REFERENCES skew_shops (id))",
                "CREATE INDEX skew_orders_0 ON skew_orders (shop, total)"
            ]
        );
        let mysql = ORDERS.create(&Names::default(), Dialect::MySql);
        assert!(mysql[0].contains("remark LONGTEXT") && mysql[0].ends_with("COLLATE utf8mb4_bin"), "{}", mysql[0]);
    }

    #[test]
    fn no_two_rows_share_a_name() {
        let name = |shop: &str, number: &str| ORDERS.key_name(&[shop.into(), number.into()]);
        assert_eq!(name("1", "a"), "orders/1/a");
        assert_ne!(name("a/b", "c"), name("a", "b/c"));
        assert_ne!(name("a/b", "c"), name("a%2Fb", "c"));
        assert_eq!(name("#1", "it's"), "orders/%231/it%27s");
    }

    #[test]
    fn a_prefix_is_a_word() {
        assert!(Names::with_prefix("run_7_").is_some());
        for prefix in ["", "7", "a b", "a;", "A", "é"] {
            assert!(Names::with_prefix(prefix).is_none(), "{prefix}");
        }
    }
}
