//! The tables of the IsoPredict paper in small: workloads recorded one transaction at a time, predicted from, and made again.
//!
//! ```text
//!   skew run --serial ── history ── skew predict, every strategy ──┬── what the approximation finds, exact finds
//!                                                                  ├── Voter at causal: none
//!                                                                  └── --replay: validated
//! ```
//!
//! `benchmarks/predictions.py` is the whole of it: ten seeds, two sizes, beside the paper's numbers and z3.

use crate::{Folder, Ran};
use skew_testing::say;

const WORKLOADS: [&str; 4] = ["smallbank", "voter", "tpcc", "wikipedia"];
const LEVELS: [&str; 2] = ["causal", "read-committed"];
const SEEDS: [&str; 2] = ["1", "2"];

/// How a workload is run, as the paper runs it. Wikipedia finds its pages by their titles, and what an index was asked no client sees; where it
/// reads whole tables, clients see all that the database reads.
fn workload(name: &'static str, seed: &'static str) -> Vec<&'static str> {
    let own: &[&str] = match name {
        "voter" => &["--limit", "1"],
        "wikipedia" => &["--scan"],
        _ => &[],
    };
    let usual =
        ["run", name, "--updates", "plain", "--serial", "--sessions", "3", "--transactions", "4", "--seed", seed];
    [&usual[..], own].concat()
}

fn predict(folder: &Folder, level: &str, strategy: &str, more: &[&str]) -> (String, Ran) {
    let usual = ["predict", "run.jsonl", "--updates", "plain", "--format", "json", "--level", level];
    let ran = folder.skew(&[&usual[..], &["--strategy", strategy], more].concat());
    let verdict = ran.json()["predictions"][0]["verdict"].as_str().unwrap_or_default().to_owned();
    (verdict, ran)
}

/// All strategies on what is recorded; how many predictions were made again.
fn predicted(folder: &Folder, name: &'static str, seed: &'static str) -> usize {
    let record = ["--level", "serializable", "-q", "--record", "run.jsonl"];
    folder.skew(&[&workload(name, seed)[..], &record].concat()).expect(0);
    let mut validated = 0;
    for level in LEVELS {
        for boundary in ["strict", "relaxed"] {
            let [exact, approximate] = ["exact", "approx"].map(|kind| format!("{kind}-{boundary}"));
            let verdict = predict(folder, level, &exact, &[]).0;
            let told = format!("{name}, seed {seed}, {level}, {boundary}");
            assert!(["none", "found"].contains(&verdict.as_str()), "{told}: {verdict}");
            assert!(verdict == "none" || (name, level) != ("voter", "causal"), "{told}");
            let approximation = predict(folder, level, &approximate, &[]).0;
            assert!(verdict == "found" || approximation == "none", "{told}: the approximation finds more");
            if verdict == "found" {
                let again = [&workload(name, seed)[..], &["--level", level]].concat().join(" ");
                let ran = predict(folder, level, &exact, &["--replay", &format!("skew {again}")]).1;
                assert_eq!(ran.json()["predictions"][0]["runs"][0]["validated"], "validated", "{told}: {}", ran.out);
                validated += 1;
            }
        }
    }
    validated
}

fn all_seeds(name: &'static str) -> usize {
    let folder = Folder::new(&format!("predict-{name}"));
    let validated = SEEDS.into_iter().map(|seed| predicted(&folder, name, seed)).sum();
    say(&format!("{name}: {validated} predictions are validated"));
    validated
}

#[test]
fn predictions_of_the_papers_workloads_are_validated() {
    let validated: usize = WORKLOADS.into_iter().map(all_seeds).sum();
    assert!(validated > 0, "nothing was predicted");
}
