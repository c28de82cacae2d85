//! One transaction's storage: what SQL asks for becomes requests to the explorer.
//!
//! ```text
//!   get, Lock::None          a plain read                  scan       one plain read per key of the range
//!   get, with a lock         a locking read                present    one locking read per key of the range
//!   put                      a write                       with --updates plain nothing locks, and present is a scan
//!   seek                     a locking read of what fits, a plain one of what is passed over
//! ```
//!
//! **Rows as they stand.** A check of a constraint asks for the rows of a range "as they stand now". There is no now in a history; but the
//! latest state is what locking reads see, so the check reads its whole range with a lock, absent rows included. Two transactions whose
//! rows exclude each other then cannot both have missed the other one: each would have to come before the other in the commit order.
//!
//! **What depends on the order of runs.** Sequences, generated keys, random numbers and the clock become functions of the transaction's
//! place in the program and of how often it asked, so that a transaction stays a function of what it read. Each transaction has a
//! thousand values of every sequence to itself; what follows from the order in which sequences are asked is not explored. What cannot be
//! had in this way (setting a sequence, advisory locks; SKIP LOCKED and NOWAIT but on a server, EXCLUDE there) is refused by name.

use crate::requests::{Interrupt, Requests};
use rustc_hash::FxHashMap;
use skew_history::{Engine, StatementKind};
use skew_program::Run;
use skew_sql::rows::{Found, Layout, Looked, Memory, Reader, Scanned};
use skew_sql::storage::look_by_scan;
use skew_sql::{
    AdvisoryRequest, Columns, Fit, Fits, KeyPart, KeyRange, Lock, Patience, Purpose, Row, RowKey, SavepointId,
    SequenceId, SequenceRule, SpaceId, Stop, Storage, Write, by_place,
};
use skew_value::{Dialect, SqlError, SqlState};
use std::collections::BTreeMap;

const IMPATIENT: &str = "SKIP LOCKED or NOWAIT in a program that is explored";

/// What the values of sequences and clocks are counted from: where they stood before the first call.
#[derive(Clone, Default, Debug)]
pub(crate) struct Counters {
    pub(crate) sequences: BTreeMap<SequenceId, (i64, bool)>,
    pub(crate) fresh_keys: BTreeMap<SpaceId, i128>,
    /// When time begins.
    pub(crate) clock: i64,
}

/// The storage of one run of a transaction.
pub(crate) struct View<'view, 'requests> {
    layout: &'view Layout,
    counters: &'view Counters,
    requests: &'view mut Requests<'requests>,
    /// Whether updates and checks read with locks.
    atomic: bool,
    /// How many transactions come before this one in the program text.
    ordinal: i64,
    /// What this session last got from sequences.
    current_values: BTreeMap<SequenceId, i64>,
    asked: FxHashMap<Wanted, i64>,
    own: BTreeMap<RowKey, Option<Row>>,
    /// What was written before each savepoint, and where that is for the explorer.
    savepoints: Vec<(BTreeMap<RowKey, Option<Row>>, usize)>,
    memory: Memory,
    /// Why the run cannot go on, if it was interrupted.
    interrupt: Option<Interrupt>,
    /// What this exploration cannot do, although the statement is sound.
    refused: Option<SqlError>,
    /// What the statement is for.
    purpose: Purpose,
    /// The code with which a server refused the transaction.
    refusal: Option<&'static str>,
    /// The row to which the entry of a unique index leads that is looked at next.
    row: Option<RowKey>,
}

/// What was asked for how often.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Wanted {
    Sequence(SequenceId),
    FreshKey(SpaceId),
    Random,
}

impl<'view, 'requests> View<'view, 'requests> {
    /// The storage of the transaction with this ordinal; `current_values` is what its session last got from sequences.
    pub(crate) fn new(
        layout: &'view Layout,
        counters: &'view Counters,
        requests: &'view mut Requests<'requests>,
        atomic: bool,
        ordinal: i64,
        current_values: BTreeMap<SequenceId, i64>,
    ) -> View<'view, 'requests> {
        View {
            layout,
            counters,
            requests,
            atomic,
            ordinal,
            current_values,
            asked: FxHashMap::default(),
            own: BTreeMap::new(),
            savepoints: Vec::new(),
            memory: Memory::default(),
            interrupt: None,
            refused: None,
            purpose: Purpose::Read,
            refusal: None,
            row: None,
        }
    }

    /// A statement begins: it knows nothing of what others read.
    pub(crate) fn begin_statement(&mut self, run: &Run, dialect: Dialect) {
        let purpose = run.purpose();
        self.memory = Memory::default();
        self.purpose = purpose;
        let (kind, ignores) = kind_of(purpose, dialect);
        self.requests.statement(kind, ignores);
        if let Some(text) = run.statement() {
            self.requests.say(text);
        }
        if self.requests.is_on_server() && !self.layout.has_indexes() && run.seeks_in_one_place() {
            // An index would lead to several rows, each looked at when those before it are locked.
            self.requests.look_once();
        }
    }

    /// The transaction has said so many statements that are answered, and whether anybody wants a run with these answers.
    pub(crate) fn has_said(&mut self, statements: usize, is_wanted: bool) {
        self.requests.has_said(statements, is_wanted);
    }

    /// The transaction is about to commit: what its client is told if the server refuses that.
    pub(crate) fn commit(&mut self) -> Option<SqlError> {
        self.refusal = self.requests.commit();
        self.refusal.map(|code| match code {
            "40001" => SqlError::new(SqlState("40001"), "could not serialize access due to read/write dependencies"),
            code => refused_with(code),
        })
    }

    /// The code with which a server refused the transaction.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        self.refusal
    }

    /// What the session last got from sequences, at the end.
    pub(crate) fn into_current_values(self) -> BTreeMap<SequenceId, i64> {
        self.current_values
    }

    /// Why the run was interrupted.
    pub(crate) fn take_interrupt(&mut self) -> Option<Interrupt> {
        self.interrupt.take()
    }

    /// What was asked of this storage that it cannot do.
    pub(crate) fn take_refused(&mut self) -> Option<SqlError> {
        self.refused.take()
    }

    fn refuse(&mut self, construct: &str) -> Stop {
        self.refuse_for(SqlError::unsupported(construct))
    }

    fn refuse_for(&mut self, error: SqlError) -> Stop {
        self.refused = Some(error.clone());
        Stop::Error(error)
    }

    /// What the statement remembers, and who answers what it does not.
    fn asked(&mut self) -> (&mut Memory, AskingReader<'_, 'requests>) {
        let View { memory, requests, interrupt, refusal, own, .. } = self;
        (memory, AskingReader { requests, interrupt, refusal, own, locks: Locks::Latest, row: None })
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Stop> {
        self.read_for(key, locking, Locks::Latest)
    }

    fn read_for(&mut self, key: &RowKey, locking: bool, locks: Locks) -> Result<Option<Row>, Stop> {
        let is_parent = matches!(locks, Locks::Row(StatementKind::ForeignKey)) && self.locks_entries();
        let row = if is_parent { self.layout.row_of_key_entry(key) } else { None };
        let (memory, asked) = self.asked();
        memory.read(key, locking, &mut AskingReader { locks, row, ..asked })
    }

    /// What a server does for a lock: a key that is to be taken has to be free, the parent of a foreign key has to stay.
    fn locks_of(&self, key: &RowKey, lock: Lock) -> Locks {
        let is_entry = self.layout.shape(key.space).is_some_and(|shape| shape.index);
        match self.purpose {
            Purpose::ReadForUpdate | Purpose::ReadForNoKeyUpdate | Purpose::ReadForShare | Purpose::ReadForKeyShare => {
                Locks::Row(kind_of(self.purpose, Dialect::Postgres).0)
            }
            _ if lock == Lock::Share => Locks::Row(StatementKind::ForeignKey),
            Purpose::Update if !is_entry => Locks::Row(StatementKind::Update),
            Purpose::Delete if !is_entry => Locks::Row(StatementKind::Delete),
            _ => Locks::Free { decides: true },
        }
    }

    /// The cells of a row that exists.
    fn cells(&mut self, key: &RowKey, columns: &Columns, locking: bool) -> Result<Row, Stop> {
        let layout = self.layout;
        let wanted = layout.wanted(key.space, columns);
        Layout::row_of_cells(wanted, |column| self.read(&layout.cell(key, column), locking))
    }

    fn rows(&mut self, range: &KeyRange, columns: &Columns, locking: bool) -> Result<Vec<(RowKey, Row)>, Stop> {
        let (memory, mut asked) = self.asked();
        let found = memory.range(range, locking, &mut asked)?;
        if !self.layout.has_cells(range.space) {
            return Ok(found);
        }
        let row = |(key, _): (RowKey, Row)| {
            let row = self.cells(&key, columns, locking)?;
            Ok((key, row))
        };
        found.into_iter().map(row).collect()
    }

    /// Whether rows of a space are sought; else they are read, and read again with a lock where updates lock.
    fn seeks(&self, space: SpaceId) -> bool {
        self.atomic && !self.layout.has_cells(space)
    }

    /// Whether entries of an index that lead to rows which are locked are locked, too.
    fn locks_entries(&self) -> bool {
        self.atomic && self.requests.engine() == Some(Engine::Mysql)
    }

    fn write(&mut self, key: RowKey, value: Option<Row>) -> Result<(), Stop> {
        keep(&mut self.interrupt, &mut self.refusal, self.requests.write(&key, value.clone()))?;
        self.own.insert(key, value);
        Ok(())
    }

    fn write_cells(&mut self, key: &RowKey, row: &Row, columns: &mut dyn Iterator<Item = usize>) -> Result<(), Stop> {
        for column in columns {
            if let Some(datum) = row.get(column) {
                self.write(self.layout.cell(key, column), Some([datum.clone()].into()))?;
            }
        }
        Ok(())
    }

    /// How often something was asked before, within the transaction.
    fn count(&mut self, asked: Wanted) -> i64 {
        let count = self.asked.entry(asked).or_default();
        *count += 1;
        *count - 1
    }

    /// The place of a value among those of all transactions.
    fn place_of(&mut self, asked: Wanted) -> Result<i64, Stop> {
        let count = self.count(asked);
        by_place::place(self.ordinal, count).map_err(|error| self.refuse_for(error))
    }
}

impl Storage for View<'_, '_> {
    fn get(&mut self, key: &RowKey, columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        let locking = lock != Lock::None && self.atomic;
        let Some(found) = self.read_for(key, locking, self.locks_of(key, lock))? else { return Ok(None) };
        if self.layout.has_cells(key.space) { self.cells(key, columns, locking).map(Some) } else { Ok(Some(found)) }
    }

    fn get_taken(&mut self, key: &RowKey, decides: bool) -> Result<Option<Row>, Stop> {
        let row = self.row.take();
        let locks = match self.locks_of(key, Lock::Update) {
            Locks::Free { .. } if self.atomic && !self.layout.has_cells(key.space) => Locks::Free { decides },
            _ => return self.get(key, &Columns::All, Lock::Update),
        };
        let (memory, asked) = self.asked();
        memory.read(key, true, &mut AskingReader { locks, row, ..asked })
    }

    fn standing_entry(&mut self, key: &RowKey) -> Result<Option<Row>, Stop> {
        let is_known = !self.atomic || self.own.contains_key(key) || self.memory.knows(key, true);
        Ok(if is_known { None } else { self.requests.standing_entry(key) })
    }

    fn await_row(&mut self, key: &RowKey) -> Result<(), Stop> {
        // The look at its entry waits for it.
        self.row = Some(key.clone());
        Ok(())
    }

    fn get_child(&mut self, key: &RowKey, lock: Lock) -> Result<Option<Row>, Stop> {
        if !self.atomic || self.layout.has_cells(key.space) || !self.requests.is_on_server() {
            return self.get(key, &Columns::All, lock);
        }
        let kind = match self.purpose {
            _ if lock == Lock::Share => StatementKind::ForeignKey,
            Purpose::Delete => StatementKind::Delete,
            _ => StatementKind::Update,
        };
        if let Some(own) = self.own.get(key) {
            return Ok(own.clone());
        }
        // What a look at all rows has remembered of it was without a lock.
        keep(&mut self.interrupt, &mut self.refusal, self.requests.lock_child(key, kind))
    }

    fn would_wait(&mut self, _: &RowKey, lock: Lock) -> Result<bool, Stop> {
        // Asked for SKIP LOCKED and NOWAIT only: their answers depend on who runs at the same time, which a server knows when it locks.
        if lock == Lock::None || !self.atomic || self.requests.is_on_server() {
            return Ok(false);
        }
        Err(self.refuse(IMPATIENT))
    }

    fn locks_with(&mut self, patience: Patience) {
        self.requests.locks_with(patience);
    }

    fn seeks_one(&mut self, is_one: bool) {
        self.requests.seeks_one(is_one);
    }

    fn keeps_partners(&self) -> bool {
        self.requests.engine() == Some(Engine::Postgres)
    }

    fn scan(&mut self, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.rows(range, columns, false)
    }

    fn seek_entries(&mut self, range: &KeyRange) -> Result<Vec<(RowKey, Row)>, Stop> {
        if !self.locks_entries() {
            return self.scan(range, &Columns::All);
        }
        let (memory, mut asked) = self.asked();
        let keys = memory.look_over(range, &mut |_, _| Fit::Yes, &mut asked)?;
        let mut entries = Vec::new();
        for key in keys {
            entries.extend(self.seek_entry(&key)?.map(|entry| (key, entry)));
        }
        Ok(entries)
    }

    fn seek_entry(&mut self, key: &RowKey) -> Result<Option<Row>, Stop> {
        if !self.locks_entries() {
            return self.read(key, false);
        }
        let (memory, mut asked) = self.asked();
        memory.seek(key, &mut |_, _| Fit::Yes, &mut asked)
    }

    fn seek(
        &mut self,
        key: &RowKey,
        columns: &Columns,
        lock: Lock,
        patience: Patience,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        if patience != Patience::Wait {
            self.would_wait(key, lock)?;
        }
        if self.seeks(key.space) {
            let (memory, mut asked) = self.asked();
            return memory.seek(key, fits, &mut asked);
        }
        if self.atomic {
            // Whether it fits, its cells say, which are read under the lock of a row that is there.
            let (memory, mut asked) = self.asked();
            if memory.seek(key, &mut |_, _| Fit::Yes, &mut asked)?.is_none() {
                return Ok(None);
            }
        }
        Ok(self.get(key, columns, lock)?.filter(|row| fits(key, row) != Fit::No))
    }

    fn look_over(&mut self, range: &KeyRange, columns: &Columns, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        if self.seeks(range.space) {
            let (memory, mut asked) = self.asked();
            return memory.look_over(range, fits, &mut asked);
        }
        if !self.atomic {
            return look_by_scan(self, range, columns, fits);
        }
        let wanted = self.memory.wanted_in(range);
        let keys = look_by_scan(self, range, columns, &mut |key, row| {
            if wanted.contains(key) { Fit::Yes } else { fits(key, row) }
        })?;
        self.memory.want(&keys);
        Ok(keys)
    }

    fn take_again(&mut self, key: &RowKey, columns: &Columns, lock: Lock, scope: usize) -> Result<Option<Row>, Stop> {
        if !self.atomic {
            return self.get(key, columns, Lock::None);
        }
        let before = self.memory.enter(scope);
        // A table may have a lock of its own, and a subquery one that the statement has not.
        let kind = match (self.purpose, lock) {
            (Purpose::ReadForKeyShare, Lock::Share) => StatementKind::ForKeyShare,
            (_, Lock::Share) => StatementKind::ForShare,
            (Purpose::ReadForNoKeyUpdate, _) => StatementKind::ForNoKeyUpdate,
            _ => StatementKind::ForUpdate,
        };
        let found = self.read_for(key, true, Locks::Found(kind));
        let row = match found {
            Ok(Some(_)) if self.layout.has_cells(key.space) => self.cells(key, columns, true).map(Some),
            found => found,
        };
        self.memory.enter(before);
        row
    }

    fn forget_look(&mut self, key: &RowKey) {
        self.requests.forget_look(key);
    }

    fn enter(&mut self, scope: usize) -> usize {
        self.memory.enter(scope)
    }

    fn present(&mut self, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        if !self.atomic {
            return Ok(None);
        }
        self.rows(range, &Columns::All, true).map(Some)
    }

    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop> {
        match write {
            Write::Delete => self.write(key.clone(), None),
            Write::Row(row) if self.layout.has_cells(key.space) => {
                self.write(key.clone(), Some(Row::from([])))?;
                self.write_cells(key, &row, &mut (0..row.len()))
            }
            Write::Columns(row, assigned) if self.layout.has_cells(key.space) => {
                self.write_cells(key, &row, &mut assigned.into_iter())
            }
            Write::Row(row) | Write::Columns(row, _) => self.write(key.clone(), Some(row)),
        }
    }

    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop> {
        let place = self.place_of(Wanted::Sequence(sequence))?;
        let stood = self.counters.sequences.get(&sequence).copied();
        let value = by_place::sequence_value(rule, stood, place);
        let value =
            value.map_err(|error| if is_beyond(&error) { self.refuse_for(error) } else { Stop::Error(error) })?;
        self.current_values.insert(sequence, value);
        Ok(value)
    }

    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<(), Stop> {
        Err(self.refuse("setting a sequence in a transaction that is explored"))
    }

    fn pass_value(&mut self, _: SequenceId, _: &SequenceRule, _: i64) -> Result<(), Stop> {
        // Where a sequence stands is no part of a history.
        Ok(())
    }

    fn current_value(&mut self, sequence: SequenceId) -> Option<i64> {
        self.current_values.get(&sequence).copied()
    }

    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop> {
        let place = self.place_of(Wanted::FreshKey(space))?;
        Ok(by_place::fresh_key(self.counters.fresh_keys.get(&space).copied(), place))
    }

    fn settle(&mut self) -> Result<(), Stop> {
        Err(self.refuse("skew_settle in a transaction that is explored"))
    }

    fn advisory(&mut self, _: i128, _: AdvisoryRequest) -> Result<bool, Stop> {
        Err(self.refuse("an advisory lock in a transaction that is explored"))
    }

    fn savepoint(&mut self) -> Result<SavepointId, Stop> {
        self.savepoints.push((self.own.clone(), self.requests.savepoint()));
        Ok(SavepointId(self.savepoints.len() - 1))
    }

    fn back_to(&mut self, savepoint: SavepointId) -> Result<(), Stop> {
        if !self.requests.is_on_server() {
            return Err(self.refuse("ROLLBACK TO a savepoint at a level that is none of an engine"));
        }
        let (own, place) = self.savepoints[savepoint.0].clone();
        keep(&mut self.interrupt, &mut self.refusal, self.requests.back_to(place))?;
        self.savepoints.truncate(savepoint.0 + 1);
        self.own = own;
        Ok(())
    }

    fn now(&self) -> i64 {
        self.counters.clock + self.ordinal * by_place::SECOND
    }

    fn random(&mut self) -> u64 {
        by_place::random(0, (self.ordinal as u64) << 32 | self.count(Wanted::Random) as u64)
    }
}

/// What the explorer answers.
struct AskingReader<'view, 'requests> {
    requests: &'view mut Requests<'requests>,
    interrupt: &'view mut Option<Interrupt>,
    refusal: &'view mut Option<&'static str>,
    locks: Locks,
    own: &'view BTreeMap<RowKey, Option<Row>>,
    /// The row to which an entry leads that is asked for, where that is waited for or locked with it.
    row: Option<RowKey>,
}

impl Reader for AskingReader<'_, '_> {
    type Stop = Stop;

    fn own(&self, key: &RowKey) -> Option<Option<Row>> {
        self.own.get(key).cloned()
    }

    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        own_in(self.own, range)
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Stop> {
        let answer = match self.locks {
            Locks::Free { decides } if locking => self.requests.check_one_of(key, decides, self.row.as_ref()),
            Locks::Row(kind) if locking => self.requests.lock_in(key, kind, self.row.as_ref()),
            Locks::Found(kind) if locking => self.requests.lock_found(key, kind),
            _ => self.requests.read(key, locking),
        };
        keep(self.interrupt, self.refusal, answer)
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Scanned, Stop> {
        keep(self.interrupt, self.refusal, self.requests.scan(range, locking))
    }

    fn look(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, Stop> {
        keep(self.interrupt, self.refusal, self.requests.seek(key, fits))
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, Stop> {
        keep(self.interrupt, self.refusal, self.requests.look_over(range, fits))
    }

    fn claim(&mut self, key: &RowKey, _: &mut Fits<'_>) -> Result<Option<Option<Row>>, Stop> {
        keep(self.interrupt, self.refusal, self.requests.read(key, true)).map(Some)
    }
}

/// What a transaction wrote in a range.
pub(crate) fn own_in(own: &BTreeMap<RowKey, Option<Row>>, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
    range.among(own).map(|(key, row)| (key.clone(), row.clone())).collect()
}

/// An answer, or a stop for the SQL engine; why it stops is kept. What a server refuses is an error like any other.
fn keep<T>(
    interrupt: &mut Option<Interrupt>,
    refusal: &mut Option<&'static str>,
    answer: Result<T, Interrupt>,
) -> Result<T, Stop> {
    answer.map_err(|why| match why {
        Interrupt::Refused(code) => {
            *refusal = Some(code);
            Stop::Error(refused_with(code))
        }
        why => {
            *interrupt = Some(why);
            Stop::Interrupted(skew_sql::Interrupt::Wait)
        }
    })
}

/// What a client is told by a server that refuses its transaction.
fn refused_with(code: &'static str) -> SqlError {
    let (state, message) = match code {
        "40P01" => (SqlState("40P01"), "deadlock detected"),
        "1213" => (SqlState("40001"), "Deadlock found when trying to get lock; try restarting transaction"),
        "55P03" => (SqlState("55P03"), "could not obtain lock on row"),
        "1205" => (SqlState("HY000"), "Lock wait timeout exceeded; try restarting transaction"),
        "1020" => (SqlState("HY000"), "Record has changed since last read in table"),
        _ => (SqlState("40001"), "could not serialize access due to concurrent update"),
    };
    SqlError::new(state, message)
}

/// What a locking read of one key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locks {
    /// The latest version, whatever the level.
    Latest,
    /// The key is to be free, or decides what becomes of the row that is there.
    Free { decides: bool },
    /// The row is to stay as it is.
    Row(StatementKind),
    /// The same, of a row that the statement has found before.
    Found(StatementKind),
}

/// What a statement is in a history, and whether it leaves a row that is there as it is.
fn kind_of(purpose: Purpose, dialect: Dialect) -> (StatementKind, bool) {
    match purpose {
        Purpose::Read => (StatementKind::Select, false),
        Purpose::ReadForUpdate => (StatementKind::ForUpdate, false),
        Purpose::ReadForNoKeyUpdate => (StatementKind::ForNoKeyUpdate, false),
        Purpose::ReadForShare => (StatementKind::ForShare, false),
        Purpose::ReadForKeyShare => (StatementKind::ForKeyShare, false),
        // MySQL's INSERT IGNORE locks as INSERT does.
        Purpose::Insert { or_nothing: true } if dialect == Dialect::Postgres => (StatementKind::Upsert, true),
        Purpose::Insert { or_nothing } => (StatementKind::Insert, or_nothing),
        Purpose::InsertOrUpdate => (StatementKind::Upsert, false),
        Purpose::Update => (StatementKind::Update, false),
        Purpose::Delete => (StatementKind::Delete, false),
    }
}

/// Whether an error says that a statement cannot be run here, rather than that it failed as it would in any database.
pub(crate) fn is_beyond(error: &SqlError) -> bool {
    [SqlState::FEATURE_NOT_SUPPORTED, SqlState::INTERNAL, SqlState::TOO_COMPLEX, SqlState::LIMIT_EXCEEDED]
        .contains(&error.state)
}
