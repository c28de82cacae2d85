//! `skew explore`: every run of a program that a level allows, each exactly once.
//!
//! ```text
//!   program.rs   a program file ──> ExploredProgram ──> report, files of --resume, --split, --part, --merge and --save
//!   command.rs   a command      ──> Application ──> report
//! ```
//!
//! What is explored, counted and told is in `skew_campaign::explored`. Here are arguments, files and the terminal.

mod command;
mod program;

use super::program::{Confirming, Format, GranularityArgument, UpdatesArgument};
use super::replay::{Given, ONE_RUN, REST, Replayed, SHOWN};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{unwritable, write_finding};
use skew_campaign::Moment;
use skew_campaign::explored::{CallName, Exhibit, Pace, Terms};
use skew_explore::Base;
use skew_history::level::{IsolationLevel, spellings};
use skew_program::MOST_STEPS;
use skew_view::Finding;
use skew_view::finding::FoundIn;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Explore every run of a program that an isolation level allows, each exactly once
#[derive(clap::Args)]
#[command(after_help = "Example (two people take money out of one account):\n  \
    skew explore examples/withdraw.sql\n  \
    skew explore examples/withdraw.sql --level causal --list\n  \
    skew explore --level snapshot --init schema.sql -- ./run-tests\n\n\
    Exit codes: 0 nothing fails in any run, 1 an assertion fails or a run violates --against, 2 bad usage or input, 3 inconclusive")]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given<Arguments>,
    /// The program: schema, procedures, sessions, assertions; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "command")]
    file: Option<PathBuf>,
    #[arg(short, long, value_name = "LEVEL,…", value_delimiter = ',',
        help = format!("The levels to explore at: {} [default: the three of the program's engine, for a command \
            those that it asks PostgreSQL for]", spellings(IsolationLevel::of_transactions())))]
    level: Vec<IsolationLevel>,
    /// What the search itself keeps to; weaker ones explore more and find the same [default: the strongest that the level allows]
    #[arg(long, value_enum, value_name = "LEVEL")]
    base: Option<BaseArgument>,
    /// How to explore
    #[arg(long, value_enum, default_value_t = AlgorithmArgument::Swaps)]
    algorithm: AlgorithmArgument,
    /// Whether updates lock their rows and read the latest version, or are plain reads and writes
    #[arg(long, value_enum, default_value_t = UpdatesArgument::Atomic)]
    updates: UpdatesArgument,
    /// What is one key of the history: a row, or each cell of it
    #[arg(long, value_enum, default_value_t = GranularityArgument::Row)]
    granularity: GranularityArgument,
    /// When the database's clock starts; a transaction's time follows from its place in the program, or in its session
    #[arg(long, default_value_t = Moment::USUAL, value_name = "TIME")]
    clock: Moment,
    /// Compare runs with this level; given, a run that violates it is a failure [default: serializable]
    #[arg(long, value_name = "LEVEL")]
    against: Option<IsolationLevel>,
    /// Explore the program without these calls, as assertions name them: `alice[1],bob[2]`
    #[arg(long, value_name = "CALL,…", value_delimiter = ',')]
    without: Vec<CallName>,
    /// Stop at the first run in which an assertion fails
    #[arg(long)]
    stop_at_first: bool,
    /// Stop after so many histories per level; explores with one thread, so that they are the same ones each time
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true, value_name = "N")]
    budget: u64,
    /// Stop after this time, like 60s, 10m
    #[arg(long, value_parser = clock::parse_duration, value_name = "TIME")]
    timeout: Option<Duration>,
    /// How many threads, at levels of engines one per level; the report is the same for every number. For programs only: a command runs once at a time
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: u64,
    /// Print every history
    #[arg(long)]
    list: bool,
    /// Go on from this file if it is there, and keep in it what is left when the exploration ends early
    #[arg(long, value_name = "FILE", conflicts_with_all = ["split", "part", "merge", "replay"])]
    resume: Option<PathBuf>,
    /// Do not explore: write so many files, FILE.part-1.json and so on, each with a part of the work
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000), conflicts_with_all = ["part", "merge", "replay", "confirm"])]
    split: Option<u64>,
    /// Explore one of the files that --split wrote, and keep in it what was found
    #[arg(long, value_name = "FILE", conflicts_with_all = ["merge", "replay"])]
    part: Option<PathBuf>,
    /// Do not explore: add up what is in the files that --part explored
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "replay")]
    merge: Vec<PathBuf>,
    /// Show one run again, or make it again: the schedule that a report gave
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "confirm")]
    replay: Option<String>,
    /// Make the run of --replay once more over PostgreSQL's protocol, and show what is said
    #[arg(long, requires = "replay")]
    wire: bool,
    #[command(flatten)]
    confirming: Confirming,
    /// Keep counterexamples in this folder, for `skew view`
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// How many steps a call may take
    #[arg(long, default_value_t = MOST_STEPS, value_name = "N")]
    max_steps: u64,
    /// How to show the results
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// The tables and rows that a command finds, as SQL; without, its first session makes them
    #[arg(long, value_name = "FILE", requires = "command")]
    init: Option<PathBuf>,
    /// A session of a command that is silent for so long, while it is its turn, has an order of its own: that run is given up
    #[arg(long, value_parser = clock::parse_duration, default_value = "2s", value_name = "TIME", requires = "command")]
    stall: Duration,
    /// Explore a command, run by run: it is told its database by DATABASE_URL and PGHOST, and exit code 0 says that all is well
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with_all = ["file", "resume", "split", "part", "merge", "algorithm", "granularity", "max_steps", "without", "wire", "confirm"]
    )]
    command: Vec<String>,
}

/// What a search keeps to.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum BaseArgument {
    /// Nothing: every read from every writer
    None,
    /// Read committed
    #[value(alias = "rc")]
    ReadCommitted,
    /// Read atomic
    #[value(alias = "ra")]
    ReadAtomic,
    /// Causal
    #[value(alias = "cc")]
    Causal,
}

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum AlgorithmArgument {
    /// Each history once, by swaps
    Swaps,
    /// Every order of transactions, for comparison: the same history comes many times
    Dfs,
}

impl Replayed for Arguments {
    const COMMAND: &'static str = "skew explore";
    const LEFT_OUT: &'static [(&'static str, &'static str)] = &[
        ("algorithm", "a run is found by its schedule, however it was found first"),
        ("stop_at_first", ONE_RUN),
        ("budget", ONE_RUN),
        ("timeout", ONE_RUN),
        ("jobs", ONE_RUN),
        ("resume", ONE_RUN),
        ("split", ONE_RUN),
        ("part", ONE_RUN),
        ("merge", ONE_RUN),
        ("list", SHOWN),
        ("wire", SHOWN),
        ("confirm", SHOWN),
        ("save", SHOWN),
        ("format", SHOWN),
    ];
    const ORDER: &'static [&'static str] = &[
        "file",
        "level",
        "base",
        "updates",
        "granularity",
        "max_steps",
        "init",
        "stall",
        "clock",
        "against",
        "without",
        REST,
        "replay",
    ];
}

impl From<BaseArgument> for Base {
    fn from(argument: BaseArgument) -> Base {
        match argument {
            BaseArgument::None => Base::Any,
            BaseArgument::ReadCommitted => Base::ReadCommitted,
            BaseArgument::ReadAtomic => Base::ReadAtomic,
            BaseArgument::Causal => Base::Causal,
        }
    }
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = self.refuse_real_time().and_then(|()| match &self.file {
            Some(file) => self.explore_program(file, console),
            None => self.explore_command(console),
        });
        console.conclude(outcome)
    }

    /// A history that is explored has an order of transactions and no times; whatever it were compared with, nothing would be stale.
    fn refuse_real_time(&self) -> Result<(), Complaint> {
        let Some(level) = self.against.filter(|level| level.is_strong()) else { return Ok(()) };
        let message = format!("--against {level} speaks about real time, and runs that are explored have no times");
        let advice = "compare with serializable or snapshot; `skew play` and `skew serve` know the times of their runs";
        Err(Complaint::new("skew explore", message, advice))
    }

    /// The one level of a run that is made again.
    fn level_of_replay(&self, name: &str, what: &str) -> Result<IsolationLevel, Complaint> {
        let [level] = self.level[..] else {
            let message = format!("--replay {what} one run at one level");
            return Err(Complaint::new(name, message, "give the --level of the report"));
        };
        Ok(level)
    }

    fn terms(&self) -> Terms<'static> {
        Terms {
            base: self.base.map(Base::from),
            updates: self.updates.into(),
            granularity: self.granularity.into(),
            against: self.against.unwrap_or(IsolationLevel::Serializable),
            fails_against: self.against.is_some(),
            list: self.list,
            stop: clock::flags(),
        }
    }

    fn pace(&self) -> Pace {
        Pace { budget: self.budget, stop_at_first: self.stop_at_first }
    }

    /// Begins what may be stopped by its time, or by Ctrl-C.
    fn begin(&self) {
        if let Some(limit) = self.timeout {
            clock::stop_after(limit);
        }
        clock::something_to_keep();
    }

    /// The command that shows one run again.
    pub(super) fn replay_line(&self, level: &str, without: &[String], schedule: &str) -> String {
        let mut line = self.given.line();
        match level.is_empty() {
            true => line.without("level"),
            false => line.set("level", level),
        };
        if without.is_empty() {
            line.without("without");
        } else {
            line.set("without", without.join(","));
        }
        line.set_words("replay", format!("'{schedule}'"));
        line.end()
    }

    fn make_folder(&self) -> Result<(), Complaint> {
        let make = |folder: &PathBuf| fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error));
        self.save.as_ref().map_or(Ok(()), make)
    }

    /// Writes counterexamples into the folder of `--save`.
    fn keep<'a>(
        &self,
        exhibits: impl IntoIterator<Item = &'a mut Exhibit>,
        found_in: &FoundIn,
    ) -> Result<(), Complaint> {
        let Some(folder) = &self.save else { return Ok(()) };
        let mut number = 0;
        for exhibit in exhibits {
            let Some(found) = &exhibit.found else { continue };
            number += 1;
            let path = folder.join(format!("{number}-{}.json", found.kind.name()));
            write_finding(&path, &Finding::new(found, found_in.clone(), exhibit.replay.clone()))?;
            exhibit.saved = Some(path.to_string_lossy().into_owned());
        }
        Ok(())
    }
}
