//! A run: tables made and filled, a thread per session, and a report.
//!
//! ```text
//!   prepare ── CREATE TABLE, INSERT ── every node has it ──┬── s1 on the first server:  draw, run, draw, run, …
//!                                                          ├── s2 on the second
//!                                                          └── …
//!   end ── the last session has ended ── assertions in one transaction ── Report
//! ```
//!
//! A session does a fixed number of operations, and each depends only on the seed, the session and its number. So a seed gives the
//! same requests on every server; who meets whom is up to the server, unless sessions take turns (`turns`): then nobody meets anybody, and
//! a seed gives the same history, byte for byte. Whoever sets the stop flag gets what was recorded so far. A
//! server that is lost for good ends the run in the same way, with the reason in the report. Servers of our own may be broken
//! meanwhile (`fault`): then sessions wait for them longer.

use crate::fault::{self, Faults, Injected};
use crate::histogram::Histogram;
use crate::load::Setup;
use crate::prepare::{engine, open, prepare};
use crate::record::{Recorder, Telling};
use crate::report::{End, Report};
use crate::session::{Session, SharedRun, Tally};
use crate::table::Names;
use crate::transaction::Lookups;
use crate::turns::{TurnKeeper, Turns};
use crate::workload::{Assertion, FinalState, Observation, Workload};
use crate::{Failure, Random, Url};
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_value::Dialect;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// What is done with the tables before a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prepare {
    /// They are made; a run refuses to start when one is there already.
    Create,
    /// Those of earlier runs are dropped first.
    DropAndCreate,
    /// Somebody has made and filled them, with [`Setup::script`].
    Nothing,
}

/// How a workload is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The servers; sessions are spread over them in turn. The first one makes the tables.
    pub urls: Vec<Url>,
    /// How many clients there are.
    pub sessions: usize,
    /// How many operations each of them does.
    pub operations: u64,
    /// What chance begins with.
    pub seed: u64,
    /// The level that sessions ask for, and that the history declares.
    pub level: IsolationLevel,
    /// How often a refused transaction is tried again.
    pub retries: u32,
    /// How long an answer may take before the connection counts as lost.
    pub timeout: Duration,
    /// How long a session tries to reach a server again that it has lost, or waits for one that is not ready.
    pub reconnect: Duration,
    /// What is done with the tables.
    pub prepare: Prepare,
    /// How the tables are called.
    pub names: Names,
    /// What the connection that asks the assertions says first: the mock database is told there which versions it returns.
    pub asking: Option<String>,
    /// Whether updates and locking reads see the latest version, as on every server; the history says so of each. The mock database
    /// can be told otherwise.
    pub locks: bool,
    /// Whether rows are read and written as a whole, as on every server. The mock database can be told to choose a version of every
    /// cell; then the history is about the cells `ver`, and has no deletions and reads of absence.
    pub rows: bool,
    /// In which order transactions come. Where there is one at a time, the times of the history count transactions.
    pub order: Turns,
    /// Whether every lookup of a row reads every row of its table first.
    pub scan: bool,
}

impl Options {
    /// Three sessions with 100 operations each at serializable, on one server.
    pub fn new(url: Url) -> Options {
        Options {
            urls: vec![url],
            sessions: 3,
            operations: 100,
            seed: 0,
            level: IsolationLevel::Serializable,
            retries: 10,
            timeout: Duration::from_secs(20),
            reconnect: RECONNECT,
            prepare: Prepare::Create,
            names: Names::default(),
            asking: None,
            locks: true,
            rows: true,
            order: Turns::AsTheyCome,
            scan: false,
        }
    }

    /// How rows are looked up. The mock database reads row by row, and its levels speak of the order; another server promises no order to whoever
    /// asks for none, and one that changed would make another history.
    fn lookups(&self) -> Lookups {
        Lookups { whole: self.scan, sorted: self.order.is_serial() && !self.is_mock() }
    }

    /// Whether it is the mock database that is asked.
    fn is_mock(&self) -> bool {
        self.asking.is_some()
    }

    /// A commit that nobody answered may still be on its way: all questions see one state. The mock database sees to that itself.
    fn level_of_assertions(&self) -> IsolationLevel {
        use EngineLevel::{MysqlReadCommitted, MysqlRepeatableRead, PostgresReadCommitted, PostgresRepeatableRead};
        match self.level {
            IsolationLevel::ReadCommitted if !self.is_mock() => IsolationLevel::Snapshot,
            IsolationLevel::Engine(PostgresReadCommitted) => IsolationLevel::Engine(PostgresRepeatableRead),
            IsolationLevel::Engine(MysqlReadCommitted) => IsolationLevel::Engine(MysqlRepeatableRead),
            level => level,
        }
    }

    fn telling(&self) -> Telling {
        use EngineLevel::{MysqlRepeatableRead, MysqlSerializable, MysqlSnapshotIsolation};
        let gaps = match self.level {
            IsolationLevel::Snapshot | IsolationLevel::Serializable => self.urls[0].dialect == Dialect::MySql,
            IsolationLevel::Engine(MysqlRepeatableRead | MysqlSnapshotIsolation | MysqlSerializable) => true,
            _ => false,
        };
        let searches = !self.is_mock();
        Telling { locks: self.locks, searches, gaps, rows: self.rows, counts: self.order.is_serial() }
    }
}

/// What a run needs from outside.
#[derive(Default)]
pub struct Outside<'a> {
    /// Where the history goes.
    pub record: Option<&'a mut dyn Write>,
    /// Set to end the run.
    pub stop: Option<&'a AtomicBool>,
    /// Called now and then.
    pub progress: Option<&'a dyn Fn(&Progress)>,
    /// What happens to the servers meanwhile.
    pub faults: Option<Faults<'a>>,
}

/// How far a run is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Operations that are done.
    pub operations: u64,
    /// Transactions that the database did not let through.
    pub aborted: u64,
    /// How long committed transactions took, in nanoseconds.
    pub latency: Histogram,
}

/// Why a run did not begin, or its history could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There are no sessions, no servers, or servers of two kinds.
    #[error("{0}")]
    Options(String),
    /// A table is there already.
    #[error("table {table} is there already at {url}; let it be dropped, or give another prefix")]
    TableExists {
        /// Its name in the database.
        table: String,
        /// Where.
        url: String,
    },
    /// A table with our name is not ours: it has other columns.
    #[error("table {table} at {url} was not made by a run; give another prefix")]
    NotOurs {
        /// Its name in the database.
        table: String,
        /// Where.
        url: String,
    },
    /// Another run has these tables now.
    #[error("another run has the tables {prefix}… at {url}")]
    InUse {
        /// What their names start with.
        prefix: String,
        /// Where.
        url: String,
    },
    /// A node does not get what another one has loaded.
    #[error("{url} does not get the rows of {table}: is it a node of the same cluster?")]
    NotReplicated {
        /// Its name in the database.
        table: String,
        /// Which node.
        url: String,
    },
    /// The server refused what is needed before the first operation, or after the last.
    #[error("{url}: {failure}")]
    Server {
        /// Where.
        url: String,
        /// What it said.
        failure: Failure,
    },
    /// The history could not be written.
    #[error("cannot write the history: {0}")]
    Record(#[from] io::Error),
}

/// How long a session usually tries to reach a server again.
pub const RECONNECT: Duration = Duration::from_secs(3);

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(100);

/// Runs a workload.
pub fn run(workload: &dyn Workload, options: &Options, outside: Outside<'_>) -> Result<Report, RunError> {
    check(options)?;
    let setup = Setup::new(workload, &options.names, options.urls[0].dialect);
    // Held until the end: nobody else takes these tables meanwhile.
    let _reserved = prepare(workload, &setup, options)?;
    let recorder = Recorder::new(outside.record.is_some(), options.telling());
    let engine = if outside.record.is_some() && !options.is_mock() { Some(engine(options)?) } else { None };
    recorder.header(engine.as_deref(), &setup.initial, workload.name());
    let shared = SharedRun {
        names: &options.names,
        recorder: &recorder,
        level: options.level,
        retries: options.retries,
        timeout: options.timeout,
        reconnect: options.reconnect,
        stop: outside.stop,
        failed: AtomicBool::new(false),
        done: AtomicU64::new(0),
        aborted: AtomicU64::new(0),
        latency: outside.progress.is_some().then(Mutex::default),
        turns: TurnKeeper::new(&options.order, options.sessions, options.seed),
        lookups: options.lookups(),
    };
    let start = Instant::now();
    let (tallies, end, faults) = sessions(workload, options, &shared, outside)?;
    let (mut report, observations) = Report::new(tallies, end, shared.done.load(Ordering::Relaxed), start.elapsed());
    report.faults = faults;
    if report.end == End::Finished {
        match asked(workload, options, &observations, report.unknown == 0) {
            Ok((assertions, left_out)) => {
                report.assertions = assertions;
                report.not_asked = left_out.then(|| format!("{} commits were not answered", report.unknown));
            }
            Err(failure) => report.not_asked = Some(failure.to_string()),
        }
    }
    Ok(report)
}

fn check(options: &Options) -> Result<(), RunError> {
    let Some(first) = options.urls.first() else {
        return Err(RunError::Options("no server is given".to_owned()));
    };
    if options.urls.iter().any(|url| url.dialect != first.dialect) {
        return Err(RunError::Options("the servers of one run speak one dialect".to_owned()));
    }
    if options.sessions == 0 {
        return Err(RunError::Options("there are no sessions".to_owned()));
    }
    let is_of_server = |level: EngineLevel| engine_of(first.dialect) == level.engine();
    match options.level {
        IsolationLevel::Engine(level) if !is_of_server(level) => {
            Err(RunError::Options(format!("{level} is no level of {}", engine_of(first.dialect))))
        }
        level if !level.is_of_transactions() => Err(RunError::Options(format!(
            "no transaction runs at {level}; use one of the seven levels, or one of the engines"
        ))),
        _ => Ok(()),
    }
}

fn engine_of(dialect: Dialect) -> Engine {
    match dialect {
        Dialect::Postgres => Engine::Postgres,
        Dialect::MySql => Engine::Mysql,
    }
}

/// A session that has ended: its number, what it counted, what was wrong.
type Done = (usize, Tally, Option<String>);

/// Runs all sessions to their ends.
fn sessions(
    workload: &dyn Workload,
    options: &Options,
    shared: &SharedRun<'_>,
    outside: Outside<'_>,
) -> Result<(Vec<Tally>, End, Vec<Injected>), RunError> {
    let (send, receive) = mpsc::channel();
    let have_ended = AtomicBool::new(false);
    let (done, faults) = thread::scope(|scope| {
        for (number, url) in (0..options.sessions).zip(options.urls.iter().cycle()) {
            let send = send.clone();
            scope.spawn(move || {
                let mut session = Session::new(shared, number, url);
                let problem = session_loop(workload, options, shared, &mut session).err();
                // Who receives waits until all have sent.
                let _ = send.send((number, session.tally, problem));
            });
        }
        drop(send);
        let is_over = || shared.is_over() || have_ended.load(Ordering::Relaxed);
        let faults = outside
            .faults
            .map(|faults| scope.spawn(move || fault::inject(faults, || shared.done.load(Ordering::Relaxed), is_over)));
        let done = watch(shared, &receive, outside);
        have_ended.store(true, Ordering::Relaxed);
        (done, faults.and_then(|faults| faults.join().ok()).unwrap_or_default())
    });
    let mut done = done?;
    done.sort_by_key(|(number, ..)| *number);
    let complete = shared.done.load(Ordering::Relaxed) == options.operations * options.sessions as u64;
    let end = match done.iter().find_map(|(_, _, problem)| problem.clone()) {
        Some(problem) => End::Failed(problem),
        None if complete => End::Finished,
        None => End::Stopped,
    };
    Ok((done.into_iter().map(|(_, tally, _)| tally).collect(), end, faults))
}

/// Writes the history and tells of progress until all sessions have ended. Once the history cannot be written, there is no point in
/// going on.
fn watch(shared: &SharedRun<'_>, receive: &mpsc::Receiver<Done>, outside: Outside<'_>) -> io::Result<Vec<Done>> {
    let (mut done, mut written, mut out) = (Vec::new(), Ok(()), outside.record);
    loop {
        let received = receive.recv_timeout(PROGRESS);
        if let (Ok(()), Some(out)) = (&written, &mut out) {
            written = shared.recorder.write(&mut **out);
            shared.failed.fetch_or(written.is_err(), Ordering::Relaxed);
        }
        if let Some(tell) = outside.progress {
            tell(&progress(shared));
        }
        match received {
            Ok(session) => done.push(session),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            // All have sent before they hung up, and what they recorded before that was written just now.
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    written.and_then(|()| out.map_or(Ok(()), |out| out.flush()))?;
    Ok(done)
}

fn progress(shared: &SharedRun<'_>) -> Progress {
    let latency = shared.latency.as_ref().map(|all| all.lock().unwrap_or_else(PoisonError::into_inner).clone());
    Progress {
        operations: shared.done.load(Ordering::Relaxed),
        aborted: shared.aborted.load(Ordering::Relaxed),
        latency: latency.unwrap_or_default(),
    }
}

/// One session from its first operation to its last; what made it end before.
fn session_loop(
    workload: &dyn Workload,
    options: &Options,
    shared: &SharedRun<'_>,
    session: &mut Session<'_>,
) -> Result<(), String> {
    for number in 0..options.operations {
        if shared.is_over() {
            break;
        }
        let mut random = Random::of_operation(options.seed, session.number(), number);
        let operation = workload.draw(&mut random, session.number(), number);
        let ended = operation.run(session);
        if ended.is_err() {
            shared.failed.store(true, Ordering::Relaxed);
        }
        ended.map_err(|failure| format!("session s{}: {failure}", session.number() + 1))?;
        shared.done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// How often assertions are asked when the server refuses.
const ASKED: u32 = 5;

/// The assertions, and whether some were left out because the answer to a commit was lost.
fn asked(
    workload: &dyn Workload,
    options: &Options,
    observations: &[Observation],
    is_complete: bool,
) -> Result<(Vec<Assertion>, bool), Failure> {
    let mut tries = (0..ASKED).map(|_| assertions(workload, options, observations, is_complete));
    let refused = Err(Failure::Refused("refused again and again"));
    tries.find(|asked| !matches!(asked, Err(Failure::Refused(_)))).unwrap_or(refused)
}

fn assertions(
    workload: &dyn Workload,
    options: &Options,
    observations: &[Observation],
    is_complete: bool,
) -> Result<(Vec<Assertion>, bool), Failure> {
    let mut connection = open(options, &options.urls[0], "assertions")?;
    if let Some(first) = &options.asking {
        connection.command(first)?;
    }
    connection.begin(options.level_of_assertions())?;
    let mut end = FinalState::new(&mut *connection, &options.names, observations, is_complete);
    let assertions = workload.assertions(&mut end)?;
    let left_out = end.left_out();
    connection.commit()?;
    Ok((assertions, left_out))
}
