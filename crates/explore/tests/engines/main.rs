//! The levels of the engines, explored: what the search finds is what simulators of the engines show, and the definition allows it.
//!
//! ```text
//!   Program ──┬── simulator of skew-check: every interleaving ──> set of runs ──┐
//!             │                                                                 ├── equal?
//!             └── as a program that is explored ─────────────────> set of runs ──┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `program`, `run`, `schedule`, `postgres`, `innodb`, `random` | the simulators, which are those of `skew-check` |
//! | `scripted` | their programs, as programs that are explored |
//! | `agreement` | random programs |
//! | `played` | runs whose steps are drawn by chance |
//! | `table` | numbers of histories, pinned |

#![allow(unreachable_pub, dead_code, reason = "a test binary has no users, and others use the rest")]

#[path = "../../../check/tests/engines/innodb.rs"]
mod innodb;
#[path = "../../../check/tests/engines/postgres.rs"]
mod postgres;
#[path = "../../../check/tests/engines/program.rs"]
mod program;
#[path = "../../../check/tests/support/random.rs"]
mod random;
#[path = "../../../check/tests/engines/run.rs"]
mod run;
#[path = "../../../check/tests/engines/schedule.rs"]
mod schedule;

mod agreement;
mod played;
mod scripted;
mod table;
