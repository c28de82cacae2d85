//! A range that a statement looks over, to lock what it finds there.
//!
//! ```text
//!   rows     1        3             5                                  others insert 4 and 6, and end
//!   InnoDB   locked   passed over   another one has it: it waits ────> 5 · 6        what came behind it while it waited is not seen
//! ```
//!
//! PostgreSQL has found its rows in a snapshot, and locks one after the other. InnoDB goes along the index: it comes to a row when those
//! before it are decided, sees what is there then, and when it had to wait it goes on from where it stands. A row that is inserted before
//! it gets there is met, one that is inserted behind it is not; what it has passed over stays as it was found. At its read committed an
//! UPDATE *glances* first: it does not wait for a row whose last committed version does not qualify, or for one that is being inserted.

use super::{Permit, RowAnswer, ServerTurn, TurnAnswer, TurnPoint, TurnQuestion, Want};
use super::{ended, found, looked, part_of};
use crate::keys::{KeyNumber, Keys, reads_down};
use crate::log::ScanEnd;
use crate::requests::{Interrupt, whole_part};
use skew_history::StatementKind;
use skew_sql::rows::Looked;
use skew_sql::{Fit, Fits, KeyRange, Patience, RowKey};
use std::sync::Arc;

impl ServerTurn<'_> {
    /// The rows of a range that the statement seeks.
    pub(crate) fn look_over(
        &mut self,
        range: &KeyRange,
        keys: &Keys,
        fits: &mut Fits<'_>,
    ) -> Result<Looked, Interrupt> {
        let (kind, question) = (self.seeking_kind(), TurnQuestion::Range(range.clone()));
        let (found_rows, end) = match self.ask(&question, kind)? {
            Some(answer) => looked(&answer),
            None => {
                let (found, end) = self.look_through(range, keys, kind, fits)?;
                self.answer(question, TurnAnswer::Looked(found.clone(), end.clone()));
                (found, end)
            }
        };
        let found = found_rows.into_iter().map(|(key, outcome)| (key, found(outcome))).collect();
        Ok(Looked { found, read: whole_part(range, &end) })
    }

    /// What came of the rows of a range, and how far it was looked over.
    pub(super) fn look_through(
        &mut self,
        range: &KeyRange,
        keys: &Keys,
        kind: StatementKind,
        fits: &mut Fits<'_>,
    ) -> Result<(Vec<(RowKey, RowAnswer)>, ScanEnd), Interrupt> {
        let scan = self.open_look(range, keys, kind)?;
        let (mut all, mut last, mut enough, mut count) = (Vec::new(), None, None, 0);
        let end = loop {
            let unfinished = self.database.written();
            let next = self.next_in(range, last, keys, &unfinished);
            let Some(next) = self.unless_enough(range, keys, next, &enough) else { break ended(enough) };
            last = Some(next);
            let is_own = self.dialogue.told.has_changed(next);
            let fitting = match is_own {
                true => {
                    self.database.latest(self.one, next, keys).is_some_and(|row| fits(keys.key(next), &row) != Fit::No)
                }
                false if self.has_come_past(next, range, keys) => false,
                false => {
                    let outcome = self.decided(next, keys, kind, scan, fits)?;
                    all.push((keys.key(next).clone(), outcome.clone()));
                    matches!(outcome, RowAnswer::Locked(_))
                }
            };
            count += usize::from(fitting);
            if fitting && enough.is_none() && range.limit == Some(count) {
                enough = Some(part_of(range, keys, next));
            }
        };
        self.end_look(range, keys, kind, &end)?;
        self.dialogue.looked.clear();
        self.dialogue.reached = None;
        self.dialogue.told.scans[scan].end = end.clone();
        Ok((all, end))
    }

    /// The scan of a range that is about to be looked over, or already is.
    fn open_look(&mut self, range: &KeyRange, keys: &Keys, kind: StatementKind) -> Result<usize, Interrupt> {
        let is_new = self.dialogue.told.scans.last().is_none_or(|scan| scan.end != ScanEnd::Open);
        if is_new {
            self.begin_look(range, keys)?;
            let scan = self.note_scan(range, kind);
            self.dialogue.told.scans[scan].end = ScanEnd::Open;
        } else if self.dialogue.is_free {
            self.point(TurnPoint::Open)?;
            self.dialogue.is_free = false;
        }
        // Which key comes next, and which one behind the range, is seen after every step.
        self.access.touches_gaps.extend(self.database.around(range, keys));
        Ok(self.dialogue.told.scans.len() - 1)
    }

    /// A range is about to be looked over.
    fn begin_look(&mut self, range: &KeyRange, keys: &Keys) -> Result<(), Interrupt> {
        if self.database.looks_before_it_locks() {
            self.take_snapshot()?;
            self.access.ranges.push(Arc::new(range.clone()));
        } else {
            self.point(TurnPoint::Open)?;
            let gap = self.database.begin_range(self.one, range, keys);
            self.access.touches_gaps.extend(gap);
        }
        Ok(())
    }

    /// Whether it stands behind a key, in the order in which it goes, that was not there when it came by.
    fn has_come_past(&self, key: KeyNumber, range: &KeyRange, keys: &Keys) -> bool {
        if self.database.looks_before_it_locks() || self.dialogue.looked.contains_key(&key) {
            return false;
        }
        let stands = self.database.awaited(self.one).or(self.dialogue.reached).map(|stands| keys.key(stands));
        let key = keys.key(key);
        stands.is_some_and(|stands| if reads_down(range) { key > stands } else { key < stands })
    }

    /// What comes of one row of a range, which may have been decided in an earlier step.
    fn decided(
        &mut self,
        key: KeyNumber,
        keys: &Keys,
        kind: StatementKind,
        scan: usize,
        fits: &mut Fits<'_>,
    ) -> Result<RowAnswer, Interrupt> {
        if let Some(outcome) = self.dialogue.looked.get(&key) {
            return Ok(outcome.clone());
        }
        let events = self.dialogue.told.events.len();
        let outcome = self.sought(key, keys, kind, Some(scan), fits)?;
        if !self.is_known(key, keys) {
            // Who is about to insert it may take that back, or has: that it is not there is told if it comes into being.
            self.dialogue.told.events.truncate(events);
        }
        self.dialogue.looked.insert(key, outcome.clone());
        self.dialogue.reached = Some(key);
        Ok(outcome)
    }

    /// A range was looked over as far as it is wanted. Whether the record behind its end has to be waited for is known now: nobody would see
    /// a difference if somebody came in between.
    fn end_look(&mut self, range: &KeyRange, keys: &Keys, kind: StatementKind, end: &ScanEnd) -> Result<(), Interrupt> {
        let is_whole = *end == ScanEnd::Whole;
        let end = loop {
            let want = if is_whole { self.end_wanted(range, keys, kind) } else { None };
            let awaited = self.database.awaited(self.one);
            let blocks = |want: &Want| !self.database.blockers(self.one, want, keys).is_empty();
            let waits = awaited.is_some() || want.as_ref().is_some_and(blocks);
            let Some(want) = want.filter(|_| waits) else { break want };
            let want = Want { patience: self.patience, ..want };
            self.point(TurnPoint::Lock(want))?;
            if want.patience != Patience::Wait && self.is_kept(&want, keys, None)? {
                break None;
            }
            self.database.go_on(self.one);
            self.dialogue.reached = Some(want.key);
            if self.database.is_there(want.key, keys) {
                break Some(want);
            }
        };
        if self.permit == Permit::Stay {
            // What it stood before has gone. How it goes on is for a step of its own.
            self.dialogue.is_free = true;
            self.point(TurnPoint::Open)?;
        }
        if is_whole {
            self.access.touches.extend(end.map(|end| end.key));
            let gap = self.database.end_range(self.one, range, end.as_ref(), keys);
            self.access.touches_gaps.extend(gap);
        }
        Ok(())
    }

    /// The lock of the record behind a range: of the one that is waited for, else of the one that is there.
    fn end_wanted(&self, range: &KeyRange, keys: &Keys, kind: StatementKind) -> Option<Want> {
        let key = self.database.awaited(self.one).or_else(|| self.database.end_of(range, keys))?;
        let want = Want { in_range: true, ..Want::of(key, kind) };
        Some(want).filter(|want| !self.database.glances(self.one, want, keys))
    }
}
