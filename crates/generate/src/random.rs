//! Chance that is the same on every machine.
//!
//! ChaCha with eight rounds is a published stream; what is made of its words here is integer arithmetic and one exact division,
//! so that no library's idea of "a random number below n" can change the histories of an old seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A seeded stream of choices.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Random(ChaCha8Rng::from_seed(key))
    }

    /// A number from 0 to before `limit`; 0 when the limit is 0.
    ///
    /// Lemire's multiplication without the rejection: the bias is below `limit` / 2⁶⁴, and every call takes one word.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// An index into something of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from 0 to before 1, with 53 bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True this often. Certain answers take no word from the stream.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
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
}
