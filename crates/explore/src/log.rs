//! What one transaction did: its events in program order, and what follows from them.
//!
//! ```text
//!   a#1:  Scan item/…  ·  Read item/3 from t2  ·  Read item/5 from t0  ·  Write item/3  ·  Own item/3
//!         └─ a scan is an opening and one read per key of its range; a key that comes into being later is put in at its place
//! ```
//!
//! Every external read carries what the transaction had seen before it, so that the search can ask about the history *up to* a read
//! without walking it again. What a transaction has seen never changes when others are dropped or added: whom it read from is before it,
//! and stays.

use crate::keys::KeyNumber;
use crate::set::{Number, Set};
use skew_sql::{KeyPart, KeyRange, Row};
use std::sync::Arc;

/// An external read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) key: KeyNumber,
    /// Who wrote what it returned.
    pub(crate) source: Number,
    pub(crate) locking: bool,
    /// Whether it belongs to the scan before it.
    pub(crate) scanned: bool,
    /// Who was before the transaction by `(so ∪ wr)+` without this read and those after it.
    pub(crate) past: Set,
    /// Whom earlier plain reads read from.
    pub(crate) seen: Set,
}

/// How far a scan went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ScanEnd {
    /// It is not over.
    Open,
    /// All of its range was read.
    Whole,
    /// It had enough rows, the last of them with this next part of its key; all keys with that part were read.
    At(Option<KeyPart>),
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A read of somebody else's version.
    Read(Read),
    /// A read of an own write.
    Own { key: KeyNumber, scanned: bool },
    /// A write; of nothing: a delete.
    Write { key: KeyNumber, value: Option<Row> },
    /// A scan begins: the reads that belong to it follow; whether they lock.
    Scan { range: Arc<KeyRange>, locking: bool, end: ScanEnd },
}

impl Event {
    /// Whether it is a read that belongs to the scan before it.
    pub(crate) fn is_scanned(&self) -> bool {
        matches!(self, Event::Read(Read { scanned: true, .. }) | Event::Own { scanned: true, .. })
    }

    /// The key that it reads.
    pub(crate) fn read_key(&self) -> Option<KeyNumber> {
        match self {
            Event::Read(Read { key, .. }) | Event::Own { key, .. } => Some(*key),
            Event::Write { .. } | Event::Scan { .. } => None,
        }
    }
}

/// Where a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Pending,
    Committed,
    Aborted,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) number: Number,
    pub(crate) outcome: Outcome,
    pub(crate) events: Vec<Event>,
    /// Those before it in its session.
    pub(crate) session_past: Set,
    /// Whom its plain reads read from.
    pub(crate) plain_sources: Set,
    /// Who is before it by `(so ∪ wr)+`.
    pub(crate) past: Set,
    /// Who is before it by `(so ∪ wr)*` and a last step that is `so` or a plain read.
    pub(crate) plain_past: Set,
    /// The last value that it wrote of each key.
    pub(crate) writes: Vec<(KeyNumber, Option<Row>)>,
    /// Whether it has a scan: others need no look when keys come into being.
    pub(crate) scans: bool,
}

impl Log {
    /// A transaction that begins; `past` is what its session had seen.
    pub(crate) fn new(number: Number, session_past: Set, past: Set) -> Log {
        Log {
            number,
            outcome: Outcome::Pending,
            events: Vec::new(),
            session_past,
            plain_sources: Set::EMPTY,
            past,
            plain_past: past,
            writes: Vec::new(),
            scans: false,
        }
    }

    /// What it wrote last under a key: nothing, or a value, which may be the absence of a row.
    pub(crate) fn own(&self, key: KeyNumber) -> Option<&Option<Row>> {
        self.writes.iter().find(|write| write.0 == key).map(|write| &write.1)
    }

    /// The row that it had written under a key before an event.
    pub(crate) fn own_before(&self, key: KeyNumber, event: usize) -> Option<&Row> {
        self.events[..event].iter().rev().find_map(|event| match event {
            Event::Write { key: written, value } if *written == key => Some(value.as_ref()),
            _ => None,
        })?
    }

    /// Whether others see that it wrote a key.
    pub(crate) fn shows(&self, key: KeyNumber) -> bool {
        self.outcome == Outcome::Committed && self.own(key).is_some()
    }

    /// The external reads, in program order.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Read> {
        reads_among(&self.events)
    }

    /// One more read; `source_past` is who is before its writer.
    pub(crate) fn push_read(&mut self, key: KeyNumber, locking: bool, scanned: bool, source: Number, source_past: Set) {
        let (past, seen) = (self.past, self.plain_sources);
        self.events.push(Event::Read(Read { key, source, locking, scanned, past, seen }));
        let shown = source_past | Set::only(source);
        self.past |= shown;
        if !locking {
            self.plain_past |= shown;
            self.plain_sources.insert(source);
        }
    }

    /// One more write.
    pub(crate) fn push_write(&mut self, key: KeyNumber, value: Option<Row>) {
        match self.writes.iter_mut().find(|write| write.0 == key) {
            Some(write) => write.1 = value.clone(),
            None => self.writes.push((key, value.clone())),
        }
        self.events.push(Event::Write { key, value });
    }

    /// One more scan, of which nothing is read yet.
    pub(crate) fn push_scan(&mut self, range: Arc<KeyRange>, locking: bool) {
        self.scans = true;
        self.events.push(Event::Scan { range, locking, end: ScanEnd::Open });
    }
}

impl Event {
    /// What was asked for, in words.
    pub(crate) fn words(&self, name: impl FnOnce(KeyNumber) -> String) -> String {
        match self {
            Event::Read(Read { key, .. }) | Event::Own { key, .. } => format!("a read of {}", name(*key)),
            Event::Write { key, .. } => format!("a write of {}", name(*key)),
            Event::Scan { .. } => "a scan".to_owned(),
        }
    }
}

/// The external reads among events.
pub(crate) fn reads_among(events: &[Event]) -> impl Iterator<Item = &Read> {
    events.iter().filter_map(|event| match event {
        Event::Read(read) => Some(read),
        _ => None,
    })
}
