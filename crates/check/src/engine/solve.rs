//! From a puzzle to an order of all moments, or to the certainty that there is none.
//!
//! Pruning first: an order of a pair that closes a cycle with what is certain is impossible, so the other one is certain. What is left is
//! searched for: a variable per open pair, and one per way of each read that has several.

use super::construct::Untold;
use super::guess::{self, KeyShares};
use super::looks::Moment;
use super::nodes::ServerReach;
use super::puzzle::{NodePair, Pair, Puzzle, PuzzleEdge};
use super::reads::ReadWay;
use crate::budget::{Budget, Phase, Statistics};
use crate::graph::{Cycle, Node};
use crate::resolve::PackedWriter;
use crate::solver::{Origin, SearchOutcome, Solver};
use crate::theory::{Conditional, Hop, Lit, NO_LIT, Role, Theory, Variable};
use crate::verdict::Doubt;
use skew_history::{EventId, TransactionId, Writer};

/// What a puzzle comes to.
pub(super) enum Solved {
    /// Each moment by its transaction, first to last; and who wrote what reads returned that several could explain, sorted by event.
    Order(Vec<TransactionId>, Vec<(EventId, Writer)>),
    /// There is none; these take part in the contradiction.
    Impossible(Vec<TransactionId>),
    /// Neither, for this reason.
    Unknown(Doubt),
}

/// Looks once more at an order of all moments.
pub(super) type Acceptance<'a> = &'a mut dyn FnMut(&[TransactionId], &[(EventId, Writer)]) -> bool;

/// Solves a puzzle; `accept` looks once more at whatever is found.
pub(super) fn solve(
    puzzle: &mut Puzzle<'_, '_>,
    budget: &mut Budget<'_>,
    statistics: &mut Statistics,
    accept: Acceptance<'_>,
) -> Solved {
    budget.enter(Phase::Construct, puzzle.resolved.transaction_count());
    let mut edges = Vec::new();
    let untold = puzzle.told(&mut edges);
    edges.into_iter().for_each(|edge| puzzle.graph.add(edge.from, edge.to));
    if let Err(Cycle(nodes)) = puzzle.sort() {
        return Solved::Impossible(puzzle.transactions_of(nodes));
    }
    if !budget.spend((puzzle.order.len() + puzzle.graph.edges().len()) as u64) {
        return Solved::Unknown(budget.doubt());
    }
    let guesses = [KeyShares::AtStart, KeyShares::AsTheyStand];
    let guesses = guesses.into_iter().take(if puzzle.has_open_key_shares() { 2 } else { 1 });
    for shares in guesses {
        if let Some(steps) = guess::schedule(puzzle, &untold, shares).filter(|steps| accept(steps, &[])) {
            return Solved::Order(steps, Vec::new());
        }
    }
    if let Err(Cycle(nodes)) = construct(puzzle, &untold) {
        return Solved::Impossible(puzzle.transactions_of(nodes));
    }
    statistics.constraints_before = puzzle.open.len() as u64;
    budget.enter(Phase::Prune, puzzle.open.len());
    let clocks = match prune(puzzle, budget, &mut statistics.rounds) {
        Ok(clocks) => clocks,
        Err(solved) => return solved,
    };
    statistics.constraints_after = puzzle.open.len() as u64;
    let question = PairQuestion::new(puzzle, &clocks);
    drop(clocks);
    statistics.unknown_dependencies_after = question.conditionals.len() as u64;
    budget.enter(Phase::Search, question.variables);
    question.search(puzzle, budget, statistics, accept)
}

/// Adds what follows from what is known, and finds the open pairs.
fn construct(puzzle: &mut Puzzle<'_, '_>, untold: &[Untold]) -> Result<(), Cycle> {
    let mut edges = Vec::new();
    puzzle.open = puzzle.constructed(untold, &mut edges);
    let has_more = !edges.is_empty();
    edges.into_iter().for_each(|edge| puzzle.graph.add(edge.from, edge.to));
    if has_more { puzzle.sort() } else { Ok(()) }
}

/// Prunes to a fixpoint; the reachability that is left.
fn prune(puzzle: &mut Puzzle<'_, '_>, budget: &mut Budget<'_>, rounds: &mut u64) -> Result<ServerReach, Solved> {
    loop {
        *rounds += 1;
        let work = puzzle.order.len() + puzzle.graph.edges().len() + puzzle.open.len();
        if !budget.spend(work as u64) {
            return Err(Solved::Unknown(budget.doubt()));
        }
        if let Err(Cycle(nodes)) = puzzle.sort() {
            return Err(Solved::Impossible(puzzle.transactions_of(nodes)));
        }
        let clocks = puzzle.clocks();
        let mut still_open = Vec::new();
        let mut edges: [Vec<PuzzleEdge>; 2] = [Vec::new(), Vec::new()];
        let open = std::mem::take(&mut puzzle.open);
        for &pair in &open {
            let [forwards, backwards] = &mut edges;
            forwards.clear();
            backwards.clear();
            puzzle.pair_brings(pair, true, forwards);
            puzzle.pair_brings(pair, false, backwards);
            let chains = &puzzle.nodes.chains;
            let is_possible = |edges: &[PuzzleEdge]| {
                !edges.iter().any(|edge| edge.from == edge.to || clocks.reaches(chains, edge.to, edge.from))
            };
            let as_it_stands = match (is_possible(forwards), is_possible(backwards)) {
                (true, true) => {
                    still_open.push(pair);
                    continue;
                }
                (false, false) => {
                    let nodes = forwards.iter().chain(&*backwards).flat_map(|edge| [edge.from, edge.to]);
                    return Err(Solved::Impossible(puzzle.transactions_of(nodes)));
                }
                (as_it_stands, _) => as_it_stands,
            };
            puzzle.found.insert(pair, as_it_stands);
            let certain = if as_it_stands { &*forwards } else { &*backwards };
            let is_new = |&(from, to): &NodePair| !clocks.reaches(chains, from, to);
            let new: Vec<NodePair> = certain.iter().map(PuzzleEdge::ends).filter(is_new).collect();
            new.into_iter().for_each(|(from, to)| puzzle.graph.add(from, to));
        }
        let has_decided = still_open.len() < open.len();
        puzzle.open = still_open;
        if !has_decided {
            return Ok(clocks);
        }
    }
}

/// What is left, for the solver.
struct PairQuestion {
    pairs: Vec<Pair>,
    /// Per read with several ways its first variable, and the read.
    reads: Vec<(usize, u32)>,
    variables: usize,
    conditionals: Vec<Conditional>,
    clauses: Vec<Vec<Lit>>,
    /// Per literal the edges that it brings, by number.
    edges_of: Vec<Vec<u32>>,
}

impl PairQuestion {
    fn new(puzzle: &Puzzle<'_, '_>, clocks: &ServerReach) -> PairQuestion {
        let pairs = puzzle.open.clone();
        let mut question = PairQuestion {
            variables: pairs.len(),
            pairs,
            reads: Vec::new(),
            conditionals: Vec::new(),
            clauses: Vec::new(),
            edges_of: Vec::new(),
        };
        for number in 0..question.pairs.len() {
            let before = Variable::new(number).positive();
            for (literal, as_it_stands) in [(before, true), (before.negated(), false)] {
                let mut edges = Vec::new();
                puzzle.pair_brings(question.pairs[number], as_it_stands, &mut edges);
                edges.iter().for_each(|edge| question.add(edge.ends(), [literal, NO_LIT]));
            }
        }
        for read in 0..puzzle.reads.all.len() as u32 {
            if puzzle.reads.ways(puzzle.read(read)).len() > 1 {
                question.add_read(puzzle, clocks, read);
            }
        }
        question.edges_of = vec![Vec::new(); 2 * question.variables];
        for (number, edge) in question.conditionals.iter().enumerate() {
            if edge.literals[0] != NO_LIT {
                question.edges_of[edge.literals[0].index()].push(number as u32);
            }
        }
        question
    }

    fn add(&mut self, (from, to): NodePair, literals: [Lit; 2]) {
        self.conditionals.push(Conditional { from, to, literals, role: Role::Dependency });
    }

    /// A read took one of its ways; two conditions where somebody may have overwritten what it read.
    fn add_read(&mut self, puzzle: &Puzzle<'_, '_>, clocks: &ServerReach, number: u32) {
        let read = puzzle.read(number);
        let (first, ways) = (self.variables, puzzle.reads.ways(read).len());
        self.variables += ways;
        self.reads.push((first, number));
        let chosen = |place: usize| Variable::new(first + place).positive();
        self.clauses.push((0..ways).map(chosen).collect());
        for (place, &way) in puzzle.reads.ways(read).iter().enumerate() {
            let mut edges = Vec::new();
            puzzle.way_brings(number, way, &mut edges);
            edges.drain(..).for_each(|edge| self.add(edge.ends(), [chosen(place), NO_LIT]));
            let ReadWay::Latest(writer) = way else { continue };
            for &later in puzzle.holders.kept_on(read.key) {
                let later = puzzle.holders.get(later);
                if later.changes.is_none() || writer.transaction() == Some(later.transaction) {
                    continue;
                }
                let Some(condition) = self.before(puzzle, clocks, writer, later.transaction) else { continue };
                puzzle.overwrite_brings(number, writer, later, &mut edges);
                edges.drain(..).for_each(|edge| self.add(edge.ends(), [chosen(place), condition]));
            }
        }
    }

    /// The literal "this one changed the key before that one": none at all when it is certain; nothing when it is certain that it did not.
    fn before(
        &self,
        puzzle: &Puzzle<'_, '_>,
        clocks: &ServerReach,
        writer: PackedWriter,
        later: TransactionId,
    ) -> Option<Lit> {
        let Some(writer) = writer.transaction() else { return Some(NO_LIT) };
        let pair = Pair::Kept(writer.min(later), writer.max(later));
        let is_first = writer < later;
        if let Some(&as_it_stands) = puzzle.found.get(&pair) {
            return (as_it_stands == is_first).then_some(NO_LIT);
        }
        if let Ok(number) = self.pairs.binary_search(&pair) {
            let literal = Variable::new(number).positive();
            return Some(if is_first { literal } else { literal.negated() });
        }
        let is_before = clocks.reaches(&puzzle.nodes.chains, puzzle.end(writer), puzzle.end(later));
        is_before.then_some(NO_LIT)
    }

    fn search(
        &self,
        puzzle: &Puzzle<'_, '_>,
        budget: &mut Budget<'_>,
        statistics: &mut Statistics,
        accept: Acceptance<'_>,
    ) -> Solved {
        let theory = Theory::new(&puzzle.graph, &puzzle.order, Vec::new(), self.conditionals.clone());
        let pairs = self.pairs.iter().map(|&pair| rank(puzzle, &theory, pair));
        let ranks: Vec<u32> = pairs.chain(std::iter::repeat(0)).take(self.variables).collect();
        let mut solver = Solver::new(theory, &ranks);
        self.clauses.iter().for_each(|clause| solver.add_given(clause.clone()));
        solver.insert_unconditional();
        let mut found = None;
        let mut refused = 0;
        let mut check = |solver: &Solver<'_>| {
            let steps = self.steps(puzzle, solver);
            let writers = self.writers(puzzle, solver);
            if accept(&steps, &writers) {
                found = Some((steps, writers));
                return None;
            }
            refused += 1;
            let literals = (0..self.variables).map(|variable| Variable::new(variable).positive());
            let literal = |it: Lit| if solver.is_true(it) { it.negated() } else { it };
            Some((literals.map(literal).collect(), refused))
        };
        let outcome = solver.search(&|theory, variable| self.polarity(theory, variable), &mut check, budget);
        statistics.decisions = solver.decision_count;
        statistics.conflicts = solver.conflict_count;
        match (outcome, found) {
            (SearchOutcome::Model, Some((steps, writers))) => Solved::Order(steps, writers),
            // What was refused might be right with the same answers and other moments.
            (SearchOutcome::Refuted(clauses), _) if refused == 0 => {
                let nodes = clauses.iter().flat_map(|&clause| self.nodes_of(&solver.clause(clause).origin));
                Solved::Impossible(puzzle.transactions_of(nodes))
            }
            (SearchOutcome::Exhausted, _) => Solved::Unknown(budget.doubt()),
            (SearchOutcome::Model | SearchOutcome::Refuted(_), _) => Solved::Unknown(Doubt::TooManyOrders),
        }
    }

    /// The nodes of the cycle that a clause stands for.
    fn nodes_of(&self, origin: &Origin) -> Vec<Node> {
        let ends = |hop: &Hop| match *hop {
            Hop::Known { from, to } | Hop::KnownOverwrite { from, to } => [from, to],
            Hop::Conditional(number) => {
                let edge = self.conditionals[number.index()];
                [edge.from, edge.to]
            }
        };
        match origin {
            Origin::Cycle(hops) => hops.iter().flat_map(ends).collect(),
            Origin::Given | Origin::Lemma(_) | Origin::Learnt { .. } => Vec::new(),
        }
    }

    /// How far the edges that a literal brings go against the row.
    fn displacement(&self, theory: &Theory<'_>, literal: Lit) -> u64 {
        let edges = self.edges_of[literal.index()].iter().map(|&edge| &self.conditionals[edge as usize]);
        edges.map(|edge| u64::from(theory.place(edge.from).saturating_sub(theory.place(edge.to)))).sum()
    }

    fn polarity(&self, theory: &Theory<'_>, variable: Variable) -> bool {
        let literal = variable.positive();
        let (forwards, backwards) = (self.displacement(theory, literal), self.displacement(theory, literal.negated()));
        forwards <= backwards
    }

    /// Who wrote what reads with several ways returned, sorted by event.
    fn writers(&self, puzzle: &Puzzle<'_, '_>, solver: &Solver<'_>) -> Vec<(EventId, Writer)> {
        let writer = |&(first, number): &(usize, u32)| {
            let read = puzzle.read(number);
            let look = &puzzle.looks.all[read.look? as usize];
            let is_taken = |place: &usize| solver.is_true(Variable::new(first + place).positive());
            let ways = puzzle.reads.ways(read);
            match ways[(0..ways.len()).find(is_taken)?] {
                ReadWay::Latest(writer) => Some((look.event, Writer::from(writer))),
                ReadWay::Deleted(_) | ReadWay::WaitedFor(_) => None,
            }
        };
        let mut writers: Vec<(EventId, Writer)> = self.reads.iter().filter_map(writer).collect();
        writers.sort_unstable();
        writers
    }

    /// The moments in the order that was found, each by its transaction.
    fn steps(&self, puzzle: &Puzzle<'_, '_>, solver: &Solver<'_>) -> Vec<TransactionId> {
        let mut order = puzzle.order.clone();
        order.sort_unstable_by_key(|&node| solver.theory.place(node));
        puzzle.steps(&order)
    }
}

/// Pairs in the order in which the row comes to them, so that what is decided next to each other stands next to each other.
fn rank(puzzle: &Puzzle<'_, '_>, theory: &Theory<'_>, pair: Pair) -> u32 {
    let place = |moment: Moment| theory.place(puzzle.nodes.of(moment));
    match pair {
        Pair::Kept(one, other) => place(puzzle.looks.end(one)).min(place(puzzle.looks.end(other))),
        Pair::Glance(one, other) => {
            place(puzzle.holders.get(one).release).min(place(puzzle.holders.get(other).release))
        }
    }
}

impl Puzzle<'_, '_> {
    /// The moments of nodes in some order, each by its transaction.
    pub(super) fn steps(&self, order: &[Node]) -> Vec<TransactionId> {
        let mut steps = Vec::with_capacity(self.looks.moment_count());
        for &node in order {
            let moments = self.nodes.moments(node);
            let transaction = moments.clone().next().map(|moment| self.looks.transaction_at(Moment::new(moment)));
            steps.extend(moments.filter_map(|_| transaction));
        }
        steps
    }
}
