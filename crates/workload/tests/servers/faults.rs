//! Servers that are killed, stand still or are cut off in the middle of a run. Nothing that they have promised is found to be
//! broken because of it.

use crate::{history, holds, installed};
use skew_history::IsolationLevel::{self, ReadCommitted, Serializable, Snapshot};
use skew_history::{History, Outcome};
use skew_workload::fault::{Fault, Faults, Lasting, Planned, plan};
use skew_workload::registers::Parameters;
use skew_workload::servers::{Fleet, Kind};
use skew_workload::{End, Options, Outside, Prepare, Registers, Report, run};
use std::time::Duration;

/// Short transactions, so that many are in the middle of their commit.
fn registers() -> Registers {
    Registers::new(Parameters { events: 2, keys: 10, reads: 0.3, ..Parameters::default() })
}

fn options(fleet: &Fleet, level: IsolationLevel, seed: u64) -> Options {
    Options {
        urls: fleet.urls().to_vec(),
        sessions: 8,
        operations: 60,
        seed,
        level,
        retries: 3,
        prepare: Prepare::DropAndCreate,
        reconnect: Duration::from_secs(60),
        ..Options::new(fleet.urls()[0].clone())
    }
}

/// A run with faults, and what its clients saw.
fn broken(fleet: &Fleet, options: &Options, planned: &[Planned]) -> (Report, History) {
    let mut lines = Vec::new();
    let faults = Some(Faults { planned, servers: fleet });
    let outside = Outside { record: Some(&mut lines), faults, ..Outside::default() };
    let report = run(&registers(), options, outside).unwrap_or_else(|error| panic!("{error}"));
    let history = history(&lines);
    let unknown = history.transactions().filter(|id| history.outcome(*id) == Outcome::Unknown).count();
    assert_eq!(unknown as u64, report.unknown);
    assert_eq!(report.faults.len(), planned.len());
    (report, history)
}

fn planned(fault: Fault, seed: u64) -> Vec<Planned> {
    plan(&[fault], Lasting::BySeed, seed, 480, 1)
}

/// Kills the server in run after run, until the answer to a commit was lost; what was promised is kept all the same. Then it
/// stands still for a while, and at last it is killed for good.
fn a_server_breaks(kind: Kind, levels: &[IsolationLevel]) {
    let Some(fleet) = installed(Fleet::start(kind, 1, &Fault::ALL)) else { return };
    let mut unknown = 0;
    for seed in 0..20 {
        let level = levels[seed as usize % levels.len()];
        let (report, history) = broken(&fleet, &options(&fleet, level, seed), &planned(Fault::Kill, seed));
        assert_eq!(report.end, End::Finished);
        assert_eq!(report.operations, 480);
        let fault = &report.faults[0];
        assert!(fault.began.is_some() && fault.ended.is_some() && fault.problem.is_none(), "{fault:?}");
        assert!(report.aborted.contains_key("connection lost") || report.unknown > 0, "{report:?}");
        assert!(holds(&history, level), "{level}, seed {seed}");
        unknown += report.unknown;
        if unknown > 0 && seed as usize + 1 >= levels.len() {
            break;
        }
    }
    assert!(unknown > 0, "20 kills, and never in the middle of a commit");

    let (report, history) = broken(&fleet, &options(&fleet, Serializable, 1), &planned(Fault::Pause, 1));
    assert_eq!((&report.end, report.unknown), (&End::Finished, 0));
    assert!(report.faults[0].ended.is_some() && holds(&history, Serializable));

    let forever = plan(&[Fault::Kill], Lasting::Forever, 1, 480, 1);
    let impatient = Options { reconnect: Duration::from_millis(500), ..options(&fleet, Serializable, 2) };
    let (report, history) = broken(&fleet, &impatient, &forever);
    assert!(matches!(&report.end, End::Failed(words) if words.contains("session s")), "{:?}", report.end);
    assert!(report.operations < 480 && report.assertions.is_empty());
    assert!(report.faults[0].began.is_some() && report.faults[0].ended.is_none());
    assert!(holds(&history, Serializable));
}

#[test]
fn postgresql_is_killed_and_keeps_its_promises() {
    a_server_breaks(Kind::Postgres, &[Serializable, Snapshot, ReadCommitted]);
}

#[test]
fn mariadb_is_killed_and_keeps_its_promises() {
    a_server_breaks(Kind::MariaDb, &[Serializable, ReadCommitted]);
}
