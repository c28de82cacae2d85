//! Functions in PL/pgSQL.
#![no_main]

#[path = "../src/plpgsql.rs"]
mod plpgsql;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    plpgsql::fuzz_plpgsql(text);
});
