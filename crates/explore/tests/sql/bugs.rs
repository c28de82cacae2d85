//! Every file of `examples/bugs` says in comments at which levels an assertion can fail; every run is looked at.
//!
//! ```text
//!   -- expect: read-committed fails, snapshot passes                       levels of the papers
//!   -- postgres: read-committed fails, repeatable-read refuses             levels of an engine
//! ```
//!
//! A program *fails* where an assertion is false in some run. It *refuses* where none is, and the server refuses somebody in some run. It
//! *passes* where no assertion is false, whether somebody is refused or not.

use crate::explored::{equals_brute_force, explore};
use crate::on_engine::{Becomes, becomes};
use skew_explore::SqlOptions;
use skew_history::{Engine, EngineLevel, IsolationLevel};
use std::path::{Path, PathBuf};

/// Bugs that no level of the papers tells from their fixes.
const OF_AN_ENGINE: [&str; 2] = ["10-get-or-create/", "14-nobody-on-call/"];

/// The program, and its file as people speak of it.
struct Bug {
    name: String,
    text: String,
}

impl Bug {
    /// The words behind `-- start: `, level and verdict each.
    fn expected(&self, start: &str) -> Vec<(&str, &str)> {
        let start = format!("-- {start}: ");
        let line = self.text.lines().find_map(|line| line.strip_prefix(&start));
        let parts = line.into_iter().flat_map(|line| line.split(", "));
        parts.map(|part| part.split_once(' ').expect("a level and a verdict")).collect()
    }
}

fn bugs() -> Vec<Bug> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bugs");
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let folders = entries(&folder).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
    files.sort();
    let bug = |file: &PathBuf| {
        let name = file.strip_prefix(&folder).expect("a file of the folder").to_string_lossy().replace('\\', "/");
        Bug { name, text: std::fs::read_to_string(file).expect("a program") }
    };
    files.iter().map(bug).collect()
}

#[test]
fn there_are_fourteen_bugs_each_with_its_fix() {
    let names: Vec<String> = bugs().into_iter().map(|bug| bug.name).collect();
    for number in 1..=14 {
        for file in ["buggy.sql", "fixed.sql"] {
            let is_it = |name: &&String| name.starts_with(&format!("{number:02}-")) && name.ends_with(file);
            assert_eq!(names.iter().filter(is_it).count(), 1, "{number} {file}");
        }
    }
}

#[test]
fn every_bug_fails_and_every_fix_passes_at_the_levels_that_its_file_names() {
    let mut wrong = Vec::new();
    for bug in bugs() {
        let expectations = bug.expected("expect");
        let is_of_an_engine = OF_AN_ENGINE.iter().any(|folder| bug.name.starts_with(folder));
        assert_eq!(expectations.len(), if is_of_an_engine { 0 } else { 3 }, "{}", bug.name);
        for (level, verdict) in expectations {
            let level: IsolationLevel = level.parse().expect("a level");
            equals_brute_force(&bug.text, level, SqlOptions::default());
            let found = explore(&bug.text, level, SqlOptions::default());
            let is = if found.violated.is_empty() { "passes" } else { "fails" };
            if is != verdict {
                wrong.push(format!("{} at {level}: {is} in {} runs", bug.name, found.histories.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What a program does at the level of an engine, in a word.
fn verdict(bug: &Bug, level: EngineLevel) -> &'static str {
    match becomes(&bug.text, level) {
        Becomes { fails: true, .. } => "fails",
        Becomes { refused, .. } if refused.is_empty() => "passes",
        Becomes { .. } => "refuses",
    }
}

/// The engines whose SQL a program speaks: the one that it names, or both.
fn engines(bug: &Bug) -> Vec<Engine> {
    let named = |engine: &Engine| bug.text.starts_with(&format!("-- dialect: {}\n", engine.name()));
    let both = [Engine::Postgres, Engine::Mysql];
    both.into_iter().find(named).map_or(both.to_vec(), |engine| vec![engine])
}

#[test]
fn every_bug_fails_and_every_fix_never_does_at_the_levels_of_its_engines() {
    let mut wrong = Vec::new();
    for bug in bugs() {
        for engine in engines(&bug) {
            let expected = bug.expected(engine.name());
            assert!(expected.len() >= 3, "{}: a verdict for every level of {}", bug.name, engine.name());
            for (name, verdict_told) in expected {
                let level: IsolationLevel = format!("{}:{name}", engine.name()).parse().expect("a level");
                let level = level.of_engine().expect("a level of an engine");
                assert!(!bug.name.ends_with("/fixed.sql") || verdict_told != "fails", "{} at {level}", bug.name);
                let found = verdict(&bug, level);
                if found != verdict_told && (found, verdict_told) != ("refuses", "passes") {
                    wrong.push(format!("{} at {level}: {found} and not {verdict_told}", bug.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
