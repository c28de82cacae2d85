//! How runs begin and end.

use crate::{command, finished, history, installed};
use skew_workload::registers::Parameters;
use skew_workload::servers::{GaleraCluster, MariaDbServer, PostgresServer};
use skew_workload::{End, Names, Options, Outside, Prepare, Progress, Registers, RunError, Url, run};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

fn registers() -> Registers {
    Registers::new(Parameters { events: 3, keys: 10, ..Parameters::default() })
}

fn options(url: &Url) -> Options {
    Options { operations: 20, ..Options::new(url.clone()) }
}

/// What is there already is never touched, unless it is ours and we are asked to.
fn tables_are_left_alone(url: &Url) {
    finished(&registers(), &options(url));
    let again = run(&registers(), &options(url), Outside::default());
    assert!(matches!(again, Err(RunError::TableExists { .. })), "{again:?}");
    let prefixed = Options { names: Names::with_prefix("other_").expect("a prefix"), ..options(url) };
    finished(&registers(), &prefixed);
    let dropping = Options { prepare: Prepare::DropAndCreate, ..options(url) };
    finished(&registers(), &dropping);
    let given = Options { prepare: Prepare::Nothing, ..options(url) };
    assert_eq!(run(&registers(), &given, Outside::default()).expect("the tables are there").end, End::Finished);
    command(url, "DROP TABLE skew_registers");
    command(url, "CREATE TABLE skew_registers (precious BIGINT)");
    let not_ours = run(&registers(), &dropping, Outside::default());
    assert!(matches!(not_ours, Err(RunError::NotOurs { .. })), "{not_ours:?}");
    // It is still there.
    command(url, "SELECT precious FROM skew_registers");
    command(url, "DROP TABLE skew_registers");
}

/// Whoever stops a run has what was recorded; so has whoever loses the server.
fn a_run_can_end_early<S>(server: S, url: Url) {
    let long = Options { operations: 1_000_000, prepare: Prepare::DropAndCreate, ..options(&url) };
    let (stop, mut lines) = (AtomicBool::new(false), Vec::new());
    let tell = |progress: &Progress| stop.store(progress.operations > 20, Ordering::Relaxed);
    let outside = Outside { record: Some(&mut lines), stop: Some(&stop), progress: Some(&tell), ..Outside::default() };
    let report = run(&registers(), &long, outside).expect("it is stopped, not broken");
    assert_eq!(report.end, End::Stopped);
    assert!(report.committed >= 20 && report.assertions.is_empty());
    assert!(history(&lines).transaction_count() as u64 >= report.committed);

    let (server, mut lines) = (RefCell::new(Some(server)), Vec::new());
    let tell = |progress: &Progress| drop((progress.operations > 20).then(|| server.take()));
    let outside = Outside { record: Some(&mut lines), progress: Some(&tell), ..Outside::default() };
    let report = run(&registers(), &long, outside).expect("a lost server is a report");
    assert!(matches!(&report.end, End::Failed(words) if words.contains("session s")), "{:?}", report.end);
    assert!(report.aborted.contains_key("connection lost") || report.unknown > 0, "{report:?}");
    assert!(history(&lines).transaction_count() as u64 >= report.committed);
}

#[test]
fn runs_on_postgresql_begin_and_end_as_they_should() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let url = server.url().clone();
    tables_are_left_alone(&url);
    a_run_can_end_early(server, url);
}

#[test]
fn runs_on_mariadb_begin_and_end_as_they_should() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let url = server.url().clone();
    tables_are_left_alone(&url);
    a_run_can_end_early(server, url);
}

#[test]
fn nobody_listens_and_the_run_says_so() {
    // Port 1 is nobody's.
    let url: Url = "postgres://127.0.0.1:1/".parse().expect("a URL");
    let refused = run(&registers(), &options(&url), Outside::default());
    assert!(matches!(refused, Err(RunError::Server { .. })), "{refused:?}");
    let mysql: Url = "mysql://127.0.0.1:1/skew".parse().expect("a URL");
    let both = Options { urls: vec![url, mysql], ..options(&"postgres://".parse().expect("a URL")) };
    assert!(matches!(run(&registers(), &both, Outside::default()), Err(RunError::Options(_))));
}

#[test]
fn a_cluster_has_the_same_tables_everywhere() {
    let Some(cluster) = installed(GaleraCluster::start(3)) else { return };
    let urls = cluster.urls();
    let (report, history) = finished(&registers(), &Options { urls, ..options(&cluster.urls()[0]) });
    assert!(report.committed > 0);
    // A client whose commit was not answered goes on as another session.
    assert!(history.session_count() >= 3, "{} sessions", history.session_count());
}
