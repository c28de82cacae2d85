//! Any bytes as messages of a PostgreSQL client: refused, or read to their end; never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skew_mockdb::wire::message::{decode, decode_startup};

fuzz_target!(|bytes: &[u8]| {
    let _ = decode_startup(bytes);
    if let Some((letter, body)) = bytes.split_first() {
        let _ = decode(*letter, body);
    }
    // The same as a stream: what the first message leaves is the next one.
    let mut rest = bytes;
    while let Some((head, body)) = rest.split_at_checked(5) {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let Some((message, next)) = length.checked_sub(4).and_then(|length| body.split_at_checked(length)) else { break };
        let _ = decode(head[0], message);
        rest = next;
    }
});
