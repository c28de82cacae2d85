//! The version that committed first of those that are allowed: a replica that is as far behind as it may be.

use super::{Chooser, Reading};
use skew_check::Version;

/// The strategy.
pub struct Stalest;

impl Chooser for Stalest {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let place = (0..reading.versions().len()).find(|&place| reading.allows(place))?;
        Some(reading.versions()[place])
    }
}
