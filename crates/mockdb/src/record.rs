//! The history file, written as things happen.
//!
//! ```text
//!   {"skew":1,"initial":{"account/1":100}}
//!   {"session":"a","id":"t1","ops":[{"r":"account/1","v":100,"from":null,"sql":"SELECT …"},{"w":"account/1","v":40}],
//!    "level":"causal","begin":0,"end":1}
//!   {"sealed":{"account/3":"t1"}}
//! ```
//!
//! A line is written when its transaction ends and before its versions can be read, so that the file is a valid history at every
//! moment. Every read says from whom; a scan lists what it found and what it found deleted, and leaves out what was never there. A deletion
//! that is all that is left of a key is sealed by a line of its own, and from then on needs no listing.
//!
//! `begin` and `end` are read off a clock that moves only when a transaction ends ([`Moment`]), so that the strong levels can be asked of
//! every run and the same run has the same bytes, however fast it was.
//!
//! Values are for people: a row with one column besides its key is that column's value, any other is `balance=100 owner=ann`.

use crate::keys::KeyTable;
use crate::log::{transaction_name, version_name};
use crate::operation::{Action, Listed, Operation, ScanBound, Source};
use crate::transaction::Transaction;
use serde_json::Value;
use skew_check::GrowingId;
use skew_history::KeyId;
use skew_sql::Row;
use skew_sql::rows::text;
use skew_value::Datum;
use std::fmt::Write as _;
use std::io::Write;

/// A clock that moves when a transaction ends. Ends are odd and begins are even, so that no two of them are equal:
///
/// ```text
///   ended so far       0         1         2
///   a                  0 ─── 1
///   b                  0 ───────────── 3             a and b overlap
///   c                          2 ──────────── 5      a ended before c began
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Moment(u64);

impl Moment {
    /// What begins now begins after everything that has ended.
    pub(crate) fn begin(self) -> u64 {
        2 * self.0
    }

    /// Something ends.
    pub(crate) fn end(&mut self) -> u64 {
        self.0 += 1;
        2 * self.0 - 1
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    Committed,
    ByProgram,
    ByDatabase,
}

/// Where the history goes.
#[derive(Default)]
pub(crate) struct Recorder {
    history: Option<Box<dyn Write + Send>>,
    choices: Option<Box<dyn Write + Send>>,
    /// How many seal lines there are.
    seals: usize,
    /// What went wrong with writing, once.
    failure: Option<String>,
}

/// Where a run is written to.
#[derive(Default)]
pub struct Record {
    /// The history, in the native format.
    pub history: Option<Box<dyn Write + Send>>,
    /// The log of choices.
    pub choices: Option<Box<dyn Write + Send>>,
}

impl Recorder {
    pub(crate) fn new(record: Record) -> Recorder {
        Recorder { history: record.history, choices: record.choices, ..Recorder::default() }
    }

    /// Writes lines; after the first failure nothing more, so that what there is stays a history.
    pub(crate) fn history(&mut self, lines: &str) {
        if let (None, Some(out)) = (&self.failure, &mut self.history) {
            let written = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
            self.failure = written.err().map(|error| error.to_string());
        }
    }

    pub(crate) fn choice(&mut self, line: &str) {
        if let (None, Some(out)) = (&self.failure, &mut self.choices) {
            let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            self.failure = written.err().map(|error| error.to_string());
        }
    }

    pub(crate) fn seals(&self) -> usize {
        self.seals
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    pub(crate) fn wants_history(&self) -> bool {
        self.history.is_some()
    }

    pub(crate) fn wants_choices(&self) -> bool {
        self.choices.is_some()
    }

    pub(crate) fn seal(&mut self, keys: &KeyTable, deletions: &[(KeyId, GrowingId)]) {
        if deletions.is_empty() {
            return;
        }
        let members: Vec<String> = deletions
            .iter()
            .map(|(key, id)| format!("{}:\"{}\"", quoted(keys.name(*key)), transaction_name(*id)))
            .collect();
        self.seals += 1;
        self.history(&format!("{{\"sealed\":{{{}}}}}\n", members.join(",")));
    }
}

/// The first line.
pub(crate) fn header<'a>(keys: &KeyTable, initial: impl Iterator<Item = (KeyId, &'a Row)>, about: &str) -> String {
    let members: Vec<String> =
        initial.map(|(key, row)| format!("{}:{}", quoted(keys.name(key)), value(keys, key, Some(row)))).collect();
    let about = if about.is_empty() { String::new() } else { format!(",\"about\":{}", quoted(about)) };
    format!("{{\"skew\":1,\"initial\":{{{}}}{about}}}\n", members.join(","))
}

/// The line of a transaction that ended at this moment.
pub(crate) fn line(keys: &KeyTable, session: &str, transaction: &Transaction, ending: Ending, end: u64) -> String {
    let mut line =
        format!("{{\"session\":{},\"id\":\"{}\",\"ops\":[", quoted(session), transaction_name(transaction.id()));
    for (place, operation) in transaction.operations().iter().enumerate() {
        line.push_str(if place > 0 { "," } else { "" });
        write_operation(keys, operation, &mut line);
    }
    line.push(']');
    line.push_str(match ending {
        Ending::Committed => "",
        Ending::ByProgram => ",\"outcome\":\"aborted\",\"by\":\"program\"",
        Ending::ByDatabase => ",\"outcome\":\"aborted\",\"by\":\"database\"",
    });
    let (level, begin) = (transaction.level(), transaction.moment());
    let _ = writeln!(line, ",\"level\":\"{level}\",\"begin\":{begin},\"end\":{end}}}");
    line
}

fn write_operation(keys: &KeyTable, operation: &Operation, line: &mut String) {
    let name = |key: &KeyId| quoted(keys.name(*key));
    let _ = match &operation.action {
        Action::Read { key, value: row, source, locking } => {
            let lock = if *locking { ",\"lock\":true" } else { "" };
            let row = value(keys, *key, row.as_ref());
            write!(line, "{{\"r\":{},\"v\":{row}{}{lock}", name(key), from(*source))
        }
        Action::Write { key, value: row } => {
            write!(line, "{{\"w\":{},\"v\":{}", name(key), value(keys, *key, row.as_ref()))
        }
        Action::Scan { covered, sealed, listed, except, .. } => {
            let bound = |member: &str, bound: &Option<ScanBound>| match bound {
                None => String::new(),
                Some(ScanBound::Number(number)) => format!(",\"{member}\":{number}"),
                Some(ScanBound::Text(text)) => format!(",\"{member}\":{}", quoted(text)),
            };
            let (low, high) = (bound("lo", &covered.low), bound("hi", &covered.high));
            let reads: Vec<String> = listed.iter().map(|listed| write_listed(keys, listed)).collect();
            let except: Vec<String> = except.iter().map(name).collect();
            let except = if except.is_empty() { String::new() } else { format!(",\"except\":[{}]", except.join(",")) };
            let sealed = format!("{except},\"sealed\":{sealed}");
            write!(line, "{{\"scan\":{}{low}{high},\"reads\":[{}]{sealed}", quoted(&covered.prefix), reads.join(","))
        }
    };
    if let Some(sql) = &operation.sql {
        let _ = write!(line, ",\"sql\":{}", quoted(sql));
    }
    line.push('}');
}

fn write_listed(keys: &KeyTable, listed: &Listed) -> String {
    let row = value(keys, listed.key, listed.value.as_ref());
    format!("{{\"k\":{},\"v\":{row}{}}}", quoted(keys.name(listed.key)), from(listed.source))
}

fn from(source: Source) -> String {
    match source {
        Source::Own => String::new(),
        Source::Version(version) => match version_name(version) {
            Some(id) => format!(",\"from\":\"{id}\""),
            None => ",\"from\":null".to_owned(),
        },
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A version as JSON: numbers and truth as such, everything else as PostgreSQL shows it.
fn value(keys: &KeyTable, key: KeyId, row: Option<&Row>) -> String {
    let Some(row) = row else { return "null".to_owned() };
    match keys.layout().shown(keys.row_of(key), row) {
        Datum::Integer(number) if i64::try_from(number).is_ok() => number.to_string(),
        Datum::Boolean(truth) => truth.to_string(),
        datum => quoted(&text(&datum)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chooser::Latest;
    use crate::{Connection, Database, Options, Store, Tape};
    use skew_history::IsolationLevel;
    use skew_sql::Catalog;
    use std::sync::Arc;

    fn execute(database: &mut Database, client: &mut Connection, sql: &str) {
        let statements = client.session().parse(sql).unwrap();
        for statement in &statements {
            let prepared = client.prepare(database, statement, &[]).unwrap();
            client.execute(database, &prepared, &[]).unwrap();
        }
    }

    /// The times of every line.
    fn times(tape: &Tape) -> Vec<String> {
        let times =
            |line: &str| line.split_once(",\"begin\":").map(|(_, times)| times.trim_end_matches('}').to_owned());
        tape.text().lines().filter_map(times).collect()
    }

    fn database(tape: &Tape) -> (Database, Connection, Connection) {
        let store = Store::new(Options::new(IsolationLevel::Serializable, 1), Box::new(Latest));
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        let mut loader = Connection::open(&mut database, "loader", skew_value::Dialect::Postgres);
        execute(
            &mut database,
            &mut loader,
            "CREATE TABLE t (k INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 0), (2, 0)",
        );
        loader.close(&mut database);
        database.store.start(Record { history: Some(Box::new(tape.clone())), choices: None }, "");
        let one = Connection::open(&mut database, "a", skew_value::Dialect::Postgres);
        let other = Connection::open(&mut database, "b", skew_value::Dialect::Postgres);
        (database, one, other)
    }

    #[test]
    fn what_ended_before_another_began_has_the_smaller_time() {
        let tape = Tape::default();
        let (mut database, mut one, mut other) = database(&tape);
        execute(&mut database, &mut one, "UPDATE t SET v = 1 WHERE k = 1");
        execute(&mut database, &mut other, "BEGIN; SELECT v FROM t WHERE k = 2");
        execute(&mut database, &mut one, "UPDATE t SET v = 2 WHERE k = 1");
        execute(&mut database, &mut other, "ROLLBACK");
        assert_eq!(times(&tape), ["0,\"end\":1", "2,\"end\":3", "2,\"end\":5"]);
    }

    #[test]
    fn a_transaction_began_when_its_client_said_so_and_not_when_its_level_was_set() {
        let tape = Tape::default();
        let (mut database, mut one, mut other) = database(&tape);
        execute(&mut database, &mut other, "BEGIN");
        execute(&mut database, &mut one, "UPDATE t SET v = 1 WHERE k = 1");
        execute(&mut database, &mut other, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT v FROM t; COMMIT");
        assert_eq!(times(&tape), ["0,\"end\":1", "0,\"end\":3"]);
    }

    #[test]
    fn a_request_that_had_to_wait_began_when_it_came() {
        let tape = Tape::default();
        let (mut database, mut one, mut other) = database(&tape);
        database.store.arrive(other.id());
        execute(&mut database, &mut one, "UPDATE t SET v = 1 WHERE k = 1");
        execute(&mut database, &mut other, "SELECT v FROM t");
        execute(&mut database, &mut other, "SELECT v FROM t");
        assert_eq!(times(&tape), ["0,\"end\":1", "0,\"end\":3", "4,\"end\":5"]);
    }
}
