//! Sets of transactions of a growing history, by the place they have in it.

use super::node::Slot;

/// A set of transactions, 64 to a word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn insert(&mut self, slot: Slot) {
        let (word, bit) = (slot.index() / 64, slot.index() % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    pub(super) fn contains(&self, slot: Slot) -> bool {
        self.0.get(slot.index() / 64).is_some_and(|word| word >> (slot.index() % 64) & 1 == 1)
    }

    pub(super) fn add(&mut self, other: &Bits) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().enumerate().flat_map(|(place, &word)| members(place, word)).map(Slot::new)
    }
}

/// The numbers in one word of a set.
pub(super) fn members(place: usize, mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            place * 64 + bit as usize
        })
    })
}

impl FromIterator<Slot> for Bits {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Bits {
        let mut bits = Bits::default();
        slots.into_iter().for_each(|slot| bits.insert(slot));
        bits
    }
}
