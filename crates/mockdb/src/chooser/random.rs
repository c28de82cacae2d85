//! Any version that is allowed, each equally likely.
//!
//! By rejection: draw among all versions, ask whether the level allows it, put it aside if not. What is left of a uniform draw after
//! rejection is uniform, and where most versions are allowed only one is asked about.

use super::{Chooser, Reading};
use crate::chance::{Chance, Stream};
use skew_check::Version;

/// The strategy.
pub struct Random {
    chance: Chance,
}

impl Random {
    /// The same seed makes the same choices.
    pub fn new(seed: u64) -> Random {
        Random { chance: Chance::new(seed, Stream::Versions) }
    }
}

/// Draws among these places until one is allowed.
pub(super) fn draw(chance: &mut Chance, mut places: Vec<usize>, reading: &mut Reading<'_>) -> Option<Version> {
    while !places.is_empty() {
        let place = places.swap_remove(chance.below(places.len()));
        if reading.allows(place) {
            return Some(reading.versions()[place]);
        }
    }
    None
}

impl Chooser for Random {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let places = (0..reading.versions().len()).collect();
        draw(&mut self.chance, places, reading)
    }
}
