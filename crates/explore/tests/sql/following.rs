//! A run that is followed: its own requests are answered, any other one is a difference.

use skew_explore::{Follower, Options, Search, SqlOptions, SqlProgram};
use skew_history::IsolationLevel;
use skew_program::Program;
use skew_sql::{Row, RowKey};

const TEXT: &str = "
CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL);
INSERT INTO t VALUES (1, 5), (2, 7);
CREATE PROCEDURE look(OUT seen INT) BEGIN SELECT n INTO seen FROM t WHERE id = 1; END;
CREATE PROCEDURE nothing() BEGIN DECLARE x INT; SET x = 1; END;
SESSION a: CALL look(@x);
SESSION b: CALL nothing(); CALL look(@x);
";

type Rows = Vec<(RowKey, Row)>;

fn follower() -> (Follower, Rows) {
    let program = SqlProgram::new(Program::parse(TEXT).expect("a program"), SqlOptions::default());
    let rows = program.program().initial().1.rows().map(|(key, row)| (key.clone(), row.clone())).collect();
    let mut search = Search::new(&program, Options::new(IsolationLevel::Serializable)).expect("a search");
    let run = search.next_run().expect("no error").expect("a run");
    (run.follower(|place| program.ordinal(place) as u32), rows)
}

#[test]
fn what_the_run_asked_for_is_answered_and_who_touches_nothing_is_not_expected() {
    let (mut follower, rows) = follower();
    follower.initial(rows.clone()).expect("the same rows");
    for (session, ordinal) in [("a", 0), ("b", 2)] {
        assert!(!follower.is_over());
        assert_eq!(follower.begin(session), Ok(ordinal));
        follower.begin_statement();
        assert_eq!(follower.read(&rows[0].0, "t/1", false), Ok(Some(rows[0].1.clone())));
        assert_eq!(follower.read(&rows[0].0, "t/1", false), Ok(Some(rows[0].1.clone())), "known to the statement");
        follower.end(true).expect("it committed");
    }
    assert!(follower.is_over() && follower.difference().is_none());
}

#[test]
fn any_other_request_is_a_difference_and_there_are_no_answers_after_it() {
    let said = |ask: &dyn Fn(&mut Follower, &Rows)| {
        let (mut follower, rows) = follower();
        ask(&mut follower, &rows);
        assert!(follower.begin("a").is_err(), "there are no answers any more");
        follower.difference().expect("a difference").to_string()
    };
    assert_eq!(said(&|follower, _| drop(follower.begin("b"))), "b begins where the run has a#0");
    let other_key = said(&|follower, rows| {
        follower.begin("a").expect("its turn");
        let _ = follower.read(&rows[1].0, "t/2", false);
    });
    assert_eq!(other_key, "a#0 asks for a read of t/2 where the run has a read of t/1");
    let lock = said(&|follower, rows| {
        follower.begin("a").expect("its turn");
        let _ = follower.read(&rows[0].0, "t/1", true);
    });
    assert_eq!(lock, "a#0 asks for a read of t/1 with something else in it where the run has a read of t/1");
    let early = said(&|follower, _| {
        follower.begin("a").expect("its turn");
        let _ = follower.end(true);
    });
    assert_eq!(early, "a#0 commits, which it did not do there in the run");
    let rows = said(&|follower, rows| drop(follower.initial(rows[1..].to_vec())));
    assert_eq!(rows, "the rows before the first transaction are others");
}
