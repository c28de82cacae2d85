//! Every workload of the catalog on real servers: at serializable, every assertion holds, alone and in company, and the
//! recorded history is serializable as far as it tells.

use crate::{finished, installed};
use skew_check::{Budget, Verdict, check};
use skew_history::IsolationLevel;
use skew_workload::catalog::ALL;
use skew_workload::catalog::smallbank::SmallBank;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use skew_workload::{Options, Prepare, Report, Url, Workload};

/// A search for an order of commits that takes longer than this is not worth the wait here.
const STEPS: u64 = 100_000;

/// Runs a workload and looks at its history.
fn checked(workload: &dyn Workload, options: &Options) -> Report {
    let (report, history) = finished(workload, options);
    let fails = matches!(check(&history, options.level, Budget::steps(STEPS)), Verdict::Fails(_));
    assert!(!fails, "{}: the history is not {}", workload.name(), options.level);
    report
}

/// Runs everything with so many sessions.
fn all_assertions_hold(url: &Url, sessions: usize, operations: u64) {
    let options = Options {
        sessions,
        operations,
        level: IsolationLevel::Serializable,
        prepare: Prepare::DropAndCreate,
        ..Options::new(url.clone())
    };
    for entry in ALL {
        let report = checked(&*entry.workload(), &options);
        assert!(report.committed > 0, "{}", entry.name);
        let has_assertions = !["registers", "lists"].contains(&entry.name);
        assert_eq!(!report.assertions.is_empty(), has_assertions, "{}", entry.name);
        for assertion in &report.assertions {
            assert!(assertion.holds, "{} {}: {}", entry.name, assertion.name, assertion.detail);
        }
        // Alone, nobody is refused.
        assert!(sessions > 1 || report.aborted.is_empty(), "{}: {:?}", entry.name, report.aborted);
    }
}

#[test]
fn every_assertion_holds_on_postgres_at_serializable() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    all_assertions_hold(server.url(), 1, 60);
    all_assertions_hold(server.url(), 4, 40);
}

#[test]
fn every_assertion_holds_on_mariadb_at_serializable() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    all_assertions_hold(server.url(), 1, 60);
    all_assertions_hold(server.url(), 4, 40);
}

#[test]
fn money_is_lost_at_read_committed_when_clients_compute() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let options = Options {
        sessions: 8,
        operations: 100,
        level: IsolationLevel::ReadCommitted,
        prepare: Prepare::DropAndCreate,
        ..Options::new(server.url().clone())
    };
    let keeps = |workload: &SmallBank, seed| {
        let report = checked(workload, &Options { seed, ..options.clone() });
        report.assertions.iter().all(|assertion| assertion.holds)
    };
    let bank = SmallBank { customers: 2, balance: 1_000_000, ..SmallBank::default() };
    assert!((0..20).any(|seed| !keeps(&bank, seed)), "no update is lost in 20 runs");
}
