//! Rows that PostgreSQL looks at, and then locks as they are: whether the first look makes a difference.

use crate::engines::LEVELS;
use skew_check::{Budget, Verdict, check};
use skew_explore::{Options, Search, SqlOptions, SqlProgram};
use skew_history::IsolationLevel;
use skew_program::Program;

const TABLES: &str = "-- dialect: postgres
    CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);
    INSERT INTO t VALUES (1, 10), (3, 30);
    CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL);
    INSERT INTO c VALUES (1, 1), (2, 3);";

/// How many runs of two sessions at read committed there are, and how many of them could not have come one after the other.
fn runs(first: &str, second: &str) -> (usize, usize) {
    let procedure = |name: &str, body: &str| format!("CREATE PROCEDURE {name}() BEGIN DECLARE x INT; {body}; END;");
    let sessions = "SESSION a: CALL a(); SESSION b: CALL b();";
    let text = [TABLES, &procedure("a", first), &procedure("b", second), sessions].join("\n");
    let program = Program::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let program = SqlProgram::new(program, SqlOptions::default());
    let options = Options::new(IsolationLevel::Engine(LEVELS[0]));
    let mut search = Search::new(&program, options).expect("a program");
    let (mut all, mut wrong) = (0, 0);
    while let Some(run) = search.next_run().expect("it runs") {
        let history = run.history().expect("a history");
        let verdict = check(&history, IsolationLevel::Serializable, Budget::steps(1_000_000));
        all += 1;
        wrong += usize::from(matches!(verdict, Verdict::Fails(_)));
    }
    (all, wrong)
}

#[test]
fn what_is_locked_as_it_is_need_not_have_been_so_when_it_was_found() {
    for statement in [
        "SELECT s.v INTO x FROM (SELECT id, v FROM t WHERE id = 1) s FOR UPDATE; UPDATE t SET v = x + 1 WHERE id = 1",
        "SELECT s.v INTO x FROM (SELECT id, v FROM t WHERE id = 1 ORDER BY id) s FOR UPDATE; UPDATE t SET v = x + 1 WHERE id = 1",
        "SELECT t.v INTO x FROM t JOIN c ON c.t = t.id WHERE c.id = 1 FOR UPDATE OF t; UPDATE t SET v = x + 1 WHERE id = 1",
        "SELECT v INTO x FROM t WHERE EXISTS (SELECT 1 FROM c WHERE c.id = 1 AND c.t = t.id) FOR UPDATE; \
         UPDATE t SET v = x + 1 WHERE id = 1",
        "SELECT v INTO x FROM t WHERE id < 3 ORDER BY id DESC LIMIT 1 FOR UPDATE; UPDATE t SET v = x + 1 WHERE id = 1",
        "UPDATE t SET v = v + 1 FROM c WHERE c.t = t.id AND c.id = 1",
        "UPDATE t SET v = v + 1 WHERE EXISTS (SELECT 1 FROM c WHERE c.id = 1 AND c.t = t.id)",
        "UPDATE t SET v = 99 FROM c WHERE c.t = t.id AND c.id = 1 AND t.v < 50",
        "DELETE FROM t USING c WHERE c.t = t.id AND c.id = 1",
    ] {
        let (all, wrong) = runs(statement, statement);
        assert!(all >= 2 && wrong == 0, "{statement}: {wrong} of {all}");
    }
}

#[test]
fn a_row_that_was_found_by_what_has_changed_since_was_found_as_it_was() {
    // Its partner was row 2 of c, which does not fit any more; row 1 would, and nobody looks for it.
    let kept = ("UPDATE t SET v = 9 WHERE id = 1", "UPDATE t SET v = v + 100 FROM c WHERE c.id + 8 = t.v");
    assert_eq!(runs(kept.0, kept.1), (3, 1));
    let moved = "SELECT t.id INTO x FROM t JOIN c ON c.t = t.id WHERE c.id = 1 FOR UPDATE OF c";
    assert_eq!(runs("UPDATE c SET t = 3 WHERE id = 1", moved), (3, 1));
}
