//! The readers of all formats: `FORMAT` in the environment says which, since libFuzzer hands over nothing but bytes.
#![no_main]

use skew_history::format::Format;
use std::sync::LazyLock;

static FORMAT: LazyLock<Format> = LazyLock::new(|| {
    let name = std::env::var("FORMAT").expect("FORMAT names the format to read");
    name.parse().expect("FORMAT is a format")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| skew_fuzz::fuzz_one(*FORMAT, bytes));
