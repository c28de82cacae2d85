//! `skew run --serial` and `--scan`: one transaction at a time gives one history for one seed; lookups that read whole tables.

use crate::Folder;
use crate::run_servers::installed;
use serde_json::Value;
use skew_workload::Url;
use skew_workload::servers::{MariaDbServer, PostgresServer};

/// The bytes that a run records.
fn recorded(folder: &Folder, seed: &str, arguments: &[&str]) -> String {
    let file = "serial.jsonl";
    folder.skew(&[&["run", "--serial", "--seed", seed, "--record", file], arguments].concat()).expect(0);
    folder.read(file)
}

/// The transactions of a history, in the order of its file.
fn transactions(history: &str) -> Vec<Value> {
    history.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn one_seed_gives_one_history_on_the_mock() {
    let folder = Folder::new("run-serial");
    let smaller = ["--transactions", "6"];
    for arguments in [
        &["smallbank", "--level", "serializable"][..],
        &["smallbank", "--level", "causal", "--updates", "plain"],
        &["wikipedia", "--level", "read-committed", "--updates", "plain"],
        &["tpcc", "--level", "causal"],
        &["registers", "--level", "causal", "--chooser", "random", "--keys", "5"],
        &["rubis", "--level", "snapshot", "--scan"],
    ] {
        let all = [arguments, &smaller[..]].concat();
        let first = recorded(&folder, "3", &all);
        assert_eq!(first, recorded(&folder, "3", &all), "{arguments:?}");
        assert_ne!(first, recorded(&folder, "4", &all), "{arguments:?}");
        let times =
            transactions(&first).iter().map(|it| (it["begin"].as_i64(), it["end"].as_i64())).collect::<Vec<_>>();
        let counted = (0..times.len() as i64).map(|number| (Some(2 * number + 1), Some(2 * number + 2)));
        assert_eq!(times, counted.collect::<Vec<_>>(), "{arguments:?}");
    }
}

#[test]
fn one_at_a_time_is_serializable_at_every_level_with_ordinary_reads() {
    let folder = Folder::new("run-serial-levels");
    for (workload, level) in
        [("smallbank", "read-committed"), ("voter", "causal"), ("wikipedia", "prefix"), ("tpcc", "serializable")]
    {
        for more in [&["--scan"][..], &["--updates", "plain", "--scan"], &["--updates", "plain"], &[]] {
            let arguments =
                ["run", workload, "--serial", "--level", level, "--transactions", "4", "--record", "it.jsonl"];
            let ran = folder.skew(&[&arguments[..], more].concat()).expect(0);
            assert!(ran.out.contains("3 sessions of 4 transactions, one at a time, at "), "{}", ran.out);
            folder.skew(&["check", "-q", "--level", "strict-serializable", "it.jsonl"]).expect(0);
        }
    }
    let weak = ["run", "smallbank", "--serial", "--level", "causal", "--chooser", "stalest", "--check", "serializable"];
    folder.skew(&weak).expect(1);
}

fn one_seed_gives_one_history_on(url: &Url) {
    let folder = Folder::new(&format!("run-serial-{}", url.port));
    let url = url.to_string();
    for workload in ["smallbank", "wikipedia", "tpcc"] {
        for more in [&["--transactions", "15"][..], &["--transactions", "4", "--scan"]] {
            let arguments = [&[workload, "--db", &url, "--drop"], more].concat();
            let first = recorded(&folder, "3", &arguments);
            assert_eq!(first, recorded(&folder, "3", &arguments), "{workload}");
            folder.skew(&["check", "-q", "--level", "strict-serializable", "serial.jsonl"]).expect(0);
        }
    }
}

#[test]
fn one_seed_gives_one_history_on_postgresql() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    one_seed_gives_one_history_on(server.url());
}

#[test]
fn one_seed_gives_one_history_on_mariadb() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    one_seed_gives_one_history_on(server.url());
}

#[test]
fn a_scan_reads_every_row_of_the_table() {
    let folder = Folder::new("run-scan");
    let history = recorded(&folder, "1", &["smallbank", "--scan", "--transactions", "4"]);
    let tables = |event: &Value| {
        event["r"].as_str().or(event["w"].as_str()).map(|key| key.split('/').next().unwrap().to_owned())
    };
    for transaction in transactions(&history) {
        let mut seen = Vec::new();
        for event in transaction["ops"].as_array().unwrap() {
            if let Some(prefix) = event["scan"].as_str() {
                assert_eq!(event["reads"].as_array().unwrap().len(), 5, "{event}");
                seen.push(prefix.trim_end_matches('/').to_owned());
            }
            let table = tables(event);
            assert!(table.is_none_or(|table| seen.contains(&table)), "{event} is not preceded by a look at all rows");
        }
    }
}

#[test]
fn a_telephone_has_as_many_votes_as_are_given() {
    let folder = Folder::new("run-limit");
    for limit in [1, 3] {
        let arguments = ["voter", "--limit", &limit.to_string(), "--transactions", "4"];
        let votes = |history: &str| history.matches(r#"{"w":"votes/"#).count();
        assert_eq!(votes(&recorded(&folder, "1", &arguments)), limit);
    }
    let refused = folder.skew(&["run", "smallbank", "--limit", "1"]).expect(2);
    assert!(refused.err.contains("--limit 1 is for voter, not for smallbank"), "{}", refused.err);
    let refused = folder.skew(&["run", "lists", "--scan"]).expect(2);
    assert!(refused.err.contains("--scan is for rows"), "{}", refused.err);
}
