//! The solver for others: clauses, and edges that must not go round.
//!
//! ```text
//!   p or q        a ──> b while p        b ──> c        c ──> a while q          p and not q · q and not p · never both
//! ```
//!
//! A tool that looks for some other run says with variables what it may change, with clauses what has to go together, and with edges what
//! comes before what; what it finds out about an answer it adds, and asks again. Variables are false unless something wants them
//! true, and the first ones are decided first, so the same formula has the same model every time.

use crate::budget::Budget;
use crate::graph::{Chains, Graph, Node};
use crate::solver::{SearchOutcome, Solver};
use crate::theory::{Conditional, Lit, NO_LIT, Role, Theory, Variable};

/// A variable of a formula, or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Term(Lit);

impl std::ops::Not for Term {
    type Output = Term;

    fn not(self) -> Term {
        Term(self.0.negated())
    }
}

fn model_of(solver: &Solver<'_>, variables: usize) -> Model {
    Model((0..variables).map(|variable| solver.is_true(Variable::new(variable).positive())).collect())
}

/// Variables, clauses and edges.
#[derive(Clone, Default, Debug)]
pub struct Formula {
    variables: usize,
    clauses: Vec<Vec<Lit>>,
    nodes: usize,
    edges: Vec<Conditional>,
}

/// What a formula comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Solution {
    /// These values.
    Model(Model),
    /// No values.
    Impossible,
    /// The budget ended first.
    Unknown,
}

/// A value for every variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model(Vec<bool>);

impl Model {
    /// Whether a term of the formula is true.
    pub fn is_true(&self, term: Term) -> bool {
        self.0[term.0.variable().index()] == term.0.is_positive()
    }
}

impl Formula {
    /// Nothing is said yet.
    pub fn new() -> Formula {
        Formula::default()
    }

    /// A new variable: the term that it is true.
    pub fn variable(&mut self) -> Term {
        self.variables += 1;
        Term(Variable::new(self.variables - 1).positive())
    }

    /// At least one of these terms is true.
    pub fn require(&mut self, terms: impl IntoIterator<Item = Term>) {
        let mut clause: Vec<Lit> = terms.into_iter().map(|term| term.0).collect();
        clause.sort_unstable();
        clause.dedup();
        let is_trivial = clause.windows(2).any(|pair| pair[0].variable() == pair[1].variable());
        if !is_trivial {
            self.clauses.push(clause);
        }
    }

    /// One thing comes before another while all these terms are true, which are two at the most: things are numbers of the caller's, from 0
    /// on and without large gaps.
    ///
    /// # Panics
    ///
    /// When there are more terms; a variable that follows from them does instead.
    pub fn before(&mut self, from: usize, to: usize, while_true: &[Term]) {
        let mut literals = [NO_LIT; 2];
        assert!(while_true.len() <= literals.len(), "an edge has two conditions at the most");
        literals.iter_mut().zip(while_true).for_each(|(literal, term)| *literal = term.0);
        if literals[0] == literals[1] {
            literals[1] = NO_LIT;
        }
        self.nodes = self.nodes.max(from + 1).max(to + 1);
        let (from, to) = (Node::new(from), Node::new(to));
        self.edges.push(Conditional { from, to, literals, role: Role::Dependency });
    }

    /// Values under which every clause holds and nothing comes before itself.
    pub fn solve(&self, budget: Budget<'_>) -> Solution {
        self.clone().search(budget, &mut |_| None)
    }

    /// The same with clauses that are known only when values are seen: `refuse` looks at each model and answers with terms of which one has to be
    /// true and none is, or with nothing, and that is the model. What it answered is part of the formula from then on.
    ///
    /// # Panics
    ///
    /// When a term of the answer is true already: the search would not end.
    pub fn search(&mut self, mut budget: Budget<'_>, refuse: &mut dyn FnMut(&Model) -> Option<Vec<Term>>) -> Solution {
        let mut known = Graph::new(Chains::new((0..=self.nodes).map(Node::new).collect()));
        known.index();
        let order: Vec<Node> = (0..self.nodes).map(Node::new).collect();
        let theory = Theory::new(&known, &order, Vec::new(), self.edges.clone());
        let ranks = vec![0; self.variables];
        let mut solver = Solver::new(theory, &ranks);
        for clause in &self.clauses {
            if budget.is_stopped() {
                return Solution::Unknown;
            }
            solver.add_given(clause.clone());
        }
        solver.insert_unconditional();
        let variables = self.variables;
        let mut refused: Vec<Vec<Lit>> = Vec::new();
        let outcome = solver.search(
            &|_, _| false,
            &mut |solver| {
                let model = model_of(solver, variables);
                let terms = refuse(&model)?;
                assert!(terms.iter().all(|&term| !model.is_true(term)), "a clause that is true refuses nothing");
                let clause: Vec<Lit> = terms.into_iter().map(|term| term.0).collect();
                refused.push(clause.clone());
                Some((clause, refused.len() - 1))
            },
            &mut budget,
        );
        let solution = match outcome {
            SearchOutcome::Model => Solution::Model(model_of(&solver, variables)),
            SearchOutcome::Refuted(_) => Solution::Impossible,
            SearchOutcome::Exhausted => Solution::Unknown,
        };
        drop(solver);
        self.clauses.append(&mut refused);
        solution
    }
}
