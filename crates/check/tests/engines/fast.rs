//! The fast algorithm and the definition give the same answers, each with a certificate that holds.
//!
//! `SKEW_HISTORIES` asks for more histories, `SKEW_SEED` for one.

#![allow(clippy::print_stderr, reason = "how much was compared is for whoever looks")]

use crate::agreement::{number, random_program};
use crate::candidates;
use crate::random::Random;
use skew_check::spec::{allows_engine_levels, might_allow_engine_levels};
use skew_check::{Budget, Doubt, IsolationLevel, Verdict, check};
use skew_history::builder::ClaimedWriter;
use skew_history::{Asked, Engine, EngineLevel, History, HistoryBuilder, Outcome, StatementKind, Times, Value};

/// How many histories are compared per engine and kind, unless more are asked for.
const HISTORIES: u64 = 400;

/// The same history with a level for each transaction.
fn compare(history: &History, levels: &[EngineLevel], seed: u64) -> bool {
    let expected = allows_engine_levels(history, levels, true);
    let verdict = check(history, IsolationLevel::Declared, Budget::UNLIMITED);
    let text = || format!("seed {seed}\n{}", skew_history::notation::write(history));
    match &verdict {
        Verdict::Holds(order) => {
            assert!(expected, "holds, and the definition says no: {}", text());
            assert!(order.justifies(history, IsolationLevel::Declared), "{}", text());
        }
        Verdict::Fails(anomaly) => {
            assert!(
                !expected && !might_allow_engine_levels(history, levels, true),
                "fails, and the definition says yes: {}",
                text()
            );
            assert!(anomaly.refutes(history, IsolationLevel::Declared), "{}", text());
        }
        Verdict::Unknown(Doubt::MayGoUnnoticed) => {
            let might_be = might_allow_engine_levels(history, levels, true);
            assert!(!expected && might_be, "nothing depends on what is noticed: {}", text());
        }
        Verdict::Unknown(why) => {
            eprintln!("OPEN {why:?} expected {expected} {}", text());
            return false;
        }
    }
    true
}

/// Runs that one could make up for random programs.
fn made_up(engine: Engine) {
    let all: Vec<EngineLevel> = engine.levels().collect();
    let (mut compared, mut unknown, first) = (0, 0, number("SKEW_SEED", 0));
    for seed in first.. {
        let mut random = Random::new(seed);
        let program = random_program(&mut random, engine);
        let pool = if random.chance(50) { all.clone() } else { vec![random.pick(&all)] };
        let levels: Vec<EngineLevel> = program.scripts().map(|_| random.pick(&pool)).collect();
        let Some(mut histories) = candidates::histories(&program, &levels, 3_000) else { continue };
        for _ in 0..histories.len().min(8) {
            let history = histories.swap_remove(random.below(histories.len()));
            unknown += u64::from(!compare(&history, &levels, seed));
            compared += 1;
        }
        if compared >= number("SKEW_HISTORIES", HISTORIES) {
            break;
        }
    }
    eprintln!("{engine}: {compared} made-up runs, {unknown} left open");
    assert_eq!(unknown, 0, "of {compared} are left open");
}

/// Histories that are put together by chance: blind writes, values that repeat, times, lists, unknown outcomes.
fn by_chance(engine: Engine) {
    let all: Vec<EngineLevel> = engine.levels().collect();
    let (mut unknown, mut held, first) = (0, 0, number("SKEW_SEED", 0));
    let histories = number("SKEW_HISTORIES", HISTORIES);
    for seed in first..first + histories {
        let mut random = Random::new(seed);
        let count = 2 + random.below(3);
        let pool = if random.chance(50) { all.clone() } else { vec![random.pick(&all)] };
        let levels: Vec<EngineLevel> = (0..count).map(|_| random.pick(&pool)).collect();
        let Some(history) = random_history(&mut random, &levels) else { continue };
        unknown += u64::from(!compare(&history, &levels, seed));
        held += u64::from(allows_engine_levels(&history, &levels, true));
    }
    eprintln!("{engine}: {histories} histories by chance, {held} hold, {unknown} left open");
    assert!(unknown == 0 && held > 0, "{unknown} of {histories} are left open");
}

fn random_history(random: &mut Random, levels: &[EngineLevel]) -> Option<History> {
    let mut builder = HistoryBuilder::new();
    let keys: Vec<_> = ["x", "y", "z"].map(|name| builder.key(name)).to_vec();
    let has_times = random.chance(20);
    for &key in &keys {
        let value = if random.chance(60) { builder.values().integer(0) } else { Value::ABSENT };
        builder.initial(key, value);
    }
    let mut order: Vec<usize> = (0..levels.len()).map(|_| random.below(3)).collect();
    order.sort_unstable();
    let is_distinct = random.chance(70);
    for (number, &level) in levels.iter().enumerate() {
        let session = builder.session(["a", "b", "c"][order[number]]);
        builder.begin(session, Some(format!("t{number}").as_str().into())).ok()?;
        builder.level(IsolationLevel::Engine(level));
        match random.below(12) {
            0 => builder.outcome(Outcome::AbortedByProgram),
            1 => builder.outcome(Outcome::AbortedByDatabase),
            2 => builder.outcome(Outcome::Unknown),
            _ => {}
        }
        let mut statement = 0;
        for _ in 0..random.up_to(4) {
            statement += u32::from(statement == 0 || random.chance(70));
            random_event(random, &mut builder, &keys, (number, levels.len(), is_distinct), statement);
        }
        if has_times && random.chance(80) {
            let begin = random.between(0, 12);
            let end = begin + random.between(0, 8);
            builder.times(Times { begin: Some(begin), end: Some(end) }).ok()?;
        }
    }
    builder.finish().ok()
}

/// Histories of one or two rows that are locked again and again, weakly and then strongly: who passes the weak lock, and who does not.
fn by_upgrades() {
    let all: Vec<EngineLevel> = Engine::Postgres.levels().collect();
    let (mut unknown, mut held, first) = (0, 0, number("SKEW_SEED", 0));
    let histories = number("SKEW_HISTORIES", HISTORIES);
    for seed in first..first + histories {
        let mut random = Random::new(seed);
        let pool = if random.chance(30) { all.clone() } else { vec![EngineLevel::PostgresReadCommitted] };
        let levels: Vec<EngineLevel> = (0..2 + random.below(2)).map(|_| random.pick(&pool)).collect();
        let history = locked_again(&mut random, &levels);
        unknown += u64::from(!compare(&history, &levels, seed));
        held += u64::from(allows_engine_levels(&history, &levels, true));
    }
    eprintln!("{histories} histories with locks that grow, {held} hold, {unknown} left open");
    assert!(unknown == 0 && held > 0, "{unknown} of {histories} are left open");
}

fn locked_again(random: &mut Random, levels: &[EngineLevel]) -> History {
    let mut builder = HistoryBuilder::new();
    let names = &["x", "y"][..random.up_to(2)];
    let keys: Vec<_> = names.iter().map(|&name| builder.key(name)).collect();
    for &key in &keys {
        let value = builder.values().integer(0);
        builder.initial(key, value);
    }
    let statement = |random: &mut Random, number| (random.below(keys.len()), random_lock_of_row(random, number));
    let scripts: Vec<Vec<(usize, StatementKind)>> =
        levels.iter().map(|_| (0..random.up_to(4)).map(|number| statement(random, number)).collect()).collect();
    for (number, (&level, script)) in levels.iter().zip(&scripts).enumerate() {
        let session = builder.session(["a", "b", "c"][number]);
        builder.begin(session, Some(format!("t{number}").as_str().into())).expect("a transaction of its own");
        builder.level(IsolationLevel::Engine(level));
        if random.chance(10) {
            builder.outcome(Outcome::AbortedByProgram);
        }
        let mut left: Vec<Option<Value>> = vec![None; keys.len()];
        for (statement, &(place, kind)) in (1..).zip(script) {
            let others = (0..levels.len()).filter(|&other| other != number);
            let mut versions = vec![builder.values().integer(0)];
            versions.extend(others.filter_map(|other| leaves(&mut builder, other, &scripts[other], place)));
            let seen = left[place].unwrap_or_else(|| random.pick(&versions));
            let asked = Asked { statement, kind, ..Asked::default() };
            builder.read(keys[place], seen);
            builder.asked(asked).expect("an event was told");
            if changes(kind) && !seen.is_absent() {
                left[place] = leaves(&mut builder, number, &[(place, kind)], place);
                left[place].into_iter().for_each(|written| builder.write(keys[place], written));
                builder.asked(asked).expect("an event was told");
            }
        }
    }
    builder.finish().expect("a history")
}

fn changes(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Update | StatementKind::Delete)
}

/// What the last change of a row by a transaction leaves.
fn leaves(
    builder: &mut HistoryBuilder,
    number: usize,
    script: &[(usize, StatementKind)],
    place: usize,
) -> Option<Value> {
    let mut changing = script.iter().rev().filter(|one| one.0 == place && changes(one.1));
    changing.next().map(|one| match one.1 {
        StatementKind::Delete => Value::ABSENT,
        _ => builder.values().integer(number as i64 + 1),
    })
}

/// At first mostly the key only.
fn random_lock_of_row(random: &mut Random, number: usize) -> StatementKind {
    use StatementKind::*;
    match number {
        0 if random.chance(60) => random.pick(&[ForKeyShare, ForeignKey]),
        _ if random.chance(5) => Delete,
        _ => random.pick(&[Select, Select, ForKeyShare, ForShare, ForNoKeyUpdate, ForUpdate, Update, Update]),
    }
}

/// One event of one transaction; values are those of some transaction.
fn random_event(
    random: &mut Random,
    builder: &mut HistoryBuilder,
    keys: &[skew_history::KeyId],
    (number, transactions, is_distinct): (usize, usize, bool),
    statement: u32,
) {
    let key = random.pick(keys);
    let kind = random.pick(&StatementKind::ALL);
    let value = |builder: &mut HistoryBuilder, random: &mut Random, of: usize| match random.below(6) {
        0 => Value::ABSENT,
        _ => builder.values().integer(if is_distinct { of as i64 } else { 1 + of as i64 % 2 }),
    };
    let mut asked = Asked { statement, kind, ..Asked::default() };
    if random.chance(45) {
        let written = value(builder, random, number + 1);
        builder.write(key, written);
    } else {
        let of = random.below(transactions + 1);
        let read = value(builder, random, of);
        builder.read(key, read);
        asked.passed = !read.is_absent() && random.chance(15);
        asked.waited = random.chance(10);
        if kind == StatementKind::Insert && random.chance(20) && !read.is_absent() {
            asked.found = true;
        } else if random.chance(15) && of > 0 && of != number + 1 {
            builder.claim(ClaimedWriter::Transaction(format!("t{}", of - 1).as_str().into()));
        }
    }
    builder.asked(asked).expect("an event was told");
}

#[test]
fn made_up_runs_on_postgresql_have_the_answers_of_the_definition() {
    made_up(Engine::Postgres);
}

#[test]
fn made_up_runs_on_innodb_have_the_answers_of_the_definition() {
    made_up(Engine::Mysql);
}

#[test]
fn histories_by_chance_on_postgresql_have_the_answers_of_the_definition() {
    by_chance(Engine::Postgres);
}

#[test]
fn histories_by_chance_on_innodb_have_the_answers_of_the_definition() {
    by_chance(Engine::Mysql);
}

#[test]
fn locks_that_grow_have_the_answers_of_the_definition() {
    by_upgrades();
}
