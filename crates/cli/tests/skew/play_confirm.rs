//! `skew play --confirm` and `skew predict --confirm`: what they find at the levels of engines, made once more on real servers.
//!
//! The programs under `examples/bugs`; `benchmarks/confirm.py --command play` does the applications and the serializable levels, too.

use crate::explore_confirm::{is_for_another, programs};
use crate::run_servers::installed;
use crate::{Folder, Ran};
use serde_json::Value;
use skew_workload::Url;
use skew_workload::servers::{MariaDbServer, PostgresServer};

const WITHDRAW: &str = include_str!("../../../../examples/withdraw.sql");
const STOCK: &str = include_str!("../../../../examples/bugs/01-stock-adjustment/buggy.sql");

/// Whatever a report found, with what the server showed of it.
fn findings(ran: &Ran) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for line in ran.out.lines() {
        let report: Value = serde_json::from_str(line).unwrap_or_default();
        let of = |member: &str| report[member].as_array().cloned().unwrap_or_default();
        let failing = of("assertions").into_iter().filter(|assertion| assertion["violations"] != 0);
        let all = failing
            .map(|one| (one["name"].clone(), one))
            .chain(of("anomalies").into_iter().map(|one| (one["anomaly"].clone(), one)));
        found.extend(all.map(|(name, one)| (format!("{} {name}", report["level"]), one["confirmed"].clone())));
    }
    found
}

/// Plays programs at levels of an engine, and wants everything that is found confirmed; says how much there was.
fn all_is_confirmed((engine, levels): (&str, &str), url: &Url) -> usize {
    let folder = Folder::new(&format!("play-confirm-{engine}"));
    let (url, mut count) = (url.to_string(), 0);
    for path in programs("bugs").iter().filter(|path| !is_for_another(path, engine)) {
        let path = path.to_string_lossy();
        let line = ["play", &path, "--level", levels, "--runs", "20", "--confirm", &url, "--format", "json"];
        let ran = folder.skew(&line);
        assert!([Some(0), Some(1)].contains(&ran.code), "{path}: {}", ran.err);
        for (name, confirmed) in findings(&ran) {
            assert_eq!(confirmed["verdict"], "confirmed", "{path}, {name}: {confirmed:#}");
            count += 1;
        }
    }
    count
}

#[test]
fn postgresql_shows_whatever_play_finds_in_the_bugs() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let count = all_is_confirmed(("postgres", "pg:rc,pg:rr"), server.url());
    assert!(count >= 60, "{count}");
}

#[test]
fn mariadb_shows_whatever_play_finds_in_the_bugs() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let count = all_is_confirmed(("mysql", "mysql:rc"), server.url());
    assert!(count >= 30, "{count}");
}

#[test]
fn what_play_finds_is_shown_as_it_is_typed_and_confirmed_in_words() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let folder = Folder::new("play-confirm-words");
    folder.write("withdraw.sql", WITHDRAW);
    let url = server.url().to_string();
    let ran = folder.skew(&["play", "withdraw.sql", "--level", "pg:rc", "--confirm", &url]).expect(1);
    let said = [
        "lost update",
        "BEGIN ISOLATION LEVEL READ COMMITTED;",
        "\nconfirmed on PostgreSQL ",
        "the assertion is false there, too",
    ];
    said.iter().for_each(|said| assert!(ran.out.contains(said), "{said}: {}", ran.out));
    assert!(!ran.out.lines().last().unwrap_or_default().contains("confirm"), "{}", ran.out);
    let ran = folder.skew(&["play", "withdraw.sql", "--level", "causal", "--confirm", &url]).expect(2);
    assert!(ran.err.contains("--confirm is for levels of engines"), "{}", ran.err);
}

#[test]
fn a_prediction_from_a_run_of_a_program_is_made_on_a_server() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let folder = Folder::new("predict-confirm");
    folder.write("stock.sql", STOCK);
    let url = server.url().to_string();
    let serial = ["play", "stock.sql", "--level", "pg:rc", "--schedule", "serial", "--runs", "1", "--record", "runs"];
    folder.skew(&serial).expect(0);
    let line = ["predict", "runs/1.jsonl", "--level", "pg:rc", "--program", "stock.sql", "--confirm", &url];
    let ran = folder.skew(&line).expect(1);
    assert!(ran.out.contains("\nconfirmed on PostgreSQL ") && ran.out.contains("BEGIN ISOLATION LEVEL"), "{}", ran.out);
    let ran = folder.skew(&[&line[..], &["--format", "json"]].concat()).expect(1);
    let report = ran.json();
    assert_eq!(report["predictions"][0]["runs"][0]["confirmed"]["verdict"], "confirmed", "{report:#}");
    // What is no run of the program cannot be made.
    folder.write("other.sql", STOCK.replace("delivery", "shipment"));
    let other = ["predict", "runs/1.jsonl", "--level", "pg:rc", "--program", "other.sql", "--confirm", &url];
    let ran = folder.skew(&other).expect(1);
    assert!(
        ran.out.contains("not confirmed on PostgreSQL") && ran.out.contains("is no call of other.sql"),
        "{}",
        ran.out
    );
}

#[test]
fn what_a_prediction_needs_to_be_confirmed_is_said() {
    let folder = Folder::new("predict-confirm-needs");
    folder.write("h.txt", crate::SERIAL);
    let ran = folder.skew(&["predict", "h.txt", "--level", "pg:rc", "--confirm", "up"]).expect(2);
    assert!(ran.err.contains("--program FILE") && ran.err.contains("skew play FILE --record"), "{}", ran.err);
    let ran = folder.skew(&["predict", "h.txt", "--level", "causal", "--confirm", "up"]).expect(2);
    assert!(ran.err.contains("--confirm is for levels of engines"), "{}", ran.err);
    let ran = folder.skew(&["predict", "h.txt", "--level", "pg:rc", "--replay", "true"]).expect(2);
    assert!(ran.err.contains("--program FILE --confirm up"), "{}", ran.err);
}
