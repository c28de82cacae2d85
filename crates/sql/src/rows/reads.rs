//! What one statement has read so far: when a read is an event, and when it was answered before.
//!
//! A statement reads a key once: a join that comes back to a row, or a subquery that is evaluated for every row, is answered from memory
//! and is no new event. A read that locks may see more than the plain read before it, and is an event of its own; a plain read after that
//! sees what the locking one saw.
//!
//! ```text
//!   scan account/ 1…9        rows 2, 5          all of the range is known from now on, 3 as absent
//!   read account/3           known: absent
//!   scan account/ 2…5        known: 2, 5
//!   read account/5, locks    an event: the latest version may be another one
//! ```
//!
//! **Subqueries** of expressions read for themselves. In `UPDATE kv SET v = (SELECT MAX(v) FROM kv) + 10 WHERE k = 1` the UPDATE has locked
//! the latest version of the row while its subquery reads whatever plain reads see: each has a memory of its own, a *scope*.
//!
//! **Rows that are sought.** UPDATE, DELETE and SELECT … FOR UPDATE look for rows to lock. A row that they pass over, because it is not
//! there or does not qualify, was read plainly; one that they take was read under its lock and in no other way:
//!
//! ```text
//!   UPDATE kv SET v = 1 WHERE v = 0       kv/1 = 5   passed over     r(kv/1)
//!                                         kv/2 = 0   wanted          lock r(kv/2): if that version is 7, it is left alone
//! ```
//!
//! **Waits.** A statement that has to wait runs again from its start, and is answered from the same memory: whatever it has read or
//! decided to take, it reads and takes again without a new event.
//!
//! A range that contains a key which is known by itself is read around it, so that the key is not read twice; where keys are no numbers
//! there is no "around", and read-committed could then return two versions of it to one statement. A range that stops after so many rows
//! is known as far as it was read, and goes on there when more are wanted; a range of which an answer told nothing is not asked for again.

use super::ranges::Ranges;
use crate::storage::{Fit, Fits, KeyPart, KeyRange, Row, RowKey};
use std::collections::{BTreeMap, BTreeSet};

/// Rows and the keys that they stand under.
type Rows = Vec<(RowKey, Row)>;

/// What a range was read to be.
#[derive(Debug)]
pub struct Scanned {
    /// The rows that were there, own ones included.
    pub rows: Rows,
    /// As far as the range was read whole, there or not; nothing if that is no range.
    pub read: Option<KeyRange>,
}

/// What was found under a key that a statement seeks.
#[derive(Debug)]
pub enum Found {
    /// It does not fit, or it is not there: a plain read.
    Passed(Option<Row>),
    /// It fits. What counts is what its lock will show; nothing was read yet.
    Wanted,
    /// It was locked at once.
    Locked(Row),
}

/// What was found in a range in which a statement seeks rows.
#[derive(Default, Debug)]
pub struct Looked {
    /// What was found under each key, own writes left out; what is absent need not be told.
    pub found: Vec<(RowKey, Found)>,
    /// As far as the range was read whole; nothing if that is no range.
    pub read: Option<KeyRange>,
}

/// Who answers what is not known: one transaction's way to the versions of rows.
pub trait Reader {
    /// Why there is no answer.
    type Stop;

    /// What the transaction itself has written under a key: nothing, or a row, or that there is none.
    fn own(&self, key: &RowKey) -> Option<Option<Row>>;

    /// The same for all keys of a range.
    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)>;

    /// Reads a key.
    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Self::Stop>;

    /// Reads a range; with a limit, until so many rows were there.
    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Scanned, Self::Stop>;

    /// Looks at a key that is sought.
    fn look(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, Self::Stop>;

    /// Looks at the keys of a range that are sought; with a limit, until so many rows fit.
    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, Self::Stop>;

    /// Locks a key that is wanted, because a row fitted, and reads it under its lock. The outer option is none if somebody else has it and
    /// nobody waits for that.
    fn claim(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Option<Option<Row>>, Self::Stop>;
}

/// The answers that a statement got, scope by scope.
#[derive(Default, Debug)]
pub struct Memory {
    /// Those of the statement itself, which nearly always are all.
    own: Scope,
    /// Those of its subqueries.
    subqueries: BTreeMap<usize, Scope>,
    current: usize,
}

/// The answers that one scope got.
#[derive(Default, Debug)]
struct Scope {
    plain: Answers,
    locked: Answers,
    /// Keys that it will lock.
    wanted: BTreeMap<RowKey, ()>,
    /// Keys that it would have locked if somebody else had not.
    skipped: BTreeSet<RowKey>,
    /// Ranges in which it has sought.
    sought: Ranges,
}

/// Answers to reads of one kind.
#[derive(Default, Debug)]
struct Answers {
    /// Keys that were read by themselves or found in a range, there or not.
    keys: BTreeMap<RowKey, Option<Row>>,
    /// Ranges that were read whole: what was not found there is absent.
    ranges: Ranges,
}

impl Answers {
    fn get(&self, key: &RowKey) -> Option<Option<Row>> {
        let found = self.keys.get(key).cloned();
        found.or_else(|| self.ranges.contain(key).then_some(None))
    }

    fn rows_in<'answers>(
        &'answers self,
        range: &'answers KeyRange,
    ) -> impl Iterator<Item = (&'answers RowKey, &'answers Option<Row>)> {
        range.among(&self.keys)
    }
}

impl Scope {
    fn get(&self, key: &RowKey, locking: bool) -> Option<Option<Row>> {
        let locked = self.locked.get(key);
        if locking { locked } else { locked.or_else(|| self.plain.get(key)) }
    }

    fn of(&mut self, locking: bool) -> &mut Answers {
        if locking { &mut self.locked } else { &mut self.plain }
    }

    /// What is left of a range that has to be asked for; nothing if all of it is known.
    fn rest(&self, range: &KeyRange, locking: bool) -> Option<KeyRange> {
        let plain = self.plain.ranges.above(range.space, &range.prefix).filter(|_| !locking);
        let known = plain.chain(self.locked.ranges.above(range.space, &range.prefix));
        rest(range, &known.collect::<Vec<_>>())
    }

    /// The rows of a range that are known, without those that lie in what is left of it.
    fn known(&self, range: &KeyRange, rest: Option<&KeyRange>, locking: bool) -> BTreeMap<RowKey, Option<Row>> {
        let plain = self.plain.rows_in(range).filter(|_| !locking);
        let known = plain.chain(self.locked.rows_in(range));
        let known = known.filter(|(key, _)| rest.is_none_or(|rest| !rest.contains(key)));
        known.map(|(key, row)| (key.clone(), row.clone())).collect()
    }
}

impl Memory {
    /// From here on a subquery reads, or the statement itself, whose scope is 0; who read before.
    pub fn enter(&mut self, scope: usize) -> usize {
        std::mem::replace(&mut self.current, scope)
    }

    fn scope(&mut self) -> &mut Scope {
        match self.current {
            0 => &mut self.own,
            subquery => self.subqueries.entry(subquery).or_default(),
        }
    }

    fn known_scope(&self) -> Option<&Scope> {
        if self.current == 0 { Some(&self.own) } else { self.subqueries.get(&self.current) }
    }

    /// Whether a read of this key would be answered without a new event; own writes are the caller's.
    pub fn knows(&self, key: &RowKey, locking: bool) -> bool {
        self.known_scope().is_some_and(|scope| scope.get(key, locking).is_some())
    }

    /// One key: an own write, what is known, or a read.
    pub fn read<R: Reader>(&mut self, key: &RowKey, locking: bool, reader: &mut R) -> Result<Option<Row>, R::Stop> {
        if let Some(own) = reader.own(key) {
            return Ok(own);
        }
        if let Some(known) = self.scope().get(key, locking) {
            return Ok(known);
        }
        let row = reader.read(key, locking)?;
        self.scope().of(locking).keys.insert(key.clone(), row.clone());
        Ok(row)
    }

    /// The rows of a range that exist, in the order of the range.
    pub fn range<R: Reader>(&mut self, range: &KeyRange, locking: bool, reader: &mut R) -> Result<Rows, R::Stop> {
        let mut asked = None;
        loop {
            let scope = self.scope();
            let rest = scope.rest(range, locking).filter(|rest| asked.as_ref() != Some(rest));
            let known = scope.known(range, rest.as_ref(), locking);
            let own = reader.own_in(range).into_iter();
            let own = own.filter(|(key, _)| rest.as_ref().is_none_or(|rest| !rest.contains(key)));
            let rows = in_order(range, known.into_iter().chain(own));
            let missing = range.limit.map(|limit| limit.saturating_sub(rows.len()));
            let Some(rest) = rest.filter(|_| missing != Some(0)) else { return Ok(rows) };
            asked = Some(rest.clone());
            if let Some(rows) = self.ask(range, KeyRange { limit: missing, ..rest }, rows, locking, reader)? {
                return Ok(rows);
            }
        }
    }

    /// Asks for what is left of a range; all of the range, if its memory cannot tell what was asked for.
    fn ask<R: Reader>(
        &mut self,
        range: &KeyRange,
        rest: KeyRange,
        known: Rows,
        locking: bool,
        reader: &mut R,
    ) -> Result<Option<Rows>, R::Stop> {
        let (parts, beside) = self.around(&rest, locking);
        let mut rows: BTreeMap<RowKey, Option<Row>> =
            known.into_iter().chain(beside).map(|(key, row)| (key, Some(row))).collect();
        let mut is_known = true;
        for part in parts {
            let scanned = reader.scan(&part, locking)?;
            is_known &= scanned.read.is_some();
            let own: BTreeSet<RowKey> = reader.own_in(&part).into_iter().map(|own| own.0).collect();
            let answers = self.scope().of(locking);
            // Together with what lies between them the parts are the whole.
            scanned.read.filter(|_| rest.limit.is_some()).into_iter().for_each(|read| answers.ranges.push(read));
            let foreign = scanned.rows.iter().filter(|(key, _)| !own.contains(key));
            answers.keys.extend(foreign.map(|(key, row)| (key.clone(), Some(row.clone()))));
            rows.extend(scanned.rows.into_iter().map(|(key, row)| (key, Some(row))));
        }
        if is_known {
            if rest.limit.is_none() {
                self.scope().of(locking).ranges.push(rest);
            }
            return Ok(None);
        }
        Ok(Some(in_order(range, rows.into_iter().chain(reader.own_in(range)))))
    }

    /// The parts of a range that lie around the keys that are known, ascending, and what is known of those keys.
    fn around(&mut self, range: &KeyRange, locking: bool) -> (Vec<KeyRange>, Rows) {
        let all = (vec![range.clone()], Vec::new());
        let known = self.scope().known(range, None, locking);
        if known.is_empty() || range.limit.is_some() {
            return all;
        }
        let numbers: Option<Vec<i128>> = known.keys().map(|key| next_number(range, key)).collect();
        let Some(numbers) = numbers else { return all };
        (gaps(range, &numbers), known.into_iter().filter_map(|(key, row)| Some((key, row?))).collect())
    }

    /// The row under a key that a statement seeks: with its lock, if it fits; nothing if it is passed over. A row of which it cannot be told
    /// whether it fits is handed out as it was read, so that whoever asks meets the same error.
    pub fn seek<R: Reader>(
        &mut self,
        key: &RowKey,
        fits: &mut Fits<'_>,
        reader: &mut R,
    ) -> Result<Option<Row>, R::Stop> {
        let passes = |row: Option<Row>, fits: &mut Fits<'_>| row.filter(|row| fits(key, row) != Fit::No);
        if let Some(own) = reader.own(key) {
            return Ok(passes(own, fits));
        }
        let scope = self.scope();
        if let Some(locked) = scope.locked.get(key) {
            return Ok(passes(locked, fits));
        }
        if !scope.wanted.contains_key(key) {
            let known = scope.plain.get(key);
            let found = match known {
                Some(Some(row)) if fits(key, &row).is_sought() => Found::Wanted,
                Some(row) => Found::Passed(row),
                None => reader.look(key, fits)?,
            };
            self.found(key, &found);
            match found {
                Found::Passed(row) => return Ok(passes(row, fits)),
                Found::Locked(row) => return Ok(Some(row)),
                Found::Wanted => {}
            }
        }
        Ok(self.claim(key, fits, reader)?.and_then(|row| passes(row, fits)))
    }

    fn found(&mut self, key: &RowKey, found: &Found) {
        let scope = self.scope();
        match found {
            Found::Passed(row) => drop(scope.plain.keys.insert(key.clone(), row.clone())),
            Found::Locked(row) => drop(scope.locked.keys.insert(key.clone(), Some(row.clone()))),
            Found::Wanted => drop(scope.wanted.insert(key.clone(), ())),
        }
    }

    /// The keys of a range that are wanted already: who looks again, because it had to wait or wants more, wants them still.
    pub fn wanted_in(&self, range: &KeyRange) -> BTreeSet<RowKey> {
        let scope = self.known_scope().into_iter();
        scope.flat_map(|scope| range.among(&scope.wanted)).map(|(key, ())| key.clone()).collect()
    }

    /// Rows that fit by what was read of their cells are wanted from now on.
    pub fn want(&mut self, keys: &[RowKey]) {
        self.scope().wanted.extend(keys.iter().map(|key| (key.clone(), ())));
    }

    /// What stands under a key that is wanted, under its lock; the outer option is none if it was skipped.
    fn claim<R: Reader>(
        &mut self,
        key: &RowKey,
        fits: &mut Fits<'_>,
        reader: &mut R,
    ) -> Result<Option<Option<Row>>, R::Stop> {
        if let Some(known) = self.scope().locked.keys.get(key) {
            return Ok(Some(known.clone()));
        }
        if self.scope().skipped.contains(key) {
            return Ok(None);
        }
        let claimed = reader.claim(key, fits)?;
        match &claimed {
            Some(row) => drop(self.scope().locked.keys.insert(key.clone(), row.clone())),
            None => drop(self.scope().skipped.insert(key.clone())),
        }
        Ok(claimed)
    }

    /// The keys of a range under which something fits, or did when it was looked at, in the order of the range; each of them is then sought.
    pub fn look_over<R: Reader>(
        &mut self,
        range: &KeyRange,
        fits: &mut Fits<'_>,
        reader: &mut R,
    ) -> Result<Vec<RowKey>, R::Stop> {
        let mut asked = None;
        loop {
            let scope = self.scope();
            let known = [&scope.plain.ranges, &scope.locked.ranges, &scope.sought].into_iter();
            let known: Vec<&KeyRange> = known.flat_map(|known| known.above(range.space, &range.prefix)).collect();
            let rest = rest(range, &known).filter(|rest| asked.as_ref() != Some(rest));
            let mut keys: BTreeSet<RowKey> = BTreeSet::new();
            for (key, row) in scope.known(range, rest.as_ref(), false) {
                keys.extend(row.is_some_and(|row| fits(&key, &row) != Fit::No).then_some(key));
            }
            let inside = |key: &RowKey| range.contains(key) && rest.as_ref().is_none_or(|rest| !rest.contains(key));
            keys.extend(range.among(&scope.wanted).filter(|(key, ())| inside(key)).map(|(key, ())| key.clone()));
            for (key, row) in reader.own_in(range).into_iter().filter(|(key, _)| inside(key)) {
                match row.is_some_and(|row| fits(&key, &row) != Fit::No) {
                    true => keys.insert(key),
                    false => keys.remove(&key),
                };
            }
            let missing = range.limit.map(|limit| limit.saturating_sub(keys.len()));
            let mut ordered: Vec<RowKey> = keys.into_iter().collect();
            if range.descending {
                ordered.reverse();
            }
            ordered.truncate(range.limit.unwrap_or(usize::MAX));
            let Some(rest) = rest.filter(|_| missing != Some(0)) else { return Ok(ordered) };
            asked = Some(rest.clone());
            let looked = reader.look_over(&KeyRange { limit: missing, ..rest.clone() }, fits)?;
            looked.found.iter().for_each(|(key, found)| self.found(key, found));
            // What is no range is all that was asked for.
            self.scope().sought.push(looked.read.unwrap_or(KeyRange { limit: None, ..rest }));
        }
    }
}

/// Rows that exist, in the order of a range and not more than it wants; of several under one key the last counts.
fn in_order(range: &KeyRange, rows: impl Iterator<Item = (RowKey, Option<Row>)>) -> Rows {
    let rows: BTreeMap<RowKey, Option<Row>> = rows.collect();
    let mut rows: Rows = rows.into_iter().filter_map(|(key, row)| Some((key, row?))).collect();
    if range.descending {
        rows.reverse();
    }
    rows.truncate(range.limit.unwrap_or(usize::MAX));
    rows
}

/// What is left of a range when others are known: its end, where it is read upwards, else its beginning.
fn rest(range: &KeyRange, known: &[&KeyRange]) -> Option<KeyRange> {
    let mut rest = range.clone();
    'shorter: loop {
        for known in known {
            if includes(known, &rest) {
                return None;
            }
            if known.space != rest.space || known.prefix != rest.prefix {
                continue;
            }
            if reads_down(range) {
                if let Some(below) =
                    known.low.as_ref().filter(|_| reaches(known, rest.high.as_ref(), true)).and_then(before)
                {
                    rest.high = Some(below);
                    continue 'shorter;
                }
            } else if let Some(high) = known.high.as_ref().filter(|_| reaches(known, rest.low.as_ref(), false)) {
                // Nothing is above the greatest.
                rest.low = Some(after(high)?);
                continue 'shorter;
            }
        }
        return Some(rest);
    }
}

/// Whether a range contains the end of another: its greatest part, or its least.
fn reaches(range: &KeyRange, end: Option<&KeyPart>, upper: bool) -> bool {
    match (end, upper) {
        (None, true) => range.high.is_none(),
        (None, false) => range.low.is_none(),
        (Some(part), _) => {
            range.low.as_ref().is_none_or(|low| low <= part) && range.high.as_ref().is_none_or(|high| part <= high)
        }
    }
}

/// The least part above another; nothing is above NULL.
fn after(part: &KeyPart) -> Option<KeyPart> {
    match part {
        // The least text comes after all numbers.
        KeyPart::Number(number) => Some(number.checked_add(1).map_or(KeyPart::Text("".into()), KeyPart::Number)),
        KeyPart::Text(text) => Some(KeyPart::Text(format!("{text}\0").into())),
        KeyPart::Null => None,
    }
}

/// The greatest part below another; a text has none.
fn before(part: &KeyPart) -> Option<KeyPart> {
    match part {
        KeyPart::Number(number) => number.checked_sub(1).map(KeyPart::Number),
        KeyPart::Text(_) | KeyPart::Null => None,
    }
}

/// Whether a range is read from its greatest key downwards: only where it is not read whole, because else all its keys are read anyway.
fn reads_down(range: &KeyRange) -> bool {
    range.descending && range.limit.is_some()
}

/// Whether everything that one range contains another one contains, too.
fn includes(outer: &KeyRange, inner: &KeyRange) -> bool {
    if outer.space != inner.space || !inner.prefix.starts_with(&outer.prefix) {
        return false;
    }
    let above = |part: &KeyPart| outer.low.as_ref().is_none_or(|low| low <= part);
    let below = |part: &KeyPart| outer.high.as_ref().is_none_or(|high| part <= high);
    match inner.prefix.get(outer.prefix.len()) {
        Some(part) => above(part) && below(part),
        None => {
            (outer.low.is_none() || inner.low.as_ref().is_some_and(above))
                && (outer.high.is_none() || inner.high.as_ref().is_some_and(below))
        }
    }
}

/// The number that is the last part of a key, right behind the prefix of a range.
fn next_number(range: &KeyRange, key: &RowKey) -> Option<i128> {
    match &key.parts[range.prefix.len()..] {
        [KeyPart::Number(number)] => Some(*number),
        _ => None,
    }
}

/// What is left of a range without some numbers, which ascend.
fn gaps(range: &KeyRange, without: &[i128]) -> Vec<KeyRange> {
    let mut low = range.low.clone();
    let mut gaps = Vec::new();
    for number in without {
        gaps.extend(number.checked_sub(1).map(|below| KeyRange {
            low: low.clone(),
            high: Some(KeyPart::Number(below)),
            ..range.clone()
        }));
        low = number.checked_add(1).map(KeyPart::Number);
    }
    gaps.extend(low.map(|low| KeyRange { low: Some(low), ..range.clone() }));
    gaps.retain(|gap| match (&gap.low, &gap.high) {
        (Some(low), Some(high)) => low <= high,
        _ => true,
    });
    gaps
}

#[cfg(test)]
mod tests;
