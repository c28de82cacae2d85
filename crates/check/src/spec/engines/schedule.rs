//! The definition on one schedule: all moments in a row.
//!
//! With every moment at its place nothing is left to search for. Whoever had a lock first released it first, so the lock orders are those of the
//! releases, and every edge is a comparison of two places.
//!
//! ```text
//!   steps   t1 t1 t2 t1 t2 …        the third moment of t1 is where t1 stands for the third time
//! ```

use super::edges::Ordered;
use super::lock_order::{self, Holder};
use super::locks::Mode;
use super::order::MomentPair;
use super::serial;
use super::story::Story;
use skew_history::TransactionId;

/// Whether a story went as these steps say: each a moment of its transaction, in its own order.
pub(super) fn went(story: &Story, steps: &[TransactionId]) -> bool {
    let Some(places) = places(story, steps) else { return false };
    let is_kept = |&(one, other): &MomentPair| places[one] < places[other];
    let mut versions = Vec::new();
    for key in story.keys() {
        let holders = lock_order::holders(story, key);
        let mut order: Vec<usize> = (0..holders.len()).collect();
        order.sort_by_key(|&one| places[stands_at(&holders[one])]);
        let locks = lock_order::edges(&holders, &order);
        let ordered = Ordered::new(story, key, &holders, &order);
        let is_possible = |ways: Vec<Vec<MomentPair>>| ways.iter().any(|edges| edges.iter().all(is_kept));
        let choices = ordered.choices().filter(|_| ordered.agrees_with_lists());
        if !locks.iter().all(is_kept) || !choices.is_some_and(|choices| choices.into_iter().all(is_possible)) {
            return false;
        }
        versions.push(ordered.versions);
    }
    story.edges.iter().all(is_kept) && serial::is_serializable(story, &versions)
}

/// Where a holder stands in the lock order: at its release, unless it only guards a gap, which not everybody who changes the key has to mind.
fn stands_at(holder: &Holder) -> usize {
    let guards_gap = holder.locks.iter().all(|lock| lock.mode == Mode::Gap);
    if guards_gap { holder.locks[0].moment } else { holder.release }
}

/// The place of each moment; nothing when the steps are not those of the transactions that count.
fn places(story: &Story, steps: &[TransactionId]) -> Option<Vec<usize>> {
    let mut next: Vec<Option<(usize, usize)>> = vec![None; story.history.transaction_count()];
    for teller in &story.transactions {
        next[teller.id.index()] = Some((teller.begin, teller.end));
    }
    let moments = story.transactions.last().map_or(0, |last| last.end + 1);
    let mut places = vec![usize::MAX; moments];
    for (place, step) in steps.iter().enumerate() {
        let (moment, end) = (*next.get_mut(step.index())?)?;
        places[moment] = place;
        next[step.index()] = (moment < end).then_some((moment + 1, end));
    }
    (!places.contains(&usize::MAX)).then_some(places)
}
