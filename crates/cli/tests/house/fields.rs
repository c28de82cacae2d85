//! The store of the mock database is put together from parts, and each part keeps its fields to its own file.

use crate::source::code;
use crate::{assert_none, files_below, read, root, shown};

/// What a store was asked to be: a plain value that callers fill in.
const PLAIN: &str = "Options";

#[test]
fn the_store_and_its_parts_keep_their_fields_to_themselves() {
    let sources: Vec<(String, String)> = files_below(&root().join("crates/mockdb/src"), ".rs")
        .into_iter()
        .map(|path| (shown(&path), code(&read(&path))))
        .collect();
    let (_, store) = sources.iter().find(|(path, _)| path.ends_with("src/store.rs")).expect("the store has a file");
    let parts = fields(store, "Store").into_iter().flat_map(types).filter(|name| *name != PLAIN);
    let names: Vec<&str> = std::iter::once("Store").chain(parts).collect();
    assert!(names.len() > 5, "the store has parts: {names:?}");
    let mut complaints = Vec::new();
    for (path, text) in &sources {
        for name in &names {
            let visible = fields(text, name).into_iter().filter(|field| field.starts_with("pub"));
            complaints.extend(visible.map(|field| format!("{path}: {name} has `{field}`")));
        }
    }
    assert_none(&complaints, "a part of the store is asked, not looked into; give it a method:");
}

/// The fields of a struct, a line each; none if it is not defined here.
fn fields<'a>(code: &'a str, name: &str) -> Vec<&'a str> {
    let is_start = |line: &str| {
        let mut words = line.split(' ').skip_while(|word| word.starts_with("pub"));
        words.next() == Some("struct") && words.next() == Some(name) && line.ends_with('{')
    };
    let body = code.lines().skip_while(|line| !is_start(line)).skip(1).take_while(|line| !line.starts_with('}'));
    body.map(str::trim).filter(|line| line.contains(": ")).collect()
}

/// The names of types in a field.
fn types(field: &str) -> Vec<&str> {
    let (_, kind) = field.split_once(": ").unwrap_or_default();
    kind.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.starts_with(|first: char| first.is_uppercase()))
        .collect()
}

#[test]
fn fields_and_their_types_are_found() {
    let text = "pub struct Other {\n    a: B,\n}\npub(crate) struct Part {\n    pub(crate) one: Vec<Two>,\n    three: Four,\n}\n";
    assert_eq!(fields(text, "Part"), ["pub(crate) one: Vec<Two>,", "three: Four,"]);
    assert_eq!(types("three: Option<Four>,"), ["Option", "Four"]);
    assert!(fields(text, "Absent").is_empty());
}
