//! The text of Plume and PolySI: an event per line, `r(key,value,session,transaction)`.
//!
//! Transaction −1 is "some aborted one". 0 is the initial value, and no written value is 0.

use super::scalar;
use crate::parameters::Parameters;
use crate::recorder::Generated;
use crate::{GenerateError, generate};
use skew_history::{Action, Outcome};
use std::io;

/// How many bytes are gathered before they are handed on.
const CHUNK: usize = 1 << 16;

pub(super) fn write(parameters: &Parameters, out: &mut dyn io::Write) -> Result<(), GenerateError> {
    let mut bytes = Vec::with_capacity(2 * CHUNK);
    generate(parameters, &mut |transaction| {
        push(&mut bytes, transaction);
        if bytes.len() >= CHUNK {
            out.write_all(&bytes)?;
            bytes.clear();
        }
        Ok(())
    })?;
    out.write_all(&bytes)?;
    Ok(out.flush()?)
}

/// A transaction's lines.
fn push(bytes: &mut Vec<u8>, transaction: &Generated<'_>) {
    let id = if transaction.outcome == Outcome::Committed { transaction.id as i64 } else { -1 };
    for event in transaction.events {
        bytes.extend_from_slice(if event.action == Action::Read { b"r(" } else { b"w(" });
        push_number(bytes, event.key);
        bytes.push(b',');
        push_number(bytes, scalar(&event.content));
        bytes.push(b',');
        push_number(bytes, transaction.session);
        bytes.push(b',');
        push_number(bytes, id);
        bytes.extend_from_slice(b")\n");
    }
}

/// Adds a number in decimal.
fn push_number(bytes: &mut Vec<u8>, number: impl itoa::Integer) {
    bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}
