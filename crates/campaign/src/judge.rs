//! What the checker says about the histories of a campaign, each asked once.
//!
//! Two runs are one when their histories have one [pattern]. Times are no part of a pattern: where they are asked about, every history is
//! asked about anew. Patterns are remembered by their digest: a campaign of an application's whole test suite has long ones.
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

use crate::pattern::pattern;
use sha2::{Digest, Sha256};
use skew_check::{Budget, Counterexample, Doubt, Verdict};
use skew_history::format::{self, Format, Source};
use skew_history::{EventId, History, IsolationLevel, Outcome};
use skew_view::words;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

/// What is known about a pattern.
pub struct Judged {
    /// The level that was asked of the store.
    pub own_level: Judgement,
    /// The level that runs are compared with, of what the transactions did that committed.
    pub against: Judgement,
    /// Where they did nothing wrong: what was wrong with the reads of those that were rolled back.
    pub rolled_back: Option<Box<Counterexample>>,
}

impl Judged {
    /// What the run violates of the level that runs are compared with.
    pub fn found(&self) -> Option<&Counterexample> {
        match &self.against {
            Judgement::Fails(found) => Some(found),
            Judgement::Holds | Judgement::Unknown(_) => None,
        }
    }
}

/// What stands behind a failure where the transactions that committed are what runs are compared with.
#[derive(Clone, Debug)]
pub enum Behind {
    /// A transaction that was rolled back read what no such run shows.
    RolledBack(Box<Counterexample>),
    /// A transaction missed what had ended before it began.
    Stale(Box<Counterexample>),
    /// Nothing: the run is of this level, the strongest that there is to ask for.
    Nothing(IsolationLevel),
    /// Whether anything does is inconclusive, for this reason.
    Unknown(Doubt),
}

impl Behind {
    /// What it is, behind the way in which the run failed.
    pub fn in_words(&self, against: IsolationLevel) -> String {
        match self {
            Behind::RolledBack(found) => {
                format!("{}, seen by a transaction that was rolled back", words::anomaly(found.kind))
            }
            Behind::Stale(found) => {
                format!("the run is {against}, but not {}: {}", found.level, words::anomaly(found.kind))
            }
            Behind::Nothing(level) => format!("the run is {level}"),
            Behind::Unknown(doubt) => format!("inconclusive: {doubt}"),
        }
    }

    /// The counterexample, where it is one.
    pub fn found(self) -> Option<Counterexample> {
        match self {
            Behind::RolledBack(found) | Behind::Stale(found) => Some(*found),
            Behind::Nothing(_) | Behind::Unknown(_) => None,
        }
    }
}

/// A verdict without its certificate.
#[derive(Clone, Debug)]
pub enum Judgement {
    /// The level allows it.
    Holds,
    /// It does not.
    Fails(Box<Counterexample>),
    /// Neither is certain, for this reason.
    Unknown(Doubt),
}

/// Asks the checker, once per pattern.
pub struct Judge<'a> {
    own_level: IsolationLevel,
    against: IsolationLevel,
    budget: u64,
    /// Raised by whoever wants no more answers.
    stop: &'a AtomicBool,
    known: BTreeMap<[u8; 32], Rc<Judged>>,
}

impl<'a> Judge<'a> {
    /// Asks for two levels, with so many steps for each answer.
    pub fn new(own_level: IsolationLevel, against: IsolationLevel, budget: u64, stop: &'a AtomicBool) -> Judge<'a> {
        Judge { own_level, against, budget, stop, known: BTreeMap::new() }
    }

    /// How many patterns there were.
    pub fn distinct(&self) -> usize {
        self.known.len()
    }

    /// The verdicts on a run; an error if what was recorded is no history.
    pub fn judge(&mut self, history: &str) -> Result<Rc<Judged>, String> {
        self.judge_as(history, None)
    }

    /// The same for a run whose pattern is known. Its history has no times.
    pub fn judge_as(&mut self, history: &str, known: Option<&str>) -> Result<Rc<Judged>, String> {
        if is_empty(history) {
            let nothing = Judged { own_level: Judgement::Holds, against: Judgement::Holds, rolled_back: None };
            return Ok(Rc::clone(self.known.entry([0; 32]).or_insert(Rc::new(nothing))));
        }
        let history = read(history)?;
        let pattern: [u8; 32] = Sha256::digest(known.map_or_else(|| pattern(&history), str::to_owned)).into();
        let speaks_of_times = |level: IsolationLevel| level.is_strong() || level.of_engine().is_some();
        let needs_times = known.is_none() && (speaks_of_times(self.own_level) || speaks_of_times(self.against));
        if let Some(judged) = self.known.get(&pattern).filter(|_| !needs_times) {
            return Ok(Rc::clone(judged));
        }
        let (against, rolled_back) = compare(&history, self.against, self.budget());
        let judged = Rc::new(Judged { own_level: ask(&history, self.own_level, self.budget()), against, rolled_back });
        self.known.insert(pattern, Rc::clone(&judged));
        Ok(judged)
    }

    /// What stands behind the failure of a run; nothing where that is told already, because the run is not what it is compared with.
    pub fn behind(&self, history: &str, judged: &Judged) -> Option<Behind> {
        match judged.against {
            Judgement::Fails(_) => return None,
            Judgement::Unknown(doubt) => return Some(Behind::Unknown(doubt)),
            Judgement::Holds => {}
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
            Judgement::Holds => Behind::Nothing(strong),
            Judgement::Fails(found) => Behind::Stale(found),
            Judgement::Unknown(doubt) => Behind::Unknown(doubt),
        })
    }

    fn budget(&self) -> Budget<'a> {
        Budget { stop: Some(self.stop), ..Budget::steps(self.budget) }
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

fn ask(history: &History, level: IsolationLevel, budget: Budget<'_>) -> Judgement {
    match skew_check::check(history, level, budget) {
        Verdict::Holds(_) => Judgement::Holds,
        Verdict::Fails(anomaly) => Judgement::Fails(Box::new(skew_check::explain(history, level, &anomaly, budget))),
        Verdict::Unknown(doubt) => Judgement::Unknown(doubt),
    }
}

/// Whether the transactions of a run that committed are what a level allows; if so, what is wrong with those that were rolled back.
pub fn compare(
    history: &History,
    level: IsolationLevel,
    budget: Budget<'_>,
) -> (Judgement, Option<Box<Counterexample>>) {
    let whole = ask(history, level, budget);
    if matches!(whole, Judgement::Holds) {
        return (whole, None);
    }
    match (of_committed(history).map(|part| ask(&part, level, budget)), whole) {
        (None, whole) => (whole, None),
        (Some(Judgement::Holds), Judgement::Fails(found)) => (Judgement::Holds, Some(found)),
        (Some(part), _) => (part, None),
    }
}

/// The history without what transactions read that their programs rolled back; nothing if there is no such read. What they wrote stays: who
/// read that read what never was.
pub fn of_committed(history: &History) -> Option<History> {
    let counts = |number: &EventId| {
        let outcome = history.outcome(history.transaction_of(*number));
        outcome != Outcome::AbortedByProgram || !history.event(*number).is_read()
    };
    let kept: Vec<EventId> = (0..history.event_count() as u32).map(EventId).filter(counts).collect();
    (kept.len() < history.event_count()).then(|| history.restrict(&kept).0)
}
