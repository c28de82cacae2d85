//! A statement that runs, or waits to be run again: what it was answered.
//!
//! When a statement has to wait for a lock or for its turn its writes are dropped, it is run again from the start, and everything that
//! it asked before is answered as before: reads by its [`Memory`], values of sequences and the like by what it was [`Told`].
//!
//! ```text
//!   UPDATE …   nextval → 7   r(x)   r(y): wait          told: 7     memory: x
//!   again      nextval → 7   r(x)   r(y)   w(y)         both answered as before
//! ```

use crate::waits::LocksGiven;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_check::Mark;
use skew_history::KeyId;
use skew_sql::rows::Memory;
use skew_sql::{Interrupt, Row, RowKey, Stop};
use std::sync::Arc;

/// How a statement ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementEnding {
    /// It did what it should.
    Done,
    /// It was wrong, and changed nothing.
    Failed,
    /// It will be run again.
    Waiting,
}

impl StatementEnding {
    /// How a statement with this result ended.
    pub(crate) fn of<T>(result: &Result<T, Stop>) -> StatementEnding {
        match result {
            Ok(_) => StatementEnding::Done,
            Err(Stop::Interrupted(Interrupt::Wait)) => StatementEnding::Waiting,
            Err(_) => StatementEnding::Failed,
        }
    }
}

/// A place in a transaction to come back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint {
    mark: Option<Mark>,
    operations: usize,
    writes: usize,
    /// How many statements a server had answered.
    statement: u32,
    /// Which locks of tables had been given.
    locks: LocksGiven,
}

impl Checkpoint {
    /// Behind this many operations and writes, where the growing history has this mark; it has none while the store is being loaded.
    pub(crate) fn new(mark: Option<Mark>, operations: usize, writes: usize, statement: u32) -> Checkpoint {
        Checkpoint { mark, operations, writes, statement, locks: LocksGiven::default() }
    }

    /// The same where these locks had been given.
    pub(crate) fn with_locks(self, locks: LocksGiven) -> Checkpoint {
        Checkpoint { locks, ..self }
    }

    /// Which locks of tables, and which that applications name, had been given.
    pub(crate) fn locks(&self) -> LocksGiven {
        self.locks
    }

    /// How many statements a server had answered.
    pub(crate) fn statement(&self) -> u32 {
        self.statement
    }

    /// Where the growing history was.
    pub(crate) fn mark(&self) -> Option<Mark> {
        self.mark
    }

    /// How many operations there were.
    pub(crate) fn operations(&self) -> usize {
        self.operations
    }

    /// How many writes there were.
    pub(crate) fn writes(&self) -> usize {
        self.writes
    }
}

/// What a statement was told that is no read: values of sequences, fresh keys, random numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    Number(i128),
    Done,
}

/// A statement that runs, or waits to be run again.
#[derive(Debug)]
pub(crate) struct OpenStatement {
    sql: Option<Arc<str>>,
    checkpoint: Checkpoint,
    /// What it was answered.
    memory: Memory,
    /// Rows that it writes under a lock of their own, and whether it had its turn for that; a row that was locked before needs none.
    turns: FxHashMap<KeyId, bool>,
    /// Own writes whose reading is already told.
    own: FxHashSet<KeyId>,
    told: Vec<Told>,
    /// How many of these were asked for again.
    asked: usize,
    /// Rows as they stood when it looked at ranges, and how many of these looks were asked for again.
    shown: Vec<Vec<(RowKey, Row)>>,
    looked: usize,
    /// Whether it was said what it is for.
    is_declared: bool,
}

impl OpenStatement {
    /// A statement begins here.
    pub(crate) fn new(sql: Option<&str>, checkpoint: Checkpoint) -> OpenStatement {
        OpenStatement {
            sql: sql.map(Into::into),
            checkpoint,
            memory: Memory::default(),
            turns: FxHashMap::default(),
            own: FxHashSet::default(),
            told: Vec::new(),
            asked: 0,
            shown: Vec::new(),
            looked: 0,
            is_declared: false,
        }
    }

    /// It is said what it is for; whether that was not said before.
    pub(crate) fn declare(&mut self) -> bool {
        !std::mem::replace(&mut self.is_declared, true)
    }

    pub(crate) fn sql(&self) -> Option<Arc<str>> {
        self.sql.clone()
    }

    /// Where its transaction was when it began.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.checkpoint
    }

    /// It runs again.
    pub(crate) fn begin_again(&mut self) {
        (self.asked, self.looked) = (0, 0);
    }

    /// It waits to be run again, without what it wrote.
    pub(crate) fn wait(&mut self) {
        self.own.clear();
    }

    /// Its memory, while it is asked: whoever answers what it does not know needs all the rest.
    pub(crate) fn take_memory(&mut self) -> Memory {
        std::mem::take(&mut self.memory)
    }

    pub(crate) fn put_memory(&mut self, memory: Memory) {
        self.memory = memory;
    }

    /// Whether it has read a row under its lock.
    pub(crate) fn knows_locked(&self, row: &RowKey) -> bool {
        self.memory.knows(row, true)
    }

    /// A subquery begins or ends; who read before.
    pub(crate) fn enter(&mut self, scope: usize) -> usize {
        self.memory.enter(scope)
    }

    /// Whether the read of an own write is told for the first time.
    pub(crate) fn tell_own(&mut self, key: KeyId) -> bool {
        self.own.insert(key)
    }

    /// An own write is there whose reading is not told yet.
    pub(crate) fn wrote(&mut self, key: KeyId) {
        self.own.remove(&key);
    }

    /// Whether it needs no turn to write a row: it had it, or the row's lock was there before.
    pub(crate) fn has_turn(&mut self, key: KeyId, is_locked: bool) -> bool {
        *self.turns.entry(key).or_insert(is_locked)
    }

    /// It had its turn to write a row.
    pub(crate) fn take_turn(&mut self, key: KeyId) {
        self.turns.insert(key, true);
    }

    /// What it was told at this place when it ran before.
    pub(crate) fn told_before(&mut self) -> Option<Told> {
        let told = self.told.get(self.asked).copied()?;
        self.asked += 1;
        Some(told)
    }

    /// What stood in a range when it looked there before.
    pub(crate) fn shown_before(&mut self) -> Option<Vec<(RowKey, Row)>> {
        let shown = self.shown.get(self.looked).cloned()?;
        self.looked += 1;
        Some(shown)
    }

    /// It looks at a range at which it did not look before.
    pub(crate) fn show(&mut self, rows: Vec<(RowKey, Row)>) {
        self.shown.push(rows);
        self.looked += 1;
    }

    /// It is told something that it was not told before.
    pub(crate) fn tell(&mut self, told: Told) {
        self.told.push(told);
        self.asked += 1;
    }
}
