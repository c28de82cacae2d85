//! Applications with one race each, and the same ones without it: nobody has told them what serves them, and their threads, pools and event
//! loops are their own.
//!
//! ```text
//!   FIXED=1    skew serve --runs 5                       passes, as on PostgreSQL: no false alarm
//!   FIXED=0    skew serve --runs 20 --stop-at-first      fails: no false pass
//!   both       skew explore                              the same of every order of their requests
//! ```
//!
//! Four of them are the examples of the page "Writing a test that can race"; the others are here because their pools are of another make:
//! HikariCP under JDBC, Go's `database/sql`, and Optuna, which has no race that we know of. `SKEW_RACES` says how many runs a fixed one
//! has to pass (`benchmarks/races.py` asks for a hundred).

use crate::clients;
use crate::postgres::Postgres;
use crate::program::{Pace, Program};
use std::process::{Command, Output};

const APPLICATIONS: [Program; 7] = [
    Program { folder: "../../../../../examples/racing/flask", ..program("flask", PYTEST) },
    Program {
        folder: "../../../../../examples/racing/django",
        ..program("django", &["@python", "manage.py", "test", "-v0", "--noinput"])
    },
    Program { folder: "../../../../../examples/racing/sqlalchemy", ..program("sqlalchemy", PYTEST) },
    Program { folder: "../../../../../examples/racing/express", ..program("express", &["node", "--test"]) },
    program("hikari", &["java", "-cp", JARS, "HikariBank.java"]),
    program("go", &["@go/bank"]),
    program("optuna", &["@python", "optuna_study.py"]),
];

const PYTEST: &[&str] = &["@python", "-m", "pytest", "-q", "-p", "no:cacheprovider"];
/// What a pool of Java's is made of.
const JARS: &str = "/usr/share/java/HikariCP.jar:/usr/share/java/slf4j-api.jar:/usr/share/java/slf4j-nop.jar:/usr/share/java/postgresql.jar";

const fn program(name: &'static str, words: &'static [&'static str]) -> Program {
    Program { name, pace: Pace::Steady, folder: "racing", words }
}

fn application(name: &str) -> Program {
    APPLICATIONS.into_iter().find(|application| application.name == name).expect("an application of the table")
}

fn ended(mut command: Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), printed.concat())
}

/// What `skew serve` says of an application.
fn served(name: &str, fixed: &str, flags: &[&str]) -> Option<(Option<i32>, String)> {
    said(name, fixed, &[&["serve", "--seed", "1"], flags].concat())
}

fn said(name: &str, fixed: &str, words: &[&str]) -> Option<(Option<i32>, String)> {
    let clients = clients()?;
    let application = application(name);
    let mut command = Command::new("timeout");
    command.args(["280", env!("CARGO_BIN_EXE_skew")]).args(words).arg("--");
    command.args(application.words(&clients)).env("FIXED", fixed);
    application.prepare(&mut command, &clients);
    Some(ended(command))
}

fn passes_when_it_is_fixed(name: &str) {
    let runs = std::env::var("SKEW_RACES").unwrap_or_else(|_| "5".to_owned());
    let Some((code, printed)) = served(name, "1", &["--runs", &runs]) else { return };
    assert_eq!(code, Some(0), "{name}: {printed}");
}

fn is_found(name: &str) {
    let Some((code, printed)) = served(name, "0", &["--runs", "20", "--stop-at-first"]) else { return };
    assert_eq!(code, Some(1), "{name}: {printed}");
    // Express asks twice, in a transaction each: every run is serializable, and no level helps.
    let wanted = if name == "express" { "between transactions" } else { "not serializable" };
    assert!(printed.contains(wanted), "{name} fails, and not by its race: {printed}");
}

macro_rules! races {
    ($($application:ident),*) => {$(
        mod $application {
            #[test]
            fn passes_when_it_is_fixed() {
                super::passes_when_it_is_fixed(stringify!($application));
            }

            #[test]
            fn its_race_is_found_within_twenty_runs() {
                super::is_found(stringify!($application));
            }
        }
    )*};
}

races!(flask, django, sqlalchemy, express, hikari, go);

fn is_explored_to_its_end(name: &str) {
    for (fixed, expected) in [("0", 1), ("1", 0)] {
        let Some((code, printed)) = said(name, fixed, &["explore"]) else { return };
        assert_eq!(code, Some(expected), "{name}, FIXED={fixed}: {printed}");
        assert!(!printed.contains("not everything was explored"), "{printed}");
    }
}

#[test]
fn a_pool_of_node_is_explored_to_its_end() {
    is_explored_to_its_end("express");
}

#[test]
fn a_pool_of_go_is_explored_to_its_end() {
    is_explored_to_its_end("go");
}

#[test]
fn a_pool_of_psycopg_is_explored_to_its_end() {
    is_explored_to_its_end("flask");
}

#[test]
fn optuna_passes_with_three_workers() {
    passes_when_it_is_fixed("optuna");
}

#[test]
fn fixed_applications_pass_on_postgresql() {
    let Some(clients) = clients() else { return };
    let server = Postgres::start();
    for application in APPLICATIONS {
        server.run_with(&application, &clients, &[("FIXED", "1")]).unwrap_or_else(|printed| panic!("{printed}"));
    }
}
