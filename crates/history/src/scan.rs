//! Range reads become plain reads.
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
//! A scan may leave keys out. `UPDATE item … WHERE price < 5` looks for rows without looking at those that it locks: what it read of these
//! is the version under the lock, an event of its own.

use crate::builder::{HistoryBuilder, PendingClaim, Place, Problem, Refusal, ScanSpec, ScannedKey};
use crate::history::{Action, Event, KeyId};
use crate::name::{Name, NameTable};
use crate::value::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Which deletion stands for a key's absence from here on.
pub(crate) struct Seal {
    /// Keys and the ids of the transactions that deleted them.
    pub(crate) deletions: Vec<(u32, u32)>,
    pub(crate) place: Place,
}

/// A bound on the rest of a key, owned.
#[derive(Clone, PartialEq, Eq)]
enum Bound {
    Number(i64),
    Text(Box<str>),
}

impl Bound {
    fn new(name: Name<'_>) -> Bound {
        match name {
            Name::Integer(number) => Bound::Number(number),
            Name::Text(text) => Bound::Text(text.into()),
        }
    }

    fn name(&self) -> Name<'_> {
        match self {
            Bound::Number(number) => Name::Integer(*number),
            Bound::Text(text) => Name::Text(text),
        }
    }
}

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

/// A scan that waits until all keys of the history are known.
pub(crate) struct PendingScan {
    /// It stands before this event.
    pub(crate) before_event: u32,
    pub(crate) prefix: Box<str>,
    low: Option<Bound>,
    high: Option<Bound>,
    sealed: usize,
    locking: bool,
    except: Box<[Box<str>]>,
    pub(crate) note: Option<Box<str>>,
    /// Sorted by key.
    listed: Vec<Listed>,
    place: Place,
}

struct Listed {
    key: KeyId,
    value: Value,
    claim: Option<PendingClaim>,
}

/// A read that a scan becomes.
pub(crate) struct ScanRead {
    pub(crate) event: Event,
    pub(crate) claim: Option<(PendingClaim, Place)>,
}

impl PendingScan {
    pub(crate) fn new(
        builder: &mut HistoryBuilder,
        spec: ScanSpec<'_>,
        listed: &[ScannedKey<'_>],
    ) -> Result<PendingScan, Refusal> {
        let mut scan = PendingScan {
            before_event: builder.event_total(),
            prefix: spec.prefix.into(),
            low: spec.low.map(Bound::new),
            high: spec.high.map(Bound::new),
            sealed: spec.sealed.unwrap_or(builder.seal_total()),
            locking: spec.locking,
            except: spec.except.iter().map(|&key| key.into()).collect(),
            note: spec.note.map(Box::from),
            listed: Vec::with_capacity(listed.len()),
            place: builder.refuse(Problem::Empty).place,
        };
        for read in listed {
            if scan.leaves_out(read.key) {
                return Err(builder.refuse(Problem::malformed(
                    format!("the scan of {:?} lists key {:?} and leaves it out", spec.prefix, read.key),
                    "a key of `except` was not read by the scan: take it out of one of the two",
                )));
            }
            if !scan.covers(read.key) {
                return Err(builder.refuse(Problem::malformed(
                    format!("the scan of {:?} lists key {:?}, which is not in its range", spec.prefix, read.key),
                    "a listed key starts with the scan's prefix, lies within its bounds and has no `#`",
                )));
            }
            let claim = read.writer.map(|writer| builder.pending(writer));
            let key = builder.key(read.key);
            scan.listed.push(Listed { key, value: read.value, claim });
        }
        scan.listed.sort_by_key(|listed| listed.key.0);
        if let Some(twice) = scan.listed.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(builder.refuse(Problem::malformed(
                format!("the scan of {:?} lists key {:?} twice", spec.prefix, builder.key_name(twice[0].key)),
                "list every key that a scan saw once",
            )));
        }
        Ok(scan)
    }

    /// Where the scan stands in the input.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    fn covers(&self, key: &str) -> bool {
        covers(key, &self.prefix, self.low.as_ref().map(Bound::name), self.high.as_ref().map(Bound::name))
    }

    fn leaves_out(&self, key: &str) -> bool {
        self.except.iter().any(|except| **except == *key)
    }

    /// The reads that this scan is.
    pub(crate) fn expand(&self, range_keys: &RangeKeys, names: &NameTable, seals: &[Seal]) -> Vec<ScanRead> {
        let covered = range_keys.of(&self.prefix).iter().copied();
        let read = covered.filter(|key| {
            let name = names.get(key.index()).to_string();
            self.covers(&name) && !self.leaves_out(&name)
        });
        read.map(|key| self.read_of(key, seals)).collect()
    }

    fn read_of(&self, key: KeyId, seals: &[Seal]) -> ScanRead {
        let listed = self.listed.binary_search_by_key(&key.0, |listed| listed.key.0).ok();
        let listed = listed.map(|place| &self.listed[place]);
        let value = listed.map_or(Value::ABSENT, |listed| listed.value);
        let claim = match listed {
            Some(listed) => listed.claim.map(|claim| (claim, self.place)),
            None => sealed_deletion(&seals[..self.sealed.min(seals.len())], key),
        };
        let event = Event { value, key, action: Action::Read, locking: self.locking, scanned: true };
        ScanRead { event, claim }
    }
}

fn sealed_deletion(seals: &[Seal], key: KeyId) -> Option<(PendingClaim, Place)> {
    seals.iter().rev().find_map(|seal| {
        let (_, id) = seal.deletions.iter().find(|deletion| deletion.0 == key.0)?;
        Some((PendingClaim::Named(*id), seal.place))
    })
}

/// For every prefix that is scanned, the keys that start with it, ascending.
pub(crate) struct RangeKeys {
    of_prefix: BTreeMap<Box<str>, Vec<KeyId>>,
}

impl RangeKeys {
    pub(crate) fn new(scans: &[PendingScan], names: &NameTable) -> RangeKeys {
        let mut of_prefix: BTreeMap<Box<str>, Vec<KeyId>> = BTreeMap::new();
        if scans.is_empty() {
            return RangeKeys { of_prefix };
        }
        let mut sorted: Vec<(String, KeyId)> =
            (0..names.len()).map(|key| (names.get(key).to_string(), KeyId(key as u32))).collect();
        sorted.sort_unstable();
        for scan in scans {
            of_prefix.entry(scan.prefix.clone()).or_insert_with(|| {
                let from = sorted.partition_point(|(name, _)| name.as_str() < &*scan.prefix);
                let inside = sorted[from..].iter().take_while(|(name, _)| name.starts_with(&*scan.prefix));
                let mut keys: Vec<&(String, KeyId)> = inside.collect();
                keys.sort_by(|a, b| ascending(&a.0[scan.prefix.len()..], &b.0[scan.prefix.len()..]));
                keys.into_iter().map(|(_, key)| *key).collect()
            });
        }
        RangeKeys { of_prefix }
    }

    fn of(&self, prefix: &str) -> &[KeyId] {
        self.of_prefix.get(prefix).map_or(&[], Vec::as_slice)
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
