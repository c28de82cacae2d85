//! What a store keeps does not grow with what was rolled back, read, refused or left open: work is counted, not time.

use crate::{ACCOUNTS, Test, run};
use skew_mockdb::{ChooserKind, Connection, Level, Options};
use skew_value::Datum;

/// More than this is kept by nobody: twice the horizon, what is pending, and what waits to be cleared away.
const MOST_TRANSACTIONS: usize = 64;

fn begin_test(level: Level) -> (Test, Connection) {
    let options = Options { horizon: Some(8), ..Options::new(level, 1) };
    let schema = [ACCOUNTS[0], ACCOUNTS[1], "CREATE TABLE note (id SERIAL PRIMARY KEY, text TEXT UNIQUE)"];
    let mut test = Test::new(options, ChooserKind::Random, &schema);
    let client = test.connect("client");
    (test, client)
}

/// Runs a script of statements again and again; nothing of it stays.
fn repeat(test: &mut Test, client: &mut Connection, rounds: usize, script: &[&str]) {
    let keys = test.database.store.scanned_key_count();
    for round in 0..rounds {
        for statement in script {
            let result = run(&mut test.database, client, statement);
            assert!(result.is_ok() || statement.starts_with("INSERT"), "{statement}: {result:?}");
        }
        let kept = test.database.store.transaction_count();
        assert!(kept <= MOST_TRANSACTIONS, "{kept} transactions after {round} times {script:?}");
    }
    let left = test.database.store.scanned_key_count();
    assert!(left <= keys + 8, "{keys} keys before, {left} after {script:?}");
}

#[test]
fn what_is_rolled_back_is_forgotten() {
    for level in Level::of_papers() {
        let (mut test, mut client) = begin_test(level);
        repeat(&mut test, &mut client, 200, &["BEGIN", "SELECT balance FROM account WHERE id = 1", "ROLLBACK"]);
        repeat(&mut test, &mut client, 200, &["BEGIN", "SELECT sum(balance) FROM account", "ROLLBACK"]);
        let insert = "INSERT INTO note (text) VALUES ('a')";
        repeat(&mut test, &mut client, 200, &["BEGIN", insert, "SELECT count(*) FROM note", "ROLLBACK"]);
        repeat(&mut test, &mut client, 100, &["BEGIN", "ROLLBACK"]);
        repeat(&mut test, &mut client, 100, &["INSERT INTO account VALUES (1, 1)"]);
        test.assert_level();
    }
}

#[test]
fn what_only_reads_is_forgotten() {
    for level in Level::of_papers() {
        let (mut test, mut client) = begin_test(level);
        repeat(&mut test, &mut client, 200, &["BEGIN", "SELECT sum(balance) FROM account", "COMMIT"]);
        repeat(&mut test, &mut client, 200, &["SELECT balance FROM account WHERE id = 1"]);
        test.assert_level();
    }
}

/// As suites do that roll back each test to a savepoint of one transaction.
#[test]
fn rows_that_a_savepoint_takes_back_are_not_scanned_again() {
    for level in Level::of_papers() {
        let (mut test, mut client) = begin_test(level);
        run(&mut test.database, &mut client, "BEGIN").unwrap();
        let insert = "INSERT INTO note (text) VALUES ('a'), ('b')";
        let script = ["SAVEPOINT s", insert, "SELECT count(*) FROM note", "ROLLBACK TO SAVEPOINT s", "RELEASE s"];
        repeat(&mut test, &mut client, 100, &script);
        run(&mut test.database, &mut client, "INSERT INTO note (text) VALUES ('a')").unwrap();
        assert_eq!(test.value(&mut client, "SELECT count(*) FROM note"), Datum::Integer(1));
        run(&mut test.database, &mut client, "COMMIT").unwrap();
        test.assert_level();
    }
}

/// A row that was taken back can be written again, by its own transaction or by another one.
#[test]
fn rows_that_were_taken_back_can_come_into_being_again() {
    for level in Level::of_papers() {
        let (mut test, mut client) = begin_test(level);
        let mut other = test.connect("other");
        run(&mut test.database, &mut other, "BEGIN").unwrap();
        assert_eq!(test.value(&mut other, "SELECT count(*) FROM account"), Datum::Integer(2));
        for end in ["ROLLBACK", "ROLLBACK", "COMMIT"] {
            run(&mut test.database, &mut client, "BEGIN").unwrap();
            run(&mut test.database, &mut client, "INSERT INTO account VALUES (3, 3)").unwrap();
            run(&mut test.database, &mut client, end).unwrap();
        }
        // From read-atomic up it has seen that there are two; at read-committed it may see the third.
        let count = test.value(&mut other, "SELECT count(*) FROM account");
        assert!(count == Datum::Integer(2) || level == Level::ReadCommitted, "{level}: {count:?}");
        let _ = run(&mut test.database, &mut other, "COMMIT");
        test.assert_level();
    }
}

/// A console that somebody forgot: it has read, and says nothing more for a long time.
#[test]
fn what_happens_beside_an_idle_transaction_is_forgotten() {
    for level in Level::of_papers() {
        let (mut test, mut client) = begin_test(level);
        let mut idle = test.connect("idle");
        run(&mut test.database, &mut idle, "BEGIN").unwrap();
        let before = test.value(&mut idle, "SELECT balance FROM account WHERE id = 2");
        repeat(&mut test, &mut client, 100, &["UPDATE account SET balance = balance + 1 WHERE id = 2"]);
        repeat(&mut test, &mut client, 100, &["BEGIN", "SELECT sum(balance) FROM account", "ROLLBACK"]);
        repeat(&mut test, &mut client, 100, &["BEGIN", "ROLLBACK"]);
        assert!(test.database.store.version_count() <= 32, "{level}: {}", test.database.store.version_count());
        if let Ok(skew_sql::Answer::Rows(rows)) =
            run(&mut test.database, &mut idle, "SELECT balance FROM account WHERE id = 2")
        {
            let again = rows.rows[0][0].clone();
            assert!(again == before || level == Level::ReadCommitted, "{level}: {before:?}, then {again:?}");
        }
        let _ = run(&mut test.database, &mut idle, "ROLLBACK");
        repeat(&mut test, &mut client, 20, &["UPDATE account SET balance = balance + 1 WHERE id = 2"]);
        assert!(test.database.store.version_count() <= 32, "{level}: {}", test.database.store.version_count());
        test.assert_level();
    }
}

/// Ten thousand clients that come, look and go.
#[test]
fn clients_that_come_and_go_are_forgotten() {
    let (mut test, _client) = begin_test(Level::Causal);
    for _ in 0..2_000 {
        let mut client = test.connect("short");
        run(&mut test.database, &mut client, "SELECT balance FROM account WHERE id = 1").unwrap();
        run(&mut test.database, &mut client, "BEGIN").unwrap();
        client.close(&mut test.database);
        assert!(test.database.store.transaction_count() <= MOST_TRANSACTIONS);
    }
}
