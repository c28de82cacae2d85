//! `skew run`: a workload on a server, or on the mock database, and what became of it.
//!
//! ```text
//!   arguments ──> DriveCampaign ──┬── one run:   progress, report, verdicts      alone
//!                                 └── many runs: a seed and fresh tables each    runs
//! ```
//!
//! A seed gives the same requests. What they meet is up to the server, so a second run with the same seed may end otherwise, unless there is one
//! transaction at a time (`--serial`).

mod alone;
mod level;
mod own;
mod predict;
mod registers;
mod runs;

use super::program::{Format, GranularityArgument, UpdatesArgument};
use super::replay::{Given, ONE_RUN, REST, Replayed, SHOWN, Written};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{RecordErrors, RecordKeeper};
use own::OwnArguments;
use registers::RegistersArguments;
use runs::Histories;
use skew_campaign::Moment;
use skew_campaign::driven::{DriveCampaign, DriveSettings, MockSettings, NamedLevel, WorkloadChoice};
use skew_campaign::each_once;
use skew_campaign::replay_line::quote;
use skew_history::History;
use skew_history::level::IsolationLevel;
use skew_mockdb::ChooserKind;
use skew_predict::Strategy;
use skew_workload::{BadUrl, Names, Turns, Url, catalog};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// How often a refused transaction is tried again.
const RETRIES: u32 = 10;

/// Run a workload on a server, record what its clients saw, and check it
#[derive(clap::Args)]
#[command(
    after_help = "Examples (on a mock database that is as weak as causal allows; on a PostgreSQL; on three nodes; on three of its own):\n  \
    skew run smallbank --level causal --runs 20\n  \
    skew run tpcc --db postgresql://postgres@127.0.0.1:5432/postgres --level repeatable-read\n  \
    skew run registers --db mysql://root@127.0.0.1:3306/test --db mysql://root@127.0.0.1:3307/test --record run.jsonl\n  \
    skew run registers --up galera --fault partition --check snapshot\n\n\
    Exit codes: 0 the server kept its promise and everything asked holds, 1 an assertion or a level fails,\n\
    2 bad usage or input, 3 inconclusive"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given<Arguments>,
    /// The workload; --list shows all
    #[arg(value_name = "WORKLOAD", required_unless_present = "list")]
    workload: Option<String>,
    /// Show the workloads and what each must keep
    #[arg(long)]
    list: bool,
    /// A server, postgresql://user:password@host:port/database or mysql://…; several are the nodes of a cluster, and sessions are spread
    /// over them [default: a mock database in this process]
    #[arg(long = "db", value_name = "URL")]
    servers: Vec<String>,
    /// How many clients [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    sessions: Option<u64>,
    /// How many transactions each of them does [default: 100; 3 for the small applications]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    transactions: Option<u64>,
    /// One transaction at a time, whose, the seed decides: the same seed gives the same history, byte for byte. On the mock database its reads
    /// are ordinary ones, of the latest version, unless --chooser says otherwise
    #[arg(long)]
    serial: bool,
    /// Every lookup of a row reads every row of its table first, as the store of the papers does; with tables as large as theirs
    #[arg(long)]
    scan: bool,
    /// Of voter: how many votes a telephone has [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    limit: Option<u64>,
    /// Where chance begins; run n has seed N + n
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// The level that transactions ask for. On a server read-committed, repeatable-read or serializable, or one of its own such as
    /// postgres:repeatable-read; the mock database has the seven of the papers [default: serializable; of a cluster repeatable-read]
    #[arg(short, long, value_name = "LEVEL")]
    level: Option<NamedLevel>,
    /// How many runs, each with fresh tables
    #[arg(long, default_value_t = 1, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// How many runs at a time
    #[arg(long, default_value_t = 1, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=64), requires = "runs")]
    jobs: u64,
    /// Write the history to this file, as it happens; with several runs, a folder with a file for each
    #[arg(long, value_name = "PATH")]
    record: Option<PathBuf>,
    /// When the history cannot be written any more, on a full disk for instance: end, or go on without recording this run and those after
    /// it. It ends unless told otherwise, because a file that lacks what happened last is easily taken for all that happened. A path that
    /// is wrong from the start ends it in any case
    #[arg(long, value_enum, default_value_t = RecordErrors::Stop)]
    record_errors: RecordErrors,
    /// Check the history besides: levels, `levels` for the seven of the papers, `all` for the strong ones too; of several runs, one level. On a
    /// server `levels` and `all` say nothing by the exit code about levels above the one that was asked for
    #[arg(long, value_delimiter = ',', value_name = "LEVEL")]
    check: Vec<AskedLevels>,
    /// How often a transaction that the database refused is tried again
    #[arg(long, default_value_t = RETRIES, value_name = "N")]
    retries: u32,
    /// Drop the tables of earlier runs first
    #[arg(long, requires = "servers")]
    drop: bool,
    /// What the names of the tables start with: small letters, digits and underscores
    #[arg(long, default_value = "skew_", value_parser = prefix, value_name = "WORD", requires = "servers")]
    prefix: String,
    /// Stop after this time, such as 30s, 500ms, 2m
    #[arg(long, value_parser = clock::parse_duration, value_name = "TIME")]
    timeout: Option<Duration>,
    /// How long an answer of the server may take before its connection counts as lost
    #[arg(long, default_value = "20s", value_parser = patience, value_name = "TIME")]
    patience: Duration,
    /// Give up the check of a run after so many steps of search
    #[arg(long, default_value_t = u64::MAX, value_name = "STEPS", hide_default_value = true)]
    budget: u64,
    /// How to show the results
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Of the mock: whether updates lock their rows and read the latest version, or are plain reads and writes
    #[arg(long, value_enum, default_value_t = UpdatesArgument::Atomic, conflicts_with_all = ["servers", "up"])]
    updates: UpdatesArgument,
    /// Of the mock: whether a read chooses the version of a row, or of each cell of it
    #[arg(long, value_enum, default_value_t = GranularityArgument::Row, conflicts_with_all = ["servers", "up"])]
    granularity: GranularityArgument,
    /// Of the mock: which version a read returns: random, latest, stalest, latest-per-session or novel [default: random; latest with --serial]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["servers", "up"])]
    chooser: Option<ChooserKind>,
    /// Of the mock: the axioms alone, so that at read-committed a session need not see its own commits
    #[arg(long, conflicts_with_all = ["servers", "up"])]
    bare: bool,
    /// Of the mock: when its clock starts, of which every transaction takes a second
    #[arg(long, default_value_t = Moment::USUAL, value_name = "TIME", conflicts_with_all = ["servers", "up"])]
    clock: Moment,
    /// On the mock: run once with ordinary reads, one transaction at a time, predict what could have been instead, and make that again
    #[arg(long, conflicts_with_all = ["servers", "up", "runs", "jobs", "chooser", "check", "record", "serial"])]
    predict: bool,
    /// With --predict: exact, exact-strict, exact-relaxed, approx-strict or approx-relaxed
    #[arg(long, default_value = "exact", value_name = "NAME", requires = "predict")]
    strategy: Strategy,
    /// With --predict: how many runs may be made again
    #[arg(long, default_value_t = 50, value_name = "N", requires = "predict")]
    replays: u64,
    /// With --predict: how many stepping stones are taken one after the other, where no prediction makes an assertion fail
    #[arg(long, default_value_t = 2, value_name = "N", requires = "predict")]
    stones: usize,
    #[command(flatten)]
    own: OwnArguments,
    #[command(flatten)]
    registers: RegistersArguments,
}

/// What is asked of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AskedLevels {
    /// One level.
    Level(IsolationLevel),
    /// The seven.
    Seven,
    /// The seven and the strong ones.
    All,
}

fn prefix(text: &str) -> Result<String, String> {
    // A job puts its number behind it.
    let fits = Names::with_prefix(&format!("{text}64_")).is_some();
    fits.then(|| text.to_owned()).ok_or_else(|| format!("`{text}` does not begin names; write it like `mine_`"))
}

/// Servers refuse a lock after half of it, and count whole seconds.
fn patience(text: &str) -> Result<Duration, String> {
    let time = clock::parse_duration(text)?;
    if time < Duration::from_secs(2) { Err("a server needs at least 2s".to_owned()) } else { Ok(time) }
}

impl FromStr for AskedLevels {
    type Err = String;

    fn from_str(text: &str) -> Result<AskedLevels, String> {
        match text {
            "all" => Ok(AskedLevels::All),
            "levels" => Ok(AskedLevels::Seven),
            level => level
                .parse()
                .map(AskedLevels::Level)
                .map_err(|error: <IsolationLevel as FromStr>::Err| error.to_string()),
        }
    }
}

impl Replayed for Arguments {
    const COMMAND: &'static str = "skew run";
    const LEFT_OUT: &'static [(&'static str, &'static str)] = &[
        ("list", "no run at all"),
        ("runs", ONE_RUN),
        ("jobs", ONE_RUN),
        ("timeout", "a run that it stopped is not told of"),
        ("record", SHOWN),
        ("record_errors", SHOWN),
        ("format", SHOWN),
    ];
    const ORDER: &'static [&'static str] = &[
        "workload",
        "level",
        "servers",
        "up",
        "nodes",
        "faults",
        "heal",
        "sessions",
        "transactions",
        "serial",
        "scan",
        "limit",
        "retries",
        "patience",
        "updates",
        "granularity",
        "chooser",
        "bare",
        "clock",
        "preset",
        "events",
        "keys",
        "reads",
        "distribution",
        "check",
        "budget",
        "prefix",
        "drop",
        REST,
        "seed",
    ];
    const WRITTEN: &'static [(&'static str, Written)] = &[
        // Without their passwords, which the user has to add.
        ("servers", |url| url.parse::<Url>().ok().map(|url| quote(&url.to_string()))),
        ("heal", own::written),
        ("level", level::written),
        ("check", |level| level.parse::<IsolationLevel>().ok().map(|level| level.to_string())),
    ];
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        if self.list {
            console.result(&list());
            return Exit::Holds;
        }
        let outcome = self.start(console);
        console.conclude(outcome)
    }

    fn start(&self, console: &mut Console) -> Result<Exit, Complaint> {
        self.refuse_nonsense()?;
        let workload = self.choice().workload()?;
        let url = |text: &String| {
            text.parse().map_err(|error: BadUrl| Complaint::new("--db", error.to_string(), "check the URL"))
        };
        let urls = self.servers.iter().map(url).collect::<Result<Vec<Url>, Complaint>>()?;
        let histories = Histories { arguments: self, keeper: RecordKeeper::new(self.record_errors) };
        let mut campaign = DriveCampaign::new(workload, self.settings(), urls, &histories, clock::flags());
        // Before the run, so that a run that is stopped can be repeated too.
        console.note(&format!("seed {}", self.seed));
        campaign.warning().into_iter().for_each(|warning| console.note(&warning));
        // A server that is half started must be stopped too.
        clock::something_to_keep();
        campaign.start_servers()?;
        if let Some(limit) = self.timeout {
            clock::stop_after(limit);
        }
        match self.is_campaign() {
            _ if self.predict => predict::run(self, &campaign, console),
            true => runs::run(self, &campaign, console),
            false => alone::run(self, &campaign, console),
        }
    }

    fn choice(&self) -> WorkloadChoice<'_> {
        WorkloadChoice {
            name: self.workload.as_deref().unwrap_or_default(),
            sessions: self.sessions,
            transactions: self.transactions,
            registers: self.registers.choice(),
            level: self.level(),
            mock: self.is_mock().then(|| self.updates.into()),
            scan: self.scan,
            limit: self.limit,
        }
    }

    fn settings(&self) -> DriveSettings {
        DriveSettings {
            seed: self.seed,
            runs: self.runs,
            jobs: self.jobs,
            level: self.level(),
            against: if let [AskedLevels::Level(level)] = self.check.as_slice() { Some(*level) } else { None },
            budget: self.budget,
            retries: self.retries,
            patience: self.patience,
            prefix: self.prefix.clone(),
            drop: self.drop,
            mock: MockSettings {
                updates: self.updates.into(),
                granularity: self.granularity.into(),
                chooser: self.chooser(),
                bare: self.bare,
                clock: self.clock,
            },
            own: self.own.servers(),
            order: if self.serial { Turns::BySeed } else { Turns::AsTheyCome },
            scan: self.scan,
        }
    }

    /// What a run in turns is wanted for is a recording of an ordinary run.
    fn chooser(&self) -> ChooserKind {
        let usual = if self.serial || self.predict { ChooserKind::Latest } else { ChooserKind::Random };
        self.chooser.unwrap_or(usual)
    }

    /// Whether the run has no server but the mock database of this process.
    pub(super) fn is_mock(&self) -> bool {
        self.servers.is_empty() && !self.own.is_wanted()
    }

    fn is_campaign(&self) -> bool {
        self.runs > 1
    }

    /// Where the history of a run goes, if anywhere.
    fn record_file(&self, seed: u64) -> Option<PathBuf> {
        let inside = |path: &Path| self.is_campaign() || path.is_dir();
        self.record
            .as_deref()
            .map(|path| if inside(path) { path.join(format!("{seed}.jsonl")) } else { path.to_owned() })
    }

    /// The levels that are asked of a history, each once.
    fn levels_for(&self, history: &History) -> Vec<IsolationLevel> {
        let mut levels = Vec::new();
        for asked in &self.check {
            match asked {
                AskedLevels::Level(level) => levels.push(*level),
                AskedLevels::Seven => levels.extend(IsolationLevel::of_papers()),
                AskedLevels::All => levels.extend(skew_check::papers_levels_to_ask(history)),
            }
        }
        each_once(levels)
    }

    fn refuse_nonsense(&self) -> Result<(), Complaint> {
        let refuse = |what: String, advice: &str| Err(Complaint::new("skew run", what, advice));
        self.refuse_level()?;
        if self.predict && self.level().implies(IsolationLevel::Serializable) {
            let what = format!("nothing could be predicted at {}, because all its runs are serializable", self.level());
            return refuse(what, "give a weaker --level, such as causal or read-committed");
        }
        if self.is_campaign() && !matches!(self.check.as_slice(), [] | [AskedLevels::Level(_)]) {
            let what = "several runs are compared with one level".to_owned();
            return refuse(what, "give --check one level, or record the runs and use `skew check`");
        }
        if self.is_campaign() && self.chooser() == ChooserKind::Novel {
            let what = "what novel chooses depends on the runs before, so that no run could be had again by its seed";
            return refuse(what.to_owned(), "use another --chooser, or one run");
        }
        self.own.refuse_nonsense(self)
    }

    /// The command that makes the requests of one run again.
    pub(super) fn replay(&self, seed: u64) -> String {
        let mut line = self.given.line();
        match self.level {
            Some(_) => line.insist("level"),
            None => line.set("level", self.named_level()),
        }
        if !self.own.is_cluster() {
            line.without("nodes");
        }
        if !matches!(self.check.as_slice(), [AskedLevels::Level(_)]) {
            line.without("check");
        }
        if !self.servers.is_empty() {
            line.insist("drop");
        }
        line.set("seed", seed);
        line.end()
    }
}

/// The workloads, a line each.
fn list() -> String {
    let widest = catalog::ALL.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    catalog::ALL.iter().map(|entry| format!("{:widest$}  {}\n", entry.name, entry.about)).collect()
}
