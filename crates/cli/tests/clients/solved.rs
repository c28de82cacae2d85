//! What z3 says to the problems of the IsoPredict paper beside what `skew predict` says: two answers that have nothing in common but the paper.
//!
//! ```text
//!   skew run --serial ── history ──┬── skew predict --strategy exact-strict ── found | none
//!                                  └── benchmarks/isopredict_z3.py ─────────── sat | unsat | unknown
//! ```
//!
//! Of the approximation only `sat` says something: it misses some. `benchmarks/predictions.py` asks about more and larger runs.

use crate::clients;
use serde_json::Value;
use skew_testing::say;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds of processor time for one question to z3; what takes longer says nothing.
const LIMIT: &str = "5";

fn skew(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_skew")).args(words).current_dir(folder).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn z3(python: &Path, history: &Path, level: &str, strategy: &str) -> String {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/isopredict_z3.py");
    let mut command = Command::new(python);
    command.arg(script).arg(history).args(["--level", level, "--strategy", strategy, "--form", "lean"]);
    let output = command.args(["--aborted", "--timeout", LIMIT]).env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
    said["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn z3_does_not_contradict_predictions() {
    let Some(clients) = clients() else { return };
    let python = clients.join("python/bin/python");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("solved");
    std::fs::create_dir_all(&folder).unwrap();
    let history = folder.join("run.jsonl");
    let mut answers = Vec::new();
    for (workload, seed) in [("smallbank", "1"), ("smallbank", "2")] {
        let run = ["run", workload, "--updates", "plain", "--serial", "--sessions", "3", "--transactions", "4"];
        skew(
            &folder,
            &[&run[..], &["--seed", seed, "--level", "serializable", "-q", "--record", "run.jsonl"]].concat(),
        );
        for level in ["causal", "read-committed"] {
            let predict = ["predict", "run.jsonl", "--updates", "plain", "--format", "json", "--level", level];
            let out = skew(&folder, &[&predict[..], &["--strategy", "exact-strict"]].concat());
            let json: Value = serde_json::from_str(&out).unwrap();
            let ours = json["predictions"][0]["verdict"].as_str().unwrap().to_owned();
            for strategy in ["exact-strict", "approx-strict"] {
                let theirs = z3(&python, &history, level, strategy);
                let told = format!("{workload}, seed {seed}, {level}, {strategy}: {ours} here, {theirs} there");
                assert!(!(ours == "none" && theirs == "sat"), "{told}");
                assert!(!(ours == "found" && theirs == "unsat" && strategy == "exact-strict"), "{told}");
                answers.push(theirs);
            }
        }
    }
    let decided = answers.iter().filter(|answer| *answer != "unknown").count();
    say(&format!("z3 decided {decided} of {} questions", answers.len()));
    assert!(decided > 0, "z3 said nothing: {answers:?}");
}
