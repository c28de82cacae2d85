//! Counters: numbers that are drawn from a row, each greater than all before.
//!
//! ```text
//!   SELECT next_order INTO number FROM district WHERE warehouse = w AND id = d;
//!   UPDATE district SET next_order = number + 1 WHERE warehouse = w AND id = d;
//!   INSERT INTO new_order VALUES (w, d, number);
//! ```
//!
//! Where everybody who writes the column draws so, and every row of the other table gets a number so, and who writes over somebody's draw
//! has seen it (psi, snapshot), a later draw is greater. So whoever sees a row of `new_order` and does not see another one come into being knows
//! that the other one's number is greater: its draw came later, else it would be seen. Rows that were there at the start have to be
//! below the counter; that is said with every answer that rests on it.

use super::access::{AccessTarget, RowAccess};
use super::claims::Claim;
use super::ground::Ground;
use super::shape::{Existence, ProgramShape, existence};
use crate::effect::{EffectTarget, Happens, RowEffect};
use crate::transaction::{TransactionFlow, Transactions};
use skew_program::FlowAction;
use skew_sql::touched::ValueOrigin;

/// Numbers that are drawn from a column and become a part of another table's key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Counter {
    /// The table with the column that numbers are drawn from.
    pub(crate) source: String,
    /// The column.
    pub(crate) column: String,
    /// The table whose rows get the numbers.
    pub(crate) table: usize,
    /// The part of its key that is the number.
    pub(crate) part: usize,
    /// The parts of its key that say which counter it was drawn from.
    pub(crate) group: Vec<usize>,
}

impl Counter {
    /// What has to be true at the start.
    pub(crate) fn assumption(&self, shape: &ProgramShape) -> String {
        let table = &shape.tables[self.table];
        let part = table.key.get(self.part).map_or("key", String::as_str);
        format!("no row of {} starts with a {part} at or above {}.{}", table.name, self.source, self.column)
    }
}

/// A draw: the variable, and the key of the row it was drawn from.
struct Draw<'t> {
    source: &'t str,
    column: &'t str,
    slot: usize,
    key: &'t [ValueOrigin],
}

/// The counters of a program.
pub(crate) fn counters(transactions: &Transactions, shape: &ProgramShape) -> Vec<Counter> {
    let mut found: Vec<Counter> = Vec::new();
    for flow in &transactions.procedures {
        for draw in draws(flow, shape) {
            for effect in flow.steps.iter().flat_map(|step| step.ways.iter().flatten()) {
                let counter = numbered(effect, &draw, shape);
                if let Some(counter) = counter.filter(|counter| !found.contains(counter)) {
                    found.push(counter);
                }
            }
        }
    }
    found.retain(|counter| is_kept(transactions, shape, counter));
    found
}

/// The row that an effect makes has a number of a draw.
fn numbered(effect: &RowEffect, draw: &Draw<'_>, shape: &ProgramShape) -> Option<Counter> {
    let EffectTarget::Key(None, key) = &effect.target else { return None };
    if existence(effect) != Existence::Comes || effect.table.contains('@') {
        return None;
    }
    let place = |origin: &ValueOrigin| key.iter().position(|part| part == origin);
    let part = place(&ValueOrigin::Variable(draw.slot))?;
    let group = draw.key.iter().map(place).collect::<Option<Vec<usize>>>()?;
    let (source, column) = (draw.source.to_owned(), draw.column.to_owned());
    Some(Counter { source, column, table: shape.table(&effect.table), part, group })
}

/// The draws of a procedure that happen in each of its runs.
fn draws<'t>(flow: &'t TransactionFlow, shape: &ProgramShape) -> Vec<Draw<'t>> {
    let goes_on = |action: &FlowAction| {
        matches!(action, FlowAction::Run | FlowAction::Into(_) | FlowAction::Clear(_) | FlowAction::Count(_))
    };
    let always = flow.steps.iter().take_while(|step| goes_on(&step.action)).count();
    let mut draws = Vec::new();
    for (at, step) in flow.steps.iter().enumerate().take(always) {
        for effect in step.ways.iter().flatten().filter(|_| step.ways.len() == 1) {
            let EffectTarget::Key(None, key) = &effect.target else { continue };
            let plain = effect.happens == Happens::IfThere && shape.tables[shape.table(&effect.table)].is_stable;
            for (column, slot) in effect.known.raised.iter().filter(|_| plain) {
                let draw = Draw { source: &effect.table, column, slot: *slot, key };
                if is_drawn(flow, at, &draw) {
                    draws.push(draw);
                }
            }
        }
    }
    draws
}

/// Whether the variable was read from that row before, and neither it nor the row's key ever is anything else.
fn is_drawn(flow: &TransactionFlow, at: usize, draw: &Draw<'_>) -> bool {
    let assigns = |slot: usize| {
        let sets = move |action: &FlowAction| match action {
            FlowAction::Into(slots) => slots.contains(&slot),
            FlowAction::Count(counted) => *counted == slot,
            FlowAction::Next(slots, _) => slots.contains(&slot),
            _ => false,
        };
        flow.steps.iter().filter(move |step| sets(&step.action)).count()
    };
    let is_fixed = |origin: &ValueOrigin| match origin {
        ValueOrigin::Variable(slot) => *slot > 0 && assigns(*slot) == 0,
        ValueOrigin::Constant(_) => true,
        _ => false,
    };
    let is_given = flow.given.iter().any(|(slot, _)| *slot == draw.slot);
    let cleared = flow.steps.iter().rposition(|step| step.action == FlowAction::Clear(draw.slot));
    let after = cleared.map_or(0, |cleared| cleared + 1).min(at);
    let reads = flow.steps[after..at].iter().any(|step| {
        let FlowAction::Into(slots) = &step.action else { return false };
        let place = slots.iter().position(|slot| *slot == draw.slot);
        let is_column = |output: &ValueOrigin| matches!(output, ValueOrigin::Column(_, name) if name == draw.column);
        let found = place.and_then(|place| step.outputs.get(place)).is_some_and(is_column);
        let [way] = step.ways.as_slice() else { return false };
        let on_row = |effect: &RowEffect| {
            effect.table == draw.source && matches!(&effect.target, EffectTarget::Key(None, key) if key == draw.key)
        };
        found && way.len() == 1 && way.iter().all(on_row)
    });
    reads && !is_given && assigns(draw.slot) == 1 && draw.key.iter().all(is_fixed)
}

/// Whether everybody keeps to a counter: who writes its column draws, and every row of its table has a number of a draw.
fn is_kept(transactions: &Transactions, shape: &ProgramShape, counter: &Counter) -> bool {
    transactions.procedures.iter().all(|flow| {
        let draws = draws(flow, shape);
        let own = || draws.iter().filter(|draw| draw.source == counter.source && draw.column == counter.column);
        let effects = || flow.steps.iter().flat_map(|step| step.ways.iter().flatten());
        let writes =
            effects().filter(|effect| effect.table == counter.source && effect.writes.contains(&counter.column));
        let of_table = effects().filter(|effect| shape.table(&effect.table) == counter.table);
        let mut comes = of_table.filter(|effect| matches!(existence(effect), Existence::Comes | Existence::Changes));
        let fits = |effect: &RowEffect| own().any(|draw| numbered(effect, draw, shape).as_ref() == Some(counter));
        writes.count() == own().count() && own().count() <= 1 && comes.all(fits)
    })
}

/// Says of all instances what a counter makes certain.
pub(crate) fn say(ground: &mut Ground<'_>, accesses: &[Vec<RowAccess>], counter: &Counter) {
    let is_insert = |access: &&RowAccess| access.table == counter.table && access.existence == Existence::Comes;
    let inserts: Vec<&RowAccess> = accesses.iter().flatten().filter(is_insert).collect();
    for insert in &inserts {
        let AccessTarget::Key(made) = insert.target else { continue };
        for other in inserts.iter().filter(|other| other.instance != insert.instance) {
            let AccessTarget::Key(later) = other.target else { continue };
            let first = ground.claims.before(insert.instance, other.instance);
            is_less(ground, counter, (made, later), vec![first, insert.reached, other.reached]);
        }
        for ((who, record), alive) in ground.lives(counter.table) {
            if ground.owner(who) != insert.instance {
                let seen = ground.seen(insert.instance, who);
                is_less(ground, counter, (record, made), vec![alive, !seen, insert.reached]);
            }
        }
    }
}

fn is_less(ground: &mut Ground<'_>, counter: &Counter, records: (usize, usize), mut premises: Vec<Claim>) {
    let key = |record: usize| ground.records.all[record].key.clone();
    let (low, high) = (key(records.0), key(records.1));
    premises.extend(counter.group.iter().map(|part| ground.claims.equal(low[*part], high[*part])));
    let less = ground.claims.less(low[counter.part], high[counter.part]);
    ground.claims.imply(premises, less);
}
