//! What a step has to do with others, and which steps may be exchanged.
//!
//! ```text
//!   lock x  ·  lock y         may be exchanged: whatever order they come in, the same is seen
//!   lock x  ·  lock x         may not
//!   look at x  ·  commit of who changed x        may not
//!   look at x  ·  commit of who changed y        may
//! ```
//!
//! Too much in here costs time, because orders are tried that make no difference; too little would lose runs.

use super::gap::Gap;
use crate::keys::{KeyNumber, Keys};
use skew_sql::KeyRange;
use std::sync::Arc;

/// What a step reads and touches.
#[derive(Clone, Default, Debug)]
pub(crate) struct StepAccess {
    /// Keys whose committed versions it has looked at.
    pub(crate) reads: Vec<KeyNumber>,
    /// Ranges that it has looked at.
    pub(crate) ranges: Vec<Arc<KeyRange>>,
    /// What it has seen, or will see later with what it took now, may be anything.
    pub(crate) reads_all: bool,
    /// Some of it was looked at as it stands, whatever a snapshot has.
    pub(crate) looks_at_present: bool,
    /// Keys that it locks, waits for, or lets go.
    pub(crate) touches: Vec<KeyNumber>,
    /// Gaps that it takes or lets go.
    pub(crate) touches_gaps: Vec<Gap>,
    /// Keys that it changes for others.
    pub(crate) changes: Vec<KeyNumber>,
    /// It is refused because others wait.
    pub(crate) is_refused: bool,
}

impl StepAccess {
    /// Whether the step does anything that others could see or wait for.
    pub(crate) fn leaves_something(&self) -> bool {
        let changes = !self.changes.is_empty() || !self.touches.is_empty() || !self.touches_gaps.is_empty();
        changes || self.is_refused
    }

    /// What it has seen, and will see later with what it took now, is in this; and nothing else is.
    pub(crate) fn sees_only(&mut self, seen: StepAccess) {
        self.reads_all = false;
        self.reads.extend(seen.reads);
        self.reads.extend(seen.touches);
        self.ranges.extend(seen.ranges);
    }

    /// Whether two steps of different sessions may come in either order.
    pub(crate) fn may_be_exchanged(&self, other: &StepAccess, keys: &Keys) -> bool {
        let both_refused = self.is_refused && other.is_refused;
        let touch = self.touches.iter().any(|key| other.touches.contains(key))
            || self.touches_in(other, keys)
            || other.touches_in(self, keys);
        let see = self.sees(other, keys) || other.sees(self, keys);
        !(both_refused || touch || see)
    }

    /// Whether it touches a key in a gap, or a range, that the other one has to do with.
    pub(crate) fn touches_in(&self, other: &StepAccess, keys: &Keys) -> bool {
        self.touches.iter().any(|&key| other.touches_gaps.iter().any(|gap| gap.meets(keys.key(key))))
    }

    /// Whether it looks at what the other one changes.
    fn sees(&self, other: &StepAccess, keys: &Keys) -> bool {
        let seen = |&key: &KeyNumber| {
            self.reads_all || self.reads.contains(&key) || self.ranges.iter().any(|range| range.contains(keys.key(key)))
        };
        other.changes.iter().any(seen)
    }
}
