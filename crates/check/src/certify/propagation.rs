//! Unit propagation: the one rule that following a proof by clauses takes.
//!
//! A clause whose literals are all false but one makes that one true. [`Propagation`] keeps what is true for certain, and
//! [`Propagation::refutes`] asks whether assuming some literals false leads to a contradiction.

use crate::anomaly::Literal;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(super) struct Propagation {
    clauses: Vec<Vec<Literal>>,
    /// The clauses that watch a literal: they are looked at when it becomes false.
    watching: FxHashMap<Literal, Vec<usize>>,
    truths: FxHashMap<Literal, ()>,
    trail: Vec<Literal>,
    contradiction: bool,
}

impl Propagation {
    pub(super) fn is_contradiction(&self) -> bool {
        self.contradiction
    }

    /// Adds a clause and draws all conclusions.
    pub(super) fn add(&mut self, mut clause: Vec<Literal>) {
        clause.sort_unstable();
        clause.dedup();
        // Two literals that are not false come first, if there are two.
        clause.sort_by_key(|&literal| self.is_false(literal));
        let open = clause.iter().filter(|&&literal| !self.is_false(literal)).count();
        let number = self.clauses.len();
        for &literal in clause.iter().take(2) {
            self.watching.entry(literal).or_default().push(number);
        }
        let first = clause.first().copied();
        self.clauses.push(clause);
        match (open, first) {
            (0, _) => self.contradiction = true,
            (1, Some(unit)) => {
                let from = self.trail.len();
                self.assert(unit);
                self.contradiction |= !self.conclude(from);
            }
            _ => {}
        }
    }

    /// Whether the clause follows: assuming all its literals false leads to a contradiction.
    pub(super) fn refutes(&mut self, clause: &[Literal]) -> bool {
        let start = self.trail.len();
        let mut consistent = true;
        for &literal in clause {
            if self.is_true(literal) {
                consistent = false;
            } else if !self.is_false(literal) {
                self.assert(literal.negated());
            }
        }
        consistent = consistent && self.conclude(start);
        for literal in self.trail.drain(start..) {
            self.truths.remove(&literal);
        }
        !consistent || self.contradiction
    }

    fn is_true(&self, literal: Literal) -> bool {
        self.truths.contains_key(&literal)
    }

    fn is_false(&self, literal: Literal) -> bool {
        self.is_true(literal.negated())
    }

    fn assert(&mut self, literal: Literal) {
        if self.truths.insert(literal, ()).is_none() {
            self.trail.push(literal);
        }
    }

    /// Draws the conclusions of the trail from a place on; false when two of them contradict each other.
    fn conclude(&mut self, mut place: usize) -> bool {
        while place < self.trail.len() {
            let falsified = self.trail[place].negated();
            place += 1;
            let watching = self.watching.remove(&falsified).unwrap_or_default();
            let mut kept = Vec::with_capacity(watching.len());
            let mut consistent = true;
            for number in watching {
                if !consistent || !self.watch_another(number, falsified) {
                    kept.push(number);
                    let first = self.clauses[number][0];
                    consistent &= !self.is_false(first);
                    if consistent {
                        self.assert(first);
                    }
                }
            }
            self.watching.entry(falsified).or_default().extend(kept);
            if !consistent {
                return false;
            }
        }
        true
    }

    /// Watches another literal that is not false instead; false when there is none, and the other watched one comes first then.
    fn watch_another(&mut self, number: usize, falsified: Literal) -> bool {
        if self.clauses[number][0] == falsified && self.clauses[number].len() > 1 {
            self.clauses[number].swap(0, 1);
        }
        if self.is_true(self.clauses[number][0]) {
            return false;
        }
        let place = (2..self.clauses[number].len()).find(|&place| !self.is_false(self.clauses[number][place]));
        let Some(place) = place else { return false };
        self.clauses[number].swap(1, place);
        let watched = self.clauses[number][1];
        self.watching.entry(watched).or_default().push(number);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::TransactionId;

    fn before(first: u32, second: u32) -> Literal {
        Literal::Before(TransactionId(first), TransactionId(second))
    }

    #[test]
    fn units_follow_and_contradict() {
        let mut propagation = Propagation::default();
        propagation.add(vec![before(1, 2), before(3, 4)]);
        propagation.add(vec![before(2, 1), before(3, 4)]);
        assert!(!propagation.is_contradiction());
        assert!(propagation.refutes(&[before(3, 4)]) && !propagation.refutes(&[before(1, 2)]));
        propagation.add(vec![before(3, 4)]);
        propagation.add(vec![before(4, 3), before(5, 6)]);
        propagation.add(vec![before(6, 5)]);
        assert!(propagation.is_contradiction());
    }
}
