//! Reads of lists that transactions append to.
//!
//! A list is the initial list, then the appends of one transaction, then those of the next: each transaction's elements together,
//! all of them, in program order. So to explain a list is to cut it into such blocks:
//!
//! ```text
//!   t1: append(x,1) append(x,2)      t2: append(x,3)      t3: r(x,[1 2 3])      [1 2 | 3] = t1 t2
//!                                                         r(x,[1])              ends inside t1: an intermediate read
//!                                                         r(x,[1 3 2])          cannot be cut: out of order
//!                                                         r(x,[3 3])            cannot be cut: t2 appended one 3 only
//! ```
//!
//! All lists of one key are beginnings of one list, so the reads of a key share one row of blocks, which the longest read
//! completes. Every transaction of the row counts as read; the read is from the last one. Where several transactions appended
//! the same there are several ways to cut, and each is tried. An element of an aborted transaction, or one that nobody appended, is
//! in no block.

use super::choices::{Choices, ValueSource, may_be_read, own_writes_before};
use skew_history::{Action, Event, EventId, History, KeyId, TransactionId, Value, Writer};

/// Whether a key holds a list rather than a value that is overwritten.
pub(super) fn is_list(history: &History, key: KeyId) -> bool {
    let mut events =
        history.transactions().flat_map(|transaction| history.events_of(transaction)).filter(|event| event.key == key);
    let is_written = events.clone().any(|event| event.action == Action::Write);
    let shows_list = |event: &Event| event.action == Action::Append || event.value.is_list();
    !is_written && (history.initial(key).is_list() || events.any(shows_list))
}

/// The same of all keys at once.
pub(super) fn lists(history: &History) -> Vec<bool> {
    let mut are_lists: Vec<bool> = history.keys().map(|key| history.initial(key).is_list()).collect();
    let events = || history.transactions().flat_map(|transaction| history.events_of(transaction));
    for event in events().filter(|event| event.action == Action::Append || event.value.is_list()) {
        are_lists[event.key.index()] = true;
    }
    events().filter(|event| event.action == Action::Write).for_each(|event| are_lists[event.key.index()] = false);
    are_lists
}

/// All ways to explain a read of a list; none when it is impossible.
pub(super) fn explanations(history: &History, choices: &Choices, read: EventId) -> Vec<Choices> {
    let &Event { key, value, .. } = history.event(read);
    if !value.is_list() && !value.is_absent() {
        return Vec::new();
    }
    let own: Vec<Value> = own_writes_before(history, read).iter().map(|append| append.value).collect();
    // What precedes the own appends is what was there before them, the initial list first.
    let Some(external) = history.elements(value).strip_suffix(own.as_slice()) else { return Vec::new() };
    let Some(appended) = external.strip_prefix(history.elements(history.initial(key))) else { return Vec::new() };
    let returned_by =
        |last: Writer| if own.is_empty() { last } else { Writer::Transaction(history.transaction_of(read)) };
    let mut explanations = Vec::new();
    for row in rows(history, key, appended, &choices.appenders[key.index()]) {
        let last = row.last().map_or(Writer::Initial, |&last| Writer::Transaction(last));
        if history.claim(read).is_none_or(|claim| claim == returned_by(last)) {
            explanations.push(with_row(choices, read, key, row, last));
        }
    }
    explanations
}

/// The same with the read decided, every transaction of its row counting, and the key's row as long as the longest read.
fn with_row(choices: &Choices, read: EventId, key: KeyId, row: Vec<TransactionId>, last: Writer) -> Choices {
    let mut choices = choices.with(read, ValueSource::External(last));
    row.iter().for_each(|transaction| choices.counts[transaction.index()] = true);
    if row.len() > choices.appenders[key.index()].len() {
        choices.appenders[key.index()] = row;
    }
    choices
}

/// All rows of distinct transactions whose appends, one after another, are exactly `elements`. They agree with the row that is
/// `known` from other reads as far as both go.
fn rows(history: &History, key: KeyId, elements: &[Value], known: &[TransactionId]) -> Vec<Vec<TransactionId>> {
    let mut finished = Vec::new();
    let mut open = vec![(Vec::new(), elements)];
    while let Some((row, rest)) = open.pop() {
        if rest.is_empty() {
            finished.push(row);
            continue;
        }
        for next in history.transactions().filter(|next| may_be_read(history, *next) && !row.contains(next)) {
            let block = appends(history, next, key);
            let agrees = known.get(row.len()).is_none_or(|&known| known == next);
            if agrees
                && !block.is_empty()
                && let Some(rest) = rest.strip_prefix(block.as_slice())
            {
                open.push(([row.as_slice(), &[next]].concat(), rest));
            }
        }
    }
    finished
}

/// What a transaction appends to a key, in program order.
fn appends(history: &History, transaction: TransactionId, key: KeyId) -> Vec<Value> {
    let events = history.events_of(transaction).iter();
    events.filter(|event| event.key == key && event.action == Action::Append).map(|event| event.value).collect()
}

/// Whether the lists of a key show one of its writers before another: both are in the row, or the later one is an append that
/// nobody read.
pub(super) fn show_before(row: &[TransactionId], one: Writer, other: Writer) -> bool {
    let place = |writer: Writer| row.iter().position(|&transaction| Writer::Transaction(transaction) == writer);
    match (place(one), place(other)) {
        (Some(one), Some(other)) => one < other,
        (Some(_), None) => other != Writer::Initial,
        (None, _) => false,
    }
}
