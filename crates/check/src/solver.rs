//! Search: conflict-driven clause learning modulo acyclicity.
//!
//! Variables are open orders and the writers of ambiguous reads; edges of the theory hold while their literals do. A cycle is a
//! clause: not all of its literals. The decisive trick is *polarity*: a pair is decided as the theory's row has it at that moment,
//! in the order in which the row comes to it, which
//! costs the theory nothing and is nearly always right.
//!
//! Own code, of the usual design (two watched literals, first unique implication points, activity, Luby restarts): solvers on the
//! shelf either have no hook for decisions or no theory interface on stable Rust. Every clause remembers where it came from, so
//! that a refutation can be told without the solver.

use crate::budget::Budget;
use crate::ids::dense_id;
use crate::theory::{ConditionalId, Hop, Lit, NO_LIT, Theory, Variable};

dense_id!(
    /// A clause.
    ClauseId
);

/// Where a clause came from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// Part of the question: an ambiguous read has exactly one writer.
    Given,
    /// A cycle.
    Cycle(Vec<Hop>),
    /// What the caller's last check found; its number.
    Lemma(usize),
    /// Follows from these clauses, and from what was certain.
    Learnt { from: Vec<ClauseId>, certain: Vec<Variable> },
}

/// At least one of these is true.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    pub(crate) literals: Vec<Lit>,
    pub(crate) origin: Origin,
}

/// What the search came to.
pub(crate) enum Outcome {
    /// Every variable has a value: [`Solver::is_true`].
    Model,
    /// There is none; the clauses that show it, in order.
    Refuted(Vec<ClauseId>),
    /// The budget ran out.
    Exhausted,
}

const NO_REASON: ClauseId = ClauseId(u32::MAX);
const UNASSIGNED: i8 = -1;

/// The state of the search.
pub(crate) struct Solver<'g> {
    pub(crate) theory: Theory<'g>,
    clauses: Vec<Clause>,
    /// Per literal the clauses that watch its negation.
    watches: Vec<Vec<ClauseId>>,
    /// Per literal the conditional edges that it is part of.
    edges_of: Vec<Vec<ConditionalId>>,
    /// Per variable 0, 1 or unassigned.
    values: Vec<i8>,
    levels: Vec<u32>,
    reasons: Vec<ClauseId>,
    places: Vec<u32>,
    trail: Vec<Lit>,
    /// Per decision the length of the trail and the state of the theory.
    decisions: Vec<(usize, (usize, usize))>,
    propagated: usize,
    activity: Vec<f64>,
    increment: f64,
    queue: ActivityQueue,
    seen: Vec<bool>,
    /// A clause that is false without any decision.
    dead: Option<ClauseId>,
    pub(crate) conflict_count: u64,
    pub(crate) decision_count: u64,
}

/// Looks at a full assignment; refuses it with a clause that it falsifies and the number of the lemma behind that.
pub(crate) type FinalCheck<'c, 'g> = &'c mut dyn FnMut(&Solver<'g>) -> Option<(Vec<Lit>, usize)>;

/// Says which way to decide a variable.
pub(crate) type Polarity<'p> = &'p dyn Fn(&Theory<'_>, Variable) -> bool;

impl<'g> Solver<'g> {
    /// A solver that decides, other things being equal, the variables with the smaller rank first.
    pub(crate) fn new(theory: Theory<'g>, ranks: &[u32]) -> Solver<'g> {
        let variables = ranks.len();
        let mut edges_of = vec![Vec::new(); 2 * variables];
        for (number, edge) in theory.conditionals.iter().enumerate() {
            for &literal in edge.literals.iter().filter(|&&literal| literal != NO_LIT) {
                edges_of[literal.index()].push(ConditionalId::new(number));
            }
        }
        Solver {
            theory,
            clauses: Vec::new(),
            watches: vec![Vec::new(); 2 * variables],
            edges_of,
            values: vec![UNASSIGNED; variables],
            levels: vec![0; variables],
            reasons: vec![NO_REASON; variables],
            places: vec![0; variables],
            trail: Vec::new(),
            decisions: Vec::new(),
            propagated: 0,
            activity: vec![0.0; variables],
            increment: 1.0,
            queue: ActivityQueue::new(ranks),
            seen: vec![false; variables],
            dead: None,
            conflict_count: 0,
            decision_count: 0,
        }
    }

    pub(crate) fn is_true(&self, literal: Lit) -> bool {
        self.values[literal.variable().index()] == i8::from(literal.is_positive())
    }

    fn is_false(&self, literal: Lit) -> bool {
        self.values[literal.variable().index()] == i8::from(!literal.is_positive())
    }

    /// A clause.
    pub(crate) fn clause(&self, number: ClauseId) -> &Clause {
        &self.clauses[number.index()]
    }

    /// Adds a clause before the search.
    pub(crate) fn add_given(&mut self, literals: Vec<Lit>) {
        let clause = self.add_clause(literals, Origin::Given);
        self.install_unit(clause);
    }

    /// Inserts the edges that hold without any literal; call it once, before the search.
    pub(crate) fn insert_unconditional(&mut self) {
        for number in (0..self.theory.conditionals.len()).map(ConditionalId::new) {
            let bare = self.theory.conditionals[number.index()].literals == [NO_LIT; 2];
            if bare && let Err(hops) = self.theory.insert(number) {
                let clause = self.add_clause(Vec::new(), Origin::Cycle(hops));
                self.dead.get_or_insert(clause);
            }
        }
    }

    fn add_clause(&mut self, literals: Vec<Lit>, origin: Origin) -> ClauseId {
        let number = ClauseId::new(self.clauses.len());
        if literals.len() >= 2 {
            self.watches[literals[0].index()].push(number);
            self.watches[literals[1].index()].push(number);
        }
        self.clauses.push(Clause { literals, origin });
        number
    }

    /// A clause of one literal, or none, acts at once.
    fn install_unit(&mut self, clause: ClauseId) {
        match self.clause(clause).literals[..] {
            [] => self.dead = Some(clause),
            [unit] if self.is_false(unit) => self.dead = Some(clause),
            [unit] if !self.is_true(unit) => self.assign(unit, clause),
            _ => {}
        }
    }

    fn assign(&mut self, literal: Lit, reason: ClauseId) {
        let variable = literal.variable().index();
        self.values[variable] = i8::from(literal.is_positive());
        self.levels[variable] = self.decisions.len() as u32;
        self.reasons[variable] = reason;
        self.places[variable] = self.trail.len() as u32;
        self.trail.push(literal);
    }

    /// Searches; `check` sees every full assignment that is acyclic and may refuse it with a clause that it falsifies.
    pub(crate) fn search(
        &mut self,
        polarity: Polarity<'_>,
        check: FinalCheck<'_, 'g>,
        budget: &mut Budget<'_>,
    ) -> Outcome {
        let mut restarts = Luby::default();
        let mut until_restart = restarts.next_limit();
        loop {
            if let Some(dead) = self.dead {
                return Outcome::Refuted(self.refutation(dead));
            }
            let steps = 1 + std::mem::take(&mut self.theory.steps);
            if !budget.spend(steps) {
                return Outcome::Exhausted;
            }
            if let Some(conflict) = self.propagate() {
                self.learn(conflict);
                until_restart -= 1;
                continue;
            }
            if until_restart <= 0 {
                self.back_to(0);
                until_restart = restarts.next_limit();
            }
            if self.decide(polarity) {
                continue;
            }
            if let Some(hops) = self.theory.violated_overwrite() {
                let conflict = self.blame(hops);
                self.learn(conflict);
            } else if let Some((literals, lemma)) = check(self) {
                let conflict = self.add_conflict(literals, Origin::Lemma(lemma));
                self.learn(conflict);
            } else {
                return Outcome::Model;
            }
        }
    }

    fn decide(&mut self, polarity: Polarity<'_>) -> bool {
        while let Some(variable) = self.queue.pop(&self.activity) {
            if self.values[variable.index()] != UNASSIGNED {
                continue;
            }
            self.decision_count += 1;
            self.decisions.push((self.trail.len(), self.theory.level()));
            let positive = variable.positive();
            let literal = if polarity(&self.theory, variable) { positive } else { positive.negated() };
            self.assign(literal, NO_REASON);
            return true;
        }
        false
    }

    /// Draws all conclusions; a clause that is false, if one results.
    fn propagate(&mut self) -> Option<ClauseId> {
        while self.propagated < self.trail.len() {
            let literal = self.trail[self.propagated];
            self.propagated += 1;
            if let Some(conflict) = self.propagate_clauses(literal) {
                return Some(conflict);
            }
            if let Some(conflict) = self.propagate_edges(literal) {
                return Some(conflict);
            }
        }
        None
    }

    fn propagate_clauses(&mut self, literal: Lit) -> Option<ClauseId> {
        let falsified = literal.negated();
        let mut watching = std::mem::take(&mut self.watches[falsified.index()]);
        let mut conflict = None;
        let mut kept = 0;
        for place in 0..watching.len() {
            let number = watching[place];
            if conflict.is_some() || !self.moves_watch(number, falsified) {
                watching[kept] = number;
                kept += 1;
                let first = self.clause(number).literals[0];
                if conflict.is_none() && !self.is_true(first) {
                    if self.is_false(first) {
                        conflict = Some(number);
                    } else {
                        self.assign(first, number);
                    }
                }
            }
        }
        watching.truncate(kept);
        self.watches[falsified.index()] = watching;
        conflict
    }

    /// Lets the clause watch another literal that is not false; false when there is none.
    fn moves_watch(&mut self, number: ClauseId, falsified: Lit) -> bool {
        let literals = &mut self.clauses[number.index()].literals;
        if literals[0] == falsified {
            literals.swap(0, 1);
        }
        let values = &self.values;
        let is =
            |literal: Lit, value: bool| values[literal.variable().index()] == i8::from(literal.is_positive() == value);
        if is(literals[0], true) {
            return false;
        }
        match (2..literals.len()).find(|&place| !is(literals[place], false)) {
            Some(place) => {
                literals.swap(1, place);
                self.watches[literals[1].index()].push(number);
                true
            }
            None => false,
        }
    }

    /// Inserts the edges that hold from this literal on.
    fn propagate_edges(&mut self, literal: Lit) -> Option<ClauseId> {
        for place in 0..self.edges_of[literal.index()].len() {
            let number = self.edges_of[literal.index()][place];
            let literals = self.theory.conditionals[number.index()].literals;
            let other = if literals[0] == literal { literals[1] } else { literals[0] };
            let earlier = |other: Lit| self.is_true(other) && self.place(other) < self.place(literal);
            if other != NO_LIT && !earlier(other) {
                continue;
            }
            if let Err(hops) = self.theory.insert(number) {
                return Some(self.blame(hops));
            }
        }
        None
    }

    /// The clause that a cycle proves.
    fn blame(&mut self, hops: Vec<Hop>) -> ClauseId {
        let literals = self.literals_of(&hops);
        self.add_conflict(literals.into_iter().map(Lit::negated).collect(), Origin::Cycle(hops))
    }

    /// The literals that a path rests on.
    pub(crate) fn literals_of(&self, hops: &[Hop]) -> Vec<Lit> {
        let mut literals: Vec<Lit> = Vec::new();
        for hop in hops {
            if let Hop::Conditional(number) = hop {
                let edge = self.theory.conditionals[number.index()];
                literals.extend(edge.literals.iter().filter(|&&literal| literal != NO_LIT));
            }
        }
        literals.sort_unstable();
        literals.dedup();
        literals
    }

    /// Adds a clause that is false now; its latest literals are watched.
    fn add_conflict(&mut self, mut literals: Vec<Lit>, origin: Origin) -> ClauseId {
        literals.sort_by_key(|&literal| std::cmp::Reverse(self.place(literal)));
        self.add_clause(literals, origin)
    }

    /// Learns from a clause that is false, and goes back to where the lesson matters.
    fn learn(&mut self, conflict: ClauseId) {
        self.conflict_count += 1;
        let level = self.clause(conflict).literals.iter().map(|&literal| self.level(literal)).max();
        let Some(level) = level.filter(|&level| level > 0) else {
            self.dead = Some(conflict);
            return;
        };
        self.back_to(level as usize);
        let (literals, origin) = self.analyze(conflict, level);
        let back = literals.get(1).map_or(0, |&literal| self.level(literal));
        self.back_to(back as usize);
        let number = self.add_clause(literals, origin);
        let asserted = self.clause(number).literals[0];
        self.assign(asserted, number);
        self.increment /= 0.95;
    }

    fn level(&self, literal: Lit) -> u32 {
        self.levels[literal.variable().index()]
    }

    /// When a literal was assigned, among all that are.
    fn place(&self, literal: Lit) -> u32 {
        self.places[literal.variable().index()]
    }

    /// The first unique implication point: the learnt clause, its asserting literal first, a latest other one second.
    fn analyze(&mut self, conflict: ClauseId, level: u32) -> (Vec<Lit>, Origin) {
        let mut learnt = vec![NO_LIT];
        let (mut from, mut certain) = (Vec::new(), Vec::new());
        let mut touched = Vec::new();
        let mut clause = conflict;
        let mut open = 0;
        let mut place = self.trail.len();
        let mut resolved_on = NO_LIT;
        loop {
            from.push(clause);
            for at in 0..self.clause(clause).literals.len() {
                let literal = self.clause(clause).literals[at];
                let variable = literal.variable();
                if literal == resolved_on || self.seen[variable.index()] {
                    continue;
                }
                self.seen[variable.index()] = true;
                touched.push(variable);
                self.bump(variable);
                match self.levels[variable.index()] {
                    0 => certain.push(variable),
                    at_level if at_level == level => open += 1,
                    _ => learnt.push(literal),
                }
            }
            loop {
                place -= 1;
                let variable = self.trail[place].variable().index();
                if self.seen[variable] && self.levels[variable] == level {
                    break;
                }
            }
            resolved_on = self.trail[place];
            open -= 1;
            if open == 0 {
                break;
            }
            clause = self.reasons[resolved_on.variable().index()];
        }
        learnt[0] = resolved_on.negated();
        touched.iter().for_each(|variable| self.seen[variable.index()] = false);
        if let Some(latest) = (1..learnt.len()).max_by_key(|&at| self.level(learnt[at])) {
            learnt.swap(1, latest);
        }
        (learnt, Origin::Learnt { from, certain })
    }

    fn bump(&mut self, variable: Variable) {
        self.activity[variable.index()] += self.increment;
        if self.activity[variable.index()] > 1e100 {
            self.activity.iter_mut().for_each(|activity| *activity *= 1e-100);
            self.increment *= 1e-100;
        }
        self.queue.rise(variable, &self.activity);
    }

    fn back_to(&mut self, level: usize) {
        if level >= self.decisions.len() {
            return;
        }
        let (length, theory) = self.decisions[level];
        for place in (length..self.trail.len()).rev() {
            let variable = self.trail[place].variable();
            self.values[variable.index()] = UNASSIGNED;
            self.queue.push(variable, &self.activity);
        }
        self.trail.truncate(length);
        self.decisions.truncate(level);
        self.propagated = length;
        self.theory.back_to(theory);
    }

    /// The clauses that a dead one rests on, in the order in which they were added.
    fn refutation(&self, dead: ClauseId) -> Vec<ClauseId> {
        let mut needed = vec![false; self.clauses.len()];
        let mut pending = vec![dead];
        while let Some(number) = pending.pop() {
            if std::mem::replace(&mut needed[number.index()], true) {
                continue;
            }
            let clause = self.clause(number);
            if let Origin::Learnt { from, certain } = &clause.origin {
                pending.extend(from);
                pending.extend(certain.iter().map(|variable| self.reasons[variable.index()]));
            }
            // What was certain without a decision rests on the clauses that made it so.
            for &literal in &clause.literals {
                let variable = literal.variable().index();
                let certain = self.values[variable] != UNASSIGNED && self.levels[variable] == 0;
                if certain && self.reasons[variable] != NO_REASON {
                    pending.push(self.reasons[variable]);
                }
            }
        }
        (0..self.clauses.len()).map(ClauseId::new).filter(|number| needed[number.index()]).collect()
    }
}

/// 1, 1, 2, 1, 1, 2, 4, … times a hundred.
#[derive(Default)]
struct Luby {
    number: u32,
}

impl Luby {
    fn next_limit(&mut self) -> i64 {
        self.number += 1;
        let mut number = self.number;
        while !(number + 1).is_power_of_two() {
            number -= (1 << (31 - number.leading_zeros())) - 1;
        }
        i64::from(number.div_ceil(2)) * 100
    }
}

/// Variables by activity; among equals by rank.
struct ActivityQueue {
    heap: Vec<Variable>,
    /// Per variable its place in the heap, or none.
    place: Vec<u32>,
    ranks: Vec<u32>,
}

impl ActivityQueue {
    fn new(ranks: &[u32]) -> ActivityQueue {
        let mut heap: Vec<Variable> = (0..ranks.len()).map(Variable::new).collect();
        heap.sort_by_key(|variable| ranks[variable.index()]);
        let mut place = vec![0; heap.len()];
        heap.iter().enumerate().for_each(|(at, variable)| place[variable.index()] = at as u32);
        ActivityQueue { heap, place, ranks: ranks.to_vec() }
    }

    fn before(&self, a: Variable, b: Variable, activity: &[f64]) -> bool {
        let (first, second) = (activity[a.index()], activity[b.index()]);
        let (rank, other) = (self.ranks[a.index()], self.ranks[b.index()]);
        first > second || first == second && (rank, a) < (other, b)
    }

    fn push(&mut self, variable: Variable, activity: &[f64]) {
        if self.place[variable.index()] == u32::MAX {
            self.place[variable.index()] = self.heap.len() as u32;
            self.heap.push(variable);
            self.rise(variable, activity);
        }
    }

    fn rise(&mut self, variable: Variable, activity: &[f64]) {
        let mut at = self.place[variable.index()];
        if at == u32::MAX {
            return;
        }
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.before(variable, self.heap[parent as usize], activity) {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn pop(&mut self, activity: &[f64]) -> Option<Variable> {
        let top = *self.heap.first()?;
        let last = self.heap.pop().expect("not empty");
        self.place[top.index()] = u32::MAX;
        if last != top {
            self.heap[0] = last;
            self.place[last.index()] = 0;
            self.sink(activity);
        }
        Some(top)
    }

    fn sink(&mut self, activity: &[f64]) {
        let mut at = 0;
        loop {
            let children = [2 * at + 1, 2 * at + 2];
            let inside = children.into_iter().filter(|&child| (child as usize) < self.heap.len());
            let best = inside
                .reduce(|a, b| if self.before(self.heap[b as usize], self.heap[a as usize], activity) { b } else { a });
            match best {
                Some(child) if self.before(self.heap[child as usize], self.heap[at as usize], activity) => {
                    self.swap(at, child);
                    at = child;
                }
                _ => return,
            }
        }
    }

    fn swap(&mut self, a: u32, b: u32) {
        self.heap.swap(a as usize, b as usize);
        self.place[self.heap[a as usize].index()] = a;
        self.place[self.heap[b as usize].index()] = b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luby_goes_up_and_down() {
        let mut luby = Luby::default();
        let limits: Vec<i64> = (0..15).map(|_| luby.next_limit() / 100).collect();
        assert_eq!(limits, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
