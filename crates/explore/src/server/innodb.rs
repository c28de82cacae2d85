//! InnoDB as it works: versions in the order of commits, a read view for plain reads, and locks on rows and on the gaps between them.
//!
//! ```text
//!   locks    t1 exclusive 20                             a record
//!   gaps     t2 (20, 30) · t3 (20, 30)                   two may have the same gap, and then neither can insert there
//!   queue    t2 wants 20 · t3 wants 20                   nobody overtakes
//! ```
//!
//! A locking statement looks at the latest version of each row, at the moment at which it gets its lock. Above read committed it keeps the
//! lock of every row that it has looked at, and the gap where there was none. Plain reads see the versions of a view: that of the statement
//! at read committed, that of the first plain read above, none at serializable, where they lock.
//!
//! | above read committed | locks |
//! |---|---|
//! | a row by its whole primary key | the record; the gap where there is none |
//! | a range of a table or of an index, in its order | each record with the gap before it, and when its turn comes; a record that is waited for keeps the gap before it meanwhile |
//! | the end of a range | the gap up to the next record; that record, too, unless the range was one value, or all |
//! | the row that an entry of an index leads to | the record |
//! | INSERT | waits for who has a gap where it inserts, or waits for one there |
//!
//! This is the simulator that holds the definition (`skew_check::spec`) to account, for rows and conditions of programs in SQL. The
//! definition knows no order of keys: there a gap is one key, or a range ([`Gap`]). A deleted row is gone when its transaction commits; on a
//! server it stays as a record for a moment, until it is purged.

use super::gap::Gap;
use super::part::{StatePart, StateParts, open_snapshots};
use super::told::{ToldDeed, ToldEvent, ToldFate, ToldTransaction};
use super::turn::{Asking, RowAnswer, Want};
use crate::keys::{KeyNumber, Keys, reads_down};
use crate::set::{INITIAL, Number, Set};
use skew_history::{EngineLevel, StatementKind};
use skew_sql::{Fits, KeyRange, Row};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The state of the database.
#[derive(Clone, Debug)]
pub(crate) struct Innodb {
    /// By number.
    levels: Vec<EngineLevel>,
    /// By number: the statement that it was made for, and those who had committed.
    views: Vec<Option<(u32, Set)>>,
    versions: Vec<RowVersions>,
    locks: Vec<RowLock>,
    gaps: Vec<GapLock>,
    /// What is waited for, in the order in which it was asked for.
    queue: Vec<WantedLock>,
    /// What stood where somebody wrote who is not over, in the order of the writes.
    undo: Vec<UndoneWrite>,
    pub(crate) committed: Set,
}

/// The versions under a key.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RowVersions {
    key: KeyNumber,
    initial: Option<Row>,
    committed: Vec<(Number, Option<Row>)>,
    pending: Option<(Number, Option<Row>)>,
}

/// What a write replaced.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct UndoneWrite {
    transaction: Number,
    statement: u32,
    key: KeyNumber,
    before: Option<(Number, Option<Row>)>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RowLock {
    transaction: Number,
    key: KeyNumber,
    mode: LockMode,
    /// The statement that wrote the row, if nothing else says that it is locked: such a lock goes with what was written.
    implied: Option<u32>,
}

/// Nobody else may insert there.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GapLock {
    transaction: Number,
    /// What was sought.
    key: Option<KeyNumber>,
    gap: Gap,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WantedLock {
    lock: RowLock,
    /// Whether an INSERT asks for it.
    inserts: bool,
    /// The gap that comes with it, which is kept from others while it is waited for.
    gap: Option<Gap>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum LockMode {
    Shared,
    Exclusive,
    Gap,
    /// What an INSERT wants: nobody else may hold the gap.
    Insertion,
}

/// All that there is of one row, or what is not of one row.
#[derive(PartialEq, Debug)]
pub(crate) enum InnodbPart {
    Row(Option<RowVersions>, Vec<RowLock>),
    /// Gaps and undo go by their transactions, what is waited for by when it was asked for.
    Between(Vec<GapLock>, Vec<WantedLock>, Vec<UndoneWrite>),
}

impl InnodbPart {
    pub(crate) fn hash_roughly(&self, hasher: &mut impl Hasher) {
        match self {
            InnodbPart::Row(versions, locks) => {
                let by = |version: &(Number, Option<Row>)| (version.0, version.1.is_some());
                if let Some(RowVersions { key, committed, pending, .. }) = versions {
                    (key, pending.as_ref().map(by)).hash(hasher);
                    committed.iter().for_each(|version| by(version).hash(hasher));
                }
                locks.iter().for_each(|lock| (lock.key, lock.transaction, lock.mode, lock.implied).hash(hasher));
            }
            InnodbPart::Between(gaps, queue, undo) => {
                gaps.iter().for_each(|gap| (gap.transaction, gap.key).hash(hasher));
                queue.iter().for_each(|wanted| (wanted.lock.transaction, wanted.lock.key).hash(hasher));
                undo.iter().for_each(|write| (write.transaction, write.statement, write.key).hash(hasher));
            }
        }
    }

    pub(crate) fn size(&self) -> usize {
        match self {
            InnodbPart::Row(versions, locks) => {
                versions.as_ref().map_or(0, |versions| size_of_val(&versions.committed[..])) + size_of_val(&locks[..])
            }
            InnodbPart::Between(gaps, queue, undo) => {
                size_of_val(&gaps[..]) + size_of_val(&queue[..]) + size_of_val(&undo[..])
            }
        }
    }
}

impl LockMode {
    fn conflicts(self, held: LockMode) -> bool {
        match (self, held) {
            (LockMode::Insertion, _) => true,
            (LockMode::Gap, _) | (_, LockMode::Gap) => false,
            (LockMode::Shared, held) => held != LockMode::Shared,
            (LockMode::Exclusive, _) => true,
        }
    }

    fn of(kind: StatementKind) -> LockMode {
        match kind {
            StatementKind::Select
            | StatementKind::ForShare
            | StatementKind::ForKeyShare
            | StatementKind::ForeignKey => LockMode::Shared,
            _ => LockMode::Exclusive,
        }
    }
}

impl RowVersions {
    /// What the last who committed has left.
    fn current(&self) -> &Option<Row> {
        self.committed.last().map_or(&self.initial, |version| &version.1)
    }

    /// The own version, or the last of those that are known.
    fn seen_by(&self, one: Number, knows: impl Fn(Number) -> bool) -> (Number, Option<Row>) {
        if let Some((by, row)) = self.pending.as_ref().filter(|pending| pending.0 == one) {
            return (*by, row.clone());
        }
        let last = self.committed.iter().rfind(|version| knows(version.0));
        last.map_or_else(|| (INITIAL, self.initial.clone()), |(by, row)| (*by, row.clone()))
    }
}

impl Innodb {
    /// Before anything; levels by number.
    pub(crate) fn new(levels: Vec<EngineLevel>) -> Innodb {
        let views = vec![None; levels.len()];
        let (versions, locks, gaps, queue, undo) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Innodb { levels, views, versions, locks, gaps, queue, undo, committed: Set::EMPTY }
    }

    /// One more transaction, behind all others.
    pub(crate) fn add(&mut self, level: EngineLevel) {
        self.levels.push(level);
        self.views.push(None);
    }

    fn level(&self, one: Number) -> EngineLevel {
        self.levels[one as usize]
    }

    /// Whether plain reads of a transaction lock.
    pub(crate) fn locks_all(&self, one: Number) -> bool {
        self.level(one) == EngineLevel::MysqlSerializable
    }

    /// Whether a view serves all plain reads of a transaction.
    pub(crate) fn is_repeatable(&self, one: Number) -> bool {
        self.level(one) != EngineLevel::MysqlReadCommitted
    }

    pub(crate) fn needs_view(&self, one: Number, statement: u32) -> bool {
        !self.views[one as usize].is_some_and(|view| self.is_repeatable(one) || view.0 == statement)
    }

    pub(crate) fn make_view(&mut self, one: Number, statement: u32) {
        self.views[one as usize] = Some((statement, self.committed));
    }

    /// A view that this statement would not look at serves nobody any more.
    pub(crate) fn drop_old_view(&mut self, one: Number, statement: u32) {
        if self.needs_view(one, statement) {
            self.views[one as usize] = None;
        }
    }

    fn of(&mut self, key: KeyNumber, keys: &Keys) -> usize {
        if let Some(place) = self.versions.iter().position(|versions| versions.key == key) {
            return place;
        }
        let initial = keys.initial(key).cloned();
        self.versions.push(RowVersions { key, initial, committed: Vec::new(), pending: None });
        self.versions.len() - 1
    }

    /// A plain read; the view is there.
    pub(crate) fn select(&mut self, asking: &mut Asking<'_>, key: KeyNumber) -> Option<Row> {
        let place = self.of(key, asking.keys);
        let view = self.views[asking.one as usize].map_or(Set::EMPTY, |view| view.1);
        let (source, row) = self.versions[place].seen_by(asking.one, |by| view.contains(by));
        asking.saw(StatementKind::Select, key, ToldDeed::Read(source, row.clone()));
        row
    }

    /// The row under a key as it stands, committed or own.
    pub(crate) fn latest(&mut self, one: Number, key: KeyNumber, keys: &Keys) -> Option<Row> {
        let place = self.of(key, keys);
        self.versions[place].seen_by(one, |_| true).1
    }

    /// What is committed under a key, or own, of whose row a lock is held.
    pub(crate) fn read_latest(&mut self, asking: &mut Asking<'_>, key: KeyNumber) -> RowAnswer {
        let place = self.of(key, asking.keys);
        let (source, row) = self.versions[place].seen_by(asking.one, |_| true);
        asking.saw(asking.kind, key, ToldDeed::Read(source, row.clone()));
        row.map_or(RowAnswer::Passed(None), RowAnswer::Locked)
    }

    /// A record is left out, because somebody else has it.
    pub(crate) fn leave_out(&mut self, asking: &mut Asking<'_>, key: KeyNumber) {
        let place = self.of(key, asking.keys);
        let (source, row) = self.versions[place].seen_by(asking.one, |_| true);
        let event = asking.event(asking.kind, key, ToldDeed::Read(source, row));
        asking.tell(ToldEvent { fate: ToldFate::LeftOut, ..event });
    }

    /// Whether there is a record under a key, though somebody may be about to insert or to delete it.
    pub(crate) fn is_there(&self, key: KeyNumber, keys: &Keys) -> bool {
        match self.versions.iter().find(|versions| versions.key == key) {
            Some(versions) => versions.pending.is_some() || versions.current().is_some(),
            None => keys.initial(key).is_some(),
        }
    }

    /// The gap around a key.
    fn gap_around(&self, key: KeyNumber, keys: &Keys) -> Gap {
        let row_key = keys.key(key);
        if !keys.have_order() {
            return Gap::Only(row_key.clone());
        }
        let (low, high) = keys.around(row_key, |other| self.is_there(other, keys));
        Gap::Between { space: row_key.space, low, high }
    }

    /// The gap before a record.
    fn gap_before(&self, key: KeyNumber, keys: &Keys) -> Gap {
        match self.gap_around(key, keys) {
            Gap::Between { space, low, .. } => Gap::Between { space, low, high: Some(keys.key(key).clone()) },
            gap => gap,
        }
    }

    /// The gap that comes with a lock: where there is no record, before each record of a range, and before one that is about to go.
    pub(crate) fn gap_wanted(&self, one: Number, want: &Want, keys: &Keys) -> Option<Gap> {
        let place = self.versions.iter().position(|versions| versions.key == want.key);
        let keeps = self.level(one) != EngineLevel::MysqlReadCommitted;
        if want.is_check || want.is_write || !keeps && want.kind != StatementKind::ForeignKey {
            return None;
        }
        match place {
            None if keys.initial(want.key).is_none() => Some(self.gap_around(want.key, keys)),
            Some(place) if self.is_gap(one, place) => Some(self.gap_around(want.key, keys)),
            _ if !keys.have_order() => None,
            Some(place) if self.is_going(one, place) => Some(self.gap_before(want.key, keys)),
            _ => want.in_range.then(|| self.gap_before(want.key, keys)),
        }
    }

    /// Whether somebody else is about to delete a row.
    fn is_going(&self, one: Number, place: usize) -> bool {
        self.versions[place].pending.as_ref().is_some_and(|pending| pending.0 != one && pending.1.is_none())
    }

    /// Whether there is nothing under a key, and nobody about to change that.
    fn is_gap(&self, one: Number, place: usize) -> bool {
        self.versions[place].seen_by(one, |_| true).1.is_none() && !self.is_changing(one, place)
    }

    /// Seeks a row, with its lock; `waited`: it was not to be had at once.
    pub(crate) fn seek(
        &mut self,
        asking: &mut Asking<'_>,
        key: KeyNumber,
        fits: &mut Fits<'_>,
        waited: bool,
    ) -> RowAnswer {
        let (one, kind) = (asking.one, asking.kind);
        let place = self.of(key, asking.keys);
        let keeps_all = self.level(one) != EngineLevel::MysqlReadCommitted;
        let (source, row) = self.versions[place].seen_by(one, |_| true);
        let mode = self.mode_to_seek(one, place, kind);
        if (mode != LockMode::Gap || keeps_all) && self.must_not_see(one, place) {
            return RowAnswer::Refused("1020");
        }
        let passed = row.as_ref().is_some_and(|row| !fits(asking.keys.key(key), row).is_sought());
        let changes = matches!(kind, StatementKind::Update | StatementKind::Delete);
        // SELECT … FOR UPDATE of one row by its key keeps what it has looked at.
        let may_let_go = changes || kind != StatementKind::ForeignKey && !asking.is_alone;
        // What an entry leads to is locked by itself, and an entry is let go together with a row that is passed over.
        let lets_go = !keeps_all
            && match row {
                None => kind != StatementKind::ForeignKey,
                Some(_) => passed && may_let_go && !waited || asking.keys.is_entry(key),
            };
        match lets_go {
            true if row.is_none() => self.gaps.retain(|gap| (gap.transaction, gap.key) != (one, Some(key))),
            true => {}
            false => {
                let gap = self.gap_wanted(one, &asking.want(key), asking.keys);
                // Who wrote a row has its lock, and asks for no other one where it does not go along an index.
                let implied = (source == one && !asking.want(key).in_range).then_some(asking.statement);
                self.hold(RowLock { transaction: one, key, mode, implied });
                self.keep(one, Some(key), gap);
            }
        }
        let kept = passed && !keeps_all && may_let_go && waited;
        let deed = ToldDeed::Read(source, row.clone());
        asking.tell(ToldEvent { passed, waited: kept, ..asking.event(kind, key, deed) });
        match row {
            Some(row) if !passed => RowAnswer::Locked(row),
            row => RowAnswer::Passed(row),
        }
    }

    /// Whether somebody looks at what is committed of a row before it waits for it: an UPDATE at read committed that goes along the rows.
    pub(crate) fn glances(&self, one: Number, want: &Want, keys: &Keys) -> bool {
        let goes_along = want.in_range && want.kind == StatementKind::Update && !want.is_write;
        goes_along && self.level(one) == EngineLevel::MysqlReadCommitted && !keys.is_entry(want.key)
    }

    /// Passes over a row that somebody else has, if nothing that qualifies is committed there.
    pub(crate) fn glance(&mut self, asking: &mut Asking<'_>, key: KeyNumber, fits: &mut Fits<'_>) -> Option<RowAnswer> {
        let place = self.of(key, asking.keys);
        let (source, row) = self.versions[place].seen_by(asking.one, |_| true);
        if row.as_ref().is_some_and(|row| fits(asking.keys.key(key), row).is_sought()) {
            return None;
        }
        let event = asking.event(asking.kind, key, ToldDeed::Read(source, row.clone()));
        asking.tell(ToldEvent { passed: row.is_some(), ..event });
        Some(RowAnswer::Passed(row))
    }

    fn mode_to_seek(&self, one: Number, place: usize, kind: StatementKind) -> LockMode {
        if self.is_gap(one, place) { LockMode::Gap } else { LockMode::of(kind) }
    }

    fn mode_to_insert(&self, one: Number, place: usize, updates: bool) -> LockMode {
        match self.is_gap(one, place) {
            true => LockMode::Insertion,
            false if updates => LockMode::Exclusive,
            false => LockMode::Shared,
        }
    }

    /// The check of an INSERT.
    pub(crate) fn check(&mut self, asking: &mut Asking<'_>, key: KeyNumber, want: Want) -> RowAnswer {
        let one = asking.one;
        let place = self.of(key, asking.keys);
        let (source, row) = self.versions[place].seen_by(one, |_| true);
        let mode = self.mode_to_insert(one, place, want.kind == StatementKind::Upsert);
        if self.must_not_see(one, place) {
            return RowAnswer::Refused("1020");
        }
        let implied = (mode == LockMode::Insertion).then_some(asking.statement);
        let mode = if mode == LockMode::Shared { mode } else { LockMode::Exclusive };
        self.hold(RowLock { transaction: one, key, mode, implied });
        if row.is_some() && asking.keys.is_entry(key) {
            // Who looks for duplicates in an index goes along it, whatever the level; the row that was to be inserted is taken back.
            let gap = self.gap_before(key, asking.keys);
            self.keep(one, Some(key), Some(gap));
            self.take_back(one, asking.told);
        }
        asking.saw(want.kind, key, ToldDeed::Read(source, row.clone()));
        if row.is_none() {
            // Others wait for it from now on.
            self.replace(asking, place, None);
        }
        row.map_or(RowAnswer::Passed(None), RowAnswer::Locked)
    }

    /// What was only claimed is free again.
    fn take_back(&mut self, one: Number, told: &ToldTransaction) {
        let is_claim = |pending: &mut (Number, Option<Row>)| pending.0 == one && pending.1.is_none();
        for versions in self.versions.iter_mut().filter(|versions| !told.has_changed(versions.key)) {
            if versions.pending.take_if(is_claim).is_some() {
                let lock = (one, versions.key, LockMode::Exclusive);
                self.locks.retain(|other| (other.transaction, other.key, other.mode) != lock);
            }
        }
    }

    /// A range is about to be looked over. Where keys have no order, it is one gap; else gaps come with records, and who begins above has
    /// the one above first.
    pub(crate) fn begin_range(&mut self, one: Number, range: &KeyRange, keys: &Keys) -> Option<Gap> {
        if self.level(one) == EngineLevel::MysqlReadCommitted {
            return None;
        }
        let gap = match (keys.have_order(), reads_down(range)) {
            (false, _) => Gap::Range(range.clone()),
            (true, false) => return None,
            (true, true) => {
                let above = keys.beyond(range, |key| self.is_there(key, keys)).1;
                let last = keys.next_in(range, None, |key| self.is_there(key, keys));
                let (low, high) = (last.map(|key| keys.key(key).clone()), above.map(|key| keys.key(key).clone()));
                Gap::Between { space: range.space, low, high }
            }
        };
        self.keep(one, None, Some(gap.clone()));
        Some(gap)
    }

    /// A range with what lies between it and the records below and above it.
    pub(crate) fn around(&self, range: &KeyRange, keys: &Keys) -> Gap {
        if !keys.have_order() {
            return Gap::Range(range.clone());
        }
        let name = |key: Option<KeyNumber>| key.map(|key| keys.key(key).clone());
        let (below, above) = keys.beyond(range, |key| self.is_there(key, keys));
        Gap::Between { space: range.space, low: name(below), high: name(above) }
    }

    /// The record behind a range that is locked with it, if the range has a bound there.
    pub(crate) fn end_of(&self, range: &KeyRange, keys: &Keys) -> Option<KeyNumber> {
        let (below, above) = keys.beyond(range, |key| self.is_there(key, keys));
        let (record, bound) = if reads_down(range) { (below, &range.low) } else { (above, &range.high) };
        record.filter(|_| keys.have_order() && bound.is_some())
    }

    /// A range was looked over to its end: the gap up to the next record, and that record if it is wanted.
    pub(crate) fn end_range(&mut self, one: Number, range: &KeyRange, end: Option<&Want>, keys: &Keys) -> Option<Gap> {
        if self.level(one) == EngineLevel::MysqlReadCommitted || !keys.have_order() {
            return None;
        }
        let name = |key: Option<KeyNumber>| key.map(|key| keys.key(key).clone());
        let (below, above) = keys.beyond(range, |key| self.is_there(key, keys));
        let mut last = below;
        if !reads_down(range) {
            while let Some(next) =
                keys.next_in(range, last.filter(|&key| Some(key) != below), |key| self.is_there(key, keys))
            {
                last = Some(next);
            }
        }
        let gap = match reads_down(range) {
            false => Gap::Between { space: range.space, low: name(last), high: name(above) },
            true => match below {
                Some(below) => self.gap_before(below, keys),
                None => return None,
            },
        };
        if let Some(want) = end {
            self.hold(RowLock { transaction: one, key: want.key, mode: LockMode::of(want.kind), implied: None });
        }
        self.keep(one, None, Some(gap.clone()));
        Some(gap)
    }

    /// Writes under a key that nobody else has.
    pub(crate) fn write(
        &mut self,
        asking: &mut Asking<'_>,
        key: KeyNumber,
        value: Option<Row>,
        is_blind: bool,
    ) -> RowAnswer {
        let one = asking.one;
        let place = self.of(key, asking.keys);
        if is_blind && self.must_not_see(one, place) {
            return RowAnswer::Refused("1020");
        }
        let implied = Some(asking.statement);
        self.hold(RowLock { transaction: one, key, mode: LockMode::Exclusive, implied });
        asking.saw(asking.kind, key, ToldDeed::Wrote(value.clone()));
        self.replace(asking, place, value);
        RowAnswer::Passed(None)
    }

    /// Another version stands under a key until its writer is over, or takes it back.
    fn replace(&mut self, asking: &Asking<'_>, place: usize, value: Option<Row>) {
        let (transaction, statement, key) = (asking.one, asking.statement, self.versions[place].key);
        let before = self.versions[place].pending.replace((transaction, value));
        self.undo.push(UndoneWrite { transaction, statement, key, before });
    }

    /// Whether somebody else is about to change a row.
    fn is_changing(&self, one: Number, place: usize) -> bool {
        self.versions[place].pending.as_ref().is_some_and(|pending| pending.0 != one)
    }

    /// Whether the last change of a row is one that a transaction with snapshot isolation does not know.
    fn must_not_see(&self, one: Number, place: usize) -> bool {
        let versions = &self.versions[place];
        let (Some((_, view)), Some(&(by, _))) = (self.views[one as usize], versions.committed.last()) else {
            return false;
        };
        let is_own = versions.pending.as_ref().is_some_and(|pending| pending.0 == one);
        self.level(one) == EngineLevel::MysqlSnapshotIsolation && !view.contains(by) && !is_own
    }

    /// The lock that somebody wants now.
    fn wanted(&mut self, one: Number, want: &Want, keys: &Keys) -> WantedLock {
        let place = self.of(want.key, keys);
        let inserts = want.is_check || want.is_write;
        let updates = want.kind == StatementKind::Upsert || want.is_write;
        let mode = match inserts {
            true => self.mode_to_insert(one, place, updates),
            false => self.mode_to_seek(one, place, want.kind),
        };
        let gap = self.gap_wanted(one, want, keys);
        WantedLock { lock: RowLock { transaction: one, key: want.key, mode, implied: None }, inserts, gap }
    }

    /// Who holds what conflicts, or has asked for it before: nobody overtakes, not even who holds a weaker lock. Who has the lock asks for
    /// nothing.
    pub(crate) fn blockers(&mut self, one: Number, want: &Want, keys: &Keys) -> Set {
        let RowLock { key, mode, .. } = self.wanted(one, want, keys).lock;
        let is_own = |lock: &&RowLock| lock.transaction == one;
        let is_enough = |held: LockMode| held == LockMode::Exclusive && mode != LockMode::Insertion || held == mode;
        if self.locks.iter().any(|lock| lock.key == key && is_own(&lock) && is_enough(lock.mode)) {
            return Set::EMPTY;
        }
        let place = self.queue.iter().position(|wanted| is_own(&&wanted.lock)).unwrap_or(self.queue.len());
        let asked = self.queue[..place].iter().map(|wanted| &wanted.lock);
        let asked = asked.filter(|lock| mode != LockMode::Insertion && lock.mode != LockMode::Insertion);
        let others = self.locks.iter().chain(asked).filter(|lock| lock.key == key && !is_own(lock));
        let found: Set = others.filter(|lock| mode.conflicts(lock.mode)).map(|lock| lock.transaction).collect();
        if mode != LockMode::Insertion {
            return found;
        }
        let row_key = keys.key(key);
        let held = self.gaps.iter().map(|gap| (gap.transaction, &gap.gap));
        let asked =
            self.queue[..place].iter().filter_map(|wanted| Some((wanted.lock.transaction, wanted.gap.as_ref()?)));
        let gaps = held.chain(asked).filter(|(other, gap)| *other != one && gap.contains(row_key));
        found | gaps.map(|gap| gap.0).collect()
    }

    /// Somebody waits from now on; with the gap that it keeps meanwhile, and with what lies before it and behind it on its way along an
    /// index: it will not see what is inserted behind it.
    pub(crate) fn wait(&mut self, one: Number, want: &Want, keys: &Keys) -> Vec<Gap> {
        let wanted = self.wanted(one, want, keys);
        let row_key = keys.key(want.key);
        let neighbours = want.in_range.then(|| keys.around(row_key, |other| self.is_there(other, keys)));
        let passed = neighbours.map(|(low, high)| Gap::Between { space: row_key.space, low, high });
        let gaps = wanted.gap.iter().cloned().chain(passed).collect();
        // Who waits has put down whom it waits for.
        let awaited = self.locks.iter_mut().filter(|lock| lock.key == want.key && lock.transaction != one);
        awaited.for_each(|lock| lock.implied = None);
        self.queue.push(wanted);
        gaps
    }

    /// What somebody waits for.
    pub(crate) fn awaited(&self, one: Number) -> Option<KeyNumber> {
        self.queue.iter().find(|wanted| wanted.lock.transaction == one).map(|wanted| wanted.lock.key)
    }

    /// Somebody has got what it waited for.
    pub(crate) fn go_on(&mut self, one: Number) {
        self.queue.retain(|wanted| wanted.lock.transaction != one);
    }

    pub(crate) fn waits(&self, one: Number) -> bool {
        self.awaited(one).is_some()
    }

    fn hold(&mut self, lock: RowLock) {
        let is_same = |other: &&mut RowLock| {
            (other.transaction, other.key, other.mode) == (lock.transaction, lock.key, lock.mode)
        };
        match self.locks.iter_mut().find(is_same) {
            Some(held) => held.implied = held.implied.filter(|_| lock.implied.is_some()),
            None if lock.mode != LockMode::Gap => self.locks.push(lock),
            None => {}
        }
    }

    fn keep(&mut self, transaction: Number, key: Option<KeyNumber>, gap: Option<Gap>) {
        let lock = gap.map(|gap| GapLock { transaction, key, gap });
        self.gaps.extend(lock.filter(|lock| !self.gaps.contains(lock)));
    }

    /// Who waits for a row that will not be there has the gap: an INSERT at every level. At read committed others have it only until they have
    /// looked at what is left of a deleted row.
    fn give_gaps(&mut self, one: Number, deletes: bool, keys: &Keys) {
        for WantedLock { lock, inserts, .. } in self.queue.clone() {
            let Some(versions) = self.versions.iter().find(|versions| versions.key == lock.key) else { continue };
            let Some((by, left)) = &versions.pending else { continue };
            let left = if deletes { left } else { versions.current() };
            let is_gone = *by == one && left.is_none();
            let is_kept = self.level(lock.transaction) != EngineLevel::MysqlReadCommitted || inserts || deletes;
            if is_gone && is_kept && lock.transaction != one && lock.mode != LockMode::Insertion {
                let gap = self.gap_around(lock.key, keys);
                self.keep(lock.transaction, Some(lock.key), Some(gap));
            }
        }
    }

    /// The keys that a transaction has locked or waits for.
    pub(crate) fn touched(&self, one: Number) -> Vec<KeyNumber> {
        let all = self.locks.iter().chain(self.queue.iter().map(|wanted| &wanted.lock));
        let sought = self.gaps.iter().filter(|gap| gap.transaction == one).filter_map(|gap| gap.key);
        all.filter(|lock| lock.transaction == one).map(|lock| lock.key).chain(sought).collect()
    }

    /// The gaps that it lets go or that grow when it ends.
    pub(crate) fn touched_gaps(&self, one: Number, keys: &Keys) -> Vec<Gap> {
        let asked = self.queue.iter().filter(|wanted| wanted.lock.transaction == one);
        let held = self.gaps.iter().filter(|gap| gap.transaction == one).map(|gap| gap.gap.clone());
        let changed = self.versions.iter().filter(|versions| versions.pending.as_ref().is_some_and(|by| by.0 == one));
        let around = changed.filter(|_| keys.have_order()).map(|versions| self.gap_around(versions.key, keys));
        held.chain(asked.filter_map(|wanted| wanted.gap.clone())).chain(around).collect()
    }

    /// Gaps that end at a record which has gone reach to the next one.
    fn grow_gaps(&mut self, changed: &[KeyNumber], keys: &Keys) {
        for &key in changed {
            if self.is_there(key, keys) {
                continue;
            }
            let around = keys.around(keys.key(key), |other| self.is_there(other, keys));
            let waiting = self.queue.iter_mut().filter_map(|wanted| wanted.gap.as_mut());
            let all = self.gaps.iter_mut().map(|gap| &mut gap.gap).chain(waiting);
            all.for_each(|gap| gap.grow(keys.key(key), &around));
        }
    }

    fn changed_by(&self, one: Number) -> Vec<KeyNumber> {
        let is_own = |versions: &&RowVersions| versions.pending.as_ref().is_some_and(|pending| pending.0 == one);
        self.versions.iter().filter(is_own).map(|versions| versions.key).collect()
    }

    /// The keys of which there is a version, or will be one.
    pub(crate) fn written(&self) -> impl Iterator<Item = KeyNumber> {
        let is_written = |versions: &&RowVersions| versions.pending.is_some() || !versions.committed.is_empty();
        self.versions.iter().filter(is_written).map(|versions| versions.key)
    }

    pub(crate) fn commit(&mut self, one: Number, told: &ToldTransaction, keys: &Keys) {
        self.give_gaps(one, true, keys);
        let changed = self.changed_by(one);
        for versions in &mut self.versions {
            let is_own = versions.pending.as_ref().is_some_and(|pending| pending.0 == one);
            // What was only claimed is no version.
            let pending = if is_own { versions.pending.take() } else { None };
            versions.committed.extend(pending.filter(|_| told.has_changed(versions.key)));
        }
        self.locks.retain(|lock| lock.transaction != one);
        self.gaps.retain(|gap| gap.transaction != one);
        self.undo.retain(|write| write.transaction != one);
        self.committed.insert(one);
        self.grow_gaps(&changed, keys);
    }

    /// As if the transaction had never been.
    pub(crate) fn forget(&mut self, one: Number, keys: &Keys) {
        self.give_gaps(one, false, keys);
        let changed = self.changed_by(one);
        self.locks.retain(|lock| lock.transaction != one);
        self.queue.retain(|wanted| wanted.lock.transaction != one);
        self.gaps.retain(|gap| gap.transaction != one);
        self.undo.retain(|write| write.transaction != one);
        for versions in &mut self.versions {
            versions.pending.take_if(|pending| pending.0 == one);
        }
        self.grow_gaps(&changed, keys);
    }

    /// As if the statements of a transaction behind this one had written nothing. Locks stay, but for those that were implied by what was written;
    /// where a record goes, who had it or waits for it has the gap.
    pub(crate) fn back_to(&mut self, one: Number, since: u32, keys: &Keys) {
        let is_undone = |write: &UndoneWrite| write.transaction == one && write.statement > since;
        let undone: Vec<UndoneWrite> = self.undo.iter().filter(|write| is_undone(write)).cloned().collect();
        self.undo.retain(|write| !is_undone(write));
        let mut changed: Vec<KeyNumber> = undone.iter().map(|write| write.key).collect();
        for write in undone.into_iter().rev() {
            let place = self.of(write.key, keys);
            self.versions[place].pending = write.before;
        }
        self.locks.retain(|lock| lock.transaction != one || lock.implied.is_none_or(|statement| statement <= since));
        changed.sort_unstable();
        changed.dedup();
        for &key in changed.iter().filter(|&&key| !self.is_there(key, keys)).collect::<Vec<_>>() {
            self.inherit(key, keys);
        }
        self.grow_gaps(&changed, keys);
    }

    /// The same for all of its statements: no lock and no view is left, and what comes now is as if it were the first.
    pub(crate) fn begin_anew(&mut self, one: Number, keys: &Keys) {
        self.forget(one, keys);
        self.views[one as usize] = None;
    }

    /// A record has gone: its locks are of the gap. At read committed only those stay that a check for duplicates has asked for.
    fn inherit(&mut self, key: KeyNumber, keys: &Keys) {
        let held = self.locks.iter().filter(|lock| lock.key == key).map(|lock| (lock, lock.mode == LockMode::Shared));
        let asked =
            self.queue.iter().filter(|wanted| wanted.lock.key == key && wanted.lock.mode != LockMode::Insertion);
        let all = held.chain(asked.map(|wanted| (&wanted.lock, wanted.inserts)));
        let stays = |(lock, checks): &(&RowLock, bool)| {
            *checks || self.level(lock.transaction) != EngineLevel::MysqlReadCommitted
        };
        let heirs: Vec<Number> = all.filter(stays).map(|(lock, _)| lock.transaction).collect();
        let gap = self.gap_around(key, keys);
        heirs.into_iter().for_each(|heir| self.keep(heir, Some(key), Some(gap.clone())));
        self.locks.retain(|lock| lock.key != key);
    }

    /// What becomes of a read whose statement is taken back: its lock stays, but for that of a key which was found free, or if the transaction
    /// begins anew. Above read committed no plain read says what was latest then, and those of another view cannot be told beside those of the
    /// one before.
    pub(crate) fn fate(&self, one: Number, read: (StatementKind, &Option<Row>, bool), begun: Option<u32>) -> ToldFate {
        let (kind, row, _) = read;
        let is_plain = kind == StatementKind::Select && !self.locks_all(one);
        let is_free = matches!(kind, StatementKind::Insert | StatementKind::Upsert) && row.is_none();
        match (begun, self.is_repeatable(one)) {
            (None, _) if !is_free => ToldFate::Stays,
            (_, false) if is_plain => ToldFate::Stays,
            (_, false) => ToldFate::Freed,
            (Some(begun), true) if is_plain => ToldFate::OldView(begun),
            (_, true) => ToldFate::Untold,
        }
    }

    /// What tells this state from others.
    pub(crate) fn parts(&self, over: Set) -> StateParts {
        let mut rows: BTreeMap<KeyNumber, (Option<RowVersions>, Vec<RowLock>)> = BTreeMap::new();
        let is_touched = |versions: &&RowVersions| versions.pending.is_some() || !versions.committed.is_empty();
        for versions in self.versions.iter().filter(is_touched) {
            rows.entry(versions.key).or_default().0 = Some(versions.clone());
        }
        for lock in &self.locks {
            rows.entry(lock.key).or_default().1.push(lock.clone());
        }
        let of_row = |(versions, mut locks): (Option<RowVersions>, Vec<RowLock>)| {
            locks.sort_by_key(|lock| (lock.transaction, lock.mode));
            StatePart::Innodb(InnodbPart::Row(versions, locks))
        };
        let (mut gaps, mut undo) = (self.gaps.clone(), self.undo.clone());
        gaps.sort_by_key(|gap| (gap.transaction, gap.key));
        undo.sort_by_key(|write| write.transaction);
        let between = StatePart::Innodb(InnodbPart::Between(gaps, self.queue.clone(), undo));
        let committed = self.versions.iter().flat_map(|versions| &versions.committed);
        StateParts {
            snapshots: open_snapshots(self.views.iter().copied(), over, committed.map(|version| version.0).collect()),
            parts: rows.into_values().map(of_row).chain([between]).collect(),
        }
    }

    /// Per key that was changed, who changed it, in order.
    pub(crate) fn versions(&self) -> Vec<(KeyNumber, Number)> {
        let of = |versions: &RowVersions| -> Vec<(KeyNumber, Number)> {
            versions.committed.iter().map(|version| (versions.key, version.0)).collect()
        };
        self.versions.iter().flat_map(of).collect()
    }
}
