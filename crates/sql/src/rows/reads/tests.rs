//! A statement's memory, against a store of one version that counts what it is asked.

use super::*;
use crate::storage::SpaceId;
use skew_value::Datum;

/// Rows by number, and every request in a word.
#[derive(Default)]
struct Shelf {
    rows: BTreeMap<i128, i128>,
    /// What locks show instead.
    latest: BTreeMap<i128, i128>,
    own: BTreeMap<RowKey, Option<Row>>,
    asked: Vec<String>,
}

fn key(number: i128) -> RowKey {
    RowKey { space: SpaceId(1), parts: [KeyPart::Number(number)].into() }
}

fn row(number: i128) -> Row {
    [Datum::Integer(number)].into()
}

fn number_of(key: &RowKey) -> i128 {
    match key.parts[0] {
        KeyPart::Number(number) => number,
        _ => 0,
    }
}

fn range(low: Option<i128>, high: Option<i128>) -> KeyRange {
    let part = |number: Option<i128>| number.map(KeyPart::Number);
    KeyRange { low: part(low), high: part(high), ..KeyRange::of_prefix(SpaceId(1), Vec::new()) }
}

fn words(range: &KeyRange) -> String {
    let bound = |part: &Option<KeyPart>| part.as_ref().map_or(String::new(), ToString::to_string);
    format!("{}..{}", bound(&range.low), bound(&range.high))
}

impl Shelf {
    fn of(rows: impl IntoIterator<Item = (i128, i128)>) -> Shelf {
        Shelf { rows: rows.into_iter().collect(), ..Shelf::default() }
    }

    fn value(&self, key: &RowKey, locking: bool) -> Option<Row> {
        let number = number_of(key);
        let latest = self.latest.get(&number).filter(|_| locking);
        latest.or_else(|| self.rows.get(&number)).map(|&value| row(value))
    }

    fn take_asked(&mut self) -> String {
        std::mem::take(&mut self.asked).join(" ")
    }

    /// The keys of a range up to where enough of them count, and the range that was read.
    fn walk(&self, range: &KeyRange, mut counts: impl FnMut(&RowKey) -> bool) -> (Vec<RowKey>, KeyRange) {
        let mut keys: Vec<RowKey> = self.rows.keys().map(|&number| key(number)).collect();
        keys.extend(self.own.keys().cloned());
        keys.sort();
        keys.dedup();
        keys.retain(|key| range.contains(key));
        if reads_down(range) {
            keys.reverse();
        }
        let mut read = KeyRange { limit: None, ..range.clone() };
        let mut left = range.limit.unwrap_or(usize::MAX);
        for (place, key) in keys.iter().enumerate() {
            left -= usize::from(counts(key));
            if left == 0 && place + 1 < keys.len() {
                let part = Some(key.parts[0].clone());
                if reads_down(range) {
                    read.low = part
                } else {
                    read.high = part
                }
                keys.truncate(place + 1);
                break;
            }
        }
        (keys, read)
    }
}

impl Reader for Shelf {
    type Stop = ();

    fn own(&self, key: &RowKey) -> Option<Option<Row>> {
        self.own.get(key).cloned()
    }

    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        let inside = self.own.iter().filter(|(key, _)| range.contains(key));
        inside.map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, ()> {
        self.asked.push(format!("{}{}", if locking { "lock " } else { "" }, number_of(key)));
        Ok(self.value(key, locking))
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Scanned, ()> {
        self.asked.push(words(range));
        let value = |shelf: &Shelf, key: &RowKey| shelf.own(key).unwrap_or_else(|| shelf.value(key, locking));
        let (keys, read) = self.walk(range, |key| value(self, key).is_some());
        let rows = keys.into_iter().filter_map(|key| Some((key.clone(), value(self, &key)?))).collect();
        Ok(Scanned { rows, read: Some(read) })
    }

    fn look(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, ()> {
        self.asked.push(format!("look {}", number_of(key)));
        Ok(match self.value(key, false) {
            Some(row) if fits(key, &row) == Fit::Yes => Found::Wanted,
            row => Found::Passed(row),
        })
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, ()> {
        self.asked.push(format!("look {}", words(range)));
        let value = |shelf: &Shelf, key: &RowKey| shelf.own(key).unwrap_or_else(|| shelf.value(key, false));
        let mut fitting = |key: &RowKey| value(self, key).is_some_and(|row| fits(key, &row) == Fit::Yes);
        let (keys, read) = self.walk(range, &mut fitting);
        let foreign: Vec<RowKey> = keys.into_iter().filter(|key| !self.own.contains_key(key)).collect();
        let found = foreign.into_iter().map(|key| {
            let found = if fitting(&key) { Found::Wanted } else { Found::Passed(value(self, &key)) };
            (key, found)
        });
        Ok(Looked { found: found.collect(), read: Some(read) })
    }

    fn claim(&mut self, key: &RowKey, _: &mut Fits<'_>) -> Result<Option<Option<Row>>, ()> {
        Reader::read(self, key, true).map(Some)
    }
}

fn numbers(rows: &Rows) -> Vec<i128> {
    rows.iter().map(|(key, _)| number_of(key)).collect()
}

fn is_zero(_: &RowKey, row: &Row) -> Fit {
    if row[0] == Datum::Integer(0) { Fit::Yes } else { Fit::No }
}

#[test]
fn what_lies_in_a_range_that_was_read_is_known_present_or_absent() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of([(2, 20), (5, 50), (11, 110)]));
    assert_eq!(numbers(&memory.range(&range(Some(1), Some(9)), false, &mut shelf).unwrap()), [2, 5]);
    assert_eq!(memory.read(&key(5), false, &mut shelf), Ok(Some(row(50))));
    assert_eq!(memory.read(&key(3), false, &mut shelf), Ok(None));
    assert_eq!(numbers(&memory.range(&range(Some(3), Some(9)), false, &mut shelf).unwrap()), [5]);
    assert_eq!(shelf.take_asked(), "1..9");
    assert_eq!(numbers(&memory.range(&range(None, None), false, &mut shelf).unwrap()), [2, 5, 11]);
    assert_eq!(memory.read(&key(5), true, &mut shelf), Ok(Some(row(50))));
    assert_eq!(shelf.take_asked(), "..1 3..4 6.. lock 5", "read around what is known; a lock may see more");
}

#[test]
fn a_plain_read_after_a_locking_one_sees_what_that_saw() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of([(1, 10)]));
    shelf.latest.insert(1, 70);
    assert_eq!(memory.read(&key(1), false, &mut shelf), Ok(Some(row(10))));
    assert_eq!(memory.read(&key(1), true, &mut shelf), Ok(Some(row(70))));
    assert_eq!(memory.read(&key(1), false, &mut shelf), Ok(Some(row(70))));
    assert_eq!(shelf.take_asked(), "1 lock 1");
}

#[test]
fn a_subquery_reads_for_itself_and_once() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of([(1, 10)]));
    shelf.latest.insert(1, 70);
    assert_eq!(memory.read(&key(1), true, &mut shelf), Ok(Some(row(70))));
    for _ in 0..2 {
        assert_eq!(memory.enter(3), 0);
        assert_eq!(memory.read(&key(1), false, &mut shelf), Ok(Some(row(10))));
        assert_eq!(memory.enter(0), 3);
    }
    assert_eq!(memory.read(&key(1), false, &mut shelf), Ok(Some(row(70))));
    assert_eq!(shelf.take_asked(), "lock 1 1");
}

#[test]
fn own_writes_come_first_and_are_no_events() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of([(1, 10), (2, 20)]));
    shelf.own.insert(key(1), None);
    shelf.own.insert(key(3), Some(row(0)));
    assert_eq!(memory.read(&key(3), true, &mut shelf), Ok(Some(row(0))));
    assert_eq!(shelf.take_asked(), "");
    assert_eq!(numbers(&memory.range(&range(None, None), false, &mut shelf).unwrap()), [2, 3]);
    assert_eq!(memory.look_over(&range(None, None), &mut is_zero, &mut shelf), Ok(vec![key(3)]));
    shelf.own.clear();
    assert_eq!(memory.read(&key(3), false, &mut shelf), Ok(None), "what was taken back was never anybody's row");
    assert_eq!(shelf.take_asked(), "..");
}

#[test]
fn a_range_that_stopped_early_goes_on_where_it_was() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of((1..=6).map(|number| (number, number))));
    let up = |limit| KeyRange { limit: Some(limit), ..range(None, None) };
    assert_eq!(numbers(&memory.range(&up(2), false, &mut shelf).unwrap()), [1, 2]);
    assert_eq!(numbers(&memory.range(&up(1), false, &mut shelf).unwrap()), [1]);
    assert_eq!(numbers(&memory.range(&up(4), false, &mut shelf).unwrap()), [1, 2, 3, 4]);
    assert_eq!(shelf.take_asked(), ".. 3..");
    let (mut memory, down) = (Memory::default(), |limit| KeyRange { descending: true, ..up(limit) });
    assert_eq!(numbers(&memory.range(&down(2), false, &mut shelf).unwrap()), [6, 5]);
    assert_eq!(numbers(&memory.range(&down(9), false, &mut shelf).unwrap()), [6, 5, 4, 3, 2, 1]);
    assert_eq!(shelf.take_asked(), ".. ..4");
}

#[test]
fn a_row_that_is_passed_over_is_not_locked() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of([(1, 5), (2, 0)]));
    assert_eq!(memory.seek(&key(1), &mut is_zero, &mut shelf), Ok(None));
    assert_eq!(memory.seek(&key(9), &mut is_zero, &mut shelf), Ok(None));
    assert_eq!(memory.seek(&key(2), &mut is_zero, &mut shelf), Ok(Some(row(0))));
    assert_eq!(shelf.take_asked(), "look 1 look 9 look 2 lock 2");
    for number in [1, 2, 9] {
        memory.seek(&key(number), &mut is_zero, &mut shelf).unwrap();
    }
    assert_eq!(memory.read(&key(2), false, &mut shelf), Ok(Some(row(0))));
    assert_eq!(shelf.take_asked(), "", "a statement that runs again asks for nothing again");
}

#[test]
fn a_row_that_no_longer_fits_under_its_lock_makes_room_for_the_next() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of([(1, 0), (2, 7), (3, 0), (4, 0)]));
    shelf.latest.insert(1, 8);
    let first = |limit| KeyRange { limit: Some(limit), ..range(None, None) };
    for asked in ["look .. lock 1 look 2.. lock 3", ""] {
        assert_eq!(memory.look_over(&first(1), &mut is_zero, &mut shelf), Ok(vec![key(1)]));
        assert_eq!(memory.seek(&key(1), &mut is_zero, &mut shelf), Ok(None));
        assert_eq!(memory.look_over(&first(2), &mut is_zero, &mut shelf), Ok(vec![key(1), key(3)]));
        assert_eq!(memory.seek(&key(3), &mut is_zero, &mut shelf), Ok(Some(row(0))));
        assert_eq!(shelf.take_asked(), asked);
    }
}

#[test]
fn a_row_on_which_the_condition_fails_is_handed_out_unlocked() {
    let (mut memory, mut shelf) = (Memory::default(), Shelf::of([(1, 5)]));
    assert_eq!(memory.seek(&key(1), &mut |_, _| Fit::Fails, &mut shelf), Ok(Some(row(5))));
    assert_eq!(shelf.take_asked(), "look 1");
}

#[test]
fn texts_go_on_behind_the_last_one() {
    let text = |text: &str| KeyPart::Text(text.into());
    let known = KeyRange { high: Some(text("b")), ..range(None, None) };
    let left = rest(&KeyRange { limit: Some(3), ..range(None, None) }, &[&known]).unwrap();
    assert_eq!(left.low, Some(text("b\0")));
    assert!(!left.contains(&RowKey { space: SpaceId(1), parts: [text("b")].into() }));
    assert!(left.contains(&RowKey { space: SpaceId(1), parts: [text("ba")].into() }));
}
