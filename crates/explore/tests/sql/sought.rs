//! Rows that are sought to be locked: what is absent or passed over is no lock, what is locked was read in no other way, and a subquery reads
//! for itself. What PostgreSQL 15 answers to these programs is beside each.

use crate::explored::{Explored, equals_brute_force, explore};
use skew_explore::SqlOptions;
use skew_history::IsolationLevel::{self, *};
use skew_sql::Granularity;

fn at(text: &str, level: IsolationLevel) -> Explored {
    explore(text, level, SqlOptions::default())
}

/// An assertion of the program fails in some run at these levels, and in none at the others.
fn fails_only_at(text: &str, levels: &[IsolationLevel]) {
    for level in IsolationLevel::of_papers() {
        assert_eq!(!at(text, level).violated.is_empty(), levels.contains(&level), "at {level}\n{text}");
        equals_brute_force(text, level, SqlOptions::default());
    }
}

/// Two sessions that look for row 5 in this way, and insert it if they do not find it.
fn get_or_create(look: &str) -> String {
    format!(
        "CREATE TABLE kv (k INT PRIMARY KEY, v INT);
         CREATE PROCEDURE put()
         BEGIN
           DECLARE found INT DEFAULT 0;
           {look};
           IF found = 0 THEN INSERT INTO kv VALUES (5, 1); END IF;
         END;
         SESSION a: CALL put();
         SESSION b: CALL put();
         ASSERT 'nobody fails': a[1].outcome = 'committed' AND b[1].outcome = 'committed';"
    )
}

/// PostgreSQL answers 23505 to one of them, at once.
#[test]
fn an_update_that_finds_no_row_keeps_nobody_from_inserting_it() {
    let text = get_or_create("UPDATE kv SET v = v + 1 WHERE k = 5; SET found = ROW_COUNT()");
    fails_only_at(&text, &[ReadCommitted, ReadAtomic, Causal, Prefix]);
}

#[test]
fn a_missing_row_cannot_be_locked_for_update() {
    let text = get_or_create("SELECT COUNT(*) INTO found FROM kv WHERE k = 5 FOR UPDATE");
    fails_only_at(&text.replace("COUNT(*)", "v"), &[ReadCommitted, ReadAtomic, Causal, Prefix]);
}

#[test]
fn a_delete_that_finds_no_row_keeps_nobody_from_inserting_it() {
    let text = get_or_create("DELETE FROM kv WHERE k = 5; SET found = 0");
    let found = at(&text, ReadCommitted);
    assert!(found.violated.contains_key("nobody fails"), "{:#?}", found.histories);
    assert!(at(&text, Serializable).violated.is_empty());
}

/// On PostgreSQL at read committed the UPDATE changes no row, and the SELECT right after it sees the other's 0.
#[test]
fn a_row_that_does_not_qualify_is_not_locked() {
    let text = "CREATE TABLE kv (k INT PRIMARY KEY, v INT);
        INSERT INTO kv VALUES (1, 1);
        CREATE PROCEDURE look()
        BEGIN
          DECLARE changed, seen INT;
          UPDATE kv SET v = 9 WHERE k = 1 AND v = 0;
          SET changed = ROW_COUNT();
          SELECT v INTO seen FROM kv WHERE k = 1;
        END;
        CREATE PROCEDURE clear() BEGIN UPDATE kv SET v = 0 WHERE k = 1; END;
        SESSION a: CALL look();
        SESSION b: CALL clear();
        ASSERT 'a zero would have been changed': a[1].changed = 1 OR a[1].seen = 1;";
    fails_only_at(text, &[ReadCommitted]);
}

/// A statement at read committed waits for a row, finds it changed so that it does not qualify any more, and passes over another one as it
/// was before: PostgreSQL then changes nothing.
#[test]
fn a_row_that_is_found_changed_under_its_lock_does_not_freshen_the_others() {
    let text = "CREATE TABLE kv (k INT PRIMARY KEY, v INT);
        INSERT INTO kv VALUES (1, 0), (2, 3);
        CREATE PROCEDURE raise() BEGIN DECLARE changed INT; UPDATE kv SET v = 9 WHERE v = 0; SET changed = ROW_COUNT(); END;
        CREATE PROCEDURE swap() BEGIN UPDATE kv SET v = 5 WHERE k = 1; UPDATE kv SET v = 0 WHERE k = 2; END;
        SESSION a: CALL raise();
        SESSION b: CALL swap();
        ASSERT 'one row is changed': a[1].changed = 1;";
    for level in IsolationLevel::of_papers() {
        equals_brute_force(text, level, SqlOptions::default());
    }
    assert!(at(text, ReadCommitted).violated.contains_key("one row is changed"));
    assert!(at(text, Snapshot).violated.is_empty());
}

#[test]
fn a_search_for_rows_to_lock_is_no_read_of_their_values() {
    let table = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(9), stock INT);
        INSERT INTO item VALUES (1, 'desk', 5), (2, 'lamp', 5);";
    let bodies = [
        "UPDATE item SET stock = stock - 1 WHERE name = 'lamp';",
        "DECLARE s INT; SELECT stock INTO s FROM item WHERE name = 'lamp' FOR UPDATE;
         UPDATE item SET stock = s - 1 WHERE name = 'lamp';",
    ];
    for body in bodies {
        let text = format!(
            "{table} CREATE PROCEDURE sell() BEGIN {body} END;
             SESSION a: CALL sell(); SESSION b: CALL sell();
             ASSERT 'nothing is lost': (SELECT stock FROM item WHERE id = 2) = 3;"
        );
        for level in IsolationLevel::of_papers() {
            let found = at(&text, level);
            assert_eq!((found.histories.len(), found.violated.len()), (2, 0), "{level}: {:#?}", found.histories);
            assert_eq!(found.recorded, at(&text, Serializable).recorded, "every run at {level} is serializable");
        }
    }
}

/// PostgreSQL at read committed ends with 10: the subquery sees the snapshot of its statement, although the row is locked in its latest version.
#[test]
fn a_subquery_does_not_see_what_its_statement_has_locked() {
    let text = "CREATE TABLE kv (k INT PRIMARY KEY, v INT);
        INSERT INTO kv VALUES (1, 0);
        CREATE PROCEDURE raise() BEGIN UPDATE kv SET v = (SELECT MAX(v) FROM kv) + 10 WHERE k = 1; END;
        SESSION a: CALL raise();
        SESSION b: CALL raise();
        ASSERT 'nothing is lost': (SELECT v FROM kv WHERE k = 1) = 20;";
    fails_only_at(text, &[ReadCommitted, ReadAtomic, Causal, Prefix]);
}

/// A program of one session, whose call has one answer.
fn always(schema: &str, select: &str, answer: &str) {
    let text = format!(
        "{schema}
         CREATE PROCEDURE look() BEGIN DECLARE found INT; {select}; END;
         SESSION a: CALL look();
         ASSERT 'found': a[1].found = {answer};"
    );
    for (level, granularity) in
        [(ReadCommitted, Granularity::Row), (Snapshot, Granularity::Row), (Causal, Granularity::Cell)]
    {
        let found = explore(&text, level, SqlOptions { granularity, ..SqlOptions::default() });
        assert!(found.histories.len() == 1 && found.violated.is_empty(), "{level} {granularity:?}: {select}");
    }
}

#[test]
fn a_limit_is_of_the_rows_that_qualify() {
    let schema = "CREATE TABLE t (k INT PRIMARY KEY, v INT, w INT);
        CREATE INDEX t_v ON t (v);
        INSERT INTO t VALUES (1, 0, 0), (2, 0, 7), (3, 1, 7);";
    for lock in ["", "FOR UPDATE"] {
        always(schema, &format!("SELECT k INTO found FROM t WHERE v >= 0 AND w = 7 ORDER BY v LIMIT 1 {lock}"), "2");
        always(schema, &format!("SELECT k INTO found FROM t WHERE w = 7 ORDER BY v DESC LIMIT 1 {lock}"), "3");
    }
}

#[test]
fn a_limit_ends_whatever_the_keys_are() {
    let texts = "-- dialect: postgres
        CREATE TABLE t (k TEXT PRIMARY KEY, d DATE, v INT);
        CREATE INDEX t_d ON t (d);
        CREATE INDEX t_v ON t (v);
        INSERT INTO t VALUES ('a', '2026-01-01', 1), ('b', '2026-01-02', NULL), ('c', '2026-01-03', 3);";
    for (order, answer) in [("k DESC", "3"), ("k", "1"), ("d DESC", "3"), ("v", "1")] {
        for lock in ["", "FOR UPDATE"] {
            always(texts, &format!("SELECT v INTO found FROM t ORDER BY {order} LIMIT 1 {lock}"), answer);
        }
    }
    // NULL is the greatest.
    let last = "SELECT COALESCE(v, 9) INTO found FROM t ORDER BY v DESC LIMIT 1";
    always(texts, last, "9");
    always(texts, &format!("{last} FOR UPDATE"), "9");
}

/// The second job is free for whoever wants it: only the first is locked, although both have the same first part of their key.
#[test]
fn a_limit_locks_no_row_behind_it() {
    let text = "CREATE TABLE job (q INT, id INT, v INT, PRIMARY KEY (q, id));
        CREATE TABLE x (k INT PRIMARY KEY, v INT);
        INSERT INTO job VALUES (1, 1, 0), (1, 2, 0);
        INSERT INTO x VALUES (1, 0);
        CREATE PROCEDURE a(OUT ax INT) BEGIN
          DECLARE y INT;
          SELECT id INTO y FROM job ORDER BY q, id LIMIT 1 FOR UPDATE;
          SELECT v INTO ax FROM x WHERE k = 1;
          UPDATE job SET v = 1 WHERE q = 1 AND id = 1;
        END;
        CREATE PROCEDURE b() BEGIN
          UPDATE job SET v = 1 WHERE q = 1 AND id = 2;
          UPDATE x SET v = 1 WHERE k = 1;
        END;
        CREATE PROCEDURE c(OUT cx INT, OUT cj INT) BEGIN
          SELECT v INTO cx FROM x WHERE k = 1;
          SELECT v INTO cj FROM job WHERE q = 1 AND id = 1;
        END;
        SESSION a: CALL a(@x);
        SESSION b: CALL b();
        SESSION c: CALL c(@x, @y);
        ASSERT 'no read-only anomaly': NOT (a[1].ax = 0 AND c[1].cx = 1 AND c[1].cj = 0);";
    assert!(at(text, Snapshot).violated.contains_key("no read-only anomaly"));
    assert!(at(text, Serializable).violated.is_empty());
}
