//! Any text as statements of both dialects: errors, never a panic, and the session lives on.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../src/sql.rs"]
mod sql;

fuzz_target!(|text: &str| sql::run_any(text));
