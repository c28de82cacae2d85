//! A database that somebody else steers: who sets up, who takes part, whose turn it is, and what is told of it.

use crate::raw::{Raw, message, text};
use skew_mockdb::wire::{Attendance, Roll, RunningServer, Schedule, WireServer, WireSettings};
use skew_mockdb::{Database, Level, Options, Steering, Store};
use skew_sql::{Catalog, Fit, Fits, KeyRange, Row, RowKey, SpaceId};
use skew_value::SqlError;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What was asked, by whoever steers like this: the latest version of everything, sessions in a given order.
#[derive(Default)]
struct Book {
    initial: usize,
    columns: Vec<(String, bool)>,
    rows: BTreeMap<RowKey, Row>,
    before: BTreeMap<RowKey, Row>,
    order: VecDeque<&'static str>,
    /// A word for each transaction: whose it was, and `!` if it did not commit.
    ran: Vec<String>,
    skipped: bool,
}

#[derive(Clone, Default)]
struct Clerk(Arc<Mutex<Book>>);

impl Steering for Clerk {
    fn describe(&mut self, _: SpaceId, columns: Vec<(String, bool)>) {
        self.0.lock().unwrap().columns = columns;
    }

    fn initial(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), SqlError> {
        let mut book = self.0.lock().unwrap();
        book.initial = rows.len();
        book.rows = rows.into_iter().map(|(key, _, row)| (key, row)).collect();
        Ok(())
    }

    fn begin(&mut self, session: &str, _: Level) -> Result<u32, SqlError> {
        let mut book = self.0.lock().unwrap();
        book.order.pop_front();
        book.ran.push(session.to_owned());
        book.before = book.rows.clone();
        Ok(book.ran.len() as u32)
    }

    fn begin_statement(&mut self) {}

    fn read(&mut self, key: &RowKey, _: &str, _: bool) -> Result<Option<Row>, SqlError> {
        Ok(self.0.lock().unwrap().rows.get(key).cloned())
    }

    fn scan(&mut self, range: &KeyRange, _: bool) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let book = self.0.lock().unwrap();
        Ok(book
            .rows
            .iter()
            .filter(|(key, _)| range.contains(key))
            .map(|(key, row)| (key.clone(), row.clone()))
            .collect())
    }

    fn seek(&mut self, key: &RowKey, name: &str, fits: &mut Fits<'_>) -> Result<Option<Row>, SqlError> {
        Ok(self.read(key, name, true)?.filter(|row| fits(key, row) != Fit::No))
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, SqlError> {
        let rows = self.scan(range, true)?.into_iter().filter(|(key, row)| fits(key, row) != Fit::No);
        Ok(rows.map(|(key, _)| key).collect())
    }

    fn enter(&mut self, _: usize) -> usize {
        0
    }

    fn write(&mut self, key: &RowKey, _: &str, value: Option<Row>) -> Result<(), SqlError> {
        let rows = &mut self.0.lock().unwrap().rows;
        match value {
            Some(row) => drop(rows.insert(key.clone(), row)),
            None => drop(rows.remove(key)),
        }
        Ok(())
    }

    fn end(&mut self, commits: bool) -> Result<(), SqlError> {
        let mut book = self.0.lock().unwrap();
        if !commits {
            book.rows = book.before.clone();
            book.ran.last_mut().unwrap().push('!');
        }
        Ok(())
    }

    fn next(&self) -> Option<String> {
        self.0.lock().unwrap().order.front().map(|name| (*name).to_owned())
    }

    fn skip(&mut self) {
        self.0.lock().unwrap().skipped = true;
    }

    fn finish(&mut self) -> Result<BTreeMap<RowKey, Row>, SqlError> {
        Ok(self.0.lock().unwrap().rows.clone())
    }
}

struct Steered {
    server: RunningServer,
    clerk: Clerk,
}

fn names(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Steered {
    /// With a table of two accounts, made by the first connection.
    fn new(roll: Roll, order: &[&'static str]) -> Steered {
        let clerk = Clerk::default();
        clerk.0.lock().unwrap().order = order.iter().copied().collect();
        let store = Store::new(Options::new(Level::Causal, 0), Box::new(skew_mockdb::chooser::Latest));
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        database.obeys_levels = false;
        database.store.prepare_steering(Box::new(clerk.clone()));
        let schedule = Schedule::Steered { patience: Duration::from_millis(600), roll: Arc::new(roll) };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = WireSettings { address, password: None, schedule, delay: None };
        Steered { server: WireServer::bind(database, settings).unwrap().start().unwrap(), clerk }
    }

    fn awaiting(awaited: &str) -> Steered {
        Steered::new(Roll { awaited: Some(names(awaited)), ..Roll::default() }, &[])
    }

    fn connect(&self, name: &str) -> Raw {
        Raw::connect(self.server.address(), &[("user", "ann"), ("application_name", name)])
    }

    fn set_up(&self, name: &str) -> Raw {
        let mut client = self.connect(name);
        client.query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)");
        assert_eq!(client.query("INSERT INTO account VALUES (1, 100), (2, 100)"), ["C INSERT 0 2", "Z I"]);
        client
    }

    fn ran(&self) -> String {
        self.clerk.0.lock().unwrap().ran.join(" ")
    }

    fn stop(self) -> Attendance {
        self.server.stop().attendance
    }
}

fn ask(client: &mut Raw, sql: &str) {
    client.send(&message(b'Q', &text(sql)));
}

/// A client that wants to add, and may have to wait for its turn.
fn adder(steered: &Steered, name: &str) -> Raw {
    let mut client = steered.connect(name);
    ask(&mut client, ADD);
    client
}

/// Its turn has come, and it has added.
fn has_added(client: &mut Raw) {
    assert_eq!(client.told(), ["C UPDATE 1", "Z I"]);
}

const ADD: &str = "UPDATE account SET balance = balance + 1 WHERE id = 1";
const LOOK: &str = "SELECT balance FROM account WHERE id = 1";

#[test]
fn sessions_go_by_name_whoever_asks_first() {
    let steered = Steered::awaiting("a b");
    drop(steered.set_up("bank"));
    let (mut b, mut a) = (adder(&steered, "b"), adder(&steered, "a"));
    has_added(&mut a);
    ask(&mut a, ADD);
    has_added(&mut a);
    drop(a);
    has_added(&mut b);
    assert_eq!(steered.ran(), "a a b");
    assert_eq!(steered.clerk.0.lock().unwrap().initial, 2);
    assert_eq!(steered.clerk.0.lock().unwrap().columns, [("id".to_owned(), true), ("balance".to_owned(), false)]);
    let seen = steered.stop();
    let set_up = [("bank".to_owned(), 2)].into();
    assert_eq!(seen, Attendance { set_up, awaited: names("a b"), ..Attendance::default() });
}

#[test]
fn what_is_prescribed_goes_first_and_transactions_are_whole() {
    let steered = Steered::new(Roll { awaited: Some(names("a b")), ..Roll::default() }, &["b", "a"]);
    drop(steered.set_up("bank"));
    let (mut a, mut b) = (steered.connect("a"), steered.connect("b"));
    ask(&mut a, ADD);
    b.query("BEGIN");
    b.query(ADD);
    assert_eq!(b.query("ROLLBACK"), ["C ROLLBACK", "Z I"]);
    has_added(&mut a);
    assert_eq!(steered.ran(), "b! a");
    steered.stop();
}

#[test]
fn the_first_run_waits_until_nobody_new_comes() {
    let steered = Steered::new(Roll::default(), &[]);
    let mut bank = steered.set_up("bank");
    let (mut b, mut a) = (adder(&steered, "b"), adder(&steered, "a"));
    has_added(&mut a);
    drop(a);
    has_added(&mut b);
    drop(b);
    assert_eq!(bank.query(LOOK)[0], "D 102", "it took no part, and looks at the end");
    let seen = steered.stop();
    assert_eq!(seen.awaited, names("a b"));
    assert!(seen.afterwards == names("bank") && !seen.goes_on() && seen.latecomers.is_empty(), "{seen:?}");
}

#[test]
fn the_set_up_is_the_first_connection_and_not_others_of_its_name() {
    let steered = Steered::awaiting("app app:2");
    drop(steered.set_up("app"));
    let (mut one, mut two) = (adder(&steered, "app"), adder(&steered, "app"));
    has_added(&mut one);
    drop(one);
    has_added(&mut two);
    assert_eq!(steered.ran(), "app app:2");
    steered.stop();
}

#[test]
fn a_pool_in_which_one_sets_up_has_to_say_where_that_ends() {
    for (settles, asks) in [(false, true), (false, false), (true, false)] {
        let steered = Steered::awaiting("a b");
        let mut b = steered.connect("b");
        let mut a = steered.set_up("a");
        if settles {
            a.query("SELECT skew_settle()");
        }
        ask(&mut a, ADD);
        if asks || settles {
            ask(&mut b, ADD);
        }
        assert_eq!(a.told()[0], "C UPDATE 1");
        drop(a);
        let ran = if asks || settles { b.told() } else { b.query(ADD) };
        assert_eq!(ran[0], "C UPDATE 1");
        let expected = if asks || settles { "a b" } else { "b" };
        assert_eq!((steered.ran().as_str(), asks), (expected, asks));
        // The rows of the set-up were written when the table was there and somebody else was connected.
        assert_eq!(steered.stop().unclear.is_some(), !settles);
    }
}

#[test]
fn a_connection_that_makes_nothing_does_not_set_up() {
    let steered = Steered::awaiting("a");
    let mut check = steered.connect("check");
    assert_eq!(check.query("SELECT 1")[0], "D 1");
    drop(check);
    let mut bank = steered.set_up("bank");
    bank.query("SELECT skew_settle()");
    let mut a = steered.connect("a");
    assert_eq!(a.query(ADD)[0], "C UPDATE 1");
    assert_eq!((steered.ran().as_str(), steered.clerk.0.lock().unwrap().initial), ("a", 2));
    steered.stop();
}

#[test]
fn several_who_write_after_the_end_are_told_of() {
    for (second, goes_on) in [(LOOK, false), (ADD, true)] {
        let steered = Steered::awaiting("a");
        drop(steered.set_up("bank"));
        let mut a = steered.connect("a");
        a.query(ADD);
        drop(a);
        assert_eq!(steered.connect("c").query(LOOK)[0], "D 101");
        steered.connect("d").query(second);
        let seen = steered.stop();
        assert_eq!((seen.afterwards.clone(), seen.goes_on()), (names("c d"), goes_on), "{seen:?}");
    }
}

#[test]
fn who_goes_on_after_skew_settle_is_told_of() {
    let steered = Steered::awaiting("a b");
    drop(steered.set_up("bank"));
    let (mut a, mut b) = (steered.connect("a"), steered.connect("b"));
    ask(&mut b, ADD);
    assert_eq!(a.query(ADD)[0], "C UPDATE 1");
    a.query("SELECT skew_settle()");
    assert_eq!(b.told()[0], "C UPDATE 1");
    assert_eq!(a.query(LOOK)[0], "D 102");
    assert_eq!(steered.ran(), "a");
    assert_eq!(steered.stop().went_on.as_deref(), Some("b"), "it was waited for, and comes after the end");
}

#[test]
fn a_suspect_is_waited_for_and_takes_part_if_it_comes() {
    let suspicious = Roll { awaited: Some(names("a")), suspects: names("b"), ..Roll::default() };
    let steered = Steered::new(suspicious.clone(), &[]);
    drop(steered.set_up("bank"));
    let mut a = steered.connect("a");
    ask(&mut a, ADD);
    std::thread::sleep(Duration::from_millis(300));
    let mut b = steered.connect("b");
    ask(&mut b, ADD);
    assert_eq!(a.told()[0], "C UPDATE 1");
    drop(a);
    assert_eq!(b.told()[0], "C UPDATE 1");
    assert_eq!((steered.ran().as_str(), steered.stop().awaited), ("a b", names("a b")));

    let steered = Steered::new(suspicious, &[]);
    drop(steered.set_up("bank"));
    let mut a = steered.connect("a");
    assert_eq!(a.query(ADD)[0], "C UPDATE 1");
    drop(a);
    assert_eq!(steered.connect("b").query(LOOK)[0], "D 101");
    let seen = steered.stop();
    assert_eq!((seen.awaited, seen.afterwards, seen.silent), (names("a"), names("b"), None));
}

#[test]
fn whoever_is_silent_is_told_of() {
    let steered = Steered::awaiting("a b");
    drop(steered.set_up("bank"));
    let _idle = steered.connect("a");
    let mut b = steered.connect("b");
    assert_eq!(b.query(ADD)[0], "C UPDATE 1");
    assert!(!steered.clerk.0.lock().unwrap().skipped);
    assert_eq!(steered.stop().silent.as_deref(), Some("a"));
    // Inside its transaction, or when it is prescribed, the run is given up.
    for order in [&[][..], &["a"]] {
        let steered = Steered::new(Roll { awaited: Some(names("b")), ..Roll::default() }, order);
        drop(steered.set_up("bank"));
        let mut b = steered.connect("b");
        if order.is_empty() {
            b.query("BEGIN");
            b.query(ADD);
            let mut c = steered.connect("c");
            ask(&mut c, ADD);
            c.told();
        } else {
            ask(&mut b, ADD);
            b.told();
        }
        assert!(steered.clerk.0.lock().unwrap().skipped);
        steered.stop();
    }
}

#[test]
fn what_cannot_be_explored_is_told_of() {
    let steered = Steered::awaiting("a");
    drop(steered.set_up("bank"));
    let mut a = steered.connect("a");
    a.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(a.query("SELECT pg_advisory_lock(1)")[0], "E 0A000");
    a.query("ROLLBACK");
    a.query("CREATE TABLE other (id INT PRIMARY KEY)");
    let seen = steered.stop();
    assert_eq!(seen.refused.map(|refused| refused.0).as_deref(), Some("a"));
    assert_eq!(seen.defined, Some(("a".to_owned(), "CREATE TABLE".to_owned())));
    assert_eq!(seen.overruled, names("SERIALIZABLE"));
}

#[test]
fn what_touches_no_row_is_no_transaction_and_a_transaction_has_one_time() {
    let steered = Steered::awaiting("a");
    drop(steered.set_up("bank"));
    let mut a = steered.connect("a");
    a.query("SELECT 1");
    a.query("BEGIN");
    let before = a.query("SELECT now()");
    a.query(ADD);
    assert_eq!(a.query("SELECT now()"), before);
    a.query("COMMIT");
    assert_ne!(a.query("SELECT now()")[0], before[0]);
    assert_ne!(a.query("SELECT random()"), a.query("SELECT random()"));
    assert_eq!(steered.ran(), "a");
    steered.stop();
}

#[test]
fn a_client_that_dies_in_its_transaction_has_rolled_back() {
    let steered = Steered::awaiting("a b");
    drop(steered.set_up("bank"));
    let (mut a, mut b) = (steered.connect("a"), steered.connect("b"));
    ask(&mut b, LOOK);
    a.query("BEGIN");
    a.query(ADD);
    drop(a);
    assert_eq!(b.told()[0], "D 100");
    assert_eq!(steered.ran(), "a! b");
    steered.stop();
}

#[test]
fn who_writes_in_the_transaction_that_ended_the_set_up_is_refused() {
    let steered = Steered::awaiting("a");
    let mut bank = steered.set_up("bank");
    bank.query("BEGIN");
    bank.query("SELECT skew_settle()");
    assert_eq!(bank.query(ADD)[0], "E 0A000");
    steered.stop();
}
