//! A store that is steered: somebody else decides what every transaction reads.
//!
//! The explorer knows which runs there are and which of them is the next to be made; the store then keeps sessions, the catalog and what
//! there was before everything, and hands on the rest:
//!
//! ```text
//!   set-up ── what is written is the initial state ── begin_steering ── BEGIN … COMMIT one at a time ── settle ── what is left is looked at
//!                                                          │ initial rows    │ begin read scan write end   │ a final state
//!                                                          └─────────────────┴──── Steering ───────────────┘
//! ```
//!
//! Transactions run one at a time, which is for whoever serves the clients to see to. A transaction that touches no row is none.
//!
//! What would depend on the order of runs is a function of the place in the program. Sequences and fresh keys are by the transaction's number,
//! of which each transaction has its own, and by how often it asked. Random numbers and the clock, which every statement is given whether
//! it asks or not, are by the session, how many of its transactions are over and how many statements it ran. What cannot be had so is refused by name: setting a sequence, advisory
//! locks, SKIP LOCKED, NOWAIT, and ROLLBACK TO a savepoint behind which something was written.

use crate::keys::KeyTable;
use crate::store::Store;
use skew_check::Updates;
use skew_history::{IsolationLevel, SessionId};
use skew_sql::{
    Fit, Fits, Granularity, Interrupt, KeyPart, KeyRange, Lock, Row, RowKey, SequenceId, SequenceRule, SpaceId, Stop,
    Write, by_place,
};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeMap;

/// Who decides. An error ends the transaction that it is told to, and usually the run.
pub trait Steering: Send {
    /// What the rows of a space are for whoever reads histories: the names of their columns, and which of them the key repeats.
    fn describe(&mut self, space: SpaceId, columns: Vec<(String, bool)>);
    /// The rows before everything, with the names of their keys.
    fn initial(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), SqlError>;
    /// A transaction of a session begins; its number, which no other has.
    fn begin(&mut self, session: &str, level: IsolationLevel) -> Result<u32, SqlError>;
    /// A statement begins.
    fn begin_statement(&mut self);
    /// Reads the row under a key of this name.
    fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, SqlError>;
    /// Reads a range.
    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, SqlError>;
    /// The row under a key of this name that a statement seeks to lock; nothing if it passes it over.
    fn seek(&mut self, key: &RowKey, name: &str, fits: &mut Fits<'_>) -> Result<Option<Row>, SqlError>;
    /// The keys of a range that a statement seeks to lock; each is then sought by itself.
    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, SqlError>;
    /// A subquery begins or ends: what it reads it reads for itself. Who read before.
    fn enter(&mut self, scope: usize) -> usize;
    /// Writes a row under a key of this name; nothing: deletes it.
    fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), SqlError>;
    /// The transaction that has begun ends.
    fn end(&mut self, commits: bool) -> Result<(), SqlError>;
    /// The session whose transaction has to be the next; nothing where any may be, which is then the first by name.
    fn next(&self) -> Option<String>;
    /// The client whose transaction has to be the next does not begin it, or does not end it, while others wait.
    fn skip(&mut self);
    /// All transactions are over: the rows that they left.
    fn finish(&mut self) -> Result<BTreeMap<RowKey, Row>, SqlError>;
}

/// What is asked for by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Asked {
    Sequence(SequenceId),
    FreshKey(SpaceId),
}

/// The transaction that has begun.
#[derive(Default, Debug)]
struct Steered {
    session: Option<SessionId>,
    number: i64,
    writes: usize,
    asked: BTreeMap<Asked, i64>,
}

/// Who steers, and what is steered.
pub(crate) struct Wheel {
    steering: Box<dyn Steering>,
    current: Steered,
    /// The subquery that reads; see [`Steering::enter`]. It may be the first to touch anything.
    scope: usize,
    is_touched: bool,
    /// How many columns of a space were described.
    described: BTreeMap<SpaceId, usize>,
    /// By session, how many of its transactions are over, and how many random numbers it was given.
    places: BTreeMap<SessionId, (i64, u64)>,
}

impl Wheel {
    fn describe(&mut self, keys: &KeyTable, space: SpaceId) {
        let columns = keys.layout.shape(space).map_or(&[][..], |shape| &shape.columns);
        if self.described.get(&space).is_none_or(|&known| known < columns.len()) {
            self.described.insert(space, columns.len());
            self.steering.describe(space, columns.to_vec());
        }
    }
}

impl Store {
    /// Somebody else will decide, as soon as the set-up is over.
    pub fn prepare_steering(&mut self, steering: Box<dyn Steering>) {
        self.wheel = Some(Wheel {
            steering,
            current: Steered::default(),
            scope: 0,
            is_touched: false,
            described: BTreeMap::new(),
            places: BTreeMap::new(),
        });
    }

    /// Ends the set-up: what was committed so far is the initial state, from here on somebody else decides.
    pub fn begin_steering(&mut self) -> Result<(), SqlError> {
        let Some(wheel) = self.wheel.as_mut().filter(|_| self.loading) else { return Ok(()) };
        if self.options.granularity != Granularity::Row {
            return Err(SqlError::unsupported("cells in a database that is steered"));
        }
        let keys = &self.keys;
        let named = |(key, row)| (keys.row_of(key).clone(), keys.name(key).to_string(), Row::clone(row));
        let rows: Vec<(RowKey, String, Row)> = self.versions.initial_keys().map(named).collect();
        self.loading = false;
        rows.iter().for_each(|(key, ..)| wheel.describe(keys, key.space));
        wheel.steering.initial(rows)
    }

    /// Whether what is written is still the initial state of what will be steered.
    pub(crate) fn is_setting_up(&self) -> bool {
        self.wheel.is_some() && self.loading
    }

    /// Whether a steered transaction has touched anything.
    pub(crate) fn is_touched(&self) -> bool {
        self.wheel.as_ref().is_some_and(|wheel| wheel.is_touched)
    }

    /// Who steers, if anybody.
    pub(crate) fn steering(&mut self) -> Option<&mut dyn Steering> {
        match &mut self.wheel {
            Some(wheel) => Some(&mut *wheel.steering),
            None => None,
        }
    }

    /// Whether somebody else decides for the open transaction of a session.
    pub(crate) fn is_steered(&self, session: SessionId) -> bool {
        self.wheel.is_some() && self.transaction(session).is_ok_and(|transaction| !transaction.loading)
    }

    /// Whether the open transaction of a session began with the set-up and goes on after it.
    pub(crate) fn is_between(&self, session: SessionId) -> bool {
        self.wheel.is_some() && !self.loading && self.transaction(session).is_ok_and(|transaction| transaction.loading)
    }

    /// Whether the session has the transaction that has touched something.
    fn has_begun(&self, session: SessionId) -> bool {
        self.wheel.as_ref().is_some_and(|wheel| wheel.current.session == Some(session))
    }

    /// The wheel, in the hands of a transaction that touches something.
    fn steer(&mut self, session: SessionId) -> Result<&mut Wheel, Stop> {
        let level = self.transaction(session)?.level;
        let name = self.sessions[session.index()].name.clone();
        let wheel = self.wheel.as_mut().ok_or_else(|| broken("nobody steers"))?;
        match wheel.current.session {
            Some(current) if current == session => {}
            Some(_) => return Err(broken("two transactions at a time").into()),
            None => {
                let number = i64::from(wheel.steering.begin(&name, level)?);
                wheel.is_touched = true;
                wheel.current = Steered { session: Some(session), number, ..Steered::default() };
                wheel.steering.enter(wheel.scope);
            }
        }
        Ok(wheel)
    }

    pub(crate) fn steered_statement(&mut self, session: SessionId) {
        if self.has_begun(session)
            && let Some(wheel) = &mut self.wheel
        {
            wheel.steering.begin_statement();
        }
    }

    pub(crate) fn steered_get(&mut self, session: SessionId, key: &RowKey, lock: Lock) -> Result<Option<Row>, Stop> {
        let locking = lock != Lock::None && self.options.updates == Updates::Atomic;
        let name = self.name_of(key);
        Ok(self.steer(session)?.steering.read(key, &name, locking)?)
    }

    pub(crate) fn steered_seek(
        &mut self,
        session: SessionId,
        key: &RowKey,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        let name = self.name_of(key);
        let is_atomic = self.options.updates == Updates::Atomic;
        let steering = &mut self.steer(session)?.steering;
        match is_atomic {
            true => Ok(steering.seek(key, &name, fits)?),
            false => Ok(steering.read(key, &name, false)?.filter(|row| fits(key, row) != Fit::No)),
        }
    }

    pub(crate) fn steered_look_over(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        fits: &mut Fits<'_>,
    ) -> Result<Vec<RowKey>, Stop> {
        Ok(self.steer(session)?.steering.look_over(range, fits)?)
    }

    /// A subquery begins or ends.
    pub(crate) fn steered_enter(&mut self, session: SessionId, scope: usize) -> usize {
        let Some(wheel) = &mut self.wheel else { return 0 };
        if wheel.current.session == Some(session) {
            wheel.steering.enter(scope);
        }
        std::mem::replace(&mut wheel.scope, scope)
    }

    pub(crate) fn steered_scan(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        locking: bool,
    ) -> Result<Vec<(RowKey, Row)>, Stop> {
        Ok(self.steer(session)?.steering.scan(range, locking)?)
    }

    /// The rows of a range as they stand now, for checks of constraints; nothing where updates do not lock.
    pub(crate) fn steered_present(
        &mut self,
        session: SessionId,
        range: &KeyRange,
    ) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        match self.options.updates {
            Updates::Plain => Ok(None),
            Updates::Atomic => self.steered_scan(session, range, true).map(Some),
        }
    }

    pub(crate) fn steered_put(&mut self, session: SessionId, key: &RowKey, write: Write) -> Result<(), Stop> {
        if self.transaction(session)?.read_only {
            let message = "cannot write in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY, message).into());
        }
        let value = match write {
            Write::Row(row) | Write::Columns(row, _) => Some(row),
            Write::Delete => None,
        };
        let name = self.name_of(key);
        let wheel = self.steer(session)?;
        wheel.steering.write(key, &name, value)?;
        wheel.current.writes += 1;
        Ok(())
    }

    fn name_of(&mut self, key: &RowKey) -> String {
        let number = self.keys.number(key);
        if let Some(wheel) = &mut self.wheel {
            wheel.describe(&self.keys, key.space);
        }
        self.keys.name(number).to_string()
    }

    /// The place of a value among those of all transactions.
    fn steered_place(&mut self, session: SessionId, asked: Asked) -> Result<i64, Stop> {
        let current = &mut self.steer(session)?.current;
        let count = current.asked.entry(asked).or_default();
        *count += 1;
        Ok(by_place::place(current.number, *count - 1)?)
    }

    pub(crate) fn steered_value(
        &mut self,
        session: SessionId,
        sequence: SequenceId,
        rule: &SequenceRule,
    ) -> Result<i64, Stop> {
        let place = self.steered_place(session, Asked::Sequence(sequence))?;
        let value = by_place::sequence_value(rule, self.sequences.get(&sequence).copied(), place)?;
        self.sessions[session.index()].current_values.insert(sequence, value);
        Ok(value)
    }

    pub(crate) fn steered_key(&mut self, session: SessionId, space: SpaceId) -> Result<KeyPart, Stop> {
        let place = self.steered_place(session, Asked::FreshKey(space))?;
        Ok(by_place::fresh_key(self.fresh_keys.get(&space).copied(), place))
    }

    /// By the session and how often it was given one: the same numbers in every run. A transaction does not begin with it.
    pub(crate) fn steered_random(&mut self, session: SessionId) -> u64 {
        let name = self.sessions[session.index()].name.as_bytes();
        let seed = name.iter().fold(0, |seed, byte| by_place::random(seed, u64::from(*byte)));
        let Some(wheel) = &mut self.wheel else { return seed };
        let given = &mut wheel.places.entry(session).or_default().1;
        *given += 1;
        by_place::random(seed, *given - 1)
    }

    /// The clock of a transaction: a second for each that its session had before.
    pub(crate) fn steered_time(&self, session: SessionId) -> i64 {
        let over = self.wheel.as_ref().and_then(|wheel| wheel.places.get(&session)).map_or(0, |place| place.0);
        self.options.clock + (over + 1) * by_place::SECOND
    }

    /// How many writes the open transaction has, for savepoints.
    pub(crate) fn steered_writes(&self, session: SessionId) -> usize {
        if self.has_begun(session) { self.wheel.as_ref().map_or(0, |wheel| wheel.current.writes) } else { 0 }
    }

    /// The transaction of a session ends. The store knows of nothing that it did.
    pub(crate) fn steered_end(&mut self, session: SessionId, commits: bool) -> Result<(), Interrupt> {
        if !self.has_begun(session) {
            return Ok(());
        }
        let Some(wheel) = &mut self.wheel else { return Ok(()) };
        wheel.current = Steered::default();
        wheel.places.entry(session).or_default().0 += 1;
        match wheel.steering.end(commits) {
            Ok(()) => {
                self.count_steered(commits);
                Ok(())
            }
            Err(_) => Err(Interrupt::SerializationFailure),
        }
    }

    /// All transactions are over: what they left is there, and nobody steers any more.
    pub(crate) fn end_steering(&mut self, session: Option<SessionId>) -> Result<(), SqlError> {
        if self.wheel.as_ref().is_some_and(|wheel| wheel.current.session.is_some()) {
            return Err(SqlError::unsupported("skew_settle while a transaction has read or written"));
        }
        let Some(mut wheel) = self.wheel.take() else { return Ok(()) };
        self.written_after = Some(false);
        let mut rows = wheel.steering.finish()?;
        let keys: Vec<_> = self.versions.initial_keys().map(|(key, _)| key).collect();
        for key in keys {
            let row = rows.remove(self.keys.row_of(key));
            self.versions.set_initial(key, row);
        }
        for (key, row) in rows {
            let key = self.keys.number(&key);
            self.versions.set_initial(key, Some(row));
            self.keys.bear(key);
        }
        self.loading = true;
        if let Some(transaction) = session.and_then(|session| self.transaction_mut(session).ok()) {
            transaction.loading = true;
        }
        Ok(())
    }
}

fn broken(what: &str) -> SqlError {
    SqlError::new(SqlState::INTERNAL, format!("a database that is steered has {what}"))
}

/// What a steered transaction cannot do.
pub(crate) fn refused<T>(construct: &str) -> Result<T, Stop> {
    Err(SqlError::unsupported(format!("{construct} in a program that is explored")).into())
}
