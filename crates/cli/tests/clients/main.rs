//! Real clients of PostgreSQL, unmodified, on `skew serve`: every client works in `latest` and at every level.
//!
//! ```text
//!   ./test ── set-up ── SKEW_CLIENTS=folder ──> this test
//!                                                │  skew serve --level L --chooser C -- program
//!   programs/psql.sh  programs/psycopg3.py  …  <─┘  DATABASE_URL, PG* name the mock; exit code 0 is a pass
//! ```
//!
//! A program creates what it needs from nothing and asserts what holds for one connection after the other at every level, so it must
//! pass whatever the chooser does. That the programs themselves are right shows on a real PostgreSQL, where they pass too. What runs by
//! default is a part that takes a minute: every client by chance at the weakest level, at the strongest and at one between them, in turn
//! (pgbench at the first two only), in `latest` at the weakest, the suites twice. `SKEW_CLIENTS_ALL=1` runs everything everywhere (`benchmarks/clients.py` archives that).
//!
//! Without `SKEW_CLIENTS` nothing was installed, and the tests say so in a line. With it a client that is missing is a failure.
//!
//! | module | what it knows |
//! |---|---|
//! | `program` | which clients there are and how each is started |
//! | `served` | a program on the mock, at a level, with a chooser |
//! | `explored` | an application with a race, run by run |
//! | `foreseen` | an application with a race, run once and predicted from |
//! | `logged` | an application on a server that logs, and what `analyze` makes of the log; the same served |
//! | `racing` | applications with a race of their own, and without it |
//! | `solved` | predictions beside those of z3 |
//! | `postgres` | a real PostgreSQL that is thrown away |
//! | `table` | who passed where |

mod explored;
mod foreseen;
mod logged;
mod postgres;
mod program;
mod racing;
mod served;
mod solved;
mod table;

use postgres::Postgres;
use program::{CLIENTS, Pace, Program, SUITES};
use served::Served;
use skew_testing::{say, skipped};
use std::path::PathBuf;
use table::Table;

/// From the weakest to the strongest.
const LEVELS: [&str; 7] = ["read-committed", "read-atomic", "causal", "prefix", "psi", "snapshot", "serializable"];

/// The weakest and the strongest.
const ENDS: [&str; 2] = [LEVELS[0], LEVELS[6]];

/// The folder that the set-up made. Where none was made, the line says what is not tested.
fn clients() -> Option<PathBuf> {
    let named = std::env::var("SKEW_CLIENTS").ok().filter(|name| !name.is_empty() && name != "no");
    if named.is_none() {
        skipped(
            "real clients (./test installs them; or run crates/cli/tests/clients/set-up FOLDER and set SKEW_CLIENTS=FOLDER)",
        );
    }
    // A name is meant from the root of the workspace, where people stand when they type it.
    named.map(|name| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name))
}

/// Whether everything is to be run, which takes the better part of an hour.
fn everything() -> bool {
    std::env::var("SKEW_CLIENTS_ALL").is_ok_and(|value| value == "1")
}

/// Runs the programs on the mock at the levels, and fails with what those printed that did not pass.
fn expect_served(title: &str, programs: &[Program], chooser: &str, levels: &[&str], runs: usize) {
    let Some(clients) = clients() else { return };
    let mut table = Table::new(title, levels);
    for program in programs {
        let outcomes = levels.iter().map(|level| Served { chooser, level, runs }.run(program, &clients));
        table.add(program.name, outcomes.collect());
    }
    say(&table.to_string());
    table.expect_passed();
}

#[test]
fn every_client_works_in_latest() {
    let levels = if everything() { &LEVELS[..] } else { &LEVELS[..1] };
    expect_served("latest", &CLIENTS, "latest", levels, 1);
}

#[test]
fn every_client_works_at_every_level_whatever_is_read() {
    let (slow, steady): (Vec<Program>, Vec<Program>) =
        CLIENTS.into_iter().partition(|program| program.pace == Pace::Slow);
    if everything() {
        expect_served("random", &steady, "random", &LEVELS, 1);
    } else {
        in_turn(&steady);
    }
    let levels = if everything() { &LEVELS[..] } else { &ENDS[..] };
    expect_served("random", &slow, "random", levels, 1);
}

/// Every program at the ends and at one level between them, so that each level has its programs.
fn in_turn(programs: &[Program]) {
    let between = &LEVELS[1..6];
    for (place, level) in between.iter().enumerate() {
        let its: Vec<Program> = programs.iter().skip(place).step_by(between.len()).copied().collect();
        expect_served("random", &its, "random", &[ENDS[0], level, ENDS[1]], 1);
    }
}

#[test]
fn ordinary_suites_on_one_connection_pass_whatever_is_read() {
    let (levels, runs) = if everything() { (&LEVELS[..], 20) } else { (&LEVELS[..1], 2) };
    expect_served(&format!("suites, {runs} runs each"), &SUITES, "random", levels, runs);
}

#[test]
fn the_programs_are_right_because_they_pass_on_postgresql() {
    let Some(clients) = clients() else { return };
    let server = Postgres::start();
    let mut table = Table::new("PostgreSQL", &["as it is"]);
    for program in CLIENTS.iter().chain(&SUITES) {
        table.add(program.name, vec![server.run(program, &clients)]);
    }
    say(&table.to_string());
    table.expect_passed();
}
