//! Units: several transactions that belong together, because one request makes them or because one hands a value to the next.
//!
//! ```text
//!   -- unit: checkout                                       markers in the file: these procedures are one request,
//!   CREATE PROCEDURE look(IN item INT, OUT left INT) …      and parameters of one name are one value
//!   CREATE PROCEDURE take(IN item INT, IN left INT) …
//!   -- end unit
//!
//!   -- unit: checkout = look(a, b), take(a, b)              the same in one line, anywhere: values of one name are one
//!
//!   SESSION ann: CALL look(1, @left); CALL take(1, @left);  a value that goes from one transaction into the next
//! ```
//!
//! A unit is read as one procedure: the steps of its transactions one after the other, with a variable for each value that they share.

use super::reading::ProcedureReading;
use skew_program::{FlowAction, FlowStep, Procedure, Program};
use skew_sql::touched::{RowsTouched, TouchKind, Touches, ValueOrigin, WhenTaken};
use std::collections::BTreeMap;

/// Transactions that belong together.
pub(super) struct Unit {
    pub(super) name: String,
    pub(super) calls: Vec<UnitCall>,
    /// Whether it was seen and not written: what the application decides by is not in it.
    pub(super) is_seen: bool,
}

/// One of them.
pub(super) struct UnitCall {
    /// The procedure, by number.
    pub(super) procedure: usize,
    /// What its parameters are called in the unit, by slot.
    values: Vec<(usize, String)>,
}

/// A unit as one procedure.
pub(super) struct JoinedUnit {
    pub(super) reading: ProcedureReading,
    /// Where the steps of each call begin.
    starts: Vec<usize>,
}

impl JoinedUnit {
    /// Which call a step belongs to.
    pub(super) fn call_of(&self, step: usize) -> usize {
        self.starts.iter().rposition(|start| *start <= step).unwrap_or_default()
    }
}

/// The units of a program: those that its text marks, and sessions in which a call takes what an earlier one gave.
pub(super) fn units(program: &Program, text: &str) -> Vec<Unit> {
    let mut units = marked(program, text);
    for script in program.scripts() {
        let mut given: Vec<usize> = Vec::new();
        let mut calls: Vec<UnitCall> = Vec::new();
        let mut takes = false;
        for call in &script.calls {
            let procedure = &program.procedures()[call.procedure];
            let mut values = Vec::new();
            for (place, (.., slot)) in procedure.parameters().enumerate() {
                takes |= call.variable(place).is_some_and(|variable| given.contains(&variable));
                let variable = call.variable(place).map(|variable| format!("@{variable}"));
                values.push((slot, variable.unwrap_or_else(|| format!("{:?}", call.constant(place)))));
            }
            given.extend((0..values.len()).filter_map(|place| call.variable(place)));
            calls.push(UnitCall { procedure: call.procedure, values });
        }
        let is_new =
            |known: &Unit| !known.calls.iter().map(|call| call.procedure).eq(calls.iter().map(|call| call.procedure));
        if takes && units.iter().all(is_new) {
            units.push(Unit { name: script.name.clone(), calls, is_seen: false });
        }
    }
    units
}

/// The procedures between `-- unit: name` and `-- end unit`.
fn marked(program: &Program, text: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut open: Option<(String, u32)> = None;
    for (number, line) in text.lines().enumerate() {
        let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let Some(comment) = line.trim().strip_prefix("--").map(str::trim) else { continue };
        if let Some((name, calls)) = comment.strip_prefix("unit:").and_then(|unit| unit.split_once('=')) {
            let calls = listed(program, calls);
            units.extend((calls.len() > 1).then(|| Unit { name: name.trim().to_owned(), calls, is_seen: true }));
        } else if let Some(name) = comment.strip_prefix("unit:") {
            open = Some((name.trim().to_owned(), number));
        } else if comment == "end unit"
            && let Some((name, start)) = open.take()
        {
            let inside = |procedure: &Procedure| {
                procedure.flow().first().is_some_and(|step| (start..number).contains(&step.place.line))
            };
            let all = program.procedures().iter().enumerate();
            let calls: Vec<UnitCall> =
                all.filter(|(_, one)| inside(one)).map(|(number, one)| by_name(number, one)).collect();
            units.extend((calls.len() > 1).then_some(Unit { name, calls, is_seen: false }));
        }
    }
    units
}

/// `look(v1, v2), take(v1)`: what is called, and what values are called. A procedure that there is not is left away.
fn listed(program: &Program, text: &str) -> Vec<UnitCall> {
    let mut calls = Vec::new();
    for call in text.split(')') {
        let Some((name, values)) = call.trim_start_matches([',', ' ']).split_once('(') else { continue };
        let mut all = program.procedures().iter().enumerate();
        let Some((procedure, one)) = all.find(|(_, one)| one.name.eq_ignore_ascii_case(name.trim())) else { continue };
        let slots = one.parameters().map(|(.., slot)| slot);
        let values = slots.zip(values.split(',')).map(|(slot, value)| (slot, value.trim().to_owned())).collect();
        calls.push(UnitCall { procedure, values });
    }
    calls
}

fn by_name(number: usize, procedure: &Procedure) -> UnitCall {
    let values = procedure.parameters().map(|(name, .., slot)| (slot, name.to_owned())).collect();
    UnitCall { procedure: number, values }
}

/// Joins the steps of a unit.
pub(super) fn joined(program: &Program, unit: &Unit) -> JoinedUnit {
    let (mut steps, mut starts): (Vec<FlowStep>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next = 1;
    for call in &unit.calls {
        // Slot 0 is the row count of whoever asks.
        let mut slots: BTreeMap<usize, usize> = BTreeMap::from([(0, 0)]);
        for (slot, name) in &call.values {
            let joined = *shared.entry(name).or_insert_with(|| {
                next += 1;
                next - 1
            });
            slots.insert(*slot, joined);
        }
        let start = steps.len();
        starts.push(start);
        let flow = program.procedures()[call.procedure].flow();
        let end = start + flow.len();
        let mut renamed = |slot: usize| {
            *slots.entry(slot).or_insert_with(|| {
                next += 1;
                next - 1
            })
        };
        steps.extend(flow.into_iter().map(|step| moved(step, start, end, &mut renamed)));
    }
    JoinedUnit { reading: ProcedureReading::new(unit.name.clone(), steps), starts }
}

type Renaming<'a> = dyn FnMut(usize) -> usize + 'a;

/// A step further down, with other slots; where the transaction commits the next one begins.
fn moved(mut step: FlowStep, start: usize, end: usize, renamed: &mut Renaming<'_>) -> FlowStep {
    touches(&mut step.touches, renamed);
    step.action = match step.action {
        FlowAction::Into(slots) => FlowAction::Into(slots.into_iter().map(renamed).collect()),
        FlowAction::Clear(slot) => FlowAction::Clear(renamed(slot)),
        FlowAction::Count(slot) => FlowAction::Count(renamed(slot)),
        FlowAction::Branch(to) => FlowAction::Branch(start + to),
        FlowAction::Jump(to) => FlowAction::Jump(start + to),
        FlowAction::Next(slots, to) => {
            // The slots of a row stay neighbours because they are met one after the other.
            let places: Vec<usize> = slots.map(renamed).collect();
            let first = places.first().copied().unwrap_or_default();
            FlowAction::Next(first..first + places.len(), start + to)
        }
        FlowAction::End => FlowAction::Jump(end),
        other @ (FlowAction::Run | FlowAction::Abort) => other,
    };
    step
}

fn touches(touches: &mut Touches, renamed: &mut Renaming<'_>) {
    touches.variables.iter_mut().for_each(|variable| variable.slot = renamed(variable.slot));
    touches.outputs.iter_mut().for_each(|value| origin(value, renamed));
    for touch in &mut touches.tables {
        if let RowsTouched::Keys { keys, .. } = &mut touch.rows {
            keys.iter_mut().flatten().for_each(|value| origin(value, renamed));
        }
        match &mut touch.kind {
            TouchKind::Update(assigned) => assigned.iter_mut().for_each(|(_, value)| origin(value, renamed)),
            TouchKind::Insert(rows, taken) => {
                rows.iter_mut().flatten().flatten().for_each(|(_, value)| origin(value, renamed));
                if let WhenTaken::Updates { writes, .. } = taken {
                    writes.iter_mut().for_each(|(_, value)| origin(value, renamed));
                }
            }
            TouchKind::Read | TouchKind::Share | TouchKind::Lock | TouchKind::Delete => {}
        }
    }
}

fn origin(value: &mut ValueOrigin, renamed: &mut Renaming<'_>) {
    match value {
        ValueOrigin::Variable(slot) => *slot = renamed(*slot),
        ValueOrigin::Computed(_, arguments) => arguments.iter_mut().for_each(|argument| origin(argument, renamed)),
        ValueOrigin::Constant(_) | ValueOrigin::Column(..) | ValueOrigin::Unknown => {}
    }
}
