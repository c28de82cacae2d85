//! An anomaly in the middle of the stream.
//!
//! It is put there between two runs, when every transaction before it has ended and none after it has begun, on keys that nobody else
//! uses: so it violates exactly the levels that its small history violates.
//!
//! ```text
//!   … 500 transactions …  │  a: r(x,init) w(x,1)  │  … 500 transactions …
//!                         │  b: r(x,init) w(x,2)  │
//! ```
//!
//! Sessions, keys and values of the notation are replaced by real ones; times are those of the notation, or else all
//! transactions at one position of their sessions overlap.

use crate::anomaly::InjectedAnomaly;
use crate::attempt::{Content, GeneratedEvent};
use crate::parameters::Parameters;
use crate::recorder::TransactionRecorder;
use crate::workload::{RESERVED, Workload};
use skew_history::{Asked, History, TransactionId, Value, ValueView, notation};
use std::io;
use std::rc::Rc;

/// The time between two transactions of one session of an anomaly.
const POSITION_TICKS: i64 = 10;

/// Records the anomaly's transactions in some of the sessions.
pub(crate) fn inject(
    anomaly: InjectedAnomaly,
    parameters: &Parameters,
    workload: &mut Workload,
    recorder: &mut TransactionRecorder<'_>,
) -> io::Result<()> {
    let history = notation::parse(anomaly.notation()).map_err(io::Error::other)?;
    let first_session = workload.random.below(u64::from(parameters.sessions)) as u32;
    let first_value = workload.reserve_values(RESERVED);
    let start = recorder.pass(POSITION_TICKS * history.transaction_count() as i64);
    for transaction in history.transactions() {
        let session = (first_session + history.session_of(transaction).0) % parameters.sessions;
        let real = |value| real_content(&history, value, first_value);
        let events = history.events_of(transaction).iter().map(|event| GeneratedEvent {
            action: event.action,
            key: workload.reserved_keys() + u64::from(event.key.0),
            content: real(event.value),
            asked: Asked::default(),
        });
        let (begin, end) = times(&history, transaction);
        let events: Vec<GeneratedEvent> = events.collect();
        recorder.record(session, &events, history.outcome(transaction), start + begin, start + end)?;
    }
    Ok(())
}

fn times(history: &History, transaction: TransactionId) -> (i64, i64) {
    let position = i64::from(history.position_in_session(transaction));
    let times = history.times(transaction);
    let begin = times.begin.unwrap_or(POSITION_TICKS * position);
    (begin, times.end.unwrap_or(begin + POSITION_TICKS - 1))
}

fn real_content(history: &History, value: Value, first_value: i64) -> Content {
    let real = |value: Value| match history.view(value) {
        ValueView::Integer(number) => first_value + number as i64,
        _ => first_value,
    };
    match history.view(value) {
        ValueView::Absent => Content::Absent,
        ValueView::List(elements) => Content::List(Rc::new(elements.iter().map(|&element| real(element)).collect())),
        _ => Content::Integer(real(value)),
    }
}
