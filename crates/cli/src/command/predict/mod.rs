//! `skew predict`: this run went well; could it have gone wrong?
//!
//! ```text
//!   arguments ── settings ──> for every input: read, predict at all levels, join with what is known
//!                                │
//!                                ├── tell     text, JSON or drawings, as they come
//!                                ├── replay   --replay makes each prediction again
//!                                └── save     --save keeps each prediction as a history and as a counterexample
//! ```

mod replay;
mod save;

use super::Show;
use super::each_input::{EachInput, Results};
use super::program::{self, Confirming, UpdatesArgument};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint, Input, Limits};
use replay::Replayer;
use save::SavedRuns;
use skew_campaign::confirmed::LiveServers;
use skew_campaign::predicted::{KnownRuns, PredictSettings, PredictWatch, PredictedFile};
use skew_campaign::{Moment, ProgramFile, each_once};
use skew_history::History;
use skew_history::format::Format;
use skew_history::level::{IsolationLevel, spellings};
use skew_predict::Strategy;
use skew_view::{Picture, beside, dot};
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
    confirming: Confirming,
    /// With --confirm: the program whose run was recorded, by `skew play FILE --record DIR`
    #[arg(long, value_name = "FILE", requires = "confirm")]
    program: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
}

fn strategy_help() -> String {
    let names: Vec<&str> = Strategy::ALL.into_iter().map(Strategy::name).collect();
    format!("How to look for it: {}", names.join(", "))
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = self.predict(console);
        console.conclude(outcome)
    }

    fn predict(&self, console: &mut Console) -> Result<Exit, Complaint> {
        let replayer = self.replay.as_deref().map(|command| Replayer::new(command, self)).transpose()?;
        let settings = self.settings(replayer.as_ref());
        let again = replayer.as_ref().and_then(|_| settings.refusal_of_replay());
        settings.refusal().or(again).map_or(Ok(()), Err)?;
        let servers = self.servers(&settings)?;
        if let Some(limit) = self.timeout {
            clock::stop_after(limit);
        }
        let predicting = Predicting {
            arguments: self,
            settings: &settings,
            replayer: replayer.as_ref(),
            servers,
            saved: self.save.as_deref().map(SavedRuns::create).transpose()?,
            results: Results::new(self.format, console),
            known: KnownRuns::default(),
            to_draw: Vec::new(),
        };
        Ok(predicting.everything())
    }

    /// With `--confirm`: the program whose runs are made, and the servers that they are made on.
    fn servers(&self, settings: &PredictSettings) -> Result<Option<(ProgramFile, LiveServers)>, Complaint> {
        let Some(servers) = self.confirming.servers("--confirm", &settings.levels)? else { return Ok(None) };
        let path = self.program.as_deref().ok_or_else(PredictSettings::lacks_program)?;
        program::read(path, Moment::USUAL, &settings.levels).map(|program| Some((program, servers)))
    }

    fn settings(&self, replayer: Option<&Replayer>) -> PredictSettings {
        // What is made again is made on a mock database.
        let levels = match replayer {
            Some(_) if self.level.is_empty() => &PredictSettings::USUAL[..],
            _ => &self.level,
        };
        let usual = if self.all { MANY } else { 1 };
        PredictSettings {
            sets_up: self.set_up || replayer.is_some_and(Replayer::sets_up),
            levels: each_once(levels.iter().copied()),
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
    servers: Option<(ProgramFile, LiveServers)>,
    results: Results<'a>,
    saved: Option<SavedRuns>,
    known: KnownRuns,
    /// One drawing holds all predictions, so it waits for the last.
    to_draw: Vec<PredictedFile>,
}

impl<'a> EachInput<'a> for Predicting<'a> {
    const RESULTS: &'static str = "predictions";
    const SKIPPED: (&'static str, &'static str) = ("not looked at", "predict from it again");
    type Read = (String, History);

    fn results(&mut self) -> &mut Results<'a> {
        &mut self.results
    }

    fn read(&self, input: Input) -> Result<Self::Read, Complaint> {
        let name = input.name.clone();
        input.into_history(self.arguments.from).map(|(_, history)| (name, history))
    }

    fn history(&mut self, (name, history): Self::Read) {
        clock::something_to_keep();
        let progress = |level: IsolationLevel, candidates: u64| {
            self.results.progress.say(format!("{level}, {candidates} candidates looked at"));
        };
        let watch = PredictWatch { stop: clock::stop_flag(), progress: &progress };
        let mut predicted = match PredictedFile::new(name, history, self.settings, watch) {
            Ok(predicted) => predicted,
            Err(complaint) => return self.results.complain(&complaint),
        };
        self.known.join(&mut predicted);
        if let Some(Err(complaint)) = self.replayer.map(|again| again.replay(&mut predicted, self.settings)) {
            self.results.complain(&complaint);
        }
        if let Some((program, servers)) = &mut self.servers {
            let confirmed = predicted.confirm(program, self.settings, servers, clock::flags());
            confirmed.unwrap_or_else(|complaint| self.results.complain(&complaint));
        }
        self.keep(&predicted);
        self.results.exit.combine(predicted.conclusion().into());
        self.results.progress.pause();
        self.tell(predicted);
    }
}

impl Predicting<'_> {
    fn everything(mut self) -> Exit {
        self.each(&self.arguments.files, self.arguments.limits);
        if self.arguments.format == Show::Svg {
            let drawings: Vec<_> = self.to_draw.iter().flat_map(PredictedFile::drawings).collect();
            self.results.console.result(&beside::drawings(&drawings));
        }
        self.exit()
    }

    fn tell(&mut self, predicted: PredictedFile) {
        let Predicting { results, settings, known, .. } = self;
        match results.show {
            Show::Human => results.say(&predicted.human(settings, known, results.console.palette)),
            Show::Json => predicted.json(settings, known).iter().for_each(|object| results.object(object)),
            Show::Dot => predicted.new_runs().for_each(|(_, run)| {
                results.console.result(&dot::counterexample(Picture::from(&run.prediction.counterexample)));
            }),
            Show::Svg if predicted.new_runs().next().is_some() => self.to_draw.push(predicted),
            Show::Svg => {}
        }
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
        complaints.iter().for_each(|complaint| self.results.complain(complaint));
    }
}
