//! An ordered history: transactions, who read from whom, and the order `<` in which the search has them.
//!
//! ```text
//!   <     a#0 ✓    c#0 ✓    b#0 …          at most one is pending; it is the last, and nobody has read from it
//! ```
//!
//! Every transaction stands behind those it read from and behind those of its session, so a beginning of the order is a history by
//! itself. Transactions that are over are shared between the histories of the search: a copy of a history costs a few words per
//! transaction, and only what is pending, or gets a read put into its scan, is copied when it changes.
//!
//! **Scans.** A scan stands for one read per key that there could ever be; all that nobody wrote are absent from t0 and can be
//! nothing else, so they are left out. When a commit brings a key into being, the reads of its absence appear in the scans that cover it,
//! and when a swap takes the last writer of a key away, they go again. So programs with scans are ordinary programs, of which a part is
//! not written down, and every argument about the search holds for them.

use crate::forced::ForcedOrder;
use crate::keys::{KeyNumber, Keys, reads_down};
use crate::log::{Event, Log, Manner, Outcome, Read, ReadKind, ScanEnd};
use crate::set::{INITIAL, Number, Set};
use skew_sql::{KeyRange, Row, RowKey};
use std::sync::Arc;

/// A history with the order of its transactions.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    /// `<`, without t0.
    pub(crate) order: Vec<Number>,
    /// By number; nothing for t0 and for those that have not begun.
    logs: Vec<Option<Arc<Log>>>,
    /// Those that are over.
    pub(crate) complete: Set,
    /// Per key that some committed transaction wrote, who did; sorted by key.
    writers: Vec<(KeyNumber, Set)>,
    /// What the commit order must contain because of those that are over.
    pub(crate) forced: Arc<ForcedOrder>,
    /// Whether any transaction has a scan.
    scans: bool,
}

impl Ordered {
    /// Nothing but t0; room for so many transactions.
    pub(crate) fn new(count: usize) -> Ordered {
        Ordered {
            order: Vec::with_capacity(count),
            logs: vec![None; count + 1],
            complete: Set::EMPTY,
            writers: Vec::new(),
            forced: Arc::new(ForcedOrder::new(count)),
            scans: false,
        }
    }

    /// A transaction that has begun.
    pub(crate) fn log(&self, number: Number) -> &Log {
        self.logs[number as usize].as_deref().expect("a transaction that has begun")
    }

    /// Whether a transaction has begun.
    pub(crate) fn has(&self, number: Number) -> bool {
        self.logs[number as usize].is_some()
    }

    /// The transaction that is not over.
    pub(crate) fn pending(&self) -> Option<Number> {
        self.order.last().copied().filter(|&last| !self.complete.contains(last))
    }

    /// The pending transaction, to be changed.
    pub(crate) fn pending_mut(&mut self) -> &mut Log {
        let last = *self.order.last().expect("a pending transaction");
        self.log_mut(last)
    }

    fn log_mut(&mut self, number: Number) -> &mut Log {
        Arc::make_mut(self.logs[number as usize].as_mut().expect("a transaction that has begun"))
    }

    /// Who is before a transaction by `(so ∪ wr)+`; t0 has nobody.
    pub(crate) fn past_of(&self, number: Number) -> Set {
        if number == INITIAL { Set::EMPTY } else { self.log(number).past }
    }

    /// The transactions and all before them.
    pub(crate) fn past_of_all(&self, numbers: Set) -> Set {
        numbers.iter().fold(numbers, |past, number| past | self.past_of(number))
    }

    /// Whether a read has to be written down with a run in which these came earlier: the absence that a scan read of what came into being
    /// later is found again.
    pub(crate) fn is_told(&self, read: &Read, keys: &Keys, earlier: Set) -> bool {
        !read.scanned || keys.initial(read.key).is_some() || !(self.writers(read.key) & earlier).is_empty()
    }

    /// The transactions in their order, with whom their reads read from: all that has to be written down.
    pub(crate) fn schedule(&self, keys: &Keys) -> Vec<(Number, Vec<Number>)> {
        let mut earlier = Set::EMPTY;
        let mut transactions = Vec::with_capacity(self.order.len());
        for &number in &self.order {
            let reads = self.log(number).reads().filter(|read| self.is_told(read, keys, earlier));
            transactions.push((number, reads.map(|read| read.source).collect()));
            earlier.insert(number);
        }
        transactions
    }

    /// The committed transactions that wrote a key.
    pub(crate) fn writers(&self, key: KeyNumber) -> Set {
        match self.writers.binary_search_by_key(&key, |entry| entry.0) {
            Ok(place) => self.writers[place].1,
            Err(_) => Set::EMPTY,
        }
    }

    /// All keys that committed transactions wrote, with their writers.
    pub(crate) fn written(&self) -> &[(KeyNumber, Set)] {
        &self.writers
    }

    /// The version of a key that a transaction wrote.
    pub(crate) fn value<'a>(&'a self, keys: &'a Keys, key: KeyNumber, source: Number) -> Option<&'a Row> {
        match source {
            INITIAL => keys.initial(key),
            source => self.log(source).own(key).and_then(Option::as_ref),
        }
    }

    /// Begins a transaction after these of its session.
    pub(crate) fn begin(&mut self, number: Number, session_past: Set) {
        let past = self.past_of_all(session_past);
        self.logs[number as usize] = Some(Arc::new(Log::new(number, session_past, past)));
        self.order.push(number);
    }

    /// The pending transaction reads a version.
    pub(crate) fn push_read(&mut self, key: KeyNumber, manner: Manner, scanned: bool, source: Number) {
        let past = self.past_of(source);
        self.pending_mut().push_read(key, manner, scanned, source, past);
    }

    /// Whether a scan of a transaction has to read a key: somebody else wrote it, or it was there before everything.
    pub(crate) fn is_known(&self, keys: &Keys, key: KeyNumber, reader: Number) -> bool {
        keys.initial(key).is_some() || !(self.writers(key) - Set::only(reader)).is_empty()
    }

    /// The pending transaction is over.
    pub(crate) fn end(&mut self, commits: bool, forced: ForcedOrder, keys: &Keys) {
        let number = *self.order.last().expect("a pending transaction");
        let log = self.pending_mut();
        log.outcome = if commits { Outcome::Committed } else { Outcome::Aborted };
        let scans = log.scans;
        self.scans |= scans;
        self.complete.insert(number);
        self.forced = Arc::new(forced);
        if commits {
            self.show_writes(number);
            if self.scans {
                self.add_absences(number, keys);
            }
        }
    }

    fn show_writes(&mut self, number: Number) {
        let log = self.logs[number as usize].clone().expect("a transaction that has begun");
        for (key, _) in &log.writes {
            match self.writers.binary_search_by_key(key, |entry| entry.0) {
                Ok(place) => self.writers[place].1.insert(number),
                Err(place) => self.writers.insert(place, (*key, Set::only(number))),
            }
        }
    }

    /// A transaction has committed: scans of others that cover a key which it wrote, and have not read it, read its absence.
    fn add_absences(&mut self, creator: Number, keys: &Keys) {
        let written: Vec<KeyNumber> = self.log(creator).writes.iter().map(|write| write.0).collect();
        for reader in self.order.clone() {
            if reader == creator || !self.log(reader).scans {
                continue;
            }
            for &key in &written {
                while let Some((place, manner)) = absence_place(&self.log(reader).events, key, keys) {
                    let read = Read { manner, ..self.absence(reader, place, key) };
                    self.log_mut(reader).events.insert(place, Event::Read(read));
                }
            }
        }
    }

    /// A read of nothing from t0 before an event of a transaction.
    fn absence(&self, reader: Number, place: usize, key: KeyNumber) -> Read {
        let log = self.log(reader);
        let (mut past, mut seen) = (self.past_of_all(log.session_past), Set::EMPTY);
        for read in crate::log::reads_among(&log.events[..place]) {
            past |= self.past_of(read.source) | Set::only(read.source);
            if read.kind() == ReadKind::Plain {
                seen.insert(read.source);
            }
        }
        Read { key, source: INITIAL, manner: Manner::Plain, scanned: true, past, seen }
    }

    /// The history that a swap leaves: these transactions, which are over, and the first events of another, whose last read is from `source`.
    pub(crate) fn swapped(&self, kept: Set, reader: Number, event: usize, source: Number, keys: &Keys) -> Ordered {
        let mut history = Ordered::new(self.logs.len() - 1);
        for &number in self.order.iter().filter(|&&number| kept.contains(number)) {
            history.order.push(number);
            history.logs[number as usize] = self.logs[number as usize].clone();
            history.complete.insert(number);
            history.scans |= self.log(number).scans;
            if self.log(number).outcome == Outcome::Committed {
                history.show_writes(number);
            }
        }
        if self.scans {
            history.forget_absences(keys);
        }
        history.reopen(self.log(reader), event, source, keys);
        history
    }

    /// Takes out of scans what only those knew who are gone.
    fn forget_absences(&mut self, keys: &Keys) {
        for number in self.order.clone() {
            let log = self.log(number);
            let is_gone = |event: &Event| self.is_gone(event, number, keys);
            if log.scans && log.events.iter().any(is_gone) {
                let events = log.events.iter().filter(|event| !is_gone(event)).cloned().collect();
                self.log_mut(number).events = events;
            }
        }
    }

    fn is_gone(&self, event: &Event, reader: Number, keys: &Keys) -> bool {
        matches!(event, Event::Read(read) if read.scanned && !self.is_known(keys, read.key, reader))
    }

    /// A transaction that was over is pending again, after one of its reads.
    fn reopen(&mut self, old: &Log, event: usize, source: Number, keys: &Keys) {
        self.begin(old.number, old.session_past);
        let mut open_scan = None;
        for (place, old_event) in old.events[..=event].iter().enumerate() {
            match old_event {
                Event::Read(read) => {
                    let source = if place == event { source } else { read.source };
                    if place == event || !self.is_gone(old_event, old.number, keys) {
                        self.push_read(read.key, read.manner, read.scanned, source);
                    }
                }
                Event::Own { .. } => self.pending_mut().events.push(old_event.clone()),
                Event::Write { key, value } => self.pending_mut().push_write(*key, value.clone()),
                Event::Scan { end, .. } => {
                    let log = self.pending_mut();
                    log.scans = true;
                    open_scan = Some((log.events.len(), end.clone()));
                    log.events.push(old_event.clone());
                }
            }
        }
        // The scan that the read belongs to goes on.
        if let (Some((place, _)), true) = (open_scan, old.events[event].is_scanned())
            && let Event::Scan { end, .. } = &mut self.pending_mut().events[place]
        {
            *end = ScanEnd::Open;
        }
    }

    /// The committed transactions that stand before another in `<`.
    pub(crate) fn before(&self, number: Number) -> Set {
        self.order.iter().copied().take_while(|&other| other != number).collect()
    }
}

/// Where a scan among these events lacks the read of a key that it covers, and how that scan reads; nothing if none does.
fn absence_place(events: &[Event], key: KeyNumber, keys: &Keys) -> Option<(usize, Manner)> {
    let mut own = false;
    for (place, event) in events.iter().enumerate() {
        match event {
            Event::Write { key: written, .. } => own |= *written == key,
            Event::Scan { range, manner, end } if !own && covers(range, end, keys.key(key)) => {
                let reads = events[place + 1..].iter().take_while(|event| event.is_scanned());
                let after = |event: &&Event| {
                    event.read_key().is_some_and(|other| comes_before(range, keys.key(other), keys.key(key)))
                };
                let found = place + 1 + reads.take_while(after).count();
                if events.get(found).is_none_or(|event| !event.is_scanned() || event.read_key() != Some(key)) {
                    return Some((found, *manner));
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a scan that went so far has read a key, there or not.
pub(crate) fn covers(range: &KeyRange, end: &ScanEnd, key: &RowKey) -> bool {
    range.contains(key)
        && match end {
            ScanEnd::Open | ScanEnd::Whole => true,
            ScanEnd::At(last) if reads_down(range) => key.parts.get(range.prefix.len()) >= last.as_ref(),
            ScanEnd::At(last) => key.parts.get(range.prefix.len()) <= last.as_ref(),
        }
}

/// Whether a scan reads one key before another.
fn comes_before(range: &KeyRange, one: &RowKey, other: &RowKey) -> bool {
    if reads_down(range) { one > other } else { one < other }
}
