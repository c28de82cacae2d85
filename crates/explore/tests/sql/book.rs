//! The table of the book that compares the levels of the engines (`docs/src/engines/overview.md`) is what the explorer finds.
//!
//! ```text
//!   | write skew | happens | happens | 40001 | happens | happens | happens | 1213 |      a row is a program of examples/
//! ```

use crate::on_engine::{Becomes, becomes};
use skew_history::{EngineLevel, IsolationLevel};
use std::path::Path;

/// How a row begins, and the program behind it.
const ROWS: [(&str, &str); 9] = [
    ("read, compute, write", "engines/lost-update.sql"),
    ("two SELECTs", "engines/read-skew.sql"),
    ("write skew", "engines/write-skew.sql"),
    ("lock the parent", "engines/lock-the-parent.sql"),
    ("the same, after a plain", "engines/lock-the-parent-too-late.sql"),
    ("UPDATE, and if no row", "engines/upsert.sql"),
    ("count, then insert", "engines/count-then-insert.sql"),
    ("an UPDATE waits for", "engines/delete-and-insert.sql"),
    ("an UPDATE searches", "bugs/14-nobody-on-call/buggy.sql"),
];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The cells of a row of a table.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches(['*', '`'])).collect()
}

/// Whether a cell says what becomes of a program.
fn is_right(cell: &str, found: &Becomes, level: EngineLevel) -> bool {
    let is_serializable = level == EngineLevel::PostgresSerializable;
    match cell {
        "happens" | "wrong" | "finds nothing" => found.fails,
        "no" | "right" => !found.fails && found.refused.is_empty(),
        // The explorer does not ask with which code serializable refuses; PostgreSQL itself was asked.
        "40001" if is_serializable => !found.refused.is_empty(),
        "1062" => found.refused.iter().eq(["23505"]),
        code => found.refused.iter().eq([code]),
    }
}

#[test]
fn the_table_that_compares_the_levels_is_what_the_explorer_finds() {
    let page = read("docs/src/engines/overview.md");
    let head = page.lines().find(|line| line.starts_with("| | `pg:rc`")).expect("the head of the table");
    let level = |name: &&str| name.parse::<IsolationLevel>().ok().and_then(IsolationLevel::of_engine);
    let levels: Vec<EngineLevel> = cells(head)[1..].iter().map(|name| level(name).expect("a level")).collect();
    assert_eq!(levels.len(), 7);
    let mut wrong = Vec::new();
    for (start, file) in ROWS {
        let row = page.lines().find(|line| line.starts_with(&format!("| {start}"))).expect(start);
        let text = read(&format!("examples/{file}"));
        for (&level, cell) in levels.iter().zip(&cells(row)[1..]) {
            let found = becomes(&text, level);
            if !is_right(cell, &found, level) {
                wrong.push(format!("{file} at {level}: {found:?} and not {cell}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
