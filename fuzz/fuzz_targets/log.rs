//! Logs of servers, read as all kinds of them.
#![no_main]

#[path = "../src/log.rs"]
mod log;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    log::fuzz_log(text);
});
