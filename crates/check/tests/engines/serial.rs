//! Runs of PostgreSQL that could have been one transaction after another: each order of them is run, alone, and compared.
//!
//! PostgreSQL does not count a duplicate as a read of who took the key, unless that one had read it before, and never ON CONFLICT DO
//! NOTHING that found a row: such a statement is left out of both sides.

use crate::postgres::Postgres;
use crate::program::{Program, Statement};
use crate::run::{End, Run, Saw, Source, Told, What};
use crate::schedule::Simulator;
use skew_history::StatementKind;

/// Whether the transactions of a run that committed could have been one after another.
pub fn is_serializable(program: &Program, run: &Run) -> bool {
    let mut program = program.clone();
    let mut run = run.clone();
    for (transaction, number) in ignored(&run) {
        let statement = program.sessions.iter_mut().flatten().nth(transaction).expect("a transaction");
        statement.statements[number as usize - 1] = Statement::Select(Vec::new());
        run.0[transaction].events.retain(|saw| saw.statement != number);
    }
    let committed: Vec<usize> = (0..run.0.len()).filter(|&one| run.0[one].end == End::Committed).collect();
    let start = Postgres::new(&program, &vec![true; run.0.len()]);
    some_order(&program, &run, &committed, start)
}

/// The statements that found a duplicate of which PostgreSQL takes no notice.
fn ignored(run: &Run) -> Vec<(usize, u8)> {
    let reads = |told: &Told, of: &Saw| {
        let is_insert = |saw: &Saw| matches!(saw.kind, StatementKind::Insert | StatementKind::Upsert);
        told.events.iter().any(|saw| saw.cell == of.cell && matches!(saw.what, What::Read(..)) && !is_insert(saw))
    };
    let does_nothing = |told: &Told, saw: &Saw| {
        let writes = |other: &Saw| other.statement == saw.statement && matches!(other.what, What::Wrote(_));
        saw.kind == StatementKind::Upsert && !told.events.iter().any(writes)
    };
    let is_ignored = |told: &Told, saw: &Saw| match saw.what {
        What::Read(Source::Initial | Source::Of(_), Some(_)) if does_nothing(told, saw) => true,
        What::Read(Source::Initial, Some(_)) => saw.kind == StatementKind::Insert,
        What::Read(Source::Of(writer), Some(_)) => {
            saw.kind == StatementKind::Insert && !reads(&run.0[writer as usize], saw)
        }
        _ => false,
    };
    let numbered = run.0.iter().enumerate();
    let ignored = |(number, told): (usize, &Told)| {
        told.events.iter().filter(|saw| is_ignored(told, saw)).map(|saw| (number, saw.statement)).collect::<Vec<_>>()
    };
    numbered.flat_map(ignored).collect()
}

fn some_order(program: &Program, run: &Run, rest: &[usize], state: Postgres) -> bool {
    let session_of = program.session_of();
    let is_first = |one: usize| !rest.iter().any(|&other| other < one && session_of[other] == session_of[one]);
    rest.is_empty()
        || rest.iter().copied().filter(|&one| is_first(one)).any(|one| {
            let state = state.run_alone(program, one);
            let same = state.progress()[one].events == run.0[one].events;
            let rest: Vec<usize> = rest.iter().copied().filter(|&other| other != one).collect();
            same && some_order(program, run, &rest, state)
        })
}
