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

use skew_history::IsolationLevel;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The mark of a locking read.
const LOCK: &str = r#","lock":true"#;

/// Takes the lines of all sessions.
pub(crate) struct Recorder {
    /// Lines that are not written yet; nothing when nobody wants them.
    waiting: Option<Mutex<String>>,
    start: Instant,
    /// Whether locking reads are marked.
    locks: bool,
    /// Whether a row is one thing, so that its absence is a version of it like others.
    rows: bool,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// The commit was answered.
    Committed,
    /// The program rolled back.
    ByProgram,
    /// The database refused; how reports call it.
    ByDatabase(&'static str),
    /// The answer to the commit was lost.
    Unknown,
}

/// A transaction that has ended.
pub(crate) struct Ended<'a> {
    pub(crate) session: &'a str,
    pub(crate) name: &'a str,
    pub(crate) events: &'a Events,
    pub(crate) ending: Ending,
    pub(crate) level: IsolationLevel,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Recorder {
    /// A recorder that keeps lines, or only the clock.
    pub(crate) fn new(is_wanted: bool, locks: bool, rows: bool) -> Recorder {
        Recorder { waiting: is_wanted.then(Mutex::default), start: Instant::now(), locks, rows }
    }

    /// What a new transaction writes its events into.
    pub(crate) fn events(&self) -> Events {
        Events { text: String::new(), without_absence: !self.rows }
    }

    /// Nanoseconds since the recorder was made.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The first line: rows that are loaded have version 0.
    pub(crate) fn header(&self, initial: &[String], about: &str) {
        let mut line = r#"{"skew":1,"initial":{"#.to_owned();
        for (place, key) in initial.iter().enumerate() {
            line.push_str(if place > 0 { "," } else { "" });
            write_text(key, &mut line);
            line.push_str(":0");
        }
        line.push_str(r#"},"about":"#);
        write_text(about, &mut line);
        line.push_str("}\n");
        self.push(&line);
    }

    pub(crate) fn transaction(&self, ended: &Ended<'_>) {
        let mut line = r#"{"session":"#.to_owned();
        write_text(ended.session, &mut line);
        line.push_str(r#","name":"#);
        write_text(ended.name, &mut line);
        // Quotes inside keys are escaped, so that nothing else reads like this.
        let events = match self.locks {
            true => Cow::Borrowed(ended.events.text.as_str()),
            false => Cow::Owned(ended.events.text.replace(LOCK, "")),
        };
        let _ = write!(line, r#","ops":[{events}],"outcome":"#);
        line.push_str(match ended.ending {
            Ending::Committed => r#""committed""#,
            Ending::ByProgram => r#""aborted","by":"program""#,
            Ending::ByDatabase(_) => r#""aborted","by":"database""#,
            Ending::Unknown => r#""unknown""#,
        });
        if let Ending::ByDatabase(kind) = ended.ending {
            line.push_str(r#","error":"#);
            write_text(kind, &mut line);
        }
        let _ = writeln!(line, r#","level":"{}","begin":{},"end":{}}}"#, ended.level, ended.begin, ended.end);
        self.push(&line);
    }

    fn push(&self, line: &str) {
        if let Some(waiting) = &self.waiting {
            waiting.lock().unwrap_or_else(PoisonError::into_inner).push_str(line);
        }
    }

    /// Writes what waits.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        let lines = std::mem::take(&mut *waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if lines.is_empty() { Ok(()) } else { out.write_all(lines.as_bytes()) }
    }
}

/// The events of one transaction, as they will stand in its line.
#[derive(Default)]
pub(crate) struct Events {
    text: String,
    /// Whether deletions and reads of absence are left out: where a row is many cells, whether it is there is one of them, and `ver`
    /// another.
    without_absence: bool,
}

impl Events {
    /// The events, separated by commas.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> &str {
        &self.text
    }

    /// A read of a version, or of absence.
    pub(crate) fn read(&mut self, key: &str, version: Option<i64>, locking: bool) {
        if self.without_absence && version.is_none() {
            return;
        }
        self.open('r', key);
        self.version(version);
        self.text.push_str(if locking { LOCK } else { "" });
        self.text.push('}');
    }

    /// A write of a version, or a deletion.
    pub(crate) fn write(&mut self, key: &str, version: Option<i64>) {
        if self.without_absence && version.is_none() {
            return;
        }
        self.open('w', key);
        self.version(version);
        self.text.push('}');
    }

    /// An element put at the end of a list.
    pub(crate) fn append(&mut self, key: &str, element: i64) {
        self.open('a', key);
        let _ = write!(self.text, "{element}}}");
    }

    /// A read of a whole list.
    pub(crate) fn read_list(&mut self, key: &str, elements: &[i64]) {
        self.open('r', key);
        let elements: Vec<String> = elements.iter().map(i64::to_string).collect();
        let _ = write!(self.text, "[{}]}}", elements.join(","));
    }

    /// A read of all keys that begin alike: those that were there, and no others.
    pub(crate) fn scan(&mut self, prefix: &str, reads: &[(String, Option<i64>)]) {
        if self.without_absence {
            reads.iter().for_each(|(key, version)| self.read(key, *version, false));
            return;
        }
        self.text.push_str(if self.text.is_empty() { "" } else { "," });
        self.text.push_str(r#"{"scan":"#);
        write_text(prefix, &mut self.text);
        self.text.push_str(r#","reads":["#);
        for (place, (key, version)) in reads.iter().enumerate() {
            self.text.push_str(if place > 0 { r#",{"k":"# } else { r#"{"k":"# });
            write_text(key, &mut self.text);
            self.text.push_str(r#","v":"#);
            self.version(*version);
            self.text.push('}');
        }
        self.text.push_str("]}");
    }

    fn open(&mut self, kind: char, key: &str) {
        self.text.push_str(if self.text.is_empty() { "" } else { "," });
        let _ = write!(self.text, r#"{{"{kind}":"#);
        write_text(key, &mut self.text);
        self.text.push_str(r#","v":"#);
    }

    fn version(&mut self, version: Option<i64>) {
        let _ = match version {
            Some(version) => write!(self.text, "{version}"),
            None => self.text.write_str("null"),
        };
    }
}

/// Text as JSON writes it.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            letter if u32::from(letter) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::format::{Format, Source, read};
    use skew_history::{History, Outcome};

    fn ended<'a>(session: &'a str, events: &'a Events, ending: Ending) -> Ended<'a> {
        Ended { session, name: "a \"name\"", events, ending, level: IsolationLevel::Snapshot, begin: 1, end: 2 }
    }

    fn history(text: &[u8]) -> History {
        let source = Source { name: "recorded", bytes: text };
        read(&[source], Format::Native).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_is_recorded_reads_back() {
        let recorder = Recorder::new(true, true, true);
        recorder.header(&["x/1".to_owned(), "x/a\"\n\\".to_owned()], "two sessions");
        let mut events = Events::default();
        events.read("x/1", Some(0), true);
        events.write("x/1", Some(1_000_000_001));
        events.read("x/2", None, false);
        events.scan("x/", &[("x/1".to_owned(), Some(1_000_000_001))]);
        events.append("l/1", 5);
        events.read_list("l/1", &[5]);
        for (session, ending) in [
            ("s1", Ending::Committed),
            ("s1", Ending::ByProgram),
            ("s2", Ending::ByDatabase("deadlock")),
            ("s2", Ending::Unknown),
        ] {
            recorder.transaction(&ended(session, &events, ending));
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
        let mut events = Events::default();
        events.read("x/,\"lock\":true", Some(0), true);
        let lines = |locks| {
            let (recorder, mut out) = (Recorder::new(true, locks, true), Vec::new());
            recorder.transaction(&ended("s1", &events, Ending::Committed));
            recorder.write(&mut out).expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(lines(true).replace(r#"0,"lock":true}"#, "0}"), lines(false));
        assert_ne!(lines(true), lines(false));
    }
    #[test]
    fn where_rows_are_cells_absence_is_no_version() {
        let shown = |rows| {
            let mut events = Recorder::new(true, true, rows).events();
            events.read("x/1", None, false);
            events.read("x/1", Some(0), false);
            events.write("x/1", None);
            events.shown().to_owned()
        };
        assert_eq!(shown(false), r#"{"r":"x/1","v":0}"#);
        assert_eq!(shown(true).matches("null").count(), 2);
    }
}
