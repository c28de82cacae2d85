//! Seeded random histories, streamed transaction by transaction.
//!
//! A history of a given isolation level is best made by a small database that works at that level. So this crate holds five
//! such databases and two schedules, and every level is a pair of them:
//!
//! ```text
//!   level                       database                                        schedule
//!   serializable                latest: a read sees the latest commit           one at a time
//!   snapshot                    snapshot: read at begin, first committer wins   interleaved
//!   prefix                      follower: read at begin, perhaps a late copy    interleaved
//!   psi · causal · read-atomic  sites: copies that hear of each other late      one at a time
//!   read-committed              latest                                          interleaved, event by event
//!   postgres:…, mysql:…         server: locks, waits, refusals                  interleaved, statement by statement
//! ```
//!
//! Each module argues why what it produces satisfies its level. One [`InjectedAnomaly`] may be put into the middle of the stream, at a
//! moment when everything else is at rest; it then is the only thing that violates anything.
//!
//! ```
//! use skew_generate::{Parameters, generate};
//! let parameters = Parameters { sessions: 3, transactions: 100, ..Parameters::default() };
//! let mut events = 0;
//! generate(&parameters, &mut |transaction| {
//!     events += transaction.events.len();
//!     Ok(())
//! })?;
//! assert_eq!(events, 800);
//! # Ok::<(), skew_generate::GenerateError>(())
//! ```
//!
//! The memory is that of the databases, whatever the length of the history. The same [`Parameters`] give the same bytes on every
//! machine. Which levels a history really satisfies is for `skew-check` to say.

mod anomaly;
mod attempt;
mod database;
mod follower;
mod inject;
mod latest;
mod output;
mod parameters;
mod recorder;
mod schedule;
mod server;
mod sites;
mod snapshot;
mod workload;

pub use anomaly::{InjectedAnomaly, UnknownAnomaly};
pub use attempt::{Content, GeneratedEvent};
pub use output::{OutputFormat, UnknownFormat, to_history, write};
pub use parameters::{ParameterError, Parameters};
pub use recorder::Generated;

use database::Database;
use recorder::TransactionRecorder;
use schedule::Interleaving;
use skew_history::IsolationLevel;
use std::io;
use workload::Workload;

/// Why there is no history, or only the beginning of one.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The parameters ask for something that cannot be.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The receiver of the transactions failed.
    #[error("cannot write the history: {0}")]
    Write(#[from] io::Error),
}

/// Generates a history and hands it to `sink` one transaction at a time, the transactions of a session in session order.
pub fn generate(
    parameters: &Parameters,
    sink: &mut dyn FnMut(&Generated<'_>) -> io::Result<()>,
) -> Result<(), GenerateError> {
    parameters.validate()?;
    let mut workload = Workload::new(parameters);
    let mut recorder = TransactionRecorder::new(parameters, sink);
    let (mut database, schedule) = simulator(parameters);
    let Some(anomaly) = parameters.anomaly else {
        return Ok(schedule.run(parameters.transactions, &mut *database, &mut workload, &mut recorder)?);
    };
    let before = parameters.transactions / 2;
    schedule.run(before, &mut *database, &mut workload, &mut recorder)?;
    inject::inject(anomaly, parameters, &mut workload, &mut recorder)?;
    Ok(schedule.run(parameters.transactions - before, &mut *database, &mut workload, &mut recorder)?)
}

/// The database and the schedule that make a level.
fn simulator(parameters: &Parameters) -> (Box<dyn Database>, Interleaving) {
    use IsolationLevel::*;
    match parameters.level {
        ReadCommitted => (Box::new(latest::Latest::default()), Interleaving::Interleaved),
        Snapshot => (Box::new(snapshot::SnapshotStore::default()), Interleaving::Interleaved),
        Prefix => (Box::new(follower::Follower::new(parameters)), Interleaving::Interleaved),
        ReadAtomic => (Box::new(sites::Sites::new(parameters, sites::Promise::Atomic)), Interleaving::OneAtATime),
        Causal => (Box::new(sites::Sites::new(parameters, sites::Promise::Causal)), Interleaving::OneAtATime),
        ParallelSnapshot => {
            (Box::new(sites::Sites::new(parameters, sites::Promise::NoLostUpdate)), Interleaving::OneAtATime)
        }
        Serializable => (Box::new(latest::Latest::default()), Interleaving::OneAtATime),
        Engine(level) => (Box::new(server::Server::new(level)), Interleaving::Interleaved),
        StrongSnapshot | StrictSerializable | Declared => unreachable!("{} is refused", parameters.level),
    }
}
