//! Range reads: every key of a range is read, also those that come into being later.
//!
//! ```text
//!   t1  scan account/ lo 1 hi 9        reads account/3; listed in the file with its writer
//!   t2  INSERT account/5               born: t1's scan covered it, so t1 read its absence, at its place between the others
//! ```
//!
//! What a scan covers is decided by the names of keys, with the very function by which the checker reads the file
//! ([`skew_history::scan::covers`]): the two can never disagree. Where names order otherwise than keys do (a text with a `/` in it, a NULL
//! behind all numbers) a key of the range that its name leaves out is read by itself.
//!
//! A scan that needs only so many rows stops early, at the end of a part: `item@price/30/7` is read together with `item@price/30/9`,
//! because bounds are on parts. A descending one is a row of small scans, from the last part downwards.

use crate::rows::PLAIN;
use crate::store::Store;
use crate::transaction::{Action, Covered, Listed, ScanBound, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_check::{GrowingId, Version};
use skew_history::scan::{ascending, covers};
use skew_history::{KeyId, Name, SessionId};
use skew_sql::rows::{Found, Looked, Scanned};
use skew_sql::{Columns, Fit, Fits, KeyPart, KeyRange, Lock, Patience, Row, RowKey, SpaceId, Stop};
use std::sync::Arc;

/// A scan whose transaction still matters to the level.
#[derive(Debug)]
struct LiveScan {
    covered: Covered,
    /// How many reads its transaction had before it.
    start: usize,
    /// What it read, in ascending order of names, each with how many versions of others it read before; what it left out counts as its own.
    reads: Vec<(Arc<str>, usize)>,
    /// How many versions of others it read.
    external: usize,
    /// Keys that came into being since.
    noticed: FxHashSet<KeyId>,
}

impl LiveScan {
    fn new(covered: Covered, start: usize, mut reads: Vec<(Arc<str>, Source)>) -> LiveScan {
        let prefix = covered.prefix.len();
        // They nearly always are in order already.
        reads.sort_by(|one, other| ascending(&one.0[prefix..], &other.0[prefix..]));
        let mut external = 0;
        let count = |(name, source): (Arc<str>, Source)| {
            let before = external;
            external += usize::from(source != Source::Own);
            (name, before)
        };
        let reads = reads.into_iter().map(count).collect();
        LiveScan { covered, start, reads, external, noticed: FxHashSet::default() }
    }

    /// Where the absence of a key stands among the transaction's reads; nothing if the scan read the key.
    fn place(&self, name: &str) -> Option<usize> {
        let prefix = self.covered.prefix.len();
        let found = self.reads.binary_search_by(|read| ascending(&read.0[prefix..], &name[prefix..]));
        let behind = found.err()?;
        Some(self.start + self.reads.get(behind).map_or(self.external, |read| read.1))
    }
}

/// The scans of all transactions that still matter.
///
/// A join leaves one for each of its rows, so those that may cover a key are found by what its name begins with.
#[derive(Default, Debug)]
pub(crate) struct LiveScans {
    /// By their prefix, up to its last `/`.
    below: FxHashMap<Arc<str>, Vec<(GrowingId, LiveScan)>>,
    /// Where those of a transaction are.
    of: FxHashMap<GrowingId, FxHashSet<Arc<str>>>,
}

impl LiveScans {
    /// A key is born: who read its absence, and where among their reads.
    pub(crate) fn notice(&mut self, key: KeyId, name: &str) -> Vec<(GrowingId, usize)> {
        let mut absent = Vec::new();
        for folder in std::iter::once("").chain(folders(name)) {
            let scans = self.below.get_mut(folder).into_iter().flatten();
            // A key that was buried and is born again may have been read or noticed before: then there is nothing to notice.
            absent.extend(scans.filter_map(|(id, scan)| {
                let place = if scan.covered.covers(name) { scan.place(name)? } else { return None };
                scan.noticed.insert(key).then_some((*id, place))
            }));
        }
        // Of several scans of one transaction the last saw most, and so says all that the others say.
        absent.sort_unstable_by(|one, other| other.cmp(one));
        absent.dedup_by_key(|absent| absent.0);
        absent.reverse();
        absent
    }

    pub(crate) fn remove(&mut self, id: GrowingId) {
        for folder in self.of.remove(&id).into_iter().flatten() {
            if let Some(scans) = self.below.get_mut(&folder) {
                scans.retain(|scan| scan.0 != id);
                if scans.is_empty() {
                    self.below.remove(&folder);
                }
            }
        }
    }

    /// Forgets the scans of transactions that no longer matter.
    pub(crate) fn retain(&mut self, matters: impl Fn(GrowingId) -> bool) {
        let gone: Vec<GrowingId> = self.of.keys().copied().filter(|&id| !matters(id)).collect();
        gone.into_iter().for_each(|id| self.remove(id));
    }

    fn add(&mut self, id: GrowingId, scan: LiveScan) {
        let folder: Arc<str> = folders(&scan.covered.prefix).last().unwrap_or("").into();
        self.of.entry(id).or_default().insert(Arc::clone(&folder));
        self.below.entry(folder).or_default().push((id, scan));
    }
}

/// What a name begins with, up to each `/` of it: `a/` and `a/7/` of `a/7/x`.
fn folders(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').map(|(place, _)| &name[..=place])
}

impl ScanBound {
    fn name(&self) -> Name<'_> {
        match self {
            ScanBound::Number(number) => Name::Integer(*number),
            // As the reader of the file sees it: a text that spells an integer is one.
            ScanBound::Text(text) => Name::from(&**text),
        }
    }
}

impl Covered {
    pub(crate) fn covers(&self, name: &str) -> bool {
        let (low, high) = (self.low.as_ref().map(ScanBound::name), self.high.as_ref().map(ScanBound::name));
        covers(name, &self.prefix, low, high)
    }

    fn with(&self, low: Option<ScanBound>, high: Option<ScanBound>) -> Covered {
        Covered { prefix: Arc::clone(&self.prefix), low, high }
    }

    /// The bounds as numbers, both or neither given; nothing when a bound is a text.
    fn numbers(&self) -> Option<(i64, i64)> {
        match (&self.low, &self.high) {
            (None, None) => Some((i64::MIN, i64::MAX)),
            (Some(ScanBound::Number(low)), Some(ScanBound::Number(high))) => Some((*low, *high)),
            _ => None,
        }
    }
}

/// A key that may lie in a range.
#[derive(Clone)]
struct Candidate {
    key: KeyId,
    name: Arc<str>,
    /// Its next part.
    part: KeyPart,
    /// Whether it lies in the range, by its parts.
    inside: bool,
}

/// What a scan has found so far.
#[derive(Default)]
struct Harvest {
    /// The rows of the range, or, of a scan that seeks, what it found there.
    rows: Vec<(RowKey, Row)>,
    found: Vec<(RowKey, Found)>,
    /// How many of them count for the limit.
    count: usize,
}

/// How a scan reads.
struct Scanning<'scan, 'fits> {
    covered: &'scan Covered,
    /// Which rows it seeks, if it does.
    fits: Option<&'scan mut Fits<'fits>>,
    limit: Option<usize>,
    harvest: Harvest,
}

impl Store {
    /// The rows of a range, in the order of their keys.
    pub fn scan(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        columns: &Columns,
    ) -> Result<Vec<(RowKey, Row)>, Stop> {
        if self.transaction(session)?.loading {
            return self.loaded(session, range, columns);
        }
        let found =
            self.remembering(session, (Lock::None, Patience::Wait), |memory, asked| memory.range(range, false, asked))?;
        self.with_cells(session, range.space, found, columns)
    }

    fn with_cells(
        &mut self,
        session: SessionId,
        space: SpaceId,
        found: Vec<(RowKey, Row)>,
        columns: &Columns,
    ) -> Result<Vec<(RowKey, Row)>, Stop> {
        if !self.has_cells(space) {
            return Ok(found);
        }
        let cells = |(row, _): (RowKey, Row)| {
            let cells = self.cells(session, &row, columns, Lock::None, false)?;
            Ok((row, cells))
        };
        found.into_iter().map(cells).collect()
    }

    fn loaded(&mut self, session: SessionId, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        let keys = self.keys.from(range.space, &range.prefix, range.low.as_ref());
        let keys = keys.map(|(_, key)| key).filter(|key| range.contains(self.keys.row_of(*key)));
        let row = |key: KeyId| Some((self.keys.row_of(key).clone(), self.versions.initial(key)?.clone()));
        let mut found: Vec<(RowKey, Row)> = keys.filter_map(row).collect();
        if range.descending {
            found.reverse();
        }
        found.truncate(range.limit.unwrap_or(usize::MAX));
        self.with_cells(session, range.space, found, columns)
    }

    /// Reads a range of which nothing is known.
    pub(crate) fn scan_anew(&mut self, session: SessionId, range: &KeyRange) -> Result<Scanned, Stop> {
        let (harvest, read) = self.scan_range(session, range, None)?;
        Ok(Scanned { rows: harvest.rows, read: Some(read) })
    }

    /// Looks for rows to lock in a range of which nothing is known: passes over what does not fit, and leaves the rest to be locked.
    pub(crate) fn look_anew(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        fits: &mut Fits<'_>,
    ) -> Result<Looked, Stop> {
        let (harvest, read) = self.scan_range(session, range, Some(fits))?;
        Ok(Looked { found: harvest.found, read: Some(read) })
    }

    /// What a scan found, and the range that it read whole.
    fn scan_range(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        fits: Option<&mut Fits<'_>>,
    ) -> Result<(Harvest, KeyRange), Stop> {
        let covered = self.covered(range);
        let (mut named, alone) = self.candidates(range, &covered);
        let prefix = covered.prefix.len();
        named.sort_by(|a, b| ascending(&a.name[prefix..], &b.name[prefix..]));
        let limit = range.limit.filter(|_| alone.is_empty());
        let mut scanning = Scanning { covered: &covered, fits, limit, harvest: Harvest::default() };
        let end = match limit {
            Some(limit) if range.descending => self.scan_down(session, &named, limit, &mut scanning)?,
            _ => self.scan_up(session, &named, &mut scanning)?,
        };
        for candidate in alone {
            self.read_candidate(session, &candidate, None, &mut scanning)?;
        }
        let whole = KeyRange { limit: None, ..range.clone() };
        let read = match end {
            None => whole,
            Some(last) if range.descending => KeyRange { low: Some(last), ..whole },
            Some(last) => KeyRange { high: Some(last), ..whole },
        };
        Ok((scanning.harvest, read))
    }

    /// A range in the words of the file.
    fn covered(&mut self, range: &KeyRange) -> Covered {
        let clamp = |number: &i128| (*number).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        let text = |part: &KeyPart| ScanBound::Text(part.to_string().into());
        let number = |bound: &Option<KeyPart>, missing: i64| match bound {
            None => Some(missing),
            Some(KeyPart::Number(number)) => Some(clamp(number)),
            Some(_) => None,
        };
        let bounds = match (number(&range.low, i64::MIN), number(&range.high, i64::MAX)) {
            _ if range.low.is_none() && range.high.is_none() => (None, None),
            (Some(low), Some(high)) => (Some(ScanBound::Number(low)), Some(ScanBound::Number(high))),
            _ => (range.low.as_ref().map(text), range.high.as_ref().map(text)),
        };
        let prefix = self.keys.layout.prefix_name(range.space, &range.prefix).into();
        Covered { prefix, low: bounds.0, high: bounds.1 }
    }

    /// The keys that the scan covers by their names, and those of the range that it does not.
    fn candidates(&self, range: &KeyRange, covered: &Covered) -> (Vec<Candidate>, Vec<Candidate>) {
        // Numbers order as names as they do as keys: nothing below the least of them needs a look.
        let low = range.low.as_ref().filter(|_| covered.numbers().is_some());
        let beyond = |part: &KeyPart| match (&range.high, covered.numbers()) {
            (Some(high), Some(_)) => part > high,
            _ => false,
        };
        let next = range.prefix.len();
        let keys = self.keys.from(range.space, &range.prefix, low);
        let keys = keys.take_while(|(parts, _)| parts.get(next).is_none_or(|part| !beyond(part)));
        let (mut named, mut alone) = (Vec::new(), Vec::new());
        for (parts, key) in keys {
            let name = Arc::clone(self.keys.name(key));
            let part = parts.get(next).cloned().unwrap_or(KeyPart::Number(0));
            let candidate = Candidate { key, inside: range.contains(self.keys.row_of(key)), part, name };
            if covered.covers(&candidate.name) {
                named.push(candidate);
            } else if candidate.inside {
                alone.push(candidate);
            }
        }
        (named, alone)
    }

    /// Reads ascending, until there are enough rows: the last part that was read, if that is not all.
    fn scan_up(
        &mut self,
        session: SessionId,
        named: &[Candidate],
        scanning: &mut Scanning<'_, '_>,
    ) -> Result<Option<KeyPart>, Stop> {
        let covered = scanning.covered;
        let mut segment = self.begin_segment(session)?;
        for (place, candidate) in named.iter().enumerate() {
            self.read_candidate(session, candidate, Some(&mut segment), scanning)?;
            let (read, left) = named.split_at(place + 1);
            if scanning.limit.is_some_and(|limit| scanning.harvest.count >= limit)
                && left.first().is_none_or(|next| next.part != candidate.part)
                && let Some(cut) = cut_above(covered, read, left)
            {
                self.end_segment(session, cut, segment)?;
                return Ok(Some(candidate.part.clone()));
            }
        }
        self.end_segment(session, covered.clone(), segment)?;
        Ok(None)
    }

    /// Reads descending, part by part, until there are enough rows; only numbers have a next smaller one.
    fn scan_down(
        &mut self,
        session: SessionId,
        named: &[Candidate],
        limit: usize,
        scanning: &mut Scanning<'_, '_>,
    ) -> Result<Option<KeyPart>, Stop> {
        let covered = scanning.covered;
        let Some((low, mut high)) = covered.numbers().filter(|_| named.iter().all(|it| number_of(it).is_some())) else {
            scanning.limit = None;
            return self.scan_up(session, named, scanning);
        };
        let mut last = None;
        for group in named.chunk_by(|a, b| a.part == b.part).rev() {
            if scanning.harvest.count >= limit {
                return Ok(last);
            }
            let Some(part) = group.first().and_then(number_of) else { continue };
            let mut segment = self.begin_segment(session)?;
            for candidate in group {
                self.read_candidate(session, candidate, Some(&mut segment), scanning)?;
            }
            let bounds = (Some(ScanBound::Number(part)), Some(ScanBound::Number(high)));
            self.end_segment(session, covered.with(bounds.0, bounds.1), segment)?;
            last = Some(KeyPart::Number(part.into()));
            let Some(next) = part.checked_sub(1) else { return Ok(None) };
            high = next;
        }
        if scanning.harvest.count >= limit {
            return Ok(last);
        }
        // Nothing is there, which was seen, too; a scan without bounds also covers texts that may come.
        let rest = if named.is_empty() {
            covered.clone()
        } else {
            covered.with(Some(ScanBound::Number(low)), Some(ScanBound::Number(high)))
        };
        let segment = self.begin_segment(session)?;
        if low <= high || named.is_empty() {
            self.end_segment(session, rest, segment)?;
        }
        Ok(None)
    }

    fn begin_segment(&self, session: SessionId) -> Result<Segment, Stop> {
        let start = self.transaction(session)?.read_count;
        Ok(Segment { start, sealed: self.recorder.seals, reads: Vec::new(), listed: Vec::new(), except: Vec::new() })
    }

    /// Reads a key of the range, or, in a scan that seeks, passes it over or leaves it to be locked. Without a segment it is an event of its own.
    fn read_candidate(
        &mut self,
        session: SessionId,
        candidate: &Candidate,
        segment: Option<&mut Segment>,
        scanning: &mut Scanning<'_, '_>,
    ) -> Result<(), Stop> {
        let key = candidate.key;
        let row_key = self.keys.row_of(key).clone();
        let own = self.transaction(session)?.writes.get(&key).cloned();
        let has_enough = scanning.limit.is_some_and(|limit| scanning.harvest.count >= limit);
        let (source, value) = match (own, &mut scanning.fits) {
            (Some(own), _) => (Source::Own, own),
            // Behind the rows that it wants the statement locks nothing; what it reads there it reads to the end of a part.
            (None, Some(fits)) if candidate.inside && !has_enough => {
                let (chosen, wanted) = self.look_at(session, key, *fits)?;
                if wanted {
                    scanning.harvest.found.push((row_key, Found::Wanted));
                    scanning.harvest.count += 1;
                    if let Some(segment) = segment {
                        segment.reads.push((Arc::clone(&candidate.name), Source::Own));
                        segment.except.push(key);
                    }
                    return Ok(());
                }
                let (version, value) = self.read_version(session, key, chosen, false)?;
                (Source::Version(version), value)
            }
            (None, _) => {
                let (version, value) = self.read_new(session, key, PLAIN)?;
                (Source::Version(version), value)
            }
        };
        match segment {
            None => {
                self.transaction_mut(session)?.push(Action::Read { key, value: value.clone(), source, locking: false })
            }
            Some(segment) => {
                segment.reads.push((Arc::clone(&candidate.name), source));
                if self.is_listed(key, source, value.is_none()) {
                    segment.listed.push(Listed { key, value: value.clone(), source });
                }
            }
        }
        if candidate.inside {
            scanning.harvest.take(row_key, source, value, scanning.fits.as_deref_mut());
        }
        Ok(())
    }

    /// The file need not list what was never there, nor a deletion that a line of its own stands for.
    fn is_listed(&self, key: KeyId, source: Source, absent: bool) -> bool {
        let Source::Version(version) = source else { return true };
        let never = version == Version::Initial && !self.versions.has_committed(key);
        !absent || !(never || self.versions.is_sealed(key, version))
    }

    fn end_segment(&mut self, session: SessionId, covered: Covered, segment: Segment) -> Result<(), Stop> {
        let Segment { start, sealed, reads, listed, except } = segment;
        let transaction = self.transaction_mut(session)?;
        let id = transaction.id;
        transaction.push(Action::Scan { covered: covered.clone(), sealed, listed, except });
        self.live_scans.add(id, LiveScan::new(covered, start, reads));
        Ok(())
    }
}

/// What one line of the file says of a scan.
struct Segment {
    start: usize,
    sealed: usize,
    reads: Vec<(Arc<str>, Source)>,
    listed: Vec<Listed>,
    except: Vec<KeyId>,
}

impl Harvest {
    /// A key of the range was read.
    fn take(&mut self, key: RowKey, source: Source, value: Option<Row>, fits: Option<&mut Fits<'_>>) {
        match fits {
            None => {
                self.count += usize::from(value.is_some());
                self.rows.extend(value.map(|value| (key, value)));
            }
            // What it wrote itself needs no lock.
            Some(fits) if source == Source::Own => {
                self.count += usize::from(value.is_some_and(|value| fits(&key, &value) != Fit::No));
            }
            Some(_) => self.found.push((key, Found::Passed(value))),
        }
    }
}

fn number_of(candidate: &Candidate) -> Option<i64> {
    match candidate.part {
        KeyPart::Number(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

/// The range that ends with what was read, if one can be said that leaves out everything else.
fn cut_above(covered: &Covered, read: &[Candidate], left: &[Candidate]) -> Option<Covered> {
    let last = read.last()?;
    let cut = match (number_of(last), covered.numbers()) {
        (Some(high), Some((low, _))) => covered.with(Some(ScanBound::Number(low)), Some(ScanBound::Number(high))),
        _ => covered.with(covered.low.clone(), Some(ScanBound::Text(last.part.to_string().into()))),
    };
    let exact = read.iter().all(|it| cut.covers(&it.name)) && !left.iter().any(|it| cut.covers(&it.name));
    exact.then_some(cut)
}
