//! The first example of the paper: an account, and withdrawals that look before they take; and what a guard does to such an argument.

use crate::{STEPS, analysis, cycle, is_found};
use skew_analyze::anode::{BoundedOptions, BoundedQuestion, QuestionOutcome};
use skew_analyze::finding::{AnalysisEngine, AnalysisVerdict};
use skew_check::Budget;

pub(crate) const WITHDRAW: &str = "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE withdraw(IN number INT, IN amount INT)
BEGIN
  DECLARE held INT;
  SELECT balance INTO held FROM account WHERE id = number;
  IF held > amount THEN
    UPDATE account SET balance = held - amount WHERE id = number;
  END IF;
END;
";

const OPTIONS: BoundedOptions = BoundedOptions { up_to: 4, steps: STEPS };

#[test]
fn withdrawals_lose_updates_under_eventual_consistency() {
    let answers = analysis(WITHDRAW, "eventual").answers(OPTIONS);
    assert_eq!(answers.len(), 1);
    assert_eq!((&answers[0].verdict, answers[0].k), (&AnalysisVerdict::Anomaly, Some(2)));
    assert_eq!(answers[0].findings[0].anomaly, "lost-update");
    assert_eq!(answers[0].findings[0].transactions, ["withdraw", "withdraw"]);
}

#[test]
fn withdrawals_are_robust_under_psi_by_shortest_path_and_by_induction() {
    let analysis = analysis(WITHDRAW, "psi");
    for size in 2..=4 {
        assert!(!is_found(&cycle(&analysis, size)), "{size}");
    }
    // A path of two exists: two reads around a write. In the paper, where a read depends on its last writer alone, one of three does, too.
    let path = |length: usize| analysis.ask(&BoundedQuestion::Path(length, vec![0]), Budget::steps(STEPS));
    assert!(is_found(&path(2)));
    assert_eq!((path(3), path(4)), (QuestionOutcome::None, QuestionOutcome::None));
    assert_eq!(analysis.shortest_path(OPTIONS), Some(3));
    let answers = analysis.answers(OPTIONS);
    let told: Vec<_> = answers.iter().map(|answer| (answer.engine, answer.verdict.clone())).collect();
    assert_eq!(
        told,
        [(AnalysisEngine::Bounded, AnalysisVerdict::NoneUpToK), (AnalysisEngine::Inductive, AnalysisVerdict::Robust)]
    );
}

/// An UPDATE that may match nothing forces nothing.
#[test]
fn a_guard_that_may_match_nothing_proves_nothing() {
    let guarded = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);
CREATE TABLE guard (id INT PRIMARY KEY, enabled INT NOT NULL, n INT NOT NULL);
CREATE PROCEDURE p(IN mine INT, IN other INT)
BEGIN
  DECLARE a INT;
  SELECT v INTO a FROM t WHERE id = other;
  UPDATE guard SET n = n + 1 WHERE id = 0 AND enabled = 1;
  UPDATE t SET v = a + 1 WHERE id = mine;
END;
";
    assert!(is_found(&cycle(&analysis(guarded, "snapshot"), 2)));
    // Neither does one whose row may be missing, as nobody knows that it is there.
    assert!(is_found(&cycle(&analysis(&guarded.replace(" AND enabled = 1", ""), "snapshot"), 2)));
    assert!(!is_found(&cycle(&analysis(guarded, "serializable"), 2)));
}
