//! Workloads on real servers, and the history that their clients saw.
//!
//! A [`Workload`] is tables, rows and operations that are drawn by chance. [`run`] lets many sessions do them at once against a server
//! that speaks PostgreSQL's or MySQL's protocol, through the drivers that applications use, and writes down what every client
//! asked and heard:
//!
//! ```text
//!   Workload ── draw(random, session, number) ── Operation ── Session::transact ── Transaction ── Connection ── server
//!                                                                                      │
//!                                       history  ◄── Recorder ◄── one line each ◄──────┘
//! ```
//!
//! A workload of one's own:
//!
//! ```
//! use skew_workload::table::{int, Table};
//! use skew_workload::{Assertion, Failure, FinalState, Loader, Operation, Random, Workload};
//!
//! const ACCOUNTS: Table = Table::new("accounts", &[int("id")], &[int("balance")]);
//!
//! /// Ten accounts, money that moves between them, and none that is lost.
//! struct Transfers;
//!
//! impl Workload for Transfers {
//!     fn name(&self) -> &'static str {
//!         "transfers"
//!     }
//!
//!     fn tables(&self) -> &[Table] {
//!         &[ACCOUNTS]
//!     }
//!
//!     fn load(&self, loader: &mut Loader) {
//!         (0..10).for_each(|id| loader.insert(&ACCOUNTS, id, 100));
//!     }
//!
//!     fn draw(&self, random: &mut Random, _session: usize, _number: u64) -> Operation {
//!         // All chance is here: the code below may run again when the database refuses.
//!         let (from, to, amount) = (random.between(0, 9), random.between(0, 9), random.between(1, 50));
//!         Operation::new("transfer", move |transaction| {
//!             let balance = transaction.select(&ACCOUNTS, from, &["balance"])?;
//!             if balance.map_or(Ok(0), |row| row.int(0))? < amount {
//!                 return Err(Failure::RolledBack);
//!             }
//!             transaction.update(&ACCOUNTS, from, "balance = balance - ?", amount)?;
//!             transaction.update(&ACCOUNTS, to, "balance = balance + ?", amount)?;
//!             Ok(())
//!         })
//!     }
//!
//!     fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
//!         let total = end.number("SELECT SUM(balance) FROM {accounts}", ())?;
//!         Ok(vec![Assertion::new("money", total == 1000, format!("1000 at the start, {total} at the end"))])
//!     }
//! }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`mod@workload`] | the contract of a workload, operations, assertions |
//! | [`table`], [`load`] | tables as data, the two columns of versions, the rows before the first operation |
//! | [`mod@transaction`] | the handle of a workload's code: SQL goes out, events are written down |
//! | [`session`] | one client: tries, outcomes, lost connections |
//! | [`driver`], [`report`], [`histogram`] | a run from beginning to end, and what came out |
//! | [`turns`] | one transaction at a time, in the order of the seed or in another one |
//! | `record` | the history, line by line |
//! | [`connection`], [`url`], [`failure`] | the drivers behind one trait; why a statement failed |
//! | [`screenplay`] | statements of several sessions in one order, forced on a server; who waits for whom |
//! | [`fault`] | servers that are killed, paused or cut off from each other while a run goes on |
//! | [`servers`] | PostgreSQL, MariaDB and Galera clusters for as long as somebody needs them |
//! | [`registers`] | the first workload: reads and writes of single values, and lists |
//! | [`catalog`] | all workloads by name, and what they must keep |
//!
//! Chance is that of `skew-chance`. Operations that need several transactions use [`Operation::of_session`]; what sessions saw and assertions need is kept by
//! [`Operation::observed`] or [`Session::observe`]. Whether a history is right is for `skew-check` to say.

// The driver of MySQL needs one backend of it; see Cargo.toml.
use flate2 as _;

pub mod catalog;
pub mod connection;
pub mod driver;
pub mod failure;
pub mod fault;
pub mod histogram;
pub mod load;
mod prepare;
mod record;
pub mod registers;
pub mod report;
pub mod screenplay;
pub mod servers;
pub mod session;
pub mod table;
pub mod transaction;
pub mod turns;
pub mod url;
pub mod value;
pub mod workload;

pub use driver::{Options, Outside, Prepare, Progress, RunError, run};
pub use failure::{Failure, Objection};
pub use fault::{Fault, Faults, Lasting};
pub use load::{Loader, Setup};
pub use registers::Registers;
pub use report::{End, Report};
pub use session::{Outcome, Session};
pub use skew_chance::Random;
pub use table::{Names, Table};
pub use transaction::{FoundRow, Notes, Transaction};
pub use turns::Turns;
pub use url::{BadUrl, Url};
pub use value::{Row, Value, Values};
pub use workload::{Assertion, FinalState, Observation, Operation, Workload};
