//! Bodies of functions: whatever stands between the dollars, a program that can be read, or an error with a place that lies in the text.

use skew_program::{Program, parts};
use skew_value::Dialect;

const SCHEMA: &str = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, name TEXT);\n";

/// Reads a text as a file of functions, and as the body of one.
pub(crate) fn fuzz_plpgsql(text: &str) {
    let before = "CREATE FUNCTION f(item int, INOUT n int DEFAULT 1) LANGUAGE plpgsql AS $fuzz$";
    for whole in [format!("{SCHEMA}{text}"), format!("{SCHEMA}{before}{text}$fuzz$;")] {
        let lines = whole.lines().count() + 1;
        let _ = parts(&whole, Dialect::Postgres);
        if let Err(error) = Program::parse(&whole) {
            let line = error.place.line as usize;
            assert!(line >= 1 && line <= lines && error.place.column >= 1 && !error.message.is_empty(), "{error:?}");
        }
    }
}
