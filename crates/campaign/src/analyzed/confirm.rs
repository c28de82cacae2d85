//! Whether a finding is so: concrete programs explored at the level, and what they leave held against every serial order.
//!
//! ```text
//!   ConcreteProgram ── Search: every run at the level ──┬── serializable: nothing to see
//!                                                       └── not: rows and values at the end ── one serial order leaves the same? harmless
//!                                                                                          └── none does: confirmed
//! ```
//!
//! A call that the server refuses is not part of a run's outcome: its client tries again. What a call hands out are its OUT parameters and the
//! rows of queries that go into no variable; local variables are nobody's business.

use super::concrete::{ConcreteProgram, rows_of};
use crate::explored::compared;
use crate::judge;
use crate::said::SaidRun;
use crate::typed::Typed;
use skew_analyze::{DependencyKind, FindingStatus};
use skew_check::{Budget, Counterexample, Told, Updates};
use skew_explore::{
    ExploreError, Granularity, Movable, Options, Place as CallPlace, Playing, Run, RunAnswer, Search, SqlOptions,
    SqlProgram,
};
use skew_history::{EngineLevel, IsolationLevel, Writer};
use skew_program::{CallOutcome, FlowAction, Heard, ParameterMode, Procedure, Spoken};
use skew_value::{Datum, Place, output};
use std::collections::{BTreeMap, BTreeSet};

/// So many runs of one program are looked at.
const MOST_RUNS: usize = 3_000;

/// So many runs of all programs for one finding.
const MOST_RUNS_IN_ALL: usize = 12_000;

/// A call with more steps is taken for an endless one: with arguments that nobody thought of a loop may be.
const MOST_CALL_STEPS: u64 = 300;

/// So much the runs of one program may cost: of each the square of how many statements it has, because every step runs its call from the beginning.
const MOST_COST: usize = 1_000_000;

/// More instances have too many serial orders.
const MOST_INSTANCES: usize = 5;

/// So many final states of a run are looked at.
const MOST_STATES: usize = 24;

/// So many steps the checker may take for one question.
const STEPS: u64 = 200_000;

/// Rows and values at the end of a run, a line each.
type RunOutcome = BTreeSet<String>;

/// What exploring came to.
pub(crate) struct Confirmed {
    /// How certain the finding is now.
    pub(crate) status: FindingStatus,
    /// The run that shows it.
    pub(crate) shown: Option<ConcreteRun>,
    /// Why runs could not be tried to their end, where none shows it.
    pub(crate) reason: Option<String>,
}

/// A run that is not serializable, of a program that was made for it.
#[derive(Clone, Debug)]
pub struct ConcreteRun {
    /// What it is called, as `skew check` says.
    pub(crate) anomaly: Option<&'static str>,
    /// The program.
    pub text: String,
    /// The call of each instance.
    pub(crate) calls: Vec<String>,
    /// The level and how its rules are read, as `skew explore` is told.
    pub(crate) options: String,
    /// How to find the run again.
    pub(crate) schedule: String,
    /// Its statements and what came back; nothing where a statement has no text.
    pub(crate) typed: Option<Typed>,
    /// What joins its transactions to a cycle: numbers of instances, what it is, and the table.
    pub(crate) cycle: Vec<RunDependency>,
    /// What is at its end and at that of no serial order; or what all have in common.
    pub(crate) end: Vec<String>,
    /// What is at the end of serial orders instead: the order, and the lines.
    pub(crate) serial: Vec<(String, Vec<String>)>,
}

/// Why one instance comes before another in every order that explains a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RunDependency {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: DependencyKind,
    pub(crate) table: String,
}

impl ConcreteRun {
    /// The calls with the names of their instances: `t1 balance('ann')`.
    pub(crate) fn numbered_calls(&self) -> Vec<String> {
        self.calls.iter().enumerate().map(|(number, call)| format!("t{} {call}", number + 1)).collect()
    }
}

/// Explores programs until one confirms the finding.
pub(crate) fn confirm(programs: Vec<ConcreteProgram>, level: IsolationLevel) -> Confirmed {
    let mut left = MOST_RUNS_IN_ALL;
    let mut harmless: Option<ConcreteRun> = None;
    let (mut is_complete, mut reason) = (true, None);
    for concrete in programs {
        if left == 0 || concrete.calls.len() > MOST_INSTANCES {
            is_complete = false;
            break;
        }
        let tried = Tried::new(concrete, level);
        match tried.explore(left.min(MOST_RUNS)) {
            Err(error) => {
                is_complete = false;
                reason = reason.or_else(|| Some(error.to_string()));
            }
            Ok(Explored { differing: Some(run), .. }) => {
                return Confirmed { status: FindingStatus::Confirmed, shown: Some(run), reason: None };
            }
            Ok(Explored { harmless: found, runs, is_over, .. }) => {
                left = left.saturating_sub(runs);
                is_complete &= is_over;
                harmless = harmless.or(found);
            }
        }
    }
    match harmless.filter(|_| is_complete) {
        Some(run) => Confirmed { status: FindingStatus::Harmless, shown: Some(run), reason: None },
        None => Confirmed { status: FindingStatus::Potential, shown: None, reason },
    }
}

/// A program that is explored.
struct Tried {
    concrete: ConcreteProgram,
    level: IsolationLevel,
    explorable: SqlProgram,
}

/// What was seen of its runs.
struct Explored {
    /// A run whose outcome no serial order has.
    differing: Option<ConcreteRun>,
    /// A run that is not serializable.
    harmless: Option<ConcreteRun>,
    runs: usize,
    is_over: bool,
}

impl Tried {
    /// At the papers' levels an UPDATE is a read and a write, and columns are what conflicts are about: so they are analysed.
    fn new(concrete: ConcreteProgram, level: IsolationLevel) -> Tried {
        let served = SqlOptions { most_steps: MOST_CALL_STEPS, ..SqlOptions::default() };
        let options = match level.of_engine() {
            Some(_) => served,
            None => SqlOptions { updates: Updates::Plain, granularity: Granularity::Cell, ..served },
        };
        let explorable = SqlProgram::new(concrete.program.clone(), options).remembering();
        Tried { concrete, level, explorable }
    }

    /// The level and how its rules are read, as `skew explore` is told.
    fn options(&self) -> String {
        let read = if self.level.of_engine().is_some() { "" } else { " --updates plain --granularity cell" };
        format!("--level {}{read}", self.level)
    }

    fn explore(&self, most: usize) -> Result<Explored, ExploreError> {
        let mut serial: BTreeMap<BTreeSet<usize>, Vec<(String, RunOutcome)>> = BTreeMap::new();
        let mut explored = Explored { differing: None, harmless: None, runs: 0, is_over: false };
        let mut search = Search::new(&self.explorable, Options::new(self.level))?;
        let mut cost = 0;
        while explored.runs < most && cost < MOST_COST {
            let Some(run) = search.next_run()? else {
                explored.is_over = true;
                break;
            };
            explored.runs += 1;
            let said: usize = run.calls().values().map(|left| left.spoken.as_deref().map_or(0, <[Spoken]>::len)).sum();
            cost += said * said;
            let is_broken = compared(&run, IsolationLevel::Serializable, Budget::steps(STEPS)) == RunAnswer::Fails
                && run.answer(Budget::steps(STEPS)) == RunAnswer::Holds;
            if !is_broken {
                continue;
            }
            for (committed, outcome) in self.outcomes(&run) {
                if !serial.contains_key(&committed) {
                    serial.insert(committed.clone(), self.serial(&committed)?);
                }
                let orders = serial.get(&committed).map(Vec::as_slice).unwrap_or_default();
                if orders.iter().all(|(_, known)| *known != outcome) {
                    explored.differing = Some(self.shown(&run, &outcome, orders));
                    return Ok(explored);
                }
                explored.harmless = explored.harmless.or_else(|| Some(self.shown(&run, &outcome, orders)));
            }
        }
        Ok(explored)
    }

    /// The instances that were not refused, and what is there at the end: at a level of an engine one state, at one of the papers' any of those
    /// that an order of the commits leaves.
    fn outcomes(&self, run: &Run<'_, SqlProgram>) -> Vec<(BTreeSet<usize>, RunOutcome)> {
        let (committed, said) = self.said(run);
        let states = run.final_states(MOST_STATES, Budget::steps(STEPS)).unwrap_or_default();
        let with_rows = |state| (committed.clone(), said.iter().cloned().chain(self.rows(state)).collect());
        states.into_iter().map(with_rows).collect()
    }

    /// The instances that were not refused, and what they tell.
    fn said(&self, run: &Run<'_, SqlProgram>) -> (BTreeSet<usize>, RunOutcome) {
        let program = &self.concrete.program;
        let mut outcome = RunOutcome::new();
        let mut committed = BTreeSet::new();
        for (place, left) in run.calls() {
            if left.result.outcome == CallOutcome::Refused {
                continue;
            }
            committed.insert(place.session);
            let name = format!("t{}", place.session + 1);
            if left.result.outcome != CallOutcome::Committed {
                outcome.insert(format!("{name} is rolled back"));
                continue;
            }
            let script = &program.scripts()[place.session];
            let procedure = &program.procedures()[script.calls[place.number].procedure];
            let handed: Vec<&str> =
                procedure.parameters().filter(|one| one.1 != ParameterMode::In).map(|one| one.0).collect();
            let fields = procedure.fields.iter().zip(&left.result.fields);
            for (field, value) in fields.filter(|(field, _)| handed.contains(&field.name.as_str())) {
                let value = crate::program_file::shown(value, field, program);
                outcome.insert(format!("{name} returns {} = {value}", field.name));
            }
            let spoken = left.spoken.as_deref().unwrap_or_default();
            outcome.extend(returned(procedure, spoken, self.concrete.tells_counts, &name));
        }
        (committed, outcome)
    }

    /// All rows of a final state.
    fn rows(&self, state: skew_explore::FinalState) -> Vec<String> {
        let program = &self.concrete.program;
        let mut storage = self.explorable.stored(state);
        let mut told = Vec::new();
        for table in program.initial().0.tables.keys() {
            let Some((columns, rows)) = rows_of(program, &format!("SELECT * FROM \"{table}\""), &mut storage) else {
                continue;
            };
            for row in rows {
                let value = |(datum, (name, sql_type)): (&Datum, &(String, skew_value::SqlType))| match datum {
                    Datum::Null => format!("{name} NULL"),
                    datum => format!("{name} {}", output(datum, sql_type, program.dialect())),
                };
                let values: Vec<String> = row.iter().zip(&columns).map(value).collect();
                let line = format!("{table}: {}", values.join(", "));
                // Without a key there may be equal rows, and how many matters.
                let again = told.iter().filter(|known: &&String| known.starts_with(&line)).count();
                told.push(if again > 0 { format!("{line} ({})", again + 1) } else { line });
            }
        }
        told
    }

    /// What every order of some instances leaves, one after the other.
    fn serial(&self, members: &BTreeSet<usize>) -> Result<Vec<(String, RunOutcome)>, ExploreError> {
        let others = (0..self.concrete.calls.len()).filter(|session| !members.contains(session));
        let left_out = others.map(|session| CallPlace { session, number: 0 }).collect();
        let options = SqlOptions { most_steps: MOST_CALL_STEPS, ..SqlOptions::default() };
        let alone = SqlProgram::new(self.concrete.program.clone(), options).remembering().without(left_out);
        let level = IsolationLevel::Engine(EngineLevel::PostgresReadCommitted);
        let mut playing = Playing::new(&alone, Options::new(level), 0)?;
        let mut outcomes = Vec::new();
        for order in orders(&members.iter().copied().collect::<Vec<usize>>()) {
            let rank = |one: &Movable| order.iter().position(|known| *known == one.session).unwrap_or(usize::MAX);
            let mut choose = |able: &[Movable]| {
                let first = able.iter().enumerate().min_by_key(|(_, one)| rank(one));
                first.map_or(0, |(place, _)| place)
            };
            let run = playing.run(&mut choose)?;
            let names: Vec<String> = order.iter().map(|session| format!("t{}", session + 1)).collect();
            let outcome = self.outcomes(&run).into_iter().next().map(|(_, outcome)| outcome);
            outcomes.push((names.join(", "), outcome.unwrap_or_default()));
        }
        Ok(outcomes)
    }

    fn shown(&self, run: &Run<'_, SqlProgram>, outcome: &RunOutcome, orders: &[(String, RunOutcome)]) -> ConcreteRun {
        let is_common = |line: &&String| outcome.contains(*line) && orders.iter().all(|(_, one)| one.contains(*line));
        let differing = |all: &RunOutcome| all.iter().filter(|line| !is_common(line)).cloned().collect();
        let mut serial: Vec<(String, Vec<String>)> = Vec::new();
        for (order, lines) in orders {
            let lines: Vec<String> = differing(lines);
            match serial.iter_mut().find(|(_, known)| *known == lines) {
                Some((names, _)) => *names = format!("{names} or {order}"),
                None => serial.push((order.clone(), lines)),
            }
        }
        let found = run
            .history()
            .ok()
            .map(|history| judge::compare(&history, IsolationLevel::Serializable, Budget::steps(STEPS)));
        let found = match found {
            Some((judge::Judgement::Fails(found), _)) => Some(found),
            Some((_, found)) => found,
            None => None,
        };
        ConcreteRun {
            anomaly: found.as_ref().map(|found| found.kind.name()),
            text: self.concrete.text.clone(),
            calls: self.concrete.calls.clone(),
            options: self.options(),
            schedule: run.subtree().to_string(),
            typed: self.typed(run),
            cycle: found.and_then(|found| cycle(&found)).unwrap_or_default(),
            end: differing(outcome),
            serial,
        }
    }

    /// What is said in a run. At the papers' levels there is no order of statements, so each transaction is told as a whole.
    fn typed(&self, run: &Run<'_, SqlProgram>) -> Option<Typed> {
        let Some(level) = self.level.of_engine() else {
            let scripts = self.concrete.program.scripts();
            let names = scripts.iter().map(|script| script.name.clone()).collect();
            let order = run.order();
            let said = order.iter().map(|place| Some((place.session, run.left(*place)?.spoken.as_deref().ok()?)));
            return Some(Typed::whole(names, &said.collect::<Option<Vec<_>>>()?));
        };
        let mut search = Search::nothing(&self.explorable, Options::new(self.level)).ok()?;
        let beats = search.beats(&run.subtree()).ok()?;
        SaidRun::new(run, &self.concrete.program, level, &beats, None).ok().map(|said| said.typed)
    }
}

/// The cycle of a counterexample; nothing where it has several cases, or something else than reads and writes joins transactions.
fn cycle(found: &Counterexample) -> Option<Vec<RunDependency>> {
    let [case] = &found.cases[..] else { return None };
    let history = &found.history;
    let instance = |writer: Writer| match writer {
        Writer::Transaction(transaction) => {
            let name = history.session_name(history.session_of(transaction)).to_string();
            name.strip_prefix('t')?.parse::<usize>().ok()?.checked_sub(1)
        }
        Writer::Initial => None,
    };
    let told = |edge: &Told| {
        let key = history.key_name(edge.key?).to_string();
        let table = key.split(['/', '@']).next().unwrap_or_default().to_owned();
        // Who reads a row in order to change it is told by the change.
        let changes = |writer: Writer| match writer {
            Writer::Transaction(one) => history.events_of(one).iter().any(|it| !it.is_read() && Some(it.key) == edge.key),
            Writer::Initial => false,
        };
        let kind = match edge.kind {
            skew_check::DependencyKind::ReadsFrom if changes(edge.to) => DependencyKind::Replaces,
            skew_check::DependencyKind::ReadsFrom => DependencyKind::ReadsFrom,
            skew_check::DependencyKind::VersionOrder => DependencyKind::Replaces,
            skew_check::DependencyKind::Overwrites => DependencyKind::Overwrites,
            _ => return None,
        };
        Some(RunDependency { from: instance(edge.from)?, to: instance(edge.to)?, kind, table })
    };
    case.edges.iter().map(told).collect()
}

/// What a call tells its client besides parameters: the rows of queries that go neither into variables nor into a loop, what RETURNING returns, and
/// where an application runs the statements itself, how many rows each of them changes.
fn returned(procedure: &Procedure, spoken: &[Spoken], counts: bool, name: &str) -> Vec<String> {
    let flow = procedure.flow();
    let is_told = |number: &usize| {
        let loops = matches!(flow.get(number + 1).map(|next| &next.action), Some(FlowAction::Next(..)));
        flow[*number].action == FlowAction::Run && !loops
    };
    let places: Vec<Place> = (0..flow.len()).filter(is_told).map(|number| flow[number].place).collect();
    let (mut queries, mut changes, mut told) = (0, 0, Vec::new());
    for one in spoken.iter().filter(|one| places.contains(&one.place)) {
        match &one.heard {
            Heard::Rows(rows) => {
                queries += 1;
                told.push(format!("{name} sees {} in query {queries}", shown_rows(rows)));
            }
            Heard::Changed(count, rows) => {
                changes += 1;
                if !rows.is_empty() {
                    told.push(format!("{name} sees {} of change {changes}", shown_rows(rows)));
                }
                told.extend(counts.then(|| format!("{name} changes {count} rows by change {changes}")));
            }
            _ => {}
        }
    }
    told
}

fn shown_rows(rows: &[Vec<Option<String>>]) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "NULL".to_owned());
    let row = |row: &Vec<Option<String>>| row.iter().map(value).collect::<Vec<String>>().join(" | ");
    match rows {
        [] => "no row".to_owned(),
        rows => rows.iter().map(row).collect::<Vec<String>>().join(" / "),
    }
}

/// All orders.
fn orders(members: &[usize]) -> Vec<Vec<usize>> {
    if members.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (place, first) in members.iter().enumerate() {
        let rest: Vec<usize> =
            members.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, one)| *one).collect();
        all.extend(orders(&rest).into_iter().map(|order| std::iter::once(*first).chain(order).collect::<Vec<usize>>()));
    }
    all
}
