//! The reader of the format `timekiller`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| skew_fuzz::fuzz_one(skew_history::format::Format::TimeKiller, bytes));
