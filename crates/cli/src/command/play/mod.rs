//! `skew play`: runs a program on a database as weak as its level allows, again and again, and tells what went wrong.
//!
//! ```text
//!   program ──> for every seed: stage (sessions, turns, store) ──> Played: history, results, what was written
//!                                                                    │
//!                        judge          is it what the level allows? is it serializable?
//!                        assertions     are they true in every state in which it may have left the database?
//!                        tally          how often, with which seed first ──> text or JSON
//! ```
//!
//! A seed decides everything about a run: run number n of `--seed s` is the only run of `--seed s+n --runs 1`.

mod stage;
mod store;
mod tally;

use super::program::{self, Format, GranularityArgument, UpdatesArgument};
use super::replay::{Given, ONE_RUN, REST, Replayed, SHOWN};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{RecordErrors, RecordKeeper, RecordingFailure, unwritable};
use skew_campaign::Moment;
use skew_campaign::judge::{Judge, Judgement};
use skew_campaign::program_file::complaint;
use skew_history::IsolationLevel;
use skew_mockdb::{Campaign, ChooserKind};
use skew_program::{MOST_STEPS, Program};
use skew_sql::Stop;
use skew_value::SqlError;
use stage::{Played, Rules};
use std::fs;
use std::path::PathBuf;
use store::Weakness;
use tally::{Failure, Tally};

/// How long the check of a run may take.
const BUDGET: u64 = 1_000_000;

/// How often a refused transaction is tried again.
const RETRIES: u32 = 10;

/// Run a program on a database as weak as its level allows, and report failed assertions
#[derive(clap::Args)]
#[command(after_help = "Example (two people take money out of one account):\n  \
    skew play examples/withdraw.sql --level read-committed\n  \
    skew play examples/withdraw.sql --level snapshot\n\n\
    Exit codes: 0 nothing failed, 1 an assertion failed or a run violates --against, 2 bad usage or input, 3 inconclusive")]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given<Arguments>,
    /// The program: schema, procedures, sessions, assertions; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How weak the database is: rc, ra, cc, pc, psi, si, ser or their long names
    #[arg(short, long, default_value = "causal", value_name = "LEVEL")]
    level: IsolationLevel,
    /// Where chance begins; run n has seed N + n
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// When the database's clock starts, of which every transaction takes a second
    #[arg(long, default_value_t = Moment::USUAL, value_name = "TIME")]
    clock: Moment,
    /// How many runs
    #[arg(long, default_value_t = 100, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Whether updates lock their rows and read the latest version, or are plain reads and writes
    #[arg(long, value_enum, default_value_t = UpdatesArgument::Atomic)]
    updates: UpdatesArgument,
    /// What is one key of the history: a row, or each cell of it
    #[arg(long, value_enum, default_value_t = GranularityArgument::Row)]
    granularity: GranularityArgument,
    /// Which version a read returns: random, latest, stalest, latest-per-session or novel
    #[arg(long, default_value = "random", value_name = "NAME")]
    chooser: ChooserKind,
    /// Whether sessions take turns after every event, or run whole transactions one at a time
    #[arg(long, value_enum, default_value_t = Schedule::Interleaved)]
    schedule: Schedule,
    /// How often a transaction that the database refused is tried again
    #[arg(long, default_value_t = RETRIES, value_name = "N")]
    retry: u32,
    /// Compare runs with this level; given, a run that violates it is a failure [default: serializable]
    #[arg(long, value_name = "LEVEL")]
    against: Option<IsolationLevel>,
    /// Stop at the first run in which something failed
    #[arg(long)]
    stop_at_first: bool,
    /// Write the history of every run into this folder
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// When a history cannot be written, on a full disk for instance: end, or go on without recording this run and those after it. It ends
    /// unless told otherwise, because a folder that lacks the last runs is easily taken for all of them. A path that is wrong from the
    /// start ends it in any case
    #[arg(long, value_enum, default_value_t = RecordErrors::Stop)]
    record_errors: RecordErrors,
    /// Keep counterexamples in this folder, for `skew view`
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// How many steps a call may take
    #[arg(long, default_value_t = MOST_STEPS, value_name = "N")]
    max_steps: u64,
    /// Give up the check of a run after so many steps of search
    #[arg(long, default_value_t = BUDGET, value_name = "STEPS")]
    budget: u64,
    /// How to show the results
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

/// Who goes when.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum Schedule {
    /// One event at a time
    Interleaved,
    /// One transaction at a time
    Serial,
}

impl Replayed for Arguments {
    const COMMAND: &'static str = "skew play";
    const LEFT_OUT: &'static [(&'static str, &'static str)] =
        &[("stop_at_first", ONE_RUN), ("record", SHOWN), ("record_errors", SHOWN), ("save", SHOWN), ("format", SHOWN)];
    const ORDER: &'static [&'static str] = &[
        "file",
        "level",
        "updates",
        "granularity",
        "chooser",
        "clock",
        "schedule",
        "retry",
        "max_steps",
        "budget",
        "against",
        REST,
        "seed",
        "runs",
    ];
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        // Before the run, so that a run that is stopped can be repeated too.
        console.note(&format!("seed {}", self.seed));
        let outcome = self.play(console);
        console.conclude(outcome)
    }

    fn play(&self, console: &mut Console) -> Result<Exit, Complaint> {
        let file = program::read(&self.file, self.clock)?;
        file.warnings().for_each(|warning| console.note(&warning));
        let program = &file.program;
        let mut campaign = RunningCampaign::new(self, program)?;
        let played = campaign.all_runs();
        let (tally, unrecorded) = (campaign.tally, campaign.keeper.failure());
        // What was found before something could not go on was found all the same.
        if played.is_err() && !tally.has_runs() {
            return played.map(|()| Exit::BadInput);
        }
        let saved = self.save.as_ref().map_or(Ok(()), |folder| tally.save(self, folder, &file));
        match self.format {
            Format::Human => console.say(&tally.human(self, program, console.palette)),
            Format::Json => console.result(&format!("{}\n", tally.json(self))),
        }
        played.and(saved)?;
        unrecorded.map_or_else(|| Ok(tally.exit(self.against.is_some())), |failure| Err(recording_stopped(&failure)))
    }

    fn name(&self) -> String {
        self.file.to_string_lossy().into_owned()
    }

    fn rules(&self) -> Rules {
        Rules {
            weakness: Weakness {
                level: self.level,
                updates: self.updates.into(),
                granularity: self.granularity.into(),
                chooser: self.chooser,
                turns: self.schedule == Schedule::Interleaved,
            },
            retries: self.retry,
            most_steps: self.max_steps,
        }
    }

    /// The command that shows one run again.
    pub(super) fn replay(&self, seed: u64) -> String {
        let mut line = self.given.line();
        line.insist("level");
        // What was seen before decides what is novel, so nothing less than all runs up to this one will do.
        let (first, runs) = match self.chooser {
            ChooserKind::Novel => (self.seed, seed.wrapping_sub(self.seed) + 1),
            _ => (seed, 1),
        };
        line.set("seed", first);
        line.set("runs", runs);
        line.end()
    }
}

/// The runs of one command.
struct RunningCampaign<'a> {
    arguments: &'a Arguments,
    program: &'a Program,
    /// The level that every run is checked against: what each transaction asked for.
    own_level: IsolationLevel,
    judge: Judge<'static>,
    novelty: Campaign,
    tally: Tally,
    /// Knows whether runs are still recorded.
    keeper: RecordKeeper,
}

impl<'a> RunningCampaign<'a> {
    fn new(arguments: &'a Arguments, program: &'a Program) -> Result<RunningCampaign<'a>, Complaint> {
        for folder in [&arguments.record, &arguments.save].into_iter().flatten() {
            fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let mut calls = program.scripts().iter().flat_map(|script| &script.calls);
        let mixed = calls.any(|call| call.level.is_some_and(|level| level != arguments.level));
        let own_level = if mixed { IsolationLevel::Declared } else { arguments.level };
        let against = arguments.against.unwrap_or(IsolationLevel::Serializable);
        Ok(RunningCampaign {
            arguments,
            program,
            own_level,
            judge: Judge::new(own_level, against, arguments.budget, clock::stop_flag()),
            novelty: Campaign::default(),
            tally: Tally::new(program, against),
            keeper: RecordKeeper::new(arguments.record_errors),
        })
    }

    /// Runs until all is done, something cannot go on, or somebody presses Ctrl-C.
    fn all_runs(&mut self) -> Result<(), Complaint> {
        let Arguments { seed, runs, stop_at_first, .. } = *self.arguments;
        for number in 0..runs {
            let has_enough = stop_at_first && self.tally.has_failed(self.arguments.against.is_some());
            if clock::is_stopped() || has_enough {
                break;
            }
            self.one_run(seed.wrapping_add(number))?;
        }
        Ok(())
    }

    fn one_run(&mut self, seed: u64) -> Result<(), Complaint> {
        let played = stage::play(self.program, self.arguments.rules(), seed, &self.novelty)
            .map_err(|error| complaint(&self.arguments.name(), &self.program.error(error)))?;
        clock::something_to_keep();
        // Before anything else can go wrong; and what was not recorded is judged all the same.
        let path = self.arguments.record.as_ref().map(|folder| folder.join(format!("{seed}.jsonl")));
        let recorded = path.map_or(Ok(()), |path| self.keeper.keep(&path, &played.history));
        let judged = self.judge.judge(&played.history).map_err(|what| self.mistake(seed, &what))?;
        if let Judgement::Fails(found) = &judged.own_level {
            let what = format!("a run is not what {} allows ({})", self.own_level, found.kind.name());
            return Err(self.mistake(seed, &what));
        }
        self.tally.verdict(seed, &judged.own_level, &judged.against);
        self.tally.distinct = self.judge.distinct();
        let failures = self.failures(&played);
        // What stands behind a failure is shown for the first of each assertion only, and may take long to find out.
        let is_shown = failures.as_deref().is_some_and(|failures| self.tally.is_first(failures));
        let behind = if is_shown { self.judge.behind(&played.history, &judged) } else { None };
        self.tally.run(played, failures, behind);
        recorded
    }

    /// What went wrong is ours, not the user's.
    fn mistake(&self, seed: u64, what: &str) -> Complaint {
        let advice =
            format!("this is a mistake of skew: please report it with the file and `{}`", self.arguments.replay(seed));
        Complaint::new(&self.arguments.name(), what.to_owned(), &advice)
    }

    /// The assertions that fail in some final state; none are asked, and there is no answer, after a call that never came through.
    fn failures(&self, played: &Played) -> Option<Vec<(usize, Failure)>> {
        if played.given_up > 0 || played.endless.is_some() {
            return None;
        }
        let mut failures = Vec::new();
        for (number, assertion) in self.program.assertions().iter().enumerate() {
            let mut outcome = if played.final_states.is_none() { Some(Failure::Unknown) } else { None };
            for state in played.final_states.iter().flatten() {
                match assertion.holds(&mut self.program.session(), &played.results, &mut state.clone()) {
                    Ok(true) => continue,
                    Ok(false) => outcome = Some(Failure::False),
                    Err(stop) => outcome = Some(Failure::Error(self.program.error(error_of(stop)))),
                }
                break;
            }
            failures.extend(outcome.map(|outcome| (number, outcome)));
        }
        Some(failures)
    }
}

fn recording_stopped(failure: &RecordingFailure) -> Complaint {
    Complaint::new("skew play", format!("recording stopped: {}", failure.what()), failure.left())
}

fn error_of(stop: Stop) -> SqlError {
    match stop {
        Stop::Error(error) => error,
        Stop::Interrupted(_) => SqlError::unsupported("an assertion that waits"),
    }
}
