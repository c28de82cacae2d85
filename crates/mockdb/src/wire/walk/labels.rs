//! How transactions are called, so that one run can say of another's which it means.
//!
//! ```text
//!   3fa9.1   the first transaction that begins with "SELECT places FROM course WHERE id = $1 [7]"
//!   3fa9.2   the second one                          3fa9.2.1   its second step
//! ```
//!
//! A pool gives any connection to anybody, so a connection says nothing of who asks; what is asked first says more. Of those that ask the same
//! the first to come is the first; who they are does not matter where they go on alike, and where they do not, the runs tell.

use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// A transaction by what it asks first, and how many asked the same before it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TransactionLabel {
    asks: u16,
    number: u32,
}

impl TransactionLabel {
    /// A step of it, from 0.
    pub(crate) fn step(&self, number: u32) -> String {
        format!("{:04x}.{}.{number}", self.asks, self.number)
    }
}

/// What stands for a question: its text, its values and the name of who asks.
pub(crate) fn question(text: &str, values: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    text.hash(&mut hasher);
    values.hash(&mut hasher);
    // The last bits of this hash are its weakest.
    hasher.finish().rotate_left(20)
}

/// The transactions that have begun.
#[derive(Clone, Default, Debug)]
pub(crate) struct Labels {
    begun: BTreeMap<u16, u32>,
}

impl Labels {
    /// A transaction that begins with this question.
    pub(crate) fn begin(&mut self, question: u64) -> TransactionLabel {
        let asks = question as u16;
        let number = self.begun.entry(asks).or_default();
        *number += 1;
        TransactionLabel { asks, number: *number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_that_ask_the_same_are_numbered() {
        let mut labels = Labels::default();
        let (one, other) = (question("SELECT 1", &[1]), question("SELECT 1", &[2]));
        assert_ne!(one as u16, other as u16);
        let begun = [labels.begin(one), labels.begin(other), labels.begin(one)];
        assert_eq!(begun.map(|label| label.number), [1, 1, 2]);
        assert_eq!(Labels::default().begin(one).step(3), format!("{:04x}.1.3", one as u16));
    }
}
