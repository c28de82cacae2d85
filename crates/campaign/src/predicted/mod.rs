//! What could have been: each file at each level, equal predictions joined.
//!
//! ```text
//!   a.jsonl ──┬── causal          predict ── found ── prediction 1 ─┐
//!             └── read-committed  predict ── found ── prediction 1 ─┼── KnownRuns: told, drawn and kept once
//!   b.jsonl ──┬── causal          predict ── found ── prediction 1 ─┘
//!             └── read-committed  predict ── none
//! ```
//!
//! Two predictions are one if the anomaly, the statements (or the tables, where these are not known) and the boundary are the same. So a
//! hundred recordings of one test suite with one bug in it have one prediction. Whoever knows files keeps it, and says where; whoever can run
//! the program again validates it, and says what came of it.

mod confirmed;
mod json;
mod known;
mod replayed;
mod sentences;
mod tell;

pub use known::KnownRuns;
pub use replayed::{Replayed, RunAgain, command_again};

use crate::foreseen::set_up;
use crate::{Complaint, Conclusion};
use confirmed::ConfirmedRun;
use skew_check::{Budget, Counterexample, Updates, explain};
use skew_history::{Engine, History, IsolationLevel, Outcome, SessionId, TransactionId};
use skew_predict::{Outlook, PredictQuestion, Prediction, Strategy, Work};
use skew_view::{Beside, Picture};
use std::sync::atomic::AtomicBool;

/// What is asked of every file.
#[derive(Clone, Debug)]
pub struct PredictSettings {
    /// Whether what the first session did before the second one began is a set-up, which everybody sees.
    pub sets_up: bool,
    /// The levels that a run must keep, each asked by itself; none is those of the history's engine, or [`PredictSettings::USUAL`].
    pub levels: Vec<IsolationLevel>,
    /// The level that it must break.
    pub against: IsolationLevel,
    /// How it is looked for.
    pub strategy: Strategy,
    /// Whether locking reads stay locking.
    pub updates: Updates,
    /// Whether to predict from a history that is bad already.
    pub even_if_bad: bool,
    /// The only session whose reads may change.
    pub only_session: Option<String>,
    /// How many predictions of each file and level.
    pub most: usize,
    /// How many candidates may be looked at for each file and level.
    pub rounds: u64,
}

impl PredictSettings {
    /// The levels of the papers that are asked when nobody says which.
    pub const USUAL: [IsolationLevel; 2] = [IsolationLevel::Causal, IsolationLevel::ReadCommitted];

    /// The levels at which something can be predicted.
    pub fn possible_levels() -> impl Iterator<Item = IsolationLevel> + Clone {
        let possible = |level: &IsolationLevel| {
            level.of_engine().is_some()
                || *level != IsolationLevel::Serializable && IsolationLevel::of_papers().any(|known| known == *level)
        };
        IsolationLevel::of_transactions().filter(possible)
    }

    /// The levels that are asked of a history: those that were named, else those of the engine that it was recorded on.
    pub fn levels_of(&self, history: &History) -> Vec<IsolationLevel> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let engine: Option<Engine> = history.engine().and_then(|engine| engine.parse().ok());
        match engine {
            Some(engine) => engine.usual_levels().map(IsolationLevel::Engine).collect(),
            None => PredictSettings::USUAL.to_vec(),
        }
    }

    /// Why predictions could not be made again on a mock database.
    pub fn refusal_of_replay(&self) -> Option<Complaint> {
        let level = self.levels.iter().find(|level| level.of_engine().is_some())?;
        let what = format!("at {level} a run cannot be made again: the mock database has the levels of the papers");
        let advice = "on a real server it can, if it is a program's: --program FILE --confirm up; \
            else choose a level such as read-committed or snapshot";
        Some(Complaint::new("--replay", what, advice))
    }

    /// Why nothing can be confirmed without a program.
    pub fn lacks_program() -> Complaint {
        let what = "a history does not say how its tables were made, nor what its sessions do when they read otherwise";
        let advice = "name the program whose run it is: --program FILE, recorded by `skew play FILE --record DIR`";
        Complaint::new("--confirm", what.to_owned(), advice)
    }

    /// Why nothing could be predicted, whatever the history.
    pub fn refusal(&self) -> Option<Complaint> {
        if !IsolationLevel::of_papers().any(|level| level == self.against) {
            let what = format!("{}: a predicted run has neither times nor levels of its own", self.against);
            let names: Vec<&str> = IsolationLevel::of_papers().map(IsolationLevel::name).collect();
            return Some(Complaint::new("--against", what, &format!("choose among {}", names.join(", "))));
        }
        let is_possible = |level: IsolationLevel| PredictSettings::possible_levels().any(|known| known == level);
        let wrong = self.levels.iter().find(|&&level| !is_possible(level) || level.implies(self.against))?;
        let what = match wrong.implies(self.against) {
            true if *wrong == self.against => {
                format!("{wrong}: nothing could be predicted, because no run keeps {wrong} and breaks it")
            }
            true => format!("{wrong}: nothing could be predicted, because what keeps {wrong} keeps {}", self.against),
            false => format!("{wrong}: a predicted run has neither times nor levels of its own"),
        };
        let of_papers = PredictSettings::possible_levels().filter(|level| level.of_engine().is_none());
        let weaker = of_papers.filter(|level| !level.implies(self.against));
        let advice = match weaker.map(IsolationLevel::name).collect::<Vec<&str>>().as_slice() {
            [] => "choose a stronger level for --against".to_owned(),
            names => format!("choose among {}", names.join(", ")),
        };
        Some(Complaint::new("--level", what, &advice))
    }

    fn question(&self, history: &History, level: IsolationLevel, only_session: Option<SessionId>) -> PredictQuestion {
        PredictQuestion {
            level,
            against: self.against,
            strategy: self.strategy,
            updates: self.updates,
            even_if_bad: self.even_if_bad,
            only_session,
            most: self.most,
            set_up: if self.sets_up { set_up(history) } else { Vec::new() },
        }
    }

    /// The session that was named, in a history.
    fn session_in(&self, file: &str, history: &History) -> Result<Option<SessionId>, Complaint> {
        let Some(name) = &self.only_session else { return Ok(None) };
        let found = history.sessions().find(|&session| history.session_name(session).to_string() == *name);
        let names =
            || -> Vec<String> { history.sessions().map(|session| history.session_name(session).to_string()).collect() };
        found.map(Some).ok_or_else(|| {
            let advice = match names().as_slice() {
                [] => "it has none".to_owned(),
                names => format!("its sessions are {}", names.join(", ")),
            };
            Complaint::new(file, format!("it has no session `{name}`"), &advice)
        })
    }
}

/// Who ends a search early, and who wants to know how far it is.
#[derive(Clone, Copy)]
pub struct PredictWatch<'a> {
    /// Raised by somebody else.
    pub stop: &'a AtomicBool,
    /// Told the level, and how many candidates were looked at.
    pub progress: &'a dyn Fn(IsolationLevel, u64),
}

/// What could have been instead of one history.
#[derive(Debug)]
pub struct PredictedFile {
    /// The input, as the user named it.
    pub file: String,
    /// What was observed.
    pub history: History,
    /// The answers, in the order in which they were asked.
    pub levels: Vec<PredictedLevel>,
}

/// The answer for one level.
#[derive(Debug)]
pub struct PredictedLevel {
    /// The level that a run must keep.
    pub level: IsolationLevel,
    /// What was found.
    pub answer: LevelAnswer,
    /// How many candidates were looked at.
    pub candidates: u64,
    /// Whether no more of them may be.
    pub is_spent: bool,
}

/// What was found.
#[derive(Debug)]
pub enum LevelAnswer {
    /// Runs that could have been; whether these are all.
    Found(Vec<PredictedRun>, bool),
    /// There is none; and why there can be none, where that is known without looking.
    Nothing(Option<&'static str>),
    /// The run itself is bad: why.
    Observed(Box<Counterexample>),
    /// None was found, and there may be one: why.
    Open(&'static str),
    /// The budget or the time ended first.
    Unknown,
}

/// A run that could have been.
#[derive(Debug)]
pub struct PredictedRun {
    /// The run.
    pub prediction: Prediction,
    /// What it is called: the number of the first one that is equal, over all files, from 1; 0 until it is joined.
    pub number: usize,
    /// Whether an equal one came before.
    pub is_repeated: bool,
    /// What became of it when the program was run again, if it was.
    pub replayed: Option<Replayed>,
    /// What a real server showed of it, if one was asked.
    confirmed: Option<ConfirmedRun>,
}

impl PredictedFile {
    /// Asks all levels.
    pub fn new(
        file: String,
        history: History,
        settings: &PredictSettings,
        watch: PredictWatch<'_>,
    ) -> Result<PredictedFile, Complaint> {
        let only_session = settings.session_in(&file, &history)?;
        let ask = |&level: &IsolationLevel| {
            let question = settings.question(&history, level, only_session);
            PredictedLevel::new(&history, &question, settings.rounds, watch)
        };
        let levels = settings.levels_of(&history).iter().map(ask).collect();
        Ok(PredictedFile { file, history, levels })
    }

    /// What the answers say together.
    pub fn conclusion(&self) -> Conclusion {
        let has = |wanted: fn(&LevelAnswer) -> bool| self.levels.iter().any(|level| wanted(&level.answer));
        let is_bad = |answer: &LevelAnswer| matches!(answer, LevelAnswer::Found(..) | LevelAnswer::Observed(_));
        Conclusion::judged(has(is_bad), has(|answer| matches!(answer, LevelAnswer::Open(_) | LevelAnswer::Unknown)))
    }

    /// All runs, with the levels that they keep.
    pub fn runs(&self) -> impl Iterator<Item = (IsolationLevel, &PredictedRun)> {
        self.levels.iter().flat_map(|level| level.runs().iter().map(move |run| (level.level, run)))
    }

    /// All runs that no equal one came before.
    pub fn new_runs(&self) -> impl Iterator<Item = (IsolationLevel, &PredictedRun)> {
        self.runs().filter(|(_, run)| !run.is_repeated)
    }

    /// What was observed and a run of this file, side by side: what takes part in what is wrong.
    pub fn beside<'a>(&'a self, run: &'a PredictedRun) -> Beside<'a> {
        let (observed, prediction) = (&self.history, &run.prediction);
        let story = &prediction.counterexample.history;
        let named = story.transactions().filter_map(|id| {
            let name = story.transaction_name(id).to_string();
            observed.find_transaction(&name)
        });
        let mut transactions: Vec<_> =
            named.chain(prediction.changed.iter().map(|changed| changed.transaction)).collect();
        transactions.sort_unstable();
        transactions.dedup();
        let keys = story.keys().filter_map(|key| observed.find_key(&story.key_name(key).to_string()));
        Beside {
            observed,
            predicted: &prediction.history,
            transactions,
            keys: keys.chain(prediction.changed.iter().map(|changed| changed.key)).collect(),
            changed: prediction.changed.iter().map(|changed| changed.read).collect(),
            cut: prediction.cuts.iter().map(|cut| cut.session).collect(),
        }
    }

    /// The new runs, ready to be drawn: a title, both runs, what is wrong with the second.
    pub fn drawings(&self) -> Vec<(String, Beside<'_>, Picture<'_>)> {
        let mut drawings = Vec::new();
        for (level, run) in self.new_runs() {
            let title = format!("prediction {}, from {} at {level}", run.number, skew_view::words::clean(&self.file));
            drawings.push((title, self.beside(run), Picture::from(&run.prediction.counterexample)));
        }
        drawings
    }
}

impl PredictedLevel {
    fn new(history: &History, question: &PredictQuestion, rounds: u64, watch: PredictWatch<'_>) -> PredictedLevel {
        let progress = |done: u64| (watch.progress)(question.level, done);
        let mut work = Work { rounds, stop: Some(watch.stop), progress: Some(&progress), done: 0 };
        let answer = match skew_predict::predict(history, question, &mut work) {
            Outlook::Found(runs, is_all) => {
                LevelAnswer::Found(runs.into_iter().map(PredictedRun::new).collect(), is_all)
            }
            Outlook::Nothing => LevelAnswer::Nothing(why_nothing(history)),
            Outlook::Observed(anomaly) => {
                let budget = Budget { stop: Some(watch.stop), ..Budget::UNLIMITED };
                LevelAnswer::Observed(Box::new(explain(history, anomaly.level, &anomaly, budget)))
            }
            Outlook::Open(why) => LevelAnswer::Open(why),
            Outlook::Unknown => LevelAnswer::Unknown,
        };
        PredictedLevel { level: question.level, answer, candidates: work.done, is_spent: work.done >= rounds }
    }

    /// The runs that were found.
    pub fn runs(&self) -> &[PredictedRun] {
        match &self.answer {
            LevelAnswer::Found(runs, _) => runs,
            _ => &[],
        }
    }

    fn runs_mut(&mut self) -> &mut [PredictedRun] {
        match &mut self.answer {
            LevelAnswer::Found(runs, _) => runs,
            _ => &mut [],
        }
    }

    /// The word for the answer.
    pub fn verdict(&self) -> &'static str {
        match self.answer {
            LevelAnswer::Found(..) => "found",
            LevelAnswer::Nothing(_) => "none",
            LevelAnswer::Observed(_) => "observed",
            LevelAnswer::Open(_) | LevelAnswer::Unknown => "unknown",
        }
    }
}

impl PredictedRun {
    fn new(prediction: Prediction) -> PredictedRun {
        PredictedRun { prediction, number: 0, is_repeated: false, replayed: None, confirmed: None }
    }
}

/// Why no run of this history can be another one.
fn why_nothing(history: &History) -> Option<&'static str> {
    let takes_part = |id: &TransactionId| history.outcome(*id) != Outcome::AbortedByDatabase;
    let is_active = |session: &SessionId| history.transactions_of(*session).any(|id| takes_part(&id));
    let active = history.sessions().filter(is_active).count();
    match active {
        0 => Some("no transaction took part: nothing happened"),
        1 => Some("one session only: nothing can interleave"),
        _ if skew_view::report::infers_nothing(history) => {
            Some("no transaction read a key that another one wrote: no read can change")
        }
        _ => None,
    }
}
