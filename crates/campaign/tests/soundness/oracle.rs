//! What the explorer has of a program: whether a run at a level ends as no serial order does.

use skew_check::{Budget, Updates};
use skew_explore::{
    Granularity, MOST_FINAL_STATES, Movable, Options, Playing, Run, RunAnswer, Search, SqlOptions, SqlProgram, Subtree,
};
use skew_history::{EngineLevel, IsolationLevel};
use skew_program::{CallOutcome, ParameterMode, Program};
use std::collections::BTreeSet;

/// Of one program so many runs are looked at.
const MOST_RUNS: usize = 1_000;

/// Steps of the checker for one run.
const CHECK: u64 = 1_000_000;

/// A call with more steps never ends.
const MOST_STEPS: u64 = 300;

/// What was seen of the runs of a program.
pub(crate) struct Seen {
    /// Whether one ends as no serial order does.
    pub(crate) differs: bool,
    /// Whether one has a history that is not serializable.
    pub(crate) is_broken: bool,
    /// Whether all were looked at.
    pub(crate) is_whole: bool,
}

fn explorable(text: &str, level: IsolationLevel, granularity: Granularity) -> Result<SqlProgram, String> {
    let program = Program::parse(text).map_err(|error| error.message.clone())?;
    let by_paper = SqlOptions { updates: Updates::Plain, granularity, ..SqlOptions::default() };
    let options = if level.of_engine().is_some() { SqlOptions::default() } else { by_paper };
    Ok(SqlProgram::new(program, SqlOptions { most_steps: MOST_STEPS, ..options }))
}

/// How a run ends: rows, and what calls hand out; nothing if a call was refused.
fn outcomes(run: &Run<'_, SqlProgram>, program: &SqlProgram) -> Option<Vec<String>> {
    let mut told = Vec::new();
    for (place, left) in run.calls() {
        match left.result.outcome {
            CallOutcome::Committed => {}
            CallOutcome::Refused => return None,
            _ => {
                told.push(format!("{}: rolled back", place.session));
                continue;
            }
        }
        let source = program.program();
        let procedure = &source.procedures()[source.scripts()[place.session].calls[place.number].procedure];
        let handed: Vec<&str> =
            procedure.parameters().filter(|one| one.1 != ParameterMode::In).map(|one| one.0).collect();
        for (field, value) in procedure.fields.iter().zip(&left.result.fields) {
            if handed.contains(&field.name.as_str()) {
                told.push(format!("{}: {} {value:?}", place.session, field.name));
            }
        }
    }
    let states = run.final_states(MOST_FINAL_STATES, Budget::steps(CHECK)).unwrap_or_default();
    Some(states.into_iter().map(|state| format!("{state:?} {told:?}")).collect())
}

/// Whether a run is of the level that it was made at, and not serializable.
fn is_broken(run: &Run<'_, SqlProgram>) -> bool {
    // Who was rolled back has done nothing, and may have seen anything.
    let all_committed = run.order().len() == run.size().0;
    all_committed && run.answer_at(IsolationLevel::Serializable, Budget::steps(CHECK)) == RunAnswer::Fails
}

/// All serial outcomes.
fn serial(program: &SqlProgram, level: IsolationLevel) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    if level.of_engine().is_none() {
        let mut search =
            Search::new(program, Options::new(IsolationLevel::Serializable)).map_err(|it| it.to_string())?;
        while let Some(run) = search.next_run().map_err(|it| it.to_string())? {
            found.extend(outcomes(&run, program).unwrap_or_default());
        }
        return Ok(found);
    }
    let serial = IsolationLevel::Engine(EngineLevel::PostgresReadCommitted);
    let mut playing = Playing::new(program, Options::new(serial), 0).map_err(|it| it.to_string())?;
    for order in orders(program.program().scripts().len()) {
        let rank = |one: &Movable| order.iter().position(|known| *known == one.session).unwrap_or(usize::MAX);
        let mut choose = |able: &[Movable]| {
            let first = able.iter().enumerate().min_by_key(|(_, one)| rank(one));
            first.map_or(0, |(place, _)| place)
        };
        let run = playing.run(&mut choose).map_err(|it| it.to_string())?;
        found.extend(outcomes(&run, program).unwrap_or_default());
    }
    Ok(found)
}

fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                let rest = (0..count).filter(|one| !order.contains(one));
                rest.map(|one| order.iter().copied().chain([one]).collect()).collect::<Vec<Vec<usize>>>()
            })
            .collect();
    }
    all
}

/// What the explorer's versions are of. Engines have atomic updates of rows, and from psi on whoever writes one row writes the same for the analysis, too.
/// Below that it takes two who write different columns of a row for strangers, whereas versions of whole rows would let one undo the other.
fn granularity(level: IsolationLevel) -> Granularity {
    match level {
        IsolationLevel::ReadAtomic | IsolationLevel::Causal | IsolationLevel::Prefix => Granularity::Cell,
        _ => Granularity::Row,
    }
}

/// Looks at all runs of a program at a level; an error where they cannot be made.
pub(crate) fn explored(text: &str, level: IsolationLevel) -> Result<Seen, String> {
    let program = explorable(text, level, granularity(level))?;
    let serial = serial(&program, level)?;
    let mut seen = Seen { differs: false, is_broken: false, is_whole: false };
    let mut search = Search::new(&program, Options::new(level)).map_err(|error| error.to_string())?;
    for _ in 0..MOST_RUNS {
        let Some(run) = search.next_run().map_err(|error| error.to_string())? else {
            seen.is_whole = true;
            break;
        };
        if run.answer(Budget::steps(CHECK)) != RunAnswer::Holds {
            continue;
        }
        seen.is_broken |= is_broken(&run);
        seen.differs |= outcomes(&run, &program).is_some_and(|all| all.iter().any(|one| !serial.contains(one)));
        if seen.differs && seen.is_broken {
            break;
        }
    }
    Ok(seen)
}

/// Whether a run that is written down is not serializable, at its level; an error where it cannot be made.
pub(crate) fn replayed(text: &str, level: IsolationLevel, schedule: &str) -> Result<bool, String> {
    let program = explorable(text, level, Granularity::Cell)?;
    let subtree: Subtree = schedule.parse().map_err(|_| format!("{schedule} is no run"))?;
    let mut search = Search::nothing(&program, Options::new(level)).map_err(|error| error.to_string())?;
    search.add(&subtree).map_err(|error| error.to_string())?;
    let run = search.next_run().map_err(|error| error.to_string())?.ok_or("there is no such run")?;
    let holds = run.answer(Budget::steps(CHECK)) == RunAnswer::Holds;
    Ok(holds && run.answer_at(IsolationLevel::Serializable, Budget::steps(CHECK)) == RunAnswer::Fails)
}
