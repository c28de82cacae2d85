//! `skew serve`: a database as weak as its level allows, for programs to connect to.
//!
//! ```text
//!   skew serve                    listens, says where, serves until Ctrl-C            alone
//!   skew serve --http             the same for keys and values over HTTP              http
//!   skew serve -- command         a fresh database for every run of the command       runs
//!   skew serve --predict -- command   one passing run in, a failing one out           predict
//!   skew serve --analyze -- command   one run in, what its transactions could do out  analyze
//! ```
//!
//! Everything that was recorded up to any moment is a valid history, so nothing has to be finished, and a server that is killed leaves a
//! file that can be checked. The file is in its place from the moment at which the server listens: one that cannot start destroys nothing.

mod alone;
mod analyze;
mod http;
mod predict;
mod runs;

use super::program::{Format, UpdatesArgument};
use super::replay::{Given, ONE_RUN, REST, Replayed, SHOWN, Written};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{Complaint, cannot};
use crate::output::{RecordErrors, RecordKeeper, note_input};
use skew_campaign::Moment;
use skew_campaign::recording::RecordingFailure;
use skew_campaign::served::database::{DatabaseSettings, Initial};
use skew_history::level::{IsolationLevel, listed, spellings};
use skew_history::{Engine, EngineLevel};
use skew_mockdb::wire::{AdversarySettings, Learned, Schedule, Strategy, WireSettings};
use skew_mockdb::{ChoiceLog, ChooserKind, LoggedStep};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the check of a run may take.
const BUDGET: u64 = 1_000_000;
/// How long the adversary may hold a request back, where nothing else is said.
const HOLD: Duration = Duration::from_millis(200);

/// What has no meaning where runs are foretold.
const OF_CHANCE: &str =
    "runs jobs replay seed chooser record choices schedule hold depth delay abort_rate stop_at_first";

/// Serve a database as weak as its level allows
#[derive(clap::Args)]
#[command(after_help = "Examples (PostgreSQL's protocol; keys and values over HTTP):\n  \
    skew serve --level causal --port 5433 --record run.jsonl\n  \
    skew serve --http --level causal --record run.jsonl\n  \
    curl -d '{\"session\":\"ann\",\"key\":\"x\",\"value\":1}' http://127.0.0.1:PORT/put\n\n\
    Exit codes: 0 the server was stopped, or every run of the command went well; 1 a run failed; 2 bad usage or input; \
    3 interrupted, or on a PostgreSQL server nothing could race\n\
    With --predict: 0 no run that could have been fails; 1 one does, or the recorded one is bad already; 2 bad usage or input; \
    3 interrupted, or not all could be tried\n\
    With --analyze: those of `skew analyze`")]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given<Arguments>,
    /// Speak HTTP with JSON instead: POST /begin, /get, /put, /delete, /cas, /commit, /abort
    #[arg(long)]
    http: bool,
    /// The address to listen at; other machines can connect only with --password or --insecure
    #[arg(long, alias = "host", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    listen: IpAddr,
    /// The port to listen at; 0 is any that is free
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,
    /// What clients have to know (SCRAM-SHA-256); ASCII letters, digits and signs
    #[arg(long, value_name = "TEXT", conflicts_with = "http")]
    password: Option<String>,
    /// Listen elsewhere than on this machine without a password
    #[arg(long)]
    insecure: bool,
    #[arg(short, long, value_name = "LEVEL",
        help = format!("What the database is: a PostgreSQL server at one level ({}), or as weak as {} allows; declared is the papers' level that comes closest to what clients ask for [default: a PostgreSQL server at the levels that clients ask for; causal with --http]", listed(Engine::Postgres.levels().map(EngineLevel::short), "or"), spellings(IsolationLevel::of_papers())))]
    level: Option<IsolationLevel>,
    /// Where chance begins [default: 1, or that of --replay]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// When the database's clock starts, of which every transaction takes a second [default: now, or that of --replay]
    #[arg(long, value_name = "TIME")]
    clock: Option<Moment>,
    #[arg(skip = clock::now())]
    started: Moment,
    /// Which version a read returns: random, latest, stalest, latest-per-session or novel
    #[arg(long, default_value = "random", value_name = "NAME")]
    chooser: ChooserKind,
    /// Whether updates lock their rows and read the latest version, or are plain reads and writes
    #[arg(long, value_enum, default_value_t = UpdatesArgument::Atomic)]
    updates: UpdatesArgument,
    /// After so many commits, or so many roll-backs, the past is sealed; 0 is never [default: 64]
    #[arg(long, value_name = "N")]
    horizon: Option<usize>,
    /// The axioms alone: a session need not see what committed before it connected, nor, at read-committed, its own commits
    #[arg(long)]
    bare: bool,
    /// How often a commit that could go well is refused, and a wait called a deadlock
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    abort_rate: f64,
    /// Whose statement runs when [default: adversary on a PostgreSQL server, else free]
    #[arg(long, value_enum, conflicts_with = "http", value_name = "NAME")]
    schedule: Option<ScheduleArgument>,
    /// How long the adversary may hold a request back; held time is no time to timeouts
    #[arg(long, default_value = "200ms", value_parser = clock::parse_duration, value_name = "TIME", conflicts_with = "http")]
    hold: Duration,
    /// With --schedule pct: how many orderings the bug needs that is looked for [default: 2 to 4, by the seed]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100), value_name = "D")]
    depth: Option<u32>,
    /// With --schedule serial or --predict: when a transaction has been silent for this long, the next one goes on; with --replay FILE: so long
    /// nobody may say anything while the next statement of the file is waited for
    #[arg(long, default_value = "1s", value_parser = clock::parse_duration, value_name = "TIME")]
    patience: Duration,
    /// Before every statement a pause of chance, at most so long
    #[arg(long, value_parser = clock::parse_duration, value_name = "TIME", conflicts_with = "http")]
    delay: Option<Duration>,
    /// SQL that makes the initial state, outside the weak choice
    #[arg(long, value_name = "FILE", conflicts_with = "http")]
    init: Option<PathBuf>,
    /// Write the history to this file, as it happens; with several runs, a folder for all that is known of each
    #[arg(long, value_name = "PATH")]
    record: Option<PathBuf>,
    /// Write what chance decided to this file, for --replay
    #[arg(long, alias = "log", value_name = "FILE")]
    choices: Option<PathBuf>,
    /// When the history or the choices cannot be written any more, on a full disk for instance: end, or go on without recording this run and
    /// those after it. It ends unless told otherwise, because what clients do afterwards is in no history, and nobody would know. A path
    /// that is wrong from the start ends it in any case
    #[arg(long, value_enum, default_value_t = RecordErrors::Stop)]
    record_errors: RecordErrors,
    /// Choose what this file says was chosen, or what this seed chooses
    #[arg(long, value_name = "FILE|SEED", conflicts_with_all = ["seed", "runs"])]
    replay: Option<String>,
    /// How often to run the command; run n has seed N + n
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), value_name = "M", requires = "command")]
    runs: u64,
    /// How many runs at a time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), value_name = "J", requires = "command")]
    jobs: u64,
    /// Stop at the first run in which the command fails
    #[arg(long, requires = "command")]
    stop_at_first: bool,
    /// A run that takes longer has failed
    #[arg(long, value_parser = clock::parse_duration, value_name = "TIME", requires = "command")]
    timeout: Option<Duration>,
    /// Compare runs with this level; given, a run that violates it is a failure [default: serializable]
    #[arg(long, value_name = "LEVEL", requires = "command")]
    against: Option<IsolationLevel>,
    /// Give up the check of a run after so many steps of search
    #[arg(long, default_value_t = BUDGET, value_name = "STEPS")]
    budget: u64,
    /// Run the command once with ordinary reads, predict from that run others in which it may fail, and make those again
    #[arg(long, requires = "command", conflicts_with_all = OF_CHANCE.split(' '))]
    predict: bool,
    /// With --predict: how often the command may run again
    #[arg(long, default_value_t = 50, value_name = "N", requires = "predict")]
    replays: u64,
    /// With --predict: how many stepping stones are taken one after the other, where no prediction makes the command fail
    #[arg(long, default_value_t = 2, value_name = "N", requires = "predict")]
    stones: usize,
    /// With --predict: keep failing runs in this folder, for --foretold
    #[arg(long, value_name = "DIR", requires = "predict")]
    save: Option<PathBuf>,
    /// Let each read return what it returns in this history, in the same order of transactions
    #[arg(long, value_name = "FILE", requires = "command", conflicts_with = "predict", conflicts_with_all = OF_CHANCE.split(' '))]
    foretold: Option<PathBuf>,
    /// Run the command once with ordinary reads, and analyse what it says to its database, as `skew analyze` does with a log
    #[arg(long, requires = "command", conflicts_with_all = ["predict", "foretold"], conflicts_with_all = OF_CHANCE.split(' '))]
    analyze: bool,
    /// With --analyze: write what the command says to this file, a log for `skew analyze`
    #[arg(long, value_name = "FILE", requires = "analyze")]
    statements: Option<PathBuf>,
    /// With --http: how long a request waits for a lock
    #[arg(long, default_value = "10s", value_parser = clock::parse_duration, value_name = "TIME")]
    lock_wait: Duration,
    /// With --http: a transaction that has been silent for this long is rolled back
    #[arg(long, default_value = "60s", value_parser = clock::parse_duration, value_name = "TIME")]
    idle: Duration,
    /// How the report of runs is written
    #[arg(long, value_enum, default_value_t = Format::Human, requires = "command", conflicts_with_all = ["predict", "foretold", "analyze"])]
    format: Format,
    /// Tell what happens, on standard error; RUST_LOG says more exactly what
    #[arg(short, long)]
    verbose: bool,
    /// A command to run on the database, which it finds by DATABASE_URL, PGHOST, PGPORT, PGUSER and PGDATABASE
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "http")]
    command: Vec<String>,
}

/// Who goes when.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum ScheduleArgument {
    /// Hold requests back so that those of other clients get in between: pct or random, by the seed
    Adversary,
    /// Hold back by priorities of chance that change at a few steps (probabilistic concurrency testing)
    Pct,
    /// Hold back so that every next step is anybody's
    Random,
    /// Hold nothing back: statements run as they arrive
    #[value(alias = "interleaved")]
    Free,
    /// One transaction at a time
    Serial,
}

impl Replayed for Arguments {
    const COMMAND: &'static str = "skew serve";
    const LEFT_OUT: &'static [(&'static str, &'static str)] = &[
        ("http", "without a command there are no runs"),
        ("lock_wait", "only of --http"),
        ("idle", "only of --http"),
        ("seed", "the line has --replay"),
        ("runs", ONE_RUN),
        ("jobs", ONE_RUN),
        ("stop_at_first", ONE_RUN),
        ("record", SHOWN),
        ("record_errors", SHOWN),
        ("choices", SHOWN),
        ("verbose", SHOWN),
        ("format", SHOWN),
        ("predict", "a failing run is made again by itself"),
        ("replays", "only of --predict"),
        ("stones", "only of --predict"),
        ("save", SHOWN),
        ("analyze", "what the command says is analysed, and no run of it is shown"),
        ("statements", "only of --analyze"),
    ];
    const ORDER: &'static [&'static str] = &[
        "level",
        "updates",
        "bare",
        "chooser",
        "schedule",
        "hold",
        "depth",
        "patience",
        "horizon",
        "abort_rate",
        "delay",
        "timeout",
        "against",
        "budget",
        "init",
        "listen",
        "port",
        "insecure",
        "password",
        REST,
        "clock",
        "replay",
    ];
    /// What is secret is not for a screen that others see: whoever runs the line puts it there.
    const WRITTEN: &'static [(&'static str, Written)] = &[("password", |_| Some("\"$SKEW_PASSWORD\"".to_owned()))];
}

impl Arguments {
    pub(crate) fn run(mut self, console: &mut Console) -> Exit {
        start_logging(self.verbose);
        self.take_clock_of_log();
        let served = self.refuse_nonsense().and_then(|()| match self.http {
            true => http::serve(&self, console),
            false if self.command.is_empty() => alone::serve(&self, console),
            false if self.predict || self.foretold.is_some() => predict::serve(&self, console),
            false if self.analyze => analyze::serve(&self, console),
            false => runs::serve(&self, console),
        });
        console.conclude(served)
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(self.listen, self.port)
    }

    /// The log to replay; a number is a seed, unless there is a file of that name.
    fn replay_file(&self) -> Option<&Path> {
        let replay = self.replay.as_deref().filter(|name| name.parse::<u64>().is_err() || Path::new(name).exists());
        replay.map(Path::new)
    }

    fn first_seed(&self, log: Option<&ChoiceLog>) -> u64 {
        let replayed = self.replay.as_deref().and_then(|name| name.parse().ok());
        let logged = log.map(|log| log.seed);
        self.seed.or(logged).or(replayed).unwrap_or(1)
    }

    /// When the time of every run begins.
    fn time_begins(&self) -> Moment {
        self.clock.unwrap_or(self.started)
    }

    /// A run that is made again has the clock that its log tells. A log that cannot be read is complained of by whoever needs it.
    fn take_clock_of_log(&mut self) {
        let log = self.replay_file().and_then(|path| read_log(path).ok());
        if let Some(clock) = log.and_then(|log| log.clock) {
            self.started = Moment(clock);
        }
    }

    /// Where each run has files of its own, if that was asked.
    fn record_folder(&self) -> Option<&Path> {
        let several = |path: &&Path| self.runs > 1 || path.is_dir();
        self.record.as_deref().filter(several)
    }

    /// Where the choices of a run go, if anywhere.
    fn choices_file(&self, seed: u64) -> Option<PathBuf> {
        let inside = || Some(self.record_folder()?.join(format!("{seed}.choices")));
        self.choices.clone().or_else(inside)
    }

    /// The command that shows one run again. With a log of its choices, if that was written, it works whatever else is different.
    pub(super) fn replay_command(&self, seed: u64, has_log: bool) -> String {
        let mut line = self.given.line();
        match self.schedule() {
            ScheduleArgument::Serial => line.insist("patience"),
            _ => line.without("patience"),
        }
        match self.choices_file(seed).filter(|_| has_log) {
            // A log says all that a chooser would, and when time began.
            Some(log) => {
                line.without("chooser");
                line.without("clock");
                line.set("replay", log.to_string_lossy());
            }
            None => {
                line.set("clock", self.time_begins());
                line.set("replay", seed);
            }
        }
        line.end()
    }

    /// The command that makes a foretold run again.
    fn foretold_command(&self, file: &Path) -> String {
        let mut line = self.given.line();
        line.set("level", self.level.unwrap_or(IsolationLevel::ReadCommitted));
        // What the command asks the clock has the same answers.
        line.set("clock", self.time_begins());
        line.set("foretold", file.to_string_lossy());
        line.end()
    }

    /// The choices to make again, if there are any.
    fn log(&self) -> Result<Option<ChoiceLog>, Complaint> {
        self.replay_file().map(read_log).transpose()
    }

    /// What databases are like.
    fn database(&self, log: Option<ChoiceLog>) -> Result<DatabaseSettings, Complaint> {
        Ok(DatabaseSettings {
            level: self.level,
            updates: self.updates.into(),
            horizon: self.horizon,
            bare: self.bare,
            abort_rate: self.abort_rate,
            clock: self.time_begins(),
            chooser: self.chooser,
            log,
            initial: initial(self.init.as_deref())?,
        })
    }

    /// How databases are served over PostgreSQL's protocol.
    fn wire(&self, log: Option<&ChoiceLog>) -> WireSettings {
        let adversary = |strategy| {
            let (depth, learned) = (self.depth, Learned::default());
            Schedule::Adversary(AdversarySettings { strategy, depth, hold: self.hold, learned })
        };
        let steps = log.map(|log| &log.steps).filter(|steps| !steps.is_empty() && self.is_server());
        let repeated =
            |steps: &Vec<LoggedStep>| Schedule::Repeated { steps: steps.as_slice().into(), wait: self.patience };
        let schedule = steps.map(repeated).unwrap_or_else(|| match self.schedule() {
            ScheduleArgument::Adversary => adversary(Strategy::Mixed),
            ScheduleArgument::Pct => adversary(Strategy::Pct),
            ScheduleArgument::Random => adversary(Strategy::Random),
            ScheduleArgument::Free => Schedule::Interleaved,
            ScheduleArgument::Serial => Schedule::Serial { patience: self.patience },
        });
        WireSettings { address: self.address(), password: self.password.clone(), schedule, delay: self.delay }
    }

    /// Whether it is a PostgreSQL server at its own levels, rather than as weak as a level of the papers.
    fn is_server(&self) -> bool {
        let is_weak = self.http || self.predict || self.analyze || self.foretold.is_some();
        !is_weak && self.level.is_none_or(|level| level.of_engine().is_some())
    }

    /// Whose statement runs when. Who pauses before statements leaves it to chance when they come.
    fn schedule(&self) -> ScheduleArgument {
        let usual = if self.is_server() { ScheduleArgument::Adversary } else { ScheduleArgument::Free };
        self.schedule.unwrap_or(usual)
    }

    /// What has no meaning beside what else is asked for.
    fn refuse_schedule(&self) -> Result<(), Complaint> {
        use ScheduleArgument::{Adversary, Pct, Random};
        let refuse = |what: &str, advice: &str| Err(Complaint::new("skew serve", what.to_owned(), advice));
        let holds = matches!(self.schedule(), Adversary | Pct | Random);
        if holds && !self.is_server() {
            let what = "at this level weak reads look for trouble, and no request is held back";
            return refuse(what, "leave --schedule away, or use free or serial; or leave --level away");
        }
        if !holds && (self.hold != HOLD || self.depth.is_some()) {
            let what = "--hold and --depth are about requests that are held back, and here none is";
            return refuse(what, "leave them away, or use --schedule pct, random or adversary on a PostgreSQL server");
        }
        if self.depth.is_some() && self.schedule() != Pct {
            return refuse("--depth is about probabilistic concurrency testing", "add --schedule pct");
        }
        if holds && self.delay.is_some() {
            let what = "--delay pauses by chance, and the adversary decides by its own which request waits";
            return refuse(what, "leave --delay away, or add --schedule free");
        }
        if holds && self.hold.is_zero() {
            return refuse("--hold 0 holds nothing back", "use --schedule free");
        }
        Ok(())
    }

    /// Who keeps the runs.
    fn keeper(&self) -> RecordKeeper {
        RecordKeeper::new(self.record_errors)
    }

    /// A level that cannot be served, or what has no meaning there.
    fn refuse_level(&self) -> Result<(), Complaint> {
        let refuse = |what: String, advice: &str| Err(Complaint::new("skew serve", what, advice));
        let engine = self.level.and_then(IsolationLevel::of_engine).map(EngineLevel::engine);
        let is_declared = self.level == Some(IsolationLevel::Declared);
        let is_weak = self.http || self.predict || self.foretold.is_some();
        let may_be = if is_weak { None } else { Some(Engine::Postgres) };
        if let Some(level) = self.level.filter(|level| !level.is_of_papers())
            && (!is_declared || self.http)
            && (engine.is_none() || engine != may_be)
        {
            let postgres = may_be.into_iter().flat_map(Engine::levels).map(EngineLevel::short);
            let levels = listed(postgres.chain(IsolationLevel::of_papers().map(IsolationLevel::short)), "or");
            return refuse(format!("{level} is not a level that can be served"), &format!("use {levels}"));
        }
        let of_weakness = [
            ("--chooser", self.chooser != ChooserKind::Random),
            ("--updates plain", self.updates == UpdatesArgument::Plain),
            ("--bare", self.bare),
            ("--horizon", self.horizon.is_some()),
            ("--abort-rate", self.abort_rate > 0.0),
        ];
        match of_weakness.into_iter().find(|(_, is_given)| *is_given && self.is_server()) {
            Some((name, _)) => {
                let what = format!("{name} is about weak reads, and a PostgreSQL server has none");
                refuse(what, "give a --level of the papers, such as read-committed, causal or declared")
            }
            None => Ok(()),
        }
    }

    fn refuse_nonsense(&self) -> Result<(), Complaint> {
        let refuse = |what: String, advice: &str| Err(Complaint::new("skew serve", what, advice));
        self.refuse_level()?;
        self.refuse_schedule()?;
        let against = self.against.unwrap_or(IsolationLevel::Serializable);
        if self.predict && self.level.is_some_and(|level| level.implies(against)) {
            let what = format!("nothing could be predicted, because the database keeps {against} itself");
            return refuse(what, "give a weaker --level, such as causal or read-committed");
        }
        if self.predict && !against.is_of_papers() {
            let levels = listed(IsolationLevel::of_papers().map(IsolationLevel::short), "or");
            return refuse(format!("--against {against}: a predicted run has no times"), &format!("use {levels}"));
        }
        if !(0.0..=1.0).contains(&self.abort_rate) {
            return refuse(format!("--abort-rate {} is not a share", self.abort_rate), "use a number from 0 to 1");
        }
        if self.password.as_ref().is_some_and(|password| password.is_empty() || !is_printable(password)) {
            let advice = "use ASCII letters, digits and signs, at least one";
            return refuse("this password cannot be used".to_owned(), advice);
        }
        if self.runs > 1 && self.choices.is_some() {
            let advice = "use --record with a folder, in which every run has its own";
            return refuse("--choices is one file, but there are several runs".to_owned(), advice);
        }
        if self.runs > 1 && self.chooser == ChooserKind::Novel && self.record.is_none() {
            let what = "what novel chooses depends on the runs before, so that no run could be had again by its seed";
            return refuse(what.to_owned(), "add --record with a folder, in which the choices of every run are kept");
        }
        if self.jobs > 1 && self.port != 0 {
            let what = format!("only one run at a time can listen at port {}", self.port);
            return refuse(what, "leave --port away, and every run finds its own in its environment; or --jobs");
        }
        if !self.listen.is_loopback() && self.password.is_none() && !self.insecure {
            let what = format!("whoever reaches {} could use the database", self.listen);
            return refuse(what, "set a --password, or say --insecure");
        }
        Ok(())
    }
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

/// What the server tells goes to standard error; without being asked only what somebody should know.
fn start_logging(verbose: bool) {
    let usual = if verbose { "skew=debug,skew_mockdb=debug" } else { "warn" };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| usual.into());
    let logger = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Only the first logger counts, and there is no other.
    let _ = logger.try_init();
}

/// Reads the SQL of `--init`.
pub(crate) fn initial(path: Option<&Path>) -> Result<Initial, Complaint> {
    let read = |path: &Path| Ok((path.to_string_lossy().into_owned(), read_text(path)?));
    path.map(read).transpose()
}

fn read_text(path: &Path) -> Result<String, Complaint> {
    let name = path.to_string_lossy();
    note_input(path);
    fs::read_to_string(path).map_err(|error| Complaint::new(&name, cannot("read", &error), "check the path"))
}

fn read_log(path: &Path) -> Result<ChoiceLog, Complaint> {
    let name = path.to_string_lossy();
    ChoiceLog::parse(&read_text(path)?)
        .map_err(|error| Complaint::new(&name, error.to_string(), "give a file that --choices wrote"))
}

/// A replay that differs from what was recorded is no replay.
fn tell_divergences(divergences: usize, console: &mut Console) {
    if divergences > 0 {
        console.note(&format!(
            "the replay differs from its log: {divergences} choices were not as it tells; the latest version was taken instead"
        ));
    }
}

/// What went wrong with recording is bad news even when all went well. What the keeper knows is more exact than what the server knows.
fn tell_recording_failure(keeper: &RecordKeeper, failure: Option<&str>, console: &mut Console) -> Exit {
    let known = keeper.failure();
    let what = known.as_ref().map(RecordingFailure::what).or(failure.map(str::to_owned));
    let Some(what) = what else { return Exit::Holds };
    let advice = known.as_ref().map_or("the end of the history may be missing", |known| known.left());
    console.complain(&Complaint::new("skew serve", format!("recording stopped: {what}"), advice));
    Exit::BadInput
}
