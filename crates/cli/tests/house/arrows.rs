//! The rules of arrows: who may know whom.
//!
//! The table of crates in ARCHITECTURE.md is the rule: `| crate | one line | may know |`. What a crate's tests use is not bound by
//! it. The other rules are about the world outside: only `cli` prints, exits and opens files.

use crate::{assert_none, files_below, read, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What `cargo metadata` says.
pub(crate) fn metadata(arguments: &[&str]) -> Option<Value> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON"))
}

/// Per crate of the table, which crates it may know; nothing stands for all.
fn allowed() -> BTreeMap<String, Option<BTreeSet<String>>> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let table = text.lines().skip_while(|line| !line.starts_with("| crate ")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let row = |cells: Vec<&str>| {
        let may_know = match cells[2] {
            "all" => None,
            "nothing" => Some(BTreeSet::new()),
            names => Some(names.split(',').map(|name| name.trim().to_owned()).collect()),
        };
        (cells[0].trim_matches('`').to_owned(), may_know)
    };
    cells.map(row).collect()
}

/// The packages of the workspace and those of them that each depends on.
fn arrows() -> Vec<(String, Vec<String>)> {
    let metadata = metadata(&["--no-deps", "--offline"]).expect("cargo metadata without dependencies needs no network");
    let packages = metadata["packages"].as_array().expect("packages");
    let short = |name: &Value| name.as_str().and_then(|name| name.strip_prefix("skew-")).map(str::to_owned);
    let arrows_of = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        let real = dependencies.iter().filter(|dependency| dependency["kind"].as_str() != Some("dev"));
        let known = real.filter_map(|dependency| short(&dependency["name"])).collect();
        (short(&package["name"]).expect("every package is called skew-something"), known)
    };
    packages.iter().map(arrows_of).collect()
}

#[test]
fn crates_know_only_what_the_architecture_allows() {
    let allowed = allowed();
    let mut complaints = Vec::new();
    for (name, known) in arrows() {
        match allowed.get(&name) {
            None => complaints.push(format!("{name} is not in the table")),
            Some(None) => {}
            Some(Some(may_know)) => {
                let forbidden = known.iter().filter(|other| !may_know.contains(*other));
                complaints.extend(forbidden.map(|other| format!("{name} knows {other}")));
            }
        }
    }
    assert_none(&complaints, "the table of crates in ARCHITECTURE.md says who may know whom:");
}

#[test]
fn every_crate_of_the_table_is_there() {
    let there: BTreeSet<String> = arrows().into_iter().map(|arrow| arrow.0).collect();
    let table: BTreeSet<String> = allowed().into_keys().collect();
    assert_eq!(there, table, "left: the workspace; right: the table of crates in ARCHITECTURE.md");
}

/// Code of a library outside its tests and comments that says one of these words.
fn code_with(crates: &[&str], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in crates {
        for path in files_below(&root().join("crates").join(name).join("src"), ".rs") {
            let text = read(&path);
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
                if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                    found.push(format!("{}:{}: {word}", crate::shown(&path), number + 1));
                }
            }
        }
    }
    found
}

const LIBRARIES: [&str; 10] =
    ["history", "value", "check", "sql", "program", "mockdb", "explore", "generate", "workload", "view"];

/// The parts of libraries that face the world: threads and tasks that wait for each other, and sockets.
const FACES: [&str; 4] =
    ["crates/mockdb/src/kv.rs", "crates/mockdb/src/shared.rs", "crates/mockdb/src/http.rs", "crates/mockdb/src/wire/"];

#[test]
fn libraries_use_no_clock_no_files_no_threads_and_no_sockets() {
    let world = ["std::time", "std::fs", "std::thread", "std::net", "std::env", "SystemTime", "thread_rng", "tokio"];
    let pure: Vec<&str> = LIBRARIES.into_iter().filter(|name| *name != "workload").collect();
    let mut found = code_with(&pure, &world);
    found.retain(|place| !FACES.iter().any(|face| place.starts_with(face)));
    assert_none(&found, "the same input gives the same bytes, in a browser too:");
}

#[test]
fn libraries_neither_print_nor_exit() {
    let words = ["println!", "print!(", "eprintln!", "eprint!(", "process::exit", "std::process"];
    let mut found = code_with(&LIBRARIES, &words);
    // Servers are processes.
    found.retain(|place| !place.starts_with("crates/workload/src/servers/"));
    assert_none(&found, "only cli talks to the user:");
}
