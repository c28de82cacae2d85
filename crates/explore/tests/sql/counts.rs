//! Numbers of histories that are known, of SQL that does what small programs of reads and writes do.
//!
//! ```text
//!   r(x)   SELECT v INTO found FROM t WHERE id = 1          l(x)   the same FOR UPDATE
//!   w(x)   REPLACE INTO t VALUES (1, 7)                     u(x)   UPDATE t SET v = 7 WHERE id = 1
//! ```
//!
//! A REPLACE into a table without other unique keys reads nothing, so it is a blind write.

use crate::explored::{equals_brute_force, explore};
use skew_check::Updates;
use skew_explore::{Granularity, SqlOptions};
use skew_history::IsolationLevel::{self, *};

/// SQL for sessions between semicolons, of transactions between bars.
fn program(sessions: &str) -> String {
    let mut text =
        String::from("CREATE TABLE t (id INT PRIMARY KEY, v INT);\nINSERT INTO t VALUES (1, 0), (2, 0), (3, 0);\n");
    let mut calls = String::new();
    for (session, transactions) in sessions.split(';').enumerate() {
        calls.push_str(&format!("SESSION s{session}:"));
        for (number, steps) in transactions.split('|').enumerate() {
            let name = format!("p{session}_{number}");
            text.push_str(&format!("CREATE PROCEDURE {name}()\nBEGIN\n  DECLARE found INT;\n"));
            steps.split_whitespace().for_each(|step| text.push_str(&statement(step, 10 * session + number + 1)));
            text.push_str("END;\n");
            calls.push_str(&format!(" CALL {name}();"));
        }
        calls.push('\n');
    }
    text + &calls
}

fn statement(step: &str, value: usize) -> String {
    let id = match &step[2..3] {
        "x" => 1,
        "y" => 2,
        _ => 3,
    };
    match &step[..1] {
        "r" => format!("  SELECT v INTO found FROM t WHERE id = {id};\n"),
        "l" => format!("  SELECT v INTO found FROM t WHERE id = {id} FOR UPDATE;\n"),
        "u" => format!("  UPDATE t SET v = {value} WHERE id = {id};\n"),
        _ => format!("  REPLACE INTO t VALUES ({id}, {value});\n"),
    }
}

fn counts(text: &str, options: SqlOptions) -> Vec<usize> {
    let count = |level: IsolationLevel| {
        equals_brute_force(text, level, options);
        let found = explore(text, level, options);
        let locks = found.histories.iter().any(|history| history.contains("lock"));
        if matches!(level, ReadCommitted | ReadAtomic | Causal) && !locks {
            assert_eq!((found.blocked, found.explored), (0, found.histories.len() as u64), "{text} at {level}");
        }
        found.histories.len()
    };
    IsolationLevel::of_papers().map(count).collect()
}

fn plain() -> SqlOptions {
    SqlOptions { updates: Updates::Plain, ..SqlOptions::default() }
}

#[test]
fn programs_of_reads_and_blind_writes_have_the_known_counts() {
    for (name, sessions, expected) in [
        ("lost update", "r(x) w(x) ; r(x) w(x)", [3, 3, 3, 3, 2, 2, 2]),
        ("write skew", "r(x) r(y) w(x) ; r(x) r(y) w(y)", [3, 3, 3, 3, 3, 3, 2]),
        ("long fork", "w(x) ; w(y) ; r(x) r(y) ; r(x) r(y)", [16, 16, 16, 14, 16, 14, 14]),
        ("store buffer", "w(x) r(y) ; w(y) r(x)", [3, 3, 3, 3, 3, 3, 2]),
        ("fractured read", "w(x) w(y) ; r(x) r(y)", [3, 2, 2, 2, 2, 2, 2]),
        ("causality", "w(x) ; r(x) w(y) ; r(y) r(x)", [8, 8, 7, 7, 7, 7, 6]),
        ("Fig. 12a", "r(x) ; w(x) ; r(x) ; w(x)", [9; 7]),
    ] {
        assert_eq!(counts(&program(sessions), plain()), expected, "{name}");
    }
}

#[test]
fn programs_that_need_swaps_without_the_papers_condition_lose_nothing() {
    let expected = [12, 12, 9];
    let found = counts(&program("r(y) r(x) ; w(x) ; r(x) w(y) | w(x)"), plain());
    assert_eq!(found[..3], expected);
}

#[test]
fn a_select_and_then_an_update_have_the_known_counts_with_and_without_locks() {
    let text = program("r(x) u(x) ; r(x) u(x)");
    assert_eq!(counts(&text, SqlOptions::default()), [4, 4, 4, 4, 2, 2, 2]);
    assert_eq!(counts(&text, plain()), [5, 3, 3, 3, 2, 2, 2]);
}

#[test]
fn an_update_or_a_locking_select_is_never_lost() {
    assert_eq!(counts(&program("u(x) ; u(x)"), SqlOptions::default()), [2; 7]);
    assert_eq!(counts(&program("l(x) w(x) ; l(x) w(x)"), SqlOptions::default()), [2; 7]);
}

#[test]
fn two_that_count_and_then_insert_miss_one_another_below_serializable() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY);
        CREATE PROCEDURE add(IN number INT)
        BEGIN
          DECLARE found INT;
          SELECT COUNT(*) INTO found FROM t;
          INSERT INTO t VALUES (number);
        END;
        SESSION a: CALL add(1);
        SESSION b: CALL add(2);";
    assert_eq!(counts(text, SqlOptions::default()), [3, 3, 3, 3, 3, 3, 2]);
    assert_eq!(counts(text, plain()), [3, 3, 3, 3, 3, 3, 2]);
}

#[test]
fn updates_of_two_columns_do_not_overwrite_one_another_cell_by_cell() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
        INSERT INTO t VALUES (1, 0, 0);
        CREATE PROCEDURE left()
        BEGIN
          DECLARE found INT;
          SELECT a INTO found FROM t WHERE id = 1;
          UPDATE t SET a = found + 1 WHERE id = 1;
        END;
        CREATE PROCEDURE right()
        BEGIN
          DECLARE found INT;
          SELECT b INTO found FROM t WHERE id = 1;
          UPDATE t SET b = found + 1 WHERE id = 1;
        END;
        SESSION a: CALL left();
        SESSION b: CALL right();";
    let cells = SqlOptions { granularity: Granularity::Cell, ..SqlOptions::default() };
    // An UPDATE reads the row that it changes, so one comes before the other; but nothing is lost.
    assert_eq!(counts(text, cells), [2; 7]);
    assert_eq!(counts(text, SqlOptions::default()), [4, 4, 4, 4, 2, 2, 2]);
}

#[test]
fn a_call_may_have_a_level_of_its_own() {
    let text = program("r(x) w(x) ; r(x) w(x)");
    let first = text.replace("CALL p0_0();", "CALL p0_0() AT serializable;");
    let both = first.replace("CALL p1_0();", "CALL p1_0() AT serializable;");
    assert_eq!(explore(&first, ReadCommitted, plain()).histories.len(), 3);
    assert_eq!(explore(&both, ReadCommitted, plain()).histories.len(), 2);
}
