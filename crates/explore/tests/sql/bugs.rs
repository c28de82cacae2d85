//! Every file of `examples/bugs` says in a line `-- expect:` at which levels an assertion can fail; every run is looked at.

use crate::explored::{equals_brute_force, explore};
use skew_explore::SqlOptions;
use skew_history::IsolationLevel;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bugs");
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let folders = entries(&folder).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
    files.sort();
    files
}

/// The levels and verdicts of a line `-- expect: read-committed fails, snapshot passes`.
fn expected(text: &str) -> Vec<(IsolationLevel, String)> {
    let line = text.lines().find_map(|line| line.strip_prefix("-- expect: ")).expect("a line of expectations");
    let verdict = |part: &str| {
        let (level, verdict) = part.split_once(' ').expect("a level and a verdict");
        (level.parse().expect("a level"), verdict.to_owned())
    };
    line.split(", ").map(verdict).collect()
}

#[test]
fn every_bug_fails_and_every_fix_passes_at_the_levels_that_its_file_names() {
    let files = files();
    assert!(files.len() >= 33, "only {} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a program");
        let expectations = expected(&text);
        assert_eq!(expectations.len(), 3, "{}", file.display());
        for (level, verdict) in expectations {
            equals_brute_force(&text, level, SqlOptions::default());
            let found = explore(&text, level, SqlOptions::default());
            let is = if found.violated.is_empty() { "passes" } else { "fails" };
            if is != verdict {
                wrong.push(format!("{} at {level}: {is} in {} runs", file.display(), found.histories.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
