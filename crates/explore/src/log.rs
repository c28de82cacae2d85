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
use crate::set::{INITIAL, Number, Set};
use skew_sql::{KeyPart, KeyRange, Row};
use std::sync::Arc;

/// How a key is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// As the level has it.
    Plain,
    /// The latest version, whatever the level.
    Locking,
    /// By a statement that seeks rows to lock: which versions fit decides how it read the one that it got.
    Sought(Sought),
}

/// Which versions a statement passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sought {
    /// The writers of which that is known.
    pub(crate) known: Set,
    /// Those whose versions were passed over.
    pub(crate) passed: Set,
    /// Whether what there was before everything was passed over.
    pub(crate) initial: bool,
}

impl Sought {
    /// What a scan knows of a key that nobody has written: it is not there.
    pub(crate) const ABSENT: Sought = Sought { known: Set::EMPTY, passed: Set::EMPTY, initial: true };

    /// Whether it is known if the version of a writer was passed over.
    pub(crate) fn knows(self, source: Number) -> bool {
        source == INITIAL || self.known.contains(source)
    }
}

/// What a read asks of a commit order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadKind {
    Plain,
    Locking,
    /// Of a row that was passed over. It is a plain read, unless its level forbids that and the statement had the row's lock already: what is
    /// asked here is what both ask, so that the search has all runs; [`Run::answer`](crate::Run::answer) decides.
    Passing,
}

impl Manner {
    /// What a read of the version of a writer is.
    pub(crate) fn kind(self, source: Number) -> ReadKind {
        match self {
            Manner::Plain => ReadKind::Plain,
            Manner::Locking => ReadKind::Locking,
            Manner::Sought(sought) if source == INITIAL && sought.initial => ReadKind::Passing,
            Manner::Sought(sought) if sought.knows(source) && !sought.passed.contains(source) => ReadKind::Locking,
            Manner::Sought(_) => ReadKind::Passing,
        }
    }

    /// Whether two reads are asked for in the same way.
    pub(crate) fn is_like(self, other: Manner) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// An external read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) key: KeyNumber,
    /// Who wrote what it returned.
    pub(crate) source: Number,
    pub(crate) manner: Manner,
    /// Whether it belongs to the scan before it.
    pub(crate) scanned: bool,
    /// Who was before the transaction by `(so ∪ wr)+` without this read and those after it.
    pub(crate) past: Set,
    /// Whom earlier plain reads read from.
    pub(crate) seen: Set,
}

impl Read {
    /// What it asks of a commit order.
    pub(crate) fn kind(&self) -> ReadKind {
        self.manner.kind(self.source)
    }
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
    /// A scan begins: the reads that belong to it follow, which are all asked for alike.
    Scan { range: Arc<KeyRange>, manner: Manner, end: ScanEnd },
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
    pub(crate) fn push_read(
        &mut self,
        key: KeyNumber,
        manner: Manner,
        scanned: bool,
        source: Number,
        source_past: Set,
    ) {
        let (past, seen) = (self.past, self.plain_sources);
        self.events.push(Event::Read(Read { key, source, manner, scanned, past, seen }));
        let shown = source_past | Set::only(source);
        self.past |= shown;
        if manner.kind(source) == ReadKind::Plain {
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
    pub(crate) fn push_scan(&mut self, range: Arc<KeyRange>, manner: Manner) {
        self.scans = true;
        self.events.push(Event::Scan { range, manner, end: ScanEnd::Open });
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
