//! Reads and an order that are foretold: what comes true, what does not, and that this is told.

use crate::raw::{Raw, message, text};
use crate::{Served, settings};
use skew_mockdb::wire::{PrescribedTurn, Schedule, WireSettings};
use skew_mockdb::{Foretelling, Foretold, ForetoldRead, ForetoldTransaction, Level};
use std::collections::BTreeSet;
use std::time::Duration;

/// Long enough for a client to come, whatever else the machine does.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

/// `bob: account/1<-bank[0] account/2<-; …` where each `|` ends a transaction, `!` is behind a read that has changed, and the initial
/// state has no name.
fn foretelling(text: &str) -> Foretelling {
    let read = |word: &str| {
        let (key, from) = word.trim_end_matches('!').split_once("<-").unwrap();
        let from = from.trim_end_matches(']').split_once('[');
        let from = from.map(|(session, number)| (session.to_owned(), number.parse().unwrap()));
        ForetoldRead { key: key.to_owned(), from, changed: word.ends_with('!') }
    };
    let transaction = |text: &str| ForetoldTransaction {
        reads: text.split_whitespace().map(read).collect(),
        company: BTreeSet::new(),
    };
    let session = |text: &str| {
        let (name, transactions) = text.split_once(':').unwrap();
        (name.trim().to_owned(), transactions.split('|').map(transaction).collect())
    };
    Foretelling { sessions: text.split(';').map(session).collect() }
}

fn served(level: Level, text: &str) -> (Served, Foretold) {
    let chooser = Foretold::new(foretelling(text));
    (Served::choosing(level, Box::new(chooser.clone()), settings()), chooser)
}

fn named(served: &Served, name: &str) -> Raw {
    Raw::connect(served.address, &[("user", "ann"), ("application_name", name)])
}

/// Two accounts, made by a session of their own.
fn set_up(served: &Served) {
    let mut bank = named(served, "bank");
    bank.query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)");
    bank.query("INSERT INTO account VALUES (1, 100), (2, 0)");
}

fn balance(client: &mut Raw) -> String {
    client.query("SELECT balance FROM account WHERE id = 1")[0].clone()
}

fn told(chooser: &Foretold) -> Vec<String> {
    chooser.found().iter().chain(&chooser.unread()).map(ToString::to_string).collect()
}

#[test]
fn a_read_returns_what_is_foretold_and_then_the_latest() {
    let (served, chooser) = served(Level::ReadCommitted, "bob: account/1<-bank[0]!");
    set_up(&served);
    let (mut alice, mut bob) = (named(&served, "alice"), named(&served, "bob"));
    alice.query("UPDATE account SET balance = 40 WHERE id = 1");
    bob.query("BEGIN");
    assert_eq!(balance(&mut bob), "D 100");
    assert_eq!(balance(&mut bob), "D 40");
    bob.query("COMMIT");
    assert_eq!(balance(&mut bob), "D 40");
    assert_eq!(told(&chooser), [""; 0]);
    assert_eq!(served.stop().divergences, 0);
}

#[test]
fn what_the_level_forbids_diverges_and_says_where() {
    let (served, chooser) =
        served(Level::Causal, "bob: account/1<-alice[0] | account/1<-bank[0]! | account/2<-bank[0]!");
    set_up(&served);
    let (mut alice, mut bob) = (named(&served, "alice"), named(&served, "bob"));
    alice.query("UPDATE account SET balance = 40 WHERE id = 1");
    assert_eq!(balance(&mut bob), "D 40");
    assert_eq!(balance(&mut bob), "D 40");
    let first =
        "bob's transaction 2 was to read account/1 from bank's transaction 1, and read it from alice's transaction 1";
    let second = "bob's transaction 3 was to read account/2 from bank's transaction 1, and did not ask for it";
    assert_eq!(told(&chooser), [first, second]);
    assert_eq!(served.stop().divergences, 1);
}

#[test]
fn a_read_that_nobody_foretold_diverges_unless_its_transaction_may_be_cut() {
    let (served, chooser) = served(Level::Causal, "bob: account/2<-bank[0] | account/2<-bank[0]");
    set_up(&served);
    let mut bob = named(&served, "bob");
    bob.query("BEGIN; SELECT balance FROM account WHERE id = 2; SELECT balance FROM account WHERE id = 1; COMMIT");
    bob.query("BEGIN; SELECT balance FROM account WHERE id = 2; SELECT balance FROM account WHERE id = 1; COMMIT");
    let expected = "bob's transaction 1 read account/1 from bank's transaction 1, which was not foretold";
    assert_eq!(told(&chooser), [expected]);
    served.stop();
}

#[test]
fn a_lock_shows_the_latest_and_a_divergence_says_so() {
    let (served, chooser) = served(Level::ReadCommitted, "bob: account/1<-bank[0]!");
    set_up(&served);
    let (mut alice, mut bob) = (named(&served, "alice"), named(&served, "bob"));
    alice.query("UPDATE account SET balance = 40 WHERE id = 1");
    assert_eq!(bob.query("SELECT balance FROM account WHERE id = 1 FOR UPDATE")[0], "D 40");
    let expected =
        "bob's transaction 1 was to read account/1 from bank's transaction 1, and read it from alice's transaction 1";
    assert_eq!(told(&chooser), [expected]);
    served.stop();
}

#[test]
fn a_transaction_that_is_refused_is_foretold_again() {
    let (served, chooser) = served(Level::Snapshot, "bob: account/1<-bank[0]! account/2<-bank[0] | account/2<-bob[0]");
    set_up(&served);
    let (mut alice, mut bob) = (named(&served, "alice"), named(&served, "bob"));
    alice.query("UPDATE account SET balance = 40 WHERE id = 1");
    for _ in 0..2 {
        bob.query("BEGIN");
        assert_eq!(balance(&mut bob), "D 100");
        assert_eq!(bob.query("UPDATE account SET balance = 5 WHERE id = 1")[0], "E 40001");
        bob.query("ROLLBACK");
    }
    bob.query("BEGIN");
    assert_eq!(balance(&mut bob), "D 100");
    bob.query("UPDATE account SET balance = 5 WHERE id = 2");
    bob.query("COMMIT");
    assert_eq!(bob.query("SELECT balance FROM account WHERE id = 2")[0], "D 5");
    assert_eq!(told(&chooser), [""; 0]);
    served.stop();
}

#[test]
fn who_is_refused_again_and_again_reads_the_latest() {
    let (served, chooser) = served(Level::Snapshot, "bob: account/1<-bank[0]!");
    set_up(&served);
    let (mut alice, mut bob) = (named(&served, "alice"), named(&served, "bob"));
    alice.query("UPDATE account SET balance = 40 WHERE id = 1");
    let mut tries = 0;
    loop {
        bob.query("BEGIN");
        balance(&mut bob);
        let updated = bob.query("UPDATE account SET balance = 5 WHERE id = 1")[0].clone();
        bob.query("COMMIT");
        tries += 1;
        if updated == "C UPDATE 1" {
            break;
        }
    }
    assert_eq!((tries, chooser.found().len()), (4, 1), "{:?}", chooser.found());
    served.stop();
}

fn turns(words: &str) -> Vec<PrescribedTurn> {
    let mut before: Vec<&str> = Vec::new();
    let turn = |session| {
        let number = before.iter().filter(|other| **other == session).count() as u32;
        before.push(session);
        PrescribedTurn { session: session.to_owned(), number, company: BTreeSet::new() }
    };
    words.split(' ').map(turn).collect()
}

fn prescribed(turns: Vec<PrescribedTurn>, wait: Duration) -> Served {
    let schedule = Schedule::Prescribed { patience: LONG, turns: turns.into(), wait };
    Served::choosing(
        Level::ReadCommitted,
        Box::new(skew_mockdb::chooser::Latest),
        WireSettings { schedule, ..settings() },
    )
}

fn send(client: &mut Raw, sql: &str) {
    client.send(&message(b'Q', &text(sql)));
}

#[test]
fn transactions_come_in_the_order_that_is_prescribed() {
    let served = prescribed(turns("bank bob alice bob"), LONG);
    set_up(&served);
    let (mut alice, mut bob) = (named(&served, "alice"), named(&served, "bob"));
    // What touches nothing needs no turn.
    assert_eq!(alice.query("SET lock_timeout = 0")[0], "C SET");
    assert_eq!(alice.query("BEGIN")[0], "C BEGIN");
    send(&mut alice, "UPDATE account SET balance = balance + 1 WHERE id = 1");
    bob.query("UPDATE account SET balance = balance * 2 WHERE id = 1");
    assert_eq!(alice.told(), ["C UPDATE 1", "Z T"]);
    send(&mut bob, "SELECT balance FROM account WHERE id = 1");
    alice.query("COMMIT");
    assert_eq!(bob.told()[0], "D 201");
    // Behind the end of the order whoever comes first goes first.
    assert_eq!(balance(&mut alice), "D 201");
    assert_eq!(served.stop().passed_over, []);
}

#[test]
fn who_does_not_come_is_passed_over() {
    let served = prescribed(turns("bank bob alice bob alice"), SHORT);
    set_up(&served);
    let mut alice = named(&served, "alice");
    assert_eq!(balance(&mut alice), "D 100");
    assert_eq!(balance(&mut alice), "D 100");
    assert_eq!(balance(&mut named(&served, "bob")), "D 100");
    assert_eq!(served.stop().passed_over, [("bob".to_owned(), 0)]);
}

#[test]
fn who_is_to_miss_something_is_waited_for() {
    let mut turns = turns("bank alice bob");
    turns[1].company.insert("bob".to_owned());
    let served = prescribed(turns, LONG);
    set_up(&served);
    let mut alice = named(&served, "alice");
    send(&mut alice, "UPDATE account SET balance = 40 WHERE id = 1");
    let mut bob = named(&served, "bob");
    assert_eq!(alice.told(), ["C UPDATE 1", "Z I"]);
    assert_eq!(balance(&mut bob), "D 40");
    served.stop();
}

#[test]
fn clients_without_a_name_are_told_apart_as_in_any_run() {
    let served = prescribed(turns("bank client:2 client"), LONG);
    set_up(&served);
    let (mut first, mut second) = (served.connect(), served.connect());
    send(&mut first, "UPDATE account SET balance = balance + 1 WHERE id = 1");
    second.query("UPDATE account SET balance = balance * 2 WHERE id = 1");
    assert_eq!(first.told(), ["C UPDATE 1", "Z I"]);
    assert_eq!(balance(&mut second), "D 201");
    assert_eq!(served.stop().passed_over, []);
}
