//! Workloads on real servers, which these tests start and stop. A server that is not installed is skipped,
//! with a line that says so, unless `./test` was to install it.
//!
//! | module | holds that |
//! |---|---|
//! | `catalog` | at serializable every assertion of every workload holds |
//! | `engines` | what clients record is what their server can show at its level, whatever they ask for |
//! | `faults` | servers that are killed or stand still break no promise, and the run ends with a report |
//! | `levels` | PostgreSQL keeps what its levels promise, MariaDB does not, and the recorded histories show it |
//! | `promises` | the same over thousands of transactions of every workload |
//! | `screenplays` | interleavings are forced, waits seen, deadlocks and lost connections survived |
//! | `statements` | every method of a transaction does and records what it says, on both servers |
//! | `running` | tables that are there are left alone; a run can be stopped; a lost server ends it |
//! | `unnoticed` | where PostgreSQL misses what it should refuse, it is not called impossible |

mod catalog;
mod engines;
mod faults;
mod levels;
mod promises;
mod running;
mod screenplays;
mod statements;
mod unnoticed;

use skew_check::{Budget, Verdict, check};
use skew_history::format::{Format, Source, read};
use skew_history::{History, IsolationLevel};
use skew_workload::connection::{Settings, connect};
use skew_workload::servers::ServerError;
use skew_workload::{End, Options, Outside, Report, Url, Workload, run};
use std::time::Duration;

/// A server, or nothing when it is not installed here.
fn installed<T>(started: Result<T, ServerError>) -> Option<T> {
    match started {
        Ok(server) => Some(server),
        // Where the set-up of the tests ran, nothing is missing.
        Err(error @ ServerError::Missing { .. }) if !was_set_up() => {
            skew_testing::skipped(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether `./test` has installed what the tests need.
fn was_set_up() -> bool {
    std::env::var_os("SKEW_CLIENTS").is_some_and(|folder| folder != "no")
}

/// Sends one statement.
fn command(url: &Url, sql: &str) {
    let settings = Settings { name: "test".to_owned(), timeout: Duration::from_secs(10) };
    let mut connection = connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"));
    connection.command(sql).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Runs a workload to its end; the report and the history.
fn finished(workload: &dyn Workload, options: &Options) -> (Report, History) {
    let mut lines = Vec::new();
    let outside = Outside { record: Some(&mut lines), ..Outside::default() };
    let report = run(workload, options, outside).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.end, End::Finished);
    assert_eq!(report.operations, options.operations * options.sessions as u64);
    (report, history(&lines))
}

fn history(lines: &[u8]) -> History {
    let source = Source { name: "recorded", bytes: lines };
    read(&[source], Format::Native).unwrap_or_else(|error| panic!("{error}"))
}

fn holds(history: &History, level: IsolationLevel) -> bool {
    match check(history, level, Budget::UNLIMITED) {
        Verdict::Holds(_) => true,
        Verdict::Fails(_) => false,
        Verdict::Unknown(_) => panic!("there is no limit"),
    }
}
