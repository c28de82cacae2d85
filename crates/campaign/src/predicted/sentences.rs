//! A prediction in sentences: which reads changed, where sessions end, what is taken on trust.
//!
//! ```text
//!   t2 read x from t1; in this run it reads the initial value
//!     SELECT balance FROM account WHERE id = 1
//!   session a ends with t1
//!   t2 goes on as it did, although it read something else: replay it to see
//! ```

use skew_history::{Action, EventId, History, TransactionId, Writer};
use skew_predict::{Boundary, ChangedRead, Cut, Prediction};
use skew_view::words;

/// How long a line of SQL may be.
const WIDEST_SQL: usize = 100;
/// How many sessions that are left out are named.
const MOST_NAMED: usize = 8;

/// The sentences of a prediction, a line each.
pub(super) fn sentences(history: &History, prediction: &Prediction) -> Vec<String> {
    let mut lines = Vec::new();
    for read in &prediction.changed {
        lines.push(changed(history, read));
        let sql = sql(history, read.read).unwrap_or_default();
        let wrapped = words::wrap(&words::clean(&sql), WIDEST_SQL).into_iter().filter(|line| !line.is_empty());
        lines.extend(wrapped.map(|line| format!("  {line}")));
    }
    lines.extend(prediction.cuts.iter().filter_map(|cut| ending(history, cut)));
    lines.extend(left_out(history, prediction));
    if prediction.boundary == Boundary::Relaxed {
        lines.extend(on_trust(history, prediction));
    }
    lines
}

fn changed(history: &History, read: &ChangedRead) -> String {
    let who = words::transaction(history, read.transaction);
    let key = words::key(history, read.key);
    let now = match read.from {
        Writer::Initial => "the initial value".to_owned(),
        Writer::Transaction(id) => format!("what {} wrote", words::transaction(history, id)),
    };
    if history.event(read.read).action == Action::Append {
        let was = match read.was {
            Writer::Initial => "the initial value of".to_owned(),
            Writer::Transaction(id) => format!("what {} wrote to", words::transaction(history, id)),
        };
        return format!("{who} appended to {was} {key}; in this run it appends to {now}");
    }
    match read.was {
        Writer::Initial => format!("{who} read the initial value of {key}; in this run it reads {now}"),
        Writer::Transaction(id) => {
            format!("{who} read {key} from {}; in this run it reads {now}", words::transaction(history, id))
        }
    }
}

/// The statement of an event, where the input tells it.
fn sql(history: &History, event: EventId) -> Option<String> {
    let note = history.event_note(event)?;
    let members: serde_json::Value = serde_json::from_str(&format!("{{{note}}}")).ok()?;
    Some(members.get("sql")?.as_str()?.to_owned())
}

/// The sessions of which nothing is there.
fn left_out(history: &History, prediction: &Prediction) -> Option<String> {
    let cuts = prediction.cuts.iter().filter(|cut| cut.last.is_none());
    let names: Vec<String> = cuts.map(|cut| words::clean(&history.session_name(cut.session).to_string())).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("session {one} is not needed")),
        several if several.len() > MOST_NAMED => Some(format!("{} sessions are not needed", several.len())),
        several => Some(format!("sessions {} are not needed", words::enumeration(several))),
    }
}

/// Where a session ends; nothing if all of it is there, or nothing of it.
fn ending(history: &History, cut: &Cut) -> Option<String> {
    let session = words::clean(&history.session_name(cut.session).to_string());
    let (transaction, event, _) = cut.last?;
    let is_last = |of: TransactionId| history.event_range(of).end == event.0 + 1;
    let last = history.transactions_of(cut.session).last();
    if last == Some(transaction) && is_last(transaction) {
        return None;
    }
    let name = words::transaction(history, transaction);
    if is_last(transaction) {
        return Some(format!("session {session} ends with {name}"));
    }
    let seen = history.event(event);
    let (what, key) = (if seen.is_read() { "read" } else { "write" }, words::key(history, seen.key));
    Some(format!("session {session} ends in {name}, behind its {what} of {key}"))
}

/// The transactions that went on behind a read that is another one now.
fn on_trust(history: &History, prediction: &Prediction) -> Option<String> {
    let goes_on = |read: &&ChangedRead| history.event_range(read.transaction).end > read.read.0 + 1;
    let mut names: Vec<String> =
        prediction.changed.iter().filter(goes_on).map(|read| words::transaction(history, read.transaction)).collect();
    names.dedup();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("{one} goes on as it did, although it read something else: replay it to see")),
        several => {
            let names = words::enumeration(several);
            Some(format!("{names} go on as they did, although they read something else: replay them to see"))
        }
    }
}
