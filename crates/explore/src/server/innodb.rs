//! InnoDB as it works: versions in the order of commits, a read view for plain reads, and locks on rows and on the gaps between them.
//!
//! ```text
//!   locks    t1 exclusive x · t2 gap y · t3 gap y        two may have the same gap, and then neither can insert there
//!   queue    t2 wants x · t3 wants x                     nobody overtakes
//! ```
//!
//! A locking statement looks at the latest version of each row, at the moment at which it gets its lock. Above read committed it keeps the
//! lock of every row that it has looked at, and the gap where there was none. Plain reads see the versions of a view: that of the statement
//! at read committed, that of the first plain read above, none at serializable, where they lock.
//!
//! This is the simulator that holds the definition (`skew_check::spec`) to account, for rows and conditions of programs in SQL. A range
//! that is looked over has one gap, which is all of the range.

use super::told::{ToldDeed, ToldEvent, ToldTransaction};
use super::turn::{Asking, RowAnswer, Want};
use crate::keys::{KeyNumber, Keys};
use crate::set::{INITIAL, Number, Set};
use skew_history::{EngineLevel, StatementKind};
use skew_sql::{Fit, Fits, KeyRange, Row};
use std::sync::Arc;

/// The state of the database.
#[derive(Clone, Debug)]
pub(crate) struct Innodb {
    /// By number.
    levels: Vec<EngineLevel>,
    /// By number: the statement that it was made for, and those who had committed.
    views: Vec<Option<(u32, Set)>>,
    versions: Vec<RowVersions>,
    locks: Vec<RowLock>,
    /// Ranges in which nobody else may insert.
    gaps: Vec<(Number, Arc<KeyRange>)>,
    /// What is waited for, in the order in which it was asked for.
    queue: Vec<RowLock>,
    pub(crate) committed: Set,
}

/// The versions under a key.
#[derive(Clone, Debug)]
struct RowVersions {
    key: KeyNumber,
    initial: Option<Row>,
    committed: Vec<(Number, Option<Row>)>,
    pending: Option<(Number, Option<Row>)>,
}

#[derive(Clone, PartialEq, Debug)]
struct RowLock {
    transaction: Number,
    key: KeyNumber,
    mode: LockMode,
    /// Whether an INSERT asks for it.
    inserts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LockMode {
    Shared,
    Exclusive,
    Gap,
    /// What an INSERT wants: nobody else may hold the gap.
    Insertion,
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
        let (versions, locks, gaps, queue) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Innodb { levels, views, versions, locks, gaps, queue, committed: Set::EMPTY }
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
        let passed = row.as_ref().is_some_and(|row| fits(asking.keys.key(key), row) != Fit::Yes);
        let changes = matches!(kind, StatementKind::Update | StatementKind::Delete);
        let lets_go = match row {
            None => !keeps_all,
            Some(_) => passed && !keeps_all && changes && !waited,
        };
        match lets_go {
            true if row.is_none() => {
                self.locks.retain(|lock| (lock.transaction, lock.key, lock.mode) != (one, key, LockMode::Gap));
            }
            true => {}
            false => self.hold(one, key, mode),
        }
        let kept = passed && !keeps_all && changes && waited;
        let deed = ToldDeed::Read(source, row.clone());
        asking.tell(ToldEvent { passed, waited: kept, ..asking.event(kind, key, deed) });
        match row {
            Some(row) if !passed => RowAnswer::Locked(row),
            row => RowAnswer::Passed(row),
        }
    }

    fn mode_to_seek(&self, one: Number, place: usize, kind: StatementKind) -> LockMode {
        let is_absent = self.versions[place].seen_by(one, |_| true).1.is_none();
        if is_absent && !self.is_changing(one, place) { LockMode::Gap } else { LockMode::of(kind) }
    }

    fn mode_to_insert(&self, one: Number, place: usize, updates: bool) -> LockMode {
        let is_absent = self.versions[place].seen_by(one, |_| true).1.is_none();
        match is_absent && !self.is_changing(one, place) {
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
        self.hold(one, key, if mode == LockMode::Shared { mode } else { LockMode::Exclusive });
        asking.saw(want.kind, key, ToldDeed::Read(source, row.clone()));
        if row.is_none() {
            // Others wait for it from now on.
            self.versions[place].pending = Some((one, None));
        }
        row.map_or(RowAnswer::Passed(None), RowAnswer::Locked)
    }

    /// A range was looked over: nobody else may insert there.
    pub(crate) fn keep_gap(&mut self, one: Number, range: &KeyRange) {
        if self.level(one) != EngineLevel::MysqlReadCommitted {
            self.gaps.push((one, Arc::new(range.clone())));
        }
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
        self.hold(one, key, LockMode::Exclusive);
        asking.saw(asking.kind, key, ToldDeed::Wrote(value.clone()));
        self.versions[place].pending = Some((one, value));
        RowAnswer::Passed(None)
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
    fn wanted(&mut self, one: Number, want: &Want, keys: &Keys) -> RowLock {
        let place = self.of(want.key, keys);
        let inserts = want.is_check || want.is_write;
        let updates = want.kind == StatementKind::Upsert || want.is_write;
        let mode = match inserts {
            true => self.mode_to_insert(one, place, updates),
            false => self.mode_to_seek(one, place, want.kind),
        };
        RowLock { transaction: one, key: want.key, mode, inserts }
    }

    /// Who holds what conflicts, or has asked for it before: nobody overtakes, not even who holds a weaker lock. Who has the lock asks for
    /// nothing.
    pub(crate) fn blockers(&mut self, one: Number, want: &Want, keys: &Keys) -> Set {
        let RowLock { key, mode, .. } = self.wanted(one, want, keys);
        let is_own = |lock: &&RowLock| lock.transaction == one;
        let is_enough = |held: LockMode| held == LockMode::Exclusive && mode != LockMode::Insertion || held == mode;
        if self.locks.iter().any(|lock| lock.key == key && is_own(&lock) && is_enough(lock.mode)) {
            return Set::EMPTY;
        }
        let place = self.queue.iter().position(|lock| is_own(&lock)).unwrap_or(self.queue.len());
        let asked =
            self.queue[..place].iter().filter(|lock| mode != LockMode::Insertion && lock.mode != LockMode::Insertion);
        let others = self.locks.iter().chain(asked).filter(|lock| lock.key == key && !is_own(lock));
        let found: Set = others.filter(|lock| mode.conflicts(lock.mode)).map(|lock| lock.transaction).collect();
        let gaps = self.gaps.iter().filter(|gap| mode == LockMode::Insertion && gap.0 != one);
        found | gaps.filter(|gap| gap.1.contains(keys.key(key))).map(|gap| gap.0).collect()
    }

    /// Somebody waits from now on.
    pub(crate) fn wait(&mut self, one: Number, want: &Want, keys: &Keys) {
        let wanted = self.wanted(one, want, keys);
        self.queue.push(wanted);
    }

    /// Somebody has got what it waited for.
    pub(crate) fn go_on(&mut self, one: Number) {
        self.queue.retain(|lock| lock.transaction != one);
    }

    pub(crate) fn waits(&self, one: Number) -> bool {
        self.queue.iter().any(|lock| lock.transaction == one)
    }

    fn hold(&mut self, transaction: Number, key: KeyNumber, mode: LockMode) {
        let lock = RowLock { transaction, key, mode, inserts: false };
        if !self.locks.contains(&lock) {
            self.locks.push(lock);
        }
    }

    /// Who waits for a row that will not be there has the gap: an INSERT at every level. At read committed others have it only until they have
    /// looked at what is left of a deleted row.
    fn give_gaps(&mut self, one: Number, deletes: bool) {
        for lock in self.queue.clone() {
            let Some(versions) = self.versions.iter().find(|versions| versions.key == lock.key) else { continue };
            let Some((by, left)) = &versions.pending else { continue };
            let left = if deletes { left } else { versions.current() };
            let is_gone = *by == one && left.is_none();
            let is_kept = self.level(lock.transaction) != EngineLevel::MysqlReadCommitted || lock.inserts || deletes;
            if is_gone && is_kept && lock.transaction != one && lock.mode != LockMode::Insertion {
                self.hold(lock.transaction, lock.key, LockMode::Gap);
            }
        }
    }

    /// The keys that a transaction has locked or waits for.
    pub(crate) fn touched(&self, one: Number) -> Vec<KeyNumber> {
        let all = self.locks.iter().chain(&self.queue);
        all.filter(|lock| lock.transaction == one).map(|lock| lock.key).collect()
    }

    /// The ranges in which it lets nobody insert.
    pub(crate) fn touched_ranges(&self, one: Number) -> Vec<Arc<KeyRange>> {
        self.gaps.iter().filter(|gap| gap.0 == one).map(|gap| Arc::clone(&gap.1)).collect()
    }

    /// The keys of which there is a version, or will be one.
    pub(crate) fn written(&self) -> impl Iterator<Item = KeyNumber> {
        let is_written = |versions: &&RowVersions| versions.pending.is_some() || !versions.committed.is_empty();
        self.versions.iter().filter(is_written).map(|versions| versions.key)
    }

    pub(crate) fn commit(&mut self, one: Number, told: &ToldTransaction) {
        self.give_gaps(one, true);
        for versions in &mut self.versions {
            let is_own = versions.pending.as_ref().is_some_and(|pending| pending.0 == one);
            // What was only claimed is no version.
            let pending = if is_own { versions.pending.take() } else { None };
            versions.committed.extend(pending.filter(|_| told.has_changed(versions.key)));
        }
        self.locks.retain(|lock| lock.transaction != one);
        self.gaps.retain(|gap| gap.0 != one);
        self.committed.insert(one);
    }

    /// As if the transaction had never been.
    pub(crate) fn forget(&mut self, one: Number) {
        self.give_gaps(one, false);
        self.locks.retain(|lock| lock.transaction != one);
        self.queue.retain(|lock| lock.transaction != one);
        self.gaps.retain(|gap| gap.0 != one);
        for versions in &mut self.versions {
            versions.pending.take_if(|pending| pending.0 == one);
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
