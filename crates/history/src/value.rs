//! Values in eight bytes.
//!
//! A history of a million transactions has tens of millions of values, nearly all of them small integers. So a [`Value`] is
//! one word: its low two bits say what the rest is.
//!
//! ```text
//!   …………………… 00   an integer of 62 bits
//!   …… index 01   a scalar of the pool: text, real, boolean, an integer of more than 62 bits
//!   …… index 10   a list of the pool (what a read of an append-only list returned)
//!   …………………… 11   absent, or found: something that is not known
//! ```
//!
//! Scalars are interned, so two values are equal exactly when their words are; lists are not interned and are compared by
//! content. Everything but the word itself lives in the pool, [`Values`], which the history owns.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

/// One value of one key; read it through [`Values::view`] or the history that holds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u64);

const INTEGER: u64 = 0b00;
const SCALAR: u64 = 0b01;
const LIST: u64 = 0b10;
const ABSENT: u64 = 0b011;
const FOUND: u64 = 0b111;

impl Value {
    /// The key does not exist: the initial state of every key that is not given one, and what a delete writes.
    pub const ABSENT: Value = Value(ABSENT);

    /// A row was there, and what is in it is not known: what a read returned of which a client learnt no more than that. Nothing writes it.
    pub const FOUND: Value = Value(FOUND);

    /// The integer, when it fits 62 bits; others are made by [`Values::integer`].
    pub const fn small_integer(number: i64) -> Option<Value> {
        let word = number << 2;
        if word >> 2 == number { Some(Value(word as u64)) } else { None }
    }

    /// Whether this is the absent value.
    pub fn is_absent(self) -> bool {
        self == Value::ABSENT
    }

    /// Whether this is something of which only its presence is known.
    pub fn is_found(self) -> bool {
        self == Value::FOUND
    }

    /// Whether this is a list.
    pub fn is_list(self) -> bool {
        self.0 & 0b11 == LIST
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 & 0b11 {
            INTEGER => write!(out, "{}", self.0 as i64 >> 2),
            SCALAR => write!(out, "scalar#{}", self.0 >> 2),
            LIST => write!(out, "list#{}", self.0 >> 2),
            _ => out.write_str(if self.is_found() { "found" } else { "absent" }),
        }
    }
}

/// A value, opened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ValueView<'a> {
    /// The key does not exist.
    Absent,
    /// The key exists, and nothing else is known.
    Found,
    /// An integer of at most 64 bits, signed or unsigned.
    Integer(i128),
    /// A number with a fraction.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// A truth value.
    Boolean(bool),
    /// The elements of a list, first appended first.
    List(&'a [Value]),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Scalar {
    Integer(i128),
    Real(u64),
    Text(Box<str>),
    Boolean(bool),
}

impl Scalar {
    /// Texts hash as they do without being made a scalar.
    fn hash(&self) -> u64 {
        match self {
            Scalar::Text(text) => hash(&**text),
            other => hash(other),
        }
    }
}

fn hash(thing: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = FxHasher::default();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// The pool that holds what does not fit into the word.
#[derive(Clone, Default, Debug)]
pub struct Values {
    scalars: Vec<Scalar>,
    known: HashTable<u32>,
    list_ends: Vec<usize>,
    elements: Vec<Value>,
    overflown: bool,
}

/// Scalars and elements of lists are counted in 32 bits.
const MOST: usize = u32::MAX as usize;

impl Values {
    /// An integer of 64 bits, signed or unsigned.
    pub fn integer(&mut self, number: impl Into<i128>) -> Value {
        let number = number.into();
        i64::try_from(number)
            .ok()
            .and_then(Value::small_integer)
            .unwrap_or_else(|| self.scalar(Scalar::Integer(number)))
    }

    /// A number with a fraction. One without, such as `2.0`, is the integer: both spell the same value.
    pub fn real(&mut self, number: f64) -> Value {
        if number.fract() == 0.0 && number.abs() < 9e15 {
            return self.integer(number as i64);
        }
        self.scalar(Scalar::Real(number.to_bits()))
    }

    /// A text.
    pub fn text(&mut self, text: &str) -> Value {
        let is_it = |scalar: &Scalar| matches!(scalar, Scalar::Text(known) if **known == *text);
        self.intern(hash(text), is_it, || Scalar::Text(text.into()))
    }

    /// A truth value.
    pub fn boolean(&mut self, truth: bool) -> Value {
        self.scalar(Scalar::Boolean(truth))
    }

    /// A list of values, first appended first.
    pub fn list(&mut self, elements: impl IntoIterator<Item = Value>) -> Value {
        self.elements.extend(elements);
        self.list_ends.push(self.elements.len());
        Value((self.list_ends.len() as u64 - 1) << 2 | LIST)
    }

    fn scalar(&mut self, scalar: Scalar) -> Value {
        self.intern(scalar.hash(), |known| *known == scalar, || scalar.clone())
    }

    /// The value of a scalar that is made only if it is not known: a text that is known needs no copy.
    fn intern(&mut self, hash: u64, is_it: impl Fn(&Scalar) -> bool, make: impl Fn() -> Scalar) -> Value {
        let scalars = &self.scalars;
        let found = self.known.find(hash, |&known| is_it(&scalars[known as usize])).copied();
        let index = found.unwrap_or_else(|| {
            let Some(index) = u32::try_from(self.scalars.len()).ok().filter(|&index| index < u32::MAX) else {
                self.overflown = true;
                return 0;
            };
            self.scalars.push(make());
            let scalars = &self.scalars;
            self.known.insert_unique(hash, index, |&known| scalars[known as usize].hash());
            index
        });
        Value(u64::from(index) << 2 | SCALAR)
    }

    /// Whether there were more values than can be kept. Those that came last mean nothing then.
    pub(crate) fn is_overflown(&self) -> bool {
        self.overflown || self.elements.len() > MOST
    }

    /// Opens a value that this pool made.
    pub fn view(&self, value: Value) -> ValueView<'_> {
        let index = (value.0 >> 2) as usize;
        match value.0 & 0b11 {
            INTEGER => ValueView::Integer(i128::from(value.0 as i64 >> 2)),
            SCALAR => match &self.scalars[index] {
                Scalar::Integer(number) => ValueView::Integer(*number),
                Scalar::Real(bits) => ValueView::Real(f64::from_bits(*bits)),
                Scalar::Text(text) => ValueView::Text(text),
                Scalar::Boolean(truth) => ValueView::Boolean(*truth),
            },
            LIST => ValueView::List(self.elements_of(index)),
            _ if value.is_found() => ValueView::Found,
            _ => ValueView::Absent,
        }
    }

    /// The elements of a list; of anything else none.
    pub fn elements(&self, value: Value) -> &[Value] {
        if value.is_list() { self.elements_of((value.0 >> 2) as usize) } else { &[] }
    }

    fn elements_of(&self, index: usize) -> &[Value] {
        let start = index.checked_sub(1).map_or(0, |previous| self.list_ends[previous]);
        &self.elements[start..self.list_ends[index]]
    }

    /// Drops the table that finds scalars again: what is built is only read.
    pub(crate) fn freeze(mut self) -> Values {
        self.known = HashTable::new();
        self.scalars.shrink_to_fit();
        self.elements.shrink_to_fit();
        self
    }

    /// Shows a value as the notation writes it: `init` is for the caller, absent is `nil`.
    pub fn show(&self, value: Value) -> ShownValue<'_> {
        ShownValue { values: self, value }
    }
}

/// A value on its way to text.
#[derive(Clone, Copy)]
pub struct ShownValue<'a> {
    values: &'a Values,
    value: Value,
}

impl fmt::Display for ShownValue<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.values.view(self.value) {
            ValueView::Absent => out.write_str("nil"),
            ValueView::Found => out.write_str("found"),
            ValueView::Integer(number) => write!(out, "{number}"),
            ValueView::Real(number) => write!(out, "{number}"),
            ValueView::Text(text) => write!(out, "{text:?}"),
            ValueView::Boolean(truth) => write!(out, "{truth}"),
            ValueView::List(elements) => {
                out.write_str("[")?;
                for (place, element) in elements.iter().enumerate() {
                    if place > 0 {
                        out.write_str(" ")?;
                    }
                    write!(out, "{}", self.values.show(*element))?;
                }
                out.write_str("]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_all_sizes_come_back() {
        let mut values = Values::default();
        for number in [0, 1, -1, i128::from(i64::MIN), i128::from(i64::MAX), i128::from(u64::MAX), 1 << 61, -(1 << 61)]
        {
            let value = values.integer(number);
            assert_eq!(values.view(value), ValueView::Integer(number));
        }
    }

    #[test]
    fn equal_scalars_are_equal_words_and_lists_keep_their_order() {
        let mut values = Values::default();
        assert_eq!(values.text("a"), values.text("a"));
        assert_eq!(values.real(2.0), values.integer(2));
        let (one, two) = (values.integer(1), values.integer(2));
        let empty = values.list([]);
        let both = values.list([two, one]);
        assert_eq!(values.elements(empty), []);
        assert_eq!(values.show(both).to_string(), "[2 1]");
    }
}
