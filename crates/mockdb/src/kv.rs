//! Keys and values: the store in a test of five lines.
//!
//! ```
//! use skew_mockdb::{Kv, Level};
//! let db = Kv::new(Level::Causal, 7);
//! let (ann, bob) = (db.session("ann"), db.session("bob"));
//! ann.put("x", 1)?;
//! let mut t = bob.begin();
//! t.get("x")?; // 1, or nothing yet: causal allows both
//! t.commit()?;
//! assert!(skew_check::check(&db.history()?, Level::Causal, skew_check::Budget::UNLIMITED).holds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sessions may live on many threads. A `put` waits while another transaction holds the key's lock; where the one who holds it is a
//! transaction of the same thread, waiting would be for ever, so that is an error at once, and elsewhere after some patience.
//! A key is a path: the parts of `item/3` between slashes, numbers among them as numbers.

use crate::chooser::{Campaign, Chooser, ChooserKind};
use crate::chronicle::Counts;
use crate::options::Options;
use crate::record::Record;
use crate::store::{Begin, Store};
use crate::tape::Tape;
use skew_history::format::ReadError;
use skew_history::{History, IsolationLevel, SessionId};
use skew_sql::rows::SpaceShape;
use skew_sql::{Columns, Interrupt, KeyPart, Lock, Row, RowKey, SpaceId, Stop, Write};
use skew_value::{Datum, SqlError};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// The keys of this face; no table has so high a number.
const SPACE: SpaceId = SpaceId(u32::MAX);
const PATIENCE: Duration = Duration::from_secs(10);

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KvError {
    /// The transaction is over.
    #[error("the transaction could not be serialized and is rolled back; begin it again")]
    Refused,
    /// The transaction is over.
    #[error("the transaction waited for itself and is rolled back; begin it again")]
    Deadlock,
    /// Another transaction of the same thread holds the lock.
    #[error("`{0}` is locked by another transaction of this thread; end that one first")]
    WouldBlock(String),
    /// Another transaction holds the lock for too long.
    #[error("`{0}` is locked by another transaction; try again later")]
    TimedOut(String),
    /// The transaction has ended already.
    #[error("the transaction has ended; begin another one")]
    Ended,
    /// What was asked makes no sense.
    #[error("{0}")]
    Wrong(SqlError),
}

/// A value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KvValue {
    /// An integer.
    Integer(i64),
    /// A text.
    Text(String),
}

impl From<i64> for KvValue {
    fn from(number: i64) -> KvValue {
        KvValue::Integer(number)
    }
}

impl From<i32> for KvValue {
    fn from(number: i32) -> KvValue {
        KvValue::Integer(number.into())
    }
}

impl From<&str> for KvValue {
    fn from(text: &str) -> KvValue {
        KvValue::Text(text.to_owned())
    }
}

impl From<String> for KvValue {
    fn from(text: String) -> KvValue {
        KvValue::Text(text)
    }
}

impl KvValue {
    /// The integer, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            KvValue::Integer(number) => Some(*number),
            KvValue::Text(_) => None,
        }
    }

    fn to_row(&self) -> Row {
        Row::from([match self {
            KvValue::Integer(number) => Datum::Integer((*number).into()),
            KvValue::Text(text) => Datum::text(text.as_str()),
        }])
    }

    fn of_row(row: &Row) -> KvValue {
        match row.first() {
            Some(Datum::Integer(number)) => KvValue::Integer(*number as i64),
            Some(Datum::Text(text)) => KvValue::Text(text.to_string()),
            _ => KvValue::Text(String::new()),
        }
    }
}

fn row_key(key: &str) -> RowKey {
    let part = |part: &str| match part.parse::<i64>() {
        // Only what is spelt as the number is shown: `007` is another key than `7`.
        Ok(number) if number.to_string() == part => KeyPart::Number(number.into()),
        _ => KeyPart::Text(part.into()),
    };
    RowKey { space: SPACE, parts: key.split('/').map(part).collect() }
}

struct Core {
    store: Store,
    /// The thread that a session was last used from.
    threads: BTreeMap<SessionId, ThreadId>,
}

struct Shared {
    core: Mutex<Core>,
    /// Something ended: locks may be free.
    ended: Condvar,
    history: Tape,
    choices: Tape,
    patience: Duration,
}

/// A store of keys and values; clones share it.
#[derive(Clone)]
pub struct Kv {
    shared: Arc<Shared>,
}

impl Kv {
    /// A store at a level with the random chooser, recorded in memory.
    pub fn new(level: IsolationLevel, seed: u64) -> Kv {
        Kv::open(Options::new(level, seed), ChooserKind::Random.build(seed, &Campaign::default()), &[])
    }

    /// A store with all its settings, and its initial values.
    pub fn open(options: Options, chooser: Box<dyn Chooser>, initial: &[(&str, KvValue)]) -> Kv {
        let (history, choices) = (Tape::default(), Tape::default());
        let record = Record { history: Some(Box::new(history.clone())), choices: Some(Box::new(choices.clone())) };
        let store = loaded(Store::new(options, chooser), initial, record);
        Kv::around(store, history, choices)
    }

    /// A store that records to where it is told; [`Kv::history`] knows nothing of it.
    pub fn recorded(options: Options, chooser: Box<dyn Chooser>, record: Record) -> Kv {
        Kv::around(loaded(Store::new(options, chooser), &[], record), Tape::default(), Tape::default())
    }

    fn around(store: Store, history: Tape, choices: Tape) -> Kv {
        let core = Mutex::new(Core { store, threads: BTreeMap::new() });
        Kv { shared: Arc::new(Shared { core, ended: Condvar::new(), history, choices, patience: PATIENCE }) }
    }

    /// A client. A name that another one uses gets a number behind it.
    pub fn session(&self, name: &str) -> KvSession {
        let id = self.shared.core().store.connect(name);
        KvSession { shared: Arc::clone(&self.shared), id }
    }

    /// What happened so far; a history without any transaction is none.
    pub fn history(&self) -> Result<History, ReadError> {
        self.shared.history.history()
    }

    /// The same as the text of a history file.
    pub fn history_text(&self) -> String {
        self.shared.history.text()
    }

    /// The log of choices, from which [`crate::Script`] repeats the run.
    pub fn choices_text(&self) -> String {
        self.shared.choices.text()
    }

    /// How transactions ended so far.
    pub fn counts(&self) -> Counts {
        self.shared.core().store.counts()
    }

    /// What went wrong with recording, if anything.
    pub fn recording_failure(&self) -> Option<String> {
        self.shared.core().store.recording_failure().map(str::to_owned)
    }

    /// How many versions are kept.
    pub fn version_count(&self) -> usize {
        self.shared.core().store.version_count()
    }

    /// Everything committed so far is seen by all that begins from now on.
    pub fn settle(&self) {
        self.shared.core().store.settle();
    }

    /// The value that committed last.
    pub fn latest(&self, key: &str) -> Option<KvValue> {
        let row = row_key(key);
        let rows = self.shared.core().store.latest_rows();
        rows.iter().find(|found| found.0 == row).map(|found| KvValue::of_row(&found.1))
    }
}

/// Makes a store one of keys and values, with these at the beginning, and starts it.
pub(crate) fn loaded(mut store: Store, initial: &[(&str, KvValue)], record: Record) -> Store {
    store.describe(SPACE, SpaceShape { name: String::new(), columns: Vec::new(), index: false });
    let loader = store.connect("loader");
    // Loading reads nothing, waits for nobody and is refused by no level.
    if store.begin(loader, Begin::default()).is_ok() {
        for (key, value) in initial {
            let _ = store.put(loader, &row_key(key), Write::Row(value.to_row()));
        }
        let _ = store.commit(loader);
    }
    store.disconnect(loader);
    store.start(record, "");
    store
}

impl Shared {
    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement, again and again while it has to wait.
    fn run<T>(
        &self,
        session: SessionId,
        key: &str,
        mut statement: impl FnMut(&mut Store) -> Result<T, Stop>,
    ) -> Result<T, KvError> {
        let deadline = Instant::now() + self.patience;
        let mut core = self.core();
        let thread = std::thread::current().id();
        core.threads.insert(session, thread);
        loop {
            if !core.store.in_transaction(session) {
                return Err(KvError::Ended);
            }
            let result = core.store.run_statement(session, None, &mut statement);
            if !matches!(result, Err(Stop::Interrupted(Interrupt::Wait))) {
                self.ended.notify_all();
                return result.map_err(error_of);
            }
            let holders = core.store.waits_for(session);
            if holders.iter().any(|holder| core.threads.get(holder) == Some(&thread)) {
                core.store.stop_waiting(session);
                return Err(KvError::WouldBlock(key.to_owned()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                core.store.stop_waiting(session);
                return Err(KvError::TimedOut(key.to_owned()));
            }
            core = self.ended.wait_timeout(core, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// What the faces of keys and values ask of a store, inside a statement.
impl Store {
    pub(crate) fn get_value(&mut self, session: SessionId, key: &str, lock: Lock) -> Result<Option<KvValue>, Stop> {
        Ok(self.get(session, &row_key(key), &Columns::All, lock)?.as_ref().map(KvValue::of_row))
    }

    /// Writes a value; none is a deletion.
    pub(crate) fn put_value(&mut self, session: SessionId, key: &str, value: Option<&KvValue>) -> Result<(), Stop> {
        let write = value.map_or(Write::Delete, |value| Write::Row(value.to_row()));
        self.put(session, &row_key(key), write)
    }

    /// Writes a value if the key has the expected one, read as an update reads; whether it had.
    pub(crate) fn swap_value(
        &mut self,
        session: SessionId,
        key: &str,
        expected: Option<&KvValue>,
        value: &KvValue,
    ) -> Result<bool, Stop> {
        let equal = self.get_value(session, key, Lock::Update)?.as_ref() == expected;
        if equal {
            self.put_value(session, key, Some(value))?;
        }
        Ok(equal)
    }
}

fn error_of(stop: Stop) -> KvError {
    match stop {
        Stop::Error(error) => KvError::Wrong(error),
        Stop::Interrupted(Interrupt::Deadlock) => KvError::Deadlock,
        Stop::Interrupted(_) => KvError::Refused,
    }
}

/// A client of a [`Kv`]; when it is dropped its connection is closed.
pub struct KvSession {
    shared: Arc<Shared>,
    id: SessionId,
}

impl KvSession {
    /// Begins a transaction at the store's level.
    pub fn begin(&self) -> KvTransaction<'_> {
        self.begin_with(Begin::default()).unwrap_or(KvTransaction { session: self, open: false })
    }

    /// Begins a transaction with settings of its own.
    pub fn begin_with(&self, begin: Begin) -> Result<KvTransaction<'_>, KvError> {
        self.shared.core().store.begin(self.id, begin).map_err(KvError::Wrong)?;
        Ok(KvTransaction { session: self, open: true })
    }

    /// Its name in the history.
    pub fn name(&self) -> String {
        self.shared.core().store.session_name(self.id).to_owned()
    }

    fn alone<T>(&self, work: impl FnOnce(&mut KvTransaction<'_>) -> Result<T, KvError>) -> Result<T, KvError> {
        let mut transaction = self.begin_with(Begin::default())?;
        let result = work(&mut transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// A transaction that reads one key.
    pub fn get(&self, key: &str) -> Result<Option<KvValue>, KvError> {
        self.alone(|transaction| transaction.get(key))
    }

    /// A transaction that writes one key.
    pub fn put(&self, key: &str, value: impl Into<KvValue>) -> Result<(), KvError> {
        self.alone(|transaction| transaction.put(key, value))
    }

    /// A transaction that deletes one key.
    pub fn delete(&self, key: &str) -> Result<(), KvError> {
        self.alone(|transaction| transaction.delete(key))
    }

    /// A transaction that compares and sets one key.
    pub fn cas(&self, key: &str, expected: Option<KvValue>, value: impl Into<KvValue>) -> Result<bool, KvError> {
        self.alone(|transaction| transaction.cas(key, expected, value))
    }
}

impl Drop for KvSession {
    fn drop(&mut self) {
        self.shared.core().store.disconnect(self.id);
        self.shared.ended.notify_all();
    }
}

/// A transaction; when it is dropped before it has committed it is rolled back.
pub struct KvTransaction<'a> {
    session: &'a KvSession,
    open: bool,
}

impl KvTransaction<'_> {
    fn run<T>(&mut self, key: &str, statement: impl FnMut(&mut Store) -> Result<T, Stop>) -> Result<T, KvError> {
        if !self.open {
            return Err(KvError::Ended);
        }
        let result = self.session.shared.run(self.session.id, key, statement);
        self.open = !matches!(result, Err(KvError::Refused | KvError::Deadlock | KvError::Ended));
        result
    }

    fn read(&mut self, key: &str, lock: Lock) -> Result<Option<KvValue>, KvError> {
        let session = self.session.id;
        self.run(key, |store| store.get_value(session, key, lock))
    }

    /// The value of a key: any version that the level allows.
    pub fn get(&mut self, key: &str) -> Result<Option<KvValue>, KvError> {
        self.read(key, Lock::None)
    }

    /// The value of a key that is about to be written: the latest, and nobody else may write it until this ends. (With plain
    /// updates: any version that the level allows to be overwritten.)
    pub fn get_for_update(&mut self, key: &str) -> Result<Option<KvValue>, KvError> {
        self.read(key, Lock::Update)
    }

    fn write(&mut self, key: &str, value: Option<&KvValue>) -> Result<(), KvError> {
        let session = self.session.id;
        self.run(key, |store| store.put_value(session, key, value))
    }

    /// Writes a key.
    pub fn put(&mut self, key: &str, value: impl Into<KvValue>) -> Result<(), KvError> {
        self.write(key, Some(&value.into()))
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &str) -> Result<(), KvError> {
        self.write(key, None)
    }

    /// Writes a key if it has the expected value, read as an update reads; whether it had.
    pub fn cas(&mut self, key: &str, expected: Option<KvValue>, value: impl Into<KvValue>) -> Result<bool, KvError> {
        let (session, value) = (self.session.id, value.into());
        self.run(key, |store| store.swap_value(session, key, expected.as_ref(), &value))
    }

    /// Commits, or is refused.
    pub fn commit(mut self) -> Result<(), KvError> {
        if !std::mem::replace(&mut self.open, false) {
            return Err(KvError::Ended);
        }
        let shared = &self.session.shared;
        let result = shared.core().store.commit(self.session.id);
        shared.ended.notify_all();
        result.map_err(|interrupt| error_of(interrupt.into()))
    }

    /// Rolls back.
    pub fn abort(self) {}
}

impl Drop for KvTransaction<'_> {
    fn drop(&mut self) {
        if self.open {
            self.session.shared.core().store.abort(self.session.id);
            self.session.shared.ended.notify_all();
        }
    }
}
