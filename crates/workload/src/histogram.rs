//! How long things took, in little room: buckets that grow with what is in them.
//!
//! ```text
//!   0 1 2 … 31 | 32 33 … 63 | 64 66 … 126 | 128 132 … 252 | …      32 buckets per power of two: wrong by at most 1/32
//! ```

/// A count per bucket.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    largest: u64,
}

/// Buckets per power of two, as a power of two.
const BITS: u32 = 5;

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.largest = self.largest.max(value);
    }

    /// Counts all that another one counted.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
        self.largest = self.largest.max(other.largest);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The largest value.
    pub fn max(&self) -> u64 {
        self.largest
    }

    /// The percentile: the value that this many out of a hundred are not above; 0 when there are none.
    pub fn percentile(&self, percent: f64) -> u64 {
        let wanted = (self.total as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return last_of(bucket).min(self.largest);
            }
        }
        self.largest
    }
}

fn bucket(value: u64) -> usize {
    let shift = (64 - value.leading_zeros()).saturating_sub(BITS + 1);
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

/// The largest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket >> BITS).saturating_sub(1);
    let first = bucket - (shift << BITS);
    ((first + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_wrong_by_at_most_a_thirty_second() {
        let mut histogram = Histogram::default();
        (1..=100_000).for_each(|value| histogram.add(value));
        for (percent, exact) in [(50.0, 50_000), (95.0, 95_000), (99.0, 99_000), (0.01, 10)] {
            let found = histogram.percentile(percent);
            assert!((exact..=exact + exact / 31).contains(&found), "{percent}: {found}");
        }
        assert_eq!((histogram.percentile(100.0), histogram.max(), histogram.count()), (100_000, 100_000, 100_000));
        assert_eq!(Histogram::default().percentile(50.0), 0);
    }

    #[test]
    fn every_value_is_in_the_bucket_that_ends_at_or_after_it() {
        for value in (0..5000).chain((0..60).map(|power| 3u64 << power)) {
            let bucket = bucket(value);
            assert!(last_of(bucket) >= value && (bucket == 0 || last_of(bucket - 1) < value), "{value}");
        }
    }

    #[test]
    fn two_histograms_are_one() {
        let (mut one, mut other, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in [3, 70, 9000] {
            one.add(value);
            other.add(value * 50);
            both.add(value);
            both.add(value * 50);
        }
        one.merge(&other);
        assert_eq!(one, both);
    }
}
