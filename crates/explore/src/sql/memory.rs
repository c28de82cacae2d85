//! What one statement has read so far.
//!
//! A statement reads a key once: a join that comes back to a row, or a subquery that is evaluated for every row, is answered from here
//! and is no new event. A read that locks may see more than the plain read before it, and is an event of its own; a plain read after
//! that sees what the locking one saw.
//!
//! ```text
//!   scan account/ 1…9        rows 2, 5          all of the range is known from now on, 3 as absent
//!   read account/3           known: absent
//!   scan account/ 2…5        known: 2, 5
//!   read account/5, locks    an event: the latest version may be another one
//! ```
//!
//! A range that contains a key which is known by itself is read around it, so that the key is not read twice; where keys are no
//! numbers there is no "around", and read-committed could then return two versions of it to one statement.

use skew_sql::{KeyPart, KeyRange, Row, RowKey};
use std::collections::BTreeMap;

/// The answers that a statement got.
#[derive(Default, Debug)]
pub(crate) struct Memory {
    plain: Answers,
    locked: Answers,
}

/// Answers to reads of one kind.
#[derive(Default, Debug)]
struct Answers {
    /// Keys that were read by themselves or found in a range, there or not.
    keys: BTreeMap<RowKey, Option<Row>>,
    /// Ranges that were read whole: what was not found there is absent.
    ranges: Vec<KeyRange>,
}

impl Answers {
    fn get(&self, key: &RowKey) -> Option<Option<Row>> {
        let found = self.keys.get(key).cloned();
        found.or_else(|| self.ranges.iter().any(|range| range.contains(key)).then_some(None))
    }
}

impl Memory {
    /// What a read of this key was answered, if it was read.
    pub(crate) fn get(&self, key: &RowKey, locking: bool) -> Option<Option<Row>> {
        let locked = self.locked.get(key);
        if locking { locked } else { locked.or_else(|| self.plain.get(key)) }
    }

    /// A key was read by itself.
    pub(crate) fn remember(&mut self, key: &RowKey, locking: bool, row: Option<Row>) {
        self.of(locking).keys.insert(key.clone(), row);
    }

    /// A range was read; `whole` if the reading did not stop early.
    pub(crate) fn remember_range(&mut self, range: &KeyRange, locking: bool, found: &[(RowKey, Row)], whole: bool) {
        let answers = self.of(locking);
        for (key, row) in found {
            answers.keys.insert(key.clone(), Some(row.clone()));
        }
        if whole {
            answers.ranges.push(range.clone());
        }
    }

    fn of(&mut self, locking: bool) -> &mut Answers {
        if locking { &mut self.locked } else { &mut self.plain }
    }

    /// The rows of a range that was read before, as a whole or as part of a greater one; ascending.
    pub(crate) fn range(&self, range: &KeyRange, locking: bool) -> Option<Vec<(RowKey, Row)>> {
        let known = |answers: &Answers| answers.ranges.iter().any(|known| includes(known, range));
        let sources = match (known(&self.locked), known(&self.plain)) {
            (true, _) => vec![&self.locked],
            (false, true) if !locking => vec![&self.plain, &self.locked],
            _ => return None,
        };
        let mut rows = BTreeMap::new();
        for (key, row) in sources.iter().flat_map(|answers| &answers.keys).filter(|(key, _)| range.contains(key)) {
            rows.insert(key.clone(), row.clone());
        }
        Some(rows.into_iter().filter_map(|(key, row)| Some((key, row?))).collect())
    }

    /// The parts of a range that lie around the keys that are known, ascending, and what is known of those keys.
    pub(crate) fn around(&self, range: &KeyRange, locking: bool) -> (Vec<KeyRange>, Vec<(RowKey, Row)>) {
        let all = (vec![range.clone()], Vec::new());
        let keys = self.plain.keys.keys().filter(|_| !locking).chain(self.locked.keys.keys());
        let mut inside: Vec<&RowKey> = keys.filter(|key| range.contains(key)).collect();
        inside.sort();
        inside.dedup();
        if inside.is_empty() || range.limit.is_some() {
            return all;
        }
        let numbers: Option<Vec<i128>> = inside.iter().map(|key| next_number(range, key)).collect();
        let Some(numbers) = numbers else { return all };
        let known = inside.iter().filter_map(|key| Some(((*key).clone(), self.get(key, locking)??))).collect();
        (gaps(range, &numbers), known)
    }
}

/// Whether everything that one range contains another one contains, too.
fn includes(outer: &KeyRange, inner: &KeyRange) -> bool {
    if outer.space != inner.space || !inner.prefix.starts_with(&outer.prefix) {
        return false;
    }
    let above = |part: &KeyPart| outer.low.as_ref().is_none_or(|low| low <= part);
    let below = |part: &KeyPart| outer.high.as_ref().is_none_or(|high| part <= high);
    match inner.prefix.get(outer.prefix.len()) {
        Some(part) => above(part) && below(part),
        None => {
            (outer.low.is_none() || inner.low.as_ref().is_some_and(above))
                && (outer.high.is_none() || inner.high.as_ref().is_some_and(below))
        }
    }
}

/// The number that is the last part of a key, right behind the prefix of a range.
fn next_number(range: &KeyRange, key: &RowKey) -> Option<i128> {
    match &key.parts[range.prefix.len()..] {
        [KeyPart::Number(number)] => Some(*number),
        _ => None,
    }
}

/// What is left of a range without some numbers, which ascend.
fn gaps(range: &KeyRange, without: &[i128]) -> Vec<KeyRange> {
    let mut low = range.low.clone();
    let mut gaps = Vec::new();
    for number in without {
        gaps.extend(number.checked_sub(1).map(|below| KeyRange {
            low: low.clone(),
            high: Some(KeyPart::Number(below)),
            ..range.clone()
        }));
        low = number.checked_add(1).map(KeyPart::Number);
    }
    gaps.extend(low.map(|low| KeyRange { low: Some(low), ..range.clone() }));
    gaps.retain(|gap| match (&gap.low, &gap.high) {
        (Some(low), Some(high)) => low <= high,
        _ => true,
    });
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_sql::{Datum, SpaceId};

    fn key(number: i128) -> RowKey {
        RowKey { space: SpaceId(1), parts: [KeyPart::Number(number)].into() }
    }

    fn row(number: i128) -> Row {
        [Datum::Integer(number)].into()
    }

    fn range(low: Option<i128>, high: Option<i128>) -> KeyRange {
        let part = |number: Option<i128>| number.map(KeyPart::Number);
        KeyRange { low: part(low), high: part(high), ..KeyRange::of_prefix(SpaceId(1), Vec::new()) }
    }

    #[test]
    fn what_lies_in_a_range_that_was_read_is_known_present_or_absent() {
        let mut memory = Memory::default();
        memory.remember_range(&range(Some(1), Some(9)), false, &[(key(2), row(2)), (key(5), row(5))], true);
        assert_eq!(memory.get(&key(5), false), Some(Some(row(5))));
        assert_eq!(memory.get(&key(3), false), Some(None));
        assert_eq!((memory.get(&key(10), false), memory.get(&key(5), true)), (None, None));
        assert_eq!(memory.range(&range(Some(3), Some(9)), false), Some(vec![(key(5), row(5))]));
        assert_eq!(memory.range(&range(None, Some(9)), false), None);
        assert_eq!(memory.range(&range(Some(3), Some(9)), true), None);
    }

    #[test]
    fn a_plain_read_after_a_locking_one_sees_what_that_saw() {
        let mut memory = Memory::default();
        memory.remember(&key(1), false, Some(row(1)));
        memory.remember(&key(1), true, Some(row(7)));
        assert_eq!(memory.get(&key(1), false), Some(Some(row(7))));
        memory.remember_range(&range(None, None), false, &[(key(1), row(1))], true);
        assert_eq!(memory.range(&range(None, None), false), Some(vec![(key(1), row(7))]));
    }

    #[test]
    fn a_range_is_read_around_the_keys_that_are_known() {
        let mut memory = Memory::default();
        memory.remember(&key(1), false, Some(row(1)));
        memory.remember(&key(5), false, None);
        let (parts, known) = memory.around(&range(Some(1), None), false);
        assert_eq!(parts, [range(Some(2), Some(4)), range(Some(6), None)]);
        assert_eq!(known, [(key(1), row(1))]);
        assert_eq!(memory.around(&range(Some(6), Some(8)), false).0, [range(Some(6), Some(8))]);
    }
}
