//! The pattern of a history: what makes two runs one.
//!
//! Two runs are one when their histories are: same events, same session order, same reads-from. A history is known by its pattern,
//! in which a transaction is its place in its session, so that the order in which sessions happened to run does not matter:
//!
//! ```text
//!   alice[0] r account/1 init w account/1 | bob[0] r account/1 alice[0]#0
//! ```
//!
//! `#0` is the first write of that transaction to the key, so that a read of what was overwritten before the commit is another
//! pattern. A read whose writer nobody can tell, and a read of a list, has its value instead.

use skew_history::{Action, Event, History, KeyId, Outcome, TransactionId, Value, Writer};
use skew_view::words::Versions;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The pattern of a history: transactions that the database refused are no part of it.
pub fn pattern(history: &History) -> String {
    let versions = Versions::new(history);
    let counts = |transaction: &TransactionId| history.outcome(*transaction) != Outcome::AbortedByDatabase;
    let mut places: BTreeMap<TransactionId, String> = BTreeMap::new();
    let mut sessions: Vec<(String, Vec<TransactionId>)> = Vec::new();
    for session in history.sessions() {
        let name = history.session_name(session).to_string();
        let transactions: Vec<TransactionId> = history.transactions_of(session).filter(counts).collect();
        for (place, transaction) in transactions.iter().enumerate() {
            places.insert(*transaction, format!("{name}[{place}]"));
        }
        sessions.push((name, transactions));
    }
    sessions.sort();
    let mut writes = Writes::new();
    for transaction in history.transactions() {
        for event in history.events_of(transaction).iter().filter(|event| !event.is_read()) {
            writes.entry((transaction, event.key)).or_default().push(event.value);
        }
    }
    let mut text = String::new();
    for transaction in sessions.iter().flat_map(|(_, transactions)| transactions) {
        let _ = write!(text, "|{} {:?}", places[transaction], history.outcome(*transaction));
        for (number, event) in history.numbered_events_of(*transaction) {
            let letter = match event.action {
                Action::Read if event.locking => "R",
                Action::Read => "r",
                Action::Write if event.value == Value::ABSENT => "d",
                Action::Write => "w",
                Action::Append => "a",
            };
            let _ = write!(text, " {letter} {}", history.key_name(event.key));
            if event.is_read() {
                let writer = versions.writer_of(history, number).filter(|_| !event.value.is_list());
                let _ = write!(text, " {}", source(history, event, writer, &places, &writes));
            }
        }
    }
    text
}

/// What each transaction wrote of each key, in order.
type Writes = BTreeMap<(TransactionId, KeyId), Vec<Value>>;

/// Where a read is from: a write of a transaction, or the value where the writer alone does not say.
fn source(
    history: &History,
    event: &Event,
    writer: Option<Writer>,
    places: &BTreeMap<TransactionId, String>,
    writes: &Writes,
) -> String {
    match writer {
        Some(Writer::Initial) => "init".to_owned(),
        Some(Writer::Transaction(writer)) => {
            let mut values = writes.get(&(writer, event.key)).into_iter().flatten();
            let number = values.position(|value| *value == event.value).map_or(-1, |number| number as i64);
            format!("{}#{number}", places.get(&writer).map_or("refused", String::as_str))
        }
        None => format!("= {}", history.show(event.value)),
    }
}
