//! One step of one transaction on a server.
//!
//! A transaction runs from its start, with the answers that it got before, up to the *point* where it stood: the moment at which a
//! statement takes its snapshot, at which it locks a row, or at which it ends. That point is passed, and the run goes on to the next:
//!
//! ```text
//!   SELECT x          · UPDATE y                      · COMMIT
//!   └ snapshot          └ snapshot     └ lock y          └ end          four points, so four steps; others may come between any two
//! ```
//!
//! A statement that looks at one row only, and locks it, does both in one step where the lock is free: whatever came between would have had the
//! lock, so the statement may as well begin while that holds it. If it does, and then has its row as if nothing had been, the run is one
//! that comes without the wait, too, and is given up here; unless somebody was refused because of the wait.
//!
//! What is read between two points is read in a snapshot, or is the transaction's own, and does not depend on when that is.

mod check;
mod impatient;
mod look;
mod savepoint;

use super::access::StepAccess;
use super::database::ServerState;
use super::told::{ToldDeed, ToldEvent, ToldFate, ToldScan, ToldTransaction};
use crate::keys::{KeyNumber, Keys, reads_down};
use crate::log::ScanEnd;
use crate::requests::{Interrupt, whole_part};
use crate::set::Number;
use skew_history::StatementKind;
use skew_sql::rows::{Found, Scanned};
use skew_sql::{Fit, Fits, KeyPart, KeyRange, Patience, Row, RowKey};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What came of a request for a row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RowAnswer {
    /// There is none, or it is left alone.
    Passed(Option<Row>),
    /// It is locked.
    Locked(Row),
    /// It has to be locked, which is for another moment.
    Later,
    /// The server refuses the transaction.
    Refused(&'static str),
}

/// What somebody wants to lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Want {
    pub(crate) key: KeyNumber,
    pub(crate) kind: StatementKind,
    /// It is the check of an INSERT.
    pub(crate) is_check: bool,
    /// It is a write that nothing was read for.
    pub(crate) is_write: bool,
    /// A row that is there is left as it is.
    pub(crate) ignores: bool,
    /// It is one record of a range that is looked over.
    pub(crate) in_range: bool,
    /// The row to which the entry of an index leads that is looked at: whoever is about to change it is waited for, too.
    pub(crate) row: Option<KeyNumber>,
    /// What it does if somebody else has it.
    pub(crate) patience: Patience,
}

impl Want {
    /// The lock of a row.
    pub(crate) fn of(key: KeyNumber, kind: StatementKind) -> Want {
        let (is_check, is_write, ignores, in_range) = (false, false, false, false);
        Want { key, kind, is_check, is_write, ignores, in_range, row: None, patience: Patience::Wait }
    }
}

/// Where a transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TurnPoint {
    /// It has not run yet, so that nobody knows.
    Unknown,
    /// A statement is about to take its snapshot, or to look at a range: it can always go on.
    Open,
    /// It wants a lock.
    Lock(Want),
    /// It has come to its end.
    End,
}

/// What a step may do at the point where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Permit {
    /// Pass it.
    Pass,
    /// Be refused there.
    Refuse(&'static str),
    /// It was passed: the next point ends the step.
    Spent,
    /// Pass none: where it stands is asked, and that is no step.
    Stay,
    /// Pass a lock that somebody else has, if what is committed there need not be locked.
    Glance,
    /// Pass all points up to the end: what the transaction would do if nobody else were there.
    Through,
}

/// What a transaction has asked and heard so far.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Dialogue {
    answers: Vec<(TurnQuestion, Arc<TurnAnswer>)>,
    /// What is decided of the range that is being looked over, and how far it has come there.
    looked: BTreeMap<KeyNumber, RowAnswer>,
    reached: Option<KeyNumber>,
    /// Whether it goes on there with a step for which it needs nothing.
    is_free: bool,
    /// The last statement that has passed a point.
    passed: u32,
    pub(crate) told: ToldTransaction,
    /// The statement with which the engine began anew, without a lock or a view; 0 for the first one.
    began_anew: u32,
    /// How many statements were said and answered, and whether the next one has begun.
    pub(crate) said: usize,
    pub(crate) has_begun: bool,
}

/// What was asked, as far as it has to be the same again.
#[derive(Clone, PartialEq, Debug)]
enum TurnQuestion {
    Key(KeyNumber),
    Range(KeyRange),
    Write(KeyNumber, Option<Row>),
    BackTo(u32),
}

#[derive(Clone, PartialEq, Debug)]
enum TurnAnswer {
    Row(RowAnswer),
    Scanned(Vec<(RowKey, Row)>, ScanEnd),
    Looked(Vec<(RowKey, RowAnswer)>, ScanEnd),
}

/// What a statement does while it looks at a row.
pub(crate) struct Asking<'a> {
    pub(crate) one: Number,
    pub(crate) kind: StatementKind,
    pub(crate) statement: u32,
    pub(crate) scan: Option<usize>,
    /// The statement looks for one row by its key, and for no other one.
    pub(crate) is_alone: bool,
    pub(crate) keys: &'a Keys,
    pub(crate) told: &'a mut ToldTransaction,
}

impl Dialogue {
    /// How much it has heard.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.answers.len(), self.looked.len())
    }

    /// About how many bytes it takes beside what it shares with others.
    pub(crate) fn size(&self) -> usize {
        size_of::<Dialogue>() + size_of_val(&self.answers[..]) + size_of_val(&self.told.events[..])
    }

    /// Much of what tells it from others.
    pub(crate) fn hash_roughly(&self, hasher: &mut impl Hasher) {
        (self.progress(), self.passed, self.said, self.has_begun).hash(hasher);
        self.told.hash_roughly(hasher);
    }

    /// Whether it is decided what comes of a key of the range that is being looked over.
    pub(crate) fn has_looked_at(&self, key: KeyNumber) -> bool {
        self.looked.contains_key(&key)
    }
}

impl Asking<'_> {
    pub(crate) fn event(&self, kind: StatementKind, key: KeyNumber, deed: ToldDeed) -> ToldEvent {
        let Asking { statement, scan, .. } = *self;
        ToldEvent { statement, kind, key, deed, passed: false, waited: false, scan, fate: ToldFate::Stays }
    }

    /// The lock of a row that is sought.
    pub(crate) fn want(&self, key: KeyNumber) -> Want {
        // Along an index a server goes record by record, though it may be one only.
        let in_range = self.scan.is_some() || self.keys.is_entry(key);
        Want { in_range, ..Want::of(key, self.kind) }
    }

    pub(crate) fn tell(&mut self, event: ToldEvent) {
        self.told.events.push(event);
    }

    pub(crate) fn saw(&mut self, kind: StatementKind, key: KeyNumber, deed: ToldDeed) {
        self.tell(self.event(kind, key, deed));
    }
}

/// A step that is being taken.
pub(crate) struct ServerTurn<'a> {
    one: Number,
    database: &'a mut ServerState,
    dialogue: &'a mut Dialogue,
    permit: Permit,
    /// The statement, from 1, what it is, and whether it has asked for something.
    statement: u32,
    kind: StatementKind,
    ignores: bool,
    text: Option<Arc<str>>,
    /// Whether it looks at nothing more in its snapshot once it has asked for its first lock.
    looks_once: bool,
    /// Whether what is sought now is one row, by a key that depends on no other row.
    pub(crate) seeks_one: bool,
    /// What it does about rows that somebody else has.
    pub(crate) patience: Patience,
    /// Whether it has looked at other rows before it locks.
    has_looked_around: bool,
    /// Whether what is asked next is a part of what was asked before.
    follows_at_once: bool,
    is_declared: bool,
    has_asked: bool,
    cursor: usize,
    /// The statement whose snapshot was taken in this step.
    took_snapshot: Option<u32>,
    /// Where it stands now.
    pub(crate) stands: Option<TurnPoint>,
    /// The statement that was refused, and with which code.
    pub(crate) refused: Option<(u32, &'static str)>,
    /// It began before it could have its one lock, and nothing followed from that: it might as well have begun when the lock was free.
    pub(crate) waited_in_vain: bool,
    /// Nobody wants a run in which it hears what it heard.
    pub(crate) is_unwanted: bool,
    /// What it asked for is not what it asked for before.
    pub(crate) differs: Option<usize>,
    pub(crate) access: StepAccess,
    /// How many statements it has said that are answered.
    pub(crate) said: usize,
}

impl<'a> ServerTurn<'a> {
    pub(crate) fn new(
        one: Number,
        database: &'a mut ServerState,
        dialogue: &'a mut Dialogue,
        permit: Permit,
    ) -> ServerTurn<'a> {
        ServerTurn {
            one,
            database,
            dialogue,
            permit,
            statement: 0,
            kind: StatementKind::Select,
            ignores: false,
            text: None,
            looks_once: false,
            seeks_one: false,
            patience: Patience::Wait,
            has_looked_around: false,
            follows_at_once: false,
            is_declared: false,
            has_asked: true,
            cursor: 0,
            took_snapshot: None,
            stands: None,
            refused: None,
            waited_in_vain: false,
            is_unwanted: false,
            differs: None,
            access: StepAccess::default(),
            said: 0,
        }
    }

    /// A statement begins.
    pub(crate) fn declare(&mut self, kind: StatementKind, ignores: bool) {
        (self.kind, self.ignores, self.is_declared, self.has_asked) = (kind, ignores, true, false);
        (self.looks_once, self.has_looked_around, self.text) = (false, false, None);
        (self.seeks_one, self.patience) = (false, Patience::Wait);
    }

    /// What the statement says, for whoever is shown the run.
    pub(crate) fn say(&mut self, text: &Arc<str>) {
        self.text = Some(Arc::clone(text));
    }

    /// The statement looks at nothing more in its snapshot once it has asked for its first lock.
    pub(crate) fn look_once(&mut self) {
        self.looks_once = true;
    }

    /// Who takes the step.
    pub(crate) fn number(&self) -> Number {
        self.one
    }

    /// Whether the statement at which it stands has passed a point before.
    pub(crate) fn has_begun(&self) -> bool {
        let stands = matches!(self.stands, Some(TurnPoint::Open | TurnPoint::Lock(_)));
        stands && self.dialogue.passed == self.statement
    }

    /// How many events it has had.
    pub(crate) fn events(&self) -> usize {
        self.dialogue.told.events.len()
    }

    /// The first, plain look of the statement at a row that it has locked since is not told, if it saw another version.
    pub(crate) fn forget_look(&mut self, key: KeyNumber) {
        if self.database.looks_before_it_locks() {
            self.dialogue.told.forget_look(self.statement, key);
        }
    }

    /// Something is asked: by the statement that was declared, else by one of its own.
    fn ask(&mut self, question: &TurnQuestion, kind: StatementKind) -> Result<Option<Arc<TurnAnswer>>, Interrupt> {
        if self.stands.is_some() || self.refused.is_some() || self.differs.is_some() {
            return Err(Interrupt::Waiting);
        }
        if !self.is_declared {
            (self.kind, self.has_asked) = (kind, false);
        }
        if !self.has_asked {
            (self.statement, self.has_asked) = (self.statement + 1, true);
            let texts = &mut self.dialogue.told.texts;
            if texts.len() < self.statement as usize {
                texts.push(self.text.clone());
            }
        }
        let Some((before, answer)) = self.dialogue.answers.get(self.cursor) else { return Ok(None) };
        self.cursor += 1;
        if before != question {
            self.differs = Some(self.cursor - 1);
            return Err(Interrupt::Waiting);
        }
        Ok(Some(Arc::clone(answer)))
    }

    fn answer(&mut self, question: TurnQuestion, answer: TurnAnswer) {
        self.dialogue.answers.push((question, Arc::new(answer)));
        self.cursor += 1;
    }

    /// A moment at which others may come first.
    fn point(&mut self, point: TurnPoint) -> Result<(), Interrupt> {
        match self.permit {
            Permit::Pass => {
                self.permit = Permit::Spent;
                self.dialogue.passed = self.statement;
                Ok(())
            }
            Permit::Refuse(code) => Err(self.refuse(code)),
            Permit::Glance => Ok(()),
            Permit::Through => {
                self.dialogue.passed = self.statement;
                Ok(())
            }
            Permit::Spent | Permit::Stay => {
                // What is seen later with the snapshot of this step is not known yet.
                let goes_on = matches!(point, TurnPoint::Lock(_))
                    && self.took_snapshot == Some(self.statement)
                    && !self.looks_once;
                self.access.reads_all |= goes_on;
                self.database.drop_old_snapshot(self.one, self.statement);
                self.stands = Some(point);
                Err(Interrupt::Waiting)
            }
        }
    }

    fn refuse(&mut self, code: &'static str) -> Interrupt {
        self.refused = Some((self.statement, code));
        self.dialogue.told.forget_statement(self.statement);
        Interrupt::Refused(code)
    }

    fn asking<'t>(
        &'t mut self,
        keys: &'t Keys,
        kind: StatementKind,
        scan: Option<usize>,
    ) -> (&'t mut ServerState, Asking<'t>) {
        let is_alone = scan.is_none() && if keys.have_order() { self.seeks_one } else { self.looks_once };
        let told = &mut self.dialogue.told;
        (self.database, Asking { one: self.one, kind, statement: self.statement, scan, is_alone, keys, told })
    }

    /// The snapshot of plain reads is there from now on.
    fn take_snapshot(&mut self) -> Result<(), Interrupt> {
        if self.database.needs_snapshot(self.one, self.statement) {
            // The check of a foreign key comes at once behind what it checks: who inserts a parent meanwhile is not waited for. Nothing is
            // lost, for what is checked could as well have come later.
            let is_same_step = self.permit == Permit::Spent && self.dialogue.passed + 1 == self.statement;
            match self.follows_at_once && is_same_step {
                true => self.dialogue.passed = self.statement,
                false => self.point(TurnPoint::Open)?,
            }
            let serves_later = self.database.take_snapshot(self.one, self.statement);
            self.access.reads_all |= serves_later;
            self.took_snapshot = Some(self.statement);
        }
        Ok(())
    }

    /// A plain read.
    pub(crate) fn select(&mut self, key: KeyNumber, keys: &Keys) -> Result<Option<Row>, Interrupt> {
        if self.database.locks_all(self.one) {
            return Ok(locked(self.seek_as(key, keys, StatementKind::Select, &mut |_, _| Fit::Yes)?));
        }
        let question = TurnQuestion::Key(key);
        if let Some(answer) = self.ask(&question, StatementKind::Select)? {
            return Ok(row_of(&answer));
        }
        self.take_snapshot()?;
        self.access.reads.push(key);
        let (database, mut asking) = self.asking(keys, StatementKind::Select, None);
        let row = database.select(&mut asking, key);
        self.answer(question, TurnAnswer::Row(RowAnswer::Passed(row.clone())));
        Ok(row)
    }

    /// A row that the statement seeks.
    pub(crate) fn seek(&mut self, key: KeyNumber, keys: &Keys, fits: &mut Fits<'_>) -> Result<Found, Interrupt> {
        let kind = self.seeking_kind();
        Ok(found(self.seek_as(key, keys, kind, fits)?))
    }

    /// A row that is locked if it is there; `row`: the one that is locked in place of an entry of its primary key.
    pub(crate) fn lock(
        &mut self,
        key: KeyNumber,
        keys: &Keys,
        kind: StatementKind,
        row: Option<KeyNumber>,
    ) -> Result<Option<Row>, Interrupt> {
        if kind == StatementKind::ForeignKey {
            // The server asks for itself, with a snapshot of its own.
            (self.has_asked, self.follows_at_once) = (false, true);
        }
        let outcome = match row {
            Some(row) => self.lock_row_of(key, row, keys, kind),
            None => self.seek_as(key, keys, kind, &mut |_, _| Fit::Yes),
        };
        self.follows_at_once = false;
        Ok(locked(outcome?))
    }

    /// The same of a row that the statement has found among others.
    pub(crate) fn lock_found(
        &mut self,
        key: KeyNumber,
        keys: &Keys,
        kind: StatementKind,
    ) -> Result<Option<Row>, Interrupt> {
        self.has_looked_around = true;
        self.lock(key, keys, kind, None)
    }

    /// A row that refers to one which is deleted. PostgreSQL looks for it as of now: at read committed with a snapshot of its own; above
    /// that what the transaction's snapshot does not have is still in the way of a deletion, and cannot be deleted or changed with it.
    pub(crate) fn lock_child(
        &mut self,
        key: KeyNumber,
        keys: &Keys,
        kind: StatementKind,
    ) -> Result<Option<Row>, Interrupt> {
        if !self.database.looks_before_it_locks() {
            return self.lock(key, keys, kind, None);
        }
        self.has_asked = false;
        if !self.database.is_repeatable(self.one) {
            return Ok(locked(self.seek_as(key, keys, kind, &mut |_, _| Fit::Yes)?));
        }
        let question = TurnQuestion::Key(key);
        if let Some(answer) = self.ask(&question, kind)? {
            return Ok(locked(outcome_of(&answer)));
        }
        let outcome = match self.database.unseen(self.one, key, keys) {
            None => self.sought(key, keys, kind, None, &mut |_, _| Fit::Yes)?,
            Some(row) if kind == StatementKind::ForeignKey => RowAnswer::Locked(row),
            Some(_) => return Err(self.refuse("40001")),
        };
        self.answer(question, TurnAnswer::Row(outcome.clone()));
        Ok(locked(outcome))
    }

    /// The kind of a statement that seeks rows to lock.
    fn seeking_kind(&self) -> StatementKind {
        if self.is_declared && self.kind != StatementKind::Select { self.kind } else { StatementKind::ForUpdate }
    }

    fn seek_as(
        &mut self,
        key: KeyNumber,
        keys: &Keys,
        kind: StatementKind,
        fits: &mut Fits<'_>,
    ) -> Result<RowAnswer, Interrupt> {
        let question = TurnQuestion::Key(key);
        if let Some(answer) = self.ask(&question, kind)? {
            return Ok(outcome_of(&answer));
        }
        let outcome = self.sought(key, keys, kind, None, fits)?;
        self.answer(question, TurnAnswer::Row(outcome.clone()));
        Ok(outcome)
    }

    /// Looks at one row, and locks it.
    fn sought(
        &mut self,
        key: KeyNumber,
        keys: &Keys,
        kind: StatementKind,
        scan: Option<usize>,
        fits: &mut Fits<'_>,
    ) -> Result<RowAnswer, Interrupt> {
        if self.database.looks_before_it_locks() {
            self.take_snapshot()?;
            self.access.reads.push(key);
        }
        let (database, mut asking) = self.asking(keys, kind, scan);
        let mut outcome = database.seek(&mut asking, key, fits, false);
        if outcome == RowAnswer::Later {
            let want = self.asking(keys, kind, scan).1.want(key);
            // Where keys have no order, nobody knows how a statement finds several rows.
            let in_range = want.in_range || !keys.have_order() && !self.looks_once;
            let want = Want { in_range, patience: self.patience, ..want };
            self.access.touches.push(key);
            let is_single = self.looks_once && !self.has_looked_around && scan.is_none();
            let is_single = is_single && self.database.looks_before_it_locks();
            let is_single = is_single && !self.database.is_repeatable(self.one);
            let has_begun_now = self.took_snapshot == Some(self.statement);
            let is_at_once = is_single && has_begun_now && self.database.keepers(self.one, &want, keys).is_empty();
            if !is_at_once {
                self.point(TurnPoint::Lock(want))?;
            }
            if self.permit == Permit::Glance {
                return self.glanced(want, keys, scan, fits);
            }
            if want.patience != Patience::Wait && self.is_kept(&want, keys, scan)? {
                return Ok(RowAnswer::Passed(None));
            }
            let gap = self.database.gap_wanted(self.one, &want, keys);
            self.access.touches_gaps.extend(gap);
            let (database, mut asking) = self.asking(keys, kind, scan);
            outcome = database.seek(&mut asking, key, fits, true);
            self.database.go_on(self.one);
            self.waited_in_vain |= is_single && !has_begun_now && matches!(outcome, RowAnswer::Locked(_));
        }
        self.settled(outcome)
    }

    /// Looks at what is committed of a row that somebody else has: it is passed over, or has to be waited for.
    fn glanced(
        &mut self,
        want: Want,
        keys: &Keys,
        scan: Option<usize>,
        fits: &mut Fits<'_>,
    ) -> Result<RowAnswer, Interrupt> {
        let (database, mut asking) = self.asking(keys, want.kind, scan);
        let Some(outcome) = database.glance(&mut asking, want.key, fits) else {
            self.stands = Some(TurnPoint::Lock(want));
            return Err(Interrupt::Waiting);
        };
        self.permit = Permit::Spent;
        self.dialogue.passed = self.statement;
        Ok(outcome)
    }

    fn settled(&mut self, outcome: RowAnswer) -> Result<RowAnswer, Interrupt> {
        match outcome {
            RowAnswer::Refused(code) => Err(self.refuse(code)),
            outcome => Ok(outcome),
        }
    }

    /// A write. One of which no statement was told is blind: nothing was read or locked for it.
    pub(crate) fn write(&mut self, key: KeyNumber, keys: &Keys, value: Option<Row>) -> Result<(), Interrupt> {
        let question = TurnQuestion::Write(key, value.clone());
        let is_blind = !self.is_declared;
        if self.ask(&question, StatementKind::Select)?.is_some() {
            return Ok(());
        }
        if is_blind && self.database.looks_before_it_locks() {
            self.take_snapshot()?;
        }
        let want = Want { is_write: true, ..Want::of(key, self.kind) };
        // What a statement changes it has locked, but for entries of indexes and keys that it moves.
        if is_blind || !self.database.blockers(self.one, &want, keys).is_empty() {
            self.point(TurnPoint::Lock(want))?;
            self.database.go_on(self.one);
        }
        self.access.touches.push(key);
        let kind = self.kind;
        let (database, mut asking) = self.asking(keys, kind, None);
        let outcome = database.write(&mut asking, key, value, is_blind);
        let outcome = self.settled(outcome)?;
        self.answer(question, TurnAnswer::Row(outcome));
        Ok(())
    }

    /// The next key of a range that somebody has written; those of others that are not over count for who waits for them.
    fn next_in(
        &self,
        range: &KeyRange,
        last: Option<KeyNumber>,
        keys: &Keys,
        unfinished: &[KeyNumber],
    ) -> Option<KeyNumber> {
        let awaited = self.database.awaited(self.one);
        let counts = |key| self.is_known(key, keys) || unfinished.contains(&key) || awaited == Some(key);
        keys.next_in(range, last, counts)
    }

    /// Whether somebody has written a key who has committed, or itself.
    fn is_known(&self, key: KeyNumber, keys: &Keys) -> bool {
        keys.initial(key).is_some() || self.database.has_version(key) || self.dialogue.told.has_changed(key)
    }

    fn note_scan(&mut self, range: &KeyRange, kind: StatementKind) -> usize {
        let place = self.dialogue.told.events.len();
        let range = Arc::new(range.clone());
        self.dialogue.told.scans.push(ToldScan {
            statement: self.statement,
            kind,
            range,
            end: ScanEnd::Whole,
            place,
            fate: ToldFate::Stays,
        });
        self.dialogue.told.scans.len() - 1
    }

    /// The rows of a range as plain reads see them.
    pub(crate) fn scan(&mut self, range: &KeyRange, keys: &Keys) -> Result<Scanned, Interrupt> {
        let question = TurnQuestion::Range(range.clone());
        if let Some(answer) = self.ask(&question, StatementKind::Select)? {
            return Ok(scanned(range, &answer));
        }
        if self.database.locks_all(self.one) {
            let (found, end) = self.look_through(range, keys, StatementKind::Select, &mut |_, _| Fit::Yes)?;
            let answer = TurnAnswer::Scanned(self.with_own(found, range, keys), end);
            let result = scanned(range, &answer);
            self.answer(question, answer);
            return Ok(result);
        }
        self.take_snapshot()?;
        self.access.ranges.push(Arc::new(range.clone()));
        let scan = self.note_scan(range, StatementKind::Select);
        let (mut rows, mut last, mut enough) = (Vec::new(), None, None);
        let end = loop {
            let next = self.next_in(range, last, keys, &[]);
            let Some(next) = self.unless_enough(range, keys, next, &enough) else { break ended(enough) };
            last = Some(next);
            let (database, mut asking) = self.asking(keys, StatementKind::Select, Some(scan));
            if let Some(row) = database.select(&mut asking, next) {
                rows.push((keys.key(next).clone(), row));
                if enough.is_none() && range.limit == Some(rows.len()) {
                    enough = Some(part_of(range, keys, next));
                }
            }
        };
        self.dialogue.told.scans[scan].end = end.clone();
        if range.descending && !reads_down(range) {
            rows.reverse();
        }
        let answer = TurnAnswer::Scanned(rows, end);
        let result = scanned(range, &answer);
        self.answer(question, answer);
        Ok(result)
    }

    /// The next key, unless enough was found and it lies behind that.
    fn unless_enough(
        &self,
        range: &KeyRange,
        keys: &Keys,
        next: Option<KeyNumber>,
        enough: &Option<Option<KeyPart>>,
    ) -> Option<KeyNumber> {
        next.filter(|&next| enough.as_ref().is_none_or(|part| part_of(range, keys, next) == *part))
    }

    /// The rows of a locking scan where plain reads lock, with the own ones of this moment.
    fn with_own(&mut self, found: Vec<(RowKey, RowAnswer)>, range: &KeyRange, keys: &Keys) -> Vec<(RowKey, Row)> {
        let locked = found.into_iter().filter_map(|(key, outcome)| match outcome {
            RowAnswer::Locked(row) => Some((key, row)),
            _ => None,
        });
        let mut rows: BTreeMap<RowKey, Row> = locked.collect();
        let mut last = None;
        while let Some(next) = keys.next_in(range, last, |key| self.dialogue.told.has_changed(key)) {
            last = Some(next);
            if let Some(row) = self.database.latest(self.one, next, keys) {
                rows.insert(keys.key(next).clone(), row);
            }
        }
        let mut rows: Vec<(RowKey, Row)> = rows.into_iter().collect();
        if range.descending {
            rows.reverse();
        }
        rows
    }

    /// The rows of a range as they stand now, for checks that must miss nothing: what matters is then locked.
    pub(crate) fn present(&mut self, range: &KeyRange, keys: &Keys) -> Result<Scanned, Interrupt> {
        let question = TurnQuestion::Range(range.clone());
        let kind = self.kind;
        if let Some(answer) = self.ask(&question, kind)? {
            return Ok(scanned(range, &answer));
        }
        self.point(TurnPoint::Open)?;
        self.access.looks_at_present = true;
        self.access.ranges.push(Arc::new(range.clone()));
        let (mut rows, mut last) = (Vec::new(), None);
        while let Some(next) = self.next_in(range, last, keys, &[]) {
            last = Some(next);
            rows.extend(self.database.latest(self.one, next, keys).map(|row| (keys.key(next).clone(), row)));
        }
        let answer = TurnAnswer::Scanned(rows, ScanEnd::Whole);
        let result = scanned(range, &answer);
        self.answer(question, answer);
        Ok(result)
    }

    /// The program is about to commit: the code with which that is refused, if it is.
    pub(crate) fn commit(&mut self) -> Option<&'static str> {
        let Permit::Refuse(code) = self.permit else { return None };
        let is_free = self.stands.is_none() && self.refused.is_none() && self.differs.is_none();
        is_free.then(|| {
            self.refused = Some((self.statement + 1, code));
            code
        })
    }

    /// The program of the transaction has come to its end.
    pub(crate) fn end(&mut self) {
        self.commit();
        if self.cursor < self.dialogue.answers.len() && self.refused.is_none() {
            self.differs = Some(self.cursor);
        }
        let is_free = self.stands.is_none() && self.refused.is_none() && self.differs.is_none();
        // Who asks for nothing ends in a step of its own all the same.
        self.stands = self.stands.or_else(|| is_free.then_some(TurnPoint::End));
    }
}

fn locked(outcome: RowAnswer) -> Option<Row> {
    match outcome {
        RowAnswer::Locked(row) => Some(row),
        _ => None,
    }
}

fn row_of(answer: &TurnAnswer) -> Option<Row> {
    match outcome_of(answer) {
        RowAnswer::Locked(row) | RowAnswer::Passed(Some(row)) => Some(row),
        _ => None,
    }
}

fn outcome_of(answer: &TurnAnswer) -> RowAnswer {
    match answer {
        TurnAnswer::Row(outcome) => outcome.clone(),
        TurnAnswer::Scanned(..) | TurnAnswer::Looked(..) => RowAnswer::Passed(None),
    }
}

fn found(outcome: RowAnswer) -> Found {
    match outcome {
        RowAnswer::Locked(row) => Found::Locked(row),
        RowAnswer::Passed(row) => Found::Passed(row),
        RowAnswer::Later | RowAnswer::Refused(_) => Found::Passed(None),
    }
}

fn scanned(range: &KeyRange, answer: &TurnAnswer) -> Scanned {
    match answer {
        TurnAnswer::Scanned(rows, end) => Scanned { rows: rows.clone(), read: whole_part(range, end) },
        TurnAnswer::Row(_) | TurnAnswer::Looked(..) => Scanned { rows: Vec::new(), read: None },
    }
}

fn looked(answer: &TurnAnswer) -> (Vec<(RowKey, RowAnswer)>, ScanEnd) {
    match answer {
        TurnAnswer::Looked(found, end) => (found.clone(), end.clone()),
        TurnAnswer::Row(_) | TurnAnswer::Scanned(..) => (Vec::new(), ScanEnd::Whole),
    }
}

fn ended(enough: Option<Option<KeyPart>>) -> ScanEnd {
    enough.map_or(ScanEnd::Whole, ScanEnd::At)
}

fn part_of(range: &KeyRange, keys: &Keys, key: KeyNumber) -> Option<KeyPart> {
    keys.key(key).parts.get(range.prefix.len()).cloned()
}
