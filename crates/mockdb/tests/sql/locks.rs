//! Rows that somebody else has locked are waited for, left out or complained about, and a limit counts the rows that are left.

use super::{Test, state};
use skew_mockdb::{ChooserKind, Level, Options};
use skew_sql::{Answer, Interrupt, Stop};
use skew_value::Datum;

const TASKS: [&str; 3] = [
    "CREATE TABLE task (id INT PRIMARY KEY, status TEXT NOT NULL, weight INT)",
    "CREATE INDEX task_status ON task (status)",
    "INSERT INTO task VALUES (1, 'new', 1), (2, 'new', 2), (3, 'done', 3), (4, 'new', 4)",
];

const WAITS: Stop = Stop::Interrupted(Interrupt::Wait);

fn test() -> Test {
    Test::new(Options::new(Level::ReadCommitted, 1), ChooserKind::Latest, &TASKS)
}

fn ids(answer: Result<Answer, Stop>) -> Vec<Datum> {
    match answer {
        Ok(Answer::Rows(rows)) => rows.rows.iter().map(|row| row[0].clone()).collect(),
        other => panic!("{other:?}"),
    }
}

fn numbers<const COUNT: usize>(ids: [i128; COUNT]) -> [Datum; COUNT] {
    ids.map(Datum::Integer)
}

#[test]
fn workers_that_skip_locked_rows_share_a_queue() {
    for order in ["ORDER BY id", ""] {
        let next = format!("SELECT id FROM task WHERE status = 'new' {order} LIMIT 1 FOR UPDATE SKIP LOCKED");
        let mut test = test();
        let (mut one, mut two, mut three) = (test.connect("one"), test.connect("two"), test.connect("three"));
        for connection in [&mut one, &mut two, &mut three] {
            test.run(connection, "BEGIN").unwrap();
        }
        assert_eq!(ids(test.run(&mut one, &next)), numbers([1]));
        assert_eq!(ids(test.run(&mut two, &next)), numbers([2]));
        assert_eq!(ids(test.run(&mut three, &next)), numbers([4]));
        for connection in [&mut one, &mut two, &mut three] {
            test.run(connection, "COMMIT").unwrap();
        }
        test.assert_level();
    }
}

#[test]
fn a_point_that_is_locked_is_skipped_or_refused() {
    let mut test = test();
    let (mut one, mut two) = (test.connect("one"), test.connect("two"));
    test.run(&mut one, "BEGIN").unwrap();
    test.run(&mut one, "SELECT id FROM task WHERE id = 1 FOR SHARE").unwrap();
    assert_eq!(ids(test.run(&mut two, "SELECT id FROM task WHERE id IN (1, 2) FOR UPDATE SKIP LOCKED")), numbers([2]));
    assert_eq!(ids(test.run(&mut two, "SELECT id FROM task WHERE id = 1 FOR SHARE NOWAIT")), numbers([1]));
    assert_eq!(state(test.run(&mut two, "SELECT id FROM task WHERE id = 1 FOR UPDATE NOWAIT")), "55P03");
    assert_eq!(ids(test.run(&mut one, "SELECT id FROM task WHERE id = 1 FOR UPDATE NOWAIT")), numbers([1]));
    assert_eq!(test.run(&mut two, "SELECT id FROM task WHERE id = 1 FOR UPDATE"), Err(WAITS));
    test.run(&mut one, "COMMIT").unwrap();
    assert_eq!(ids(test.run(&mut two, "SELECT id FROM task WHERE id = 1 FOR UPDATE")), numbers([1]));
    test.assert_level();
}

#[test]
fn a_limit_counts_the_rows_that_are_left_after_the_wait() {
    for change in ["DELETE FROM task WHERE id = 1", "UPDATE task SET id = 9 WHERE id = 1"] {
        let mut test = test();
        let (mut one, mut two) = (test.connect("one"), test.connect("two"));
        test.run(&mut one, "BEGIN").unwrap();
        test.run(&mut one, change).unwrap();
        let first = "SELECT id FROM task ORDER BY id LIMIT 2 FOR UPDATE";
        assert_eq!(test.run(&mut two, first), Err(WAITS));
        test.run(&mut one, "COMMIT").unwrap();
        assert_eq!(ids(test.run(&mut two, first)), numbers([2, 3]), "{change}");
        test.assert_level();
    }
}
