//! A part of a history, as a history of its own: what a counterexample shows.
//!
//! Dropping transactions and events never makes a history harder to allow, as long as a read keeps its writer. So whoever
//! restricts keeps, with a read, every write that the read might have seen; this module only does what it is told. The one
//! thing it looks after itself are lists: an element whose append is dropped disappears from the lists that were read.

use crate::history::{
    Action, Event, EventId, Features, History, KeyId, Scan, SessionId, TransactionEntry, TransactionId, UNNAMED, Writer,
};
use crate::name::Names;
use crate::statement::{Asked, Refused};
use crate::value::{Value, ValueView, Values};
use rustc_hash::{FxHashMap, FxHashSet};

impl History {
    /// The history that has only these events (sorted), the transactions they belong to and the sessions of those; and, for each
    /// transaction of the result, the one it was here.
    pub fn restrict(&self, kept: &[EventId]) -> (History, Vec<TransactionId>) {
        debug_assert!(kept.is_sorted());
        let mut part = Restriction::new(self, kept);
        for &event in kept {
            part.take(event);
        }
        part.finish()
    }
}

struct Restriction<'a> {
    whole: &'a History,
    part: History,
    origin: Vec<TransactionId>,
    sessions: FxHashMap<SessionId, SessionId>,
    keys: FxHashMap<KeyId, KeyId>,
    /// Claims by original transaction; they become numbers of the part at the end.
    claims: Vec<(EventId, Writer)>,
    /// Elements whose append is dropped.
    dropped_appends: FxHashSet<(KeyId, Value)>,
}

impl<'a> Restriction<'a> {
    fn new(whole: &'a History, kept: &[EventId]) -> Restriction<'a> {
        let part = History {
            sessions: Names::default(),
            session_starts: vec![0],
            transactions: Vec::new(),
            transaction_names: Names::default(),
            name_of: Vec::new(),
            times: Vec::new(),
            events: Vec::with_capacity(kept.len()),
            keys: Names::default(),
            values: Values::default(),
            initial: Vec::new(),
            claims: Vec::new(),
            scans: Vec::new(),
            event_notes: Vec::new(),
            transaction_notes: Vec::new(),
            about: whole.about.clone(),
            engine: whole.engine.clone(),
            asked: Vec::new(),
            gone: Vec::new(),
            refusals: Vec::new(),
            features: Features::default(),
        };
        Restriction {
            whole,
            part,
            origin: Vec::new(),
            sessions: FxHashMap::default(),
            keys: FxHashMap::default(),
            claims: Vec::new(),
            dropped_appends: dropped_appends(whole, kept),
        }
    }

    fn take(&mut self, event: EventId) {
        let transaction = self.whole.transaction_of(event);
        if self.origin.last() != Some(&transaction) {
            self.take_transaction(transaction);
        }
        let original = *self.whole.event(event);
        let number = EventId(self.part.events.len() as u32);
        let key = self.key(original.key);
        let value = self.value(original.key, original.value);
        self.part.events.push(Event { key, value, ..original });
        if let Some(claim) = self.whole.claim(event) {
            self.claims.push((number, claim));
        }
        let asked = self.whole.asked(event);
        if asked != Asked::default() {
            self.part.asked.resize(number.index(), Asked::default());
            self.part.asked.push(asked);
        }
        if let Some(by) = self.whole.gone(event) {
            self.part.gone.push((number, by));
        }
        if let Some(note) = self.whole.event_note(event) {
            self.part.event_notes.push((number, note.into()));
        }
        if original.scanned {
            self.take_scan(event, number);
        }
    }

    fn take_scan(&mut self, event: EventId, number: EventId) {
        let after = self.whole.scans.partition_point(|scan| scan.events.end <= event.0);
        let prefix = &self.whole.scans[after].prefix;
        let first = self.whole.scans[after].events.start;
        match self.part.scans.last_mut() {
            Some(last) if last.prefix == *prefix && last.events.end == number.0 && event.0 != first => {
                last.events.end += 1;
            }
            _ => self.part.scans.push(Scan { events: number.0..number.0 + 1, prefix: prefix.clone() }),
        }
    }

    fn take_transaction(&mut self, transaction: TransactionId) {
        let whole = self.whole;
        let session = whole.session_of(transaction);
        let part = &mut self.part;
        let number = TransactionId(part.transactions.len() as u32);
        let session = *self.sessions.entry(session).or_insert_with(|| {
            part.session_starts.push(number.0);
            SessionId(part.sessions.push(whole.session_name(session)))
        });
        *part.session_starts.last_mut().expect("never empty") = number.0 + 1;
        part.transactions.push(TransactionEntry {
            first_event: part.events.len() as u32,
            session,
            outcome: whole.outcome(transaction),
            level: whole.declared_level(transaction),
        });
        // A derived name counts transactions of the session, some of which are gone: it becomes a given one.
        let name = whole.transaction_name(transaction).to_string();
        part.name_of.push(part.transaction_names.push(name.as_str().into()));
        if whole.has_times() {
            part.times.push(whole.times(transaction));
        }
        if let Some(Refused { error, statement }) = whole.refusal(transaction) {
            part.refusals.push((number, error.into(), statement));
        }
        if let Some(note) = whole.transaction_note(transaction) {
            part.transaction_notes.push((number, note.into()));
        }
        self.origin.push(transaction);
    }

    fn key(&mut self, key: KeyId) -> KeyId {
        if let Some(&known) = self.keys.get(&key) {
            return known;
        }
        let number = KeyId(self.part.keys.push(self.whole.key_name(key)));
        self.keys.insert(key, number);
        let initial = self.value(key, self.whole.initial(key));
        self.part.initial.push(initial);
        number
    }

    fn value(&mut self, key: KeyId, value: Value) -> Value {
        let values = &mut self.part.values;
        match self.whole.view(value) {
            ValueView::Absent => Value::ABSENT,
            ValueView::Found => Value::FOUND,
            ValueView::Integer(number) => values.integer(number),
            ValueView::Real(number) => values.real(number),
            ValueView::Text(text) => values.text(text),
            ValueView::Boolean(truth) => values.boolean(truth),
            ValueView::List(elements) => {
                let kept = elements.iter().filter(|&&element| !self.dropped_appends.contains(&(key, element)));
                let kept: Vec<Value> = kept.copied().collect();
                let kept: Vec<Value> = kept.into_iter().map(|element| self.value(key, element)).collect();
                self.part.values.list(kept)
            }
        }
    }

    fn finish(mut self) -> (History, Vec<TransactionId>) {
        let origin = &self.origin;
        let number = |transaction: TransactionId| {
            origin.binary_search(&transaction).ok().map(|number| TransactionId(number as u32))
        };
        self.part.gone = self.part.gone.iter().filter_map(|&(event, by)| Some((event, number(by)?))).collect();
        self.part.claims = self
            .claims
            .iter()
            .filter_map(|&(event, claim)| match claim {
                Writer::Initial => Some((event, Writer::Initial)),
                Writer::Transaction(writer) => Some((event, Writer::Transaction(number(writer)?))),
            })
            .collect();
        debug_assert!(self.part.name_of.iter().all(|&name| name != UNNAMED));
        self.part.features = Features::of(&self.part.events, &self.part.asked, &self.part.initial);
        (self.part, self.origin)
    }
}

/// The appends of the kept lists' keys that are not kept. Elements that nobody appended stay in the lists: they are the finding.
fn dropped_appends(whole: &History, kept: &[EventId]) -> FxHashSet<(KeyId, Value)> {
    let lists = |event: &EventId| whole.event(*event).value.is_list();
    let keys: FxHashSet<KeyId> =
        kept.iter().filter(|event| lists(event)).map(|&event| whole.event(event).key).collect();
    if keys.is_empty() {
        return FxHashSet::default();
    }
    let element_of = |event: &Event| (event.key, event.value);
    let is_append = |event: &Event| event.action == Action::Append && keys.contains(&event.key);
    let kept_appends: FxHashSet<(KeyId, Value)> =
        kept.iter().map(|&event| whole.event(event)).filter(|event| is_append(event)).map(element_of).collect();
    let all = whole.events.iter().filter(|event| is_append(event)).map(element_of);
    all.filter(|append| !kept_appends.contains(append)).collect()
}

#[cfg(test)]
mod tests {
    use crate::history::EventId;
    use crate::notation;

    #[test]
    fn a_part_keeps_names_and_order() {
        let whole = notation::parse("a: w(x,1) | w(y,2) | r(x,1) w(z,3); b: r(z,3) r(y,2)").unwrap();
        let (part, origin) = whole.restrict(&[EventId(0), EventId(2), EventId(5)]);
        assert_eq!(notation::write(&part), "a: w(x,1) | r(x,1)\nb: r(y,2)\n");
        assert_eq!(origin.iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(part.transaction_name(crate::TransactionId(1)).to_string(), "a#2");
    }

    #[test]
    fn a_dropped_append_leaves_the_lists() {
        let whole = notation::parse("a: append(x,1); b: append(x,2); c: r(x,[1 2 9])").unwrap();
        let (part, _) = whole.restrict(&[EventId(1), EventId(2)]);
        assert_eq!(notation::write(&part), "b: append(x,2)\nc: r(x,[2 9])\n");
    }
}
