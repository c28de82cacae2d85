//! What matters of a run, in words that are the same whoever made it: who read what from whom, who wrote what, what calls handed out, and
//! how it may have ended.
//!
//! ```text
//!   a#0 committed [0 1 - -] reads kv/1 from init; writes kv/1 = 5
//!   b#0 error 23505 [- - - -] reads kv/1 from a#0
//!   ends with {kv/1: (1, 5)}
//! ```
//!
//! Lock flags, the order of reads within a transaction and reads of its own writes are left out, as are transactions that the database
//! refused and absent keys that only such transactions wrote. What a transaction that was rolled back wrote is nothing.

use crate::draft::Values;
use skew_explore::Place;
use skew_history::{Action, History, KeyId, Outcome, TransactionId, Value, Writer};
use skew_sql::{Row, RowKey};
use skew_value::Datum;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// What came of a call.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CallAccount {
    /// `committed`, `rolled back`, or `error` with its state.
    pub(crate) end: String,
    pub(crate) values: Values,
}

/// A run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Account {
    pub(crate) calls: BTreeMap<Place, CallAccount>,
    /// What the transaction of each call read and wrote.
    pub(crate) events: BTreeMap<Place, String>,
    /// The states in which it may have left the database, where they are compared.
    pub(crate) states: BTreeSet<String>,
}

/// The value of a variable.
pub(crate) fn number(datum: &Datum) -> Option<i64> {
    match datum {
        Datum::Integer(value) => i64::try_from(*value).ok(),
        Datum::Decimal(_) | Datum::Real(_) => None,
        _ => None,
    }
}

/// A final state.
pub(crate) fn state(rows: impl IntoIterator<Item = (RowKey, Row)>) -> String {
    format!("{:?}", rows.into_iter().collect::<BTreeMap<_, _>>())
}

/// The variables of a call, from what it handed out.
pub(crate) fn values(fields: &[Datum]) -> Values {
    let mut values = Values::default();
    for (value, field) in values.iter_mut().zip(fields) {
        *value = number(field);
    }
    values
}

/// What the transactions of a history did, under the names that they are given; the others are left out.
pub(crate) fn events(history: &History, places: &BTreeMap<String, Place>) -> BTreeMap<Place, String> {
    let named = |transaction: TransactionId| places.get(&history.transaction_name(transaction).to_string()).copied();
    let told: Vec<(TransactionId, Place)> =
        history.transactions().filter_map(|transaction| Some((transaction, named(transaction)?))).collect();
    let commits = |transaction: &TransactionId| history.outcome(*transaction) == Outcome::Committed;
    let committed = told.iter().map(|one| one.0).filter(|transaction| commits(transaction));
    let writes = committed.flat_map(|transaction| history.events_of(transaction)).filter(|event| !event.is_read());
    let written: BTreeSet<KeyId> = writes.map(|event| event.key).collect();
    let name = |place: Place| format!("{}#{}", crate::draft::session_name(place.session), place.number);
    let mut all = BTreeMap::new();
    for &(transaction, place) in &told {
        let (mut reads, mut own): (BTreeSet<String>, BTreeMap<KeyId, Value>) = Default::default();
        for (number, event) in history.numbered_events_of(transaction) {
            let is_there = history.initial(event.key) != Value::ABSENT || written.contains(&event.key);
            match event.action {
                Action::Read if is_there && !own.contains_key(&event.key) => {
                    let from = match history.claim(number) {
                        Some(Writer::Transaction(writer)) => named(writer).map_or("somebody".to_owned(), name),
                        _ => "init".to_owned(),
                    };
                    reads.insert(format!("{} from {from}", history.key_name(event.key)));
                }
                Action::Read => {}
                _ => drop(own.insert(event.key, event.value)),
            }
        }
        if reads.is_empty() && own.is_empty() {
            continue;
        }
        let mut line = format!("reads {}", reads.into_iter().collect::<Vec<_>>().join(", "));
        if commits(&transaction) {
            // A number may be written down as a number or as text.
            let shown = |value: &Value| history.show(*value).to_string().trim_matches('"').to_owned();
            let told = |(key, value): (&KeyId, &Value)| format!("{} = {}", history.key_name(*key), shown(value));
            let writes: BTreeSet<String> = own.iter().map(told).collect();
            let _ = write!(line, "; writes {}", writes.into_iter().collect::<Vec<_>>().join(", "));
        }
        all.insert(place, line);
    }
    all
}

impl fmt::Display for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, call) in &self.calls {
            let values = call.values.map(|value| value.map_or("-".to_owned(), |value| value.to_string())).join(" ");
            let events = self.events.get(place).map_or("", String::as_str);
            let name = crate::draft::session_name(place.session);
            writeln!(out, "  {name}#{} {} [{values}] {events}", place.number, call.end)?;
        }
        for state in &self.states {
            writeln!(out, "  ends with {state}")?;
        }
        Ok(())
    }
}

impl Account {
    /// How many lines of another account are the same.
    pub(crate) fn likeness(&self, other: &Account) -> usize {
        let same = |place: &&Place| self.calls.get(place) == other.calls.get(place);
        let alike = |place: &&Place| self.events.get(place) == other.events.get(place);
        self.calls.keys().filter(same).count() + self.calls.keys().filter(alike).count()
    }
}
