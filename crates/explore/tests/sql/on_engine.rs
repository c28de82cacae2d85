//! What becomes of a program at the level of an engine: whether an assertion can fail, and with which codes somebody can be refused.

use skew_check::Budget;
use skew_explore::{Abort, Options, Place, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::{EngineLevel, IsolationLevel};
use skew_program::Program;
use std::collections::BTreeSet;

/// What can happen in some run.
#[derive(Default, Debug)]
pub(crate) struct Becomes {
    pub(crate) fails: bool,
    /// PostgreSQL's codes for duplicates, whatever the engine; `""` for a refusal of PostgreSQL's serializable whose code was not asked.
    pub(crate) refused: BTreeSet<String>,
}

/// The program in the SQL of a level's engine, unless it says itself what it speaks.
fn program(text: &str, level: EngineLevel) -> SqlProgram {
    let is_told = text.starts_with("-- dialect: ");
    let first = if is_told { String::new() } else { format!("-- dialect: {}\n", level.engine().name()) };
    let program = Program::parse(&format!("{first}{text}")).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    SqlProgram::new(program, SqlOptions::default())
}

pub(crate) fn becomes(text: &str, level: EngineLevel) -> Becomes {
    let program = program(text, level);
    let mut search = Search::new(&program, Options::new(IsolationLevel::Engine(level))).expect("it can be explored");
    let mut becomes = Becomes::default();
    while let Some(run) = search.next_run().expect("nothing that is not supported") {
        match run.answer(Budget::steps(1_000_000)) {
            // It is not serializable, so the server refuses somebody before it comes to that.
            RunAnswer::Fails => {
                becomes.refused.insert(String::new());
                continue;
            }
            RunAnswer::Unknown => panic!("at {level}: too hard: {}", run.pattern()),
            RunAnswer::Holds => {}
        }
        let scripts = program.program().scripts().iter().enumerate();
        let places =
            scripts.flat_map(|(session, script)| (0..script.calls.len()).map(move |number| Place { session, number }));
        let left: Vec<_> = places.map(|place| (place, run.left(place).expect("every call ended"))).collect();
        becomes.refused.extend(run.refusals().into_iter().map(|(_, code)| code.to_owned()));
        let duplicates = left.iter().filter_map(|(_, left)| match &left.abort {
            Some(Abort::Error(error)) if error.state.0 == "23505" => Some(error.state.0.to_owned()),
            _ => None,
        });
        becomes.refused.extend(duplicates);
        for state in run.final_states(1_000, Budget::steps(1_000_000)).expect("few final states") {
            becomes.fails |= !program.violated(left.iter().copied(), state).is_empty();
        }
    }
    becomes
}
