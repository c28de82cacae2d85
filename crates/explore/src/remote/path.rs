//! One run of a program that runs as a whole: what is prescribed, what is new, and what branches off.
//!
//! ```text
//!   initial ── begin(a) ── read, scan, write … ── end ── begin(b) ── … ── end ── finish: a state that the history may have left
//!                                  │
//!              prescribed: it has to ask what it asked before, and gets the same answer
//!              else: the first version that the base allows; a history for every other one
//! ```
//!
//! Transactions run one at a time, so a request belongs to the one that has begun. After an error there are no more answers: whoever
//! runs the program lets it come to its end, and hands the path back.

use super::{Learned, Waiting};
use crate::consistency::Known;
use crate::error::ExploreError;
use crate::explorable::{Explorable, Interrupt};
use crate::final_state::FinalState;
use crate::keys::KeyNumber;
use crate::log::{Event, Outcome};
use crate::ordered::Ordered;
use crate::requests::{Branch, Guide, Reason, Requests};
use crate::run::Answer;
use crate::set::{INITIAL, MOST_TRANSACTIONS, Number, Set};
use crate::sql::reads::Reads;
use skew_check::Budget;
use skew_history::IsolationLevel;
use skew_sql::{KeyRange, Row, RowKey};
use std::collections::VecDeque;

/// So many states a history may have left, and so much work it may be to find them.
const MOST_FINAL_STATES: usize = 1_000;
const WORK_PER_STATE: u64 = 1_000_000;

/// Why a path has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathError {
    /// The exploration cannot go on.
    #[error(transparent)]
    Explore(#[from] ExploreError),
    /// No version is allowed. At read-committed, read-atomic and causal without locking reads that does not happen.
    #[error("no version of what is read is allowed here")]
    Blocked,
    /// The program does not let the prescribed transaction run now.
    #[error("the program does not let this order happen")]
    Skipped,
}

/// A transaction as it was in the run that a path branched off from.
#[derive(Debug)]
struct Prescribed {
    number: Number,
    /// What it can have asked for, without the absences that others brought about later.
    events: Vec<Event>,
    outcome: Outcome,
}

impl Prescribed {
    /// Whom its reads read from, after so many.
    fn sources(&self, after: usize) -> Vec<Number> {
        crate::log::reads_among(&self.events).skip(after).map(|read| read.source).collect()
    }
}

/// A run on its way.
#[derive(Debug)]
pub struct Path {
    learned: Learned,
    history: Ordered,
    prescribed: VecDeque<Prescribed>,
    /// What is prescribed of the transaction that has begun.
    current: Option<Prescribed>,
    /// What it need not ask for.
    reads: Reads,
    final_state: usize,
    /// The histories that branch off.
    branches: Vec<Waiting>,
    share: f64,
    stop: Option<PathError>,
}

/// What is left of a path.
pub(super) struct Travelled {
    pub(super) learned: Learned,
    pub(super) history: Ordered,
    pub(super) branches: Vec<Waiting>,
    pub(super) stop: Option<PathError>,
}

impl Path {
    pub(super) fn new(learned: Learned, waiting: Waiting) -> Path {
        Path {
            prescribed: prescribe(&waiting.history, &learned),
            learned,
            history: Ordered::new(MOST_TRANSACTIONS),
            current: None,
            reads: Reads::default(),
            final_state: waiting.final_state,
            branches: Vec::new(),
            share: waiting.share,
            stop: None,
        }
    }

    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// The end of the run: everything that was prescribed must have come.
    pub(super) fn travelled(mut self) -> Travelled {
        if self.stop.is_none() {
            let _ = self.at_the_end();
        }
        let Path { learned, history, branches, stop, .. } = self;
        Travelled { learned, history, branches, stop }
    }

    fn at_the_end(&mut self) -> Result<(), PathError> {
        if self.history.pending().is_some() {
            // Whoever is gone has rolled back.
            self.end(false)?;
        }
        match self.prescribed.front() {
            None => Ok(()),
            Some(next) => {
                let transaction = self.learned.shape.transaction_name(next.number);
                self.fail(ExploreError::Missing { transaction })
            }
        }
    }

    /// Why there are no more answers, if so.
    pub fn error(&self) -> Option<&PathError> {
        self.stop.as_ref()
    }

    /// The rows that are there before everything, with the names of their keys. Every run has to begin with the same.
    pub fn initial(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), PathError> {
        self.go_on()?;
        let told = self.learned.begin_with(rows);
        told.or_else(|error| self.fail(error))
    }

    /// The session whose transaction has to be the next; nothing where any may be, which is then the first by name that has one.
    pub fn next_session(&self) -> Option<&str> {
        self.prescribed.front().map(|next| self.session_of(next.number))
    }

    fn session_of(&self, number: Number) -> &str {
        let shape = &self.learned.shape;
        &shape.session_names[shape.places[number as usize].session]
    }

    /// Gives this history up: the program does not let it happen.
    pub fn skip(&mut self) {
        self.stop.get_or_insert(PathError::Skipped);
    }

    /// A transaction of a session begins.
    pub fn begin(&mut self, session: &str, level: Option<IsolationLevel>) -> Result<(), PathError> {
        self.go_on()?;
        let mine = |number: &&Number| self.session_of(**number) == session;
        let before = self.history.order.iter().filter(mine).count();
        let number = match self.learned.transaction(session, before, level) {
            Ok(number) => number,
            Err(error) => return self.fail(error),
        };
        self.current = self.prescribed.pop_front();
        if let Some(other) = self.current.as_ref().filter(|prescribed| prescribed.number != number) {
            let transaction = self.learned.shape.transaction_name(other.number);
            return self.fail(ExploreError::Missing { transaction });
        }
        self.history.begin(number, self.learned.shape.session_past(number));
        self.reads = Reads::default();
        Ok(())
    }

    /// A statement begins, which does not know what the ones before it read.
    pub fn begin_statement(&mut self) {
        self.reads.begin_statement();
    }

    /// The number of the transaction that has begun: the same in every run, and no other transaction's.
    pub fn ordinal(&self) -> Option<usize> {
        self.history.pending().map(usize::from)
    }

    /// How many keys the transaction that has begun wrote.
    pub fn written(&self) -> usize {
        self.reads.written()
    }

    /// Reads the row under a key, whose name is this: an own write, what the statement has read already, or a new read.
    pub fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, PathError> {
        self.go_on()?;
        let mut reads = std::mem::take(&mut self.reads);
        let row = reads.read(key, locking, || self.read_anew(key, name, locking));
        self.reads = reads;
        row
    }

    fn read_anew(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, PathError> {
        let number = self.key(key, name)?;
        self.expect(&format!("a read of {name}"), |event| match event {
            Event::Read(read) => read.key == number && read.locking == locking && !read.scanned,
            Event::Own { key, scanned } => *key == number && !scanned,
            _ => false,
        })?;
        self.ask(|requests| requests.read(key, locking))
    }

    /// Reads the rows of a range, as far as they are not known.
    pub fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, PathError> {
        self.go_on()?;
        let mut reads = std::mem::take(&mut self.reads);
        let rows = reads.range(range, locking, |part| self.scan_anew(part, locking));
        self.reads = reads;
        rows
    }

    fn scan_anew(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, PathError> {
        self.expect("a scan", |event| {
            matches!(event, Event::Scan { range: before, locking: locked, .. } if **before == *range && *locked == locking)
        })?;
        self.ask(|requests| requests.scan(range, locking))
    }

    /// Writes a row under a key, whose name is this; nothing: deletes it.
    pub fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), PathError> {
        let number = self.key(key, name)?;
        self.expect(
            &format!("a write of {name}"),
            |event| matches!(event, Event::Write { key, value: before } if *key == number && *before == value),
        )?;
        self.ask(|requests| requests.write(key, value.clone()))?;
        self.reads.write(key.clone(), value);
        Ok(())
    }

    /// The transaction that has begun is over.
    pub fn end(&mut self, commits: bool) -> Result<(), PathError> {
        self.go_on()?;
        let Some(number) = self.history.pending() else { return Ok(()) };
        let place = self.place();
        let other = |it: &Prescribed| {
            place < it.events.len() || it.outcome != Outcome::Pending && (it.outcome == Outcome::Committed) != commits
        };
        if self.current.as_ref().is_some_and(other) {
            return self.differs(if commits { "its commit" } else { "its end without a commit" });
        }
        let mut known = Known::clone(&self.history.known);
        let bases = &self.learned.shape.bases;
        let fits = known.add(&self.history, number, self.history.complete, bases);
        debug_assert!(fits, "what is pending was allowed read by read, and its end adds nothing");
        self.history.end(commits, known, &self.learned.keys);
        if self.current.take().is_none_or(|it| it.outcome == Outcome::Pending) {
            self.branch_by_swaps();
        }
        Ok(())
    }

    /// All transactions of the history are over: a state that they may have left. Others get a run of their own.
    pub fn finish(&mut self) -> Result<FinalState, PathError> {
        self.go_on()?;
        self.at_the_end()?;
        if self.learned.is_empty() {
            return Ok(Explorable::initial(&self.learned).into_iter().collect());
        }
        let budget = || Budget::steps(WORK_PER_STATE);
        let states = self.learned.look(&self.history, |run| match run.answer(budget()) {
            Answer::Holds => run.final_states(MOST_FINAL_STATES, budget()),
            // What is not within the level is not asked how it ended.
            Answer::Fails | Answer::Unknown => Some(Vec::new()),
        });
        let Some(mut states) = states else { return self.fail(ExploreError::TooManyFinalStates(MOST_FINAL_STATES)) };
        if states.is_empty() {
            return Ok(self.latest());
        }
        let wanted = self.final_state.min(states.len() - 1);
        if wanted == 0 {
            self.share /= states.len() as f64;
            let other = |final_state| Waiting { history: self.history.clone(), final_state, share: self.share };
            self.branches.extend((1..states.len()).map(other));
        }
        Ok(states.swap_remove(wanted))
    }

    /// The state that the transactions leave in the order in which they ran.
    fn latest(&self) -> FinalState {
        let keys = &self.learned.keys;
        let mut rows: FinalState = Explorable::initial(&self.learned).into_iter().collect();
        for &number in &self.history.order {
            let log = self.history.log(number);
            for (key, value) in log.writes.iter().filter(|(key, _)| log.shows(*key)) {
                match value {
                    Some(row) => drop(rows.insert(keys.key(*key).clone(), row.clone())),
                    None => drop(rows.remove(keys.key(*key))),
                }
            }
        }
        rows
    }

    /// Once stopped, a path has no more answers.
    fn go_on(&self) -> Result<(), PathError> {
        self.stop.clone().map_or(Ok(()), Err)
    }

    fn fail<T>(&mut self, error: impl Into<PathError>) -> Result<T, PathError> {
        Err(self.stop.get_or_insert(error.into()).clone())
    }

    /// The number of a key, if there are answers at all.
    fn key(&mut self, key: &RowKey, name: &str) -> Result<KeyNumber, PathError> {
        self.go_on()?;
        Ok(self.learned.key(key, || name.to_owned()))
    }

    /// How many events the transaction that has begun has.
    fn place(&self) -> usize {
        self.history.pending().map_or(0, |number| self.history.log(number).events.len())
    }

    /// What is prescribed must be what is asked for.
    fn expect(&mut self, asked: &str, is_it: impl Fn(&Event) -> bool) -> Result<(), PathError> {
        if self.history.pending().is_none() {
            let message = "it was asked for outside of a transaction".to_owned();
            return self.fail(ExploreError::Failed { transaction: asked.to_owned(), message });
        }
        let place = self.place();
        match &self.current {
            Some(it) if it.events.get(place).map_or(it.outcome != Outcome::Pending, |event| !is_it(event)) => {
                self.differs(asked)
            }
            _ => Ok(()),
        }
    }

    fn differs<T>(&mut self, asked: &str) -> Result<T, PathError> {
        let place = self.place();
        let event = self.current.as_ref().and_then(|it| it.events.get(place));
        let recorded = event.map_or_else(|| "its end".to_owned(), |event| self.words(event));
        let asked = if recorded == asked { format!("{asked} with something else in it") } else { asked.to_owned() };
        let number = self.current.as_ref().map_or(INITIAL, |it| it.number);
        let transaction = self.learned.shape.transaction_name(number);
        self.fail(ExploreError::NotDeterministic { transaction, event: place + 1, recorded, asked })
    }

    fn words(&self, event: &Event) -> String {
        let name = |key: KeyNumber| self.learned.key_name(self.learned.keys.key(key));
        match event {
            Event::Read(read) => format!("a read of {}", name(read.key)),
            Event::Own { key, .. } => format!("a read of {}", name(*key)),
            Event::Write { key, .. } => format!("a write of {}", name(*key)),
            Event::Scan { .. } => "a scan".to_owned(),
        }
    }

    /// Asks as often as it takes: for every read that branches the first answer is written down, and the request made again.
    fn ask<T>(&mut self, request: impl Fn(&mut Requests<'_>) -> Result<T, Interrupt>) -> Result<T, PathError> {
        let start = self.place();
        loop {
            let number = self.history.pending();
            let asked = number.map_or(0, |number| self.history.log(number).reads().count());
            let told = self.current.as_ref().map(|it| it.sources(asked)).unwrap_or_default();
            let is_free = told.is_empty() && self.current.as_ref().is_none_or(|it| it.outcome == Outcome::Pending);
            let guide = if is_free { Guide::Levels } else { Guide::List(told.iter()) };
            let names = |_: &RowKey| String::new();
            let Learned { shape, keys, .. } = &mut self.learned;
            let mut requests = Requests::new(&mut self.history, keys, shape, &names, guide).after(start);
            let answer = request(&mut requests);
            match (answer, requests.reason) {
                (Ok(answer), None) => return Ok(answer),
                (_, Some(Reason::Branch(branch))) => self.branch(&branch)?,
                (_, Some(Reason::EndOfList)) if !told.is_empty() => {}
                (_, Some(Reason::Error(error))) if error != ExploreError::ForeignSubtree => return self.fail(error),
                _ => return self.differs("a read"),
            }
        }
    }

    /// Goes on with the first answer to a read; the others are histories that wait.
    fn branch(&mut self, branch: &Branch) -> Result<(), PathError> {
        let Branch { key, locking, scanned, ref choices } = *branch;
        let Some((&first, others)) = choices.split_first() else { return self.fail(PathError::Blocked) };
        self.share /= choices.len() as f64;
        for &source in others.iter().rev() {
            let mut history = self.history.clone();
            history.push_read(key, locking, scanned, source);
            self.branches.push(Waiting { history, final_state: 0, share: self.share });
        }
        self.history.push_read(key, locking, scanned, first);
        Ok(())
    }

    /// What swaps with the transaction that has just ended lead to.
    fn branch_by_swaps(&mut self) {
        let swaps = self.history.swaps(&self.learned.keys, &self.learned.shape.bases);
        self.share /= (swaps.len() + 1) as f64;
        let share = self.share;
        self.branches.extend(swaps.into_iter().map(|history| Waiting { history, final_state: 0, share }));
    }
}

/// What a run has to do to come to a history.
fn prescribe(history: &Ordered, learned: &Learned) -> VecDeque<Prescribed> {
    let mut earlier = Set::EMPTY;
    let mut prescribed = VecDeque::with_capacity(history.order.len());
    for &number in &history.order {
        let log = history.log(number);
        let told = |key| learned.keys.initial(key).is_some() || !(history.writers(key) & earlier).is_empty();
        let is_told = |event: &&Event| !matches!(event, Event::Read(read) if read.scanned && !told(read.key));
        let events = log.events.iter().filter(is_told).cloned().collect();
        prescribed.push_back(Prescribed { number, events, outcome: log.outcome });
        earlier.insert(number);
    }
    prescribed
}
