//! What several workloads need: arithmetic on columns, rows that must be there, unique numbers, mixes.

use crate::table::Table;
use crate::{Failure, FinalState, Random, Row, Transaction, Value};
use std::collections::BTreeMap;

/// Who adds and subtracts.
///
/// ```text
///   Client    SELECT bal …;  UPDATE … SET bal = 130 …       two clients can read the same balance: an update is lost
///   Server    UPDATE … SET bal = bal + 30 …                 real servers do this to the latest balance
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// The program reads a value, computes, and writes the result.
    Client,
    /// The program says in SQL what to compute.
    Server,
}

impl Arithmetic {
    /// Adds an amount, which may be negative, to a column of a row that must be there.
    pub(super) fn add(
        self,
        transaction: &mut Transaction<'_>,
        table: &Table,
        key: &[Value],
        column: &str,
        amount: i64,
    ) -> Result<(), Failure> {
        let there = match self {
            Arithmetic::Client => {
                let before = required(transaction.select(table, key, &[column])?)?.int(0)?;
                transaction.overwrite(table, key, &format!("{column} = ?"), before + amount)?
            }
            Arithmetic::Server => transaction.update(table, key, &format!("{column} = {column} + ?"), amount)?,
        };
        if there { Ok(()) } else { Err(Failure::RolledBack) }
    }
}

/// A row that must be there; else the program rolls back.
pub(super) fn required(row: Option<Row>) -> Result<Row, Failure> {
    row.ok_or(Failure::RolledBack)
}

/// A number that no other operation of the run has, and no row that was loaded.
pub(super) fn fresh(session: usize, number: u64) -> i64 {
    (session as i64 + 1) * 1_000_000_000 + number as i64
}

/// The place of a choice, drawn by weight.
pub(super) fn pick(random: &mut Random, weights: &[u64]) -> usize {
    let mut left = random.below(weights.iter().sum());
    for (place, weight) in weights.iter().enumerate() {
        if left < *weight {
            return place;
        }
        left -= weight;
    }
    0
}

/// Two different numbers from 1 to `count`, which is at least 2.
pub(super) fn two_of(random: &mut Random, count: i64) -> (i64, i64) {
    let first = random.between(1, count);
    let second = 1 + (first - 1 + random.between(1, (count - 1).max(1))) % count.max(2);
    (first, second)
}

/// All rows of a table, some of their columns, sorted.
///
/// Assertions add up in the program: so they ask for nothing that a small database may not know.
pub(super) fn all_rows(end: &mut FinalState<'_>, table: &Table, columns: &[&str]) -> Result<Vec<Row>, Failure> {
    let mut rows = end.query(&format!("SELECT {} FROM {{{}}}", columns.join(", "), table.name), ())?;
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(rows)
}

/// Sums by key.
pub(super) type Sums<Key> = BTreeMap<Key, i64>;

/// What two ways of counting say about one thing, when they differ: the first such thing, and how many more there are.
pub(super) fn differences<Key: Ord + Clone>(
    one: &Sums<Key>,
    other: &Sums<Key>,
    say: impl Fn(&Key, i64, i64) -> String,
) -> Vec<String> {
    let keys: std::collections::BTreeSet<&Key> = one.keys().chain(other.keys()).collect();
    let of = |sums: &Sums<Key>, key: &Key| sums.get(key).copied().unwrap_or(0);
    let different = keys.into_iter().filter(|key| of(one, key) != of(other, key));
    different.map(|key| say(key, of(one, key), of(other, key))).collect()
}

/// An assertion that holds when there is nothing to say against it.
pub(super) fn nothing_against(name: &str, against: &[String], otherwise: &str) -> crate::Assertion {
    let detail = match against {
        [] => otherwise.to_owned(),
        [only] => only.clone(),
        [first, more @ ..] => format!("{first}; and {} more", more.len()),
    };
    crate::Assertion::new(name, against.is_empty(), detail)
}
