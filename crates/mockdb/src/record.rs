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
//! `begin` and `end` are read off a clock that moves only when a transaction ends ([`EndClock`]), so that the strong levels can be asked of
//! every run and the same run has the same bytes, however fast it was.
//!
//! Values are for people: a row with one column besides its key is that column's value, any other is `balance=100 owner=ann`.

use crate::keys::KeyTable;
use crate::log::{transaction_name, version_name};
use crate::operation::{ReadFate, ReadOrigin, RecordedAction, RecordedOperation, ScanBound, ScannedRow};
use crate::transaction::OpenTransaction;
use skew_check::GrowingId;
use skew_history::line::{
    Aborter, ClaimedWriter, Content, Ended, Header, HistorySink, LineWriter, Note, Opening, Operation, ScanSpec,
    ScannedKey,
};
use skew_history::{Asked, KeyId, Name, Refused, Times, line};
use skew_sql::Row;
use skew_sql::rows::text;
use skew_value::Datum;
use std::convert::Infallible;
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
pub(crate) struct EndClock(u64);

impl EndClock {
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
pub(crate) enum TransactionEnding {
    Committed,
    ByProgram,
    ByDatabase,
    /// By a server, with this code and in this statement.
    Refused((&'static str, u32)),
}

/// Where the history goes.
#[derive(Default)]
pub(crate) struct StoreRecorder {
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

impl StoreRecorder {
    pub(crate) fn new(record: Record) -> StoreRecorder {
        StoreRecorder { history: record.history, choices: record.choices, ..StoreRecorder::default() }
    }

    /// Writes lines; after the first failure nothing more, so that what there is stays a history.
    pub(crate) fn history(&mut self, lines: &LineWriter) {
        if let (None, Some(out)) = (&self.failure, &mut self.history) {
            let written = out.write_all(lines.bytes()).and_then(|()| out.flush());
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
        let names: Vec<String> = deletions.iter().map(|(_, id)| transaction_name(*id)).collect();
        let deletions: Vec<(Name<'_>, Name<'_>)> =
            deletions.iter().zip(&names).map(|((key, _), id)| (name(keys, *key), Name::Text(id))).collect();
        self.seals += 1;
        let mut lines = LineWriter::new();
        let Ok(()) = lines.put_seal(&deletions);
        self.history(&lines);
    }
}

/// The first line.
pub(crate) fn header<'a>(
    keys: &KeyTable,
    initial: impl Iterator<Item = (KeyId, &'a Row)>,
    engine: Option<&str>,
    about: &str,
) -> LineWriter {
    let mut lines = LineWriter::new();
    let initial = initial.map(|(key, row)| (name(keys, key), content(keys, key, Some(row))));
    let about = Some(about).filter(|about| !about.is_empty());
    let Ok(()) = lines.put_header(Header { engine, initial: Some(initial), about });
    lines
}

/// The line of a transaction that ended at this moment.
pub(crate) fn line(
    keys: &KeyTable,
    session: &str,
    transaction: &OpenTransaction,
    ending: TransactionEnding,
    end: u64,
) -> LineWriter {
    let mut lines = LineWriter::new();
    let id = transaction_name(transaction.id());
    let opening = Opening { session: Name::Text(session), id: Some(Name::Text(&id)), note: Note::Nothing };
    let Ok(()) = lines.put_opening(&opening);
    let numbered = numbered(transaction.operations());
    for (asked, operation) in &numbered {
        let Ok(()) = tell(&mut lines, keys, *asked, operation);
    }
    let outcome = match ending {
        TransactionEnding::Committed => Ended::Unsaid,
        TransactionEnding::ByProgram => Ended::Aborted { by: Some(Aborter::Program), refused: None },
        TransactionEnding::ByDatabase => Ended::Aborted { by: Some(Aborter::Database), refused: None },
        TransactionEnding::Refused((error, statement)) => {
            let statement = statement + freed_before(transaction.operations(), statement);
            Ended::Aborted { by: Some(Aborter::Database), refused: Some(Refused { error, statement }) }
        }
    };
    let times = Times { begin: Some(transaction.moment() as i64), end: Some(end as i64) };
    let level = Some(transaction.level());
    let Ok(()) = lines.put_ending(&line::Closing { outcome, level, times, note: Note::Nothing });
    lines
}

/// How many statements are put in before one, for reads that stand in a statement of their own.
fn freed_before(operations: &[RecordedOperation], statement: u32) -> u32 {
    let is_before =
        |operation: &&RecordedOperation| operation.fate == ReadFate::Freed && operation.asked.statement < statement;
    operations.iter().filter(is_before).count() as u32
}

/// What is told of some operations, and what their statements asked for.
fn numbered(operations: &[RecordedOperation]) -> Vec<(Asked, &RecordedOperation)> {
    if operations.iter().all(|operation| operation.fate == ReadFate::Stays) {
        return operations.iter().map(|operation| (operation.asked, operation)).collect();
    }
    let mut told = Vec::with_capacity(operations.len());
    let mut freed: Vec<(u32, u32)> = Vec::new();
    for operation in operations {
        let first = operation.asked.statement;
        let statement = first + freed_before(operations, first);
        let plain = |statement| Asked { statement, ..Asked::default() };
        match operation.fate {
            ReadFate::Stays => told.push((Asked { statement, ..operation.asked }, operation)),
            ReadFate::Seen => told.push((plain(statement), operation)),
            ReadFate::Untold => {}
            ReadFate::Freed => {
                let before = freed.iter().filter(|(of, _)| *of == first).count() as u32;
                freed.push((first, statement + before + 1));
                told.push((plain(statement + before + 1), operation));
            }
        }
    }
    told.sort_by_key(|(asked, _)| asked.statement);
    told
}

fn tell(
    lines: &mut LineWriter,
    keys: &KeyTable,
    asked: Asked,
    operation: &RecordedOperation,
) -> Result<(), Infallible> {
    use skew_history::Action::{Read, Write};
    let note = operation.sql.as_deref().map_or(Note::Nothing, |sql| Note::Text("sql", sql));
    match &operation.action {
        RecordedAction::Read { key, value, source, locking } => {
            let (writer, locking) = (writer(*source), *locking);
            let gone = if let ReadOrigin::Gone(by) = source { Some(transaction_name(*by)) } else { None };
            let gone = gone.as_deref().map(Name::Text);
            let read = Operation::new(Read, name(keys, *key), content(keys, *key, value.as_ref()));
            lines.put_operation(&Operation { from: writer.as_ref().map(claim), locking, gone, note, asked, ..read })
        }
        RecordedAction::Write { key, value } => {
            let write = Operation::new(Write, name(keys, *key), content(keys, *key, value.as_ref()));
            lines.put_operation(&Operation { note, asked, ..write })
        }
        RecordedAction::Scan { covered, sealed, listed, except } => {
            let writers: Vec<Option<Option<String>>> = listed.iter().map(|listed| writer(listed.source)).collect();
            let listed: Vec<ScannedKey<'_, Content<'_>>> = listed
                .iter()
                .zip(&writers)
                .map(|(ScannedRow { key, value, .. }, writer)| ScannedKey {
                    key: keys.name(*key),
                    value: content(keys, *key, value.as_ref()),
                    writer: writer.as_ref().map(claim),
                })
                .collect();
            let except: Vec<&str> = except.iter().map(|key| &**keys.name(*key)).collect();
            let spec = ScanSpec {
                prefix: &covered.prefix,
                low: covered.low.as_ref().map(bound),
                high: covered.high.as_ref().map(bound),
                sealed: Some(*sealed),
                locking: false,
                except: &except,
                asked,
                note,
            };
            lines.put_scan(&spec, &listed)
        }
    }
}

fn name(keys: &KeyTable, key: KeyId) -> Name<'_> {
    Name::Text(keys.name(key))
}

fn bound(bound: &ScanBound) -> Name<'_> {
    match bound {
        ScanBound::Number(number) => Name::Integer(*number),
        ScanBound::Text(text) => Name::Text(text),
    }
}

/// Who wrote what was read: a transaction, or nothing for the initial state. Of what it wrote itself nobody has to be told.
fn writer(source: ReadOrigin) -> Option<Option<String>> {
    match source {
        ReadOrigin::Own | ReadOrigin::Gone(_) => None,
        ReadOrigin::Version(version) => Some(version_name(version)),
    }
}

fn claim(writer: &Option<String>) -> ClaimedWriter<'_> {
    match writer {
        None => ClaimedWriter::Initial,
        Some(id) => ClaimedWriter::Transaction(Name::Text(id)),
    }
}

/// A version as JSON: numbers and truth as such, everything else as PostgreSQL shows it.
fn content(keys: &KeyTable, key: KeyId, row: Option<&Row>) -> Content<'static> {
    let Some(row) = row else { return Content::Absent };
    let shown = keys.layout().shown(keys.row_of(key), row);
    let integer = match shown {
        Datum::Boolean(truth) => return Content::Boolean(truth),
        Datum::Integer(number) => i64::try_from(number).ok(),
        _ => None,
    };
    integer.map_or_else(|| Content::Text(text(&shown).into()), Content::Integer)
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
