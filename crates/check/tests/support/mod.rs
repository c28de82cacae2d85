//! Small random histories for property tests, the same ones for the same seed.
//!
//! ```text
//!   let mut random = Random::new(7);
//!   let shape = Shape::any(&mut random);             which features, how large
//!   let history = random_history(&mut random, &shape);
//!   let (history, level) = truthful_history(&mut random, &shape);        holds at the level by construction
//!   let same = rename(&mut random, &history);         other names, other order of sessions: the same history
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `random` | a seeded source of chance |
//! | `generator` | the shape of a history, and a run that is made up |
//! | `telling` | the history that the run leaves, mistakes included |
//! | `renaming` | the same history under other names |

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "every test binary that includes this module uses a part of it"
)]

pub mod generator;
pub mod random;
pub mod renaming;
mod telling;

pub use generator::{Shape, random_history, truthful_history};
pub use random::Random;
pub use renaming::rename;

use skew_history::{Action, History, Outcome, Value, Writer, notation};
use std::fmt::Write as _;

/// Everything there is to know about a small history, for the message of a failing test.
pub fn describe(history: &History) -> String {
    let mut text = notation::write(history);
    for key in history.keys().filter(|&key| !history.initial(key).is_absent()) {
        writeln!(text, "initially {} = {}", history.key_name(key), history.show(history.initial(key))).unwrap();
    }
    for &(event, writer) in history.claims() {
        let reader = history.transaction_name(history.transaction_of(event));
        let place = event.0 - history.event_range(history.transaction_of(event)).start;
        match writer {
            Writer::Initial => writeln!(text, "event {place} of {reader} is from the initial state"),
            Writer::Transaction(writer) => {
                writeln!(text, "event {place} of {reader} is from {}", history.transaction_name(writer))
            }
        }
        .unwrap();
    }
    for transaction in history.transactions() {
        let place = history.position_in_session(transaction);
        let session = history.session_name(history.session_of(transaction));
        writeln!(text, "{session}#{place} is {}", history.transaction_name(transaction)).unwrap();
    }
    text
}

/// How many ways there are, at most, to say who wrote what was read: brute force tries them all.
pub fn ambiguity(history: &History) -> usize {
    let mut ways: usize = 1;
    for transaction in history.transactions() {
        for (number, event) in history.numbered_events_of(transaction).filter(|(_, event)| event.is_read()) {
            if history.claim(number).is_some() {
                continue;
            }
            let returned =
                if event.value.is_list() { history.elements(event.value).to_vec() } else { vec![event.value] };
            for value in returned {
                ways = ways.saturating_mul(writers(history, event.key, value).max(1));
            }
        }
    }
    ways
}

/// In how many orders, at most, transactions can have locked the keys: at the levels of the engines brute force tries them all.
pub fn lock_orders(history: &History) -> u64 {
    let touches = |transaction, key| history.events_of(transaction).iter().any(|event| event.key == key);
    let touching = |key| history.transactions().filter(|&one| touches(one, key)).count() as u64;
    let orders = |many: u64| (1..=many).fold(1u64, u64::saturating_mul);
    history.keys().map(|key| orders(touching(key))).fold(1, u64::saturating_mul)
}

fn writers(history: &History, key: skew_history::KeyId, value: Value) -> usize {
    let may_be_read = |outcome| matches!(outcome, Outcome::Committed | Outcome::Unknown);
    let transactions = history.transactions().filter(|&one| may_be_read(history.outcome(one)));
    let wrote = transactions.filter(|&one| {
        let mut events = history.events_of(one).iter().rev().filter(|event| event.key == key && !event.is_read());
        // Of writes the last is visible, of appends all.
        events.clone().next().is_some_and(|event| history.may_return(value, event.value))
            || events.any(|event| event.action == Action::Append && event.value == value)
    });
    wrote.count() + usize::from(history.may_return(value, history.initial(key)))
}
