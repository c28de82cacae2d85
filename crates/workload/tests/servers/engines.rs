//! What clients record is what their server can show at its level: of whatever they ask for, by the definition
//! itself, and in longer runs by the checker.

use crate::{finished, holds, installed};
use skew_check::spec::allows_engine;
use skew_history::EngineLevel::{self, *};
use skew_history::{History, IsolationLevel, TransactionId};
use skew_workload::catalog::ALL;
use skew_workload::registers::Parameters;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use skew_workload::table::{Table, int};
use skew_workload::{Failure, Loader, Operation, Options, Prepare, Random, Registers, Transaction, Url, Workload};
use std::io::Write as _;

const THINGS: Table = Table::new("things", &[int("id")], &[int("value")]);

/// Two or three statements of every kind on three keys, of which two are there at first.
struct Anything;

/// A statement, its key and a number.
type Drawn = (u64, i64, i64);

impl Workload for Anything {
    fn name(&self) -> &'static str {
        "anything"
    }

    fn tables(&self) -> &[Table] {
        &[THINGS]
    }

    fn load(&self, loader: &mut Loader) {
        (1..=2).for_each(|id| loader.insert(&THINGS, id, id));
    }

    fn draw(&self, random: &mut Random, _: usize, _: u64) -> Operation {
        let count = random.between(2, 3);
        let drawn: Vec<Drawn> =
            (0..count).map(|_| (random.below(14), random.between(1, 3), random.between(1, 3))).collect();
        let ends_well = random.below(8) > 0;
        Operation::new("anything", move |transaction| {
            drawn.iter().try_for_each(|&statement| act(transaction, statement))?;
            if ends_well { Ok(()) } else { Err(Failure::RolledBack) }
        })
    }
}

fn act(transaction: &mut Transaction<'_>, (statement, key, number): Drawn) -> Result<(), Failure> {
    match statement {
        0 | 1 => transaction.select(&THINGS, key, &["value"]).map(|_| ()),
        2 => transaction.select_for_update(&THINGS, key, &["value"]).map(|_| ()),
        3 | 4 => transaction.update(&THINGS, key, "value = value + ?", number).map(|_| ()),
        5 => transaction.overwrite(&THINGS, key, "value = ?", number).map(|_| ()),
        6 | 7 => transaction.insert(&THINGS, key, number),
        8 => transaction.delete(&THINGS, key).map(|_| ()),
        9 => transaction.update_if(&THINGS, key, ("value = ?", number), ("value = value + ?", 1)).map(|_| ()),
        10 => transaction.scan(&THINGS, "value >= ?", number, &[]).map(|_| ()),
        11 => transaction.scan_for_update(&THINGS, "value >= ?", number, &[]).map(|_| ()),
        12 => transaction.update_where(&THINGS, ("value > ?", number), ("value = value - ?", 1)).map(|_| ()),
        _ => transaction.scan_prefix(&THINGS, (), &[]).map(|_| ()),
    }
}

/// Two lists. At InnoDB's repeatable read an append goes behind what the snapshot does not have, and no history of lists can say so.
fn lists(level: EngineLevel) -> Registers {
    let own_lists = level != MysqlRepeatableRead;
    Registers::new(Parameters { events: 3, keys: 2, lists: true, own_lists, ..Parameters::default() })
}

/// How many runs there are at each level; `SKEW_HISTORIES` asks for more.
fn runs() -> u64 {
    std::env::var("SKEW_HISTORIES").ok().and_then(|runs| runs.parse().ok()).unwrap_or(60)
}

/// Few enough transactions for the definition.
fn small_runs(url: &Url, workload: &dyn Workload, level: EngineLevel) {
    let mut met = 0;
    for seed in 0..runs() {
        let options = Options {
            sessions: 3,
            operations: 2,
            seed,
            level: IsolationLevel::Engine(level),
            retries: 0,
            prepare: Prepare::DropAndCreate,
            ..Options::new(url.clone())
        };
        let (_, history) = finished(workload, &options);
        assert_eq!(history.transaction_count(), 6);
        assert!(allows_engine(&history, level), "{level}, seed {seed}:\n{}", written(&history));
        met += u64::from(have_met(&history));
    }
    let (name, all) = (workload.name(), runs());
    // Past the capture of the test: the figure is of interest when it passes.
    let _ = writeln!(std::io::stderr(), "{name} at {level}: transactions met in {met} of {all} runs");
    assert!(met > 0, "{level}: nobody met anybody");
}

/// Whether two transactions were open at the same time.
fn have_met(history: &History) -> bool {
    let open = |one: TransactionId| history.times(one);
    let meet = |one: TransactionId, other: TransactionId| {
        one != other && open(one).begin < open(other).end && open(other).begin < open(one).end
    };
    history.transactions().any(|one| history.transactions().any(|other| meet(one, other)))
}

/// Every workload of the catalog but the lists, as the checker sees it.
fn every_workload(url: &Url, levels: &[EngineLevel]) {
    for (entry, level) in ALL
        .iter()
        .filter(|entry| entry.name != "lists")
        .flat_map(|entry| levels.iter().map(move |&level| (entry, level)))
    {
        let options = Options {
            sessions: 5,
            operations: 20,
            level: IsolationLevel::Engine(level),
            prepare: Prepare::DropAndCreate,
            ..Options::new(url.clone())
        };
        let (report, history) = finished(&*entry.workload(), &options);
        assert!(report.committed > 0 && history.engine().is_some());
        assert!(holds(&history, options.level), "{} at {level}:\n{}", entry.name, written(&history));
    }
}

fn written(history: &History) -> String {
    let mut lines = Vec::new();
    let wrote = skew_history::format::write(history, skew_history::format::Format::Native, &mut lines);
    wrote.map_or_else(|error| error.to_string(), |_| String::from_utf8_lossy(&lines).into_owned())
}

#[test]
fn whatever_clients_of_postgresql_record_it_can_show_at_their_level() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let levels = [PostgresReadCommitted, PostgresRepeatableRead, PostgresSerializable];
    every_workload(server.url(), &levels);
    for level in levels {
        small_runs(server.url(), &Anything, level);
        small_runs(server.url(), &lists(level), level);
    }
}

#[test]
fn whatever_clients_of_mariadb_record_it_can_show_at_their_level() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let levels = [MysqlReadCommitted, MysqlRepeatableRead, MysqlSnapshotIsolation, MysqlSerializable];
    every_workload(server.url(), &levels);
    for level in levels {
        small_runs(server.url(), &Anything, level);
        small_runs(server.url(), &lists(level), level);
    }
}
