//! Lists that were read, looked at without the checker's eyes.

use super::ledger::Ledger;
use crate::anomaly::{Assumption, BadRead};
use skew_history::{Action, EventId, KeyId, Outcome, TransactionId, Value, Writer};

impl Ledger<'_> {
    /// The appends that a transaction had made to the read's key before it.
    pub(super) fn own_appends(&self, read: EventId) -> Vec<EventId> {
        let key = self.history.event(read).key;
        let events = self.history.numbered_events_of(self.history.transaction_of(read));
        let before = events.take_while(|(number, _)| *number < read);
        let appends = before.filter(|(_, event)| event.action == Action::Append && event.key == key);
        appends.map(|(number, _)| number).collect()
    }

    /// The elements of a list that are neither initial nor the reader's own.
    pub(super) fn external_elements(&self, read: EventId) -> &[Value] {
        let event = self.history.event(read);
        let whole = self.history.elements(event.value);
        let end = whole.len().saturating_sub(self.own_appends(read).len());
        let start = self.history.elements(self.history.initial(event.key)).len();
        whole.get(start..end).unwrap_or(&[])
    }

    /// The append behind each external element, as far as there is one.
    pub(super) fn elements(&self, read: EventId) -> Vec<Option<EventId>> {
        let key = self.history.event(read).key;
        let elements = self.external_elements(read);
        let occurrence = |place: usize| elements[..place].iter().filter(|&&other| other == elements[place]).count();
        (0..elements.len()).map(|place| self.append(key, elements[place], occurrence(place))).collect()
    }

    fn append(&self, key: KeyId, element: Value, occurrence: usize) -> Option<EventId> {
        let assumed = self.assumed.iter().find_map(|assumption| match assumption {
            Assumption::Appends { key: of, element: equal, appends } if *of == key && *equal == element => {
                Some(appends)
            }
            _ => None,
        });
        match assumed {
            Some(appends) => appends.get(occurrence).copied(),
            None => self.appends_of(key, element).get(occurrence).copied(),
        }
    }

    /// All appends of an element to a key, whatever became of them.
    pub(super) fn appends_of(&self, key: KeyId, element: Value) -> &[EventId] {
        self.appends.get(&(key, element)).map_or(&[], Vec::as_slice)
    }

    fn appends_by(&self, transaction: TransactionId, key: KeyId) -> Vec<EventId> {
        let events = self.history.numbered_events_of(transaction);
        let appends = events.filter(|(_, event)| event.action == Action::Append && event.key == key);
        appends.map(|(number, _)| number).collect()
    }

    /// Whom a list was read from.
    pub(super) fn list_writer(&self, read: EventId) -> Option<Writer> {
        match self.elements(read).last() {
            None => Some(Writer::Initial),
            Some(append) => append.map(|append| Writer::Transaction(self.history.transaction_of(append))),
        }
    }

    /// Whether the lists that were read show that one transaction appended to a key before another.
    pub(super) fn lists_show(&self, key: KeyId, first: TransactionId, second: TransactionId) -> bool {
        if !self.is_list(key) || !self.wrote(first, key) || !self.wrote(second, key) {
            return false;
        }
        let readers = self.history.transactions().filter(|&transaction| self.counts(transaction));
        let reads = readers.flat_map(|transaction| self.external_reads(transaction));
        let reads = reads.filter(|&read| self.history.event(read).key == key);
        let Some(longest) = reads.max_by_key(|&read| self.external_elements(read).len()) else { return false };
        let order: Vec<TransactionId> =
            self.elements(longest).into_iter().flatten().map(|append| self.history.transaction_of(append)).collect();
        let place = |transaction| order.iter().position(|&other| other == transaction);
        match (place(first), place(second)) {
            (Some(first), Some(second)) => first < second,
            (Some(_), None) => true,
            _ => false,
        }
    }

    /// Whether a read of a list is as bad as claimed.
    pub(super) fn is_bad_list(&self, bad: &BadRead) -> bool {
        let read = bad.read();
        let event = self.history.event(read);
        match *bad {
            BadRead::ThinAir { .. } => {
                !event.value.is_list() && !event.value.is_absent()
                    || self.has_unknown_element(read)
                    || self.has_false_claim(read)
            }
            BadRead::DuplicateElement { .. } => self.has_unknown_element(read),
            BadRead::Internal { own, .. } => {
                let own_appends = self.own_appends(read);
                let whole = self.history.elements(event.value);
                let tail = &whole[whole.len().saturating_sub(own_appends.len())..];
                let expected: Vec<Value> = own_appends.iter().map(|&append| self.history.event(append).value).collect();
                own_appends.contains(&own) && tail != expected
            }
            BadRead::Aborted { write, .. } => {
                let aborted = !matches!(self.outcome_of(write), Outcome::Committed | Outcome::Unknown);
                aborted && self.elements(read).contains(&Some(write))
            }
            BadRead::Intermediate { write, .. } => {
                let mine = self.appends_by(self.history.transaction_of(write), event.key);
                self.elements(read).last() == Some(&Some(write)) && mine.iter().any(|&append| append > write)
            }
            BadRead::IncompatibleLists { other, .. } => self.is_incompatible(read, other),
        }
    }

    fn outcome_of(&self, event: EventId) -> Outcome {
        self.history.outcome(self.history.transaction_of(event))
    }

    fn has_unknown_element(&self, read: EventId) -> bool {
        self.elements(read).iter().any(Option::is_none)
    }

    fn has_false_claim(&self, read: EventId) -> bool {
        let last = match self.own_appends(read).is_empty() {
            true => self.list_writer(read),
            false => Some(Writer::Transaction(self.history.transaction_of(read))),
        };
        self.history.claim(read).is_some_and(|claim| Some(claim) != last)
    }

    fn is_incompatible(&self, read: EventId, other: EventId) -> bool {
        let (one, two) = (self.external_elements(read), self.external_elements(other));
        if read != other {
            let comparable = self.history.event(read).key == self.history.event(other).key
                && self.counts(self.history.transaction_of(other));
            return comparable && !one.starts_with(two) && !two.starts_with(one);
        }
        let event = self.history.event(read);
        let initial = self.history.elements(self.history.initial(event.key));
        let own = self.own_appends(read).len();
        let whole = self.history.elements(event.value);
        let front = &whole[..whole.len().saturating_sub(own)];
        !front.starts_with(initial) || !self.is_in_runs(read)
    }

    /// Whether every transaction's elements stand together, complete and in program order.
    fn is_in_runs(&self, read: EventId) -> bool {
        let key = self.history.event(read).key;
        let Some(appends) = self.elements(read).into_iter().collect::<Option<Vec<EventId>>>() else { return true };
        let mut expected = Vec::new();
        let mut seen = Vec::new();
        for &append in &appends {
            let transaction = self.history.transaction_of(append);
            if !seen.contains(&transaction) {
                seen.push(transaction);
                expected.extend(self.appends_by(transaction, key));
            }
        }
        expected.starts_with(&appends) && expected.len() == appends.len()
    }
}
