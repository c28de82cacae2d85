//! "Robust" against the explorer: of programs drawn by chance, no run at the level may be without a serial order.
//!
//! Procedures have searches, guards that may match nothing, branches, loops, inserts, deletes and locks. Each program that is called robust is
//! explored with calls whose arguments are drawn, too; one call per session, because transactions are independent of each other. Histories of the
//! explorer are of rows, so they are held against answers about rows; answers about cells against what runs leave.

use super::concrete::ConcreteProgram;
use super::confirm::confirm;
use skew_analyze::{FindingStatus, Level, RobustnessAnalysis, Transactions, UnfoldOptions};
use skew_chance::Random;
use skew_check::Budget;
use skew_explore::{Options, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::IsolationLevel;
use skew_program::Program;

const TABLES: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL);
CREATE TABLE u (id INT PRIMARY KEY, code INT UNIQUE, t INT REFERENCES t (id), a INT NOT NULL);
INSERT INTO t VALUES (1, 0, 1), (2, 1, 0);
INSERT INTO u VALUES (1, 1, 1, 0), (2, 2, 2, 1);
";

/// So many runs of one program are looked at.
const MOST_RUNS: usize = 400;

fn pick<'a>(random: &mut Random, choices: &[&'a str]) -> &'a str {
    choices[random.index(choices.len())]
}

fn statement(random: &mut Random) -> String {
    let table = pick(random, &["t", "t", "u"]);
    let column = if table == "t" { pick(random, &["a", "b"]) } else { "a" };
    let other = if table == "t" { pick(random, &["a", "b"]) } else { "a" };
    let key = pick(random, &["p", "q", "x", "1"]);
    let value = pick(random, &["0", "1", "z", "z + 1", "q"]);
    match random.index(16) {
        0 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key};"),
        1 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key} FOR UPDATE;"),
        2 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key} AND {other} = 1 FOR UPDATE;"),
        3 => format!("SELECT id INTO x FROM {table} WHERE {other} = 1 ORDER BY id LIMIT 1;"),
        4 => format!("SELECT MIN(id) INTO x FROM {table} WHERE {other} = 1;"),
        5 => {
            format!("FOR one IN (SELECT id FROM {table} WHERE {other} = 1 FOR UPDATE) DO SET z = z + one.id; END FOR;")
        }
        6 => format!("UPDATE {table} SET {column} = {column} + 1 WHERE id = {key};"),
        7 => format!("UPDATE {table} SET {column} = {value} WHERE id = {key};"),
        8 => format!("UPDATE {table} SET {column} = {value} WHERE id = {key} AND {other} = 1;"),
        9 => format!("UPDATE {table} SET {column} = {value} WHERE {other} = 1;"),
        10 => format!("UPDATE {table} SET {column} = {value} WHERE id IN (p, q) AND {other} = 0;"),
        11 => "DELETE FROM u WHERE id = p;".to_owned(),
        12 => "INSERT INTO u VALUES (q, p, 1, 0) ON CONFLICT DO NOTHING;".to_owned(),
        13 => "INSERT INTO u VALUES (2 + p, 2 + q, p, z);".to_owned(),
        14 => format!("SELECT COUNT(*) INTO z FROM {table} WHERE {other} = 1;"),
        _ => format!("UPDATE t SET {value_of} WHERE id = {key};", value_of = "b = (SELECT SUM(u.a) FROM u)"),
    }
}

fn body(random: &mut Random) -> String {
    let mut body = String::new();
    for _ in 0..1 + random.index(3) {
        let one = statement(random);
        body += &match random.index(6) {
            0 => format!("IF z = 1 THEN {one} END IF; "),
            _ => format!("{one} "),
        };
    }
    body
}

fn program(random: &mut Random) -> (String, usize) {
    let mut text = TABLES.to_owned();
    let procedures = 1 + random.index(2);
    for number in 0..procedures {
        let body = body(random);
        text += &format!(
            "CREATE PROCEDURE p{number}(IN p INT, IN q INT, OUT z INT) BEGIN DECLARE x INT DEFAULT 1; SET z = 0; {body} END;\n"
        );
    }
    (text, procedures)
}

fn calls(random: &mut Random, procedures: usize) -> String {
    let call = |session: usize, random: &mut Random| {
        let procedure = random.index(procedures);
        format!("SESSION s{session}: CALL p{procedure}({}, {}, @z);\n", 1 + random.index(2), 1 + random.index(2))
    };
    (0..2 + random.index(2)).map(|session| call(session, random)).collect()
}

/// Whether some run of a program is not serializable; nothing if a run could not be judged.
fn goes_wrong(text: &str, level: Level) -> Option<bool> {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let explorable = SqlProgram::new(program, SqlOptions::default());
    let mut search = Search::new(&explorable, Options::new(IsolationLevel::Engine(level.of_engine()))).ok()?;
    for _ in 0..MOST_RUNS {
        let Some(run) = search.next_run().ok()? else { break };
        // Who was refused or rolled back has done nothing, and may have seen anything.
        let all_committed = run.order().len() == run.size().0;
        if all_committed && run.answer_at(IsolationLevel::Serializable, Budget::steps(100_000)) == RunAnswer::Fails {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether some run of a program ends as no serial order does.
fn ends_wrong(text: &str, level: Level) -> bool {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let calls = program.scripts().iter().map(|script| script.name.clone()).collect();
    let concrete = ConcreteProgram { text: text.to_owned(), program, calls, tells_counts: false };
    confirm(vec![concrete], IsolationLevel::Engine(level.of_engine())).status == FindingStatus::Confirmed
}

fn compare(seeds: std::ops::Range<u64>, change: fn(&str) -> String) {
    let (mut robust, mut shown, mut broken) = (0, 0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let (text, procedures) = program(&mut random);
        let text = change(&text);
        let Ok(bound) = Program::parse(&text) else { panic!("seed {seed}\n{text}") };
        let transactions = Transactions::of(&bound);
        assert_eq!(transactions.unsupported, [], "seed {seed}\n{text}");
        for (cells, level) in [
            (false, Level::ReadCommitted),
            (false, Level::Snapshot),
            (true, Level::ReadCommitted),
            (true, Level::Snapshot),
        ] {
            let options = UnfoldOptions { cells, ..UnfoldOptions::default() };
            let Ok(analysis) = RobustnessAnalysis::new(transactions.clone(), options) else { continue };
            let is_robust = analysis.ask(&vec![Some(level); procedures]).is_robust();
            let tries = if is_robust { 4 } else { 2 };
            for _ in 0..tries {
                let whole = format!("{text}{}", calls(&mut random, procedures));
                let wrong = if cells { ends_wrong(&whole, level) } else { goes_wrong(&whole, level) == Some(true) };
                assert!(
                    !(is_robust && wrong),
                    "seed {seed}: robust at {level:?}, cells {cells}, and the explorer has a run\n{whole}"
                );
                shown += usize::from(wrong);
            }
            if is_robust { robust += 1 } else { broken += 1 }
        }
    }
    assert!(robust > 20 && shown > 3 && broken > 20, "{robust} robust, {broken} not, {shown} shown");
}

#[test]
fn what_is_called_robust_has_no_run_without_a_serial_order() {
    compare(0..60, str::to_owned);
}

#[test]
fn nor_have_other_programs() {
    compare(10_000..10_060, str::to_owned);
}

#[test]
fn nor_have_programs_with_foreign_keys_that_are_deferred() {
    compare(20_000..20_060, |text| {
        text.replace("REFERENCES t (id)", "REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED")
    });
}

/// A program most of whose statements lock what they read.
fn locking_program(random: &mut Random) -> String {
    let mut text = TABLES.to_owned();
    for number in 0..2 {
        let mut body = String::new();
        for _ in 0..1 + random.index(2) {
            let (column, key) = (pick(random, &["a", "b"]), pick(random, &["p", "q"]));
            body += &match random.index(8) {
                0..3 => format!("SELECT {column} INTO z FROM t WHERE id = {key} FOR UPDATE; "),
                3..5 => format!("UPDATE t SET {column} = {column} + 1 WHERE id = {key}; "),
                5..7 => format!("UPDATE t SET {column} = z WHERE id = {key}; "),
                _ => format!("SELECT {column} INTO z FROM t WHERE id = {key}; "),
            };
        }
        text += &format!("CREATE PROCEDURE p{number}(IN p INT, IN q INT, OUT z INT) BEGIN SET z = 0; {body} END;\n");
    }
    text
}

/// Two sessions, each with two calls.
fn calls_in_sessions(random: &mut Random) -> String {
    let call = |random: &mut Random| {
        format!("CALL p{}({}, {}, @z);", random.index(2), 1 + random.index(2), 1 + random.index(2))
    };
    (0..2).map(|session| format!("SESSION s{session}: {} {}\n", call(random), call(random))).collect()
}

#[test]
fn where_everybody_depends_on_earlier_commits_alone_sessions_may_run_what_they_want() {
    let (mut follows, mut wrong) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let text = locking_program(&mut random);
        let transactions = Transactions::of(&Program::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}")));
        let options = UnfoldOptions { cells: false, ..UnfoldOptions::default() };
        let Ok(analysis) = RobustnessAnalysis::new(transactions, options) else { continue };
        let is_certain = analysis.follows_commits();
        follows += usize::from(is_certain);
        for level in [Level::ReadCommitted, Level::Snapshot] {
            let whole = format!("{text}{}", calls_in_sessions(&mut random));
            let is_wrong = goes_wrong(&whole, level) == Some(true);
            assert!(!(is_certain && is_wrong), "seed {seed}: at {level:?} the explorer has a run\n{whole}");
            wrong += usize::from(is_wrong);
        }
    }
    assert!(follows > 10 && wrong > 2, "{follows} follow commits, {wrong} runs of others are not serializable");
}
