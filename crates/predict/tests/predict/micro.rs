//! The small traces of the paper's tool. They are not part of the project: without them the test says so.

use crate::{ask, word};
use skew_history::IsolationLevel;
use skew_history::format::{self, Format, Source};
use skew_predict::{PredictQuestion, Strategy};
use std::path::PathBuf;

fn folder() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("SKEW_SHARED").map_or_else(beside, PathBuf::from).join("corpus/isopredict-micro")
}

/// The answers of both levels, and with `even_if_bad`.
const EXPECTED: [(&str, [&str; 2], [&str; 2]); 6] = [
    ("always_serial_2s4t", ["none", "found"], ["none", "found"]),
    ("always_serial_3s3t", ["none", "none"], ["none", "none"]),
    ("not_readcommitted", ["observed", "observed"], ["none", "none"]),
    ("simple_causal_2s3t", ["observed", "observed"], ["found", "found"]),
    ("simple_causal_2s4t", ["observed", "observed"], ["found", "found"]),
    ("simple_serial_2s3t", ["found", "found"], ["found", "found"]),
];

#[test]
fn the_papers_small_traces_have_the_papers_answers() {
    let folder = folder();
    if !folder.is_dir() {
        skew_testing::skipped("predictions from the paper's traces (no ../shared/corpus/isopredict-micro)");
        return;
    }
    for (name, strict, even_if_bad) in EXPECTED {
        let path = folder.join(format!("{name}.txt"));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let source = Source { name, bytes: &bytes };
        let history = format::read(&[source], Format::IsoPredict).unwrap_or_else(|error| panic!("{name}: {error}"));
        let answers = |even_if_bad| {
            [IsolationLevel::Causal, IsolationLevel::ReadCommitted].map(|level| {
                let question =
                    PredictQuestion { even_if_bad, strategy: Strategy::ExactStrict, ..PredictQuestion::new(level) };
                word(&ask(&history, &question))
            })
        };
        assert_eq!(answers(false), strict, "{name}");
        assert_eq!(answers(true), even_if_bad, "{name}, even if bad");
    }
}
