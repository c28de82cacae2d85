//! The keys that a search came across, by number.
//!
//! A key has a number because histories compare keys all the time; the numbers depend on the order of the search, so they never leave
//! it. Keys of one space are also kept in order, which is what a scan walks over.

use rustc_hash::FxHashMap;
use skew_sql::{KeyRange, Row, RowKey, SpaceId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The number of a key in one search.
pub(crate) type KeyNumber = u32;

/// All keys, and their rows before everything.
#[derive(Clone, Default, Debug)]
pub(crate) struct Keys {
    numbers: FxHashMap<RowKey, KeyNumber>,
    sorted: BTreeMap<RowKey, KeyNumber>,
    keys: Vec<(RowKey, Option<Row>)>,
    /// The spaces of indexes, where keys are kept in order by the server, too.
    indexes: Option<BTreeSet<SpaceId>>,
}

impl Keys {
    /// The keys of the initial state.
    pub(crate) fn new(initial: Vec<(RowKey, Row)>) -> Keys {
        let mut keys = Keys::default();
        for (key, row) in initial {
            let number = keys.number(&key);
            keys.keys[number as usize].1 = Some(row);
        }
        keys
    }

    /// The same with what is known of the order of keys: which spaces are those of indexes, or nothing if keys have no order.
    pub(crate) fn in_order(self, indexes: Option<Vec<SpaceId>>) -> Keys {
        Keys { indexes: indexes.map(|indexes| indexes.into_iter().collect()), ..self }
    }

    /// Whether there is something like the next key.
    pub(crate) fn have_order(&self) -> bool {
        self.indexes.is_some()
    }

    /// Whether a key is an entry of an index.
    pub(crate) fn is_entry(&self, key: KeyNumber) -> bool {
        self.indexes.as_ref().is_some_and(|indexes| indexes.contains(&self.key(key).space))
    }

    /// The keys right below and above another one of its space that `is_there` says yes to.
    pub(crate) fn around(
        &self,
        key: &RowKey,
        is_there: impl Fn(KeyNumber) -> bool,
    ) -> (Option<RowKey>, Option<RowKey>) {
        let counts = |entry: &(&RowKey, &KeyNumber)| is_there(*entry.1);
        let belongs = |entry: &(&RowKey, &KeyNumber)| entry.0.space == key.space;
        let below = self.sorted.range(..key).rev().take_while(belongs).find(counts);
        let above = self.sorted.range((Bound::Excluded(key), Bound::Unbounded)).take_while(belongs).find(counts);
        (below.map(|entry| entry.0.clone()), above.map(|entry| entry.0.clone()))
    }

    /// The first key behind a range, upwards, and the last one before it.
    pub(crate) fn beyond(
        &self,
        range: &KeyRange,
        is_there: impl Fn(KeyNumber) -> bool,
    ) -> (Option<KeyNumber>, Option<KeyNumber>) {
        let first = RowKey { space: range.space, parts: range.prefix.iter().chain(&range.low).cloned().collect() };
        let counts = |entry: &(&RowKey, &KeyNumber)| is_there(*entry.1) && !range.contains(entry.0);
        let belongs = |entry: &(&RowKey, &KeyNumber)| entry.0.space == range.space;
        let below = self.sorted.range(..&first).rev().take_while(belongs).find(counts);
        let above = self.sorted.range(&first..).take_while(belongs).find(counts);
        (below.map(|entry| *entry.1), above.map(|entry| *entry.1))
    }

    /// The number of a key, a new one if it is new.
    pub(crate) fn number(&mut self, key: &RowKey) -> KeyNumber {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let number = self.keys.len() as KeyNumber;
        self.numbers.insert(key.clone(), number);
        self.sorted.insert(key.clone(), number);
        self.keys.push((key.clone(), None));
        number
    }

    /// The key with this number.
    pub(crate) fn key(&self, number: KeyNumber) -> &RowKey {
        &self.keys[number as usize].0
    }

    /// The row under a key before everything.
    pub(crate) fn initial(&self, number: KeyNumber) -> Option<&Row> {
        self.keys[number as usize].1.as_ref()
    }

    /// All keys with a row before everything.
    pub(crate) fn all_initial(&self) -> impl Iterator<Item = (&RowKey, &Row)> {
        self.sorted.iter().filter_map(|(key, &number)| Some((key, self.initial(number)?)))
    }

    /// The first key of a range after another one that `is_known` says yes to, in the order in which the range is read.
    pub(crate) fn next_in(
        &self,
        range: &KeyRange,
        after: Option<KeyNumber>,
        is_known: impl Fn(KeyNumber) -> bool,
    ) -> Option<KeyNumber> {
        let mut parts = range.prefix.clone();
        parts.extend(range.low.clone());
        let first = RowKey { space: range.space, parts: parts.into() };
        let inside =
            |(key, number): (&RowKey, &KeyNumber)| (range.contains(key) && is_known(*number)).then_some(*number);
        let belongs =
            |entry: &(&RowKey, &KeyNumber)| entry.0.space == range.space && entry.0.parts.starts_with(&range.prefix);
        let after = after.map(|after| self.key(after));
        if reads_down(range) {
            let end = after.map_or(Bound::Unbounded, Bound::Excluded);
            return self
                .sorted
                .range((Bound::Included(&first), end))
                .rev()
                .skip_while(|entry| !belongs(entry))
                .find_map(inside);
        }
        let start = after.map_or(Bound::Included(&first), Bound::Excluded);
        self.sorted.range((start, Bound::Unbounded)).take_while(belongs).find_map(inside)
    }
}

/// Whether a range is read from its greatest key downwards: only where it is not read whole, because else all its keys are read anyway.
pub(crate) fn reads_down(range: &KeyRange) -> bool {
    range.descending && range.limit.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_sql::{KeyPart, SpaceId};

    fn key(space: u32, parts: &[i128]) -> RowKey {
        RowKey { space: SpaceId(space), parts: parts.iter().map(|&part| KeyPart::Number(part)).collect() }
    }

    #[test]
    fn a_range_is_walked_in_the_order_in_which_it_is_read() {
        let mut keys = Keys::default();
        let all: Vec<KeyNumber> = [key(1, &[1, 9]), key(1, &[1, 2]), key(1, &[2, 5]), key(1, &[1, 5]), key(2, &[1, 1])]
            .iter()
            .map(|key| keys.number(key))
            .collect();
        let mut range = KeyRange::of_prefix(SpaceId(1), vec![KeyPart::Number(1)]);
        let walk = |range: &KeyRange| {
            let mut found = Vec::new();
            while let Some(next) = keys.next_in(range, found.last().copied(), |number| number != all[3]) {
                found.push(next);
            }
            found
        };
        assert_eq!(walk(&range), [all[1], all[0]]);
        range.descending = true;
        assert_eq!(walk(&range), [all[1], all[0]]);
        range.limit = Some(5);
        assert_eq!(walk(&range), [all[0], all[1]]);
        range.low = Some(KeyPart::Number(3));
        assert_eq!(walk(&range), [all[0]]);
    }
}
