//! One server with its clients: what a step of a transaction does, and what comes of a run.
//!
//! ```text
//!   Requests ── Turn: one step of one transaction ── ServerState: Postgres | Innodb ── ToldTransaction: event by event
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `told` | what a transaction did, and how it ended |
//! | `turn` | one step of one transaction; in it `look`: a range that is looked over, `check`: keys that constraints look at, `impatient`: rows that are not waited for, and `savepoint`: going back |
//! | `access` | which steps may be exchanged |
//! | `database`, `postgres`, `innodb`, `gap` | the servers; what may not be inserted |
//! | `part` | what a state of a server consists of, to tell it from others |
//! | `outcome` | a run that is over: its history, its answers |
//!
//! Which steps are taken in which order is for `schedules`.

pub(crate) mod access;
pub(crate) mod database;
pub(crate) mod gap;
mod innodb;
pub(crate) mod outcome;
pub(crate) mod part;
mod postgres;
pub(crate) mod told;
pub(crate) mod turn;
