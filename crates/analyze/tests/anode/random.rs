//! Random small programs: what the explorer runs to the end is never contradicted by "none".
//!
//! ```text
//!   program of two or three calls ──┬── explored at a level ──── an outcome that no serial order has?
//!                                   └── analysed at that level ── a cycle of as many instances? a proof that there is none?
//! ```
//!
//! An outcome is the final rows and what every call handed out. If one is not serial, there has to be a cycle of at most as many instances
//! as there are calls, and no proof. `SKEW_SEED` and `SKEW_PROGRAMS` repeat or extend.

use crate::{STEPS, analysis, cycle, is_found};
use skew_chance::Random;
use skew_check::{Budget, Updates};
use skew_explore::{Granularity, MOST_FINAL_STATES, Options, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::IsolationLevel;
use skew_program::Program;
use std::collections::BTreeSet;

const LEVELS: [(&str, IsolationLevel); 5] = [
    ("eventual", IsolationLevel::ReadAtomic),
    ("causal", IsolationLevel::Causal),
    ("prefix", IsolationLevel::Prefix),
    ("psi", IsolationLevel::ParallelSnapshot),
    ("snapshot", IsolationLevel::Snapshot),
];

/// Steps of a check of one run.
const CHECK: u64 = 1_000_000;

/// Exploring one program ends after so many runs; what was seen until then counts.
const MOST_RUNS: usize = 300;

const STATEMENTS: [&str; 18] = [
    "SELECT v INTO x FROM t WHERE id = a;",
    "SELECT v INTO y FROM t WHERE id = b;",
    "SELECT w INTO x FROM u WHERE id = a;",
    "SELECT COUNT(*) INTO x FROM t WHERE v = 1;",
    "SELECT COUNT(*) INTO x FROM u;",
    "SELECT MIN(id) INTO x FROM u;",
    "SELECT MAX(id) INTO y FROM t WHERE v = 0;",
    "SELECT SUM(v) INTO y FROM t;",
    "UPDATE t SET v = 1 WHERE id = a;",
    "UPDATE t SET v = v + 1 WHERE id = b;",
    "UPDATE t SET v = 2 WHERE v = 0;",
    "UPDATE u SET w = x WHERE id = b AND w = 0;",
    "UPDATE t SET v = COALESCE(y, 0) + 1 WHERE id = a;",
    "INSERT INTO u VALUES (a, 0);",
    "INSERT INTO t VALUES (b, 1) ON CONFLICT DO NOTHING;",
    "DELETE FROM u WHERE id = a;",
    "DELETE FROM u WHERE id = x;",
    "DELETE FROM t WHERE id = b AND v = 0;",
];

fn statement(random: &mut Random) -> String {
    let mut one = || STATEMENTS[random.index(STATEMENTS.len())];
    let (first, second) = (one(), one());
    match random.below(12) {
        0 => format!("IF x IS NULL THEN {first} END IF;"),
        1 => format!("IF x = 0 THEN {first} ELSE {second} END IF;"),
        2 => format!("IF y > 0 AND x IS NOT NULL THEN {first} END IF;"),
        3 => format!("FOR r IN (SELECT id FROM u) DO SET a = r.id; {first} END FOR;"),
        4 => format!("SET n = 1; WHILE n <= 2 DO SET b = n; {first} SET n = n + 1; END WHILE;"),
        _ => first.to_owned(),
    }
}

fn program(seed: u64) -> (String, usize) {
    let mut random = Random::new(seed);
    let mut text = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);\nCREATE TABLE u (id INT PRIMARY KEY, w INT);
INSERT INTO t VALUES (1, 0), (2, 1);\nINSERT INTO u VALUES (1, 0);\n"
        .to_owned();
    let procedures = 1 + random.index(2);
    for number in 0..procedures {
        text += &format!(
            "CREATE PROCEDURE p{number}(INOUT a INT, IN b INT, OUT said INT)\nBEGIN\n  DECLARE x, y, n INT;\n"
        );
        for _ in 0..2 + random.index(2) {
            text += &format!("  {}\n", statement(&mut random));
        }
        text += "  SET said = COALESCE(x, 0) + 10 * COALESCE(y, 0);\nEND;\n";
    }
    let calls = 2 + random.index(2);
    for call in 0..calls {
        let (procedure, a, b) = (random.index(procedures), 1 + random.below(2), 1 + random.below(2));
        text += &format!("SESSION s{call}: CALL p{procedure}(@a, {b}, @said);\n").replace("@a", &a.to_string());
    }
    (text.replace("INOUT a", "IN a"), calls)
}

/// The outcomes of the runs at a level in which every call committed: final rows, and what was handed out.
fn outcomes(text: &str, level: IsolationLevel, granularity: Granularity) -> BTreeSet<String> {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let options = SqlOptions { updates: Updates::Plain, granularity, ..SqlOptions::default() };
    let program = SqlProgram::new(program, options);
    let mut search = Search::new(&program, Options::new(level)).expect("a search");
    let mut outcomes = BTreeSet::new();
    let mut runs = 0;
    while let Some(run) = search.next_run().unwrap_or_else(|error| panic!("{error:?}\n{text}")) {
        runs += 1;
        if runs > MOST_RUNS {
            break;
        }
        let calls = run.calls();
        let all_ended = calls.values().all(|left| left.abort.is_none());
        if run.answer(Budget::steps(CHECK)) != RunAnswer::Holds || !all_ended {
            continue;
        }
        let said: Vec<String> = calls.values().map(|left| format!("{:?}", left.result)).collect();
        for state in run.final_states(MOST_FINAL_STATES, Budget::steps(CHECK)).unwrap_or_default() {
            outcomes.insert(format!("{state:?} {said:?}"));
        }
    }
    outcomes
}

/// Whether some outcome at each level is not serial. Where who writes the same must see one another, a DELETE writes the whole row, as it does
/// in the analysis; the explorer's cells have no part in it.
fn violations(text: &str, granularity: Granularity) -> Vec<bool> {
    let is_violated = |(_, level): &(&str, IsolationLevel)| {
        let whole = level.implies(IsolationLevel::ParallelSnapshot);
        let granularity = if whole { Granularity::Row } else { granularity };
        let serial = outcomes(text, IsolationLevel::Serializable, granularity);
        !outcomes(text, *level, granularity).is_subset(&serial)
    };
    LEVELS.iter().map(is_violated).collect()
}

#[test]
fn what_the_explorer_sees_is_never_denied() {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let programs = from_environment("SKEW_PROGRAMS").unwrap_or(220);
    let seed = from_environment("SKEW_SEED").unwrap_or(1);
    let (mut violated, mut proved, mut denied) = (0, 0, Vec::new());
    for number in 0..programs {
        let (text, calls) = program(seed * 1_000_003 + number);
        let granularity = if number % 2 == 0 { Granularity::Cell } else { Granularity::Row };
        for ((level, _), is_violated) in LEVELS.iter().zip(violations(&text, granularity)) {
            let analysis = analysis(&text, level);
            let has_proof = analysis.inductive(STEPS).is_some();
            proved += usize::from(has_proof);
            if !is_violated {
                continue;
            }
            violated += 1;
            let has_cycle = (2..=calls).any(|size| is_found(&cycle(&analysis, size)));
            if has_proof || !has_cycle {
                denied.push(format!("{level}, program {number}, proof {has_proof}, cycle {has_cycle}\n{text}"));
            }
        }
    }
    skew_testing::say(&format!("{violated} levels of {programs} programs are violated, {proved} proved"));
    assert!(denied.is_empty(), "{} denied, the first one: {}", denied.len(), denied[0]);
    assert!(violated > 0 && proved > 0, "{violated} violated, {proved} proved");
}
