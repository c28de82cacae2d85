//! Lists that transactions append to: what was read shows in which order it was written.
//!
//! ```text
//!   t1: append(x,1)   t2: append(x,2)   t3: append(x,3)   t4: r(x,[1 2])
//!
//!   the longest list that was read:  1 2        so t1 before t2, and t3, which nobody read, after both
//! ```
//!
//! All lists of one key must begin alike, one transaction's elements stand together in program order, and a list may not end
//! inside them. A transaction that has itself appended sees its own elements at the end of a list; what precedes them is what it
//! read from others.
//!
//! Elements are unique in any sane test. Where one value was appended twice, which append an element of a list is must be
//! assumed; the caller tries all assignments.

use crate::anomaly::BadRead;
use crate::resolve::{Assumed, Unexplained};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{Action, Event, EventId, History, KeyId, Outcome, TransactionId, Value, Writer};

/// One append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Appended {
    element: Value,
    transaction: TransactionId,
    event: EventId,
}

/// What is known of one list.
#[derive(Clone, Default, Debug)]
struct List {
    /// All appends, sorted by element and then by event.
    appended: Vec<Appended>,
    /// The transactions of the longest list that was read, first appended first, each once.
    order: Vec<TransactionId>,
    /// The transactions that count and whose appends nobody read.
    unread: Vec<TransactionId>,
}

/// The keys that are lists.
#[derive(Clone, Default, Debug)]
pub(crate) struct ListKeys {
    lists: FxHashMap<KeyId, List>,
    /// The keys of `lists`, ascending.
    keys: Vec<KeyId>,
}

impl ListKeys {
    pub(crate) fn new(history: &History) -> ListKeys {
        if !history.features().lists {
            return ListKeys::default();
        }
        let mut lists: FxHashMap<KeyId, List> = FxHashMap::default();
        for transaction in history.transactions() {
            for (number, event) in history.numbered_events_of(transaction) {
                let is_list = |value: Value| value.is_list();
                let list =
                    event.action == Action::Append || is_list(event.value) || is_list(history.initial(event.key));
                if list {
                    let list = lists.entry(event.key).or_default();
                    if event.action == Action::Append {
                        list.appended.push(Appended { element: event.value, transaction, event: number });
                    }
                }
            }
        }
        // A key that somebody writes is a register, whatever else is read from it; an initial list is a list.
        let transactions = history.transactions().filter(|_| !lists.is_empty());
        for transaction in transactions.collect::<Vec<_>>() {
            for event in history.events_of(transaction).iter().filter(|event| event.action == Action::Write) {
                lists.remove(&event.key);
            }
        }
        for list in lists.values_mut() {
            list.appended.sort_by_key(|appended| (appended.element, appended.event));
        }
        let mut keys: Vec<KeyId> = lists.keys().copied().collect();
        keys.sort_unstable();
        ListKeys { lists, keys }
    }

    pub(crate) fn is_list(&self, key: KeyId) -> bool {
        !self.keys.is_empty() && self.lists.contains_key(&key)
    }

    /// The transactions that appended to a key, ascending, whatever became of them.
    pub(crate) fn appending(&self, key: KeyId) -> Vec<TransactionId> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        let appended = self.lists.get(&key).map_or(&[][..], |list| &list.appended);
        let mut transactions: Vec<TransactionId> = appended.iter().map(|appended| appended.transaction).collect();
        transactions.sort_unstable();
        transactions.dedup();
        transactions
    }

    /// The list keys with the transactions that are known to have appended in this order, and those that came after all of them.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (KeyId, &[TransactionId], &[TransactionId])> {
        self.keys.iter().map(|key| (*key, &*self.lists[key].order, &*self.lists[key].unread))
    }

    /// Whether the lists show that the first transaction appended to this key before the second.
    pub(crate) fn shows_order(&self, key: KeyId, first: TransactionId, second: TransactionId) -> bool {
        let Some(list) = self.lists.get(&key) else { return false };
        let place = |transaction| list.order.iter().position(|&known| known == transaction);
        match (place(first), place(second)) {
            (Some(first), Some(second)) => first < second,
            (Some(_), None) => list.unread.contains(&second),
            _ => false,
        }
    }

    /// The transactions whose elements a read of a list returned.
    pub(crate) fn appenders(
        &self,
        history: &History,
        assumed: &Assumed,
        transaction: TransactionId,
        read: EventId,
    ) -> Result<Vec<TransactionId>, Unexplained> {
        let external = ExternalList::of(history, transaction, read);
        let elements = self.elements(history, assumed, read, external.elements)?;
        Ok(elements.into_iter().flatten().map(|appended| appended.transaction).collect())
    }

    /// Whom a list was read from: the transaction of its last element, nobody when it is the initial list.
    pub(crate) fn writer(
        &self,
        history: &History,
        assumed: &Assumed,
        transaction: TransactionId,
        read: EventId,
    ) -> Result<Option<TransactionId>, Unexplained> {
        Ok(self.appenders(history, assumed, transaction, read)?.pop())
    }

    /// The append behind every element, where there is one.
    fn elements(
        &self,
        history: &History,
        assumed: &Assumed,
        read: EventId,
        elements: &[Value],
    ) -> Result<Vec<Option<Appended>>, Unexplained> {
        let key = history.event(read).key;
        let list = &self.lists[&key];
        let mut seen: FxHashMap<Value, usize> = FxHashMap::default();
        let mut found = Vec::with_capacity(elements.len());
        for &element in elements {
            let appends = list.with(element);
            let occurrence = seen.entry(element).or_insert(0);
            let append = match appends {
                [] | [_] => appends.get(*occurrence).copied(),
                _ => {
                    let order = assumed.elements.get(&(key, element)).ok_or_else(|| {
                        Unexplained::UndecidedElements(
                            key,
                            element,
                            appends.iter().map(|append| append.event).collect(),
                        )
                    })?;
                    let event = order.get(*occurrence);
                    event.and_then(|&event| appends.iter().find(|append| append.event == event).copied())
                }
            };
            *occurrence += 1;
            found.push(append);
        }
        Ok(found)
    }

    /// Learns the order of the appends from all the lists that transactions which count have read.
    pub(crate) fn settle(&mut self, history: &History, assumed: &Assumed, counts: &[bool]) -> Result<(), Unexplained> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let mut reads: FxHashMap<KeyId, Vec<(TransactionId, EventId)>> = FxHashMap::default();
        for transaction in history.transactions().filter(|transaction| counts[transaction.index()]) {
            for (number, event) in history.numbered_events_of(transaction) {
                if event.is_read() && self.is_list(event.key) {
                    reads.entry(event.key).or_default().push((transaction, number));
                }
            }
        }
        for key in self.keys.clone() {
            let reads = reads.remove(&key).unwrap_or_default();
            let order = self.order_of(history, assumed, &reads)?;
            let list = self.lists.get_mut(&key).expect("a key of the lists");
            list.finish(history, counts, order);
        }
        Ok(())
    }

    fn order_of(
        &self,
        history: &History,
        assumed: &Assumed,
        reads: &[(TransactionId, EventId)],
    ) -> Result<Vec<TransactionId>, Unexplained> {
        let externals: Vec<ExternalList<'_>> =
            reads.iter().map(|&(transaction, read)| ExternalList::of(history, transaction, read)).collect();
        for external in &externals {
            external.refuse_broken(history)?;
        }
        let Some(longest) = externals.iter().max_by_key(|list| (list.elements.len(), std::cmp::Reverse(list.read)))
        else {
            return Ok(Vec::new());
        };
        for external in &externals {
            if !longest.elements.starts_with(external.elements) {
                let (read, other) = (external.read, longest.read);
                return Err(Unexplained::Bad(BadRead::IncompatibleLists { read, other }));
            }
        }
        let elements = self.elements(history, assumed, longest.read, longest.elements)?;
        let appends = explained(history, longest, &elements)?;
        for (external, &(transaction, _)) in externals.iter().zip(reads) {
            external.refuse_false_claim(history, transaction, &appends)?;
        }
        refuse_cut_transactions(history, &externals, &appends)?;
        runs(history, longest.read, &appends)
    }
}

impl List {
    fn with(&self, element: Value) -> &[Appended] {
        let from = self.appended.partition_point(|appended| appended.element < element);
        let length = self.appended[from..].iter().take_while(|appended| appended.element == element).count();
        &self.appended[from..from + length]
    }

    fn finish(&mut self, history: &History, counts: &[bool], order: Vec<TransactionId>) {
        let writes = |transaction: TransactionId| {
            counts[transaction.index()] && matches!(history.outcome(transaction), Outcome::Committed | Outcome::Unknown)
        };
        let read: FxHashSet<TransactionId> = order.iter().copied().collect();
        let mut unread: Vec<TransactionId> = self.appended.iter().map(|appended| appended.transaction).collect();
        unread.retain(|&transaction| writes(transaction) && !read.contains(&transaction));
        unread.sort_unstable();
        unread.dedup();
        (self.order, self.unread) = (order, unread);
    }
}

/// The part of a list that a transaction did not append itself.
struct ExternalList<'h> {
    read: EventId,
    key: KeyId,
    /// Without the initial elements at the front and the reader's own at the end.
    elements: &'h [Value],
    own: Vec<EventId>,
    /// What the reader's own elements should look like, and what stands there.
    own_agrees: bool,
    starts_with_initial: bool,
    is_list: bool,
}

impl<'h> ExternalList<'h> {
    fn of(history: &'h History, transaction: TransactionId, read: EventId) -> ExternalList<'h> {
        let event = history.event(read);
        let before = history.numbered_events_of(transaction).take_while(|(number, _)| *number < read);
        let own: Vec<EventId> = before
            .filter(|(_, other)| other.action == Action::Append && other.key == event.key)
            .map(|(number, _)| number)
            .collect();
        let whole = history.elements(event.value);
        let initial = history.elements(history.initial(event.key));
        let (front, tail) = whole.split_at(whole.len().saturating_sub(own.len()));
        let own_agrees = tail.len() == own.len()
            && tail.iter().zip(&own).all(|(&element, &append)| history.event(append).value == element);
        // Absent reads like an empty list.
        let starts_with_initial = front.starts_with(initial);
        let elements = front.get(initial.len()..).unwrap_or(&[]);
        let is_list = event.value.is_list() || event.value.is_absent();
        ExternalList { read, key: event.key, elements, own, own_agrees, starts_with_initial, is_list }
    }

    fn refuse_broken(&self, history: &History) -> Result<(), Unexplained> {
        let read = self.read;
        if !self.is_list {
            return Err(Unexplained::Bad(BadRead::ThinAir { read }));
        }
        if let (false, Some(&own)) = (self.own_agrees, self.own.last()) {
            return Err(Unexplained::Bad(BadRead::Internal { read, own }));
        }
        debug_assert_eq!(history.event(read).key, self.key);
        if !self.starts_with_initial {
            return Err(Unexplained::Bad(BadRead::IncompatibleLists { read, other: read }));
        }
        Ok(())
    }
}

impl ExternalList<'_> {
    /// A claim names the writer of the last element as it was returned: the reader itself, when it had appended.
    fn refuse_false_claim(
        &self,
        history: &History,
        transaction: TransactionId,
        appends: &[Appended],
    ) -> Result<(), Unexplained> {
        let last = match (self.own.is_empty(), self.elements.len().checked_sub(1)) {
            (false, _) => Writer::Transaction(transaction),
            (true, Some(last)) => Writer::Transaction(appends[last].transaction),
            (true, None) => Writer::Initial,
        };
        match history.claim(self.read) {
            Some(claim) if claim != last => Err(Unexplained::Bad(BadRead::ThinAir { read: self.read })),
            _ => Ok(()),
        }
    }
}

/// The appends of the longest list, when each element has one that may be read.
fn explained(
    history: &History,
    longest: &ExternalList<'_>,
    elements: &[Option<Appended>],
) -> Result<Vec<Appended>, Unexplained> {
    let read = longest.read;
    let mut appends = Vec::with_capacity(elements.len());
    for (place, element) in elements.iter().enumerate() {
        let Some(append) = element else {
            let again = longest.elements[..place].contains(&longest.elements[place]);
            let bad = if again { BadRead::DuplicateElement { read } } else { BadRead::ThinAir { read } };
            return Err(Unexplained::Bad(bad));
        };
        match history.outcome(append.transaction) {
            Outcome::Committed | Outcome::Unknown => appends.push(*append),
            _ => return Err(Unexplained::Bad(BadRead::Aborted { read, write: append.event })),
        }
    }
    Ok(appends)
}

/// No list may end inside the elements of one transaction.
fn refuse_cut_transactions(
    history: &History,
    externals: &[ExternalList<'_>],
    appends: &[Appended],
) -> Result<(), Unexplained> {
    for external in externals {
        let Some(last) = external.elements.len().checked_sub(1).map(|last| appends[last]) else { continue };
        let more = appends_of(history, last.transaction, external.key).any(|append| append > last.event);
        if more {
            return Err(Unexplained::Bad(BadRead::Intermediate { read: external.read, write: last.event }));
        }
    }
    Ok(())
}

/// The transactions of the longest list; each one's elements must be all of its appends, together and in program order.
fn runs(history: &History, read: EventId, appends: &[Appended]) -> Result<Vec<TransactionId>, Unexplained> {
    let mut order: Vec<TransactionId> = Vec::new();
    let mut seen: FxHashSet<TransactionId> = FxHashSet::default();
    let mut rest = appends;
    while let Some(first) = rest.first() {
        let key = history.event(first.event).key;
        let mine: Vec<EventId> = appends_of(history, first.transaction, key).collect();
        let together = rest.len() >= mine.len() && rest.iter().zip(&mine).all(|(append, &own)| append.event == own);
        if !together || !seen.insert(first.transaction) {
            return Err(Unexplained::Bad(BadRead::IncompatibleLists { read, other: read }));
        }
        order.push(first.transaction);
        rest = &rest[mine.len()..];
    }
    Ok(order)
}

fn appends_of(history: &History, transaction: TransactionId, key: KeyId) -> impl Iterator<Item = EventId> + '_ {
    let is_append = move |event: &Event| event.action == Action::Append && event.key == key;
    history.numbered_events_of(transaction).filter(move |(_, event)| is_append(event)).map(|(number, _)| number)
}
