//! Histories that hide 3-SAT: pruning sees nothing, so search and its certificate have to do the work.
//!
//! An occurrence of a variable is a pair of transactions that write one key, its value their order. A *cycle* leads through readers
//! and closes exactly when given occurrences have given values:
//!
//! ```text
//!   T: w(o,1)    F: w(o,2)                          o is true when T's version is before F's
//!
//!   reader of T's version ─rw→ F (when o is true) ─wr→ the next reader ─rw→ … ─wr→ the first reader
//! ```
//!
//! A clause is a cycle through its three literals being false; two more cycles make each two occurrences of a variable equal. Without
//! an order nothing is known, because writers reach readers only. So a history is serializable (and snapshot, and prefix, whose rule
//! such cycles break too) exactly when its formula can be satisfied.

mod support;

use batsat::{BasicSolver, Lit, SolverInterface, Var, lbool};
use skew_check::{Budget, IsolationLevel, Options, Verdict, check_levels};
use skew_history::{History, HistoryBuilder};
use support::Random;

/// A literal: the variable, and whether it is negated.
type Literal = (usize, bool);
type Clause = [Literal; 3];

/// A formula with three different variables in every clause.
fn random_formula(random: &mut Random, variables: usize, clauses: usize) -> Vec<Clause> {
    let mut clause = || loop {
        let literal = |random: &mut Random| (random.below(variables), random.chance(50));
        let clause = [literal(random), literal(random), literal(random)];
        let [a, b, c] = clause.map(|literal| literal.0);
        if a != b && b != c && a != c {
            return clause;
        }
    };
    (0..clauses).map(|_| clause()).collect()
}

fn is_satisfiable(formula: &[Clause], variables: usize) -> bool {
    (0u32..1 << variables).any(|values| {
        formula.iter().all(|clause| clause.iter().any(|&(variable, negated)| (values >> variable & 1 == 1) != negated))
    })
}

/// The same by another solver, for more variables than brute force can try.
fn is_satisfiable_by_batsat(formula: &[Clause], variables: usize) -> bool {
    let mut solver = BasicSolver::default();
    let variables: Vec<Var> = (0..variables).map(|_| solver.new_var_default()).collect();
    for clause in formula {
        let mut literals: Vec<Lit> =
            clause.iter().map(|&(variable, negated)| Lit::new(variables[variable], !negated)).collect();
        solver.add_clause_reuse(&mut literals);
    }
    solver.solve_limited(&[]) == lbool::TRUE
}

/// Occurrences with the values that close a cycle.
type Cycle = Vec<(usize, bool)>;

/// The cycles of a formula: occurrence `3 n + i` is literal `i` of clause `n`.
fn cycles_of(formula: &[Clause], variables: usize) -> Vec<Cycle> {
    let mut occurrences: Vec<Vec<usize>> = vec![Vec::new(); variables];
    let mut cycles = Vec::new();
    for (number, clause) in formula.iter().enumerate() {
        // A literal is false when its variable's value is whether it is negated.
        cycles.push(clause.iter().enumerate().map(|(place, literal)| (3 * number + place, literal.1)).collect());
        for (place, &(variable, _)) in clause.iter().enumerate() {
            occurrences[variable].push(3 * number + place);
        }
    }
    for same in occurrences.iter().filter(|same| same.len() > 1) {
        for (place, &one) in same.iter().enumerate() {
            cycles.push(vec![(one, true), (same[(place + 1) % same.len()], false)]);
        }
    }
    cycles
}

/// The history that is serializable when the formula can be satisfied.
fn history_of(formula: &[Clause], variables: usize) -> History {
    let cycles = cycles_of(formula, variables);
    let mut builder = HistoryBuilder::new();
    let mut event = |session: &str, begin: bool, read: bool, key: &str, value: i64| {
        let (session, key, value) = (builder.session(session), builder.key(key), builder.values().integer(value));
        if begin {
            builder.begin(session, None).unwrap();
        }
        if read { builder.read(key, value) } else { builder.write(key, value) }
    };
    let link = |cycle: usize, place: usize| format!("link/{cycle}/{place}");
    for occurrence in 0..3 * formula.len() {
        for value in [true, false] {
            // A cycle that wants the occurrence true goes on through the writer of false, which is the later one then.
            let session = format!("o{occurrence}={value}");
            event(&session, true, false, &format!("o{occurrence}"), if value { 1 } else { 2 });
            for (number, cycle) in cycles.iter().enumerate() {
                for place in (0..cycle.len()).filter(|&place| cycle[place] == (occurrence, !value)) {
                    event(&session, false, false, &link(number, place), 1);
                }
            }
        }
    }
    for (number, cycle) in cycles.iter().enumerate() {
        for (place, &(occurrence, value)) in cycle.iter().enumerate() {
            let session = format!("c{number}.{place}");
            event(&session, true, true, &link(number, (place + cycle.len() - 1) % cycle.len()), 1);
            event(&session, false, true, &format!("o{occurrence}"), if value { 1 } else { 2 });
        }
    }
    builder.finish().unwrap()
}

fn verdict_of(history: &History, level: IsolationLevel) -> (Verdict, u64) {
    let report = check_levels(history, &[level], Options::default(), Budget::UNLIMITED).remove(0);
    match &report.verdict {
        Verdict::Holds(order) => assert!(order.justifies(history, level)),
        Verdict::Fails(anomaly) => assert!(anomaly.refutes(history, level)),
        Verdict::Unknown(_) => panic!("there was no budget to run out of"),
    }
    assert_eq!(report.statistics.constraints_after, report.statistics.constraints_before, "pruning decided something");
    (report.verdict, report.statistics.conflicts)
}

#[test]
fn verdicts_are_those_of_the_formula() {
    let (mut holds, mut fails) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(900 + seed);
        let variables = 8;
        let formula = random_formula(&mut random, variables, 30 + seed as usize % 16);
        let history = history_of(&formula, variables);
        let satisfiable = is_satisfiable(&formula, variables);
        for level in [IsolationLevel::Prefix, IsolationLevel::Snapshot, IsolationLevel::Serializable] {
            let (verdict, _) = verdict_of(&history, level);
            assert_eq!(verdict.holds(), satisfiable, "{level}, {formula:?}");
        }
        if satisfiable { holds += 1 } else { fails += 1 }
    }
    assert!(holds > 10 && fails > 10, "{holds} hold, {fails} fail");
}

#[test]
fn verdicts_are_those_of_another_solver_near_the_threshold() {
    let (mut holds, mut fails) = (0, 0);
    for seed in 0..30 {
        let mut random = Random::new(4_300 + seed);
        let variables = 24;
        // Half of the random formulas with 4.3 clauses per variable can be satisfied, and these are the hardest.
        let formula = random_formula(&mut random, variables, 103);
        let satisfiable = is_satisfiable_by_batsat(&formula, variables);
        let (verdict, _) = verdict_of(&history_of(&formula, variables), IsolationLevel::Serializable);
        assert_eq!(verdict.holds(), satisfiable, "{formula:?}");
        if satisfiable { holds += 1 } else { fails += 1 }
    }
    assert!(holds > 3 && fails > 3, "{holds} hold, {fails} fail");
}

#[test]
fn a_formula_that_needs_many_conflicts_is_refuted_with_a_proof_that_checks() {
    let mut random = Random::new(7);
    let variables = 25;
    let formula = random_formula(&mut random, variables, 6 * variables);
    let (verdict, conflicts) = verdict_of(&history_of(&formula, variables), IsolationLevel::Serializable);
    assert!(verdict.fails(), "six clauses a variable are too many");
    assert!(conflicts > 50, "only {conflicts} conflicts");
}

#[test]
fn a_search_that_runs_out_of_budget_says_so() {
    let mut random = Random::new(7);
    let formula = random_formula(&mut random, 25, 150);
    let history = history_of(&formula, 25);
    let budget = Budget::steps(20_000);
    let report = check_levels(&history, &[IsolationLevel::Serializable], Options::default(), budget).remove(0);
    assert_eq!(report.verdict.word(), "unknown");
}
