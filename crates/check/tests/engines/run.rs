//! What the clients of one run saw: the part of a run that makes it this run and no other.
//!
//! Simulators make runs by running, the definition's enumeration makes them up; both are compared as sets, and become histories here.

use crate::program::{Mark, Program, Row, State, name};
use skew_history::builder::ClaimedWriter;
use skew_history::{
    Asked, Engine, EngineLevel, History, HistoryBuilder, IsolationLevel, KeyId, Outcome, StatementKind, Value,
};
use std::fmt;

/// Per transaction, session by session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Run(pub Vec<Told>);

/// What one transaction has to tell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Told {
    pub events: Vec<Saw>,
    pub end: End,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    Committed,
    RolledBack,
    /// The database refused this statement, counted from 1, and rolled the transaction back.
    Refused(u8, Code),
}

/// Why a database refuses a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// 40001.
    Serialization,
    /// 40P01, 1213.
    Deadlock,
    /// 1020.
    Changed,
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Saw {
    /// Counted from 1.
    pub statement: u8,
    pub kind: StatementKind,
    pub cell: Cell,
    pub what: What,
    pub passed: bool,
    pub waited: bool,
}

/// What is read and written: a row, or its key alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cell {
    pub row: Row,
    pub key_part: bool,
}

/// What happened to a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum What {
    Read(Source, State),
    Gone(u8),
    Wrote(State),
}

/// Whose version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    Initial,
    Own,
    Of(u8),
}

impl Cell {
    /// Its number in histories.
    pub fn key(self) -> KeyId {
        KeyId(2 * u32::from(self.row) + u32::from(self.key_part))
    }
}

impl Run {
    /// Whether the database refused somebody.
    pub fn is_refused(&self) -> bool {
        self.0.iter().any(|told| matches!(told.end, End::Refused(..)))
    }

    /// The history of the run. Its keys are the rows and their key parts, in turn.
    pub fn history(&self, program: &Program, engine: Engine) -> History {
        self.told(program, engine, &[])
    }

    /// The same with the level of each transaction.
    pub fn history_at(&self, program: &Program, levels: &[EngineLevel]) -> History {
        self.told(program, levels[0].engine(), levels)
    }

    fn told(&self, program: &Program, engine: Engine, levels: &[EngineLevel]) -> History {
        let mut telling = Telling { run: self, engine, builder: HistoryBuilder::new(), keys: Vec::new() };
        telling.builder.engine(engine.name());
        for (row, state) in (0..).zip(&program.rows) {
            for (key_part, suffix) in [(false, ""), (true, "@pkey")] {
                let key = telling.builder.key(format!("{}{suffix}", name(row)).as_str());
                let value = telling.value(None, *state);
                telling.builder.initial(key, value);
                telling.keys.push((Cell { row, key_part }, key));
            }
        }
        for (number, session) in program.session_of().into_iter().enumerate() {
            telling.tell(number, session);
            levels.get(number).into_iter().for_each(|&level| telling.builder.level(IsolationLevel::Engine(level)));
        }
        telling.builder.finish().expect("a run is a history")
    }

    /// What a transaction leaves in a cell: its last write, with its place.
    pub fn left(&self, transaction: u8, cell: Cell) -> Option<(usize, State)> {
        let events = self.0[transaction as usize].events.iter().enumerate().rev();
        let mut writes = events.filter(|(_, saw)| saw.cell == cell);
        writes.find_map(|(place, saw)| if let What::Wrote(state) = saw.what { Some((place, state)) } else { None })
    }
}

struct Telling<'a> {
    run: &'a Run,
    engine: Engine,
    builder: HistoryBuilder,
    keys: Vec<(Cell, KeyId)>,
}

impl Telling<'_> {
    fn tell(&mut self, transaction: usize, session: usize) {
        let told = &self.run.0[transaction];
        let session = self.builder.session(["a", "b", "c"][session]);
        self.builder.begin(session, Some(named(transaction as u8).as_str().into())).expect("a new transaction");
        match told.end {
            End::Committed => {}
            End::RolledBack => self.builder.outcome(Outcome::AbortedByProgram),
            End::Refused(statement, code) => {
                self.builder.outcome(Outcome::AbortedByDatabase);
                self.builder.refused(code.name(self.engine), statement.into());
            }
        }
        for (place, saw) in told.events.iter().enumerate() {
            self.event(transaction as u8, place, saw);
        }
    }

    fn event(&mut self, transaction: u8, place: usize, saw: &Saw) {
        let key = self.keys.iter().find(|(cell, _)| *cell == saw.cell).expect("a known cell").1;
        let own = named(transaction);
        match saw.what {
            What::Wrote(state) => {
                let value = self.value(Some((transaction, place)), state);
                self.builder.write(key, value);
            }
            What::Gone(_) => self.builder.read(key, Value::ABSENT),
            What::Read(source, state) => {
                let (version, writer) = match source {
                    Source::Initial => (None, None),
                    Source::Own => {
                        (Some((transaction, self.own_write_before(transaction, place, saw.cell))), Some(own))
                    }
                    Source::Of(other) => {
                        let (place, _) = self.run.left(other, saw.cell).expect("a writer has written");
                        (Some((other, place)), Some(named(other)))
                    }
                };
                let value = self.value(version, state);
                self.builder.read(key, value);
                self.builder.claim(match &writer {
                    None => ClaimedWriter::Initial,
                    Some(writer) => ClaimedWriter::Transaction(writer.as_str().into()),
                });
            }
        }
        let Saw { statement, kind, passed, waited, .. } = *saw;
        let asked = Asked { statement: statement.into(), kind, passed, waited, found: false };
        self.builder.asked(asked).expect("statements in order");
        if let What::Gone(by) = saw.what {
            self.builder.gone(named(by).as_str().into()).expect("a read of nothing");
        }
    }

    fn own_write_before(&self, transaction: u8, place: usize, cell: Cell) -> usize {
        let earlier = &self.run.0[transaction as usize].events[..place];
        earlier.iter().rposition(|saw| saw.cell == cell && matches!(saw.what, What::Wrote(_))).expect("an own write")
    }

    /// A value that no other version has.
    fn value(&mut self, version: Option<(u8, usize)>, state: State) -> Value {
        let number = version.map_or(0, |(transaction, place)| 100 * (i64::from(transaction) + 1) + place as i64);
        state.map_or(Value::ABSENT, |_: Mark| self.builder.values().integer(number))
    }
}

fn named(transaction: u8) -> String {
    format!("t{transaction}")
}

impl Code {
    /// What a history calls it.
    pub fn name(self, engine: Engine) -> &'static str {
        match (self, engine) {
            (Code::Serialization, _) => "40001",
            (Code::Deadlock, Engine::Postgres) => "40P01",
            (Code::Deadlock, Engine::Mysql) => "1213",
            (Code::Changed, _) => "1020",
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, told) in self.0.iter().enumerate() {
            write!(out, "  t{number}:")?;
            told.events.iter().try_for_each(|saw| write!(out, " {saw}"))?;
            match told.end {
                End::Committed => writeln!(out)?,
                End::RolledBack => writeln!(out, " rollback")?,
                End::Refused(statement, code) => writeln!(out, " refused({statement}, {code:?})")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Saw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = format!("{}{}", name(self.cell.row), if self.cell.key_part { "@pkey" } else { "" });
        write!(out, "{}:{}(", self.statement, self.kind)?;
        match self.what {
            What::Read(source, state) => {
                let state = state.map_or("absent".to_owned(), |mark| format!("mark {mark}"));
                write!(out, "{cell} {state} {source:?}")?;
            }
            What::Gone(by) => write!(out, "{cell} gone by t{by}")?,
            What::Wrote(None) => write!(out, "delete {cell}")?,
            What::Wrote(Some(mark)) => write!(out, "write {cell} mark {mark}")?,
        }
        let flags = [(self.passed, " passed"), (self.waited, " waited")];
        flags.iter().filter(|flag| flag.0).try_for_each(|flag| write!(out, "{}", flag.1))?;
        write!(out, ")")
    }
}
