//! Programs: whatever the text, an answer or an error with a place that lies in the text.
#![no_main]

use skew_program::Program;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = Program::parse(text) {
        assert!(error.place.line >= 1 && error.place.column >= 1 && !error.message.is_empty());
    }
});
