//! All runs that one could make up for a program, and those of them that the definition allows.
//!
//! Every read may return any version that somebody could leave; statements act on what they read. What a locking statement found when
//! it began is no part of a run, but it decides whether a condition held then: it is made up, too, told to the definition as a plain
//! read of that statement, and left out of the run.

use crate::program::{Effect, Mark, Otherwise, Program, Row, State, Statement, is_key_share};
use crate::run::{Cell, Code, End, Run, Saw, Source, Told, What};
use skew_check::spec::{self, WantedLock};
use skew_history::{Engine, EngineLevel, History, StatementKind, TransactionId};
use std::collections::BTreeSet;

/// A run with what nobody is told.
struct Candidate {
    run: Run,
    /// Per transaction what it wanted when it was refused.
    wanted: Vec<Vec<Want>>,
}

/// What a refused statement wanted to lock.
#[derive(Clone, Copy)]
struct Want {
    cell: Cell,
    kind: StatementKind,
    only_looks: bool,
}

/// One transaction of a candidate.
struct Behaviour {
    told: Told,
    /// What it wanted when it was refused: a row, and maybe its key.
    wanted: Vec<Want>,
}

/// The runs that the definition allows; nothing when there are more candidates than `most`.
pub fn allowed_runs(program: &Program, levels: &[EngineLevel], refusals: bool, most: usize) -> Option<BTreeSet<Run>> {
    let engine = levels[0].engine();
    let mut runs = BTreeSet::new();
    for candidate in candidates(program, levels, refusals, most)? {
        let shown = shown(program, &candidate.run);
        if !runs.contains(&shown) && candidate.is_allowed(program, engine, levels) {
            runs.insert(shown);
        }
    }
    Some(runs)
}

/// The histories of all runs that one could make up, each transaction with its level; nothing when there are more than `most`.
pub fn histories(program: &Program, levels: &[EngineLevel], most: usize) -> Option<Vec<History>> {
    let candidates = candidates(program, levels, true, most)?;
    Some(candidates.iter().map(|candidate| candidate.run.history_at(program, levels)).collect())
}

impl Candidate {
    fn is_allowed(&self, program: &Program, engine: Engine, levels: &[EngineLevel]) -> bool {
        let told = (0..).zip(&self.wanted).flat_map(|(number, wants)| wants.iter().map(move |want| (number, want)));
        let wanted = |(number, want): (u32, &Want)| {
            let Want { cell, kind, only_looks } = *want;
            WantedLock { transaction: TransactionId(number), key: cell.key(), kind, only_looks }
        };
        let wanted: Vec<WantedLock> = told.map(wanted).collect();
        spec::allows_engine_refusals(&self.run.history(program, engine), levels, &wanted)
    }

    fn with(&self, behaviour: &Behaviour) -> Candidate {
        Candidate {
            run: Run([&self.run.0[..], std::slice::from_ref(&behaviour.told)].concat()),
            wanted: [&self.wanted[..], std::slice::from_ref(&behaviour.wanted)].concat(),
        }
    }
}

/// Runs in which everybody read what somebody left.
fn candidates(program: &Program, levels: &[EngineLevel], refusals: bool, most: usize) -> Option<Vec<Candidate>> {
    let mut candidates = vec![Candidate { run: Run(Vec::new()), wanted: Vec::new() }];
    for (one, &level) in levels.iter().enumerate() {
        let behaviours = Author { program, one, level, refusals }.behaviours();
        let longer = candidates.iter().flat_map(|known| behaviours.iter().map(|behaviour| known.with(behaviour)));
        candidates = longer.filter(|candidate| is_consistent(&candidate.run)).take(most.saturating_add(1)).collect();
        if candidates.len() > most {
            return None;
        }
    }
    Some(candidates)
}

/// Whether everybody has read what was left, as far as those who left it have told.
fn is_consistent(run: &Run) -> bool {
    let commits = |one: u8| run.0[one as usize].end == End::Committed;
    run.0.iter().flat_map(|told| &told.events).all(|saw| match saw.what {
        What::Read(Source::Of(writer), state) if (writer as usize) < run.0.len() => {
            commits(writer) && run.left(writer, saw.cell).is_some_and(|left| left.1 == state)
        }
        What::Gone(by) if (by as usize) < run.0.len() => commits(by) && is_replaced(run, by, saw.cell),
        _ => true,
    })
}

fn is_replaced(run: &Run, by: u8, cell: Cell) -> bool {
    let deletes = |saw: &Saw| saw.cell == cell && saw.what == What::Wrote(None);
    run.0[by as usize].events.iter().any(deletes) && run.left(by, cell).is_some_and(|left| left.1.is_some())
}

/// The run without what locking statements found at first, and without what refused ones saw.
fn shown(program: &Program, run: &Run) -> Run {
    let is_shown = |number: usize, told: &Told, saw: &Saw| {
        let script = program.scripts().nth(number).expect("a transaction");
        let is_select = matches!(script.statements[saw.statement as usize - 1], Statement::Select(_));
        let is_refused = matches!(told.end, End::Refused(statement, _) if statement == saw.statement);
        !is_refused && (is_select || saw.kind != StatementKind::Select)
    };
    let told = |(number, told): (usize, &Told)| Told {
        events: told.events.iter().copied().filter(|saw| is_shown(number, told, saw)).collect(),
        end: told.end,
    };
    Run(run.0.iter().enumerate().map(told).collect())
}

/// Makes up what one transaction may have seen and done.
struct Author<'a> {
    program: &'a Program,
    one: usize,
    level: EngineLevel,
    /// Whether refusals are made up, too.
    refusals: bool,
}

/// What is made up so far.
type Draft = Vec<Saw>;

impl Author<'_> {
    fn behaviours(&self) -> Vec<Behaviour> {
        let script = self.program.scripts().nth(self.one).expect("a transaction");
        let mut drafts: Vec<Draft> = vec![Vec::new()];
        let mut behaviours = Vec::new();
        for (number, statement) in (1..).zip(&script.statements) {
            for row in statement.rows() {
                if self.refusals {
                    let refused = drafts.iter().flat_map(|draft| self.refused(draft, number, statement, row));
                    behaviours.extend(refused.collect::<Vec<_>>());
                }
                drafts = drafts.into_iter().flat_map(|draft| self.continued(&draft, number, statement, row)).collect();
            }
        }
        let end = if script.rolls_back { End::RolledBack } else { End::Committed };
        behaviours
            .extend(drafts.into_iter().map(|events| Behaviour { told: Told { events, end }, wanted: Vec::new() }));
        behaviours
    }

    fn is(&self, level: EngineLevel) -> bool {
        self.level == level
    }

    /// All that may happen to a row of a statement.
    fn continued(&self, draft: &Draft, statement: u8, what: &Statement, row: Row) -> Vec<Draft> {
        let is_of_several = what.rows().len() > 1;
        let step = Step { author: self, draft, statement, kind: what.kind(self.level.engine()), row, is_of_several };
        let events = match what {
            Statement::Select(_) => step.select(),
            Statement::Lock { condition, effect, .. } => step.lock(*condition, *effect),
            Statement::Insert { otherwise, .. } => step.insert(*otherwise),
        };
        events.into_iter().map(|events| [&draft[..], &events].concat()).collect()
    }

    /// All refusals at a row of a statement.
    fn refused(&self, draft: &Draft, statement: u8, what: &Statement, row: Row) -> Vec<Behaviour> {
        let is_of_several = what.rows().len() > 1;
        let step = Step { author: self, draft, statement, kind: what.kind(self.level.engine()), row, is_of_several };
        let only_looks = matches!(what, Statement::Insert { otherwise: Otherwise::Nothing, .. });
        let mut cells = vec![step.wanted_cell()];
        cells.extend(step.locks_key().then(|| step.cell(true)));
        let want = |&cell: &Cell| Want { cell, kind: step.kind, only_looks };
        let behaviour = |(code, evidence): (Code, Vec<Saw>)| {
            let told = Told { events: [&draft[..], &evidence].concat(), end: End::Refused(statement, code) };
            Behaviour { told, wanted: cells.iter().map(want).collect() }
        };
        step.refusals(what).into_iter().map(behaviour).collect()
    }

    /// The versions of others.
    fn versions(&self, cell: Cell) -> Vec<(Source, State)> {
        let mut versions = vec![(Source::Initial, self.program.rows[cell.row as usize])];
        for (other, script) in self.program.scripts().enumerate().filter(|(other, _)| *other != self.one) {
            if !script.rolls_back {
                let mut states: Vec<State> = script.statements.iter().flat_map(|one| leaves(one, cell)).collect();
                states.sort_unstable();
                states.dedup();
                versions.extend(states.into_iter().map(|state| (Source::Of(other as u8), state)));
            }
        }
        versions
    }
}

/// What a statement may leave in a cell.
fn leaves(statement: &Statement, cell: Cell) -> Vec<State> {
    if !statement.rows().contains(&cell.row) {
        return Vec::new();
    }
    match statement {
        Statement::Lock { effect: Effect::Delete, .. } => vec![None],
        Statement::Insert { .. } if cell.key_part => vec![Some(0)],
        Statement::Insert { otherwise: Otherwise::Set(mark), .. } => vec![Some(*mark)],
        Statement::Insert { .. } => vec![Some(0)],
        Statement::Lock { .. } | Statement::Select(_) if cell.key_part => Vec::new(),
        Statement::Lock { effect: Effect::Set(mark), .. } => vec![Some(*mark)],
        Statement::Lock { effect: Effect::Touch, .. } => vec![Some(0), Some(1)],
        Statement::Lock { effect: Effect::Only(_), .. } | Statement::Select(_) => Vec::new(),
    }
}

/// One row of one statement.
struct Step<'a> {
    author: &'a Author<'a>,
    draft: &'a Draft,
    statement: u8,
    kind: StatementKind,
    row: Row,
    is_of_several: bool,
}

impl Step<'_> {
    fn cell(&self, key_part: bool) -> Cell {
        Cell { row: self.row, key_part }
    }

    fn saw(&self, cell: Cell, what: What) -> Saw {
        Saw { statement: self.statement, kind: self.kind, cell, what, passed: false, waited: false }
    }

    /// The own version of a cell, or those of others.
    fn versions(&self, cell: Cell) -> Vec<(Source, State)> {
        match self.own(cell) {
            Some(state) => vec![(Source::Own, state)],
            None => self.author.versions(cell),
        }
    }

    fn own(&self, cell: Cell) -> Option<State> {
        let writes = self.draft.iter().rev().filter(|saw| saw.cell == cell);
        writes.into_iter().find_map(|saw| if let What::Wrote(state) = saw.what { Some(state) } else { None })
    }

    fn select(&self) -> Vec<Vec<Saw>> {
        let cell = self.cell(false);
        let read = |(source, state)| self.saw(cell, What::Read(source, state));
        let mut ways: Vec<Vec<Saw>> = self.versions(cell).into_iter().map(|version| vec![read(version)]).collect();
        if let Some(own @ Some(_)) = self.own(cell) {
            let others = self.beside_own(cell).into_iter();
            ways.extend(others.map(|version| vec![read(version), read((Source::Own, own))]));
        }
        ways
    }

    /// Rows of the snapshot that PostgreSQL's repeatable read may find beside an own one.
    fn beside_own(&self, cell: Cell) -> Vec<(Source, State)> {
        let repeatable = [EngineLevel::PostgresRepeatableRead, EngineLevel::PostgresSerializable];
        let is_asked = repeatable.contains(&self.author.level);
        self.author.versions(cell).into_iter().filter(|version| is_asked && version.1.is_some()).collect()
    }

    /// The row, or its key where nothing else is wanted.
    fn wanted_cell(&self) -> Cell {
        self.cell(is_key_share(self.kind) && self.author.level.engine() == Engine::Postgres)
    }

    /// Codes with which a statement may be refused here, and what it must have seen for that.
    fn refusals(&self, what: &Statement) -> Vec<(Code, Vec<Saw>)> {
        let cell = self.wanted_cell();
        let is_own = self.own(cell).is_some();
        match (self.author.level, what) {
            (EngineLevel::MysqlSerializable, Statement::Select(_)) if !is_own => vec![(Code::Deadlock, Vec::new())],
            (_, Statement::Select(_)) => Vec::new(),
            (EngineLevel::MysqlSnapshotIsolation, _) if !is_own => {
                vec![(Code::Deadlock, Vec::new()), (Code::Changed, Vec::new())]
            }
            (level, _) if level.engine() == Engine::Mysql && !is_own => vec![(Code::Deadlock, Vec::new())],
            (level, _) if level.engine() == Engine::Mysql => Vec::new(),
            (_, Statement::Lock { condition, .. }) => self.refused_locks(cell, *condition),
            (level, Statement::Insert { otherwise, .. }) if !is_own => {
                let there = self.author.versions(cell).into_iter().filter(|version| version.1.is_some());
                let changed = there.filter(|version| version.0 != Source::Initial);
                let can_change = level != EngineLevel::PostgresReadCommitted && *otherwise != Otherwise::Fail;
                let evidence = changed.filter(|_| can_change).map(|(source, state)| {
                    let looked = self.saw(cell, What::Read(source, state));
                    (Code::Serialization, vec![Saw { kind: StatementKind::Insert, ..looked }])
                });
                evidence.chain([(Code::Deadlock, Vec::new())]).collect()
            }
            (_, Statement::Insert { .. }) => Vec::new(),
        }
    }

    /// PostgreSQL wants to lock what it has found: a row of the statement's snapshot, or an own one.
    fn refused_locks(&self, cell: Cell, condition: Option<Mark>) -> Vec<(Code, Vec<Saw>)> {
        let found = |(source, state): (Source, State)| {
            let read = Saw { kind: StatementKind::Select, ..self.saw(cell, What::Read(source, state)) };
            let is_wanted = state.is_some_and(|mark| condition.is_none_or(|wanted| wanted == mark));
            is_wanted.then(|| vec![read])
        };
        let others: Vec<Vec<Saw>> = self.author.versions(cell).into_iter().filter_map(found).collect();
        let own = self.own(cell).map(|state| found((Source::Own, state)));
        let deadlocked = match own {
            Some(own) => own.into_iter().map(|_| Vec::new()).collect(),
            None => others.clone(),
        };
        let serializes = !self.author.is(EngineLevel::PostgresReadCommitted);
        let changed = others.into_iter().filter(|_| serializes).map(|evidence| (Code::Serialization, evidence));
        changed.chain(deadlocked.into_iter().map(|evidence| (Code::Deadlock, evidence))).collect()
    }

    fn lock(&self, condition: Option<Mark>, effect: Effect) -> Vec<Vec<Saw>> {
        let cell = self.wanted_cell();
        let qualifies = |mark: Mark| condition.is_none_or(|wanted| wanted == mark);
        let mut ways = Vec::new();
        for (source, state) in self.versions(cell) {
            let read = self.saw(cell, What::Read(source, state));
            match state {
                None => {
                    ways.extend(self.missed(source, condition).into_iter().map(|found| [&found[..], &[read]].concat()))
                }
                Some(mark) if !qualifies(mark) => ways.extend(self.passed(read, condition)),
                Some(mark) => {
                    let taken = self.taken(read, mark, effect);
                    let found = self.found_at_first(source, condition);
                    ways.extend(taken.iter().flat_map(|taken| found.iter().map(|found| [&found[..], taken].concat())));
                }
            }
        }
        if let Some(Some(_)) = self.own(cell) {
            let beside = self.beside_own(cell).into_iter().filter(|version| !version.1.is_some_and(qualifies));
            let passed =
                beside.map(|(source, state)| Saw { passed: true, ..self.saw(cell, What::Read(source, state)) });
            let both: Vec<Vec<Saw>> =
                passed.flat_map(|passed| ways.iter().map(move |own| [&[passed], &own[..]].concat())).collect();
            ways.extend(both);
        }
        if self.author.is(EngineLevel::PostgresReadCommitted) && self.own(cell).is_none() {
            let others = self.author.versions(cell).into_iter();
            let gone =
                others.filter_map(|version| if let (Source::Of(by), Some(_)) = version { Some(by) } else { None });
            for by in gone {
                let found = self.found_at_first(Source::Of(by), condition);
                ways.extend(found.iter().map(|found| [&found[..], &[self.saw(cell, What::Gone(by))]].concat()));
            }
        }
        ways
    }

    /// A row that does not qualify, at once or after a wait.
    fn passed(&self, read: Saw, condition: Option<Mark>) -> Vec<Vec<Saw>> {
        let at_once = vec![Saw { passed: true, ..read }];
        let waited = Saw { passed: true, waited: true, ..read };
        if matches!(read.what, What::Read(Source::Own, _)) {
            return vec![at_once];
        }
        let may_let_go = matches!(self.kind, StatementKind::Update | StatementKind::Delete) || self.is_of_several;
        let mut ways = vec![at_once];
        match self.author.level {
            EngineLevel::PostgresReadCommitted => {
                let found = self.found_at_first(Source::Initial, condition);
                ways.extend(found.into_iter().map(|found| [&found[..], &[waited]].concat()));
            }
            EngineLevel::MysqlReadCommitted if may_let_go => ways.push(vec![waited]),
            _ => {}
        }
        ways
    }

    /// What PostgreSQL's read committed may have found when the statement began.
    fn found_at_first(&self, source: Source, condition: Option<Mark>) -> Vec<Vec<Saw>> {
        if !self.author.is(EngineLevel::PostgresReadCommitted) || condition.is_none() || source == Source::Own {
            return vec![Vec::new()];
        }
        let cell = self.cell(false);
        let qualifying = self.author.versions(cell).into_iter().filter(|version| version.1 == condition);
        let found = |(source, state)| Saw { kind: StatementKind::Select, ..self.saw(cell, What::Read(source, state)) };
        qualifying.map(|version| vec![found(version)]).collect()
    }

    /// The same for a row that is not there: it was not there then, or deleted since.
    fn missed(&self, source: Source, condition: Option<Mark>) -> Vec<Vec<Saw>> {
        let mut ways = self.found_at_first(source, condition);
        if ways != [[]] {
            let read = self.saw(self.cell(false), What::Read(source, None));
            ways.push(vec![Saw { kind: StatementKind::Select, ..read }]);
        }
        ways
    }

    /// A row that is locked, and what becomes of it.
    fn taken(&self, read: Saw, mark: Mark, effect: Effect) -> Vec<Vec<Saw>> {
        let is_postgres = self.author.level.engine() == Engine::Postgres;
        let wrote = match effect {
            Effect::Set(mark) => Some(Some(mark)),
            Effect::Touch if is_postgres => Some(Some(mark)),
            Effect::Delete => Some(None),
            Effect::Touch | Effect::Only(_) => None,
        };
        let mut events = vec![read];
        events.extend(wrote.map(|state| self.saw(read.cell, What::Wrote(state))));
        if !self.locks_key() {
            return vec![events];
        }
        let key_part = self.cell(true);
        let deletes = (effect == Effect::Delete).then(|| self.saw(key_part, What::Wrote(None)));
        let there = self.versions(key_part).into_iter().filter(|version| version.1.is_some());
        let with_key = |(source, _)| {
            let read = self.saw(key_part, What::Read(source, Some(0)));
            events.iter().copied().chain([read]).chain(deletes).collect()
        };
        there.map(with_key).collect()
    }

    /// Whether PostgreSQL locks the key together with the row, and somebody may lock the key alone.
    fn locks_key(&self) -> bool {
        let is_postgres = self.author.level.engine() == Engine::Postgres;
        let is_strong = matches!(self.kind, StatementKind::Delete | StatementKind::ForUpdate);
        is_postgres && is_strong && self.author.program.has_key_part(self.row)
    }

    fn insert(&self, otherwise: Otherwise) -> Vec<Vec<Saw>> {
        let cell = self.cell(false);
        let mut ways = Vec::new();
        for (source, state) in self.versions(cell) {
            let read = self.saw(cell, What::Read(source, state));
            match (state, otherwise) {
                (None, _) => {
                    ways.extend(self.inserted(read, if let Otherwise::Set(mark) = otherwise { mark } else { 0 }))
                }
                (Some(_), Otherwise::Set(mark)) => ways.push(vec![read, self.saw(cell, What::Wrote(Some(mark)))]),
                (Some(_), Otherwise::Fail | Otherwise::Nothing) => ways.push(vec![read]),
            }
        }
        ways
    }

    fn inserted(&self, read: Saw, mark: Mark) -> Vec<Vec<Saw>> {
        let events = [read, self.saw(read.cell, What::Wrote(Some(mark)))];
        let is_postgres = self.author.level.engine() == Engine::Postgres;
        if !is_postgres || !self.author.program.has_key_part(self.row) {
            return vec![events.to_vec()];
        }
        let key_part = self.cell(true);
        let absent = self.versions(key_part).into_iter().filter(|version| version.1.is_none());
        let with_key = |(source, _)| {
            let read = self.saw(key_part, What::Read(source, None));
            [&events[..], &[read, self.saw(key_part, What::Wrote(Some(0)))]].concat()
        };
        absent.map(with_key).collect()
    }
}
