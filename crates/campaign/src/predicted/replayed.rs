//! Predictions made again: a command, or a workload, on a database that returns what each of them says.

use super::{PredictSettings, PredictedFile, PredictedRun};
use crate::command::CommandEnd;
use crate::foretold::{ForetoldRun, Prophecy, ProphecyTerms, Validation, replay, validate};
use crate::served::ServeSettings;
use crate::served::database::DatabaseSettings;
use crate::{Complaint, StopFlags};
use skew_check::Budget;
use skew_history::{History, IsolationLevel};

/// Whoever can run what was recorded once more, at a level, with the reads and in the order that are foretold.
pub type RunAgain<'a> = &'a dyn Fn(IsolationLevel, &Prophecy) -> Result<ForetoldRun, Complaint>;

/// A command once more, on a fresh database at a level.
pub fn command_again(
    command: &ServeSettings,
    level: IsolationLevel,
    prophecy: &Prophecy,
    stop: StopFlags<'_>,
) -> Result<ForetoldRun, Complaint> {
    let database = DatabaseSettings { level: Some(level), ..command.database.clone() };
    let command = ServeSettings { database, ..command.clone() };
    replay(&command, &prophecy.foretelling, &prophecy.order, stop)
}

/// What became of a prediction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// `validated`, `diverged`, `not-validated`, or `none` if nobody knows.
    pub validated: &'static str,
    /// Where the run was first not as foretold.
    pub divergence: Option<String>,
    /// How the command failed, if it did.
    pub failure: Option<String>,
    /// What it did, in the native format.
    pub history: String,
}

impl PredictedFile {
    /// Makes the new runs again. All runs have been joined.
    pub fn replay(
        &mut self,
        again: RunAgain<'_>,
        settings: &PredictSettings,
        stop: StopFlags<'_>,
    ) -> Result<(), Complaint> {
        let history = &self.history;
        for level in &mut self.levels {
            let at = level.level;
            for run in level.runs_mut().iter_mut().filter(|run| !run.is_repeated) {
                if stop.is_stopped() {
                    return Ok(());
                }
                run.replayed = Some(made_again(history, run, at, again, settings, stop)?);
            }
        }
        Ok(())
    }
}

fn made_again(
    history: &History,
    run: &PredictedRun,
    level: IsolationLevel,
    again: RunAgain<'_>,
    settings: &PredictSettings,
    stop: StopFlags<'_>,
) -> Result<Replayed, Complaint> {
    let budget = Budget { stop: Some(stop.stop), ..Budget::UNLIMITED };
    let changed = run.prediction.changed.iter().map(|changed| {
        let first = history.event_range(changed.transaction).start;
        (history.transaction_name(changed.transaction).to_string(), (changed.read.0 - first) as usize)
    });
    let terms = ProphecyTerms { level, updates: settings.updates, budget };
    let unknown = Replayed { validated: "none", divergence: None, failure: None, history: String::new() };
    let Some(prophecy) = Prophecy::of(&run.prediction.history, &changed.collect(), terms)? else { return Ok(unknown) };
    let foretold = again(level, &prophecy)?;
    let divergence = foretold.divergence.as_ref().map(ToString::to_string);
    let failure = match &foretold.ended {
        CommandEnd::Badly(how) => Some(how.clone()),
        CommandEnd::Well => None,
        CommandEnd::Interrupted | CommandEnd::GivenUp => return Ok(unknown),
    };
    let validated = match validate(&foretold, level, settings.against, budget)? {
        Validation::Validated => "validated",
        Validation::Diverged(_) => "diverged",
        Validation::NotValidated => "not-validated",
        Validation::Inconclusive => "none",
    };
    Ok(Replayed { validated, divergence, failure, history: foretold.history })
}
