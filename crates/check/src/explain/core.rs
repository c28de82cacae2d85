//! The events that a refutation speaks about, and what they need to mean the same on their own.

use crate::anomaly::{Anomaly, Assumption, BadRead, Edge, EdgeKind, ProofStep, Refutation};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{Action, Event, EventId, History, KeyId, Outcome, TransactionId, Value, Writer};
use std::collections::BTreeSet;

/// Where things are written, to find what a read needs.
pub(super) struct WriteIndex<'h> {
    history: &'h History,
    /// The last write of each key by each transaction that wrote the value, by key and value.
    by_value: FxHashMap<(KeyId, Value), Vec<EventId>>,
    /// The writes of each key that left something there; empty when no read only found it.
    present: FxHashMap<KeyId, Vec<EventId>>,
    /// The writes and appends of a key by a transaction.
    by_writer: FxHashMap<(TransactionId, KeyId), Vec<EventId>>,
}

impl<'h> WriteIndex<'h> {
    /// All writes.
    pub(super) fn new(history: &'h History) -> WriteIndex<'h> {
        WriteIndex::on(history, |_| true)
    }

    /// The writes of some keys. What events of a key need is of that key too, so of a million transactions only the few keys
    /// that a refutation speaks about are looked at.
    pub(super) fn on(history: &'h History, concerns: impl Fn(KeyId) -> bool) -> WriteIndex<'h> {
        let mut by_writer: FxHashMap<(TransactionId, KeyId), Vec<EventId>> = FxHashMap::default();
        for transaction in history.transactions() {
            let events = history.numbered_events_of(transaction);
            for (number, event) in events.filter(|(_, event)| !event.is_read() && concerns(event.key)) {
                by_writer.entry((transaction, event.key)).or_default().push(number);
            }
        }
        let mut by_value: FxHashMap<(KeyId, Value), Vec<EventId>> = FxHashMap::default();
        for &write in by_writer.values().flatten() {
            let event = history.event(write);
            by_value.entry((event.key, event.value)).or_default().push(write);
        }
        by_value.values_mut().for_each(|writes| writes.sort_unstable());
        let present = if history.features().found_reads { present(history, &by_writer) } else { FxHashMap::default() };
        WriteIndex { history, by_value, present, by_writer }
    }

    fn of_value(&self, key: KeyId, value: Value) -> &[EventId] {
        self.by_value.get(&(key, value)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_writer(&self, transaction: TransactionId, key: KeyId) -> &[EventId] {
        self.by_writer.get(&(transaction, key)).map_or(&[], Vec::as_slice)
    }

    /// Whether a read returns what its own transaction wrote before it; then that write belongs to it.
    fn own_write(&self, read: EventId) -> Option<EventId> {
        let transaction = self.history.transaction_of(read);
        let writes = self.of_writer(transaction, self.history.event(read).key);
        writes.iter().copied().take_while(|&write| write < read).last()
    }

    /// The writes that a kept read needs, so that it means what it meant: every one that it might have returned.
    pub(super) fn needed_by(&self, read: EventId) -> Vec<EventId> {
        let event = self.history.event(read);
        if event.value.is_list() {
            let elements = self.history.elements(event.value).iter();
            return elements.flat_map(|&element| self.of_value(event.key, element)).copied().collect();
        }
        if let Some(by) = self.history.gone(read) {
            // Its deletion, and that it inserted something later.
            return self.of_writer(by, event.key).iter().copied().chain(self.own_write(read)).collect();
        }
        match (self.own_write(read), self.history.claim(read)) {
            (Some(own), _) => vec![own],
            (None, Some(Writer::Transaction(writer))) if event.value.is_found() => {
                self.of_writer(writer, event.key).to_vec()
            }
            (None, _) if event.value.is_found() => self.present.get(&event.key).cloned().unwrap_or_default(),
            (None, _) => self.of_value(event.key, event.value).to_vec(),
        }
    }

    /// With events, everything that they need: for a read its writes, for a write the later ones of the same transaction and key.
    pub(super) fn close(&self, events: impl IntoIterator<Item = EventId>) -> Vec<EventId> {
        let mut kept: BTreeSet<EventId> = BTreeSet::new();
        let mut pending: Vec<EventId> = events.into_iter().collect();
        while let Some(number) = pending.pop() {
            if !kept.insert(number) {
                continue;
            }
            let event = self.history.event(number);
            if event.is_read() {
                pending.extend(self.needed_by(number));
            } else {
                pending.extend(self.rest_of_write(number, event));
            }
        }
        kept.into_iter().collect()
    }

    /// An earlier write without the last one would pass for the last; appends of one transaction stay together.
    fn rest_of_write(&self, write: EventId, event: &Event) -> Vec<EventId> {
        let writes = self.of_writer(self.history.transaction_of(write), event.key);
        match event.action {
            Action::Append => writes.to_vec(),
            _ => writes.last().copied().into_iter().collect(),
        }
    }
}

fn present(
    history: &History,
    by_writer: &FxHashMap<(TransactionId, KeyId), Vec<EventId>>,
) -> FxHashMap<KeyId, Vec<EventId>> {
    let mut present: FxHashMap<KeyId, Vec<EventId>> = FxHashMap::default();
    for (&(_, key), writes) in by_writer {
        let there = writes.iter().filter(|&&write| !history.event(write).value.is_absent());
        present.entry(key).or_default().extend(there);
    }
    present.values_mut().for_each(|writes| writes.sort_unstable());
    present
}

/// The events of a refutation, closed.
pub(super) fn core(history: &History, anomaly: &Anomaly) -> Vec<EventId> {
    let mut keys = FxHashSet::default();
    add_keys(history, &anomaly.refutation, &mut keys);
    let writes = WriteIndex::on(history, |key| keys.contains(&key));
    let mut collector = Collector { history, writes: &writes, events: Vec::new(), list_keys: FxHashSet::default() };
    collector.refutation(&anomaly.refutation);
    collector.longest_lists();
    let closed = writes.close(collector.events.iter().copied());
    let is_unknown = |event: &EventId| history.outcome(history.transaction_of(*event)) == Outcome::Unknown;
    if !closed.iter().any(is_unknown) {
        return closed;
    }
    // Whoever read from them may have read other keys.
    let writes = WriteIndex::new(history);
    let mut collector = Collector { history, writes: &writes, events: closed, list_keys: FxHashSet::default() };
    collector.readers_of_unknown();
    writes.close(collector.events)
}

/// The keys that a refutation speaks about.
fn add_keys(history: &History, refutation: &Refutation, keys: &mut FxHashSet<KeyId>) {
    match refutation {
        Refutation::Read(bad) => {
            keys.insert(history.event(bad.read()).key);
        }
        Refutation::Alone(_) => {}
        Refutation::Proof(proof) => proof.steps.iter().for_each(|step| {
            if let ProofStep::Cycle(edges) = step {
                edges.iter().for_each(|edge| add_keys_of_edge(history, edge, keys));
            }
        }),
        Refutation::Split(cases) => cases.iter().for_each(|(assumption, refutation)| {
            if let Assumption::Appends { appends, .. } = assumption {
                keys.extend(appends.iter().map(|&append| history.event(append).key));
            }
            add_keys(history, refutation, keys);
        }),
    }
}

fn add_keys_of_edge(history: &History, edge: &Edge, keys: &mut FxHashSet<KeyId>) {
    match &edge.kind {
        EdgeKind::SessionOrder | EdgeKind::RealTime => {}
        EdgeKind::VersionOrder { key } => {
            keys.insert(*key);
        }
        EdgeKind::ReadsFrom { read } | EdgeKind::Overwrites { read, .. } => {
            keys.insert(history.event(*read).key);
        }
        EdgeKind::MustSee { read, path } => {
            keys.insert(history.event(*read).key);
            path.iter().for_each(|edge| add_keys_of_edge(history, edge, keys));
        }
    }
}

struct Collector<'c, 'h> {
    history: &'h History,
    writes: &'c WriteIndex<'h>,
    events: Vec<EventId>,
    list_keys: FxHashSet<KeyId>,
}

impl Collector<'_, '_> {
    fn refutation(&mut self, refutation: &Refutation) {
        match refutation {
            Refutation::Read(bad) => self.bad_read(bad),
            Refutation::Alone(_) => {}
            Refutation::Proof(proof) => proof.steps.iter().for_each(|step| {
                if let ProofStep::Cycle(edges) = step {
                    edges.iter().for_each(|edge| self.edge(edge));
                }
            }),
            Refutation::Split(cases) => cases.iter().for_each(|(assumption, refutation)| {
                if let Assumption::Appends { appends, .. } = assumption {
                    self.events.extend(appends);
                }
                self.refutation(refutation);
            }),
        }
    }

    fn bad_read(&mut self, bad: &BadRead) {
        self.read(bad.read());
        match *bad {
            BadRead::Internal { own, .. } => self.events.push(own),
            BadRead::Aborted { write, .. } | BadRead::Intermediate { write, .. } => self.events.push(write),
            BadRead::IncompatibleLists { other, .. } => self.read(other),
            BadRead::ThinAir { .. } | BadRead::DuplicateElement { .. } => {}
        }
    }

    fn read(&mut self, read: EventId) {
        self.events.push(read);
        if self.history.event(read).value.is_list() {
            self.list_keys.insert(self.history.event(read).key);
        }
    }

    fn write(&mut self, writer: Writer, key: KeyId) {
        if let Writer::Transaction(transaction) = writer {
            let writes = self.writes.of_writer(transaction, key);
            self.events.extend(writes.last());
            if writes.iter().any(|&write| self.history.event(write).action == Action::Append) {
                self.list_keys.insert(key);
            }
        }
    }

    fn edge(&mut self, edge: &Edge) {
        match &edge.kind {
            EdgeKind::SessionOrder | EdgeKind::RealTime => {}
            EdgeKind::ReadsFrom { read } => self.read(*read),
            EdgeKind::VersionOrder { key } => {
                self.write(edge.from, *key);
                self.write(edge.to, *key);
            }
            EdgeKind::Overwrites { read, .. } => {
                self.read(*read);
                self.write(edge.to, self.history.event(*read).key);
            }
            EdgeKind::MustSee { read, path } => {
                self.read(*read);
                self.write(edge.from, self.history.event(*read).key);
                path.iter().for_each(|edge| self.edge(edge));
            }
        }
    }

    /// The order of appends is known from the longest list that was read.
    fn longest_lists(&mut self) {
        if self.list_keys.is_empty() {
            return;
        }
        let mut longest: FxHashMap<KeyId, (usize, EventId)> = FxHashMap::default();
        for transaction in self.history.transactions() {
            if self.history.outcome(transaction) != Outcome::Committed {
                continue;
            }
            for (number, event) in self.history.numbered_events_of(transaction) {
                if event.is_read() && self.list_keys.contains(&event.key) {
                    let length = self.history.elements(event.value).len();
                    let best = longest.entry(event.key).or_insert((length, number));
                    if length > best.0 {
                        *best = (length, number);
                    }
                }
            }
        }
        self.events.extend(longest.values().map(|(_, read)| *read));
    }

    /// A transaction of unknown outcome counts because somebody read from it: keep a reader.
    fn readers_of_unknown(&mut self) {
        let unknown = |transaction: TransactionId| self.history.outcome(transaction) == Outcome::Unknown;
        let mut pending: Vec<TransactionId> =
            self.events.iter().map(|&event| self.history.transaction_of(event)).filter(|&t| unknown(t)).collect();
        pending.sort_unstable();
        pending.dedup();
        let mut readers: FxHashMap<TransactionId, (EventId, TransactionId)> = FxHashMap::default();
        for reader in self.history.transactions() {
            for (read, event) in self.history.numbered_events_of(reader) {
                if event.is_read() {
                    for write in self.writes.needed_by(read) {
                        let writer = self.history.transaction_of(write);
                        let better = self.history.outcome(reader) == Outcome::Committed;
                        if unknown(writer) && writer != reader && (better || !readers.contains_key(&writer)) {
                            readers.insert(writer, (read, reader));
                        }
                    }
                }
            }
        }
        let mut done: FxHashSet<TransactionId> = FxHashSet::default();
        while let Some(transaction) = pending.pop() {
            if let (true, Some(&(read, reader))) = (done.insert(transaction), readers.get(&transaction)) {
                self.events.push(read);
                if unknown(reader) {
                    pending.push(reader);
                }
            }
        }
    }
}
