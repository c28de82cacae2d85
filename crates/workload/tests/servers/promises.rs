//! What servers promise at each level, over thousands of transactions of every workload: PostgreSQL keeps it; MariaDB's REPEATABLE
//! READ is no snapshot, unless `innodb_snapshot_isolation` is on.
//!
//! 20,000 transactions of registers and of SmallBank, 2,000 of every other workload, at each level.

use crate::{command, finished, holds, installed};
use skew_check::{AnomalyKind, Budget, Verdict, check, explain};
use skew_generate::Distribution;
use skew_history::{History, IsolationLevel};
use skew_workload::catalog::{ALL, Entry};
use skew_workload::registers::Parameters;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use skew_workload::{Options, Prepare, Registers, Url, Workload};

const SESSIONS: usize = 8;

fn recorded(url: &Url, workload: &dyn Workload, level: IsolationLevel, transactions: u64) -> History {
    let options = Options {
        sessions: SESSIONS,
        operations: transactions / SESSIONS as u64,
        level,
        prepare: Prepare::DropAndCreate,
        ..Options::new(url.clone())
    };
    let history = finished(workload, &options).1;
    assert!(history.transaction_count() as u64 >= transactions, "{}", workload.name());
    history
}

fn transactions(entry: &Entry) -> u64 {
    if ["registers", "smallbank"].contains(&entry.name) { 20_000 } else { 2_000 }
}

fn postgresql_keeps(level: IsolationLevel) {
    let Some(server) = installed(PostgresServer::start()) else { return };
    for entry in ALL {
        let history = recorded(server.url(), &*entry.workload(), level, transactions(entry));
        assert!(holds(&history, level), "{} at {level}", entry.name);
    }
}

#[test]
fn postgresql_keeps_read_committed_on_every_workload() {
    postgresql_keeps(IsolationLevel::ReadCommitted);
}

#[test]
fn postgresql_keeps_snapshot_on_every_workload() {
    postgresql_keeps(IsolationLevel::Snapshot);
}

#[test]
fn postgresql_keeps_serializable_on_every_workload() {
    postgresql_keeps(IsolationLevel::Serializable);
}

#[test]
fn mariadb_keeps_a_snapshot_when_it_is_told_to() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let few = Parameters { keys: 20, events: 4, distribution: Distribution::Hotspot, ..Parameters::default() };
    let registers = Registers::new(few);
    let lost = recorded(server.url(), &registers, IsolationLevel::Snapshot, 20_000);
    let Verdict::Fails(anomaly) = check(&lost, IsolationLevel::Snapshot, Budget::UNLIMITED) else {
        panic!("20,000 transactions at REPEATABLE READ, and none lost an update");
    };
    let shown = explain(&lost, IsolationLevel::Snapshot, &anomaly, Budget::UNLIMITED);
    assert_eq!(shown.kind, AnomalyKind::LostUpdate);
    command(server.url(), "SET GLOBAL innodb_snapshot_isolation = ON");
    let kept = recorded(server.url(), &registers, IsolationLevel::Snapshot, 20_000);
    assert!(holds(&kept, IsolationLevel::Snapshot), "with innodb_snapshot_isolation");
}
