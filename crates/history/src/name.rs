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

#[derive(Clone, Copy, Debug)]
enum Stored {
    Integer(i64),
    Text { start: u32, end: u32 },
}

/// Dense numbers for names, in order of first appearance.
#[derive(Clone, Default, Debug)]
pub struct Names {
    stored: Vec<Stored>,
    texts: String,
}

impl Names {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// The name with this number.
    pub fn get(&self, index: usize) -> Name<'_> {
        match self.stored[index] {
            Stored::Integer(number) => Name::Integer(number),
            Stored::Text { start, end } => Name::Text(&self.texts[start as usize..end as usize]),
        }
    }

    /// Adds a name without looking whether it is there.
    pub(crate) fn push(&mut self, name: Name<'_>) -> u32 {
        let stored = match name {
            Name::Integer(number) => Stored::Integer(number),
            Name::Text(text) => {
                let start = self.texts.len() as u32;
                self.texts.push_str(text);
                Stored::Text { start, end: u32::try_from(self.texts.len()).expect("less than 4 GiB of names") }
            }
        };
        self.stored.push(stored);
        self.stored.len() as u32 - 1
    }
}

const UNSET: u32 = u32::MAX;

/// [`Names`] that can be found again, while a history is being built.
#[derive(Clone, Default)]
pub struct NameTable {
    names: Names,
    /// Small non-negative integers, which is what most files use: no hashing for those.
    small: Vec<u32>,
    integers: FxHashMap<i64, u32>,
    texts: HashTable<u32>,
}

impl NameTable {
    /// The number of `name`, a new one if it is new.
    pub fn intern(&mut self, name: Name<'_>) -> u32 {
        match name {
            Name::Integer(number) => self.intern_integer(number),
            Name::Text(text) => self.intern_text(text),
        }
    }

    /// The number of `name`, if it was interned.
    pub fn find(&self, name: Name<'_>) -> Option<u32> {
        match name {
            Name::Integer(number) => match self.small.get(usize::try_from(number).unwrap_or(usize::MAX)) {
                Some(&found) if found != UNSET => Some(found),
                _ => self.integers.get(&number).copied(),
            },
            Name::Text(text) => {
                self.texts.find(hash_text(text), |&known| self.names.get(known as usize) == Name::Text(text)).copied()
            }
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

    fn intern_integer(&mut self, number: i64) -> u32 {
        // The table may be four times as sparse as it is full; beyond that a hash map costs less memory.
        let limit = 4 * self.names.len() + 4096;
        match usize::try_from(number) {
            Ok(small) if small < self.small.len() && self.small[small] != UNSET => self.small[small],
            Ok(small) if small < limit && !self.integers.contains_key(&number) => {
                if small >= self.small.len() {
                    self.small.resize((small + 1).next_power_of_two().min(limit), UNSET);
                }
                self.small[small] = self.names.push(Name::Integer(number));
                self.small[small]
            }
            _ => *self.integers.entry(number).or_insert_with(|| self.names.push(Name::Integer(number))),
        }
    }

    fn intern_text(&mut self, text: &str) -> u32 {
        let hash = hash_text(text);
        let names = &mut self.names;
        if let Some(&known) = self.texts.find(hash, |&known| names.get(known as usize) == Name::Text(text)) {
            return known;
        }
        let index = names.push(Name::Text(text));
        self.texts.insert_unique(hash, index, |&known| match names.get(known as usize) {
            Name::Text(text) => hash_text(text),
            Name::Integer(_) => unreachable!("the text table holds texts only"),
        });
        index
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
