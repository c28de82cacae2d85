//! What a step of a run touched, as far as others could notice.

use std::collections::BTreeSet;

/// Things that a step looked at, and things that it changed, each by a number that is the same in all runs.
///
/// Two steps of which neither changes what the other one touches come to the same in either order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Footprint {
    looked_at: BTreeSet<u64>,
    changed: BTreeSet<u64>,
}

impl Footprint {
    /// It looked at a thing.
    pub fn look_at(&mut self, thing: u64) {
        self.looked_at.insert(thing);
    }

    /// It changed a thing.
    pub fn change(&mut self, thing: u64) {
        self.changed.insert(thing);
    }

    /// Whether the order of two steps may matter.
    pub fn conflicts(&self, other: &Footprint) -> bool {
        let meets = |one: &BTreeSet<u64>, two: &BTreeSet<u64>| one.intersection(two).next().is_some();
        meets(&self.changed, &other.changed)
            || meets(&self.changed, &other.looked_at)
            || meets(&self.looked_at, &other.changed)
    }
}
