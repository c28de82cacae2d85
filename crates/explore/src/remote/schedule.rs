//! A run of a program that runs as a whole, written down in a line: what people copy from a report to see it again.
//!
//! ```text
//!   alice,bob 2:0.0 1:2 end:1
//!   │         │         └─ the state that is found at the end: the second of those that the history may have left
//!   │         └─ transaction 2 ran first and read twice from t0, then 1, which read from 2
//!   └─ transaction 1 is the first of alice, 2 the first of bob
//! ```
//!
//! Transactions have their numbers from the exploration, and what they get by number (values of sequences, random numbers, times) with them.
//! So the line says whose each number is.

use super::Learned;
use crate::error::ExploreError;
use crate::ordered::Ordered;
use crate::outline::Options;
use crate::set::{MOST_TRANSACTIONS, Number};
use std::fmt;
use std::str::FromStr;

/// What begins the word for the state at the end.
const END: &str = "end:";

/// A run, written down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteSchedule {
    /// By number, from 1: whose transaction it is.
    sessions: Vec<String>,
    /// The transactions in the order in which they ran, with whom their reads read from.
    transactions: Vec<(Number, Vec<Number>)>,
    final_state: usize,
}

impl RemoteSchedule {
    pub(super) fn of(learned: &Learned, history: &Ordered, final_state: usize) -> RemoteSchedule {
        let last = history.order.iter().copied().max().unwrap_or(0);
        let outline = &learned.outline;
        let session = |number: Number| outline.session_names[outline.places[number as usize].session].clone();
        let transactions = history.schedule(&learned.keys);
        RemoteSchedule { sessions: (1..=last).map(session).collect(), transactions, final_state }
    }

    pub(super) fn final_state(&self) -> usize {
        self.final_state
    }

    pub(super) fn into_transactions(self) -> Vec<(Number, Vec<Number>)> {
        self.transactions
    }

    /// What has to be known before the run: whose transaction each number is.
    pub(super) fn learned(&self, options: Options) -> Result<Learned, ExploreError> {
        let mut learned = Learned::new(options);
        for (place, session) in self.sessions.iter().enumerate() {
            let before = self.sessions[..place].iter().filter(|other| *other == session).count();
            learned.transaction(session, before, None)?;
        }
        Ok(learned)
    }

    /// Whether every number in it stands for something that came before.
    fn makes_sense(&self) -> bool {
        let mut earlier: Vec<Number> = vec![0];
        self.sessions.len() <= MOST_TRANSACTIONS
            && self.transactions.iter().all(|(number, sources)| {
                let known = (1..=self.sessions.len()).contains(&usize::from(*number)) && !earlier.contains(number);
                let fits = known && sources.iter().all(|source| earlier.contains(source));
                earlier.push(*number);
                fits
            })
    }
}

/// A name without what would end a word, the list, or a quotation.
fn escaped(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@/#+".contains(&byte);
    let escape = |byte: u8| if is_plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(escape).collect()
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

impl fmt::Display for RemoteSchedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.sessions.iter().map(|name| escaped(name)).collect();
        write!(out, "{}", names.join(","))?;
        for (number, sources) in &self.transactions {
            let sources: Vec<String> = sources.iter().map(Number::to_string).collect();
            write!(out, " {number}:{}", sources.join("."))?;
        }
        match self.final_state {
            0 => Ok(()),
            state => write!(out, " {END}{state}"),
        }
    }
}

/// A line that is no schedule of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "this is no schedule of a command; it is written like `alice,bob 2:0 1:0.2`: whose transaction each number is, then the number of \
     each transaction, and of those whom it read from"
)]
pub struct NoRemoteSchedule;

impl FromStr for RemoteSchedule {
    type Err = NoRemoteSchedule;

    fn from_str(line: &str) -> Result<RemoteSchedule, NoRemoteSchedule> {
        let number = |text: &str| text.parse::<Number>().map_err(|_| NoRemoteSchedule);
        let mut words = line.split_whitespace();
        let names = words.next().ok_or(NoRemoteSchedule)?;
        let sessions =
            names.split(',').map(|name| unescaped(name).ok_or(NoRemoteSchedule)).collect::<Result<_, _>>()?;
        let mut schedule = RemoteSchedule { sessions, transactions: Vec::new(), final_state: 0 };
        for word in words {
            if schedule.final_state > 0 {
                return Err(NoRemoteSchedule);
            }
            if let Some(state) = word.strip_prefix(END) {
                schedule.final_state = state.parse().map_err(|_| NoRemoteSchedule)?;
                continue;
            }
            let (name, sources) = word.split_once(':').ok_or(NoRemoteSchedule)?;
            let sources = sources.split('.').filter(|source| !source.is_empty());
            schedule.transactions.push((number(name)?, sources.map(number).collect::<Result<_, _>>()?));
        }
        if schedule.makes_sense() { Ok(schedule) } else { Err(NoRemoteSchedule) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_was_written() {
        let sessions = ["alice", "bob", "it's, 100 % ü"].map(str::to_owned).to_vec();
        let transactions = vec![(3, vec![]), (1, vec![0, 3]), (2, vec![1])];
        for final_state in [0, 2] {
            let schedule =
                RemoteSchedule { sessions: sessions.clone(), transactions: transactions.clone(), final_state };
            let line = schedule.to_string();
            assert!(!line.contains('\''), "{line}");
            assert_eq!(line.parse(), Ok(schedule), "{line}");
        }
        assert_eq!("client:2 1:".parse::<RemoteSchedule>().unwrap().to_string(), "client:2 1:");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        let lines = [
            "",
            "alice 2:0",
            "alice 1:1",
            "alice,bob 1:2 2:0",
            "alice 1:0 1:0",
            "alice 0:",
            "alice 1",
            "alice 1:x",
            "alice, 1:0",
            "al%zz 1:0",
            "al%F 1:0",
            "alice end:x",
            "alice end:1 1:0",
            "%FF 1:0",
        ];
        for line in lines {
            assert_eq!(line.parse::<RemoteSchedule>(), Err(NoRemoteSchedule), "{line}");
        }
    }
}
