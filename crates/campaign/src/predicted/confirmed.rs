//! Predictions at levels of engines, made on a real server: the program whose run was recorded, run once more so that it reads as predicted.
//!
//! ```text
//!   prediction: who reads from whom ── of all runs of the program the first that reads so, and breaks what it must ── SaidRun ── server
//! ```
//!
//! A history does not say with which statements its tables were made, nor what a transaction does when it reads something else. The program
//! does both. Behind the reads that changed it goes on as it likes: what is confirmed is a run of the program, not the guess.

use super::{PredictSettings, PredictedFile, PredictedRun};
use crate::confirmed::{Confirmation, LiveServers};
use crate::explored::{ExploredProgram, Terms};
use crate::said::{SaidRun, confirm};
use crate::{Complaint, Moment, ProgramFile, StopFlags};
use skew_check::Updates;
use skew_explore::Place;
use skew_history::{Action, EngineLevel, History, IsolationLevel, TransactionId, Writer};
use skew_predict::Prediction;
use skew_program::MOST_STEPS;
use skew_sql::Granularity;
use std::collections::BTreeSet;

/// So many runs of a program are looked at for one that reads as a prediction says.
const MOST_RUNS: usize = 20_000;

/// What a real server showed of a prediction.
#[derive(Debug)]
pub(crate) struct ConfirmedRun {
    /// The statements of the program's run, where it has such a run.
    pub(super) said: Option<SaidRun>,
    pub(super) confirmation: Confirmation,
}

impl PredictedFile {
    /// Makes the new runs at levels of engines on real servers. All runs have been joined.
    pub fn confirm(
        &mut self,
        program: &ProgramFile,
        settings: &PredictSettings,
        servers: &mut LiveServers,
        stop: StopFlags<'_>,
    ) -> Result<(), Complaint> {
        if !self.levels.iter().any(|level| level.level.of_engine().is_some()) {
            let message = "--confirm is for levels of engines, and it was not recorded on one".to_owned();
            return Err(Complaint::new(
                &self.file,
                message,
                "name a level of one, such as --level postgres:read-committed",
            ));
        }
        let confirming = Confirming { history: &self.history, program, settings, stop };
        for level in &mut self.levels {
            let Some(at) = level.level.of_engine() else { continue };
            for run in level.runs_mut().iter_mut().filter(|run| !run.is_repeated) {
                if stop.is_stopped() {
                    return Ok(());
                }
                run.confirmed = Some(confirming.confirmed(run, at, servers)?);
            }
        }
        Ok(())
    }
}

/// What all predictions of a file have in common.
struct Confirming<'a> {
    history: &'a History,
    program: &'a ProgramFile,
    settings: &'a PredictSettings,
    stop: StopFlags<'a>,
}

impl Confirming<'_> {
    fn confirmed(
        &self,
        run: &PredictedRun,
        level: EngineLevel,
        servers: &mut LiveServers,
    ) -> Result<ConfirmedRun, Complaint> {
        let untried = |servers: &mut LiveServers, why: String| {
            let confirmation = servers.of(level.engine())?.untried(why);
            Ok(ConfirmedRun { said: None, confirmation })
        };
        let name = &self.program.name;
        if let Some(foreign) = self.foreign(&run.prediction.history) {
            return untried(servers, format!("{foreign} is no call of {name}"));
        }
        let subject = self.subject(&run.prediction.history);
        let at = IsolationLevel::Engine(level);
        let reads_so = |made: &History| agrees(&run.prediction, self.history, made);
        let Some(schedule) = subject.find_run(at, MOST_RUNS, &reads_so)? else {
            let limit = format!("none of the first {MOST_RUNS} runs");
            return untried(servers, format!("{limit} of {name} reads so and breaks {}", self.settings.against));
        };
        let Some(said) = subject.said(&subject.left_out, at, &schedule, None)? else {
            return untried(servers, "it is no level of an engine".to_owned());
        };
        let confirmation = confirm(&said, level, &self.program.program, servers)?;
        Ok(ConfirmedRun { said: said.ok(), confirmation })
    }

    /// The program without the calls of which the prediction knows nothing.
    fn subject(&self, predicted: &History) -> ExploredProgram<'_> {
        let calls = self.calls().filter(|(_, name)| predicted.find_transaction(name).is_none());
        let terms = Terms {
            base: None,
            updates: Updates::Atomic,
            granularity: Granularity::Row,
            against: self.settings.against,
            fails_against: false,
            list: false,
            stop: self.stop,
        };
        ExploredProgram {
            file: self.program,
            clock: Moment(self.program.program.clock()),
            most_steps: MOST_STEPS,
            left_out: calls.map(|(place, _)| place).collect(),
            terms,
        }
    }

    /// The calls of the program with the names that their transactions have.
    fn calls(&self) -> impl Iterator<Item = (Place, String)> {
        let scripts = self.program.program.scripts().iter().enumerate();
        scripts.flat_map(|(session, script)| {
            let call = move |number| (Place { session, number }, format!("{}#{number}", script.name));
            (0..script.calls.len()).map(call)
        })
    }

    /// A transaction that is no call of the program.
    fn foreign(&self, predicted: &History) -> Option<String> {
        let known: BTreeSet<String> = self.calls().map(|(_, name)| name).collect();
        let mut names = predicted.transactions().map(|id| predicted.transaction_name(id).to_string());
        names.find(|name| !known.contains(name))
    }
}

/// Whether every transaction of a prediction does in a run what is predicted: all of it, or as far as its last read that changed.
fn agrees(prediction: &Prediction, observed: &History, run: &History) -> bool {
    let predicted = &prediction.history;
    predicted.transactions().all(|id| {
        let name = predicted.transaction_name(id).to_string();
        let of_this =
            |changed: &&skew_predict::ChangedRead| observed.transaction_name(changed.transaction).to_string() == name;
        let place = |changed: &skew_predict::ChangedRead| {
            (changed.read.0 - observed.event_range(changed.transaction).start) as usize + 1
        };
        let deeds = deeds(predicted, id);
        let last = prediction.changed.iter().filter(of_this).map(place).max().unwrap_or(deeds.len());
        let wanted = &deeds[..last.min(deeds.len())];
        run.find_transaction(&name).is_some_and(|other| self::deeds(run, other).starts_with(wanted))
    })
}

/// What a transaction did, event by event: the key, and of reads whose version was read, where that is not its own.
fn deeds(history: &History, transaction: TransactionId) -> Vec<(Action, String, Option<String>)> {
    let writer = |writer: Writer| match writer {
        Writer::Initial => Some(String::new()),
        Writer::Transaction(other) => (other != transaction).then(|| history.transaction_name(other).to_string()),
    };
    let events = history.numbered_events_of(transaction);
    let deed = events.map(|(number, event)| {
        (event.action, history.key_name(event.key).to_string(), history.claim(number).and_then(writer))
    });
    deed.collect()
}
