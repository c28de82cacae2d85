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
const SHARED: [(&str, usize); 16] = [
    ("Arguments", 14),
    ("Options", 5),
    ("Cursor", 4),
    ("Outcome", 4),
    ("Place", 4),
    ("Action", 3),
    ("Bound", 3),
    ("Identity", 3),
    ("Kind", 3),
    ("Name", 3),
    ("Progress", 3),
    ("Rows", 3),
    ("Run", 3),
    ("Session", 3),
    ("Value", 3),
    ("Values", 3),
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
