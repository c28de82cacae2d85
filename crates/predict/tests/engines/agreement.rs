//! What is predicted from runs of random programs is what there is, by the definition.
//!
//! `SKEW_PROGRAMS` asks for more programs, `SKEW_SEED` for one.

use crate::program::{Effect, Otherwise, Program, Row, Script, Statement};
use crate::random::Random;
use crate::scripted::Scripted;
use skew_explore::{Movable, Options, Playing};
use skew_history::notation;
use skew_history::{Engine, EngineLevel, History, IsolationLevel, StatementKind};
use skew_predict::{Boundary, Outlook, PredictQuestion, Strategy, Work, predict, reference};

/// How many programs are run per level, unless more are asked for.
const PROGRAMS: u64 = 60;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Two or three sessions over two rows, small enough for the definition.
fn random_program(random: &mut Random, engine: Engine) -> Program {
    let sessions = if random.chance(75) { 2 } else { 3 };
    let most = if sessions == 2 { 3 } else { 2 };
    let script = |random: &mut Random| Script {
        statements: (0..random.up_to(most)).map(|_| random_statement(random, engine)).collect(),
        rolls_back: random.chance(5),
    };
    Program {
        rows: (0..2).map(|_| random.chance(75).then_some(0)).collect(),
        sessions: (0..sessions).map(|_| vec![script(random)]).collect(),
    }
}

fn random_statement(random: &mut Random, engine: Engine) -> Statement {
    let row = random.below(2) as Row;
    let rows = if random.chance(25) { vec![0, 1] } else { vec![row] };
    let condition = random.chance(10).then(|| random.below(2) as u8);
    let mark = random.below(2) as u8;
    let lock = |rows, effect| Statement::Lock { rows, condition, effect };
    match random.below(12) {
        0..=4 => Statement::Select(rows),
        5..=7 => lock(rows, Effect::Set(mark)),
        8 => lock(rows, Effect::Delete),
        9 => Statement::Insert { row, otherwise: Otherwise::Fail },
        10 => Statement::Insert { row, otherwise: random.pick(&[Otherwise::Nothing, Otherwise::Set(mark)]) },
        _ => {
            let kind = match engine {
                Engine::Postgres => random.pick(&[StatementKind::ForUpdate, StatementKind::ForNoKeyUpdate]),
                Engine::Mysql => random.pick(&[StatementKind::ForUpdate, StatementKind::ForShare]),
            };
            lock(rows, Effect::Only(kind))
        }
    }
}

/// One run of a program, with few waits: whoever is in the middle of a transaction goes on, as a rule.
fn played(program: &Program, level: EngineLevel, random: &mut Random) -> History {
    let levels = vec![level; program.scripts().count()];
    let scripted = Scripted { program, levels: &levels };
    let mut playing = Playing::new(&scripted, Options::new(IsolationLevel::Engine(level)), 0).expect("a program");
    let mut choose = |movable: &[Movable]| {
        let under_way = movable.iter().position(|session| session.is_under_way);
        under_way.filter(|_| random.chance(70)).unwrap_or_else(|| random.below(movable.len()))
    };
    playing.run(&mut choose).expect("it runs").history().expect("a history")
}

/// How often something was found, nothing, and something was left open.
#[derive(Default, Debug)]
struct Answers {
    found: usize,
    nothing: usize,
    open: usize,
}

fn compare(history: &History, level: EngineLevel, seed: u64, answers: &mut Answers) {
    for (strategy, boundary) in [(Strategy::ExactStrict, Boundary::Strict), (Strategy::ExactRelaxed, Boundary::Relaxed)]
    {
        let question = PredictQuestion { strategy, ..PredictQuestion::new(IsolationLevel::Engine(level)) };
        let answer = predict(history, &question, &mut Work::rounds(100_000));
        let told = || format!("seed {seed}, {} {strategy}: {}", level.name(), notation::write(history));
        let Some(there) = reference(history, &question, boundary, &[IsolationLevel::Engine(level)]) else {
            assert!(matches!(answer, Outlook::Observed(_)), "{}", told());
            continue;
        };
        match answer {
            Outlook::Found(runs, _) => {
                assert!(there[0].exact, "{}: found {:?}", told(), runs[0].changed);
                answers.found += 1;
            }
            Outlook::Nothing => {
                assert!(!there[0].exact, "{}: missed", told());
                answers.nothing += 1;
            }
            Outlook::Open(_) if !history.all_gone().is_empty() => answers.open += 1,
            Outlook::Open(_) => {
                assert!(!there[0].exact, "{}: missed, and left open", told());
                answers.open += 1;
            }
            Outlook::Observed(_) | Outlook::Unknown => panic!("{}: no answer", told()),
        }
    }
}

fn agree(level: EngineLevel) -> Answers {
    let (first, mut answers) = (number("SKEW_SEED", 0), Answers::default());
    for seed in first..first + number("SKEW_PROGRAMS", PROGRAMS) {
        let mut random = Random::new(seed);
        let program = random_program(&mut random, level.engine());
        let history = played(&program, level, &mut random);
        let is_refused = history.transactions().any(|one| history.refusal(one).is_some());
        if !is_refused {
            compare(&history, level, seed, &mut answers);
        }
    }
    skew_testing::say(&format!("{}: {answers:?}", level.name()));
    answers
}

#[test]
fn postgres_read_committed_is_predicted_as_the_definition_has_it() {
    assert!(agree(EngineLevel::PostgresReadCommitted).found > 0);
}

#[test]
fn postgres_repeatable_read_is_predicted_as_the_definition_has_it() {
    assert!(agree(EngineLevel::PostgresRepeatableRead).nothing > 0);
}

#[test]
fn postgres_serializable_is_predicted_as_the_definition_has_it() {
    assert!(agree(EngineLevel::PostgresSerializable).nothing > 0);
}

#[test]
fn mysql_read_committed_is_predicted_as_the_definition_has_it() {
    assert!(agree(EngineLevel::MysqlReadCommitted).found > 0);
}

#[test]
fn mysql_repeatable_read_is_predicted_as_the_definition_has_it() {
    assert!(agree(EngineLevel::MysqlRepeatableRead).found > 0);
}

#[test]
fn mysql_snapshot_isolation_is_predicted_as_the_definition_has_it() {
    assert!(agree(EngineLevel::MysqlSnapshotIsolation).nothing > 0);
}

#[test]
fn mysql_serializable_is_predicted_as_the_definition_has_it() {
    assert!(agree(EngineLevel::MysqlSerializable).nothing > 0);
}
