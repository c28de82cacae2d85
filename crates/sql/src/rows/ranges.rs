//! Ranges that were read whole, found by the keys that they contain.
//!
//! A join that looks up an index for every row reads as many ranges as there are rows, each with a prefix of its own: what is asked about a key
//! or a range is answered by those whose prefix it has, however many there are.

use crate::storage::{KeyPart, KeyRange, RowKey, SpaceId};
use std::collections::BTreeMap;

/// Ranges by their prefix.
#[derive(Default, Debug)]
pub(super) struct Ranges {
    spaces: BTreeMap<SpaceId, BTreeMap<Vec<KeyPart>, Vec<KeyRange>>>,
}

impl Ranges {
    pub(super) fn push(&mut self, range: KeyRange) {
        let space = self.spaces.entry(range.space).or_default();
        match space.get_mut(range.prefix.as_slice()) {
            Some(known) if known.contains(&range) => {}
            Some(known) => known.push(range),
            None => drop(space.insert(range.prefix.clone(), vec![range])),
        }
    }

    /// Whether one of them contains a key.
    pub(super) fn contain(&self, key: &RowKey) -> bool {
        self.above(key.space, &key.parts).any(|range| range.contains(key))
    }

    /// Those whose prefix these parts begin with.
    pub(super) fn above<'a>(&'a self, space: SpaceId, parts: &'a [KeyPart]) -> impl Iterator<Item = &'a KeyRange> + 'a {
        let space = self.spaces.get(&space).into_iter();
        space.flat_map(move |known| (0..=parts.len()).filter_map(|length| known.get(&parts[..length])).flatten())
    }
}
