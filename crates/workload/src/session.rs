//! A client: one connection, one transaction after the other, and again when the database refuses.
//!
//! ```text
//!   transact ── begin ── code ──┬── commit ── answered             committed
//!                  ▲            │         └── no answer            unknown: may be there or not; never run again
//!                  │            ├── the program rolls back         aborted by the program
//!                  └── refused ─┴── the database refuses           aborted by the database
//! ```
//!
//! Every try is a transaction of its own in the history, with versions of its own: what somebody else read from a try that was
//! undone must be found out. Where sessions take turns, all tries are one turn.

use crate::connection::{Connection, Settings, connect};
use crate::failure::NOT_READY;
use crate::histogram::Histogram;
use crate::record::{AttemptEnding, Events, Recorder};
use crate::table::Names;
use crate::transaction::{Lookups, Notes, VersionNumbers};
use crate::turns::{Participant, TurnKeeper};
use crate::workload::Observation;
use crate::{Failure, Transaction, Url, Value};
use skew_history::{EngineLevel, IsolationLevel, Refused};
use skew_value::Dialect;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long one waits before a server that is away is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// How a transaction of a program ended after all its tries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<T> {
    /// It committed, with this result.
    Committed(T),
    /// Its program rolled back.
    RolledBack,
    /// The database refused, as often as it was tried, for this reason.
    Refused(&'static str),
    /// Nobody knows: the answer to the commit was lost.
    Unknown,
}

impl<T> Outcome<T> {
    /// The result, if it committed.
    pub fn committed(self) -> Option<T> {
        match self {
            Outcome::Committed(result) => Some(result),
            _ => None,
        }
    }
}

/// What all sessions of a run have in common.
pub(crate) struct SharedRun<'a> {
    pub(crate) names: &'a Names,
    pub(crate) recorder: &'a Recorder,
    pub(crate) level: IsolationLevel,
    pub(crate) retries: u32,
    pub(crate) timeout: Duration,
    pub(crate) reconnect: Duration,
    /// Set by whoever wants the run to end.
    pub(crate) stop: Option<&'a AtomicBool>,
    /// Set when a session cannot go on, or the history cannot be written: then the others end too.
    pub(crate) failed: AtomicBool,
    /// How many operations are done, for progress.
    pub(crate) done: AtomicU64,
    /// How many tries the database did not let through, for progress.
    pub(crate) aborted: AtomicU64,
    /// How long committed transactions took, where somebody looks at it.
    pub(crate) latency: Option<Mutex<Histogram>>,
    /// Whose turn it is, where there is one transaction at a time.
    pub(crate) turns: Option<TurnKeeper>,
    pub(crate) lookups: Lookups,
}

impl SharedRun<'_> {
    /// Whether sessions should end.
    pub(crate) fn is_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// What a session counted.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) committed: u64,
    pub(crate) rolled_back: u64,
    pub(crate) unknown: u64,
    pub(crate) given_up: u64,
    pub(crate) retried: u64,
    pub(crate) aborted: BTreeMap<&'static str, u64>,
    pub(crate) latency: BTreeMap<&'static str, Histogram>,
    pub(crate) notes: Notes,
    pub(crate) observations: Vec<Observation>,
}

/// A client of the database.
pub struct Session<'a> {
    shared: &'a SharedRun<'a>,
    number: usize,
    name: String,
    url: &'a Url,
    connection: Option<Box<dyn Connection>>,
    versions: VersionNumbers,
    pub(crate) tally: Tally,
    /// The last to go: whoever comes next finds the connection closed.
    participant: Option<Participant<'a>>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(shared: &'a SharedRun<'a>, number: usize, url: &'a Url) -> Session<'a> {
        let (name, versions) = (format!("s{}", number + 1), VersionNumbers::of_session(number));
        let participant = shared.turns.as_ref().map(|turns| turns.participant(number));
        Session { shared, number, name, url, connection: None, versions, tally: Tally::default(), participant }
    }

    /// Its place among the sessions, counted from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Keeps something for the assertions.
    pub fn observe(&mut self, name: &'static str, values: Vec<Value>) {
        self.tally.observations.push(Observation { session: self.number, name, values });
    }

    /// Runs code as one transaction, again when the database refuses. An error is something that no further try can mend.
    pub fn transact<T>(
        &mut self,
        name: &'static str,
        mut code: impl FnMut(&mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<Outcome<T>, Failure> {
        if let Some(participant) = &self.participant {
            participant.await_turn();
        }
        let (mut attempt, since) = (0u32, Instant::now());
        loop {
            let failure = match self.attempt(name, &mut code) {
                Ok(outcome) => return Ok(outcome),
                Err(failure @ (Failure::Refused(_) | Failure::Lost(_))) => failure,
                Err(failure @ (Failure::Constraint(_) | Failure::Duplicate)) => {
                    return Ok(Outcome::Refused(failure.kind()));
                }
                Err(failure) => return Err(failure),
            };
            let may_wait = failure.is_not_ready() && since.elapsed() < self.shared.reconnect;
            if self.shared.is_over() || (attempt >= self.shared.retries && !may_wait) {
                self.tally.given_up += 1;
                return Ok(Outcome::Refused(failure.kind()));
            }
            self.tally.retried += 1;
            if may_wait {
                // It is not this transaction that is in the way.
                thread::sleep(PAUSE);
                continue;
            }
            // Those who met should not meet again at once: sessions wait differently long, and longer with every try.
            let pause = (1 << attempt.min(6)) * (self.number as u64 % 7 + 1);
            thread::sleep(Duration::from_micros(50 * pause));
            attempt += 1;
        }
    }

    /// One try. What is refused comes back as a failure and is recorded already.
    fn attempt<T>(
        &mut self,
        name: &'static str,
        code: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<Outcome<T>, Failure> {
        self.ensure_connected()?;
        let shared = self.shared;
        let Some(connection) = &mut self.connection else { return Err(Failure::Lost("not connected".to_owned())) };
        let begin = shared.recorder.now();
        let mut began = connection.begin(shared.level);
        let (versions, notes) = (&mut self.versions, &mut self.tally.notes);
        let events = shared.recorder.events(&self.name, name);
        let mut transaction = Transaction::new(&mut **connection, shared.names, versions, notes, events);
        transaction.lookups = shared.lookups;
        let result = began.as_mut().map_err(|failure| failure.clone()).and_then(|()| code(&mut transaction));
        let (events, hidden) = transaction.end();
        // A failure that the program passed over is still one.
        let result = hidden.map_or(result, Err);
        let refused = |failure: &Failure, statement: u32| ending_of(failure, self.url.dialect, statement);
        let (ending, outcome) = match result {
            // Behind the last statement comes the commit.
            Ok(value) => commit(&mut **connection, value, |failure| refused(failure, events.statements() + 1)),
            Err(failure) => (refused(&failure, events.statements()), Err(failure)),
        };
        if let Err(failure) = &outcome {
            self.undo(failure);
        }
        if began.is_ok() {
            self.record(name, events, ending, begin);
        }
        self.conclude(name, ending, outcome)
    }

    fn ensure_connected(&mut self) -> Result<(), Failure> {
        if self.connection.is_some() {
            return Ok(());
        }
        let settings = Settings { name: self.name.clone(), timeout: self.shared.timeout };
        let since = Instant::now();
        let mut result = connect(self.url, &settings);
        while result.as_ref().is_err_and(|failure| matches!(failure, Failure::Lost(_)) || failure.is_not_ready()) {
            if since.elapsed() >= self.shared.reconnect || self.shared.is_over() {
                break;
            }
            thread::sleep(PAUSE);
            result = connect(self.url, &settings);
        }
        // A server that cannot be reached is nothing that another try of this transaction mends.
        let unreachable = |failure| Failure::Other(format!("{}: {failure}", self.url));
        self.connection = Some(result.map_err(unreachable)?);
        Ok(())
    }

    /// After a failure the connection is clean, or gone.
    fn undo(&mut self, failure: &Failure) {
        let lost = matches!(failure, Failure::Lost(_));
        let clean = !lost && self.connection.as_mut().is_some_and(|connection| connection.rollback().is_ok());
        if !clean {
            self.connection = None;
        }
    }

    fn record(&mut self, name: &'static str, events: Events, ending: AttemptEnding, begin: u64) {
        let (shared, end) = (self.shared, self.shared.recorder.now());
        let is_serializable = [IsolationLevel::Serializable, IsolationLevel::Engine(EngineLevel::PostgresSerializable)]
            .contains(&shared.level);
        let unclaimed = ending == AttemptEnding::ByProgram
            && is_serializable
            && self.url.dialect == Dialect::Postgres
            && shared.turns.is_none();
        self.tally.notes.unclaimed += u64::from(unclaimed);
        // PostgreSQL: what a serializable transaction read beside others is to be trusted only when it has committed.
        let dropped = Refused { error: Failure::RolledBack.kind(), statement: 0 };
        let ending = if unclaimed { AttemptEnding::ByDatabase(dropped) } else { ending };
        let times = shared.recorder.times(begin, end);
        shared.recorder.transaction(events, ending, shared.level, times);
        if ending == AttemptEnding::Committed {
            self.tally.latency.entry(name).or_default().add(end - begin);
            if let Some(all) = &shared.latency {
                all.lock().unwrap_or_else(PoisonError::into_inner).add(end - begin);
            }
        }
    }

    /// A commit that nobody answered may still be on its way, and come after what this client does next. So that is no longer the same
    /// session: who reads the old state now is not to blame for it.
    fn go_on_as_another(&mut self) {
        self.connection = None;
        self.name = format!("s{}.{}", self.number + 1, self.tally.unknown + 1);
    }

    /// Counts, and turns the end of a try into what the program hears.
    fn conclude<T>(
        &mut self,
        name: &'static str,
        ending: AttemptEnding,
        outcome: Result<T, Failure>,
    ) -> Result<Outcome<T>, Failure> {
        match (ending, outcome) {
            (AttemptEnding::Committed, Ok(value)) => {
                self.tally.committed += 1;
                Ok(Outcome::Committed(value))
            }
            (AttemptEnding::Unknown, _) => {
                self.tally.unknown += 1;
                self.go_on_as_another();
                Ok(Outcome::Unknown)
            }
            (_, Err(Failure::RolledBack)) => {
                self.tally.rolled_back += 1;
                Ok(Outcome::RolledBack)
            }
            (_, Err(failure)) => {
                *self.tally.aborted.entry(failure.kind()).or_default() += 1;
                self.shared.aborted.fetch_add(1, Ordering::Relaxed);
                Err(in_words(failure, name))
            }
            (_, Ok(_)) => Ok(Outcome::RolledBack),
        }
    }
}

/// Refusals that may come when the commit is already on its way.
const UNSURE: [&str; 3] = ["interrupted", NOT_READY, "statement timeout"];

/// What the end of a commit means: most refusals are sure, silence is not.
fn commit<T>(
    connection: &mut dyn Connection,
    value: T,
    refused: impl Fn(&Failure) -> AttemptEnding,
) -> (AttemptEnding, Result<T, Failure>) {
    match connection.commit() {
        Ok(()) => (AttemptEnding::Committed, Ok(value)),
        Err(failure @ (Failure::Refused(_) | Failure::Constraint(_) | Failure::Duplicate))
            if !UNSURE.contains(&failure.kind()) =>
        {
            (refused(&failure), Err(failure))
        }
        Err(failure) => (AttemptEnding::Unknown, Err(failure)),
    }
}

/// What it means that a statement failed.
fn ending_of(failure: &Failure, dialect: Dialect, statement: u32) -> AttemptEnding {
    match failure {
        Failure::RolledBack => AttemptEnding::ByProgram,
        failure => AttemptEnding::ByDatabase(Refused { error: failure.code(dialect), statement }),
    }
}

fn in_words(failure: Failure, name: &str) -> Failure {
    match failure {
        Failure::Other(message) => Failure::Other(format!("{name}: {message}")),
        failure => failure,
    }
}
