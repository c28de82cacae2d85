//! Writes Plume's text and dbcop's bincode: formats in which everything is a number and 0 is the initial value.
//!
//! Names and values that are natural numbers stay; others are numbered, and a sentence says so. A history's own values stay
//! only if they mean the same when read back: Plume takes a written 0 as a sign that 0 is not initial, dbcop does not. Unknown
//! outcomes are decided as a checker decides them: committed if somebody read from it, aborted if not.

use super::versions::{Origins, losses, natural, refuse_found_and_gone, refuse_lists, refuse_nothing};
use super::{Format, WriteError};
use crate::history::{Action, History, KeyId, Outcome, SessionId, TransactionId, TransactionName};
use crate::name::Name;
use std::io::Write;

pub(super) fn write_plume(history: &History, out: &mut dyn Write) -> Result<Vec<String>, WriteError> {
    let numbers = Numbers::new(history, Format::Plume)?;
    refuse_nothing(history, &vec![true; history.transaction_count()], Format::Plume)?;
    for transaction in history.transactions() {
        let session = numbers.sessions[history.session_of(transaction).index()];
        let id = if numbers.committed[transaction.index()] { numbers.transactions[transaction.index()] } else { -1 };
        for (number, event) in history.numbered_events_of(transaction) {
            let letter = if event.action == Action::Read { 'r' } else { 'w' };
            let (key, value) = (numbers.keys[event.key.index()], numbers.values[number.index()]);
            writeln!(out, "{letter}({key},{value},{session},{id})")?;
        }
    }
    let mut losses = numbers.losses;
    if history.transactions().any(|transaction| history.events_of(transaction).is_empty()) {
        losses.push("Transactions without events are left out.".to_owned());
    }
    if !numbers.committed.iter().all(|&committed| committed) {
        losses.push("Which aborted transaction an aborted operation belongs to is left out.".to_owned());
    }
    Ok(losses)
}

pub(super) fn write_bincode(history: &History, out: &mut dyn Write) -> Result<Vec<String>, WriteError> {
    let numbers = Numbers::new(history, Format::DbcopBincode)?;
    let longest_session = history.sessions().map(|session| history.transactions_of(session).len()).max();
    let longest = history.transactions().map(|transaction| history.events_of(transaction).len()).max();
    let parameters =
        [0, history.session_count(), history.key_count(), longest_session.unwrap_or(0), longest.unwrap_or(0)];
    for number in parameters {
        out.write_all(&(number as u64).to_le_bytes())?;
    }
    for text in [history.about().unwrap_or(""), "", ""] {
        out.write_all(&(text.len() as u64).to_le_bytes())?;
        out.write_all(text.as_bytes())?;
    }
    out.write_all(&(history.session_count() as u64).to_le_bytes())?;
    for session in history.sessions() {
        out.write_all(&(history.transactions_of(session).len() as u64).to_le_bytes())?;
        for transaction in history.transactions_of(session) {
            write_transaction(history, &numbers, transaction, out)?;
        }
    }
    let mut losses = numbers.losses;
    losses.retain(|loss| !loss.contains("header"));
    losses.push("The names of sessions and transactions are left out.".to_owned());
    Ok(losses)
}

fn write_transaction(
    history: &History,
    numbers: &Numbers,
    transaction: TransactionId,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    out.write_all(&(history.events_of(transaction).len() as u64).to_le_bytes())?;
    for (number, event) in history.numbered_events_of(transaction) {
        out.write_all(&[u8::from(event.action == Action::Write)])?;
        out.write_all(&(numbers.keys[event.key.index()] as u64).to_le_bytes())?;
        out.write_all(&(numbers.values[number.index()] as u64).to_le_bytes())?;
        out.write_all(&[1])?;
    }
    out.write_all(&[u8::from(numbers.committed[transaction.index()])])?;
    Ok(())
}

/// Everything as numbers.
struct Numbers {
    keys: Vec<i64>,
    sessions: Vec<i64>,
    transactions: Vec<i64>,
    /// Per event.
    values: Vec<i64>,
    /// Per transaction whether it is written as committed.
    committed: Vec<bool>,
    losses: Vec<String>,
}

impl Numbers {
    fn new(history: &History, format: Format) -> Result<Numbers, WriteError> {
        refuse_lists(history, format)?;
        refuse_found_and_gone(history, format)?;
        let mut losses = losses(history, false);
        let keys = numbered(history.keys().map(|key| Some(history.key_name(key))), "Keys", &mut losses);
        let sessions = history.sessions().map(|session: SessionId| Some(history.session_name(session)));
        let transactions = history.transactions().map(|transaction| match history.transaction_name(transaction) {
            TransactionName::Given(name) => Some(name),
            TransactionName::Derived { .. } => None,
        });
        // dbcop names neither of them: there is nothing to say about their numbers.
        let mut unnamed = Vec::new();
        let told = if format == Format::Plume { &mut losses } else { &mut unnamed };
        let sessions = numbered(sessions, "Sessions", told);
        let transactions = numbered(transactions, "Transactions", told);
        let has_unknown = history.transactions().any(|transaction| history.outcome(transaction) == Outcome::Unknown);
        let own = own_values(history, format);
        let versions = (own.is_none() || has_unknown).then(|| Origins::new(history));
        let committed = match &versions {
            Some(versions) if has_unknown => {
                versions.refuse_ambiguous(history, format)?;
                losses.push(
                    "Unknown outcomes are written as committed where somebody read from them, else as aborted."
                        .to_owned(),
                );
                versions.counted(history)
            }
            _ => history.transactions().map(|transaction| history.outcome(transaction) == Outcome::Committed).collect(),
        };
        let values = match (own, &versions) {
            (Some(own), _) => own,
            (None, Some(versions)) => {
                losses.push("Values are numbered: 0 is the initial one, and every write has its own.".to_owned());
                versions.numbers(history, format)?
            }
            (None, None) => unreachable!("versions are resolved where the values do not serve"),
        };
        Ok(Numbers { keys, sessions, transactions, values, committed, losses })
    }
}

/// The names, if all are natural numbers; otherwise numbers from 1 on.
fn numbered<'a>(
    names: impl Iterator<Item = Option<Name<'a>>> + Clone,
    what: &str,
    losses: &mut Vec<String>,
) -> Vec<i64> {
    let natural = |name: Option<Name<'_>>| match name {
        Some(Name::Integer(number)) if number >= 0 => Some(number),
        _ => None,
    };
    if let Some(numbers) = names.clone().map(natural).collect::<Option<Vec<i64>>>() {
        return numbers;
    }
    if names.clone().any(|name| name.is_some()) {
        losses.push(format!("{what} are numbered, since not all their names are natural numbers."));
    }
    (1..).zip(names).map(|(number, _)| number).collect()
}

/// The history's own values per event, if they mean the same when read back.
fn own_values(history: &History, format: Format) -> Option<Vec<i64>> {
    if !history.claims().is_empty() {
        return None;
    }
    let mut values = Vec::with_capacity(history.event_count());
    let (mut reads_zero, mut writes_zero) = (vec![false; history.key_count()], vec![false; history.key_count()]);
    for transaction in history.transactions() {
        let is_committed = history.outcome(transaction) == Outcome::Committed;
        for event in history.events_of(transaction) {
            let value = natural(history, event.value)?;
            values.push(value);
            reads_zero[event.key.index()] |= value == 0 && event.is_read();
            // Plume does not count what aborted ones write, and whether an unknown one is written as aborted is not known yet.
            let settles = is_committed || format == Format::DbcopBincode;
            writes_zero[event.key.index()] |= value == 0 && !event.is_read() && settles;
            if value == 0 && !event.is_read() && history.outcome(transaction) == Outcome::Unknown {
                return None;
            }
        }
    }
    let serves = |key: KeyId| {
        let initial = history.initial(key);
        let (reads, writes) = (reads_zero[key.index()], writes_zero[key.index()]);
        match (natural(history, initial), format) {
            (Some(0), Format::DbcopBincode) => true,
            (Some(0), _) => !writes,
            (None, Format::Plume) if initial.is_absent() => writes || !reads,
            (None, _) if initial.is_absent() => !reads,
            _ => false,
        }
    };
    history.keys().all(serves).then_some(values)
}
