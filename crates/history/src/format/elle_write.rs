//! Writes Jepsen operations for Elle, in EDN and in JSON: list-append where the history has lists, else rw-register.
//!
//! Every transaction becomes an invocation and a completion. Their order in the file is real time, so they are merged by their
//! times, begins before ends where these are equal; within a session one after the other. A history without times gets the
//! least real time that a file can have: the first transactions of all sessions begin, then they end, then the second ones do.
//!
//! ```text
//!   a: t1 | t2      invoke t1, invoke t3, complete t1, complete t3, invoke t2, complete t2
//!   b: t3
//! ```

use super::versions::{Origin, Origins, losses, refuse_found_and_gone};
use super::{Format, WriteError};
use crate::history::{Action, Event, EventId, History, Outcome, Times, TransactionId};
use crate::json;
use crate::name::Name;
use crate::value::ValueView;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

pub(super) fn write(history: &History, format: Format, out: &mut dyn Write) -> Result<Vec<String>, WriteError> {
    refuse_initial_lists(history, format)?;
    refuse_found_and_gone(history, format)?;
    let mut losses = losses(history, true);
    let processes = processes(history, &mut losses);
    let values = WrittenValues::new(history, format, &mut losses)?;
    let writer = OperationWriter { history, values, is_edn: format == Format::ElleEdn };
    if !writer.is_edn {
        out.write_all(b"[")?;
    }
    let mut line = Vec::new();
    for (index, (transaction, is_invocation)) in moments(history, &mut losses).into_iter().enumerate() {
        let process = processes[history.session_of(transaction).index()];
        let separator: &[u8] = match (index, writer.is_edn) {
            (0, _) => b"",
            (_, true) => b"\n",
            (_, false) => b",\n",
        };
        line.clear();
        line.extend_from_slice(separator);
        writer.operation(index, process, transaction, is_invocation, &mut line)?;
        out.write_all(&line)?;
    }
    out.write_all(if writer.is_edn { b"\n" } else { b"]\n" })?;
    losses.push("Transactions are named by the index of their invocation.".to_owned());
    Ok(losses)
}

/// Lists of Jepsen begin without elements: those that others begin with would be out of thin air.
fn refuse_initial_lists(history: &History, format: Format) -> Result<(), WriteError> {
    let Some(key) = history.keys().find(|&key| !history.elements(history.initial(key)).is_empty()) else {
        return Ok(());
    };
    let reason =
        format!("key {} is a list that begins with elements, and its lists begin empty", history.key_name(key));
    Err(WriteError::Unsupported { format, reason, advice: "write native or notation" })
}

/// Processes are integers: others are taken for Jepsen's own.
fn processes(history: &History, losses: &mut Vec<String>) -> Vec<i64> {
    let own = history.sessions().map(|session| match history.session_name(session) {
        Name::Integer(number) => Some(number),
        Name::Text(_) => None,
    });
    own.collect::<Option<Vec<i64>>>().unwrap_or_else(|| {
        losses.push("Sessions are numbered, since processes are integers.".to_owned());
        (0..history.session_count() as i64).collect()
    })
}

/// The order of the file: which transaction, and whether it is its invocation.
fn moments(history: &History, losses: &mut Vec<String>) -> Vec<(TransactionId, bool)> {
    if !history.has_times() {
        losses
            .push("The order of the operations says something about real time, which the history does not.".to_owned());
    }
    let mut heap = BinaryHeap::new();
    let mut is_exact = true;
    for session in history.sessions() {
        if let Some(first) = history.transactions_of(session).next() {
            heap.push(Reverse((invoked_at(history, first), 0, first)));
        }
    }
    let mut moments = Vec::with_capacity(2 * history.transaction_count());
    while let Some(Reverse((at, kind, transaction))) = heap.pop() {
        moments.push((transaction, kind == 0));
        let next = TransactionId(transaction.0 + 1);
        let next = (next.index() < history.transaction_count()
            && history.session_of(next) == history.session_of(transaction))
        .then_some(next);
        if kind == 0 {
            heap.push(Reverse((completed_at(history, transaction, next), 1, transaction)));
        } else if let Some(next) = next {
            let begin = invoked_at(history, next);
            is_exact &= begin >= at;
            heap.push(Reverse((begin, 0, next)));
        }
    }
    let is_whole = |times: Times, transaction| {
        times.begin.is_some() && (times.end.is_some() || history.outcome(transaction) == Outcome::Unknown)
    };
    let all_whole = history.transactions().all(|transaction| is_whole(history.times(transaction), transaction));
    if history.has_times() && !(is_exact && all_whole) {
        losses.push("Times that are missing or overlap within a session are carried only in part.".to_owned());
    }
    moments
}

fn invoked_at(history: &History, transaction: TransactionId) -> i64 {
    if !history.has_times() {
        return 2 * i64::from(history.position_in_session(transaction));
    }
    history.times(transaction).begin.unwrap_or(i64::MIN)
}

fn completed_at(history: &History, transaction: TransactionId, next: Option<TransactionId>) -> i64 {
    if !history.has_times() {
        return 2 * i64::from(history.position_in_session(transaction)) + 1;
    }
    let next_begin = next.and_then(|next| history.times(next).begin);
    history.times(transaction).end.or(next_begin).unwrap_or(i64::MAX)
}

/// How values are written.
enum WrittenValues {
    /// As they are; reads of the initial state as nothing.
    Own(Origins),
    /// As numbers, per event; reads of the initial state, 0, as nothing.
    Numbers(Vec<i64>),
}

impl WrittenValues {
    fn new(history: &History, format: Format, losses: &mut Vec<String>) -> Result<WrittenValues, WriteError> {
        let versions = Origins::new(history);
        let is_unclear = |number: EventId, event: &Event| match versions.origin(number) {
            _ if event.value.is_list() => false,
            Origin::NoRead => event.value.is_absent(),
            Origin::Initial | Origin::Write(_) => false,
            Origin::ThinAir => event.value.is_absent(),
            Origin::Several { or_initial } => or_initial,
        };
        let names_writers = history.claims().iter().any(|claim| versions.origin(claim.0) != Origin::Initial);
        let unclear = history.transactions().any(|transaction| {
            history.numbered_events_of(transaction).any(|(number, event)| is_unclear(number, event))
        });
        let has_lists = history.transactions().any(|transaction| {
            history.events_of(transaction).iter().any(|event| event.action == Action::Append || event.value.is_list())
        });
        let drops_reads = history.transactions().any(|transaction| {
            let reads = history.event_range(transaction).map(EventId);
            history.outcome(transaction) == Outcome::Unknown
                && reads.into_iter().any(|r| versions.origin(r) == Origin::Initial)
        });
        if drops_reads {
            losses.push("Reads of the initial state by transactions of unknown outcome are left out.".to_owned());
        }
        if !(names_writers || unclear) {
            return Ok(WrittenValues::Own(versions));
        }
        if has_lists {
            let reason = "it has lists, and also reads that name their writer or values that are absent".to_owned();
            return Err(WriteError::Unsupported { format, reason, advice: "write native" });
        }
        losses.push("Values are numbered: every write has its own.".to_owned());
        Ok(WrittenValues::Numbers(versions.numbers(history, format)?))
    }
}

struct OperationWriter<'a> {
    history: &'a History,
    values: WrittenValues,
    is_edn: bool,
}

impl OperationWriter<'_> {
    fn operation(
        &self,
        index: usize,
        process: i64,
        transaction: TransactionId,
        is_invocation: bool,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let kind = match self.history.outcome(transaction) {
            _ if is_invocation => "invoke",
            Outcome::Committed => "ok",
            Outcome::AbortedByDatabase | Outcome::AbortedByProgram => "fail",
            Outcome::Unknown => "info",
        };
        if self.is_edn {
            write!(out, "{{:index {index}, :process {process}, :type :{kind}, :f :txn, :value [")?;
        } else {
            write!(out, "{{\"index\":{index},\"process\":{process},\"type\":\"{kind}\",\"f\":\"txn\",\"value\":[")?;
        }
        for (place, (number, event)) in self.history.numbered_events_of(transaction).enumerate() {
            let separator = if self.is_edn { b' ' } else { b',' };
            out.extend((place > 0).then_some(separator));
            self.micro(number, event, is_invocation, out)?;
        }
        out.extend_from_slice(b"]}");
        Ok(())
    }

    fn micro(&self, number: EventId, event: &Event, is_invocation: bool, out: &mut Vec<u8>) -> io::Result<()> {
        let word = match event.action {
            Action::Read => "r",
            Action::Write => "w",
            Action::Append => "append",
        };
        let name = self.history.key_name(event.key);
        if self.is_edn {
            write!(out, "[:{word} ")?;
            edn_name(name, out);
            out.push(b' ');
        } else {
            write!(out, "[\"{word}\",")?;
            json::push_name(out, name);
            out.push(b',');
        }
        self.value(number, event, is_invocation, out);
        out.push(b']');
        Ok(())
    }

    fn value(&self, number: EventId, event: &Event, is_invocation: bool, out: &mut Vec<u8>) {
        let nothing: &[u8] = if self.is_edn { b"nil" } else { b"null" };
        let is_unknown_yet = is_invocation && event.is_read();
        match &self.values {
            _ if is_unknown_yet => out.extend_from_slice(nothing),
            WrittenValues::Numbers(numbers) if event.is_read() && numbers[number.index()] == 0 => {
                out.extend_from_slice(nothing);
            }
            WrittenValues::Numbers(numbers) => json::push_integer(out, numbers[number.index()]),
            WrittenValues::Own(versions) if versions.origin(number) == Origin::Initial => {
                out.extend_from_slice(nothing)
            }
            WrittenValues::Own(_) if self.is_edn => edn_value(self.history, event.value, out),
            WrittenValues::Own(_) => json::push_value(out, self.history.values(), event.value),
        }
    }
}

fn edn_name(name: Name<'_>, out: &mut Vec<u8>) {
    match name {
        Name::Integer(number) => json::push_integer(out, number),
        Name::Text(text) => edn_text(text, out),
    }
}

/// A keyword where the text is one's spelling, otherwise a string.
fn edn_text(text: &str, out: &mut Vec<u8>) {
    let is_keyword = text.strip_prefix(':').is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
    });
    if is_keyword {
        return out.extend_from_slice(text.as_bytes());
    }
    if text.bytes().all(|byte| byte >= 0x20) {
        return json::push_text(out, text);
    }
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

fn edn_value(history: &History, value: crate::value::Value, out: &mut Vec<u8>) {
    match history.view(value) {
        // One that was only found is refused before anything is written.
        ValueView::Absent | ValueView::Found => out.extend_from_slice(b"nil"),
        ValueView::Text(text) => edn_text(text, out),
        ValueView::List(elements) => {
            out.push(b'[');
            for (place, &element) in elements.iter().enumerate() {
                out.extend((place > 0).then_some(b' '));
                edn_value(history, element, out);
            }
            out.push(b']');
        }
        ValueView::Integer(_) | ValueView::Real(_) | ValueView::Boolean(_) => {
            json::push_value(out, history.values(), value);
        }
    }
}
