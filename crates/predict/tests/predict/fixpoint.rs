//! The paper's approximation misses something.

use crate::{ask, history, word};
use skew_check::{Budget, Verdict, check};
use skew_history::IsolationLevel;
use skew_predict::{PredictQuestion, Strategy, is_refuted_by_forced_order};

/// Not serializable with rA reading x from A, and the forced order has no cycle.
const OBSERVED: &str = "A: w(x,1) w(a,1); B: w(x,2) w(b,1); C: w(y,1) w(c,1); D: w(y,2) w(d,1); E: w(z,1) w(e,1); F: w(z,2) w(f,1); \
    rC: r(y,1) r(b,1); rD: r(y,2) r(b,1); rE: r(z,1) r(a,1); rF: r(z,2) r(a,1); rA: r(c,1) r(d,1) r(x,2); rB: r(x,2) r(e,1) r(f,1)";

#[test]
fn the_fixpoint_says_nothing_where_the_search_finds_a_run() {
    let observed = history(OBSERVED);
    let only_session = observed.sessions().find(|&session| observed.session_name(session).to_string() == "rA");
    let question = PredictQuestion {
        strategy: Strategy::ExactStrict,
        only_session,
        ..PredictQuestion::new(IsolationLevel::Causal)
    };
    assert_eq!(word(&ask(&observed, &question)), "found");
    let predicted = history(&OBSERVED.replace("r(d,1) r(x,2)", "r(d,1) r(x,1)"));
    assert!(matches!(check(&predicted, IsolationLevel::Serializable, Budget::UNLIMITED), Verdict::Fails(_)));
    assert!(!is_refuted_by_forced_order(&predicted));
    assert!(is_refuted_by_forced_order(&history("a: r(x,init) w(x,1); b: r(x,init) w(x,2)")));
}
