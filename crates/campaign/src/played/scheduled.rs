//! One run at a level of an engine: a server locks, waits and refuses, and the seed says whose step is next.
//!
//! ```text
//!   alice: snapshot · bob: snapshot · bob: lock account/1 · alice waits · bob: commit · alice: refused with 40001 · alice once more …
//! ```
//!
//! The servers are the models that `skew explore` explores, so that whatever is met here is among what it finds there, as long as nothing
//! is tried again. A server has no choice of versions: the adversary is the order of steps.

use super::PlaySettings;
use super::stage::{CallAbort, MOST_FINAL_STATES, PlayRules, Played};
use super::store::Weakness;
use crate::{Complaint, ProgramFile};
use skew_check::Budget;
use skew_explore::{Abort, Beat, CallLeft, ExploreError, Movable, Options, Playing, Run, SqlOptions, SqlProgram};
use skew_history::format::{self, Format};
use skew_history::{EngineLevel, IsolationLevel};
use skew_mockdb::{Chance, ChooserKind, Stream};
use skew_program::{CallOutcome, Program};
use skew_value::SqlState;

/// What is said to somebody whose program a server here does not run.
const ELSEWHERE: &str = "a level of the papers, such as --level read-committed, plays it on another kind of database";

/// And to somebody whose program has more transactions than such a server keeps apart.
const TOO_MANY: &str = "split its sessions over several files, each with tables and rows of its own; \
    or play it on another kind of database, with a level of the papers such as --level read-committed";

/// Whether a program runs on a server when it is played at a level.
pub(super) fn is_scheduled(program: &Program, level: IsolationLevel) -> bool {
    engine_level(program, level).is_some()
}

/// The level of an engine at which a program is played: the one that is asked for, else the first that a call has.
pub(super) fn engine_level(program: &Program, level: IsolationLevel) -> Option<EngineLevel> {
    let mut calls = program.scripts().iter().flat_map(|script| &script.calls);
    level.of_engine().or_else(|| calls.find_map(|call| call.level.and_then(IsolationLevel::of_engine)))
}

/// The levels at which a program is played: those that are asked for, else those of the engine that it is written for. Where a call has a
/// level of the papers, which no server has, it is the papers' causal consistency.
pub fn levels_of(file: &ProgramFile, asked: &[IsolationLevel]) -> Vec<IsolationLevel> {
    let mut calls = file.program.scripts().iter().flat_map(|script| &script.calls);
    let mut levels: Vec<IsolationLevel> = Vec::new();
    let usual = match calls.any(|call| call.level.is_some_and(|level| level.of_engine().is_none())) {
        true => vec![IsolationLevel::Causal],
        false => file.engine_levels(),
    };
    for &level in if asked.is_empty() { &usual } else { asked } {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

/// The program as a server runs it.
pub(super) fn program_of(file: &ProgramFile, rules: &PlayRules) -> SqlProgram {
    let Weakness { updates, granularity, .. } = rules.weakness;
    let options = SqlOptions { updates, granularity, most_steps: rules.most_steps };
    SqlProgram::new(file.program.clone(), options).ending_loops()
}

/// Plays a program on a server, run by run.
pub(super) struct ServerStage<'p> {
    name: &'p str,
    program: &'p SqlProgram,
    playing: Playing<'p, SqlProgram>,
    takes_turns: bool,
}

impl<'p> ServerStage<'p> {
    /// Nothing has run yet.
    pub(super) fn new(
        file: &'p ProgramFile,
        program: &'p SqlProgram,
        settings: &PlaySettings,
    ) -> Result<ServerStage<'p>, Complaint> {
        let (name, rules) = (&file.name, &settings.rules);
        let level = rules.weakness.level;
        if rules.weakness.chooser != ChooserKind::Random {
            let message = format!("--chooser says which versions reads return, and at {level} they have no choice");
            return Err(Complaint::new(name, message, "leave it out: whose step is next is drawn by chance"));
        }
        let playing =
            Playing::new(program, Options::new(level), rules.retries).map_err(|error| trouble(name, &error))?;
        Ok(ServerStage { name, program, playing, takes_turns: rules.weakness.turns })
    }

    /// Plays one run.
    pub(super) fn play(&mut self, seed: u64) -> Result<Played, Complaint> {
        let mut choose = chooser(seed, self.takes_turns);
        let run = self.playing.run(&mut choose).map_err(|error| trouble(self.name, &error))?;
        told(self.program, &run, seed).map_err(|message| Complaint::new(self.name, message, ELSEWHERE))
    }

    /// Plays one run, and asks about it with the beats in which it is sent.
    pub(super) fn with_beats<T>(
        &mut self,
        seed: u64,
        ask: impl FnOnce(&Run<'_, SqlProgram>, &[Beat]) -> T,
    ) -> Result<T, Complaint> {
        let mut choose = chooser(seed, self.takes_turns);
        let (run, beats) = self.playing.run_with_beats(&mut choose).map_err(|error| trouble(self.name, &error))?;
        Ok(ask(&run, &beats))
    }
}

/// Whose step is next, as a seed has it.
fn chooser(seed: u64, takes_turns: bool) -> impl FnMut(&[Movable]) -> usize {
    let mut chance = Chance::new(seed, Stream::Turns);
    move |movable| {
        let under_way = movable.iter().position(|session| session.is_under_way && !takes_turns);
        under_way.unwrap_or_else(|| chance.below(movable.len()))
    }
}

fn trouble(name: &str, error: &ExploreError) -> Complaint {
    match error {
        ExploreError::TooManyTransactions { count, limit } => {
            let message = format!("it has {count} calls, and a server here keeps {limit} transactions apart");
            Complaint::new(name, message, TOO_MANY)
        }
        error => Complaint::new(name, error.to_string(), ELSEWHERE),
    }
}

/// What came of a run.
fn told(program: &SqlProgram, run: &Run<'_, SqlProgram>, seed: u64) -> Result<Played, String> {
    let calls = run.calls();
    let lefts = || calls.iter().map(|(place, left)| (*place, *left));
    // A server leaves one state.
    let states = run.final_states(MOST_FINAL_STATES, Budget::steps(0));
    let mut played = Played {
        pattern: Some(run.pattern()),
        history: history_of(run)?,
        results: program.results(lefts()),
        final_states: states.map(|states| states.into_iter().map(|rows| program.stored(rows)).collect()),
        ..Played::nothing(seed, program.program())
    };
    for (_, code) in run.refusals() {
        played.refusals += 1;
        *played.codes.entry(code).or_default() += 1;
    }
    lefts().for_each(|(_, left)| count(&mut played, left));
    Ok(played)
}

/// Counts how a call ended, of which the last try counts.
fn count(played: &mut Played, left: &CallLeft) {
    let is_refused = left.result.outcome == CallOutcome::Refused;
    played.given_up += u64::from(is_refused);
    match &left.abort {
        Some(_) if is_refused => {}
        Some(Abort::Error(error)) if error.state == SqlState::LIMIT_EXCEEDED => played.endless = Some(error.clone()),
        Some(Abort::Error(error)) => played.aborts.push(CallAbort::Error(error.clone())),
        Some(Abort::Signal(message)) => played.aborts.push(CallAbort::Signal(message.clone())),
        Some(Abort::Rollback) => played.aborts.push(CallAbort::Rollback),
        None => {}
    }
}

fn history_of(run: &Run<'_, SqlProgram>) -> Result<String, String> {
    let history = run.history().map_err(|refusal| format!("the run is no history: {}", refusal.problem))?;
    let mut bytes = Vec::new();
    format::write(&history, Format::Native, &mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}
