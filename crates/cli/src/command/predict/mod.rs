//! `skew predict`: this run went well; could it have gone wrong?
//!
//! ```text
//!   arguments ── settings ──> for every input: read, predict at all levels, join with what is known
//!                                │
//!                                ├── output   text, JSON or drawings, as they come
//!                                ├── replay   --replay makes each prediction again
//!                                └── save     --save keeps each prediction as a history and as a counterexample
//! ```

mod output;
mod replay;
mod save;

use super::Show;
use super::program::UpdatesArgument;
use crate::clock::{self, ProgressLine};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint, Input, Limits};
use output::PredictOutput;
use replay::Replayer;
use save::SavedRuns;
use skew_campaign::predicted::{KnownRuns, PredictSettings, PredictWatch, PredictedFile};
use skew_history::History;
use skew_history::format::Format;
use skew_history::level::{IsolationLevel, spellings};
use skew_predict::Strategy;
use std::path::PathBuf;
use std::time::Duration;

/// How many predictions `--all` stops at.
const MANY: usize = 100;

/// Find a run that could have been instead of a recorded one, and that is not serializable
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    printf 'a: r(x,init) w(x,1); b: r(x,1) w(x,2)' | skew predict -\n  \
    printf 'a: r(x,init) w(x,1); b: r(x,1) w(x,2)' | skew predict - --level snapshot --format json\n\n\
    Exit codes: 0 there is none, 1 a run was found (or the recorded one is bad itself), 2 bad usage or input, 3 inconclusive")]
pub(crate) struct Arguments {
    /// Histories: files (gzip, xz, zstd and tar too), folders, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(short, long, value_delimiter = ',', value_name = "LEVEL",
        help = format!("The levels that a run must keep: {} [default: those of the engine that the history was recorded on, else causal,read-committed]",
            spellings(PredictSettings::possible_levels())))]
    level: Vec<IsolationLevel>,
    /// The level that a run must break
    #[arg(long, value_name = "LEVEL", default_value = "serializable")]
    against: IsolationLevel,
    #[arg(long, value_name = "STRATEGY", default_value_t = Strategy::Exact, help = strategy_help())]
    strategy: Strategy,
    /// Show all runs that differ in anomaly and statements, or tables where these are not known [up to 100, or to --max]
    #[arg(long)]
    all: bool,
    /// Show at most so many runs of each history and level [default: 1, with --all 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,
    /// Whether locking reads stay locking
    #[arg(long, value_enum, default_value_t = UpdatesArgument::Atomic)]
    updates: UpdatesArgument,
    /// Predict even from a history that breaks these levels itself
    #[arg(long)]
    even_if_bad: bool,
    /// Change only what this session reads
    #[arg(long, value_name = "NAME")]
    only_session: Option<String>,
    /// How to show the results
    #[arg(long, value_enum, default_value_t = Show::Human)]
    format: Show,
    #[arg(long, value_name = "FORMAT", help = input::from_help())]
    from: Option<Format>,
    /// Keep every prediction in this folder: a history for `skew check`, a counterexample for `skew view`, with --replay what was done then
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Give up a level of a history after so many candidates
    #[arg(long, value_name = "CANDIDATES")]
    budget: Option<u64>,
    /// Give up after this time, such as 30s, 500ms, 2m
    #[arg(long, value_parser = clock::parse_duration, value_name = "DURATION")]
    timeout: Option<Duration>,
    /// Take what the first session did before the second one began for a set-up, which everybody sees; with --replay it is
    #[arg(long)]
    set_up: bool,
    /// Run this command on a database that returns what each prediction says; it finds the database as with `skew serve`, and must be the
    /// one whose run `skew serve --record` has recorded. `skew run WORKLOAD --serial …`, recorded with --record, runs on a mock database of
    /// its own that returns the same
    #[arg(long, value_name = "COMMAND")]
    replay: Option<String>,
    /// With --replay: SQL that makes the initial state
    #[arg(long, value_name = "FILE", requires = "replay")]
    init: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
}

fn strategy_help() -> String {
    let names: Vec<&str> = Strategy::ALL.into_iter().map(Strategy::name).collect();
    format!("How to look for it: {}", names.join(", "))
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let replayer = match self.replay.as_deref().map(|command| Replayer::new(command, &self)).transpose() {
            Ok(replayer) => replayer,
            Err(complaint) => return console.conclude(Err(complaint)),
        };
        let settings = self.settings(replayer.as_ref());
        let again = replayer.as_ref().and_then(|_| settings.refusal_of_replay());
        if let Some(refusal) = settings.refusal().or(again) {
            return console.conclude(Err(refusal));
        }
        if let Some(limit) = self.timeout {
            clock::stop_after(limit);
        }
        match self.save.as_deref().map(SavedRuns::create).transpose() {
            Ok(saved) => Predicting {
                arguments: &self,
                settings: &settings,
                replayer: replayer.as_ref(),
                output: PredictOutput::new(self.format),
                saved,
                known: KnownRuns::default(),
                progress: ProgressLine::new(console.shows_progress()),
                console,
                exit: Exit::Holds,
            }
            .everything(),
            Err(complaint) => console.conclude(Err(complaint)),
        }
    }

    fn settings(&self, replayer: Option<&Replayer>) -> PredictSettings {
        let mut levels: Vec<IsolationLevel> = Vec::new();
        // What is made again is made on a mock database.
        let usual: &[IsolationLevel] = if replayer.is_some() { &PredictSettings::USUAL } else { &[] };
        for &level in if self.level.is_empty() { usual } else { &self.level } {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        let usual = if self.all { MANY } else { 1 };
        PredictSettings {
            sets_up: self.set_up || replayer.is_some_and(Replayer::sets_up),
            levels,
            against: self.against,
            strategy: self.strategy,
            updates: self.updates.into(),
            even_if_bad: self.even_if_bad,
            only_session: self.only_session.clone(),
            most: self.max.map_or(usual, |most| usize::try_from(most).unwrap_or(usize::MAX)),
            rounds: self.budget.unwrap_or(u64::MAX),
        }
    }
}

/// One run over all inputs.
struct Predicting<'a> {
    arguments: &'a Arguments,
    settings: &'a PredictSettings,
    replayer: Option<&'a Replayer>,
    console: &'a mut Console,
    output: PredictOutput,
    saved: Option<SavedRuns>,
    known: KnownRuns,
    progress: ProgressLine,
    exit: Exit,
}

impl Predicting<'_> {
    fn everything(mut self) -> Exit {
        self.output.begin(self.console);
        for argument in &self.arguments.files {
            match input::locate(argument) {
                Ok(locations) => locations.iter().for_each(|location| self.location(location)),
                Err(complaint) => self.complain(&complaint),
            }
        }
        self.output.end(self.console);
        // Whatever was found before, what was not looked at might be worse.
        if clock::is_interrupted() { Exit::Inconclusive } else { self.exit }
    }

    fn complain(&mut self, complaint: &Complaint) {
        clock::something_to_keep();
        self.progress.pause();
        self.console.complain(complaint);
        self.output.complaint(complaint, self.console);
        self.exit.combine(Exit::BadInput);
    }

    fn location(&mut self, location: &input::Location) {
        if clock::is_stopped() {
            return self.skip(&location.name());
        }
        self.progress.begin(&location.name());
        match location.open(self.arguments.limits) {
            Ok(inputs) => inputs.into_iter().for_each(|input| self.input(input)),
            // It was not the file that ended the reading.
            Err(_) if clock::is_stopped() => self.skip(&location.name()),
            Err(complaint) => self.complain(&complaint),
        }
    }

    fn skip(&mut self, name: &str) {
        let (why, advice) = match clock::is_interrupted() {
            true => ("not looked at: interrupted", "predict from it again"),
            false => ("not looked at: the time was over", "raise --timeout"),
        };
        let complaint = Complaint::new(name, why.to_owned(), advice);
        self.console.note(&complaint.to_string());
        self.output.complaint(&complaint, self.console);
        self.exit.combine(Exit::Inconclusive);
    }

    fn input(&mut self, input: Input) {
        if clock::is_stopped() {
            return self.skip(&input.name);
        }
        self.progress.begin(&input.name);
        let name = input.name.clone();
        match input.into_history(self.arguments.from) {
            _ if clock::is_stopped() => self.skip(&name),
            Ok((_, history)) => self.history(name, history),
            Err(complaint) => self.complain(&complaint),
        }
    }

    fn history(&mut self, name: String, history: History) {
        clock::something_to_keep();
        let progress = |level: IsolationLevel, candidates: u64| {
            self.progress.say(format!("{level}, {candidates} candidates looked at"));
        };
        let watch = PredictWatch { stop: clock::stop_flag(), progress: &progress };
        let mut predicted = match PredictedFile::new(name, history, self.settings, watch) {
            Ok(predicted) => predicted,
            Err(complaint) => return self.complain(&complaint),
        };
        self.known.join(&mut predicted);
        if let Some(Err(complaint)) = self.replayer.map(|again| again.replay(&mut predicted, self.settings)) {
            self.complain(&complaint);
        }
        self.keep(&predicted);
        self.exit.combine(predicted.conclusion().into());
        self.progress.pause();
        self.output.report(predicted, self.settings, &self.known, self.console);
    }

    /// Writes the new predictions, where that was asked for.
    fn keep(&mut self, predicted: &PredictedFile) {
        let Some(saved) = &self.saved else { return };
        let mut complaints = Vec::new();
        for (level, run) in predicted.new_runs() {
            match saved.save(run, level, self.settings.against) {
                Ok((path, confirm)) => self.known.keep(run.number, path, confirm),
                Err(complaint) => complaints.push(complaint),
            }
        }
        complaints.iter().for_each(|complaint| self.complain(complaint));
    }
}
