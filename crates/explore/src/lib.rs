//! All the runs of a program that an isolation level allows, each exactly once.
//!
//! A program is sessions of transactions, a transaction a deterministic function of what it reads. Two runs are one when their histories are:
//! same events, same session order, same reads-from.
//!
//! ```text
//!   a: r(x) w(x)     b: r(x) w(x)          at causal three runs: a then b, b then a, and both read the initial x (a lost update)
//! ```
//!
//! The algorithm is that of Bouajjani, Enea and Román-Calvo (PLDI 2023). A history is extended event by event, one transaction after the
//! other; a read branches over the committed transactions that it may read from; and when a transaction commits, earlier reads are
//! *swapped* to read from it. At read-committed, read-atomic and causal nothing is explored in vain. Prefix, psi, snapshot, serializable
//! and all levels with locking reads are explored at a weaker base, and [`Run::answer`] filters. (Cutting a branch off as soon as it
//! violates such a level would be wrong: swaps lead from there to runs that satisfy it.)
//!
//! | module | holds |
//! |---|---|
//! | `explorable`, `requests` | the contract of a program; how its requests are answered |
//! | `outline` | places, names and levels of transactions |
//! | `ordered`, `log`, `keys`, `set` | a history with the order of its transactions |
//! | `base`, `consistency`, `forced`, `lineup` | the levels on small histories |
//! | `swap` | which swaps are taken |
//! | `search`, `runner`, `subtree` | the histories that wait, and how one is written down |
//! | `schedules`, `server` | the levels of the engines: every schedule on a server |
//! | `playing` | one run there, whose steps somebody chooses |
//! | `run`, `record`, `final_state` | a complete history, and how it may have ended |
//! | `orders` | the baseline and the oracle |
//! | `program`, `value`, `check` | programs in Rust |
//! | `sql` | programs in SQL |
//! | `interleavings` | orders of steps of something that runs only as a whole, and may be asked again |
//! | `follower` | a run that is made again elsewhere |
//! | `remote` | programs that run only as a whole, run by run |
//!
//! No clock, no threads, no files: a [`Search`] is explored by whoever holds it, and its [`Subtree`]s by as many as there are.

mod base;
mod check;
mod consistency;
mod error;
mod explorable;
mod final_state;
mod follower;
mod forced;
mod interleavings;
mod keys;
mod lineup;
mod log;
mod ordered;
mod orders;
mod outline;
mod playing;
mod program;
mod record;
mod remote;
mod requests;
mod run;
mod runner;
mod schedules;
mod search;
mod server;
mod set;
mod sql;
mod subtree;
mod swap;
mod value;

pub use base::Base;
pub use check::{Exploration, ExplorationFailure, ExplorationReport, Violation, explore};
pub use error::ExploreError;
pub use explorable::{Explorable, TransactionEnd};
pub use final_state::{FinalState, MOST_FINAL_STATES};
pub use follower::{Difference, Follower};
pub use interleavings::{Footprint, Interleavings, Route};
pub use orders::{Baseline, every_run};
pub use outline::{Options, Place};
pub use playing::{Movable, Playing, StepChooser};
pub use program::{End, Program, Session, Transaction, TransactionStop};
pub use remote::{Learned, NoRemoteSchedule, Path, PathError, Remote, RemoteRun, RemoteSchedule, RemoteSearch};
pub use requests::{Interrupt, Requests};
pub use run::{Run, RunAnswer};
pub use schedules::beats::{Beat, BeatKind};
pub use search::{Progress, Search};
pub use skew_history::IsolationLevel;
pub use skew_sql::Granularity;
pub use sql::{Abort, CallLeft, SqlOptions, SqlProgram, Violated};
pub use subtree::{NoSchedule, Subtree};
pub use value::{FromValue, ToValue};
