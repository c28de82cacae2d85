//! The version that committed last: what an ordinary database returns when transactions run one after another.

use super::{Chooser, Reading};
use skew_check::Version;

/// The strategy.
pub struct Latest;

impl Chooser for Latest {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let place = (0..reading.versions().len()).rev().find(|&place| reading.allows(place))?;
        Some(reading.versions()[place])
    }
}
