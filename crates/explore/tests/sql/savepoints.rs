//! Savepoints at the levels of the engines: what goes back, which locks go with it, and that the definition has every run.
//!
//! Seen on PostgreSQL 15 and MariaDB 10.11 before it was written down here. InnoDB keeps the locks of what is taken back, unless the savepoint
//! stands before the first statement on a table: MariaDB then rolls InnoDB back as a whole, and the next statement begins with a new view.

use crate::engines::{Found, LEVELS, codes, explore};
use crate::random::Numbers;
use skew_history::EngineLevel::*;
use skew_history::{Engine, EngineLevel};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);
    INSERT INTO t VALUES (1, 10), (2, 20);";

/// Explores sessions of one call each; the last assertion is about the end.
fn found(sessions: &[&str], assertion: &str, level: EngineLevel) -> Found {
    let mut text = TABLE.to_owned();
    for (number, body) in sessions.iter().enumerate() {
        text.push_str(&format!("CREATE PROCEDURE p{number}(OUT r INT) BEGIN {body} END;\n"));
    }
    for number in 0..sessions.len() {
        text.push_str(&format!("SESSION s{number}: CALL p{number}(@r{number});\n"));
    }
    text.push_str(&format!("ASSERT 'it holds': {assertion};"));
    explore(&text, level)
}

#[test]
fn what_was_written_behind_a_savepoint_goes_and_the_rest_stays() {
    let body =
        "UPDATE t SET v = 11 WHERE id = 1; SAVEPOINT a; UPDATE t SET v = 12 WHERE id = 1; INSERT INTO t VALUES (3, 30);
        DELETE FROM t WHERE id = 2; SELECT SUM(v) INTO r FROM t; ROLLBACK TO SAVEPOINT a; RELEASE SAVEPOINT a;
        UPDATE t SET v = v + 100 WHERE id = 1;";
    let assertion = "s0[1].r = 42 AND (SELECT COUNT(*) FROM t) = 2 AND (SELECT v FROM t WHERE id = 1) = 111
        AND (SELECT v FROM t WHERE id = 2) = 20";
    for level in LEVELS {
        let found = found(&[body], assertion, level);
        assert_eq!((found.histories, found.violated.len()), (1, 0), "{level}: {found:?}");
    }
}

#[test]
fn savepoints_of_one_name_hide_each_other_in_postgresql_and_replace_each_other_in_mysql() {
    let body = "SAVEPOINT a; UPDATE t SET v = 11 WHERE id = 1; SAVEPOINT a; UPDATE t SET v = 12 WHERE id = 1;
        RELEASE SAVEPOINT a; ROLLBACK TO SAVEPOINT a; UPDATE t SET v = 21 WHERE id = 2;";
    let there = "(SELECT v FROM t WHERE id = 1) = 10 AND (SELECT v FROM t WHERE id = 2) = 21";
    assert!(found(&[body], there, PostgresReadCommitted).violated.is_empty());
    // There is no savepoint a any more: the call fails, and nothing is left of it.
    let nothing = "(SELECT v FROM t WHERE id = 1) = 10 AND (SELECT v FROM t WHERE id = 2) = 20";
    assert!(found(&[body], nothing, MysqlReadCommitted).violated.is_empty());
}

/// Two who lock the same two rows the other way round; the first lock of each goes back before the second is asked for.
const CROSSED: [&str; 2] = [
    "SELECT v INTO r FROM t WHERE id = 2; SAVEPOINT a; UPDATE t SET v = v + 1 WHERE id = 1; ROLLBACK TO SAVEPOINT a;
     UPDATE t SET v = v + 1 WHERE id = 2;",
    "SELECT v INTO r FROM t WHERE id = 1; SAVEPOINT a; UPDATE t SET v = v + 1 WHERE id = 2; ROLLBACK TO SAVEPOINT a;
     UPDATE t SET v = v + 1 WHERE id = 1;",
];

#[test]
fn postgresql_lets_locks_go_with_a_savepoint_and_innodb_keeps_them() {
    let always = "(SELECT SUM(v) FROM t) >= 30";
    for level in LEVELS {
        let found = found(&CROSSED, always, level);
        let deadlocks = codes(&found).iter().any(|code| ["40P01", "1213"].contains(code));
        assert_eq!(deadlocks, level.engine() == Engine::Mysql, "{level}: {found:?}");
    }
}

#[test]
fn before_the_first_statement_mariadb_has_no_savepoint_of_innodb_and_rolls_all_of_it_back() {
    let crossed = CROSSED.map(|body| body[body.find("SAVEPOINT").expect("one")..].to_owned());
    let crossed: Vec<&str> = crossed.iter().map(String::as_str).collect();
    for level in LEVELS {
        let found = found(&crossed, "true", level);
        assert!(!codes(&found).iter().any(|code| ["40P01", "1213"].contains(code)), "{level}: {found:?}");
    }
    let twice = "DECLARE one, other INT; SAVEPOINT a; SELECT v INTO one FROM t WHERE id = 1; ROLLBACK TO SAVEPOINT a;
        SELECT v INTO other FROM t WHERE id = 1; SET r = other - one;";
    let first = "SELECT v INTO r FROM t WHERE id = 2;";
    let change = "UPDATE t SET v = v + 1 WHERE id = 1;";
    // Its view is kept where InnoDB knew of the transaction, and PostgreSQL's snapshot always is.
    let sees = |body: &str, level| !found(&[body, change], "s0[1].r = 0", level).violated.is_empty();
    assert!(
        sees(twice, MysqlRepeatableRead) && !sees(twice, PostgresRepeatableRead) && sees(twice, PostgresReadCommitted)
    );
    let late = twice.replace("SAVEPOINT a; SELECT v INTO one", &format!("{first} SAVEPOINT a; SELECT v INTO one"));
    assert!(!sees(&late, MysqlRepeatableRead));
}

#[test]
fn what_was_read_and_is_not_told_makes_another_run_all_the_same() {
    let change = "UPDATE t SET v = v + 1 WHERE id = 1;";
    for suffix in ["", " FOR UPDATE"] {
        let look = format!("SAVEPOINT a; SELECT v INTO r FROM t WHERE id = 1{suffix}; ROLLBACK TO SAVEPOINT a;");
        for level in LEVELS {
            let has = |value: i32| !found(&[&look, change], &format!("s0[1].r <> {value}"), level).violated.is_empty();
            assert!(has(10) && has(11), "{level}: {look}");
        }
    }
}

#[test]
fn a_lock_that_was_there_before_the_savepoint_stays() {
    let counter = "SELECT v INTO r FROM t WHERE id = 1 FOR UPDATE; SAVEPOINT a; UPDATE t SET v = 0 WHERE id = 1;
        ROLLBACK TO SAVEPOINT a; UPDATE t SET v = r + 1 WHERE id = 1;";
    let lost = "SAVEPOINT a; SELECT v INTO r FROM t WHERE id = 1 FOR UPDATE; ROLLBACK TO SAVEPOINT a;
        UPDATE t SET v = r + 1 WHERE id = 1;";
    let both = "(SELECT v FROM t WHERE id = 1) = 12";
    for level in [PostgresReadCommitted, MysqlReadCommitted, MysqlRepeatableRead] {
        let kept = found(&[counter, counter], both, level);
        assert!(kept.violated.is_empty() && kept.histories > 0, "{level}: {kept:?}");
        assert!(!found(&[lost, lost], both, level).violated.is_empty(), "{level}");
    }
}

/// One statement on rows that are there, or may come and go.
fn statement(numbers: &mut Numbers, number: usize, engine: Engine) -> String {
    let (key, value) = (1 + numbers.below(3), 100 + number);
    match numbers.below(9) {
        0 => format!("SELECT v INTO r FROM t WHERE id = {key};"),
        1 => format!("SELECT v INTO r FROM t WHERE id = {key} FOR UPDATE;"),
        2 if engine == Engine::Postgres => format!("SELECT v INTO r FROM t WHERE id = {key} FOR KEY SHARE;"),
        2 => format!("SELECT v INTO r FROM t WHERE id = {key} FOR SHARE;"),
        3 => format!("UPDATE t SET v = v + {value} WHERE id >= {key};"),
        4 => "SELECT SUM(v) INTO r FROM t;".to_owned(),
        5 => format!("DELETE FROM t WHERE id = {key};"),
        6 => format!("INSERT INTO t VALUES ({key}, {value});"),
        _ => format!("UPDATE t SET v = {value} WHERE id = {key};"),
    }
}

#[test]
fn the_definition_has_every_run_of_random_programs_with_savepoints() {
    for seed in 0..60 {
        let mut numbers = Numbers(seed);
        let level = LEVELS[seed as usize % LEVELS.len()];
        let bodies = [0_usize, 10].map(|number| {
            let mut next = |more: usize| statement(&mut numbers, number + more, level.engine());
            let (mut first, inside, mut more, last) = (next(1), next(2), next(3), next(4));
            if numbers.below(2) == 0 {
                first.clear();
            }
            if numbers.below(3) > 0 {
                more.clear();
            }
            format!("{first} SAVEPOINT a; {inside} {more} ROLLBACK TO SAVEPOINT a; {last}")
        });
        // The definition is asked about every run.
        found(&bodies.each_ref().map(String::as_str), "true", level);
    }
}
