//! An explored history as an ordinary [`History`], which the checker, the drawings and the files know.
//!
//! Every read names its writer, because values repeat. A scan is written as a scan where the words of the file can say what it covered
//! ([`skew_history::scan::covers`] looks at names, the search at keys, and a text with a `/` in it may part the two); else as its
//! reads, which mean the same.
//!
//! A row that was sought is a read of its own if it was locked; the scan that looked for it leaves it out. One that was passed over is
//! a plain read, or, where the caller says so, the locking read that it may have been.
//!
//! ```text
//!   alice#0:  scan(item/: item/3=7)        item/5, which bob#0 inserts, is read as absent: the reader of the file finds that by itself
//! ```

use crate::explorable::Explorable;
use crate::keys::{KeyNumber, Keys, reads_down};
use crate::log::{Event, Log, Manner, Outcome, Read, ReadKind, ScanEnd};
use crate::ordered::Ordered;
use crate::outline::{Outline, claim};
use crate::set::{INITIAL, Number, Set};
use skew_history::builder::{Refusal, ScanSpec, ScannedKey};
use skew_history::scan::{ascending, covers};
use skew_history::{Action, History, HistoryBuilder, IsolationLevel, KeyId, Name, Value};
use skew_sql::rows::text;
use skew_sql::{KeyPart, KeyRange, Row};
use skew_value::Datum;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Reads of rows that were passed over and yet locked: the transaction and the place of the event.
pub(crate) type Locked = BTreeSet<(Number, usize)>;

/// What a history is written with.
pub(crate) struct Recorder<'a, P: ?Sized> {
    program: &'a P,
    outline: &'a Outline,
    keys: &'a Keys,
    history: &'a Ordered,
    builder: HistoryBuilder,
    names: BTreeMap<KeyNumber, String>,
    locked: Locked,
}

/// A bound of a scan, as the file has it.
#[derive(Clone)]
enum Bound {
    Number(i64),
    Text(String),
}

impl Bound {
    fn name(&self) -> Name<'_> {
        match self {
            Bound::Number(number) => Name::Integer(*number),
            Bound::Text(text) => Name::from(text.as_str()),
        }
    }
}

/// What a scan covered, as the file has it.
struct Covered {
    prefix: String,
    low: Option<Bound>,
    high: Option<Bound>,
}

impl Covered {
    fn covers(&self, name: &str) -> bool {
        covers(name, &self.prefix, self.low.as_ref().map(Bound::name), self.high.as_ref().map(Bound::name))
    }
}

impl<'a, P: Explorable + ?Sized> Recorder<'a, P> {
    pub(crate) fn new(
        program: &'a P,
        outline: &'a Outline,
        keys: &'a Keys,
        history: &'a Ordered,
        locked: Locked,
    ) -> Recorder<'a, P> {
        let mut names = BTreeMap::new();
        for &number in &history.order {
            for event in &history.log(number).events {
                let key = match event {
                    Event::Write { key, .. } => Some(*key),
                    event => event.read_key(),
                };
                if let Some(key) = key {
                    names.entry(key).or_insert_with(|| program.key_name(keys.key(key)));
                }
            }
        }
        Recorder { program, outline, keys, history, builder: HistoryBuilder::new(), names, locked }
    }

    /// The history; an error only when names come twice.
    pub(crate) fn record(self) -> Result<History, Refusal> {
        self.record_with_end(&[], Set::EMPTY)
    }

    /// The history with one more transaction, after these, which reads with a lock what these wrote of these keys.
    pub(crate) fn record_with_end(mut self, last: &[(KeyNumber, Number)], after: Set) -> Result<History, Refusal> {
        let initial: Vec<(KeyNumber, Row)> =
            self.names.keys().filter_map(|&key| Some((key, self.keys.initial(key)?.clone()))).collect();
        for (key, row) in initial {
            let (id, value) = (self.key(key), self.value(key, Some(&row)));
            self.builder.initial(id, value);
        }
        let has_gaps = self.outline.has_gaps();
        for number in self.outline.numbers().filter(|&number| self.history.has(number)) {
            let place = self.outline.places[number as usize];
            let session = self.builder.session(self.outline.session_names[place.session].as_str());
            // Counting would give those after a gap other names.
            let name = has_gaps.then(|| self.outline.transaction_name(number));
            self.builder.begin(session, name.as_deref().map(Name::from))?;
            self.builder.level(self.outline.levels[number as usize]);
            let log = self.history.log(number);
            self.transaction(log)?;
            if after.contains(number) {
                let mark = self.mark(number);
                let one = self.builder.values().integer(1);
                self.builder.write(mark, one);
            }
            if log.outcome != Outcome::Committed {
                self.builder.outcome(skew_history::Outcome::AbortedByProgram);
            }
        }
        if !after.is_empty() {
            self.end(last, after)?;
        }
        self.builder.finish()
    }

    /// A key of which no scan knows: those with a `#` are cells, which no scan covers.
    fn mark(&mut self, number: Number) -> KeyId {
        self.builder.key(format!("#end {number}").as_str())
    }

    fn end(&mut self, last: &[(KeyNumber, Number)], after: Set) -> Result<(), Refusal> {
        let session = self.builder.session("#end");
        self.builder.begin(session, None)?;
        self.builder.level(match self.outline.level() {
            IsolationLevel::Declared => IsolationLevel::ReadCommitted,
            level => level,
        });
        for number in after.iter() {
            let mark = self.mark(number);
            let one = self.builder.values().integer(1);
            self.builder.read(mark, one);
        }
        for &(key, source) in last {
            let row = self.history.value(self.keys, key, source).cloned();
            let (id, value) = (self.key(key), self.value(key, row.as_ref()));
            let event = skew_history::Event { locking: true, ..skew_history::Event::new(Action::Read, id, value) };
            self.builder.event(event);
            let name = self.writer(source);
            self.builder.claim(claim(&name));
        }
        Ok(())
    }

    fn transaction(&mut self, log: &Log) -> Result<(), Refusal> {
        let mut place = 0;
        while let Some(event) = log.events.get(place) {
            place += 1;
            if let Event::Scan { range, manner, end } = event {
                let count = log.events[place..].iter().take_while(|event| event.is_scanned()).count();
                let reads = &log.events[place..place + count];
                if let Some(covered) = self.covered(log.number, range, end, reads) {
                    let alone: Vec<usize> = match manner {
                        Manner::Sought(_) => (place..place + count).filter(|&it| self.locks(log, it)).collect(),
                        _ => Vec::new(),
                    };
                    self.scan(log, &covered, *manner == Manner::Locking, place..place + count, &alone)?;
                    alone.into_iter().for_each(|place| self.event(log, &log.events[place], place + 1));
                    place += count;
                }
                continue;
            }
            self.event(log, event, place);
        }
        Ok(())
    }

    /// Whether an event is a read that locked.
    fn locks(&self, log: &Log, place: usize) -> bool {
        match &log.events[place] {
            Event::Read(read) => read.kind() == ReadKind::Locking || self.locked.contains(&(log.number, place)),
            _ => false,
        }
    }

    /// An event by itself; `place` is behind it.
    fn event(&mut self, log: &Log, event: &Event, place: usize) {
        match event {
            Event::Write { key, value } => {
                let (id, value) = (self.key(*key), self.value(*key, value.as_ref()));
                self.builder.write(id, value);
            }
            Event::Read(read) => {
                let (id, value) = (self.key(read.key), self.read_value(read));
                let locking = self.locks(log, place - 1);
                let event = skew_history::Event { locking, ..skew_history::Event::new(Action::Read, id, value) };
                self.builder.event(event);
                let name = self.writer(read.source);
                self.builder.claim(claim(&name));
            }
            Event::Own { key, .. } => {
                let own = log.own_before(*key, place);
                let (id, value) = (self.key(*key), self.value(*key, own));
                self.builder.read(id, value);
            }
            Event::Scan { .. } => {}
        }
    }

    /// A scan with the reads at these places, of which some stand alone.
    fn scan(
        &mut self,
        log: &Log,
        covered: &Covered,
        locking: bool,
        reads: std::ops::Range<usize>,
        alone: &[usize],
    ) -> Result<(), Refusal> {
        let mut listed: Vec<(String, Value, Option<Option<String>>)> = Vec::new();
        for place in reads.filter(|place| !alone.contains(place)) {
            match &log.events[place] {
                Event::Read(read) if self.is_listed(read) => {
                    let value = self.read_value(read);
                    listed.push((self.names[&read.key].clone(), value, Some(self.writer(read.source))));
                }
                Event::Own { key, .. } => {
                    let value = self.value(*key, log.own_before(*key, place));
                    listed.push((self.names[key].clone(), value, None));
                }
                _ => {}
            }
        }
        let listed: Vec<ScannedKey<'_>> = listed
            .iter()
            .map(|(key, value, writer)| ScannedKey { key, value: *value, writer: writer.as_ref().map(claim) })
            .collect();
        let except: Vec<&str> =
            alone.iter().filter_map(|&place| Some(self.names[&log.events[place].read_key()?].as_str())).collect();
        let spec = ScanSpec {
            except: &except,
            prefix: &covered.prefix,
            low: covered.low.as_ref().map(Bound::name),
            high: covered.high.as_ref().map(Bound::name),
            locking,
            ..ScanSpec::default()
        };
        self.builder.scan(spec, &listed)
    }

    /// What was never there need not be listed, unless its absence could also be a deletion.
    fn is_listed(&self, read: &Read) -> bool {
        let absent = read.source == INITIAL && self.keys.initial(read.key).is_none();
        let deletes = |writer| self.history.value(self.keys, read.key, writer).is_none();
        !absent || self.history.writers(read.key).iter().any(deletes)
    }

    /// What a scan covered in the words of the file, if they can say it: then they cover the keys that it read, in its order, and
    /// nothing else that somebody wrote.
    fn covered(&self, reader: Number, range: &KeyRange, end: &ScanEnd, reads: &[Event]) -> Option<Covered> {
        let covered = in_words(range, end, self.prefix_name(range))?;
        let read: Vec<&str> = reads.iter().filter_map(|event| Some(self.names[&event.read_key()?].as_str())).collect();
        let inside = read.iter().all(|name| covered.covers(name));
        let length = covered.prefix.len();
        let in_order =
            inside && read.windows(2).all(|two| ascending(&two[0][length..], &two[1][length..]) == Ordering::Less);
        let unread = |(key, name): (&KeyNumber, &String)| {
            self.history.is_known(self.keys, *key, reader) && covered.covers(name) && !read.contains(&name.as_str())
        };
        (in_order && !self.names.iter().any(unread)).then_some(covered)
    }

    /// What the names of all keys of a range start with.
    fn prefix_name(&self, range: &KeyRange) -> String {
        let probe = |part: &str| {
            let parts = range.prefix.iter().cloned().chain([KeyPart::Text(part.into())]).collect();
            self.program.key_name(&skew_sql::RowKey { space: range.space, parts })
        };
        let (one, other) = (probe("a"), probe("b"));
        let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
        common.map(|(letter, _)| letter).collect()
    }

    fn key(&mut self, key: KeyNumber) -> KeyId {
        self.builder.key(self.names[&key].as_str())
    }

    fn read_value(&mut self, read: &Read) -> Value {
        let row = self.history.value(self.keys, read.key, read.source).cloned();
        self.value(read.key, row.as_ref())
    }

    fn value(&mut self, key: KeyNumber, row: Option<&Row>) -> Value {
        let Some(row) = row else { return Value::ABSENT };
        let shown = self.program.shown(self.keys.key(key), row);
        let values = self.builder.values();
        match &shown {
            Datum::Integer(number) if i64::try_from(*number).is_ok() => values.integer(*number),
            Datum::Boolean(truth) => values.boolean(*truth),
            Datum::Text(text) => values.text(text),
            datum => values.text(&text(datum)),
        }
    }

    /// The name of a writer; nothing for t0.
    fn writer(&self, source: Number) -> Option<String> {
        (source != INITIAL).then(|| self.outline.transaction_name(source))
    }
}

/// A range as bounds of names; nothing where a scan is read downwards, because a scan of the file is read upwards.
fn in_words(range: &KeyRange, end: &ScanEnd, prefix: String) -> Option<Covered> {
    if reads_down(range) {
        return None;
    }
    let high = match end {
        ScanEnd::Open => return None,
        ScanEnd::Whole => range.high.clone(),
        ScanEnd::At(last) => Some(last.clone()?),
    };
    let number = |bound: &Option<KeyPart>, missing: i64| match bound {
        None => Some(missing),
        Some(KeyPart::Number(number)) => i64::try_from(*number).ok(),
        Some(_) => None,
    };
    let text = |part: &KeyPart| Bound::Text(part.to_string());
    let (low, high) = match (number(&range.low, i64::MIN), number(&high, i64::MAX)) {
        _ if range.low.is_none() && high.is_none() => (None, None),
        (Some(low), Some(high)) => (Some(Bound::Number(low)), Some(Bound::Number(high))),
        _ => (range.low.as_ref().map(text), high.as_ref().map(text)),
    };
    Some(Covered { prefix, low, high })
}
