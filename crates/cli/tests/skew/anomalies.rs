//! Whatever is injected is found again: by its own name, at its own level, and with nobody else in the counterexample.

use crate::Folder;
use serde_json::Value;

/// What is injected, the weakest level that forbids it, and how many transactions take part.
const INJECTED: [(&str, &str, usize); 15] = [
    ("lost-update", "psi", 2),
    ("write-skew", "serializable", 2),
    ("long-fork", "prefix", 4),
    ("causality-violation", "causal", 3),
    ("fractured-read", "read-atomic", 2),
    ("non-repeatable-read", "read-atomic", 2),
    ("read-only-anomaly", "serializable", 3),
    ("dirty-write", "read-committed", 3),
    ("aborted-read", "read-committed", 2),
    ("intermediate-read", "read-committed", 2),
    ("circular-information-flow", "read-committed", 2),
    ("internal", "read-committed", 1),
    ("thin-air-read", "read-committed", 1),
    ("session-violation", "read-atomic", 2),
    ("real-time-violation", "strong-snapshot", 2),
];

const KEYS: i64 = 500;

fn generate(folder: &Folder, anomaly: &str) {
    let keys = KEYS.to_string();
    let mut arguments = vec!["generate", "-q", "--transactions", "2000", "--keys", &keys, "--seed", "11"];
    arguments.extend(["--anomaly", anomaly, "-o", "made.jsonl"]);
    if anomaly == "real-time-violation" {
        arguments.push("--times");
    }
    folder.skew(&arguments).expect(0);
}

/// Keys of the anomaly lie beyond those of the workload.
fn is_its_own(edge: &Value) -> bool {
    match &edge["key"] {
        Value::Null => true,
        Value::String(key) => key.parse().is_ok_and(|key: i64| key >= KEYS),
        other => other.as_i64().is_some_and(|key| key >= KEYS),
    }
}

#[test]
fn every_injected_anomaly_is_found_by_name_at_its_level_and_alone() {
    let folder = Folder::new("injected");
    for (anomaly, weakest, transactions) in INJECTED {
        generate(&folder, anomaly);
        let json = folder.skew(&["check", "made.jsonl", "--format", "json"]).expect(1).json();
        let verdicts = json["histories"][0]["verdicts"].as_array().unwrap().clone();
        let failing = verdicts.iter().find(|verdict| verdict["verdict"] == "fails").unwrap();
        assert_eq!(failing["level"], weakest, "{anomaly}");
        assert_eq!(failing["anomaly"], anomaly);
        assert_eq!(failing["transactions"].as_array().unwrap().len(), transactions, "{anomaly}: {}", failing);
        assert!(failing["edges"].as_array().unwrap().iter().all(is_its_own), "{anomaly}: {}", failing);
    }
}
