//! Real histories with known verdicts: every file of the corpus, at every level of its label.
//!
//! The corpus lies beside the project (`../shared/corpus`, or `SKEW_SHARED`) and is not part of it; without it the test says so.

use skew_testing::{say, skipped};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Labels that are wrong, each with why. None are known.
const WRONG_LABELS: &[(&str, &str)] = &[];

fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SKEW_SHARED").map_or_else(beside, PathBuf::from);
    Some(shared.join("corpus")).filter(|corpus| corpus.join("MANIFEST.tsv").exists())
}

/// The long name of a level in the manifest; words such as `elle` are none.
fn level_name(label: &str) -> Option<&'static str> {
    Some(match label {
        "rc" => "read-committed",
        "ra" => "read-atomic",
        "cc" => "causal",
        "pc" => "prefix",
        "psi" => "psi",
        "si" => "snapshot",
        "ser" => "serializable",
        "strong-si" => "strong-snapshot",
        "sser" => "strict-serializable",
        _ => return None,
    })
}

/// The verdicts of one history by level, from the JSON report.
fn verdicts(file: &Path) -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_skew")).arg("check").arg("--format=json").arg(file).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", file.display(), String::from_utf8_lossy(&output.stderr)));
    let verdicts = report["histories"][0]["verdicts"].as_array().cloned().unwrap_or_default();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    verdicts.iter().map(|verdict| (word(&verdict["level"]), word(&verdict["verdict"]))).collect()
}

#[test]
fn every_label_of_the_corpus_is_our_verdict() {
    let Some(corpus) = corpus() else {
        return skipped("no corpus beside the project");
    };
    let manifest = std::fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap();
    let (mut files, mut labels, mut unlabelled) = (0, 0, 0);
    let mut differences = Vec::new();
    for line in manifest.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (name, expected) = (columns[0], columns[8]);
        let found = verdicts(&corpus.join(name));
        files += 1;
        assert!(!found.is_empty(), "{name}: no verdicts");
        assert!(found.values().all(|word| word == "holds" || word == "fails"), "{name}: {found:?}");
        unlabelled += usize::from(expected.is_empty());
        for (level, label) in expected.split(' ').filter_map(|label| label.split_once('=')) {
            let Some(level) = level_name(level) else { continue };
            labels += 1;
            let word = if label == "ok" { "holds" } else { "fails" };
            let known = WRONG_LABELS.iter().any(|(wrong, _)| *wrong == name);
            if found.get(level).map(String::as_str) != Some(word) && !known {
                differences.push(format!("{name}: {level} is labelled {label}, we say {:?}", found.get(level)));
            }
        }
    }
    say(&format!("corpus: {files} files, {labels} labels, {unlabelled} files without a label"));
    assert!(files > 0, "the manifest names no files");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
