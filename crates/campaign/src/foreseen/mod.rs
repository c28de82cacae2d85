//! One run of a command that passes in, one that fails out: the campaign of `skew serve --predict -- command`.
//!
//! ```text
//!   record ── history ── predictions ── each is made again ──┬── the command fails: found
//!                │                                           └── it passes: what could others have seen of it? (companions)
//!                └── none of them fails: stepping stones ── each is made again ──┬── the command fails: found
//!                                                                                └── it passes: predict from what it recorded
//! ```
//!
//! What a recording does not have is what the program did not do: the withdrawal that was refused, the row that was not inserted. A stepping
//! stone is one read that may return something else although nothing is wrong yet; the program then does what it does, and that is recorded.
//! At most two are taken one after the other, and the command runs at most as often as it was told.
//!
//! Only a prediction can be proved away; a stepping stone is a try. So where the command never fails it is told what was tried.
//!
//! What was there before the second session began is the set-up: everybody sees it.

mod report;

pub use report::ForesightReport;

use crate::command::CommandEnd;
use crate::foretold::{ForetoldRun, Prophecy, ProphecyTerms, RecordedRun, Validation};
use crate::foretold::{record_among, replay_among, validate};
use crate::judge::{Judgement, compare};
use crate::served::ServeSettings;
use crate::{Complaint, StopFlags};
use skew_check::{AnomalyKind, Budget, Updates, explain};
use skew_history::format::{self, Format, Source};
use skew_history::{EventId, History, IsolationLevel, Outcome, TransactionId, Writer};
use skew_mockdb::{Foretelling, Overruled};
use skew_predict::{
    Boundary, ChangedRead, Outlook, PredictQuestion, Prediction, Strategy, Work, companions, predict, stepping_stones,
};
use std::collections::{BTreeSet, VecDeque};

/// So many predictions of one recording are looked at.
const PREDICTIONS: usize = 20;
/// So many candidates one question may look at.
const ROUNDS: u64 = 100_000;

/// What can be run again with other reads: a command, a workload.
pub trait Rerun {
    /// What it is called.
    fn name(&self) -> String;
    /// Whether what it does before its second session begins is a set-up, which everybody sees.
    fn sets_up(&self) -> bool;
    /// Whether its database keeps to the axioms alone.
    fn is_bare(&self) -> bool;
    /// Runs it with ordinary reads, one transaction at a time.
    fn record(&self, stop: StopFlags<'_>) -> Result<RecordedRun, Complaint>;
    /// Runs it with the reads and in the order that are foretold.
    fn replay(
        &self,
        foretelling: &Foretelling,
        order: &[String],
        stop: StopFlags<'_>,
    ) -> Result<ForetoldRun, Complaint>;
}

/// A command on databases of its own.
pub struct ServedCommand<'a> {
    /// The command and its database.
    pub settings: &'a ServeSettings,
    /// Levels that clients did not get are told of once, not in every run.
    pub overruled: Overruled,
}

impl Rerun for ServedCommand<'_> {
    fn name(&self) -> String {
        self.settings.command.join(" ")
    }

    fn sets_up(&self) -> bool {
        true
    }

    fn is_bare(&self) -> bool {
        self.settings.database.bare
    }

    fn record(&self, stop: StopFlags<'_>) -> Result<RecordedRun, Complaint> {
        record_among(&self.overruled, self.settings, stop)
    }

    fn replay(
        &self,
        foretelling: &Foretelling,
        order: &[String],
        stop: StopFlags<'_>,
    ) -> Result<ForetoldRun, Complaint> {
        replay_among(&self.overruled, self.settings, (foretelling, order), stop)
    }
}

/// What is looked for, and with what.
#[derive(Clone, Copy)]
pub struct ForesightSettings<'a> {
    /// What runs.
    pub program: &'a dyn Rerun,
    /// How much work the checker may do for a question about a run.
    pub budget: u64,
    /// How predictions are looked for.
    pub strategy: Strategy,
    /// How many stepping stones are taken one after the other.
    pub stones: usize,
    /// The level that runs must keep.
    pub level: IsolationLevel,
    /// The level that they must break.
    pub against: IsolationLevel,
    /// Whether updates lock.
    pub updates: Updates,
    /// How often the command may run again.
    pub replays: u64,
}

/// How a run was come by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComeBy {
    /// It was predicted.
    Prediction,
    /// One read was changed to see what happens.
    SteppingStone,
}

/// A run that was made again with other reads.
#[derive(Clone, Debug)]
pub struct ForeseenRun {
    /// How it was come by.
    pub by: ComeBy,
    /// How many stepping stones led there, itself among them.
    pub stones: usize,
    /// The reads that changed, in words, in the order in which they were found.
    pub changed: Vec<String>,
    /// What was predicted of it.
    pub anomaly: Option<AnomalyKind>,
    /// How it was cut, if it was predicted.
    pub boundary: Option<Boundary>,
    /// The run.
    pub run: ForetoldRun,
    /// What it is worth.
    pub validation: Validation,
}

impl ForeseenRun {
    /// Whether the command failed.
    pub fn fails(&self) -> bool {
        matches!(self.run.ended, CommandEnd::Badly(_))
    }
}

/// What ends a search before it is through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchLimit {
    /// The command may not run more often.
    Replays,
    /// There are more predictions than are looked at, or more candidates for them.
    Predictions,
    /// The checker may not take more steps.
    Budget,
    /// The time was over.
    Time,
}

/// What came of it.
#[derive(Debug)]
pub struct Foresight {
    /// The run with ordinary reads.
    pub recorded: RecordedRun,
    /// What it recorded; nothing where nothing was.
    pub history: Option<History>,
    /// What is wrong with the recorded run itself, if anything is.
    pub observed: Option<AnomalyKind>,
    /// The runs that were made again, in order.
    pub runs: Vec<ForeseenRun>,
    /// What ended the search before it was through, if anything did.
    pub limit: Option<SearchLimit>,
    /// Somebody pressed Ctrl-C.
    pub is_interrupted: bool,
}

impl Foresight {
    /// The runs in which the command failed.
    pub fn failures(&self) -> impl Iterator<Item = &ForeseenRun> {
        self.runs.iter().filter(|run| run.fails())
    }
}

/// A recording to predict from.
struct Start {
    history: History,
    /// What was changed to come here: a read for every stepping stone.
    changed: Vec<String>,
}

/// The campaign.
struct Campaign<'a> {
    settings: ForesightSettings<'a>,
    stop: StopFlags<'a>,
    progress: &'a mut dyn FnMut(u64, &str),
    runs: Vec<ForeseenRun>,
    /// What was made again already.
    known: BTreeSet<String>,
    limit: Option<SearchLimit>,
}

/// Records the command once, and looks for a run in which it fails.
pub fn foresee(
    settings: ForesightSettings<'_>,
    stop: StopFlags<'_>,
    progress: &mut dyn FnMut(u64, &str),
) -> Result<Foresight, Complaint> {
    let recorded = settings.program.record(stop)?;
    let history = parsed(&recorded.history)?;
    let (runs, known) = (Vec::new(), BTreeSet::new());
    let mut campaign = Campaign { settings, stop, progress, runs, known, limit: None };
    let mut observed = None;
    if let (Some(history), CommandEnd::Well) = (&history, &recorded.ended) {
        observed = campaign.everything(history)?;
    }
    let Campaign { runs, limit, .. } = campaign;
    // Whatever else was left open was left because of that.
    let limit = if stop.is_stopped() { Some(SearchLimit::Time) } else { limit };
    Ok(Foresight { recorded, history, observed, runs, limit, is_interrupted: stop.is_interrupted() })
}

impl<'a> Campaign<'a> {
    /// Predictions first, then stepping stones, breadth first; what is wrong with the recorded run itself.
    fn everything(&mut self, recorded: &History) -> Result<Option<AnomalyKind>, Complaint> {
        let mut starts = VecDeque::from([Start { history: recorded.clone(), changed: Vec::new() }]);
        let mut observed = None;
        while let Some(start) = starts.pop_front() {
            if self.is_over() {
                break;
            }
            let wrong = self.predictions(&start)?;
            if start.changed.is_empty() {
                observed = wrong;
            }
            if start.changed.len() < self.settings.stones && !self.has_failed() {
                self.stones(&start, &mut starts)?;
            }
            if self.has_failed() {
                break;
            }
        }
        Ok(observed)
    }

    fn has_failed(&self) -> bool {
        self.runs.iter().any(ForeseenRun::fails)
    }

    /// Whether what is still to be done has to be left.
    fn is_over(&mut self) -> bool {
        if self.runs.len() as u64 >= self.settings.replays {
            self.limit = Some(SearchLimit::Replays);
        }
        self.limit == Some(SearchLimit::Replays) || self.stop.is_stopped()
    }

    fn question(&self, history: &History) -> PredictQuestion {
        let ForesightSettings { level, against, updates, strategy, program, replays, .. } = self.settings;
        // Who makes one run again needs one prediction, and not all that there are.
        let most = if replays == 1 { 1 } else { PREDICTIONS };
        let set_up = if program.sets_up() { set_up(history) } else { Vec::new() };
        PredictQuestion { against, updates, strategy, most, set_up, ..PredictQuestion::new(level) }
    }

    fn budget(&self) -> Budget<'a> {
        Budget { steps: self.settings.budget, stop: Some(self.stop.stop), progress: None }
    }

    fn work(&self) -> Work<'_> {
        Work { stop: Some(self.stop.stop), ..Work::rounds(ROUNDS) }
    }

    /// Makes all predictions of a recording again; what is wrong with it by itself, if anything is.
    fn predictions(&mut self, start: &Start) -> Result<Option<AnomalyKind>, Complaint> {
        let question = self.question(&start.history);
        let predictions = match predict(&start.history, &question, &mut self.work()) {
            Outlook::Found(predictions, is_complete) => {
                if !is_complete {
                    self.limit.get_or_insert(SearchLimit::Predictions);
                }
                predictions
            }
            Outlook::Nothing => return Ok(None),
            Outlook::Observed(anomaly) => {
                let budget = Budget { stop: Some(self.stop.stop), ..Budget::UNLIMITED };
                return Ok(Some(explain(&start.history, anomaly.level, &anomaly, budget).kind));
            }
            Outlook::Open(_) | Outlook::Unknown => {
                self.limit.get_or_insert(SearchLimit::Predictions);
                return Ok(None);
            }
        };
        for prediction in predictions {
            if self.is_over() {
                break;
            }
            // What only a transaction saw that was rolled back is nothing that anybody is left with.
            let is_left = || compare(&prediction.history, self.settings.against, self.budget()).0;
            if question.most > 1 && !matches!(is_left(), Judgement::Fails(_)) {
                continue;
            }
            let passes = self.prediction(start, &prediction)?;
            let all =
                if passes { companions(&start.history, &question, &prediction, &mut self.work()) } else { Vec::new() };
            for companion in all {
                if self.is_over() {
                    break;
                }
                self.prediction(start, &companion)?;
            }
        }
        Ok(None)
    }

    /// Makes a prediction again; whether the command passed.
    fn prediction(&mut self, start: &Start, prediction: &Prediction) -> Result<bool, Complaint> {
        let kind = (prediction.counterexample.kind, prediction.boundary);
        let made = self.again(start, &prediction.history, &prediction.changed, ComeBy::Prediction, Some(kind))?;
        Ok(made.is_some_and(|run| !self.runs[run].fails()))
    }

    /// Makes all stepping stones of a recording; what they record is where to go on from.
    fn stones(&mut self, start: &Start, starts: &mut VecDeque<Start>) -> Result<(), Complaint> {
        let question = self.question(&start.history);
        let mut work = self.work();
        let stones = stepping_stones(&start.history, &question, &mut work);
        if work.done >= work.rounds {
            self.limit.get_or_insert(SearchLimit::Predictions);
        }
        for stone in stones {
            if self.is_over() {
                return Ok(());
            }
            let Some(made) = self.again(start, &stone.history, &[stone.changed], ComeBy::SteppingStone, None)? else {
                continue;
            };
            let run = &self.runs[made];
            if run.fails() {
                return Ok(());
            }
            if let Some(history) = parsed(&run.run.history)? {
                starts.push_back(Start { history, changed: run.changed.clone() });
            }
        }
        Ok(())
    }

    /// Makes a run again, unless it was made; its number.
    fn again(
        &mut self,
        start: &Start,
        history: &History,
        changed: &[ChangedRead],
        by: ComeBy,
        predicted: Option<(AnomalyKind, Boundary)>,
    ) -> Result<Option<usize>, Complaint> {
        let ForesightSettings { level, against, updates, program, .. } = self.settings;
        if !program.is_bare() && changed.iter().any(|read| misses_own(&start.history, read)) {
            return Ok(None);
        }
        let budget = self.budget();
        let places = changed.iter().map(|read| place(&start.history, read.transaction, read.read)).collect();
        let terms = ProphecyTerms { level, updates, budget };
        let Some(prophecy) = Prophecy::of(history, &places, terms)? else {
            self.limit.get_or_insert(SearchLimit::Budget);
            return Ok(None);
        };
        if !self.known.insert(format!("{prophecy:?}")) {
            return Ok(None);
        }
        let words: Vec<String> = changed.iter().map(|read| in_words(&start.history, read)).collect();
        (self.progress)(self.runs.len() as u64 + 1, &words.join("; "));
        let run = program.replay(&prophecy.foretelling, &prophecy.order, self.stop)?;
        // Who was not let go on to the end has not passed.
        let is_cut_off = match run.ended {
            CommandEnd::Interrupted | CommandEnd::GivenUp => true,
            CommandEnd::Well => self.stop.is_stopped(),
            CommandEnd::Badly(_) => false,
        };
        if is_cut_off {
            return Ok(None);
        }
        let validation = validate(&run, level, against, budget)?;
        let stones = start.changed.len() + usize::from(by == ComeBy::SteppingStone);
        let changed = start.changed.iter().cloned().chain(words).collect();
        let (anomaly, boundary) = predicted.unzip();
        self.runs.push(ForeseenRun { by, stones, changed, anomaly, boundary, run, validation });
        Ok(Some(self.runs.len() - 1))
    }
}

/// Runs the command once more, with the reads that a history has, in its order. Nothing if its level does not allow them.
pub fn repeat(
    settings: ForesightSettings<'_>,
    (name, text): (&str, &str),
    stop: StopFlags<'_>,
) -> Result<Option<ForetoldRun>, Complaint> {
    let history = format::read(&[Source { name, bytes: text.as_bytes() }], Format::Native);
    let history = history.map_err(|error| Complaint::of_file(&error))?;
    let budget = Budget { steps: settings.budget, stop: Some(stop.stop), progress: None };
    let terms = ProphecyTerms { level: settings.level, updates: settings.updates, budget };
    let Some(prophecy) = Prophecy::of(&history, &BTreeSet::new(), terms)? else { return Ok(None) };
    settings.program.replay(&prophecy.foretelling, &prophecy.order, stop).map(Some)
}

/// What was recorded; nothing where nobody read or wrote anything.
fn parsed(history: &str) -> Result<Option<History>, Complaint> {
    if history.lines().nth(1).is_none() {
        return Ok(None);
    }
    let source = Source { name: "the recorded run", bytes: history.as_bytes() };
    format::read(&[source], Format::Native).map(Some).map_err(|error| Complaint::of_file(&error))
}

/// A read by the name of its transaction, and which of its events it is.
fn place(history: &History, transaction: TransactionId, read: EventId) -> (String, usize) {
    let first = history.event_range(transaction).start;
    (history.transaction_name(transaction).to_string(), (read.0 - first) as usize)
}

/// Whether a session would not see what it wrote itself. Read committed as the papers have it allows that; of databases only those that keep
/// to the axioms alone do it, so there is no use in asking others for it.
fn misses_own(history: &History, changed: &ChangedRead) -> bool {
    let ChangedRead { transaction, key, from, .. } = *changed;
    let wrote = |other: &TransactionId| {
        history.outcome(*other) == Outcome::Committed
            && history.events_of(*other).iter().any(|event| event.key == key && !event.is_read())
    };
    let Some(last) = history.before_in_session(transaction).rev().find(wrote) else { return false };
    match from {
        Writer::Initial => true,
        Writer::Transaction(from) => history.session_of(from) == history.session_of(last) && from < last,
    }
}

/// How many sessions did something after the set-up.
fn took_part(history: &History) -> usize {
    let set_up: BTreeSet<TransactionId> = set_up(history).into_iter().collect();
    let rest = history.transactions().filter(|transaction| !set_up.contains(transaction));
    rest.map(|transaction| history.session_of(transaction)).collect::<BTreeSet<_>>().len()
}

/// The transactions that were over before the second session began.
pub fn set_up(history: &History) -> Vec<TransactionId> {
    let mut by_time: Vec<TransactionId> = history.transactions().collect();
    by_time.sort_by_key(|&transaction| (history.times(transaction).begin.unwrap_or(i64::MAX), transaction));
    let mut first = by_time.iter().map(|&transaction| history.session_of(transaction));
    let Some(session) = first.next() else { return Vec::new() };
    let length = by_time.iter().take_while(|&&transaction| history.session_of(transaction) == session).count();
    // One session alone has nobody to set up for.
    if length == by_time.len() { Vec::new() } else { by_time[..length].to_vec() }
}

fn in_words(history: &History, changed: &ChangedRead) -> String {
    let ChangedRead { transaction, key, from, was, .. } = *changed;
    let session = history.session_name(history.session_of(transaction));
    let number = position(history, transaction);
    let writer = |writer: Writer| match writer {
        Writer::Initial => "the initial state".to_owned(),
        Writer::Transaction(writer) => {
            format!("{}'s transaction {}", history.session_name(history.session_of(writer)), position(history, writer))
        }
    };
    let key = history.key_in_words(key);
    format!("{session}'s transaction {number} reads {key} from {} instead of {}", writer(from), writer(was))
}

/// The place of a transaction among those of its session, counted from 1.
fn position(history: &History, transaction: TransactionId) -> u32 {
    history.position_in_session(transaction) + 1
}
