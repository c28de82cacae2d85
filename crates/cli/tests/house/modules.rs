//! The modules inside a crate: ARCHITECTURE.md has them all, and they form no large cycle.
//!
//! An arrow goes from one module to another when a file of the first names something of the second, be it by the name under which the
//! root of the crate passes it on. Folders count as one module; what only tests use does not count.

use crate::architecture::modules_of;
use crate::source::paths;
use crate::workspace::{Crate, SourceFile, crates};
use crate::{assert_none, root};
use std::collections::{BTreeMap, BTreeSet};

/// How many modules a cycle may have: two that share an idea, or three.
const LARGEST_CYCLE: usize = 3;

#[test]
fn every_crate_has_a_section_with_all_of_its_modules() {
    let mut complaints = Vec::new();
    for each in crates() {
        let there: BTreeSet<String> = each.modules().into_iter().collect();
        let listed = modules_of(&each.name);
        // Parts of a module may have a row of their own: `wire/desk`.
        let (parts, named): (Vec<&String>, Vec<&String>) = listed.iter().partition(|name| name.contains('/'));
        let source = root().join("crates").join(&each.name).join("src");
        let is_gone = |part: &&&String| !source.join(part).is_dir() && !source.join(format!("{part}.rs")).is_file();
        complaints.extend(parts.iter().filter(is_gone).map(|part| format!("{}: {part} is not there", each.name)));
        complaints.extend(
            named.iter().filter(|name| !there.contains(**name)).map(|name| format!("{}: no module {name}", each.name)),
        );
        complaints.extend(
            there.iter().filter(|name| !named.contains(name)).map(|name| format!("{}: {name} is missing", each.name)),
        );
    }
    assert_none(&complaints, "ARCHITECTURE.md has a table `| module of `crate` | what it knows |` for every crate:");
}

#[test]
fn modules_form_no_large_cycle() {
    let mut complaints = Vec::new();
    for each in crates() {
        let arrows = arrows(&each);
        for cycle in cycles(&arrows).into_iter().filter(|cycle| cycle.len() > LARGEST_CYCLE) {
            complaints.push(format!("{}: {}", each.name, cycle.iter().cloned().collect::<Vec<_>>().join(", ")));
            let inside = |name: &String| cycle.contains(name);
            for (from, to) in arrows.iter().filter(|(from, _)| inside(from)) {
                let to: Vec<&str> = to.iter().filter(|name| inside(name)).map(String::as_str).collect();
                complaints.push(format!("    {from} -> {}", to.join(", ")));
            }
        }
    }
    assert_none(&complaints, "more than three modules that all need each other cannot be understood one by one:");
}

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Which top-level modules of a crate name which.
fn arrows(each: &Crate) -> Arrows {
    let modules: BTreeSet<String> = each.modules().into_iter().collect();
    let passed_on = passed_on(&each.root_code(), &modules);
    let mut arrows: Arrows = modules.iter().map(|module| (module.clone(), BTreeSet::new())).collect();
    for file in each.files() {
        let Some(from) = file.module.first().filter(|module| modules.contains(*module)) else { continue };
        let reached = reached(&file).into_iter();
        let targets = reached.filter_map(|name| modules.get(&name).or_else(|| passed_on.get(&name)).cloned());
        arrows.entry(from.clone()).or_default().extend(targets.filter(|to| to != from));
    }
    arrows
}

/// The names of the root that are something of a module: `pub use store::Store` makes `Store` one of `store`.
fn passed_on(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for named in paths(root) {
        let path: Vec<String> = named.path.into_iter().skip_while(|name| name == "crate" || name == "self").collect();
        if let (Some(first), Some(last)) = (path.first().filter(|first| modules.contains(*first)), path.last()) {
            names.insert(last.clone(), first.clone());
        }
    }
    names
}

/// The names directly below the crate's root that a file reaches.
fn reached(file: &SourceFile) -> BTreeSet<String> {
    let absolute = |path: Vec<String>| -> Option<String> {
        let mut at = match path[0].as_str() {
            "crate" => Vec::new(),
            "self" | "super" => file.module.clone(),
            _ => return None,
        };
        for name in path.iter().skip(usize::from(path[0] != "super")) {
            if name == "super" { drop(at.pop()) } else { at.push(name.clone()) }
        }
        at.into_iter().next()
    };
    paths(&file.code).into_iter().filter_map(|named| absolute(named.path)).collect()
}

/// The groups of modules in which each reaches each other, of two or more.
fn cycles(arrows: &Arrows) -> BTreeSet<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|from| (from, reachable(arrows, from))).collect();
    let group = |from: &String| -> BTreeSet<String> {
        let back = reach[from].iter().filter(|to| reach.get(*to).is_some_and(|back| back.contains(from)));
        back.map(|name| (*name).clone()).collect()
    };
    arrows.keys().map(group).filter(|group| group.len() > 1).collect()
}

fn reachable<'a>(arrows: &'a Arrows, from: &'a String) -> BTreeSet<&'a String> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![from]);
    while let Some(name) = waiting.pop() {
        waiting.extend(arrows.get(name).into_iter().flatten().filter(|to| found.insert(*to)));
    }
    found
}

#[test]
fn a_cycle_is_found_through_names_that_the_root_passes_on() {
    let modules: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
    let root = passed_on("mod a; pub use b::{Bee, inner::Other as Another}; use crate::c::Sea;", &modules);
    assert_eq!((root["Bee"].as_str(), root["Other"].as_str(), root["Sea"].as_str()), ("b", "b", "c"));
    let file = SourceFile {
        path: "a/x.rs".into(),
        module: vec!["a".to_owned(), "x".to_owned()],
        code: "use super::y; use super::super::b::Bee; use crate::{Sea, c}; std::fs::read; self::z()".to_owned(),
    };
    assert_eq!(reached(&file), ["Sea", "a", "b", "c"].map(str::to_owned).into());
    let arrow = |from: &str, to: &[&str]| (from.to_owned(), to.iter().map(|name| (*name).to_owned()).collect());
    let arrows: Arrows = [arrow("a", &["b"]), arrow("b", &["c"]), arrow("c", &["b"])].into();
    assert_eq!(cycles(&arrows), [["b", "c"].map(str::to_owned).into()].into());
}
