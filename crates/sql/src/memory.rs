//! The simplest store: one latest version per key.
//!
//! It is what a serial database is, seen from the executor: reads see the last write, a rollback brings the rows of its begin back.
//! Tests of SQL run on it, and so does whatever looks at a final state. It can write down every call, which is how tests pin access
//! paths: a lookup by key must be one `get` and nothing else.
//!
//! ```text
//!   SELECT * FROM item WHERE id = 7          get 0/7
//!   UPDATE item SET price = 3 WHERE id = 7   get 0/7 for update, put 0/7
//! ```
//!
//! Weak isolation, locks and waiting are other stores' business.

use crate::stop::Stop;
use crate::storage::{
    Columns, KeyPart, KeyRange, Lock, Row, RowKey, SavepointId, SequenceId, SequenceRule, SpaceId, Storage, Write,
};
use std::collections::BTreeMap;
use std::fmt;

/// Rows in memory, each in its latest version.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    rows: BTreeMap<RowKey, Row>,
    /// The rows at each `begin` that is still open, the outermost first.
    saved: Vec<BTreeMap<RowKey, Row>>,
    /// The rows at each savepoint.
    savepoints: Vec<BTreeMap<RowKey, Row>>,
    sequences: BTreeMap<SequenceId, SequenceState>,
    fresh: BTreeMap<SpaceId, i128>,
    accesses: Option<Vec<Access>>,
    now: i64,
    random: u64,
}

/// Where a sequence stands.
#[derive(Clone, Copy, Debug)]
struct SequenceState {
    value: i64,
    called: bool,
    /// What this session last got.
    current: Option<i64>,
}

/// One call of a store.
#[derive(Clone, PartialEq, Debug)]
pub enum Access {
    /// A row was asked for; whether it was there.
    Get(RowKey, Lock, bool),
    /// A range was read; how many rows it had.
    Scan(KeyRange, usize),
    /// A row was written.
    Put(RowKey, Write),
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Access::Get(key, lock, found) => {
                write!(formatter, "get {}", KeyText(key.space, &key.parts))?;
                match lock {
                    Lock::None => {}
                    Lock::Share => write!(formatter, " for share")?,
                    Lock::Update => write!(formatter, " for update")?,
                }
                if *found { Ok(()) } else { write!(formatter, " absent") }
            }
            Access::Scan(range, rows) => {
                write!(formatter, "scan {}", KeyText(range.space, &range.prefix))?;
                if let Some(low) = &range.low {
                    write!(formatter, " from {low}")?;
                }
                if let Some(high) = &range.high {
                    write!(formatter, " to {high}")?;
                }
                write!(formatter, " rows {rows}")
            }
            Access::Put(key, Write::Delete) => write!(formatter, "delete {}", KeyText(key.space, &key.parts)),
            Access::Put(key, Write::Row(_)) => write!(formatter, "put {}", KeyText(key.space, &key.parts)),
            Access::Put(key, Write::Columns(_, columns)) => {
                write!(formatter, "put {} columns {columns:?}", KeyText(key.space, &key.parts))
            }
        }
    }
}

/// A key as text, its space by number.
struct KeyText<'parts>(SpaceId, &'parts [KeyPart]);

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.0)?;
        self.1.iter().try_for_each(|part| write!(formatter, "/{part}"))
    }
}

impl MemoryStorage {
    /// An empty store.
    pub fn new() -> MemoryStorage {
        MemoryStorage::default()
    }

    /// A store whose clock stands at this many microseconds since 1970.
    pub fn at_time(now: i64) -> MemoryStorage {
        MemoryStorage { now, ..MemoryStorage::default() }
    }

    /// From here on every call is written down.
    pub fn record(&mut self) {
        self.accesses = Some(Vec::new());
    }

    /// The calls since the last time this was asked, if they are being written down.
    pub fn take_accesses(&mut self) -> Vec<Access> {
        self.accesses.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A transaction, savepoint or statement begins.
    pub fn begin(&mut self) {
        self.saved.push(self.rows.clone());
    }

    /// What the innermost `begin` opened stays.
    pub fn commit(&mut self) {
        self.saved.pop();
    }

    /// The rows are again those of the innermost `begin`. Sequences do not go back.
    pub fn rollback(&mut self) {
        if let Some(rows) = self.saved.pop() {
            self.rows = rows;
        }
    }

    /// All rows in the order of their keys.
    pub fn rows(&self) -> impl Iterator<Item = (&RowKey, &Row)> {
        self.rows.iter()
    }

    /// Where the sequences stand: the last value, and whether it was handed out.
    pub fn sequences(&self) -> impl Iterator<Item = (SequenceId, i64, bool)> {
        self.sequences.iter().map(|(&sequence, state)| (sequence, state.value, state.called))
    }

    /// How many fresh keys each space has handed out.
    pub fn fresh_keys(&self) -> impl Iterator<Item = (SpaceId, i128)> {
        self.fresh.iter().map(|(&space, &count)| (space, count))
    }

    /// Where a sequence stands, if it was ever asked.
    fn last(&self, sequence: SequenceId) -> Option<(i64, bool)> {
        self.sequences.get(&sequence).map(|state| (state.value, state.called))
    }

    fn write_down(&mut self, access: impl FnOnce() -> Access) {
        if let Some(accesses) = &mut self.accesses {
            accesses.push(access());
        }
    }
}

impl Storage for MemoryStorage {
    fn get(&mut self, key: &RowKey, _columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        let row = self.rows.get(key).cloned();
        self.write_down(|| Access::Get(key.clone(), lock, row.is_some()));
        Ok(row)
    }

    fn present(&mut self, _range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        // There is one version of everything: a scan misses nothing.
        Ok(None)
    }

    fn scan(&mut self, range: &KeyRange, _columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        let first = range.prefix.iter().chain(&range.low).cloned().collect();
        let candidates = self
            .rows
            .range(RowKey { space: range.space, parts: first }..)
            .take_while(|(key, _)| key.space == range.space && key.parts.starts_with(&range.prefix))
            .take_while(|(key, _)| match (&range.high, key.parts.get(range.prefix.len())) {
                (Some(high), Some(next)) => next <= high,
                _ => true,
            })
            .filter(|(key, _)| range.contains(key))
            .map(|(key, row)| (key.clone(), row.clone()));
        let limit = range.limit.unwrap_or(usize::MAX);
        let rows: Vec<(RowKey, Row)> = match range.descending {
            false => candidates.take(limit).collect(),
            true => {
                let mut rows: Vec<(RowKey, Row)> = candidates.collect();
                rows.reverse();
                rows.truncate(limit);
                rows
            }
        };
        self.write_down(|| Access::Scan(range.clone(), rows.len()));
        Ok(rows)
    }

    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop> {
        self.write_down(|| Access::Put(key.clone(), write.clone()));
        match write {
            Write::Row(row) | Write::Columns(row, _) => self.rows.insert(key.clone(), row),
            Write::Delete => self.rows.remove(key),
        };
        Ok(())
    }

    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop> {
        let value = rule.next(self.last(sequence))?;
        self.sequences.insert(sequence, SequenceState { value, called: true, current: Some(value) });
        Ok(value)
    }

    fn set_value(&mut self, sequence: SequenceId, value: i64, called: bool) -> Result<(), Stop> {
        let current = self.sequences.get(&sequence).and_then(|state| state.current);
        let current = if called { Some(value) } else { current };
        self.sequences.insert(sequence, SequenceState { value, called, current });
        Ok(())
    }

    fn pass_value(&mut self, sequence: SequenceId, rule: &SequenceRule, value: i64) -> Result<(), Stop> {
        if let Some((value, called)) = rule.passed(self.last(sequence), value) {
            let current = self.current_value(sequence);
            self.sequences.insert(sequence, SequenceState { value, called, current });
        }
        Ok(())
    }

    fn current_value(&mut self, sequence: SequenceId) -> Option<i64> {
        self.sequences.get(&sequence).and_then(|state| state.current)
    }

    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop> {
        let next = self.fresh.entry(space).or_insert(0);
        *next += 1;
        Ok(KeyPart::Number(*next))
    }

    fn savepoint(&mut self) -> Result<SavepointId, Stop> {
        self.savepoints.push(self.rows.clone());
        Ok(SavepointId(self.savepoints.len() - 1))
    }

    fn back_to(&mut self, savepoint: SavepointId) -> Result<(), Stop> {
        self.savepoints.truncate(savepoint.0 + 1);
        self.rows.clone_from(&self.savepoints[savepoint.0]);
        Ok(())
    }

    fn now(&self) -> i64 {
        self.now
    }

    fn random(&mut self) -> u64 {
        self.random += 1;
        crate::by_place::random(0, self.random - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_value::Datum;
    use std::sync::Arc;

    fn key(parts: &[i128]) -> RowKey {
        RowKey { space: SpaceId(0), parts: parts.iter().map(|&number| KeyPart::Number(number)).collect() }
    }

    fn row(number: i128) -> Row {
        Arc::from([Datum::Integer(number)])
    }

    fn numbers(storage: &mut MemoryStorage, range: KeyRange) -> Vec<Datum> {
        storage.scan(&range, &Columns::All).unwrap().into_iter().map(|(_, row)| row[0].clone()).collect()
    }

    #[test]
    fn a_range_has_its_bounds_inside_and_may_run_backwards() {
        let mut storage = MemoryStorage::new();
        for number in 1..=5 {
            storage.put(&key(&[number, 10 * number]), Write::Row(row(number))).unwrap();
        }
        let (low, high) = (Some(KeyPart::Number(2)), Some(KeyPart::Number(4)));
        let range = KeyRange { low, high, ..KeyRange::of_prefix(SpaceId(0), Vec::new()) };
        assert_eq!(numbers(&mut storage, range.clone()), [2, 3, 4].map(Datum::Integer));
        let backwards = KeyRange { descending: true, limit: Some(2), ..range };
        assert_eq!(numbers(&mut storage, backwards), [4, 3].map(Datum::Integer));
        let prefix = KeyRange::of_prefix(SpaceId(0), vec![KeyPart::Number(3)]);
        assert_eq!(numbers(&mut storage, prefix), [Datum::Integer(3)]);
    }

    #[test]
    fn a_rollback_brings_rows_back_but_not_sequence_values() {
        let mut storage = MemoryStorage::new();
        let rule = SequenceRule { start: 1, increment: 1, least: 1, greatest: 3, cycles: false };
        storage.put(&key(&[1]), Write::Row(row(1))).unwrap();
        storage.begin();
        storage.put(&key(&[1]), Write::Delete).unwrap();
        assert_eq!(storage.next_value(SequenceId(0), &rule), Ok(1));
        storage.rollback();
        assert_eq!(storage.get(&key(&[1]), &Columns::All, Lock::None), Ok(Some(row(1))));
        assert_eq!(storage.next_value(SequenceId(0), &rule), Ok(2));
        assert_eq!(storage.next_value(SequenceId(0), &rule), Ok(3));
        assert!(matches!(storage.next_value(SequenceId(0), &rule), Err(Stop::Error(_))));
    }

    #[test]
    fn calls_are_written_down_when_asked() {
        let mut storage = MemoryStorage::new();
        storage.record();
        storage.put(&key(&[7]), Write::Row(row(1))).unwrap();
        storage.get(&key(&[7]), &Columns::All, Lock::Update).unwrap();
        storage.get(&key(&[8]), &Columns::All, Lock::None).unwrap();
        let told: Vec<String> = storage.take_accesses().iter().map(Access::to_string).collect();
        assert_eq!(told, ["put 0/7", "get 0/7 for update", "get 0/8 absent"]);
    }
}
