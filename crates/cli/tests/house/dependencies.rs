//! Whose code we use: under which licence, from where, and how often.
//!
//! Advisories need a database that changes every day; `.ci/run` asks for them where one is at hand.

use crate::assert_none;
use crate::workspace::metadata;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const LICENCES: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that may be there in two versions, each with its reason.
const DUPLICATES: [(&str, &str); 11] = [
    ("base64", "the driver of MySQL reads keys with a newer one than the rest uses"),
    ("block-buffer", "part of digest"),
    ("cpufeatures", "part of sha2"),
    ("crypto-common", "part of digest"),
    ("digest", "part of sha2"),
    ("getrandom", "the driver of MySQL has an older one"),
    ("sha2", "the driver of MySQL has an older one for passwords"),
    ("rand_core", "the driver of PostgreSQL has another one than our seeded generators"),
    ("phf", "time zones and the driver of PostgreSQL"),
    ("phf_shared", "part of the one above"),
    (
        "fallible-iterator",
        "the driver of PostgreSQL and the SQLite that tests compare with, which is not in the program",
    ),
];

/// The packages that a build for this machine uses. They are on the disk when they were built; else cargo gets them.
fn packages() -> Vec<Value> {
    let platform = ["--filter-platform", platform()];
    let offline: Vec<&str> = platform.iter().copied().chain(["--offline"]).collect();
    let metadata = metadata(&offline).or_else(|| metadata(&platform)).expect("cargo metadata");
    let packages = metadata["packages"].as_array().expect("packages").clone();
    let resolved = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let used: BTreeSet<&str> = resolved.iter().filter_map(|node| node["id"].as_str()).collect();
    packages.into_iter().filter(|package| package["id"].as_str().is_some_and(|id| used.contains(id))).collect()
}

fn platform() -> &'static str {
    if cfg!(target_os = "macos") {
        "aarch64-apple-darwin"
    } else if cfg!(windows) {
        "x86_64-pc-windows-msvc"
    } else if cfg!(target_arch = "aarch64") {
        "aarch64-unknown-linux-gnu"
    } else {
        "x86_64-unknown-linux-gnu"
    }
}

fn text<'a>(package: &'a Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or("")
}

/// Whether one may choose licences of the list so that the expression is satisfied.
fn is_allowed(expression: &str) -> bool {
    let clause_allowed = |clause: &str| {
        let clause = clause.trim().trim_start_matches('(').trim_end_matches(')');
        clause.replace('/', " OR ").split(" OR ").any(|licence| LICENCES.contains(&licence.trim()))
    };
    expression.split(" AND ").all(clause_allowed)
}

#[test]
fn a_licence_expression_is_a_choice_of_licences() {
    assert!(is_allowed("MIT OR GPL-3.0") && is_allowed("MIT/Apache-2.0"));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!is_allowed("MIT AND GPL-3.0") && !is_allowed(""));
}

#[test]
fn every_dependency_has_a_licence_of_the_list() {
    let packages = packages();
    let forbidden = packages.iter().filter(|package| !is_allowed(text(package, "license")));
    let complaints: Vec<String> =
        forbidden.map(|package| format!("{}: {:?}", text(package, "name"), text(package, "license"))).collect();
    assert_none(&complaints, "licences:");
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let packages = packages();
    let elsewhere = packages.iter().filter(|package| match package["source"].as_str() {
        None => !text(package, "name").starts_with("skew-"),
        Some(source) => !source.starts_with("registry+"),
    });
    let complaints: Vec<String> =
        elsewhere.map(|package| format!("{}: {}", text(package, "name"), package["source"])).collect();
    assert_none(&complaints, "sources:");
}

#[test]
fn no_dependency_is_there_twice_without_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions.entry(text(&package, "name").to_owned()).or_default().insert(text(&package, "version").to_owned());
    }
    let excused = |name: &str| DUPLICATES.iter().any(|(excused, _)| *excused == name);
    let twice = versions.iter().filter(|(name, versions)| versions.len() > 1 && !excused(name));
    let complaints: Vec<String> = twice.map(|(name, versions)| format!("{name}: {versions:?}")).collect();
    assert_none(&complaints, "duplicates:");
}
