//! Which key comes next.
//!
//! ```text
//!   uniform    every key alike
//!   zipfian    key k is chosen in proportion to 1 / (k+1)^theta: few keys are hot, most are cold
//!   hotspot    the first fifth of the keys gets four fifths of the accesses
//! ```
//!
//! Zipfian numbers come from the closed form of Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD
//! 1994, figure 10), with powers from a library whose last bit does not depend on the machine.

use crate::random::Random;
use std::fmt;
use std::str::FromStr;

/// How often each key is used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// In proportion to 1 / rank^theta, with theta between 0 and 1.
    Zipfian {
        /// How steep.
        theta: f64,
    },
    /// Four fifths of the accesses go to a fifth of the keys.
    Hotspot,
}

/// A distribution's name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a distribution; use uniform, zipfian, zipfian:THETA (0 < THETA < 1) or hotspot")]
pub struct UnknownDistribution(pub String);

impl FromStr for Distribution {
    type Err = UnknownDistribution;

    fn from_str(text: &str) -> Result<Self, UnknownDistribution> {
        let unknown = || UnknownDistribution(text.to_owned());
        match text.split_once(':') {
            None if text == "uniform" => Ok(Distribution::Uniform),
            None if text == "hotspot" => Ok(Distribution::Hotspot),
            None if text == "zipfian" => Ok(Distribution::Zipfian { theta: 0.99 }),
            Some(("zipfian", theta)) => {
                let theta = theta.parse().ok().filter(|theta| 0.0 < *theta && *theta < 1.0);
                Ok(Distribution::Zipfian { theta: theta.ok_or_else(unknown)? })
            }
            _ => Err(unknown()),
        }
    }
}

/// As it is written on the command line.
impl fmt::Display for Distribution {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => out.write_str("uniform"),
            Distribution::Zipfian { theta } => write!(out, "zipfian:{theta}"),
            Distribution::Hotspot => out.write_str("hotspot"),
        }
    }
}

/// Draws keys from `0..keys`.
#[derive(Clone, Debug)]
pub struct KeyChooser {
    keys: u64,
    shape: DistributionShape,
}

#[derive(Clone, Debug)]
enum DistributionShape {
    Uniform,
    Hotspot,
    Zipfian(Zipfian),
}

#[derive(Clone, Debug)]
struct Zipfian {
    /// The sum of 1 / i^theta over all keys.
    zeta: f64,
    /// The same over the first two.
    zeta_of_two: f64,
    alpha: f64,
    eta: f64,
}

impl KeyChooser {
    /// A chooser over this many keys, at least one.
    pub fn new(distribution: Distribution, keys: u64) -> KeyChooser {
        let keys = keys.max(1);
        let shape = match distribution {
            Distribution::Uniform => DistributionShape::Uniform,
            Distribution::Hotspot => DistributionShape::Hotspot,
            Distribution::Zipfian { theta } => DistributionShape::Zipfian(Zipfian::new(keys, theta)),
        };
        KeyChooser { keys, shape }
    }

    /// The next key.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match &self.shape {
            DistributionShape::Uniform => random.below(self.keys),
            DistributionShape::Zipfian(zipfian) => zipfian.rank(random.unit(), self.keys),
            DistributionShape::Hotspot => {
                let hot = self.keys.div_ceil(5);
                if hot == self.keys || random.chance(0.8) {
                    random.below(hot)
                } else {
                    hot + random.below(self.keys - hot)
                }
            }
        }
    }

    /// How many keys there are.
    pub fn keys(&self) -> u64 {
        self.keys
    }
}

impl Zipfian {
    fn new(keys: u64, theta: f64) -> Zipfian {
        let zeta = (1..=keys).map(|rank| libm::pow(rank as f64, -theta)).sum();
        let zeta_of_two = 1.0 + libm::pow(0.5, theta);
        let eta = (1.0 - libm::pow(2.0 / keys as f64, 1.0 - theta)) / (1.0 - zeta_of_two / zeta);
        Zipfian { zeta, zeta_of_two, alpha: 1.0 / (1.0 - theta), eta }
    }

    fn rank(&self, unit: f64, keys: u64) -> u64 {
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.zeta_of_two {
            return 1;
        }
        let rank = keys as f64 * libm::pow(self.eta * unit - self.eta + 1.0, self.alpha);
        (rank as u64).min(keys - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(distribution: Distribution, keys: u64) -> Vec<u32> {
        let (chooser, mut random) = (KeyChooser::new(distribution, keys), Random::new(3));
        let mut counts = vec![0; keys as usize];
        for _ in 0..20_000 {
            counts[chooser.draw(&mut random) as usize] += 1;
        }
        counts
    }

    #[test]
    fn zipfian_keys_get_what_their_rank_deserves() {
        let counts = counts(Distribution::Zipfian { theta: 0.9 }, 100);
        let zeta: f64 = (1..=100).map(|rank| libm::pow(f64::from(rank), -0.9)).sum();
        let share = f64::from(counts[0]) / 20_000.0;
        assert!((share - 1.0 / zeta).abs() < 0.02, "{share}");
        assert!(counts[0] > counts[9] && counts[9] > counts[99] && counts[99] > 0);
    }

    #[test]
    fn a_fifth_of_the_keys_is_hot() {
        let counts = counts(Distribution::Hotspot, 10);
        let hot: u32 = counts[..2].iter().sum();
        assert!((15_500..16_500).contains(&hot), "{hot}");
    }

    #[test]
    fn one_or_two_keys_are_enough_for_every_shape() {
        for distribution in [Distribution::Uniform, Distribution::Hotspot, Distribution::Zipfian { theta: 0.99 }] {
            assert_eq!(counts(distribution, 1), [20_000]);
            assert_eq!(counts(distribution, 2).iter().sum::<u32>(), 20_000);
        }
    }

    #[test]
    fn distributions_are_read_by_name() {
        assert_eq!("zipfian:0.5".parse(), Ok(Distribution::Zipfian { theta: 0.5 }));
        assert_eq!("hotspot".parse(), Ok(Distribution::Hotspot));
        assert!("pareto".parse::<Distribution>().is_err());
    }
}
