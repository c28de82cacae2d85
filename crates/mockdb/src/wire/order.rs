//! The order in which transactions are to come, where one is prescribed.
//!
//! ```text
//!   prescribed     bank[0]  alice[0]  bob[0]  audit[0]
//!   over           bank[0]
//!   waiting        bob                        alice is waited for; after some patience she is late, and bob goes on
//!   waiting        bob, alice                 alice
//!   waiting        audit                      alice and bob are late: they are not there, or have something else to do
//! ```
//!
//! A turn is over when its transaction is: what reads and writes nothing takes no turn. Who is late is waited for again when it comes
//! back, but only so often; an application that does one thing after the other in an order of its own is soon left alone.
//!
//! Some turns also wait for company: sessions that are to miss what the transaction writes, and have to be connected before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So often a session is waited for in vain.
const MOST_VAIN: u32 = 2;

/// A turn of a prescribed order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrescribedTurn {
    /// The name of the session.
    pub session: String,
    /// How many transactions of it come before, without those that the database refused.
    pub number: u32,
    /// The sessions that have to be connected before it begins.
    pub company: BTreeSet<String>,
}

/// What of the order is left.
#[derive(Debug)]
pub(crate) struct PrescribedOrder {
    turns: VecDeque<PrescribedTurn>,
    /// Who is not waited for, and how often each was in vain.
    late: BTreeSet<String>,
    vain: BTreeMap<String, u32>,
    passed_over: Vec<(String, u32)>,
}

impl PrescribedOrder {
    pub(crate) fn new(turns: impl IntoIterator<Item = PrescribedTurn>) -> PrescribedOrder {
        let turns = turns.into_iter().collect();
        PrescribedOrder { turns, late: BTreeSet::new(), vain: BTreeMap::new(), passed_over: Vec::new() }
    }

    /// The turns that were waited for in vain.
    pub(crate) fn passed_over(&self) -> &[(String, u32)] {
        &self.passed_over
    }

    /// A session asks for something: it is waited for again, unless it was in vain too often.
    pub(crate) fn come(&mut self, session: &str) {
        if self.vain.get(session).is_none_or(|often| *often < MOST_VAIN) {
            self.late.remove(session);
        }
    }

    /// Drops turns that are over, where this many transactions of a session are.
    pub(crate) fn advance(&mut self, settled: impl Fn(&str) -> u32) {
        self.turns.retain(|turn| turn.number >= settled(&turn.session));
    }

    /// Which of those who wait has the next turn; nobody while somebody else is waited for.
    pub(crate) fn next<'a>(
        &self,
        mut waiting: impl Iterator<Item = &'a str> + Clone,
        is_here: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        for turn in &self.turns {
            if let Some(place) = waiting.clone().position(|name| name == turn.session) {
                return self.missing(turn, is_here).next().is_none().then_some(place);
            }
            if !self.late.contains(&turn.session) {
                return None;
            }
        }
        // Nobody who has a turn is here or expected: first come, first served.
        waiting.next().map(|_| 0)
    }

    fn missing<'a>(
        &'a self,
        turn: &'a PrescribedTurn,
        is_here: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'a String> {
        turn.company.iter().filter(move |name| !self.late.contains(*name) && !is_here(name))
    }

    /// Somebody was waited for long enough.
    pub(crate) fn give_up<'a>(
        &mut self,
        waiting: impl Iterator<Item = &'a str> + Clone,
        is_here: impl Fn(&str) -> bool,
    ) {
        let waits = |name: &str| waiting.clone().any(|other| other == name);
        let Some(turn) = self.turns.iter().find(|turn| waits(&turn.session) || !self.late.contains(&turn.session))
        else {
            return;
        };
        let awaited: Vec<String> = match waits(&turn.session) {
            true => self.missing(turn, is_here).cloned().collect(),
            false => vec![turn.session.clone()],
        };
        if !waits(&turn.session) {
            self.passed_over.push((turn.session.clone(), turn.number));
        }
        for name in awaited {
            *self.vain.entry(name.clone()).or_default() += 1;
            self.late.insert(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(words: &str) -> PrescribedOrder {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        PrescribedOrder::new(words.split(' ').map(|session| {
            let count = counts.entry(session).or_default();
            *count += 1;
            PrescribedTurn { session: session.to_owned(), number: *count - 1, company: BTreeSet::new() }
        }))
    }

    fn next(order: &PrescribedOrder, waiting: &[&str]) -> Option<usize> {
        order.next(waiting.iter().copied(), |_| true)
    }

    #[test]
    fn who_is_next_is_waited_for_and_then_not() {
        let mut order = order("a b a");
        assert_eq!(next(&order, &["b"]), None);
        assert_eq!(next(&order, &["b", "a"]), Some(1));
        order.give_up(["b"].into_iter(), |_| true);
        assert_eq!(next(&order, &["b"]), Some(0));
        assert_eq!(order.passed_over(), [("a".to_owned(), 0)]);
        order.come("a");
        assert_eq!(next(&order, &["b"]), None);
        order.advance(|name| u32::from(name == "a"));
        assert_eq!(next(&order, &["b", "a"]), Some(0));
    }

    #[test]
    fn who_is_always_late_is_waited_for_twice() {
        let mut order = order("a b");
        for _ in 0..2 {
            assert_eq!(next(&order, &["b"]), None);
            order.give_up(["b"].into_iter(), |_| true);
            order.come("a");
        }
        assert_eq!(next(&order, &["b"]), Some(0));
    }

    #[test]
    fn behind_the_last_turn_who_comes_first_goes_first() {
        let mut order = order("a");
        assert_eq!(next(&order, &["c", "b"]), None);
        order.advance(|_| 1);
        assert_eq!(next(&order, &["c", "b"]), Some(0));
        assert_eq!(next(&order, &[]), None);
    }

    #[test]
    fn company_is_waited_for() {
        let company = BTreeSet::from(["b".to_owned()]);
        let mut order = PrescribedOrder::new([PrescribedTurn { session: "a".to_owned(), number: 0, company }]);
        let waiting = || ["a"].into_iter();
        assert_eq!(order.next(waiting(), |_| false), None);
        assert_eq!(order.next(waiting(), |_| true), Some(0));
        order.give_up(waiting(), |_| false);
        assert_eq!(order.next(waiting(), |_| false), Some(0));
    }
}
