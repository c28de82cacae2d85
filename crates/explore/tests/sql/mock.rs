//! The mock database reaches exactly the histories that the explorer finds: two implementations, one by chance and one by search.
//!
//! Sessions run whole transactions in an order that chance decides, and every read returns one of the versions that the level allows, by
//! chance; after enough runs everything was seen. What a statement read that failed is part of its history, in both. Random programs are
//! compared by the tests of `cli` (`agree`), without insisting that chance sees everything.

use crate::explored::{explore, in_one_line, program_of};
use skew_check::Updates;
use skew_explore::{Granularity, SqlOptions};
use skew_history::IsolationLevel;
use skew_history::SessionId;
use skew_mockdb::{Begin, Campaign, Chance, ChooserKind, Options, Record, Store, Stream, Tape};
use skew_program::{CallOutcome, Client, Ending, MOST_STEPS, Program, Step};
use skew_sql::{Session, Stop, Write};
use std::collections::BTreeSet;

/// A session of the program at the mock.
struct Seat {
    session: SessionId,
    sql: Session,
    client: Client,
    /// Its place in the program.
    number: usize,
    call: usize,
}

/// A store with the program's first rows.
fn store(program: &Program, options: Options, seed: u64) -> (Store, Tape) {
    let mut store = Store::new(options, ChooserKind::Random.build(seed, &Campaign::default()));
    store.describe_catalog(program.initial().0);
    let loader = store.connect("loader");
    store.begin(loader, Begin::default()).expect("a transaction");
    for (key, row) in program.initial().1.rows() {
        store.view(loader).put(key, Write::Row(row.clone())).expect("a row");
    }
    store.commit(loader).expect("nobody else is there");
    store.disconnect(loader);
    let tape = Tape::default();
    store.start(Record { history: Some(Box::new(tape.clone())), choices: None }, "a test");
    (store, tape)
}

/// Runs a session's next call; false when the database refused it.
fn call(program: &Program, store: &mut Store, seat: &mut Seat) -> bool {
    let level = program.scripts()[seat.number].calls[seat.call].level;
    store.begin(seat.session, Begin { level, ..Begin::default() }).expect("a transaction");
    let mut run = seat.client.start(program, seat.call, MOST_STEPS).expect("arguments that fit");
    // Nothing: a statement failed.
    let ending = loop {
        let (session, sql) = (seat.session, &mut seat.sql);
        let text = run.statement().cloned();
        match store.run_statement(session, text.as_deref(), |store| run.step(sql, &mut *store.view(session))) {
            Ok(Step::Continue) => {}
            Ok(Step::Done(ending)) => break Some(ending),
            Err(Stop::Interrupted(_)) => return false,
            Err(Stop::Error(_)) => break None,
        }
    };
    let commits = ending == Some(Ending::Commit);
    if !commits {
        store.abort(seat.session);
    } else if store.commit(seat.session).is_err() {
        return false;
    }
    let outcome = if commits { CallOutcome::Committed } else { CallOutcome::Aborted };
    let hands_out = matches!(ending, Some(Ending::Commit | Ending::Rollback));
    seat.client.finish(program, seat.call, &run, outcome, hands_out);
    seat.call += 1;
    true
}

/// The history of one run.
fn run(program: &Program, options: Options, seed: u64) -> String {
    let (mut store, tape) = store(program, options, seed);
    let mut seats: Vec<Seat> = Vec::new();
    for (number, script) in program.scripts().iter().enumerate() {
        let (session, client) = (store.connect(&script.name), Client::new(program, number));
        seats.push(Seat { session, sql: program.session(), client, number, call: 0 });
    }
    let mut chance = Chance::new(seed, Stream::Turns);
    loop {
        let unfinished = |seat: &&mut Seat| seat.call < program.scripts()[seat.number].calls.len();
        let mut ready: Vec<&mut Seat> = seats.iter_mut().filter(unfinished).collect();
        if ready.is_empty() {
            break;
        }
        let next = chance.below(ready.len());
        call(program, &mut store, ready[next]);
    }
    in_one_line(&tape.history().expect("a history"))
}

/// Everything that was seen in so many runs.
fn seen(text: &str, level: IsolationLevel, options: SqlOptions, runs: u64) -> BTreeSet<String> {
    let program = program_of(text);
    let granularity = match options.granularity {
        Granularity::Row => skew_mockdb::Granularity::Row,
        Granularity::Cell => skew_mockdb::Granularity::Cell,
    };
    let options = |seed| Options { updates: options.updates, granularity, bare: true, ..Options::new(level, seed) };
    (0..runs).map(|seed| run(&program, options(seed), seed)).collect()
}

/// The two find the same, at every level, with both kinds of updates and both granularities.
fn agree(text: &str, runs: u64) {
    for level in IsolationLevel::of_papers() {
        for updates in [Updates::Atomic, Updates::Plain] {
            for granularity in [Granularity::Row, Granularity::Cell] {
                let options = SqlOptions { updates, granularity, ..SqlOptions::default() };
                let explored = explore(text, level, options).recorded;
                let seen = seen(text, level, options, runs);
                let place = format!("{text}\nat {level}, {updates:?}, {granularity:?}");
                let (more, less): (Vec<_>, Vec<_>) =
                    (seen.difference(&explored).collect(), explored.difference(&seen).collect());
                assert!(
                    more.is_empty() && less.is_empty(),
                    "{place}\nonly the mock: {more:#?}\nonly explored: {less:#?}"
                );
            }
        }
    }
}

#[test]
fn a_check_before_an_increment() {
    agree(
        "CREATE TABLE coupon (id INT PRIMARY KEY, used INT, most INT);
         INSERT INTO coupon VALUES (1, 0, 1);
         CREATE PROCEDURE redeem()
         BEGIN
           DECLARE times, limit_of INT;
           SELECT used, most INTO times, limit_of FROM coupon WHERE id = 1;
           IF times >= limit_of THEN SIGNAL SQLSTATE '45000'; END IF;
           UPDATE coupon SET used = used + 1 WHERE id = 1;
         END;
         SESSION a: CALL redeem();
         SESSION b: CALL redeem();",
        400,
    );
}

#[test]
fn a_count_before_an_insert_and_a_delete() {
    agree(
        "CREATE TABLE vote (id INT PRIMARY KEY, topic INT);
         INSERT INTO vote VALUES (5, 1);
         CREATE PROCEDURE cast_vote(IN number INT)
         BEGIN
           DECLARE votes INT;
           SELECT COUNT(*) INTO votes FROM vote;
           IF votes < 2 THEN INSERT INTO vote VALUES (number, 1); END IF;
         END;
         CREATE PROCEDURE withdraw()
         BEGIN
           DELETE FROM vote WHERE id = 5;
         END;
         SESSION a: CALL cast_vote(1);
         SESSION b: CALL cast_vote(9);
         SESSION c: CALL withdraw();",
        600,
    );
}

#[test]
fn updates_of_what_a_range_finds() {
    agree(
        "CREATE TABLE item (id INT PRIMARY KEY, price INT, shelf INT);
         INSERT INTO item VALUES (1, 10, 1), (2, 20, 2);
         CREATE PROCEDURE raise(IN below INT)
         BEGIN
           UPDATE item SET price = price + 1 WHERE price < below;
         END;
         CREATE PROCEDURE move(IN number INT)
         BEGIN
           UPDATE item SET shelf = 3 WHERE id = number;
         END;
         SESSION a: CALL raise(15); CALL move(2);
         SESSION b: CALL raise(30);",
        600,
    );
}

#[test]
fn an_index_and_a_limit() {
    agree(
        "CREATE TABLE task (id INT PRIMARY KEY, priority INT, owner INT, INDEX by_priority (priority));
         INSERT INTO task VALUES (1, 5, 0), (2, 7, 0);
         CREATE PROCEDURE take(IN who INT)
         BEGIN
           DECLARE number INT;
           SELECT id INTO number FROM task WHERE priority > 4 ORDER BY priority LIMIT 1;
           UPDATE task SET priority = 0, owner = who WHERE id = number;
         END;
         SESSION a: CALL take(1);
         SESSION b: CALL take(2);",
        600,
    );
}

#[test]
fn statements_that_fail() {
    agree(
        "CREATE TABLE seat (id INT PRIMARY KEY, taken INT NOT NULL, CHECK (taken < 2));
         INSERT INTO seat VALUES (1, 0);
         CREATE PROCEDURE open_seat(IN number INT)
         BEGIN
           INSERT INTO seat VALUES (number, 0);
         END;
         CREATE PROCEDURE take(IN number INT)
         BEGIN
           UPDATE seat SET taken = taken + 1 WHERE id = number;
           UPDATE seat SET taken = 1 / taken WHERE id = 1;
         END;
         SESSION a: CALL open_seat(2); CALL take(1);
         SESSION b: CALL open_seat(2);
         SESSION c: CALL take(1);",
        600,
    );
}
