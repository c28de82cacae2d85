//! Sets of transactions as one word, and the numbers that are in them.
//!
//! A program that can be explored to its end has tens of transactions, not hundreds. So a transaction is a small number, its place in the
//! oracle order, and a set of them is 128 bits: the questions of the search (who is causally before, who writes this key) are a few
//! machine instructions each.
//!
//! ```text
//!   session a: t1 t2      session b: t3        numbers 1 2 | 3;  0 is t0, which is in no set: it is before everything
//! ```

use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// The number of a transaction: its place in the oracle order, from 1.
pub(crate) type Number = u8;

/// t0, which wrote the initial state.
pub(crate) const INITIAL: Number = 0;

/// So many transactions a program may have.
pub(crate) const MOST_TRANSACTIONS: usize = 127;

/// A set of transactions other than t0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub(crate) struct Set(u128);

impl Set {
    pub(crate) const EMPTY: Set = Set(0);

    /// The set of one; t0 is in no set.
    pub(crate) fn only(number: Number) -> Set {
        if number == INITIAL { Set::EMPTY } else { Set(1 << number) }
    }

    pub(crate) fn contains(self, number: Number) -> bool {
        self.0.checked_shr(number.into()).is_some_and(|rest| rest & 1 == 1)
    }

    pub(crate) fn insert(&mut self, number: Number) {
        *self |= Set::only(number);
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The same as words.
    pub(crate) fn words(self) -> [u32; 4] {
        [0, 32, 64, 96].map(|shift| (self.0 >> shift) as u32)
    }

    /// The numbers in it, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = Number> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros() as Number)?;
            rest &= rest - 1;
            Some(next)
        })
    }
}

impl BitOr for Set {
    type Output = Set;

    fn bitor(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }
}

impl BitOrAssign for Set {
    fn bitor_assign(&mut self, other: Set) {
        self.0 |= other.0;
    }
}

impl BitAnd for Set {
    type Output = Set;

    fn bitand(self, other: Set) -> Set {
        Set(self.0 & other.0)
    }
}

impl Sub for Set {
    type Output = Set;

    fn sub(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }
}

impl FromIterator<Number> for Set {
    fn from_iter<I: IntoIterator<Item = Number>>(numbers: I) -> Set {
        numbers.into_iter().fold(Set::EMPTY, |set, number| set | Set::only(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in_except_the_initial_transaction() {
        let set: Set = [5, INITIAL, 127, 1].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 5, 127]);
        assert!(set.contains(127) && !set.contains(INITIAL) && !set.contains(2));
        assert!(!set.contains(129), "a number that no transaction has, from a file that was changed by hand");
        assert_eq!((set - Set::only(5)).iter().collect::<Vec<_>>(), [1, 127]);
        assert!((set & Set::only(2)).is_empty() && Set::EMPTY.is_empty());
    }
}
