//! The states in which a run may have left the database.
//!
//! Two transactions that wrote `x` without having seen one another may stand in either order, so either version may be the last; and
//! two keys are not independent, because one order has to explain both:
//!
//! ```text
//!   a: w(x) w(y)      b: w(x) w(y)        at read-atomic  x and y are both a's or both b's
//! ```
//!
//! At read-committed, read-atomic and causal every order that has what is known is allowed, so "b is the last writer of x" is a few more
//! edges. At the others the checker is asked, about the history with one more transaction: it comes after all who wrote, and reads,
//! with a lock, the versions that are to be the last. A locking read sees the latest version, so the history is allowed exactly when they
//! can be the last.

use crate::explorable::Explorable;
use crate::forced::ForcedOrder;
use crate::keys::KeyNumber;
use crate::log::Outcome;
use crate::record::Recorder;
use crate::run::Run;
use crate::runner::Runner;
use crate::set::{INITIAL, Number, Set};
use skew_check::{Budget, Verdict};
use skew_sql::{Row, RowKey};
use std::collections::BTreeMap;

/// The rows that there are in the end, in the order of their keys.
pub type FinalState = BTreeMap<RowKey, Row>;

/// So many states of one run are looked at before it is given up.
pub const MOST_FINAL_STATES: usize = 1_000;

/// Whom each key that was written has its last version from.
type Last = Vec<(KeyNumber, Number)>;

impl<P: Explorable + ?Sized> Run<'_, P> {
    /// The rows of every final state that some commit order leaves which the levels allow. Nothing when there are more than `limit`, or
    /// when the budget of one of the checks ends before it is known.
    pub fn final_states(&self, limit: usize, budget: Budget<'_>) -> Option<Vec<FinalState>> {
        if let Some(server) = &self.node.server {
            let last: Last = server.last().into_iter().collect();
            return Some(vec![self.rows_of(&last)]);
        }
        let history = &self.node.history;
        let exact = self.runner.outline.is_exact() && !self.locks();
        let mut found = Vec::new();
        let mut stack: Vec<(ForcedOrder, Last)> = vec![(ForcedOrder::clone(&history.forced), Vec::new())];
        while let Some((known, last)) = stack.pop() {
            let Some(&(key, writers)) = history.written().get(last.len()) else {
                found.push(self.rows_of(&last));
                if found.len() > limit {
                    return None;
                }
                continue;
            };
            let ways: Vec<(ForcedOrder, Number)> =
                writers.iter().filter_map(|one| with_last(&known, writers, one)).collect();
            let only = ways.len() == 1;
            for (known, writer) in ways.into_iter().rev() {
                let mut last = last.clone();
                last.push((key, writer));
                if exact || only || self.can_be_last(&last, budget)? {
                    stack.push((known, last));
                }
            }
        }
        Some(found)
    }

    /// Whether some commit order that the levels allow has these as the last writers; nothing if that does not become clear.
    fn can_be_last(&self, last: &[(KeyNumber, Number)], budget: Budget<'_>) -> Option<bool> {
        let Runner { program, outline, keys, .. } = self.runner;
        let recorder = Recorder::new(*program, outline, keys, &self.node.history, self.locked(budget));
        let history = recorder.record_with_end(last, self.last_of_sessions()).ok()?;
        match skew_check::check(&history, outline.level(), budget) {
            Verdict::Holds(_) => Some(true),
            Verdict::Fails(_) => Some(false),
            Verdict::Unknown(_) => None,
        }
    }

    /// Of each session the last transaction that committed something.
    fn last_of_sessions(&self) -> Set {
        let outline = &self.runner.outline;
        let history = &self.node.history;
        let wrote = |number: &Number| {
            history.has(*number)
                && history.log(*number).outcome == Outcome::Committed
                && !history.log(*number).writes.is_empty()
        };
        let all: Set = outline.numbers().filter(wrote).collect();
        all.iter().fold(all, |last, number| last - outline.session_past(number))
    }

    fn rows_of(&self, last: &[(KeyNumber, Number)]) -> FinalState {
        let keys = &self.runner.keys;
        let mut rows: FinalState = keys.all_initial().map(|(key, row)| (key.clone(), row.clone())).collect();
        for &(key, writer) in last {
            match self.node.history.value(keys, key, writer) {
                Some(row) => drop(rows.insert(keys.key(key).clone(), row.clone())),
                None => drop(rows.remove(keys.key(key))),
            }
        }
        rows
    }
}

/// What is known when a writer of a key is its last, if it can be.
fn with_last(known: &ForcedOrder, writers: Set, last: Number) -> Option<(ForcedOrder, Number)> {
    debug_assert!(last != INITIAL, "t0 is in no set");
    let mut known = known.clone();
    let fits = (writers - Set::only(last)).iter().all(|other| known.insert(other, last));
    fits.then_some((known, last))
}
