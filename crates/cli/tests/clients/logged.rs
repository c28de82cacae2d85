//! A Django application on a real PostgreSQL that logs what it is told: `skew analyze` finds its races on the lines of the log, and none in
//! the careful one. The same application under `skew serve --analyze`, which needs no log, and tells lines of its code where comments do.
//!
//! ```text
//!   work.py racy ──> PostgreSQL, csvlog and jsonlog ──> skew analyze till.csv ── lost update at till.csv:79, write skew at till.csv:101
//!   skew serve --analyze -- work.py racy commented ──> lost update at till/racy.py:10, wrong scope of till/racy.py:27 and :29
//! ```

use crate::clients;
use skew_workload::Url;
use skew_workload::connection::{Connection, Settings, connect};
use skew_workload::servers::PostgresServer;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const LAST: &str = "this is the last line";

/// A folder that is gone with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("skew-logged-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The application's day.
fn work(words: &[&str], clients: &Path) -> Command {
    let mut command = Command::new(clients.join("python/bin/python"));
    command.arg("work.py").args(words).current_dir(till()).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn till() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/programs/django_till")
}

fn client(url: &Url) -> Box<dyn Connection> {
    let settings = Settings { name: "observer".to_owned(), timeout: Duration::from_secs(60) };
    connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"))
}

fn asked(connection: &mut dyn Connection, sql: &str) -> String {
    let answer = connection.type_in(sql).unwrap_or_else(|objection| panic!("{sql}: {objection:?}"));
    answer.rows[0].text(0).unwrap_or_else(|failure| panic!("{sql}: {failure}")).to_owned()
}

/// A file as soon as its last line is in it: servers write logs on the side.
fn complete(file: &Path) -> String {
    for _ in 0..2400 {
        let text = std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        if text.contains(LAST) && text.ends_with('\n') {
            return text;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} has no last line", file.display());
}

/// Two days of the application on a server, with values inside of the SQL and beside it; its logs as till.csv and till.json.
fn logs(way: &str, folder: &Folder, clients: &Path) {
    let settings = ["logging_collector=on", "log_destination=csvlog,jsonlog", "log_statement=all"];
    let server = PostgresServer::start_with(&settings).unwrap_or_else(|error| panic!("{error}"));
    let mut observer = client(server.url());
    let port = asked(&mut *observer, "SHOW port");
    for (database, words) in [("inside", vec![way]), ("beside", vec![way, "binding"])] {
        observer.command(&format!("CREATE DATABASE {database}")).expect("a database");
        let mut command = work(&words, clients);
        command.env("PGHOST", "127.0.0.1").env("PGPORT", &port).env("PGUSER", "postgres").env("PGDATABASE", database);
        let done = command.output().expect("Python starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    observer.type_in(&format!("SELECT '{LAST}'")).expect("the end");
    let data = asked(&mut *observer, "SHOW data_directory");
    for (kind, name) in [("csvlog", "till.csv"), ("jsonlog", "till.json")] {
        let file = asked(&mut *observer, &format!("SELECT pg_current_logfile('{kind}')"));
        std::fs::write(folder.0.join(name), complete(&Path::new(&data).join(file))).expect("a copy");
    }
}

fn skew(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_skew")).args(arguments).current_dir(folder).output().expect("skew runs");
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

/// The part of a report that tells of a finding, from its title to the empty line behind it.
fn told<'a>(report: &'a str, title: &str) -> &'a str {
    let start = report.find(title).unwrap_or_else(|| panic!("no {title:?} in\n{report}"));
    let rest = &report[start..];
    &rest[..rest.find("\n\n").unwrap_or(rest.len())]
}

/// The lines of a log that a part of a report names, as they stand there.
fn named<'a>(part: &str, file: &str, log: &'a [&'a str]) -> Vec<&'a str> {
    let mark = format!("{file}:");
    let places = part.match_indices(&mark).map(|(at, found)| &part[at + found.len()..]);
    let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    places.filter_map(|rest| number(rest).parse::<usize>().ok()).map(|line| log[line - 1]).collect()
}

#[test]
fn the_races_of_a_django_application_are_found_on_the_lines_of_postgresqls_log() {
    let Some(clients) = clients() else { return };
    let folder = Folder::new("racy");
    logs("racy", &folder, &clients);
    for file in ["till.csv", "till.json"] {
        let (code, report) = skew(&folder.0, &["analyze", file]);
        assert_eq!(code, Some(1), "{report}");
        let log = std::fs::read_to_string(folder.0.join(file)).expect("the log");
        let lines: Vec<&str> = log.lines().collect();
        let has = |part: &str, word: &str, table: &str| {
            named(part, file, &lines).iter().any(|line| line.contains(word) && line.contains(table))
        };
        let lost = told(&report, "lost-update at postgres:read-committed: confirmed");
        assert!(has(lost, "SELECT", "till_product") && has(lost, "UPDATE", "till_product"), "{lost}");
        assert!(lost.contains("Fix, verified: add FOR UPDATE to the SELECT at"), "{lost}");
        let skewed = told(&report, "write-skew at postgres:repeatable-read: confirmed");
        assert!(has(skewed, "COUNT", "till_application") && has(skewed, "INSERT", "till_application"), "{skewed}");
        assert!(!report.contains("not understood"), "{report}");
    }
}

#[test]
fn a_careful_django_application_has_no_confirmed_finding_in_its_log() {
    let Some(clients) = clients() else { return };
    let folder = Folder::new("careful");
    logs("careful", &folder, &clients);
    for file in ["till.csv", "till.json"] {
        let (code, report) = skew(&folder.0, &["analyze", file, "--level", "postgres:read-committed"]);
        assert!(code != Some(1) && code != Some(2), "{code:?} {report}");
        assert!(!report.contains("confirmed") && !report.contains("lost-update"), "{report}");
    }
}

#[test]
fn what_a_served_application_says_is_analysed_with_the_lines_of_its_code() {
    let Some(clients) = clients() else { return };
    let folder = Folder::new("served");
    let log = folder.0.join("said.json");
    let python = clients.join("python/bin/python");
    let served = |words: &[&str]| {
        let head = ["serve", "--analyze", "--statements", log.to_str().expect("a name"), "--"];
        let command = [python.to_str().expect("a name"), "work.py"];
        skew(&till(), &[&head[..], &command[..], words].concat())
    };
    let (code, report) = served(&["racy", "binding", "commented"]);
    assert_eq!(code, Some(1), "{report}");
    let lost = told(&report, "lost-update at postgres:read-committed: confirmed");
    assert!(lost.contains("racy.py:10") && lost.contains("racy.py:12"), "{lost}");
    assert!(
        report.contains("wrong scope: till/racy.py:27 and till/racy.py:29 belong into one transaction"),
        "{report}"
    );
    // What was heard is a log like others, and says the same.
    let (again, same) = skew(&folder.0, &["analyze", "said.json"]);
    assert_eq!(again, Some(1), "{same}");
    assert!(same.contains("lost-update at postgres:read-committed: confirmed"), "{same}");
    // At repeatable read the snapshot is older than the lock, and nothing helps the voucher; at read committed the lock does.
    let (_, whole) = served(&["careful"]);
    assert!(whole.contains("write-skew at postgres:repeatable-read: confirmed"), "{whole}");
    let (code, report) = skew(&folder.0, &["analyze", "said.json", "--level", "postgres:read-committed"]);
    assert!(code != Some(1) && code != Some(2) && !report.contains("confirmed"), "{code:?} {report}");
}
