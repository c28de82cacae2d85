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

use crate::program::{Effect, Mark, Otherwise, Program, Row, State, Statement, is_key_share};
use crate::run::{Cell, Code, End, Saw, Source, What};
use crate::schedule::{Progress, Simulator, active, is_deadlocked};
use skew_history::{Engine, StatementKind};

/// The state of the database and of its clients.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Postgres {
    /// Per transaction.
    clients: Vec<Client>,
    tuples: Vec<Tuple>,
    locks: Vec<Lock>,
    /// Per cell who changed it, in the order of their commits, and to what.
    changes: Vec<(Cell, u8, State)>,
    committed: u16,
    /// Those who wait for rows, in the order in which they asked.
    asked: Vec<u8>,
    /// Whether the key of a row that somebody locks alone is a key of the history of its own.
    has_keys: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Client {
    progress: Progress,
    /// Whether one snapshot serves the whole transaction.
    repeatable: bool,
    /// Those who had committed when it was taken.
    snapshot: Option<u16>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Tuple {
    row: Row,
    life: u8,
    by: Option<u8>,
    mark: Mark,
    replaced_by: Option<u8>,
    /// Whether who replaced it had locked it FOR UPDATE: PostgreSQL takes that for a change of the key.
    rekeyed: bool,
    /// Whether it was the last of its life.
    deleted: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Lock {
    transaction: u8,
    row: Row,
    life: u8,
    strength: Strength,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Strength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

impl Strength {
    fn conflicts(self, other: Strength) -> bool {
        use Strength::*;
        match self {
            KeyShare => other == Update,
            Share => other >= NoKeyUpdate,
            NoKeyUpdate => other >= Share,
            Update => true,
        }
    }

    fn of(kind: StatementKind) -> Strength {
        match kind {
            StatementKind::ForKeyShare | StatementKind::ForeignKey => Strength::KeyShare,
            StatementKind::ForShare => Strength::Share,
            StatementKind::Update | StatementKind::Upsert | StatementKind::ForNoKeyUpdate => Strength::NoKeyUpdate,
            _ => Strength::Update,
        }
    }
}

/// What came of an attempt to do the next thing.
enum Attempt {
    Done,
    Blocked(Vec<usize>),
    Refused,
}

impl Postgres {
    /// Before anything; `repeatable` per transaction.
    pub fn new(program: &Program, repeatable: &[bool]) -> Postgres {
        let client = |&repeatable: &bool| Client { progress: Progress::default(), repeatable, snapshot: None };
        let tuple =
            |(row, mark)| Tuple { row, life: 0, by: None, mark, replaced_by: None, rekeyed: false, deleted: false };
        let there = (0..).zip(&program.rows).filter_map(|(row, state)| state.map(|mark| (row, mark)));
        Postgres {
            clients: repeatable.iter().map(client).collect(),
            tuples: there.map(tuple).collect(),
            locks: Vec::new(),
            changes: Vec::new(),
            committed: 0,
            asked: Vec::new(),
            has_keys: true,
        }
    }

    /// The same, where whoever locks the key of a row tells of the row: the version that its statement's state has.
    pub fn telling_rows(self) -> Postgres {
        Postgres { has_keys: false, ..self }
    }

    /// A transaction from its first statement to its end, with nobody beside it.
    pub fn run_alone(&self, program: &Program, one: usize) -> Postgres {
        let mut state = self.clone();
        while state.clients[one].progress.end.is_none() {
            state = state.steps_of(program, one).swap_remove(0);
        }
        state
    }

    fn steps_of(&self, program: &Program, one: usize) -> Vec<Postgres> {
        let mut next = self.clone();
        match next.advance(program, one) {
            Attempt::Done => {
                next.asked.retain(|&other| other as usize != one);
                vec![next]
            }
            Attempt::Refused => vec![self.refusing(one, Code::Serialization)],
            Attempt::Blocked(_) if !self.clients[one].progress.waiting => {
                let mut waiting = self.clone();
                waiting.clients[one].progress.waiting = true;
                waiting.asked.push(one as u8);
                vec![waiting]
            }
            Attempt::Blocked(_) => {
                let deadlocked = is_deadlocked(one, &|other| self.waits_for(program, other));
                deadlocked.then(|| self.refusing(one, Code::Deadlock)).into_iter().collect()
            }
        }
    }

    fn waits_for(&self, program: &Program, one: usize) -> Vec<usize> {
        match self.clone().advance(program, one) {
            Attempt::Blocked(by) if self.clients[one].progress.waiting => {
                by.into_iter().chain(self.first_in_queue(program, one)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Who has asked first for the row that somebody waits for, and keeps it behind itself: the others wait for that one, whoever has the row.
    fn first_in_queue(&self, program: &Program, one: usize) -> Option<usize> {
        let (row, life, strength) = self.awaited(program, one)?;
        let before = self.asked.iter().map(|&other| other as usize).take_while(|&other| other != one);
        let keeps = |&other: &usize| {
            let wanted = self.awaited(program, other);
            wanted.is_some_and(|wanted| (wanted.0, wanted.1) == (row, life) && wanted.2.conflicts(strength))
        };
        before.into_iter().find(keeps)
    }

    /// The row that somebody waits for who has nothing of it yet; whoever checks that a key is free waits for a transaction.
    fn awaited(&self, program: &Program, one: usize) -> Option<(Row, u8, Strength)> {
        let progress = &self.clients[one].progress;
        let statement = progress.statement(program.scripts().nth(one)?).filter(|_| progress.waiting)?;
        let Statement::Lock { .. } = statement else { return None };
        let row = statement.rows()[progress.rows_done];
        let life = self.visible(one, row).last()?.life;
        let has_some = |lock: &Lock| lock.transaction as usize == one && lock.row == row;
        let is_new = !self.locks.iter().any(has_some);
        is_new.then(|| (row, life, Strength::of(statement.kind(Engine::Postgres))))
    }

    fn refusing(&self, one: usize, code: Code) -> Postgres {
        let mut next = self.clone();
        next.clients[one].progress.refuse(code);
        next.asked.retain(|&other| other as usize != one);
        next.forget(one as u8);
        next
    }

    /// Does the next thing: starts a statement, looks at one row of it, or ends.
    fn advance(&mut self, program: &Program, one: usize) -> Attempt {
        let script = program.scripts().nth(one).expect("a transaction");
        let Some(statement) = self.clients[one].progress.statement(script) else {
            self.end(one, script.rolls_back);
            return Attempt::Done;
        };
        if !self.clients[one].progress.started {
            self.start(one, statement);
            return Attempt::Done;
        }
        let row = statement.rows()[self.clients[one].progress.rows_done];
        let attempt = match statement {
            Statement::Select(_) => unreachable!("a plain SELECT is done when it has started"),
            Statement::Insert { otherwise, .. } => self.insert(program, one, statement, row, *otherwise),
            Statement::Lock { condition, effect, .. } => self.lock(program, one, statement, row, *condition, *effect),
        };
        if matches!(attempt, Attempt::Done) {
            self.clients[one].progress.row_is_done(statement);
        }
        attempt
    }

    fn start(&mut self, one: usize, statement: &Statement) {
        let committed = self.committed;
        let client = &mut self.clients[one];
        client.progress.started = true;
        if !client.repeatable || client.snapshot.is_none() {
            client.snapshot = Some(committed);
        }
        if let Statement::Select(rows) = statement {
            rows.iter().for_each(|&row| self.select(one, row));
            self.clients[one].progress.statement_is_done();
        }
    }

    fn select(&mut self, one: usize, row: Row) {
        let found = self.visible(one, row);
        if found.is_empty() {
            return self.read_absence(one, StatementKind::Select, Cell { row, key_part: false });
        }
        // An own row comes last: it is the younger one.
        for tuple in found {
            let (by, mark) = (tuple.by, tuple.mark);
            self.saw(one, StatementKind::Select, row, What::Read(self.source(one, by), Some(mark)));
        }
    }

    fn lock(
        &mut self,
        program: &Program,
        one: usize,
        statement: &Statement,
        row: Row,
        condition: Option<Mark>,
        effect: Effect,
    ) -> Attempt {
        let kind = statement.kind(Engine::Postgres);
        let qualifies = |mark: Mark| condition.is_none_or(|wanted| wanted == mark);
        let visible = self.visible(one, row);
        let Some(first) = visible.last().cloned() else {
            self.read_absence(one, kind, Cell { row, key_part: self.has_keys && is_key_share(kind) });
            return Attempt::Done;
        };
        if let [of_snapshot, _] = &visible[..] {
            // It has been deleted since, else there would be no own one.
            if qualifies(of_snapshot.mark) {
                return Attempt::Refused;
            }
            self.pass(one, kind, row, of_snapshot, false);
        }
        if !qualifies(first.mark) {
            self.pass(one, kind, row, &first, false);
            return Attempt::Done;
        }
        let blocked = self.blockers(one, row, first.life, Strength::of(kind));
        if !blocked.is_empty() {
            return Attempt::Blocked(blocked);
        }
        let last =
            self.tuples.iter().rfind(|tuple| tuple.row == row && tuple.life == first.life).expect("a life").clone();
        if last.deleted {
            return self.find_deleted(one, kind, row, last.replaced_by.expect("a deleter"));
        }
        let looks_again = !is_key_share(kind) || !self.has_keys && self.is_rekeyed(&first);
        if last != first && looks_again {
            if self.clients[one].repeatable {
                return Attempt::Refused;
            }
            if !qualifies(last.mark) {
                self.hold(one, &last, Strength::of(kind));
                self.pass(one, kind, row, &last, true);
                return Attempt::Done;
            }
        }
        self.hold(one, &last, Strength::of(kind));
        self.take(program, one, kind, (&first, &last), effect);
        Attempt::Done
    }

    /// Whether somebody has changed the key of a row, as far as PostgreSQL is concerned, since a version of it.
    fn is_rekeyed(&self, first: &Tuple) -> bool {
        let of_row = self.tuples.iter().filter(|tuple| tuple.row == first.row && tuple.life == first.life);
        of_row.skip_while(|tuple| *tuple != first).any(|tuple| tuple.replaced_by.is_some() && tuple.rekeyed)
    }

    /// The row that was to be locked is deleted: nobody looks for another one with its key.
    fn find_deleted(&mut self, one: usize, kind: StatementKind, row: Row, by: u8) -> Attempt {
        if self.clients[one].repeatable {
            return Attempt::Refused;
        }
        let cell = Cell { row, key_part: self.has_keys && is_key_share(kind) };
        let left = self.changes.iter().rfind(|change| change.0 == cell && change.1 == by).expect("a change");
        let what = if left.2.is_some() { What::Gone(by) } else { What::Read(Source::Of(by), None) };
        self.tell(one, kind, cell, what);
        Attempt::Done
    }

    /// The row is locked: it is read, and changed.
    fn take(
        &mut self,
        program: &Program,
        one: usize,
        kind: StatementKind,
        (first, last): (&Tuple, &Tuple),
        effect: Effect,
    ) {
        let row = last.row;
        let key_part = Cell { row, key_part: true };
        let born = self.tuples.iter().find(|tuple| tuple.row == row && tuple.life == last.life).expect("a life").by;
        if is_key_share(kind) && !self.has_keys {
            let first = if self.is_rekeyed(first) { last } else { first };
            self.saw(one, kind, row, What::Read(self.source(one, first.by), Some(first.mark)));
            return;
        }
        if is_key_share(kind) {
            self.tell(one, kind, key_part, What::Read(self.source(one, born), Some(0)));
            return;
        }
        self.saw(one, kind, row, What::Read(self.source(one, last.by), Some(last.mark)));
        match effect {
            Effect::Set(mark) => self.replace(one, last, Some(mark)),
            Effect::Touch => self.replace(one, last, Some(last.mark)),
            Effect::Delete => self.replace(one, last, None),
            Effect::Only(_) => {}
        }
        if let Effect::Set(mark) = effect {
            self.saw(one, kind, row, What::Wrote(Some(mark)));
        } else if effect == Effect::Touch {
            self.saw(one, kind, row, What::Wrote(Some(last.mark)));
        } else if effect == Effect::Delete {
            self.saw(one, kind, row, What::Wrote(None));
        }
        if self.has_keys && program.has_key_part(row) && Strength::of(kind) == Strength::Update {
            self.tell(one, kind, key_part, What::Read(self.source(one, born), Some(0)));
            if effect == Effect::Delete {
                self.tell(one, kind, key_part, What::Wrote(None));
            }
        }
    }

    fn replace(&mut self, one: usize, last: &Tuple, state: State) {
        let is_of_row = |lock: &&Lock| (lock.transaction as usize, lock.row, lock.life) == (one, last.row, last.life);
        let rekeyed = self.locks.iter().filter(is_of_row).any(|lock| lock.strength == Strength::Update);
        let tuple = self.tuples.iter_mut().find(|tuple| *tuple == last).expect("a tuple");
        tuple.replaced_by = Some(one as u8);
        tuple.rekeyed = rekeyed;
        tuple.deleted = state.is_none();
        if let Some(mark) = state {
            self.tuples.push(Tuple { by: Some(one as u8), mark, rekeyed: false, ..last.clone() });
        }
    }

    fn insert(
        &mut self,
        program: &Program,
        one: usize,
        statement: &Statement,
        row: Row,
        otherwise: Otherwise,
    ) -> Attempt {
        let kind = statement.kind(Engine::Postgres);
        let last = self.tuples.iter().rfind(|tuple| tuple.row == row).cloned();
        let is_other = |by: &u8| *by as usize != one && self.committed & 1 << by == 0;
        let pending = last.iter().flat_map(|last| [last.by, last.replaced_by]).flatten().find(is_other);
        if let Some(other) = pending {
            return Attempt::Blocked(vec![other as usize]);
        }
        let Some(last) = last.filter(|last| !last.deleted) else {
            let mark = if let Otherwise::Set(mark) = otherwise { mark } else { 0 };
            self.insert_anew(program, one, kind, row, mark);
            return Attempt::Done;
        };
        match otherwise {
            Otherwise::Fail => {}
            Otherwise::Nothing if self.must_not_see(one, &last) => return Attempt::Refused,
            Otherwise::Nothing => {}
            Otherwise::Set(mark) => {
                let blocked = self.blockers(one, row, last.life, Strength::NoKeyUpdate);
                if !blocked.is_empty() {
                    return Attempt::Blocked(blocked);
                }
                if self.must_not_see(one, &last) {
                    return Attempt::Refused;
                }
                self.hold(one, &last, Strength::NoKeyUpdate);
                self.take(program, one, kind, (&last, &last), Effect::Set(mark));
                return Attempt::Done;
            }
        }
        self.saw(one, kind, row, What::Read(self.source(one, last.by), Some(last.mark)));
        Attempt::Done
    }

    /// Whether ON CONFLICT has met a tuple that its transaction's snapshot does not have.
    fn must_not_see(&self, one: usize, tuple: &Tuple) -> bool {
        self.clients[one].repeatable && !self.visible(one, tuple.row).contains(tuple)
    }

    fn insert_anew(&mut self, program: &Program, one: usize, kind: StatementKind, row: Row, mark: Mark) {
        for key_part in [false, true] {
            let cell = Cell { row, key_part };
            if !key_part || self.has_keys && program.has_key_part(row) {
                let last = self.changes.iter().rfind(|change| change.0 == cell).map(|change| change.1);
                let source = if self.has_changed(one, cell) { Source::Own } else { self.source(one, last) };
                self.tell(one, kind, cell, What::Read(source, None));
                self.tell(one, kind, cell, What::Wrote(Some(if key_part { 0 } else { mark })));
            }
        }
        let life = self.tuples.iter().filter(|tuple| tuple.row == row).map(|tuple| tuple.life + 1).max().unwrap_or(0);
        let by = Some(one as u8);
        self.tuples.push(Tuple { row, life, by, mark, replaced_by: None, rekeyed: false, deleted: false });
        let strength = Strength::Update;
        self.locks.push(Lock { transaction: one as u8, row, life, strength });
    }

    /// The tuples of a row that a transaction's snapshot shows: at most one of others, and one of its own.
    fn visible(&self, one: usize, row: Row) -> Vec<Tuple> {
        let snapshot = self.clients[one].snapshot.expect("a statement has begun");
        let knows = |by: u8| by as usize == one || snapshot & 1 << by != 0;
        let there = |tuple: &&Tuple| tuple.by.is_none_or(knows) && !tuple.replaced_by.is_some_and(knows);
        self.tuples.iter().filter(|tuple| tuple.row == row).filter(there).cloned().collect()
    }

    fn blockers(&self, one: usize, row: Row, life: u8, strength: Strength) -> Vec<usize> {
        let held = self.locks.iter().filter(|lock| lock.row == row && lock.life == life);
        let others = held.filter(|lock| lock.transaction as usize != one && lock.strength.conflicts(strength));
        others.map(|lock| lock.transaction as usize).collect()
    }

    fn hold(&mut self, one: usize, tuple: &Tuple, strength: Strength) {
        let lock = Lock { transaction: one as u8, row: tuple.row, life: tuple.life, strength };
        if !self.locks.contains(&lock) {
            self.locks.push(lock);
        }
    }

    fn pass(&mut self, one: usize, kind: StatementKind, row: Row, tuple: &Tuple, waited: bool) {
        let what = What::Read(self.source(one, tuple.by), Some(tuple.mark));
        let statement = self.clients[one].progress.number();
        let cell = Cell { row, key_part: false };
        self.clients[one].progress.events.push(Saw { statement, kind, cell, what, passed: true, waited });
    }

    fn read_absence(&mut self, one: usize, kind: StatementKind, cell: Cell) {
        let snapshot = self.clients[one].snapshot.expect("a statement has begun");
        let known = self.changes.iter().rfind(|change| change.0 == cell && snapshot & 1 << change.1 != 0);
        let source = match self.has_changed(one, cell) {
            true => Source::Own,
            false => self.source(one, known.map(|change| change.1)),
        };
        self.tell(one, kind, cell, What::Read(source, None));
    }

    fn has_changed(&self, one: usize, cell: Cell) -> bool {
        let events = &self.clients[one].progress.events;
        events.iter().any(|saw| saw.cell == cell && matches!(saw.what, What::Wrote(_)))
    }

    fn source(&self, one: usize, by: Option<u8>) -> Source {
        match by {
            None => Source::Initial,
            Some(by) if by as usize == one => Source::Own,
            Some(by) => Source::Of(by),
        }
    }

    fn saw(&mut self, one: usize, kind: StatementKind, row: Row, what: What) {
        self.tell(one, kind, Cell { row, key_part: false }, what);
    }

    fn tell(&mut self, one: usize, kind: StatementKind, cell: Cell, what: What) {
        let statement = self.clients[one].progress.number();
        self.clients[one].progress.events.push(Saw { statement, kind, cell, what, passed: false, waited: false });
    }

    fn end(&mut self, one: usize, rolls_back: bool) {
        let name = one as u8;
        if rolls_back {
            self.clients[one].progress.end = Some(End::RolledBack);
            return self.forget(name);
        }
        self.clients[one].progress.end = Some(End::Committed);
        for saw in self.clients[one].progress.events.clone() {
            if let What::Wrote(state) = saw.what {
                self.changes.retain(|change| (change.0, change.1) != (saw.cell, name));
                self.changes.push((saw.cell, name, state));
            }
        }
        self.locks.retain(|lock| lock.transaction != name);
        self.committed |= 1 << name;
    }

    /// As if the transaction had never been.
    fn forget(&mut self, name: u8) {
        self.locks.retain(|lock| lock.transaction != name);
        self.tuples.retain(|tuple| tuple.by != Some(name));
        for tuple in self.tuples.iter_mut().filter(|tuple| tuple.replaced_by == Some(name)) {
            (tuple.replaced_by, tuple.deleted) = (None, false);
        }
    }
}

impl Simulator for Postgres {
    fn steps(&self, program: &Program) -> Vec<Postgres> {
        let active = active(program, &self.progress());
        active.into_iter().flat_map(|one| self.steps_of(program, one)).collect()
    }

    fn progress(&self) -> Vec<&Progress> {
        self.clients.iter().map(|client| &client.progress).collect()
    }
}
