//! The text of Plume and PolySI: an event per line, `r(key,value,session,transaction)`.
//!
//! Transaction −1 is "some aborted one". 0 is the initial value, and no written value is 0.

use super::{push_number, scalar};
use crate::recorder::Generated;
use skew_history::{Action, Outcome};

/// A transaction's lines.
pub(super) fn push(bytes: &mut Vec<u8>, transaction: &Generated<'_>) {
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
