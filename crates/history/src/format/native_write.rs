//! Writes the native format; what it writes, [`super::native`] reads back to the same history.
//!
//! A range read is kept in the history as the plain reads that it became. It is written as a scan again when a scan, with the
//! bounds that its first and last key suggest, would become exactly these reads; otherwise, as in a part of a history that lost
//! some of its keys, as plain reads, which mean the same.

use super::WriteError;
use crate::history::{Event, EventId, History, KeyId, Scan, TransactionId, TransactionName, Writer};
use crate::line::{
    ClaimedWriter, Closing, Content, Ended, Header, HistorySink, LineWriter, Note, Opening, Operation, ScanSpec,
    ScannedKey,
};
use crate::name::Name;
use crate::scan::{ascending, within};
use crate::value::Value;
use std::collections::BTreeMap;
use std::io::Write;

pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<Vec<String>, WriteError> {
    let mut lines = LineWriter::new();
    let mut teller = Teller::new(history);
    let Ok(()) = teller.header(&mut lines);
    for transaction in history.transactions() {
        let Ok(()) = teller.transaction(transaction, &mut lines);
        lines.hand_on(out)?;
    }
    lines.hand_on_all(out)?;
    Ok(Vec::new())
}

/// Tells a history that is there.
struct Teller<'a> {
    history: &'a History,
    scans: std::iter::Peekable<std::slice::Iter<'a, Scan>>,
    /// For every prefix that was scanned, the keys that a scan may cover, ascending.
    ranges: BTreeMap<&'a str, Vec<(String, KeyId)>>,
}

impl<'a> Teller<'a> {
    fn new(history: &'a History) -> Teller<'a> {
        Teller { history, scans: history.scans().iter().peekable(), ranges: BTreeMap::new() }
    }

    fn header<S: HistorySink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let history = self.history;
        let mut given = history.keys().filter(|&key| !history.initial(key).is_absent()).peekable();
        let initial = given.peek().is_some().then_some(());
        let initial = initial.map(|()| given.map(|key| (history.key_name(key), self.content(history.initial(key)))));
        sink.put_header(Header { engine: history.engine(), initial, about: history.about() })
    }

    fn transaction<S: HistorySink>(&mut self, transaction: TransactionId, sink: &mut S) -> Result<(), S::Error> {
        let history = self.history;
        let id = match history.transaction_name(transaction) {
            TransactionName::Given(id) => Some(id),
            TransactionName::Derived { .. } => None,
        };
        let session = history.session_name(history.session_of(transaction));
        sink.put_opening(&Opening { session, id, note: Note::Nothing })?;
        self.events(transaction, sink)?;
        sink.put_ending(&Closing {
            outcome: self.ended(transaction),
            level: history.declared_level(transaction),
            times: history.times(transaction),
            note: kept(history.transaction_note(transaction)),
        })
    }

    fn ended(&self, transaction: TransactionId) -> Ended<'a> {
        match self.history.outcome(transaction).into() {
            Ended::Aborted { by, refused: _ } => Ended::Aborted { by, refused: self.history.refusal(transaction) },
            ended => ended,
        }
    }

    fn events<S: HistorySink>(&mut self, transaction: TransactionId, sink: &mut S) -> Result<(), S::Error> {
        let range = self.history.event_range(transaction);
        let mut event = range.start;
        while event < range.end {
            // A scan that covered no key left nothing to write.
            while self.scans.next_if(|scan| scan.events.end <= event).is_some() {}
            let scan = self.scans.peek().filter(|scan| scan.events.start == event && scan.events.end <= range.end);
            match scan.copied().and_then(|scan| Some((scan, self.bounds(scan)?))) {
                Some((scan, bounds)) => {
                    self.scan(scan, bounds, sink)?;
                    event = scan.events.end;
                }
                None => {
                    self.event(EventId(event), sink)?;
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
        let asked = |event: u32| history.asked(EventId(event));
        if events.iter().any(|event| event.locking != first.locking || !event.scanned)
            || scan.events.clone().any(|event| asked(event) != asked(scan.events.start))
        {
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

    fn scan<S: HistorySink>(
        &self,
        scan: &Scan,
        [low, high]: [Option<String>; 2],
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let history = self.history;
        let numbers = scan.events.clone().map(EventId);
        // Keys and derived names of writers, for as long as they are told.
        let mut texts: Vec<(String, String)> =
            numbers.clone().map(|number| (self.key(number).to_string(), String::new())).collect();
        let listed: Vec<ScannedKey<'_, Content<'_>>> = numbers
            .zip(&mut texts)
            .map(|(number, (key, derived))| ScannedKey {
                key,
                value: self.content(history.event(number).value),
                writer: self.claim(number, derived),
            })
            .collect();
        let first = EventId(scan.events.start);
        let spec = ScanSpec {
            prefix: &scan.prefix,
            low: low.as_deref().map(Name::from),
            high: high.as_deref().map(Name::from),
            sealed: None,
            locking: history.event(first).locking,
            except: &[],
            asked: history.asked(first),
            note: kept(history.event_note(first)),
        };
        sink.put_scan(&spec, &listed)
    }

    fn event<S: HistorySink>(&self, number: EventId, sink: &mut S) -> Result<(), S::Error> {
        let Event { value, key, action, locking, scanned: _ } = *self.history.event(number);
        let (mut derived, mut derived_gone) = (String::new(), String::new());
        let gone = self.history.gone(number).map(|by| self.name(by, &mut derived_gone));
        sink.put_operation(&Operation {
            action,
            key: self.history.key_name(key),
            value: self.content(value),
            from: self.claim(number, &mut derived),
            locking,
            asked: self.history.asked(number),
            gone,
            note: kept(self.history.event_note(number)),
        })
    }

    fn key(&self, number: EventId) -> Name<'a> {
        self.history.key_name(self.history.event(number).key)
    }

    fn content(&self, value: Value) -> Content<'a> {
        Content::Pooled(self.history.values(), value)
    }

    /// Who wrote what was read; the name of a transaction that has none is put together in `derived`.
    fn claim<'s>(&self, number: EventId, derived: &'s mut String) -> Option<ClaimedWriter<'s>>
    where
        'a: 's,
    {
        Some(match self.history.claim(number)? {
            Writer::Initial => ClaimedWriter::Initial,
            Writer::Transaction(writer) => ClaimedWriter::Transaction(self.name(writer, derived)),
        })
    }

    fn name<'s>(&self, transaction: TransactionId, derived: &'s mut String) -> Name<'s>
    where
        'a: 's,
    {
        match self.history.transaction_name(transaction) {
            TransactionName::Given(name) => name,
            name @ TransactionName::Derived { .. } => {
                *derived = name.to_string();
                Name::from(derived.as_str())
            }
        }
    }
}

fn kept(members: Option<&str>) -> Note<'_> {
    members.map_or(Note::Nothing, Note::Members)
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
