//! A transaction while it runs: what it did so far, what it would write, and how to take parts of that back.
//!
//! ```text
//!   operations   r(x) w(x) │ r(y) scan(item/) w(y) │ r(z) …       what the history file will say, in program order
//!   writes       x → 1, y → 5                      │              seen by its own reads at once, by others after commit
//!   undo         x was not written, y was 3        │              how writes are taken back
//!                savepoint s ──────────────────────┘
//! ```
//!
//! A statement is the unit of failing and of running again. Its [`Statement`] remembers what it was answered: when it has to wait for
//! a lock or for its turn its writes are dropped, it is run again from the start, and everything it asked before is answered as before.

use crate::chooser::ChooserKind;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_check::{GrowingId, Mark, Version};
use skew_history::{IsolationLevel, KeyId};
use skew_sql::{KeyRange, Row};
use std::sync::Arc;

/// Where a read came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The transaction's own write.
    Own,
    /// A committed version.
    Version(Version),
}

/// A bound of a range in the history file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ScanBound {
    Number(i64),
    Text(Arc<str>),
}

/// The range that a scan covers, as the history file says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Covered {
    pub(crate) prefix: Arc<str>,
    pub(crate) low: Option<ScanBound>,
    pub(crate) high: Option<ScanBound>,
}

/// A key that a scan read.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) key: KeyId,
    pub(crate) value: Option<Row>,
    pub(crate) source: Source,
}

/// What the history file will say.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Read {
        key: KeyId,
        value: Option<Row>,
        source: Source,
        locking: bool,
    },
    Write {
        key: KeyId,
        value: Option<Row>,
    },
    /// The number is counted per transaction.
    Scan {
        number: usize,
        covered: Covered,
        sealed: usize,
        listed: Vec<Listed>,
    },
}

/// An action and the statement that it is part of.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) action: Action,
    pub(crate) sql: Option<Arc<str>>,
}

/// What a statement was told that is no read: values of sequences, fresh keys, random numbers.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Number(i128),
    Done,
}

/// A range that a statement has read.
#[derive(Clone, Debug)]
pub(crate) struct ScanMemory {
    pub(crate) range: KeyRange,
    /// The rows of the range that were read, existing or not, in the order of the answer; own writes are looked at anew.
    pub(crate) rows: Vec<KeyId>,
    /// Whether it did not stop early.
    pub(crate) whole: bool,
    /// Its scan is no longer told as one: it is read anew, and each key is answered as before.
    pub(crate) dissolved: bool,
}

/// A statement that runs, or waits to be run again.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Option<Arc<str>>,
    /// Nothing while the store is being loaded.
    pub(crate) mark: Option<Mark>,
    pub(crate) first_operation: usize,
    pub(crate) first_undo: usize,
    pub(crate) reads_before: usize,
    pub(crate) scans_before: usize,
    pub(crate) plain: FxHashMap<KeyId, (Version, Option<Row>)>,
    pub(crate) locked: FxHashMap<KeyId, (Version, Option<Row>)>,
    /// Rows that it writes under a lock of their own, and whether it had its turn for that; a row that was locked before needs none.
    pub(crate) turns: FxHashMap<KeyId, bool>,
    /// Own writes whose reading is already told.
    pub(crate) own: FxHashSet<KeyId>,
    pub(crate) scans: Vec<ScanMemory>,
    pub(crate) told: Vec<Told>,
    /// How many of these were asked for again.
    pub(crate) asked: usize,
}

impl Statement {
    pub(crate) fn answer(&self, key: KeyId, locking: bool) -> Option<&(Version, Option<Row>)> {
        let locked = self.locked.get(&key);
        if locking { locked } else { locked.or_else(|| self.plain.get(&key)) }
    }

    pub(crate) fn remember(&mut self, key: KeyId, locking: bool, answer: (Version, Option<Row>)) {
        let memory = if locking { &mut self.locked } else { &mut self.plain };
        memory.insert(key, answer);
    }
}

#[derive(Debug)]
pub(crate) struct Savepoint {
    pub(crate) name: String,
    /// Nothing while the store is being loaded.
    pub(crate) mark: Option<Mark>,
    pub(crate) first_operation: usize,
    pub(crate) first_undo: usize,
    /// How many writes came before it, where somebody else decides.
    pub(crate) steered_writes: usize,
}

/// A transaction that has not ended.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) id: GrowingId,
    /// It fills the initial state: nothing of it is history.
    pub(crate) loading: bool,
    pub(crate) level: IsolationLevel,
    pub(crate) read_only: bool,
    pub(crate) chooser: Option<ChooserKind>,
    /// The one before was refused; see [`SessionState::after_refusal`](crate::store::SessionState).
    pub(crate) retrying: bool,
    /// How many transactions of its session came before.
    pub(crate) ordinal: u32,
    pub(crate) began_at: i64,
    /// Its `begin` in the history file; see [`Moment`](crate::record::Moment).
    pub(crate) begin: u64,
    pub(crate) operations: Vec<Operation>,
    pub(crate) writes: FxHashMap<KeyId, Option<Row>>,
    /// What `writes` (or, while loading, the initial state) said before; the outer option is "nothing".
    pub(crate) undo: Vec<(KeyId, Option<Option<Row>>)>,
    /// How many reads the growing history knows of.
    pub(crate) read_count: usize,
    /// How many scans it did.
    pub(crate) scan_count: usize,
    pub(crate) savepoints: Vec<Savepoint>,
    pub(crate) statement: Option<Statement>,
}

impl Transaction {
    pub(crate) fn push(&mut self, action: Action) {
        let sql = self.statement.as_ref().and_then(|statement| statement.sql.clone());
        self.operations.push(Operation { action, sql });
    }

    /// Takes writes back until only so many are left.
    pub(crate) fn undo_writes(&mut self, left: usize) {
        while self.undo.len() > left {
            let Some((key, before)) = self.undo.pop() else { break };
            match before {
                Some(value) => self.writes.insert(key, value),
                None => self.writes.remove(&key),
            };
        }
    }

    /// Drops the writes since then from what the file will say, and the reads of them. A scan that saw a write that is gone can no longer
    /// be told as one, because it would seem to have seen the key's absence: it becomes the reads that it was. Returns those. A scan that
    /// saw only older own writes, which are still there, stays what it is.
    pub(crate) fn keep_external_reads(&mut self, first: usize) -> Vec<usize> {
        let mut dissolved = Vec::new();
        let later = self.operations.split_off(first.min(self.operations.len()));
        let writes = &self.writes;
        let is_gone = |listed: &Listed| listed.source == Source::Own && writes.get(&listed.key) != Some(&listed.value);
        for Operation { action, sql } in later {
            match action {
                Action::Write { .. } | Action::Read { source: Source::Own, .. } => {}
                Action::Scan { number, listed, .. } if listed.iter().any(is_gone) => {
                    dissolved.push(number);
                    let external = listed.into_iter().filter(|listed| listed.source != Source::Own);
                    let read = |Listed { key, value, source }| Action::Read { key, value, source, locking: false };
                    let operation = |action| Operation { action, sql: sql.clone() };
                    self.operations.extend(external.map(read).map(operation));
                }
                action => self.operations.push(Operation { action, sql }),
            }
        }
        dissolved
    }
}
