//! The counterexamples at levels of engines as people type them into terminals, and the same on a real server.
//!
//! ```text
//!   schedule ──> beats: who sends what when ──┬──> Typed ── terminals side by side
//!   calls    ──> statements and answers ──────┘      └───── LiveServer: is it so there?
//! ```

use super::ExploredProgram;
use super::shown::Shown;
use super::tally;
use super::unfinished::Unfinished;
use crate::Complaint;
use crate::confirmed::{LiveServers, Setting};
use crate::typed::{Typed, TypedCall};
use skew_explore::{Beat, Place, Run, Search, SqlProgram, Subtree};
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_program::{ProgramError, Results};
use skew_workload::connection::level_name;
use std::collections::{BTreeMap, BTreeSet};

/// What is said in a run at a level of an engine.
pub(super) struct SaidRun {
    pub(super) typed: Typed,
    /// The assertion that fails in it, as a query of one boolean.
    pub(super) assertion: Option<String>,
}

impl ExploredProgram<'_> {
    /// What is said in the run of a schedule; nothing at levels of the papers, and why not where a statement has no text.
    pub(super) fn said(
        &self,
        left_out: &BTreeSet<Place>,
        level: IsolationLevel,
        schedule: &Subtree,
        assertion: Option<usize>,
    ) -> Result<Option<Result<SaidRun, ProgramError>>, Complaint> {
        let Some(engine) = level.of_engine().map(EngineLevel::engine) else { return Ok(None) };
        let program = self.explorable(left_out.clone()).remembering();
        let search = Search::nothing(&program, self.terms.options(level));
        let beats = search.and_then(|mut search| search.beats(schedule)).map_err(|error| self.trouble(&error))?;
        let said = |run: &Run<'_, SqlProgram>| self.said_in(run, engine, level, &program, &beats, assertion);
        self.with_run(&program, level, schedule, said).map(Some)
    }

    fn said_in(
        &self,
        run: &Run<'_, SqlProgram>,
        engine: Engine,
        level: IsolationLevel,
        program: &SqlProgram,
        beats: &[Beat],
        assertion: Option<usize>,
    ) -> Result<SaidRun, ProgramError> {
        let mut calls = BTreeMap::new();
        let mut results = Results::new(self.program().scripts());
        for (place, left) in tally::left(program, run) {
            let script = &self.program().scripts()[place.session];
            let opening = opening(engine, script.calls[place.number].level.unwrap_or(level));
            let spoken = left.spoken.as_deref().map_err(Clone::clone)?;
            calls.insert(place, TypedCall { session: script.name.clone(), opening, spoken });
            results.set(place.session, place.number, left.result.clone());
        }
        let assertion = assertion.and_then(|number| self.program().assertions().get(number));
        let asked = assertion.map(|assertion| assertion.query_text(&results, self.program().dialect()));
        let assertion = asked.transpose().map_err(|error| self.program().error(error))?;
        Ok(SaidRun { typed: Typed::new(engine, beats, &calls), assertion })
    }

    /// Makes the counterexamples at levels of engines once more, on real servers.
    pub fn confirm(
        &self,
        explored: &Unfinished,
        shown: &mut [Shown],
        servers: &mut LiveServers,
    ) -> Result<(), Complaint> {
        for one in shown {
            let level = self.isolation(&explored.levels[one.level])?;
            let (Some(level), Some(said)) = (level.of_engine(), &one.said) else { continue };
            let (server, schema) = (servers.of(level.engine())?, self.program().schema());
            one.confirmed = Some(match said {
                Err(error) => server.untried(format!("a statement has no text: {}", error.message)),
                Ok(said) => {
                    // One that cannot be evaluated cannot be there either, and each server says so in words of its own.
                    let assertion = said.assertion.clone().filter(|_| one.error.is_none());
                    let setting = Setting { level, schema, assertion };
                    server.confirm(&said.typed, &setting)?
                }
            });
        }
        Ok(())
    }

    /// Makes one run on a real server: what is not there as the explorer has it, and which assertions are false. Nothing where a statement
    /// has no text.
    pub fn rehearse(
        &self,
        level: IsolationLevel,
        schedule: &Subtree,
        servers: &mut LiveServers,
    ) -> Result<Option<Vec<String>>, Complaint> {
        let mut wrong = Vec::new();
        for number in 0..self.program().assertions().len() {
            let Some(level_of_engine) = level.of_engine() else { continue };
            let Some(said) = self.said(&self.left_out, level, schedule, Some(number))? else { continue };
            let Ok(said) = said else { return Ok(None) };
            let (server, schema) = (servers.of(level_of_engine.engine())?, self.program().schema());
            // Confirmed is what is false, as in a counterexample; here it has to be true.
            let assertion = said.assertion.map(|query| format!("SELECT NOT ({query})"));
            let confirmation = server.confirm(&said.typed, &Setting { level: level_of_engine, schema, assertion })?;
            wrong.extend(confirmation.objections());
        }
        Ok(Some(wrong))
    }
}

/// How a transaction begins.
fn opening(engine: Engine, level: IsolationLevel) -> Vec<String> {
    let name = level_name(level).unwrap_or_default();
    match engine {
        Engine::Postgres => vec![format!("BEGIN ISOLATION LEVEL {name}")],
        Engine::Mysql => vec![format!("SET TRANSACTION ISOLATION LEVEL {name}"), "BEGIN".to_owned()],
    }
}
