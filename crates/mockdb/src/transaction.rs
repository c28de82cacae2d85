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
use skew_sql::Row;
use skew_sql::rows::Memory;
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
    Scan {
        covered: Covered,
        sealed: usize,
        listed: Vec<Listed>,
        /// Keys that it left out: the statement took them under their lock, or saw what it had written there itself and took back.
        except: Vec<KeyId>,
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

/// A statement that runs, or waits to be run again.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Option<Arc<str>>,
    /// Nothing while the store is being loaded.
    pub(crate) mark: Option<Mark>,
    pub(crate) first_operation: usize,
    pub(crate) first_undo: usize,
    /// What it was answered.
    pub(crate) memory: Memory,
    /// Rows that it writes under a lock of their own, and whether it had its turn for that; a row that was locked before needs none.
    pub(crate) turns: FxHashMap<KeyId, bool>,
    /// Own writes whose reading is already told.
    pub(crate) own: FxHashSet<KeyId>,
    pub(crate) told: Vec<Told>,
    /// How many of these were asked for again.
    pub(crate) asked: usize,
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
    pub(crate) operations: Vec<Operation>,
    pub(crate) writes: FxHashMap<KeyId, Option<Row>>,
    /// Keys that it wrote, or tried to, and that have no version yet.
    pub(crate) born: Vec<KeyId>,
    /// What `writes` (or, while loading, the initial state) said before; the outer option is "nothing".
    pub(crate) undo: Vec<(KeyId, Option<Option<Row>>)>,
    /// How many reads the growing history knows of.
    pub(crate) read_count: usize,
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

    /// Drops the writes since then from what the file will say, and the reads of them. A scan that saw a write that is gone did not see
    /// what others wrote there: it leaves the key out.
    pub(crate) fn keep_external_reads(&mut self, first: usize) {
        let later = self.operations.split_off(first.min(self.operations.len()));
        let writes = &self.writes;
        let is_gone = |listed: &Listed| listed.source == Source::Own && writes.get(&listed.key) != Some(&listed.value);
        for mut operation in later {
            match &mut operation.action {
                Action::Write { .. } | Action::Read { source: Source::Own, .. } => continue,
                Action::Scan { listed, except, .. } => {
                    except.extend(listed.iter().filter(|listed| is_gone(listed)).map(|listed| listed.key));
                    listed.retain(|listed| !is_gone(listed));
                }
                Action::Read { .. } => {}
            }
            self.operations.push(operation);
        }
    }
}
