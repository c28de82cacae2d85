//! Wrong, odd and enormous statements: SQL errors with a place, never a panic, and the session lives on.

#[path = "../../../fuzz/src/sql.rs"]
mod fuzz;
#[path = "../../check/tests/support/random.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other tests, which use other parts")]
mod random;

use random::Random;
use skew_sql::Stop;
use skew_sql::memory::MemoryStorage;
use skew_sql::session::Session;
use skew_value::{Dialect, SqlError, SqlState};
use std::path::Path;
use std::sync::Arc;

const DIALECTS: [Dialect; 2] = [Dialect::Postgres, Dialect::MySql];

/// What a text is refused with.
fn refusal(dialect: Dialect, text: &str) -> Option<SqlError> {
    let mut session = Session::new(dialect, Arc::default());
    let mut storage = MemoryStorage::new();
    let result = fuzz::run(&mut session, &mut storage, text);
    fuzz::run(&mut session, &mut storage, "SELECT 1").expect("the session lives on");
    match result {
        Ok(()) => None,
        Err(Stop::Error(error)) => Some(error),
        Err(Stop::Interrupted(interrupt)) => panic!("nobody interrupts here: {interrupt:?}"),
    }
}

#[test]
fn ten_thousand_parentheses_are_an_error() {
    for dialect in DIALECTS {
        let text = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(refusal(dialect, &text).map(|error| error.state), Some(SqlState::TOO_COMPLEX));
    }
}

#[test]
fn other_ways_to_nest_deeply_are_errors_or_work() {
    let deep = 20_000;
    let texts = [
        format!("SELECT {} 1", "NOT ".repeat(deep)),
        format!("SELECT {} 1", "- ".repeat(deep)),
        format!("SELECT 1 {}", "+ 1 ".repeat(deep)),
        format!("SELECT TRUE {}", "AND TRUE ".repeat(deep)),
        format!("SELECT 'a' {}", "|| 'a' ".repeat(deep)),
        format!("SELECT {} 1 {}", "CASE WHEN TRUE THEN ".repeat(deep), "END ".repeat(deep)),
        format!("{} SELECT 1 {}", "SELECT * FROM (".repeat(deep), ") t".repeat(deep)),
        format!("SELECT 1 {}", "UNION ALL SELECT 1 ".repeat(deep)),
        format!("SELECT 1 {}", "::int".repeat(deep)),
        format!("SELECT {}1{}", "ABS(".repeat(deep), ")".repeat(deep)),
        format!("SELECT ARRAY{}1{}", "[".repeat(deep), "]".repeat(deep)),
        format!("SELECT 1 IN ({})", vec!["1"; deep].join(",")),
        format!("SELECT * FROM (VALUES {}) v", vec!["(1)"; deep].join(",")),
        "SELECT 1; ".repeat(deep / 10),
        "(".repeat(deep),
        "BEGIN ".repeat(deep),
    ];
    for text in &texts {
        for dialect in DIALECTS {
            refusal(dialect, text);
        }
    }
}

#[test]
fn a_statement_of_64_megabytes_is_answered() {
    let text = format!("SELECT LENGTH('{}')", "x".repeat(64 << 20));
    refusal(Dialect::Postgres, &text);
    let list = format!("SELECT 1 IN ({}1)", "123456789, ".repeat((64 << 20) / 11));
    refusal(Dialect::Postgres, &list);
    let garbage = "é(\"' ".repeat((64 << 20) / 6);
    assert!(refusal(Dialect::Postgres, &garbage).is_some());
}

#[test]
fn a_syntax_error_has_its_place() {
    let error = refusal(Dialect::Postgres, "SELECT 1\nFROM item\nWHERE , x = 1").expect("this is wrong");
    assert_eq!(error.state, SqlState::SYNTAX_ERROR);
    let place = error.place.expect("a place");
    assert_eq!((place.line, place.column), (3, 7));
}

#[test]
fn values_out_of_range_are_errors_of_their_kind() {
    let cases = [
        ("SELECT 1 / 0", SqlState::DIVISION_BY_ZERO),
        ("SELECT 1.5 / 0", SqlState::DIVISION_BY_ZERO),
        ("SELECT 1 % 0", SqlState::DIVISION_BY_ZERO),
        ("SELECT 2147483647 + 1", SqlState::NUMERIC_OUT_OF_RANGE),
        ("SELECT -2147483648 - 1", SqlState::NUMERIC_OUT_OF_RANGE),
        ("SELECT 9223372036854775807 * 2", SqlState::NUMERIC_OUT_OF_RANGE),
        ("SELECT ABS(-9223372036854775807 - 1)", SqlState::NUMERIC_OUT_OF_RANGE),
        ("SELECT CAST(300000 AS SMALLINT)", SqlState::NUMERIC_OUT_OF_RANGE),
        ("SELECT CAST('x' AS INTEGER)", SqlState::INVALID_TEXT),
        ("SELECT DATE '2023-02-29'", SqlState::DATETIME_OVERFLOW),
        ("SELECT DATE 'soon'", SqlState::INVALID_DATETIME),
        ("SELECT TIMESTAMP '2024-01-01 25:00:00'", SqlState::DATETIME_OVERFLOW),
        ("SELECT EXP(1e10)", SqlState::NUMERIC_OUT_OF_RANGE),
        ("SELECT SQRT(-1)", SqlState("2201F")),
    ];
    for (text, state) in cases {
        assert_eq!(refusal(Dialect::Postgres, text).map(|error| error.state), Some(state), "{text}");
    }
}

#[test]
fn names_that_are_not_there_are_named() {
    let cases = [
        ("SELECT x FROM nowhere", SqlState::UNDEFINED_TABLE, "nowhere"),
        ("SELECT missing FROM (SELECT 1 AS a) t", SqlState::UNDEFINED_COLUMN, "missing"),
        ("SELECT frobnicate(1)", SqlState::UNDEFINED_FUNCTION, "frobnicate"),
    ];
    for (text, state, name) in cases {
        let error = refusal(Dialect::Postgres, text).expect("this is wrong");
        assert_eq!(error.state, state, "{text}");
        assert!(error.message.contains(name), "{}", error.message);
    }
}

/// A text with some words dropped, doubled, or taken from another text.
fn mutate(words: &[&str], others: &[&str], random: &mut Random) -> String {
    let mut words: Vec<&str> = words.to_vec();
    for _ in 0..random.up_to(4) {
        let place = random.below(words.len());
        match random.below(4) {
            0 if words.len() > 1 => _ = words.remove(place),
            1 => words.insert(place, random.pick(others)),
            2 => words.insert(place, words[place]),
            _ => words[place] = random.pick(others),
        }
    }
    words.join(" ")
}

#[test]
fn kept_inputs_and_their_mutations_never_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sql");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the corpus is there").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let texts: Vec<String> = paths.iter().map(|path| std::fs::read_to_string(path).expect("text")).collect();
    let all: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    let mut random = Random::new(1);
    for text in &texts {
        fuzz::run_any(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        for _ in 0..400 {
            let mutated = mutate(&words, &all, &mut random);
            let caught = std::panic::catch_unwind(|| fuzz::run_any(&mutated));
            assert!(caught.is_ok(), "{mutated}");
        }
    }
}
