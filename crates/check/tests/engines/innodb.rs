//! InnoDB as it works: one current state with locks on rows and gaps, and old versions for plain reads.
//!
//! ```text
//!   x:  versions  init, t1, t3                   those of committed transactions, in the order of their commits
//!       pending   t2: mark 1                     at most one: who changes a row holds it exclusively
//!       locks     t2 exclusive                   shared and exclusive on the row; on its gap while it is not there
//! ```
//!
//! A locking statement looks at the current state, row by row, each at its own moment. A plain SELECT looks through a view: those who
//! had committed when it was made, which is at every statement (read committed) or at the first plain read (repeatable read). At
//! serializable there are no plain reads. With snapshot isolation, who locks a row that its view does not know is refused.

use crate::program::{Effect, Mark, Otherwise, Program, Row, State, Statement};
use crate::run::{Cell, Code, End, Saw, Source, What};
use crate::schedule::{Progress, Simulator, active, is_deadlocked};
use skew_history::{Engine, EngineLevel, StatementKind};

/// The state of the database and of its clients.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Innodb {
    /// Per transaction.
    clients: Vec<Client>,
    /// Per row.
    rows: Vec<Versions>,
    locks: Vec<Lock>,
    /// What is waited for, in the order in which it was asked for.
    queue: Vec<Lock>,
    committed: u16,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Client {
    progress: Progress,
    level: EngineLevel,
    /// Those who had committed when it was made.
    view: Option<u16>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Versions {
    initial: State,
    committed: Vec<(u8, State)>,
    pending: Option<(u8, State)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Lock {
    transaction: u8,
    row: Row,
    mode: Mode,
    /// Whether an INSERT asks for it.
    inserts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mode {
    Shared,
    Exclusive,
    Gap,
    /// What an INSERT wants: nobody else may hold the gap.
    Insertion,
}

impl Mode {
    fn conflicts(self, held: Mode) -> bool {
        match (self, held) {
            (Mode::Insertion, _) => true,
            (Mode::Gap, _) | (_, Mode::Gap) => false,
            (Mode::Shared, held) => held != Mode::Shared,
            (Mode::Exclusive, _) => true,
        }
    }

    fn of(kind: StatementKind) -> Mode {
        match kind {
            StatementKind::Select
            | StatementKind::ForShare
            | StatementKind::ForKeyShare
            | StatementKind::ForeignKey => Mode::Shared,
            _ => Mode::Exclusive,
        }
    }
}

/// What came of an attempt to do the next thing.
enum Attempt {
    Done,
    Blocked(Vec<usize>, Lock),
    Refused,
}

impl Innodb {
    /// Before anything.
    pub fn new(program: &Program, levels: &[EngineLevel]) -> Innodb {
        let client = |&level: &EngineLevel| Client { progress: Progress::default(), level, view: None };
        let row = |&initial: &State| Versions { initial, committed: Vec::new(), pending: None };
        Innodb {
            clients: levels.iter().map(client).collect(),
            rows: program.rows.iter().map(row).collect(),
            locks: Vec::new(),
            queue: Vec::new(),
            committed: 0,
        }
    }

    fn steps_of(&self, program: &Program, one: usize) -> Vec<Innodb> {
        let mut next = self.clone();
        match next.advance(program, one) {
            Attempt::Done => {
                next.queue.retain(|lock| lock.transaction as usize != one);
                vec![next]
            }
            Attempt::Refused => vec![self.refusing(one, Code::Changed)],
            Attempt::Blocked(_, wanted) if !self.clients[one].progress.waiting => {
                let mut waiting = self.clone();
                waiting.clients[one].progress.waiting = true;
                waiting.queue.push(wanted);
                vec![waiting]
            }
            Attempt::Blocked(..) => {
                let deadlocked = is_deadlocked(one, &|other| self.waits_for(program, other));
                deadlocked.then(|| self.refusing(one, Code::Deadlock)).into_iter().collect()
            }
        }
    }

    fn waits_for(&self, program: &Program, one: usize) -> Vec<usize> {
        match self.clone().advance(program, one) {
            Attempt::Blocked(by, _) if self.clients[one].progress.waiting => by,
            _ => Vec::new(),
        }
    }

    fn refusing(&self, one: usize, code: Code) -> Innodb {
        let mut next = self.clone();
        next.clients[one].progress.refuse(code);
        next.forget(one as u8);
        next
    }

    /// Does the next thing: all of a plain SELECT, one row of another statement, or the end.
    fn advance(&mut self, program: &Program, one: usize) -> Attempt {
        let script = program.scripts().nth(one).expect("a transaction");
        let Some(statement) = self.clients[one].progress.statement(script) else {
            self.end(one, script.rolls_back);
            return Attempt::Done;
        };
        let is_serializable = self.clients[one].level == EngineLevel::MysqlSerializable;
        let row = statement.rows()[self.clients[one].progress.rows_done];
        let attempt = match statement {
            Statement::Select(rows) if !is_serializable => {
                self.select(one, rows);
                return Attempt::Done;
            }
            Statement::Select(_) => self.lock(one, statement, row, None, Effect::Only(StatementKind::Select)),
            Statement::Insert { otherwise, .. } => self.insert(one, statement, row, *otherwise),
            Statement::Lock { condition, effect, .. } => self.lock(one, statement, row, *condition, *effect),
        };
        if matches!(attempt, Attempt::Done) {
            self.clients[one].progress.row_is_done(statement);
        }
        attempt
    }

    fn select(&mut self, one: usize, rows: &[Row]) {
        let committed = self.committed;
        let client = &mut self.clients[one];
        if client.level == EngineLevel::MysqlReadCommitted || client.view.is_none() {
            client.view = Some(committed);
        }
        let view = client.view.expect("made just now");
        for &row in rows {
            let (source, state) = self.rows[row as usize].seen_by(one as u8, |by| view & 1 << by != 0);
            self.saw(one, StatementKind::Select, row, What::Read(source, state));
        }
        self.clients[one].progress.statement_is_done();
    }

    fn lock(
        &mut self,
        one: usize,
        statement: &Statement,
        row: Row,
        condition: Option<Mark>,
        effect: Effect,
    ) -> Attempt {
        let kind = statement.kind(Engine::Mysql);
        let keeps_all = self.clients[one].level != EngineLevel::MysqlReadCommitted;
        let (source, state) = self.rows[row as usize].seen_by(one as u8, |_| true);
        let mode = if state.is_none() && !self.is_changing(one, row) { Mode::Gap } else { Mode::of(kind) };
        let waited = self.clients[one].progress.waiting;
        let passed = state.is_some_and(|mark| condition.is_some_and(|wanted| wanted != mark));
        let goes_along = kind == StatementKind::Update && statement.rows().len() > 1;
        if goes_along && !keeps_all && !waited && (state.is_none() || passed) {
            // Nothing that qualifies is committed there, so that nobody is waited for.
            self.tell(one, kind, row, What::Read(source, state), passed, false);
            return Attempt::Done;
        }
        let blocked = self.blockers(one, row, mode);
        if !blocked.is_empty() {
            return Attempt::Blocked(blocked, Lock { transaction: one as u8, row, mode, inserts: false });
        }
        if (mode != Mode::Gap || keeps_all) && self.must_not_see(one, row) {
            return Attempt::Refused;
        }
        let changes = matches!(kind, StatementKind::Update | StatementKind::Delete);
        // SELECT … FOR UPDATE of one row by its key keeps what it has looked at.
        let may_let_go = changes || statement.rows().len() > 1;
        let lets_go = match state {
            None => !keeps_all,
            Some(_) => passed && !keeps_all && may_let_go && !waited,
        };
        match lets_go {
            true if state.is_none() => {
                self.locks.retain(|lock| (lock.transaction as usize, lock.row, lock.mode) != (one, row, Mode::Gap));
            }
            true => {}
            false => self.hold(one, row, mode),
        }
        let kept = passed && !keeps_all && may_let_go && waited;
        self.tell(one, kind, row, What::Read(source, state), passed, kept);
        if state.is_some() && !passed {
            match effect {
                Effect::Set(mark) => self.change(one, kind, row, Some(mark)),
                Effect::Delete => self.change(one, kind, row, None),
                // The row is locked, and as it was.
                Effect::Touch | Effect::Only(_) => {}
            }
        }
        Attempt::Done
    }

    fn insert(&mut self, one: usize, statement: &Statement, row: Row, otherwise: Otherwise) -> Attempt {
        let kind = statement.kind(Engine::Mysql);
        let (source, state) = self.rows[row as usize].seen_by(one as u8, |_| true);
        let updates = matches!(otherwise, Otherwise::Set(_));
        let mode = match state {
            None if !self.is_changing(one, row) => Mode::Insertion,
            _ if updates => Mode::Exclusive,
            _ => Mode::Shared,
        };
        let blocked = self.blockers(one, row, mode);
        if !blocked.is_empty() {
            return Attempt::Blocked(blocked, Lock { transaction: one as u8, row, mode, inserts: true });
        }
        if self.must_not_see(one, row) {
            return Attempt::Refused;
        }
        self.hold(one, row, if mode == Mode::Shared { mode } else { Mode::Exclusive });
        self.tell(one, kind, row, What::Read(source, state), false, false);
        if state.is_none() || updates {
            let mark = if let Otherwise::Set(mark) = otherwise { mark } else { 0 };
            self.change(one, kind, row, Some(mark));
        }
        Attempt::Done
    }

    /// Whether somebody else is about to change a row.
    fn is_changing(&self, one: usize, row: Row) -> bool {
        self.rows[row as usize].pending.is_some_and(|(by, _)| by as usize != one)
    }

    /// Whether the last change of a row is one that a transaction with snapshot isolation does not know.
    fn must_not_see(&self, one: usize, row: Row) -> bool {
        let client = &self.clients[one];
        let (Some(view), Some(&(by, _))) = (client.view, self.rows[row as usize].committed.last()) else {
            return false;
        };
        let is_own = self.rows[row as usize].pending.is_some_and(|(by, _)| by as usize == one);
        client.level == EngineLevel::MysqlSnapshotIsolation && view & 1 << by == 0 && !is_own
    }

    /// Who holds what conflicts, or has asked for it before: nobody overtakes, not even who holds a weaker lock. Who has the lock asks for
    /// nothing.
    fn blockers(&self, one: usize, row: Row, mode: Mode) -> Vec<usize> {
        let is_own = |lock: &&Lock| lock.transaction as usize == one;
        let is_enough = |held: Mode| held == Mode::Exclusive && mode != Mode::Insertion || held == mode;
        if self.locks.iter().any(|lock| lock.row == row && is_own(&lock) && is_enough(lock.mode)) {
            return Vec::new();
        }
        let place = self.queue.iter().position(|lock| is_own(&lock)).unwrap_or(self.queue.len());
        let asked = self.queue[..place].iter().filter(|lock| mode != Mode::Insertion && lock.mode != Mode::Insertion);
        let others = self.locks.iter().chain(asked).filter(|lock| lock.row == row && !is_own(lock));
        others.filter(|lock| mode.conflicts(lock.mode)).map(|lock| lock.transaction as usize).collect()
    }

    fn hold(&mut self, one: usize, row: Row, mode: Mode) {
        let lock = Lock { transaction: one as u8, row, mode, inserts: false };
        if !self.locks.contains(&lock) {
            self.locks.push(lock);
        }
    }

    fn change(&mut self, one: usize, kind: StatementKind, row: Row, state: State) {
        self.rows[row as usize].pending = Some((one as u8, state));
        self.saw(one, kind, row, What::Wrote(state));
    }

    fn saw(&mut self, one: usize, kind: StatementKind, row: Row, what: What) {
        self.tell(one, kind, row, what, false, false);
    }

    fn tell(&mut self, one: usize, kind: StatementKind, row: Row, what: What, passed: bool, waited: bool) {
        let statement = self.clients[one].progress.number();
        let cell = Cell { row, key_part: false };
        self.clients[one].progress.events.push(Saw { statement, kind, cell, what, passed, waited });
    }

    /// Who waits for a row that will not be there has the gap: an INSERT at every level. At read committed others have it only until they have
    /// looked at what is left of a deleted row.
    fn give_gaps(&mut self, name: u8, deletes: bool, left: impl Fn(&Versions) -> State) {
        for lock in self.queue.clone() {
            let row = &self.rows[lock.row as usize];
            let is_gone = row.pending.is_some_and(|pending| pending.0 == name) && left(row).is_none();
            let level = self.clients[lock.transaction as usize].level;
            let is_kept = level != EngineLevel::MysqlReadCommitted || lock.inserts || deletes;
            if is_gone && is_kept && lock.transaction != name && lock.mode != Mode::Insertion {
                self.hold(lock.transaction as usize, lock.row, Mode::Gap);
            }
        }
    }

    fn end(&mut self, one: usize, rolls_back: bool) {
        let name = one as u8;
        if rolls_back {
            self.clients[one].progress.end = Some(End::RolledBack);
            return self.forget(name);
        }
        self.clients[one].progress.end = Some(End::Committed);
        self.give_gaps(name, true, |row| row.pending.and_then(|pending| pending.1));
        for row in &mut self.rows {
            row.committed.extend(row.pending.take_if(|pending| pending.0 == name));
        }
        self.locks.retain(|lock| lock.transaction != name);
        self.committed |= 1 << name;
    }

    /// As if the transaction had never been.
    fn forget(&mut self, name: u8) {
        self.give_gaps(name, false, |row| row.current());
        self.locks.retain(|lock| lock.transaction != name);
        self.queue.retain(|lock| lock.transaction != name);
        for row in &mut self.rows {
            row.pending = row.pending.filter(|pending| pending.0 != name);
        }
    }
}

impl Versions {
    /// What the last who committed has left.
    fn current(&self) -> State {
        self.committed.last().map_or(self.initial, |version| version.1)
    }

    /// The own version, or the last of those that are known.
    fn seen_by(&self, one: u8, knows: impl Fn(u8) -> bool) -> (Source, State) {
        if let Some((_, state)) = self.pending.filter(|pending| pending.0 == one) {
            return (Source::Own, state);
        }
        let last = self.committed.iter().rfind(|version| knows(version.0));
        last.map_or((Source::Initial, self.initial), |&(by, state)| (Source::Of(by), state))
    }
}

impl Simulator for Innodb {
    fn steps(&self, program: &Program) -> Vec<Innodb> {
        let active = active(program, &self.progress());
        active.into_iter().flat_map(|one| self.steps_of(program, one)).collect()
    }

    fn progress(&self) -> Vec<&Progress> {
        self.clients.iter().map(|client| &client.progress).collect()
    }
}
