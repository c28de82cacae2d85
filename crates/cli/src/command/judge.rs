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
//!
//! # Whom a finding is about
//!
//! Two questions are asked. *Is the run what its own levels promise?* That is about everything that clients were told, also in transactions
//! that they rolled back afterwards, and a "no" is a mistake of ours. *Is it what it is compared with?* That is about what the run did to
//! anybody, so it is asked of the transactions that committed. Of two people who register one name, one is refused by the UNIQUE that
//! was put there to refuse it:
//!
//! ```text
//!   alice   r(users@name/ann, nil) lock r(users@name/ann, 2)   rolled back: it read nil, and then that bob is there
//!   bob     w(users@name/ann, 2)
//! ```
//!
//! No serial order shows alice both, and nothing is wrong: all that is left of her transaction is an error that she can act upon. Who acts
//! wrongly makes the command or an assertion fail, and then it is told what a transaction that was rolled back had seen.

use sha2::{Digest, Sha256};
use skew_check::{Budget, Counterexample, Verdict};
use skew_history::format::{self, Format, Source};
use skew_history::{Action, Event, EventId, History, IsolationLevel, KeyId, Outcome, TransactionId, Value, Writer};
use skew_view::words::{self, Versions};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

/// What is known about a pattern.
pub(super) struct Judged {
    /// The level that was asked of the store.
    pub(super) own_level: Answer,
    /// The level that runs are compared with, of what the transactions did that committed.
    pub(super) against: Answer,
    /// Where they did nothing wrong: what was wrong with the reads of those that were rolled back.
    pub(super) rolled_back: Option<Box<Counterexample>>,
}

/// What stands behind a failure where the transactions that committed are what runs are compared with.
#[derive(Clone, Debug)]
pub(super) enum Behind {
    /// A transaction that was rolled back read what no such run shows.
    RolledBack(Box<Counterexample>),
    /// A transaction missed what had ended before it began.
    Stale(Box<Counterexample>),
    /// Nothing: the run is of this level, the strongest that there is to ask for.
    Nothing(IsolationLevel),
    /// Whether anything does is inconclusive within the budget.
    Unknown,
}

impl Behind {
    /// What it is, behind the way in which the run failed.
    pub(super) fn in_words(&self, against: IsolationLevel) -> String {
        match self {
            Behind::RolledBack(found) => {
                format!("{}, seen by a transaction that was rolled back", words::anomaly(found.kind))
            }
            Behind::Stale(found) => {
                format!("the run is {against}, but not {}: {}", found.level, words::anomaly(found.kind))
            }
            Behind::Nothing(level) => format!("the run is {level}"),
            Behind::Unknown => "inconclusive within the budget".to_owned(),
        }
    }

    pub(super) fn found(self) -> Option<Counterexample> {
        match self {
            Behind::RolledBack(found) | Behind::Stale(found) => Some(*found),
            Behind::Nothing(_) | Behind::Unknown => None,
        }
    }
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
        if is_empty(history) {
            let nothing = Judged { own_level: Answer::Holds, against: Answer::Holds, rolled_back: None };
            return Ok(Rc::clone(self.known.entry([0; 32]).or_insert(Rc::new(nothing))));
        }
        let history = read(history)?;
        let pattern: [u8; 32] = Sha256::digest(pattern(&history)).into();
        let needs_times = self.own_level.is_strong() || self.against.is_strong();
        if let Some(judged) = self.known.get(&pattern).filter(|_| !needs_times) {
            return Ok(Rc::clone(judged));
        }
        let (against, rolled_back) = compare(&history, self.against, self.budget());
        let judged = Rc::new(Judged { own_level: ask(&history, self.own_level, self.budget()), against, rolled_back });
        self.known.insert(pattern, Rc::clone(&judged));
        Ok(judged)
    }

    /// What stands behind the failure of a run; nothing where that is told already, because the run is not what it is compared with.
    pub(super) fn behind(&self, history: &str, judged: &Judged) -> Option<Behind> {
        match judged.against {
            Answer::Fails(_) => return None,
            Answer::Unknown => return Some(Behind::Unknown),
            Answer::Holds => {}
        }
        if let Some(found) = &judged.rolled_back {
            return Some(Behind::RolledBack(found.clone()));
        }
        let strong = match self.against {
            IsolationLevel::Serializable => IsolationLevel::StrictSerializable,
            IsolationLevel::Snapshot => IsolationLevel::StrongSnapshot,
            level => return Some(Behind::Nothing(level)),
        };
        // Where nobody read or wrote anything, nothing can be out of time.
        if is_empty(history) {
            return Some(Behind::Nothing(strong));
        }
        let Some(history) = read(history).ok().filter(History::has_times) else {
            return Some(Behind::Nothing(self.against));
        };
        Some(match ask(&history, strong, self.budget()) {
            Answer::Holds => Behind::Nothing(strong),
            Answer::Fails(found) => Behind::Stale(found),
            Answer::Unknown => Behind::Unknown,
        })
    }

    fn budget(&self) -> Budget<'static> {
        Budget { stop: Some(crate::clock::stop_flag()), ..Budget::steps(self.budget) }
    }
}

/// Whether there is only the header: nobody read or wrote anything.
fn is_empty(history: &str) -> bool {
    history.lines().nth(1).is_none()
}

fn read(history: &str) -> Result<History, String> {
    let source = Source { name: "the recorded run", bytes: history.as_bytes() };
    format::read(&[source], Format::Native)
        .map_err(|error| format!("the recorded run is no history: {}: {}", error.place, error.problem))
}

fn ask(history: &History, level: IsolationLevel, budget: Budget<'_>) -> Answer {
    match skew_check::check(history, level, budget) {
        Verdict::Holds(_) => Answer::Holds,
        Verdict::Fails(anomaly) => Answer::Fails(Box::new(skew_check::explain(history, level, &anomaly, budget))),
        Verdict::Unknown => Answer::Unknown,
    }
}

/// Whether the transactions of a run that committed are what a level allows; if so, what is wrong with those that were rolled back.
pub(super) fn compare(
    history: &History,
    level: IsolationLevel,
    budget: Budget<'_>,
) -> (Answer, Option<Box<Counterexample>>) {
    let whole = ask(history, level, budget);
    if matches!(whole, Answer::Holds) {
        return (whole, None);
    }
    match (of_committed(history).map(|part| ask(&part, level, budget)), whole) {
        (None, whole) => (whole, None),
        (Some(Answer::Holds), Answer::Fails(found)) => (Answer::Holds, Some(found)),
        (Some(part), _) => (part, None),
    }
}

/// The history without what transactions read that their programs rolled back; nothing if there is no such read. What they wrote stays: who
/// read that read what never was.
pub(super) fn of_committed(history: &History) -> Option<History> {
    let counts = |number: &EventId| {
        let outcome = history.outcome(history.transaction_of(*number));
        outcome != Outcome::AbortedByProgram || !history.event(*number).is_read()
    };
    let kept: Vec<EventId> = (0..history.event_count() as u32).map(EventId).filter(counts).collect();
    (kept.len() < history.event_count()).then(|| history.restrict(&kept).0)
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
    let mut writes = Writes::new();
    for transaction in history.transactions() {
        for event in history.events_of(transaction).iter().filter(|event| !event.is_read()) {
            writes.entry((transaction, event.key)).or_default().push(event.value);
        }
    }
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
                let _ = write!(text, " {}", source(history, event, writer, &places, &writes));
            }
        }
    }
    text
}

/// What each transaction wrote of each key, in order.
type Writes = BTreeMap<(TransactionId, KeyId), Vec<Value>>;

/// Where a read is from: a write of a transaction, or the value where the writer alone does not say.
fn source(
    history: &History,
    event: &Event,
    writer: Option<Writer>,
    places: &BTreeMap<TransactionId, String>,
    writes: &Writes,
) -> String {
    match writer {
        Some(Writer::Initial) => "init".to_owned(),
        Some(Writer::Transaction(writer)) => {
            let mut values = writes.get(&(writer, event.key)).into_iter().flatten();
            let number = values.position(|value| *value == event.value).map_or(-1, |number| number as i64);
            format!("{}#{number}", places.get(&writer).map_or("refused", String::as_str))
        }
        None => format!("= {}", history.show(event.value)),
    }
}
