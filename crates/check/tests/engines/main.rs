//! The levels of the engines, held against simulators that work as the engines do.
//!
//! ```text
//!   Program ──┬── simulator: every interleaving of its statements, with locks, waits and refusals ──> set of runs ──┐
//!             │                                                                                                     ├── equal?
//!             └── candidates: every run that one could make up ── spec: is its history allowed? ────> set of runs ──┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `program`, `run` | what clients send, as text; what they saw, as a history |
//! | `schedule` | every interleaving, and where sessions stand |
//! | `postgres`, `innodb` | the engines at work |
//! | `serial` | runs that could have been one transaction after another |
//! | `candidates` | all runs that one could make up, and those that the definition allows |
//! | `table` | numbers of runs, pinned |
//! | `agreement` | random programs |
//! | `fast` | the fast algorithm beside the definition |
//! | `sentences` | what people ought to know about the levels |
//! | `odd` | kinds of statements that make no sense on their events |
//! | `forged` | schedules that somebody made up |
//! | `histories` | what programs cannot say: times, unknown outcomes, versions that nobody knows |
//! | `unnoticed` | where PostgreSQL's serializable may miss what it should refuse |

#![allow(unreachable_pub, reason = "a test binary has no users")]

#[path = "../support/random.rs"]
#[allow(dead_code, reason = "other test binaries use the rest")]
mod random;

mod agreement;
mod candidates;
mod fast;
mod forged;
mod histories;
mod innodb;
mod odd;
mod postgres;
mod program;
mod run;
mod schedule;
mod sentences;
mod serial;
mod table;
mod unnoticed;

use innodb::Innodb;
use postgres::Postgres;
use program::Program;
use run::Run;
use skew_history::{Engine, EngineLevel};
use std::collections::BTreeSet;

/// All runs of a program, its transactions each at its level; at PostgreSQL's serializable those of repeatable read.
fn simulate(program: &Program, levels: &[EngineLevel]) -> BTreeSet<Run> {
    match levels[0].engine() {
        Engine::Mysql => schedule::all_runs(program, Innodb::new(program, levels)),
        Engine::Postgres => {
            let repeatable: Vec<bool> =
                levels.iter().map(|&level| level != EngineLevel::PostgresReadCommitted).collect();
            schedule::all_runs(program, Postgres::new(program, &repeatable))
        }
    }
}
