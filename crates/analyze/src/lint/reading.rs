//! Procedures as rules look at them: who comes before whom, which statements look at rows, where the values that they found go.
//!
//! ```text
//!   SELECT stock INTO n FROM product WHERE id = i;     a look: product by its key i; n holds product.stock
//!   SET left = n - 1;                                  left holds something made of product.stock
//!   IF left < 0 THEN … END IF;                         a check, by value
//!   UPDATE product SET stock = left WHERE id = i;      what a rule may care about
//! ```
//!
//! A look is followed through every path, with the variables that hold something of it. More than [`MOST_STATES`] states of one look are not
//! followed any further: a rule that is silent proves nothing anyway.

use skew_program::{FlowAction, FlowStep, Program};
use skew_sql::Catalog;
use skew_sql::touched::{RowsTouched, TableTouch, TouchKind, ValueOrigin, VariableUse};
use std::collections::{BTreeMap, BTreeSet};

const MOST_STATES: usize = 4096;
/// The slot that holds how many rows the last change touched.
const ROW_COUNT: usize = 0;

/// A program as rules look at it.
pub(super) struct ProgramReading<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) procedures: Vec<ProcedureReading>,
}

/// A procedure.
pub(super) struct ProcedureReading {
    pub(super) name: String,
    pub(super) steps: Vec<FlowStep>,
    /// What can come after each step.
    after: Vec<BTreeSet<usize>>,
}

/// A statement that looks at rows of one table, and where what it finds goes.
pub(super) struct RowLook<'a> {
    pub(super) step: usize,
    pub(super) touch: &'a TableTouch,
    /// Whether what it finds goes to a client, who may give it back as any value that was not used before: the statements of a log.
    pub(super) leaves: bool,
    slots: HeldValues,
}

/// Variables, and of which columns each holds something.
type HeldValues = BTreeMap<usize, BTreeSet<String>>;

/// How far a look has come: what is known before a step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trail {
    pub(super) step: usize,
    pub(super) values: HeldValues,
    /// The columns whose values some branch on the way has looked at.
    pub(super) checked: BTreeSet<String>,
    /// The first branch that asked anything about it, if only whether there was a row.
    pub(super) check: Option<usize>,
}

impl ProgramReading<'_> {
    pub(super) fn of(program: &Program) -> ProgramReading<'_> {
        let (catalog, _) = program.initial();
        let procedures = program.procedures().iter();
        let procedures = procedures.map(|one| ProcedureReading::new(one.name.clone(), one.flow())).collect();
        ProgramReading { catalog, procedures }
    }

    /// The columns by which the rows of a touch are found; none for a search.
    pub(super) fn key_columns(&self, touch: &TableTouch) -> Vec<String> {
        let RowsTouched::Keys { index, .. } = &touch.rows else { return Vec::new() };
        let Some(table) = self.catalog.tables.get(&touch.table) else { return Vec::new() };
        match index {
            None => table.key_columns(),
            Some(name) => {
                let found = table.unique_keys().into_iter().find(|(known, _)| known == name);
                found.map(|(_, columns)| columns).unwrap_or_default()
            }
        }
    }

    /// The columns of WHERE that are not part of the key.
    pub(super) fn guards(&self, touch: &TableTouch) -> BTreeSet<String> {
        let keys = self.key_columns(touch);
        touch.condition.iter().filter(|column| !keys.contains(column)).cloned().collect()
    }

    /// Whether a column belongs to a key, so that a value that is there twice is refused.
    pub(super) fn is_unique(&self, table: &str, column: &String) -> bool {
        let Some(table) = self.catalog.tables.get(table) else { return false };
        let unique = table.unique_keys();
        table.key_columns().contains(column) || unique.iter().any(|(_, columns)| columns.contains(column))
    }

    /// Whether a table has constraints of which nothing can be said here: over expressions, over some rows, exclusions.
    pub(super) fn has_other_constraints(&self, table: &str) -> bool {
        let Some(table) = self.catalog.tables.get(table) else { return true };
        table.has_exclusions() || table.unique_keys().iter().any(|(_, columns)| columns.is_empty())
    }

    /// The statements of the program that change a table, each with its procedure.
    pub(super) fn changes_of(&self, table: &str) -> Vec<(&ProcedureReading, usize)> {
        let changes = |procedure: &ProcedureReading, step: usize| {
            procedure.steps[step].touches.tables.iter().any(|touch| touch.table == table && is_change(touch))
        };
        let all = self.procedures.iter().flat_map(|one| (0..one.steps.len()).map(move |step| (one, step)));
        all.filter(|(procedure, step)| changes(procedure, *step)).collect()
    }
}

impl ProcedureReading {
    pub(super) fn new(name: String, steps: Vec<FlowStep>) -> ProcedureReading {
        let after = after(&steps);
        ProcedureReading { name, steps, after }
    }

    /// Whether a step can come after another.
    pub(super) fn follows(&self, earlier: usize, later: usize) -> bool {
        self.after[earlier].contains(&later)
    }

    /// The steps from which a step can be reached.
    pub(super) fn before(&self, step: usize) -> impl Iterator<Item = usize> {
        (0..self.steps.len()).filter(move |earlier| self.follows(*earlier, step))
    }

    /// All touches, with their steps.
    pub(super) fn touches(&self) -> impl Iterator<Item = (usize, &TableTouch)> {
        let steps = self.steps.iter().enumerate();
        steps.flat_map(|(number, step)| step.touches.tables.iter().map(move |touch| (number, touch)))
    }

    /// The statements whose only purpose is to look at rows of one table, for the procedure itself.
    pub(super) fn looks(&self) -> Vec<RowLook<'_>> {
        self.all_looks().filter(|look| !look.leaves).collect()
    }

    /// The same, with those whose results leave the procedure.
    pub(super) fn all_looks(&self) -> impl Iterator<Item = RowLook<'_>> {
        (0..self.steps.len()).filter_map(|step| self.look(step))
    }

    fn look(&self, number: usize) -> Option<RowLook<'_>> {
        let step = &self.steps[number];
        let [touch] = step.touches.tables.as_slice() else { return None };
        if is_change(touch) {
            return None;
        }
        let mut leaves = false;
        let slots = match (&step.action, self.steps.get(number + 1).map(|next| &next.action)) {
            (FlowAction::Into(slots), _) => {
                let held = |(place, slot): (usize, &usize)| (*slot, held(touch, step.touches.outputs.get(place)));
                slots.iter().enumerate().map(held).collect()
            }
            (FlowAction::Run, Some(FlowAction::Next(slots, _))) => {
                slots.clone().map(|slot| (slot, held(touch, None))).collect()
            }
            (FlowAction::Branch(_), _) => HeldValues::new(),
            (FlowAction::Run, _) => {
                leaves = true;
                self.unused(number).into_iter().map(|slot| (slot, held(touch, None))).collect()
            }
            _ => return None,
        };
        Some(RowLook { step: number, touch, leaves, slots })
    }

    /// The variables that no step up to this one uses.
    fn unused(&self, number: usize) -> BTreeSet<usize> {
        let slots = |steps: &[FlowStep]| -> BTreeSet<usize> {
            steps.iter().flat_map(|step| &step.touches.variables).map(|variable| variable.slot).collect()
        };
        let (before, after) = self.steps.split_at(number + 1);
        slots(after).difference(&slots(before)).copied().filter(|slot| *slot != ROW_COUNT).collect()
    }

    /// Every way that what was found can go.
    pub(super) fn follow(&self, look: &RowLook<'_>) -> Vec<Trail> {
        let mut start = Trail { step: look.step, values: look.slots.clone(), checked: BTreeSet::new(), check: None };
        match self.steps[look.step].action {
            FlowAction::Branch(_) => {
                (start.check, start.checked) = (Some(look.step), look.touch.reads.iter().cloned().collect());
            }
            FlowAction::Run if !look.leaves => start.check = Some(look.step),
            _ => {}
        }
        let mut open: Vec<Trail> = self.next(look.step).into_iter().map(|step| start.at(step)).collect();
        let mut seen: BTreeSet<Trail> = BTreeSet::new();
        while let Some(trail) = open.pop() {
            if trail.step == look.step || seen.len() >= MOST_STATES || !seen.insert(trail.clone()) {
                continue;
            }
            let moved = self.moved(look, &trail);
            open.extend(self.next(trail.step).into_iter().map(|step| moved.at(step)));
        }
        seen.into_iter().collect()
    }

    fn moved(&self, look: &RowLook<'_>, trail: &Trail) -> Trail {
        let step = &self.steps[trail.step];
        let mut moved = trail.clone();
        match &step.action {
            FlowAction::Into(slots) => {
                for (place, slot) in slots.iter().enumerate() {
                    let columns = match step.touches.tables.is_empty() {
                        true => trail.held_by(step.touches.variables.iter().map(|variable| variable.slot)),
                        false => trail.held_by(step.touches.outputs.get(place).into_iter().flat_map(variables_of)),
                    };
                    moved.values.remove(slot);
                    if !columns.is_empty() {
                        moved.values.insert(*slot, columns);
                    }
                }
            }
            FlowAction::Clear(slot) | FlowAction::Count(slot) => {
                moved.values.remove(slot);
            }
            FlowAction::Run if step.touches.tables.iter().any(is_change) => {
                moved.values.remove(&ROW_COUNT);
            }
            FlowAction::Branch(_) => {
                let used = |variable: &&VariableUse| trail.values.contains_key(&variable.slot);
                for variable in step.touches.variables.iter().filter(used) {
                    moved.check = moved.check.or(Some(trail.step));
                    if variable.by_value() {
                        moved.checked.extend(trail.values[&variable.slot].iter().cloned());
                    }
                }
            }
            // The loop over the rows of the look itself gives its variables their values.
            FlowAction::Next(slots, _) if trail.step != look.step + 1 => {
                slots.clone().for_each(|slot| drop(moved.values.remove(&slot)));
            }
            _ => {}
        }
        moved
    }

    /// The steps that can come next.
    pub(super) fn next(&self, step: usize) -> Vec<usize> {
        next(&self.steps, step)
    }

    /// Whether a step asks how many rows a change has touched.
    pub(super) fn reads_row_count(&self, step: usize) -> bool {
        let step = &self.steps[step];
        let by_name = step.touches.variables.iter().any(|variable| variable.slot == ROW_COUNT);
        by_name || matches!(step.action, FlowAction::Count(_))
    }
}

impl Trail {
    fn at(&self, step: usize) -> Trail {
        Trail { step, ..self.clone() }
    }

    /// Of which columns some variables hold something.
    pub(super) fn held_by(&self, slots: impl Iterator<Item = usize>) -> BTreeSet<String> {
        slots.filter_map(|slot| self.values.get(&slot)).flatten().cloned().collect()
    }
}

impl RowLook<'_> {
    /// Whether rows are read without any lock.
    pub(super) fn is_plain(&self) -> bool {
        self.touch.kind == TouchKind::Read
    }

    /// Whether it is by search.
    pub(super) fn is_search(&self) -> bool {
        self.touch.rows == RowsTouched::Search
    }

    /// Whether a later touch is of the row that the look found: the same key, or one with what was found in this column of it.
    pub(super) fn is_same_row(&self, program: &ProgramReading<'_>, later: &TableTouch, trail: &Trail) -> bool {
        let RowsTouched::Keys { keys, .. } = &later.rows else { return false };
        let columns = program.key_columns(later);
        let found =
            |(part, column): (&ValueOrigin, &String)| trail.held_by(variables_of(part).into_iter()).contains(column);
        let made_of_it = || keys.iter().any(|key| key.iter().zip(&columns).any(found));
        later.table == self.touch.table && (self.touch.rows == later.rows || made_of_it())
    }
}

/// The columns that a variable holds something of.
fn held(touch: &TableTouch, origin: Option<&ValueOrigin>) -> BTreeSet<String> {
    match origin {
        Some(ValueOrigin::Column(_, column)) => BTreeSet::from([column.clone()]),
        _ => touch.reads.iter().cloned().collect(),
    }
}

/// Whether a touch changes rows.
pub(super) fn is_change(touch: &TableTouch) -> bool {
    matches!(touch.kind, TouchKind::Update(_) | TouchKind::Delete | TouchKind::Insert(..))
}

/// The columns that an UPDATE gives values to.
pub(super) fn updated(touch: &TableTouch) -> BTreeSet<String> {
    match &touch.kind {
        TouchKind::Update(assigned) => assigned.iter().map(|(column, _)| column.clone()).collect(),
        _ => BTreeSet::new(),
    }
}

/// The variables that a value is made of.
pub(super) fn variables_of(origin: &ValueOrigin) -> Vec<usize> {
    match origin {
        ValueOrigin::Variable(slot) => vec![*slot],
        ValueOrigin::Computed(_, arguments) => arguments.iter().flat_map(variables_of).collect(),
        _ => Vec::new(),
    }
}

fn next(steps: &[FlowStep], step: usize) -> Vec<usize> {
    match &steps[step].action {
        FlowAction::Branch(otherwise) => vec![step + 1, *otherwise],
        FlowAction::Next(_, done) => vec![step + 1, *done],
        FlowAction::Jump(to) => vec![*to],
        FlowAction::Abort | FlowAction::End => Vec::new(),
        _ => vec![step + 1],
    }
    .into_iter()
    .filter(|next| *next < steps.len())
    .collect()
}

fn after(steps: &[FlowStep]) -> Vec<BTreeSet<usize>> {
    let reached = |start: usize| {
        let mut found = BTreeSet::new();
        let mut open = next(steps, start);
        while let Some(step) = open.pop() {
            if found.insert(step) {
                open.extend(next(steps, step));
            }
        }
        found
    };
    (0..steps.len()).map(reached).collect()
}
