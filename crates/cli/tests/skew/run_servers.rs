//! `skew run` on real servers, which these tests start and stop: what is found, and what a user who has done something wrong reads.

use crate::{Folder, Ran};
use skew_workload::Url;
use skew_workload::connection::{Connection, Settings, connect};
use skew_workload::servers::{MariaDbServer, PostgresServer, ServerError};
use std::time::Duration;

/// A server, or nothing where it is not installed and nobody was to install it.
pub(crate) fn installed<T>(started: Result<T, ServerError>) -> Option<T> {
    let was_set_up = std::env::var_os("SKEW_CLIENTS").is_some_and(|folder| folder != "no");
    match started {
        Ok(server) => Some(server),
        Err(error @ ServerError::Missing { .. }) if !was_set_up => {
            skew_testing::skipped(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn connection(url: &Url) -> Box<dyn Connection> {
    let settings = Settings { name: "test".to_owned(), timeout: Duration::from_secs(20) };
    connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"))
}

pub(crate) fn commands(url: &Url, all: &[&str]) {
    let mut connection = connection(url);
    all.iter().for_each(|sql| connection.command(sql).unwrap_or_else(|failure| panic!("{sql}: {failure}")));
}

/// `postgres://user@host:port/database` of the same server.
pub(crate) fn other(url: &Url, user: &str, database: &str) -> String {
    let scheme = url.to_string().split("://").next().unwrap_or_default().to_owned();
    format!("{scheme}://{user}@127.0.0.1:{}/{database}", url.port)
}

/// Many sessions on few rows.
const HOT: [&str; 8] = ["--sessions", "6", "--keys", "5", "--events", "4", "--distribution", "hotspot"];

fn registers(folder: &Folder, url: &Url, more: &[&str]) -> Ran {
    folder.skew(&[&["run", "registers", "--db", &url.to_string()], &HOT[..], more].concat())
}

#[test]
fn mariadb_loses_an_update_at_repeatable_read_and_it_is_named_and_shown() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let folder = Folder::new("run-mariadb");
    let more = ["--level", "snapshot", "--transactions", "150", "--check", "levels", "--record", "lost.jsonl"];
    let ran = registers(&folder, server.url(), &more).expect(1);
    let verdict = |level: &str| {
        let line = ran.out.lines().find(|line| line.trim_start().starts_with(level));
        line.unwrap_or_else(|| panic!("no verdict on {level}: {}", ran.out)).to_owned()
    };
    assert!(verdict("read-committed").contains("holds"), "{}", ran.out);
    assert!(verdict("snapshot").contains("fails"), "{}", ran.out);
    assert!(ran.out.contains("lost update"), "{}", ran.out);
    let again = folder.skew(&["check", "--level", "snapshot", "lost.jsonl"]).expect(1);
    assert!(again.out.contains("lost update"), "{}", again.out);
}

#[test]
fn a_run_records_and_checks_in_one_go() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let folder = Folder::new("run-postgres");
    for level in ["snapshot", "serializable"] {
        let more = ["--drop", "--level", level, "--transactions", "500", "--check", "all", "--format", "json"];
        let ran = registers(&folder, server.url(), &more);
        let json = ran.json();
        let verdicts = json["history"]["verdicts"].as_array().unwrap();
        assert_eq!(verdicts.len(), 9, "{level}: the seven and the strong ones");
        let holds = verdicts.iter().filter(|verdict| verdict["verdict"] == "holds").count();
        assert!(holds >= if level == "snapshot" { 6 } else { 7 }, "{level}: {verdicts:?}");
    }
}

/// At each of these levels, by the name that is given and the server's own, workloads are what one such server can show.
fn promises_are_kept(url: &Url, levels: &[(&str, &str)]) {
    let folder = Folder::new(&format!("run-promises-{}", url.port));
    let url = url.to_string();
    for workload in ["registers", "smallbank", "voter", "tpcc", "tickets", "courseware", "treiber-stack"] {
        for (level, own) in levels {
            let shape =
                ["run", workload, "--drop", "--sessions", "5", "--transactions", "20", "--level", level, "--db"];
            let ran = folder.skew(&[&shape[..], &[&url]].concat()).accepted();
            assert!(ran.out.contains(&format!("  asked for {own}: kept\n")), "{workload} at {level}: {}", ran.out);
        }
    }
    let (level, own) = levels[0];
    let shape = ["run", "registers", "--drop", "--check", "all", "--record", "kept.jsonl", "--format", "json"];
    let json = folder.skew(&[&shape[..], &["--level", own, "--db", &url]].concat()).expect(0).json();
    assert_eq!((&json["level"], &json["promise"]["level"]), (&own.into(), &own.into()), "{level}");
    assert_eq!(json["promise"]["verdict"], "holds");
    let recorded = folder.read("kept.jsonl");
    let engine = own.split(':').next().unwrap_or_default().replace("mysql", "mariadb");
    assert!(recorded.starts_with(&format!("{{\"skew\":1,\"engine\":\"{engine} 1")), "{recorded:.100}");
    assert!(recorded.contains(&format!("\"level\":\"{own}\"")), "{recorded:.1000}");
    folder.skew(&["check", "-q", "--level", own, "kept.jsonl"]).expect(0);
}

#[test]
fn postgresql_keeps_its_own_levels() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let levels = [
        ("read-committed", "postgres:read-committed"),
        ("repeatable-read", "postgres:repeatable-read"),
        ("serializable", "postgres:serializable"),
    ];
    promises_are_kept(server.url(), &levels);
}

#[test]
fn mariadb_keeps_its_own_levels() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let levels = [
        ("read-committed", "mysql:read-committed"),
        ("snapshot", "mysql:repeatable-read"),
        ("mariadb:si", "mysql:snapshot-isolation"),
        ("serializable", "mysql:serializable"),
    ];
    promises_are_kept(server.url(), &levels);
}

#[test]
fn a_level_is_for_those_who_have_it() {
    let folder = Folder::new("run-levels");
    let cases: [(&[&str], &str); 4] = [
        (&["--level", "repeatable-read"], "repeatable-read is for servers"),
        (&["--level", "pg:rr"], "postgres:repeatable-read is for servers"),
        (&["--level", "pg:rr", "--db", "mysql://h/x"], "postgres:repeatable-read is no level of this server"),
        (&["--level", "sser", "--db", "mysql://h/x"], "no transaction runs at strict-serializable"),
    ];
    for (arguments, words) in cases {
        let ran = folder.skew(&[&["run", "registers"], arguments].concat()).expect(2);
        assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
}

/// Another user's tables, rights and passwords.
fn wrong_users_are_told(url: &Url, prepare: &[&str], wrong: &[(&str, &str)]) {
    commands(url, prepare);
    let folder = Folder::new(&format!("run-users-{}", url.port));
    for (user, words) in wrong {
        let url = other(url, user, &url.database);
        let ran = folder.skew(&["run", "registers", "--transactions", "5", "--db", &url]).expect(2);
        assert!(ran.err.to_lowercase().contains(words), "{user}: {}", ran.err);
        assert!(ran.err.contains("check user, password, database and rights"), "{user}: {}", ran.err);
        assert!(!ran.err.contains("mistaken"), "{user}: {}", ran.err);
    }
    let absent = other(url, &url.user, "absent");
    let ran = folder.skew(&["run", "registers", "--db", &absent]).expect(2);
    assert!(ran.err.contains("absent"), "{}", ran.err);
}

/// Tables that no run has made, some with the very names that a run wants.
fn foreign_tables_stay(url: &Url) {
    let folder = Folder::new(&format!("run-foreign-{}", url.port));
    commands(url, &["CREATE TABLE precious (id BIGINT PRIMARY KEY)", "INSERT INTO precious VALUES (7)"]);
    let run = |more: &[&str]| {
        let arguments = ["run", "registers", "--transactions", "5", "--record", "kept.jsonl", "--db"];
        folder.skew(&[&arguments[..], &[&url.to_string()], more].concat())
    };
    run(&[]).expect(0);
    let recorded = folder.read("kept.jsonl");
    let refused = run(&[]).expect(2);
    assert!(refused.err.contains("skew_registers is there already"), "{}", refused.err);
    assert_eq!(folder.read("kept.jsonl"), recorded, "a run that is refused leaves the file of the one before");
    run(&["--drop"]).expect(0);
    run(&["--prefix", "mine_"]).expect(0);
    // Another program's table with both of our columns, and ours.
    commands(url, &["DROP TABLE skew_registers", "CREATE TABLE skew_registers (ver BIGINT, prev BIGINT)"]);
    let refused = run(&["--drop"]).expect(2);
    assert!(refused.err.contains("was not made by a run, and is left alone"), "{}", refused.err);
    let mut connection = connection(url);
    let rows = connection.execute("SELECT id FROM precious", &[]).expect("it is there").rows;
    assert_eq!(rows.len(), 1);
    connection.execute("SELECT ver FROM skew_registers", &[]).expect("it is there, too");
}

#[test]
fn whoever_may_not_and_what_is_not_ours_on_postgresql() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    // Since version 15 nobody but the owner makes tables in a database without being allowed to.
    let wrong = [("ann:mistaken", "permission denied"), ("nobody", "\"nobody\" does not exist")];
    wrong_users_are_told(server.url(), &["CREATE ROLE ann LOGIN PASSWORD 'right'"], &wrong);
    foreign_tables_stay(server.url());
}

#[test]
fn whoever_may_not_and_what_is_not_ours_on_mariadb() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let prepare = ["CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'right'", "GRANT SELECT ON skew.* TO ann@'127.0.0.1'"];
    let wrong = [("ann:mistaken", "access denied"), ("ann:right", "denied to user 'ann'")];
    wrong_users_are_told(server.url(), &prepare, &wrong);
    foreign_tables_stay(server.url());
}

#[test]
fn two_runs_do_not_share_their_tables() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let folder = Folder::new("run-two");
    let url = server.url().to_string();
    let long = ["run", "registers", "--transactions", "100000000", "--record", "first.jsonl", "--db", &url];
    let mut first = folder.start(&long);
    let path = folder.path().join("first.jsonl");
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = folder.skew(&["run", "registers", "--drop", "--db", &url]).expect(2);
    assert!(refused.err.contains("another run has the tables skew_… now"), "{}", refused.err);
    folder.skew(&["run", "registers", "--transactions", "2", "--prefix", "mine_", "--db", &url]).expect(0);
    first.kill().unwrap();
    first.wait().unwrap();
}
