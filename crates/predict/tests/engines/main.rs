//! Predictions at the levels of the engines against the definition: random programs run once, by chance, on the models of the servers.
//!
//! ```text
//!   Program ── played ──> History ──┬── predict: candidates, forbidden parts, what was learnt ──┐
//!                                   └── reference: every cut, every source, check::spec ────────┴── equal?
//! ```

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
#[path = "../../../explore/tests/engines/scripted.rs"]
mod scripted;

mod agreement;
mod textbook;
