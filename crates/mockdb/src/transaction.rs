//! A transaction while it runs: what it did so far, what it would write, and how to take parts of that back.
//!
//! ```text
//!   operations   r(x) w(x) │ r(y) scan(item/) w(y) │ r(z) …       what the history file will say, in program order
//!   writes       x → 1, y → 5                      │              seen by its own reads at once, by others after commit
//!   undo         x was not written, y was 3        │              how writes are taken back
//!                checkpoint ───────────────────────┘              of a savepoint, or of the statement that runs
//! ```
//!
//! A statement is the unit of failing and of running again; [`OpenStatement`] remembers what it was answered.

use crate::chooser::ChooserKind;
use crate::operation::{ReadFate, ReadOrigin, RecordedAction, RecordedOperation};
use crate::statement::{Checkpoint, OpenStatement};
use rustc_hash::FxHashMap;
use skew_check::{GrowingId, Mark};
use skew_history::{Asked, IsolationLevel, KeyId};
use skew_sql::Row;

/// What is known of a transaction when it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) id: GrowingId,
    /// It fills the initial state: nothing of it is history.
    pub(crate) loading: bool,
    pub(crate) level: IsolationLevel,
    pub(crate) read_only: bool,
    pub(crate) chooser: Option<ChooserKind>,
    /// The one before was refused: this one reads the latest, else it might be refused for ever.
    pub(crate) retrying: bool,
    /// How many transactions of its session came before.
    pub(crate) ordinal: u32,
    /// The clock of the run.
    pub(crate) time: i64,
    /// Its `begin` in the history file; see [`EndClock`](crate::record::EndClock).
    pub(crate) moment: u64,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    checkpoint: Checkpoint,
    /// How many writes came before it, where somebody else decides.
    steered_writes: usize,
}

/// A transaction that has not ended.
#[derive(Debug)]
pub(crate) struct OpenTransaction {
    beginning: Beginning,
    operations: Vec<RecordedOperation>,
    writes: FxHashMap<KeyId, Option<Row>>,
    /// Keys that it wrote, or tried to, and that have no version yet.
    born: Vec<KeyId>,
    /// What `writes` (or, while loading, the initial state) said before; the outer option is "nothing".
    undo: Vec<(KeyId, Option<Option<Row>>)>,
    /// How many reads the growing history knows of.
    read_count: usize,
    savepoints: Vec<Savepoint>,
    statement: Option<OpenStatement>,
    /// With which code a server refused it, and in which statement.
    refused: Option<(&'static str, u32)>,
}

impl OpenTransaction {
    pub(crate) fn new(beginning: Beginning) -> OpenTransaction {
        OpenTransaction {
            beginning,
            operations: Vec::new(),
            writes: FxHashMap::default(),
            born: Vec::new(),
            undo: Vec::new(),
            read_count: 0,
            savepoints: Vec::new(),
            statement: None,
            refused: None,
        }
    }

    pub(crate) fn id(&self) -> GrowingId {
        self.beginning.id
    }

    /// Whether it fills the initial state: nothing of it is history.
    pub(crate) fn is_loading(&self) -> bool {
        self.beginning.loading
    }

    /// From here on what it writes is the initial state.
    pub(crate) fn start_loading(&mut self) {
        self.beginning.loading = true;
    }

    pub(crate) fn level(&self) -> IsolationLevel {
        self.beginning.level
    }

    pub(crate) fn set_level(&mut self, level: IsolationLevel) {
        self.beginning.level = level;
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.beginning.read_only
    }

    pub(crate) fn set_read_only(&mut self, read_only: bool) {
        self.beginning.read_only = read_only;
    }

    /// The chooser that it asked for.
    pub(crate) fn chooser(&self) -> Option<ChooserKind> {
        self.beginning.chooser
    }

    /// Whether the one before was refused.
    pub(crate) fn is_retrying(&self) -> bool {
        self.beginning.retrying
    }

    /// How many transactions of its session came before.
    pub(crate) fn ordinal(&self) -> u32 {
        self.beginning.ordinal
    }

    /// The clock of the run when it began.
    pub(crate) fn time(&self) -> i64 {
        self.beginning.time
    }

    /// When it began, for the history file.
    pub(crate) fn moment(&self) -> u64 {
        self.beginning.moment
    }

    /// What the history file will say of it.
    pub(crate) fn operations(&self) -> &[RecordedOperation] {
        &self.operations
    }

    /// Whether it has read or written anything.
    pub(crate) fn has_events(&self) -> bool {
        !self.operations.is_empty()
    }

    /// Something happened, in the statement that runs.
    pub(crate) fn push(&mut self, action: RecordedAction) {
        self.push_asked(action, Asked::default());
    }

    /// The same where it matters what the statement asked for.
    pub(crate) fn push_asked(&mut self, action: RecordedAction, asked: Asked) {
        let sql = self.statement.as_ref().and_then(OpenStatement::sql);
        self.operations.push(RecordedOperation { action, sql, asked, fate: ReadFate::Stays });
    }

    /// A server refuses a statement of it: what that has seen is not told.
    pub(crate) fn refuse(&mut self, code: &'static str, statement: u32) {
        self.operations.retain(|operation| operation.asked.statement < statement);
        self.refused = Some((code, statement));
    }

    /// With which code a server refused it, and in which statement.
    pub(crate) fn refused(&self) -> Option<(&'static str, u32)> {
        self.refused
    }

    /// What was locked behind a place is locked no longer, and what was refused there is taken back.
    pub(crate) fn let_go(&mut self, checkpoint: Checkpoint, is_repeatable: bool) {
        self.refused = None;
        let later = self.operations.iter_mut().skip(checkpoint.operations());
        later.for_each(|operation| operation.let_go(is_repeatable));
    }

    /// How many reads the growing history knows of.
    pub(crate) fn read_count(&self) -> usize {
        self.read_count
    }

    /// The growing history knows of one more read.
    pub(crate) fn count_read(&mut self) {
        self.read_count += 1;
    }

    /// What it has written under a key: a row, or that there is none.
    pub(crate) fn own(&self, key: KeyId) -> Option<&Option<Row>> {
        self.writes.get(&key)
    }

    /// All that it has written, in no order.
    pub(crate) fn writes(&self) -> &FxHashMap<KeyId, Option<Row>> {
        &self.writes
    }

    /// The same when it is over, by key.
    pub(crate) fn into_writes(self) -> Vec<(KeyId, Option<Row>)> {
        let mut writes: Vec<_> = self.writes.into_iter().collect();
        writes.sort_unstable_by_key(|write| write.0);
        writes
    }

    /// Writes a key, which may be one that has no version yet.
    pub(crate) fn write(&mut self, key: KeyId, value: Option<Row>, is_new: bool, asked: Asked) {
        let before = self.writes.insert(key, value.clone());
        if is_new && before.is_none() {
            self.born.push(key);
        }
        self.undo.push((key, before));
        if let Some(statement) = &mut self.statement {
            statement.wrote(key);
        }
        self.push_asked(RecordedAction::Write { key, value }, asked);
    }

    /// It has replaced a value of the initial state.
    pub(crate) fn loaded(&mut self, key: KeyId, before: Option<Row>) {
        self.undo.push((key, Some(before)));
    }

    /// Keys that it wrote, or tried to, and that have no version yet.
    pub(crate) fn born(&self) -> &[KeyId] {
        &self.born
    }

    /// Those of them that it no longer writes; from here on they are none of its.
    pub(crate) fn forget_unborn(&mut self) -> Vec<KeyId> {
        let (born, gone) = self.born.iter().partition(|key| self.writes.contains_key(key));
        self.born = born;
        gone
    }

    /// A place to come back to, where the growing history has this mark.
    pub(crate) fn checkpoint(&self, mark: Option<Mark>, statement: u32) -> Checkpoint {
        Checkpoint::new(mark, self.operations.len(), self.undo.len(), statement)
    }

    /// The last place to come back to that has a name.
    pub(crate) fn last_savepoint(&self) -> Option<Checkpoint> {
        self.savepoints.last().map(|savepoint| savepoint.checkpoint)
    }

    /// Takes back the writes since then, and drops them and the reads of them from what the file will say. What it loaded is for the
    /// caller to take back: the values that were there before, the last one first.
    pub(crate) fn take_back(&mut self, checkpoint: Checkpoint) -> Vec<(KeyId, Option<Row>)> {
        let loaded = self.undo_to(checkpoint.writes());
        let later = self.operations.split_off(checkpoint.operations().min(self.operations.len()));
        let writes = &self.writes;
        let kept = later.into_iter().filter_map(|operation| {
            operation.without_writes(|listed| {
                listed.source == ReadOrigin::Own && writes.get(&listed.key) != Some(&listed.value)
            })
        });
        self.operations.extend(kept);
        loaded
    }

    /// The same from its beginning, when it fills the initial state.
    pub(crate) fn take_back_loaded(&mut self) -> Vec<(KeyId, Option<Row>)> {
        self.undo_to(0)
    }

    fn undo_to(&mut self, left: usize) -> Vec<(KeyId, Option<Row>)> {
        let undone = self.undo.split_off(left.min(self.undo.len())).into_iter().rev();
        if self.beginning.loading {
            return undone.map(|(key, before)| (key, before.flatten())).collect();
        }
        for (key, before) in undone {
            match before {
                Some(value) => self.writes.insert(key, value),
                None => self.writes.remove(&key),
            };
        }
        Vec::new()
    }

    /// SAVEPOINT, where this many writes came before it for whoever steers.
    pub(crate) fn save(&mut self, name: &str, checkpoint: Checkpoint, steered_writes: usize) {
        self.savepoints.push(Savepoint { name: name.to_owned(), checkpoint, steered_writes });
    }

    /// How many savepoints are set.
    pub(crate) fn savepoint_count(&self) -> usize {
        self.savepoints.len()
    }

    /// The savepoint of a name goes, with all behind it; whether there is one.
    pub(crate) fn release(&mut self, name: &str) -> bool {
        let place = self.savepoints.iter().rposition(|savepoint| savepoint.name == name);
        self.savepoints.truncate(place.unwrap_or(self.savepoints.len()));
        place.is_some()
    }

    /// All savepoints behind the one of a name go: where that is, and how many writes came before it for whoever steers.
    pub(crate) fn back_to(&mut self, name: &str) -> Option<(Checkpoint, usize)> {
        let place = self.savepoints.iter().rposition(|savepoint| savepoint.name == name)?;
        self.savepoints.truncate(place + 1);
        self.savepoints.last().map(|savepoint| (savepoint.checkpoint, savepoint.steered_writes))
    }

    /// The statement that runs, or waits to be run again.
    pub(crate) fn statement(&self) -> Option<&OpenStatement> {
        self.statement.as_ref()
    }

    pub(crate) fn statement_mut(&mut self) -> Option<&mut OpenStatement> {
        self.statement.as_mut()
    }

    /// A statement begins, or one that has to be run again goes on.
    pub(crate) fn set_statement(&mut self, statement: OpenStatement) {
        self.statement = Some(statement);
    }

    /// The statement ends.
    pub(crate) fn take_statement(&mut self) -> Option<OpenStatement> {
        self.statement.take()
    }
}
