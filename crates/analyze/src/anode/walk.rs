//! An instance of a procedure as accesses: a walk over its steps that keeps what every variable is.
//!
//! ```text
//!   IF c THEN … END IF        what stands inside is reached where c holds; after it a variable is what one of the two ways made of it
//!   WHILE, FOR, …             some *rounds* are looked at, each any of those that were run; what a loop assigns is anything before a round and after all
//!   SELECT … INTO v           v is what was found, or what it was before
//!   SIGNAL, ROLLBACK          not reached: instances commit
//! ```
//!
//! A dependency on another instance needs one round, and an instance of a cycle has two dependencies that matter, so two rounds stand for any
//! number: each is the round that its dependency comes from, and if that was the same one, both are that one.

use super::access::RowAccess;
use super::claims::{Claim, ValueNumber};
use super::ground::Ground;
use super::moment::StatementSpan;
use super::statement::FoundRow;
use crate::transaction::{TransactionFlow, TransactionStep, constant, is_plain};
use skew_program::FlowAction;
use skew_sql::touched::ValueOrigin;
use skew_value::Datum;
use std::collections::BTreeMap;

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Held {
    pub(super) value: ValueNumber,
    pub(super) null: Claim,
    /// It is zero, where it is a number of rows.
    pub(super) zero: Option<Claim>,
}

/// What all variables are; those that are not there are NULL.
pub(super) type Variables = BTreeMap<usize, Held>;

/// Where a step goes on, when, and with which variables.
type Ways = Vec<(usize, Claim, Variables)>;

/// A walk over a procedure for one instance.
pub(crate) struct Walk<'w, 'a> {
    pub(crate) ground: &'w mut Ground<'a>,
    pub(crate) flow: &'w TransactionFlow,
    pub(crate) instance: usize,
    pub(crate) procedure: usize,
    /// How many rounds of loops are looked at.
    pub(crate) rounds: usize,
    /// The values of this instance: a procedure that it does not run leaves them to others.
    pub(crate) pool: &'w mut Vec<ValueNumber>,
    pub(crate) used: usize,
    pub(crate) accesses: Vec<RowAccess>,
    pub(crate) computed: BTreeMap<(String, Vec<ValueNumber>), usize>,
    /// The statements so far, where levels are a matter of time.
    pub(crate) passed: Vec<StatementSpan>,
}

impl Walk<'_, '_> {
    /// All accesses of the instance where it runs the procedure.
    pub(crate) fn run(mut self, is_run: Claim) -> Vec<RowAccess> {
        let mut variables = Variables::new();
        for (slot, _) in &self.flow.given {
            let given = self.anything();
            variables.insert(*slot, given);
        }
        let last = self.flow.steps.len().saturating_sub(1);
        self.region(0, last, None, (is_run, variables), None);
        self.accesses
    }

    pub(super) fn fresh(&mut self) -> ValueNumber {
        if self.used == self.pool.len() {
            let value = self.ground.claims.value();
            self.pool.push(value);
        }
        self.used += 1;
        self.pool[self.used - 1]
    }

    pub(super) fn anything(&mut self) -> Held {
        Held { value: self.fresh(), null: self.ground.claims.free(), zero: None }
    }
}

/// Regions and loops.
impl Walk<'_, '_> {
    /// Walks over steps that stand together; `head` is the loop that they are the body of.
    fn region(&mut self, from: usize, to: usize, head: Option<usize>, start: (Claim, Variables), round: Option<usize>) {
        let mut coming: BTreeMap<usize, Vec<(Claim, Variables)>> = BTreeMap::from([(from, vec![start])]);
        let mut at = from;
        while at <= to {
            let Some(ways) = coming.remove(&at) else {
                at += 1;
                continue;
            };
            let (reached, variables) = self.join(ways);
            let last = self.loop_end(at).filter(|_| head != Some(at));
            let next = match last {
                Some(last) => self.around(at, last, reached, &variables, round),
                None => self.step(at, reached, variables, round),
            };
            let past = last.unwrap_or(at);
            for (target, claim, variables) in next.into_iter().filter(|(target, ..)| *target > past && *target <= to) {
                coming.entry(target).or_default().push((claim, variables));
            }
            at = past + 1;
        }
    }

    /// The last step of the loop that begins here.
    pub(super) fn loop_end(&self, head: usize) -> Option<usize> {
        let goes_back = |(at, step): (usize, &TransactionStep)| {
            targets(at, step).into_iter().any(|target| target == head && target <= at).then_some(at)
        };
        self.flow.steps.iter().enumerate().filter_map(goes_back).max()
    }

    /// A loop: some rounds of it, and what is known after it.
    fn around(&mut self, head: usize, last: usize, reached: Claim, before: &Variables, round: Option<usize>) -> Ways {
        let rounds: Vec<usize> = round.map_or_else(|| (0..self.rounds).collect(), |round| vec![round]);
        for round in rounds {
            let is_round = self.ground.claims.free();
            self.ground.claims.imply([is_round], reached);
            let variables = self.forget(head, last, before);
            self.region(head, last, Some(head), (is_round, variables), Some(round));
        }
        let steps = self.flow.steps.iter().enumerate().take(last + 1).skip(head);
        let mut exits: Vec<usize> = steps.flat_map(|(at, step)| targets(at, step)).filter(|to| *to > last).collect();
        exits.sort_unstable();
        exits.dedup();
        let mut ways = Ways::new();
        for exit in &exits {
            let leaves = match exits.len() {
                1 => reached,
                _ => self.ground.claims.free(),
            };
            self.ground.claims.imply([leaves], reached);
            ways.iter().for_each(|(_, other, _)| self.ground.claims.require([!leaves, !*other]));
            let variables = self.forget(head, last, before);
            ways.push((*exit, leaves, variables));
        }
        let somewhere: Vec<Claim> = ways.iter().map(|(_, claim, _)| *claim).chain([!reached]).collect();
        self.ground.claims.require(somewhere);
        ways
    }

    /// Variables that a loop assigns are anything.
    fn forget(&mut self, head: usize, last: usize, before: &Variables) -> Variables {
        let mut variables = before.clone();
        let flow = self.flow;
        for step in &flow.steps[head..=last] {
            for slot in assigned(step) {
                let anything = self.anything();
                variables.insert(slot, anything);
            }
        }
        variables
    }

    /// What is known where several ways meet.
    fn join(&mut self, mut ways: Vec<(Claim, Variables)>) -> (Claim, Variables) {
        if ways.len() == 1
            && let Some(only) = ways.pop()
        {
            return only;
        }
        let claims: Vec<Claim> = ways.iter().map(|(claim, _)| *claim).collect();
        let reached = self.ground.claims.any(claims);
        let mut slots: Vec<usize> = ways.iter().flat_map(|(_, variables)| variables.keys().copied()).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut joined = Variables::new();
        for slot in slots {
            let held: Vec<Option<Held>> = ways.iter().map(|(_, variables)| variables.get(&slot).copied()).collect();
            let first = held[0];
            let one = match first {
                Some(first) if held.iter().all(|other| *other == Some(first)) => first,
                _ => {
                    let one = self.anything();
                    for ((claim, _), held) in ways.iter().zip(held) {
                        self.becomes(*claim, one, held);
                    }
                    one
                }
            };
            joined.insert(slot, one);
        }
        (reached, joined)
    }

    /// Where the claim holds a variable is what another one is; nothing is NULL.
    fn becomes(&mut self, claim: Claim, one: Held, other: Option<Held>) {
        let claims = &mut self.ground.claims;
        let Some(other) = other else {
            claims.imply([claim], one.null);
            return;
        };
        let equal = claims.equal(one.value, other.value);
        claims.imply([claim], equal);
        claims.imply([claim, one.null], other.null);
        claims.imply([claim, other.null], one.null);
    }
}

/// Where a step may go on.
fn targets(at: usize, step: &TransactionStep) -> Vec<usize> {
    match &step.action {
        FlowAction::Branch(otherwise) | FlowAction::Next(_, otherwise) => vec![at + 1, *otherwise],
        FlowAction::Jump(to) => vec![*to],
        FlowAction::Abort | FlowAction::End => Vec::new(),
        FlowAction::Run | FlowAction::Into(_) | FlowAction::Clear(_) | FlowAction::Count(_) => vec![at + 1],
    }
}

fn assigned(step: &TransactionStep) -> Vec<usize> {
    match &step.action {
        FlowAction::Into(slots) => slots.clone(),
        FlowAction::Clear(slot) | FlowAction::Count(slot) => vec![*slot],
        FlowAction::Next(slots, _) => slots.clone().collect(),
        _ => Vec::new(),
    }
}

/// Steps.
impl Walk<'_, '_> {
    fn step(&mut self, at: usize, reached: Claim, mut variables: Variables, round: Option<usize>) -> Ways {
        let flow = self.flow;
        let step = &flow.steps[at];
        let found = self.statement(at, reached, &variables, round);
        match &step.action {
            FlowAction::Run => {}
            FlowAction::Into(slots) => self.into(step, slots, &found, &mut variables),
            FlowAction::Clear(slot) => drop(variables.remove(slot)),
            FlowAction::Count(slot) => {
                let anything = self.anything();
                variables.insert(*slot, anything);
            }
            FlowAction::Branch(otherwise) => return self.branch(at, *otherwise, reached, variables),
            FlowAction::Next(slots, done) => {
                let (more, after) = (self.ground.claims.free(), variables.clone());
                for slot in slots.clone() {
                    let anything = self.anything();
                    variables.insert(slot, anything);
                }
                let (on, off) = (self.ground.claims.all([reached, more]), self.ground.claims.all([reached, !more]));
                return vec![(at + 1, on, variables), (*done, off, after)];
            }
            FlowAction::Abort => self.ground.claims.require([!reached]),
            FlowAction::Jump(_) | FlowAction::End => {}
        }
        targets(at, step).into_iter().map(|target| (target, reached, variables.clone())).collect()
    }

    fn branch(&mut self, at: usize, otherwise: usize, reached: Claim, variables: Variables) -> Ways {
        let holds = self.ground.claims.free();
        let tested = &self.flow.steps[at].tested;
        let null = |slot: &usize| variables.get(slot).map(|held| held.null);
        let always = self.ground.claims.yes();
        // How many rows there were is anything, and never NULL: a test of it says nothing here.
        let variable = |slot: &&usize| **slot > 0;
        let not_null = tested.not_null.iter().filter(variable).map(|slot| Some(!null(slot).unwrap_or(always)));
        let is_null = tested.null.iter().filter(variable).map(|slot| Some(null(slot).unwrap_or(always)));
        let zero = |slot: &usize| variables.get(slot).and_then(|held| held.zero);
        let (is_zero, not_zero) = (tested.zero.iter().map(zero), tested.not_zero.iter().map(zero));
        let counted: Vec<Claim> = is_zero.chain(not_zero.map(|zero| zero.map(|zero| !zero))).flatten().collect();
        let exact = tested.exact && (tested.zero.is_empty() && tested.not_zero.is_empty() || !counted.is_empty());
        let tests: Vec<Claim> = match counted.is_empty() {
            true => not_null.chain(is_null).flatten().collect(),
            false => counted,
        };
        for fact in tests {
            let claims = &mut self.ground.claims;
            claims.imply([reached, holds], fact);
            if exact {
                claims.imply([reached, fact], holds);
            }
        }
        let claims = &mut self.ground.claims;
        let (on, off) = (claims.all([reached, holds]), claims.all([reached, !holds]));
        vec![(at + 1, on, variables.clone()), (otherwise, off, variables)]
    }

    /// SELECT … INTO and SET.
    fn into(&mut self, step: &TransactionStep, slots: &[usize], found: &FoundRow, variables: &mut Variables) {
        for (number, slot) in slots.iter().enumerate() {
            let new = match step.outputs.get(number) {
                Some(ValueOrigin::Column(_, column)) => {
                    let equal = found.equal.iter().find(|(name, _)| name == column).map(|(_, held)| *held);
                    equal.unwrap_or_else(|| self.anything())
                }
                Some(origin) if found.reads_nothing => self.held(origin, variables),
                _ => found.aggregate.unwrap_or_else(|| self.anything()),
            };
            let Some(row) = found.row else {
                variables.insert(*slot, new);
                continue;
            };
            let old = variables.get(slot).copied();
            let one = self.anything();
            self.becomes(row, one, Some(new));
            self.becomes(!row, one, old);
            variables.insert(*slot, one);
        }
    }

    /// What a value is; NULL is a value like any other, with its claim.
    pub(super) fn held(&mut self, origin: &ValueOrigin, variables: &Variables) -> Held {
        match origin {
            ValueOrigin::Constant(Datum::Null) => {
                Held { value: self.fresh(), null: self.ground.claims.yes(), zero: None }
            }
            ValueOrigin::Constant(value) if is_plain(value) => {
                let claims = &mut self.ground.claims;
                Held { value: claims.constant(&constant(value)), null: claims.no(), zero: None }
            }
            ValueOrigin::Variable(slot) if *slot > 0 => match variables.get(slot) {
                Some(held) => *held,
                None => Held { value: self.fresh(), null: self.ground.claims.yes(), zero: None },
            },
            ValueOrigin::Computed(text, arguments) => {
                let values: Vec<ValueNumber> = arguments.iter().map(|one| self.held(one, variables).value).collect();
                // NULL among the arguments may make anything of it, and so does another call that is not known to be the same.
                let known = arguments.iter().all(|one| matches!(one, ValueOrigin::Variable(_)));
                match self.computed.get(&(text.clone(), values.clone())).filter(|_| known) {
                    Some(value) => Held { value: *value, null: self.ground.claims.free(), zero: None },
                    None => {
                        let held = self.anything();
                        self.computed.insert((text.clone(), values), held.value);
                        held
                    }
                }
            }
            _ => self.anything(),
        }
    }
}
