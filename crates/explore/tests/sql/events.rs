//! What of a statement is an event, what is a function of its place, and what is refused.

use crate::explored::{explore, program_of};
use skew_check::Updates;
use skew_explore::{CallLeft, ExploreError, Options, Search, SqlOptions, SqlProgram};
use skew_history::IsolationLevel::*;

fn only_history(text: &str, options: SqlOptions) -> String {
    let found = explore(text, Serializable, options);
    assert_eq!(found.recorded.len(), 1, "{:#?}", found.recorded);
    found.recorded.into_iter().next().expect("one history")
}

/// Why a program cannot be explored.
fn refusal(text: &str) -> ExploreError {
    let program = SqlProgram::new(program_of(text), SqlOptions { most_steps: 100, ..SqlOptions::default() });
    let mut search = match Search::new(&program, Options::new(Causal)) {
        Ok(search) => search,
        Err(error) => return error,
    };
    loop {
        match search.next_run() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("explored to the end: {text}"),
            Err(error) => return error,
        }
    }
}

#[test]
fn a_lookup_by_key_reads_one_row_and_an_insert_its_absence() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY, v INT);
        INSERT INTO t VALUES (1, 0), (2, 0);
        CREATE PROCEDURE p()
        BEGIN
          DECLARE found INT;
          SELECT v INTO found FROM t WHERE id = 1;
          SELECT v INTO found FROM t WHERE id = 7;
          INSERT INTO t VALUES (3, 0);
          UPDATE t SET v = 1 WHERE id = 2;
          DELETE FROM t WHERE id = 2;
        END;
        SESSION a: CALL p();";
    let locking = "a#0 r(t/1,init) r(t/7,init) lock r(t/3,init) w(t/3) lock r(t/2,init) w(t/2) w(t/2)";
    assert_eq!(only_history(text, SqlOptions::default()), locking);
    let plain = SqlOptions { updates: Updates::Plain, ..SqlOptions::default() };
    assert_eq!(only_history(text, plain), locking.replace("lock ", ""));
}

#[test]
fn a_statement_reads_a_key_once_and_another_statement_again() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY, v INT);
        INSERT INTO t VALUES (1, 2), (2, 1);
        CREATE PROCEDURE p()
        BEGIN
          DECLARE found INT;
          SELECT COUNT(*) INTO found FROM t a JOIN t b ON b.id = a.v;
          SELECT v INTO found FROM t WHERE id = 1;
        END;
        SESSION a: CALL p();";
    assert_eq!(only_history(text, SqlOptions::default()), "a#0 r(t/1,init) r(t/2,init) r(t/1,init)");
}

#[test]
fn generated_numbers_depend_on_the_place_alone() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT);
        INSERT INTO t VALUES (1, 0);
        CREATE PROCEDURE p()
        BEGIN
          INSERT INTO t (v) VALUES (1);
          INSERT INTO t (v) VALUES (2);
        END;
        SESSION a: CALL p();
        SESSION b: CALL p();
        ASSERT 'five rows with five numbers': (SELECT COUNT(*) FROM t) = 5;
        ASSERT 'ascending': (SELECT MIN(id) FROM t WHERE v = 1) < (SELECT MIN(id) FROM t WHERE v = 2);";
    for level in [ReadCommitted, Serializable] {
        let found = explore(text, level, SqlOptions::default());
        assert_eq!((found.histories.len(), found.violated.len()), (1, 0), "{:?}", found.violated);
    }
}

#[test]
fn a_constraint_is_checked_on_the_latest_rows() {
    let text = |insert: &str| {
        format!(
            "-- dialect: postgres
             CREATE TABLE parent (id INT PRIMARY KEY);
             CREATE TABLE child (id INT PRIMARY KEY, parent INT REFERENCES parent (id) ON DELETE CASCADE, hours INT[],
               EXCLUDE USING gist (hours WITH &&));
             INSERT INTO parent VALUES (1);
             CREATE PROCEDURE give_birth(IN number INT) BEGIN {insert} END;
             CREATE PROCEDURE bury() BEGIN DELETE FROM parent WHERE id = 1; END;
             SESSION a: CALL give_birth(1);
             SESSION b: CALL give_birth(2);
             SESSION c: CALL bury();
             ASSERT 'one at a time': (SELECT COUNT(*) FROM child) <= 1;
             ASSERT 'no orphan': NOT EXISTS (SELECT 1 FROM child WHERE parent NOT IN (SELECT id FROM parent));"
        )
    };
    let text = text("INSERT INTO child VALUES (number, 1, '{3,4}');");
    for level in [ReadCommitted, Causal, Snapshot, Serializable] {
        let found = explore(&text, level, SqlOptions::default());
        assert!(found.violated.is_empty() && found.histories.len() > 2, "{level}: {:?}", found.violated);
    }
}

#[test]
fn variables_of_a_session_come_from_its_earlier_calls() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY, v INT);
        INSERT INTO t VALUES (1, 0);
        CREATE PROCEDURE look(OUT found INT) BEGIN SELECT v INTO found FROM t WHERE id = 1; END;
        CREATE PROCEDURE store(IN value INT) BEGIN UPDATE t SET v = value + 1 WHERE id = 1; END;
        SESSION a: CALL look(@v); CALL store(@v);
        SESSION b: CALL look(@v); CALL store(@v);
        ASSERT 'both count': (SELECT v FROM t WHERE id = 1) = 2;
        ASSERT 'what was seen': a[1].found <= 1 AND b[1].found <= 1;";
    let found = explore(text, Serializable, SqlOptions::default());
    assert_eq!(found.violated.keys().collect::<Vec<_>>(), ["both count"]);
}

#[test]
fn a_failed_statement_aborts_and_keeps_its_reads() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY);
        CREATE PROCEDURE add() BEGIN INSERT INTO t VALUES (1); END;
        SESSION a: CALL add();
        SESSION b: CALL add();
        ASSERT 'one of them': (a[1].outcome = 'committed') <> (b[1].outcome = 'committed');";
    let found = explore(text, ReadCommitted, SqlOptions::default());
    assert_eq!((found.histories.len(), found.violated.len()), (2, 0), "{:#?}", found.histories);
}

#[test]
fn a_loop_without_end_is_refused_with_its_place() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY);
        CREATE PROCEDURE p()
        BEGIN
          DECLARE n INT DEFAULT 0;
          WHILE n >= 0 DO SET n = n + 1; END WHILE;
        END;
        SESSION a: CALL p();";
    let error = refusal(text).to_string();
    assert!(error.contains("more than 100 steps") && error.contains("line 5"), "{error}");
}

#[test]
fn what_depends_on_who_runs_at_the_same_time_is_refused_by_name() {
    let text = |statement: &str| {
        format!(
            "-- dialect: postgres\nCREATE TABLE t (id INT PRIMARY KEY);\nCREATE SEQUENCE numbers;\nINSERT INTO t VALUES (1);\n\
             CREATE PROCEDURE p()\nBEGIN\n  DECLARE n INT;\n  DECLARE b BOOLEAN;\n  {statement}\nEND;\nSESSION a: CALL p();"
        )
    };
    for (statement, word) in [
        ("SELECT id INTO n FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED;", "SKIP LOCKED"),
        ("SELECT setval('numbers', 7) INTO n;", "sequence"),
        ("SELECT pg_try_advisory_lock(1) INTO b;", "advisory lock"),
    ] {
        let error = refusal(&text(statement)).to_string();
        assert!(error.contains(word) && error.contains("line 9"), "{error}");
    }
}

#[test]
fn a_program_without_sessions_is_refused() {
    assert_eq!(refusal("CREATE TABLE t (id INT PRIMARY KEY);"), ExploreError::NoTransactions);
}

#[test]
fn programs_and_what_calls_leave_can_go_to_other_threads() {
    fn can<T: Send + Sync>() {}
    can::<SqlProgram>();
    can::<CallLeft>();
}
