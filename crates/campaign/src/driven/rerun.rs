//! A workload once more, with the reads that a prediction names.
//!
//! ```text
//!   record    BySeed, each read the latest ──> what the mock database tells of it: rows, index entries, absences
//!   replay    Prescribed turns, foretold reads ──> the same of the run that was foretold; whether an assertion failed
//! ```
//!
//! It is the database's own history that is predicted from, because its reads are what a chooser is asked about. Who asks the assertions is
//! not of the workload, and is left out of it.

use super::completed::completed;
use super::mock::{Mock, MockSettings};
use super::{DriveCampaign, Tables, complaint};
use crate::command::CommandEnd;
use crate::foreseen::Rerun;
use crate::foretold::{ForetoldRun, Prophecy, ProphecyTerms, RecordedRun, first_divergence};
use crate::{Complaint, StopFlags};
use skew_check::Budget;
use skew_history::format::{self, Format, Source};
use skew_mockdb::chooser::Latest;
use skew_mockdb::{Chooser, Foretelling, Foretold, Record, Tape};
use skew_workload::{End, Options, Outside, Report, Turns};
use std::collections::BTreeSet;

impl Rerun for DriveCampaign<'_> {
    fn name(&self) -> String {
        format!("{} with seed {}", self.workload.name(), self.settings.seed)
    }

    /// Its tables are there before anybody connects.
    fn sets_up(&self) -> bool {
        false
    }

    /// Sessions connect when they first have something to do, which is no reason to have seen what was done before.
    fn is_bare(&self) -> bool {
        true
    }

    fn record(&self, stop: StopFlags<'_>) -> Result<RecordedRun, Complaint> {
        let (history, report) = self.steered(Box::new(Latest), Turns::BySeed, stop)?;
        Ok(RecordedRun { history, ended: ended(&report, stop), output: told(&report) })
    }

    fn replay(
        &self,
        foretelling: &Foretelling,
        order: &[String],
        stop: StopFlags<'_>,
    ) -> Result<ForetoldRun, Complaint> {
        let chooser = Foretold::new(foretelling.clone());
        let turns = Turns::Prescribed(order.iter().filter_map(|name| number(name)).collect());
        let (history, report) = self.steered(Box::new(chooser.clone()), turns, stop)?;
        let divergence = first_divergence(&chooser, &history)?;
        let (ended, output) = (ended(&report, stop), told(&report));
        Ok(ForetoldRun { history, ended, output, divergence, passed_over: Vec::new() })
    }
}

impl DriveCampaign<'_> {
    /// Runs the workload once more with what is foretold by a history that its clients have recorded, on whatever server.
    pub fn replay_of_clients(&self, prophecy: &Prophecy, stop: StopFlags<'_>) -> Result<ForetoldRun, Complaint> {
        let recorded = self.record(stop)?;
        let source = Source { name: "the workload with ordinary reads", bytes: recorded.history.as_bytes() };
        let history = format::read(&[source], Format::Native).map_err(|error| Complaint::of_file(&error))?;
        let budget = Budget { stop: Some(stop.stop), ..Budget::UNLIMITED };
        let terms = ProphecyTerms { level: self.settings.level, updates: self.settings.mock.updates, budget };
        let ordinary = Prophecy::of(&history, &BTreeSet::new(), terms)?.unwrap_or_default();
        let (completed, unseen) = completed(prophecy, &ordinary);
        let Prophecy { foretelling, order } = completed.reconciled(&history, &unseen, terms)?.unwrap_or(completed);
        self.replay(&foretelling, &order, stop)
    }

    /// Runs the workload once on a mock database that is told what to return; what that tells of the sessions.
    fn steered(
        &self,
        chooser: Box<dyn Chooser>,
        order: Turns,
        stop: StopFlags<'_>,
    ) -> Result<(String, Report), Complaint> {
        let (settings, tape) = (&self.settings, Tape::default());
        let record = Record { history: Some(Box::new(tape.clone())), choices: None };
        let (level, seed) = (settings.level, settings.seed);
        let mock_settings = MockSettings { bare: self.is_bare(), ..settings.mock };
        let mock = Mock::start_with(&mock_settings, level, &*self.workload, seed, chooser, record)?;
        let mut options = Options { order, ..self.options(seed, Tables::Usual) };
        mock.adapt(&mock_settings, &mut options);
        let outside = Outside { stop: Some(stop.stop), ..Outside::default() };
        let ran = skew_workload::run(&*self.workload, &options, outside);
        mock.stop();
        let report = ran.map_err(|error| complaint(&error, None))?;
        Ok((of_sessions(&tape.text()), report))
    }
}

/// The number of a session of a workload, from 0.
fn number(session: &str) -> Option<usize> {
    session.strip_prefix('s')?.parse::<usize>().ok()?.checked_sub(1)
}

/// The lines of the sessions, without those of whoever asked the assertions.
fn of_sessions(history: &str) -> String {
    let is_of_session = |line: &&str| {
        let Some(rest) = line.strip_prefix("{\"session\":\"") else { return true };
        rest.split('"').next().and_then(number).is_some()
    };
    history.lines().filter(is_of_session).flat_map(|line| [line, "\n"]).collect()
}

/// An assertion that fails is to a workload what an exit code is to a command.
fn ended(report: &Report, stop: StopFlags<'_>) -> CommandEnd {
    if stop.is_interrupted() {
        return CommandEnd::Interrupted;
    }
    if let End::Failed(why) = &report.end {
        return CommandEnd::Badly(why.to_string());
    }
    let failed: Vec<&str> =
        report.assertions.iter().filter(|assertion| !assertion.holds).map(|assertion| &*assertion.name).collect();
    if failed.is_empty() { CommandEnd::Well } else { CommandEnd::Badly(format!("{} fails", failed.join(", "))) }
}

fn told(report: &Report) -> String {
    let failed = report.assertions.iter().filter(|assertion| !assertion.holds);
    failed.map(|assertion| format!("{}: {}\n", assertion.name, assertion.detail)).collect()
}
