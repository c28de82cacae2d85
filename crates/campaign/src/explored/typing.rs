//! The counterexamples at levels of engines as people type them into terminals, and the same on a real server.

use super::shown::Shown;
use super::unfinished::Unfinished;
use super::{ExploredProgram, compared};
use crate::Complaint;
use crate::confirmed::{LiveServers, Setting};
use crate::said::{SaidRun, confirm};
use skew_explore::{Place, Run, RunAnswer, Search, SqlProgram, Subtree};
use skew_history::{History, IsolationLevel};
use skew_program::ProgramError;
use std::collections::BTreeSet;

impl ExploredProgram<'_> {
    /// What is said in the run of a schedule; nothing at levels of the papers, and why not where a statement has no text. Of an assertion that
    /// cannot be evaluated nothing is asked: each server says that in words of its own.
    pub(crate) fn said(
        &self,
        left_out: &BTreeSet<Place>,
        level: IsolationLevel,
        schedule: &Subtree,
        assertion: Option<usize>,
    ) -> Result<Option<Result<SaidRun, ProgramError>>, Complaint> {
        let Some(engine_level) = level.of_engine() else { return Ok(None) };
        let program = self.explorable(left_out.clone()).remembering();
        let search = Search::nothing(&program, self.terms.options(level));
        let beats = search.and_then(|mut search| search.beats(schedule)).map_err(|error| self.trouble(&error))?;
        let said = |run: &Run<'_, SqlProgram>| SaidRun::new(run, self.program(), engine_level, &beats, assertion);
        self.with_run(&program, level, schedule, said).map(Some)
    }

    /// The first run, of so many, whose history is wanted and breaks what runs are compared with; nothing if there is none among them.
    pub(crate) fn find_run(
        &self,
        level: IsolationLevel,
        most: usize,
        is_wanted: &dyn Fn(&History) -> bool,
    ) -> Result<Option<Subtree>, Complaint> {
        let program = self.explorable(self.left_out.clone());
        let mut search = Search::new(&program, self.terms.options(level)).map_err(|error| self.trouble(&error))?;
        for _ in 0..most {
            let next = search.next_run().map_err(|error| self.trouble(&error))?;
            let Some(run) = next.filter(|_| !self.terms.stop.is_stopped()) else { break };
            let breaks =
                |run: &Run<'_, SqlProgram>| compared(run, self.terms.against, self.terms.budget()) == RunAnswer::Fails;
            let is_allowed = |run: &Run<'_, SqlProgram>| run.answer(self.terms.budget()) == RunAnswer::Holds;
            if is_wanted(&self.history(&run)?) && breaks(&run) && is_allowed(&run) {
                return Ok(Some(run.subtree()));
            }
        }
        Ok(None)
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
            one.confirmed = Some(confirm(said, level, self.program(), servers)?);
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
