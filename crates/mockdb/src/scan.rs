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

use crate::keys::KeyTable;
use crate::operation::{Covered, ReadOrigin, RecordedAction, ScanBound, ScannedRow};
use crate::store::{ReadMode, Store};
use skew_check::Version;
use skew_history::scan::ascending;
use skew_history::{Asked, KeyId, SessionId, StatementKind};
use skew_sql::{Fit, Fits, KeyPart, KeyRange, Row, RowKey, Stop};
use skew_sql::{rows::Found, rows::Looked, rows::Scanned};
use std::sync::Arc;

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

/// What one line of the file says of a scan.
struct Segment {
    start: usize,
    sealed: usize,
    reads: Vec<(Arc<str>, ReadOrigin)>,
    listed: Vec<ScannedRow>,
    except: Vec<KeyId>,
}

/// A scan by the open transaction of a session.
pub(crate) struct RangeScan<'a, 'fits> {
    store: &'a mut Store,
    session: SessionId,
    covered: Covered,
    /// Which rows it seeks, if it does.
    fits: Option<&'a mut Fits<'fits>>,
    limit: Option<usize>,
    harvest: Harvest,
}

impl<'a, 'fits> RangeScan<'a, 'fits> {
    /// Reads a range of which nothing is known.
    pub(crate) fn read(store: &'a mut Store, session: SessionId, range: &KeyRange) -> Result<Scanned, Stop> {
        let (harvest, read) = RangeScan::new(store, session, range, None).run(range)?;
        Ok(Scanned { rows: harvest.rows, read: Some(read) })
    }

    /// Looks for rows to lock in a range of which nothing is known: passes over what does not fit, and leaves the rest to be locked.
    pub(crate) fn look(
        store: &'a mut Store,
        session: SessionId,
        range: &KeyRange,
        fits: &'a mut Fits<'fits>,
    ) -> Result<Looked, Stop> {
        let (harvest, read) = RangeScan::new(store, session, range, Some(fits)).run(range)?;
        Ok(Looked { found: harvest.found, read: Some(read) })
    }

    fn new(
        store: &'a mut Store,
        session: SessionId,
        range: &KeyRange,
        fits: Option<&'a mut Fits<'fits>>,
    ) -> RangeScan<'a, 'fits> {
        let covered = covered(store.past().keys(), range);
        RangeScan { store, session, covered, fits, limit: None, harvest: Harvest::default() }
    }

    /// What it found, and the range that it read whole.
    fn run(mut self, range: &KeyRange) -> Result<(Harvest, KeyRange), Stop> {
        let (mut named, alone) = candidates(self.store.past().keys(), range, &self.covered);
        let prefix = self.covered.prefix.len();
        named.sort_by(|a, b| ascending(&a.name[prefix..], &b.name[prefix..]));
        self.limit = range.limit.filter(|_| alone.is_empty());
        let end = match self.limit {
            Some(limit) if range.descending => self.scan_down(&named, limit)?,
            _ => self.scan_up(&named)?,
        };
        for candidate in alone {
            self.read_candidate(&candidate, None)?;
        }
        let whole = KeyRange { limit: None, ..range.clone() };
        let read = match end {
            None => whole,
            Some(last) if range.descending => KeyRange { low: Some(last), ..whole },
            Some(last) => KeyRange { high: Some(last), ..whole },
        };
        Ok((self.harvest, read))
    }

    /// Reads ascending, until there are enough rows: the last part that was read, if that is not all.
    fn scan_up(&mut self, named: &[Candidate]) -> Result<Option<KeyPart>, Stop> {
        let mut segment = self.begin_segment()?;
        for (place, candidate) in named.iter().enumerate() {
            self.read_candidate(candidate, Some(&mut segment))?;
            let (read, left) = named.split_at(place + 1);
            if self.has_enough()
                && left.first().is_none_or(|next| next.part != candidate.part)
                && let Some(cut) = cut_above(&self.covered, read, left)
            {
                self.end_segment(cut, segment)?;
                return Ok(Some(candidate.part.clone()));
            }
        }
        self.end_segment(self.covered.clone(), segment)?;
        Ok(None)
    }

    /// Reads descending, part by part, until there are enough rows; only numbers have a next smaller one.
    fn scan_down(&mut self, named: &[Candidate], limit: usize) -> Result<Option<KeyPart>, Stop> {
        let covered = self.covered.clone();
        let Some((low, mut high)) = covered.numbers().filter(|_| named.iter().all(|it| number_of(it).is_some())) else {
            self.limit = None;
            return self.scan_up(named);
        };
        let mut last = None;
        for group in named.chunk_by(|a, b| a.part == b.part).rev() {
            if self.harvest.count >= limit {
                return Ok(last);
            }
            let Some(part) = group.first().and_then(number_of) else { continue };
            let mut segment = self.begin_segment()?;
            for candidate in group {
                self.read_candidate(candidate, Some(&mut segment))?;
            }
            let bounds = (Some(ScanBound::Number(part)), Some(ScanBound::Number(high)));
            self.end_segment(covered.with(bounds.0, bounds.1), segment)?;
            last = Some(KeyPart::Number(part.into()));
            let Some(next) = part.checked_sub(1) else { return Ok(None) };
            high = next;
        }
        if self.harvest.count >= limit {
            return Ok(last);
        }
        // Nothing is there, which was seen, too; a scan without bounds also covers texts that may come.
        let rest = if named.is_empty() {
            covered.clone()
        } else {
            covered.with(Some(ScanBound::Number(low)), Some(ScanBound::Number(high)))
        };
        let segment = self.begin_segment()?;
        if low <= high || named.is_empty() {
            self.end_segment(rest, segment)?;
        }
        Ok(None)
    }

    fn has_enough(&self) -> bool {
        self.limit.is_some_and(|limit| self.harvest.count >= limit)
    }

    fn begin_segment(&self) -> Result<Segment, Stop> {
        let start = self.store.transaction(self.session)?.read_count();
        Ok(Segment { start, sealed: self.store.seals(), reads: Vec::new(), listed: Vec::new(), except: Vec::new() })
    }

    /// Reads a key of the range, or, in a scan that seeks, passes it over or leaves it to be locked. Without a segment it is an event of its own.
    fn read_candidate(&mut self, candidate: &Candidate, segment: Option<&mut Segment>) -> Result<(), Stop> {
        let (key, session) = (candidate.key, self.session);
        let row_key = self.store.past().keys().row_of(key).clone();
        let own = self.store.transaction(session)?.own(key).cloned();
        let has_enough = self.has_enough();
        if own.is_none() && self.store.engine().is_some() {
            return self.look_on_server(candidate, row_key, segment);
        }
        let (source, value) = match (own, &mut self.fits) {
            (Some(own), _) => (ReadOrigin::Own, own),
            // Behind the rows that it wants the statement locks nothing; what it reads there it reads to the end of a part.
            (None, Some(fits)) if candidate.inside && !has_enough => {
                let (chosen, wanted) = self.store.look_at(session, key, *fits)?;
                if wanted {
                    self.leave(candidate, row_key, segment);
                    return Ok(());
                }
                let (version, value) = self.store.read(session, key, chosen, false)?;
                (ReadOrigin::Version(version), value)
            }
            (None, _) => {
                let (version, value) = self.store.read_new(session, key, ReadMode::Plain)?;
                (ReadOrigin::Version(version), value)
            }
        };
        match segment {
            None => {
                let action = RecordedAction::Read { key, value: value.clone(), source, locking: false };
                self.store.transaction_mut(session)?.push(action);
            }
            Some(segment) => {
                segment.reads.push((Arc::clone(&candidate.name), source));
                if self.store.past().is_listed(key, source, value.is_none()) {
                    segment.listed.push(ScannedRow { key, value: value.clone(), source });
                }
            }
        }
        if candidate.inside {
            self.harvest.take(row_key, source, value, self.fits.as_deref_mut());
        }
        Ok(())
    }

    /// The same where an engine decides: what does not qualify is an event of its own, and behind the rows that are wanted nothing is read.
    fn look_on_server(
        &mut self,
        candidate: &Candidate,
        row_key: RowKey,
        segment: Option<&mut Segment>,
    ) -> Result<(), Stop> {
        let (session, has_enough) = (self.session, self.has_enough());
        let kind = self.kind();
        let (engine, key) = self.store.engine_at(session, &row_key)?;
        let read = match &mut self.fits {
            Some(_) if has_enough || !candidate.inside => None,
            Some(fits) => match engine.look(session, kind, (key, &row_key), *fits) {
                None => {
                    self.leave(candidate, row_key, segment);
                    return Ok(());
                }
                read => read,
            },
            None => Some(engine.select(session, key)),
        };
        let value = read.as_ref().and_then(|read| read.value.clone());
        let is_told_alone = segment.is_none() || read.as_ref().is_none_or(|read| read.passed);
        match (segment, read) {
            (Some(segment), Some(read)) if !is_told_alone => {
                let is_never = read.value.is_none() && read.source == ReadOrigin::Version(Version::Initial);
                if !is_never {
                    segment.listed.push(ScannedRow { key, value: read.value, source: read.source });
                }
            }
            (segment, read) => {
                segment.into_iter().for_each(|segment| segment.except.push(key));
                read.map_or(Ok(()), |read| self.store.tell_read(session, read))?;
            }
        }
        if candidate.inside && !(has_enough && self.fits.is_some()) {
            let source = ReadOrigin::Version(Version::Initial);
            self.harvest.take(row_key, source, value, self.fits.as_deref_mut());
        }
        Ok(())
    }

    /// What the statement asks for: plain reads, or what it is for where it seeks rows.
    fn kind(&self) -> StatementKind {
        match (self.store.engine(), &self.fits) {
            (Some(engine), Some(_)) => match engine.kind(self.session) {
                StatementKind::Select => StatementKind::ForUpdate,
                kind => kind,
            },
            _ => StatementKind::Select,
        }
    }

    /// A row that the statement wants is left to be locked.
    fn leave(&mut self, candidate: &Candidate, row_key: RowKey, segment: Option<&mut Segment>) {
        self.harvest.found.push((row_key, Found::Wanted));
        self.harvest.count += 1;
        if let Some(segment) = segment {
            segment.reads.push((Arc::clone(&candidate.name), ReadOrigin::Own));
            segment.except.push(candidate.key);
        }
    }

    fn end_segment(&mut self, covered: Covered, segment: Segment) -> Result<(), Stop> {
        let Segment { start, sealed, reads, listed, except } = segment;
        let (kind, statement) = (self.kind(), self.store.engine().map(|engine| engine.statement(self.session)));
        let transaction = self.store.transaction_mut(self.session)?;
        let id = transaction.id();
        let action = RecordedAction::Scan { covered: covered.clone(), sealed, listed, except };
        match statement {
            Some(statement) => transaction.push_asked(action, Asked { statement, kind, ..Asked::default() }),
            None => {
                transaction.push(action);
                self.store.past_mut().scanned(id, covered, start, reads);
            }
        }
        Ok(())
    }
}

impl Harvest {
    /// A key of the range was read.
    fn take(&mut self, key: RowKey, source: ReadOrigin, value: Option<Row>, fits: Option<&mut Fits<'_>>) {
        match fits {
            None => {
                self.count += usize::from(value.is_some());
                self.rows.extend(value.map(|value| (key, value)));
            }
            // What it wrote itself needs no lock.
            Some(fits) if source == ReadOrigin::Own => {
                self.count += usize::from(value.is_some_and(|value| fits(&key, &value) != Fit::No));
            }
            Some(_) => self.found.push((key, Found::Passed(value))),
        }
    }
}

/// A range in the words of the file.
fn covered(keys: &KeyTable, range: &KeyRange) -> Covered {
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
    let prefix = keys.layout().prefix_name(range.space, &range.prefix).into();
    Covered { prefix, low: bounds.0, high: bounds.1 }
}

/// The keys that the scan covers by their names, and those of the range that it does not.
fn candidates(keys: &KeyTable, range: &KeyRange, covered: &Covered) -> (Vec<Candidate>, Vec<Candidate>) {
    // Numbers order as names as they do as keys: nothing below the least of them needs a look.
    let low = range.low.as_ref().filter(|_| covered.numbers().is_some());
    let beyond = |part: &KeyPart| match (&range.high, covered.numbers()) {
        (Some(high), Some(_)) => part > high,
        _ => false,
    };
    let next = range.prefix.len();
    let born = keys.from(range.space, &range.prefix, low);
    let born = born.take_while(|(parts, _)| parts.get(next).is_none_or(|part| !beyond(part)));
    let (mut named, mut alone) = (Vec::new(), Vec::new());
    for (parts, key) in born {
        let name = Arc::clone(keys.name(key));
        let part = parts.get(next).cloned().unwrap_or(KeyPart::Number(0));
        let candidate = Candidate { key, inside: range.contains(keys.row_of(key)), part, name };
        if covered.covers(&candidate.name) {
            named.push(candidate);
        } else if candidate.inside {
            alone.push(candidate);
        }
    }
    (named, alone)
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
