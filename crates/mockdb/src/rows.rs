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

use crate::chooser::{Reading, VersionWriter};
use crate::lock::{Answer, Mode};
use crate::log::{self, Choice};
use crate::options::refuses;
use crate::store::Store;
use crate::transaction::{Action, Source};
use skew_check::{Updates, Version};
use skew_history::{KeyId, SessionId};
use skew_sql::rows::{Found, Layout, Looked, Memory, Reader, Scanned};
use skew_sql::{Columns, Fit, Fits, Interrupt, KeyRange, Lock, Patience, Row, RowKey, SpaceId, Stop, Write};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeSet;

/// How a key is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The latest version, whatever the level.
    pub(crate) locking: bool,
    /// The read of an update: no version that its write would make impossible.
    pub(crate) updating: bool,
}

/// So many writes are looked through; of more, those that lie in a range are looked up.
const FEW: usize = 16;

pub(crate) const PLAIN: Manner = Manner { locking: false, updating: false };

/// One statement's way to the versions of rows.
pub(crate) struct Asked<'store> {
    pub(crate) store: &'store mut Store,
    pub(crate) session: SessionId,
    pub(crate) lock: Lock,
    pub(crate) patience: Patience,
}

impl Store {
    /// Asks the memory of the session's statement, which asks the store for what it does not know.
    pub(crate) fn remembering<T>(
        &mut self,
        session: SessionId,
        (lock, patience): (Lock, Patience),
        work: impl FnOnce(&mut Memory, &mut Asked<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let statement = &mut self.transaction_mut(session)?.statement;
        let mut memory = statement.as_mut().map(|statement| std::mem::take(&mut statement.memory)).unwrap_or_default();
        let answer = work(&mut memory, &mut Asked { store: self, session, lock, patience });
        // A refusal has ended the transaction, and its statement.
        if let Some(transaction) = &mut self.sessions[session.index()].transaction
            && let Some(statement) = &mut transaction.statement
        {
            statement.memory = memory;
        }
        answer
    }

    /// A subquery begins or ends, in the statement that runs.
    pub(crate) fn enter(&mut self, session: SessionId, scope: usize) -> usize {
        let transaction = self.sessions[session.index()].transaction.as_mut();
        transaction.and_then(|it| it.statement.as_mut()).map_or(0, |statement| statement.memory.enter(scope))
    }

    /// The row under a key, present or not.
    pub fn get(
        &mut self,
        session: SessionId,
        row: &RowKey,
        columns: &Columns,
        lock: Lock,
    ) -> Result<Option<Row>, Stop> {
        let locking = lock != Lock::None && self.options.updates == Updates::Atomic;
        let found = self.read(session, row, lock, locking)?;
        match found {
            Some(_) if self.has_cells(row.space) => self.cells(session, row, columns, lock, locking).map(Some),
            found => Ok(found),
        }
    }

    fn read(&mut self, session: SessionId, key: &RowKey, lock: Lock, locking: bool) -> Result<Option<Row>, Stop> {
        if self.transaction(session)?.loading {
            return Ok(self.keys.known(key).and_then(|key| self.versions.initial(key).cloned()));
        }
        self.tell_own(session, key)?;
        self.remembering(session, (lock, Patience::Wait), |memory, asked| memory.read(key, locking, asked))
    }

    /// A read of an own write is no event for the level, but whoever reads the history wants to see it, once per statement.
    fn tell_own(&mut self, session: SessionId, key: &RowKey) -> Result<(), Stop> {
        let Some(key) = self.keys.known(key) else { return Ok(()) };
        let transaction = self.transaction_mut(session)?;
        let Some(own) = transaction.writes.get(&key).cloned() else { return Ok(()) };
        let is_told = transaction.statement.as_mut().is_some_and(|statement| !statement.own.insert(key));
        if !is_told {
            transaction.push(Action::Read { key, value: own, source: Source::Own, locking: false });
        }
        Ok(())
    }

    /// The cells of a row that exists.
    pub(crate) fn cells(
        &mut self,
        session: SessionId,
        row: &RowKey,
        columns: &Columns,
        lock: Lock,
        locking: bool,
    ) -> Result<Row, Stop> {
        let cell = |store: &Store, column: usize| store.keys.layout.cell(row, column);
        let wanted = match columns {
            Columns::All => (0..).take_while(|&column| self.keys.known(&cell(self, column)).is_some()).collect(),
            Columns::Some(columns) => columns.clone(),
        };
        Layout::row_of_cells(wanted, |column| {
            // A column that is younger than the row has no cell.
            let cell = cell(self, column);
            if self.keys.known(&cell).is_none() { Ok(None) } else { self.read(session, &cell, lock, locking) }
        })
    }

    /// Whether a read with a lock would have to wait: asked when it is the session's turn, so that the read may follow at once.
    pub(crate) fn would_wait(&mut self, session: SessionId, row: &RowKey, lock: Lock) -> Result<bool, Stop> {
        let key = self.keys.number(row);
        let transaction = self.transaction(session)?;
        let is_known = transaction.statement.as_ref().is_some_and(|statement| statement.memory.knows(row, true));
        let is_answered = transaction.loading || transaction.writes.contains_key(&key) || is_known;
        if lock == Lock::None || self.options.updates != Updates::Atomic || is_answered {
            return Ok(false);
        }
        self.has_turn(session)?;
        Ok(self.locks.would_wait(self.transaction(session)?.id, key, mode(lock)))
    }

    /// Whether rows of a space are sought; else they are read, and read again with a lock where updates lock.
    pub(crate) fn seeks(&self, session: SessionId, space: SpaceId) -> bool {
        self.locks(session) && !self.has_cells(space)
    }

    /// Whether updates of the session's open transaction lock.
    pub(crate) fn locks(&self, session: SessionId) -> bool {
        self.options.updates == Updates::Atomic
            && self.transaction(session).is_ok_and(|transaction| !transaction.loading)
    }

    /// The row under a key that a statement seeks.
    pub(crate) fn seek(
        &mut self,
        session: SessionId,
        key: &RowKey,
        (lock, patience): (Lock, Patience),
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        self.tell_own(session, key)?;
        self.remembering(session, (lock, patience), |memory, asked| memory.seek(key, fits, asked))
    }

    /// The keys of a range that a statement seeks.
    pub(crate) fn look_over(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        fits: &mut Fits<'_>,
    ) -> Result<Vec<RowKey>, Stop> {
        self.remembering(session, (Lock::None, Patience::Wait), |memory, asked| memory.look_over(range, fits, asked))
    }

    /// The keys of a range that a statement wants already.
    pub(crate) fn wanted_in(&mut self, session: SessionId, range: &KeyRange) -> Result<BTreeSet<RowKey>, Stop> {
        self.remembering(session, (Lock::None, Patience::Wait), |memory, _| Ok(memory.wanted_in(range)))
    }

    /// A statement wants these rows.
    pub(crate) fn want(&mut self, session: SessionId, keys: &[RowKey]) -> Result<(), Stop> {
        self.remembering(session, (Lock::None, Patience::Wait), |memory, _| {
            memory.want(keys);
            Ok(())
        })
    }

    /// Writes under a key.
    pub fn put(&mut self, session: SessionId, row: &RowKey, write: Write) -> Result<(), Stop> {
        let transaction = self.transaction(session)?;
        if transaction.read_only {
            let message = "cannot write in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY, message).into());
        }
        let loading = transaction.loading;
        let key = self.keys.number(row);
        if !loading && self.options.updates == Updates::Atomic {
            self.lock_for_write(session, key)?;
        }
        if !self.has_cells(row.space) {
            let value = match write {
                Write::Row(row) | Write::Columns(row, _) => Some(row),
                Write::Delete => None,
            };
            return self.write_key(session, key, value);
        }
        match write {
            Write::Delete => self.write_key(session, key, None),
            Write::Row(values) => {
                self.write_key(session, key, Some(Row::from([])))?;
                (0..values.len()).try_for_each(|column| self.write_cell(session, row, column, &values))
            }
            Write::Columns(values, mut assigned) => {
                // Columns that are younger than the row have no cell yet.
                let missing = |column: &usize| self.keys.known(&self.keys.layout.cell(row, *column)).is_none();
                assigned.extend((0..values.len()).filter(missing));
                assigned.sort_unstable();
                assigned.dedup();
                assigned.into_iter().try_for_each(|column| self.write_cell(session, row, column, &values))
            }
        }
    }

    /// A write is seen by nobody before the commit, so it needs no turn but for the lock that it takes; the read of an update has taken both.
    fn lock_for_write(&mut self, session: SessionId, key: KeyId) -> Result<(), Stop> {
        if !self.options.turns {
            return self.lock(session, key, Mode::Update);
        }
        let held = self.locks.holds(self.transaction(session)?.id, key, Mode::Update);
        let statement = self.transaction_mut(session)?.statement.as_mut();
        if statement.is_none_or(|statement| *statement.turns.entry(key).or_insert(held)) {
            return self.lock(session, key, Mode::Update);
        }
        self.has_turn(session)?;
        self.lock(session, key, Mode::Update)?;
        self.take_turn(session)?;
        if let Some(statement) = &mut self.transaction_mut(session)?.statement {
            statement.turns.insert(key, true);
        }
        Ok(())
    }

    pub(crate) fn has_cells(&self, space: SpaceId) -> bool {
        self.keys.layout.has_cells(space)
    }

    fn write_cell(&mut self, session: SessionId, row: &RowKey, column: usize, values: &Row) -> Result<(), Stop> {
        let Some(datum) = values.get(column) else { return Ok(()) };
        let cell = self.keys.layout.cell(row, column);
        let cell = self.keys.number(&cell);
        self.write_key(session, cell, Some(Row::from([datum.clone()])))
    }

    /// Takes a lock, waits for it, or gives up the transaction because the wait would have no end.
    fn lock(&mut self, session: SessionId, key: KeyId, mode: Mode) -> Result<(), Stop> {
        let id = self.transaction(session)?.id;
        let waited = self.locks.is_waiting(id);
        match self.locks.acquire(id, key, mode) {
            Answer::Granted => Ok(()),
            Answer::Waits if waited || !self.refuses_for_fun(session, "wait") => Err(Interrupt::Wait.into()),
            Answer::Waits | Answer::Deadlock => Err(self.abort_by_database(session, Interrupt::Deadlock).into()),
        }
    }

    /// One key, outside of a scan: an event of its own.
    pub(crate) fn read_alone(&mut self, session: SessionId, key: KeyId, manner: Manner) -> Result<Option<Row>, Stop> {
        let (version, value) = self.read_new(session, key, manner)?;
        self.tell_read(session, key, version, value.clone(), manner.locking)?;
        Ok(value)
    }

    fn tell_read(
        &mut self,
        session: SessionId,
        key: KeyId,
        version: Version,
        value: Option<Row>,
        locking: bool,
    ) -> Result<(), Stop> {
        let source = Source::Version(version);
        self.transaction_mut(session)?.push(Action::Read { key, value, source, locking });
        Ok(())
    }

    /// A read that nothing has answered yet: chooses a version.
    pub(crate) fn read_new(
        &mut self,
        session: SessionId,
        key: KeyId,
        manner: Manner,
    ) -> Result<(Version, Option<Row>), Stop> {
        let chosen =
            if manner.locking { Some(self.growing.latest(key)) } else { self.choose(session, key, manner, None)? };
        self.read_version(session, key, chosen, manner.locking)
    }

    /// Reads a version, if the level allows it; else the transaction is over.
    pub(crate) fn read_version(
        &mut self,
        session: SessionId,
        key: KeyId,
        chosen: Option<Version>,
        locking: bool,
    ) -> Result<(Version, Option<Row>), Stop> {
        let id = self.transaction(session)?.id;
        let allowed = chosen.filter(|&version| self.growing.read(id, key, version, locking).is_ok());
        let Some(version) = allowed else {
            return Err(self.abort_by_database(session, Interrupt::SerializationFailure).into());
        };
        self.transaction_mut(session)?.read_count += 1;
        Ok((version, self.versions.value(key, version)))
    }

    /// The version in which a statement that seeks rows looks at a key, and whether it wants the row.
    pub(crate) fn look_at(
        &mut self,
        session: SessionId,
        key: KeyId,
        fits: &mut Fits<'_>,
    ) -> Result<(Option<Version>, bool), Stop> {
        let row = self.keys.row_of(key).clone();
        let mut fit = |value: Option<Row>| value.is_some_and(|value| fits(&row, &value) == Fit::Yes);
        let chosen = self.choose(session, key, PLAIN, Some(&mut fit))?;
        let wanted = chosen.is_some_and(|version| fit(self.versions.value(key, version)));
        Ok((chosen, wanted))
    }

    fn choose(
        &mut self,
        session: SessionId,
        key: KeyId,
        manner: Manner,
        fit: Option<&mut dyn FnMut(Option<Row>) -> bool>,
    ) -> Result<Option<Version>, Stop> {
        let transaction = self.transaction(session)?;
        let (id, kind) = (transaction.id, transaction.chooser);
        let updating = manner.updating && refuses(transaction.level);
        let (ordinal, number) = (transaction.ordinal, transaction.read_count);
        let versions = self.growing.versions(id, key);
        let writer = |version: &Version| match version {
            Version::Initial => VersionWriter::Initial,
            Version::Of(id) => self.versions.committed(key, *id).map_or(VersionWriter::Initial, |committed| {
                VersionWriter::Transaction(committed.writer.0, committed.writer.1)
            }),
        };
        let writers = versions.iter().map(writer).collect();
        let (name, key_name) = (self.sessions[session.index()].name.clone(), self.keys.name(key).clone());
        let mut chooser = self.take_chooser(kind);
        let latest = fit.as_ref().map(|_| self.growing.latest(key));
        let values = &self.versions;
        let mut fits = fit.map(|fit| move |version| fit(values.value(key, version)));
        let under_lock = latest.filter(|latest| fits.as_mut().is_some_and(|fits| fits(*latest)));
        let mut reading = Reading {
            growing: &mut self.growing,
            transaction: id,
            key,
            updating,
            fits: fits.as_mut().map(|fits| fits as &mut dyn FnMut(Version) -> bool),
            under_lock,
            versions,
            writers,
            sessions: &self.sessions,
            place: (&name, ordinal, number),
            key_name: &key_name,
        };
        let chosen = chooser.choose(&mut reading);
        let place = reading.versions.iter().position(|&version| Some(version) == chosen);
        if let Some(place) = place.filter(|_| self.recorder.wants_choices()) {
            let choice = Choice::Read { key: key_name.to_string(), from: reading.writer_name(place) };
            self.recorder.choice(&log::line(&name, &choice));
        }
        self.put_chooser(kind, chooser);
        Ok(chosen)
    }

    pub(crate) fn write_key(&mut self, session: SessionId, key: KeyId, value: Option<Row>) -> Result<(), Stop> {
        let transaction = self.transaction(session)?;
        let id = transaction.id;
        if transaction.loading {
            self.written_after = self.written_after.map(|_| true);
            let before = self.versions.set_initial(key, value);
            self.keys.bear(key);
            self.transaction_mut(session)?.undo.push((key, Some(before)));
            return Ok(());
        }
        if self.keys.bear(key) {
            for (reader, place) in self.live_scans.notice(key, self.keys.name(key)) {
                self.growing.read_absence(reader, key, place);
            }
        }
        if self.growing.write(id, key).is_err() {
            return Err(self.abort_by_database(session, Interrupt::SerializationFailure).into());
        }
        let is_new = !self.versions.has_any(key);
        let transaction = self.transaction_mut(session)?;
        let before = transaction.writes.insert(key, value.clone());
        if is_new && before.is_none() {
            transaction.born.push(key);
        }
        transaction.undo.push((key, before));
        if let Some(statement) = &mut transaction.statement {
            statement.own.remove(&key);
        }
        transaction.push(Action::Write { key, value });
        Ok(())
    }
}

fn mode(lock: Lock) -> Mode {
    if lock == Lock::Share { Mode::Share } else { Mode::Update }
}

impl Reader for Asked<'_> {
    type Stop = Stop;

    fn own(&self, key: &RowKey) -> Option<Option<Row>> {
        let key = self.store.keys.known(key)?;
        self.store.transaction(self.session).ok()?.writes.get(&key).cloned()
    }

    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        let Ok(transaction) = self.store.transaction(self.session) else { return Vec::new() };
        let keys = &self.store.keys;
        if transaction.writes.len() < FEW {
            let own = transaction.writes.iter().map(|(key, row)| (keys.row_of(*key), row));
            let inside = own.filter(|(key, _)| range.contains(key));
            return inside.map(|(key, row)| (key.clone(), row.clone())).collect();
        }
        let own = keys.from(range.space, &range.prefix, range.low.as_ref());
        let own = own.map_while(|(parts, key)| (!range.is_beyond(parts)).then_some(key));
        let own = own.filter_map(|key| Some((keys.row_of(key), transaction.writes.get(&key)?)));
        own.filter(|(key, _)| range.contains(key)).map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Stop> {
        let Asked { store, session, lock, .. } = self;
        // Of a row with cells an UPDATE writes some, and a DELETE none: what it reads it need not write.
        let updating = *lock == Lock::Update && !store.has_cells(key.space);
        let key = store.keys.number(key);
        // The cells of a row are read in the row's turn and under its lock.
        if !store.keys.is_cell(key) {
            store.has_turn(*session)?;
            if locking {
                store.lock(*session, key, mode(*lock))?;
            }
            store.take_turn(*session)?;
        }
        store.read_alone(*session, key, Manner { locking, updating: updating && !store.keys.is_cell(key) })
    }

    fn scan(&mut self, range: &KeyRange, _: bool) -> Result<Scanned, Stop> {
        self.store.take_turn(self.session)?;
        self.store.scan_anew(self.session, range)
    }

    fn look(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, Stop> {
        let Asked { store, session, .. } = self;
        store.has_turn(*session)?;
        let key = store.keys.number(key);
        let (chosen, wanted) = store.look_at(*session, key, fits)?;
        if wanted {
            return Ok(Found::Wanted);
        }
        store.take_turn(*session)?;
        let (version, value) = store.read_version(*session, key, chosen, false)?;
        store.tell_read(*session, key, version, value.clone(), false)?;
        Ok(Found::Passed(value))
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, Stop> {
        self.store.take_turn(self.session)?;
        self.store.look_anew(self.session, range, fits)
    }

    fn claim(&mut self, key: &RowKey) -> Result<Option<Option<Row>>, Stop> {
        if self.patience != Patience::Wait && self.store.would_wait(self.session, key, self.lock)? {
            return match self.patience {
                Patience::Refuse => Err(SqlError::new(SqlState("55P03"), "could not obtain lock on row").into()),
                Patience::Skip | Patience::Wait => Ok(None),
            };
        }
        Reader::read(self, key, true).map(Some)
    }
}
