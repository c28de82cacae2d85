//! Who may have written what was read: a second, plain answer.

use super::lists::Behind;
use crate::anomaly::Assumption;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{Action, Event, EventId, History, KeyId, Outcome, TransactionId, Value, Writer};

/// Everything written in a history, and who counts under some assumptions.
pub(super) struct Ledger<'h> {
    pub(super) history: &'h History,
    pub(super) assumed: Vec<Assumption>,
    /// The events that wrote a value to a key and were not overwritten by their own transaction.
    writes: FxHashMap<(KeyId, Value), Vec<EventId>>,
    /// Those of them that left a row there, by key; empty when no read only found one.
    present: FxHashMap<KeyId, Vec<EventId>>,
    /// The writes and appends of each transaction to each key, the last first.
    written: FxHashMap<(TransactionId, KeyId), Vec<EventId>>,
    /// Keys that nobody writes and that somebody appends to or read a list from.
    lists: FxHashSet<KeyId>,
    /// The appends of each element, in the order of events.
    pub(super) appends: FxHashMap<(KeyId, Value), Vec<EventId>>,
    pub(super) counts: Vec<bool>,
}

impl<'h> Ledger<'h> {
    /// A ledger in which the transactions count that must: those of unknown outcome only when a read has no other explanation.
    pub(super) fn new(history: &'h History, assumed: Vec<Assumption>) -> Ledger<'h> {
        let mut ledger = Ledger::of_writes(history);
        ledger.counts =
            history.transactions().map(|transaction| ledger.certainly_counts(&assumed, transaction)).collect();
        ledger.assumed = assumed;
        ledger.count_read_from();
        ledger
    }

    /// A ledger in which exactly these transactions count.
    pub(super) fn with_counting(history: &'h History, counts: Vec<bool>) -> Ledger<'h> {
        Ledger { counts, ..Ledger::of_writes(history) }
    }

    fn of_writes(history: &'h History) -> Ledger<'h> {
        let mut writes: FxHashMap<(KeyId, Value), Vec<EventId>> = FxHashMap::default();
        let mut present: FxHashMap<KeyId, Vec<EventId>> = FxHashMap::default();
        let mut appends: FxHashMap<(KeyId, Value), Vec<EventId>> = FxHashMap::default();
        let mut written: FxHashMap<(TransactionId, KeyId), Vec<EventId>> = FxHashMap::default();
        let (mut registers, mut lists) = (FxHashSet::default(), FxHashSet::default());
        for transaction in history.transactions() {
            let mut overwritten: FxHashSet<KeyId> = FxHashSet::default();
            let events: Vec<(EventId, &Event)> = history.numbered_events_of(transaction).collect();
            for &(number, event) in &events {
                if event.action == Action::Append {
                    appends.entry((event.key, event.value)).or_default().push(number);
                }
                if event.action == Action::Append || event.value.is_list() || history.initial(event.key).is_list() {
                    lists.insert(event.key);
                }
            }
            for &(number, event) in events.iter().rev().filter(|(_, event)| !event.is_read()) {
                written.entry((transaction, event.key)).or_default().push(number);
                if event.action == Action::Write {
                    registers.insert(event.key);
                    if overwritten.insert(event.key) {
                        writes.entry((event.key, event.value)).or_default().push(number);
                        if history.features().found_reads && !event.value.is_absent() {
                            present.entry(event.key).or_default().push(number);
                        }
                    }
                }
            }
        }
        lists.retain(|key| !registers.contains(key));
        Ledger { history, assumed: Vec::new(), writes, present, written, lists, appends, counts: Vec::new() }
    }

    fn certainly_counts(&self, assumed: &[Assumption], transaction: TransactionId) -> bool {
        match self.history.outcome(transaction) {
            Outcome::Committed | Outcome::AbortedByProgram => true,
            Outcome::AbortedByDatabase => false,
            Outcome::Unknown => assumed.contains(&Assumption::Committed(transaction)),
        }
    }

    fn count_read_from(&mut self) {
        let mut pending: Vec<TransactionId> = self.history.transactions().filter(|t| self.counts[t.index()]).collect();
        while let Some(reader) = pending.pop() {
            for read in self.external_reads(reader) {
                let writers = if self.is_list(self.history.event(read).key) {
                    self.elements(read)
                        .into_iter()
                        .filter_map(Behind::append)
                        .map(|append| self.history.transaction_of(append))
                        .collect()
                } else {
                    match self.candidates(read)[..] {
                        [Writer::Transaction(only)] => vec![only],
                        _ => Vec::new(),
                    }
                };
                for writer in writers {
                    if !std::mem::replace(&mut self.counts[writer.index()], true) {
                        pending.push(writer);
                    }
                }
            }
        }
    }

    pub(super) fn counts(&self, transaction: TransactionId) -> bool {
        self.counts.get(transaction.index()).copied().unwrap_or(false)
    }

    /// Whether a transaction counts as a writer of the key.
    pub(super) fn wrote(&self, transaction: TransactionId, key: KeyId) -> bool {
        self.counts(transaction)
            && self.history.outcome(transaction) != Outcome::AbortedByProgram
            && self.written.contains_key(&(transaction, key))
    }

    pub(super) fn is_list(&self, key: KeyId) -> bool {
        self.lists.contains(&key)
    }

    /// The reads of a transaction that are not of its own writes; reads of lists are always external.
    pub(super) fn external_reads(&self, transaction: TransactionId) -> Vec<EventId> {
        let mut own: FxHashSet<KeyId> = FxHashSet::default();
        let mut reads = Vec::new();
        for (number, event) in self.history.numbered_events_of(transaction) {
            match event.action {
                Action::Write => _ = own.insert(event.key),
                Action::Append => {}
                Action::Read => reads.extend((!own.contains(&event.key)).then_some(number)),
            }
        }
        reads
    }

    /// The transaction's own last write of the read's key before the read.
    pub(super) fn own_write(&self, read: EventId) -> Option<EventId> {
        let (key, transaction) = (self.history.event(read).key, self.history.transaction_of(read));
        let writes = self.written.get(&(transaction, key))?;
        writes.iter().copied().find(|&write| write < read)
    }

    /// Whoever could have written what an external read of a register returned. A transaction's own later write is a candidate only
    /// when there is no other.
    pub(super) fn candidates(&self, read: EventId) -> Vec<Writer> {
        let event = self.history.event(read);
        let reader = Writer::Transaction(self.history.transaction_of(read));
        let mut found = Vec::new();
        // What somebody replaced himself is no version.
        if self.history.gone(read).is_some() {
            return found;
        }
        if self.history.may_return(event.value, self.history.initial(event.key)) {
            found.push(Writer::Initial);
        }
        let writes = match event.value.is_found() {
            true => self.present.get(&event.key),
            false => self.writes.get(&(event.key, event.value)),
        };
        for &write in writes.map_or(&[][..], Vec::as_slice) {
            let writer = self.history.transaction_of(write);
            let may_commit = match self.history.outcome(writer) {
                Outcome::Committed => true,
                Outcome::Unknown => !self.assumed.contains(&Assumption::NotCommitted(writer)),
                _ => false,
            };
            found.extend(may_commit.then_some(Writer::Transaction(writer)));
        }
        found.retain(|writer| self.history.claim(read).is_none_or(|claim| claim == *writer));
        if found.iter().any(|writer| *writer != reader) {
            found.retain(|writer| *writer != reader);
        }
        found
    }
}
