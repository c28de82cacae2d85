//! What was observed, as far as a prediction can change it: who read from whom, and where a session can be cut.
//!
//! ```text
//!   a: t1  r(x,init) r(conf,1) w(x,2) | t2  r(y,init)          the history
//!   a: 0   read x from t0 · pause · write x | 1  read y from t0          the recording, without `conf`, which nobody writes
//! ```
//!
//! A key that only the initial state wrote has one version in every run: its reads change nothing, and nine of ten reads of a recorded
//! application are of that kind. They are left out. What is left of each gap that had one is a *pause*, because a session can be cut
//! there, between the writes before it and those after it.
//!
//! A list that is appended to is a register here: an append reads what was there and writes it back longer. Transactions that the
//! database refused, and those of unknown outcome that nobody read from, are no part of the run.

use crate::PredictQuestion;
use skew_check::{Anomaly, Budget, CommitOrder, ExternalRead, Instant, OtherRun, Updates, Verdict, check};
use skew_history::{
    Action, EventId, History, IsolationLevel, KeyId, Outcome, SessionId, StatementKind, TransactionId, Value, Writer,
};
use std::collections::{BTreeMap, BTreeSet};

/// The initial state (`None`), or a transaction by its number in the recording.
pub(crate) type ReadSource = Option<usize>;

/// An observed run.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) sessions: Vec<RecordedSession>,
    pub(crate) transactions: Vec<RecordedTransaction>,
    pub(crate) reads: Vec<RecordedRead>,
    /// By key: the transactions that leave a version, in ascending order.
    pub(crate) writers: BTreeMap<KeyId, Vec<usize>>,
    /// By transaction and key, where it first writes it, among the steps of its session.
    places: BTreeMap<(usize, KeyId), usize>,
    /// Reads that were left out because they say what another one says.
    pub(crate) twins: BTreeMap<EventId, EventId>,
    /// Whether it is asked about at a level of an engine, where statements and locks count.
    pub(crate) is_on_server: bool,
    /// The sources of keys that leave no row there; only on a server.
    absent: BTreeSet<(ReadSource, KeyId)>,
}

/// A session: the steps of all its transactions.
#[derive(Clone, Debug)]
pub(crate) struct RecordedSession {
    pub(crate) id: SessionId,
    pub(crate) steps: Vec<RecordedStep>,
}

/// Something that a transaction did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedStep {
    pub(crate) transaction: usize,
    pub(crate) event: EventId,
    pub(crate) act: Act,
    /// The statement of the transaction that it belongs to; without one, a number of its own.
    pub(crate) statement: u32,
}

/// What it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    /// The read of this number.
    Read(usize),
    /// The first write of this key.
    Write(KeyId),
    /// A read that no run changes.
    Pause,
}

#[derive(Clone, Debug)]
pub(crate) struct RecordedTransaction {
    pub(crate) id: TransactionId,
    pub(crate) session: usize,
    /// Its own program may have rolled it back: then it reads, and nobody sees what it wrote.
    pub(crate) is_committed: bool,
    /// It was over before the others began, and all of them see it.
    pub(crate) is_set_up: bool,
    /// Where it begins and ends among the steps of its session.
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// A read of what somebody else wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedRead {
    pub(crate) event: EventId,
    pub(crate) transaction: usize,
    pub(crate) key: KeyId,
    pub(crate) source: ReadSource,
    pub(crate) locking: bool,
    /// What else it may return.
    pub(crate) freedom: Freedom,
    /// Whether its statement changes nothing, whatever it reads.
    pub(crate) only_looks: bool,
    /// Its place among the steps of its session.
    pub(crate) place: usize,
}

/// What a read may return in another run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Freedom {
    /// Any version.
    Any,
    /// A row where there was one, nothing where there was none: else its statement would have done something else.
    Present,
    /// What it returned: the row was passed over or waited for, and of another version nobody knows whether it would have been.
    Fixed,
}

/// Why nothing is predicted from a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoRecording {
    /// It breaks the level that a prediction should keep, or already breaks the one that it should break; an answer by itself.
    Observed(Anomaly),
    /// The budget ended first.
    Unknown,
}

impl Recording {
    /// The recording of a history: all of it.
    pub(crate) fn new(
        history: &History,
        question: &PredictQuestion,
        budget: Budget<'_>,
    ) -> Result<Recording, NoRecording> {
        let (order, broken) = explanation(history, question, budget)?;
        let Some(sources) = sources(history, order.as_ref()) else {
            // Of a read that nothing explains nobody can say what else it might have returned.
            return Err(broken.map_or(NoRecording::Unknown, NoRecording::Observed));
        };
        let counted = counted(history, order.as_ref(), &sources);
        Ok(Collector::new(history, question, &counted, &sources, order.as_ref()).collect())
    }

    /// The same without the reads that no run of a level changes: those of keys that nobody writes, and, where a transaction sees one version of
    /// a key however often it looks, all but the first.
    pub(crate) fn reduced(&self, level: IsolationLevel) -> Recording {
        if self.is_on_server {
            // Whoever locks a row that nobody changes may still be waited for.
            return self.clone();
        }
        let repeats = level.implies(IsolationLevel::ReadAtomic);
        let mut first: BTreeMap<(usize, KeyId), usize> = BTreeMap::new();
        let mut reduced = Recording {
            sessions: Vec::new(),
            transactions: self.transactions.clone(),
            reads: Vec::new(),
            writers: self.writers.clone(),
            places: BTreeMap::new(),
            twins: BTreeMap::new(),
            is_on_server: false,
            absent: BTreeSet::new(),
        };
        for session in &self.sessions {
            let mut steps: Vec<RecordedStep> = Vec::new();
            for step in &session.steps {
                let act = match step.act {
                    Act::Read(number) if !self.writers.contains_key(&self.reads[number].key) => Act::Pause,
                    Act::Read(number) if repeats && self.repeats(number, &mut first, &mut reduced.twins) => Act::Pause,
                    act => act,
                };
                let is_again = |last: &RecordedStep| last.act == Act::Pause && last.transaction == step.transaction;
                if act == Act::Pause && steps.last().is_some_and(is_again) {
                    continue;
                }
                let act = match act {
                    Act::Read(number) => {
                        reduced.reads.push(RecordedRead { place: steps.len(), ..self.reads[number] });
                        Act::Read(reduced.reads.len() - 1)
                    }
                    act => act,
                };
                steps.push(RecordedStep { act, ..*step });
            }
            reduced.place_transactions(&steps);
            reduced.sessions.push(RecordedSession { id: session.id, steps });
        }
        reduced.find_writes();
        reduced
    }

    /// Whether a plain read is of a key that its transaction has read plainly before, and from the same.
    fn repeats(
        &self,
        number: usize,
        first: &mut BTreeMap<(usize, KeyId), usize>,
        twins: &mut BTreeMap<EventId, EventId>,
    ) -> bool {
        let read = &self.reads[number];
        if read.locking {
            return false;
        }
        let before = *first.entry((read.transaction, read.key)).or_insert(number);
        let repeats = before != number && self.reads[before].source == read.source;
        if repeats {
            twins.insert(read.event, self.reads[before].event);
        }
        repeats
    }

    fn place_transactions(&mut self, steps: &[RecordedStep]) {
        let mut seen = BTreeSet::new();
        for (place, step) in steps.iter().enumerate() {
            let transaction = &mut self.transactions[step.transaction];
            if seen.insert(step.transaction) {
                transaction.first = place;
            }
            transaction.end = place + 1;
        }
    }

    /// Everybody whose version a read may return: not its own transaction, none that comes later in its session, none that the set-up has
    /// overwritten.
    pub(crate) fn candidates(&self, read: &RecordedRead) -> Vec<ReadSource> {
        match self.transactions[read.transaction].is_set_up || read.freedom == Freedom::Fixed {
            true => vec![read.source],
            false => self.possible_sources(read),
        }
    }

    /// Whether a read keeps its source although other versions are there, because nobody knows what its statement would have done.
    pub(crate) fn is_held(&self, read: &RecordedRead) -> bool {
        read.freedom == Freedom::Fixed && self.possible_sources(read).len() > 1
    }

    fn possible_sources(&self, read: &RecordedRead) -> Vec<ReadSource> {
        let own = &self.transactions[read.transaction];
        let all = self.writers.get(&read.key).map_or(&[][..], Vec::as_slice);
        let floor = all.iter().rposition(|&writer| self.transactions[writer].is_set_up);
        let may = |&&writer: &&usize| {
            let other = &self.transactions[writer];
            writer != read.transaction && (other.session != own.session || writer < read.transaction)
        };
        let seen =
            |&&writer: &&usize| floor.is_none_or(|floor| writer == all[floor] || !self.transactions[writer].is_set_up);
        let others = all.iter().filter(may).filter(seen).map(|&writer| Some(writer));
        let is_absent = |source: ReadSource| self.absent.contains(&(source, read.key));
        let keeps = |&source: &ReadSource| read.freedom == Freedom::Any || is_absent(source) == is_absent(read.source);
        floor.is_none().then_some(None).into_iter().chain(others).filter(keeps).collect()
    }

    /// Where a transaction first writes a key, among the steps of its session.
    pub(crate) fn place_of_write(&self, transaction: usize, key: KeyId) -> Option<usize> {
        self.places.get(&(transaction, key)).copied()
    }

    fn find_writes(&mut self) {
        for session in &self.sessions {
            for (place, step) in session.steps.iter().enumerate() {
                if let Act::Write(key) = step.act {
                    self.places.insert((step.transaction, key), place);
                }
            }
        }
    }
}

/// An order that explains what was observed; nothing where that is bad and asked about all the same, and what is wrong with it.
fn explanation(
    history: &History,
    question: &PredictQuestion,
    budget: Budget<'_>,
) -> Result<(Option<CommitOrder>, Option<Anomaly>), NoRecording> {
    let (mut explained, mut broken) = (None, None);
    for level in [question.level, question.against] {
        match check(history, level, budget) {
            Verdict::Holds(order) => explained = Some(order),
            Verdict::Fails(anomaly) if !question.even_if_bad => return Err(NoRecording::Observed(anomaly)),
            Verdict::Fails(anomaly) => _ = broken.get_or_insert(anomaly),
            Verdict::Unknown(_) => return Err(NoRecording::Unknown),
        }
    }
    Ok((explained, broken))
}

/// Who wrote what each external read returned; nothing if there is a read that nothing explains.
fn sources(history: &History, order: Option<&CommitOrder>) -> Option<BTreeMap<EventId, Writer>> {
    let run = order.map_or_else(|| OtherRun::new(history), |order| OtherRun::explained(history, order));
    let chosen: BTreeMap<EventId, Writer> = order.into_iter().flat_map(|order| order.choices.iter().copied()).collect();
    let resolve = |read: ExternalRead| {
        let first = read.writers.first().copied();
        Some((read.read, chosen.get(&read.read).copied().or(first)?))
    };
    Some(run.reads().ok()??.into_iter().filter_map(resolve).collect())
}

/// Who takes part, by transaction. Of those of unknown outcome that is whom the order has, or without one whom somebody has read from.
fn counted(history: &History, order: Option<&CommitOrder>, sources: &BTreeMap<EventId, Writer>) -> Vec<bool> {
    let mut commits = vec![false; history.transaction_count()];
    for instant in order.into_iter().flat_map(|order| &order.instants) {
        if let Instant::Commit(transaction) = *instant {
            commits[transaction.index()] = true;
        }
    }
    for writer in sources.values() {
        if let Writer::Transaction(transaction) = *writer {
            commits[transaction.index()] = true;
        }
    }
    let counts = |transaction: TransactionId| match history.outcome(transaction) {
        Outcome::Committed | Outcome::AbortedByProgram => true,
        Outcome::AbortedByDatabase => false,
        Outcome::Unknown => commits[transaction.index()],
    };
    history.transactions().map(counts).collect()
}

/// Puts a recording together.
struct Collector<'a> {
    history: &'a History,
    counted: &'a [bool],
    sources: &'a BTreeMap<EventId, Writer>,
    locks: bool,
    set_up: &'a [TransactionId],
    /// By list: its appenders, in the order that explains the run.
    appenders: BTreeMap<KeyId, Vec<TransactionId>>,
    number: Vec<usize>,
    recording: Recording,
}

impl<'a> Collector<'a> {
    fn new(
        history: &'a History,
        question: &'a PredictQuestion,
        counted: &'a [bool],
        sources: &'a BTreeMap<EventId, Writer>,
        order: Option<&CommitOrder>,
    ) -> Collector<'a> {
        let mut number = vec![usize::MAX; history.transaction_count()];
        let taking_part = history.transactions().filter(|transaction| counted[transaction.index()]);
        taking_part.enumerate().for_each(|(place, transaction)| number[transaction.index()] = place);
        Collector {
            history,
            counted,
            sources,
            locks: question.updates == Updates::Atomic,
            set_up: &question.set_up,
            appenders: appenders(history, counted, order),
            number,
            recording: Recording {
                sessions: Vec::new(),
                transactions: Vec::new(),
                reads: Vec::new(),
                writers: BTreeMap::new(),
                places: BTreeMap::new(),
                twins: BTreeMap::new(),
                is_on_server: question.level.of_engine().is_some(),
                absent: BTreeSet::new(),
            },
        }
    }

    fn collect(mut self) -> Recording {
        for id in self.history.sessions() {
            let mut steps = Vec::new();
            for transaction in self.history.transactions_of(id).filter(|transaction| self.counted[transaction.index()])
            {
                self.transaction(transaction, &mut steps);
            }
            self.recording.sessions.push(RecordedSession { id, steps });
        }
        self.recording.find_writes();
        if self.recording.is_on_server {
            self.find_absences();
        }
        self.recording
    }

    fn transaction(&mut self, id: TransactionId, steps: &mut Vec<RecordedStep>) {
        let (number, first) = (self.recording.transactions.len(), steps.len());
        let is_committed = self.history.outcome(id) != Outcome::AbortedByProgram;
        let mut written = BTreeSet::new();
        for (event, seen) in self.history.numbered_events_of(id) {
            if seen.action == Action::Read {
                // What it reads of a list behind its own append is what the append went on with.
                if let Some(&writer) = self.sources.get(&event).filter(|_| !written.contains(&seen.key)) {
                    self.read((number, event, seen.key), writer, seen.locking && self.locks, steps);
                }
                continue;
            }
            if !written.insert(seen.key) {
                continue;
            }
            if seen.action == Action::Append
                && let Some(writer) = self.before(seen.key, id).or_else(|| self.read_behind(seen.key, (id, event)))
            {
                self.read((number, event, seen.key), writer, self.locks, steps);
            }
            if !is_committed {
                continue;
            }
            self.recording.writers.entry(seen.key).or_default().push(number);
            steps.push(self.step(number, event, Act::Write(seen.key)));
        }
        let session = self.recording.sessions.len();
        let is_set_up = self.set_up.contains(&id);
        let transaction = RecordedTransaction { id, session, is_committed, is_set_up, first, end: steps.len() };
        self.recording.transactions.push(transaction);
    }

    fn read(
        &mut self,
        (transaction, event, key): (usize, EventId, KeyId),
        writer: Writer,
        locking: bool,
        steps: &mut Vec<RecordedStep>,
    ) {
        let source = match writer {
            Writer::Initial => None,
            Writer::Transaction(writer) => Some(self.number[writer.index()]),
        };
        let place = steps.len();
        steps.push(self.step(transaction, event, Act::Read(self.recording.reads.len())));
        let (freedom, only_looks) = self.freedom(event);
        let read = RecordedRead { event, transaction, key, source, locking, freedom, only_looks, place };
        self.recording.reads.push(read);
    }

    fn step(&self, transaction: usize, event: EventId, act: Act) -> RecordedStep {
        let statement = match self.history.asked(event).statement {
            0 => u32::MAX - event.0,
            statement => statement,
        };
        RecordedStep { transaction, event, act, statement }
    }

    /// What a read may return in another run, and whether its statement only looks.
    fn freedom(&self, event: EventId) -> (Freedom, bool) {
        use StatementKind::{ForKeyShare, ForNoKeyUpdate, ForShare, ForUpdate, Select};
        let asked = self.history.asked(event);
        let only_looks = matches!(asked.kind, Select | ForUpdate | ForNoKeyUpdate | ForShare | ForKeyShare);
        let freedom = match asked.kind {
            _ if !self.recording.is_on_server => Freedom::Any,
            _ if asked.passed || asked.waited || asked.found => Freedom::Fixed,
            Select => Freedom::Any,
            _ => Freedom::Present,
        };
        (freedom, only_looks)
    }

    /// Notes which versions are no rows.
    fn find_absences(&mut self) {
        let mut absent: BTreeSet<(ReadSource, KeyId)> = self
            .history
            .keys()
            .filter(|&key| self.history.initial(key) == Value::ABSENT)
            .map(|key| (None, key))
            .collect();
        for (number, transaction) in self.recording.transactions.iter().enumerate() {
            for event in self.history.events_of(transaction.id).iter().filter(|event| !event.is_read()) {
                match event.value == Value::ABSENT {
                    true => absent.insert((Some(number), event.key)),
                    false => absent.remove(&(Some(number), event.key)),
                };
            }
        }
        self.recording.absent = absent;
    }

    /// Whose version of a list an append goes on with.
    fn before(&self, key: KeyId, appender: TransactionId) -> Option<Writer> {
        let all = self.appenders.get(&key)?;
        let place = all.iter().position(|&one| one == appender)?;
        Some(place.checked_sub(1).map_or(Writer::Initial, |before| Writer::Transaction(all[before])))
    }

    /// The same where no order tells: whose version of the list its transaction has read behind it.
    fn read_behind(&self, key: KeyId, (appender, append): (TransactionId, EventId)) -> Option<Writer> {
        let later = self.history.numbered_events_of(appender).filter(|(event, _)| *event > append);
        let mut reads = later.filter(|(_, seen)| seen.key == key && seen.is_read());
        reads.find_map(|(event, _)| self.sources.get(&event).copied())
    }
}

/// By list, who appended, in the order of commits.
fn appenders(history: &History, counted: &[bool], order: Option<&CommitOrder>) -> BTreeMap<KeyId, Vec<TransactionId>> {
    let mut appenders: BTreeMap<KeyId, Vec<TransactionId>> = BTreeMap::new();
    for instant in order.into_iter().flat_map(|order| &order.instants) {
        let Instant::Commit(transaction) = *instant else { continue };
        let commits = counted[transaction.index()] && history.outcome(transaction) != Outcome::AbortedByProgram;
        for event in history.events_of(transaction).iter().filter(|event| event.action == Action::Append && commits) {
            let all = appenders.entry(event.key).or_default();
            if all.last() != Some(&transaction) {
                all.push(transaction);
            }
        }
    }
    appenders
}
