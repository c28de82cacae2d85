//! One run of a program that runs as a whole: what is prescribed, what is new, and what branches off.
//!
//! ```text
//!   initial ── begin(a) ── read, scan, write … ── end ── begin(b) ── … ── end ── finish: a state that the history may have left
//!                                  │
//!              prescribed: it has to ask what it asked before, and gets the same answer
//!              else: the first version that the base allows; a history for every other one
//! ```
//!
//! A path whose run was written down prescribes only whom each read reads from. What is asked for is not known then, and nothing branches.
//!
//! Where nothing is prescribed sessions go in the order of their names. Whether they did is checked here and not where they wait for
//! their turn: somebody who connects too late would else make an order of its own, and runs would be missed.
//!
//! Transactions run one at a time, so a request belongs to the one that has begun. After an error there are no more answers: whoever
//! runs the program lets it come to its end, and hands the path back.

use super::habits::SessionState;
use super::{Learned, Start, Waiting};
use crate::error::ExploreError;
use crate::explorable::Explorable;
use crate::final_state::{FinalState, MOST_FINAL_STATES};
use crate::forced::ForcedOrder;
use crate::keys::KeyNumber;
use crate::log::{Event, Manner, Outcome, Read, Sought};
use crate::ordered::Ordered;
use crate::requests::{Branch, Guide, Interrupt, Interruption, Requests};
use crate::run::RunAnswer;
use crate::set::{INITIAL, MOST_TRANSACTIONS, Number, Set};
use crate::sql::view::own_in;
use skew_check::Budget;
use skew_history::IsolationLevel;
use skew_sql::rows::{Found, Looked, Memory, Reader, Scanned};
use skew_sql::{Fits, KeyRange, Row, RowKey, SpaceId};
use std::collections::{BTreeMap, VecDeque};

/// So much work it may be to find a state that a history may have left.
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
    part: Prescription,
}

/// What is prescribed of a transaction.
#[derive(Debug)]
enum Prescription {
    /// What it can have asked for, without the absences that others brought about later, and how it ended.
    Events(Vec<Event>, Outcome),
    /// Whom its reads read from, up to its end.
    Sources(Vec<Number>),
}

impl Prescribed {
    /// Whom its reads read from, after so many.
    fn sources(&self, after: usize) -> Vec<Number> {
        match &self.part {
            Prescription::Events(events, _) => {
                crate::log::reads_among(events).skip(after).map(|read| read.source).collect()
            }
            Prescription::Sources(sources) => sources.iter().skip(after).copied().collect(),
        }
    }

    /// What is prescribed at a place, if it is known what.
    fn event(&self, place: usize) -> Option<&Event> {
        match &self.part {
            Prescription::Events(events, _) => events.get(place),
            Prescription::Sources(_) => None,
        }
    }

    /// Whether a request at a place, of which this says whether it is another event, is another one.
    fn is_other(&self, place: usize, is_it: impl Fn(&Event) -> bool) -> bool {
        match &self.part {
            Prescription::Events(events, outcome) => {
                events.get(place).map_or(*outcome != Outcome::Pending, |event| !is_it(event))
            }
            Prescription::Sources(_) => false,
        }
    }

    /// Whether it cannot end here, after so many events and reads, in this way.
    fn ends_otherwise(&self, place: usize, reads: usize, commits: bool) -> bool {
        match &self.part {
            Prescription::Events(events, outcome) => {
                place < events.len() || *outcome != Outcome::Pending && (*outcome == Outcome::Committed) != commits
            }
            Prescription::Sources(sources) => reads < sources.len(),
        }
    }

    /// Whether what comes after is for the path to find out.
    fn is_open(&self) -> bool {
        matches!(self.part, Prescription::Events(_, Outcome::Pending))
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
    /// What it need not ask for: what it wrote itself, and what its statement has read.
    own: BTreeMap<RowKey, Option<Row>>,
    memory: Memory,
    /// Whether the whole run was written down.
    is_written: bool,
    final_state: usize,
    /// The histories that branch off.
    branches: Vec<Waiting>,
    share: f64,
    /// By session, what it was told so far.
    states: BTreeMap<String, SessionState>,
    /// The session that ran last where nothing was prescribed.
    last: Option<String>,
    disorder: Option<String>,
    stop: Option<PathError>,
}

/// What is left of a path.
pub(super) struct Travelled {
    pub(super) learned: Learned,
    pub(super) history: Ordered,
    pub(super) branches: Vec<Waiting>,
    pub(super) disorder: Option<String>,
    pub(super) stop: Option<PathError>,
}

impl Path {
    pub(super) fn new(learned: Learned, waiting: Waiting) -> Path {
        Path {
            is_written: matches!(waiting.start, Start::Written(_)),
            prescribed: prescribe(waiting.start, &learned),
            learned,
            history: Ordered::new(MOST_TRANSACTIONS),
            current: None,
            own: BTreeMap::new(),
            memory: Memory::default(),
            final_state: waiting.final_state,
            branches: Vec::new(),
            share: waiting.share,
            states: BTreeMap::new(),
            last: None,
            disorder: None,
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
        let Path { learned, history, branches, disorder, stop, .. } = self;
        Travelled { learned, history, branches, disorder, stop }
    }

    fn at_the_end(&mut self) -> Result<(), PathError> {
        if self.history.pending().is_some() {
            // Whoever is gone has rolled back.
            self.end(false)?;
        }
        match self.prescribed.front() {
            None => Ok(()),
            Some(next) => self.misses(next.number),
        }
    }

    /// A prescribed transaction does not come.
    fn misses<T>(&mut self, number: Number) -> Result<T, PathError> {
        let transaction = self.learned.outline.transaction_name(number);
        let missing = ExploreError::Missing { transaction };
        self.fail(if self.is_written { ExploreError::ForeignSchedule } else { missing })
    }

    /// Why there are no more answers, if so.
    pub fn error(&self) -> Option<&PathError> {
        self.stop.as_ref()
    }

    /// What the rows of a space are for whoever reads histories: the names of their columns, and which of them the key repeats.
    pub fn describe(&mut self, space: SpaceId, columns: Vec<(String, bool)>) {
        self.learned.describe(space, columns);
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
        let outline = &self.learned.outline;
        &outline.session_names[outline.places[number as usize].session]
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
            return self.misses(other.number);
        }
        if self.is_written && self.current.is_none() {
            return self.fail(ExploreError::ForeignSchedule);
        }
        if self.current.is_none() {
            let late = self.last.as_deref().is_some_and(|last| last > session);
            self.disorder = self.disorder.take().or(late.then(|| session.to_owned()));
            self.last = Some(session.to_owned());
        }
        self.history.begin(number, self.learned.outline.session_past(number));
        self.own.clear();
        self.memory = Memory::default();
        self.recall("another transaction", &())
    }

    /// What the session that has begun asks for must be what it asked for whenever it had been told the same.
    fn recall(&mut self, asked: &str, request: &dyn std::fmt::Debug) -> Result<(), PathError> {
        let Some(number) = self.history.pending() else { return Ok(()) };
        let session = self.session_of(number).to_owned();
        let state = self.states.entry(session.clone()).or_insert_with(|| SessionState::new(&session));
        let Err(recorded) = self.learned.habits.ask(state, asked, request) else { return Ok(()) };
        let transaction = self.learned.outline.transaction_name(number);
        self.fail(ExploreError::not_deterministic(transaction, self.place(), recorded, asked))
    }

    /// The session that has begun is told something.
    fn tell(&mut self, answer: &dyn std::fmt::Debug) {
        let session = self.history.pending().map(|number| self.session_of(number));
        if let Some(state) = session.map(str::to_owned).and_then(|session| self.states.get_mut(&session)) {
            state.add(answer);
        }
    }

    /// A statement begins, which does not know what the ones before it read.
    pub fn begin_statement(&mut self) {
        self.memory = Memory::default();
    }

    /// A subquery begins or ends; see [`Memory::enter`].
    pub fn enter(&mut self, scope: usize) -> usize {
        self.memory.enter(scope)
    }

    /// The number of the transaction that has begun: the same in every run, and no other transaction's.
    pub fn ordinal(&self) -> Option<usize> {
        self.history.pending().map(usize::from)
    }

    /// Reads the row under a key, whose name is this: an own write, what the statement has read already, or a new read.
    pub fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, PathError> {
        self.key(key, name)?;
        self.remembering(|memory, path| memory.read(key, locking, path))
    }

    /// The row under a key, whose name is this, that a statement seeks to lock: nothing if it passes it over.
    pub fn seek(&mut self, key: &RowKey, name: &str, fits: &mut Fits<'_>) -> Result<Option<Row>, PathError> {
        self.key(key, name)?;
        self.remembering(|memory, path| memory.seek(key, fits, path))
    }

    /// The rows of a range that a statement seeks to lock.
    pub fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, PathError> {
        self.go_on()?;
        self.remembering(|memory, path| memory.look_over(range, fits, path))
    }

    /// Asks the memory of the statement, which asks the path for what it does not know.
    fn remembering<T>(&mut self, work: impl FnOnce(&mut Memory, &mut Path) -> T) -> T {
        let mut memory = std::mem::take(&mut self.memory);
        let answer = work(&mut memory, self);
        self.memory = memory;
        answer
    }

    /// A read that is to come next.
    fn expect_read(&mut self, key: &RowKey, manner: Manner) -> Result<(), PathError> {
        let number = self.learned.keys.number(key);
        let asked = format!("a read of {}", self.learned.key_name(key));
        self.expect(&asked, |event| match event {
            Event::Read(read) => read.key == number && read.manner.is_like(manner) && !read.scanned,
            Event::Own { key, scanned } => *key == number && !scanned,
            _ => false,
        })?;
        self.recall(&asked, &(key, told(manner)))
    }

    fn expect_scan(&mut self, range: &KeyRange, manner: Manner) -> Result<(), PathError> {
        self.expect("a scan", |event| {
            matches!(event, Event::Scan { range: before, manner: asked, .. } if **before == *range && asked.is_like(manner))
        })?;
        self.recall("a scan", &(range, told(manner)))
    }

    /// Reads the rows of a range, as far as they are not known.
    pub fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, PathError> {
        self.go_on()?;
        self.remembering(|memory, path| memory.range(range, locking, path))
    }

    /// Writes a row under a key, whose name is this; nothing: deletes it.
    pub fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), PathError> {
        let number = self.key(key, name)?;
        self.expect(
            &format!("a write of {name}"),
            |event| matches!(event, Event::Write { key, value: before } if *key == number && *before == value),
        )?;
        self.recall(&format!("a write of {name}"), &(key, &value))?;
        self.ask(|requests| requests.write(key, value.clone()))?;
        self.own.insert(key.clone(), value);
        Ok(())
    }

    /// The transaction that has begun is over.
    pub fn end(&mut self, commits: bool) -> Result<(), PathError> {
        self.go_on()?;
        let Some(number) = self.history.pending() else { return Ok(()) };
        let (place, reads) = (self.place(), self.history.log(number).reads().count());
        if self.current.as_ref().is_some_and(|it| it.ends_otherwise(place, reads, commits)) {
            return self.differs(if commits { "its commit" } else { "its end without a commit" });
        }
        if commits {
            // Who rolls back may do so because the whole program ends, for reasons of others.
            self.recall("its commit", &())?;
        }
        let mut known = ForcedOrder::clone(&self.history.forced);
        let bases = &self.learned.outline.bases;
        let fits = known.add(&self.history, number, self.history.complete, bases);
        debug_assert!(fits, "what is pending was allowed read by read, and its end adds nothing");
        self.history.end(commits, known, &self.learned.keys);
        if self.current.take().is_none_or(|it| it.is_open()) {
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
            RunAnswer::Holds => run.final_states(MOST_FINAL_STATES, budget()),
            // What is not within the level is not asked how it ended.
            RunAnswer::Fails | RunAnswer::Unknown => Some(Vec::new()),
        });
        let Some(mut states) = states else { return self.fail(ExploreError::TooManyFinalStates(MOST_FINAL_STATES)) };
        if states.is_empty() {
            return Ok(self.latest());
        }
        let wanted = self.final_state.min(states.len() - 1);
        if wanted == 0 {
            self.share /= states.len() as f64;
            let start = || Start::History(self.history.clone());
            let other = |final_state| Waiting { start: start(), final_state, share: self.share };
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
            Some(it) if it.is_other(place, is_it) => self.differs(asked),
            _ => Ok(()),
        }
    }

    fn differs<T>(&mut self, asked: &str) -> Result<T, PathError> {
        let place = self.place();
        if self.is_written {
            return self.fail(ExploreError::ForeignSchedule);
        }
        let event = self.current.as_ref().and_then(|it| it.event(place));
        let recorded = event.map_or_else(|| "its end".to_owned(), |event| self.words(event));
        let number = self.current.as_ref().map_or(INITIAL, |it| it.number);
        let transaction = self.learned.outline.transaction_name(number);
        self.fail(ExploreError::not_deterministic(transaction, place, recorded, asked))
    }

    fn words(&self, event: &Event) -> String {
        event.words(|key| self.learned.key_name(self.learned.keys.key(key)))
    }

    /// Asks as often as it takes: for every read that branches the first answer is written down, and the request made again.
    fn ask<T>(&mut self, mut request: impl FnMut(&mut Requests<'_>) -> Result<T, Interrupt>) -> Result<T, PathError> {
        let start = self.place();
        loop {
            let number = self.history.pending();
            let asked = number.map_or(0, |number| self.history.log(number).reads().count());
            let told = self.current.as_ref().map(|it| it.sources(asked)).unwrap_or_default();
            let is_free = told.is_empty() && self.current.as_ref().is_none_or(Prescribed::is_open);
            let guide = if is_free { Guide::Levels } else { Guide::List(told.iter()) };
            let names = |_: &RowKey| String::new();
            let Learned { outline, keys, .. } = &mut self.learned;
            let mut requests = Requests::new(&mut self.history, keys, outline, &names, guide).after(start);
            let answer = request(&mut requests);
            match (answer, requests.reason) {
                (Ok(answer), None) => {
                    return if self.is_blocked(start) { self.fail(PathError::Blocked) } else { Ok(answer) };
                }
                (_, Some(Interruption::Branch(branch))) => self.branch(&branch)?,
                (_, Some(Interruption::EndOfList)) if !told.is_empty() => {}
                (_, Some(Interruption::Error(error))) if error != ExploreError::ForeignSubtree => {
                    return self.fail(error);
                }
                _ => return self.differs("a read"),
            }
        }
    }

    /// Whether a read from here on was prescribed to read what it cannot: that is known only when the versions are there.
    fn is_blocked(&self, start: usize) -> bool {
        let Some(number) = self.history.pending() else { return false };
        let is_open = |read: &Read| matches!(read.manner, Manner::Sought(sought) if !sought.knows(read.source));
        crate::log::reads_among(&self.history.log(number).events[start..]).any(is_open)
    }

    /// Goes on with the first answer to a read; the others are histories that wait.
    fn branch(&mut self, branch: &Branch) -> Result<(), PathError> {
        let Branch { key, manner, scanned, ref choices } = *branch;
        let Some((&first, others)) = choices.split_first() else { return self.fail(PathError::Blocked) };
        self.share /= choices.len() as f64;
        for &source in others.iter().rev() {
            let mut history = self.history.clone();
            history.push_read(key, manner, scanned, source);
            self.branches.push(Waiting { start: Start::History(history), final_state: 0, share: self.share });
        }
        self.history.push_read(key, manner, scanned, first);
        Ok(())
    }

    /// What swaps with the transaction that has just ended lead to.
    fn branch_by_swaps(&mut self) {
        let swaps = self.history.swaps(&self.learned.keys, &self.learned.outline.bases);
        self.share /= (swaps.len() + 1) as f64;
        let share = self.share;
        let swapped = |history| Waiting { start: Start::History(history), final_state: 0, share };
        self.branches.extend(swaps.into_iter().map(swapped));
    }
}

/// What the path answers that no memory knows.
impl Reader for Path {
    type Stop = PathError;

    fn own(&self, key: &RowKey) -> Option<Option<Row>> {
        self.own.get(key).cloned()
    }

    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        own_in(&self.own, range)
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, PathError> {
        self.expect_read(key, if locking { Manner::Locking } else { Manner::Plain })?;
        let row = self.ask(|requests| requests.read(key, locking))?;
        self.tell(&row);
        Ok(row)
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Scanned, PathError> {
        self.expect_scan(range, if locking { Manner::Locking } else { Manner::Plain })?;
        let scanned = self.ask(|requests| requests.scan(range, locking))?;
        self.tell(&scanned.rows);
        Ok(scanned)
    }

    fn look(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, PathError> {
        self.expect_read(key, Manner::Sought(Sought::ABSENT))?;
        let found = self.ask(|requests| requests.seek(key, fits))?;
        self.tell(&found);
        Ok(found)
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, PathError> {
        self.expect_scan(range, Manner::Sought(Sought::ABSENT))?;
        let looked = self.ask(|requests| requests.look_over(range, fits))?;
        self.tell(&looked.found);
        Ok(looked)
    }

    fn claim(&mut self, key: &RowKey, _: &mut Fits<'_>) -> Result<Option<Option<Row>>, PathError> {
        Reader::read(self, key, true).map(Some)
    }
}

/// How a read is asked for, whatever it then finds.
fn told(manner: Manner) -> u8 {
    match manner {
        Manner::Plain => 0,
        Manner::Locking => 1,
        Manner::Sought(_) => 2,
    }
}

/// What a run has to do to come to where it starts.
fn prescribe(start: Start, learned: &Learned) -> VecDeque<Prescribed> {
    let history = match start {
        Start::History(history) => history,
        Start::Written(transactions) => {
            let part = |(number, sources)| Prescribed { number, part: Prescription::Sources(sources) };
            return transactions.into_iter().map(part).collect();
        }
    };
    let mut earlier = Set::EMPTY;
    let mut prescribed = VecDeque::with_capacity(history.order.len());
    for &number in &history.order {
        let log = history.log(number);
        let is_told =
            |event: &&Event| !matches!(event, Event::Read(read) if !history.is_told(read, &learned.keys, earlier));
        let events = log.events.iter().filter(is_told).cloned().collect();
        prescribed.push_back(Prescribed { number, part: Prescription::Events(events, log.outcome) });
        earlier.insert(number);
    }
    prescribed
}
