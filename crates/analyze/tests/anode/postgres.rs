//! PostgreSQL's read committed and repeatable read as points in time: small classics, and random programs that the explorer runs to the end.

use crate::{STEPS, cycle, is_found, transactions};
use skew_analyze::anode::{BoundedAnalysis, BoundedOptions, Specification};
use skew_chance::Random;
use skew_check::Budget;
use skew_explore::{MOST_FINAL_STATES, Options, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::{EngineLevel, IsolationLevel};
use skew_program::{CallOutcome, Program};
use std::collections::BTreeSet;

const LEVELS: [EngineLevel; 2] = [EngineLevel::PostgresReadCommitted, EngineLevel::PostgresRepeatableRead];

fn at(text: &str, level: EngineLevel) -> BoundedAnalysis {
    let specification = Specification::of_engine(level).expect("a level of PostgreSQL");
    BoundedAnalysis::new(transactions(text), specification).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The last verdict at both levels.
fn verdicts(text: &str) -> [&'static str; 2] {
    LEVELS.map(|level| {
        let answers = at(text, level).answers(BoundedOptions { up_to: 3, steps: STEPS });
        answers.last().expect("an answer").verdict.name()
    })
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL);\n";

fn procedure(body: &str) -> String {
    format!("{TABLE}CREATE PROCEDURE p(IN a INT, IN b INT, OUT said INT)\nBEGIN DECLARE x, y INT;\n{body}\nEND;\n")
}

#[test]
fn small_classics_have_their_levels() {
    let lost = procedure("SELECT v INTO x FROM t WHERE id = a; UPDATE t SET v = x + 1 WHERE id = a;");
    assert_eq!(verdicts(&lost), ["anomaly", "robust"]);
    let locked = procedure("SELECT v INTO x FROM t WHERE id = a FOR UPDATE; UPDATE t SET v = x + 1 WHERE id = a;");
    assert_eq!(verdicts(&locked), ["robust", "robust"]);
    let atomic = procedure("UPDATE t SET v = v - 1 WHERE id = a;");
    assert_eq!(verdicts(&atomic), ["robust", "robust"]);
    let doctors = procedure("SELECT SUM(v) INTO x FROM t; UPDATE t SET v = 0 WHERE id = a;");
    assert_eq!(verdicts(&doctors), ["anomaly", "anomaly"]);
    let transfer = procedure("UPDATE t SET v = v - 1 WHERE id = a; UPDATE t SET v = v + 1 WHERE id = b;");
    assert_eq!(verdicts(&transfer), ["robust", "robust"]);
    let searched = procedure("UPDATE t SET v = v + 1 WHERE w = a;");
    assert_eq!(verdicts(&searched), ["robust", "robust"]);
}

#[test]
fn two_selects_are_not_one() {
    let writer = "CREATE PROCEDURE q(IN a INT)\nBEGIN UPDATE t SET v = v + 1; END;\n";
    let two = procedure("SELECT v INTO x FROM t WHERE id = a; SELECT v INTO y FROM t WHERE id = b;");
    assert_eq!(verdicts(&(two + writer)), ["anomaly", "robust"]);
    let one = procedure("SELECT SUM(v) INTO x FROM t;");
    assert_eq!(verdicts(&(one + writer)), ["robust", "robust"]);
}

/// Lock the parent, check, write: the snapshot of repeatable read is older than the wait for the lock.
#[test]
fn a_higher_level_is_not_always_safer() {
    let text = "CREATE TABLE parent (id INT PRIMARY KEY, n INT);\nCREATE TABLE child (id INT PRIMARY KEY, parent INT NOT NULL REFERENCES parent (id), n INT);
CREATE PROCEDURE add_child(IN p INT, IN c INT, OUT said INT)
BEGIN DECLARE x, y INT;
  SELECT n INTO x FROM parent WHERE id = p FOR UPDATE;
  SELECT COUNT(*) INTO y FROM child WHERE parent = p;
  IF y < 2 THEN INSERT INTO child VALUES (c, p, 0); END IF;
END;\n";
    assert_eq!(verdicts(text), ["robust", "anomaly"]);
}

const TABLES: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL);
CREATE TABLE u (id INT PRIMARY KEY, code INT UNIQUE, t INT REFERENCES t (id), a INT NOT NULL);
INSERT INTO t VALUES (1, 0, 1), (2, 1, 0);
INSERT INTO u VALUES (1, 1, 1, 0), (2, 2, 2, 1);
";

fn statement(random: &mut Random) -> String {
    let mut pick = |choices: &[&'static str]| choices[random.index(choices.len())];
    let table = pick(&["t", "t", "t", "u"]);
    let column = if table == "t" { pick(&["a", "a", "b"]) } else { "a" };
    let other = if table == "t" { pick(&["a", "b"]) } else { "a" };
    let key = pick(&["p", "p", "q", "x", "1"]);
    let value = pick(&["z + 1", "z + p", "1 - z", "q - 1"]);
    let noted = "SET n = 3 * n + COALESCE(z, 9);";
    match random.index(24) {
        0..4 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key}; {noted}"),
        4 | 5 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key} FOR UPDATE; {noted}"),
        6 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key} AND {other} = 1 FOR SHARE; {noted}"),
        7 => format!("SELECT MIN(id) INTO x FROM {table} WHERE {other} = 1; SET n = 3 * n + COALESCE(x, 9);"),
        8 => {
            format!("FOR one IN (SELECT id FROM {table} WHERE {other} = 1 FOR UPDATE) DO SET n = n + one.id; END FOR;")
        }
        9..12 => format!("UPDATE {table} SET {column} = 2 * {column} + p WHERE id = {key};"),
        12 | 13 => format!("UPDATE {table} SET {column} = {value} WHERE id = {key};"),
        14 => format!("UPDATE {table} SET {column} = {value} WHERE id = {key} AND {other} = 1;"),
        15 => format!("UPDATE {table} SET {column} = {value} WHERE {other} = 1;"),
        16 => format!("UPDATE {table} SET {column} = {column} + q WHERE id IN (p, q) AND {other} = 0;"),
        17 => "DELETE FROM u WHERE id = p;".to_owned(),
        18 => "DELETE FROM u WHERE a = 1;".to_owned(),
        19 => "INSERT INTO u VALUES (q, 2 + p, 1, z) ON CONFLICT DO NOTHING;".to_owned(),
        20 => "INSERT INTO u VALUES (2 + p, 2 + q, p, z);".to_owned(),
        21 => format!("SELECT COUNT(*) INTO z FROM {table} WHERE {other} = 1; {noted}"),
        22 => "DELETE FROM t WHERE id = q AND a = 1;".to_owned(),
        _ => format!("UPDATE t SET b = (SELECT SUM(u.a) FROM u) WHERE id = {key};"),
    }
}

fn program(seed: u64) -> (String, usize) {
    let mut random = Random::new(seed);
    let mut text = TABLES.to_owned();
    let procedures = 1 + random.index(2);
    for number in 0..procedures {
        let variables = "DECLARE x, z, n, k INT;\n  SET z = 0; SET n = 0; SET x = 1;";
        text += &format!("CREATE PROCEDURE p{number}(IN p INT, IN q INT, OUT said INT)\nBEGIN\n  {variables}\n");
        for _ in 0..2 + random.index(2) {
            let one = statement(&mut random);
            text += &match random.below(10) {
                0 => format!("  IF z > 0 THEN {one} END IF;\n"),
                1 => format!("  SET k = 1; WHILE k <= 2 DO SET x = k; {one} SET k = k + 1; END WHILE;\n"),
                _ => format!("  {one}\n"),
            };
        }
        text += "  SET said = n;\nEND;\n";
    }
    let calls = 2 + random.index(2);
    for call in 0..calls {
        let (procedure, p, q) = (random.index(procedures), 1 + random.below(2), 1 + random.below(2));
        text += &format!("SESSION s{call}: CALL p{procedure}({p}, {q}, @said);\n");
    }
    (text, calls)
}

/// Exploring one program ends after so many runs; what was seen until then counts.
const MOST_RUNS: usize = 600;

/// The outcomes of the runs in which every call committed: final rows, and what was handed out.
fn outcomes(text: &str, level: EngineLevel) -> BTreeSet<String> {
    let program = Program::parse_in(text, skew_sql::by_place::EPOCH, skew_value::Dialect::Postgres);
    let program = SqlProgram::new(program.unwrap_or_else(|error| panic!("{error:?}\n{text}")), SqlOptions::default());
    let mut search = Search::new(&program, Options::new(IsolationLevel::Engine(level))).expect("a search");
    let mut outcomes = BTreeSet::new();
    let mut runs = 0;
    while let Some(run) = search.next_run().unwrap_or_else(|error| panic!("{error:?}\n{text}")) {
        runs += 1;
        if runs > MOST_RUNS {
            break;
        }
        let calls = run.calls();
        if calls.values().any(|left| left.result.outcome != CallOutcome::Committed) {
            continue;
        }
        if run.answer(Budget::steps(1_000_000)) != RunAnswer::Holds {
            continue;
        }
        let said: Vec<String> = calls.values().map(|left| format!("{:?}", left.result)).collect();
        for state in run.final_states(MOST_FINAL_STATES, Budget::steps(1_000_000)).unwrap_or_default() {
            outcomes.insert(format!("{state:?} {said:?}"));
        }
    }
    outcomes
}

/// What every serial order leaves.
fn serial(text: &str, calls: usize) -> BTreeSet<String> {
    orders(calls).iter().filter_map(|order| serial_outcome(text, order)).collect()
}

fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(count - 1);
    let insert = |order: &Vec<usize>| -> Vec<Vec<usize>> {
        (0..=order.len())
            .map(|place| {
                let mut longer = order.clone();
                longer.insert(place, count - 1);
                longer
            })
            .collect()
    };
    shorter.iter().flat_map(insert).collect()
}

fn serial_outcome(text: &str, order: &[usize]) -> Option<String> {
    use skew_explore::{Movable, Playing};
    let program = Program::parse_in(text, skew_sql::by_place::EPOCH, skew_value::Dialect::Postgres).ok()?;
    let program = SqlProgram::new(program, SqlOptions::default());
    let level = IsolationLevel::Engine(EngineLevel::PostgresReadCommitted);
    let mut playing = Playing::new(&program, Options::new(level), 0).ok()?;
    let rank = |one: &Movable| order.iter().position(|known| *known == one.session).unwrap_or(usize::MAX);
    let mut choose = |able: &[Movable]| {
        let first = able.iter().enumerate().min_by_key(|(_, one)| rank(one));
        first.map_or(0, |(place, _)| place)
    };
    let run = playing.run(&mut choose).ok()?;
    let calls = run.calls();
    let said: Vec<String> = calls.values().map(|left| format!("{:?}", left.result)).collect();
    let state = run.final_states(1, Budget::steps(1_000_000))?.into_iter().next()?;
    Some(format!("{state:?} {said:?}"))
}

#[test]
fn what_the_explorer_sees_on_postgresql_is_never_denied() {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let programs = from_environment("SKEW_PROGRAMS").unwrap_or(120);
    let seed = from_environment("SKEW_SEED").unwrap_or(1);
    let (mut violated, mut proved, mut found, mut denied) = (0, 0, 0, Vec::new());
    for number in 0..programs {
        let (text, calls) = program(seed * 1_000_003 + number);
        let serial = serial(&text, calls);
        for level in LEVELS {
            let specification = Specification::of_engine(level).expect("a level");
            let Ok(analysis) = BoundedAnalysis::new(transactions(&text), specification) else { continue };
            let is_violated = !outcomes(&text, level).is_subset(&serial);
            let has_proof = analysis.inductive(STEPS).is_some();
            let has_cycle = (2..=calls).any(|size| is_found(&cycle(&analysis, size)));
            proved += usize::from(has_proof);
            found += usize::from(has_cycle);
            violated += usize::from(is_violated);
            if is_violated && (has_proof || !has_cycle) {
                denied.push(format!("{level}, program {number}, proof {has_proof}, cycle {has_cycle}\n{text}"));
            }
        }
    }
    skew_testing::say(&format!(
        "{programs} programs at two levels: {violated} violated, {found} cycles, {proved} proved"
    ));
    assert!(denied.is_empty(), "{} denied: {}", denied.len(), denied.join("\n"));
    assert!(violated > 0 && proved > 0, "{violated} violated, {proved} proved");
}
