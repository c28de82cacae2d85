//! What a range read covers.
//!
//! A scan of `item/` that listed `item/3` read *every* key of the history that starts with `item/`: the listed ones as listed,
//! the others as absent. So a phantom is an ordinary anomaly, and no rule about predicates is needed:
//!
//! ```text
//!   scan(item/: item/3=7)      in a history that also has item/1 and item/4
//!   r(item/1,nil) r(item/3,7) r(item/4,nil)
//! ```
//!
//! Keys are read in ascending order, which matters at read-committed only. Bounds are on the part of the key that follows the prefix,
//! up to the next `/`, because the keys of an index are `item@price/30/7`. Keys with a `#` are cells of a row, which no scan covers.
//!
//! Whoever runs the scan and whoever reads the file ask the same functions here; the builder turns scans into reads.

use crate::name::Name;
use std::cmp::Ordering;

/// Whether the next part of a key, up to its next `/`, lies between bounds, both of which are inside.
pub(crate) fn within(rest: &str, low: Option<Name<'_>>, high: Option<Name<'_>>) -> bool {
    let part = rest.split('/').next().unwrap_or_default();
    // Both bounds are numbers: so is what they bound.
    if let (Some(Name::Integer(low)), Some(Name::Integer(high))) = (low, high) {
        return matches!(Name::from(part), Name::Integer(part) if (low..=high).contains(&part));
    }
    low.is_none_or(|low| part >= low.to_string().as_str()) && high.is_none_or(|high| part <= high.to_string().as_str())
}

/// Whether a scan of this prefix, with these bounds on the part that follows it, covers a key.
pub fn covers(key: &str, prefix: &str, low: Option<Name<'_>>, high: Option<Name<'_>>) -> bool {
    match key.strip_prefix(prefix) {
        Some(rest) => !key.contains('#') && within(rest, low, high),
        None => false,
    }
}

/// Part by part, integers by size and before texts, texts by their letters: `item/9` before `item/10`, `item/9/b` between them.
pub fn ascending(a: &str, b: &str) -> Ordering {
    a.split('/').map(Name::from).cmp(b.split('/').map(Name::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_on_the_next_part_of_the_key() {
        let bounds = |low, high| (Some(Name::from(low)), Some(Name::from(high)));
        let (low, high) = bounds("9", "30");
        for inside in ["i/9", "i/10", "i/10/5", "i/30/7", "i/30/a"] {
            assert!(covers(inside, "i/", low, high), "{inside}");
        }
        for outside in ["i/8", "i/31/9", "i/a", "i/10#c", "j/10", "i/1/10"] {
            assert!(!covers(outside, "i/", low, high), "{outside}");
        }
        let (low, high) = bounds("b", "d");
        assert!(covers("i/d/9", "i/", low, high) && covers("i/c", "i/", low, high) && covers("i/10", "i/", None, high));
        assert!(!covers("i/da", "i/", low, high) && !covers("i/a/c", "i/", low, high));
    }

    #[test]
    fn keys_ascend_part_by_part() {
        let mut keys = ["10/1", "9", "9/b", "9/10", "9/9", "a", "-3"];
        keys.sort_by(|a, b| ascending(a, b));
        assert_eq!(keys, ["-3", "9", "9/9", "9/10", "9/b", "10/1", "a"]);
    }
}
