//! What a committed read-modify-write costs, early in a run and late.
//!
//! ```sh
//! cargo run --release -p skew-mockdb --example cost -- FACE LEVEL KEYS TRANSACTIONS
//! ```
//!
//! Four sessions increment keys until so many transactions have committed, their events interleaved by a seeded draw on one
//! thread. `FACE` is `get` (get, then put), `get-for-update` (the same with a lock) or `sql` (`UPDATE … SET x = x + 1`). The history is
//! written to nowhere. One line is printed: CPU seconds, microseconds per commit, attempts, versions kept, and the peak of memory in
//! kilobytes. The kernel counts CPU time in steps of some milliseconds, so a short run is done again and again, and averaged.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use skew_mockdb::kv::{KvSession, KvTransaction};
use skew_mockdb::{Campaign, ChooserKind, Connection, Database, Kv, KvError, Level, Options, Record, Store};
use skew_sql::session::Prepared;
use skew_sql::{Catalog, Interrupt, Stop};
use skew_value::Dialect;
use std::error::Error;
use std::io::{Write, sink, stdout};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SESSIONS: usize = 4;
/// Runs are repeated until they have taken this long together.
const LONG_ENOUGH: Duration = Duration::from_millis(300);

/// What a run took.
struct Measured {
    time: Duration,
    attempts: u64,
    versions: usize,
}

/// How far a session's transaction has come.
enum Client<'a> {
    Idle,
    Begun(KvTransaction<'a>),
    Read(KvTransaction<'a>, i64),
    Written(KvTransaction<'a>),
}

/// CPU time of this thread as the kernel counts it, so that other work on the machine does not count; else the clock.
fn cpu_time(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// The most memory that this process ever held, in kilobytes.
fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

struct Workload {
    keys: Vec<String>,
    locking: bool,
    dice: ChaCha8Rng,
    attempts: u64,
    committed: u64,
}

impl Workload {
    fn below(&mut self, bound: usize) -> usize {
        (self.dice.next_u64() % bound as u64) as usize
    }

    /// One event of a session; what has to wait is asked again later, what was refused begins again.
    fn event<'a>(
        &mut self,
        session: &'a KvSession,
        key: &mut usize,
        client: Client<'a>,
    ) -> Result<Client<'a>, KvError> {
        match client {
            Client::Idle => {
                self.attempts += 1;
                *key = self.below(self.keys.len());
                self.read(session.begin(), *key)
            }
            Client::Begun(transaction) => self.read(transaction, *key),
            Client::Read(mut transaction, value) => match transaction.put(&self.keys[*key], value + 1) {
                Ok(()) => Ok(Client::Written(transaction)),
                Err(KvError::WouldBlock(_)) => Ok(Client::Read(transaction, value)),
                Err(error) => begin_again(error),
            },
            Client::Written(transaction) => match transaction.commit() {
                Ok(()) => {
                    self.committed += 1;
                    Ok(Client::Idle)
                }
                Err(error) => begin_again(error),
            },
        }
    }

    fn read<'a>(&self, mut transaction: KvTransaction<'a>, key: usize) -> Result<Client<'a>, KvError> {
        let key = &self.keys[key];
        let found = if self.locking { transaction.get_for_update(key) } else { transaction.get(key) };
        match found {
            Ok(value) => Ok(Client::Read(transaction, value.and_then(|value| value.integer()).unwrap_or(0))),
            Err(KvError::WouldBlock(_)) => Ok(Client::Begun(transaction)),
            Err(error) => begin_again(error),
        }
    }
}

fn begin_again<'a>(error: KvError) -> Result<Client<'a>, KvError> {
    match error {
        KvError::Refused | KvError::Deadlock => Ok(Client::Idle),
        error => Err(error),
    }
}

fn run_kv(level: Level, keys: usize, transactions: u64, locking: bool) -> Result<Measured, Box<dyn Error>> {
    let record = Record { history: Some(Box::new(sink())), choices: None };
    let db = Kv::recorded(Options::new(level, 1), ChooserKind::Random.build(1, &Campaign::default()), record);
    let sessions: Vec<KvSession> = (0..SESSIONS).map(|number| db.session(&format!("s{number}"))).collect();
    let mut workload = Workload {
        keys: (0..keys).map(|key| format!("row/{key}")).collect(),
        locking,
        dice: ChaCha8Rng::seed_from_u64(1),
        attempts: 0,
        committed: 0,
    };
    let mut clients: Vec<(usize, Client<'_>)> = sessions.iter().map(|_| (0, Client::Idle)).collect();
    let clock = Instant::now();
    let start = cpu_time(clock);
    while workload.committed < transactions {
        let session = workload.below(SESSIONS);
        let (key, client) = &mut clients[session];
        *client = workload.event(&sessions[session], key, std::mem::replace(client, Client::Idle))?;
    }
    let time = cpu_time(clock).saturating_sub(start);
    Ok(Measured { time, attempts: workload.attempts, versions: db.version_count() })
}

/// A SQL connection with its prepared statements: begin, commit, rollback, and an update of each row.
struct SqlClient {
    connection: Connection,
    begin: Prepared,
    commit: Prepared,
    rollback: Prepared,
    updates: Vec<Prepared>,
    /// The row it updates, once it has begun, and whether that is done.
    row: Option<usize>,
    updated: bool,
}

fn prepare(database: &Database, connection: &mut Connection, sql: &str) -> Result<Prepared, Box<dyn Error>> {
    let statements = connection.session().parse(sql).map_err(|error| error.to_string())?;
    Ok(connection.prepare(database, &statements[0], &[]).map_err(|error| error.to_string())?)
}

impl SqlClient {
    fn open(database: &mut Database, name: &str, rows: usize) -> Result<SqlClient, Box<dyn Error>> {
        let mut connection = Connection::open(database, name, Dialect::Postgres);
        let [begin, commit, rollback] = ["BEGIN", "COMMIT", "ROLLBACK"];
        let update = |row| format!("UPDATE counter SET x = x + 1 WHERE id = {row}");
        Ok(SqlClient {
            begin: prepare(database, &mut connection, begin)?,
            commit: prepare(database, &mut connection, commit)?,
            rollback: prepare(database, &mut connection, rollback)?,
            updates: (0..rows).map(|row| prepare(database, &mut connection, &update(row))).collect::<Result<_, _>>()?,
            connection,
            row: None,
            updated: false,
        })
    }

    /// One statement; whether it was a commit that went well.
    fn event(&mut self, database: &mut Database, row: usize) -> Result<bool, Box<dyn Error>> {
        let commits = self.row.is_some() && self.updated;
        let prepared = match self.row {
            None => &self.begin,
            Some(_) if self.updated => &self.commit,
            Some(row) => &self.updates[row],
        };
        match self.connection.execute(database, prepared, &[]) {
            Ok(_) if commits => (self.row, self.updated) = (None, false),
            Ok(_) if self.row.is_some() => self.updated = true,
            Ok(_) => self.row = Some(row),
            // It is asked again when its turn comes.
            Err(Stop::Interrupted(Interrupt::Wait)) => return Ok(false),
            Err(Stop::Interrupted(_)) => {
                let _ = self.connection.execute(database, &self.rollback, &[]);
                (self.row, self.updated) = (None, false);
                return Ok(false);
            }
            Err(stop) => return Err(format!("{stop:?}").into()),
        }
        Ok(commits)
    }
}

fn counters(level: Level, rows: usize) -> Result<Database, Box<dyn Error>> {
    let store = Store::new(Options::new(level, 1), ChooserKind::Random.build(1, &Campaign::default()));
    let mut database = Database::new(store, Arc::new(Catalog::default()));
    let mut loader = Connection::open(&mut database, "loader", Dialect::Postgres);
    let inserts = (0..rows).map(|row| format!("INSERT INTO counter VALUES ({row}, 0)"));
    let schema = "CREATE TABLE counter (id INT PRIMARY KEY, x INT NOT NULL)".to_owned();
    for sql in [schema].into_iter().chain(inserts) {
        let prepared = prepare(&database, &mut loader, &sql)?;
        loader.execute(&mut database, &prepared, &[]).map_err(|stop| format!("{stop:?}"))?;
    }
    loader.close(&mut database);
    database.store.start(Record { history: Some(Box::new(sink())), choices: None }, "");
    Ok(database)
}

fn run_sql(level: Level, rows: usize, transactions: u64) -> Result<Measured, Box<dyn Error>> {
    let mut database = counters(level, rows)?;
    let mut clients = Vec::new();
    for number in 0..SESSIONS {
        clients.push(SqlClient::open(&mut database, &format!("s{number}"), rows)?);
    }
    let mut dice = ChaCha8Rng::seed_from_u64(1);
    let (mut committed, mut attempts) = (0, 0);
    let clock = Instant::now();
    let start = cpu_time(clock);
    while committed < transactions {
        let client = &mut clients[(dice.next_u64() % SESSIONS as u64) as usize];
        attempts += u64::from(client.row.is_none());
        let row = (dice.next_u64() % rows as u64) as usize;
        committed += u64::from(client.event(&mut database, row)?);
    }
    let time = cpu_time(clock).saturating_sub(start);
    Ok(Measured { time, attempts, versions: database.store.version_count() })
}

fn run(face: &str, level: Level, keys: usize, transactions: u64) -> Result<Measured, Box<dyn Error>> {
    match face {
        "get" => run_kv(level, keys, transactions, false),
        "get-for-update" => run_kv(level, keys, transactions, true),
        "sql" => run_sql(level, keys, transactions),
        other => Err(format!("`{other}` is no face; use get, get-for-update or sql").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [face, level, keys, transactions] = arguments.as_slice() else {
        return Err("say FACE LEVEL KEYS TRANSACTIONS, such as `get causal 1 20000`".into());
    };
    let (level, keys, transactions) = (level.parse::<Level>()?, keys.parse()?, transactions.parse::<u64>()?);
    let mut last = run(face, level, keys, transactions)?;
    let (mut sum, mut runs) = (last.time, 1);
    while sum < LONG_ENOUGH {
        last = run(face, level, keys, transactions)?;
        (sum, runs) = (sum + last.time, runs + 1);
    }
    let seconds = sum.as_secs_f64() / f64::from(runs);
    writeln!(
        stdout(),
        "seconds {seconds:.5} each {:.2} attempts {} versions {} kilobytes {}",
        seconds * 1e6 / transactions as f64,
        last.attempts,
        last.versions,
        peak_memory()
    )?;
    Ok(())
}
