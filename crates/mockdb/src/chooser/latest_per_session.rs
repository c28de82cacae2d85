//! Any of the last versions that each session wrote (MonkeyDB §6): weak between sessions, but never behind within one.
//!
//! ```text
//!   versions   init   a₁   b₁   a₂   b₂        candidates: init, a₂, b₂
//! ```
//!
//! The initial version is that of whoever loaded the database, a session as well: a reader whose level allows it may not know
//! of any other. Where the level allows none of them, any version will do.

use super::random::draw;
use super::{Chooser, Reading, VersionWriter};
use crate::chance::{Chance, Stream};
use skew_check::Version;

/// The strategy.
pub struct LatestPerSession {
    chance: Chance,
}

impl LatestPerSession {
    /// The same seed makes the same choices.
    pub fn new(seed: u64) -> LatestPerSession {
        LatestPerSession { chance: Chance::new(seed, Stream::Versions) }
    }
}

impl Chooser for LatestPerSession {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let writers = reading.writers();
        let session = |place: usize| match writers[place] {
            VersionWriter::Initial => None,
            VersionWriter::Transaction(session, _) => Some(session),
        };
        let is_last = |&place: &usize| (place + 1..writers.len()).all(|later| session(later) != session(place));
        let last: Vec<usize> = (0..writers.len()).filter(is_last).collect();
        let others = (0..writers.len()).filter(|place| !last.contains(place)).rev().collect();
        draw(&mut self.chance, last, reading).or_else(|| draw(&mut self.chance, others, reading))
    }
}
