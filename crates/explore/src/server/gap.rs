//! The gaps of InnoDB: keys that are not there, and that nobody else may insert.
//!
//! ```text
//!   records of an index   10          20          30          end
//!   gaps                      (10, 20)    (20, 30)    (30, end)      who looks for 15 has all of (10, 20), 11 and 19 included
//! ```
//!
//! A gap lies between two records that are there when it is taken. One that is inserted into it later by who holds it, or a record at its end
//! that goes, changes nothing for others: what could not be inserted still cannot. So a gap is kept as its two ends, and only grows when the
//! record at one of them goes.
//!
//! A program of keys and values has no order of keys, so that its gaps are single keys, or ranges as they were asked for.

use skew_sql::{KeyRange, RowKey, SpaceId};

/// Keys that nobody else may insert.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Gap {
    /// This one.
    Only(RowKey),
    /// All of a range.
    Range(KeyRange),
    /// Those between two records of a space, without them; nothing stands for the end of the space.
    Between { space: SpaceId, low: Option<RowKey>, high: Option<RowKey> },
}

impl Gap {
    /// Whether it keeps a key from being inserted.
    pub(crate) fn contains(&self, key: &RowKey) -> bool {
        match self {
            Gap::Only(only) => only == key,
            Gap::Range(range) => range.contains(key),
            Gap::Between { space, low, high } => {
                *space == key.space
                    && low.as_ref().is_none_or(|low| low < key)
                    && high.as_ref().is_none_or(|high| key < high)
            }
        }
    }

    /// Whether it has to do with a key: it contains it, or ends with it.
    pub(crate) fn meets(&self, key: &RowKey) -> bool {
        let ends = |end: &Option<RowKey>| end.as_ref() == Some(key);
        self.contains(key) || matches!(self, Gap::Between { low, high, .. } if ends(low) || ends(high))
    }

    /// A record at one of its ends has gone: it reaches to the next one.
    pub(crate) fn grow(&mut self, gone: &RowKey, around: &(Option<RowKey>, Option<RowKey>)) {
        if let Gap::Between { low, high, .. } = self {
            if low.as_ref() == Some(gone) {
                low.clone_from(&around.0);
            }
            if high.as_ref() == Some(gone) {
                high.clone_from(&around.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_sql::KeyPart;

    fn key(number: i128) -> RowKey {
        RowKey { space: SpaceId(1), parts: [KeyPart::Number(number)].into() }
    }

    #[test]
    fn a_gap_has_what_lies_between_its_ends_and_grows_when_one_of_them_goes() {
        let mut gap = Gap::Between { space: SpaceId(1), low: Some(key(10)), high: Some(key(20)) };
        assert!(gap.contains(&key(11)) && gap.contains(&key(19)));
        assert!(!gap.contains(&key(10)) && !gap.contains(&key(20)) && gap.meets(&key(20)) && !gap.meets(&key(21)));
        gap.grow(&key(20), &(Some(key(10)), None));
        assert!(gap.contains(&key(20)) && gap.contains(&key(99)));
        gap.grow(&key(15), &(None, None));
        assert!(!gap.contains(&key(9)));
    }
}
