//! What levels promise, and what recorded histories say.

use crate::{finished, holds, installed};
use skew_chance::Distribution;
use skew_history::IsolationLevel::{self, ReadCommitted, Serializable, Snapshot};
use skew_workload::registers::Parameters;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use skew_workload::{Options, Prepare, Registers, Url};

/// Few keys and many sessions: they meet.
fn hot(lists: bool) -> Registers {
    Registers::new(Parameters {
        events: 4,
        keys: 5,
        distribution: Distribution::Hotspot,
        lists,
        ..Parameters::default()
    })
}

fn options(url: &Url, level: IsolationLevel, seed: u64) -> Options {
    let options = Options::new(url.clone());
    Options { sessions: 6, operations: 40, seed, level, retries: 3, prepare: Prepare::DropAndCreate, ..options }
}

#[test]
fn postgresql_keeps_what_its_levels_promise() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    for lists in [false, true] {
        for level in [ReadCommitted, Snapshot, Serializable] {
            let (report, history) = finished(&hot(lists), &options(server.url(), level, 1));
            assert_eq!(report.committed + report.given_up, 240, "{level}");
            assert!(holds(&history, level), "{level}, lists: {lists}");
            assert_eq!(report.latencies().count(), report.committed);
        }
    }
}

#[test]
fn mariadb_keeps_serializable_and_read_committed_and_loses_updates_between() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    for level in [ReadCommitted, Serializable] {
        let (report, history) = finished(&hot(false), &options(server.url(), level, 1));
        assert_eq!(report.committed + report.given_up, 240, "{level}");
        assert!(holds(&history, level), "{level}");
    }
    // REPEATABLE READ reads from a snapshot and writes to the latest version.
    let violated =
        (0..20).any(|seed| !holds(&finished(&hot(false), &options(server.url(), Snapshot, seed)).1, Snapshot));
    assert!(violated, "20 runs at REPEATABLE READ, and none lost an update");
}
