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

use crate::rows::Manner;
use crate::store::Store;
use crate::transaction::{Action, Covered, Listed, ScanBound, ScanMemory, Source};
use rustc_hash::FxHashSet;
use skew_check::{GrowingId, Version};
use skew_history::scan::{ascending, covers};
use skew_history::{KeyId, Name, SessionId};
use skew_sql::{Columns, KeyPart, KeyRange, Row, RowKey, Stop};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a range that were read, there or not.
type ReadRows = Vec<(KeyId, Option<Row>)>;

const PLAIN: Manner = Manner { locking: false, updating: false };

/// A scan whose transaction still matters to the level.
#[derive(Debug)]
struct LiveScan {
    number: usize,
    covered: Covered,
    /// How many reads its transaction had before it.
    start: usize,
    /// What it read, in ascending order of names.
    reads: Vec<(Arc<str>, Source)>,
    /// Keys that came into being since.
    noticed: FxHashSet<KeyId>,
}

impl LiveScan {
    /// Where the absence of a key stands among the transaction's reads.
    fn place(&self, name: &str) -> usize {
        let prefix = self.covered.prefix.len();
        let before = |read: &&(Arc<str>, Source)| ascending(&read.0[prefix..], &name[prefix..]) == Ordering::Less;
        let external = self.reads.iter().filter(before).filter(|read| read.1 != Source::Own);
        self.start + external.count()
    }
}

/// The scans of all transactions that still matter.
#[derive(Default, Debug)]
pub(crate) struct LiveScans {
    of: BTreeMap<GrowingId, Vec<LiveScan>>,
}

impl LiveScans {
    /// A key is born: who read its absence, and where among their reads.
    pub(crate) fn notice(&mut self, key: KeyId, name: &str) -> Vec<(GrowingId, usize)> {
        let all = self.of.iter_mut().flat_map(|(&id, scans)| scans.iter_mut().map(move |scan| (id, scan)));
        // A key that was buried and is born again may have been read or noticed before: then there is nothing to notice.
        let absent = all.filter_map(|(id, scan)| {
            let absent = scan.covered.covers(name) && !scan.reads.iter().any(|read| *read.0 == *name);
            (absent && scan.noticed.insert(key)).then(|| (id, scan.place(name)))
        });
        absent.collect()
    }

    pub(crate) fn remove(&mut self, id: GrowingId) {
        self.of.remove(&id);
    }

    /// Forgets the scans of transactions that no longer matter.
    pub(crate) fn retain(&mut self, matters: impl Fn(GrowingId) -> bool) {
        self.of.retain(|&id, _| matters(id));
    }

    /// Forgets the scans of a transaction from this number on.
    pub(crate) fn remove_from(&mut self, id: GrowingId, number: usize) {
        if let Some(scans) = self.of.get_mut(&id) {
            scans.retain(|scan| scan.number < number);
        }
    }

    pub(crate) fn remove_one(&mut self, id: GrowingId, number: usize) {
        if let Some(scans) = self.of.get_mut(&id) {
            scans.retain(|scan| scan.number != number);
        }
    }

    fn add(&mut self, id: GrowingId, scan: LiveScan) {
        self.of.entry(id).or_default().push(scan);
    }
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

/// What a scan has read so far.
#[derive(Default)]
struct Found {
    rows: ReadRows,
    existing: usize,
}

impl Store {
    /// The rows of a range, in the order of their keys.
    pub fn scan(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        columns: &Columns,
    ) -> Result<Vec<(RowKey, Row)>, Stop> {
        let rows = match self.remembered(session, range)? {
            Some(rows) => rows,
            None if self.transaction(session)?.loading => self.loaded(range),
            None => {
                if !self.was_dissolved(session, range)? {
                    self.take_turn(session)?;
                }
                self.scan_anew(session, range)?
            }
        };
        let mut found: Vec<(RowKey, KeyId, Row)> =
            rows.into_iter().filter_map(|(key, value)| Some((self.keys.row_of(key).clone(), key, value?))).collect();
        found.sort_by(|a, b| a.0.parts.cmp(&b.0.parts));
        if range.descending {
            found.reverse();
        }
        found.truncate(range.limit.unwrap_or(usize::MAX));
        if !self.has_cells(range.space) {
            return Ok(found.into_iter().map(|(row, _, value)| (row, value)).collect());
        }
        found.into_iter().map(|(row, key, _)| Ok((row, self.cells(session, key, columns, PLAIN)?))).collect()
    }

    fn loaded(&self, range: &KeyRange) -> ReadRows {
        let keys = self.keys.from(range.space, &range.prefix, range.low.as_ref());
        let inside = keys.filter(|(_, key)| range.contains(self.keys.row_of(*key)));
        inside.map(|(_, key)| (key, self.versions.initial(key).cloned())).collect()
    }

    /// What this statement was answered when it read the range before, with what it wrote since.
    fn remembered(&self, session: SessionId, range: &KeyRange) -> Result<Option<ReadRows>, Stop> {
        let transaction = self.transaction(session)?;
        let Some(statement) = &transaction.statement else { return Ok(None) };
        let known = |memory: &&ScanMemory| memory.range == *range && !memory.dissolved;
        let Some(memory) = statement.scans.iter().find(known) else { return Ok(None) };
        let external = memory.rows.iter().filter(|key| !transaction.writes.contains_key(key));
        let answer = |key: &KeyId| statement.answer(*key, false).and_then(|answer| answer.1.clone());
        let mut rows: ReadRows = external.map(|key| (*key, answer(key))).collect();
        let own = transaction.writes.iter().filter(|(key, _)| range.contains(self.keys.row_of(**key)));
        let own = own.filter(|(key, _)| self.keys.kind(**key) == crate::keys::KeyKind::Row);
        rows.extend(own.map(|(key, value)| (*key, value.clone())));
        let existing = rows.iter().filter(|row| row.1.is_some()).count();
        // A scan that stopped early does not know what lies behind when its own statement deleted what it had found.
        let enough = memory.whole || range.limit.is_some_and(|limit| existing >= limit);
        Ok(enough.then_some(rows))
    }

    /// Whether this statement had its turn for the range already, and only lost what was told of it.
    fn was_dissolved(&self, session: SessionId, range: &KeyRange) -> Result<bool, Stop> {
        let statement = self.transaction(session)?.statement.as_ref();
        let dissolved = |memory: &ScanMemory| memory.range == *range && memory.dissolved;
        Ok(statement.is_some_and(|statement| statement.scans.iter().any(dissolved)))
    }

    fn scan_anew(&mut self, session: SessionId, range: &KeyRange) -> Result<ReadRows, Stop> {
        let covered = self.covered(range);
        let (mut named, alone) = self.candidates(range, &covered);
        let prefix = covered.prefix.len();
        named.sort_by(|a, b| ascending(&a.name[prefix..], &b.name[prefix..]));
        let limit = range.limit.filter(|_| alone.is_empty());
        let mut found = Found::default();
        let whole = match limit {
            Some(limit) if range.descending => self.scan_down(session, &covered, &named, limit, &mut found)?,
            _ => self.scan_up(session, &covered, &named, limit, &mut found)?,
        };
        for candidate in alone {
            let value = self.read_key(session, candidate.key, PLAIN)?;
            found.rows.push((candidate.key, value));
        }
        let rows = found.rows.iter().map(|row| row.0).collect();
        let memory = ScanMemory { range: range.clone(), rows, whole, dissolved: false };
        if let Some(statement) = &mut self.transaction_mut(session)?.statement {
            statement.scans.retain(|memory| memory.range != *range || !memory.dissolved);
            statement.scans.push(memory);
        }
        Ok(found.rows)
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
        let prefix = self.keys.prefix_name(range.space, &range.prefix).into();
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

    /// Reads ascending, until there are enough rows; whether all of the range was read.
    fn scan_up(
        &mut self,
        session: SessionId,
        covered: &Covered,
        named: &[Candidate],
        limit: Option<usize>,
        found: &mut Found,
    ) -> Result<bool, Stop> {
        let mut segment = self.begin_segment(session)?;
        for (place, candidate) in named.iter().enumerate() {
            self.read_candidate(session, candidate, &mut segment, found)?;
            let (read, left) = named.split_at(place + 1);
            if limit.is_some_and(|limit| found.existing >= limit)
                && left.first().is_some_and(|next| next.part != candidate.part)
                && let Some(cut) = cut_above(covered, read, left)
            {
                self.end_segment(session, cut, segment)?;
                return Ok(false);
            }
        }
        self.end_segment(session, covered.clone(), segment)?;
        Ok(true)
    }

    /// Reads descending, part by part, until there are enough rows; only numbers have a next smaller one.
    fn scan_down(
        &mut self,
        session: SessionId,
        covered: &Covered,
        named: &[Candidate],
        limit: usize,
        found: &mut Found,
    ) -> Result<bool, Stop> {
        let Some((low, mut high)) = covered.numbers().filter(|_| named.iter().all(|it| number_of(it).is_some())) else {
            return self.scan_up(session, covered, named, None, found);
        };
        for group in named.chunk_by(|a, b| a.part == b.part).rev() {
            if found.existing >= limit {
                return Ok(false);
            }
            let Some(part) = group.first().and_then(number_of) else { continue };
            let mut segment = self.begin_segment(session)?;
            for candidate in group {
                self.read_candidate(session, candidate, &mut segment, found)?;
            }
            let bounds = (Some(ScanBound::Number(part)), Some(ScanBound::Number(high)));
            self.end_segment(session, covered.with(bounds.0, bounds.1), segment)?;
            let Some(next) = part.checked_sub(1) else { return Ok(true) };
            high = next;
        }
        if found.existing >= limit {
            return Ok(false);
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
        Ok(true)
    }

    fn begin_segment(&self, session: SessionId) -> Result<Segment, Stop> {
        let start = self.transaction(session)?.read_count;
        Ok(Segment { start, sealed: self.recorder.seals, reads: Vec::new(), listed: Vec::new() })
    }

    fn read_candidate(
        &mut self,
        session: SessionId,
        candidate: &Candidate,
        segment: &mut Segment,
        found: &mut Found,
    ) -> Result<(), Stop> {
        let key = candidate.key;
        let (source, value) = self.read_in_scan(session, key)?;
        segment.reads.push((Arc::clone(&candidate.name), source));
        if self.is_listed(key, source, value.is_none()) {
            segment.listed.push(Listed { key, value: value.clone(), source });
        }
        if candidate.inside {
            found.existing += usize::from(value.is_some());
            found.rows.push((key, value));
        }
        Ok(())
    }

    /// The file need not list what was never there, nor a deletion that a line of its own stands for.
    fn is_listed(&self, key: KeyId, source: Source, absent: bool) -> bool {
        let Source::Version(version) = source else { return true };
        let never = version == Version::Initial && !self.versions.has_committed(key);
        !absent || !(never || self.versions.is_sealed(key, version))
    }

    fn read_in_scan(&mut self, session: SessionId, key: KeyId) -> Result<(Source, Option<Row>), Stop> {
        let transaction = self.transaction(session)?;
        if let Some(own) = transaction.writes.get(&key) {
            return Ok((Source::Own, own.clone()));
        }
        let id = transaction.id;
        let before = transaction.statement.as_ref().and_then(|statement| statement.answer(key, false).cloned());
        // A statement that reads a key a second time, as part of another range, sees what it saw, unless the level forbids just that.
        if let Some((version, value)) = before
            && self.growing.allows(id, key, version, false)
            && self.growing.read(id, key, version, false).is_ok()
        {
            self.remember(session, key, false, (version, value.clone()))?;
            return Ok((Source::Version(version), value));
        }
        let (version, value) = self.read_new(session, key, PLAIN)?;
        Ok((Source::Version(version), value))
    }

    fn end_segment(&mut self, session: SessionId, covered: Covered, segment: Segment) -> Result<(), Stop> {
        let Segment { start, sealed, reads, listed } = segment;
        let transaction = self.transaction_mut(session)?;
        let (id, number) = (transaction.id, transaction.scan_count);
        transaction.scan_count += 1;
        transaction.push(Action::Scan { number, covered: covered.clone(), sealed, listed });
        self.live_scans.add(id, LiveScan { number, covered, start, reads, noticed: FxHashSet::default() });
        Ok(())
    }
}

/// What one line of the file says of a scan.
struct Segment {
    start: usize,
    sealed: usize,
    reads: Vec<(Arc<str>, Source)>,
    listed: Vec<Listed>,
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
