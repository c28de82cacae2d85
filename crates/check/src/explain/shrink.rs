//! A minimal part that still violates the level: no transaction of it can be left out, then no event.
//!
//! Dropping events never makes a history harder to allow as long as a read keeps whatever it might have returned; so a part that
//! fails shows that the whole fails. Transactions are dropped in halves, quarters, … and one by one, then reads, then writes; after
//! every drop the rest is checked again.

use super::core::{WriteIndex, core};
use super::simple;
use crate::anomaly::Anomaly;
use crate::budget::Budget;
use crate::verdict::Verdict;
use rustc_hash::FxHashSet;
use skew_history::{EventId, History, IsolationLevel, KeyId, TransactionId};

/// So many steps every check of a part may take, however little was left for the whole: parts are small.
const STEPS_FOR_A_PART: u64 = 1_000_000;

/// A part of `history` that violates `level` and loses nothing more, and why it does. Whoever is asked to stop returns what there
/// is by then.
pub(super) fn shrink(
    history: &History,
    level: IsolationLevel,
    anomaly: &Anomaly,
    budget: Budget<'_>,
) -> (History, Anomaly) {
    let budget = Budget { steps: budget.steps.max(STEPS_FOR_A_PART), progress: None, ..budget };
    // The first step makes the most of it: even somebody in a hurry waits for it.
    let patient = Budget { stop: None, ..budget };
    let failing = |events: Vec<EventId>| {
        let (part, _) = history.restrict(&events);
        fails(&part, level, patient).map(|anomaly| (part, anomaly))
    };
    let known = simple_part(history, anomaly).and_then(failing);
    let (start, anomaly) =
        known.or_else(|| failing(core(history, anomaly))).unwrap_or_else(|| (history.clone(), anomaly.clone()));
    let mut shrinking = Shrinking { history: start, anomaly, level, budget };
    shrinking.transactions();
    // A dropped event may make a transaction superfluous, and the other way round.
    while shrinking.events(true) | shrinking.events(false) {
        shrinking.transactions();
    }
    (shrinking.history, shrinking.anomaly)
}

/// The events of a lost update, unless a weaker level, where updates may be lost, fails already.
fn simple_part(history: &History, anomaly: &Anomaly) -> Option<Vec<EventId>> {
    let forbids = anomaly.level.implies(IsolationLevel::ParallelSnapshot);
    let found = forbids.then(|| simple::lost_update(history)).flatten()?;
    let keys: FxHashSet<KeyId> = found.iter().map(|event| history.event(*event).key).collect();
    Some(WriteIndex::on(history, |key| keys.contains(&key)).close(found))
}

fn fails(history: &History, level: IsolationLevel, budget: Budget<'_>) -> Option<Anomaly> {
    if crate::cannot_ask(history, level).is_some() {
        return None;
    }
    match crate::check(history, level, budget) {
        Verdict::Fails(anomaly) => Some(anomaly),
        _ => None,
    }
}

struct Shrinking<'b> {
    history: History,
    anomaly: Anomaly,
    level: IsolationLevel,
    budget: Budget<'b>,
}

impl Shrinking<'_> {
    /// Drops transactions, in ever smaller portions.
    fn transactions(&mut self) {
        let mut portion = self.history.transaction_count().div_ceil(2).max(1);
        loop {
            let mut first = 0;
            while first < self.history.transaction_count() && !self.budget.is_stopped() {
                let portion_end = (first + portion).min(self.history.transaction_count());
                let gone: FxHashSet<TransactionId> = (first..portion_end).map(|t| TransactionId(t as u32)).collect();
                let dropped = self.history.transactions().filter(|transaction| gone.contains(transaction));
                let events = dropped.flat_map(|transaction| self.history.event_range(transaction)).map(EventId);
                if !self.drop_events(events.collect()) {
                    first = portion_end;
                }
            }
            if portion == 1 {
                return;
            }
            portion = portion.div_ceil(2);
        }
    }

    /// Drops single reads or writes; whether any went.
    fn events(&mut self, reads: bool) -> bool {
        let mut any = false;
        let mut number = 0;
        while number < self.history.event_count() && !self.budget.is_stopped() {
            let event = EventId(number as u32);
            if self.history.event(event).is_read() == reads && self.drop_events(FxHashSet::from_iter([event])) {
                any = true;
            } else {
                number += 1;
            }
        }
        any
    }

    /// Drops events and whatever cannot stay without them, if the rest still fails.
    fn drop_events(&mut self, gone: FxHashSet<EventId>) -> bool {
        let writes = WriteIndex::new(&self.history);
        let all =
            self.history.transactions().flat_map(|transaction| self.history.event_range(transaction)).map(EventId);
        let whole = |event: &EventId| {
            !gone.contains(event) && writes.close([*event]).iter().all(|needed| !gone.contains(needed))
        };
        let kept: Vec<EventId> = all.filter(whole).collect();
        if kept.is_empty() {
            return false;
        }
        let (part, _) = self.history.restrict(&kept);
        let Some(anomaly) = fails(&part, self.level, self.budget) else { return false };
        (self.history, self.anomaly) = (part, anomaly);
        true
    }
}
