//! The rules of arrows: who may know whom, and what may be touched of the world outside.
//!
//! ARCHITECTURE.md is the rule: its picture has the tiers, the table `| crate | one line | may know |` the arrows, and the table
//! `| who | may touch | because |` the parts that face the world. A crate that is new is bound by all of it. What a crate's tests use is not.

use crate::architecture::{may_know, may_touch, tiers};
use crate::source::paths;
use crate::workspace::{Crate, SourceFile, crates};
use crate::{assert_none, shown};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn crates_know_only_what_the_architecture_allows() {
    let allowed = may_know();
    let mut complaints = Vec::new();
    for Crate { name, knows, .. } in crates() {
        match allowed.get(&name) {
            None => complaints.push(format!("{name} is not in the table")),
            Some(None) => {}
            Some(Some(may_know)) => {
                let forbidden = knows.iter().filter(|other| !may_know.contains(*other));
                complaints.extend(forbidden.map(|other| format!("{name} knows {other}")));
            }
        }
    }
    assert_none(&complaints, "the table of crates in ARCHITECTURE.md says who may know whom:");
}

#[test]
fn every_crate_of_the_table_is_there() {
    let there: BTreeSet<String> = crates().into_iter().map(|each| each.name).collect();
    let table: BTreeSet<String> = may_know().into_keys().collect();
    assert_eq!(there, table, "left: the workspace; right: the table of crates in ARCHITECTURE.md");
}

#[test]
fn arrows_go_to_lower_tiers() {
    let (crates, mut complaints) = (crates(), Vec::new());
    let mut tier_of: BTreeMap<&str, u32> = BTreeMap::new();
    for (tier, words) in tiers() {
        for each in crates.iter().filter(|each| words.contains(&each.name)) {
            if tier_of.insert(&each.name, tier).is_some() {
                complaints.push(format!("{} is in two tiers", each.name));
            }
        }
    }
    for each in &crates {
        let Some(own) = tier_of.get(&*each.name) else {
            complaints.push(format!("{} is in no tier", each.name));
            continue;
        };
        let level = each.knows.iter().filter(|other| tier_of.get(&***other).is_some_and(|tier| tier >= own));
        complaints.extend(level.map(|other| format!("{} knows {other}, which is no lower", each.name)));
    }
    assert_none(&complaints, "the picture in ARCHITECTURE.md has the tiers:");
}

/// Parts of the world, and the paths and macros that touch them.
const WORLD: [(&str, &[&str]); 9] = [
    ("clock", &["std::time"]),
    ("files", &["std::fs"]),
    ("threads", &["std::thread"]),
    ("sockets", &["std::net", "tokio"]),
    ("environment", &["std::env"]),
    ("unseeded chance", &["getrandom"]),
    ("processes", &["std::process"]),
    ("printing", &["println!", "print!", "eprintln!", "eprint!", "std::io::stdout", "std::io::stderr"]),
    ("input", &["std::io::stdin"]),
];

/// What a file touches: the part of the world and the place.
fn touched(file: &SourceFile) -> Vec<(&'static str, String)> {
    let paths: Vec<(usize, String)> =
        paths(&file.code).iter().map(|named| (named.line, named.path.join("::"))).collect();
    let mut found = Vec::new();
    for (part, mark) in WORLD.iter().flat_map(|(part, marks)| marks.iter().map(move |mark| (*part, *mark))) {
        let lines: Vec<usize> = if mark.ends_with('!') {
            (1..).zip(file.code.lines()).filter(|(_, line)| is_called(line, mark)).map(|(number, _)| number).collect()
        } else {
            paths.iter().filter(|(_, path)| is_below(path, mark)).map(|(line, _)| *line).collect()
        };
        found.extend(lines.iter().map(|line| (part, format!("{}:{line}: {mark}", shown(&file.path)))));
    }
    found
}

/// Whether a path is that of the module or of something in it.
fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Whether the macro itself is meant, not one whose name ends so.
fn is_called(line: &str, mark: &str) -> bool {
    line.match_indices(mark)
        .any(|(at, _)| !line[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
}

#[test]
fn only_those_touch_the_world_who_may() {
    let licences = may_touch();
    let (mut complaints, mut used) = (Vec::new(), BTreeSet::new());
    for each in crates() {
        for file in each.files() {
            let path: Vec<&str> = std::iter::once(&each.name).chain(&file.module).map(String::as_str).collect();
            let own: Vec<_> = licences.iter().filter(|(who, _)| is_below(&path.join("::"), who)).collect();
            for (part, place) in touched(&file) {
                let allows = |words: &Option<Vec<String>>| {
                    words.as_ref().is_none_or(|words| words.iter().any(|word| word == part))
                };
                match own.iter().find(|(_, words)| allows(words)) {
                    Some((who, _)) => drop(used.insert((who.clone(), part))),
                    None => complaints.push(format!("{place} ({part})")),
                }
            }
        }
    }
    assert_none(
        &complaints,
        "the same input gives the same bytes, in a browser too; who may touch the world stands in ARCHITECTURE.md:",
    );
    let licensed = licences.iter().flat_map(|(who, words)| words.iter().flatten().map(move |word| (who, word)));
    let idle = licensed.filter(|(who, word)| !used.contains(&((*who).clone(), word.as_str())));
    let idle: Vec<String> = idle.map(|(who, word)| format!("{who}: {word}")).collect();
    assert_none(&idle, "ARCHITECTURE.md allows what nobody does any more:");
}

#[test]
fn cargo_run_has_one_program_to_run() {
    assert_eq!(crate::workspace::binaries(), ["skew"], "the README's first command names none");
}
