//! The only way to make a [`History`]: transaction by transaction, event by event, refusing what cannot be one.
//!
//! ```
//! use skew_history::{HistoryBuilder, Value};
//! let mut builder = HistoryBuilder::new();
//! let (session, key) = (builder.session("a"), builder.key("x"));
//! let one = builder.values().integer(1);
//! builder.begin(session, Some("t1".into()))?;
//! builder.read(key, Value::ABSENT);
//! builder.write(key, one);
//! let history = builder.finish()?;
//! assert_eq!(history.event_count(), 2);
//! # Ok::<(), skew_history::builder::Refusal>(())
//! ```
//!
//! Sessions may alternate in the input; [`HistoryBuilder::finish`] lays the transactions of each session next to each other
//! (a counting sort, skipped when they already are) and turns range reads into plain ones.

mod finish;
mod gone;
mod part;
mod pending;

pub use part::{ClaimedWriter, Note, Operation, ScanSpec, ScannedKey};

use crate::history::{Action, Event, History, KeyId, Outcome, SessionId, Times, UNNAMED};
use crate::level::IsolationLevel;
use crate::name::{MOST_NAMES, Name, NameTable};
use crate::statement::Asked;
use crate::value::{Value, Values};
use finish::Finish;
use pending::{PendingScan, Seal};
use rustc_hash::FxHashMap;
use std::fmt;

/// Where in an input something stands.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Place {
    /// The input as a whole.
    #[default]
    Whole,
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Line(line) => write!(out, "line {line}"),
            Place::Byte(byte) => write!(out, "byte {byte}"),
        }
    }
}

/// What can be wrong with an input. The message says what is there; [`Problem::advice`] what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// The text does not have the shape its format asks for.
    #[error("{what}")]
    Malformed {
        /// What is there, and what was expected.
        what: String,
        /// What to do.
        advice: &'static str,
    },
    /// One id names two transactions.
    #[error("transaction {id} appears twice, in session {first} and in session {second}")]
    DuplicateTransaction {
        /// The id.
        id: String,
        /// The session where it was first.
        first: String,
        /// The session where it is again.
        second: String,
    },
    /// A key is both written and appended to.
    #[error("key {key} is both written and appended to (by {transaction})")]
    WriteAndAppend {
        /// The key.
        key: String,
        /// A transaction that does one of the two.
        transaction: String,
    },
    /// A read names a writer that the input does not have.
    #[error("a read of {key} is said to come from transaction {id}, which is not in the input")]
    UnknownWriter {
        /// The key.
        key: String,
        /// The missing transaction.
        id: String,
    },
    /// A transaction ends before it begins.
    #[error("transaction {id} ends at {end}, before it begins at {begin}")]
    EndsBeforeItBegins {
        /// The transaction.
        id: String,
        /// Its begin.
        begin: i64,
        /// Its end.
        end: i64,
    },
    /// A statement has a smaller number than one before it.
    #[error("statement {statement} stands behind statement {after} of its transaction")]
    StatementsGoBack {
        /// Its number.
        statement: u32,
        /// The greatest before it.
        after: u32,
    },
    /// More than 2³² of something.
    #[error("the input has more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// There is nothing to read.
    #[error("the input holds no transaction")]
    Empty,
}

impl Problem {
    /// A [`Problem::Malformed`].
    pub fn malformed(what: impl Into<String>, advice: &'static str) -> Problem {
        Problem::Malformed { what: what.into(), advice }
    }

    /// What the user can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Problem::Malformed { advice, .. } => advice,
            Problem::DuplicateTransaction { .. } => "give every transaction an id of its own, or leave the ids out",
            Problem::WriteAndAppend { .. } => "use either plain writes or appends on a key",
            Problem::UnknownWriter { .. } => {
                "add the missing transaction, or drop `from` to match the read by its value"
            }
            Problem::EndsBeforeItBegins { .. } => "check that both times come from one clock, or leave them out",
            Problem::StatementsGoBack { .. } => {
                "number the statements of a transaction as they ran, from 1; rows of a cursor stand where it was declared"
            }
            Problem::TooMany { .. } => "split the history",
            Problem::Empty => "check that this is the file you meant; `--from` names its format",
        }
    }
}

/// A problem and where it stands in the input.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}{}{problem}", if *.place == Place::Whole { "" } else { ": " })]
pub struct Refusal {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

#[derive(Clone, Copy)]
pub(crate) enum PendingClaim {
    Initial,
    /// An index into `ids`.
    Named(u32),
}

struct TransactionDraft {
    first_event: u32,
    first_scan: u32,
    session: SessionId,
    name: u32,
    outcome: Outcome,
    level: Option<IsolationLevel>,
}

/// Takes a history in, piece by piece.
#[derive(Default)]
pub struct HistoryBuilder {
    place: Place,
    keys: NameTable,
    sessions: NameTable,
    ids: NameTable,
    /// Per id the draft that carries it, or `UNNAMED` while it is only claimed.
    draft_of_id: Vec<u32>,
    values: Values,
    drafts: Vec<TransactionDraft>,
    events: Vec<Event>,
    /// Per claim: event, who, and where the claim stands.
    claims: Vec<(u32, PendingClaim, Place)>,
    scans: Vec<PendingScan>,
    seals: Vec<Seal>,
    event_notes: Vec<(u32, Box<str>)>,
    transaction_notes: Vec<(u32, Box<str>)>,
    initial: FxHashMap<u32, Value>,
    default_initial: Option<Value>,
    about: Option<Box<str>>,
    engine: Option<Box<str>>,
    /// Per event, up to the last of which anything was said.
    asked: Vec<Asked>,
    /// The greatest statement of the current transaction.
    statement: u32,
    /// Per read that found nothing because of somebody: event, who, and where that stands.
    gone: Vec<(u32, PendingClaim, Place)>,
    /// Per refused draft its error and the statement.
    refusals: Vec<(u32, Box<str>, u32)>,
    /// Per draft, as far as any has times.
    times: Vec<Times>,
    /// Given ids that look like the name of a transaction without one, `a#0`, and where they stand.
    like_derived: Vec<(u32, Place)>,
}

impl HistoryBuilder {
    /// An empty one.
    pub fn new() -> HistoryBuilder {
        HistoryBuilder::default()
    }

    /// Says where in the input the next calls come from; refusals carry it.
    pub fn at(&mut self, place: Place) {
        self.place = place;
    }

    /// Makes room for this many events.
    pub fn reserve(&mut self, transactions: usize, events: usize) {
        self.drafts.reserve(transactions);
        self.events.reserve(events);
    }

    /// Makes room for the rest of an input of which `done` of `total` bytes are taken, if it goes on as it began. Growing by
    /// doubling would copy everything that many times and leave half of the room empty.
    pub fn expect_more(&mut self, done: usize, total: usize) {
        let rest = |taken: usize| (taken as u128 * total.saturating_sub(done) as u128 / done.max(1) as u128) as usize;
        let margin = |expected: usize| expected + expected / 32;
        self.reserve(margin(rest(self.drafts.len())), margin(rest(self.events.len())));
    }

    /// What the header says about the history.
    pub fn about(&mut self, text: &str) {
        self.about = Some(text.into());
    }

    /// The server that the history comes from, such as `postgres 15.20`.
    pub fn engine(&mut self, text: &str) {
        self.engine = Some(text.into());
    }

    /// The pool to make values with.
    pub fn values(&mut self) -> &mut Values {
        &mut self.values
    }

    /// The key with this name.
    pub fn key<'a>(&mut self, name: impl Into<Name<'a>>) -> KeyId {
        KeyId(self.keys.intern(name.into().canonical()))
    }

    /// Gives many events their keys at once, which is quicker than one by one.
    pub fn name_keys(&mut self, events: &mut [Event], names: &[Name<'_>]) {
        debug_assert_eq!(events.len(), names.len(), "a name for every event");
        self.keys.intern_all(names, |place, key| events[place].key = KeyId(key));
    }

    /// The session with this name.
    pub fn session<'a>(&mut self, name: impl Into<Name<'a>>) -> SessionId {
        SessionId(self.sessions.intern(name.into().canonical()))
    }

    /// Whether a session with this name was named before.
    pub fn has_session<'a>(&self, name: impl Into<Name<'a>>) -> bool {
        self.sessions.find(name.into()).is_some()
    }

    /// The initial value of every key that is not given one of its own; absent unless said.
    pub fn default_initial(&mut self, value: Value) {
        self.default_initial = Some(value);
    }

    /// The initial value that was given for a key so far.
    pub(crate) fn given_initial(&self, key: KeyId) -> Value {
        self.initial.get(&key.0).copied().or(self.default_initial).unwrap_or(Value::ABSENT)
    }

    /// Whether any transaction has begun.
    pub(crate) fn has_transactions(&self) -> bool {
        !self.drafts.is_empty()
    }

    /// How many transactions of a session have begun.
    pub(crate) fn transactions_in(&self, session: SessionId) -> usize {
        self.drafts.iter().filter(|draft| draft.session == session).count()
    }

    /// The initial value of a key.
    pub fn initial(&mut self, key: KeyId, value: Value) {
        self.initial.insert(key.0, value);
    }

    /// Begins the next transaction of a session; the events that follow are its own.
    pub fn begin(&mut self, session: SessionId, id: Option<Name<'_>>) -> Result<(), Refusal> {
        let draft = u32::try_from(self.drafts.len()).ok().filter(|&draft| draft < UNNAMED);
        let draft = draft.ok_or_else(|| self.refuse(Problem::TooMany { what: "transactions", limit: 1 << 32 }))?;
        self.refuse_too_much()?;
        let name = match id {
            Some(id) => self.define(id, draft, session)?,
            None => UNNAMED,
        };
        self.statement = 0;
        self.drafts.push(TransactionDraft {
            first_event: self.events.len() as u32,
            first_scan: self.scans.len() as u32,
            session,
            name,
            outcome: Outcome::Committed,
            level: None,
        });
        Ok(())
    }

    fn define(&mut self, id: Name<'_>, draft: u32, session: SessionId) -> Result<u32, Refusal> {
        let name = self.claim_id(id);
        let first = self.draft_of_id[name as usize];
        if first != UNNAMED {
            let first = self.drafts[first as usize].session;
            return Err(self.refuse(Problem::DuplicateTransaction {
                id: id.to_string(),
                first: self.sessions.get(first.index()).to_string(),
                second: self.sessions.get(session.index()).to_string(),
            }));
        }
        self.draft_of_id[name as usize] = draft;
        if matches!(id, Name::Text(text) if text.contains('#')) {
            self.like_derived.push((name, self.place));
        }
        Ok(name)
    }

    /// What is beyond 32 bits has no number.
    fn refuse_too_much(&self) -> Result<(), Refusal> {
        let names = [
            (&self.keys, "keys, or bytes in the name of one"),
            (&self.sessions, "sessions, or bytes in the name of one"),
            (&self.ids, "transactions, or bytes in the name of one"),
        ];
        let overflown = names.into_iter().find(|(table, _)| table.is_overflown()).map(|(_, what)| what);
        let values = self.values.is_overflown().then_some("values, or elements of lists");
        match overflown.or(values) {
            Some(what) => Err(self.refuse(Problem::TooMany { what, limit: MOST_NAMES as u64 })),
            None => Ok(()),
        }
    }

    fn claim_id(&mut self, id: Name<'_>) -> u32 {
        let name = self.ids.intern(id.canonical());
        if name as usize == self.draft_of_id.len() {
            self.draft_of_id.push(UNNAMED);
        }
        name
    }

    /// A plain read by the current transaction.
    pub fn read(&mut self, key: KeyId, value: Value) {
        self.event(Event::new(Action::Read, key, value));
    }

    /// A write by the current transaction; of the absent value: a delete.
    pub fn write(&mut self, key: KeyId, value: Value) {
        self.event(Event::new(Action::Write, key, value));
    }

    /// An append by the current transaction.
    pub fn append(&mut self, key: KeyId, element: Value) {
        self.event(Event::new(Action::Append, key, element));
    }

    /// An event of the current transaction.
    pub fn event(&mut self, event: Event) {
        debug_assert!(!self.drafts.is_empty(), "an event needs a transaction");
        self.events.push(event);
    }

    /// Many events of the current transaction.
    pub fn events(&mut self, events: &[Event]) {
        debug_assert!(!self.drafts.is_empty(), "an event needs a transaction");
        self.events.extend_from_slice(events);
    }

    /// Says who wrote what the last event read.
    pub fn claim(&mut self, writer: ClaimedWriter<'_>) {
        let claim = self.pending(writer);
        self.claims.push((self.events.len() as u32 - 1, claim, self.place));
    }

    pub(crate) fn pending(&mut self, writer: ClaimedWriter<'_>) -> PendingClaim {
        match writer {
            ClaimedWriter::Initial => PendingClaim::Initial,
            ClaimedWriter::Transaction(id) => PendingClaim::Named(self.claim_id(id)),
        }
    }

    /// An event of the current transaction with all that is said of it.
    pub fn operation(&mut self, operation: Operation<'_, KeyId, Value>) -> Result<(), Refusal> {
        let Operation { action, key, value, from, locking, asked, gone, note } = operation;
        self.event(Event { locking, ..Event::new(action, key, value) });
        self.asked(asked)?;
        if let Some(by) = gone {
            self.gone(by)?;
        }
        if let Some(writer) = from {
            self.claim(writer);
        }
        if let Some(members) = note.members() {
            self.event_notes.push((self.events.len() as u32 - 1, members));
        }
        Ok(())
    }

    /// What the statement behind the last event asked for. A read that found a row returned [`Value::FOUND`].
    pub fn asked(&mut self, asked: Asked) -> Result<(), Refusal> {
        if asked == Asked::default() {
            return Ok(());
        }
        self.next_statement(asked.statement)?;
        let event = self.events.last_mut().expect("an event stands before what is said of it");
        if asked.found {
            event.value = Value::FOUND;
        }
        self.asked.resize(self.events.len(), Asked::default());
        self.asked[self.events.len() - 1] = asked;
        Ok(())
    }

    /// Statements are numbered as they come.
    fn next_statement(&mut self, statement: u32) -> Result<(), Refusal> {
        if statement == 0 || statement >= self.statement {
            self.statement = self.statement.max(statement);
            return Ok(());
        }
        Err(self.refuse(Problem::StatementsGoBack { statement, after: self.statement }))
    }

    /// Says that the last event, a read, found nothing because this transaction deleted the row and inserted its key anew.
    pub fn gone(&mut self, by: Name<'_>) -> Result<(), Refusal> {
        let event = self.events.last().expect("an event stands before what is said of it");
        if !event.is_read() || !event.value.is_absent() {
            return Err(self.refuse(Problem::malformed(
                format!("`gone` stands at an event of {} that is no read of nothing", self.key_name(event.key)),
                "`gone` says why a read found nothing: it stands at a read whose value is null",
            )));
        }
        let by = self.pending(ClaimedWriter::Transaction(by));
        self.gone.push((self.events.len() as u32 - 1, by, self.place));
        Ok(())
    }

    /// The database refused the current transaction, which is aborted: the error, and at which statement (0: not known).
    pub fn refused(&mut self, error: &str, statement: u32) {
        self.forget_refusal();
        self.refusals.push((self.drafts.len() as u32 - 1, error.into(), statement));
    }

    fn forget_refusal(&mut self) {
        if self.refusals.last().is_some_and(|refusal| refusal.0 as usize + 1 == self.drafts.len()) {
            self.refusals.pop();
        }
    }

    /// Extra JSON members of the current transaction, behind those that it has.
    pub fn note_transaction(&mut self, note: Note<'_>) {
        let Some(members) = note.members() else { return };
        let draft = self.drafts.len() as u32 - 1;
        match self.transaction_notes.last_mut().filter(|last| last.0 == draft) {
            Some((_, known)) => *known = format!("{known},{members}").into(),
            None => self.transaction_notes.push((draft, members)),
        }
    }

    /// How the current transaction ended; committed unless said.
    pub fn outcome(&mut self, outcome: Outcome) {
        self.current().outcome = outcome;
        if matches!(outcome, Outcome::Committed | Outcome::Unknown) {
            self.forget_refusal();
        }
    }

    /// The level that the current transaction declares.
    pub fn level(&mut self, level: IsolationLevel) {
        self.current().level = Some(level);
    }

    /// When the current transaction ran.
    pub fn times(&mut self, times: Times) -> Result<(), Refusal> {
        if let Times { begin: Some(begin), end: Some(end) } = times
            && end < begin
        {
            let id = self.describe(self.drafts.len() - 1);
            return Err(self.refuse(Problem::EndsBeforeItBegins { id, begin, end }));
        }
        if times != Times::default() {
            self.times.resize(self.drafts.len(), Times::default());
            *self.times.last_mut().expect("a transaction was begun") = times;
        }
        Ok(())
    }

    /// A range read by the current transaction.
    pub fn scan(&mut self, scan: ScanSpec<'_>, listed: &[ScannedKey<'_>]) -> Result<(), Refusal> {
        let pending = PendingScan::new(self, scan, listed)?;
        self.scans.push(pending);
        Ok(())
    }

    /// From here on, the absence of these keys is the deletion by these transactions.
    pub fn seal(&mut self, deletions: &[(Name<'_>, Name<'_>)]) {
        let deletions = deletions.iter().map(|&(key, id)| (self.key(key).0, self.claim_id(id))).collect();
        self.seals.push(Seal { deletions, place: self.place });
    }

    /// A refusal at the current place.
    pub fn refuse(&self, problem: Problem) -> Refusal {
        Refusal { place: self.place, problem }
    }

    pub(crate) fn key_name(&self, key: KeyId) -> String {
        self.keys.get(key.index()).to_string()
    }

    pub(crate) fn event_total(&self) -> u32 {
        self.events.len() as u32
    }

    pub(crate) fn seal_total(&self) -> usize {
        self.seals.len()
    }

    fn current(&mut self) -> &mut TransactionDraft {
        self.drafts.last_mut().expect("a transaction was begun")
    }

    fn describe(&self, draft: usize) -> String {
        let draft = &self.drafts[draft];
        match draft.name {
            UNNAMED => format!("of session {}", self.sessions.get(draft.session.index())),
            name => self.ids.get(name as usize).to_string(),
        }
    }

    /// The finished history.
    pub fn finish(self) -> Result<History, Refusal> {
        self.refuse_too_much()?;
        if self.drafts.is_empty() {
            return Err(Refusal { place: Place::Whole, problem: Problem::Empty });
        }
        if self.events.len() as u64 >= u64::from(UNNAMED) {
            return Err(Refusal { place: Place::Whole, problem: Problem::TooMany { what: "events", limit: 1 << 32 } });
        }
        self.refuse_writes_and_appends()?;
        Finish::new(self).run()
    }

    fn refuse_writes_and_appends(&self) -> Result<(), Refusal> {
        if !self.events.iter().any(|event| event.action == Action::Append) {
            return Ok(());
        }
        let mut kinds = vec![None; self.keys.len()];
        for (index, event) in self.events.iter().enumerate().filter(|(_, event)| !event.is_read()) {
            let kind = &mut kinds[event.key.index()];
            if kind.is_some_and(|kind| kind != event.action) {
                let draft = self.drafts.partition_point(|draft| draft.first_event as usize <= index) - 1;
                let key = self.keys.get(event.key.index()).to_string();
                let problem = Problem::WriteAndAppend { key, transaction: self.describe(draft) };
                return Err(Refusal { place: Place::Whole, problem });
            }
            *kind = Some(event.action);
        }
        Ok(())
    }
}
