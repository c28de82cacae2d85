//! Who goes first: priorities by chance, as probabilistic concurrency testing (PCT) or a plain random walk has them.
//!
//! ```text
//!   PCT, d = 2      a 71, b 40      a a a ─ the change point ─ a has 1 ── b b b b a a        one change, and always the first of those there are
//!   random          a 71, b 40      a ── drawn anew ── b ── drawn anew ── b ── …             everybody as likely, step after step
//! ```
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatte (ASPLOS 2010): with n threads that take k steps together, random distinct priorities and d − 1
//! steps at which whoever is about to move falls below all others, a bug that needs d orderings is found with probability 1/(n·k^(d−1)) at least. The
//! change is made *before* the step, so that somebody else takes it.
//!
//! A random walk finds shallow bugs sooner; it needs more luck for deep ones. Nothing here knows what time it is.

use crate::chance::{Chance, Stream};
use std::collections::{BTreeMap, BTreeSet};

/// What decides who goes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// One of the others, by the seed.
    Mixed,
    /// Priorities that change at a few steps.
    Pct,
    /// Each step is anybody's.
    Random,
}

/// What the run before has shown, as far as there was one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Learned {
    /// How many steps were taken while two or more could move.
    pub steps: Option<u32>,
    /// How long clients thought between an answer and the next request: the median, in microseconds.
    pub thinking: Option<u64>,
    /// Whether two transactions could overlap.
    pub races: bool,
}

/// Where nobody knows how many steps there are, it is one of these powers of two.
const UNKNOWN_STEPS: std::ops::RangeInclusive<u32> = 2..=6;
/// Where the depth is not given, it is one of these.
const DEPTHS: [u32; 3] = [2, 3, 4];
/// Priorities of the first drawing are above all that changes give.
const TOP: u64 = 1 << 32;

/// The priorities of a run.
#[derive(Debug)]
pub(crate) struct Priorities {
    chance: Chance,
    strategy: Strategy,
    of: BTreeMap<i32, u64>,
    /// The steps at which the next one falls below all others, in order.
    changes: Vec<u32>,
    /// How many changes there were.
    changed: u64,
    /// Who is below all others, whatever chance says.
    sunk: BTreeSet<i32>,
    steps: u32,
}

impl Priorities {
    pub(crate) fn new(seed: u64, strategy: Strategy, depth: Option<u32>, learned: Learned) -> Priorities {
        let mut chance = Chance::new(seed, Stream::Adversary);
        // Drawn in any case, so that what follows is the same for both.
        let is_pct = chance.happens(0.5);
        let strategy = match strategy {
            Strategy::Mixed if is_pct => Strategy::Pct,
            Strategy::Mixed => Strategy::Random,
            strategy => strategy,
        };
        let depth = depth.unwrap_or_else(|| DEPTHS[chance.below(DEPTHS.len())]);
        let span = (UNKNOWN_STEPS.end() - UNKNOWN_STEPS.start() + 1) as usize;
        let unknown = 1 << (UNKNOWN_STEPS.start() + chance.below(span) as u32);
        let steps = learned.steps.filter(|steps| *steps > 0).unwrap_or(unknown);
        let mut changes: Vec<u32> = (1..depth).map(|_| 1 + chance.below(steps as usize) as u32).collect();
        changes.sort_unstable();
        let (of, sunk) = (BTreeMap::new(), BTreeSet::new());
        Priorities { chance, strategy, of, changes, changed: 0, sunk, steps: 0 }
    }

    /// How they are drawn, which is not mixed any more.
    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// How many steps there were while two or more could move.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// Whether somebody who is alone waits for who may be about to come.
    pub(crate) fn expects(&mut self) -> bool {
        self.chance.happens(0.5)
    }

    /// The priority of a client; who is new draws one.
    pub(crate) fn of(&mut self, client: i32) -> u64 {
        if self.sunk.contains(&client) {
            return 0;
        }
        let chance = &mut self.chance;
        *self.of.entry(client).or_insert_with(|| TOP + (chance.number() >> 32))
    }

    /// A client is about to move while others could, too. Whether it falls behind instead, and somebody else may go.
    pub(crate) fn falls(&mut self, client: i32) -> bool {
        if self.strategy != Strategy::Pct || self.changes.first().is_none_or(|change| *change > self.steps + 1) {
            return false;
        }
        self.changes.remove(0);
        self.changed += 1;
        // The later the change, the lower: below all whom a change has met before, above whoever only asks again and again.
        let lowest = u64::from(u32::MAX).saturating_sub(self.changed);
        self.of.insert(client, lowest);
        true
    }

    /// It has moved while others could, too.
    pub(crate) fn step(&mut self) {
        self.steps += 1;
        if self.strategy == Strategy::Random {
            let Priorities { of, chance, .. } = self;
            of.values_mut().for_each(|priority| *priority = TOP + (chance.number() >> 32));
        }
    }

    /// Somebody who only asks the same again and again goes behind all others.
    pub(crate) fn sink(&mut self, client: i32) {
        self.sunk.insert(client);
    }

    /// It asks for something else again.
    pub(crate) fn rise(&mut self, client: i32) {
        self.sunk.remove(&client);
    }

    /// A client is gone.
    pub(crate) fn leave(&mut self, client: i32) {
        self.of.remove(&client);
        self.sunk.remove(&client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pct(seed: u64, depth: u32, steps: u32) -> Priorities {
        Priorities::new(seed, Strategy::Pct, Some(depth), Learned { steps: Some(steps), ..Learned::default() })
    }

    #[test]
    fn a_seed_gives_the_same_priorities_and_half_of_the_seeds_are_pct() {
        let draw = |seed| {
            let mut priorities = pct(seed, 3, 10);
            ([priorities.of(1), priorities.of(2)], priorities.changes)
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let is_pct =
            |seed: &u64| Priorities::new(*seed, Strategy::Mixed, None, Learned::default()).strategy() == Strategy::Pct;
        let count = (0..200).filter(is_pct).count();
        assert!((70..130).contains(&count), "{count}");
    }

    #[test]
    fn whoever_meets_a_change_point_falls_below_all_others() {
        for seed in 0..50 {
            let mut priorities = pct(seed, 2, 1);
            let (first, second) = if priorities.of(1) > priorities.of(2) { (1, 2) } else { (2, 1) };
            assert!(priorities.falls(first) && !priorities.falls(second));
            assert!(priorities.of(first) < priorities.of(second) && priorities.of(first) > 0);
        }
    }

    #[test]
    fn without_change_points_priorities_stay() {
        let mut priorities = pct(3, 1, 10);
        let before = [priorities.of(1), priorities.of(2)];
        for _ in 0..10 {
            assert!(!priorities.falls(1));
            priorities.step();
        }
        assert_eq!(before, [priorities.of(1), priorities.of(2)]);
    }

    #[test]
    fn a_random_walk_is_anybodys_step_after_step() {
        let mut priorities = Priorities::new(5, Strategy::Random, None, Learned::default());
        let mut first = 0;
        for _ in 0..400 {
            first += u32::from(priorities.of(1) > priorities.of(2));
            assert!(!priorities.falls(1));
            priorities.step();
        }
        assert!((140..260).contains(&first), "{first}");
    }

    #[test]
    fn who_only_asks_again_and_again_is_behind_all() {
        let mut priorities = pct(1, 2, 1);
        assert!(priorities.falls(1));
        priorities.sink(2);
        assert!(priorities.of(2) < priorities.of(1));
        priorities.rise(2);
        assert!(priorities.of(2) > priorities.of(1));
    }
}
