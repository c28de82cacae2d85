//! What the guard lets through fits the stack of a thread: parsed, bound, planned, run and dropped.

use skew_sql::{Catalog, MemoryStorage, Session};
use skew_value::Dialect;
use std::sync::Arc;

/// Runs a text, whatever it answers.
fn survives(text: &str) {
    for dialect in [Dialect::Postgres, Dialect::MySql] {
        let mut session = Session::new(dialect, Arc::new(Catalog::default()));
        let mut storage = MemoryStorage::new();
        for statement in session.parse(text).unwrap_or_default() {
            if let Ok(prepared) = session.prepare(&statement, &[]) {
                let _ = session.execute(&prepared, &[], &mut storage);
            }
        }
    }
}

#[test]
fn chains_of_every_length_are_answered() {
    for length in [10, 100, 1000, 1400, 1499, 1501, 5000] {
        survives(&format!("SELECT 1 {}", "+ 1 ".repeat(length)));
        survives(&format!("SELECT true {}", "AND true ".repeat(length)));
        survives(&format!("SELECT false {}", "OR false ".repeat(length)));
        survives(&format!("SELECT 1 = 1 {}", "OR 1 = 2 + 3 ".repeat(length)));
        survives(&format!("SELECT 1 = 1 {}", "AND 1 = 1 OR 1 = 2 ".repeat(length)));
        survives(&format!("SELECT NOT 1 = 1 {}", "OR NOT 1 = 2 AND NOT 1 = 1 ".repeat(length)));
        survives(&format!("SELECT true {}", "BETWEEN true AND true ".repeat(length)));
        survives(&format!("SELECT true {}", "XOR true AND true ".repeat(length)));
        survives(&format!("SELECT 'a' {}", "|| 'a' ".repeat(length)));
        survives(&format!("SELECT 1 {}", "::int".repeat(length)));
        survives(&format!("SELECT 1 {}", "IS NULL ".repeat(length)));
        survives(&format!("SELECT 1 {}", "UNION SELECT 1 ".repeat(length)));
        survives(&format!("SELECT 1 {}", "EXCEPT SELECT 2 ".repeat(length / 10)));
        survives(&format!(
            "SELECT 1 FROM (SELECT 1) t0 {}",
            (1..length).map(|n| format!(", (SELECT 1) t{n}")).collect::<String>()
        ));
        survives(&format!(
            "WITH a0 AS (SELECT 1) {} SELECT * FROM a{}",
            (1..length).map(|n| format!(", a{n} AS (SELECT * FROM a{})", n - 1)).collect::<String>(),
            length - 1
        ));
    }
}

#[test]
fn nesting_of_every_depth_is_answered() {
    for depth in [5, 15, 25, 35, 38, 39, 45, 55, 60, 62, 63, 70, 119, 121] {
        survives(&format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth)));
        survives(&format!("SELECT {}1{}", "(1 + ".repeat(depth), ")".repeat(depth)));
        survives(&format!("SELECT {}1{}", "abs(".repeat(depth), ")".repeat(depth)));
        survives(&format!("SELECT {} true", "NOT ".repeat(depth)));
        survives(&format!("SELECT {} 1", "- ".repeat(depth)));
        survives(&format!("SELECT {} 1 {}", "CASE WHEN true THEN ".repeat(depth), "END ".repeat(depth)));
        survives(&format!("{} SELECT 1 {}", "SELECT * FROM (".repeat(depth), ") t".repeat(depth)));
        survives(&format!("{} 1 {}", "SELECT (".repeat(depth), ")".repeat(depth)));
        survives(&format!("SELECT 1 WHERE {} true {}", "EXISTS (SELECT 1 WHERE ".repeat(depth), ")".repeat(depth)));
        survives(&format!("SELECT {}1{}", "(1 + 1 + 1 + 1 + 1 + ".repeat(depth), ")".repeat(depth)));
        survives(&format!("SELECT * FROM {} (SELECT 1) t {}", "(".repeat(depth), ")".repeat(depth)));
    }
}

#[test]
fn what_is_bound_twice_does_not_double_with_every_floor() {
    for depth in [3, 20, 38] {
        survives(&format!("SELECT {}true{}", "(".repeat(depth), " BETWEEN true AND true)".repeat(depth)));
        survives(&format!("SELECT {}1{}", "CASE ".repeat(depth), " WHEN 1 THEN 1 WHEN 2 THEN 2 END".repeat(depth)));
    }
}

#[test]
fn a_thousand_alternatives_are_not_too_deep() {
    let mut session = Session::new(Dialect::Postgres, Arc::new(Catalog::default()));
    let text = format!("SELECT id FROM (VALUES (7)) t(id) WHERE id = 0 {}", "OR id = 7 ".repeat(1400));
    let statements = session.parse(&text).unwrap();
    let prepared = session.prepare(&statements[0], &[]).unwrap();
    assert!(session.execute(&prepared, &[], &mut MemoryStorage::new()).is_ok());
}
