//! Specifications of users: what they may say, and what is refused with a reason.

use crate::withdraw::WITHDRAW;
use crate::{analysis, cycle, is_found, transactions};
use skew_analyze::anode::{BoundedAnalysis, BoundedOptions, PAPER_LEVELS, Specification};

#[test]
fn a_level_is_the_same_by_its_name_and_by_its_rules() {
    let rules = "-- parallel snapshot isolation
forall a b c: vis(a, b) and vis(b, c) => vis(a, c)
forall a b: ww(a, b) => vis(a, b)";
    for size in 2..=3 {
        assert!(!is_found(&cycle(&analysis(WITHDRAW, rules), size)));
    }
    assert!(is_found(&cycle(&analysis(WITHDRAW, "causal"), 2)));
    assert!(PAPER_LEVELS.iter().all(|level| Specification::level(level).is_some()));
    assert_eq!(Specification::level("read-committed"), None);
}

#[test]
fn a_rule_for_one_procedure_is_enough_where_it_is_the_only_one() {
    assert!(!is_found(&cycle(&analysis(WITHDRAW, "psi(withdraw)"), 2)));
    assert!(!is_found(&cycle(&analysis(WITHDRAW, "serializable(withdraw, withdraw)"), 2)));
    let either = "forall a b: not a = b => vis(a, b) or vis(b, a)";
    assert!(!is_found(&cycle(&analysis(WITHDRAW, either), 2)));
}

#[test]
fn what_cannot_be_said_is_refused_with_its_line_and_the_reason() {
    let refused = |text: &str| Specification::parse("asked", text).expect_err(text).to_string();
    assert!(refused("causal\nexists a: vis(a, a)").starts_with("line 2: there is no `exists`"));
    assert!(refused("forall a b: rw(a, b) => vis(a, b)").contains("none of the few instances"));
    assert!(refused("forall a b: vis(a, b) => ww(a, b)").contains("cannot ask for it"));
    assert!(refused("forall a: vis(a, b) => vis(a, a)").contains("`b` is not among the variables"));
    assert!(refused("snapshots").contains("is not known"));
    assert!(refused("psi(p").contains("not closed"));
    assert!(refused("forall a b vis(a, b)").contains("colon"));
}

#[test]
fn a_specification_of_a_procedure_that_is_not_there_is_refused() {
    let specification = Specification::parse("asked", "psi(deposit)").expect("a specification");
    let refused = BoundedAnalysis::new(transactions(WITHDRAW), specification).expect_err("no deposit");
    assert!(refused.contains("deposit"), "{refused}");
}

#[test]
fn rules_that_contradict_each_other_prove_nothing() {
    let rules = "forall a b: not ar(a, b) and not ar(b, a) => vis(a, b)";
    let answers = analysis(WITHDRAW, rules).answers(BoundedOptions::default());
    assert!(matches!(answers[0].verdict, skew_analyze::finding::AnalysisVerdict::Unknown(_)), "{answers:?}");
    assert_eq!(answers.len(), 1);
}
