//! From one run that went well, another one that could have been and did not.
//!
//! [`predict`] takes an observed history and asks for a run that the same program could have had: sessions may end earlier, and where one ends,
//! what it read last may be another version. The run must be within a level, and must not be serializable (Geng, Blackburn, et al.,
//! *IsoPredict*, PLDI 2024). A worked example:
//!
//! ```text
//!   observed      a: r(x,init) w(x,1)        b: r(x,1) w(x,2)            serial, as in a test
//!   predicted     a: r(x,init) w(x,1)        b: r(x,init) w(x,2)         causal allows it; an update is lost
//! ```
//!
//! ```text
//!   History ── Recording: who read from whom ── reduced ── Stops ── CandidateSearch ──> Prediction: a history that the checker confirms
//!                  │                                                  │
//!                  └── Observed: it is bad already                    └── Problem: candidates as a formula; what was learnt
//! ```
//!
//! At a level of an engine the run is one that its server could have shown, statement by statement, with nobody refused. Every statement is
//! taken to lock what it locked: one that found a row finds one, one that found none finds none. Where it waited, or passed a row over, its
//! reads stay as they were, and if nothing else is found, the answer is [`Outlook::Open`] and says so.
//!
//! *Strict*: the session is cut right behind the read that changes. Such a run can be had again, unless a transaction is refused. *Relaxed*:
//! the transaction goes on as if its other reads and its writes were what they were; the program may do something else then, which a
//! replay shows. Whatever is found is confirmed by the checker, with both certificates looked at again; `Nothing` of an exact strategy means
//! that there is no such run within what this one did.

mod candidate;
mod companions;
mod fixpoint;
mod problem;
mod recording;
mod reference;
mod render;
mod search;
mod stepping;
mod stops;

pub use companions::companions;
pub use reference::{Existing, reference};
pub use render::{ChangedRead, Cut, Prediction};
pub use stepping::{SteppingStone, stepping_stones};
pub use stops::Boundary;

use recording::{NoRecording, Recording};
use search::{CandidateSearch, Inquiry, NextPrediction, shrink};
use skew_check::{Anomaly, Budget, Updates};
use skew_history::{History, IsolationLevel, SessionId, TransactionId};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use stops::Stops;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct PredictQuestion {
    /// The level that the run must keep.
    pub level: IsolationLevel,
    /// The level that it must break.
    pub against: IsolationLevel,
    /// How it is looked for.
    pub strategy: Strategy,
    /// Whether locking reads stay locking, or are plain as in the paper.
    pub updates: Updates,
    /// Whether to predict from a history that is bad already.
    pub even_if_bad: bool,
    /// The only session whose reads may change.
    pub only_session: Option<SessionId>,
    /// How many predictions; each has another cycle than those before.
    pub most: usize,
    /// What is done before the others begin: nobody reads anything older, and its own reads do not change.
    pub set_up: Vec<TransactionId>,
}

impl PredictQuestion {
    /// One prediction of a level, against serializable.
    pub fn new(level: IsolationLevel) -> PredictQuestion {
        PredictQuestion {
            level,
            against: IsolationLevel::Serializable,
            strategy: Strategy::Exact,
            updates: Updates::Atomic,
            even_if_bad: false,
            only_session: None,
            most: 1,
            set_up: Vec::new(),
        }
    }
}

/// How it is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Strict first, then relaxed.
    Exact,
    /// Strict boundaries.
    ExactStrict,
    /// Relaxed boundaries.
    ExactRelaxed,
    /// Strict boundaries, and only what the paper's approximation sees.
    ApproximateStrict,
    /// Relaxed boundaries, and only what the paper's approximation sees.
    ApproximateRelaxed,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 5] = [
        Strategy::Exact,
        Strategy::ExactStrict,
        Strategy::ExactRelaxed,
        Strategy::ApproximateStrict,
        Strategy::ApproximateRelaxed,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Exact => "exact",
            Strategy::ExactStrict => "exact-strict",
            Strategy::ExactRelaxed => "exact-relaxed",
            Strategy::ApproximateStrict => "approx-strict",
            Strategy::ApproximateRelaxed => "approx-relaxed",
        }
    }

    fn boundaries(self) -> &'static [Boundary] {
        match self {
            Strategy::Exact => &[Boundary::Strict, Boundary::Relaxed],
            Strategy::ExactStrict | Strategy::ApproximateStrict => &[Boundary::Strict],
            Strategy::ExactRelaxed | Strategy::ApproximateRelaxed => &[Boundary::Relaxed],
        }
    }

    fn is_approximate(self) -> bool {
        matches!(self, Strategy::ApproximateStrict | Strategy::ApproximateRelaxed)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A strategy's name that is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownStrategy(pub String);

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Strategy::ALL.into_iter().map(Strategy::name).collect();
        write!(out, "`{}` is not a strategy; use {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Strategy, UnknownStrategy> {
        Strategy::ALL
            .into_iter()
            .find(|strategy| strategy.name() == text)
            .ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}

/// The answer.
#[derive(Debug)]
pub enum Outlook {
    /// Runs that could have been, fewest changed reads first; whether the search went through all there are.
    Found(Vec<Prediction>, bool),
    /// There is none.
    Nothing,
    /// The observed run breaks the level that a prediction should keep, or the one that it should break.
    Observed(Anomaly),
    /// None was found, and something that was observed leaves it open whether there is one: what.
    Open(&'static str),
    /// The budget ended first.
    Unknown,
}

/// How much may be done, and who wants to know how much was.
pub struct Work<'a> {
    /// How many candidates may still be looked at.
    pub rounds: u64,
    /// Set by somebody else to end the search early.
    pub stop: Option<&'a AtomicBool>,
    /// Told how many candidates were looked at.
    pub progress: Option<&'a dyn Fn(u64)>,
    /// How many were.
    pub done: u64,
}

impl<'a> Work<'a> {
    /// At most so many candidates.
    pub fn rounds(rounds: u64) -> Work<'a> {
        Work { rounds, stop: None, progress: None, done: 0 }
    }

    fn begin_round(&mut self) -> bool {
        if self.done >= self.rounds || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return false;
        }
        self.done += 1;
        if let Some(progress) = self.progress {
            progress(self.done);
        }
        true
    }

    /// One question of a round: as much as it takes, unless somebody stops it.
    fn budget(&self) -> Budget<'a> {
        Budget { stop: self.stop, ..Budget::UNLIMITED }
    }
}

/// Looks for runs that could have been.
pub fn predict(history: &History, question: &PredictQuestion, work: &mut Work<'_>) -> Outlook {
    let whole = match Recording::new(history, question, work.budget()) {
        Ok(recording) => recording,
        Err(NoRecording::Observed(anomaly)) => return Outlook::Observed(anomaly),
        Err(NoRecording::Unknown) => return Outlook::Unknown,
    };
    if let Some(why) = beyond(history, question.level) {
        return Outlook::Open(why);
    }
    let recording = whole.reduced(question.level);
    if recording.sessions.iter().all(|session| session.steps.is_empty()) {
        return Outlook::Nothing;
    }
    let mut found: Vec<Prediction> = Vec::new();
    let mut is_complete = true;
    for &boundary in question.strategy.boundaries() {
        let stops = Stops::new(&recording, boundary);
        let is_approximate = question.strategy.is_approximate();
        let asked = Inquiry { history, recording: &recording, question, boundary };
        let Some(search) = CandidateSearch::new(asked, &stops, is_approximate, work.budget()) else {
            is_complete = false;
            break;
        };
        let room = question.most.saturating_sub(found.len());
        is_complete &= Hunt { history, recordings: (&whole, &recording), question, boundary }
            .collect(search, room, &mut found, work);
        if found.len() >= question.most {
            break;
        }
    }
    match (found.is_empty(), is_complete) {
        (true, true) if recording.reads.iter().any(|read| recording.is_held(read)) => Outlook::Open(HELD),
        (true, true) => Outlook::Nothing,
        (true, false) => Outlook::Unknown,
        (false, _) => {
            found.sort_by_key(|prediction| (prediction.boundary, prediction.changed.len()));
            Outlook::Found(found, is_complete)
        }
    }
}

/// Why a run at a level of an engine may be there although none was found.
const HELD: &str = "statements waited for rows or passed them over, and whether they would have done so with other versions is not known";

/// What of a history cannot be told otherwise at a level.
fn beyond(history: &History, level: IsolationLevel) -> Option<&'static str> {
    level.of_engine()?;
    if !history.all_gone().is_empty() {
        return Some("a statement waited for a row that was deleted and inserted anew, which cannot be told otherwise");
    }
    history.features().lists.then_some("it has lists, which are no rows of this engine")
}

/// Predictions with one boundary.
struct Hunt<'a> {
    history: &'a History,
    /// The whole one, and the reduced one.
    recordings: (&'a Recording, &'a Recording),
    question: &'a PredictQuestion,
    boundary: Boundary,
}

impl Hunt<'_> {
    /// Collects up to so many predictions that are not equal to known ones; whether there are no others.
    fn collect(
        &self,
        mut search: CandidateSearch<'_>,
        room: usize,
        found: &mut Vec<Prediction>,
        work: &mut Work<'_>,
    ) -> bool {
        let (mut fewest, mut is_confirmed) = (None, true);
        let before = found.len();
        loop {
            let (whole, different) = match search.next(work) {
                NextPrediction::Prediction(candidate, different) => (candidate, different),
                // There is no smaller one; of others nothing is known.
                NextPrediction::Nothing => return is_confirmed && fewest.is_none(),
                NextPrediction::Unknown => return false,
            };
            let Hunt { history, recordings: (_, recording), question, boundary } = *self;
            let asked = Inquiry { history, recording, question, boundary };
            let candidate = shrink(&asked, whole.clone(), work.budget());
            search.exclude(&whole, &candidate, different, work.budget());
            let Some(prediction) =
                Prediction::new(self.history, self.recordings, &candidate, self.boundary, self.question, work.budget())
            else {
                // The checker was stopped, or does not confirm what the search found: that is a mistake here, and then nothing is certain.
                debug_assert!(work.budget().is_stopped(), "not confirmed: {candidate:?}");
                is_confirmed = false;
                continue;
            };
            if self.question.most == 1 {
                // One is wanted: the one that changes least.
                let sessions = prediction.changed_sessions(self.history);
                found.truncate(before);
                found.push(prediction);
                if sessions <= 1 || fewest == Some(sessions) {
                    return false;
                }
                fewest = Some(sessions);
                search.change_at_most(sessions - 1);
                continue;
            }
            if !found.iter().any(|known| known.is_like(&prediction, self.history)) {
                found.push(prediction);
            }
            if found.len() >= before + room {
                return false;
            }
        }
    }
}

/// Whether the paper's approximation sees that a history is not serializable: the order that every commit order contains has a cycle. Some
/// histories are not serializable and have none.
pub fn is_refuted_by_forced_order(history: &History) -> bool {
    let question = PredictQuestion { even_if_bad: true, ..PredictQuestion::new(IsolationLevel::ReadCommitted) };
    let recording = Recording::new(history, &question, Budget::UNLIMITED);
    recording.is_ok_and(|recording| fixpoint::is_cyclic(&recording, &candidate::CandidateRun::observed(&recording)))
}
