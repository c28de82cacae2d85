//! The orders in which transactions can have locked a key.
//!
//! Whoever keeps a lock to its end stands in the order once; a lock that is let go at once stands there for itself, so that others
//! may come between it and what its transaction does later:
//!
//! ```text
//!   t1 keeps exclusive     t2 looks (duplicate)     t3 keeps exclusive     t2 keeps exclusive
//!            C1 ─────────────────> look
//!            C1 ──────────────────────────────────────> lock
//!                                  look ──────────────> change
//!                                                        C3 ────────────────> lock
//! ```
//!
//! Of the edges between two only those are drawn whose locks conflict. The version order is the order of those that changed the key
//! and committed.

use super::locks::{self, Hold, Lock, Mode};
use super::order::{MomentOrder, MomentPair, StoryMoment};
use super::story::{Deed, From, Story, Touch};

/// Somebody who locks a key.
pub(super) struct Holder<'a> {
    pub(super) transaction: usize,
    pub(super) locks: Vec<Lock>,
    /// When others may have what was locked.
    pub(super) release: StoryMoment,
    /// The events by which it locks.
    pub(super) touches: Vec<&'a Touch>,
    /// Whether the lock is let go at once.
    pub(super) is_glance: bool,
}

impl Holder<'_> {
    /// Whether it changes the key for others.
    pub(super) fn changes(&self, story: &Story) -> bool {
        story.transactions[self.transaction].committed && self.locks.iter().any(|lock| lock.changes)
    }

    /// Its locks that it has to ask for: who has a lock that is strong enough does not.
    pub(super) fn new_locks(&self) -> impl Iterator<Item = &Lock> {
        let numbered = self.locks.iter().enumerate();
        numbered
            .filter(|(place, lock)| !self.locks[..*place].iter().any(|had| had.is_enough(lock.mode)))
            .map(|(_, lock)| lock)
    }

    /// The last thing that its transaction did before it asked for a lock. Who lets a lock go at once has got it at once.
    pub(super) fn asked_after(&self, lock: &Lock) -> StoryMoment {
        if self.is_glance && lock.mode != Mode::Look { lock.moment } else { lock.moment - 1 }
    }

    /// Whether one of its locks conflicts with another one.
    pub(super) fn conflicts(&self, other: &Lock) -> bool {
        self.locks.iter().any(|lock| lock.conflicts(other))
    }

    /// Whether all that it has locked is this version, the last one before it. Who holds on to a key only says nothing of that: others change the row
    /// meanwhile, before it locks the row, too.
    pub(super) fn locks_version(&self, last: Option<usize>) -> bool {
        self.locks.iter().zip(&self.touches).all(|(lock, touch)| match touch.deed {
            Deed::Read { from: From::Version(writer), .. } => lock.mode == Mode::KeyShare || writer == last,
            _ => true,
        })
    }

    /// Its first lock that conflicts with one of another.
    pub(super) fn first_conflict(&self, other: &Holder) -> Option<&Lock> {
        self.locks.iter().find(|lock| other.locks.iter().any(|held| lock.conflicts(held)))
    }
}

/// All who lock a key.
pub(super) fn holders<'a>(story: &'a Story, key: usize) -> Vec<Holder<'a>> {
    let mut holders: Vec<Holder> = Vec::new();
    // Transaction by transaction: who keeps its locks, if that one is known already.
    let mut keeps: Option<usize> = None;
    for touch in story.touches_of(key) {
        let Touch { transaction, .. } = *touch;
        keeps = keeps.filter(|&known: &usize| holders[known].transaction == transaction);
        let teller = &story.transactions[transaction];
        let is_own = matches!(touch.deed, Deed::Read { from: From::Own, .. });
        if is_own && !keeps_lock_of_own_row(touch) {
            continue;
        }
        let changes = matches!(touch.deed, Deed::Change { .. });
        match locks::hold(touch, teller.level) {
            Hold::Nothing => {}
            Hold::ForAMoment(_) if is_own => {}
            Hold::ForAMoment(mode) => {
                let lock = Lock { mode, moment: touch.moment, changes };
                let (locks, release, touches) = (vec![lock], touch.moment, vec![touch]);
                holders.push(Holder { transaction, locks, release, touches, is_glance: true });
            }
            Hold::ToTheEnd(mode) => {
                let lock = Lock { mode, moment: touch.moment, changes };
                match keeps {
                    Some(known) => {
                        holders[known].locks.push(lock);
                        holders[known].touches.push(touch);
                    }
                    None => {
                        keeps = Some(holders.len());
                        let (locks, release, touches) = (vec![lock], teller.end, vec![touch]);
                        holders.push(Holder { transaction, locks, release, touches, is_glance: false });
                    }
                }
            }
        }
    }
    holders
}

/// A lock of an own row is not seen by others, unless it is stronger than the change that made it one's own: it is kept then, too.
fn keeps_lock_of_own_row(touch: &Touch) -> bool {
    !matches!(touch.deed, Deed::Read { absent: true, .. } | Deed::Read { passed: true, .. })
        && !matches!(touch.kind, skew_history::StatementKind::Select | skew_history::StatementKind::Insert)
}

/// Whether `test` accepts some order of the holders; it gets their numbers, first to last, and the moments with the edges of the locks.
pub(super) fn some_lock_order(
    holders: &[Holder],
    order: &MomentOrder,
    test: &mut dyn FnMut(&[usize], &MomentOrder) -> bool,
) -> bool {
    extend(holders, &mut Vec::with_capacity(holders.len()), order, test)
}

fn extend(
    holders: &[Holder],
    placed: &mut Vec<usize>,
    order: &MomentOrder,
    test: &mut dyn FnMut(&[usize], &MomentOrder) -> bool,
) -> bool {
    if placed.len() == holders.len() {
        return test(placed, order);
    }
    for next in (0..holders.len()).filter(|next| !placed.contains(next)).collect::<Vec<_>>() {
        let edges: Vec<MomentPair> = placed.iter().filter_map(|&one| edge(&holders[one], &holders[next])).collect();
        let Some(order) = order.clone().with(&edges) else { continue };
        placed.push(next);
        if extend(holders, placed, &order, test) {
            return true;
        }
        placed.pop();
    }
    false
}

/// What it means that one is before another.
fn edge(one: &Holder, other: &Holder) -> Option<MomentPair> {
    if one.transaction == other.transaction {
        return None;
    }
    other.first_conflict(one).map(|lock| (one.release, lock.moment))
}
