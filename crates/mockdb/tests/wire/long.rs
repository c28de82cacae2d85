//! Statements that work for long, or sleep: others go on, and who does not want the answer any more is not answered.

use crate::raw::{Raw, message, text};
use crate::{Served, settings};
use skew_mockdb::wire::Schedule;
use skew_mockdb::{ChooserKind, Level};
use std::time::Duration;

/// They would go on for a minute and more.
const LONG: [&str; 4] = [
    "SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b WHERE a + b = 7",
    "SELECT count(*) FROM account, generate_series(1, 30000) a, generate_series(1, 30000) b",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000000) SELECT count(*) FROM n",
    "SELECT pg_sleep(600)",
];

impl Served {
    /// Waits until so many statements are at work.
    fn until_working(&self, count: usize) {
        let working = || self.server.as_ref().and_then(|server| server.activity()).map(|activity| activity.working);
        while working() != Some(count) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn begin(client: &mut Raw, sql: &str) {
    client.send(&message(b'Q', &text(sql)));
}

#[test]
fn while_a_statement_works_others_log_in_and_are_answered() {
    let served = Served::new();
    let mut busy = served.with_accounts();
    busy.query("SET statement_timeout = '60s'");
    for long in LONG {
        begin(&mut busy, long);
        served.until_working(1);
        let mut other = served.connect();
        for _ in 0..20 {
            assert_eq!(other.query("UPDATE account SET balance = balance + 1 WHERE id = 1"), ["C UPDATE 1", "Z I"]);
        }
        // It is still at work, or those would have waited for it.
        served.until_working(1);
        crate::leaving::cancel(&busy, busy.key.1);
        assert_eq!(busy.told(), ["E 57014", "Z I"], "{long}");
        served.until_working(0);
    }
    assert_eq!(busy.query("SELECT balance FROM account WHERE id = 1")[0], "D 180");
    served.stop();
}

#[test]
fn while_a_statement_works_the_waits_of_others_have_an_end() {
    let served = Served::new();
    let (mut busy, mut holder, mut waiter) = (served.with_accounts(), served.connect(), served.connect());
    begin(&mut busy, LONG[0]);
    served.until_working(1);
    holder.query("BEGIN; UPDATE account SET balance = 5 WHERE id = 1");
    waiter.query("SET lock_timeout = '10ms'");
    assert_eq!(waiter.query("UPDATE account SET balance = 6 WHERE id = 1"), ["E 55P03", "Z I"]);
    waiter.query("SET lock_timeout = 0; SET statement_timeout = '10ms'");
    assert_eq!(waiter.query("UPDATE account SET balance = 6 WHERE id = 1"), ["E 57014", "Z I"]);
    assert_eq!(waiter.query(LONG[1]), ["E 57014", "Z I"]);
    assert_eq!(waiter.query(LONG[3]), ["E 57014", "Z I"]);
    served.until_working(1);
    served.stop();
}

#[test]
fn a_statement_ends_with_its_client() {
    let served = Served::new();
    let mut other = served.with_accounts();
    for long in LONG {
        let mut client = served.connect();
        client.query("BEGIN; UPDATE account SET balance = 7 WHERE id = 2");
        begin(&mut client, long);
        served.until_working(1);
        drop(client);
        served.until_working(0);
        // What it had locked is free.
        assert_eq!(other.query("UPDATE account SET balance = 8 WHERE id = 2"), ["C UPDATE 1", "Z I"], "{long}");
    }
    served.stop();
}

#[test]
fn statements_that_work_end_with_the_server() {
    let served = Served::new();
    let mut clients: Vec<Raw> =
        std::iter::once(served.with_accounts()).chain((1..4).map(|_| served.connect())).collect();
    clients.iter_mut().zip(LONG).for_each(|(client, long)| begin(client, long));
    served.until_working(4);
    assert_eq!(served.stop().recording_failure, None);
}

/// What others commit in the middle of a statement is like what they commit while it waits: the history is one of the level.
#[test]
fn a_long_statement_and_those_that_commit_meanwhile_keep_the_level() {
    for level in [Level::ReadCommitted, Level::Causal, Level::Snapshot, Level::Serializable] {
        let served = Served::with(level, ChooserKind::Random, settings());
        let (mut long, mut other) = (served.with_accounts(), served.connect());
        let sum = "SELECT sum((SELECT balance FROM account WHERE id = 1 + n % 2)) FROM generate_series(1, 3000) n, \
                   generate_series(1, 20) m";
        begin(&mut long, &format!("BEGIN; UPDATE account SET balance = ({sum}) WHERE id = 2"));
        served.until_working(1);
        for _ in 0..30 {
            let told = other.query("UPDATE account SET balance = balance + 1 WHERE id = 1");
            assert!(told == ["C UPDATE 1", "Z I"] || told == ["E 40001", "Z I"], "{told:?}");
        }
        let told = long.told();
        let done = told.contains(&"C UPDATE 1".to_owned()) || told.contains(&"E 40001".to_owned());
        assert!(done, "{told:?}");
        long.query("COMMIT");
        served.stop();
    }
}

#[test]
fn one_schema_is_changed_at_a_time_however_long_it_takes() {
    let served = Served::new();
    let (mut one, mut other) = (served.connect(), served.connect());
    begin(&mut one, "CREATE TABLE one AS SELECT n FROM generate_series(1, 30000) n");
    begin(&mut other, "CREATE TABLE other AS SELECT -n AS n FROM generate_series(1, 30000) n");
    let (first, second) = (one.told(), other.told());
    assert_eq!(first, ["C SELECT", "Z I"]);
    assert_eq!(second, ["C SELECT", "Z I"]);
    assert_eq!(one.query("SELECT min(n), max(n), count(*) FROM one")[0], "D 1|30000|30000");
    assert_eq!(one.query("SELECT min(n), max(n), count(*) FROM other")[0], "D -30000|-1|30000");
    served.stop();
}

#[test]
fn a_sleep_is_over_after_its_time() {
    let served = Served::new();
    let mut client = served.with_accounts();
    assert_eq!(client.query("SELECT pg_sleep(0.01)"), ["D ", "C SELECT 1", "Z I"]);
    assert_eq!(client.query("SELECT pg_sleep(-1), pg_sleep(0)"), ["D |", "C SELECT 1", "Z I"]);
    assert_eq!(client.query("SELECT pg_sleep_for('5 milliseconds')"), ["D ", "C SELECT 1", "Z I"]);
    assert_eq!(client.query("SELECT pg_sleep_until(now() + '5 ms')"), ["D ", "C SELECT 1", "Z I"]);
    assert_eq!(client.query("SELECT pg_sleep(NULL)"), ["D NULL", "C SELECT 1", "Z I"]);
    client.query("SET statement_timeout = '20ms'");
    for sleep in ["pg_sleep(600)", "pg_sleep_for('10 minutes')", "pg_sleep_until(now() + '1 hour')"] {
        assert_eq!(client.query(&format!("SELECT {sleep}")), ["E 57014", "Z I"], "{sleep}");
    }
    served.stop();
}

/// Its transaction goes on: others come after it.
#[test]
fn who_sleeps_keeps_the_turn_where_transactions_are_serial() {
    let schedule = Schedule::Serial { patience: Duration::from_millis(20) };
    let served =
        Served::with(Level::ReadCommitted, ChooserKind::Latest, crate::WireSettings { schedule, ..settings() });
    let (mut sleeper, mut other) = (served.with_accounts(), served.connect());
    begin(&mut sleeper, "BEGIN; UPDATE account SET balance = 1 WHERE id = 1; SELECT pg_sleep(0.2); COMMIT");
    served.until_working(1);
    assert_eq!(other.query("SELECT balance FROM account WHERE id = 1")[0], "D 1");
    assert_eq!(sleeper.told().last().map(String::as_str), Some("Z I"));
    assert_eq!(served.stop().passed, 0);
}
