//! Claims answered by the solver of this project.
//!
//! Gates become clauses in the usual way. The order of all instances is a matter of edges that must not go round. What follows from
//! equalities is found out late: a model in which `x = y`, `y = z` and not `x = z` is refused with a clause that says so, and the search goes on.

use super::claims::{Claim, ClaimNode, Claims, ValueNumber};
use rustc_hash::FxHashMap;
use skew_check::{Budget, Formula, Model, Solution, Term};
use std::collections::VecDeque;

/// What a question comes to.
pub(crate) enum ClaimOutcome {
    /// It holds in this model.
    Satisfied(ClaimModel),
    /// It holds in none.
    Impossible,
    /// The budget ended first.
    Exhausted,
}

/// The truth of every claim.
pub(crate) struct ClaimModel {
    terms: Vec<Term>,
    model: Model,
}

impl ClaimModel {
    pub(crate) fn is_true(&self, claim: Claim) -> bool {
        self.model.is_true(self.terms[claim.node]) != claim.negated
    }
}

/// Answers a question.
pub(crate) fn solve(claims: &Claims, budget: Budget<'_>) -> ClaimOutcome {
    let mut formula = Formula::new();
    let terms: Vec<Term> = claims.nodes.iter().map(|_| formula.variable()).collect();
    let term = |claim: &Claim| if claim.negated { !terms[claim.node] } else { terms[claim.node] };
    for (number, node) in claims.nodes.iter().enumerate() {
        define(&mut formula, node, terms[number], &term);
    }
    for clause in &claims.required {
        formula.require(clause.iter().map(term));
    }
    let values = ValueClaims::of(claims, &terms);
    values.compare(&mut formula);
    values.close_triangles(&mut formula);
    match formula.search(budget, &mut |model| values.refuse(model)) {
        Solution::Model(model) => ClaimOutcome::Satisfied(ClaimModel { terms, model }),
        Solution::Impossible => ClaimOutcome::Impossible,
        Solution::Unknown => ClaimOutcome::Exhausted,
    }
}

fn define(formula: &mut Formula, node: &ClaimNode, own: Term, term: &dyn Fn(&Claim) -> Term) {
    match node {
        ClaimNode::True => formula.require([own]),
        ClaimNode::Arbitrated(first, second) => {
            formula.before(*first, *second, &[own]);
            formula.before(*second, *first, &[!own]);
        }
        ClaimNode::All(claims) => {
            claims.iter().for_each(|claim| formula.require([!own, term(claim)]));
            formula.require(claims.iter().map(|claim| !term(claim)).chain([own]));
        }
        ClaimNode::Free(_) | ClaimNode::Equal(..) | ClaimNode::Less(..) | ClaimNode::Visible(..) => {}
    }
}

/// What is said about values.
struct ValueClaims<'a> {
    claims: &'a Claims,
    equal: FxHashMap<(ValueNumber, ValueNumber), Term>,
    less: FxHashMap<(ValueNumber, ValueNumber), Term>,
    /// The values that a value is compared with for equality, in order.
    partners: Vec<Vec<ValueNumber>>,
    constants: Vec<ValueNumber>,
}

/// How many triangles are closed before the search; the others when a model lacks them.
const MOST_TRIANGLES: usize = 400_000;

impl<'a> ValueClaims<'a> {
    fn of(claims: &'a Claims, terms: &[Term]) -> ValueClaims<'a> {
        let (mut equal, mut less) = (FxHashMap::default(), FxHashMap::default());
        let mut partners = vec![Vec::new(); claims.values.len()];
        for (number, node) in claims.nodes.iter().enumerate() {
            match *node {
                ClaimNode::Equal(first, second) => {
                    equal.insert((first, second), terms[number]);
                    partners[first].push(second);
                    partners[second].push(first);
                }
                ClaimNode::Less(first, second) => {
                    less.insert((first, second), terms[number]);
                }
                _ => {}
            }
        }
        partners.iter_mut().for_each(|all| all.sort_unstable());
        let constants = (0..claims.values.len()).filter(|value| claims.values[*value].is_some()).collect();
        ValueClaims { claims, equal, less, partners, constants }
    }

    fn term(&self, first: ValueNumber, second: ValueNumber) -> Option<Term> {
        self.equal.get(&(first.min(second), first.max(second))).copied()
    }

    /// Of two values one is less or they are equal.
    fn compare(&self, formula: &mut Formula) {
        let mut pairs: Vec<(&(ValueNumber, ValueNumber), &Term)> = self.less.iter().collect();
        pairs.sort_unstable();
        for (&(first, second), &less) in pairs {
            let Some(&more) = self.less.get(&(second, first)).filter(|_| first < second) else { continue };
            formula.require([!less, !more]);
            match self.term(first, second) {
                Some(equal) => {
                    formula.require([less, more, equal]);
                    formula.require([!less, !equal]);
                    formula.require([!more, !equal]);
                }
                None => formula.require([less, more]),
            }
        }
    }

    fn close_triangles(&self, formula: &mut Formula) {
        let mut count = 0;
        for (first, partners) in self.partners.iter().enumerate() {
            let later: Vec<ValueNumber> = partners.iter().copied().filter(|value| *value > first).collect();
            for (place, &second) in later.iter().enumerate() {
                for &third in &later[place + 1..] {
                    let sides = [self.term(first, second), self.term(second, third), self.term(first, third)];
                    let [Some(one), Some(two), Some(three)] = sides else { continue };
                    formula.require([!one, !two, three]);
                    formula.require([!one, two, !three]);
                    formula.require([one, !two, !three]);
                    count += 1;
                    if count > MOST_TRIANGLES {
                        return;
                    }
                }
            }
        }
    }

    /// What a model gets wrong about values; nothing where it is right.
    fn refuse(&self, model: &Model) -> Option<Vec<Term>> {
        let classes = self.classes(model);
        let mut pairs: Vec<(&(ValueNumber, ValueNumber), &Term)> = self.equal.iter().collect();
        pairs.sort_unstable();
        for (&(first, second), &term) in pairs {
            if !model.is_true(term) && classes[first] == classes[second] {
                return Some(self.path(model, first, second).into_iter().map(|one| !one).chain([term]).collect());
            }
        }
        for (place, &first) in self.constants.iter().enumerate() {
            for &second in &self.constants[place + 1..] {
                if classes[first] == classes[second] && self.claims.are_apart(first, second) {
                    return Some(self.path(model, first, second).into_iter().map(|one| !one).collect());
                }
            }
        }
        self.round(model, &classes)
    }

    /// A number for each value that equal values share.
    fn classes(&self, model: &Model) -> Vec<usize> {
        let mut classes = vec![usize::MAX; self.partners.len()];
        for start in 0..self.partners.len() {
            if classes[start] != usize::MAX {
                continue;
            }
            let mut open = vec![start];
            while let Some(value) = open.pop() {
                if classes[value] == usize::MAX {
                    classes[value] = start;
                    open.extend(self.neighbours(model, value));
                }
            }
        }
        classes
    }

    fn neighbours<'m>(&'m self, model: &'m Model, value: ValueNumber) -> impl Iterator<Item = ValueNumber> + 'm {
        let is_equal = move |other: &ValueNumber| self.term(value, *other).is_some_and(|term| model.is_true(term));
        self.partners[value].iter().copied().filter(is_equal)
    }

    /// The equalities that make two values one, as few as possible.
    fn path(&self, model: &Model, from: ValueNumber, to: ValueNumber) -> Vec<Term> {
        let mut came: FxHashMap<ValueNumber, ValueNumber> = FxHashMap::default();
        let mut open = VecDeque::from([from]);
        while let Some(value) = open.pop_front() {
            if value == to {
                break;
            }
            for next in self.neighbours(model, value) {
                if next != from && !came.contains_key(&next) {
                    came.insert(next, value);
                    open.push_back(next);
                }
            }
        }
        let (mut at, mut terms) = (to, Vec::new());
        while let Some(&previous) = came.get(&at).filter(|_| at != from) {
            terms.extend(self.term(previous, at));
            at = previous;
        }
        terms
    }

    /// ValueClaims that are each less than the next, and the last less than the first.
    fn round(&self, model: &Model, classes: &[usize]) -> Option<Vec<Term>> {
        let mut edges: Vec<(ValueNumber, ValueNumber)> =
            self.less.iter().filter(|(_, term)| model.is_true(**term)).map(|(pair, _)| *pair).collect();
        edges.sort_unstable();
        for &(first, second) in &edges {
            let Some(mut walk) = self.walk(&edges, classes, second, first) else { continue };
            walk.insert(0, (first, second));
            let mut terms: Vec<Term> = walk.iter().map(|pair| !self.less[pair]).collect();
            for (place, (_, end)) in walk.iter().enumerate() {
                let (next, _) = walk[(place + 1) % walk.len()];
                terms.extend(self.path(model, *end, next).into_iter().map(|one| !one));
            }
            return Some(terms);
        }
        None
    }

    /// Edges that lead from the class of one value to that of another.
    fn walk(
        &self,
        edges: &[(ValueNumber, ValueNumber)],
        classes: &[usize],
        from: ValueNumber,
        to: ValueNumber,
    ) -> Option<Vec<(ValueNumber, ValueNumber)>> {
        let mut seen = vec![classes[from]];
        let mut open = VecDeque::from([(classes[from], Vec::new())]);
        while let Some((class, walked)) = open.pop_front() {
            if class == classes[to] {
                return Some(walked);
            }
            for &(first, second) in edges.iter().filter(|(first, _)| classes[*first] == class) {
                if !seen.contains(&classes[second]) {
                    seen.push(classes[second]);
                    open.push_back((classes[second], walked.iter().copied().chain([(first, second)]).collect()));
                }
            }
        }
        None
    }
}
