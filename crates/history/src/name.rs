//! Names at the door: inside a history everything is a dense number.
//!
//! Keys, sessions and transactions carry the names of the input file. Most files name them by integers, so integers are kept
//! as such: a name is equal to another when both are spelt alike, `7` and `"7"` being one name.

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use std::fmt;
use std::hash::Hasher;

/// A name from the input file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Name<'a> {
    /// A name that is an integer, spelt canonically.
    Integer(i64),
    /// Any other name.
    Text(&'a str),
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(text: &'a str) -> Self {
        canonical_integer(text).map_or(Name::Text(text), Name::Integer)
    }
}

impl<'a> Name<'a> {
    /// The same name, as the number that its text may spell. Those who write may have a reason to put a number between quotes; inside a
    /// history both are one name.
    pub(crate) fn canonical(self) -> Name<'a> {
        match self {
            Name::Integer(_) => self,
            Name::Text(text) => Name::from(text),
        }
    }
}

impl From<i64> for Name<'_> {
    fn from(number: i64) -> Self {
        Name::Integer(number)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Integer(number) => write!(out, "{number}"),
            Name::Text(text) => out.write_str(text),
        }
    }
}

/// The integer that `text` spells canonically: `-7`, but neither `+7` nor `007`, which are names of their own.
fn canonical_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = match digits.as_bytes() {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if canonical { text.parse().ok() } else { None }
}

/// Dense numbers for names, in order of first appearance.
///
/// A name is one word, because a history has as many as it has transactions and keys: an integer of 62 bits with `00` at the end,
/// or a place among the texts with `01`, or with `11` when that text spells an integer that did not fit.
#[derive(Clone, Default, Debug)]
pub struct Names {
    words: Vec<u64>,
    texts: String,
    /// Where each text ends; it begins where the one before ends.
    ends: Vec<u64>,
}

const SMALL: u64 = 0b00;
const TEXT: u64 = 0b01;
const LARGE: u64 = 0b11;

/// How many names there can be, and how many bytes one can have: both are counted in 32 bits, with a few numbers kept for other uses.
pub(crate) const MOST_NAMES: usize = u32::MAX as usize - 8;

impl Names {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The name with this number.
    pub fn get(&self, index: usize) -> Name<'_> {
        let word = self.words[index];
        match word & 0b11 {
            SMALL => Name::Integer(word as i64 >> 2),
            TEXT => Name::Text(self.text(word)),
            _ => Name::from(self.text(word)),
        }
    }

    fn text(&self, word: u64) -> &str {
        let place = (word >> 2) as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start as usize..self.ends[place] as usize]
    }

    /// Adds a name without looking whether it is there.
    pub(crate) fn push(&mut self, name: Name<'_>) -> u32 {
        let word = match name {
            Name::Integer(number) if number << 2 >> 2 == number => (number << 2) as u64,
            Name::Integer(number) => self.push_text(&number.to_string()) | LARGE,
            Name::Text(text) => self.push_text(text) | TEXT,
        };
        self.words.push(word);
        self.words.len() as u32 - 1
    }

    fn push_text(&mut self, text: &str) -> u64 {
        self.texts.push_str(text);
        self.ends.push(self.texts.len() as u64);
        (self.ends.len() as u64 - 1) << 2
    }
}

const UNSET: u32 = u32::MAX;

/// The place of a plain integer among the stems.
const NO_STEM: usize = usize::MAX;
/// The place of a name that has no stem, or a new one.
const NOWHERE: usize = usize::MAX - 1;

/// [`Names`] that can be found again, while a history is being built.
///
/// Most names are integers, or a stem and an integer: `k17`, `item/3`. Those are found by their integer in a vector of their
/// stem, which costs one access to memory where hashing the text costs four; with ten million events that is most of the time
/// of reading them.
#[derive(Clone, Default)]
pub struct NameTable {
    names: Names,
    integers: Numbers,
    stems: Vec<Stem>,
    stem_table: HashTable<u32>,
    last_stem: usize,
    texts: HashTable<u32>,
    overflown: bool,
}

/// What all names with the same text before their last integer share.
#[derive(Clone)]
struct Stem {
    /// The first such name; the stem is its beginning.
    name: u32,
    length: u32,
    number: u64,
    /// All of them, once there is a second: many stems, such as those of random identifiers, have one name only.
    numbers: Option<Box<Numbers>>,
}

impl NameTable {
    /// The number of `name`, a new one if it is new.
    ///
    /// One name too many, or one that is too long, gets a number that means nothing; [`NameTable::is_overflown`] tells.
    pub fn intern(&mut self, name: Name<'_>) -> u32 {
        if self.turns_away(name) {
            self.overflown = true;
            return 0;
        }
        match name {
            Name::Integer(number) => match self.integers.find(number as u64) {
                Some(known) => known,
                None => {
                    let index = self.names.push(name);
                    self.integers.insert(number as u64, index);
                    index
                }
            },
            Name::Text(text) => match split_number(text) {
                Some((stem, number)) => self.intern_numbered(text, stem, number),
                None => self.intern_text(text),
            },
        }
    }

    fn turns_away(&self, name: Name<'_>) -> bool {
        self.names.len() >= MOST_NAMES || matches!(name, Name::Text(text) if text.len() > MOST_NAMES)
    }

    /// Whether there was a name that could not be kept.
    pub fn is_overflown(&self) -> bool {
        self.overflown
    }

    /// The number of `name`, if it was interned.
    pub fn find(&self, name: Name<'_>) -> Option<u32> {
        match name {
            Name::Integer(number) => self.integers.find(number as u64),
            Name::Text(text) => match split_number(text) {
                Some((stem, number)) => self.stems[self.find_stem(stem)?].find(number),
                None => self.find_text(text),
            },
        }
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name with this number.
    pub fn get(&self, index: usize) -> Name<'_> {
        self.names.get(index)
    }

    /// Keeps the names and drops the tables.
    pub fn into_names(self) -> Names {
        self.names
    }

    /// Interns many names at once; `put` gets the place of each and its number.
    ///
    /// Looking a name up waits for memory. First it is worked out where to look for each, then all places are looked at with
    /// nothing between, so that the processor waits for many at a time; what is not found there goes the ordinary way.
    pub fn intern_all(&mut self, names: &[Name<'_>], mut put: impl FnMut(usize, u32)) {
        const BATCH: usize = 16;
        for (batch, names) in names.chunks(BATCH).enumerate() {
            let mut spots = [(NOWHERE, 0); BATCH];
            for (spot, &name) in spots.iter_mut().zip(names) {
                *spot = self.spot(name);
            }
            let mut found = [UNSET; BATCH];
            for (found, &spot) in found.iter_mut().zip(&spots[..names.len()]) {
                *found = self.look_at(spot);
            }
            for (place, (&name, &found)) in names.iter().zip(&found).enumerate() {
                let index = if found == UNSET { self.intern(name) } else { found };
                put(batch * BATCH + place, index);
            }
        }
    }

    /// The stem, and the integer after it.
    fn spot(&mut self, name: Name<'_>) -> (usize, u64) {
        match name {
            Name::Integer(number) => (NO_STEM, number as u64),
            Name::Text(text) => {
                let Some((stem, number)) = split_number(text) else { return (NOWHERE, 0) };
                let Some(stem) = self.find_stem(stem) else { return (NOWHERE, 0) };
                self.last_stem = stem;
                (stem, number)
            }
        }
    }

    fn look_at(&self, (stem, number): (usize, u64)) -> u32 {
        let numbers = match stem {
            NO_STEM => Some(&self.integers),
            stem => self.stems.get(stem).and_then(|stem| stem.numbers.as_deref()),
        };
        numbers.and_then(|numbers| numbers.find(number)).unwrap_or(UNSET)
    }

    fn intern_numbered(&mut self, text: &str, stem: &str, number: u64) -> u32 {
        let Some(found) = self.find_stem(stem) else {
            let name = self.names.push(Name::Text(text));
            let index = self.stems.len() as u32;
            self.stems.push(Stem { name, length: stem.len() as u32, number, numbers: None });
            let (names, stems) = (&self.names, &self.stems);
            let rehash = |&known: &u32| hash_text(stems[known as usize].text(names));
            self.stem_table.insert_unique(hash_text(stem), index, rehash);
            return name;
        };
        self.last_stem = found;
        if let Some(known) = self.stems[found].find(number) {
            return known;
        }
        let name = self.names.push(Name::Text(text));
        self.stems[found].insert(number, name);
        name
    }

    fn find_stem(&self, stem: &str) -> Option<usize> {
        if self.stems.get(self.last_stem).is_some_and(|last| last.text(&self.names) == stem) {
            return Some(self.last_stem);
        }
        let is_it = |&known: &u32| self.stems[known as usize].text(&self.names) == stem;
        self.stem_table.find(hash_text(stem), is_it).map(|&known| known as usize)
    }

    fn find_text(&self, text: &str) -> Option<u32> {
        self.texts.find(hash_text(text), |&known| self.names.get(known as usize) == Name::Text(text)).copied()
    }

    fn intern_text(&mut self, text: &str) -> u32 {
        if let Some(known) = self.find_text(text) {
            return known;
        }
        let index = self.names.push(Name::Text(text));
        let names = &self.names;
        self.texts.insert_unique(hash_text(text), index, |&known| match names.get(known as usize) {
            Name::Text(text) => hash_text(text),
            Name::Integer(_) => unreachable!("the text table holds texts only"),
        });
        index
    }
}

impl Stem {
    fn text<'a>(&self, names: &'a Names) -> &'a str {
        match names.get(self.name as usize) {
            Name::Text(text) => &text[..self.length as usize],
            Name::Integer(_) => unreachable!("a stem is the beginning of a text"),
        }
    }

    fn find(&self, number: u64) -> Option<u32> {
        match &self.numbers {
            Some(numbers) => numbers.find(number),
            None => (self.number == number).then_some(self.name),
        }
    }

    fn insert(&mut self, number: u64, index: u32) {
        let (first, name) = (self.number, self.name);
        let numbers = self.numbers.get_or_insert_with(|| {
            let mut numbers = Box::<Numbers>::default();
            numbers.insert(first, name);
            numbers
        });
        numbers.insert(number, index);
    }
}

/// What stands before the last integer of a name, and that integer: `item/30` is `item/` and 30, `x007` is `x00` and 7.
fn split_number(text: &str) -> Option<(&str, u64)> {
    const LONGEST: usize = 15;
    let bytes = text.as_bytes();
    let mut start = bytes.len();
    while start > 0 && bytes[start - 1].is_ascii_digit() && bytes.len() - start < LONGEST {
        start -= 1;
    }
    while start + 1 < bytes.len() && bytes[start] == b'0' {
        start += 1;
    }
    if start == bytes.len() {
        return None;
    }
    let number = bytes[start..].iter().fold(0, |number, &digit| number * 10 + u64::from(digit - b'0'));
    Some((&text[..start], number))
}

/// From integers to names: a vector as far as it is not too empty, a hash map beyond.
#[derive(Clone, Default)]
struct Numbers {
    small: Vec<u32>,
    /// Only numbers that are beyond the vector.
    sparse: FxHashMap<u64, u32>,
    count: u64,
}

impl Numbers {
    fn find(&self, number: u64) -> Option<u32> {
        match self.small.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(&UNSET) => None,
            Some(&found) => Some(found),
            None => self.sparse.get(&number).copied(),
        }
    }

    /// Adds a number that is not there.
    fn insert(&mut self, number: u64, index: u32) {
        self.count += 1;
        // The vector may be eight times as long as it is full; beyond that the map costs less memory.
        if number >= self.small.len() as u64 && number < 4 * self.count + 16 {
            self.grow((number as usize + 1).next_power_of_two());
        }
        match self.small.get_mut(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(slot) => *slot = index,
            None => drop(self.sparse.insert(number, index)),
        }
    }

    fn grow(&mut self, length: usize) {
        self.small.resize(length, UNSET);
        let small = &mut self.small;
        self.sparse.retain(|&number, &mut index| {
            let moves = number < length as u64;
            if moves {
                small[number as usize] = index;
            }
            !moves
        });
    }
}

fn hash_text(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_spelling() {
        let mut table = NameTable::default();
        let seven = table.intern(7.into());
        assert_eq!(table.intern("7".into()), seven);
        assert_ne!(table.intern("07".into()), seven);
        assert_ne!(table.intern("-0".into()), table.intern("0".into()));
        assert_eq!(table.get(seven as usize).to_string(), "7");
    }

    #[test]
    fn names_with_a_stem_and_a_number_keep_one_number_each() {
        let mut table = NameTable::default();
        let stems = ["k", "k0", "item/", "", "é", "a1b"];
        let names: Vec<String> = (0..3_000u64)
            .flat_map(|n| {
                stems.map(|stem| format!("{stem}{}", if n % 7 == 0 { n * 99_999_999_999 } else { n % 2_000 }))
            })
            .chain(
                ["k007", "k07", "k00", "k", "x", "00", "-5", "99999999999999999999999", "k99999999999999999999999"]
                    .map(str::to_owned),
            )
            .collect();
        let first: Vec<u32> = names.iter().map(|name| table.intern(name.as_str().into())).collect();
        for (name, &index) in names.iter().zip(&first) {
            assert_eq!(table.find(name.as_str().into()), Some(index), "{name}");
            assert_eq!(table.intern(name.as_str().into()), index);
            assert_eq!(table.get(index as usize).to_string(), *name);
        }
        let all: Vec<Name<'_>> = names.iter().map(|name| name.as_str().into()).collect();
        let mut fresh = NameTable::default();
        fresh.intern_all(&all, |place, index| assert_eq!(index, first[place]));
        fresh.intern_all(&all, |place, index| assert_eq!(index, first[place]));
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), table.len());
        assert_eq!(table.find("k2001".into()), None);
        assert_eq!(table.find("y1".into()), None);
    }

    #[test]
    fn sparse_and_dense_integers_keep_one_number_each() {
        let mut table = NameTable::default();
        let numbers: Vec<i64> = (0..20_000).map(|n| if n % 3 == 0 { n * 1_000_003 } else { n }).collect();
        let first: Vec<u32> = numbers.iter().map(|&n| table.intern(n.into())).collect();
        let again: Vec<u32> = numbers.iter().map(|&n| table.intern(n.into())).collect();
        assert_eq!(first, again);
        for (&number, &index) in numbers.iter().zip(&first) {
            assert_eq!(table.find(number.into()), Some(index));
            assert_eq!(table.get(index as usize), Name::Integer(number));
        }
    }
}
