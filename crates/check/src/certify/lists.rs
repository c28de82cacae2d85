//! Lists that were read, looked at without the checker's eyes.
//!
//! What stands behind an element is certain, or it is not said at all:
//!
//! ```text
//!   t1: append(x,1) !     t2: append(x,1)     t3: r(x,[1])       whose 1 is not known, unless a split assumes it
//!                                             r(x,[1 1 1])       the third 1 is nobody's, whatever is assumed
//! ```
//!
//! A refutation that picked t1 here would show an aborted read in a history that holds. So nothing follows from an element that is
//! not known: neither whom a list was read from, nor who counts, nor in which order transactions appended.

use super::ledger::Ledger;
use crate::anomaly::{Assumption, BadRead};
use skew_history::{Action, EventId, KeyId, Outcome, TransactionId, Value, Writer};

/// What stands behind an element of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Behind {
    /// This append.
    Append(EventId),
    /// One of several appends of an equal element, and no assumption says which.
    NotKnown,
    /// No append: the list holds the element more often than it was appended.
    Nobody,
}

impl Behind {
    pub(super) fn append(self) -> Option<EventId> {
        match self {
            Behind::Append(append) => Some(append),
            Behind::NotKnown | Behind::Nobody => None,
        }
    }
}

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

    /// What stands behind each external element.
    pub(super) fn elements(&self, read: EventId) -> Vec<Behind> {
        let key = self.history.event(read).key;
        let elements = self.external_elements(read);
        let occurrence = |place: usize| elements[..place].iter().filter(|&&other| other == elements[place]).count();
        (0..elements.len()).map(|place| self.behind(key, elements[place], occurrence(place))).collect()
    }

    fn behind(&self, key: KeyId, element: Value, occurrence: usize) -> Behind {
        let assumed = self.assumed.iter().find_map(|assumption| match assumption {
            Assumption::Appends { key: of, element: equal, appends } if *of == key && *equal == element => {
                Some(appends.as_slice())
            }
            _ => None,
        });
        let all = self.appends_of(key, element);
        match (assumed.unwrap_or(all).get(occurrence), assumed) {
            (None, _) => Behind::Nobody,
            (Some(&append), Some(_)) => Behind::Append(append),
            (Some(&append), None) if all.len() == 1 => Behind::Append(append),
            (Some(_), None) => Behind::NotKnown,
        }
    }

    /// The appends behind a whole list, when all of them are known.
    fn all_appends(&self, read: EventId) -> Option<Vec<EventId>> {
        self.elements(read).into_iter().map(Behind::append).collect()
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

    /// Whom a list was read from, when that is known.
    pub(super) fn list_writer(&self, read: EventId) -> Option<Writer> {
        match self.elements(read).last() {
            None => Some(Writer::Initial),
            Some(last) => last.append().map(|append| Writer::Transaction(self.history.transaction_of(append))),
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
        // Whoever is not in the list appended later: that can be said only when everybody in it is known.
        let Some(appends) = self.all_appends(longest) else { return false };
        let order: Vec<TransactionId> = appends.into_iter().map(|append| self.history.transaction_of(append)).collect();
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
                    || self.has_element_of_nobody(read)
                    || self.has_false_claim(read)
            }
            BadRead::DuplicateElement { .. } => self.has_element_of_nobody(read),
            BadRead::Internal { own, .. } => {
                let own_appends = self.own_appends(read);
                let whole = self.history.elements(event.value);
                let tail = &whole[whole.len().saturating_sub(own_appends.len())..];
                let expected: Vec<Value> = own_appends.iter().map(|&append| self.history.event(append).value).collect();
                own_appends.contains(&own) && tail != expected
            }
            BadRead::Aborted { write, .. } => {
                let aborted = !matches!(self.outcome_of(write), Outcome::Committed | Outcome::Unknown);
                aborted && self.elements(read).contains(&Behind::Append(write))
            }
            BadRead::Intermediate { write, .. } => {
                let mine = self.appends_by(self.history.transaction_of(write), event.key);
                self.elements(read).last() == Some(&Behind::Append(write)) && mine.iter().any(|&append| append > write)
            }
            BadRead::IncompatibleLists { other, .. } => self.is_incompatible(read, other),
        }
    }

    fn outcome_of(&self, event: EventId) -> Outcome {
        self.history.outcome(self.history.transaction_of(event))
    }

    fn has_element_of_nobody(&self, read: EventId) -> bool {
        self.elements(read).contains(&Behind::Nobody)
    }

    fn has_false_claim(&self, read: EventId) -> bool {
        let last = match self.own_appends(read).is_empty() {
            true => self.list_writer(read),
            false => Some(Writer::Transaction(self.history.transaction_of(read))),
        };
        // A writer that is not known may well be the one that is claimed.
        self.history.claim(read).zip(last).is_some_and(|(claim, last)| claim != last)
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
        let Some(appends) = self.all_appends(read) else { return true };
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
