//! The tools agree: what `skew play` and `skew serve` show, `skew explore` has; what `explore` has, `play` plays; and what a real
//! PostgreSQL does, `explore` has too. Random programs in SQL are the judges.
//!
//! | module | what it knows |
//! |---|---|
//! | `draft`, `generator` | a program as data, and how one is drawn from a seed |
//! | `setting`, `stage`, `talk` | the mock database, sessions on it, a procedure said as statements |
//! | `account`, `explored` | what matters of a run, and all runs of the explorer |
//! | `again`, `steered` | a run of the explorer made again by the mock, as weak as it is or steered |
//! | `postgres` | a real server, and sessions on it |
//! | `storm`, `terrain` | random interleavings of random programs on live servers, and what the explorer has at their own levels |
//! | `mocked` | the same interleavings on a live PostgreSQL and on the mock at its levels, side by side |
//! | `server_locks` | the same for scenes that no storm draws: tables, keys, what applications name |
//! | `seen` | the other way round: what the explorer has of small programs, there |
//! | `scenes` | single interleavings there, with what the servers answer |
//! | `survivors`, `live` | the fixes of `examples/bugs` on live servers |
//! | `naming` | whether what is called a lost update is one |
//! | `property` | what has to hold, and how what breaks it is made small |
//!
//! Programs that were answered wrongly once are in `examples`. `SKEW_SEED` says with which program to begin and `SKEW_PROGRAMS` how many
//! there are; a failure prints the program, as a file, with its seed.

mod account;
mod again;
mod draft;
mod examples;
mod explored;
mod generator;
mod live;
mod mocked;
mod naming;
mod postgres;
mod property;
mod scenes;
mod seen;
mod server_locks;
mod setting;
mod stage;
mod steered;
mod storm;
mod survivors;
mod talk;
mod terrain;

use draft::Draft;
use generator::{Audience, draw};
use postgres::{LEVELS, Server};
use property::{Looked, Property, guarded, shrink};
use setting::Setting;
use skew_mockdb::Granularity;
use skew_testing::{say, skipped};
use std::cell::RefCell;

/// How many programs without being told.
const PROGRAMS: u64 = 60;

/// And how many of them on a real server, each in so many interleavings at every level.
const SERVER_PROGRAMS: u64 = 30;
const INTERLEAVINGS: u64 = 24;

fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Draws the programs and looks at each in every setting that is for it.
fn for_all(title: &str, audience: Audience, look: &dyn Fn(&Draft, Setting, &mut Looked) -> Result<(), String>) {
    let (seed, count) = (number_from("SKEW_SEED", 1), number_from("SKEW_PROGRAMS", PROGRAMS));
    let looked = RefCell::new(Looked::default());
    let mut failures = Vec::new();
    for seed in seed..seed + count {
        let draft = draw(seed, audience);
        if let Err(error) = setting::parse(&draft) {
            panic!("seed {seed}: {error}\n{}", draft.written());
        }
        let granularity = if seed % 4 == 0 { Granularity::Cell } else { Granularity::Row };
        for setting in Setting::all(granularity) {
            let property: Property<'_> = &|draft| look(draft, setting, &mut looked.borrow_mut());
            if let Err(difference) = guarded(property, &draft) {
                let (small, difference) = shrink(&draft, difference, property);
                failures.push(format!("seed {seed}, {setting}\n{}\n{difference}", small.written()));
                say(failures.last().expect("just added"));
                break;
            }
        }
        looked.borrow_mut().programs += 1;
    }
    let looked = looked.into_inner();
    say(&format!("{title}: from seed {seed}, {looked:?}, {} disagreements", failures.len()));
    assert!(failures.is_empty(), "{title}:\n{}", failures.join("\n"));
}

#[test]
fn what_the_mock_shows_the_explorer_has() {
    for_all("shown and explored", Audience::Tools, &|draft, setting, looked| {
        property::shown_is_explored(draft, setting, 16, looked)
    });
}

#[test]
fn what_the_explorer_has_the_mock_plays() {
    for_all("explored and played", Audience::Tools, &|draft, setting, looked| {
        property::explored_is_played(draft, setting, looked)
    });
}

#[test]
fn failures_that_clients_take_back_are_read_like_everything_else() {
    for_all("savepoints", Audience::Client, &|draft, setting, looked| {
        property::saved_is_serial(draft, setting, 16, looked)
    });
}

#[test]
fn what_postgresql_does_the_explorer_has() {
    // Where clients were installed, a server was too.
    if !std::env::var("SKEW_CLIENTS").is_ok_and(|name| !name.is_empty() && name != "no") {
        return skipped("PostgreSQL beside the explorer (./test runs it; or set SKEW_CLIENTS=target/clients)");
    }
    let (seed, count) = (number_from("SKEW_SEED", 1), number_from("SKEW_SERVER_PROGRAMS", SERVER_PROGRAMS));
    let server = RefCell::new(Server::start());
    let (mut looked, mut failures) = (0, Vec::new());
    for seed in seed..seed + count {
        let draft = draw(seed, Audience::Server);
        for level in LEVELS {
            let found = RefCell::new(0);
            let property: Property<'_> = &|draft| {
                *found.borrow_mut() += server.borrow_mut().agrees(draft, level, INTERLEAVINGS)?;
                Ok(())
            };
            if let Err(difference) = guarded(property, &draft) {
                let (small, difference) = shrink(&draft, difference, property);
                failures.push(format!("seed {seed}, {}\n{}\n{difference}", level.1, small.written()));
                say(failures.last().expect("just added"));
                break;
            }
            looked += found.into_inner();
        }
    }
    say(&format!("PostgreSQL: {count} programs from seed {seed}, {looked} runs, {} disagreements", failures.len()));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
