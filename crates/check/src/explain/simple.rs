//! The one violation that everybody knows, if it is there: two transactions that update the same version of a key.
//!
//! ```text
//!   t1: r(x,0) w(x,1)        t2: r(x,0) w(x,2)        one of the updates is lost
//! ```
//!
//! A refutation of a large history goes round whatever cycle was met first. This pair is found by one look at every event, and is
//! told in its place; that it does violate the level is checked like everything that is told.

use rustc_hash::FxHashMap;
use skew_history::{EventId, History, KeyId, Outcome, TransactionId, Value};

/// The reads and writes of two transactions that update the same version of a key.
pub(super) fn lost_update(history: &History) -> Option<Vec<EventId>> {
    let mut first: FxHashMap<(KeyId, Value), [EventId; 2]> = FxHashMap::default();
    for transaction in history.transactions().filter(|it| history.outcome(*it) == Outcome::Committed) {
        for (version, update) in updates(history, transaction) {
            if let Some(other) = first.insert(version, update) {
                return Some([other, update].concat());
            }
        }
    }
    None
}

/// The versions that a transaction reads and replaces, each with the read and the last write.
fn updates(history: &History, transaction: TransactionId) -> FxHashMap<(KeyId, Value), [EventId; 2]> {
    let mut reads: FxHashMap<KeyId, (EventId, Value)> = FxHashMap::default();
    let mut writes: FxHashMap<KeyId, EventId> = FxHashMap::default();
    for (number, event) in history.numbered_events_of(transaction) {
        if !event.is_read() {
            writes.insert(event.key, number);
        } else if !writes.contains_key(&event.key) && !event.value.is_found() {
            // The last version that it met is the one that it replaces.
            reads.insert(event.key, (number, event.value));
        }
    }
    let update = |(key, (read, value)): (&KeyId, &(EventId, Value))| {
        writes.get(key).map(|write| ((*key, *value), [*read, *write]))
    };
    reads.iter().filter_map(update).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::notation;

    fn found(text: &str) -> usize {
        let history = notation::parse(text).expect("a history");
        lost_update(&history).map_or(0, |events| events.len())
    }

    #[test]
    fn two_who_update_the_same_version_are_found() {
        assert_eq!(found("a: r(x,init) w(x,1)\nb: r(x,init) w(x,2)"), 4);
        // Another version, another key, and a read of one's own write.
        assert_eq!(found("a: r(x,init) w(x,1)\nb: r(x,1) w(x,2)"), 0);
        assert_eq!(found("a: r(x,init) w(x,1)\nb: r(x,init) w(y,2)"), 0);
        assert_eq!(found("a: r(x,init) w(x,1)\nb: w(x,2) r(x,2) w(x,3)"), 0);
        assert_eq!(found("a: r(x,init) w(x,1)\nb: r(x,init) lock r(x,1) w(x,2)"), 0, "it met the other's version");
    }
}
