//! One level of one history: from resolved reads to a verdict with its certificate.
//!
//! ```text
//!   forced edges ──> certain graph ──> open pairs ──> pruning ──> search ──> Verdict
//!   (rc, ra, cc)         │ cycle            none │        │ contradiction   │ model, refutation
//!                        └─> Fails               └─> Holds└─> Fails
//! ```

use crate::Options;
use crate::anomaly::{Anomaly, Edge, EdgeKind, Proof, ProofStep, Refutation};
use crate::budget::{Budget, Phase, Statistics};
use crate::commit_order::{CommitOrder, Instant};
use crate::graph::{Cycle, Graph, Node};
use crate::polygraph::{Polygraph, Reach};
use crate::prove::{Prover, assumptions, merge_sessions, must_see};
use crate::prune::{Pruned, prune};
use crate::resolve::{INITIAL, Resolved};
use crate::rules::Rules;
use crate::saturate::{Choices, Forced, Saturation};
use crate::search::Question;
use crate::solver::{SearchOutcome, Solver};
use crate::theory::Lit;
use crate::verdict::Verdict;
use skew_history::{IsolationLevel, Writer};

/// Decides one level.
pub(crate) fn decide(
    resolved: &Resolved<'_>,
    level: IsolationLevel,
    options: Options,
    budget: &mut Budget<'_>,
    statistics: &mut Statistics,
) -> Verdict {
    // Saturation and construction take seconds on large histories and look at nobody: the time to ask is before each.
    if budget.is_stopped() {
        return Verdict::Unknown(budget.doubt());
    }
    let rules = Rules::new(resolved, level);
    budget.enter(Phase::Saturate, resolved.transaction_count());
    // Where session order and reads alone go round there are none, and the certain graph will show the cycle.
    let forced = saturate(&rules, &Choices::new()).unwrap_or_default();
    if let Some(impossible) = forced.iter().find(|forced| forced.to == INITIAL) {
        let edges = before_initial(must_see(resolved, &Choices::new(), impossible, |reader| rules.sight(reader)));
        let proof = Proof { steps: vec![ProofStep::Cycle(edges)] };
        return Verdict::Fails(Anomaly { level, refutation: Refutation::Proof(proof) });
    }
    let mut polygraph = Polygraph::new(rules, forced);
    if let Err(contradiction) = polygraph.sort() {
        return Verdict::Fails(Prover::new(&polygraph, level).contradiction(&contradiction));
    }
    if resolved.ambiguous.is_empty() && resolved.excluded.is_empty() && !polygraph.orders_anything() {
        return Verdict::Holds(commit_order(&polygraph, &polygraph.order, Vec::new()));
    }
    if budget.is_stopped() {
        return Verdict::Unknown(budget.doubt());
    }
    budget.enter(Phase::Construct, resolved.transaction_count());
    polygraph.count_all_pairs(statistics);
    let reach = polygraph.reach();
    polygraph.construct(&reach);
    drop(reach);
    search(polygraph, level, options, budget, statistics)
}

fn search(
    mut polygraph: Polygraph<'_, '_>,
    level: IsolationLevel,
    options: Options,
    budget: &mut Budget<'_>,
    statistics: &mut Statistics,
) -> Verdict {
    let reach = match pruned(&mut polygraph, options, budget, statistics) {
        Ok(reach) => reach,
        Err(verdict) => return *verdict,
    };
    statistics.constraints_after = polygraph.open.len() as u64;
    let resolved = polygraph.rules.resolved;
    let locking_at_psi = polygraph.rules.watches_overwrites() && resolved.has_locking;
    let is_settled = polygraph.open.is_empty() && resolved.ambiguous.is_empty() && resolved.excluded.is_empty();
    if is_settled && !locking_at_psi && options.prune {
        return Verdict::Holds(commit_order(&polygraph, &polygraph.order, Vec::new()));
    }
    let question = Question::new(&polygraph, &reach);
    drop(reach);
    statistics.unknown_dependencies_after = question.conditional_count() as u64;
    budget.enter(Phase::Search, question.variable_count());
    let mut solver = question.solver(&polygraph);
    let mut lemmas: Vec<Vec<Edge>> = Vec::new();
    let mut accepted = None;
    let mut check = |solver: &Solver<'_>| match judge_choices(&polygraph, &question, solver) {
        Ok(order) => {
            accepted = order;
            None
        }
        Err(edges) => {
            let clause = clause_of(&polygraph, &question, &edges);
            lemmas.push(edges);
            Some((clause, lemmas.len() - 1))
        }
    };
    let outcome = question.search(&polygraph, &mut solver, &mut check, budget);
    statistics.decisions = solver.decision_count;
    statistics.conflicts = solver.conflict_count;
    match outcome {
        SearchOutcome::Exhausted => Verdict::Unknown(budget.doubt()),
        SearchOutcome::Refuted(clauses) => {
            Verdict::Fails(Prover::new(&polygraph, level).search(&question, &solver, &clauses, &lemmas))
        }
        SearchOutcome::Model => {
            let order = accepted.unwrap_or_else(|| {
                let mut order = polygraph.order.clone();
                order.sort_unstable_by_key(|&node| solver.theory.place(node));
                order
            });
            Verdict::Holds(commit_order(&polygraph, &order, question.choices(&solver)))
        }
    }
}

/// Prunes, unless that is switched off; the reachability that is left, or the verdict.
fn pruned(
    polygraph: &mut Polygraph<'_, '_>,
    options: Options,
    budget: &mut Budget<'_>,
    statistics: &mut Statistics,
) -> Result<Reach, Box<Verdict>> {
    let level = polygraph.rules.asked();
    budget.enter(Phase::Prune, polygraph.open.len());
    if options.prune {
        return match prune(polygraph, budget, &mut statistics.rounds) {
            Pruned::Open(reach) => Ok(reach),
            Pruned::Exhausted => Err(Box::new(Verdict::Unknown(budget.doubt()))),
            Pruned::Contradiction(contradiction) => {
                Err(Box::new(Verdict::Fails(Prover::new(polygraph, level).contradiction(&contradiction))))
            }
        };
    }
    match polygraph.sort() {
        Ok(()) => Ok(polygraph.reach()),
        Err(contradiction) => {
            Err(Box::new(Verdict::Fails(Prover::new(polygraph, level).contradiction(&contradiction))))
        }
    }
}

/// The forced edges of the polynomial levels that occur.
fn saturate(rules: &Rules<'_, '_>, choices: &Choices) -> Result<Vec<Forced>, Cycle> {
    let mut saturation = Saturation::new(rules.resolved, choices);
    for sight in rules.sights() {
        saturation.saturate(sight, |reader| rules.sight(reader) == Some(sight) && rules.resolved.counts(reader))?;
    }
    Ok(saturation.forced)
}

/// An edge into the initial state closes a cycle at once: the initial state is before everything.
fn before_initial(edge: Edge) -> Vec<Edge> {
    let back = Edge { from: Writer::Initial, to: edge.from, kind: EdgeKind::SessionOrder };
    vec![edge, back]
}

/// What the polynomial levels have to say about the writers that a full assignment chose for ambiguous reads: an order that
/// obeys them too (nothing when they do not occur), or a cycle.
fn judge_choices(
    polygraph: &Polygraph<'_, '_>,
    question: &Question,
    solver: &Solver<'_>,
) -> Result<Option<Vec<Node>>, Vec<Edge>> {
    let rules = &polygraph.rules;
    if rules.sights().is_empty() || rules.resolved.ambiguous.is_empty() {
        return Ok(None);
    }
    let choices = question.choices(solver);
    let forced = saturate(rules, &choices).expect("the theory keeps session order and reads acyclic");
    let must_see = |forced: &Forced| must_see(rules.resolved, &choices, forced, |reader| rules.sight(reader));
    if let Some(impossible) = forced.iter().find(|forced| forced.to == INITIAL) {
        return Err(before_initial(must_see(impossible)));
    }
    let mut graph = Graph::new(polygraph.graph.chains.clone());
    polygraph.graph.edges().iter().for_each(|&(from, to)| graph.add(from, to));
    let holding = solver.theory.holding();
    holding.iter().for_each(|edge| graph.add(edge.1, edge.2));
    let forced_ends = |forced: &Forced| forced.ends().map(|(from, to)| (rules.commit(from), rules.commit(to)));
    forced.iter().filter_map(forced_ends).for_each(|(from, to)| graph.add(from, to));
    graph.index();
    let nodes = match graph.topological_order() {
        Ok(order) => return Ok(Some(order)),
        Err(Cycle(nodes)) => nodes,
    };
    let mut prover = Prover::new(polygraph, rules.asked());
    let mut edges = Vec::new();
    for (at, &from) in nodes.iter().enumerate() {
        let to = nodes[(at + 1) % nodes.len()];
        let of_forced = |forced: &&Forced| forced_ends(forced) == Some((from, to));
        if polygraph.has_edge(from, to) {
            edges.extend(prover.known_edges(from, to));
        } else if let Some(&(number, ..)) = holding.iter().find(|edge| edge.1 == from && edge.2 == to) {
            edges.push(question.told(number));
        } else if let Some(forced) = forced.iter().find(of_forced) {
            edges.push(must_see(forced));
        }
    }
    Err(merge_sessions(edges))
}

/// Not everything that a cycle assumes is true.
fn clause_of(polygraph: &Polygraph<'_, '_>, question: &Question, edges: &[Edge]) -> Vec<Lit> {
    let assumed = edges.iter().flat_map(|edge| assumptions(polygraph.rules.resolved, edge));
    let mut literals: Vec<Lit> = assumed.filter_map(|literal| Some(question.find(literal)?.negated())).collect();
    literals.sort_unstable();
    literals.dedup();
    literals
}

/// The transactions that count, in the order of their nodes.
fn commit_order(polygraph: &Polygraph<'_, '_>, order: &[Node], choices: Choices) -> CommitOrder {
    let rules = &polygraph.rules;
    let instant = |&node: &Node| {
        let id = rules.transaction(node).filter(|&transaction| rules.resolved.counts(transaction))?;
        Some(if rules.commit(id) == node { Instant::Commit(id) } else { Instant::Begin(id) })
    };
    let ambiguous = &rules.resolved.ambiguous;
    let mut choices: Vec<_> =
        ambiguous.iter().zip(choices).map(|(ambiguous, writer)| (ambiguous.event, Writer::from(writer))).collect();
    choices.sort_unstable();
    CommitOrder { instants: order.iter().filter_map(instant).collect(), choices }
}
