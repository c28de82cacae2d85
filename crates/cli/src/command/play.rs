//! `skew play`: runs a program on a database as weak as its level allows, again and again, and tells what went wrong.
//!
//! The campaign is `skew_campaign`'s; here are its arguments, what it writes and what it prints.

use super::program::{self, Confirming, Format, GranularityArgument, UpdatesArgument};
use super::replay::{Given, ONE_RUN, REST, Replayed, SHOWN};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{RecordErrors, RecordKeeper, unwritable, write_finding};
use skew_campaign::confirmed::LiveServers;
use skew_campaign::played::{PlayCampaign, PlayReport, PlayRules, PlaySettings, Weakness, exhibits, levels_of};
use skew_campaign::recording::RecordingFailure;
use skew_campaign::{Moment, ProgramFile};
use skew_history::level::{IsolationLevel, spellings};
use skew_mockdb::ChooserKind;
use skew_program::MOST_STEPS;
use std::fs;
use std::path::{Path, PathBuf};

/// How long the check of a run may take.
const BUDGET: u64 = 1_000_000;

/// How often a refused transaction is tried again.
const RETRIES: u32 = 10;

/// Run a program again and again on a database as weak as its level allows, and report failed assertions
#[derive(clap::Args)]
#[command(after_help = "Example (two people take money out of one account):\n  \
    skew play examples/withdraw.sql\n  \
    skew play examples/withdraw.sql --level mysql:repeatable-read --confirm up\n  \
    skew play examples/withdraw.sql --level read-committed --updates plain\n\n\
    Exit codes: 0 nothing failed, 1 an assertion failed or a run violates --against, 2 bad usage or input, 3 inconclusive")]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given<Arguments>,
    /// The program: schema, procedures, sessions, assertions; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[arg(short, long, value_name = "LEVEL,…", value_delimiter = ',',
        help = format!("How weak the database is: {} [default: the three levels of the engine that the program is written for]",
            spellings(IsolationLevel::of_transactions())))]
    pub(super) level: Vec<IsolationLevel>,
    /// Where chance begins; run n has seed N + n
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// When the database's clock starts, of which every transaction takes a second; on a server its time follows from its place in the program
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
    /// Which version a read returns: random, latest, stalest, latest-per-session or novel; a server has no choice
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
    /// Write the history of every run into this folder; of several levels, into a folder each in it
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
    #[command(flatten)]
    confirming: Confirming,
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
    const LEFT_OUT: &'static [(&'static str, &'static str)] = &[
        ("stop_at_first", ONE_RUN),
        ("record", SHOWN),
        ("record_errors", SHOWN),
        ("save", SHOWN),
        ("confirm", SHOWN),
        ("format", SHOWN),
    ];
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
        let file = program::read(&self.file, self.clock, &self.level)?;
        file.warnings().for_each(|warning| console.note(&warning));
        let levels = levels_of(&file, &self.level);
        let mut servers = self.confirming.servers(&file.name, &levels)?;
        let (mut exit, keeper) = (Exit::Holds, RecordKeeper::new(self.record_errors));
        for (number, &level) in levels.iter().enumerate() {
            if number > 0 && self.format == Format::Human {
                console.say("\n");
            }
            let within = (levels.len() > 1).then(|| level.name().replace(':', "-"));
            exit.combine(self.play_at(&file, level, within.as_deref(), &keeper, servers.as_mut(), console)?);
            if clock::is_stopped() || (self.stop_at_first && exit == Exit::Found) {
                break;
            }
        }
        match keeper.failure() {
            Some(failure) => Err(recording_stopped(&failure)),
            None => Ok(exit),
        }
    }

    /// All runs at one level, whose files go into folders within those that were named.
    fn play_at(
        &self,
        file: &ProgramFile,
        level: IsolationLevel,
        within: Option<&str>,
        keeper: &RecordKeeper,
        servers: Option<&mut LiveServers>,
        console: &mut Console,
    ) -> Result<Exit, Complaint> {
        let folder = |named: &Option<PathBuf>| -> Result<Option<PathBuf>, Complaint> {
            let Some(named) = named else { return Ok(None) };
            let folder = within.map_or_else(|| named.clone(), |within| named.join(within));
            fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
            Ok(Some(folder))
        };
        let (record, save_into) = (folder(&self.record)?, folder(&self.save)?);
        let settings = self.settings(level);
        let replay = |seed| self.replay_at(level, seed);
        let mut keep = |seed: u64, history: &str| {
            clock::something_to_keep();
            let path = record.as_ref().map(|folder| folder.join(format!("{seed}.jsonl")));
            path.map_or(Ok(()), |path| keeper.keep(&path, history))
        };
        let (tally, played) = PlayCampaign::new(file, settings, clock::flags(), &replay).play(&mut keep);
        // What was found before something could not go on was found all the same.
        if played.is_err() && !tally.has_runs() {
            return played.map(|()| Exit::BadInput);
        }
        // What is found is told, also where a server is not there to confirm it.
        let (exhibits, confirmed) =
            exhibits(file, &settings, &tally, servers).map_or_else(|lost| (Vec::new(), Err(lost)), |all| (all, Ok(())));
        let report = PlayReport { file, settings: &settings, tally: &tally, exhibits: &exhibits, replay: &replay };
        let saved = save_into.as_ref().map_or(Ok(()), |folder| save(&report, folder));
        match self.format {
            Format::Human => console.say(&report.human(console.palette)),
            Format::Json => console.result(&format!("{}\n", report.json())),
        }
        played.and(saved).and(confirmed)?;
        Ok(tally.conclusion(self.against.is_some(), clock::is_stopped()).into())
    }

    fn settings(&self, level: IsolationLevel) -> PlaySettings {
        let weakness = Weakness {
            level,
            updates: self.updates.into(),
            granularity: self.granularity.into(),
            chooser: self.chooser,
            turns: self.schedule == Schedule::Interleaved,
        };
        PlaySettings {
            rules: PlayRules { weakness, retries: self.retry, most_steps: self.max_steps },
            seed: self.seed,
            runs: self.runs,
            stop_at_first: self.stop_at_first,
            against: self.against,
            budget: self.budget,
        }
    }

    /// The command that shows one run again.
    pub(super) fn replay_at(&self, level: IsolationLevel, seed: u64) -> String {
        let mut line = self.given.line();
        line.set("level", level);
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

/// Writes the counterexamples into a folder.
fn save(report: &PlayReport<'_>, folder: &Path) -> Result<(), Complaint> {
    for (number, (kind, finding)) in report.findings().into_iter().enumerate() {
        let path = folder.join(format!("{}-{}.json", number + 1, kind.name()));
        write_finding(&path, &finding)?;
    }
    Ok(())
}

fn recording_stopped(failure: &RecordingFailure) -> Complaint {
    Complaint::new("skew play", format!("recording stopped: {}", failure.what()), failure.left())
}
