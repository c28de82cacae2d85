//! Rows that are sought to be locked: what is absent or passed over is no lock, what is locked was read in no other way, and a subquery reads
//! for itself. What PostgreSQL 15 answers to these programs is beside each.

use crate::explored::{Explored, equals_brute_force, explore};
use skew_explore::SqlOptions;
use skew_history::IsolationLevel::{self, *};

fn at(text: &str, level: IsolationLevel) -> Explored {
    explore(text, level, SqlOptions::default())
}

/// An assertion of the program fails in some run at these levels, and in none at the others.
fn fails_only_at(text: &str, levels: &[IsolationLevel]) {
    for level in IsolationLevel::SEVEN {
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
    for level in IsolationLevel::SEVEN {
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
        for level in IsolationLevel::SEVEN {
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
