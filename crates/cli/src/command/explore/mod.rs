//! `skew explore`: every run of a program that a level allows, each exactly once.
//!
//! ```text
//!   program ──> per level: workers (threads on subtrees) ──> Tally ──> tell: text or JSON
//!                   │                                          │
//!                   └── unfinished: what is left, in a file     └── minimal: the fewest calls that still fail
//!                                                                └── shown: the smallest run of those, run again and explained
//! ```
//!
//! The report is the same for every number of jobs, whether the exploration went through in one go, was interrupted and taken up again,
//! or was split over machines.

mod baseline;
mod client;
mod left_out;
mod minimal;
mod remote;
mod shown;
mod steered;
mod tally;
mod tell;
mod unfinished;
mod wire;
mod workers;

use super::program::{self, Format, GranularityArgument, UpdatesArgument};
use super::replay::{Given, ONE_RUN, REST, Replayed, SHOWN};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::unwritable;
use left_out::CallName;
use skew_campaign::{Conclusion, Moment, ProgramFile};
use skew_explore::{Base, ExploreError, NoSchedule, Options, Place, Search, SqlOptions, SqlProgram, Subtree};
use skew_history::IsolationLevel;
use skew_program::MOST_STEPS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tally::{Questions, Tally};
use unfinished::{Identity, Level, Unfinished};
use workers::Work;

/// So many steps the checker may take for one question about one run.
const STEPS: u64 = 1_000_000;

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
    /// The levels to explore at: rc, ra, cc, pc, psi, si, ser or their long names [default: read-committed,snapshot,serializable]
    #[arg(short, long, value_name = "LEVEL,…", value_delimiter = ',')]
    level: Vec<IsolationLevel>,
    /// What the search itself keeps to; weaker ones explore more and find the same [default: the strongest that the level allows]
    #[arg(long, value_enum, value_name = "LEVEL")]
    base: Option<BaseArgument>,
    /// How to explore
    #[arg(long, value_enum, default_value_t = Algorithm::Swaps)]
    algorithm: Algorithm,
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
    /// How many threads; the report is the same for every number. For programs only: a command runs once at a time
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: u64,
    /// Print every history
    #[arg(long)]
    list: bool,
    /// Go on from this file if it is there, and keep in it what is left when the exploration ends early
    #[arg(long, value_name = "FILE", conflicts_with_all = ["split", "part", "merge", "replay"])]
    resume: Option<PathBuf>,
    /// Do not explore: write so many files, FILE.part-1.json and so on, each with a part of the work
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000), conflicts_with_all = ["part", "merge", "replay"])]
    split: Option<u64>,
    /// Explore one of the files that --split wrote, and keep in it what was found
    #[arg(long, value_name = "FILE", conflicts_with_all = ["merge", "replay"])]
    part: Option<PathBuf>,
    /// Do not explore: add up what is in the files that --part explored
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "replay")]
    merge: Vec<PathBuf>,
    /// Show one run again, or make it again: the schedule that a report gave
    #[arg(long, value_name = "SCHEDULE")]
    replay: Option<String>,
    /// Make the run of --replay once more over PostgreSQL's protocol, and show what is said
    #[arg(long, requires = "replay")]
    wire: bool,
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
        conflicts_with_all = ["file", "resume", "split", "part", "merge", "algorithm", "granularity", "max_steps", "without", "wire"]
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
enum Algorithm {
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

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = self.explore(console);
        console.conclude(outcome)
    }

    fn explore(&self, console: &mut Console) -> Result<Exit, Complaint> {
        self.refuse_real_time()?;
        let Some(file) = &self.file else {
            self.refuse_for_commands()?;
            return self.explore_command(console);
        };
        let file = program::read(file, self.clock)?;
        file.warnings().for_each(|warning| console.note(&warning));
        self.refuse_for_programs(&file)?;
        self.refuse_unknown_calls(&file)?;
        if let Some(line) = &self.replay {
            let schedule =
                line.parse().map_err(|error: NoSchedule| Complaint::new("--replay", error.to_string(), ""))?;
            return self.show_again(&file, &schedule, console);
        }
        if let Some(parts) = self.split {
            return self.write_parts(&file, parts as usize, console);
        }
        if let Some(limit) = self.timeout {
            clock::stop_after(limit);
        }
        let kept_in = self.part.as_ref().or(self.resume.as_ref());
        kept_in.map_or(Ok(()), |path| Unfinished::try_place(path))?;
        if let Some(folder) = &self.save {
            fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        clock::something_to_keep();
        let explored = self.explore_levels(&file, console)?;
        let kept = kept_in.map_or(Ok(()), |path| explored.write(path));
        let exit = self.report(&file, &explored, console)?;
        kept.map(|()| exit)
    }

    /// A history that is explored has an order of transactions and no times; whatever it were compared with, nothing would be stale.
    fn refuse_real_time(&self) -> Result<(), Complaint> {
        let Some(level) = self.against.filter(|level| level.is_strong()) else { return Ok(()) };
        let message = format!("--against {level} speaks about real time, and runs that are explored have no times");
        let advice = "compare with serializable or snapshot; `skew play` and `skew serve` know the times of their runs";
        Err(Complaint::new("skew explore", message, advice))
    }

    /// What has no meaning for a program, or not together.
    fn refuse_for_programs(&self, file: &ProgramFile) -> Result<(), Complaint> {
        let is_baseline = self.algorithm == Algorithm::Dfs;
        let in_parts = self.resume.is_some() || self.split.is_some() || self.part.is_some() || !self.merge.is_empty();
        let is_replay = self.replay.is_some();
        let refusals = [
            (self.init.is_some(), "--init is for commands: a program has its tables and rows in its file"),
            (is_baseline && in_parts, "--algorithm dfs explores in one go: it cannot be interrupted or split"),
            (is_baseline && self.jobs > 1, "--algorithm dfs explores with one thread"),
            (is_replay && self.format == Format::Json, "--replay shows a run in words, not as JSON"),
            (
                is_replay && (self.list || self.save.is_some()),
                "--replay shows one run: there is nothing to list or to keep",
            ),
        ];
        match refusals.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, message)) => Err(Complaint::new(&file.name, message.to_owned(), "leave it out")),
            None => Ok(()),
        }
    }

    /// The levels that were asked for, or the usual ones.
    fn levels(&self) -> &[IsolationLevel] {
        use IsolationLevel::{ReadCommitted, Serializable, Snapshot};
        if self.level.is_empty() { &[ReadCommitted, Snapshot, Serializable] } else { &self.level }
    }

    /// What a run of a command is, is known from the runs before it: there is one at a time.
    fn refuse_for_commands(&self) -> Result<(), Complaint> {
        if self.jobs > 1 {
            let message = "--jobs is for programs: a command runs once at a time, because each run is found by the runs before it";
            return Err(Complaint::new("skew explore", message.to_owned(), "leave it out, or explore a program file"));
        }
        Ok(())
    }

    /// Everything that is to be explored, or what is left of it.
    fn start(&self, file: &ProgramFile) -> Result<Unfinished, Complaint> {
        let nothing_done = self.nothing_done(file);
        let read = |path: &PathBuf| Unfinished::read(path, &nothing_done, &self.level);
        match (self.resume.as_ref().filter(|path| path.exists()), &self.part, self.merge.split_first()) {
            (Some(path), _, _) | (None, Some(path), _) => read(path),
            (None, None, Some((first, others))) => others.iter().try_fold(read(first)?, |sum, path| {
                let advice = "give each file of one --split once";
                let foreign = |message: String| Complaint::new(&path.to_string_lossy(), message, advice);
                sum.merge(read(path)?).map_err(foreign)
            }),
            (None, None, None) => Ok(nothing_done),
        }
    }

    fn nothing_done(&self, file: &ProgramFile) -> Unfinished {
        let level = |level: &IsolationLevel| Level {
            level: level.name().to_owned(),
            left: vec![Subtree::whole()],
            tally: Tally::new(file.program.assertions().len()),
        };
        let levels = self.levels().iter().map(level).collect();
        Unfinished { skew: 1, exploration: self.identity(file), levels, parts: None }
    }

    fn explore_levels(&self, file: &ProgramFile, console: &mut Console) -> Result<Unfinished, Complaint> {
        let mut state = self.start(file)?;
        if !self.merge.is_empty() {
            return Ok(state);
        }
        let left_out = self.left_out(&file.program);
        for level in &mut state.levels {
            let options = self.options(named(&level.level, file)?);
            let (start, tally) = (std::mem::take(&mut level.left), std::mem::take(&mut level.tally));
            let outcome = match self.algorithm {
                Algorithm::Swaps => workers::explore(self.work(file, &left_out, options), start, tally, console),
                Algorithm::Dfs => baseline::explore(self.work(file, &left_out, options), tally),
            };
            (level.tally, level.left) = outcome.map_err(|error| trouble(file, &error))?;
        }
        Ok(state)
    }

    fn work<'a>(&self, file: &'a ProgramFile, left_out: &'a BTreeSet<Place>, options: Options) -> Work<'a> {
        Work {
            text: &file.text,
            clock: self.clock,
            sql: self.sql_options(),
            left_out,
            options,
            questions: Questions { against: self.against(), steps: STEPS, list: self.list },
            // Which of several threads is first would be chance.
            jobs: if self.stop_at_first || self.budget < u64::MAX { 1 } else { self.jobs as usize },
            budget: self.budget,
            stop_at_first: self.stop_at_first,
        }
    }

    /// The command that shows one run again.
    pub(super) fn replay_line(&self, level: &str, without: &[String], schedule: &str) -> String {
        let mut line = self.given.line();
        line.set("level", level);
        if without.is_empty() {
            line.without("without");
        } else {
            line.set("without", without.join(","));
        }
        line.set_words("replay", format!("'{schedule}'"));
        line.end()
    }

    fn against(&self) -> IsolationLevel {
        self.against.unwrap_or(IsolationLevel::Serializable)
    }

    fn options(&self, level: IsolationLevel) -> Options {
        let base = self.base.map(|base| match base {
            BaseArgument::None => Base::Any,
            BaseArgument::ReadCommitted => Base::ReadCommitted,
            BaseArgument::ReadAtomic => Base::ReadAtomic,
            BaseArgument::Causal => Base::Causal,
        });
        Options { base, ..Options::new(level) }
    }

    fn program(&self, file: &ProgramFile, left_out: BTreeSet<Place>) -> SqlProgram {
        SqlProgram::new(file.program.clone(), self.sql_options()).without(left_out)
    }

    fn sql_options(&self) -> SqlOptions {
        SqlOptions { updates: self.updates.into(), granularity: self.granularity.into(), most_steps: self.max_steps }
    }

    fn identity(&self, file: &ProgramFile) -> Identity {
        Identity {
            sha256: file.sha256(),
            updates: self.updates_name().to_owned(),
            granularity: self.granularity_name().to_owned(),
            base: self.base.map(|base| format!("{base:?}")),
            against: self.against().name().to_owned(),
            max_steps: self.max_steps,
            clock: self.clock_word(),
            list: self.list,
            without: left_out::names(&file.program, &self.left_out(&file.program)),
        }
    }

    /// The clock where it is not the usual one.
    fn clock_word(&self) -> Option<String> {
        (self.clock != Moment::USUAL).then(|| self.clock.to_string())
    }

    fn updates_name(&self) -> &'static str {
        if self.updates == UpdatesArgument::Atomic { "atomic" } else { "plain" }
    }

    fn granularity_name(&self) -> &'static str {
        if self.granularity == GranularityArgument::Row { "row" } else { "cell" }
    }

    /// Writes the files of `--split`.
    fn write_parts(&self, file: &ProgramFile, parts: usize, console: &mut Console) -> Result<Exit, Complaint> {
        let mut state = self.nothing_done(file);
        let program = self.program(file, self.left_out(&file.program));
        for level in &mut state.levels {
            let options = self.options(named(&level.level, file)?);
            let split = || -> Result<Vec<Subtree>, ExploreError> {
                let mut search = Search::new(&program, options)?;
                // Several subtrees a part: their sizes are only estimates.
                search.split(4 * parts)?;
                Ok(search.frontier())
            };
            level.left = split().map_err(|error| trouble(file, &error))?;
        }
        let parts = state.split(parts);
        let path = |number: usize| PathBuf::from(format!("{}.part-{number}.json", file.name));
        // A part may hold days of work. None is written where one would be lost.
        if let Some(path) = (1..=parts.len()).map(path).find(|path| fs::symlink_metadata(path).is_ok()) {
            let what = "this is there already, and may hold what was explored".to_owned();
            return Err(Complaint::new(&path.to_string_lossy(), what, "remove the parts of the earlier --split first"));
        }
        for (number, part) in parts.iter().enumerate() {
            let path = path(number + 1);
            part.write(&path)?;
            console.say(&format!("{}\n", path.display()));
        }
        Ok(Exit::Holds)
    }

    fn report(&self, file: &ProgramFile, explored: &Unfinished, console: &mut Console) -> Result<Exit, Complaint> {
        let shown = self.counterexamples(file, explored)?;
        match self.format {
            Format::Human => console.say(&self.human(file, explored, &shown, console.palette)),
            Format::Json => console.result(&format!("{}\n", self.json(file, explored, &shown))),
        }
        Ok(self.exit(file, explored))
    }

    fn exit(&self, file: &ProgramFile, explored: &Unfinished) -> Exit {
        let failed = |level: &Level| {
            level.tally.assertions.iter().any(|found| found.runs > 0)
                || (self.against.is_some() && level.tally.violating.runs > 0)
        };
        let unasked = self.has_unasked(file);
        let open = |level: &Level| unasked || !level.left.is_empty() || level.tally.is_open();
        // What one part says is of that part; all of them are the whole.
        let is_short = !self.merge.is_empty() && explored.parts.as_ref().is_some_and(|it| !it.missing().is_empty());
        Conclusion::judged(explored.levels.iter().any(failed), is_short || explored.levels.iter().any(open)).into()
    }
}

fn trouble(file: &ProgramFile, error: &ExploreError) -> Complaint {
    Complaint::new(&file.name, error.to_string(), "")
}

/// The level of that name: files may have been changed by hand.
fn named(name: &str, file: &ProgramFile) -> Result<IsolationLevel, Complaint> {
    name.parse().map_err(|_| Complaint::new(&file.name, format!("there is no level `{name}`"), "split it anew"))
}

/// A file in a folder.
fn numbered(folder: &Path, number: usize, name: &str) -> PathBuf {
    folder.join(format!("{number}-{name}.json"))
}
