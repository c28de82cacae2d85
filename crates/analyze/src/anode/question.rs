//! The questions that are asked of a solver, and what an answer to them means.
//!
//! ```text
//!   cycle of k       k instances, each depends on the one before it, the first on the last           none: no cycle of k
//!   path of k        k + 1 instances, each depends on the one before it, and there is no shorter way     none: whatever is longer has a chord
//!   against          an instance of some procedures depends on one that comes before it in ar            none: these procedures only look forward
//!   triple           two dependencies in a row that lead to somebody who comes before both               none: see below
//!   together         an instance of each of some procedures, whatever they do                            none: the level allows no such execution
//! ```
//!
//! *Shortest path*: without a path of k and without cycles up to k there is no cycle, since a shortest cycle that is longer contains such a path.
//! *Inductive*: without a triple, a path that starts with a procedure of which nothing is *against* never comes back to its start; take these
//! procedures away and go on with the others. (A cycle has one member that comes before all others in ar; the two before it in the cycle and
//! this one are a triple. So no triple alone is no cycle; the sets say by which procedures that is.)

use super::access::RowAccess;
use super::claims::{Claim, ClaimNode, Claims};
use super::counter::{self, Counter};
use super::encoding::{EdgeWay, Encoding};
use super::moment::Timing;
use super::opinion::{OtherSolver, SecondOpinion};
use super::shape::ProgramShape;
use super::smtlib;
use super::solve::{ClaimModel, ClaimOutcome, solve};
use super::specification::Specification;
use crate::transaction::Transactions;
use crate::witness::DependencyKind;
use skew_check::Budget;
use std::fmt;
use std::rc::Rc;

/// A path may grow for a tenth of the steps that its question has.
const GROWING: u64 = 10;

/// A question in which statements may meet in more ways is not asked: writing it down would take minutes.
const MOST_MEETINGS: usize = 150_000;

/// More steps than a procedure has.
const MOST_STEPS: usize = 1_000_000;

/// A question about instances of some of the procedures, which are told by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BoundedQuestion {
    /// Is there a cycle of as many instances, each of which runs one of these procedures?
    Cycle(Vec<Vec<usize>>),
    /// Is there a path of as many dependencies as the number says that no dependency makes shorter, among instances of these procedures?
    Path(usize, Vec<usize>),
    /// Does an instance of the first procedures depend backwards on an instance of the second?
    Against(Vec<usize>, Vec<usize>),
    /// Do two dependencies in a row lead to somebody who comes before both, among instances of these procedures?
    Triple(Vec<usize>),
    /// Can instances of these procedures, one of each, be in one execution?
    Together(Vec<usize>),
}

/// What a question comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionOutcome {
    /// There is one: the instances and their dependencies.
    Found(FoundInstances),
    /// There is none.
    None,
    /// It is not known, for this reason.
    Unknown(String),
    /// One is found here, and another solver does not confirm it; or the two contradict each other.
    Disputed(String),
}

/// Instances that depend on each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundInstances {
    /// The procedure of each instance.
    pub procedures: Vec<usize>,
    /// The parameters of each instance: equal numbers are equal values.
    pub parameters: Vec<Vec<(String, usize)>>,
    /// The dependencies.
    pub edges: Vec<FoundEdge>,
    /// The instances in the order of ar.
    pub order: Vec<usize>,
    /// Whether all dependencies are about one row.
    pub meets_twice: bool,
}

/// A dependency between two instances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundEdge {
    /// The instance that comes first, and the step of its procedure.
    pub from: (usize, usize),
    /// The instance that depends on it, and the step.
    pub to: (usize, usize),
    /// The table that it is about.
    pub table: String,
    /// Which kind.
    pub kind: DependencyKind,
    /// When the two statements take place, compared with those of all other edges.
    pub when: (usize, usize),
}

/// A question with its edges, as claims.
pub(crate) struct PosedQuestion<'a> {
    encoding: Encoding<'a>,
    edges: Vec<(usize, usize, Vec<EdgeWay>)>,
}

/// A program at a level.
#[derive(Clone, Debug)]
pub struct BoundedAnalysis {
    pub(crate) transactions: Transactions,
    pub(crate) specification: Specification,
    pub(crate) shape: ProgramShape,
    pub(crate) counters: Vec<Counter>,
    pub(crate) second: Option<SecondOpinion>,
}

impl BoundedAnalysis {
    /// A program at a level; or why it cannot be looked at.
    pub fn new(transactions: Transactions, specification: Specification) -> Result<BoundedAnalysis, String> {
        if let Some(first) = transactions.unsupported.first() {
            return Err(format!("{} is not supported (line {})", first.construct, first.place.line));
        }
        let known = |name: &str| transactions.procedures.iter().any(|flow| flow.name == name);
        if let Some(name) = specification.procedures().find(|name| !known(name)) {
            return Err(format!("the specification names {name}, which is no procedure of the program"));
        }
        let shape = ProgramShape::of(&transactions)?;
        let is_snapshot = specification.timing == Some(Timing::RepeatableRead);
        let seen = is_snapshot || specification.has("psi") || specification.has("snapshot");
        let counters = if seen { counter::counters(&transactions, &shape) } else { Vec::new() };
        Ok(BoundedAnalysis { transactions, specification, shape, counters, second: None })
    }

    /// The level.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// All procedures by number.
    pub fn everything(&self) -> Vec<usize> {
        (0..self.transactions.procedures.len()).collect()
    }

    /// The number of a procedure.
    pub fn procedure(&self, name: &str) -> Option<usize> {
        self.transactions.procedures.iter().position(|flow| flow.name == name)
    }

    /// The same with a second opinion: what two solvers do not agree about is not known.
    pub fn with_second(self, solver: Rc<dyn OtherSolver>) -> BoundedAnalysis {
        BoundedAnalysis { second: Some(SecondOpinion::of(solver)), ..self }
    }

    /// Asks the solver of this project, and the other one where there is one.
    pub fn ask(&self, question: &BoundedQuestion, budget: Budget<'_>) -> QuestionOutcome {
        let allowed = question.allowed();
        if self.meetings(&allowed) > MOST_MEETINGS {
            let reason = format!("the transactions have too many statements for {} of them together", allowed.len());
            return QuestionOutcome::Unknown(reason);
        }
        let ours = match self.grown(question, budget) {
            Some(found) => QuestionOutcome::Found(found),
            None => self.ask_among(question, question.allowed(), budget),
        };
        match &self.second {
            Some(second) => second.weigh(question, ours, || self.text(question)),
            None => ours,
        }
    }

    /// A path that is found by making a shorter one longer, most of whose procedures stay: where one exists, it mostly exists so, and far fewer
    /// combinations are looked at. Nothing where that leads nowhere, and for other questions.
    fn grown(&self, question: &BoundedQuestion, budget: Budget<'_>) -> Option<FoundInstances> {
        let BoundedQuestion::Path(length, pool) = question else { return None };
        let budget = Budget { steps: budget.steps / GROWING, ..budget };
        let mut found: Option<FoundInstances> = None;
        for longer in 2..=*length {
            let known = found.map(|found| found.procedures).unwrap_or_default();
            let kept = known.len().saturating_sub(1);
            let of = |one: usize| if one < kept { vec![known[one]] } else { pool.clone() };
            let question = BoundedQuestion::Path(longer, pool.clone());
            found = match self.ask_among(&question, (0..=longer).map(of).collect(), budget) {
                QuestionOutcome::Found(found) => Some(found),
                QuestionOutcome::None | QuestionOutcome::Unknown(_) | QuestionOutcome::Disputed(_) => return None,
            };
        }
        found
    }

    /// Asks about instances that may each run some procedures.
    fn ask_among(&self, question: &BoundedQuestion, allowed: Vec<Vec<usize>>, budget: Budget<'_>) -> QuestionOutcome {
        let asked = self.encode(question, allowed);
        match solve(&asked.encoding.ground.claims, budget) {
            ClaimOutcome::Satisfied(model) => QuestionOutcome::Found(self.told(&asked, &model)),
            ClaimOutcome::Impossible => QuestionOutcome::None,
            ClaimOutcome::Exhausted => QuestionOutcome::Unknown("the solver's budget ended".to_owned()),
        }
    }

    /// In how many ways statements of different instances may meet, as far as tables tell.
    fn meetings(&self, allowed: &[Vec<usize>]) -> usize {
        let instance = |procedures: &Vec<usize>| {
            let mut counts = vec![0_usize; self.shape.tables.len()];
            let steps = procedures.iter().flat_map(|one| &self.transactions.procedures[*one].steps);
            let effects = steps.flat_map(|step| step.ways.iter().flatten());
            effects.for_each(|effect| counts[self.shape.table(&effect.table)] += 1);
            counts
        };
        let all: Vec<Vec<usize>> = allowed.iter().map(instance).collect();
        let pairs = all.iter().enumerate().flat_map(|(place, one)| all[place + 1..].iter().map(move |two| (one, two)));
        pairs.map(|(one, two)| one.iter().zip(two).map(|(mine, theirs)| mine * theirs).sum::<usize>()).sum()
    }

    /// The question as a text for a solver that speaks SMT-LIB.
    pub fn text(&self, question: &BoundedQuestion) -> String {
        smtlib::text(&self.encode(question, question.allowed()).encoding.ground.claims)
    }

    fn encode(&self, question: &BoundedQuestion, allowed: Vec<Vec<usize>>) -> PosedQuestion<'_> {
        let edges: Vec<(usize, usize)> = match question {
            BoundedQuestion::Cycle(all) => (0..all.len()).map(|one| (one, (one + 1) % all.len())).collect(),
            BoundedQuestion::Path(length, _) => (0..*length).map(|one| (one, one + 1)).collect(),
            BoundedQuestion::Against(..) => vec![(0, 1)],
            BoundedQuestion::Triple(_) => vec![(0, 1), (1, 2)],
            BoundedQuestion::Together(_) => Vec::new(),
        };
        let mut encoding = Encoding::new(&self.shape, &self.transactions, &self.specification, &allowed);
        let told = edges.into_iter().map(|(first, second)| (first, second, encoding.edge(first, second)));
        let edges: Vec<(usize, usize, Vec<EdgeWay>)> = told.collect();
        constrain(&mut encoding, question);
        encoding.specify(&self.transactions, &self.specification);
        let Encoding { ground, accesses, .. } = &mut encoding;
        self.counters.iter().for_each(|counter| counter::say(ground, accesses, counter));
        ground.finish(accesses);
        PosedQuestion { encoding, edges }
    }

    fn told(&self, asked: &PosedQuestion<'_>, model: &ClaimModel) -> FoundInstances {
        let encoding = &asked.encoding;
        let size = encoding.size();
        let run = |claims: &Vec<Option<Claim>>| {
            claims.iter().position(|claim| claim.is_some_and(|claim| model.is_true(claim))).unwrap_or_default()
        };
        let order = encoding.ground.order(model);
        let place = |access: &RowAccess| match access.shown_at() {
            Some(point) => order[point],
            None => order[access.instance] * MOST_STEPS + access.step,
        };
        let (mut edges, mut records) = (Vec::new(), Vec::new());
        for (first, second, ways) in &asked.edges {
            let Some(way) = ways.iter().find(|way| model.is_true(way.holds)) else { continue };
            records.push(way.record);
            let (from, to) = (&encoding.accesses[*first][way.from], &encoding.accesses[*second][way.to]);
            let table = self.shape.tables[from.table].name.clone();
            let when = (place(from), place(to));
            edges.push(FoundEdge { from: (*first, from.step), to: (*second, to.step), table, kind: way.kind, when });
        }
        let mut claims = encoding.ground.claims.clone();
        let known = claims.nodes.len();
        let holds = |claim: Claim| claim.node < known && model.is_true(claim);
        let mut sorted: Vec<usize> = (0..size).collect();
        sorted.sort_by_key(|one| order[*one]);
        let together = |pair: &[usize]| holds(encoding.ground.records.same(&mut claims, pair[0], pair[1]));
        let meets_twice = records.windows(2).all(together);
        let procedures: Vec<usize> = encoding.runs.iter().map(run).collect();
        let classes = equal_values(&encoding.ground.claims, model);
        let parameters = procedures.iter().zip(&encoding.pools).map(|(procedure, pool)| {
            // Parameters are the first values of an instance, in their order.
            let given = self.transactions.procedures[*procedure].given.iter().zip(pool);
            given.map(|((_, name), value)| (name.clone(), classes[*value])).collect()
        });
        FoundInstances { parameters: parameters.collect(), procedures, edges, order: sorted, meets_twice }
    }
}

/// A number for each value that equal values share.
fn equal_values(claims: &Claims, model: &ClaimModel) -> Vec<usize> {
    let mut classes: Vec<usize> = (0..claims.values.len()).collect();
    for (node, what) in claims.nodes.iter().enumerate() {
        let ClaimNode::Equal(first, second) = *what else { continue };
        let (kept, gone) = (classes[first].min(classes[second]), classes[first].max(classes[second]));
        if kept != gone && model.is_true(Claim { node, negated: false }) {
            classes.iter_mut().filter(|class| **class == gone).for_each(|class| *class = kept);
        }
    }
    classes
}

impl fmt::Display for BoundedQuestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a {}", self.thing())
    }
}

impl BoundedQuestion {
    /// What is asked for, in words: `cycle of 3 transactions`.
    pub(crate) fn thing(&self) -> String {
        match self {
            BoundedQuestion::Cycle(all) => format!("cycle of {} transactions", all.len()),
            BoundedQuestion::Path(length, _) => format!("path of {length} dependencies"),
            BoundedQuestion::Against(..) => "dependency on an earlier transaction".to_owned(),
            BoundedQuestion::Triple(_) => "triple that leads back".to_owned(),
            BoundedQuestion::Together(_) => "run of two transactions".to_owned(),
        }
    }

    /// The procedures that each instance may run.
    fn allowed(&self) -> Vec<Vec<usize>> {
        match self {
            BoundedQuestion::Cycle(allowed) => allowed.clone(),
            BoundedQuestion::Path(length, pool) => vec![pool.clone(); length + 1],
            BoundedQuestion::Against(first, second) => vec![first.clone(), second.clone()],
            BoundedQuestion::Triple(pool) => vec![pool.clone(); 3],
            BoundedQuestion::Together(all) => all.iter().map(|one| vec![*one]).collect(),
        }
    }
}

/// What a question asks beyond its edges.
fn constrain(encoding: &mut Encoding<'_>, question: &BoundedQuestion) {
    let size = encoding.size();
    match question {
        BoundedQuestion::Cycle(allowed) => {
            // Some instance is the first one in ar; where all may run the same procedures, it may as well be number 0.
            if allowed.iter().all(|one| *one == allowed[0]) {
                for other in 1..size {
                    let before = encoding.ground.claims.before(0, other);
                    encoding.ground.claims.require([before]);
                }
            }
        }
        BoundedQuestion::Path(..) => {
            for first in 0..size {
                (first + 2..size).for_each(|second| encoding.no_edge(first, second));
            }
        }
        BoundedQuestion::Against(..) => {
            let before = encoding.ground.claims.before(1, 0);
            encoding.ground.claims.require([before]);
        }
        BoundedQuestion::Together(_) => {}
        BoundedQuestion::Triple(_) => {
            for other in 0..2 {
                let before = encoding.ground.claims.before(2, other);
                encoding.ground.claims.require([before]);
            }
        }
    }
}
