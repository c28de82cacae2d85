//! The programs of the simulators, as programs that are explored.
//!
//! A row is a mark and the place where it was written, so that no two versions are equal.

use crate::innodb::Innodb;
use crate::postgres::Postgres;
use crate::program::{Effect, Mark, Otherwise, Program, Statement};
use crate::run::{Cell, Code, End, Run, Saw, Source, What};
use crate::schedule::all_runs;
use skew_explore::{Explorable, Interrupt, IsolationLevel, Options, Place, Requests, Search, TransactionEnd};
use skew_history::{Engine, EngineLevel, StatementKind};
use skew_sql::rows::Found;
use skew_sql::{Fit, KeyPart, Row, RowKey, SpaceId};
use skew_value::Datum;
use std::collections::BTreeSet;

/// A program with the levels of its transactions.
pub struct Scripted<'a> {
    pub program: &'a Program,
    pub levels: &'a [EngineLevel],
}

fn key(row: u8) -> RowKey {
    RowKey { space: SpaceId(1), parts: [KeyPart::Number(row.into())].into() }
}

fn mark_of(row: &Row) -> Mark {
    match row[0] {
        Datum::Integer(mark) => mark as Mark,
        _ => 0,
    }
}

fn row(mark: Mark, version: usize) -> Row {
    Row::from([Datum::Integer(mark.into()), Datum::Integer(version as i128)])
}

impl Scripted<'_> {
    fn number(&self, place: Place) -> usize {
        self.program.sessions[..place.session].iter().map(Vec::len).sum::<usize>() + place.number
    }

    fn engine(&self) -> Engine {
        self.levels[0].engine()
    }

    fn statement(&self, one: usize, what: &Statement, requests: &mut Requests<'_>) -> Result<(), Interrupt> {
        let kind = what.kind(self.engine());
        let ignores = matches!(what, Statement::Insert { otherwise: Otherwise::Nothing, .. });
        requests.statement(kind, ignores);
        if what.rows().len() == 1 {
            requests.look_once();
        }
        for (place, of_row) in what.rows().into_iter().enumerate() {
            let version = 1_000 * (one + 1) + place;
            match what {
                Statement::Select(_) => drop(requests.read(&key(of_row), false)?),
                Statement::Lock { condition, effect, .. } => {
                    let mut fits = |_: &RowKey, row: &Row| match condition {
                        Some(wanted) if *wanted != mark_of(row) => Fit::No,
                        _ => Fit::Yes,
                    };
                    let found = requests.seek(&key(of_row), &mut fits)?;
                    if let Found::Locked(found) = found {
                        self.take(of_row, &found, *effect, version, requests)?;
                    }
                }
                Statement::Insert { otherwise, .. } => {
                    let mark = if let Otherwise::Set(mark) = otherwise { *mark } else { 0 };
                    let is_free = requests.check(&key(of_row))?.is_none();
                    if is_free || matches!(otherwise, Otherwise::Set(_)) {
                        requests.write(&key(of_row), Some(row(mark, version)))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn take(
        &self,
        of: u8,
        found: &Row,
        effect: Effect,
        version: usize,
        requests: &mut Requests<'_>,
    ) -> Result<(), Interrupt> {
        match effect {
            Effect::Set(mark) => requests.write(&key(of), Some(row(mark, version))),
            Effect::Touch if self.engine() == Engine::Postgres => {
                requests.write(&key(of), Some(row(mark_of(found), version)))
            }
            Effect::Delete => requests.write(&key(of), None),
            Effect::Touch | Effect::Only(_) => Ok(()),
        }
    }
}

impl Explorable for Scripted<'_> {
    type Left = ();

    fn session_count(&self) -> usize {
        self.program.sessions.len()
    }

    fn session_name(&self, session: usize) -> String {
        ["a", "b", "c"][session].to_owned()
    }

    fn transaction_count(&self, session: usize) -> usize {
        self.program.sessions[session].len()
    }

    fn level(&self, place: Place) -> Option<IsolationLevel> {
        Some(IsolationLevel::Engine(self.levels[self.number(place)]))
    }

    fn initial(&self) -> Vec<(RowKey, Row)> {
        let rows = (0..).zip(&self.program.rows);
        rows.filter_map(|(number, state)| Some((key(number), row((*state)?, 0)))).collect()
    }

    fn run(&self, place: Place, _: Option<&()>, requests: &mut Requests<'_>) -> Result<TransactionEnd<()>, Interrupt> {
        let one = self.number(place);
        let script = &self.program.sessions[place.session][place.number];
        script.statements.iter().try_for_each(|statement| self.statement(one, statement, requests))?;
        Ok(TransactionEnd { commits: !script.rolls_back, left: () })
    }

    fn key_name(&self, key: &RowKey) -> String {
        match key.parts[0] {
            KeyPart::Number(row) => crate::program::name(row as u8).to_owned(),
            _ => String::new(),
        }
    }
}

/// All runs that the search finds, by their patterns; fails when one comes twice. Histories are what the definition is asked about.
pub fn explored(
    program: &Program,
    levels: &[EngineLevel],
    mut each: impl FnMut(&skew_history::History),
) -> BTreeSet<String> {
    let scripted = Scripted { program, levels };
    let mut search = Search::new(&scripted, Options::new(IsolationLevel::Engine(levels[0]))).expect("a program");
    let mut found = BTreeSet::new();
    while let Some(run) = search.next_run().expect("it runs") {
        if run.is_again() {
            continue;
        }
        each(&run.history().expect("a history"));
        assert!(found.insert(run.pattern()), "{program}: {} came twice", run.pattern());
    }
    found
}

/// All runs that the search finds, in its order, with their schedules; it remembers states in so many bytes.
pub fn in_order(program: &Program, levels: &[EngineLevel], memory: usize) -> Vec<String> {
    let scripted = Scripted { program, levels };
    let options = Options { memory, ..Options::new(IsolationLevel::Engine(levels[0])) };
    let mut search = Search::new(&scripted, options).expect("a program");
    let mut found = Vec::new();
    while let Some(run) = search.next_run().expect("it runs") {
        found.push(format!("{} {}", run.subtree(), run.pattern()));
    }
    found
}

/// All runs that the simulator shows, as patterns.
pub fn simulated(program: &Program, levels: &[EngineLevel]) -> BTreeSet<String> {
    let runs = match levels[0].engine() {
        Engine::Mysql => all_runs(program, Innodb::new(program, levels)),
        Engine::Postgres => {
            let repeatable: Vec<bool> =
                levels.iter().map(|&level| level != EngineLevel::PostgresReadCommitted).collect();
            all_runs(program, Postgres::new(program, &repeatable))
        }
    };
    runs.iter().map(|run| pattern(program, run, levels[0].engine())).collect()
}

/// A run of a simulator as the explorer writes it; keys of rows by themselves are left out.
fn pattern(program: &Program, run: &Run, engine: Engine) -> String {
    let names = names(program);
    let mut pattern = String::new();
    for (number, told) in run.0.iter().enumerate() {
        pattern.push_str(&format!("{}:", names[number]));
        for Saw { statement, kind, cell, what, passed, waited } in &told.events {
            let Cell { row, key_part } = *cell;
            assert!(!key_part, "keys of rows are not explored by themselves");
            let key = crate::program::name(row);
            let told = match what {
                What::Read(Source::Own, _) => format!("{statement}:{kind}({key} own"),
                What::Read(Source::Initial, _) => format!("{statement}:{kind}({key} from init"),
                What::Read(Source::Of(writer), _) => {
                    format!("{statement}:{kind}({key} from {}", names[*writer as usize])
                }
                What::Gone(by) => format!("{statement}:{kind}({key} gone by {}", names[*by as usize]),
                What::Wrote(None) => format!("{statement}:delete({key}"),
                What::Wrote(Some(_)) => format!("{statement}:w({key}"),
            };
            let flags = [(*passed, " passed"), (*waited, " waited")];
            let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
            pattern.push_str(&format!(" {told}{flags})"));
        }
        match told.end {
            End::Committed => pattern.push_str("; "),
            End::RolledBack => pattern.push_str(" !; "),
            End::Refused(statement, code) => {
                pattern.push_str(&format!(" {statement}:refused({}); ", name(code, engine)))
            }
        }
    }
    pattern
}

fn name(code: Code, engine: Engine) -> &'static str {
    code.name(engine)
}

fn names(program: &Program) -> Vec<String> {
    let of_session = |(session, scripts): (usize, &Vec<crate::program::Script>)| {
        (0..scripts.len()).map(move |number| format!("{}#{number}", ["a", "b", "c"][session])).collect::<Vec<_>>()
    };
    program.sessions.iter().enumerate().flat_map(of_session).collect()
}

/// Whether a program locks keys by themselves, which the explorer does not tell apart.
pub fn has_key_shares(program: &Program) -> bool {
    let mut statements = program.scripts().flat_map(|script| &script.statements);
    statements.any(|statement| {
        matches!(statement.kind(Engine::Postgres), StatementKind::ForKeyShare | StatementKind::ForeignKey)
    })
}
