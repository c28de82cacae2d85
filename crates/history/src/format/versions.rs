//! Who wrote what each read returned, for formats that number their versions or name the writer.
//!
//! Formats that match reads by value need a value per version. Where a history's own values do not serve (texts, repeated
//! values told apart by `from`, deletes), versions are numbered: the initial one is 0, and each write has a number of its own.
//!
//! ```text
//!   t1: w(x,"a")   t2: w(x,"a")   t3: r(x,"a") from t2          t1: w(x,1)   t2: w(x,2)   t3: r(x,2)
//! ```
//!
//! This resolves only as far as writing needs; what a read *means* is for `skew-check`.

use super::{Format, WriteError};
use crate::history::{Action, Event, EventId, History, KeyId, Outcome, TransactionId, Writer};
use crate::value::{Value, ValueView};
use rustc_hash::FxHashMap;

/// Where the version that a read returned comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The event is no read.
    NoRead,
    Initial,
    /// The last write of this value to the key in its transaction.
    Write(EventId),
    /// Nobody wrote it.
    ThinAir,
    /// Several may have.
    Several {
        /// The initial state among them.
        or_initial: bool,
    },
}

pub(super) struct Origins {
    origins: Vec<Origin>,
}

impl Origins {
    pub(super) fn new(history: &History) -> Origins {
        let mut writes: FxHashMap<(KeyId, Value), (EventId, bool)> = FxHashMap::default();
        for transaction in history.transactions() {
            for (number, event) in history.numbered_events_of(transaction).filter(|(_, event)| !event.is_read()) {
                let entry = writes.entry((event.key, event.value)).or_insert((number, false));
                entry.1 |= history.transaction_of(entry.0) != transaction;
                if !entry.1 {
                    entry.0 = number;
                }
            }
        }
        let mut origins = vec![Origin::NoRead; history.event_count()];
        for transaction in history.transactions() {
            for (number, event) in history.numbered_events_of(transaction).filter(|(_, event)| event.is_read()) {
                origins[number.index()] = origin(history, transaction, number, writes.get(&(event.key, event.value)));
            }
        }
        Origins { origins }
    }

    pub(super) fn origin(&self, read: EventId) -> Origin {
        self.origins[read.index()]
    }

    /// Per transaction whether it counts as committed: unknown outcomes do when somebody who counts read from them.
    pub(super) fn counted(&self, history: &History) -> Vec<bool> {
        let mut counted: Vec<bool> =
            history.transactions().map(|transaction| history.outcome(transaction) == Outcome::Committed).collect();
        let mut waiting: Vec<TransactionId> = history.transactions().filter(|t| counted[t.index()]).collect();
        while let Some(reader) = waiting.pop() {
            for read in history.event_range(reader).map(EventId) {
                let Origin::Write(write) = self.origin(read) else { continue };
                let writer = history.transaction_of(write);
                if history.outcome(writer) == Outcome::Unknown && !counted[writer.index()] {
                    counted[writer.index()] = true;
                    waiting.push(writer);
                }
            }
        }
        counted
    }

    /// Refuses a read that several may have written: whether an unknown outcome counts may hang on which of them it was.
    pub(super) fn refuse_ambiguous(&self, history: &History, format: Format) -> Result<(), WriteError> {
        match self.origins.iter().position(|origin| matches!(origin, Origin::Several { .. })) {
            Some(read) => Err(ambiguous(history, EventId(read as u32), format)),
            None => Ok(()),
        }
    }

    /// A number for every event's version: 0 the initial one, one for each key and transaction that wrote.
    pub(super) fn numbers(&self, history: &History, format: Format) -> Result<Vec<i64>, WriteError> {
        let mut numbers = vec![0; history.event_count()];
        let mut next = 0;
        let mut known: FxHashMap<(KeyId, Value), i64> = FxHashMap::default();
        for transaction in history.transactions() {
            known.clear();
            for (number, event) in history.numbered_events_of(transaction).filter(|(_, event)| !event.is_read()) {
                numbers[number.index()] = *known.entry((event.key, event.value)).or_insert_with(|| {
                    next += 1;
                    next
                });
            }
        }
        for (read, origin) in self.origins.iter().enumerate() {
            numbers[read] = match origin {
                Origin::NoRead => numbers[read],
                Origin::Initial => 0,
                Origin::Write(write) => numbers[write.index()],
                Origin::ThinAir => {
                    next += 1;
                    next
                }
                Origin::Several { .. } => return Err(ambiguous(history, EventId(read as u32), format)),
            };
        }
        Ok(numbers)
    }
}

fn ambiguous(history: &History, read: EventId, format: Format) -> WriteError {
    let event = history.event(read);
    let reason = format!(
        "{} read {} = {}, which several may have written, where the format has to know which",
        history.transaction_name(history.transaction_of(read)),
        history.key_name(event.key),
        history.show(event.value)
    );
    WriteError::Unsupported { format, reason, advice: "write native, or say with `from` who wrote what was read" }
}

fn origin(history: &History, reader: TransactionId, read: EventId, writes: Option<&(EventId, bool)>) -> Origin {
    let event = history.event(read);
    let is_initial = event.value == history.initial(event.key);
    let before = history.numbered_events_of(reader).take_while(|&(number, _)| number != read);
    let own = before.filter(|(_, own)| own.action == Action::Write && own.key == event.key).last();
    if let Some((own, _)) = own.filter(|(_, own)| own.value == event.value) {
        // Whoever has written a key reads its own version: a read that names another writer is as impossible as one of another value.
        let is_own = history.claim(read).is_none_or(|claim| claim == Writer::Transaction(reader));
        return if is_own { Origin::Write(own) } else { Origin::ThinAir };
    }
    match history.claim(read) {
        Some(Writer::Initial) if is_initial => Origin::Initial,
        Some(Writer::Initial) => Origin::ThinAir,
        Some(Writer::Transaction(writer)) => {
            let named = history.numbered_events_of(writer);
            let same = |write: &crate::history::Event| {
                !write.is_read() && write.key == event.key && write.value == event.value
            };
            named.filter(|(_, write)| same(write)).last().map_or(Origin::ThinAir, |(write, _)| Origin::Write(write))
        }
        None => match writes {
            None if is_initial => Origin::Initial,
            None => Origin::ThinAir,
            Some(&(write, false)) if !is_initial => Origin::Write(write),
            Some(_) => Origin::Several { or_initial: is_initial },
        },
    }
}

/// Refuses to write a file in which nothing would stand: transactions that do not count, or have no events, are not in it.
pub(super) fn refuse_nothing(history: &History, written: &[bool], format: Format) -> Result<(), WriteError> {
    let has_events = |transaction: TransactionId| !history.events_of(transaction).is_empty();
    if history.transactions().any(|transaction| written[transaction.index()] && has_events(transaction)) {
        return Ok(());
    }
    let reason = "no transaction that it would name has an event, and nothing would be written".to_owned();
    Err(WriteError::Unsupported { format, reason, advice: "write native" })
}

/// Refuses appends and lists.
pub(super) fn refuse_lists(history: &History, format: Format) -> Result<(), WriteError> {
    for transaction in history.transactions() {
        for event in history.events_of(transaction) {
            if event.action == Action::Append || event.value.is_list() {
                let reason = format!("key {} is a list, and it has plain values only", history.key_name(event.key));
                return Err(WriteError::Unsupported { format, reason, advice: "write native, elle-edn or elle-json" });
            }
        }
    }
    Ok(())
}

/// Refuses reads of which only the presence or the absence of a row is known: no other format has a word for them.
pub(super) fn refuse_found_and_gone(history: &History, format: Format) -> Result<(), WriteError> {
    let is_found = |event: &EventId| history.event(*event).value.is_found();
    let found = (0..history.event_count() as u32).map(EventId).find(|event| is_found(event));
    let gone = history.all_gone().first().map(|&(event, _)| event);
    let Some(read) = found.or(gone) else { return Ok(()) };
    let what = if found.is_some() { "found a row without learning its version" } else { "found that a row was gone" };
    let reader = history.transaction_name(history.transaction_of(read));
    let reason = format!("{reader} {what} when it read {}", history.key_name(history.event(read).key));
    Err(WriteError::Unsupported { format, reason, advice: "write native or notation" })
}

/// The integer from 0 up to the largest signed one of 64 bits, if the value is one.
pub(super) fn natural(history: &History, value: Value) -> Option<i64> {
    match history.view(value) {
        ValueView::Integer(number) => i64::try_from(number).ok().filter(|&number| number >= 0),
        _ => None,
    }
}

/// Sentences on what formats without a place for these things leave out.
pub(super) fn losses(history: &History, carries_times: bool) -> Vec<String> {
    let transactions = || history.transactions();
    let any_event = |wanted: fn(&Event) -> bool| {
        transactions().any(|transaction| history.events_of(transaction).iter().any(wanted))
    };
    let any_note = transactions().any(|t| history.transaction_note(t).is_some())
        || transactions().any(|t| history.event_range(t).any(|event| history.event_note(EventId(event)).is_some()));
    let lost = [
        (
            transactions().any(|t| history.declared_level(t).is_some()),
            "The levels that transactions declare are left out.",
        ),
        (!carries_times && history.has_times(), "Begin and end times are left out."),
        (
            any_event(|Event { locking, value: _, key: _, action: _, scanned: _ }| *locking),
            "Locking reads are written as plain reads.",
        ),
        (!history.scans().is_empty(), "Range reads are written as reads of single keys."),
        (any_note, "Extra fields are left out."),
        (
            transactions().any(|t| history.outcome(t) == Outcome::AbortedByProgram),
            "Who aborted a transaction is left out, and with it that the reads of those aborted by their program count.",
        ),
        (history.has_statements(), "What the statements behind the events asked for is left out."),
        (
            transactions().any(|t| history.refusal(t).is_some()),
            "The errors with which the database refused transactions are left out.",
        ),
        (history.engine().is_some(), "Which engine the history comes from is left out."),
        (history.about().is_some(), "What the header says about the history is left out."),
    ];
    lost.into_iter().filter(|lost| lost.0).map(|lost| lost.1.to_owned()).collect()
}
