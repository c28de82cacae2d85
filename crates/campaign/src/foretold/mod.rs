//! A command once more, with the reads that a prediction names: the campaign behind `skew predict` and `skew serve --predict`.
//!
//! ```text
//!   record   command ── ordinary reads, one transaction at a time ──> history ── (predictions) ── Prophecy: reads, order
//!                                                                                                   │
//!   replay   command ── foretold reads, in the foretold order ──> history, where it diverged  <─────┘
//!                                                                    │
//!   validate ── is it what the level promises, and not what it is compared with? ──> Validation
//! ```

mod prophecy;
mod unseen;
mod validation;

pub use prophecy::{Prophecy, ProphecyTerms};
pub(crate) use unseen::UnseenReads;
pub(crate) use validation::first_divergence;
pub use validation::{Validation, validate};

use crate::command::CommandEnd;
use crate::served::database::{DatabaseSettings, listen};
use crate::served::{EndedRun, ServeSettings, run_on};
use crate::{Complaint, StopFlags};
use skew_history::IsolationLevel;
use skew_mockdb::chooser::Latest;
use skew_mockdb::wire::{Schedule, WireSettings};
use skew_mockdb::{Chooser, Divergence, Foretelling, Foretold, Overruled, Record, Tape};
use std::time::Duration;

/// How long a client may be silent inside a transaction, where nothing else is said.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long nothing may happen while others wait for whoever is next.
const WAIT: Duration = Duration::from_millis(250);

/// A run with ordinary reads.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// The history in the native format.
    pub history: String,
    /// How the command ended.
    pub ended: CommandEnd,
    /// The end of what it printed.
    pub output: String,
}

/// A run with foretold reads.
#[derive(Clone, Debug)]
pub struct ForetoldRun {
    /// The history in the native format.
    pub history: String,
    /// How the command ended.
    pub ended: CommandEnd,
    /// The end of what it printed.
    pub output: String,
    /// Where it was first not as foretold.
    pub divergence: Option<Divergence>,
    /// The turns that were waited for in vain: a session, and how many of its transactions came before.
    pub passed_over: Vec<(String, u32)>,
}

/// Runs the command once, one transaction at a time, each read the latest.
pub fn record(settings: &ServeSettings, stop: StopFlags<'_>) -> Result<RecordedRun, Complaint> {
    record_among(&Overruled::default(), settings, stop)
}

/// The same where there are other runs: levels that clients do not get are told of once.
pub(crate) fn record_among(
    overruled: &Overruled,
    settings: &ServeSettings,
    stop: StopFlags<'_>,
) -> Result<RecordedRun, Complaint> {
    let schedule = Schedule::Serial { patience: patience(settings) };
    let (history, run) = run(settings, overruled, Box::new(Latest), schedule, stop)?;
    Ok(RecordedRun { history, ended: run.ended, output: run.output.unwrap_or_default() })
}

/// Runs the command once more, with the reads and in the order that are foretold.
pub fn replay(
    settings: &ServeSettings,
    foretelling: &Foretelling,
    order: &[String],
    stop: StopFlags<'_>,
) -> Result<ForetoldRun, Complaint> {
    replay_among(&Overruled::default(), settings, (foretelling, order), stop)
}

/// The same where there are other runs: levels that clients do not get are told of once.
pub(crate) fn replay_among(
    overruled: &Overruled,
    settings: &ServeSettings,
    (foretelling, order): (&Foretelling, &[String]),
    stop: StopFlags<'_>,
) -> Result<ForetoldRun, Complaint> {
    let chooser = Foretold::new(foretelling.clone());
    let mut turns = Prophecy::turns(foretelling, order);
    if settings.database.bare {
        // Whoever connects need not see what is there.
        turns.iter_mut().for_each(|turn| turn.company.clear());
    }
    let schedule = Schedule::Prescribed { patience: patience(settings), turns: turns.into(), wait: WAIT };
    let (history, run) = run(settings, overruled, Box::new(chooser.clone()), schedule, stop)?;
    let divergence = first_divergence(&chooser, &history)?;
    let output = run.output.unwrap_or_default();
    Ok(ForetoldRun { history, ended: run.ended, output, divergence, passed_over: run.summary.passed_over })
}

fn patience(settings: &ServeSettings) -> Duration {
    match settings.wire.schedule {
        Schedule::Serial { patience } | Schedule::Prescribed { patience, .. } => patience,
        _ => PATIENCE,
    }
}

/// Runs the command on a fresh database. Nothing is forgotten, because what is foretold may be old; nothing is refused without need.
fn run(
    settings: &ServeSettings,
    overruled: &Overruled,
    chooser: Box<dyn Chooser>,
    schedule: Schedule,
    stop: StopFlags<'_>,
) -> Result<(String, EndedRun), Complaint> {
    let tape = Tape::default();
    let record = Record { history: Some(Box::new(tape.clone())), choices: None };
    // What a read returns is foretold, so that a server's own levels do not decide about it.
    let level = settings.database.level.or(Some(IsolationLevel::Declared));
    let database =
        DatabaseSettings { level, horizon: Some(0), abort_rate: 0.0, log: None, ..settings.database.clone() };
    let mut database = database.fresh_with(settings.seed, chooser, record)?;
    database.overruled = overruled.clone();
    let server = listen(database, WireSettings { schedule, delay: None, ..settings.wire.clone() })?;
    let run = run_on(server, settings, stop, true, || Ok(()), || false)?;
    Ok((tape.text(), run))
}
