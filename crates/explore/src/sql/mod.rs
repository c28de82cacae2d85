//! SQL programs: a call of a procedure is a transaction, and what it reads and writes are rows.
//!
//! ```text
//!   SESSION alice: CALL withdraw(1, 60, @a);          a#0   lock? read account/1 · write account/1 · end
//!   SESSION bob:   CALL withdraw(1, 60, @b); …        b#0   ↑ what a step of the procedure asks of its storage
//!                                                           │
//!                  Program ── Run, step by step ── View ── Requests ── the explorer
//! ```
//!
//! A transaction leaves to the next one of its session the session's variables, and to assertions what the call handed out. An error of a
//! statement aborts the transaction, as the language says; its reads stay in the history, those of the failed statement included, because
//! they decided that it failed. What this exploration cannot do is no abort: it ends the exploration, with the place in the file.
//!
//! Assertions are asked in a final state: [`SqlProgram::violated`] puts the rows of one together and asks all of them.

pub(crate) mod view;

use crate::explorable::{Explorable, TransactionEnd};
use crate::outline::Place;
use crate::requests::{Interrupt, Requests};
use skew_check::Updates;
use skew_history::{Engine, IsolationLevel};
use skew_program::{
    CallOutcome, CallResult, Client, Ending as ProcedureEnding, Heard, MOST_STEPS, Program, ProgramError, Results, Run,
    Spoken, Step,
};
use skew_sql::rows::Layout;
use skew_sql::{Granularity, MemoryStorage, Row, RowKey, SequenceId, Session, SpaceId, Stop, Storage, Write};
use skew_value::{Datum, SqlError, SqlState};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use view::{Counters, View};

/// How the statements of a program become events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SqlOptions {
    /// Whether updates and checks of constraints lock and read the latest version.
    pub updates: Updates,
    /// What is one key.
    pub granularity: Granularity,
    /// How many steps a call may take.
    pub most_steps: u64,
}

impl Default for SqlOptions {
    fn default() -> SqlOptions {
        SqlOptions { updates: Updates::default(), granularity: Granularity::default(), most_steps: MOST_STEPS }
    }
}

/// A SQL program that can be explored.
#[derive(Clone, Debug)]
pub struct SqlProgram {
    program: Program,
    options: SqlOptions,
    layout: Layout,
    counters: Counters,
    /// How many transactions come before each session's first.
    first: Vec<usize>,
    left_out: BTreeSet<Place>,
    /// Whether calls remember what they said to the database.
    remembers: bool,
    /// Which answers are wanted, where that is not all of them.
    wanted: Option<WantedAnswers>,
    /// Whether a call that takes too many steps is aborted, which else ends the exploration.
    ends_loops: bool,
}

/// Says of a call and what it has heard so far whether that is wanted.
type IsWanted = dyn Fn(Place, &[Spoken]) -> bool + Send + Sync;

/// Whether what a call has heard so far is wanted.
#[derive(Clone)]
struct WantedAnswers(Arc<IsWanted>);

impl fmt::Debug for WantedAnswers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("WantedAnswers")
    }
}

/// An assertion that is not true in a final state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violated {
    /// Its place in [`Program::assertions`].
    pub assertion: usize,
    /// Why it could not be evaluated, if that is what is wrong.
    pub error: Option<ProgramError>,
}

/// What a call leaves.
#[derive(Clone, Debug)]
pub struct CallLeft {
    session: Session,
    client: Client,
    current_values: BTreeMap<SequenceId, i64>,
    /// What it handed out.
    pub result: CallResult,
    /// Why it was aborted, if it was.
    pub abort: Option<Abort>,
    /// What it said to the database and heard, from BEGIN to its end, in a [program that remembers](SqlProgram::remembering); or why
    /// that cannot be said as text.
    pub spoken: Result<Vec<Spoken>, ProgramError>,
}

/// Why a call was aborted by its program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Abort {
    /// ROLLBACK.
    Rollback,
    /// SIGNAL, with its message.
    Signal(String),
    /// A statement failed.
    Error(ProgramError),
}

impl SqlProgram {
    /// A program, with events as the options say.
    pub fn new(program: Program, options: SqlOptions) -> SqlProgram {
        let (catalog, rows) = program.initial();
        let mut layout = Layout::new(options.granularity);
        layout.describe_catalog(catalog);
        let sequences = rows.sequences().map(|(sequence, value, called)| (sequence, (value, called)));
        let fresh_keys = rows.fresh_keys().collect();
        let counters = Counters { sequences: sequences.collect(), fresh_keys, clock: program.clock() };
        let mut transactions = 0;
        let before = |script: &skew_program::Script| {
            transactions += script.calls.len();
            transactions - script.calls.len()
        };
        let first = program.scripts().iter().map(before).collect();
        SqlProgram {
            layout,
            counters,
            first,
            options,
            program,
            left_out: BTreeSet::new(),
            remembers: false,
            wanted: None,
            ends_loops: false,
        }
    }

    /// The program without some of its calls. The others keep their numbers, and what follows from them, such as the values of sequences.
    pub fn without(self, left_out: BTreeSet<Place>) -> SqlProgram {
        SqlProgram { left_out, ..self }
    }

    /// The program with calls that leave what they said to the database, as text, and what they heard.
    pub fn remembering(self) -> SqlProgram {
        SqlProgram { remembers: true, ..self }
    }

    /// The program of which only runs are wanted whose calls hear what they should: at levels of engines the search turns back as soon as one
    /// has heard something else, so that it is soon known whether there is a run with these answers. Asked is with what a call has said and
    /// heard so far, from its first statement on; who says no to a part says no to the whole.
    pub fn hearing_only(self, is_wanted: impl Fn(Place, &[Spoken]) -> bool + Send + Sync + 'static) -> SqlProgram {
        SqlProgram { wanted: Some(WantedAnswers(Arc::new(is_wanted))), ..self.remembering() }
    }

    /// The program whose calls are aborted when they take too many steps, instead of ending everything.
    pub fn ending_loops(self) -> SqlProgram {
        SqlProgram { ends_loops: true, ..self }
    }

    /// The place of a call among all calls of the program, from which the values of sequences and clocks follow.
    pub fn ordinal(&self, place: Place) -> usize {
        self.first[place.session] + place.number
    }

    /// The calls that an assertion asks for although they are left out: it cannot be evaluated then.
    pub fn missing(&self, assertion: usize) -> BTreeSet<Place> {
        let calls = self.program.assertions().get(assertion).into_iter().flat_map(|assertion| assertion.calls());
        let places = calls.map(|(session, number)| Place { session, number });
        places.filter(|place| self.left_out.contains(place)).collect()
    }

    /// The program itself.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The assertions that are not true in a final state; those that ask for a call that is left out are not asked. `left` is what the
    /// calls left, `rows` what stands under the keys of the exploration.
    pub fn violated<'left>(
        &self,
        left: impl IntoIterator<Item = (Place, &'left CallLeft)>,
        rows: impl IntoIterator<Item = (RowKey, Row)>,
    ) -> Vec<Violated> {
        let (results, mut storage) = (self.results(left), self.stored(rows));
        let mut violated = Vec::new();
        for (number, assertion) in self.program.assertions().iter().enumerate() {
            if !self.missing(number).is_empty() {
                continue;
            }
            match assertion.holds(&mut self.program.session(), &results, &mut storage) {
                Ok(true) => {}
                Ok(false) => violated.push(Violated { assertion: number, error: None }),
                Err(stop) => violated.push(Violated { assertion: number, error: Some(self.error(stop)) }),
            }
        }
        violated
    }

    /// What calls handed out.
    pub fn results<'left>(&self, left: impl IntoIterator<Item = (Place, &'left CallLeft)>) -> Results {
        let mut results = Results::new(self.program.scripts());
        for (place, left) in left {
            results.set(place.session, place.number, left.result.clone());
        }
        results
    }

    /// A final state as a database that assertions can ask.
    pub fn stored(&self, rows: impl IntoIterator<Item = (RowKey, Row)>) -> MemoryStorage {
        let mut storage = MemoryStorage::new();
        for (key, row) in self.layout.join(rows) {
            // A store in memory never refuses a write.
            let _ = storage.put(&key, Write::Row(row));
        }
        storage
    }

    fn error(&self, stop: Stop) -> ProgramError {
        self.program.error(match stop {
            Stop::Error(error) => error,
            Stop::Interrupted(_) => SqlError::unsupported("an assertion that waits"),
        })
    }

    fn failed(&self, error: SqlError) -> Interrupt {
        let ProgramError { place, message, hint, .. } = self.program.error(error);
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        Interrupt::Failed(format!("line {}, column {}: {message}{hint}", place.line, place.column))
    }

    /// Steps until the procedure ends, or cannot go on.
    fn steps(&self, run: &mut Run, session: &mut Session, view: &mut View<'_, '_>) -> Result<Option<Abort>, Interrupt> {
        loop {
            let place = run.place();
            view.begin_statement(run, self.program.dialect());
            let stop = match run.step(session, view) {
                Ok(Step::Continue) => continue,
                Ok(Step::Done(ProcedureEnding::Commit)) => match session.check_deferred(view) {
                    Ok(()) => return Ok(view.commit().map(|error| Abort::Error(self.program.error(error.at(place))))),
                    Err(stop) => stop,
                },
                Ok(Step::Done(ProcedureEnding::Rollback)) => return Ok(Some(Abort::Rollback)),
                Ok(Step::Done(ProcedureEnding::Signal { state, message, .. })) => {
                    return Ok(Some(Abort::Signal(format!("{message} ({state})"))));
                }
                Err(stop) => stop,
            };
            if let Some(interrupt) = view.take_interrupt() {
                return Err(interrupt);
            }
            return match stop {
                Stop::Error(error) if self.ends_loops && error.state == SqlState::LIMIT_EXCEEDED => {
                    Ok(Some(Abort::Error(self.program.error(error))))
                }
                Stop::Error(error) if view.take_refused().is_some() || view::is_beyond(&error) => {
                    Err(self.failed(if error.place.is_some() { error } else { error.at(place) }))
                }
                Stop::Error(error) => Ok(Some(Abort::Error(self.program.error(error)))),
                Stop::Interrupted(_) => Err(Interrupt::Waiting),
            };
        }
    }
}

/// The statements of a transaction with its beginning and its end.
fn framed(spoken: Vec<Spoken>, abort: Option<&Abort>, run: &Run) -> Vec<Spoken> {
    let place = run.place();
    let (text, heard) = match abort {
        None => ("COMMIT", Heard::Done),
        // What was deferred to the commit.
        Some(Abort::Error(error)) if run.is_at_end() => {
            ("COMMIT", Heard::Failed { state: error.state.0.to_owned(), message: error.message.clone() })
        }
        Some(_) => ("ROLLBACK", Heard::Done),
    };
    let frame = |text: &str, heard| Spoken { text: text.to_owned(), place, heard };
    std::iter::once(frame("BEGIN", Heard::Done)).chain(spoken).chain([frame(text, heard)]).collect()
}

impl Explorable for SqlProgram {
    type Left = CallLeft;

    fn session_count(&self) -> usize {
        self.program.scripts().len()
    }

    fn session_name(&self, session: usize) -> String {
        self.program.scripts()[session].name.clone()
    }

    fn transaction_count(&self, session: usize) -> usize {
        self.program.scripts()[session].calls.len()
    }

    fn is_left_out(&self, place: Place) -> bool {
        self.left_out.contains(&place)
    }

    fn level(&self, place: Place) -> Option<IsolationLevel> {
        self.program.scripts()[place.session].calls[place.number].level
    }

    fn initial(&self) -> Vec<(RowKey, Row)> {
        let (catalog, rows) = self.program.initial();
        let complete = |key: &RowKey, row: &Row| {
            let table = catalog.tables.values().find(|table| table.space == key.space);
            table.map_or_else(|| row.clone(), |table| table.complete(row))
        };
        rows.rows().flat_map(|(key, row)| self.layout.split(key, &complete(key, row))).collect()
    }

    fn indexes(&self) -> Option<Vec<SpaceId>> {
        let tables = self.program.initial().0.tables.values();
        Some(tables.flat_map(|table| table.indexes.iter().map(|index| index.space)).collect())
    }

    fn run(
        &self,
        place: Place,
        before: Option<&CallLeft>,
        requests: &mut Requests<'_>,
    ) -> Result<TransactionEnd<CallLeft>, Interrupt> {
        let (mut session, mut client, current_values) = match before {
            Some(left) => (left.session.clone(), left.client.clone(), left.current_values.clone()),
            None => (self.program.session(), Client::new(&self.program, place.session), BTreeMap::new()),
        };
        let mut run = match client.start(&self.program, place.number, self.options.most_steps) {
            Ok(run) => run,
            Err(error) => {
                let result = client.refuse(&self.program, place.number, CallOutcome::Aborted);
                let abort = Some(Abort::Error(self.program.error(error)));
                let left = CallLeft { session, client, current_values, result, abort, spoken: Ok(Vec::new()) };
                return Ok(TransactionEnd { commits: false, left });
            }
        };
        let ordinal = self.ordinal(place) as i64;
        let is_told_otherwise = self.options.updates != Updates::Atomic || self.options.granularity != Granularity::Row;
        if requests.is_on_server() && is_told_otherwise {
            let message = "an engine locks rows, and its updates are atomic: leave --granularity and --updates out";
            return Err(Interrupt::Failed(message.to_owned()));
        }
        if requests.engine() == Some(Engine::Postgres) {
            session.count_found();
        }
        if self.remembers {
            run.remember();
        }
        let atomic = self.options.updates == Updates::Atomic;
        let mut view = View::new(&self.layout, &self.counters, requests, atomic, ordinal, current_values);
        let abort = self.steps(&mut run, &mut session, &mut view);
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| (wanted.0)(place, run.spoken()));
        view.has_said(run.said(), is_wanted);
        let abort = abort?;
        session.forget_deferred();
        let outcome = match (&abort, view.refusal()) {
            (None, _) => CallOutcome::Committed,
            (Some(_), Some(_)) => CallOutcome::Refused,
            (Some(_), None) => CallOutcome::Aborted,
        };
        let current_values = view.into_current_values();
        let hands_out = matches!(abort, None | Some(Abort::Rollback));
        let result = client.finish(&self.program, place.number, &run, outcome, hands_out);
        let spoken = run.take_spoken().map_err(|error| self.program.error(error));
        let spoken = spoken.map(|spoken| if self.remembers { framed(spoken, abort.as_ref(), &run) } else { spoken });
        Ok(TransactionEnd {
            commits: abort.is_none(),
            left: CallLeft { session, client, current_values, result, abort, spoken },
        })
    }

    fn key_name(&self, key: &RowKey) -> String {
        self.layout.name(key)
    }

    fn shown(&self, key: &RowKey, row: &Row) -> Datum {
        self.layout.shown(key, row)
    }
}
