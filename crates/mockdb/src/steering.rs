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
//!
//! Here is who steers and what is known of the transaction that has begun; [`crate::steered`] has what SQL asks of it.

use crate::keys::KeyTable;
use skew_history::{IsolationLevel, SessionId};
use skew_sql::{Fits, KeyRange, Row, RowKey, SequenceId, SpaceId, Stop, by_place};
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
pub(crate) enum Numbered {
    Sequence(SequenceId),
    FreshKey(SpaceId),
}

/// The transaction that has begun.
#[derive(Default, Debug)]
struct Steered {
    session: Option<SessionId>,
    number: i64,
    writes: usize,
    asked: BTreeMap<Numbered, i64>,
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
    pub(crate) fn new(steering: Box<dyn Steering>) -> Wheel {
        Wheel {
            steering,
            current: Steered::default(),
            scope: 0,
            is_touched: false,
            described: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }

    /// Who steers.
    pub(crate) fn steering(&mut self) -> &mut dyn Steering {
        &mut *self.steering
    }

    /// The rows before everything, with the names of their keys.
    pub(crate) fn begin(&mut self, keys: &KeyTable, rows: Vec<(RowKey, String, Row)>) -> Result<(), SqlError> {
        rows.iter().for_each(|(key, ..)| self.describe(keys, key.space));
        self.steering.initial(rows)
    }

    fn describe(&mut self, keys: &KeyTable, space: SpaceId) {
        let columns = keys.layout().shape(space).map_or(&[][..], |shape| &shape.columns);
        if self.described.get(&space).is_none_or(|&known| known < columns.len()) {
            self.described.insert(space, columns.len());
            self.steering.describe(space, columns.to_vec());
        }
    }

    /// The name of a key, whose space whoever steers knows from now on.
    pub(crate) fn name_of(&mut self, keys: &mut KeyTable, key: &RowKey) -> String {
        let number = keys.number(key);
        self.describe(keys, key.space);
        keys.name(number).to_string()
    }

    /// A transaction of a session touches something: it begins, if it has not.
    pub(crate) fn touch(&mut self, session: SessionId, name: &str, level: IsolationLevel) -> Result<(), SqlError> {
        match self.current.session {
            Some(current) if current == session => Ok(()),
            Some(_) => Err(broken("two transactions at a time")),
            None => {
                let number = i64::from(self.steering.begin(name, level)?);
                self.is_touched = true;
                self.current = Steered { session: Some(session), number, ..Steered::default() };
                self.steering.enter(self.scope);
                Ok(())
            }
        }
    }

    /// Whether any transaction has touched anything.
    pub(crate) fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// Whether a transaction has begun and has not ended.
    pub(crate) fn is_busy(&self) -> bool {
        self.current.session.is_some()
    }

    /// Whether it is the session's.
    fn has_begun(&self, session: SessionId) -> bool {
        self.current.session == Some(session)
    }

    /// A statement of a session begins.
    pub(crate) fn begin_statement(&mut self, session: SessionId) {
        if self.has_begun(session) {
            self.steering.begin_statement();
        }
    }

    /// A subquery of a session begins or ends; who read before.
    pub(crate) fn enter(&mut self, session: SessionId, scope: usize) -> usize {
        if self.has_begun(session) {
            self.steering.enter(scope);
        }
        std::mem::replace(&mut self.scope, scope)
    }

    /// The transaction that has begun writes a row under a key of this name; nothing: deletes it.
    pub(crate) fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), SqlError> {
        self.steering.write(key, name, value)?;
        self.current.writes += 1;
        Ok(())
    }

    /// How many writes the session's transaction has, for savepoints.
    pub(crate) fn writes(&self, session: SessionId) -> usize {
        if self.has_begun(session) { self.current.writes } else { 0 }
    }

    /// The place of a value that the transaction that has begun asks for, among those of all transactions.
    pub(crate) fn place(&mut self, asked: Numbered) -> Result<i64, SqlError> {
        let count = self.current.asked.entry(asked).or_default();
        *count += 1;
        by_place::place(self.current.number, *count - 1)
    }

    /// By the session and how often it was given one: the same numbers in every run. A transaction does not begin with it.
    pub(crate) fn random(&mut self, session: SessionId, name: &str) -> u64 {
        let seed = name.bytes().fold(0, |seed, byte| by_place::random(seed, u64::from(byte)));
        let given = &mut self.places.entry(session).or_default().1;
        *given += 1;
        by_place::random(seed, *given - 1)
    }

    /// The clock of a session's transaction: a second for each that it had before.
    pub(crate) fn time(&self, session: SessionId, clock: i64) -> i64 {
        let over = self.places.get(&session).map_or(0, |place| place.0);
        clock + (over + 1) * by_place::SECOND
    }

    /// The transaction of a session ends; nothing if it has touched nothing.
    pub(crate) fn end(&mut self, session: SessionId, commits: bool) -> Option<Result<(), SqlError>> {
        if !self.has_begun(session) {
            return None;
        }
        self.current = Steered::default();
        self.places.entry(session).or_default().0 += 1;
        Some(self.steering.end(commits))
    }

    /// All transactions are over: the rows that they left.
    pub(crate) fn finish(mut self) -> Result<BTreeMap<RowKey, Row>, SqlError> {
        self.steering.finish()
    }
}

/// What a database that is steered should never have.
pub(crate) fn broken(what: &str) -> SqlError {
    SqlError::new(SqlState::INTERNAL, format!("a database that is steered has {what}"))
}

/// What a steered transaction cannot do.
pub(crate) fn refused<T>(construct: &str) -> Result<T, Stop> {
    Err(SqlError::unsupported(format!("{construct} in a program that is explored")).into())
}
