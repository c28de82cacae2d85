//! Programs that were once called robust and are not: each of them has a run that is not serializable at the levels beside it.
//!
//! They are what generated columns, conversions, guards, locks that are not taken, keys that move, loops and ON CONFLICT can do to a proof. Whatever
//! is answered about them today, it is not "robust" there.

use serde_json::Value;
use skew_analyze::UnfoldOptions;
use skew_campaign::analyzed::{AnalyzeSettings, Analyzed, AnalyzedText, Baseline};
use skew_history::IsolationLevel;
use std::path::Path;

const PROGRAMS: [(&str, &str); 81] = [
    ("01-loop3", "postgres:read-committed"),
    ("02-generated", "postgres:read-committed"),
    ("03b-uniquemoved-si", "postgres:read-committed postgres:repeatable-read"),
    ("03d-uniquemoved-si", "postgres:read-committed postgres:repeatable-read"),
    ("03f-uniquemoved-si", "postgres:read-committed postgres:repeatable-read"),
    ("04-const-decimal", "postgres:read-committed"),
    ("04b-const-intdec", "postgres:read-committed"),
    ("04c-set-cast", "postgres:read-committed"),
    ("04d-set-text", "postgres:read-committed"),
    ("04i-varset-numeric", "postgres:read-committed"),
    ("07-upsert-where", "postgres:read-committed postgres:repeatable-read"),
    ("08-join-lock", "postgres:read-committed postgres:repeatable-read"),
    ("08c-case-lock", "postgres:read-committed postgres:repeatable-read"),
    ("08f-if-and-exists-lock", "postgres:read-committed postgres:repeatable-read"),
    ("09e-subquery-output", "postgres:read-committed postgres:repeatable-read"),
    ("09f-subquery-where", "postgres:read-committed postgres:repeatable-read"),
    ("10b-delete-insert-si", "postgres:read-committed postgres:repeatable-read"),
    ("12b-null-lookup-unique", "postgres:read-committed postgres:repeatable-read"),
    ("13c-lookup-by-moving-unique", "postgres:read-committed postgres:repeatable-read"),
    ("14-composite-guard", "postgres:read-committed postgres:repeatable-read"),
    ("14b-row-in-guard", "postgres:read-committed"),
    ("14c-single-or-guard", "postgres:read-committed postgres:repeatable-read"),
    ("16-upsert-pk", "postgres:read-committed postgres:repeatable-read"),
    ("25-limit-0-lock", "postgres:read-committed postgres:repeatable-read"),
    ("25c-in-limit1-lock-read", "postgres:read-committed postgres:repeatable-read"),
    ("36-exclude-update", "postgres:read-committed postgres:repeatable-read"),
    ("38-upsert-fk-delete", "postgres:read-committed postgres:repeatable-read"),
    ("39-upsert-pk-rc", "postgres:read-committed postgres:repeatable-read"),
    ("40-scalar-subquery-order", "postgres:read-committed postgres:repeatable-read"),
    ("40b-setcase-update", "postgres:read-committed postgres:repeatable-read"),
    ("50-gen-unique-si", "postgres:read-committed postgres:repeatable-read"),
    ("51-nullif-unique", "postgres:read-committed postgres:repeatable-read"),
    ("52-rename-rr-2", "postgres:read-committed postgres:repeatable-read"),
    ("53-upsert-after-delete", "postgres:read-committed postgres:repeatable-read"),
    ("57-delete-composite-guard", "postgres:read-committed"),
    ("60-loop-between-tables", "postgres:read-committed"),
    ("61-limit-update-order", "postgres:read-committed postgres:repeatable-read"),
    ("70-nulls-not-distinct", "postgres:read-committed postgres:repeatable-read"),
    ("75-insert-lock-once-abort", "postgres:repeatable-read"),
    ("81-locks-of-three", "postgres:read-committed"),
    ("82-lock-then-write", "postgres:repeatable-read"),
    ("96-row-count-as-key", "postgres:read-committed"),
    ("97-row-count-in-key", "postgres:read-committed"),
    ("98-second-way", "postgres:read-committed"),
    ("84-now-as-key", "postgres:read-committed"),
    ("84b-default-now", "postgres:read-committed"),
    ("84c-session-as-key", "postgres:read-committed"),
    ("85-last-child-goes", "postgres:read-committed postgres:repeatable-read postgres:serializable"),
    ("85b-last-child-moves", "postgres:read-committed postgres:repeatable-read postgres:serializable"),
    ("86-check-reads", "postgres:read-committed"),
    ("86b-foreign-key-reads", "postgres:read-committed"),
    ("88-loop-carries", "postgres:read-committed"),
    ("88b-loop-carries-beside-random", "postgres:read-committed"),
    ("88c-loop-follows-pointers", "postgres:read-committed"),
    ("90-sequence", "postgres:read-committed postgres:repeatable-read postgres:serializable"),
    ("92-two-behind-one-name", "postgres:read-committed"),
    ("93-dollars-of-each-statement", "postgres:read-committed"),
    ("94-inserted-anew", "postgres:read-committed"),
    ("94b-inserted-anew-update", "postgres:read-committed"),
    ("95-skip-locked", "postgres:read-committed postgres:repeatable-read postgres:serializable"),
    ("95b-try-advisory", "postgres:read-committed postgres:repeatable-read postgres:serializable"),
    ("100-room-for-a-key", "postgres:repeatable-read postgres:serializable"),
    ("101-volatile-condition", "postgres:read-committed"),
    ("101b-random-condition", "postgres:read-committed"),
    ("99-key-share-of-several-rows", "postgres:read-committed"),
    ("99b-key-share-in-a-loop", "postgres:read-committed"),
    ("99c-key-share-with-comment", "postgres:read-committed"),
    ("bounded-01-multirow-on-conflict-do-nothing", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-02-on-conflict-update-where", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-03-not-exists-subquery-means-exists", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-04-scalar-subquery-in-select", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-05-or-with-guard-on-key", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-06-or-guard-composite", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-07-generated-column", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-07b-generated-column-in-where", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-08-set-converts-decimal", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-09-set-converts-timestamp-to-date", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-10-select-into-converts", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-11-multirow-upsert-updates-first-only", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-12-key-compared-twice", "psi snapshot postgres:read-committed postgres:repeatable-read"),
    ("bounded-13-upsert-changes-primary-key", "psi snapshot postgres:read-committed postgres:repeatable-read"),
];

/// Programs whose table of lowest levels was once too low: a transaction that needs more than a level, in this company.
const TOO_LOW: [(&str, &str, &str); 2] = [
    ("82-lock-then-write", "t3", "postgres:repeatable-read"),
    ("83-insert-is-no-read", "t2", "postgres:read-committed"),
];

#[test]
fn what_was_once_proved_wrongly_is_not_proved() {
    let mut wrong = Vec::new();
    for (name, levels) in PROGRAMS {
        let levels = levels.split(' ').map(|level| level.parse().expect("a level")).collect();
        let report = report(name, levels);
        let questions = report["questions"].as_array().expect("questions");
        let robust = questions.iter().filter(|question| question["verdict"] == "robust");
        wrong.extend(robust.map(|question| format!("{name} at {}", question["level"])));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_was_once_allocated_too_low_is_not() {
    for (name, transaction, level) in TOO_LOW {
        let report = report(name, vec!["postgres:serializable".parse().expect("a level")]);
        let lowest = &report["lowest"][transaction];
        assert!(lowest.is_string(), "{name}: {lowest}");
        assert_ne!(lowest, level, "{name}: {transaction}");
    }
}

#[test]
fn a_condition_before_from_and_a_loop_without_end_leave_an_answer() {
    for name in ["87-filter-before-from", "89-endless-for-some"] {
        let report = report(name, vec!["postgres:read-committed".parse().expect("a level")]);
        assert_eq!(report["questions"][0]["verdict"], "anomaly", "{name}");
    }
}

#[test]
fn what_returning_returns_is_seen() {
    let report = report("91-returning-is-seen", vec!["postgres:read-committed".parse().expect("a level")]);
    let findings = report["questions"][0]["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["status"] == "confirmed"), "{findings:#?}");
}

#[test]
fn two_transactions_behind_one_name_are_two() {
    let report = report("92b-two-short-ones", vec!["postgres:read-committed".parse().expect("a level")]);
    assert_eq!(report["questions"][0]["verdict"], "robust");
}

fn report(name: &str, levels: Vec<IsolationLevel>) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/false_proofs");
    let text = std::fs::read_to_string(folder.join(format!("{name}.sql"))).expect("a program");
    let settings = AnalyzeSettings::new(levels, UnfoldOptions::default(), false, false);
    let files = [(format!("{name}.sql"), text)];
    let text = AnalyzedText::new(&files).unwrap_or_else(|complaint| panic!("{name}: {}", complaint.message));
    let analyzed = Analyzed::new(text, settings, &Baseline::default());
    let analyzed = analyzed.unwrap_or_else(|complaint| panic!("{name}: {}", complaint.message));
    serde_json::from_str(&analyzed.json()).expect("JSON")
}
