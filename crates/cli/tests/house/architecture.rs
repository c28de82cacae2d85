//! What ARCHITECTURE.md says: the picture with its tiers, the table of crates, who may touch the world, and the tables of modules.

use crate::{read, root};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of the tables whose first line begins so, each as its cells.
fn rows(beginning: &str) -> Vec<Vec<String>> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let mut rows = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line.starts_with(beginning)) {
        let table = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
        rows.extend(table.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()));
    }
    rows
}

/// What stands between backticks.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Per crate of the table, which crates it may know; nothing stands for all.
pub(crate) fn may_know() -> BTreeMap<String, Option<BTreeSet<String>>> {
    let row = |cells: Vec<String>| {
        let may_know = match cells[2].as_str() {
            "all" => None,
            "nothing" => Some(BTreeSet::new()),
            names => Some(names.split(',').map(|name| name.trim().to_owned()).collect()),
        };
        (cells[0].trim_matches('`').to_owned(), may_know)
    };
    rows("| crate ").into_iter().map(row).collect()
}

/// The tiers of the picture: a number and the words of its line, among them the names of crates.
pub(crate) fn tiers() -> Vec<(u32, Vec<String>)> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let picture = text.split("```").nth(1).unwrap_or_default();
    let tier = |line: &str| {
        let (number, words) = line.trim_start().split_once(' ')?;
        let words = words.split(|letter: char| !letter.is_alphanumeric()).map(str::to_owned);
        Some((number.parse().ok()?, words.collect()))
    };
    picture.lines().filter_map(tier).collect()
}

/// A crate or module (`mockdb::wire`) and the parts of the world that it may touch; nothing stands for all.
pub(crate) fn may_touch() -> Vec<(String, Option<Vec<String>>)> {
    let row = |cells: Vec<String>| {
        let touched = match cells[1].as_str() {
            "all" => None,
            words => Some(words.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>()),
        };
        names(&cells[0]).into_iter().map(move |who| (who, touched.clone()))
    };
    rows("| who ").into_iter().flat_map(row).collect()
}

/// The modules in the table of a crate; nothing when it has no table.
pub(crate) fn modules_of(name: &str) -> Vec<String> {
    let rows = rows(&format!("| module of `{name}` "));
    rows.iter().flat_map(|cells| names(&cells[0])).map(|name| name.trim_end_matches('/').to_owned()).collect()
}
