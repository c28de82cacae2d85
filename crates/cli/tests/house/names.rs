//! One word for one thing: a type name that stands for three things makes its readers ask which.
//!
//! Names that are used more often stand in a table with how often, which may only get shorter. Types that only one small module sees may
//! share a name with another one; the third has to find a better one.

use crate::assert_none;
use crate::workspace::crates;
use std::collections::BTreeMap;

/// How many types may have one name.
const MOST: usize = 2;

/// Names that more types have, and how many.
const SHARED: [(&str, usize); 72] = [
    ("Arguments", 11),
    ("Call", 10),
    ("Answer", 8),
    ("Step", 8),
    ("Failure", 7),
    ("Kind", 7),
    ("Found", 6),
    ("Moment", 6),
    ("Reader", 6),
    ("State", 6),
    ("Asked", 5),
    ("Client", 5),
    ("Draft", 5),
    ("Ending", 5),
    ("Line", 5),
    ("Listed", 5),
    ("Options", 5),
    ("Outcome", 5),
    ("Place", 5),
    ("Row", 5),
    ("Rows", 5),
    ("Shape", 5),
    ("Source", 5),
    ("Tally", 5),
    ("Transaction", 6),
    ("Action", 4),
    ("Bound", 4),
    ("Cursor", 4),
    ("Identity", 4),
    ("Progress", 4),
    ("Read", 4),
    ("Recorder", 4),
    ("Report", 4),
    ("Run", 4),
    ("Session", 4),
    ("Shared", 4),
    ("Statement", 4),
    ("Told", 4),
    ("Values", 4),
    ("Versions", 3),
    ("Body", 3),
    ("Change", 3),
    ("Clause", 3),
    ("Column", 3),
    ("End", 3),
    ("Ended", 3),
    ("Fields", 3),
    ("Follower", 3),
    ("Format", 3),
    ("Known", 3),
    ("Layout", 3),
    ("Left", 3),
    ("Looked", 3),
    ("Manner", 3),
    ("Name", 3),
    ("Node", 3),
    ("Operation", 3),
    ("Parameters", 3),
    ("Part", 3),
    ("Plan", 3),
    ("Reason", 3),
    ("Rules", 3),
    ("Schedule", 3),
    ("Set", 3),
    ("Settings", 3),
    ("Shown", 3),
    ("Stop", 3),
    ("Target", 3),
    ("Value", 3),
    ("View", 3),
    ("Work", 3),
    ("Writes", 3),
];

#[test]
fn type_names_stand_for_one_thing() {
    let shared: BTreeMap<&str, usize> = SHARED.into();
    let mut complaints = Vec::new();
    let defined = defined();
    for (name, files) in &defined {
        let (now, before) = (files.len(), shared.get(name.as_str()).copied().unwrap_or(MOST));
        if now > before.max(MOST) {
            complaints.push(format!("{name} stands for {now} things: {}", files.join(", ")));
        } else if now < before && before > MOST {
            complaints
                .push(format!("{name} stands for {now} things now, not for {before}: well done, lower the number"));
        }
    }
    let gone = shared.keys().filter(|name| !defined.contains_key(**name));
    complaints.extend(gone.map(|name| format!("{name} stands for nothing any more: take it out")));
    assert_none(&complaints, "one word for one thing (crates/cli/tests/house/names.rs):");
}

/// The types of all crates, and where each is defined.
fn defined() -> BTreeMap<String, Vec<String>> {
    let mut defined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for each in crates() {
        for file in each.files() {
            let place = format!("{}::{}", each.name, file.module.join("::"));
            for name in file.code.lines().filter_map(type_name) {
                defined.entry(name.to_owned()).or_default().push(place.clone());
            }
        }
    }
    defined
}

/// The name of the type that is defined on this line. Types that belong to a trait have the names that the trait gives them.
pub(crate) fn type_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let public = code.strip_prefix("pub").and_then(|rest| match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ").map(|(_, item)| item),
        None => rest.strip_prefix(' '),
    });
    let item = public.unwrap_or(code);
    let alias = item.strip_prefix("type ").filter(|_| code.len() == line.len());
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|word| item.strip_prefix(word)).or(alias)?;
    rest.split(|letter: char| !letter.is_alphanumeric()).next().filter(|name| !name.is_empty())
}

#[test]
fn a_type_is_found_where_it_is_defined() {
    assert_eq!(type_name("pub(crate) struct Store<'a> {"), Some("Store"));
    assert_eq!(type_name("    pub enum Kind {"), Some("Kind"));
    assert_eq!(type_name("type Arrows = u8;"), Some("Arrows"));
    assert_eq!(type_name("    type Err = Unknown;"), None);
    assert_eq!(type_name("let structure = 1;"), None);
}
