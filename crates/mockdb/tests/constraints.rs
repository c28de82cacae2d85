//! Constraints on the weak store: whatever a level lets a transaction see, no constraint is ever broken by what commits.
//!
//! Sessions run their statements interleaved as a seed says, and reads return what the random chooser picks. In the end a connection
//! that has seen everything looks at the rows.

use skew_check::{Budget, check};
use skew_mockdb::{Campaign, ChooserKind, Connection, Database, Level, Options, Record, Status, Store, Tape, Updates};
use skew_sql::{Answer, Catalog, Interrupt, Stop};
use skew_value::{Datum, Dialect};
use std::sync::Arc;

/// A database, the tape of its history, and the order of arrival.
struct Stage {
    database: Database,
    tape: Tape,
    level: Level,
    order: u64,
}

/// How a session's transaction ended: nothing, or the SQLSTATE that it was refused with.
type Refusal = Option<String>;

impl Stage {
    fn new(level: Level, seed: u64, schema: &[&str]) -> Stage {
        Stage::of(Options::new(level, seed), schema)
    }

    /// One whose updates do not lock.
    fn plain(level: Level, seed: u64, schema: &[&str]) -> Stage {
        Stage::of(Options { updates: Updates::Plain, ..Options::new(level, seed) }, schema)
    }

    fn of(options: Options, schema: &[&str]) -> Stage {
        let (level, seed) = (options.level, options.seed);
        let store = Store::new(options, ChooserKind::Random.build(seed, &Campaign::default()));
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        let tape = Tape::default();
        let mut loader = Connection::open(&mut database, "loader", Dialect::Postgres);
        for statement in schema {
            run(&mut database, &mut loader, statement).unwrap_or_else(|stop| panic!("{statement}: {stop:?}"));
        }
        loader.close(&mut database);
        database.store.start(Record { history: Some(Box::new(tape.clone())), choices: None }, "");
        Stage { database, tape, level, order: seed }
    }

    fn connect(&mut self, name: &str) -> Connection {
        Connection::open(&mut self.database, name, Dialect::Postgres)
    }

    fn run(&mut self, connection: &mut Connection, sql: &str) -> Result<Answer, Stop> {
        run(&mut self.database, connection, sql)
    }

    /// A number below a bound, from the seed.
    fn below(&mut self, bound: usize) -> usize {
        self.order = self.order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.order >> 33) as usize % bound
    }

    /// One session per program, their statements interleaved.
    fn interleave(&mut self, programs: &[&[&str]]) -> Vec<Refusal> {
        let mut sessions: Vec<Connection> =
            (0..programs.len()).map(|number| self.connect(&format!("s{number}"))).collect();
        let mut next = vec![0; programs.len()];
        let mut refusals = vec![None; programs.len()];
        for _ in 0..10_000 {
            let open: Vec<usize> =
                (0..programs.len()).filter(|&number| next[number] < programs[number].len()).collect();
            if open.is_empty() {
                return refusals;
            }
            let chosen = open[self.below(open.len())];
            match self.run(&mut sessions[chosen], programs[chosen][next[chosen]]) {
                Ok(_) => next[chosen] += 1,
                Err(Stop::Interrupted(Interrupt::Wait)) => {}
                Err(stop) => {
                    refusals[chosen] = Some(state(Err(stop)));
                    next[chosen] = programs[chosen].len();
                    if sessions[chosen].status() == Status::Failed {
                        self.run(&mut sessions[chosen], "ROLLBACK").unwrap();
                    }
                }
            }
        }
        panic!("nobody comes to an end: {}", self.tape.text());
    }

    /// The only value of a query, as somebody sees it who has seen everything.
    fn final_value(&mut self, sql: &str) -> Datum {
        let mut last = self.connect("last");
        let answer = self.run(&mut last, sql);
        last.close(&mut self.database);
        match answer {
            Ok(Answer::Rows(rows)) => rows.rows[0][0].clone(),
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn assert_level(&self) {
        let history = self.tape.history().unwrap_or_else(|error| panic!("{error}\n{}", self.tape.text()));
        assert!(check(&history, self.level, Budget::UNLIMITED).holds(), "{}\n{}", self.level, self.tape.text());
    }
}

fn run(database: &mut Database, connection: &mut Connection, sql: &str) -> Result<Answer, Stop> {
    let statements = connection.session().parse(sql)?;
    let prepared = connection.prepare(database, &statements[0], &[])?;
    connection.execute(database, &prepared, &[])
}

fn state(result: Result<Answer, Stop>) -> String {
    match result {
        Err(Stop::Error(error)) => error.state.0.to_owned(),
        Err(Stop::Interrupted(Interrupt::Deadlock)) => "40P01".to_owned(),
        Err(Stop::Interrupted(Interrupt::SerializationFailure)) => "40001".to_owned(),
        other => panic!("{other:?}"),
    }
}

const WEAK: [Level; 2] = [Level::ReadCommitted, Level::Causal];

fn shops(action: &str) -> [String; 3] {
    [
        "CREATE TABLE shop (id INT PRIMARY KEY)".to_owned(),
        format!("CREATE TABLE item (id INT PRIMARY KEY, shop INT REFERENCES shop {action})"),
        "INSERT INTO shop VALUES (3), (4)".to_owned(),
    ]
}

const ORPHANS: &str = "SELECT count(*) FROM item WHERE shop NOT IN (SELECT id FROM shop)";

#[test]
fn a_parent_that_goes_leaves_no_orphan_whatever_its_session_sees() {
    let mut refused = 0;
    for (level, seed) in WEAK.into_iter().flat_map(|level| (0..60).map(move |seed| (level, seed))) {
        let schema = shops("");
        let mut stage = Stage::new(level, seed, &schema.each_ref().map(String::as_str));
        let refusals = stage.interleave(&[
            &["BEGIN", "INSERT INTO item VALUES (1, 3)", "COMMIT"],
            &["BEGIN", "SELECT count(*) FROM item", "DELETE FROM shop WHERE id = 3", "COMMIT"],
            &["UPDATE item SET shop = 4 WHERE id = 1", "DELETE FROM item WHERE shop = 3"],
        ]);
        assert!(refusals.iter().flatten().all(|state| state == "23503" || state == "40P01"), "{refusals:?}");
        refused += refusals.iter().flatten().count();
        assert_eq!(stage.final_value(ORPHANS), Datum::Integer(0), "{level} {seed}\n{}", stage.tape.text());
        stage.assert_level();
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn a_stale_child_goes_with_its_parent() {
    for (level, seed) in WEAK.into_iter().flat_map(|level| (0..60).map(move |seed| (level, seed))) {
        let schema = shops("ON DELETE CASCADE");
        let mut stage = Stage::new(level, seed, &schema.each_ref().map(String::as_str));
        let refusals = stage.interleave(&[
            &["INSERT INTO item VALUES (1, 3)", "INSERT INTO item VALUES (2, 4)"],
            &["BEGIN", "SELECT count(*) FROM item", "DELETE FROM shop WHERE id = 3", "COMMIT"],
        ]);
        assert_eq!(refusals[1], None);
        assert_eq!(stage.final_value(ORPHANS), Datum::Integer(0), "{level} {seed}\n{}", stage.tape.text());
        assert_eq!(stage.final_value("SELECT count(*) FROM item WHERE shop = 3"), Datum::Integer(0));
        stage.assert_level();
    }
}

#[test]
fn two_rows_that_exclude_one_another_never_both_commit() {
    let schema = [
        "CREATE TABLE booking (id INT PRIMARY KEY, room INT, days INT[], EXCLUDE USING gist (room WITH =, days WITH &&))",
    ];
    for (level, seed) in WEAK.into_iter().flat_map(|level| (0..60).map(move |seed| (level, seed))) {
        let mut stage = Stage::new(level, seed, &schema);
        let refusals = stage.interleave(&[
            &["BEGIN", "INSERT INTO booking VALUES (1, 7, '{1,2}')", "COMMIT"],
            &["BEGIN", "INSERT INTO booking VALUES (2, 7, '{2,3}')", "COMMIT"],
            &["INSERT INTO booking VALUES (3, 8, '{2}')", "UPDATE booking SET room = 7 WHERE id = 3"],
        ]);
        let overlapping =
            "SELECT count(*) FROM booking a JOIN booking b ON a.id < b.id AND a.room = b.room AND a.days && b.days";
        assert_eq!(stage.final_value(overlapping), Datum::Integer(0), "{level} {seed}\n{}", stage.tape.text());
        assert!(refusals.iter().flatten().count() >= 1, "{refusals:?}");
        assert!(refusals.iter().flatten().all(|state| state == "23P01" || state == "40P01"), "{refusals:?}");
        stage.assert_level();
    }
}

#[test]
fn deferred_foreign_keys_are_looked_at_when_the_transaction_commits() {
    let schema = shops("DEFERRABLE INITIALLY DEFERRED");
    let mut stage = Stage::new(Level::Causal, 1, &schema.each_ref().map(String::as_str));
    let mut a = stage.connect("a");
    for statement in ["BEGIN", "INSERT INTO item VALUES (1, 9)", "INSERT INTO shop VALUES (9)", "COMMIT"] {
        stage.run(&mut a, statement).unwrap_or_else(|stop| panic!("{statement}: {stop:?}"));
    }
    for statement in ["BEGIN", "DELETE FROM shop WHERE id = 9", "INSERT INTO item VALUES (2, 4)"] {
        stage.run(&mut a, statement).unwrap_or_else(|stop| panic!("{statement}: {stop:?}"));
    }
    assert_eq!(state(stage.run(&mut a, "COMMIT")), "23503");
    assert_eq!(a.status(), Status::Idle);
    assert_eq!(stage.final_value("SELECT count(*) FROM shop"), Datum::Integer(3));
    assert_eq!(stage.final_value("SELECT count(*) FROM item"), Datum::Integer(1));
    assert_eq!(state(stage.run(&mut a, "INSERT INTO item VALUES (3, 99)")), "23503");
    stage.assert_level();
}

#[test]
fn a_column_that_is_added_by_a_session_that_has_seen_nothing_keeps_all_rows() {
    let schema = ["CREATE TABLE item (id INT PRIMARY KEY, price INT)", "INSERT INTO item VALUES (1, 10)"];
    let added = ["ADD COLUMN tax INT DEFAULT 7", "ADD COLUMN number SERIAL", "ADD COLUMN day TIMESTAMP DEFAULT now()"];
    for (seed, added) in (0..10).flat_map(|seed| added.map(|added| (seed, added))) {
        let mut stage = Stage::new(Level::Causal, seed, &schema);
        let (mut a, mut b) = (stage.connect("a"), stage.connect("b"));
        stage.run(&mut b, "BEGIN").unwrap();
        stage.run(&mut b, "SELECT count(*) FROM item").unwrap();
        stage.run(&mut a, "INSERT INTO item VALUES (2, 20)").unwrap();
        stage.run(&mut a, "UPDATE item SET price = 11 WHERE id = 1").unwrap();
        stage.run(&mut b, &format!("ALTER TABLE item {added}")).unwrap();
        stage.run(&mut b, "COMMIT").unwrap();
        assert_eq!(stage.final_value("SELECT count(*) FROM item"), Datum::Integer(2), "{added}");
        assert_eq!(stage.final_value("SELECT CAST(sum(price) AS INT) FROM item"), Datum::Integer(31), "{added}");
        stage.assert_level();
    }
}

#[test]
fn mysql_refuses_to_store_a_division_by_zero_and_shows_null_for_it() {
    let mut stage = Stage::new(Level::Causal, 1, &["CREATE TABLE item (id INT PRIMARY KEY, price INT)"]);
    let mut a = Connection::open(&mut stage.database, "a", Dialect::MySql);
    assert_eq!(state(stage.run(&mut a, "INSERT INTO item VALUES (1, 1 / 0)")), "22012");
    stage.run(&mut a, "INSERT INTO item VALUES (1, 5)").unwrap();
    assert_eq!(state(stage.run(&mut a, "UPDATE item SET price = price / 0 WHERE id = 1")), "22012");
    assert_eq!(state(stage.run(&mut a, "UPDATE item SET price = price % 0 WHERE id = 1")), "22012");
    match stage.run(&mut a, "SELECT price / 0, price FROM item WHERE id = 1") {
        Ok(Answer::Rows(rows)) => assert_eq!(rows.rows, [vec![Datum::Null, Datum::Integer(5)]]),
        other => panic!("{other:?}"),
    }
    stage.assert_level();
}

#[test]
fn a_row_that_comes_while_its_table_moves_is_not_lost() {
    let schema = ["CREATE TABLE item (id INT PRIMARY KEY, price INT)", "INSERT INTO item VALUES (1, 10)"];
    for (level, seed) in [Level::ReadCommitted, Level::Causal, Level::Snapshot]
        .into_iter()
        .flat_map(|level| (0..40).map(move |seed| (level, seed)))
    {
        let mut stage = Stage::new(level, seed, &schema);
        let refusals = stage.interleave(&[
            &["BEGIN", "INSERT INTO item VALUES (2, 20)", "UPDATE item SET price = price + 1 WHERE id = 2", "COMMIT"],
            &[
                "BEGIN",
                "ALTER TABLE item ALTER COLUMN price TYPE BIGINT",
                "ALTER TABLE item ADD CHECK (price < 100)",
                "COMMIT",
            ],
            &["BEGIN", "SELECT count(*) FROM item", "INSERT INTO item VALUES (3, 300)", "COMMIT"],
        ]);
        let expected = 1 + i128::from(refusals[0].is_none()) + i128::from(refusals[2].is_none());
        assert_eq!(
            stage.final_value("SELECT count(*) FROM item"),
            Datum::Integer(expected),
            "{level} {seed} {refusals:?}"
        );
        let broken = "SELECT count(*) FROM item WHERE price >= 100";
        let expected = i128::from(refusals[1].is_some() && refusals[2].is_none());
        assert_eq!(stage.final_value(broken), Datum::Integer(expected), "{level} {seed} {refusals:?}");
        stage.assert_level();
    }
}

#[test]
fn an_index_that_is_made_while_a_row_comes_has_its_entry_or_one_of_them_is_refused() {
    let schema = ["CREATE TABLE item (id INT PRIMARY KEY, price INT)"];
    for (level, seed) in WEAK.into_iter().flat_map(|level| (0..30).map(move |seed| (level, seed))) {
        let mut stage = Stage::new(level, seed, &schema);
        let refusals = stage.interleave(&[
            &["BEGIN", "INSERT INTO item VALUES (2, 20)", "COMMIT"],
            &["BEGIN", "CREATE INDEX by_price ON item (price)", "COMMIT"],
        ]);
        assert!(refusals.iter().flatten().all(|state| state == "40001"), "{refusals:?}");
        assert!(refusals.iter().flatten().count() < 2, "{refusals:?}");
        let found = i128::from(refusals[0].is_none());
        assert_eq!(
            stage.final_value("SELECT count(*) FROM item WHERE price = 20"),
            Datum::Integer(found),
            "{level} {seed}"
        );
        stage.assert_level();
    }
}

#[test]
fn a_transaction_that_sees_one_state_goes_on_with_the_table_that_it_read() {
    let schema = ["CREATE TABLE item (id INT PRIMARY KEY, price INT)", "INSERT INTO item VALUES (1, 10)"];
    for (level, seed) in
        [Level::Causal, Level::Snapshot].into_iter().flat_map(|level| (0..10).map(move |seed| (level, seed)))
    {
        let mut stage = Stage::new(level, seed, &schema);
        let (mut a, mut b) = (stage.connect("a"), stage.connect("b"));
        let count = |stage: &mut Stage, session: &mut Connection| match stage.run(session, "SELECT price FROM item") {
            Ok(Answer::Rows(rows)) => rows.rows.len(),
            other => panic!("{other:?}"),
        };
        stage.run(&mut a, "BEGIN").unwrap();
        assert_eq!(count(&mut stage, &mut a), 1);
        stage.run(&mut b, "ALTER TABLE item ADD COLUMN number SERIAL").unwrap();
        assert_eq!(count(&mut stage, &mut a), 1, "{level} {seed}");
        stage.run(&mut a, "INSERT INTO item VALUES (2, 20)").unwrap();
        assert_eq!(state(stage.run(&mut a, "COMMIT")), "40001");
        assert_eq!(count(&mut stage, &mut a), 1);
        stage.run(&mut a, "INSERT INTO item VALUES (2, 20)").unwrap();
        assert_eq!(stage.final_value("SELECT max(number) FROM item"), Datum::Integer(2));
        stage.assert_level();
    }
}

#[test]
fn a_row_that_changed_before_it_was_locked_must_still_have_its_partner() {
    let schema = [
        "CREATE TABLE shop (id INT PRIMARY KEY, live BOOLEAN)",
        "CREATE TABLE item (id INT PRIMARY KEY, shop INT, price INT)",
        "INSERT INTO shop VALUES (3, true), (4, false)",
        "INSERT INTO item VALUES (1, 3, 10)",
    ];
    let raise = "UPDATE item JOIN shop ON item.shop = shop.id AND shop.live SET item.price = 99";
    let remove = "DELETE item FROM item JOIN shop ON item.shop = shop.id AND shop.live";
    for (change, seed) in [raise, remove].into_iter().flat_map(|change| (0..20).map(move |seed| (change, seed))) {
        let mut stage = Stage::new(Level::ReadCommitted, seed, &schema);
        let mut stale = Connection::open(&mut stage.database, "stale", Dialect::MySql);
        let mut other = stage.connect("other");
        stage.run(&mut other, "BEGIN").unwrap();
        stage.run(&mut other, "UPDATE item SET shop = 4 WHERE id = 1").unwrap();
        // The item is found as it was, and waits for what it becomes.
        assert_eq!(stage.run(&mut stale, change), Err(Stop::Interrupted(Interrupt::Wait)));
        stage.run(&mut other, "COMMIT").unwrap();
        stage.run(&mut stale, change).unwrap();
        assert_eq!(stage.final_value("SELECT sum(price) FROM item"), Datum::Integer(10), "{change} {seed}");
        stage.assert_level();
    }
}

#[test]
fn an_upsert_that_sees_an_entry_without_its_row_puts_the_row() {
    let schema =
        ["CREATE TABLE item (id INT PRIMARY KEY, code TEXT UNIQUE, price INT)", "INSERT INTO item VALUES (1, 'a', 10)"];
    for seed in 0..60 {
        let mut stage = Stage::plain(Level::ReadCommitted, seed, &schema);
        let refusals = stage.interleave(&[
            &["DELETE FROM item WHERE id = 1", "INSERT INTO item VALUES (2, 'a', 20)", "DELETE FROM item WHERE id = 2"],
            &["INSERT INTO item VALUES (7, 'a', 1) ON CONFLICT (code) DO UPDATE SET price = item.price + 1"],
            &["INSERT INTO item VALUES (8, 'a', 1) ON CONFLICT (code) DO UPDATE SET price = item.price + 1"],
        ]);
        assert!(refusals.iter().flatten().all(|state| state == "23505"), "{seed} {refusals:?}");
        stage.assert_level();
    }
}

/// The children of one parent do not wait for each other at its key: PostgreSQL's KEY SHARE beside NO KEY UPDATE.
#[test]
fn children_of_one_parent_that_count_themselves_there_never_deadlock() {
    let schema = [
        "CREATE TABLE shop (id INT PRIMARY KEY, items INT)",
        "INSERT INTO shop VALUES (3, 0)",
        "CREATE TABLE item (id INT PRIMARY KEY, shop INT REFERENCES shop)",
    ];
    for (level, seed) in Level::of_papers().flat_map(|level| (0..20).map(move |seed| (level, seed))) {
        let mut stage = Stage::new(level, seed, &schema);
        let count = "UPDATE shop SET items = items + 1 WHERE id = 3";
        let refusals = stage.interleave(&[
            &["BEGIN", "INSERT INTO item VALUES (1, 3)", count, "COMMIT"],
            &["BEGIN", "INSERT INTO item VALUES (2, 3)", count, "COMMIT"],
        ]);
        assert!(refusals.iter().flatten().all(|state| state == "40001"), "{level} {seed}: {refusals:?}");
        stage.assert_level();
    }
}

/// FOR UPDATE of a parent keeps new children away, as in PostgreSQL; an UPDATE of other columns does not.
#[test]
fn a_parent_that_is_locked_for_update_gets_no_child() {
    let schema = [
        "CREATE TABLE shop (id INT PRIMARY KEY, items INT)",
        "INSERT INTO shop VALUES (3, 0)",
        "CREATE TABLE item (id INT PRIMARY KEY, shop INT REFERENCES shop)",
    ];
    for (lock, waits) in [
        ("SELECT * FROM shop WHERE id = 3 FOR UPDATE", true),
        ("SELECT * FROM shop FOR UPDATE", true),
        ("SELECT * FROM shop FOR SHARE", false),
        ("UPDATE shop SET items = 1 WHERE id = 3", false),
    ] {
        let mut stage = Stage::new(Level::ReadCommitted, 1, &schema);
        let (mut one, mut other) = (stage.connect("one"), stage.connect("other"));
        stage.run(&mut one, "BEGIN").unwrap();
        stage.run(&mut one, lock).unwrap();
        let inserted = stage.run(&mut other, "INSERT INTO item VALUES (1, 3)");
        assert_eq!(matches!(inserted, Err(Stop::Interrupted(Interrupt::Wait))), waits, "{lock}: {inserted:?}");
    }
}

/// The get-or-create of Django and Rails: the INSERT has read the row that is in its way, so whoever sees one state sees it.
#[test]
fn what_a_failed_insert_met_is_found_after_its_savepoint() {
    let levels = [Level::ParallelSnapshot, Level::Snapshot, Level::Serializable];
    for (level, seed) in levels.into_iter().flat_map(|level| (0..30).map(move |seed| (level, seed))) {
        let mut stage = Stage::new(level, seed, &["CREATE TABLE tag (name TEXT PRIMARY KEY, n INT)"]);
        let (mut one, mut other) = (stage.connect("one"), stage.connect("other"));
        stage.run(&mut one, "INSERT INTO tag VALUES ('new', 1)").unwrap();
        for statement in ["BEGIN", "SAVEPOINT s"] {
            stage.run(&mut other, statement).unwrap();
        }
        assert_eq!(state(stage.run(&mut other, "INSERT INTO tag VALUES ('new', 2)")), "23505");
        stage.run(&mut other, "ROLLBACK TO SAVEPOINT s").unwrap();
        match stage.run(&mut other, "SELECT n FROM tag WHERE name = 'new'") {
            Ok(Answer::Rows(rows)) => assert_eq!(rows.rows, [[Datum::Integer(1)]], "{level} {seed}"),
            other => panic!("{other:?}"),
        }
        stage.run(&mut other, "COMMIT").unwrap();
        stage.assert_level();
    }
}
