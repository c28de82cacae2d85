//! Statements as text.

use crate::Served;
use crate::raw::{message, text};

#[test]
fn a_query_answers_rows_and_says_how_many() {
    let served = Served::new();
    let mut client = served.with_accounts();
    assert_eq!(client.query("SELECT * FROM account ORDER BY id"), ["D 1|100", "D 2|0", "C SELECT 2", "Z I"]);
    assert_eq!(client.query("SELECT NULL"), ["D NULL", "C SELECT 1", "Z I"]);
    assert_eq!(client.query("UPDATE account SET balance = 5"), ["C UPDATE 2", "Z I"]);
    assert_eq!(client.query("DELETE FROM account WHERE id = 2"), ["C DELETE 1", "Z I"]);
    assert_eq!(client.query(" ; "), ["I", "Z I"]);
    assert_eq!(client.query("EXPLAIN SELECT 1").pop().unwrap(), "Z I");
    served.stop();
}

#[test]
fn the_statements_of_one_query_are_one_transaction() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let told = client.query("INSERT INTO account VALUES (3, 1); SELECT 1/0; INSERT INTO account VALUES (4, 1)");
    assert_eq!(told, ["C INSERT 0 1", "E 22012", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["D 2", "C SELECT 1", "Z I"]);
    let told = client.query("INSERT INTO account VALUES (3, 1); COMMIT; INSERT INTO account VALUES (3, 1)");
    assert_eq!(told, ["C INSERT 0 1", "C COMMIT", "E 23505", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["D 3", "C SELECT 1", "Z I"]);
    let told = client.query("INSERT INTO account VALUES (4, 1); BEGIN; INSERT INTO account VALUES (5, 1)");
    assert_eq!(told, ["C INSERT 0 1", "C BEGIN", "C INSERT 0 1", "Z T"]);
    assert_eq!(client.query("ROLLBACK"), ["C ROLLBACK", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["D 3", "C SELECT 1", "Z I"]);
    served.stop();
}

#[test]
fn nothing_is_run_of_a_text_with_a_mistake() {
    let served = Served::new();
    let mut client = served.with_accounts();
    assert_eq!(client.query("DELETE FROM account; SELEC 1"), ["E 42601", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["D 2", "C SELECT 1", "Z I"]);
    served.stop();
}

#[test]
fn the_status_says_where_a_transaction_stands() {
    let served = Served::new();
    let mut client = served.with_accounts();
    assert_eq!(client.query("BEGIN"), ["C BEGIN", "Z T"]);
    assert_eq!(client.query("SELECT nothing"), ["E 42703", "Z E"]);
    assert_eq!(client.query("SELECT 1"), ["E 25P02", "Z E"]);
    assert_eq!(client.query("SELECT * FROM nowhere"), ["E 25P02", "Z E"]);
    assert_eq!(client.query("COMMIT"), ["C ROLLBACK", "Z I"]);
    assert_eq!(client.query("BEGIN; SAVEPOINT s; SELECT nothing"), ["C BEGIN", "C SAVEPOINT", "E 42703", "Z E"]);
    assert_eq!(client.query("ROLLBACK TO s"), ["C ROLLBACK", "Z T"]);
    assert_eq!(client.query("END"), ["C COMMIT", "Z I"]);
    served.stop();
}

#[test]
fn an_error_tells_where_and_which_constraint() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.send(&message(b'Q', &text("SELECT é, nothing FROM\n account")));
    let heard = client.until_ready();
    assert_eq!((heard[0].field(b'S').as_deref(), heard[0].field(b'V').as_deref()), (Some("ERROR"), Some("ERROR")));
    client.send(&message(b'Q', &text("SELECT 'é',\n ((1 FROM account")));
    assert!(client.until_ready()[0].field(b'P').is_some());
    client.send(&message(b'Q', &text("INSERT INTO account VALUES (1, 1)")));
    assert_eq!(client.until_ready()[0].field(b'n').as_deref(), Some("account_pkey"));
    served.stop();
}

#[test]
fn settings_are_told_at_once_and_come_back_with_a_rollback() {
    let served = Served::new();
    let mut client = served.connect();
    let status = |client: &mut crate::Raw, sql: &str| {
        client.send(&message(b'Q', &text(sql)));
        let heard = client.until_ready();
        let status = heard.into_iter().filter(|heard| heard.letter == 'S');
        status.map(|heard| String::from_utf8(heard.body).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(status(&mut client, "SET application_name = 'shop'"), ["application_name\0shop\0"]);
    assert_eq!(status(&mut client, "SET application_name = 'shop'"), [""; 0]);
    assert_eq!(status(&mut client, "BEGIN; SET TimeZone TO 'UTC'; SET application_name TO x").len(), 1);
    assert_eq!(status(&mut client, "ROLLBACK"), ["application_name\0shop\0"]);
    assert_eq!(client.query("SHOW application_name"), ["D shop", "C SHOW", "Z I"]);
    assert_eq!(client.query("SET client_encoding TO 'UTF8'"), ["C SET", "Z I"]);
    assert_eq!(client.query("SET client_encoding TO 'latin1'"), ["E 22023", "Z I"]);
    assert_eq!(client.query("SHOW nothing"), ["E 42704", "Z I"]);
    for good in
        ["TimeZone = 'Etc/UTC'", "TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE", "DateStyle = ISO", "bytea_output = hex"]
    {
        assert_eq!(client.query(&format!("SET {good}")), ["C SET", "Z I"], "{good}");
    }
    assert_eq!(client.query("SHOW DateStyle")[0], "D ISO, MDY");
    for bad in
        ["TimeZone = 'Nowhere/Land'", "DateStyle = 'German'", "IntervalStyle = iso_8601", "bytea_output = 'escape'"]
    {
        assert_eq!(client.query(&format!("SET {bad}")), ["E 22023", "Z I"], "{bad}");
    }
    assert_eq!(client.query("RESET application_name"), ["C RESET", "Z I"]);
}

#[test]
fn levels_that_clients_ask_for_are_their_transactions() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.query("BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE account SET balance = 1; COMMIT");
    client.query("BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE account SET balance = 2; COMMIT");
    client.query("UPDATE account SET balance = 3");
    let text = served.tape.text();
    for level in ["serializable", "snapshot", "read-committed"] {
        assert!(text.contains(&format!("\"level\":\"{level}\"")), "{text}");
    }
    served.stop();
}

#[test]
fn what_does_nothing_is_warned_of() {
    let served = Served::new();
    let mut client = served.connect();
    let warned = |client: &mut crate::Raw, sql: &str| {
        client.send(&message(b'Q', &text(sql)));
        let heard = client.until_ready();
        heard
            .into_iter()
            .filter(|heard| heard.letter == 'N')
            .map(|heard| heard.field(b'C').unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(warned(&mut client, "COMMIT"), ["25P01"]);
    assert_eq!(warned(&mut client, "BEGIN"), [""; 0]);
    assert_eq!(warned(&mut client, "BEGIN"), ["25001"]);
    assert_eq!(warned(&mut client, "ROLLBACK"), [""; 0]);
    assert_eq!(warned(&mut client, "ROLLBACK"), ["25P01"]);
}

#[test]
fn what_was_written_before_a_column_had_another_name_is_still_what_was_written() {
    let served = Served::new();
    let mut client = served.connect();
    client.query("CREATE TABLE shelf (id INT PRIMARY KEY, label TEXT, room TEXT)");
    client.query("INSERT INTO shelf VALUES (1, 'left', 'hall')");
    client.query("ALTER TABLE shelf RENAME COLUMN room TO place");
    client.query("ALTER TABLE shelf ADD COLUMN height INT DEFAULT 3");
    assert_eq!(client.query("SELECT * FROM shelf")[0], "D 1|left|hall|3");
    client.query("ALTER TABLE shelf RENAME TO rack");
    assert_eq!(client.query("SELECT place FROM rack")[0], "D hall");
    served.stop();
}

#[test]
fn violations_tell_which_key() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.send(&message(b'Q', &text("INSERT INTO account VALUES (1, 1)")));
    assert_eq!(client.until_ready()[0].field(b'D').as_deref(), Some("Key (id)=(1) already exists."));
}

#[test]
fn settings_are_obeyed_or_refused() {
    let served = Served::new();
    let mut client = served.connect();
    for (sql, told) in [
        ("SET statement_timeout = 'soon'", "E 22023"),
        ("SET statement_timeout = '0.2s'", "C SET"),
        ("SET server_version = '9.6'", "E 55P02"),
        ("SET standard_conforming_strings = off", "E 22023"),
        ("SET TimeZone = 'Nowhere/Land'", "E 22023"),
    ] {
        assert_eq!(client.query(sql)[0], told, "{sql}");
    }
    client.query(&format!("SET application_name = '{}'", "x".repeat(100)));
    assert_eq!(client.query("SHOW application_name")[0], format!("D {}", "x".repeat(63)));
}

#[test]
fn settings_of_one_query_are_taken_back_with_it() {
    let served = Served::new();
    let mut client = served.connect();
    client.query("SET lock_timeout = 5");
    client.query("SET lock_timeout = 6; SELECT 1/0");
    assert_eq!(client.query("SHOW lock_timeout")[0], "D 5");
    assert_eq!(client.query("SET LOCAL lock_timeout = 7; SHOW lock_timeout")[1], "D 7");
    assert_eq!(client.query("SHOW lock_timeout")[0], "D 5");
    client.query("SET lock_timeout = 8; SELECT 1");
    assert_eq!(client.query("SHOW lock_timeout")[0], "D 8");
    client.query("SET skew.level = 'causal'; SET skew.chooser = 'stalest'");
    assert_eq!(client.query("DISCARD ALL"), ["C DISCARD ALL", "Z I"]);
    assert_eq!(client.query("SHOW lock_timeout")[0], "D 0");
    assert_eq!(client.query("SHOW skew.level")[0], "D read-committed");
}

#[test]
fn a_table_of_a_schema_that_is_not_there_is_not_there_either() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let undefined_table = [
        "SELECT * FROM nope.t",
        "TABLE nope.t",
        "INSERT INTO nope.t VALUES (1)",
        "UPDATE nope.t SET a = 1",
        "DELETE FROM nope.t",
        "WITH x AS (SELECT * FROM nope.t) SELECT 1",
        "INSERT INTO account SELECT 1, 1 FROM nope.t",
        "CREATE VIEW v AS SELECT * FROM nope.t",
        "EXPLAIN SELECT * FROM nope.t",
    ];
    for statement in undefined_table {
        assert_eq!(client.query(statement), ["E 42P01", "Z I"], "{statement}");
    }
    let undefined_schema = [
        "CREATE TABLE nope.t (a INT)",
        "CREATE VIEW nope.v AS SELECT 1",
        "CREATE SEQUENCE nope.s",
        "CREATE INDEX i ON nope.t (a)",
        "ALTER TABLE nope.t ADD COLUMN b INT",
        "TRUNCATE nope.t",
        "COPY nope.t FROM STDIN",
        "COPY nope.t TO STDOUT",
        "DROP TABLE nope.t",
        "SELECT nextval('nope.s')",
        "SELECT 'nope.account'::regclass",
    ];
    for statement in undefined_schema {
        assert_eq!(client.query(statement), ["E 3F000", "Z I"], "{statement}");
    }
    assert_eq!(client.query("ALTER TABLE IF EXISTS nope.t ADD COLUMN b INT")[0], "C ALTER TABLE");
    assert_eq!(client.query("SELECT to_regclass('nope.account')")[0], "D NULL");
    served.stop();
}
