//! The history as the clients saw it, written while it happens.
//!
//! ```text
//!   {"skew":1,"engine":"postgres 15.20","initial":{"accounts/1":0},"about":"smallbank"}
//!   {"session":"s1","name":"deposit","ops":[{"r":"accounts/1","v":0,"lock":true,"s":1,"kind":"update"},
//!    {"w":"accounts/1","v":1000000001,"s":1,"kind":"update"}],
//!    "outcome":"committed","level":"postgres:repeatable-read","begin":1200,"end":88000}
//! ```
//!
//! Every event has the number of its statement and what that asked for, so that the levels of the engines know which locks were taken.
//! `lock` is for the levels of the papers: a row that a statement locks is read in its latest version, and so is the absence that an INSERT
//! makes sure of; what any other statement does not find is an ordinary read, unless the server locks the gap.
//!
//! A transaction is one line, made by its own session when it has ended; a lock is held only to add the line to those that wait, and
//! the thread that waits for the sessions writes them. So recording costs little beside a statement that goes over the network, and the
//! lines of a session stand in the order in which it ran them. Whole lines are written, so that what there is stays a history at
//! every moment. `begin` is taken before the server hears of the transaction and `end` after it has answered, on one clock. Where there is one
//! transaction at a time, times count instead, 1 and 2 for the first one: their order is the same, and so are the bytes of two runs.

use skew_history::line::{
    Aborter, Content, Ended, Header, HistorySink, LineWriter, Note, Opening, Operation, ScanSpec, ScannedKey,
};
use skew_history::{Action, Asked, IsolationLevel, Name, Refused, StatementKind, Times, line};
use std::io::{self, Write};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Takes the lines of all sessions.
pub(crate) struct Recorder {
    /// Lines that are not written yet; nothing when nobody wants them.
    waiting: Option<Mutex<Vec<u8>>>,
    start: Instant,
    telling: Telling,
    /// How far times have counted.
    moment: AtomicI64,
}

/// What histories tell of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Telling {
    /// Whether locking reads are marked.
    pub(crate) locks: bool,
    /// Whether it is known which version a change looks at when it finds no row: of an engine it is. What a weak database looks at
    /// before it changes or inserts is its own affair, and need not be what its reads show.
    pub(crate) searches: bool,
    /// Whether what a locking statement does not find stays away until its transaction ends, as InnoDB sees to at repeatable read and above.
    pub(crate) gaps: bool,
    /// Whether a row is one thing, so that its absence is a version of it like others.
    pub(crate) rows: bool,
    /// Whether times count transactions, of which there is one at a time.
    pub(crate) counts: bool,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AttemptEnding {
    /// The commit was answered.
    Committed,
    /// The program rolled back.
    ByProgram,
    /// The database refused, and at which statement.
    ByDatabase(Refused<'static>),
    /// The answer to the commit was lost.
    Unknown,
}

impl Recorder {
    /// A recorder that keeps lines, or only the clock.
    pub(crate) fn new(is_wanted: bool, telling: Telling) -> Recorder {
        Recorder {
            waiting: is_wanted.then(Mutex::default),
            start: Instant::now(),
            telling,
            moment: AtomicI64::default(),
        }
    }

    /// What a new transaction writes its events into.
    pub(crate) fn events(&self, session: &str, name: &str) -> Events {
        let Telling { locks, searches, gaps, rows, counts: _ } = self.telling;
        let mut events = Events {
            without_locks: !locks,
            inserts_blindly: !(searches && locks && rows),
            searches_unseen: !searches && locks,
            gaps,
            without_absence: !rows,
            ..Events::default()
        };
        let opening = Opening { session: Name::Text(session), id: None, note: Note::Text("name", name) };
        let Ok(()) = events.lines.put_opening(&opening);
        events
    }

    /// Nanoseconds since the recorder was made.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The times of a transaction that has just ended, as the history tells them.
    pub(crate) fn times(&self, begin: u64, end: u64) -> Times {
        if !self.telling.counts {
            return Times { begin: Some(begin as i64), end: Some(end as i64) };
        }
        let moment = self.moment.fetch_add(2, Ordering::Relaxed);
        Times { begin: Some(moment + 1), end: Some(moment + 2) }
    }

    /// The first line: rows that are loaded have version 0.
    pub(crate) fn header(&self, engine: Option<&str>, initial: &[String], about: &str) {
        let mut lines = LineWriter::new();
        let initial = initial.iter().map(|key| (Name::Text(key), Content::Integer(0)));
        let Ok(()) = lines.put_header(Header { engine, initial: Some(initial), about: Some(about) });
        self.push(&lines);
    }

    /// A transaction that has ended.
    pub(crate) fn transaction(&self, events: Events, ending: AttemptEnding, level: IsolationLevel, times: Times) {
        let outcome = match ending {
            AttemptEnding::Committed => Ended::Committed,
            AttemptEnding::ByProgram => Ended::Aborted { by: Some(Aborter::Program), refused: None },
            AttemptEnding::ByDatabase(refused) => {
                Ended::Aborted { by: Some(Aborter::Database), refused: Some(refused) }
            }
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
    /// How many statements were sent; events are those of the last one.
    statements: u32,
    /// Whether locking reads are plain ones: where nothing is known about the locks of a server.
    without_locks: bool,
    /// Whether nothing is known of how an INSERT makes sure that its key is not there.
    inserts_blindly: bool,
    /// Whether nothing is known of which version a change by key has looked at that found no row.
    searches_unseen: bool,
    /// Whether absence can be locked.
    gaps: bool,
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

    /// Another statement is sent: what follows is of it.
    pub(crate) fn next_statement(&mut self) {
        self.statements += 1;
    }

    /// How many statements were sent.
    pub(crate) fn statements(&self) -> u32 {
        self.statements
    }

    /// A read of a version, or of absence.
    pub(crate) fn read(&mut self, key: &str, version: Option<i64>, kind: StatementKind) {
        if self.without_absence && version.is_none() {
            return;
        }
        let locks = kind != StatementKind::Select && (version.is_some() || self.gaps);
        self.event(Action::Read, key, content(version), (locks && !self.without_locks, kind));
    }

    /// A change by key that found no row; whether the history says so.
    pub(crate) fn found_nothing(&mut self, key: &str, kind: StatementKind) -> bool {
        if self.searches_unseen {
            return false;
        }
        self.read(key, None, kind);
        true
    }

    /// A write of a version, or a deletion.
    pub(crate) fn write(&mut self, key: &str, version: Option<i64>, kind: StatementKind) {
        if self.without_absence && version.is_none() {
            return;
        }
        self.event(Action::Write, key, content(version), (false, kind));
    }

    /// A row that is new.
    pub(crate) fn insert(&mut self, key: &str, version: i64) {
        let kind = StatementKind::Insert;
        if !self.inserts_blindly {
            self.event(Action::Read, key, Content::Absent, (true, kind));
        }
        self.write(key, Some(version), kind);
    }

    /// A row that an INSERT found in its way; which version of it, no server says.
    pub(crate) fn duplicate(&mut self, key: &str) {
        if self.inserts_blindly {
            return;
        }
        let mut operation = Operation::new(Action::Read, Name::Text(key), Content::Absent);
        operation.asked = Asked { found: true, ..self.asked(StatementKind::Insert) };
        let Ok(()) = self.lines.put_operation(&operation);
    }

    /// An element put at the end of a list.
    pub(crate) fn append(&mut self, key: &str, element: i64) {
        self.event(Action::Append, key, Content::Integer(element), (false, StatementKind::Update));
    }

    /// A read of a whole list.
    pub(crate) fn read_list(&mut self, key: &str, elements: &[i64]) {
        self.event(Action::Read, key, Content::Integers(elements), (false, StatementKind::Select));
    }

    /// A read of all keys that begin alike: those that were there, and no others but these exceptions, of which nothing is said.
    pub(crate) fn scan(&mut self, prefix: &str, reads: &[(String, Option<i64>)], except: &[String]) {
        if self.without_absence {
            reads.iter().for_each(|(key, version)| self.read(key, *version, StatementKind::Select));
            return;
        }
        let listed: Vec<ScannedKey<'_, Content<'_>>> =
            reads.iter().map(|(key, version)| ScannedKey { key, value: content(*version), writer: None }).collect();
        let (asked, except) =
            (self.asked(StatementKind::Select), except.iter().map(String::as_str).collect::<Vec<_>>());
        let Ok(()) = self.lines.put_scan(&ScanSpec { prefix, asked, except: &except, ..ScanSpec::default() }, &listed);
    }

    /// A SELECT that found nothing of which the history could tell. It is there all the same: at InnoDB's repeatable read the first SELECT of
    /// a transaction decides what all others see. So it reads a key that nobody writes.
    pub(crate) fn looked(&mut self, table: &str) {
        self.event(Action::Read, &format!("{table}?"), Content::Absent, (false, StatementKind::Select));
    }

    fn asked(&self, kind: StatementKind) -> Asked {
        Asked { statement: self.statements, kind, ..Asked::default() }
    }

    fn event(&mut self, action: Action, key: &str, value: Content<'_>, (locking, kind): (bool, StatementKind)) {
        let asked = self.asked(kind);
        let operation = Operation { locking, asked, ..Operation::new(action, Name::Text(key), value) };
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

    const ALL: Telling = Telling { locks: true, searches: true, gaps: false, rows: true, counts: false };

    fn end(recorder: &Recorder, events: Events, ending: AttemptEnding) {
        recorder.transaction(events, ending, IsolationLevel::Snapshot, Times { begin: Some(1), end: Some(2) });
    }

    fn history(text: &[u8]) -> History {
        let source = Source { name: "recorded", bytes: text };
        read(&[source], Format::Native).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_is_recorded_reads_back() {
        let recorder = Recorder::new(true, ALL);
        recorder.header(Some("postgres 15.20"), &["x/1".to_owned(), "x/a\"\n\\".to_owned()], "two sessions");
        for (session, ending) in [
            ("s1", AttemptEnding::Committed),
            ("s1", AttemptEnding::ByProgram),
            ("s2", AttemptEnding::ByDatabase(Refused { error: "40P01", statement: 2 })),
            ("s2", AttemptEnding::Unknown),
        ] {
            let mut events = recorder.events(session, "a \"name\"");
            events.next_statement();
            events.read("x/1", Some(0), StatementKind::Update);
            events.write("x/1", Some(1_000_000_001), StatementKind::Update);
            events.next_statement();
            events.read("x/2", None, StatementKind::Select);
            events.insert("x/3", 1_000_000_002);
            events.duplicate("x/1");
            events.looked("x");
            events.scan("x/", &[("x/1".to_owned(), Some(1_000_000_001))], &["x/3".to_owned()]);
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
        assert_eq!(history.engine(), Some("postgres 15.20"));
        assert_eq!(String::from_utf8_lossy(&out).matches(r#""error":"40P01","s":2"#).count(), 1);
    }

    #[test]
    fn where_there_is_one_at_a_time_times_count() {
        let recorder = Recorder::new(true, Telling { counts: true, ..ALL });
        let times = || recorder.times(70, 900);
        let counted = [times(), times()].map(|times| (times.begin, times.end));
        assert_eq!(counted, [(Some(1), Some(2)), (Some(3), Some(4))]);
        assert_eq!(Recorder::new(true, ALL).times(70, 900), Times { begin: Some(70), end: Some(900) });
    }

    #[test]
    fn where_nothing_locks_no_read_is_marked() {
        let lines = |locks| {
            let (recorder, mut out) = (Recorder::new(true, Telling { locks, ..ALL }), Vec::new());
            let mut events = recorder.events("s1", "a \"name\"");
            events.read("x/,\"lock\":true", Some(0), StatementKind::ForUpdate);
            end(&recorder, events, AttemptEnding::Committed);
            recorder.write(&mut out).expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(lines(true).replace(r#"0,"lock":true,"#, "0,"), lines(false));
        assert_ne!(lines(true), lines(false));
    }

    #[test]
    fn what_an_update_does_not_find_is_locked_where_gaps_are() {
        let shown = |gaps| {
            let mut events = Recorder::new(true, Telling { gaps, ..ALL }).events("s1", "name");
            events.next_statement();
            events.read("x/1", None, StatementKind::Select);
            events.read("x/1", None, StatementKind::Update);
            events.shown().to_owned()
        };
        let plain = r#"{"r":"x/1","v":null,"s":1},{"r":"x/1","v":null,"s":1,"kind":"update"}"#;
        assert_eq!(shown(false), plain);
        assert_eq!(shown(true), plain.replace(r#""s":1,"kind""#, r#""lock":true,"s":1,"kind""#));
    }

    /// A weak database with atomic updates looks for the row to change at its latest state, whatever its reads show.
    #[test]
    fn what_a_weak_database_has_looked_at_when_it_found_nothing_is_not_told() {
        let told = |locks, searches| {
            let mut events = Recorder::new(true, Telling { locks, searches, ..ALL }).events("s1", "name");
            (events.found_nothing("x/1", StatementKind::Delete), events.shown().contains("x/1"))
        };
        assert_eq!(told(true, false), (false, false));
        for (locks, searches) in [(true, true), (false, true), (false, false)] {
            assert_eq!(told(locks, searches), (true, true), "locks {locks}, searches {searches}");
        }
    }

    #[test]
    fn where_rows_are_cells_absence_is_no_version() {
        let shown = |rows| {
            let mut events = Recorder::new(true, Telling { rows, ..ALL }).events("s1", "name");
            events.read("x/1", None, StatementKind::Update);
            events.read("x/1", Some(0), StatementKind::Select);
            events.write("x/1", None, StatementKind::Delete);
            events.insert("x/1", 7);
            events.shown().to_owned()
        };
        assert_eq!(shown(false), r#"{"r":"x/1","v":0},{"w":"x/1","v":7,"kind":"insert"}"#);
        assert_eq!(shown(true).matches("null").count(), 3);
    }
}
