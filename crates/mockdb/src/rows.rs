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
use skew_sql::{Columns, Datum, Granularity, Interrupt, Lock, Row, RowKey, SpaceId, SqlError, SqlState, Stop, Write};

/// How a key is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The latest version, whatever the level.
    pub(crate) locking: bool,
    /// The read of an update: no version that its write would make impossible.
    pub(crate) updating: bool,
}

impl Store {
    /// The row under a key, present or not.
    pub fn get(
        &mut self,
        session: SessionId,
        row: &RowKey,
        columns: &Columns,
        lock: Lock,
    ) -> Result<Option<Row>, Stop> {
        let key = self.keys.row(row);
        let locking = lock != Lock::None && self.options.updates == Updates::Atomic;
        let manner = Manner { locking, updating: lock == Lock::Update };
        if !self.is_answered(session, key, locking)? {
            self.has_turn(session)?;
            if locking {
                self.lock(session, key, if lock == Lock::Share { Mode::Share } else { Mode::Update })?;
            }
            self.take_turn(session)?;
        }
        let Some(found) = self.read_key(session, key, manner)? else { return Ok(None) };
        if self.has_cells(row.space) { self.cells(session, key, columns, manner).map(Some) } else { Ok(Some(found)) }
    }

    /// Whether a read with a lock would have to wait: asked when it is the session's turn, so that the read may follow at once.
    pub(crate) fn would_wait(&mut self, session: SessionId, row: &RowKey, lock: Lock) -> Result<bool, Stop> {
        let key = self.keys.row(row);
        if lock == Lock::None || self.options.updates != Updates::Atomic || self.is_answered(session, key, true)? {
            return Ok(false);
        }
        self.has_turn(session)?;
        let mode = if lock == Lock::Share { Mode::Share } else { Mode::Update };
        Ok(self.locks.would_wait(self.transaction(session)?.id, key, mode))
    }

    /// Writes under a key.
    pub fn put(&mut self, session: SessionId, row: &RowKey, write: Write) -> Result<(), Stop> {
        let transaction = self.transaction(session)?;
        if transaction.read_only {
            let message = "cannot write in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY, message).into());
        }
        let loading = transaction.loading;
        let key = self.keys.row(row);
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
            Write::Row(row) => {
                self.write_key(session, key, Some(Row::from([])))?;
                (0..row.len()).try_for_each(|column| self.write_cell(session, key, column, &row))
            }
            Write::Columns(row, mut assigned) => {
                // Columns that are younger than the row have no cell yet.
                let missing = |column: &usize| self.keys.known_cell(key, *column as u32).is_none();
                assigned.extend((0..row.len()).filter(missing));
                assigned.sort_unstable();
                assigned.dedup();
                assigned.into_iter().try_for_each(|column| self.write_cell(session, key, column, &row))
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
        self.options.granularity == Granularity::Cell && self.keys.shape(space).is_none_or(|shape| !shape.index)
    }

    fn write_cell(&mut self, session: SessionId, row: KeyId, column: usize, values: &Row) -> Result<(), Stop> {
        let Some(datum) = values.get(column) else { return Ok(()) };
        let cell = self.keys.cell(row, column as u32);
        self.write_key(session, cell, Some(Row::from([datum.clone()])))
    }

    /// The cells of a row that exists; columns that were not asked for are NULL.
    pub(crate) fn cells(
        &mut self,
        session: SessionId,
        row: KeyId,
        columns: &Columns,
        manner: Manner,
    ) -> Result<Row, Stop> {
        let wanted: Vec<usize> = match columns {
            Columns::All => (0..).take_while(|&column| self.keys.known_cell(row, column as u32).is_some()).collect(),
            Columns::Some(columns) => columns.clone(),
        };
        let mut values = Vec::new();
        for column in wanted {
            // A column that is younger than the row: it ends before it.
            let Some(cell) = self.keys.known_cell(row, column as u32) else { break };
            let Some(value) = self.read_key(session, cell, manner)? else { break };
            values.resize(column, Datum::Null);
            values.extend(value.first().cloned());
        }
        Ok(values.into())
    }

    fn is_answered(&self, session: SessionId, key: KeyId, locking: bool) -> Result<bool, Stop> {
        let transaction = self.transaction(session)?;
        let statement = transaction.statement.as_ref();
        Ok(transaction.loading
            || transaction.writes.contains_key(&key)
            || statement.is_some_and(|statement| statement.answer(key, locking).is_some()))
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

    /// One key, outside of a scan.
    pub(crate) fn read_key(&mut self, session: SessionId, key: KeyId, manner: Manner) -> Result<Option<Row>, Stop> {
        let transaction = self.transaction_mut(session)?;
        if transaction.loading {
            return Ok(self.versions.initial(key).cloned());
        }
        if let Some(own) = transaction.writes.get(&key).cloned() {
            let told = transaction.statement.as_mut().is_some_and(|statement| !statement.own.insert(key));
            if !told {
                transaction.push(Action::Read { key, value: own.clone(), source: Source::Own, locking: false });
            }
            return Ok(own);
        }
        let statement = transaction.statement.as_ref();
        if let Some((_, value)) = statement.and_then(|statement| statement.answer(key, manner.locking)) {
            return Ok(value.clone());
        }
        let (version, value) = self.read_new(session, key, manner)?;
        let action =
            Action::Read { key, value: value.clone(), source: Source::Version(version), locking: manner.locking };
        self.transaction_mut(session)?.push(action);
        Ok(value)
    }

    /// A read that nothing has answered yet: chooses a version.
    pub(crate) fn read_new(
        &mut self,
        session: SessionId,
        key: KeyId,
        manner: Manner,
    ) -> Result<(Version, Option<Row>), Stop> {
        let id = self.transaction(session)?.id;
        let chosen = if manner.locking { Some(self.growing.latest(key)) } else { self.choose(session, key, manner)? };
        let allowed = chosen.filter(|&version| self.growing.read(id, key, version, manner.locking).is_ok());
        let Some(version) = allowed else {
            return Err(self.abort_by_database(session, Interrupt::SerializationFailure).into());
        };
        let answer = (version, self.versions.value(key, version));
        self.remember(session, key, manner.locking, answer.clone())?;
        Ok(answer)
    }

    pub(crate) fn remember(
        &mut self,
        session: SessionId,
        key: KeyId,
        locking: bool,
        answer: (Version, Option<Row>),
    ) -> Result<(), Stop> {
        let transaction = self.transaction_mut(session)?;
        transaction.read_count += 1;
        if let Some(statement) = &mut transaction.statement {
            statement.remember(key, locking, answer);
        }
        Ok(())
    }

    fn choose(&mut self, session: SessionId, key: KeyId, manner: Manner) -> Result<Option<Version>, Stop> {
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
        let mut reading = Reading {
            growing: &mut self.growing,
            transaction: id,
            key,
            updating,
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
