//! Native JSON lines, a transaction each.
//!
//! ```text
//!   {"skew":1,"about":"generated at snapshot: 20 sessions, …"}
//!   {"session":1,"id":7,"ops":[{"r":"17","v":null},{"w":"3","v":12}]}
//! ```

use super::push_number;
use crate::attempt::{Content, GeneratedEvent};
use crate::parameters::Parameters;
use crate::recorder::Generated;
use skew_history::{Action, Outcome};

/// The header; what it says about the history holds nothing that JSON would have to escape.
pub(super) fn push_header(bytes: &mut Vec<u8>, parameters: &Parameters) {
    bytes.extend_from_slice(b"{\"skew\":1,\"about\":\"");
    bytes.extend_from_slice(parameters.describe().as_bytes());
    bytes.extend_from_slice(b"\"}\n");
}

/// A transaction's line.
pub(super) fn push(bytes: &mut Vec<u8>, transaction: &Generated<'_>) {
    bytes.extend_from_slice(b"{\"session\":");
    push_number(bytes, transaction.session);
    bytes.extend_from_slice(b",\"id\":");
    push_number(bytes, transaction.id);
    bytes.extend_from_slice(b",\"ops\":[");
    for (place, event) in transaction.events.iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        push_event(bytes, event);
    }
    bytes.push(b']');
    push_rest(bytes, transaction);
    bytes.extend_from_slice(b"}\n");
}

fn push_event(bytes: &mut Vec<u8>, event: &GeneratedEvent) {
    bytes.extend_from_slice(match event.action {
        Action::Read => b"{\"r\":\"",
        Action::Write => b"{\"w\":\"",
        Action::Append => b"{\"a\":\"",
    });
    push_number(bytes, event.key);
    bytes.extend_from_slice(b"\",\"v\":");
    match &event.content {
        Content::Absent => bytes.extend_from_slice(b"null"),
        Content::Integer(number) => push_number(bytes, *number),
        Content::List(elements) => push_list(bytes, elements),
    }
    bytes.push(b'}');
}

fn push_list(bytes: &mut Vec<u8>, elements: &[i64]) {
    bytes.push(b'[');
    for (place, &element) in elements.iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        push_number(bytes, element);
    }
    bytes.push(b']');
}

fn push_rest(bytes: &mut Vec<u8>, transaction: &Generated<'_>) {
    bytes.extend_from_slice(match transaction.outcome {
        Outcome::Committed => b"".as_slice(),
        Outcome::AbortedByDatabase => b",\"outcome\":\"aborted\"",
        Outcome::AbortedByProgram => b",\"outcome\":\"aborted\",\"by\":\"program\"",
        Outcome::Unknown => b",\"outcome\":\"unknown\"",
    });
    if let Some(level) = transaction.level {
        bytes.extend_from_slice(b",\"level\":\"");
        bytes.extend_from_slice(level.name().as_bytes());
        bytes.push(b'"');
    }
    for (name, time) in [("begin", transaction.times.begin), ("end", transaction.times.end)] {
        let Some(time) = time else { continue };
        bytes.extend_from_slice(format!(",\"{name}\":").as_bytes());
        push_number(bytes, time);
    }
}
