//! `skew explore --confirm`: counterexamples at the levels of engines, made once more on real servers.
//!
//! All programs under `examples/bugs` and some applications, at the levels at which they fail most; `benchmarks/confirm.py` does the rest.

use crate::run_servers::{commands, installed, other};
use crate::{Folder, Ran};
use serde_json::Value;
use skew_workload::Url;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use std::path::{Path, PathBuf};

const WITHDRAW: &str = include_str!("../../../../examples/withdraw.sql");

/// The counterexamples in which somebody comes between two rows of a scan that waits for nobody: a server does that, and nobody can make it.
const NOT_TO_BE_FORCED: [(&str, &str); 1] = [("mysql", "14-nobody-on-call/wrong-fix.sql")];

/// The programs of a folder under `examples`, and of the folders in it.
pub(crate) fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
        entries.unwrap_or_default()
    };
    let mut found: Vec<PathBuf> = entries(&folder)
        .into_iter()
        .flat_map(|entry| if entry.is_dir() { entries(&entry) } else { vec![entry] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    found.sort();
    found
}

/// The counterexamples of a report, each with what the server showed of it.
fn counterexamples(ran: &Ran) -> Vec<(String, Value)> {
    let report = ran.json();
    let levels = report["levels"].as_array().cloned().unwrap_or_default();
    let assertions = levels.iter().flat_map(|level| level["assertions"].as_array().cloned().unwrap_or_default());
    let failing = assertions.filter(|assertion| assertion["violations"] != 0);
    failing.map(|assertion| (assertion["name"].to_string(), assertion["confirmed"].clone())).collect()
}

/// Whether a program names another engine than this one, whose words a server does not understand.
pub(crate) fn is_for_another(path: &Path, engine: &str) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let dialect = text.lines().next().and_then(|line| line.strip_prefix("-- dialect: "));
    dialect.is_some_and(|dialect| dialect.trim() != engine)
}

/// Explores programs at levels of an engine, and wants every counterexample confirmed; says how many there were.
fn all_are_confirmed(programs: &[PathBuf], (engine, levels): (&str, &str), url: &Url) -> usize {
    let folder = Folder::new("explore-confirm");
    let (url, mut count) = (url.to_string(), 0);
    for path in programs.iter().filter(|path| !is_for_another(path, engine)) {
        let path = path.to_string_lossy();
        let ran = folder.skew(&["explore", &path, "--level", levels, "--confirm", &url, "--format", "json"]);
        // Not every order is tried of those who write to a table with EXCLUDE.
        let is_open = ran.err.contains("a table has EXCLUDE") && ran.code == Some(3);
        assert!(is_open || [Some(0), Some(1)].contains(&ran.code), "{path}: {}", ran.err);
        let can_be_forced = !NOT_TO_BE_FORCED.iter().any(|(other, file)| *other == engine && path.ends_with(file));
        for (name, confirmed) in counterexamples(&ran).into_iter().filter(|_| can_be_forced) {
            assert_eq!(confirmed["verdict"], "confirmed", "{path}, {name}: {confirmed:#}");
            count += 1;
        }
    }
    count
}

#[test]
fn postgresql_shows_every_counterexample_of_the_bugs() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let count = all_are_confirmed(&programs("bugs"), ("postgres", "pg:rc,pg:rr"), server.url());
    assert!(count >= 35, "{count}");
}

#[test]
fn mariadb_shows_every_counterexample_of_the_bugs() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let count = all_are_confirmed(&programs("bugs"), ("mysql", "mysql:rc,mysql:rr"), server.url());
    assert!(count >= 30, "{count}");
}

#[test]
fn what_is_confirmed_is_said_and_nothing_is_left_behind() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let folder = Folder::new("explore-confirm-words");
    folder.write("withdraw.sql", WITHDRAW);
    let url = server.url().to_string();
    commands(server.url(), &["CREATE SCHEMA skew_confirm_1", "CREATE TABLE skew_confirm_1.account (id INT)"]);
    let ran = folder.skew(&["explore", "withdraw.sql", "--level", "pg:rc", "--confirm", &url]).expect(1);
    let said = "\nconfirmed on PostgreSQL ";
    assert!(ran.out.contains(said) && ran.out.contains("the assertion is false there, too"), "{}", ran.out);
    assert!(!ran.out.lines().last().unwrap_or_default().contains("confirm"), "{}", ran.out);
    // What somebody else has is left alone, and what was made is gone.
    commands(server.url(), &["DROP TABLE skew_confirm_1.account", "CREATE SCHEMA skew_confirm_2"]);
    let ran = folder.skew(&["explore", "withdraw.sql", "--level", "mysql:rc", "--confirm", &url]).expect(1);
    assert!(ran.out.contains("not confirmed on PostgreSQL") && ran.out.contains("another engine"), "{}", ran.out);
    commands(server.url(), &["CREATE ROLE ann LOGIN PASSWORD 'right'"]);
    let place = other(server.url(), "ann:right", "postgres");
    let ran = folder.skew(&["explore", "withdraw.sql", "--level", "pg:rc", "--confirm", &place]).expect(2);
    assert!(ran.err.contains("no schema can be made") && ran.err.contains("GRANT CREATE ON DATABASE"), "{}", ran.err);
}

#[test]
fn what_a_server_does_not_show_is_said_statement_by_statement() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let folder = Folder::new("explore-confirm-differs");
    // The value of a sequence is another one on a server.
    let text = "-- dialect: postgres
CREATE TABLE ticket (id SERIAL PRIMARY KEY, name TEXT);
CREATE PROCEDURE add(IN who TEXT, OUT got INT)
BEGIN
  INSERT INTO ticket (name) VALUES (who);
  SELECT MAX(id) INTO got FROM ticket;
END;
SESSION a: CALL add('a', @x);
SESSION b: CALL add('b', @y);
ASSERT 'nothing': a[1].got + b[1].got < 0;
";
    folder.write("ticket.sql", text);
    let url = server.url().to_string();
    let arguments = ["explore", "ticket.sql", "--level", "pg:rc", "--confirm", &url];
    let ran = folder.skew(&arguments).expect(1);
    assert!(
        ran.out.contains("\nnot confirmed: PostgreSQL ") && ran.out.contains(" does not show this\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains(": SELECT MAX(id) FROM ticket: ") && ran.out.contains("; expected: "), "{}", ran.out);
    let found = counterexamples(&folder.skew(&[&arguments[..], &["--format", "json"]].concat()).expect(1));
    assert_eq!(found[0].1["verdict"], "differs", "{found:?}");
    assert_eq!(found[0].1["differences"][0]["sql"], "SELECT MAX(id) FROM ticket", "{found:?}");
}
