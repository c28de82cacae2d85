//! dbcop's bincode: one session after the other, so everything is gathered before the first byte is written.
//!
//! ```text
//!   five counts · three texts · sessions [ transactions [ events [ write, key, value, success ], success ] ]
//! ```
//!
//! Numbers have eight bytes, the least first; a length stands before everything that repeats.

use super::scalar;
use crate::parameters::Parameters;
use crate::recorder::Generated;
use crate::{GenerateError, generate};
use skew_history::{Action, Outcome};
use std::io;

/// No clock took part: the file says that its run took no time, long ago.
const TIME: &str = "1970-01-01T00:00:00+00:00";

/// The finished transactions of one session.
#[derive(Clone, Default)]
struct SessionTransactions {
    transactions: u64,
    bytes: Vec<u8>,
}

pub(super) fn write(parameters: &Parameters, out: &mut dyn io::Write) -> Result<(), GenerateError> {
    let mut sessions = vec![SessionTransactions::default(); parameters.sessions as usize];
    generate(parameters, &mut |transaction| {
        sessions[transaction.session as usize - 1].push(transaction);
        Ok(())
    })?;
    out.write_all(&header(parameters, &sessions))?;
    for session in &sessions {
        out.write_all(&session.transactions.to_le_bytes())?;
        out.write_all(&session.bytes)?;
    }
    Ok(out.flush()?)
}

fn header(parameters: &Parameters, sessions: &[SessionTransactions]) -> Vec<u8> {
    let longest = sessions.iter().map(|session| session.transactions).max().unwrap_or(0);
    let counts = [0, u64::from(parameters.sessions), parameters.keys, longest, u64::from(parameters.events)];
    let mut bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
    for text in [parameters.describe().as_str(), TIME, TIME] {
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes.extend_from_slice(&(sessions.len() as u64).to_le_bytes());
    bytes
}

impl SessionTransactions {
    fn push(&mut self, transaction: &Generated<'_>) {
        self.transactions += 1;
        self.bytes.extend_from_slice(&(transaction.events.len() as u64).to_le_bytes());
        for event in transaction.events {
            self.bytes.push(u8::from(event.action != Action::Read));
            self.bytes.extend_from_slice(&event.key.to_le_bytes());
            self.bytes.extend_from_slice(&scalar(&event.content).to_le_bytes());
            self.bytes.push(1);
        }
        self.bytes.push(u8::from(transaction.outcome == Outcome::Committed));
    }
}
