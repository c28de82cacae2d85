//! What every commit order contains, as a relation that is transitive at every moment: an edge closes a cycle exactly when its opposite
//! is there.

use crate::set::{Number, Set};

/// What every commit order contains.
#[derive(Clone, Debug)]
pub(crate) struct ForcedOrder {
    /// Per transaction those before it; transitive.
    before: Vec<Set>,
}

impl ForcedOrder {
    /// Nothing; room for so many transactions.
    pub(crate) fn new(count: usize) -> ForcedOrder {
        ForcedOrder { before: vec![Set::EMPTY; count + 1] }
    }

    /// A transaction that nobody is behind yet comes after these, and after all that are before them.
    pub(crate) fn put_behind(&mut self, number: Number, past: Set) {
        self.before[number as usize] = past.iter().fold(past, |set, one| set | self.before[one as usize]);
    }

    /// Learns an edge; false if it closes a cycle.
    pub(crate) fn insert(&mut self, from: Number, to: Number) -> bool {
        if self.is_before(from, to) {
            return true;
        }
        if from == to || self.is_before(to, from) {
            return false;
        }
        let past = self.before[from as usize] | Set::only(from);
        for (number, before) in self.before.iter_mut().enumerate() {
            if number == to as usize || before.contains(to) {
                *before |= past;
            }
        }
        true
    }

    /// Whether every commit order has one before the other.
    fn is_before(&self, one: Number, other: Number) -> bool {
        self.before[other as usize].contains(one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_that_closes_a_cycle_is_refused() {
        let mut order = ForcedOrder::new(4);
        order.put_behind(2, Set::only(1));
        assert!(order.insert(2, 3) && order.insert(3, 4) && order.insert(1, 4));
        assert!(!order.insert(4, 1) && !order.insert(2, 2));
    }
}
