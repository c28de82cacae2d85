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

use super::access::{AccessTarget, ExtremumRead, Record, RowAccess, SearchTarget};
use super::claims::{Claim, ValueNumber};
use super::ground::Ground;
use super::shape::{Existence, existence};
use crate::effect::{EffectTarget, Happens, RowEffect};
use crate::transaction::{TransactionFlow, TransactionStep};
use skew_program::FlowAction;
use skew_sql::touched::ValueOrigin;
use skew_value::Datum;
use std::collections::BTreeMap;

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Held {
    value: ValueNumber,
    null: Claim,
    /// It is zero, where it is a number of rows.
    zero: Option<Claim>,
}

/// What all variables are; those that are not there are NULL.
type Variables = BTreeMap<usize, Held>;

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

    fn fresh(&mut self) -> ValueNumber {
        if self.used == self.pool.len() {
            let value = self.ground.claims.value();
            self.pool.push(value);
        }
        self.used += 1;
        self.pool[self.used - 1]
    }

    fn anything(&mut self) -> Held {
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
    fn loop_end(&self, head: usize) -> Option<usize> {
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
        let not_null = tested.not_null.iter().map(|slot| Some(!null(slot).unwrap_or(always)));
        let is_null = tested.null.iter().map(|slot| Some(null(slot).unwrap_or(always)));
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
    fn held(&mut self, origin: &ValueOrigin, variables: &Variables) -> Held {
        match origin {
            ValueOrigin::Constant(Datum::Null) => {
                Held { value: self.fresh(), null: self.ground.claims.yes(), zero: None }
            }
            ValueOrigin::Constant(value) => {
                let claims = &mut self.ground.claims;
                Held { value: claims.constant(&format!("{value:?}")), null: claims.no(), zero: None }
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

/// The row that a statement found.
struct FoundRow {
    /// The statement touches no table.
    reads_nothing: bool,
    /// There was one; nothing where there is always one.
    row: Option<Claim>,
    /// Columns whose value is known.
    equal: Vec<(String, Held)>,
    /// The least or greatest value or the number of rows that was asked for.
    aggregate: Option<Held>,
}

/// Statements.
impl Walk<'_, '_> {
    fn statement(&mut self, at: usize, reached: Claim, variables: &Variables, round: Option<usize>) -> FoundRow {
        let flow = self.flow;
        let step = &flow.steps[at];
        let reads_nothing = step.ways.iter().all(Vec::is_empty);
        let row = (!reads_nothing && !step.one_row).then(|| self.ground.claims.free());
        let mut found = FoundRow { reads_nothing, row, equal: Vec::new(), aggregate: None };
        let mut left = reached;
        for (number, way) in step.ways.iter().enumerate() {
            let mut taken = left;
            if number + 1 < step.ways.len() {
                let this = self.ground.claims.free();
                taken = self.ground.claims.all([left, this]);
                left = self.ground.claims.all([left, !this]);
            }
            for effect in way {
                self.effect(at, effect, taken, variables, round, &mut found);
            }
        }
        found
    }

    fn effect(
        &mut self,
        at: usize,
        effect: &RowEffect,
        reached: Claim,
        variables: &Variables,
        round: Option<usize>,
        found: &mut FoundRow,
    ) {
        let shape = self.ground.shape;
        let table = shape.table(&effect.table);
        let mut reached = reached;
        let target = match &effect.target {
            EffectTarget::Key(None, values) => {
                let key = self.key(effect, values, variables, &mut reached);
                AccessTarget::Key(self.ground.records.number(Record { table, key }))
            }
            _ => AccessTarget::Search(self.search(at, effect, table, variables, &mut reached, found)),
        };
        let (reads, writes) = (shape.bits(table, &effect.reads), shape.bits(table, &effect.writes));
        let existence = existence(effect);
        let values = effect.known.equal.iter().filter(|_| existence == Existence::Comes);
        let values: Vec<(String, ValueNumber)> =
            values.map(|(name, origin)| (name.clone(), self.held(origin, variables).value)).collect();
        let (own_rows, own_columns) = self.own(at, table, reads);
        let is_blind = existence == Existence::Goes && !shape.counts[self.procedure];
        let access = RowAccess {
            instance: self.instance,
            step: at,
            round,
            reached,
            table,
            target,
            reads,
            writes,
            existence,
            guarded: effect.happens == Happens::IfFits,
            values,
            own_rows,
            own_columns,
            is_blind,
        };
        self.found(&access, effect, variables, found);
        self.accesses.push(access);
    }

    fn key(
        &mut self,
        effect: &RowEffect,
        values: &[ValueOrigin],
        variables: &Variables,
        reached: &mut Claim,
    ) -> Vec<ValueNumber> {
        let held: Vec<Held> = values.iter().map(|value| self.held(value, variables)).collect();
        let is_given = effect.inserts && !effect.table.contains('@');
        if !is_given {
            let all: Vec<Claim> = held.iter().map(|held| !held.null).chain([*reached]).collect();
            *reached = self.ground.claims.all(all);
        }
        held.iter().map(|held| held.value).collect()
    }

    fn search(
        &mut self,
        at: usize,
        effect: &RowEffect,
        table: usize,
        variables: &Variables,
        reached: &mut Claim,
        found: &mut FoundRow,
    ) -> SearchTarget {
        let shape = &self.ground.shape.tables[table];
        let key = vec![None; shape.width];
        let mut target = SearchTarget { key, others: Vec::new(), more: effect.known.more, extremum: None, empty: None };
        for (column, origin) in &effect.known.equal {
            let held = self.held(origin, variables);
            *reached = self.ground.claims.all([*reached, !held.null]);
            match shape.key.iter().position(|known| known == column) {
                Some(part) => target.key[part] = Some(held.value),
                None => target.others.push((column.clone(), held.value)),
            }
        }
        let step = &self.flow.steps[at];
        let part = step.extremum.as_ref().and_then(|asked| shape.key.iter().position(|known| *known == asked.column));
        if let (Some(asked), Some(part)) = (&step.extremum, part)
            && step.ways.iter().flatten().count() == 1
        {
            let held = self.anything();
            target.extremum = Some(ExtremumRead { greatest: asked.greatest, part, found: held.value, none: held.null });
            found.aggregate = Some(held);
        }
        if step.counts_rows && step.ways.iter().flatten().count() == 1 {
            let (value, empty) = (self.fresh(), self.ground.claims.free());
            target.empty = Some(empty);
            found.aggregate = Some(Held { value, null: self.ground.claims.no(), zero: Some(empty) });
        }
        target
    }

    /// Whether the procedure may have changed rows of a table before, and the columns that are read.
    fn own(&self, at: usize, table: usize, reads: u128) -> (bool, bool) {
        let shape = self.ground.shape;
        let together = |one: usize| {
            let (low, high) = (one.min(at), one.max(at));
            (0..=low).any(|head| self.loop_end(head).is_some_and(|last| last >= high))
        };
        let (mut rows, mut columns) = (false, false);
        for (number, step) in self.flow.steps.iter().enumerate() {
            if number >= at && !together(number) {
                continue;
            }
            for effect in step.ways.iter().flatten().filter(|effect| shape.table(&effect.table) == table) {
                rows |= existence(effect) != Existence::Stays;
                columns |= shape.bits(table, &effect.writes) & reads != 0;
            }
        }
        (rows, columns || rows)
    }

    /// What a read tells about the row that it is on.
    fn found(&mut self, access: &RowAccess, effect: &RowEffect, variables: &Variables, found: &mut FoundRow) {
        let ground = &mut *self.ground;
        match &access.target {
            AccessTarget::Key(record) if !effect.table.contains('@') => {
                let record = *record;
                // Only of a row that is found by its key alone is it known that its values are its own.
                let outputs = &self.flow.steps[access.step].outputs;
                let is_row = outputs.iter().any(|output| matches!(output, ValueOrigin::Column(..)));
                if let Some(row) = found.row.filter(|_| is_row && !access.own_rows) {
                    let alive = ground.alive(access.instance, record);
                    ground.claims.imply([access.reached, row], alive);
                    let key = &ground.shape.tables[access.table].key;
                    let asks_more = effect.known.more || effect.known.equal.iter().any(|(name, _)| !key.contains(name));
                    if !asks_more {
                        ground.claims.imply([access.reached, alive], row);
                    }
                }
                if access.existence == Existence::Comes && !access.own_rows {
                    let alive = ground.alive(access.instance, record);
                    ground.claims.imply([access.reached], !alive);
                }
            }
            AccessTarget::Search(search) => {
                let Some(extremum) = search.extremum.filter(|_| !access.own_rows) else { return };
                let mut key = search.key.clone();
                key[extremum.part] = Some(extremum.found);
                if let Some(key) = key.into_iter().collect::<Option<Vec<ValueNumber>>>() {
                    let record = ground.records.number(Record { table: access.table, key });
                    let alive = ground.alive(access.instance, record);
                    ground.claims.imply([access.reached, !extremum.none], alive);
                }
            }
            AccessTarget::Key(_) => {}
        }
        for (column, origin) in &effect.known.equal {
            let held = self.held(origin, variables);
            found.equal.push((column.clone(), held));
        }
    }
}
