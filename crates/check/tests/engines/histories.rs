//! Histories that no program of these tests can leave: with times, unknown outcomes, versions that nobody knows, and little said.

use skew_check::spec::{allows_engine, allows_engine_levels};
use skew_history::EngineLevel::{self, *};
use skew_history::builder::ClaimedWriter;
use skew_history::{Asked, History, HistoryBuilder, Outcome, StatementKind, Times, Value};

/// A history in the making. Values are numbers, 0 is that a row is absent.
struct Told(HistoryBuilder);

impl Told {
    fn new() -> Told {
        Told(HistoryBuilder::new())
    }

    fn begin(&mut self, session: &str, name: &str) -> &mut Told {
        let session = self.0.session(session);
        self.0.begin(session, Some(name.into())).unwrap();
        self
    }

    fn value(&mut self, value: i64) -> Value {
        if value == 0 { Value::ABSENT } else { self.0.values().integer(value) }
    }

    fn asked(&mut self, statement: u32, kind: StatementKind) -> &mut Told {
        self.0.asked(Asked { statement, kind, ..Asked::default() }).unwrap();
        self
    }

    fn read(&mut self, key: &str, value: i64, statement: u32, kind: StatementKind) -> &mut Told {
        let (key, value) = (self.0.key(key), self.value(value));
        self.0.read(key, value);
        self.asked(statement, kind)
    }

    fn write(&mut self, key: &str, value: i64, statement: u32, kind: StatementKind) -> &mut Told {
        let (key, value) = (self.0.key(key), self.value(value));
        self.0.write(key, value);
        self.asked(statement, kind)
    }

    fn times(&mut self, begin: i64, end: i64) -> &mut Told {
        self.0.times(Times { begin: Some(begin), end: Some(end) }).unwrap();
        self
    }

    fn history(self) -> History {
        self.0.finish().unwrap()
    }
}

use StatementKind::*;

fn allowed_at(history: &History) -> Vec<EngineLevel> {
    EngineLevel::ALL.into_iter().filter(|&level| allows_engine(history, level)).collect()
}

#[test]
fn what_was_committed_before_a_transaction_began_is_seen_where_there_are_times() {
    let mut told = Told::new();
    told.begin("a", "t1").write("x", 1, 1, Insert).times(1, 2);
    told.begin("b", "t2").read("x", 0, 1, Select).times(3, 4);
    let history = told.history();
    assert_eq!(allowed_at(&history), []);
    for level in EngineLevel::ALL {
        assert!(allows_engine_levels(&history, &[level; 2], false), "{level} without times");
    }
}

#[test]
fn a_session_sees_its_own_earlier_commits() {
    let mut told = Told::new();
    told.begin("a", "t1").write("x", 1, 1, Insert);
    told.begin("a", "t2").read("x", 0, 1, Select);
    assert_eq!(allowed_at(&told.history()), []);
}

#[test]
fn an_unknown_outcome_counts_when_somebody_read_from_it() {
    let mut told = Told::new();
    told.begin("a", "t1").write("x", 1, 1, Insert);
    told.0.outcome(Outcome::Unknown);
    told.begin("b", "t2").read("x", 1, 1, Select);
    assert_eq!(allowed_at(&told.history()), EngineLevel::ALL);
    let mut told = Told::new();
    told.begin("a", "t1").write("x", 1, 1, Insert);
    told.0.outcome(Outcome::AbortedByDatabase);
    told.begin("b", "t2").read("x", 1, 1, Select);
    assert_eq!(allowed_at(&told.history()), []);
}

#[test]
fn a_duplicate_of_which_the_version_is_not_known_is_of_any_that_is_there() {
    let mut told = Told::new();
    told.begin("a", "t1").write("x", 1, 1, Insert);
    told.begin("b", "t2").read("x", 0, 1, Insert);
    told.0.asked(Asked { statement: 1, kind: Insert, found: true, ..Asked::default() }).unwrap();
    assert_eq!(allowed_at(&told.history()), EngineLevel::ALL);
    // Nobody ever inserts the row.
    let mut told = Told::new();
    told.begin("b", "t2").read("x", 0, 1, Insert);
    told.0.asked(Asked { statement: 1, kind: Insert, found: true, ..Asked::default() }).unwrap();
    assert_eq!(allowed_at(&told.history()), []);
}

#[test]
fn a_locking_read_of_nothing_may_be_gone_by_somebody_unless_its_writer_is_named() {
    let mut told = Told::new();
    let (key, one) = (told.0.key("x"), told.value(1));
    told.0.initial(key, one);
    told.begin("a", "t1").read("x", 1, 1, Delete).write("x", 0, 1, Delete).write("x", 2, 2, Insert);
    told.begin("b", "t2").read("x", 0, 1, Update);
    assert_eq!(allowed_at(&told.history()), [PostgresReadCommitted]);
}

#[test]
fn who_rolls_back_holds_its_locks_until_then() {
    // t1 updates x and then reads what t3 left of y; t2 updates x before t3 changes y: so t2 would have had to pass t1's lock.
    let mut told = Told::new();
    for key in ["x", "y"] {
        let (key, one) = (told.0.key(key), told.value(1));
        told.0.initial(key, one);
    }
    told.begin("a", "t1").read("x", 1, 1, Update).write("x", 2, 1, Update).read("y", 9, 2, Select);
    told.0.outcome(Outcome::AbortedByProgram);
    told.begin("b", "t2").read("y", 1, 1, Select).read("x", 1, 2, ForUpdate).read("y", 1, 3, Select);
    told.begin("c", "t3").read("y", 1, 1, Update).write("y", 9, 1, Update);
    assert!(allows_engine(&told.history(), PostgresReadCommitted));
    let mut told = Told::new();
    for key in ["x", "y"] {
        let (key, one) = (told.0.key(key), told.value(1));
        told.0.initial(key, one);
    }
    told.begin("a", "t1")
        .read("x", 1, 1, Update)
        .write("x", 2, 1, Update)
        .read("y", 1, 2, Select)
        .read("y", 9, 3, Select);
    told.0.outcome(Outcome::AbortedByProgram);
    told.begin("b", "t2")
        .read("y", 1, 1, Select)
        .read("x", 1, 2, ForUpdate)
        .read("y", 9, 3, Select)
        .read("z", 0, 4, Select);
    told.begin("c", "t3").read("y", 1, 1, Update).write("y", 9, 1, Update).write("z", 5, 2, Insert);
    assert!(!allows_engine(&told.history(), PostgresReadCommitted));
}

#[test]
fn events_of_which_nothing_is_said_are_statements_of_their_own() {
    // A fractured read, new before old: no statement of one transaction sees what an earlier one did not.
    let mut told = Told::new();
    told.begin("a", "t1").write("x", 1, 0, Select).write("y", 1, 0, Select);
    told.begin("b", "t2").read("x", 1, 0, Select).read("y", 0, 0, Select);
    assert_eq!(allowed_at(&told.history()), []);
    let mut told = Told::new();
    told.begin("a", "t1").write("x", 1, 0, Select).write("y", 1, 0, Select);
    told.begin("b", "t2").read("x", 0, 0, Select).read("y", 1, 0, Select);
    assert_eq!(allowed_at(&told.history()), [PostgresReadCommitted, MysqlReadCommitted]);
}

#[test]
fn a_claim_decides_where_values_repeat() {
    let claimed = |writer: &str| {
        let mut told = Told::new();
        told.begin("a", "t1").write("x", 1, 1, Insert);
        told.begin("a", "t2").read("x", 1, 1, Update).write("x", 1, 1, Update);
        told.begin("b", "t3").read("x", 1, 1, Select);
        told.0.claim(ClaimedWriter::Transaction(writer.into()));
        told.read("x", 1, 2, Select);
        told.0.claim(ClaimedWriter::Transaction("t1".into()));
        allows_engine(&told.history(), PostgresReadCommitted)
    };
    assert!(claimed("t1") && !claimed("t2"));
}
