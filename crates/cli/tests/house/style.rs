//! Style that matters is a test.
//!
//! The length of a function is counted on formatted code: from the line with `fn` to the closing brace at the same depth.

use crate::names::type_name;
use crate::{assert_none, files_below, read, root, shown};
use std::path::PathBuf;

const LONGEST_FILE: usize = 800;
const LONGEST_FUNCTION: usize = 70;

fn sources() -> Vec<PathBuf> {
    let sources = files_below(&root().join("crates"), ".rs");
    assert!(sources.len() > 10, "where is the code?");
    sources
}

#[test]
fn files_are_short_enough_to_read() {
    let lengths = sources().into_iter().map(|path| (read(&path).lines().count(), path));
    let long = lengths.filter(|(length, _)| *length > LONGEST_FILE);
    let complaints: Vec<String> = long.map(|(length, path)| format!("{}: {length}", shown(&path))).collect();
    assert_none(&complaints, "a file has at most 800 lines; better 100 to 500:");
}

#[test]
fn functions_are_short_enough_to_understand() {
    let mut complaints = Vec::new();
    for path in sources() {
        let text = read(&path);
        for (name, length) in functions(&text).into_iter().filter(|(_, length)| *length > LONGEST_FUNCTION) {
            complaints.push(format!("{}: {name} has {length} lines", shown(&path)));
        }
    }
    assert_none(&complaints, "a function has at most 70 lines; better 10:");
}

/// The first lines and the lengths of all functions of formatted code.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words: Vec<&str> =
            code.split(' ').take_while(|word| !word.contains('(') || word.starts_with("pub(")).collect();
        let is_function = words.contains(&"fn") || code.starts_with("fn ");
        if code.starts_with("//") || !is_function || line.ends_with(';') || line.ends_with('}') {
            continue;
        }
        let closing = format!("{}}}", &line[..line.len() - code.len()]);
        if let Some(length) = lines[start..].iter().position(|line| *line == closing) {
            found.push((code.to_owned(), length + 1));
        }
    }
    found
}

#[test]
fn the_length_of_a_function_is_counted_to_its_brace() {
    let text = "impl A {\n    pub(crate) fn a(&self) {\n        if b {\n        }\n    }\n    fn c() {}\n}\n";
    assert_eq!(functions(text), [("pub(crate) fn a(&self) {".to_owned(), 4)]);
}

#[test]
fn every_file_opens_by_saying_what_it_is_for() {
    let silent = |path: &PathBuf| {
        let text = read(path);
        let opening = text.strip_prefix("//! ").and_then(|text| text.lines().next());
        // A file of one line holds nothing yet that could be explained.
        text.lines().count() > 1 && opening.is_none_or(|line| line.len() < 10)
    };
    let complaints: Vec<String> = sources().iter().filter(|path| silent(path)).map(|path| shown(path)).collect();
    assert_none(&complaints, "a file opens with `//!` and a sentence:");
}

#[test]
fn no_loose_ends_are_left() {
    // In two parts each, so that this file too can be looked at.
    let marks = [("todo", "!("), ("unimplemented", "!("), ("dbg", "!("), ("#[", "ignore"), ("FIX", "ME"), ("XX", "X")];
    let marks = marks.map(|(one, two)| format!("{one}{two}"));
    let mut complaints = Vec::new();
    for path in sources() {
        for (number, line) in read(&path).lines().enumerate() {
            let found = marks.iter().filter(|mark| line.contains(mark.as_str()));
            complaints.extend(found.map(|mark| format!("{}:{}: {mark}", shown(&path), number + 1)));
        }
    }
    assert_none(&complaints, "finish it or leave it out:");
}

#[test]
fn what_is_skipped_is_said_in_one_place() {
    // In two parts, so that this file too can be looked at.
    let mark = format!("\"{}: ", "skipped");
    let others = sources().into_iter().filter(|path| !shown(path).starts_with("crates/testing/"));
    let complaints: Vec<String> = others.filter(|path| read(path).contains(&mark)).map(|path| shown(&path)).collect();
    assert_none(&complaints, "`skew_testing::skipped` says it so that it is seen:");
}

#[test]
fn types_have_names_that_say_something() {
    let empty_words = ["Manager", "Helper", "Util", "Utils", "Context", "Data", "Info"];
    let mut complaints = Vec::new();
    for path in sources().into_iter().filter(|path| !path.ends_with("house/style.rs")) {
        for name in read(&path).lines().filter_map(type_name) {
            let found = capital_words(name).into_iter().any(|word| empty_words.contains(&word.as_str()));
            complaints.extend(found.then(|| format!("{}: {name}", shown(&path))));
        }
    }
    assert_none(&complaints, "a type is a noun of the vocabulary:");
}

fn capital_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_uppercase() => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    words
}

#[test]
fn no_file_names_a_place_that_only_one_machine_has() {
    let places = ["/work/", "/home/", "/root/", "/Users/"];
    let mut complaints = Vec::new();
    for ending in [".rs", ".md", ".toml", ".py", ".jsonl", ".txt"] {
        for path in files_below(&root(), ending).into_iter().filter(|path| !path.ends_with("house/style.rs")) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let found = places.iter().filter(|place| text.contains(**place));
            complaints.extend(found.map(|place| format!("{}: {place}", shown(&path))));
        }
    }
    assert_none(&complaints, "paths are relative:");
}
