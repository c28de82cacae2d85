//! The version that leads to what was seen least often in this campaign.
//!
//! A run is known by its read-from pattern so far: which read of which transaction returned whose version. The campaign counts how
//! often each pattern came up, over all runs; of the versions that are allowed the chooser takes one whose pattern came up least,
//! which is one that was never seen as long as there is one.
//!
//! ```text
//!   run 1   r(x)=init   r(y)=init          patterns seen: {x←init}, {x←init, y←init}
//!   run 2   r(x)=t1                        {x←t1} was never seen: taken before anything else
//! ```
//!
//! Patterns are sums of hashes, so the order in which sessions happened to read does not matter. Two patterns with the same sum
//! would only make the chooser a little less curious.

use super::{Chooser, Reading, VersionWriter};
use crate::chance::{Chance, Stream};
use rustc_hash::{FxHashMap, FxHasher};
use skew_check::Version;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// What a campaign of runs has seen; clones share it.
#[derive(Clone, Default, Debug)]
pub struct Campaign {
    seen: Arc<Mutex<FxHashMap<u64, u32>>>,
}

/// The strategy, for one run.
pub struct Novel {
    chance: Chance,
    campaign: Campaign,
    /// The sum of what was read so far in this run.
    pattern: u64,
}

impl Novel {
    /// A run of a campaign.
    pub fn new(seed: u64, campaign: Campaign) -> Novel {
        Novel { chance: Chance::new(seed, Stream::Versions), campaign, pattern: 0 }
    }
}

fn hash_of(reading: &Reading<'_>, writer: VersionWriter) -> u64 {
    let mut hasher = FxHasher::default();
    (reading.session(), reading.transaction(), reading.number(), reading.key_name(), writer).hash(&mut hasher);
    // The finish of FxHasher leaves low bits poor, and these are added up.
    let hash = hasher.finish();
    (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Chooser for Novel {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let allowed: Vec<usize> = (0..reading.versions().len()).filter(|&place| reading.allows(place)).collect();
        let mut seen = self.campaign.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let pattern = |place: usize| self.pattern.wrapping_add(hash_of(reading, reading.writers()[place]));
        let often = |place: usize| seen.get(&pattern(place)).copied().unwrap_or(0);
        let least = allowed.iter().map(|&place| often(place)).min()?;
        let rarest: Vec<usize> = allowed.into_iter().filter(|&place| often(place) == least).collect();
        let place = rarest[self.chance.below(rarest.len())];
        let chosen = pattern(place);
        self.pattern = chosen;
        let count = seen.entry(chosen).or_default();
        *count = count.saturating_add(1);
        Some(reading.versions()[place])
    }
}
