//! Final states against another way to find them: the growing history of `skew-check`, to which every run is told again, event by event.

use crate::random_programs::{Features, Random, program};
use crate::script::Script;
use skew_check::{Budget, GrowingHistory, GrowingId, GrowingOptions, Updates, Version};
use skew_explore::{Explorable, FinalState, IsolationLevel, Options, RunAnswer, Search};
use skew_history::{Action, EventId, History, KeyId, Outcome, TransactionId, Value, Writer};
use skew_value::Datum;
use std::collections::{BTreeMap, BTreeSet};

/// The keys that are there, and what is under them.
type State = BTreeMap<String, i128>;

/// A run as the growing history has it.
struct Told<'a> {
    history: &'a History,
    growing: GrowingHistory,
    ids: BTreeMap<TransactionId, GrowingId>,
}

impl<'a> Told<'a> {
    fn new(history: &'a History, level: IsolationLevel) -> Told<'a> {
        let options = GrowingOptions { updates: Updates::Plain, horizon: None, bare: true, budget: 1_000_000 };
        let mut told = Told { history, growing: GrowingHistory::new(options), ids: BTreeMap::new() };
        while told.ids.len() < history.transaction_count() {
            let next = history.transactions().find(|&transaction| told.may_follow(transaction));
            told.tell(next.expect("so ∪ wr has no cycle"), level);
        }
        told
    }

    /// Whom an event read from, unless it is a write or reads an own write.
    fn source(&self, transaction: TransactionId, event: EventId) -> Option<Writer> {
        let key = self.history.event(event).key;
        let mut before = self.history.numbered_events_of(transaction).take_while(|(number, _)| *number < event);
        let own = before.any(|(_, other)| other.key == key && !other.is_read());
        let read = self.history.event(event).is_read() && !own;
        // What a scan does not list was never there.
        read.then(|| self.history.claim(event).unwrap_or(Writer::Initial))
    }

    fn may_follow(&self, transaction: TransactionId) -> bool {
        let is_told = |writer: Writer| match writer {
            Writer::Initial => true,
            Writer::Transaction(writer) => self.ids.contains_key(&writer),
        };
        let mut events = self.history.numbered_events_of(transaction).map(|(number, _)| number);
        !self.ids.contains_key(&transaction)
            && self.history.before_in_session(transaction).all(|earlier| self.ids.contains_key(&earlier))
            && events.all(|event| self.source(transaction, event).is_none_or(is_told))
    }

    fn tell(&mut self, transaction: TransactionId, level: IsolationLevel) {
        let id = self.growing.begin(self.history.session_of(transaction), level);
        self.ids.insert(transaction, id);
        for (number, event) in self.history.numbered_events_of(transaction) {
            if event.action == Action::Write {
                self.growing.write(id, event.key).unwrap();
            } else if let Some(source) = self.source(transaction, number) {
                let version = match source {
                    Writer::Initial => Version::Initial,
                    Writer::Transaction(writer) => Version::Of(self.ids[&writer]),
                };
                self.growing.read(id, event.key, version, event.locking).unwrap();
            }
        }
        match self.history.outcome(transaction) {
            Outcome::Committed => self.growing.commit(id).unwrap(),
            _ => self.growing.abort(id, true),
        }
    }

    fn value(&self, key: KeyId, version: Version) -> Value {
        let Version::Of(id) = version else { return self.history.initial(key) };
        let (transaction, _) = self.ids.iter().find(|entry| *entry.1 == id).unwrap();
        let mut writes = self.history.events_of(*transaction).iter().rev();
        writes.find(|event| event.key == key && event.action == Action::Write).unwrap().value
    }

    fn states(&self, initial: &State) -> BTreeSet<State> {
        let ways = self.growing.last_versions(10_000).unwrap();
        let state = |way: Vec<(KeyId, Version)>| {
            let mut state = initial.clone();
            for (key, version) in way {
                let name = self.history.key_name(key).to_string();
                match self.history.view(self.value(key, version)) {
                    skew_history::ValueView::Integer(number) => state.insert(name, number),
                    _ => state.remove(&name),
                };
            }
            state
        };
        ways.into_iter().map(state).collect()
    }
}

fn shown(program: &Script, state: &FinalState) -> State {
    let number = |datum: &Datum| match datum {
        Datum::Integer(number) => *number,
        other => panic!("{other:?}"),
    };
    state.iter().map(|(key, row)| (program.key_name(key), number(&row[0]))).collect()
}

#[test]
fn final_states_are_those_of_the_growing_history() {
    let mut ambiguous = 0;
    let levels: Vec<IsolationLevel> = IsolationLevel::of_papers().collect();
    for seed in 0..420 {
        let features = Features { scans: seed % 3 == 0, locks: seed % 4 == 1, mixed: false };
        let program = program(&mut Random::new(60_000 + seed), features);
        let level = levels[seed as usize % levels.len()];
        let initial = program.initial.iter().map(|name| (name.clone(), 0)).collect();
        let mut search = Search::new(&program, Options::new(level)).unwrap();
        while let Some(run) = search.next_run().unwrap() {
            if run.answer(Budget::UNLIMITED) != RunAnswer::Holds {
                continue;
            }
            let states = run.final_states(10_000, Budget::UNLIMITED).unwrap();
            let states: BTreeSet<State> = states.iter().map(|state| shown(&program, state)).collect();
            ambiguous += usize::from(states.len() > 1);
            let history = run.history().unwrap();
            assert_eq!(states, Told::new(&history, level).states(&initial), "{} at {level}", run.pattern());
        }
    }
    assert!(ambiguous > 100, "some runs may have ended in several ways: {ambiguous}");
}
