//! A seeded source of chance: splitmix64, nine lines that give the same numbers on every machine.

/// The source.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// One that depends on the seed only.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(0x1234_5678))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number less than `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A number from 1 to `limit`.
    pub fn up_to(&mut self, limit: usize) -> usize {
        1 + self.below(limit)
    }

    /// A number from 1 to `limit`, rather a large one.
    pub fn mostly(&mut self, limit: usize) -> usize {
        self.up_to(limit).max(self.up_to(limit)).max(self.up_to(limit))
    }

    /// True this many times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// A number between two, both inside.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    /// The numbers less than `count`, in some order.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = self.below(last + 1);
            order.swap(last, other);
        }
        order
    }
}
