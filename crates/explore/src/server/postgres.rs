//! PostgreSQL as it works: tuples that end by being replaced, snapshots, row locks in four strengths, and a second look after a wait.
//!
//! ```text
//!   x:  life 0   tuple by init ──replaced by t1──> tuple by t1 ──deleted by t2
//!       life 1   tuple by t2                        an INSERT begins another life of the row
//! ```
//!
//! A statement sees the tuples of its snapshot (its own at read committed, that of the first statement above), then locks the last
//! tuple of that life: after whoever holds it has ended, and if it is another tuple by then, at read committed the condition is asked
//! again, above the transaction is refused. INSERT looks at what is there, not at the snapshot. Who rolls back leaves no trace here.
//!
//! This is the simulator that holds the definition (`skew_check::spec`) to account, for rows and conditions of programs in SQL.

use super::part::{StatePart, StateParts, open_snapshots};
use super::told::{ToldDeed, ToldEvent, ToldFate, ToldTransaction};
use super::turn::{Asking, RowAnswer, Want};
use crate::keys::{KeyNumber, Keys};
use crate::set::{INITIAL, Number, Set};
use skew_history::{RowStrength as Strength, StatementKind};
use skew_sql::{Fits, Row};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The state of the database.
#[derive(Clone, Debug)]
pub(crate) struct PostgresServer {
    /// By number; whether one snapshot serves the whole transaction.
    repeatable: Vec<bool>,
    /// By number.
    snapshots: Vec<Option<Snapshot>>,
    tuples: Vec<Tuple>,
    locks: Vec<TupleLock>,
    /// Who changed a key, in the order of their commits, and whether a row is left.
    changes: Vec<(KeyNumber, Number, bool)>,
    pub(crate) committed: Set,
}

/// What a statement sees.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    /// The statement that it was taken for.
    statement: u32,
    committed: Set,
}

#[derive(Clone, PartialEq, Debug)]
struct Tuple {
    key: KeyNumber,
    life: u16,
    by: Number,
    row: Row,
    replaced_by: Option<Number>,
    /// Whether it was the last of its life.
    deleted: bool,
    /// Whether its place is taken, and it is not written yet.
    claimed: bool,
    /// The statements that made it and that replaced it, of whoever did.
    made: u32,
    ended: u32,
}

#[derive(Clone, PartialEq, Debug)]
struct TupleLock {
    transaction: Number,
    key: KeyNumber,
    life: u16,
    strength: Strength,
    /// The statement that took it first.
    statement: u32,
}

/// Whether a statement of this kind only holds on to a row's key.
fn is_key_share(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::ForKeyShare | StatementKind::ForeignKey)
}

/// All that there is of one row.
#[derive(PartialEq, Default, Debug)]
pub(crate) struct PostgresPart {
    tuples: Vec<Tuple>,
    locks: Vec<TupleLock>,
    changes: Vec<(KeyNumber, Number, bool)>,
}

impl PostgresPart {
    pub(crate) fn hash_roughly(&self, hasher: &mut impl Hasher) {
        for Tuple { key, life, by, replaced_by, deleted, claimed, .. } in &self.tuples {
            (key, life, by, replaced_by, deleted, claimed).hash(hasher);
        }
        self.locks.iter().for_each(|lock| (lock.key, lock.transaction, lock.strength).hash(hasher));
        self.changes.hash(hasher);
    }

    pub(crate) fn size(&self) -> usize {
        size_of_val(&self.tuples[..]) + size_of_val(&self.locks[..]) + size_of_val(&self.changes[..])
    }
}

/// What a statement that seeks has found in its snapshot.
enum PostgresSight {
    /// Nothing, or nothing that qualifies: it is told, and there is nothing to lock.
    Nothing(Option<Row>),
    /// This tuple is to be locked.
    Wanted(usize),
    /// A row of the snapshot that has been deleted since, beside an own one.
    Beside,
}

impl PostgresServer {
    /// Before anything; by number whether one snapshot serves the whole transaction.
    pub(crate) fn new(repeatable: Vec<bool>) -> PostgresServer {
        let snapshots = vec![None; repeatable.len()];
        PostgresServer {
            repeatable,
            snapshots,
            tuples: Vec::new(),
            locks: Vec::new(),
            changes: Vec::new(),
            committed: Set::EMPTY,
        }
    }

    /// One more transaction, behind all others.
    pub(crate) fn add(&mut self, is_repeatable: bool) {
        self.repeatable.push(is_repeatable);
        self.snapshots.push(None);
    }

    /// Whether a statement has to take a snapshot before it looks at anything.
    pub(crate) fn needs_snapshot(&self, one: Number, statement: u32) -> bool {
        let of_statement = |snapshot: &Snapshot| self.repeatable[one as usize] || snapshot.statement == statement;
        !self.snapshots[one as usize].as_ref().is_some_and(of_statement)
    }

    /// Whether the snapshot of a transaction serves all its statements.
    pub(crate) fn is_repeatable(&self, one: Number) -> bool {
        self.repeatable[one as usize]
    }

    pub(crate) fn take_snapshot(&mut self, one: Number, statement: u32) {
        self.snapshots[one as usize] = Some(Snapshot { statement, committed: self.committed });
    }

    /// A snapshot that this statement would not look at serves nobody any more.
    pub(crate) fn drop_old_snapshot(&mut self, one: Number, statement: u32) {
        if self.needs_snapshot(one, statement) {
            self.snapshots[one as usize] = None;
        }
    }

    /// A key that nobody has touched has its initial row.
    fn meet(&mut self, key: KeyNumber, keys: &Keys) {
        let is_known = self.tuples.iter().any(|tuple| tuple.key == key);
        if let (false, Some(row)) = (is_known, keys.initial(key)) {
            let row = row.clone();
            self.tuples.push(Tuple {
                key,
                life: 0,
                by: INITIAL,
                row,
                replaced_by: None,
                deleted: false,
                claimed: false,
                made: 0,
                ended: 0,
            });
        }
    }

    fn knows(&self, one: Number, by: Number) -> bool {
        let snapshot = self.snapshots[one as usize].map_or(Set::EMPTY, |snapshot| snapshot.committed);
        by == INITIAL || by == one || snapshot.contains(by)
    }

    /// The tuples under a key that a transaction's snapshot shows: at most one of others, and one of its own.
    fn visible(&self, one: Number, key: KeyNumber) -> Vec<usize> {
        let there = |tuple: &Tuple| {
            !tuple.claimed && self.knows(one, tuple.by) && !tuple.replaced_by.is_some_and(|by| self.knows(one, by))
        };
        let numbered = self.tuples.iter().enumerate().filter(|(_, tuple)| tuple.key == key);
        numbered.filter(|(_, tuple)| there(tuple)).map(|(place, _)| place).collect()
    }

    /// Whose version it is that there is no row, for who sees none.
    fn absence(&self, one: Number, key: KeyNumber, told: &ToldTransaction) -> Number {
        if told.has_changed(key) {
            return one;
        }
        let known = self.changes.iter().rfind(|change| change.0 == key && self.knows(one, change.1));
        known.map_or(INITIAL, |change| change.1)
    }

    /// A plain read; the snapshot is there. An own row comes last: it is the younger one.
    pub(crate) fn select(&mut self, asking: &mut Asking<'_>, key: KeyNumber) -> Option<Row> {
        self.meet(key, asking.keys);
        let found = self.visible(asking.one, key);
        if found.is_empty() {
            let source = self.absence(asking.one, key, asking.told);
            asking.saw(StatementKind::Select, key, ToldDeed::Read(source, None));
            return None;
        }
        let mut answer = None;
        for place in found {
            let Tuple { by, row, .. } = &self.tuples[place];
            asking.saw(StatementKind::Select, key, ToldDeed::Read(*by, Some(row.clone())));
            answer = Some(row.clone());
        }
        answer
    }

    /// The rows under a key as they stand, committed or own, for checks that must miss nothing.
    pub(crate) fn latest(&mut self, one: Number, key: KeyNumber, keys: &Keys) -> Option<Row> {
        self.meet(key, keys);
        let counts = |by: Number| by == INITIAL || by == one || self.committed.contains(by);
        let there = |tuple: &&Tuple| {
            tuple.key == key && !tuple.claimed && counts(tuple.by) && !tuple.replaced_by.is_some_and(counts)
        };
        self.tuples.iter().rfind(there).map(|tuple| tuple.row.clone())
    }

    /// The row under a key as it stands, if it is not what the snapshot shows.
    pub(crate) fn unseen(&mut self, one: Number, key: KeyNumber, keys: &Keys) -> Option<Row> {
        let row = self.latest(one, key, keys)?;
        let is_seen = self.visible(one, key).iter().any(|&place| self.tuples[place].row == row);
        (!is_seen).then_some(row)
    }

    /// What a statement that seeks finds under a key; what there is nothing to lock of is told.
    fn sight(&mut self, asking: &mut Asking<'_>, key: KeyNumber, fits: &mut Fits<'_>) -> PostgresSight {
        self.meet(key, asking.keys);
        let row_key = asking.keys.key(key).clone();
        let visible = self.visible(asking.one, key);
        let Some(&first) = visible.last() else {
            let source = self.absence(asking.one, key, asking.told);
            asking.saw(asking.kind, key, ToldDeed::Read(source, None));
            return PostgresSight::Nothing(None);
        };
        if let [of_snapshot, _] = visible[..] {
            // It has been deleted since, else there would be no own one.
            if fits(&row_key, &self.tuples[of_snapshot].row).is_sought() {
                return PostgresSight::Beside;
            }
            self.pass(asking, of_snapshot, false);
        }
        if !fits(&row_key, &self.tuples[first].row).is_sought() {
            self.pass(asking, first, false);
            return PostgresSight::Nothing(Some(self.tuples[first].row.clone()));
        }
        PostgresSight::Wanted(first)
    }

    fn pass(&self, asking: &mut Asking<'_>, place: usize, waited: bool) {
        let Tuple { key, by, row, .. } = &self.tuples[place];
        let deed = ToldDeed::Read(*by, Some(row.clone()));
        asking.tell(ToldEvent { passed: true, waited, ..asking.event(asking.kind, *key, deed) });
    }

    /// Seeks a row: what comes of it, or that it has to be locked first, which is for another moment.
    pub(crate) fn seek(
        &mut self,
        asking: &mut Asking<'_>,
        key: KeyNumber,
        fits: &mut Fits<'_>,
        may_lock: bool,
    ) -> RowAnswer {
        let before = asking.told.events.len();
        let first = match self.sight(asking, key, fits) {
            PostgresSight::Nothing(row) => return RowAnswer::Passed(row),
            PostgresSight::Beside => return RowAnswer::Refused("40001"),
            PostgresSight::Wanted(first) => first,
        };
        if !may_lock {
            asking.told.events.truncate(before);
            return RowAnswer::Later;
        }
        let (one, kind, life) = (asking.one, asking.kind, self.tuples[first].life);
        let last = self.tuples.iter().rposition(|tuple| tuple.key == key && tuple.life == life).unwrap_or(first);
        if self.tuples[last].deleted {
            return self.find_deleted(asking, last);
        }
        let is_changed = last != first && !is_key_share(kind);
        if is_changed && self.repeatable[one as usize] {
            return RowAnswer::Refused("40001");
        }
        self.hold(asking, key, life, Strength::of(kind));
        // Who only holds on to the key waits for nobody who leaves it alone, and has the row that it sees.
        let last = if is_key_share(kind) { first } else { last };
        let row = self.tuples[last].row.clone();
        if is_changed && !fits(asking.keys.key(key), &row).is_sought() {
            self.pass(asking, last, true);
            return RowAnswer::Passed(Some(row));
        }
        asking.saw(kind, key, ToldDeed::Read(self.tuples[last].by, Some(row.clone())));
        RowAnswer::Locked(row)
    }

    /// The row that was to be locked is deleted: nobody looks for another one with its key.
    fn find_deleted(&self, asking: &mut Asking<'_>, last: usize) -> RowAnswer {
        let Tuple { key, replaced_by, .. } = self.tuples[last];
        if self.repeatable[asking.one as usize] {
            return RowAnswer::Refused("40001");
        }
        let by = replaced_by.unwrap_or(INITIAL);
        let left = self.changes.iter().rfind(|change| change.0 == key && change.1 == by);
        let is_gone = left.is_some_and(|change| change.2);
        let deed = if is_gone { ToldDeed::Gone(by) } else { ToldDeed::Read(by, None) };
        asking.saw(asking.kind, key, deed);
        RowAnswer::Passed(None)
    }

    /// The check of an INSERT, after nobody is about to change what is there any more.
    pub(crate) fn check(&mut self, asking: &mut Asking<'_>, key: KeyNumber, want: Want) -> RowAnswer {
        self.meet(key, asking.keys);
        let one = asking.one;
        let last = self.tuples.iter().rposition(|tuple| tuple.key == key);
        let Some(last) = last.filter(|&last| !self.tuples[last].deleted) else {
            let known = self.changes.iter().rfind(|change| change.0 == key).map_or(INITIAL, |change| change.1);
            let source = if asking.told.has_changed(key) { one } else { known };
            asking.saw(want.kind, key, ToldDeed::Read(source, None));
            self.claim(asking, key);
            return RowAnswer::Passed(None);
        };
        let Tuple { by, row, life, .. } = self.tuples[last].clone();
        let is_upsert = want.kind == StatementKind::Upsert;
        let must_not_see = |key, last| self.repeatable[one as usize] && !self.visible(one, key).contains(&last);
        let standing = want.row.and_then(|row| Some((row, self.tuples.iter().rposition(|tuple| tuple.key == row)?)));
        let is_row_changed = standing.is_some_and(|(row, last)| must_not_see(row, last));
        if is_upsert && (must_not_see(key, last) || is_row_changed) {
            return RowAnswer::Refused("40001");
        }
        if is_upsert {
            self.give_up_claims(asking);
        }
        if is_upsert && !want.ignores {
            self.hold(asking, key, life, Strength::NoKeyUpdate);
        }
        asking.saw(want.kind, key, ToldDeed::Read(by, Some(row.clone())));
        RowAnswer::Locked(row)
    }

    /// A row is about to be inserted.
    fn claim(&mut self, asking: &Asking<'_>, key: KeyNumber) {
        let lives = self.tuples.iter().filter(|tuple| tuple.key == key).map(|tuple| tuple.life + 1);
        let life = lives.max().unwrap_or(0);
        let (by, made, row) = (asking.one, asking.statement, Row::from([]));
        let (replaced_by, deleted, claimed) = (None, false, true);
        self.tuples.push(Tuple { key, life, by, row, replaced_by, deleted, claimed, made, ended: 0 });
        self.hold(asking, key, life, Strength::Update);
    }

    /// The row is not inserted after all, since another of its keys is taken: the others are free again.
    fn give_up_claims(&mut self, asking: &Asking<'_>) {
        let is_own = |tuple: &Tuple| tuple.claimed && (tuple.by, tuple.made) == (asking.one, asking.statement);
        let given_up = self.tuples.extract_if(.., |tuple| is_own(tuple)).map(|tuple| (tuple.key, tuple.life));
        let given_up: Vec<(KeyNumber, u16)> = given_up.collect();
        let own = |lock: &TupleLock| lock.transaction == asking.one && given_up.contains(&(lock.key, lock.life));
        self.locks.retain(|lock| !own(lock));
    }

    fn hold(&mut self, asking: &Asking<'_>, key: KeyNumber, life: u16, strength: Strength) {
        let (transaction, statement) = (asking.one, asking.statement);
        let is_held = |lock: &TupleLock| {
            (lock.transaction, lock.key, lock.life, lock.strength) == (transaction, key, life, strength)
        };
        if !self.locks.iter().any(is_held) {
            self.locks.push(TupleLock { transaction, key, life, strength, statement });
        }
    }

    /// Writes under a key that nobody else has; a write that nothing was read for is refused as an UPDATE would be.
    pub(crate) fn write(
        &mut self,
        asking: &mut Asking<'_>,
        key: KeyNumber,
        value: Option<Row>,
        is_blind: bool,
    ) -> RowAnswer {
        self.meet(key, asking.keys);
        let one = asking.one;
        let last = self.tuples.iter().rposition(|tuple| tuple.key == key && (!tuple.deleted || tuple.claimed));
        let changed_since = |change: &(KeyNumber, Number, bool)| change.0 == key && !self.knows(one, change.1);
        if is_blind && self.repeatable[one as usize] && self.changes.iter().any(changed_since) {
            return RowAnswer::Refused("40001");
        }
        // An entry of an index is written without having been locked; whoever wants it waits for that all the same.
        let is_held = self.locks.iter().any(|lock| lock.transaction == one && lock.key == key);
        if is_blind || !is_held && last.is_some() {
            let life = last.map_or(u16::MAX, |last| self.tuples[last].life);
            self.hold(asking, key, life, Strength::Update);
        }
        asking.saw(asking.kind, key, ToldDeed::Wrote(value.clone()));
        match (last, value) {
            (Some(last), Some(row)) if self.tuples[last].claimed => {
                self.tuples[last] = Tuple { row, claimed: false, ..self.tuples[last].clone() };
            }
            (Some(last), value) => {
                let old = &mut self.tuples[last];
                (old.replaced_by, old.deleted, old.ended) = (Some(one), value.is_none(), asking.statement);
                let (made, old) = (asking.statement, old.clone());
                let new = |row| Tuple { by: one, row, replaced_by: None, deleted: false, made, ended: 0, ..old };
                self.tuples.extend(value.map(new));
            }
            (None, Some(row)) => {
                self.claim(asking, key);
                if let Some(claimed) = self.tuples.last_mut() {
                    (claimed.row, claimed.claimed) = (row, false);
                }
            }
            (None, None) => {}
        }
        RowAnswer::Passed(None)
    }

    /// Who keeps somebody from going on.
    pub(crate) fn blockers(&mut self, one: Number, want: &Want, keys: &Keys) -> Set {
        self.meet(want.key, keys);
        if want.is_check || want.is_write {
            let pending = self.pending(one, want.key) | want.row.map_or(Set::EMPTY, |row| self.pending(one, row));
            let last = self.tuples.iter().rfind(|tuple| tuple.key == want.key && !tuple.deleted);
            return match last {
                Some(last)
                    if pending.is_empty() && (want.is_write || want.kind == StatementKind::Upsert && !want.ignores) =>
                {
                    let strength = if want.is_write { Strength::Update } else { Strength::NoKeyUpdate };
                    self.holders(one, want.key, last.life, strength)
                }
                _ => pending,
            };
        }
        let visible = self.visible(one, want.key);
        visible
            .last()
            .map_or(Set::EMPTY, |&first| self.holders(one, want.key, self.tuples[first].life, Strength::of(want.kind)))
    }

    /// Whether the row that a transaction's one snapshot shows was changed by who has committed since.
    pub(crate) fn has_changed_since(&self, one: Number, key: KeyNumber) -> bool {
        let is_over = |by: Number| self.committed.contains(by) && !self.knows(one, by);
        let first = self.visible(one, key).last().map(|&first| &self.tuples[first]);
        self.repeatable[one as usize] && first.is_some_and(|first| first.replaced_by.is_some_and(is_over))
    }

    /// A row that the statement sees is left out, because somebody else has it.
    pub(crate) fn leave_out(&self, asking: &mut Asking<'_>, key: KeyNumber) {
        if let Some(&first) = self.visible(asking.one, key).last() {
            let Tuple { by, row, .. } = &self.tuples[first];
            let deed = ToldDeed::Read(*by, Some(row.clone()));
            asking.tell(ToldEvent { fate: ToldFate::LeftOut, ..asking.event(asking.kind, key, deed) });
        }
    }

    /// Whether one of two who wait for a row is kept behind the other one, if that has asked before: they want the same row, one not beside the
    /// other, and neither has anything of it. Who checks that a key is free waits for the transaction itself.
    pub(crate) fn may_queue(&self, one: (Number, &Want), before: (Number, &Want)) -> bool {
        let is_of_row = |want: &Want| !want.is_check && !want.is_write;
        let life = |(one, want): (Number, &Want)| {
            self.visible(one, want.key).last().map(|&first| (want.key, self.tuples[first].life))
        };
        let both = is_of_row(one.1) && is_of_row(before.1) && one.1.key == before.1.key;
        let has_nothing = |(one, want): (Number, &Want)| {
            !self.locks.iter().any(|lock| (lock.transaction, lock.key) == (one, want.key))
        };
        both && life(one) == life(before)
            && has_nothing(one)
            && has_nothing(before)
            && Strength::of(one.1.kind).conflicts(Strength::of(before.1.kind))
    }

    /// Who is about to change what is there.
    fn pending(&self, one: Number, key: KeyNumber) -> Set {
        let last = self.tuples.iter().rfind(|tuple| tuple.key == key);
        let by = last.into_iter().flat_map(|last| [Some(last.by), last.replaced_by]).flatten();
        let found = by.filter(|&by| by != INITIAL && by != one && !self.committed.contains(by)).collect::<Set>();
        let blind =
            self.locks.iter().filter(|lock| lock.key == key && lock.life == u16::MAX && lock.transaction != one);
        found | blind.map(|lock| lock.transaction).collect()
    }

    fn holders(&self, one: Number, key: KeyNumber, life: u16, strength: Strength) -> Set {
        let held = self.locks.iter().filter(|lock| lock.key == key && (lock.life == life || lock.life == u16::MAX));
        let others = held.filter(|lock| lock.transaction != one && lock.strength.conflicts(strength));
        others.map(|lock| lock.transaction).collect()
    }

    /// The keys that a transaction has locked or changed.
    pub(crate) fn touched(&self, one: Number) -> Vec<KeyNumber> {
        let locked = self.locks.iter().filter(|lock| lock.transaction == one).map(|lock| lock.key);
        let changes = |tuple: &&Tuple| tuple.by == one || tuple.replaced_by == Some(one);
        locked.chain(self.tuples.iter().filter(changes).map(|tuple| tuple.key)).collect()
    }

    pub(crate) fn commit(&mut self, one: Number, told: &ToldTransaction) {
        for key in told.changes() {
            let left = told.events.iter().rev().find_map(|event| match &event.deed {
                ToldDeed::Wrote(value) if event.key == key => Some(value.is_some()),
                _ => None,
            });
            self.changes.push((key, one, left.unwrap_or(false)));
        }
        self.tuples.retain(|tuple| !(tuple.claimed && tuple.by == one));
        self.locks.retain(|lock| lock.transaction != one);
        self.committed.insert(one);
    }

    /// As if the transaction had never been.
    pub(crate) fn forget(&mut self, one: Number) {
        self.back_to(one, 0);
    }

    /// As if the statements of a transaction behind this one had never been: locks go, and what waits for them goes on.
    pub(crate) fn back_to(&mut self, one: Number, since: u32) {
        self.locks.retain(|lock| lock.transaction != one || lock.statement <= since);
        self.tuples.retain(|tuple| tuple.by != one || tuple.made <= since);
        let is_undone = |tuple: &&mut Tuple| tuple.replaced_by == Some(one) && tuple.ended > since;
        for tuple in self.tuples.iter_mut().filter(is_undone) {
            (tuple.replaced_by, tuple.deleted, tuple.ended) = (None, false, 0);
        }
    }

    /// What becomes of a read whose statement is taken back, with its lock. A row that was locked was read as it stood then; above read
    /// committed, and for its key only, as the snapshot has it. That a key was free no snapshot says.
    pub(crate) fn fate(&self, one: Number, read: (StatementKind, &Option<Row>, bool)) -> ToldFate {
        use StatementKind::{ForKeyShare, ForeignKey, Insert, Select, Upsert};
        let ((kind, row, passed), is_repeatable) = (read, self.repeatable[one as usize]);
        let is_free = row.is_none() && matches!(kind, Insert | Upsert);
        match kind {
            Select => ToldFate::Stays,
            ForeignKey => ToldFate::Untold,
            _ if is_free && is_repeatable => ToldFate::Untold,
            _ if !is_free && (row.is_none() || passed) => ToldFate::Stays,
            ForKeyShare => ToldFate::Seen,
            _ if is_repeatable => ToldFate::Seen,
            _ => ToldFate::Freed,
        }
    }

    /// What tells this state from others.
    pub(crate) fn parts(&self, over: Set) -> StateParts {
        let mut rows: BTreeMap<KeyNumber, PostgresPart> = BTreeMap::new();
        let is_touched = |tuple: &&Tuple| tuple.by != INITIAL || tuple.replaced_by.is_some();
        for tuple in self.tuples.iter().filter(is_touched) {
            rows.entry(tuple.key).or_default().tuples.push(tuple.clone());
        }
        for lock in &self.locks {
            rows.entry(lock.key).or_default().locks.push(lock.clone());
        }
        for change in &self.changes {
            rows.entry(change.0).or_default().changes.push(*change);
        }
        let changers = self.changes.iter().map(|change| change.1).collect();
        let snapshots = self.snapshots.iter().map(|one| one.map(|snapshot| (snapshot.statement, snapshot.committed)));
        let sorted = |mut part: PostgresPart| {
            part.locks.sort_by_key(|lock| (lock.transaction, lock.life, lock.strength));
            StatePart::Postgres(part)
        };
        StateParts {
            snapshots: open_snapshots(snapshots, over, changers),
            parts: rows.into_values().map(sorted).collect(),
        }
    }

    /// Per key that was changed, who changed it, in order.
    pub(crate) fn versions(&self) -> Vec<(KeyNumber, Number)> {
        self.changes.iter().map(|change| (change.0, change.1)).collect()
    }
}
