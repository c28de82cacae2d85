//! The reader of the format `dbcop-json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| skew_fuzz::fuzz_one(skew_history::format::Format::DbcopJson, bytes));
