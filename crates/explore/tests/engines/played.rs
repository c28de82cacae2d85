//! Runs whose steps are drawn by chance: each is one of those that the search finds, and what its level allows.

use crate::agreement::random_program;
use crate::program::Program;
use crate::random::Random;
use crate::scripted::Scripted;
use skew_check::{Budget, Verdict};
use skew_explore::{IsolationLevel, Movable, Options, Playing, RunAnswer, Search};
use skew_history::{EngineLevel, History};
use std::collections::BTreeSet;

/// How many programs are played per level, and how often each.
const PROGRAMS: u64 = 15;
const RUNS: usize = 20;

/// The runs of a level, by their patterns.
fn explored(scripted: &Scripted<'_>, level: EngineLevel) -> BTreeSet<String> {
    let mut search = Search::new(scripted, Options::new(IsolationLevel::Engine(level))).expect("a program");
    let mut found = BTreeSet::new();
    while let Some(run) = search.next_run().expect("it runs") {
        if run.answer(Budget::steps(1_000_000)) == RunAnswer::Holds {
            found.insert(run.pattern());
        }
    }
    found
}

/// Whether a commit was refused, which the search leaves out: a transaction is then refused behind its last statement.
fn refuses_commits(program: &Program, history: &History) -> bool {
    let scripts = program.scripts().map(|script| script.statements.len());
    let mut all = history.sessions().flat_map(|session| history.transactions_of(session)).zip(scripts);
    all.any(|(one, count)| history.refusal(one).is_some_and(|refusal| refusal.statement as usize > count))
}

fn is_allowed(history: &History, level: EngineLevel) -> bool {
    matches!(
        skew_check::check(history, IsolationLevel::Engine(level), Budget::steps(1_000_000)),
        Verdict::Holds(_) | Verdict::Unknown(_)
    )
}

fn play(seed: u64, level: EngineLevel) -> usize {
    let mut random = Random::new(seed);
    let program = random_program(&mut random, level.engine());
    let levels = vec![level; program.scripts().count()];
    let scripted = Scripted { program: &program, levels: &levels };
    let found = explored(&scripted, level);
    let mut playing = Playing::new(&scripted, Options::new(IsolationLevel::Engine(level)), 0).expect("a program");
    let mut surplus = 0;
    for _ in 0..RUNS {
        let run = playing.run(&mut |movable: &[Movable]| random.below(movable.len())).expect("it runs");
        let history = run.history().expect("a history");
        assert!(is_allowed(&history, level), "seed {seed}, {}: {program}\n{}", level.name(), run.pattern());
        let is_known = found.contains(&run.pattern());
        let is_surplus = level == EngineLevel::PostgresSerializable && refuses_commits(&program, &history);
        surplus += usize::from(is_surplus);
        assert!(is_known || is_surplus, "seed {seed}, {}: {program}\nnever found: {}", level.name(), run.pattern());
    }
    surplus
}

#[test]
fn what_is_played_is_what_the_search_finds_at_every_level_of_the_engines() {
    for level in EngineLevel::ALL {
        let surplus: usize = (0..PROGRAMS).map(|seed| play(seed, level)).sum();
        assert!(level == EngineLevel::PostgresSerializable || surplus == 0);
    }
}

#[test]
fn who_is_refused_tries_again_as_one_more_transaction_and_what_comes_of_it_is_allowed() {
    let mut again = 0;
    for (seed, level) in (0..60).zip(EngineLevel::ALL.into_iter().cycle()) {
        let mut random = Random::new(seed);
        let program = random_program(&mut random, level.engine());
        let levels = vec![level; program.scripts().count()];
        let scripted = Scripted { program: &program, levels: &levels };
        let mut playing = Playing::new(&scripted, Options::new(IsolationLevel::Engine(level)), 3).expect("a program");
        for _ in 0..RUNS {
            let run = playing.run(&mut |movable: &[Movable]| random.below(movable.len())).expect("it runs");
            let history = run.history().expect("a history");
            assert!(is_allowed(&history, level), "seed {seed}, {}: {program}\n{}", level.name(), run.pattern());
            let tries = history.transaction_count() - program.scripts().count();
            assert!(tries <= run.refusals().len(), "only who was refused tries again");
            again += tries;
        }
    }
    assert!(again > 0, "somebody is refused in some run");
}
