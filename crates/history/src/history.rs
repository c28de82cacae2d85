//! The immutable history: everything is a dense number, names are looked up only to be shown.
//!
//! ```text
//!   sessions       a ─────────────────┐  b ───────┐
//!   transactions   0 = a's first   1  │  2        │     the transactions of a session are neighbours,
//!   events         0 1 │ 2         3 4│ 5 6       │     so are the events of a transaction
//! ```
//!
//! So "the next of this session" is `+ 1` and a walk over all events is one walk over one vector. The initial state is not a
//! transaction here: it wrote [`History::initial`] of every key, before everything.

use crate::index_entry;
use crate::level::IsolationLevel;
use crate::name::{Name, Names};
use crate::statement::{Asked, Refused};
use crate::value::{ShownValue, Value, ValueView, Values};
use std::fmt;
use std::ops::Range;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index into a vector.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id!(
    /// A row, a cell, an object: what is read and written.
    KeyId
);
dense_id!(
    /// A client's connection: its transactions follow one another.
    SessionId
);
dense_id!(
    /// A transaction; those of one session are neighbours, in session order.
    TransactionId
);
dense_id!(
    /// An event; those of one transaction are neighbours, in program order.
    EventId
);

/// What an event does to its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Returned the value.
    Read,
    /// Replaced the value; writing the absent value deletes.
    Write,
    /// Added the value to the end of a list.
    Append,
}

/// One read or write of one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The value read, written or appended.
    pub value: Value,
    /// The key.
    pub key: KeyId,
    /// Read, write or append.
    pub action: Action,
    /// A read that locks what it reads, and so sees the latest version whatever its level.
    pub locking: bool,
    /// Part of a range read; see [`History::scans`].
    pub scanned: bool,
}

impl Event {
    /// A plain event.
    pub fn new(action: Action, key: KeyId, value: Value) -> Event {
        Event { value, key, action, locking: false, scanned: false }
    }

    /// Whether the event is a read.
    pub fn is_read(&self) -> bool {
        self.action == Action::Read
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Its writes are in the database.
    Committed,
    /// Its own program rolled it back: what it read had to be right.
    AbortedByProgram,
    /// The database refused it, or the file does not say who did.
    AbortedByDatabase,
    /// The client never learnt.
    Unknown,
}

/// Who wrote a version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Writer {
    /// The initial state, which is before everything.
    Initial,
    /// This transaction.
    Transaction(TransactionId),
}

/// When a transaction ran, on one clock; either end may be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Times {
    /// Just before the transaction began.
    pub begin: Option<i64>,
    /// Just after it ended.
    pub end: Option<i64>,
}

/// A range read: it saw the listed keys, and every other key of its range as absent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scan {
    /// The events it became.
    pub events: Range<u32>,
    /// What all keys of the range start with.
    pub prefix: Box<str>,
}

#[derive(Clone, Debug)]
pub(crate) struct TransactionEntry {
    pub(crate) first_event: u32,
    pub(crate) session: SessionId,
    pub(crate) outcome: Outcome,
    pub(crate) level: Option<IsolationLevel>,
}

/// Sessions of transactions of events; made by [`crate::HistoryBuilder`], never changed.
#[derive(Clone, Debug)]
pub struct History {
    pub(crate) sessions: Names,
    /// The first transaction of each session, and the end.
    pub(crate) session_starts: Vec<u32>,
    pub(crate) transactions: Vec<TransactionEntry>,
    /// The names the file gave, or nothing where it gave none.
    pub(crate) transaction_names: Names,
    /// Per transaction its index in `transaction_names`, or `UNNAMED`; empty when no transaction has a name.
    pub(crate) name_of: Vec<u32>,
    /// Per transaction; empty when no transaction has times.
    pub(crate) times: Vec<Times>,
    pub(crate) events: Vec<Event>,
    pub(crate) keys: Names,
    pub(crate) values: Values,
    pub(crate) initial: Vec<Value>,
    /// Sorted by event.
    pub(crate) claims: Vec<(EventId, Writer)>,
    pub(crate) scans: Vec<Scan>,
    /// Extra fields of events, as JSON members, sorted by event.
    pub(crate) event_notes: Vec<(EventId, Box<str>)>,
    /// Extra fields of transactions, as JSON members, sorted by transaction.
    pub(crate) transaction_notes: Vec<(TransactionId, Box<str>)>,
    pub(crate) about: Option<Box<str>>,
    pub(crate) engine: Option<Box<str>>,
    /// Per event, up to the last of which anything is said.
    pub(crate) asked: Vec<Asked>,
    /// Reads that found nothing because of somebody, sorted by event.
    pub(crate) gone: Vec<(EventId, TransactionId)>,
    /// Errors and statements, sorted by transaction.
    pub(crate) refusals: Vec<(TransactionId, Box<str>, u32)>,
    pub(crate) features: Features,
}

/// What some histories have and most have not: a look at this saves a look at all events.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Features {
    /// Some read locks.
    pub locking_reads: bool,
    /// Something is appended, or a list was read or is there from the start.
    pub lists: bool,
    /// Some read found a row of which nobody knows the version.
    pub found_reads: bool,
}

impl Features {
    pub(crate) fn of(events: &[Event], asked: &[Asked], initial: &[Value]) -> Features {
        let mut features = Features {
            lists: initial.iter().any(|value| value.is_list()),
            found_reads: asked.iter().any(|asked| asked.found),
            ..Features::default()
        };
        for event in events {
            features.locking_reads |= event.locking;
            features.lists |= event.action == Action::Append || event.value.is_list();
        }
        features
    }
}

pub(crate) const UNNAMED: u32 = u32::MAX;

impl History {
    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.session_starts.len() - 1
    }

    /// How many transactions there are, whatever their outcome.
    pub fn transaction_count(&self) -> usize {
        self.transactions.len()
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// How many keys there are.
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    /// All sessions.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = SessionId> + Clone + use<> {
        (0..self.session_count() as u32).map(SessionId)
    }

    /// All transactions, session by session.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = TransactionId> + DoubleEndedIterator + Clone + use<> {
        (0..self.transactions.len() as u32).map(TransactionId)
    }

    /// All keys, in order of first appearance.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = KeyId> + Clone + use<> {
        (0..self.keys.len() as u32).map(KeyId)
    }

    /// The transactions of a session, in session order.
    pub fn transactions_of(
        &self,
        session: SessionId,
    ) -> impl ExactSizeIterator<Item = TransactionId> + DoubleEndedIterator + Clone + use<> {
        (self.session_starts[session.index()]..self.session_starts[session.index() + 1]).map(TransactionId)
    }

    /// The transactions before this one in its session, first to last.
    pub fn before_in_session(
        &self,
        transaction: TransactionId,
    ) -> impl ExactSizeIterator<Item = TransactionId> + DoubleEndedIterator + use<> {
        (self.session_starts[self.session_of(transaction).index()]..transaction.0).map(TransactionId)
    }

    /// The session of a transaction.
    pub fn session_of(&self, transaction: TransactionId) -> SessionId {
        self.transactions[transaction.index()].session
    }

    /// How many transactions of its session come before this one.
    pub fn position_in_session(&self, transaction: TransactionId) -> u32 {
        transaction.0 - self.session_starts[self.session_of(transaction).index()]
    }

    /// The events of a transaction, in program order.
    pub fn events_of(&self, transaction: TransactionId) -> &[Event] {
        let range = self.event_range(transaction);
        &self.events[range.start as usize..range.end as usize]
    }

    /// The numbers of a transaction's events.
    pub fn event_range(&self, transaction: TransactionId) -> Range<u32> {
        let end = match self.transactions.get(transaction.index() + 1) {
            Some(next) => next.first_event,
            None => self.events.len() as u32,
        };
        self.transactions[transaction.index()].first_event..end
    }

    /// The events of a transaction with their numbers, in program order.
    pub fn numbered_events_of(&self, transaction: TransactionId) -> impl Iterator<Item = (EventId, &Event)> {
        self.event_range(transaction).map(EventId).zip(self.events_of(transaction))
    }

    /// An event.
    pub fn event(&self, event: EventId) -> &Event {
        &self.events[event.index()]
    }

    /// The transaction of an event.
    pub fn transaction_of(&self, event: EventId) -> TransactionId {
        let after = self.transactions.partition_point(|transaction| transaction.first_event <= event.0);
        TransactionId(after as u32 - 1)
    }

    /// How a transaction ended.
    pub fn outcome(&self, transaction: TransactionId) -> Outcome {
        self.transactions[transaction.index()].outcome
    }

    /// The level that a transaction's line declares.
    pub fn declared_level(&self, transaction: TransactionId) -> Option<IsolationLevel> {
        self.transactions[transaction.index()].level
    }

    /// When a transaction ran.
    pub fn times(&self, transaction: TransactionId) -> Times {
        self.times.get(transaction.index()).copied().unwrap_or_default()
    }

    /// Whether any transaction has a time.
    pub fn has_times(&self) -> bool {
        !self.times.is_empty()
    }

    /// Who the file says wrote what this read returned, where it says so.
    pub fn claim(&self, event: EventId) -> Option<Writer> {
        let found = self.claims.binary_search_by_key(&event, |claim| claim.0).ok()?;
        Some(self.claims[found].1)
    }

    /// All claims, sorted by event.
    pub fn claims(&self) -> &[(EventId, Writer)] {
        &self.claims
    }

    /// The range reads.
    pub fn scans(&self) -> &[Scan] {
        &self.scans
    }

    /// The value of a key before everything.
    pub fn initial(&self, key: KeyId) -> Value {
        self.initial[key.index()]
    }

    /// The pool that opens and shows values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Opens a value.
    pub fn view(&self, value: Value) -> ValueView<'_> {
        self.values.view(value)
    }

    /// Whether two values are the same; lists by their elements.
    pub fn same(&self, one: Value, other: Value) -> bool {
        one == other || one.is_list() && other.is_list() && self.elements(one) == self.elements(other)
    }

    /// Whether a read that returned `read` may have seen a version that holds `version`: one that found a row may have seen whatever is there.
    pub fn may_return(&self, read: Value, version: Value) -> bool {
        if read.is_found() { !version.is_absent() } else { self.same(read, version) }
    }

    /// A value on its way to text.
    pub fn show(&self, value: Value) -> ShownValue<'_> {
        self.values.show(value)
    }

    /// The elements of a list value; of anything else none.
    pub fn elements(&self, value: Value) -> &[Value] {
        self.values.elements(value)
    }

    /// The name of a key.
    pub fn key_name(&self, key: KeyId) -> Name<'_> {
        self.keys.get(key.index())
    }

    /// The table of a key that is a row, `table/…`, or an entry of an index, `table@index/…`, and then that index; nothing of other keys.
    pub fn table_and_index(&self, key: KeyId) -> Option<(&str, Option<&str>)> {
        let Name::Text(name) = self.key_name(key) else { return None };
        let (space, _) = name.split_once('/')?;
        Some(space.split_once('@').map_or((space, None), |(table, index)| (table, Some(index))))
    }

    /// The name of a session.
    pub fn session_name(&self, session: SessionId) -> Name<'_> {
        self.sessions.get(session.index())
    }

    /// The name of a transaction: the file's, or `session#position` where the file gives none.
    pub fn transaction_name(&self, transaction: TransactionId) -> TransactionName<'_> {
        match self.name_of.get(transaction.index()) {
            Some(&name) if name != UNNAMED => TransactionName::Given(self.transaction_names.get(name as usize)),
            _ => TransactionName::Derived {
                session: self.session_name(self.session_of(transaction)),
                position: self.position_in_session(transaction),
            },
        }
    }

    /// How a sentence speaks of a key: by its name, with a noun where that is a bare number, which else passes for a value; of an entry of
    /// an index by what it stands for.
    pub fn key_in_words(&self, key: KeyId) -> String {
        match self.key_name(key) {
            Name::Integer(number) => format!("key {number}"),
            name => {
                let name = name.to_string();
                index_entry::in_words(&name).unwrap_or(name)
            }
        }
    }

    /// How a sentence speaks of a transaction: by its name, with a noun where that is a bare number.
    pub fn transaction_in_words(&self, transaction: TransactionId) -> String {
        match self.transaction_name(transaction) {
            TransactionName::Given(Name::Integer(number)) => format!("transaction {number}"),
            name => name.to_string(),
        }
    }

    /// The extra fields of an event's JSON object, such as `"sql":"SELECT 1"`.
    pub fn event_note(&self, event: EventId) -> Option<&str> {
        let found = self.event_notes.binary_search_by_key(&event, |note| note.0).ok()?;
        Some(&self.event_notes[found].1)
    }

    /// The extra fields of a transaction's JSON object.
    pub fn transaction_note(&self, transaction: TransactionId) -> Option<&str> {
        let found = self.transaction_notes.binary_search_by_key(&transaction, |note| note.0).ok()?;
        Some(&self.transaction_notes[found].1)
    }

    /// What the header line says about the history.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// The server that the header line names, such as `postgres 15.20`; its first word is an [`Engine`](crate::Engine) where one is known.
    pub fn engine(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    /// What the statement behind an event asked for.
    pub fn asked(&self, event: EventId) -> Asked {
        self.asked.get(event.index()).copied().unwrap_or_default()
    }

    /// Whether anything is said of any statement.
    pub fn has_statements(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Who deleted the row that a read waited for and inserted its key anew, so that the read found nothing.
    pub fn gone(&self, event: EventId) -> Option<TransactionId> {
        let found = self.gone.binary_search_by_key(&event, |gone| gone.0).ok()?;
        Some(self.gone[found].1)
    }

    /// All reads that found nothing because of somebody, sorted by event.
    pub fn all_gone(&self) -> &[(EventId, TransactionId)] {
        &self.gone
    }

    /// How the database refused a transaction, where the file says so.
    pub fn refusal(&self, transaction: TransactionId) -> Option<Refused<'_>> {
        let found = self.refusals.binary_search_by_key(&transaction, |refusal| refusal.0).ok()?;
        let (_, error, statement) = &self.refusals[found];
        Some(Refused { error, statement: *statement })
    }

    /// What some histories have and most have not.
    pub fn features(&self) -> Features {
        self.features
    }

    /// The key with this name. Linear: for tests and for people, not for algorithms.
    pub fn find_key(&self, name: &str) -> Option<KeyId> {
        self.keys().find(|&key| self.key_name(key) == Name::from(name))
    }

    /// The transaction with this name. Linear: for tests and for people, not for algorithms.
    pub fn find_transaction(&self, name: &str) -> Option<TransactionId> {
        self.transactions().find(|&transaction| self.transaction_name(transaction).to_string() == name)
    }
}

/// A transaction's name on its way to text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionName<'a> {
    /// The file's.
    Given(Name<'a>),
    /// Made from where the transaction stands.
    Derived {
        /// Its session.
        session: Name<'a>,
        /// How many transactions of the session come before it.
        position: u32,
    },
}

impl fmt::Display for TransactionName<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransactionName::Given(name) => write!(out, "{name}"),
            TransactionName::Derived { session, position } => write!(out, "{session}#{position}"),
        }
    }
}
