//! Values that would depend on the order of runs, as functions of a place in the program instead.
//!
//! Whoever runs a program again and again, in other orders, needs every transaction to be a function of what it reads. So what a sequence
//! hands out, which key a row without one gets, clocks and random numbers are told by where they were asked for:
//!
//! ```text
//!   transaction 2 asks a sequence, which stood at 7, for the first and the second time      7 + 1 + 2000, 7 + 1 + 2001
//! ```

use crate::storage::{KeyPart, SequenceRule};
use skew_value::SqlError;

/// The first of January 2024, in microseconds since 1970: when time begins unless somebody says otherwise.
pub const EPOCH: i64 = 1_704_067_200_000_000;
/// A second, in microseconds.
pub const SECOND: i64 = 1_000_000;

/// So many values of a sequence, and generated keys of a table, a transaction has to itself.
const VALUES_EACH: i64 = 1_000;

/// The place of a value among those of all transactions: of the transaction with a number, which has asked so often before.
pub fn place(transaction: i64, asked_before: i64) -> Result<i64, SqlError> {
    if asked_before >= VALUES_EACH {
        let construct = format!("a transaction that takes more than {VALUES_EACH} values of one sequence");
        return Err(SqlError::unsupported(construct));
    }
    Ok(transaction * VALUES_EACH + asked_before)
}

/// The value at a place of a sequence that stood somewhere before the first transaction.
pub fn sequence_value(rule: &SequenceRule, stood: Option<(i64, bool)>, place: i64) -> Result<i64, SqlError> {
    let first = rule.next(stood)?;
    let value = place.checked_mul(rule.increment).and_then(|step| first.checked_add(step));
    let value = value.filter(|value| (rule.least..=rule.greatest).contains(value));
    value.ok_or_else(|| SqlError::unsupported("a sequence that has no thousand values for each transaction"))
}

/// The key at a place of a table in which so many were given out before the first transaction.
pub fn fresh_key(given_out: Option<i128>, place: i64) -> KeyPart {
    KeyPart::Number(given_out.unwrap_or_default() + 1 + i128::from(place))
}

/// SplitMix64: the number with this place in the stream of a seed. Small, and the same in every run.
pub fn random(seed: u64, place: u64) -> u64 {
    let state = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_transactions_have_the_same_place() {
        assert_eq!((place(0, 999), place(1, 0)), (Ok(999), Ok(1000)));
        assert!(place(1, 1000).is_err());
    }

    #[test]
    fn random_numbers_are_those_of_the_published_generator() {
        assert_eq!([random(0, 0), random(0, 1)], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }
}
