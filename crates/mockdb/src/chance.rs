//! Seeded chance, in streams that do not disturb each other.
//!
//! Choices of versions, forced refusals, SQL's `random()` and the order of turns each have a stream of their own: a program that asks for one random
//! number more still meets the same choices.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// What a stream of chance is for.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Which versions are read.
    Versions = 1,
    /// What is refused without need.
    Refusals = 2,
    /// SQL's `random()`.
    Numbers = 3,
    /// How long somebody waits before it goes on.
    Delays = 5,
    /// Whose turn it is.
    Turns = 7,
    /// Whose request is held back.
    Adversary = 9,
}

/// A seeded stream.
#[derive(Clone, Debug)]
pub struct Chance(ChaCha8Rng);

impl Chance {
    /// The stream of a seed.
    pub fn new(seed: u64, stream: Stream) -> Chance {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream as u64);
        Chance(generator)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, each equally likely; 0 when there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound < 2 {
            return 0;
        }
        // Numbers at the end of the range would favour small remainders: throw again.
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let number = self.number();
            if number < fair {
                return (number % bound) as usize;
            }
        }
    }

    /// Whether something happens that happens with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        const DIGITS: u32 = 53;
        probability > 0.0 && ((self.number() >> (64 - DIGITS)) as f64) < probability * (1u64 << DIGITS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_streams_differ() {
        let numbers = |seed, stream| {
            let mut chance = Chance::new(seed, stream);
            [chance.number(), chance.number()]
        };
        assert_eq!(numbers(7, Stream::Versions), numbers(7, Stream::Versions));
        assert_ne!(numbers(7, Stream::Versions), numbers(7, Stream::Numbers));
        assert_ne!(numbers(7, Stream::Versions), numbers(8, Stream::Versions));
    }

    #[test]
    fn what_is_certain_happens_and_what_is_impossible_does_not() {
        let mut chance = Chance::new(1, Stream::Refusals);
        assert!((0..100).all(|_| chance.happens(1.0)) && !(0..100).any(|_| chance.happens(0.0)));
        let often = (0..1000).filter(|_| chance.happens(0.5)).count();
        assert!((400..600).contains(&often) && (0..100).all(|_| chance.below(3) < 3) && chance.below(0) == 0);
    }
}
