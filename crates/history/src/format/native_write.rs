//! Writes the native format; what it writes, [`super::native`] reads back to the same history.
//!
//! A range read is kept in the history as the plain reads that it became. It is written as a scan again when a scan, with the
//! bounds that its first and last key suggest, would become exactly these reads; otherwise, as in a part of a history that lost
//! some of its keys, as plain reads, which mean the same.

use super::WriteError;
use crate::history::{Action, Event, EventId, History, KeyId, Outcome, Scan, Times, TransactionId, Writer};
use crate::name::Name;
use crate::scan::{ascending, within};
use crate::value::{Value, ValueView};
use std::collections::BTreeMap;
use std::io::{self, Write};

pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<Vec<String>, WriteError> {
    header(history, out)?;
    let mut writer = NativeWriter { history, out, scans: history.scans().iter().peekable(), ranges: BTreeMap::new() };
    for transaction in history.transactions() {
        writer.transaction(transaction)?;
    }
    Ok(Vec::new())
}

fn header(history: &History, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"skew\":1")?;
    let mut given = history.keys().filter(|&key| !history.initial(key).is_absent()).peekable();
    if given.peek().is_some() {
        out.write_all(b",\"initial\":{")?;
        for (place, key) in given.enumerate() {
            out.write_all(if place > 0 { b"," } else { b"" })?;
            name_as_text(history.key_name(key), out)?;
            out.write_all(b":")?;
            json_value(history, history.initial(key), out)?;
        }
        out.write_all(b"}")?;
    }
    if let Some(about) = history.about() {
        out.write_all(b",\"about\":")?;
        json_text(about, out)?;
    }
    out.write_all(b"}\n")
}

struct NativeWriter<'a> {
    history: &'a History,
    out: &'a mut dyn Write,
    scans: std::iter::Peekable<std::slice::Iter<'a, Scan>>,
    /// For every prefix that was scanned, the keys that a scan may cover, ascending.
    ranges: BTreeMap<&'a str, Vec<(String, KeyId)>>,
}

impl<'a> NativeWriter<'a> {
    fn transaction(&mut self, transaction: TransactionId) -> io::Result<()> {
        let history = self.history;
        self.out.write_all(b"{\"session\":")?;
        json_name(history.session_name(history.session_of(transaction)), self.out)?;
        if let crate::history::TransactionName::Given(id) = history.transaction_name(transaction) {
            self.out.write_all(b",\"id\":")?;
            json_name(id, self.out)?;
        }
        self.out.write_all(b",\"ops\":[")?;
        self.events(transaction)?;
        self.out.write_all(b"]")?;
        self.ending(transaction)?;
        self.out.write_all(b"}\n")
    }

    fn events(&mut self, transaction: TransactionId) -> io::Result<()> {
        let range = self.history.event_range(transaction);
        let mut event = range.start;
        while event < range.end {
            // A scan that covered no key left nothing to write.
            while self.scans.next_if(|scan| scan.events.end <= event).is_some() {}
            self.out.write_all(if event > range.start { b"," } else { b"" })?;
            let scan = self.scans.peek().filter(|scan| scan.events.start == event && scan.events.end <= range.end);
            match scan.copied().and_then(|scan| Some((scan, self.bounds(scan)?))) {
                Some((scan, bounds)) => {
                    self.scan(scan, bounds)?;
                    event = scan.events.end;
                }
                None => {
                    self.event(EventId(event))?;
                    event += 1;
                }
            }
        }
        Ok(())
    }

    /// The bounds under which a scan becomes exactly these reads.
    fn bounds(&mut self, scan: &'a Scan) -> Option<[Option<String>; 2]> {
        let history = self.history;
        let events: Vec<&Event> = scan.events.clone().map(|event| history.event(EventId(event))).collect();
        let (first, last) = (events.first()?, events.last()?);
        if events.iter().any(|event| event.locking != first.locking || !event.scanned) {
            return None;
        }
        let covered = self.ranges.entry(&scan.prefix).or_insert_with(|| coverable(history, &scan.prefix));
        let part = |event: &Event| {
            let name = history.key_name(event.key).to_string();
            name[scan.prefix.len()..].split('/').next().unwrap_or_default().to_owned()
        };
        let suggested = [[None, None], [Some(part(first)), Some(part(last))]];
        suggested.into_iter().find(|[low, high]| {
            let (low, high) = (low.as_deref().map(Name::from), high.as_deref().map(Name::from));
            let inside = covered.iter().filter(|(rest, _)| within(rest, low, high)).map(|(_, key)| *key);
            inside.eq(events.iter().map(|event| event.key))
        })
    }

    fn scan(&mut self, scan: &Scan, [low, high]: [Option<String>; 2]) -> io::Result<()> {
        let history = self.history;
        self.out.write_all(b"{\"scan\":")?;
        json_text(&scan.prefix, self.out)?;
        for (member, bound) in [("lo", low), ("hi", high)] {
            if let Some(bound) = bound {
                write!(self.out, ",\"{member}\":")?;
                json_name(Name::from(bound.as_str()), self.out)?;
            }
        }
        self.out.write_all(b",\"reads\":[")?;
        for event in scan.events.clone().map(EventId) {
            self.out.write_all(if event.0 > scan.events.start { b"," } else { b"" })?;
            self.out.write_all(b"{\"k\":")?;
            name_as_text(history.key_name(history.event(event).key), self.out)?;
            self.out.write_all(b",\"v\":")?;
            json_value(history, history.event(event).value, self.out)?;
            self.claim(event)?;
            self.out.write_all(b"}")?;
        }
        self.out.write_all(b"]")?;
        self.lock_and_note(EventId(scan.events.start))
    }

    fn event(&mut self, number: EventId) -> io::Result<()> {
        let event = self.history.event(number);
        self.out.write_all(match event.action {
            Action::Read => b"{\"r\":",
            Action::Write => b"{\"w\":",
            Action::Append => b"{\"a\":",
        })?;
        name_as_text(self.history.key_name(event.key), self.out)?;
        self.out.write_all(b",\"v\":")?;
        json_value(self.history, event.value, self.out)?;
        self.claim(number)?;
        self.lock_and_note(number)
    }

    fn claim(&mut self, event: EventId) -> io::Result<()> {
        match self.history.claim(event) {
            None => Ok(()),
            Some(Writer::Initial) => self.out.write_all(b",\"from\":null"),
            Some(Writer::Transaction(writer)) => {
                self.out.write_all(b",\"from\":")?;
                let name = self.history.transaction_name(writer).to_string();
                json_name(Name::from(name.as_str()), self.out)
            }
        }
    }

    fn lock_and_note(&mut self, event: EventId) -> io::Result<()> {
        if self.history.event(event).locking {
            self.out.write_all(b",\"lock\":true")?;
        }
        note(self.history.event_note(event), self.out)?;
        self.out.write_all(b"}")
    }

    fn ending(&mut self, transaction: TransactionId) -> io::Result<()> {
        self.out.write_all(match self.history.outcome(transaction) {
            Outcome::Committed => b"",
            Outcome::AbortedByDatabase => b",\"outcome\":\"aborted\"",
            Outcome::AbortedByProgram => b",\"outcome\":\"aborted\",\"by\":\"program\"",
            Outcome::Unknown => b",\"outcome\":\"unknown\"",
        })?;
        if let Some(level) = self.history.declared_level(transaction) {
            write!(self.out, ",\"level\":\"{level}\"")?;
        }
        let Times { begin, end } = self.history.times(transaction);
        for (member, time) in [("begin", begin), ("end", end)] {
            if let Some(time) = time {
                write!(self.out, ",\"{member}\":{time}")?;
            }
        }
        note(self.history.transaction_note(transaction), self.out)
    }
}

/// The keys that a scan of this prefix may cover, without the prefix, ascending.
fn coverable(history: &History, prefix: &str) -> Vec<(String, KeyId)> {
    let names = history.keys().map(|key| (history.key_name(key).to_string(), key));
    let mut covered: Vec<(String, KeyId)> = names
        .filter(|(name, _)| !name.contains('#'))
        .filter_map(|(name, key)| Some((name.strip_prefix(prefix)?.to_owned(), key)))
        .collect();
    covered.sort_by(|a, b| ascending(&a.0, &b.0));
    covered
}

fn note(members: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    match members {
        None => Ok(()),
        Some(members) => {
            out.write_all(b",")?;
            out.write_all(members.as_bytes())
        }
    }
}

/// A name as JSON, integers as such.
pub(super) fn json_name(name: Name<'_>, out: &mut dyn Write) -> io::Result<()> {
    match name {
        Name::Integer(number) => write!(out, "{number}"),
        Name::Text(text) => json_text(text, out),
    }
}

fn name_as_text(name: Name<'_>, out: &mut dyn Write) -> io::Result<()> {
    match name {
        Name::Integer(number) => write!(out, "\"{number}\""),
        Name::Text(text) => json_text(text, out),
    }
}

pub(super) fn json_text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate().filter(|&(_, byte)| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.write_all(&text.as_bytes()[plain..at])?;
        match byte {
            b'"' => out.write_all(b"\\\"")?,
            b'\\' => out.write_all(b"\\\\")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\t' => out.write_all(b"\\t")?,
            b'\r' => out.write_all(b"\\r")?,
            byte => write!(out, "\\u{byte:04x}")?,
        }
        plain = at + 1;
    }
    out.write_all(&text.as_bytes()[plain..])?;
    out.write_all(b"\"")
}

pub(super) fn json_value(history: &History, value: Value, out: &mut dyn Write) -> io::Result<()> {
    match history.view(value) {
        ValueView::Absent => out.write_all(b"null"),
        ValueView::Integer(number) => write!(out, "{number}"),
        // With an exponent where it is large: an integer of three hundred digits would not read back.
        ValueView::Real(number) => write!(out, "{number:?}"),
        ValueView::Text(text) => json_text(text, out),
        ValueView::Boolean(truth) => write!(out, "{truth}"),
        ValueView::List(elements) => {
            out.write_all(b"[")?;
            for (place, &element) in elements.iter().enumerate() {
                out.write_all(if place > 0 { b"," } else { b"" })?;
                json_value(history, element, out)?;
            }
            out.write_all(b"]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(history: &History) -> String {
        let mut bytes = Vec::new();
        assert_eq!(write(history, &mut bytes).unwrap(), Vec::<String>::new());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_is_written_reads_back_and_is_written_the_same() {
        let text = concat!(
            "{\"skew\":1,\"initial\":{\"x\":0,\"7\":\"\\u0001é\\\\\\\"\"},\"about\":\"a\\tb\"}\n",
            "{\"session\":\"a\",\"id\":\"t1\",\"ops\":[{\"r\":\"x\",\"v\":0,\"from\":null,\"sql\":\"SELECT\"},{\"w\":\"x\",\"v\":1e300}],\"begin\":-3,\"end\":4}\n",
            "{\"session\":\"a\",\"ops\":[{\"a\":\"l\",\"v\":true},{\"r\":\"l\",\"v\":[true,2.5],\"from\":\"a#1\",\"lock\":true}],\"outcome\":\"aborted\",\"by\":\"program\",\"level\":\"snapshot\",\"host\":1}\n",
            "{\"session\":2,\"id\":5,\"ops\":[],\"outcome\":\"unknown\"}\n",
        );
        assert_eq!(written(&super::super::native::read(text).unwrap().finish().unwrap()), text);
    }

    #[test]
    fn scans_are_written_as_scans_where_they_read_back_the_same() {
        let text = concat!(
            "{\"session\":1,\"id\":\"t1\",\"ops\":[{\"w\":\"i/2\",\"v\":1},{\"w\":\"i/10\",\"v\":2},{\"w\":\"i/30\",\"v\":3},{\"w\":\"i/2#c\",\"v\":3}]}\n",
            "{\"session\":2,\"ops\":[{\"scan\":\"i/\",\"reads\":[{\"k\":\"i/30\",\"v\":3}]},{\"r\":\"i/2\",\"v\":1}]}\n",
            "{\"session\":2,\"ops\":[{\"scan\":\"i/\",\"lo\":2,\"hi\":15,\"reads\":[{\"k\":\"i/2\",\"v\":1,\"from\":\"t1\"}],\"lock\":true,\"sql\":\"x\"}]}\n",
            "{\"session\":2,\"ops\":[{\"scan\":\"j/\",\"reads\":[]}]}\n",
        );
        let history = super::super::native::read(text).unwrap().finish().unwrap();
        let again = written(&history);
        assert!(again.contains("{\"scan\":\"i/\",\"lo\":2,\"hi\":10,\"reads\":["), "{again}");
        let history_again = super::super::native::read(&again).unwrap().finish().unwrap();
        assert_eq!(crate::notation::write(&history), crate::notation::write(&history_again));
        assert_eq!(history.scans().len(), history_again.scans().len() + 1);
        assert_eq!(written(&history_again), again);
        let kept: Vec<EventId> = [0, 1, 2, 4, 6].map(EventId).to_vec();
        let part = history.restrict(&kept).0;
        let part_again = super::super::native::read(&written(&part)).unwrap().finish().unwrap();
        assert_eq!(crate::notation::write(&part), crate::notation::write(&part_again));
    }
}
