//! Sets of pairs of transactions, and the total orders that contain one.
//!
//! Transactions are small numbers here, so a relation is a row of bits per transaction: those that come before it.
//!
//! ```text
//!   so = {(0,1), (0,2), (1,2)}        row 0: {}      row 1: {0}      row 2: {0, 1}
//! ```
//!
//! What the pairs mean is for others.

/// A set of pairs of transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Relation {
    /// Per transaction, those that are related to it.
    into: Vec<u64>,
}

impl Relation {
    /// No pair.
    pub(super) fn empty(size: usize) -> Relation {
        assert!(size <= 64, "brute force is for few transactions");
        Relation { into: vec![0; size] }
    }

    /// The pairs for which `holds`.
    pub(super) fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let mut relation = Relation::empty(size);
        for to in 0..size {
            (0..size).filter(|&from| holds(from, to)).for_each(|from| relation.insert(from, to));
        }
        relation
    }

    /// How many transactions there are.
    pub(super) fn size(&self) -> usize {
        self.into.len()
    }

    /// Adds a pair.
    pub(super) fn insert(&mut self, from: usize, to: usize) {
        self.into[to] |= 1 << from;
    }

    /// Whether the pair is in the set.
    pub(super) fn has(&self, from: usize, to: usize) -> bool {
        self.into[to] & 1 << from != 0
    }

    /// `self ∪ other`.
    pub(super) fn union(&self, other: &Relation) -> Relation {
        Relation { into: self.into.iter().zip(&other.into).map(|(one, two)| one | two).collect() }
    }

    /// `self ; other`: first a step of this, then a step of the other.
    pub(super) fn then(&self, other: &Relation) -> Relation {
        let step_back = |&middles: &u64| {
            (0..self.size())
                .filter(|middle| middles & 1 << middle != 0)
                .fold(0, |from, middle| from | self.into[middle])
        };
        Relation { into: other.into.iter().map(step_back).collect() }
    }

    /// `self?`: this step, or none.
    pub(super) fn or_none(&self) -> Relation {
        Relation { into: self.into.iter().enumerate().map(|(to, from)| from | 1 << to).collect() }
    }

    /// `self+`: one step or more.
    pub(super) fn one_or_more(&self) -> Relation {
        let mut closure = self.clone();
        loop {
            let longer = closure.union(&closure.then(&closure));
            if longer == closure {
                return closure;
            }
            closure = longer;
        }
    }

    /// Whether nothing is related to itself.
    pub(super) fn is_irreflexive(&self) -> bool {
        (0..self.size()).all(|one| !self.has(one, one))
    }

    /// Whether no number of steps leads back.
    pub(super) fn is_acyclic(&self) -> bool {
        self.one_or_more().is_irreflexive()
    }
}

/// Whether `test` accepts some total order that contains `before`. The order is given from first to last; when `before` has a
/// cycle there is none.
pub(super) fn some_total_order(before: &Relation, test: &mut dyn FnMut(&[usize]) -> bool) -> bool {
    extend(before, &mut Vec::with_capacity(before.size()), 0, test)
}

/// Tries whoever may come next: one that is not placed yet, although all before it are.
fn extend(before: &Relation, order: &mut Vec<usize>, placed: u64, test: &mut dyn FnMut(&[usize]) -> bool) -> bool {
    if order.len() == before.size() {
        return test(order);
    }
    for next in (0..before.size()).filter(|next| placed & 1 << next == 0) {
        if before.into[next] & !placed == 0 {
            order.push(next);
            if extend(before, order, placed | 1 << next, test) {
                return true;
            }
            order.pop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(size: usize, pairs: &[(usize, usize)]) -> Relation {
        Relation::of(size, |from, to| pairs.contains(&(from, to)))
    }

    #[test]
    fn steps_compose_and_close() {
        let chain = relation(4, &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(chain.then(&chain), relation(4, &[(0, 2), (1, 3)]));
        assert_eq!(chain.one_or_more(), Relation::of(4, |from, to| from < to));
        assert_eq!(chain.or_none().then(&chain), relation(4, &[(0, 1), (1, 2), (2, 3), (0, 2), (1, 3)]));
        assert!(chain.is_acyclic() && !chain.union(&relation(4, &[(3, 1)])).is_acyclic());
    }

    #[test]
    fn all_total_orders_are_tried() {
        let count = |before: &Relation| {
            let mut orders = 0;
            assert!(!some_total_order(before, &mut |_| {
                orders += 1;
                false
            }));
            orders
        };
        assert_eq!(count(&Relation::empty(4)), 24);
        assert_eq!(count(&relation(4, &[(0, 1), (2, 3)])), 6);
        assert_eq!(count(&relation(3, &[(0, 1), (1, 0)])), 0);
        assert_eq!(count(&relation(3, &[(1, 1)])), 0);
    }
}
