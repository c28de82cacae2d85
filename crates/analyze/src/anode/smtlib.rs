//! Claims as a text in SMT-LIB, for a second opinion: `z3 question.smt2` answers `sat` or `unsat`.
//!
//! Values and the places of instances in their order are whole numbers, so what follows from equalities and from the order is left to
//! the other solver and its own theory: nothing of that is shared with the solver of this project but the question.

use super::claims::{Claim, ClaimNode, Claims};
use std::fmt::Write as _;

/// What another solver says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SmtAnswer {
    /// There is a model.
    Satisfiable,
    /// There is none.
    Unsatisfiable,
    /// It did not find out.
    Unknown,
}

impl SmtAnswer {
    /// Reads what a solver printed; nothing where that is no answer.
    pub fn read(printed: &str) -> Option<SmtAnswer> {
        printed.lines().find_map(|line| match line.trim() {
            "sat" => Some(SmtAnswer::Satisfiable),
            "unsat" => Some(SmtAnswer::Unsatisfiable),
            "unknown" | "timeout" => Some(SmtAnswer::Unknown),
            _ => None,
        })
    }
}

/// The text of a question.
pub(crate) fn text(claims: &Claims) -> String {
    // Writing to a string cannot fail.
    let mut out = String::from("(set-logic QF_LIA)\n");
    for (number, value) in claims.values.iter().enumerate() {
        let _ = writeln!(out, "(declare-const v{number} Int){}", value.as_ref().map_or("", |_| " ; of the text"));
    }
    let constants: Vec<usize> = (0..claims.values.len()).filter(|value| claims.values[*value].is_some()).collect();
    for (place, first) in constants.iter().enumerate() {
        for second in constants[place + 1..].iter().filter(|second| claims.are_apart(*first, **second)) {
            let _ = writeln!(out, "(assert (not (= v{first} v{second})))");
        }
    }
    let instances = claims.nodes.iter().filter_map(|node| match node {
        ClaimNode::Arbitrated(_, second) => Some(second + 1),
        _ => None,
    });
    let instances = instances.max().unwrap_or_default();
    for one in 0..instances {
        let _ = writeln!(out, "(declare-const t{one} Int)");
    }
    // Who is compared is not at the same place; to say it of all others as well would only be more to read.
    for node in &claims.nodes {
        if let ClaimNode::Arbitrated(first, second) = node {
            let _ = writeln!(out, "(assert (not (= t{first} t{second})))");
        }
    }
    for (number, node) in claims.nodes.iter().enumerate() {
        let _ = match meaning(node) {
            None => writeln!(out, "(declare-const c{number} Bool)"),
            Some(meaning) => writeln!(out, "(define-fun c{number} () Bool {meaning})"),
        };
    }
    for clause in &claims.required {
        let any: Vec<String> = clause.iter().map(told).collect();
        let _ = writeln!(out, "(assert (or false {}))", any.join(" "));
    }
    out.push_str("(check-sat)\n");
    out
}

fn meaning(node: &ClaimNode) -> Option<String> {
    match node {
        ClaimNode::True => Some("true".to_owned()),
        ClaimNode::Free(_) | ClaimNode::Visible(..) => None,
        ClaimNode::Equal(first, second) => Some(format!("(= v{first} v{second})")),
        ClaimNode::Less(first, second) => Some(format!("(< v{first} v{second})")),
        ClaimNode::Arbitrated(first, second) => Some(format!("(< t{first} t{second})")),
        ClaimNode::All(claims) => {
            let parts: Vec<String> = claims.iter().map(told).collect();
            Some(format!("(and {})", parts.join(" ")))
        }
    }
}

fn told(claim: &Claim) -> String {
    if claim.negated { format!("(not c{})", claim.node) } else { format!("c{}", claim.node) }
}
