//! Random programs: what the search finds is what simulators show, neither more nor less, and each once; the definition allows it.
//!
//! `SKEW_PROGRAMS` asks for more programs, `SKEW_SEED` for one.

use crate::program::{Effect, Otherwise, Program, Row, Script, Statement};
use crate::random::Random;
use crate::scripted::{explored, has_key_shares, in_order, simulated};
use skew_check::spec;
use skew_explore::{IsolationLevel, Options};
use skew_history::{Engine, EngineLevel, StatementKind};

/// How many programs are compared per level, unless more are asked for.
const PROGRAMS: u64 = 100;

/// So many of the histories of a level are shown to the definition, which is slow.
const ASKED: usize = 150;

pub fn random_program(random: &mut Random, engine: Engine) -> Program {
    let rows = random.up_to(3);
    let sessions = if random.chance(60) { 2 } else { 3 };
    let script = |random: &mut Random| Script {
        statements: (0..random.up_to(3)).map(|_| random_statement(random, engine, rows)).collect(),
        rolls_back: random.chance(8),
    };
    let session = |random: &mut Random| {
        let transactions = if random.chance(20) { 2 } else { 1 };
        (0..transactions).map(|_| script(random)).collect()
    };
    Program {
        rows: (0..rows).map(|_| random.chance(70).then_some(0)).collect(),
        sessions: (0..sessions).map(|_| session(random)).collect(),
    }
}

fn random_statement(random: &mut Random, engine: Engine, rows: usize) -> Statement {
    let row = random.below(rows) as Row;
    let some_rows = |random: &mut Random| match rows > 1 && random.chance(30) {
        true => {
            let mut both: Vec<Row> = random.permutation(rows)[..2].iter().map(|&row| row as Row).collect();
            both.sort_unstable();
            both
        }
        false => vec![row],
    };
    let condition = random.chance(30).then(|| random.below(2) as u8);
    let mark = random.below(2) as u8;
    let lock = |rows, effect| Statement::Lock { rows, condition, effect };
    match random.below(14) {
        0..=2 => Statement::Select(some_rows(random)),
        3..=5 => lock(some_rows(random), Effect::Set(mark)),
        6 => lock(some_rows(random), Effect::Touch),
        7 | 8 => lock(some_rows(random), Effect::Delete),
        9 | 10 => Statement::Insert { row, otherwise: Otherwise::Fail },
        11 => Statement::Insert { row, otherwise: random.pick(&[Otherwise::Nothing, Otherwise::Set(mark)]) },
        _ => lock(some_rows(random), Effect::Only(random_lock(random, engine))),
    }
}

fn random_lock(random: &mut Random, engine: Engine) -> StatementKind {
    use StatementKind::*;
    match engine {
        Engine::Postgres => random.pick(&[ForUpdate, ForUpdate, ForNoKeyUpdate, ForShare]),
        Engine::Mysql => random.pick(&[ForUpdate, ForUpdate, ForShare]),
    }
}

fn compare(seed: u64, program: &Program, levels: &[EngineLevel], asked: &mut usize) {
    let names: Vec<&str> = levels.iter().map(|level| level.short()).collect();
    let found = explored(program, levels, |history| {
        let is_refused = history.transactions().any(|one| history.refusal(one).is_some());
        let is_small = history.transaction_count() <= 3;
        if *asked < ASKED && !is_refused && is_small {
            *asked += 1;
            let told = skew_history::notation::write(history);
            assert!(
                spec::allows_engine_levels(history, levels, false),
                "seed {seed}, {}: {program}\n{told}",
                names.join(" ")
            );
        }
    });
    let shown = simulated(program, levels);
    let missing: Vec<&String> = shown.difference(&found).collect();
    let surplus: Vec<&String> = found.difference(&shown).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "seed {seed}, {}: {program}\nnever found:\n{missing:#?}\nnever shown:\n{surplus:#?}",
        names.join(" ")
    );
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Random programs whose transactions each have one of these levels.
fn agree(levels: &[EngineLevel]) {
    let (first, mut asked) = (number("SKEW_SEED", 0), 0);
    for seed in first..first + number("SKEW_PROGRAMS", PROGRAMS) {
        let mut random = Random::new(seed);
        let program = random_program(&mut random, levels[0].engine());
        let levels: Vec<EngineLevel> = program.scripts().map(|_| random.pick(levels)).collect();
        assert!(!has_key_shares(&program), "keys by themselves are not drawn");
        compare(seed, &program, &levels, &mut asked);
    }
}

#[test]
fn postgres_read_committed_is_explored_as_its_simulator_shows_it() {
    agree(&[EngineLevel::PostgresReadCommitted]);
}

#[test]
fn postgres_repeatable_read_is_explored_as_its_simulator_shows_it() {
    agree(&[EngineLevel::PostgresRepeatableRead]);
}

#[test]
fn mysql_read_committed_is_explored_as_its_simulator_shows_it() {
    agree(&[EngineLevel::MysqlReadCommitted]);
}

#[test]
fn mysql_repeatable_read_is_explored_as_its_simulator_shows_it() {
    agree(&[EngineLevel::MysqlRepeatableRead]);
}

#[test]
fn mysql_snapshot_isolation_is_explored_as_its_simulator_shows_it() {
    agree(&[EngineLevel::MysqlSnapshotIsolation]);
}

#[test]
fn mysql_serializable_is_explored_as_its_simulator_shows_it() {
    agree(&[EngineLevel::MysqlSerializable]);
}

#[test]
fn levels_of_an_engine_mix() {
    agree(&[EngineLevel::PostgresReadCommitted, EngineLevel::PostgresRepeatableRead]);
    agree(&[
        EngineLevel::MysqlReadCommitted,
        EngineLevel::MysqlRepeatableRead,
        EngineLevel::MysqlSnapshotIsolation,
        EngineLevel::MysqlSerializable,
    ]);
}

/// How many programs are explored three times per engine, unless more are asked for.
const PROGRAMS_THRICE: u64 = 40;

/// So few bytes are used up again and again.
const LITTLE_MEMORY: usize = 3_000;

#[test]
fn states_that_are_remembered_save_time_and_change_nothing() {
    let usual = Options::new(IsolationLevel::ReadCommitted).memory;
    for engine in [Engine::Postgres, Engine::Mysql] {
        let levels: Vec<EngineLevel> = EngineLevel::ALL.into_iter().filter(|level| level.engine() == engine).collect();
        let first = number("SKEW_SEED", 0);
        for seed in first..first + number("SKEW_PROGRAMS", PROGRAMS_THRICE) {
            let mut random = Random::new(seed);
            let program = random_program(&mut random, engine);
            let one = random.pick(&levels);
            let is_mixed = random.chance(30);
            let level = |random: &mut Random| if is_mixed { random.pick(&levels) } else { one };
            let levels: Vec<EngineLevel> = program.scripts().map(|_| level(&mut random)).collect();
            let all = in_order(&program, &levels, 0);
            for memory in [usual, LITTLE_MEMORY] {
                assert_eq!(
                    in_order(&program, &levels, memory),
                    all,
                    "seed {seed}, {levels:?}, {memory} bytes: {program}"
                );
            }
        }
    }
}
