//! Which variables of a procedure still matter at each of its steps, and which ones a loop changes.
//!
//! ```text
//!   SELECT tax INTO rate FROM shop WHERE id = s;          rate is in no key that follows: whether a row was found makes no difference
//!   WHILE n <= lines DO                                   n may be anything here: this may be any round
//!     INSERT INTO line VALUES (number, n); SET n = n + 1;
//!   END WHILE;
//! ```
//!
//! A variable *matters* where a later statement may have it in a key, or may compute such a value from it. Paths that differ in others are one
//! path. Of a loop two rounds are followed, which stand for any two; so whatever the loop sets has any value where a round begins, and after the
//! last one. (A counterexample needs at most two operations of a transaction. Rounds without them only take locks and write, which forbids, so
//! leaving them out allows more; what they did to variables is what "any value" is for.)

use crate::effect::EffectTarget;
use crate::transaction::{TransactionFlow, TransactionStep};
use skew_program::FlowAction;
use skew_sql::touched::ValueOrigin;
use std::collections::{BTreeMap, BTreeSet};

/// A set of variables, by slot.
type Slots = BTreeSet<usize>;

/// What is known of the variables of a procedure.
pub(crate) struct LiveVariables {
    /// Those that matter when a step begins; one more for the end.
    live: Vec<Slots>,
    /// Where loops begin: what they set and what matters there.
    loops: BTreeMap<usize, Slots>,
}

impl LiveVariables {
    pub(crate) fn of(procedure: &TransactionFlow) -> LiveVariables {
        let steps = &procedure.steps;
        let mut live = vec![Slots::new(); steps.len() + 1];
        loop {
            let mut changed = false;
            for number in (0..steps.len()).rev() {
                let before = before(&steps[number], number, &live);
                changed |= before != live[number];
                live[number] = before;
            }
            if !changed {
                break;
            }
        }
        let mut loops: BTreeMap<usize, Slots> = BTreeMap::new();
        for (end, step) in steps.iter().enumerate() {
            let (FlowAction::Jump(start) | FlowAction::Branch(start) | FlowAction::Next(_, start)) = &step.action
            else {
                continue;
            };
            if *start <= end {
                let set = steps[*start..=end].iter().flat_map(assigned).filter(|slot| live[*start].contains(slot));
                loops.entry(*start).or_default().extend(set);
            }
        }
        LiveVariables { live, loops }
    }

    /// Whether a variable matters when a step begins.
    pub(crate) fn matters(&self, step: usize, slot: usize) -> bool {
        self.live.get(step).is_some_and(|live| live.contains(&slot))
    }

    /// Whether a loop begins with a step.
    pub(crate) fn begins_loop(&self, step: usize) -> bool {
        self.loops.contains_key(&step)
    }

    /// The variables that matter and may have any value when a step begins, because a loop begins with it.
    pub(crate) fn any_value(&self, step: usize) -> impl Iterator<Item = usize> + '_ {
        self.loops.get(&step).into_iter().flatten().copied()
    }
}

/// The variables that a step sets.
fn assigned(step: &TransactionStep) -> Vec<usize> {
    match &step.action {
        FlowAction::Into(slots) => slots.clone(),
        FlowAction::Clear(slot) | FlowAction::Count(slot) => vec![*slot],
        FlowAction::Next(slots, _) => slots.clone().collect(),
        FlowAction::Run | FlowAction::Branch(_) | FlowAction::Jump(_) | FlowAction::Abort | FlowAction::End => {
            Vec::new()
        }
    }
}

/// What matters before a step, by what matters after it.
fn before(step: &TransactionStep, number: usize, live: &[Slots]) -> Slots {
    let at = |place: usize| live.get(place).cloned().unwrap_or_default();
    let mut found = match &step.action {
        FlowAction::Run => at(number + 1),
        FlowAction::Clear(slot) | FlowAction::Count(slot) => without(at(number + 1), &[*slot]),
        FlowAction::Branch(otherwise) => &at(number + 1) | &at(*otherwise),
        FlowAction::Jump(to) => at(*to),
        FlowAction::Next(slots, done) => {
            let next = without(at(number + 1), &slots.clone().collect::<Vec<usize>>());
            &next | &at(*done)
        }
        FlowAction::Abort | FlowAction::End => Slots::new(),
        FlowAction::Into(slots) => {
            let after = at(number + 1);
            let mut found = after.clone();
            // Where no row is found, variables keep what they had.
            if step.ways.iter().all(Vec::is_empty) {
                found = without(found, slots);
            }
            for (_, output) in slots.iter().zip(&step.outputs).filter(|(slot, _)| after.contains(slot)) {
                variables(output, &mut found);
            }
            found
        }
    };
    for effect in step.ways.iter().flatten() {
        if let EffectTarget::Key(_, values) = &effect.target {
            values.iter().for_each(|value| variables(value, &mut found));
        }
    }
    found
}

fn without(mut slots: Slots, gone: &[usize]) -> Slots {
    slots.retain(|slot| !gone.contains(slot));
    slots
}

/// The variables that a value is made of.
fn variables(origin: &ValueOrigin, found: &mut Slots) {
    match origin {
        ValueOrigin::Variable(slot) => drop(found.insert(*slot)),
        ValueOrigin::Computed(_, arguments) => arguments.iter().for_each(|one| variables(one, found)),
        ValueOrigin::Constant(_) | ValueOrigin::Column(..) | ValueOrigin::Unknown => {}
    }
}
