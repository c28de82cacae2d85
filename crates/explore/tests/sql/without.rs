//! A program without some of its calls: what is left out does not run, and everything else is as before.

use skew_check::Budget;
use skew_explore::{Options, Place, Search, SqlOptions, SqlProgram};
use skew_history::IsolationLevel;
use skew_program::Program;

const TEXT: &str = "
CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL);
INSERT INTO t VALUES (1, 5);
CREATE PROCEDURE look(OUT seen INT) BEGIN SELECT n INTO seen FROM t WHERE id = 1; END;
CREATE PROCEDURE add(IN more INT) BEGIN UPDATE t SET n = n + more WHERE id = 1; END;
SESSION a: CALL look(@x); CALL add(1); CALL add(@x);
SESSION b: CALL add(10);
ASSERT 'speaks of a call': a[1].seen >= 5;
ASSERT 'speaks of none': (SELECT n FROM t WHERE id = 1) = 26;
";

#[test]
fn calls_keep_their_places_names_and_variables_when_others_are_left_out() {
    let program = Program::parse(TEXT).expect("a program");
    let place = |session, number| Place { session, number };
    let whole = SqlProgram::new(program, SqlOptions::default());
    let without = whole.clone().without([place(0, 1), place(1, 0)].into());
    let mut search = Search::new(&without, Options::new(IsolationLevel::Serializable)).expect("a search");
    let run = search.next_run().expect("no error").expect("a run");
    assert!(run.pattern().starts_with("a#0:") && run.pattern().contains("; a#2:"), "{}", run.pattern());
    assert!(run.left(place(0, 1)).is_none() && run.left(place(1, 0)).is_none());
    let history = run.history().expect("a history");
    assert!(history.find_transaction("a#2").is_some() && history.find_transaction("a#1").is_none());
    let left: Vec<_> = [place(0, 0), place(0, 2)].map(|place| (place, run.left(place).expect("it ran"))).into();
    let states = run.final_states(10, Budget::steps(1_000)).expect("few states");
    let violated = without.violated(left, states.into_iter().next().expect("a state"));
    // 5 + the 5 that the first call handed on.
    assert_eq!(violated.iter().map(|failed| failed.assertion).collect::<Vec<_>>(), [1]);
    assert!(search.next_run().expect("no error").is_none(), "there is one order only");
    assert!(without.missing(0).is_empty() && without.missing(1).is_empty());
    assert_eq!(whole.without([place(0, 0)].into()).missing(0), [place(0, 0)].into());
}
