//! The history as the clients saw it, written while it happens.
//!
//! ```text
//!   {"skew":1,"initial":{"accounts/1":0},"about":"smallbank"}
//!   {"session":"s1","name":"deposit","ops":[{"r":"accounts/1","v":0,"lock":true},{"w":"accounts/1","v":1000000001}],
//!    "outcome":"committed","level":"snapshot","begin":1200,"end":88000}
//! ```
//!
//! A transaction is one line, made by its own session when it has ended; a lock is held only to add the line to those that wait, and
//! the thread that waits for the sessions writes them. So recording costs little beside a statement that goes over the network, and the
//! lines of a session stand in the order in which it ran them. Whole lines are written, so that what there is stays a history at
//! every moment. `begin` is taken before the server hears of the transaction and `end` after it has answered, on one clock.

use skew_history::line::{
    Aborter, Content, Ended, Header, HistorySink, LineWriter, Note, Opening, Operation, ScanSpec, ScannedKey,
};
use skew_history::{Action, IsolationLevel, Name, Times, line};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Takes the lines of all sessions.
pub(crate) struct Recorder {
    /// Lines that are not written yet; nothing when nobody wants them.
    waiting: Option<Mutex<Vec<u8>>>,
    start: Instant,
    /// Whether locking reads are marked.
    locks: bool,
    /// Whether a row is one thing, so that its absence is a version of it like others.
    rows: bool,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AttemptEnding {
    /// The commit was answered.
    Committed,
    /// The program rolled back.
    ByProgram,
    /// The database refused; how reports call it.
    ByDatabase(&'static str),
    /// The answer to the commit was lost.
    Unknown,
}

impl Recorder {
    /// A recorder that keeps lines, or only the clock.
    pub(crate) fn new(is_wanted: bool, locks: bool, rows: bool) -> Recorder {
        Recorder { waiting: is_wanted.then(Mutex::default), start: Instant::now(), locks, rows }
    }

    /// What a new transaction writes its events into.
    pub(crate) fn events(&self, session: &str, name: &str) -> Events {
        let mut events = Events { lines: LineWriter::new(), without_locks: !self.locks, without_absence: !self.rows };
        let opening = Opening { session: Name::Text(session), id: None, note: Note::Text("name", name) };
        let Ok(()) = events.lines.put_opening(&opening);
        events
    }

    /// Nanoseconds since the recorder was made.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The first line: rows that are loaded have version 0.
    pub(crate) fn header(&self, initial: &[String], about: &str) {
        let mut lines = LineWriter::new();
        let initial = initial.iter().map(|key| (Name::Text(key), Content::Integer(0)));
        let Ok(()) = lines.put_header(Header { initial: Some(initial), about: Some(about) });
        self.push(&lines);
    }

    /// A transaction that has ended.
    pub(crate) fn transaction(&self, events: Events, ending: AttemptEnding, level: IsolationLevel, times: Times) {
        let outcome = match ending {
            AttemptEnding::Committed => Ended::Committed,
            AttemptEnding::ByProgram => Ended::Aborted { by: Some(Aborter::Program), error: None },
            AttemptEnding::ByDatabase(error) => Ended::Aborted { by: Some(Aborter::Database), error: Some(error) },
            AttemptEnding::Unknown => Ended::Unknown,
        };
        let mut lines = events.lines;
        let Ok(()) = lines.put_ending(&line::Closing { outcome, level: Some(level), times, note: Note::Nothing });
        self.push(&lines);
    }

    fn push(&self, lines: &LineWriter) {
        if let Some(waiting) = &self.waiting {
            waiting.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(lines.bytes());
        }
    }

    /// Writes what waits.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        let lines = std::mem::take(&mut *waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if lines.is_empty() { Ok(()) } else { out.write_all(&lines) }
    }
}

/// The line of one transaction, as far as its events.
#[derive(Default)]
pub(crate) struct Events {
    lines: LineWriter,
    /// Whether locking reads are plain ones: where nothing is known about the locks of a server.
    without_locks: bool,
    /// Whether deletions and reads of absence are left out: where a row is many cells, whether it is there is one of them, and `ver`
    /// another.
    without_absence: bool,
}

impl Events {
    /// The events, separated by commas.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> &str {
        let line = std::str::from_utf8(self.lines.bytes()).expect("lines are text");
        line.split_once("\"ops\":[").map_or(line, |(_, events)| events)
    }

    /// A read of a version, or of absence.
    pub(crate) fn read(&mut self, key: &str, version: Option<i64>, locking: bool) {
        if self.without_absence && version.is_none() {
            return;
        }
        self.event(Action::Read, key, content(version), locking && !self.without_locks);
    }

    /// A write of a version, or a deletion.
    pub(crate) fn write(&mut self, key: &str, version: Option<i64>) {
        if self.without_absence && version.is_none() {
            return;
        }
        self.event(Action::Write, key, content(version), false);
    }

    /// An element put at the end of a list.
    pub(crate) fn append(&mut self, key: &str, element: i64) {
        self.event(Action::Append, key, Content::Integer(element), false);
    }

    /// A read of a whole list.
    pub(crate) fn read_list(&mut self, key: &str, elements: &[i64]) {
        self.event(Action::Read, key, Content::Integers(elements), false);
    }

    /// A read of all keys that begin alike: those that were there, and no others.
    pub(crate) fn scan(&mut self, prefix: &str, reads: &[(String, Option<i64>)]) {
        if self.without_absence {
            reads.iter().for_each(|(key, version)| self.read(key, *version, false));
            return;
        }
        let listed: Vec<ScannedKey<'_, Content<'_>>> =
            reads.iter().map(|(key, version)| ScannedKey { key, value: content(*version), writer: None }).collect();
        let Ok(()) = self.lines.put_scan(&ScanSpec { prefix, ..ScanSpec::default() }, &listed);
    }

    fn event(&mut self, action: Action, key: &str, value: Content<'_>, locking: bool) {
        let operation = Operation { locking, ..Operation::new(action, Name::Text(key), value) };
        let Ok(()) = self.lines.put_operation(&operation);
    }
}

fn content(version: Option<i64>) -> Content<'static> {
    version.map_or(Content::Absent, Content::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::format::{Format, Source, read};
    use skew_history::{History, Outcome};

    fn end(recorder: &Recorder, events: Events, ending: AttemptEnding) {
        recorder.transaction(events, ending, IsolationLevel::Snapshot, Times { begin: Some(1), end: Some(2) });
    }

    fn history(text: &[u8]) -> History {
        let source = Source { name: "recorded", bytes: text };
        read(&[source], Format::Native).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_is_recorded_reads_back() {
        let recorder = Recorder::new(true, true, true);
        recorder.header(&["x/1".to_owned(), "x/a\"\n\\".to_owned()], "two sessions");
        for (session, ending) in [
            ("s1", AttemptEnding::Committed),
            ("s1", AttemptEnding::ByProgram),
            ("s2", AttemptEnding::ByDatabase("deadlock")),
            ("s2", AttemptEnding::Unknown),
        ] {
            let mut events = recorder.events(session, "a \"name\"");
            events.read("x/1", Some(0), true);
            events.write("x/1", Some(1_000_000_001));
            events.read("x/2", None, false);
            events.scan("x/", &[("x/1".to_owned(), Some(1_000_000_001))]);
            events.append("l/1", 5);
            events.read_list("l/1", &[5]);
            end(&recorder, events, ending);
        }
        let mut out = Vec::new();
        recorder.write(&mut out).expect("memory takes everything");
        recorder.write(&mut out).expect("nothing is written twice");
        let history = history(&out);
        let outcomes: Vec<Outcome> = history.transactions().map(|id| history.outcome(id)).collect();
        assert_eq!(outcomes.len(), 4);
        assert_eq!(String::from_utf8_lossy(&out).matches(r#""error":"deadlock""#).count(), 1);
    }

    #[test]
    fn where_nothing_locks_no_read_is_marked() {
        let lines = |locks| {
            let (recorder, mut out) = (Recorder::new(true, locks, true), Vec::new());
            let mut events = recorder.events("s1", "a \"name\"");
            events.read("x/,\"lock\":true", Some(0), true);
            end(&recorder, events, AttemptEnding::Committed);
            recorder.write(&mut out).expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(lines(true).replace(r#"0,"lock":true}"#, "0}"), lines(false));
        assert_ne!(lines(true), lines(false));
    }

    #[test]
    fn where_rows_are_cells_absence_is_no_version() {
        let shown = |rows| {
            let mut events = Recorder::new(true, true, rows).events("s1", "name");
            events.read("x/1", None, false);
            events.read("x/1", Some(0), false);
            events.write("x/1", None);
            events.shown().to_owned()
        };
        assert_eq!(shown(false), r#"{"r":"x/1","v":0}"#);
        assert_eq!(shown(true).matches("null").count(), 2);
    }
}
