//! SQL on the weak store: transactions, failures, catalogs, and the anomalies that levels allow.

mod advisory;
mod locks;
mod settings;
mod steady;

use skew_check::{Budget, check};
use skew_history::History;
use skew_mockdb::{
    Campaign, ChooserKind, Connection, Database, Granularity, Level, Options, Record, Status, Store, Tape, Updates,
};
use skew_sql::{Answer, Catalog, Interrupt, Stop};
use skew_value::{Datum, Dialect};
use std::sync::Arc;

struct Test {
    database: Database,
    tape: Tape,
    level: Level,
}

impl Test {
    /// A database whose initial state these statements make.
    fn new(options: Options, kind: ChooserKind, schema: &[&str]) -> Test {
        let level = options.level;
        let store = Store::new(options.clone(), kind.build(options.seed, &Campaign::default()));
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        let mut loader = Connection::open(&mut database, "loader", Dialect::Postgres);
        for statement in schema {
            run(&mut database, &mut loader, statement).unwrap_or_else(|stop| panic!("{statement}: {stop:?}"));
        }
        loader.close(&mut database);
        let tape = Tape::default();
        database.store.start(Record { history: Some(Box::new(tape.clone())), choices: None }, "");
        Test { database, tape, level }
    }

    fn connect(&mut self, name: &str) -> Connection {
        Connection::open(&mut self.database, name, Dialect::Postgres)
    }

    fn run(&mut self, connection: &mut Connection, sql: &str) -> Result<Answer, Stop> {
        run(&mut self.database, connection, sql)
    }

    fn value(&mut self, connection: &mut Connection, sql: &str) -> Datum {
        match self.run(connection, sql) {
            Ok(Answer::Rows(rows)) => rows.rows.first().and_then(|row| row.first().cloned()).unwrap_or(Datum::Null),
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn text(&self) -> String {
        self.tape.text()
    }

    fn history(&self) -> History {
        self.tape.history().unwrap_or_else(|error| panic!("{error}\n{}", self.text()))
    }

    fn assert_level(&self) {
        assert!(check(&self.history(), self.level, Budget::UNLIMITED).holds(), "{}\n{}", self.level, self.text());
    }
}

fn run(database: &mut Database, connection: &mut Connection, sql: &str) -> Result<Answer, Stop> {
    let statements = connection.session().parse(sql)?;
    let prepared = connection.prepare(database, &statements[0], &[])?;
    connection.execute(database, &prepared, &[])
}

fn state(result: Result<Answer, Stop>) -> &'static str {
    match result {
        Err(Stop::Error(error)) => error.state.0,
        other => panic!("{other:?}"),
    }
}

const ACCOUNTS: [&str; 2] =
    ["CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)", "INSERT INTO account VALUES (1, 100), (2, 0)"];

#[test]
fn statements_commit_by_themselves_and_rows_are_told_readably() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    assert_eq!(test.value(&mut a, "SELECT balance FROM account WHERE id = 1"), Datum::Integer(100));
    test.run(&mut a, "UPDATE account SET balance = balance - 60 WHERE id = 1").unwrap();
    assert_eq!(test.value(&mut a, "SELECT balance FROM account WHERE id = 1"), Datum::Integer(40));
    let text = test.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "{\"skew\":1,\"initial\":{\"account/1\":100,\"account/2\":0}}");
    let update = "\"sql\":\"UPDATE account SET balance = balance - 60 WHERE id = 1\"";
    let expected = format!(
        "{{\"r\":\"account/1\",\"v\":100,\"from\":null,\"lock\":true,{update}}},{{\"w\":\"account/1\",\"v\":40,{update}}}]"
    );
    assert!(lines[2].contains(&expected), "{}", lines[2]);
    test.assert_level();
}

#[test]
fn a_failed_transaction_only_listens_to_its_end() {
    let mut test = Test::new(Options::new(Level::Snapshot, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    test.run(&mut a, "BEGIN").unwrap();
    test.run(&mut a, "UPDATE account SET balance = 1 WHERE id = 1").unwrap();
    test.run(&mut a, "SAVEPOINT s").unwrap();
    assert_eq!(state(test.run(&mut a, "INSERT INTO account VALUES (2, 5)")), "23505");
    assert_eq!(a.status(), Status::Failed);
    assert_eq!(state(test.run(&mut a, "SELECT 1")), "25P02");
    test.run(&mut a, "ROLLBACK TO SAVEPOINT s").unwrap();
    assert_eq!(test.value(&mut a, "SELECT balance FROM account WHERE id = 1"), Datum::Integer(1));
    assert_eq!(state(test.run(&mut a, "SELECT 1 / 0")), "22012");
    assert_eq!(test.run(&mut a, "COMMIT"), Ok(Answer::Done("ROLLBACK".into())));
    assert_eq!(test.value(&mut a, "SELECT balance FROM account WHERE id = 1"), Datum::Integer(100));
    test.run(&mut a, "BEGIN READ ONLY").unwrap();
    assert_eq!(state(test.run(&mut a, "DELETE FROM account WHERE id = 1")), "25006");
    test.run(&mut a, "ROLLBACK").unwrap();
    test.assert_level();
}

#[test]
fn a_schema_is_seen_by_others_when_it_is_committed() {
    let mut test = Test::new(Options::new(Level::ReadCommitted, 3), ChooserKind::Stalest, &ACCOUNTS);
    let (mut a, mut b) = (test.connect("a"), test.connect("b"));
    test.run(&mut a, "BEGIN").unwrap();
    test.run(&mut a, "CREATE TABLE note (id INT PRIMARY KEY, words TEXT)").unwrap();
    test.run(&mut a, "INSERT INTO note VALUES (1, 'x')").unwrap();
    assert_eq!(state(test.run(&mut b, "SELECT * FROM note")), "42P01");
    test.run(&mut a, "COMMIT").unwrap();
    assert_eq!(test.value(&mut b, "SELECT words FROM note WHERE id = 1"), Datum::text("x"));
    test.run(&mut a, "DROP TABLE note").unwrap();
    test.run(&mut a, "CREATE TABLE note (id INT PRIMARY KEY, words TEXT)").unwrap();
    assert_eq!(test.value(&mut b, "SELECT count(*) FROM note"), Datum::Integer(0));
    test.run(&mut b, "INSERT INTO note VALUES (1, 'y')").unwrap();
    assert!(test.text().contains("\"note~2/1\""), "{}", test.text());
    test.run(&mut a, "BEGIN").unwrap();
    test.run(&mut a, "CREATE TABLE gone (id INT PRIMARY KEY)").unwrap();
    test.run(&mut a, "ROLLBACK").unwrap();
    assert_eq!(state(test.run(&mut a, "SELECT * FROM gone")), "42P01");
    test.assert_level();
}

/// Eight sessions increment one balance in rounds; their statements overlap, and those that wait go on later.
fn increments(options: Options) -> (Test, Datum) {
    let mut test = Test::new(options, ChooserKind::Random, &ACCOUNTS);
    let mut sessions: Vec<Connection> = (0..8).map(|number| test.connect(&format!("s{number}"))).collect();
    let increment = "UPDATE account SET balance = balance + 1 WHERE id = 2";
    for _ in 0..3 {
        for session in &mut sessions {
            test.run(session, "BEGIN").unwrap();
        }
        let mut open: Vec<usize> = (0..sessions.len()).collect();
        while !open.is_empty() {
            open.retain(|&number| match test.run(&mut sessions[number], increment) {
                Err(Stop::Interrupted(Interrupt::Wait)) => true,
                Err(_) => test.run(&mut sessions[number], "ROLLBACK").is_err(),
                Ok(_) => test.run(&mut sessions[number], "COMMIT").is_err(),
            });
        }
    }
    let mut last = Connection::open(&mut test.database, "last", Dialect::Postgres);
    let found = test.value(&mut last, "SELECT balance FROM account WHERE id = 2");
    (test, found)
}

#[test]
fn an_update_that_increments_loses_nothing_by_default_and_does_when_it_is_plain() {
    let (test, found) = increments(Options::new(Level::ReadCommitted, 7));
    assert_eq!(found, Datum::Integer(24));
    test.assert_level();
    let plain = Options { updates: Updates::Plain, ..Options::new(Level::ReadCommitted, 7) };
    let (test, found) = increments(plain);
    assert_ne!(found, Datum::Integer(24));
    test.assert_level();
}

fn count_then_insert(level: Level, granularity: Granularity, seed: u64) -> (Test, usize) {
    let options = Options { granularity, ..Options::new(level, seed) };
    let mut test = Test::new(options, ChooserKind::Random, &ACCOUNTS);
    let mut sessions = [test.connect("a"), test.connect("b")];
    for session in &mut sessions {
        test.run(session, "BEGIN").unwrap();
    }
    for session in &mut sessions {
        assert_eq!(test.value(session, "SELECT count(*) FROM account"), Datum::Integer(2));
    }
    for (number, session) in sessions.iter_mut().enumerate() {
        let inserted = test.run(session, &format!("INSERT INTO account VALUES ({}, 0)", number + 7));
        let _ = inserted.and_then(|_| test.run(session, "COMMIT"));
    }
    let rows = test.database.store.latest_rows().len();
    (test, rows)
}

#[test]
fn count_then_insert_shows_the_phantom_at_snapshot_and_never_at_serializable() {
    for granularity in [Granularity::Row, Granularity::Cell] {
        for seed in 0..10 {
            let (test, rows) = count_then_insert(Level::Snapshot, granularity, seed);
            assert_eq!(rows, 4);
            test.assert_level();
            assert!(check(&test.history(), Level::Serializable, Budget::UNLIMITED).fails());
            let (test, rows) = count_then_insert(Level::Serializable, granularity, seed);
            assert_eq!(rows, 3);
            test.assert_level();
        }
    }
}

#[test]
fn a_row_that_moves_into_a_range_of_an_index_is_noticed() {
    let schema = [
        "CREATE TABLE item (id INT PRIMARY KEY, price INT)",
        "CREATE INDEX by_price ON item (price)",
        "INSERT INTO item VALUES (1, 10)",
    ];
    let mut test = Test::new(Options::new(Level::Snapshot, 2), ChooserKind::Latest, &schema);
    let (mut a, mut b) = (test.connect("a"), test.connect("b"));
    test.run(&mut a, "BEGIN").unwrap();
    assert_eq!(test.value(&mut a, "SELECT count(*) FROM item WHERE price > 20"), Datum::Integer(0));
    test.run(&mut b, "UPDATE item SET price = 30 WHERE id = 1").unwrap();
    test.run(&mut a, "INSERT INTO item VALUES (2, 5)").unwrap();
    test.run(&mut a, "COMMIT").unwrap();
    assert!(test.text().contains("\"scan\":\"item@by_price/\""), "{}", test.text());
    assert_eq!(test.value(&mut b, "SELECT id FROM item WHERE price > 20"), Datum::Integer(1));
    test.assert_level();
}

#[test]
fn dates_and_the_like_are_recorded_as_they_are_written() {
    let schema = [
        "CREATE TABLE event (id INT PRIMARY KEY, day DATE, hour TIME, moment TIMESTAMP, name UUID, words TEXT[])",
        "INSERT INTO event VALUES (1, '2024-02-29', '12:30', '2024-02-29 12:30:15', \
         'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', ARRAY['x', 'y'])",
    ];
    let test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &schema);
    let row = "day=2024-02-29 hour=12:30:00 moment=2024-02-29 12:30:15 \
               name=a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 words={x,y}";
    assert!(test.text().contains(row), "{}", test.text());
}
