//! Reads and writes of rows, and how they become reads and writes of keys.
//!
//! ```text
//!   granularity row     get(account/7)              r(account/7)
//!   granularity cell    get(account/7, balance)     r(account/7) r(account/7#balance)       the first: whether the row exists
//! ```
//!
//! At the granularity of cells an INSERT writes the row's existence and every cell, an UPDATE the cells that it assigns, a DELETE the
//! existence alone: whoever sees that the row exists has seen its INSERT, and with it a version of every cell.
//!
//! A read is, in this order: of an own write; answered already in this statement; a new event, for which its session needs its turn
//! and, if it locks, the row's lock. A lock is taken on the row, whatever the granularity. A write needs a turn only when it is the first
//! to want the row's lock: nobody sees it before the commit.

use crate::keys::KeyTable;
use crate::lock::LockMode;
use crate::operation::{ReadOrigin, RecordedAction};
use crate::scan::RangeScan;
use crate::store::{ReadMode, Store};
use skew_check::{Updates, Version};
use skew_history::{KeyId, SessionId};
use skew_sql::{Columns, Fits, KeyRange, Lock, Patience, Row, RowKey, SpaceId, Stop, Write};
use skew_sql::{rows::Found, rows::Layout, rows::Looked, rows::Memory, rows::Reader, rows::Scanned};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeSet;

/// So many writes are looked through; of more, those that lie in a range are looked up.
const FEW: usize = 16;

/// The rows of a store, as the open transaction of a session sees them at its level.
pub(crate) struct LevelRows<'a> {
    store: &'a mut Store,
    session: SessionId,
}

/// Reads.
impl<'a> LevelRows<'a> {
    pub(crate) fn new(store: &'a mut Store, session: SessionId) -> LevelRows<'a> {
        LevelRows { store, session }
    }

    /// The row under a key, present or not.
    pub(crate) fn get(&mut self, row: &RowKey, columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        let locking = lock != Lock::None && self.updates_lock();
        let found = self.read(row, lock, locking)?;
        match found {
            Some(_) if self.has_cells(row.space) => self.cells(row, columns, lock, locking).map(Some),
            found => Ok(found),
        }
    }

    fn read(&mut self, key: &RowKey, lock: Lock, locking: bool) -> Result<Option<Row>, Stop> {
        if self.store.transaction(self.session)?.is_loading() {
            let past = self.store.past();
            return Ok(self.keys().known(key).and_then(|key| past.initial(key).cloned()));
        }
        self.tell_own(key)?;
        self.remembering((lock, Patience::Wait), |memory, asked| memory.read(key, locking, asked))
    }

    /// The rows of a range, in the order of their keys.
    pub(crate) fn scan(&mut self, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        let found = if self.store.transaction(self.session)?.is_loading() {
            self.loaded(range)
        } else {
            self.remembering((Lock::None, Patience::Wait), |memory, asked| memory.range(range, false, asked))?
        };
        if !self.has_cells(range.space) {
            return Ok(found);
        }
        let cells = |(row, _): (RowKey, Row)| {
            let cells = self.cells(&row, columns, Lock::None, false)?;
            Ok((row, cells))
        };
        found.into_iter().map(cells).collect()
    }

    fn loaded(&self, range: &KeyRange) -> Vec<(RowKey, Row)> {
        let (keys, past) = (self.keys(), self.store.past());
        let inside = keys.from(range.space, &range.prefix, range.low.as_ref()).map(|(_, key)| key);
        let inside = inside.filter(|key| range.contains(keys.row_of(*key)));
        let row = |key: KeyId| Some((keys.row_of(key).clone(), past.initial(key)?.clone()));
        let mut found: Vec<(RowKey, Row)> = inside.filter_map(row).collect();
        if range.descending {
            found.reverse();
        }
        found.truncate(range.limit.unwrap_or(usize::MAX));
        found
    }

    /// The cells of a row that exists.
    fn cells(&mut self, row: &RowKey, columns: &Columns, lock: Lock, locking: bool) -> Result<Row, Stop> {
        let cell = |keys: &KeyTable, column: usize| keys.layout().cell(row, column);
        let wanted = match columns {
            Columns::All => {
                let keys = self.keys();
                (0..).take_while(|&column| keys.known(&cell(keys, column)).is_some()).collect()
            }
            Columns::Some(columns) => columns.clone(),
        };
        Layout::row_of_cells(wanted, |column| {
            // A column that is younger than the row has no cell.
            let cell = cell(self.keys(), column);
            if self.keys().known(&cell).is_none() { Ok(None) } else { self.read(&cell, lock, locking) }
        })
    }

    /// A read of an own write is no event for the level, but whoever reads the history wants to see it, once per statement.
    fn tell_own(&mut self, key: &RowKey) -> Result<(), Stop> {
        let Some(key) = self.keys().known(key) else { return Ok(()) };
        let transaction = self.store.transaction_mut(self.session)?;
        let Some(own) = transaction.own(key).cloned() else { return Ok(()) };
        if transaction.statement_mut().is_none_or(|statement| statement.tell_own(key)) {
            transaction.push(RecordedAction::Read { key, value: own, source: ReadOrigin::Own, locking: false });
        }
        Ok(())
    }

    /// Asks the memory of the session's statement, which asks the store for what it does not know.
    fn remembering<T>(
        &mut self,
        (lock, patience): (Lock, Patience),
        work: impl FnOnce(&mut Memory, &mut StatementReader<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let session = self.session;
        let statement = self.store.transaction_mut(session)?.statement_mut();
        let mut memory = statement.map(|statement| statement.take_memory()).unwrap_or_default();
        let answer =
            work(&mut memory, &mut StatementReader { rows: LevelRows { store: self.store, session }, lock, patience });
        // A refusal has ended the transaction, and its statement.
        if let Some(statement) = self.store.statement_mut(session) {
            statement.put_memory(memory);
        }
        answer
    }

    fn keys(&self) -> &KeyTable {
        self.store.past().keys()
    }

    fn updates_lock(&self) -> bool {
        self.store.options().updates == Updates::Atomic
    }

    fn has_cells(&self, space: SpaceId) -> bool {
        self.store.past().has_cells(space)
    }
}

/// LevelRows that are sought.
impl LevelRows<'_> {
    /// Whether a read with a lock would have to wait: asked when it is the session's turn, so that the read may follow at once.
    pub(crate) fn would_wait(&mut self, row: &RowKey, lock: Lock) -> Result<bool, Stop> {
        let key = self.store.past_mut().keys_mut().number(row);
        let transaction = self.store.transaction(self.session)?;
        let is_known = transaction.statement().is_some_and(|statement| statement.knows_locked(row));
        let is_answered = transaction.is_loading() || transaction.own(key).is_some() || is_known;
        if lock == Lock::None || !self.updates_lock() || is_answered {
            return Ok(false);
        }
        self.store.has_turn(self.session)?;
        Ok(self.store.waits_mut().would_wait(self.session, key, mode(lock)))
    }

    /// Whether rows of a space are sought; else they are read, and read again with a lock where updates lock.
    pub(crate) fn seeks(&self, space: SpaceId) -> bool {
        self.locks() && !self.has_cells(space)
    }

    /// Whether updates of the open transaction lock.
    pub(crate) fn locks(&self) -> bool {
        self.updates_lock() && self.store.transaction(self.session).is_ok_and(|transaction| !transaction.is_loading())
    }

    /// The row under a key that a statement seeks.
    pub(crate) fn seek(
        &mut self,
        key: &RowKey,
        (lock, patience): (Lock, Patience),
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        self.tell_own(key)?;
        self.remembering((lock, patience), |memory, asked| memory.seek(key, fits, asked))
    }

    /// The keys of a range that a statement seeks.
    pub(crate) fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        self.remembering((Lock::None, Patience::Wait), |memory, asked| memory.look_over(range, fits, asked))
    }

    /// The keys of a range that a statement wants already.
    pub(crate) fn wanted_in(&mut self, range: &KeyRange) -> Result<BTreeSet<RowKey>, Stop> {
        self.remembering((Lock::None, Patience::Wait), |memory, _| Ok(memory.wanted_in(range)))
    }

    /// A statement wants these rows.
    pub(crate) fn want(&mut self, keys: &[RowKey]) -> Result<(), Stop> {
        self.remembering((Lock::None, Patience::Wait), |memory, _| {
            memory.want(keys);
            Ok(())
        })
    }
}

/// Writes.
impl LevelRows<'_> {
    /// Writes under a key.
    pub(crate) fn put(&mut self, row: &RowKey, write: Write) -> Result<(), Stop> {
        let transaction = self.store.transaction(self.session)?;
        if transaction.is_read_only() {
            let message = "cannot write in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY, message).into());
        }
        let loading = transaction.is_loading();
        let key = self.store.past_mut().keys_mut().number(row);
        if !loading && self.updates_lock() {
            self.lock_for_write(key)?;
        }
        if !self.has_cells(row.space) {
            let value = match write {
                Write::Row(row) | Write::Columns(row, _) => Some(row),
                Write::Delete => None,
            };
            return self.store.write(self.session, key, value);
        }
        match write {
            Write::Delete => self.store.write(self.session, key, None),
            Write::Row(values) => {
                self.store.write(self.session, key, Some(Row::from([])))?;
                (0..values.len()).try_for_each(|column| self.write_cell(row, column, &values))
            }
            Write::Columns(values, mut assigned) => {
                // Columns that are younger than the row have no cell yet.
                let missing = |column: &usize| self.keys().known(&self.keys().layout().cell(row, *column)).is_none();
                assigned.extend((0..values.len()).filter(missing));
                assigned.sort_unstable();
                assigned.dedup();
                assigned.into_iter().try_for_each(|column| self.write_cell(row, column, &values))
            }
        }
    }

    /// A write is seen by nobody before the commit, so it needs no turn but for the lock that it takes; the read of an update has taken both.
    fn lock_for_write(&mut self, key: KeyId) -> Result<(), Stop> {
        let (store, session) = (&mut *self.store, self.session);
        if !store.options().turns {
            return store.lock(session, key, LockMode::Update);
        }
        let held = store.waits_mut().holds(session, key, LockMode::Update);
        if store.statement_mut(session).is_none_or(|statement| statement.has_turn(key, held)) {
            return store.lock(session, key, LockMode::Update);
        }
        store.has_turn(session)?;
        store.lock(session, key, LockMode::Update)?;
        store.take_turn(session)?;
        if let Some(statement) = store.statement_mut(session) {
            statement.take_turn(key);
        }
        Ok(())
    }

    fn write_cell(&mut self, row: &RowKey, column: usize, values: &Row) -> Result<(), Stop> {
        let Some(datum) = values.get(column) else { return Ok(()) };
        let cell = self.keys().layout().cell(row, column);
        let cell = self.store.past_mut().keys_mut().number(&cell);
        self.store.write(self.session, cell, Some(Row::from([datum.clone()])))
    }
}

fn mode(lock: Lock) -> LockMode {
    if lock == Lock::Share { LockMode::Share } else { LockMode::Update }
}

impl Store {
    /// What the transaction of a session has written in a range.
    pub(crate) fn own_rows(&self, session: SessionId, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        let Ok(transaction) = self.transaction(session) else { return Vec::new() };
        let (keys, writes) = (self.past().keys(), transaction.writes());
        if writes.len() < FEW {
            let own = writes.iter().map(|(key, row)| (keys.row_of(*key), row));
            let inside = own.filter(|(key, _)| range.contains(key));
            return inside.map(|(key, row)| (key.clone(), row.clone())).collect();
        }
        let own = keys.from(range.space, &range.prefix, range.low.as_ref());
        let own = own.map_while(|(parts, key)| (!range.is_beyond(parts)).then_some(key));
        let own = own.filter_map(|key| Some((keys.row_of(key), writes.get(&key)?)));
        own.filter(|(key, _)| range.contains(key)).map(|(key, row)| (key.clone(), row.clone())).collect()
    }
}

/// One statement's way to the versions of rows.
struct StatementReader<'a> {
    rows: LevelRows<'a>,
    lock: Lock,
    patience: Patience,
}

impl StatementReader<'_> {
    fn tell_read(&mut self, key: KeyId, version: Version, value: Option<Row>, locking: bool) -> Result<(), Stop> {
        let source = ReadOrigin::Version(version);
        let transaction = self.rows.store.transaction_mut(self.rows.session)?;
        transaction.push(RecordedAction::Read { key, value, source, locking });
        Ok(())
    }
}

impl Reader for StatementReader<'_> {
    type Stop = Stop;

    fn own(&self, key: &RowKey) -> Option<Option<Row>> {
        let key = self.rows.keys().known(key)?;
        self.rows.store.transaction(self.rows.session).ok()?.own(key).cloned()
    }

    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        self.rows.store.own_rows(self.rows.session, range)
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Stop> {
        let LevelRows { store, session } = &mut self.rows;
        let has_cells = store.past().has_cells(key.space);
        let key = store.past_mut().keys_mut().number(key);
        let is_cell = store.past().keys().is_cell(key);
        // The cells of a row are read in the row's turn and under its lock.
        if !is_cell {
            store.has_turn(*session)?;
            if locking {
                store.lock(*session, key, mode(self.lock))?;
            }
            store.take_turn(*session)?;
        }
        let read_mode = match locking {
            true => ReadMode::Locked,
            // Of a row with cells an UPDATE writes some, and a DELETE none: what it reads it need not write.
            false if self.lock == Lock::Update && !has_cells && !is_cell => ReadMode::Update,
            false => ReadMode::Plain,
        };
        let (version, value) = store.read_new(*session, key, read_mode)?;
        self.tell_read(key, version, value.clone(), locking)?;
        Ok(value)
    }

    fn scan(&mut self, range: &KeyRange, _: bool) -> Result<Scanned, Stop> {
        let LevelRows { store, session } = &mut self.rows;
        store.take_turn(*session)?;
        RangeScan::read(store, *session, range)
    }

    fn look(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, Stop> {
        let LevelRows { store, session } = &mut self.rows;
        store.has_turn(*session)?;
        let key = store.past_mut().keys_mut().number(key);
        let (chosen, wanted) = store.look_at(*session, key, fits)?;
        if wanted {
            return Ok(Found::Wanted);
        }
        store.take_turn(*session)?;
        let (version, value) = store.read(*session, key, chosen, false)?;
        self.tell_read(key, version, value.clone(), false)?;
        Ok(Found::Passed(value))
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, Stop> {
        let LevelRows { store, session } = &mut self.rows;
        store.take_turn(*session)?;
        RangeScan::look(store, *session, range, fits)
    }

    fn claim(&mut self, key: &RowKey, _: &mut Fits<'_>) -> Result<Option<Option<Row>>, Stop> {
        if self.patience != Patience::Wait && self.rows.would_wait(key, self.lock)? {
            return match self.patience {
                Patience::Refuse => Err(SqlError::new(SqlState("55P03"), "could not obtain lock on row").into()),
                Patience::Skip | Patience::Wait => Ok(None),
            };
        }
        Reader::read(self, key, true).map(Some)
    }
}
