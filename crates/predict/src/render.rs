//! A prediction as a history of its own, with the names and values of the observed one, and what is different in it.
//!
//! ```text
//!   {"session":"b","id":"t2","ops":[{"r":"x","v":0,"from":null}]}          t2 read x from t1; in this run it reads the initial value
//! ```
//!
//! Every read names its writer. What an event of a transaction that goes on behind a changed read *writes* is what was observed: nobody reads
//! it. A list is written as a register, whose values are texts.

use crate::PredictQuestion;
use crate::candidate::CandidateRun;
use crate::recording::{Act, ReadSource, Recording};
use crate::stops::Boundary;
use skew_check::{AnomalyKind, Budget, CommitOrder, Counterexample, Updates, Verdict, check, explain};
use skew_history::builder::{ClaimedWriter, Note, Operation};
use skew_history::history::TransactionName;
use skew_history::value::Values;
use skew_history::{
    Action, Asked, Event, EventId, History, HistoryBuilder, KeyId, Name, Outcome, SessionId, TransactionId, Value,
    ValueView, Writer,
};
use std::collections::{BTreeMap, BTreeSet};

/// A run that could have been.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// How it was cut.
    pub boundary: Boundary,
    /// The run.
    pub history: History,
    /// What the level says about it: an order.
    pub order: CommitOrder,
    /// What is wrong with it, made small.
    pub counterexample: Counterexample,
    /// The reads that returned something else when it was observed.
    pub changed: Vec<ChangedRead>,
    /// The sessions that end earlier than observed.
    pub cuts: Vec<Cut>,
    /// What it was before it was told.
    pub(crate) candidate: CandidateRun,
}

/// A read with another source than observed. Numbers are those of the observed history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangedRead {
    /// The read; of an append, what it reads.
    pub read: EventId,
    /// Whose read it is.
    pub transaction: TransactionId,
    /// Its place on the line of its transaction, from 0; a range read is one place.
    pub place: usize,
    /// The key.
    pub key: KeyId,
    /// Who wrote what it returns now.
    pub from: Writer,
    /// Who wrote what it returned.
    pub was: Writer,
}

/// Where a session ends. Numbers are those of the observed history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The session.
    pub session: SessionId,
    /// The last event that is there: its transaction, itself, and its place on the line; nothing of a session that is left out.
    pub last: Option<(TransactionId, EventId, usize)>,
}

impl Prediction {
    /// A candidate told; nothing if the checker does not confirm it, which would be a mistake.
    pub(crate) fn new(
        history: &History,
        (whole, reduced): (&Recording, &Recording),
        candidate: &CandidateRun,
        boundary: Boundary,
        question: &PredictQuestion,
        budget: Budget<'_>,
    ) -> Option<Prediction> {
        let (predicted, changed) = told(history, (whole, reduced), candidate, boundary, question);
        let predicted = predicted?;
        let Verdict::Holds(order) = check(&predicted, question.level, budget) else { return None };
        let Verdict::Fails(anomaly) = check(&predicted, question.against, budget) else { return None };
        // Both certificates are looked at by code that shares nothing with the search.
        if !order.justifies(&predicted, question.level) || !anomaly.refutes(&predicted, question.against) {
            return None;
        }
        let counterexample = explain(&predicted, question.against, &anomaly, budget);
        let cuts = cuts(history, reduced, candidate, boundary);
        let candidate = candidate.clone();
        Some(Prediction { boundary, history: predicted, order, counterexample, changed, cuts, candidate })
    }

    /// In how many sessions a read changes.
    pub(crate) fn changed_sessions(&self, history: &History) -> usize {
        let sessions = self.changed.iter().map(|changed| history.session_of(changed.transaction));
        sessions.collect::<BTreeSet<SessionId>>().len()
    }

    /// Whether two predictions say the same: the same anomaly, by the same statements, or on the same tables where these are not known.
    pub fn is_like(&self, other: &Prediction, history: &History) -> bool {
        self.signature(history) == other.signature(history)
    }

    /// What equal predictions have in common, also those of several files.
    pub fn signature(&self, history: &History) -> (AnomalyKind, BTreeSet<String>) {
        let place = |changed: &ChangedRead| match history.event_note(changed.read) {
            Some(note) if note.contains("\"sql\"") => note.to_owned(),
            _ => table(&history.key_name(changed.key).to_string()).to_owned(),
        };
        (self.counterexample.kind, self.changed.iter().map(place).collect())
    }
}

/// The table of a key: what stands before its first slash.
fn table(key: &str) -> &str {
    key.split('/').next().unwrap_or(key)
}

/// The history of a candidate, if it can be one, and what is different in it.
pub(crate) fn told(
    history: &History,
    (whole, reduced): (&Recording, &Recording),
    candidate: &CandidateRun,
    boundary: Boundary,
    question: &PredictQuestion,
) -> (Option<History>, Vec<ChangedRead>) {
    let rendering = Rendering::new(history, (whole, reduced), candidate, question.updates);
    (rendering.history(boundary), changed(history, reduced, candidate))
}

fn writer_of(recording: &Recording, source: ReadSource) -> Writer {
    source.map_or(Writer::Initial, |number| Writer::Transaction(recording.transactions[number].id))
}

fn changed(history: &History, recording: &Recording, candidate: &CandidateRun) -> Vec<ChangedRead> {
    let tell = |number: usize| {
        let read = &recording.reads[number];
        let transaction = recording.transactions[read.transaction].id;
        ChangedRead {
            read: read.event,
            transaction,
            place: place_on_line(history, transaction, read.event),
            key: read.key,
            from: writer_of(recording, candidate.source(recording, number)),
            was: writer_of(recording, read.source),
        }
    };
    candidate.changes(recording).into_iter().map(tell).collect()
}

/// The place of an event on its line: all events of a range read are one.
pub(crate) fn place_on_line(history: &History, transaction: TransactionId, event: EventId) -> usize {
    let first = history.event_range(transaction).start;
    let inside = history.scans().iter().filter(|scan| scan.events.start >= first && scan.events.start <= event.0);
    let folded: u32 = inside.map(|scan| scan.events.end.min(event.0 + 1).saturating_sub(scan.events.start + 1)).sum();
    (event.0 - first - folded) as usize
}

/// The last event of a session that is there; nothing if none is, or if all are.
enum SessionEnd {
    All,
    Nothing,
    /// Up to this event; whether what it writes is there, too.
    Behind(EventId, bool),
}

fn end_of(
    history: &History,
    recording: &Recording,
    candidate: &CandidateRun,
    session: usize,
    boundary: Boundary,
) -> SessionEnd {
    let steps = &recording.sessions[session].steps;
    let length = candidate.lengths[session];
    let changes = candidate.changes(recording);
    let Some(last) = steps[..length].last() else {
        return if steps.is_empty() { SessionEnd::All } else { SessionEnd::Nothing };
    };
    let is_changed = matches!(last.act, Act::Read(read) if changes.contains(&read)) && boundary == Boundary::Strict;
    let next = steps.get(length);
    if next.is_none() && !is_changed {
        return SessionEnd::All;
    }
    if next.is_none_or(|next| next.transaction != last.transaction) && !is_changed {
        let range = history.event_range(recording.transactions[last.transaction].id);
        return SessionEnd::Behind(EventId(range.end.saturating_sub(1)), true);
    }
    SessionEnd::Behind(last.event, matches!(last.act, Act::Write(_)))
}

fn cuts(history: &History, recording: &Recording, candidate: &CandidateRun, boundary: Boundary) -> Vec<Cut> {
    let cut = |session: usize| {
        let id = recording.sessions[session].id;
        let last = match end_of(history, recording, candidate, session, boundary) {
            SessionEnd::All => return None,
            SessionEnd::Nothing => None,
            SessionEnd::Behind(event, _) => {
                let transaction = history.transaction_of(event);
                Some((transaction, event, place_on_line(history, transaction, event)))
            }
        };
        Some(Cut { session: id, last })
    };
    (0..recording.sessions.len()).filter_map(cut).collect()
}

/// A history on its way.
struct Rendering<'a> {
    history: &'a History,
    whole: &'a Recording,
    reduced: &'a Recording,
    candidate: &'a CandidateRun,
    locks: bool,
    /// By event, the read that it is in the whole recording.
    reads: BTreeMap<EventId, usize>,
    changed: BTreeMap<EventId, ReadSource>,
    lists: BTreeSet<KeyId>,
    builder: HistoryBuilder,
}

impl<'a> Rendering<'a> {
    fn new(
        history: &'a History,
        (whole, reduced): (&'a Recording, &'a Recording),
        candidate: &'a CandidateRun,
        updates: Updates,
    ) -> Rendering<'a> {
        let changed = candidate.changes(reduced).into_iter();
        let all = history.transactions().flat_map(|transaction| history.events_of(transaction));
        Rendering {
            history,
            whole,
            reduced,
            candidate,
            locks: updates == Updates::Atomic,
            reads: whole.reads.iter().enumerate().map(|(number, read)| (read.event, number)).collect(),
            changed: changed.map(|read| (reduced.reads[read].event, candidate.source(reduced, read))).collect(),
            lists: all
                .filter(|event| event.action == Action::Append || event.value.is_list())
                .map(|event| event.key)
                .collect(),
            builder: HistoryBuilder::new(),
        }
    }

    fn history(mut self, boundary: Boundary) -> Option<History> {
        self.builder.about("predicted");
        if let Some(engine) = self.history.engine().filter(|_| self.whole.is_on_server) {
            self.builder.engine(engine);
        }
        for (number, session) in self.whole.sessions.iter().enumerate() {
            let end = end_of(self.history, self.reduced, self.candidate, number, boundary);
            let last = match end {
                SessionEnd::Nothing => continue,
                SessionEnd::All => (EventId(u32::MAX), true),
                SessionEnd::Behind(event, writes) => (event, writes),
            };
            let whole = self.whole;
            for transaction in whole.transactions.iter().filter(|transaction| transaction.session == number) {
                if self.history.event_range(transaction.id).start <= last.0.0 {
                    self.transaction(session.id, transaction.id, last)?;
                }
            }
        }
        self.builder.finish().ok()
    }

    fn transaction(&mut self, session: SessionId, id: TransactionId, last: (EventId, bool)) -> Option<()> {
        let session = self.builder.session(self.history.session_name(session));
        let derived = self.history.transaction_name(id).to_string();
        let name = match self.history.transaction_name(id) {
            TransactionName::Given(name) => name,
            TransactionName::Derived { .. } => Name::Text(&derived),
        };
        self.builder.begin(session, Some(name)).ok()?;
        if self.history.outcome(id) == Outcome::AbortedByProgram {
            self.builder.outcome(Outcome::AbortedByProgram);
        }
        for (event, seen) in self.history.numbered_events_of(id).take_while(|(event, _)| *event <= last.0) {
            self.event(event, seen, event < last.0 || last.1);
        }
        Some(())
    }

    fn event(&mut self, event: EventId, seen: &Event, writes: bool) {
        let key = self.key(seen.key);
        let note = self.history.event_note(event).map_or(Note::Nothing, Note::Members);
        let asked = self.history.asked(event);
        if let Some(&read) = self.reads.get(&event) {
            let twin = self.reduced.twins.get(&event).unwrap_or(&event);
            let source = self.changed.get(twin).copied().unwrap_or(self.whole.reads[read].source);
            let value = self.version(seen.key, source);
            let writer =
                source.map(|number| self.history.transaction_name(self.whole.transactions[number].id).to_string());
            let named = source.map(|number| self.history.transaction_name(self.whole.transactions[number].id));
            let from = match (&named, &writer) {
                (None, _) => ClaimedWriter::Initial,
                (Some(TransactionName::Given(name)), _) => ClaimedWriter::Transaction(*name),
                (_, derived) => ClaimedWriter::Transaction(Name::Text(derived.as_deref().unwrap_or_default())),
            };
            let locking = (seen.locking || seen.action == Action::Append) && self.locks;
            // What it read is known here, also where an observer knew no more than that there was something.
            let asked = Asked { found: false, ..asked };
            self.put(Operation { from: Some(from), locking, asked, note, ..Operation::new(Action::Read, key, value) });
        } else if seen.is_read() {
            let own = self.whole_number(event);
            let value =
                if self.lists.contains(&seen.key) { self.version(seen.key, own) } else { self.copied(seen.value) };
            self.put(Operation { asked, note, ..Operation::new(Action::Read, key, value) });
        }
        if !seen.is_read() && writes {
            let own = self.whole_number(event);
            let value =
                if self.lists.contains(&seen.key) { self.version(seen.key, own) } else { self.copied(seen.value) };
            self.put(Operation { asked, note, ..Operation::new(Action::Write, key, value) });
        }
    }

    fn put(&mut self, operation: Operation<'_, KeyId, Value>) {
        self.builder.operation(operation).expect("statements keep the order in which they were observed");
    }

    fn whole_number(&self, event: EventId) -> ReadSource {
        let id = self.history.transaction_of(event);
        self.whole.transactions.iter().position(|transaction| transaction.id == id)
    }

    fn key(&mut self, key: KeyId) -> KeyId {
        let named = self.builder.key(self.history.key_name(key));
        let initial = self.version(key, None);
        self.builder.initial(named, initial);
        named
    }

    fn copied(&mut self, value: Value) -> Value {
        copy(self.history, value, self.builder.values())
    }

    /// The version of a key that somebody left.
    fn version(&mut self, key: KeyId, source: ReadSource) -> Value {
        if self.lists.contains(&key) {
            let text = format!("[{}]", self.elements(key, source).join(" "));
            return self.builder.values().text(&text);
        }
        let value = match source {
            None => self.history.initial(key),
            Some(number) => {
                let mut events = self.history.events_of(self.whole.transactions[number].id).iter();
                let last = events.rfind(|event| event.key == key && !event.is_read());
                last.map_or(Value::ABSENT, |event| event.value)
            }
        };
        self.copied(value)
    }

    /// What a list holds after somebody's append, in the order that explains the observed run.
    fn elements(&self, key: KeyId, source: ReadSource) -> Vec<String> {
        let mut behind = Vec::new();
        let mut at = source;
        while let Some(number) = at {
            behind.push(number);
            let own = |read: &&crate::recording::RecordedRead| {
                let is_append = self.history.event(read.event).action == Action::Append;
                read.transaction == number && read.key == key && is_append
            };
            at = self.whole.reads.iter().find(own).and_then(|read| read.source);
        }
        let initial = self.history.elements(self.history.initial(key)).iter().copied();
        let appended = behind.iter().rev().flat_map(|&number| {
            let events = self.history.events_of(self.whole.transactions[number].id).iter();
            events.filter(move |event| event.key == key && event.action == Action::Append).map(|event| event.value)
        });
        initial.chain(appended).map(|value| self.history.show(value).to_string()).collect()
    }
}

/// A value of one history in the pool of another.
fn copy(history: &History, value: Value, values: &mut Values) -> Value {
    match history.view(value) {
        ValueView::Absent => Value::ABSENT,
        ValueView::Found => Value::FOUND,
        ValueView::Integer(number) => values.integer(number),
        ValueView::Real(number) => values.real(number),
        ValueView::Text(text) => values.text(text),
        ValueView::Boolean(truth) => values.boolean(truth),
        ValueView::List(elements) => {
            let copied: Vec<Value> = elements.iter().map(|&element| copy(history, element, values)).collect();
            values.list(copied)
        }
    }
}
