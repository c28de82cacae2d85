//! A procedure as a list of steps with jumps, for whoever argues about all of its runs instead of running it.
//!
//! ```text
//!   SELECT n INTO have FROM stock WHERE item = i;      0  Into [have]    touches stock by its key i, reads n
//!   IF have >= k THEN                                  1  Branch 3       touches nothing
//!     UPDATE stock SET n = n - k WHERE item = i;       2  Run            touches stock by its key i, reads and writes n
//!   END IF;                                            3  End
//! ```
//!
//! Variables are slots; slot 0 is how many rows the last change touched, in PL/pgSQL also how many a query found. What a step touches speaks of variables by their slots.

use crate::instruction::{Instruction, Procedure, Query, Target};
use crate::syntax::{IntoRows, ParameterMode, SavepointVerb};
use skew_sql::Purpose;
use skew_sql::touched::{Touches, ValueOrigin, keeps_values};
use skew_value::{Datum, Place, SqlType};
use std::ops::Range;
use std::sync::Arc;

/// One step.
#[derive(Clone, Debug)]
pub struct FlowStep {
    /// Where it stands in the file.
    pub place: Place,
    /// Its text, as the file has it; empty where there is none.
    pub text: Arc<str>,
    /// What it touches.
    pub touches: Touches,
    /// What its statement is for; nothing where there is none.
    pub purpose: Option<Purpose>,
    /// What comes of it.
    pub action: FlowAction,
}

/// What comes of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowAction {
    /// The next step.
    Run,
    /// Its result columns go into these slots, if there is a row; in PL/pgSQL slot 0 comes last, and tells whether there was one.
    Into(Vec<usize>),
    /// A slot becomes NULL.
    Clear(usize),
    /// A slot becomes how many rows the last change touched.
    Count(usize),
    /// The next step if its condition is true, else this one.
    Branch(usize),
    /// This step.
    Jump(usize),
    /// The next row of a loop goes into these slots; without one this step comes next.
    Next(Range<usize>, usize),
    /// The transaction is rolled back.
    Abort,
    /// The transaction commits.
    End,
}

impl Procedure {
    /// The slots of the parameters that a caller gives values to.
    pub fn given_slots(&self) -> Vec<usize> {
        let given = self.parameters.iter().filter(|parameter| parameter.mode != ParameterMode::Out);
        given.map(|parameter| parameter.slot).collect()
    }

    /// All parameters in order: the name, which way it goes, its type, its slot.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, ParameterMode, &SqlType, usize)> {
        self.parameters.iter().map(|one| (one.name.as_str(), one.mode, &one.sql_type, one.slot))
    }

    /// The name of the parameter in a slot.
    pub fn parameter_name(&self, slot: usize) -> Option<&str> {
        self.parameters.iter().find(|parameter| parameter.slot == slot).map(|parameter| parameter.name.as_str())
    }

    /// Its steps.
    pub fn flow(&self) -> Vec<FlowStep> {
        let widths = self.loop_widths();
        self.instructions.iter().zip(&self.places).map(|(one, &place)| step(one, place, &widths)).collect()
    }

    /// How many columns the rows of each FOR loop have.
    fn loop_widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.cursors];
        for instruction in &self.instructions {
            if let Instruction::Open(cursor, query) = instruction {
                widths[*cursor] = query.columns().len();
            }
        }
        widths
    }
}

fn step(instruction: &Instruction, place: Place, widths: &[usize]) -> FlowStep {
    let mut step = step_of(instruction, place, widths);
    match instruction {
        Instruction::SelectInto(_, targets, _) => {
            targets.iter().enumerate().for_each(|one| convert(&mut step.touches, one))
        }
        Instruction::Assign(_, target) => convert(&mut step.touches, (0, target)),
        // What a savepoint keeps would be kept without it; what goes back to it is another matter.
        Instruction::Savepoint(SavepointVerb::BackTo, ..) => {
            step.touches.unsupported.push("ROLLBACK TO a savepoint".to_owned());
        }
        _ => {}
    }
    step
}

/// A variable of another type may hold another value than the one that was found.
fn convert(touches: &mut Touches, (place, target): (usize, &Target)) {
    if keeps_values(&target.from, &target.to) {
        return;
    }
    touches.extremum = None;
    touches.counts_rows = false;
    let output = touches.outputs.get_mut(place);
    output
        .filter(|one| **one != ValueOrigin::Constant(Datum::Null))
        .into_iter()
        .for_each(|one| *one = ValueOrigin::Unknown);
}

fn step_of(instruction: &Instruction, place: Place, widths: &[usize]) -> FlowStep {
    let (query, action) = match instruction {
        Instruction::Execute(query) | Instruction::Open(_, query) => (Some(query), FlowAction::Run),
        Instruction::SelectInto(query, targets, rows) => {
            let counted = (*rows != IntoRows::Keep).then_some(0);
            (Some(query), FlowAction::Into(targets.iter().map(|target| target.slot).chain(counted).collect()))
        }
        Instruction::Assign(query, target) => (Some(query), FlowAction::Into(vec![target.slot])),
        Instruction::Clear(slot) => (None, FlowAction::Clear(*slot)),
        Instruction::CountInto(target) => (None, FlowAction::Count(target.slot)),
        Instruction::Branch(query, otherwise) => (Some(query), FlowAction::Branch(*otherwise)),
        Instruction::Jump(to) => (None, FlowAction::Jump(*to)),
        Instruction::Next { cursor, first, done } => (None, FlowAction::Next(*first..first + widths[*cursor], *done)),
        Instruction::Signal(..) | Instruction::Rollback => (None, FlowAction::Abort),
        Instruction::Savepoint(..) => (None, FlowAction::Run),
        Instruction::End => (None, FlowAction::End),
    };
    told(query, place, action)
}

fn told(query: Option<&Query>, place: Place, action: FlowAction) -> FlowStep {
    let Some(query) = query else {
        return FlowStep { place, text: Arc::from(""), touches: Touches::default(), purpose: None, action };
    };
    let (touches, purpose) = (query.prepared.touches(), Some(query.prepared.statement().purpose()));
    FlowStep { place: query.place, text: Arc::clone(&query.text), touches, purpose, action }
}
