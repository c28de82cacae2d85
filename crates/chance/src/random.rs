//! Chance that is the same on every machine.
//!
//! ChaCha with eight rounds is a published stream; what is made of its words here is integer arithmetic and one exact division,
//! so that no library's idea of "a random number below n" can change the histories of an old seed.
//!
//! ```
//! use skew_chance::Random;
//! let draw = || Random::of_operation(7, 0, 3).below(1000);
//! assert_eq!(draw(), draw());
//! ```

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A seeded stream of choices.
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random::of_operation(seed, 0, 0)
    }

    /// The stream of one operation of one session: what it draws does not depend on what others drew.
    pub fn of_operation(seed: u64, session: usize, number: u64) -> Random {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(session as u64).to_le_bytes());
        key[16..24].copy_from_slice(&number.to_le_bytes());
        Random(ChaCha8Rng::from_seed(key))
    }

    /// A number from 0 to before `limit`; 0 when the limit is 0.
    ///
    /// Lemire's multiplication without the rejection: the bias is below `limit` / 2⁶⁴, and every call takes one word.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from `low` to `high`, both inside.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as u64 + 1) as i64
    }

    /// An index into something of this length.
    #[inline]
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from 0 to before 1, with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True this often. Certain answers take no word from the stream.
    #[inline]
    pub fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && (share >= 1.0 || self.unit() < share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_numbers_that_it_always_gave() {
        let mut random = Random::new(1);
        let numbers: Vec<u64> = (0..6).map(|_| random.below(1000)).collect();
        assert_eq!(numbers, PINNED);
    }

    const PINNED: [u64; 6] = [381, 294, 798, 916, 855, 139];

    #[test]
    fn numbers_stay_below_their_limit_and_shares_are_kept() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
        let hits = (0..10_000).filter(|_| random.chance(0.25)).count();
        assert!((2300..2700).contains(&hits), "{hits}");
    }

    #[test]
    fn every_operation_has_a_stream_of_its_own() {
        let first = |seed, session, number| Random::of_operation(seed, session, number).below(u64::MAX);
        let all = [first(1, 0, 0), first(0, 1, 0), first(0, 0, 1), first(0, 0, 0)];
        let different: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(different.len(), 4);
        let mut random = Random::new(3);
        assert!((0..1000).all(|_| (2..=4).contains(&random.between(2, 4))));
        assert_eq!(random.between(5, 5), 5);
    }
}
