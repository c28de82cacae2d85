//! Programs in Rust: sessions of closures over keys and values, for an ordinary `#[test]`.
//!
//! ```
//! use skew_explore::{IsolationLevel, Program, explore};
//!
//! let mut program = Program::new();
//! program.initially("x", 0);
//! for name in ["ann", "bob"] {
//!     program.session(name).transaction(|t| {
//!         let x: i64 = t.read("x")?;
//!         t.write("x", x + 1)
//!     });
//! }
//! program.assert("nothing is lost", |end| end.get("x") == Some(2));
//!
//! assert!(explore(&program).level(IsolationLevel::Serializable).check().is_ok());
//! let failure = explore(&program).level(IsolationLevel::Causal).check().unwrap_err();
//! assert!(failure.to_string().contains("`nothing is lost` fails in 1 of 3 runs at causal"));
//! ```
//!
//! A key is a path: the parts of `item/3` between slashes, numbers among them as numbers, so that `scan("item")` reads `item/9` before
//! `item/10`. A closure may be run many times, each time from its start, and must depend on nothing but what it reads (and what earlier
//! transactions of its session returned): the explorer notices when it does not.

use crate::explorable::{Explorable, TransactionEnd};
use crate::final_state::FinalState;
use crate::outline::Place;
use crate::requests::{Interrupt, Requests};
use crate::value::{FromValue, ToValue};
use skew_history::{IsolationLevel, Name};
use skew_sql::{KeyPart, KeyRange, Row, RowKey, SpaceId};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All keys of Rust programs.
const SPACE: SpaceId = SpaceId(0);

type Body = Box<dyn Fn(&mut Transaction<'_, '_>) -> Result<Value, TransactionStop> + Send + Sync>;
type Value = Arc<dyn Any + Send + Sync>;
type Condition = Box<dyn Fn(&End<'_>) -> bool + Send + Sync>;

/// Why a transaction does not come to its end. Hand it out with `?`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionStop(StopReason);

#[derive(Clone, PartialEq, Eq, Debug)]
enum StopReason {
    Aborted,
    Interrupted(Interrupt),
}

impl TransactionStop {
    /// The program cannot go on at all; the exploration ends with this message.
    pub fn failed(message: impl Into<String>) -> TransactionStop {
        TransactionStop(StopReason::Interrupted(Interrupt::Failed(message.into())))
    }
}

impl From<Interrupt> for TransactionStop {
    fn from(interrupt: Interrupt) -> TransactionStop {
        TransactionStop(StopReason::Interrupted(interrupt))
    }
}

/// A program: what is there before everything, sessions, assertions.
#[derive(Default)]
pub struct Program {
    initial: BTreeMap<RowKey, Row>,
    sessions: Vec<SessionBody>,
    assertions: Vec<(String, Condition)>,
}

struct SessionBody {
    name: String,
    transactions: Vec<(Body, Option<IsolationLevel>)>,
}

/// A session of a program that is being written.
pub struct Session<'a> {
    body: &'a mut SessionBody,
}

impl Program {
    /// A program without sessions.
    pub fn new() -> Program {
        Program::default()
    }

    /// The value of a key before everything; a key without one is absent.
    pub fn initially(&mut self, key: &str, value: impl ToValue) -> &mut Program {
        if let Some(value) = value.to_value() {
            self.initial.insert(key_of(key), Row::from([value]));
        }
        self
    }

    /// The session with this name, a new one if it is new: its transactions follow one another.
    pub fn session(&mut self, name: &str) -> Session<'_> {
        let known = self.sessions.iter().position(|session| session.name == name);
        let place = known.unwrap_or_else(|| {
            self.sessions.push(SessionBody { name: name.to_owned(), transactions: Vec::new() });
            self.sessions.len() - 1
        });
        Session { body: &mut self.sessions[place] }
    }

    /// Something that has to be true in the end of every run.
    pub fn assert(&mut self, name: &str, holds: impl Fn(&End<'_>) -> bool + Send + Sync + 'static) -> &mut Program {
        self.assertions.push((name.to_owned(), Box::new(holds)));
        self
    }

    /// The names of the assertions.
    pub(crate) fn assertions(&self) -> &[(String, Condition)] {
        &self.assertions
    }

    /// The place of a transaction.
    fn place(&self, session: &str, number: usize) -> Option<Place> {
        let session = self.sessions.iter().position(|body| body.name == session)?;
        Some(Place { session, number })
    }
}

impl Session<'_> {
    /// One more transaction. It commits when the closure returns `Ok`; what it returns is there for later transactions of the session and
    /// for assertions.
    pub fn transaction<R: Any + Send + Sync>(
        &mut self,
        body: impl Fn(&mut Transaction<'_, '_>) -> Result<R, TransactionStop> + Send + Sync + 'static,
    ) -> &mut Self {
        let body: Body = Box::new(move |transaction| body(transaction).map(|value| Arc::new(value) as Value));
        self.body.transactions.push((body, None));
        self
    }

    /// The level of the last transaction, where it is not that of the exploration.
    pub fn at(&mut self, level: IsolationLevel) -> &mut Self {
        if let Some(last) = self.body.transactions.last_mut() {
            last.1 = Some(level);
        }
        self
    }
}

/// What a closure works with.
pub struct Transaction<'r, 'a> {
    requests: &'r mut Requests<'a>,
    returned: &'r [Option<Value>],
}

impl Transaction<'_, '_> {
    /// Reads a key. One that may be absent is read as an `Option`.
    pub fn read<T: FromValue>(&mut self, key: &str) -> Result<T, TransactionStop> {
        let row = self.requests.read(&key_of(key), false)?;
        loaded(key, row.as_ref())
    }

    /// Reads the latest version of a key, whatever the level, as SELECT … FOR UPDATE does.
    pub fn read_for_update<T: FromValue>(&mut self, key: &str) -> Result<T, TransactionStop> {
        let row = self.requests.read(&key_of(key), true)?;
        loaded(key, row.as_ref())
    }

    /// Writes a key; `None` deletes it.
    pub fn write(&mut self, key: &str, value: impl ToValue) -> Result<(), TransactionStop> {
        let row = value.to_value().map(|value| Row::from([value]));
        Ok(self.requests.write(&key_of(key), row)?)
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &str) -> Result<(), TransactionStop> {
        Ok(self.requests.write(&key_of(key), None)?)
    }

    /// Reads all keys below a path: `scan("item")` reads `item/3` and `item/10`, and the absence of all others.
    pub fn scan<T: FromValue>(&mut self, path: &str) -> Result<Vec<(String, T)>, TransactionStop> {
        let range = KeyRange::of_prefix(SPACE, key_of(path).parts.to_vec());
        let rows = self.requests.scan(&range, false)?;
        rows.rows.iter().map(|(key, row)| Ok((name_of(key), loaded(&name_of(key), Some(row))?))).collect()
    }

    /// Aborts: hand the result out. The reads of the transaction count, its writes are nobody's.
    pub fn abort<T>(&mut self) -> Result<T, TransactionStop> {
        Err(TransactionStop(StopReason::Aborted))
    }

    /// What an earlier transaction of this session returned; nothing if it aborted, or returned something of another type.
    pub fn returned<R: Any>(&self, number: usize) -> Option<&R> {
        self.returned.get(number)?.as_ref()?.downcast_ref()
    }
}

fn loaded<T: FromValue>(key: &str, row: Option<&Row>) -> Result<T, TransactionStop> {
    let value = row.and_then(|row| row.first());
    T::from_value(value).ok_or_else(|| match value {
        None => TransactionStop::failed(format!("{key} is absent; read it as an Option")),
        Some(value) => {
            TransactionStop::failed(format!("{key} holds {}, which is of another type", skew_sql::rows::text(value)))
        }
    })
}

fn key_of(key: &str) -> RowKey {
    let part = |text: &str| match Name::from(text) {
        Name::Integer(number) => KeyPart::Number(number.into()),
        Name::Text(text) => KeyPart::Text(text.into()),
    };
    RowKey { space: SPACE, parts: key.split('/').map(part).collect() }
}

fn name_of(key: &RowKey) -> String {
    let parts: Vec<String> = key.parts.iter().map(KeyPart::to_string).collect();
    parts.join("/")
}

/// What a run left.
pub struct End<'a> {
    pub(crate) program: &'a Program,
    pub(crate) state: &'a FinalState,
    /// By session.
    pub(crate) returned: &'a [Vec<Option<Value>>],
}

impl End<'_> {
    /// The last version of a key; nothing if it is absent or of another type.
    pub fn get<T: FromValue>(&self, key: &str) -> Option<T> {
        T::from_value(self.state.get(&key_of(key)).and_then(|row| row.first()))
    }

    /// All keys below a path with their last versions.
    pub fn scan<T: FromValue>(&self, path: &str) -> Vec<(String, T)> {
        let range = KeyRange::of_prefix(SPACE, key_of(path).parts.to_vec());
        let rows = self.state.iter().filter(|(key, _)| range.contains(key));
        rows.filter_map(|(key, row)| Some((name_of(key), T::from_value(row.first())?))).collect()
    }

    /// What a transaction returned; nothing if it aborted, or returned something of another type.
    pub fn returned<R: Any>(&self, session: &str, number: usize) -> Option<&R> {
        let place = self.program.place(session, number)?;
        self.returned.get(place.session)?.get(number)?.as_ref()?.downcast_ref()
    }
}

impl Explorable for Program {
    /// What the transactions of the session returned so far; nothing for those that aborted.
    type Left = Vec<Option<Value>>;

    fn session_count(&self) -> usize {
        self.sessions.len()
    }

    fn session_name(&self, session: usize) -> String {
        self.sessions[session].name.clone()
    }

    fn transaction_count(&self, session: usize) -> usize {
        self.sessions[session].transactions.len()
    }

    fn level(&self, place: Place) -> Option<IsolationLevel> {
        self.sessions[place.session].transactions[place.number].1
    }

    fn initial(&self) -> Vec<(RowKey, Row)> {
        self.initial.iter().map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    fn run(
        &self,
        place: Place,
        before: Option<&Self::Left>,
        requests: &mut Requests<'_>,
    ) -> Result<TransactionEnd<Self::Left>, Interrupt> {
        let before = before.map_or(&[][..], Vec::as_slice);
        let (body, _) = &self.sessions[place.session].transactions[place.number];
        let returned = match body(&mut Transaction { requests, returned: before }) {
            Ok(value) => Some(value),
            Err(TransactionStop(StopReason::Aborted | StopReason::Interrupted(Interrupt::Refused(_)))) => None,
            Err(TransactionStop(StopReason::Interrupted(interrupt))) => return Err(interrupt),
        };
        let commits = returned.is_some();
        Ok(TransactionEnd { commits, left: before.iter().cloned().chain([returned]).collect() })
    }

    fn key_name(&self, key: &RowKey) -> String {
        name_of(key)
    }
}
