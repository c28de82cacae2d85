//! Who wrote what was read, and who counts because of that: every way to say it.
//!
//! Usually there is one way, or none when some read is impossible. There are several when values repeat:
//!
//! ```text
//!   w(x,1); w(x,1); r(x,1)        t3 read from t1, or t3 read from t2
//! ```
//!
//! Transactions count as follows: committed ones do; those that their program aborted do as readers, their writes are nobody's;
//! those that the database aborted do not; and one of unknown outcome does when a transaction that counts read from it. So writers
//! are chosen read by read, and a choice may bring in a transaction whose own reads then want explaining:
//!
//! ```text
//!   a: r(x,1)      b: r(y,2) w(x,1) ?           c: w(y,2) ?                 d: r(z,9) w(u,1) ?
//!      counts         counts: a read from it       counts: b read from it      is dropped, although nobody wrote 9
//! ```
//!
//! A read that only found a row may have seen every version that is there. One that found nothing because somebody deleted the row and
//! inserted its key anew saw neither what was there before nor what was left: no version that a transaction leaves explains it. At the
//! levels of the engines that is an explanation of its own; and a refused transaction counts there, as one that its program aborted.
//!
//! Reads of lists are explained by [`super::lists`].

use super::lists;
use skew_history::{Action, Event, EventId, History, KeyId, Outcome, StatementKind, TransactionId, Value, Writer};

/// Whose levels are asked for: they differ in who counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LevelFamily {
    /// The levels of the papers.
    Papers,
    /// The levels of the engines.
    Engines,
}

/// Where a read's value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValueSource {
    /// The transaction itself.
    Own,
    /// Another transaction or t0.
    External(Writer),
    /// Nowhere: this transaction deleted the row that was waited for, and inserted its key anew.
    Gone(TransactionId),
}

/// Who wrote what was read as far as it is decided, and who counts because of that.
#[derive(Clone)]
pub(super) struct Choices {
    family: LevelFamily,
    /// Per transaction.
    pub(super) counts: Vec<bool>,
    /// Per event; nothing for writes and for reads that are not decided yet.
    pub(super) sources: Vec<Option<ValueSource>>,
    /// Per key the transactions whose appends were read, in the order that the lists show.
    pub(super) appenders: Vec<Vec<TransactionId>>,
}

impl Choices {
    fn none_yet(history: &History, family: LevelFamily) -> Choices {
        let counts = |transaction| match history.outcome(transaction) {
            Outcome::Committed | Outcome::AbortedByProgram => true,
            Outcome::AbortedByDatabase => family == LevelFamily::Engines,
            Outcome::Unknown => false,
        };
        Choices {
            family,
            counts: history.transactions().map(counts).collect(),
            sources: vec![None; history.event_count()],
            appenders: vec![Vec::new(); history.key_count()],
        }
    }

    /// A read of a transaction that counts which is not decided yet.
    fn next_read(&self, history: &History) -> Option<EventId> {
        let counting = history.transactions().filter(|transaction| self.counts[transaction.index()]);
        let mut events = counting.flat_map(|transaction| history.numbered_events_of(transaction));
        events
            .find(|(number, event)| event.is_read() && self.sources[number.index()].is_none())
            .map(|(number, _)| number)
    }

    /// The same with one read more decided; its writer counts from now on.
    pub(super) fn with(&self, read: EventId, source: ValueSource) -> Choices {
        let mut choices = self.clone();
        choices.sources[read.index()] = Some(source);
        if let ValueSource::External(Writer::Transaction(writer)) | ValueSource::Gone(writer) = source {
            choices.counts[writer.index()] = true;
        }
        choices
    }
}

/// Whether `test` accepts some way to explain every read of the transactions that count.
pub(super) fn some_choices(history: &History, family: LevelFamily, test: &mut dyn FnMut(&Choices) -> bool) -> bool {
    explain_the_rest(history, &Choices::none_yet(history, family), test)
}

fn explain_the_rest(history: &History, choices: &Choices, test: &mut dyn FnMut(&Choices) -> bool) -> bool {
    let Some(read) = choices.next_read(history) else { return test(choices) };
    let explanations = match lists::is_list(history, history.event(read).key) {
        true => lists::explanations(history, choices, read),
        false => register_explanations(history, choices, read),
    };
    explanations.iter().any(|choices| explain_the_rest(history, choices, test))
}

/// All ways to explain a read of a register; none when it is impossible.
fn register_explanations(history: &History, choices: &Choices, read: EventId) -> Vec<Choices> {
    let &Event { key, value, .. } = history.event(read);
    if let Some(by) = history.gone(read) {
        let can_be = choices.family == LevelFamily::Engines && may_be_read(history, by);
        return can_be.then(|| choices.with(read, ValueSource::Gone(by))).into_iter().collect();
    }
    let reader = Writer::Transaction(history.transaction_of(read));
    let claim = history.claim(read);
    let is_claimed = |writer: Writer| claim.is_none_or(|claim| claim == writer);
    let returned = |wrote: Value| history.may_return(value, wrote);
    // PostgreSQL may return the row of the snapshot beside an own one, and only a claim tells which is which.
    let beside_own = choices.family == LevelFamily::Engines && claim.is_some_and(|claim| claim != reader);
    if let Some(own) = own_writes_before(history, read).last().filter(|_| !beside_own) {
        let is_right = returned(own.value) && is_claimed(reader);
        return is_right.then(|| choices.with(read, ValueSource::Own)).into_iter().collect();
    }
    let wrote_it = |writer: Writer| visible_value(history, writer, key).is_some_and(returned);
    let candidates =
        possible_writers(history).filter(|&writer| writer != reader && is_claimed(writer) && wrote_it(writer));
    let from = candidates.map(|writer| choices.with(read, ValueSource::External(writer)));
    from.chain(may_be_gone_by(history, choices, read).map(|by| choices.with(read, ValueSource::Gone(by)))).collect()
}

/// The transactions because of which a locking read may have found nothing, where the history does not say.
fn may_be_gone_by(history: &History, choices: &Choices, read: EventId) -> impl Iterator<Item = TransactionId> {
    let event = history.event(read);
    let kind = history.asked(read).kind;
    let looks_for_rows = !matches!(kind, StatementKind::Select | StatementKind::Insert | StatementKind::Upsert);
    let is_silent = event.value.is_absent() && history.claim(read).is_none();
    let is_asked = choices.family == LevelFamily::Engines && looks_for_rows && is_silent;
    let reader = history.transaction_of(read);
    let candidates = history.transactions().filter(move |&one| is_asked && one != reader && may_be_read(history, one));
    candidates.filter(move |&one| {
        let mut writes = history.events_of(one).iter().filter(|write| write.key == event.key && !write.is_read());
        writes.any(|write| write.value.is_absent()) && writes.any(|write| !write.value.is_absent())
    })
}

/// The writes of a read's own transaction to the read's key that come before it.
pub(super) fn own_writes_before(history: &History, read: EventId) -> Vec<&Event> {
    let key = history.event(read).key;
    let events = history.numbered_events_of(history.transaction_of(read));
    let earlier = events.take_while(|(number, _)| *number < read);
    earlier.map(|(_, event)| event).filter(|event| event.key == key && !event.is_read()).collect()
}

/// The initial state, and every transaction that committed or may have.
fn possible_writers(history: &History) -> impl Iterator<Item = Writer> {
    let transactions = history.transactions().filter(|&transaction| may_be_read(history, transaction));
    std::iter::once(Writer::Initial).chain(transactions.map(Writer::Transaction))
}

/// Whether a transaction's writes are for others to see, or may be.
pub(super) fn may_be_read(history: &History, transaction: TransactionId) -> bool {
    matches!(history.outcome(transaction), Outcome::Committed | Outcome::Unknown)
}

/// The value that others see: of several writes of a key only the last is visible.
fn visible_value(history: &History, writer: Writer, key: KeyId) -> Option<Value> {
    match writer {
        Writer::Initial => Some(history.initial(key)),
        Writer::Transaction(transaction) => {
            let mut events = history.events_of(transaction).iter().rev();
            events.find(|event| event.key == key && event.action == Action::Write).map(|event| event.value)
        }
    }
}
