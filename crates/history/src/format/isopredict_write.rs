//! Writes IsoPredict's traces: committed transactions, and for every read the transaction it read from.
//!
//! A trace knows versions only by their transactions. So a read of a version that its writer overwrote, which no level allows,
//! cannot be told and is refused; a read from a transaction that is not in the trace (it aborted, or nobody wrote the value) names
//! one that is not there, and so stays what it is: out of thin air.

use super::versions::{Origin, Origins, losses, refuse_found_and_gone, refuse_lists, refuse_nothing};
use super::{Format, WriteError};
use crate::history::{Action, Event, EventId, History, Outcome, TransactionId};
use crate::name::Name;
use std::io::Write;

pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<Vec<String>, WriteError> {
    refuse_lists(history, Format::IsoPredict)?;
    refuse_found_and_gone(history, Format::IsoPredict)?;
    let versions = Origins::new(history);
    let mut losses = losses(history, false);
    let sessions = session_names(history, &mut losses);
    let counted = versions.counted(history);
    refuse_nothing(history, &counted, Format::IsoPredict)?;
    let name = |transaction: TransactionId| {
        let session = &sessions[history.session_of(transaction).index()];
        format!("{session}, {}", history.position_in_session(transaction))
    };
    for transaction in history.transactions().filter(|transaction| counted[transaction.index()]) {
        for (number, event) in history.numbered_events_of(transaction) {
            let key = clean_key(history, event)?;
            let this = name(transaction);
            if event.action == Action::Write {
                writeln!(out, "WRITE KEY[{key}] Txn({this})")?;
                continue;
            }
            let from = match versions.origin(number) {
                Origin::Initial => "0, 0".to_owned(),
                Origin::Write(write) => {
                    refuse_overwritten(history, transaction, number, write)?;
                    let writer = history.transaction_of(write);
                    if counted[writer.index()] { name(writer) } else { format!("aborted, {}", writer.0) }
                }
                Origin::ThinAir => format!("nobody, {}", number.0),
                Origin::Several { .. } | Origin::NoRead => return Err(unclear(history, number)),
            };
            writeln!(out, "READ KEY[{key}] Txn({this}) From({from})")?;
        }
    }
    if history.transactions().any(|transaction| history.outcome(transaction) != Outcome::Committed) {
        losses.push("Aborted transactions are left out, and unknown ones from which nobody read.".to_owned());
    }
    if history.transactions().any(|transaction| history.events_of(transaction).is_empty()) {
        losses.push("Transactions without events are left out.".to_owned());
    }
    losses.push("Values and the ids of transactions are left out.".to_owned());
    Ok(losses)
}

/// The names of sessions where a trace can carry them: `(0, 0)` is the initial state, so none may be called 0.
fn session_names(history: &History, losses: &mut Vec<String>) -> Vec<String> {
    let names: Vec<String> = history.sessions().map(|session| history.session_name(session).to_string()).collect();
    let is_clean = |name: &String| {
        let reserved = ["0", "aborted", "nobody", ""].contains(&name.as_str());
        !reserved && name.trim() == name && !name.contains([',', ')', '\n', '\r'])
    };
    if names.iter().all(is_clean) {
        return names;
    }
    losses.push("Sessions are numbered, since a trace cannot carry all their names.".to_owned());
    (1..=names.len()).map(|number| number.to_string()).collect()
}

fn clean_key(history: &History, event: &Event) -> Result<String, WriteError> {
    let name: Name<'_> = history.key_name(event.key);
    let key = name.to_string();
    if key.contains([']', '\n', '\r']) {
        let reason = format!("the key {key:?} has a bracket or a line end");
        return Err(WriteError::Unsupported { format: Format::IsoPredict, reason, advice: "rename the key" });
    }
    Ok(key)
}

fn refuse_overwritten(
    history: &History,
    reader: TransactionId,
    read: EventId,
    write: EventId,
) -> Result<(), WriteError> {
    let (writer, key) = (history.transaction_of(write), history.event(read).key);
    let overwrites = |&(number, event): &(EventId, &Event)| {
        let is_later = number > write && (writer != reader || number < read);
        is_later && !event.is_read() && event.key == key && event.value != history.event(write).value
    };
    match history.numbered_events_of(writer).find(overwrites) {
        None if writer != reader || write < read => Ok(()),
        _ => Err(unclear(history, read)),
    }
}

fn unclear(history: &History, read: EventId) -> WriteError {
    let reader = history.transaction_name(history.transaction_of(read));
    let reason = format!(
        "{reader} read a version of {} that is not the one version of one transaction",
        history.key_name(history.event(read).key)
    );
    WriteError::Unsupported { format: Format::IsoPredict, reason, advice: "write native" }
}
