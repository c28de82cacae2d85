//! Range reads that wait until all keys of the history are known, and then become plain reads ([`crate::scan`] says of which keys).
//!
//! A scan may leave keys out. `UPDATE item … WHERE price < 5` looks for rows without looking at those that it locks: what it read of these
//! is the version under the lock, an event of its own.

use super::{HistoryBuilder, PendingClaim, Place, Problem, Refusal, ScanSpec, ScannedKey};
use crate::history::{Action, Event, KeyId};
use crate::name::{Name, NameTable};
use crate::scan::{ascending, covers};
use crate::statement::Asked;
use crate::value::Value;
use std::collections::BTreeMap;

/// Which deletion stands for a key's absence from here on.
pub(super) struct Seal {
    /// Keys and the ids of the transactions that deleted them.
    pub(super) deletions: Vec<(u32, u32)>,
    pub(super) place: Place,
}

/// A bound on the rest of a key, owned.
#[derive(Clone, PartialEq, Eq)]
enum OwnedBound {
    Number(i64),
    Text(Box<str>),
}

impl OwnedBound {
    fn new(name: Name<'_>) -> OwnedBound {
        match name.canonical() {
            Name::Integer(number) => OwnedBound::Number(number),
            Name::Text(text) => OwnedBound::Text(text.into()),
        }
    }

    fn name(&self) -> Name<'_> {
        match self {
            OwnedBound::Number(number) => Name::Integer(*number),
            OwnedBound::Text(text) => Name::Text(text),
        }
    }
}

/// A scan that waits until all keys of the history are known.
pub(super) struct PendingScan {
    /// It stands before this event.
    pub(super) before_event: u32,
    pub(super) prefix: Box<str>,
    low: Option<OwnedBound>,
    high: Option<OwnedBound>,
    sealed: usize,
    locking: bool,
    except: Box<[Box<str>]>,
    pub(super) note: Option<Box<str>>,
    pub(super) asked: Asked,
    /// Sorted by key.
    listed: Vec<ListedRead>,
    place: Place,
}

struct ListedRead {
    key: KeyId,
    value: Value,
    claim: Option<PendingClaim>,
}

/// A read that a scan becomes.
pub(super) struct ScanRead {
    pub(super) event: Event,
    pub(super) claim: Option<(PendingClaim, Place)>,
}

impl PendingScan {
    pub(super) fn new(
        builder: &mut HistoryBuilder,
        spec: ScanSpec<'_>,
        listed: &[ScannedKey<'_>],
    ) -> Result<PendingScan, Refusal> {
        builder.next_statement(spec.asked.statement)?;
        let mut scan = PendingScan {
            before_event: builder.event_total(),
            prefix: spec.prefix.into(),
            low: spec.low.map(OwnedBound::new),
            high: spec.high.map(OwnedBound::new),
            sealed: spec.sealed.unwrap_or(builder.seal_total()),
            locking: spec.locking,
            except: spec.except.iter().map(|&key| key.into()).collect(),
            note: spec.note.members(),
            asked: spec.asked,
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
            scan.listed.push(ListedRead { key, value: read.value, claim });
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
    pub(super) fn place(&self) -> Place {
        self.place
    }

    fn covers(&self, key: &str) -> bool {
        covers(key, &self.prefix, self.low.as_ref().map(OwnedBound::name), self.high.as_ref().map(OwnedBound::name))
    }

    fn leaves_out(&self, key: &str) -> bool {
        self.except.iter().any(|except| **except == *key)
    }

    /// The reads that this scan is.
    pub(super) fn expand(&self, range_keys: &RangeKeys, names: &NameTable, seals: &[Seal]) -> Vec<ScanRead> {
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
        let event = Event { locking: self.locking, scanned: true, ..Event::new(Action::Read, key, value) };
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
pub(super) struct RangeKeys {
    of_prefix: BTreeMap<Box<str>, Vec<KeyId>>,
}

impl RangeKeys {
    pub(super) fn new(scans: &[PendingScan], names: &NameTable) -> RangeKeys {
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
