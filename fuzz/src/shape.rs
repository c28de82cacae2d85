//! What a verdict depends on: which transactions count, in which sessions, and which versions their reads may have returned.
//!
//! Names and values are gone: two histories of one shape satisfy the same levels. Slow and obvious; small histories only.

use skew_history::{Action, Event, EventId, History, Name, Outcome, SessionId, TransactionId, Writer};
use std::collections::BTreeMap;

/// How two formats are compared.
#[derive(Clone, Copy)]
pub struct ShapeOf {
    /// Sessions are in the order of their names where these are integers, not in that of the file.
    pub by_name: bool,
    /// Whether an aborted version is told apart from one that nobody wrote.
    pub aborted_is_thin_air: bool,
}

/// Who may have written a version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Candidate {
    /// The transaction itself, last before the read: nothing to explain.
    Own,
    Initial,
    ThinAir,
    Aborted,
    /// Session, position, and how many writes of the key its transaction has up to this one; nothing for the last.
    Write(usize, usize, Option<usize>),
}

/// Sessions of transactions of events: what it does, to which key, with which candidates or list.
pub type Shape = Vec<Vec<Vec<(Action, usize, Vec<Candidate>, String)>>>;

/// The shape of a history.
pub fn shape(history: &History, of: ShapeOf) -> Shape {
    let mut sessions: Vec<SessionId> = history.sessions().collect();
    let number = |session: SessionId| match history.session_name(session) {
        Name::Integer(number) => Some(number),
        Name::Text(_) => None,
    };
    if of.by_name && sessions.iter().all(|&session| number(session).is_some()) {
        sessions.sort_by_key(|&session| number(session));
    }
    let counted = counted(history);
    let is_told = |t: &TransactionId| counted[t.index()] && !history.events_of(*t).is_empty();
    let told: Vec<Vec<TransactionId>> = sessions
        .iter()
        .map(|&session| history.transactions_of(session).filter(is_told).collect::<Vec<_>>())
        .filter(|session| !session.is_empty())
        .collect();
    let mut place = BTreeMap::new();
    for (session, transactions) in told.iter().enumerate() {
        place.extend(transactions.iter().enumerate().map(|(position, &t)| (t.0, (session, position))));
    }
    let mut keys = BTreeMap::new();
    let mut event = |number: EventId, event: &Event| {
        let next = keys.len();
        let key = *keys.entry(event.key.0).or_insert(next);
        let list = if event.value.is_list() { history.show(event.value).to_string() } else { String::new() };
        let mut candidates: Vec<Candidate> = match event.is_read() && !event.value.is_list() {
            true => writers(history, number).into_iter().map(|writer| candidate(history, of, &place, writer)).collect(),
            false => Vec::new(),
        };
        candidates.sort();
        candidates.dedup();
        (event.action, key, candidates, list)
    };
    told.iter()
        .map(|session| {
            let transactions = session.iter();
            transactions.map(|&t| history.numbered_events_of(t).map(|(number, e)| event(number, e)).collect()).collect()
        })
        .collect()
}

/// Where a version may come from, before it is said in terms of the shape.
enum Source {
    Own,
    Initial,
    ThinAir,
    Write(EventId),
}

fn writers(history: &History, read: EventId) -> Vec<Source> {
    let event = history.event(read);
    let reader = history.transaction_of(read);
    let own = history.numbered_events_of(reader).take_while(|(number, _)| *number < read);
    let own = own.filter(|(_, own)| !own.is_read() && own.key == event.key).last();
    if own.is_some_and(|(_, own)| own.value == event.value) {
        // Who has written a key reads its own version: a read that names another writer is one that nobody could make.
        let is_own = history.claim(read).is_none_or(|claim| claim == Writer::Transaction(reader));
        return vec![if is_own { Source::Own } else { Source::ThinAir }];
    }
    let is_initial = history.initial(event.key) == event.value;
    let last_in = |writer: TransactionId| {
        let writes = history.numbered_events_of(writer);
        writes.filter(|(_, e)| !e.is_read() && e.key == event.key && e.value == event.value).last()
    };
    match history.claim(read) {
        Some(Writer::Initial) if is_initial => vec![Source::Initial],
        Some(Writer::Initial) => vec![Source::ThinAir],
        Some(Writer::Transaction(writer)) => {
            vec![last_in(writer).map_or(Source::ThinAir, |(write, _)| Source::Write(write))]
        }
        None => {
            let mut found: Vec<Source> =
                history.transactions().filter_map(last_in).map(|(write, _)| Source::Write(write)).collect();
            found.extend(is_initial.then_some(Source::Initial));
            if found.is_empty() { vec![Source::ThinAir] } else { found }
        }
    }
}

fn candidate(history: &History, of: ShapeOf, place: &BTreeMap<u32, (usize, usize)>, source: Source) -> Candidate {
    let write = match source {
        Source::Own => return Candidate::Own,
        Source::Initial => return Candidate::Initial,
        Source::ThinAir => return Candidate::ThinAir,
        Source::Write(write) => write,
    };
    let writer = history.transaction_of(write);
    match place.get(&writer.0) {
        None if of.aborted_is_thin_air => Candidate::ThinAir,
        None => Candidate::Aborted,
        Some(&(session, position)) => {
            let (key, value) = (history.event(write).key, history.event(write).value);
            let writes = history.numbered_events_of(writer).filter(|(_, event)| !event.is_read() && event.key == key);
            let writes: Vec<EventId> = writes.map(|(number, _)| number).collect();
            let last = writes.last().is_none_or(|&last| last == write || history.event(last).value == value);
            let rank = writes.iter().position(|&other| other == write);
            Candidate::Write(session, position, rank.filter(|_| !last))
        }
    }
}

/// Unknown outcomes count when one that counts may have read from them.
fn counted(history: &History) -> Vec<bool> {
    let mut counted: Vec<bool> = history.transactions().map(|t| history.outcome(t) == Outcome::Committed).collect();
    let mut waiting: Vec<TransactionId> = history.transactions().filter(|t| counted[t.index()]).collect();
    while let Some(reader) = waiting.pop() {
        for read in history.event_range(reader).map(EventId).filter(|&read| history.event(read).is_read()) {
            for source in writers(history, read) {
                let Source::Write(write) = source else { continue };
                let writer = history.transaction_of(write);
                if history.outcome(writer) == Outcome::Unknown && !counted[writer.index()] {
                    counted[writer.index()] = true;
                    waiting.push(writer);
                }
            }
        }
    }
    counted
}
