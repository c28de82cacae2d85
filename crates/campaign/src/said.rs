//! What is said in a run at a level of an engine: as people type it into terminals, and on a real server.
//!
//! ```text
//!   beats: who sends what when ──┬──> SaidRun ── terminals side by side
//!   calls: statements, answers ──┘      └─────── LiveServers: is it so there?
//! ```
//!
//! `explore`, `play` and `predict` come here with a run each of their own; a call that was refused and tried again is said twice.

use crate::Complaint;
use crate::confirmed::{Confirmation, LiveServers, Setting};
use crate::typed::{Typed, TypedCall};
use skew_explore::{Beat, Run, SqlProgram};
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_program::{Program, ProgramError, Results};
use skew_workload::connection::level_name;
use std::collections::BTreeMap;

/// What is said in a run at a level of an engine.
#[derive(Debug)]
pub(crate) struct SaidRun {
    pub(crate) typed: Typed,
    /// The assertion that fails in it, as a query of one boolean.
    pub(crate) assertion: Option<String>,
}

impl SaidRun {
    /// Of a run of a program that remembers; an error where a statement has no text.
    pub(crate) fn new(
        run: &Run<'_, SqlProgram>,
        program: &Program,
        level: EngineLevel,
        beats: &[Beat],
        assertion: Option<usize>,
    ) -> Result<SaidRun, ProgramError> {
        let (mut calls, mut results) = (BTreeMap::new(), Results::new(program.scripts()));
        for (place, call) in run.attempts() {
            let Some(left) = run.left(place) else { continue };
            let script = &program.scripts()[call.session];
            let own = script.calls[call.number].level.unwrap_or(IsolationLevel::Engine(level));
            let spoken = left.spoken.as_deref().map_err(Clone::clone)?;
            let opening = opening(level.engine(), own);
            calls.insert(place, TypedCall { session: script.name.clone(), opening, spoken });
            results.set(call.session, call.number, left.result.clone());
        }
        let assertion = assertion.and_then(|number| program.assertions().get(number));
        let asked = assertion.map(|assertion| assertion.query_text(&results, program.dialect()));
        let assertion = asked.transpose().map_err(|error| program.error(error))?;
        Ok(SaidRun { typed: Typed::new(level.engine(), beats, &calls), assertion })
    }
}

/// Makes a run once more on a server for its level, with the tables and first rows of its program.
pub(crate) fn confirm(
    said: &Result<SaidRun, ProgramError>,
    level: EngineLevel,
    program: &Program,
    servers: &mut LiveServers,
) -> Result<Confirmation, Complaint> {
    let server = servers.of(level.engine())?;
    match said {
        Err(error) => Ok(server.untried(format!("a statement has no text: {}", error.message))),
        Ok(SaidRun { typed, assertion }) => {
            let setting = Setting { level, schema: program.schema(), assertion: assertion.clone() };
            server.confirm(typed, &setting)
        }
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
