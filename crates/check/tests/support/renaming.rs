//! The same history under other names: no verdict may change.
//!
//! Sessions come in another order and all names are new; keys get other numbers; every value becomes another one, equal values
//! equal ones. What has a meaning stays: the absent value, program order, session order, outcomes, levels, times (moved by one
//! constant). Range reads have become plain reads already, and stay those.

use super::random::Random;
use skew_history::builder::ClaimedWriter;
use skew_history::{Event, EventId, History, HistoryBuilder, KeyId, Times, TransactionId, Value, Writer};

/// `history` with its sessions, keys, values and transactions renamed at random.
pub fn rename(random: &mut Random, history: &History) -> History {
    let mut renaming = Renaming {
        history,
        key_names: random.permutation(history.key_count()),
        factor: random.up_to(5) as i64,
        moved: random.below(1000) as i64 - 500,
        builder: HistoryBuilder::new(),
    };
    renaming.keys();
    for session in random.permutation(history.session_count()) {
        for transaction in history.transactions_of(skew_history::SessionId(session as u32)) {
            renaming.transaction(transaction);
        }
    }
    renaming.builder.finish().expect("a well-formed history")
}

struct Renaming<'a> {
    history: &'a History,
    /// Per key.
    key_names: Vec<usize>,
    factor: i64,
    moved: i64,
    builder: HistoryBuilder,
}

impl Renaming<'_> {
    fn keys(&mut self) {
        let mut keys: Vec<KeyId> = self.history.keys().collect();
        keys.sort_by_key(|key| self.key_names[key.index()]);
        for key in keys {
            let initial = self.value(self.history.initial(key));
            let key = self.key(key);
            self.builder.initial(key, initial);
        }
    }

    fn key(&mut self, key: KeyId) -> KeyId {
        self.builder.key(format!("renamed {}", self.key_names[key.index()]).as_str())
    }

    fn value(&mut self, value: Value) -> Value {
        if value.is_absent() || value.is_found() {
            return value;
        }
        if value.is_list() {
            let elements = self.history.elements(value).to_vec();
            let elements: Vec<Value> = elements.into_iter().map(|element| self.value(element)).collect();
            return self.builder.values().list(elements);
        }
        match self.history.view(value) {
            // Small integers stay integers: another one for each.
            skew_history::ValueView::Integer(number) if number.abs() < 1000 => {
                self.builder.values().integer(number * i128::from(self.factor) + i128::from(self.moved))
            }
            _ => {
                let text = format!("renamed {}", self.history.show(value));
                self.builder.values().text(&text)
            }
        }
    }

    fn transaction(&mut self, transaction: TransactionId) {
        let history = self.history;
        let name = self.name(history.session_of(transaction).index());
        let session = self.builder.session(name.as_str());
        let name = self.transaction_name(transaction);
        self.builder.begin(session, Some(name.as_str().into())).expect("names are unique");
        self.builder.outcome(history.outcome(transaction));
        if let Some(level) = history.declared_level(transaction) {
            self.builder.level(level);
        }
        let Times { begin, end } = history.times(transaction);
        let moved = |time: Option<i64>| time.map(|time| time + self.moved);
        let times = Times { begin: moved(begin), end: moved(end) };
        self.builder.times(times).expect("times stay in order");
        for (number, event) in history.numbered_events_of(transaction) {
            self.event(number, event);
        }
    }

    fn event(&mut self, number: EventId, event: &Event) {
        let (key, value) = (self.key(event.key), self.value(event.value));
        self.builder.event(Event { key, value, scanned: false, ..*event });
        self.builder.asked(self.history.asked(number)).expect("statements stay in order");
        if let Some(by) = self.history.gone(number) {
            let name = self.transaction_name(by);
            self.builder.gone(name.as_str().into()).expect("a read of nothing");
        }
        match self.history.claim(number) {
            None => {}
            Some(Writer::Initial) => self.builder.claim(ClaimedWriter::Initial),
            Some(Writer::Transaction(writer)) => {
                let name = self.transaction_name(writer);
                self.builder.claim(ClaimedWriter::Transaction(name.as_str().into()));
            }
        }
    }

    fn name(&self, session: usize) -> String {
        format!("session {}", (session as i64 + 1) * self.factor)
    }

    fn transaction_name(&self, transaction: TransactionId) -> String {
        format!("renamed {}", i64::from(transaction.0) * self.factor - self.moved)
    }
}
