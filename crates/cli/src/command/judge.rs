//! What the checker says about the histories of a campaign, each asked once.
//!
//! Two runs are one when their histories are: same events, same session order, same reads-from. A history is known by its pattern,
//! in which a transaction is its place in its session, so that the order in which sessions happened to run does not matter:
//!
//! ```text
//!   alice[0] r account/1 init w account/1 | bob[0] r account/1 alice[0]#0
//! ```
//!
//! `#0` is the first write of that transaction to the key, so that a read of what was overwritten before the commit is another
//! pattern. A read whose writer nobody can tell, and a read of a list, has its value instead. Times are no part of a pattern: where
//! they are asked about, every history is asked about anew.
//!
//! Patterns are remembered by their digest: a campaign of an application's whole test suite has long ones.

use sha2::{Digest, Sha256};
use skew_check::{Budget, Counterexample, Verdict};
use skew_history::format::{self, Format, Source};
use skew_history::{Action, Event, History, IsolationLevel, Outcome, TransactionId, Value, Writer};
use skew_view::words::Versions;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

/// What is known about a pattern.
pub(super) struct Judged {
    /// The level that was asked of the store.
    pub(super) own_level: Answer,
    /// The level that runs are compared with.
    pub(super) against: Answer,
}

/// A verdict without its certificate.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Holds,
    Fails(Box<Counterexample>),
    Unknown,
}

/// Asks the checker, once per pattern.
pub(super) struct Judge {
    own_level: IsolationLevel,
    against: IsolationLevel,
    budget: u64,
    known: BTreeMap<[u8; 32], Rc<Judged>>,
}

impl Judge {
    pub(super) fn new(own_level: IsolationLevel, against: IsolationLevel, budget: u64) -> Judge {
        Judge { own_level, against, budget, known: BTreeMap::new() }
    }

    /// How many patterns there were.
    pub(super) fn distinct(&self) -> usize {
        self.known.len()
    }

    /// The verdicts on a run; an error if what was recorded is no history.
    pub(super) fn judge(&mut self, history: &str) -> Result<Rc<Judged>, String> {
        if history.lines().nth(1).is_none() {
            // Only the header: nobody read or wrote anything.
            let nothing = Judged { own_level: Answer::Holds, against: Answer::Holds };
            return Ok(Rc::clone(self.known.entry([0; 32]).or_insert(Rc::new(nothing))));
        }
        let source = Source { name: "the recorded run", bytes: history.as_bytes() };
        let history = format::read(&[source], Format::Native)
            .map_err(|error| format!("the recorded run is no history: {}: {}", error.place, error.problem))?;
        let pattern: [u8; 32] = Sha256::digest(pattern(&history)).into();
        let needs_times = [self.own_level, self.against].iter().any(|level| IsolationLevel::STRONG.contains(level));
        if let Some(judged) = self.known.get(&pattern).filter(|_| !needs_times) {
            return Ok(Rc::clone(judged));
        }
        let judged =
            Judged { own_level: self.ask(&history, self.own_level), against: self.ask(&history, self.against) };
        let judged = Rc::new(judged);
        self.known.insert(pattern, Rc::clone(&judged));
        Ok(judged)
    }

    fn ask(&self, history: &History, level: IsolationLevel) -> Answer {
        let budget = Budget { stop: Some(crate::clock::stop_flag()), ..Budget::steps(self.budget) };
        match skew_check::check(history, level, budget) {
            Verdict::Holds(_) => Answer::Holds,
            Verdict::Fails(anomaly) => Answer::Fails(Box::new(skew_check::explain(history, level, &anomaly, budget))),
            Verdict::Unknown => Answer::Unknown,
        }
    }
}

/// The pattern of a history: transactions that the database refused are no part of it.
pub(super) fn pattern(history: &History) -> String {
    let versions = Versions::new(history);
    let counts = |transaction: &TransactionId| history.outcome(*transaction) != Outcome::AbortedByDatabase;
    let mut places: BTreeMap<TransactionId, String> = BTreeMap::new();
    let mut sessions: Vec<(String, Vec<TransactionId>)> = Vec::new();
    for session in history.sessions() {
        let name = history.session_name(session).to_string();
        let transactions: Vec<TransactionId> = history.transactions_of(session).filter(counts).collect();
        for (place, transaction) in transactions.iter().enumerate() {
            places.insert(*transaction, format!("{name}[{place}]"));
        }
        sessions.push((name, transactions));
    }
    sessions.sort();
    let mut text = String::new();
    for transaction in sessions.iter().flat_map(|(_, transactions)| transactions) {
        let _ = write!(text, "|{} {:?}", places[transaction], history.outcome(*transaction));
        for (number, event) in history.numbered_events_of(*transaction) {
            let letter = match event.action {
                Action::Read if event.locking => "R",
                Action::Read => "r",
                Action::Write if event.value == Value::ABSENT => "d",
                Action::Write => "w",
                Action::Append => "a",
            };
            let _ = write!(text, " {letter} {}", history.key_name(event.key));
            if event.is_read() {
                let writer = versions.writer_of(history, number).filter(|_| !event.value.is_list());
                let _ = write!(text, " {}", source(history, event, writer, &places));
            }
        }
    }
    text
}

/// Where a read is from: a write of a transaction, or the value where the writer alone does not say.
fn source(
    history: &History,
    event: &Event,
    writer: Option<Writer>,
    places: &BTreeMap<TransactionId, String>,
) -> String {
    match writer {
        Some(Writer::Initial) => "init".to_owned(),
        Some(Writer::Transaction(writer)) => {
            let mut writes = history.events_of(writer).iter().filter(|it| !it.is_read() && it.key == event.key);
            let number = writes.position(|write| write.value == event.value).map_or(-1, |number| number as i64);
            format!("{}#{number}", places.get(&writer).map_or("refused", String::as_str))
        }
        None => format!("= {}", history.show(event.value)),
    }
}
