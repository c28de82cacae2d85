//! The bytes of the native format.
//!
//! Members come in one order, whoever tells the history, and are put together here and nowhere else. Nothing is gathered for a line but
//! its bytes: the generator writes millions of transactions through this, and an event costs no allocation. What a transaction goes through is
//! inlined into the caller, who mostly knows that there is no `from`, no lock and no note.

use super::{
    Aborter, ClaimedWriter, Closing, Content, Ended, Header, HistorySink, Note, Opening, Operation, ScanSpec,
    ScannedKey,
};
use crate::history::{Action, Times};
use crate::json::{push_integer, push_name, push_text, push_value};
use crate::name::Name;
use crate::statement::{Asked, Refused, StatementKind};
use std::convert::Infallible;
use std::io;

/// How many bytes are gathered before they are handed on.
const CHUNK: usize = 1 << 16;

/// Lines of the native format, in memory; whoever has a file takes them from here.
#[derive(Clone, Default, Debug)]
pub struct LineWriter {
    bytes: Vec<u8>,
    /// The next event of the transaction is not its first.
    has_events: bool,
}

impl LineWriter {
    /// One without lines.
    pub fn new() -> LineWriter {
        LineWriter::default()
    }

    /// What was written and not handed on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Hands whole lines on to a file, once there are enough of them to be worth it.
    #[inline]
    pub fn hand_on(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        if self.bytes.len() < CHUNK { Ok(()) } else { self.hand_on_all(out) }
    }

    /// Hands on what there is; the room is kept.
    pub fn hand_on_all(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A comma between the events of a transaction.
    #[inline]
    fn next_event(&mut self) {
        if self.has_events {
            self.bytes.push(b',');
        }
        self.has_events = true;
    }

    /// Commas between elements.
    fn separated<T>(&mut self, elements: impl IntoIterator<Item = T>, mut push: impl FnMut(&mut LineWriter, T)) {
        for (place, element) in elements.into_iter().enumerate() {
            if place > 0 {
                self.bytes.push(b',');
            }
            push(self, element);
        }
    }

    #[inline]
    fn name(&mut self, name: Name<'_>) {
        push_name(&mut self.bytes, name);
    }

    /// A key, which is a text in every place of a line.
    #[inline]
    fn key(&mut self, name: Name<'_>) {
        match name {
            Name::Integer(number) => {
                self.bytes.push(b'"');
                push_integer(&mut self.bytes, number);
                self.bytes.push(b'"');
            }
            Name::Text(text) => push_text(&mut self.bytes, text),
        }
    }

    #[inline]
    fn key_and_content(&mut self, key: Name<'_>, content: &Content<'_>) {
        self.key(key);
        self.push(b",\"v\":");
        self.content(content);
    }

    /// What its statement asked for, in as few words as say it.
    fn asked(&mut self, asked: Asked) {
        let Asked { statement, kind, passed, waited, found: _ } = asked;
        if statement > 0 {
            self.push(b",\"s\":");
            push_integer(&mut self.bytes, statement);
        }
        if kind != StatementKind::default() {
            self.push(b",\"kind\":\"");
            self.push(kind.name().as_bytes());
            self.push(b"\"");
        }
        if passed {
            self.push(b",\"passed\":true");
        }
        if waited {
            self.push(b",\"waited\":true");
        }
    }

    #[inline]
    fn content(&mut self, content: &Content<'_>) {
        match content {
            Content::Absent => self.push(b"null"),
            Content::Integer(number) => push_integer(&mut self.bytes, *number),
            Content::Boolean(truth) => self.push(if *truth { b"true" } else { b"false" }),
            Content::Text(text) => push_text(&mut self.bytes, text),
            Content::Integers(elements) => {
                self.bytes.push(b'[');
                self.separated(*elements, |line, &element| push_integer(&mut line.bytes, element));
                self.bytes.push(b']');
            }
            Content::Pooled(values, value) => push_value(&mut self.bytes, values, *value),
        }
    }

    #[inline]
    fn from(&mut self, from: Option<ClaimedWriter<'_>>) {
        match from {
            None => {}
            Some(ClaimedWriter::Initial) => self.push(b",\"from\":null"),
            Some(ClaimedWriter::Transaction(name)) => {
                self.push(b",\"from\":");
                self.name(name);
            }
        }
    }

    #[inline]
    fn lock(&mut self, locking: bool) {
        if locking {
            self.push(b",\"lock\":true");
        }
    }

    #[inline]
    fn note(&mut self, note: Note<'_>) {
        note.push(&mut self.bytes);
    }

    #[inline]
    fn ended(&mut self, ended: Ended<'_>) {
        match ended {
            Ended::Unsaid => {}
            Ended::Committed => self.push(b",\"outcome\":\"committed\""),
            Ended::Unknown => self.push(b",\"outcome\":\"unknown\""),
            Ended::Aborted { by, refused } => {
                self.push(b",\"outcome\":\"aborted\"");
                match by {
                    None => {}
                    Some(Aborter::Program) => self.push(b",\"by\":\"program\""),
                    Some(Aborter::Database) => self.push(b",\"by\":\"database\""),
                }
                if let Some(Refused { error, statement }) = refused {
                    self.note(Note::Text("error", error));
                    self.asked(Asked { statement, ..Asked::default() });
                }
            }
        }
    }

    fn scanned(&mut self, scanned: &ScannedKey<'_, Content<'_>>) {
        let ScannedKey { key, value, writer } = scanned;
        self.push(b"{\"k\":");
        self.key_and_content(Name::Text(key), value);
        self.from(*writer);
        self.push(b"}");
    }
}

impl HistorySink for LineWriter {
    type Error = Infallible;

    fn put_header<'a, I>(&mut self, header: Header<'a, I>) -> Result<(), Infallible>
    where
        I: Iterator<Item = (Name<'a>, Content<'a>)>,
    {
        let Header { engine, initial, about } = header;
        self.push(b"{\"skew\":1");
        if let Some(engine) = engine {
            self.push(b",\"engine\":");
            push_text(&mut self.bytes, engine);
        }
        if let Some(initial) = initial {
            self.push(b",\"initial\":{");
            self.separated(initial, |line, (key, content)| {
                line.key(key);
                line.push(b":");
                line.content(&content);
            });
            self.push(b"}");
        }
        if let Some(about) = about {
            self.push(b",\"about\":");
            push_text(&mut self.bytes, about);
        }
        self.push(b"}\n");
        Ok(())
    }

    #[inline]
    fn put_opening(&mut self, opening: &Opening<'_>) -> Result<(), Infallible> {
        let Opening { session, id, note } = *opening;
        self.push(b"{\"session\":");
        self.name(session);
        if let Some(id) = id {
            self.push(b",\"id\":");
            self.name(id);
        }
        self.note(note);
        self.push(b",\"ops\":[");
        self.has_events = false;
        Ok(())
    }

    #[inline]
    fn put_operation(&mut self, operation: &Operation<'_, Name<'_>, Content<'_>>) -> Result<(), Infallible> {
        let Operation { action, key, value, from, locking, asked, gone, note } = operation;
        self.next_event();
        self.push(match action {
            Action::Read => b"{\"r\":",
            Action::Write => b"{\"w\":",
            Action::Append => b"{\"a\":",
        });
        if asked.found {
            self.key(*key);
            self.push(b",\"found\":true");
        } else {
            self.key_and_content(*key, value);
        }
        self.from(*from);
        if let Some(by) = gone {
            self.push(b",\"gone\":");
            self.name(*by);
        }
        self.lock(*locking);
        self.asked(*asked);
        self.note(*note);
        self.push(b"}");
        Ok(())
    }

    fn put_scan(&mut self, scan: &ScanSpec<'_>, listed: &[ScannedKey<'_, Content<'_>>]) -> Result<(), Infallible> {
        let ScanSpec { prefix, low, high, sealed, locking, except, asked, note } = *scan;
        self.next_event();
        self.push(b"{\"scan\":");
        push_text(&mut self.bytes, prefix);
        for (member, bound) in [(b",\"lo\":", low), (b",\"hi\":", high)] {
            if let Some(bound) = bound {
                self.push(member);
                self.name(bound);
            }
        }
        self.push(b",\"reads\":[");
        self.separated(listed, LineWriter::scanned);
        self.push(b"]");
        if !except.is_empty() {
            self.push(b",\"except\":[");
            self.separated(except, |line, key| push_text(&mut line.bytes, key));
            self.push(b"]");
        }
        if let Some(sealed) = sealed {
            self.push(b",\"sealed\":");
            push_integer(&mut self.bytes, sealed);
        }
        self.lock(locking);
        self.asked(asked);
        self.note(note);
        self.push(b"}");
        Ok(())
    }

    #[inline]
    fn put_ending(&mut self, ending: &Closing<'_>) -> Result<(), Infallible> {
        let Closing { outcome, level, times: Times { begin, end }, note } = *ending;
        self.push(b"]");
        self.ended(outcome);
        if let Some(level) = level {
            self.push(b",\"level\":\"");
            self.push(level.name().as_bytes());
            self.push(b"\"");
        }
        for (member, time) in [(b",\"begin\":".as_slice(), begin), (b",\"end\":", end)] {
            if let Some(time) = time {
                self.push(member);
                push_integer(&mut self.bytes, time);
            }
        }
        self.note(note);
        self.push(b"}\n");
        Ok(())
    }

    fn put_seal(&mut self, deletions: &[(Name<'_>, Name<'_>)]) -> Result<(), Infallible> {
        self.push(b"{\"sealed\":{");
        self.separated(deletions, |line, &(key, id)| {
            line.key(key);
            line.push(b":");
            line.name(id);
        });
        self.push(b"}}\n");
        Ok(())
    }
}
