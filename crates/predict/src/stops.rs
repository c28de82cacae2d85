//! Where sessions can be cut, in the two ways of the paper.
//!
//! ```text
//!   strict    a: r(x) w(x) ✂ r(y) …       at any external read: it may change, what follows it in its transaction is gone
//!   relaxed   a: r(x) w(x)   r(y) w(z) ✂  in any transaction that reads: all its reads may change, all its writes are there
//! ```
//!
//! At a level of an engine a statement is all or nothing: with a strict boundary a session is cut behind one that only looks, and all that
//! it read may change.
//!
//! The transaction in which a session is cut is the last of its session, and nobody reads from it: what it wrote may hang on a read that
//! changed.

use crate::recording::{Act, RecordedStep, Recording};
use skew_history::KeyId;

/// How much of the transaction in which a session is cut may change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Boundary {
    /// Its last read; what comes behind it is cut off.
    Strict,
    /// All its reads; its writes stay.
    Relaxed,
}

impl Boundary {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            Boundary::Strict => "strict",
            Boundary::Relaxed => "relaxed",
        }
    }
}

/// A place where a session can be cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stop {
    pub(crate) transaction: usize,
    /// How many steps of the session there are if it is cut here.
    pub(crate) length: usize,
    /// The reads that may have another source then.
    pub(crate) free: Vec<usize>,
}

/// All places, by session, in order.
#[derive(Clone, Debug)]
pub(crate) struct Stops(pub(crate) Vec<Vec<Stop>>);

impl Stops {
    pub(crate) fn new(recording: &Recording, boundary: Boundary) -> Stops {
        let all = (0..recording.sessions.len()).map(|session| match boundary {
            Boundary::Strict if recording.is_on_server => by_statements(recording, session),
            Boundary::Strict => strict(recording, session),
            Boundary::Relaxed => relaxed(recording, session),
        });
        Stops(all.collect())
    }

    /// The first stop of its session from which on a write is there: all of them, if it is the number of stops.
    pub(crate) fn including(&self, recording: &Recording, writer: usize, key: KeyId) -> usize {
        let session = recording.transactions[writer].session;
        let place = recording.place_of_write(writer, key).unwrap_or(usize::MAX);
        self.0[session].partition_point(|stop| stop.length <= place)
    }

    /// The first stop of its session from which on a transaction is there as a whole and not the one that is cut.
    pub(crate) fn behind(&self, recording: &Recording, transaction: usize) -> usize {
        let session = recording.transactions[transaction].session;
        self.0[session].partition_point(|stop| stop.transaction <= transaction)
    }
}

fn strict(recording: &Recording, session: usize) -> Vec<Stop> {
    let mut stops = Vec::new();
    for (place, step) in recording.sessions[session].steps.iter().enumerate() {
        let free = match step.act {
            Act::Read(read) => vec![read],
            Act::Pause => Vec::new(),
            Act::Write(_) => continue,
        };
        stops.push(Stop { transaction: step.transaction, length: place + 1, free });
    }
    stops
}

fn by_statements(recording: &Recording, session: usize) -> Vec<Stop> {
    let (mut stops, mut length) = (Vec::new(), 0);
    let steps = &recording.sessions[session].steps;
    let is_one = |one: &RecordedStep, other: &RecordedStep| {
        (one.transaction, one.statement) == (other.transaction, other.statement)
    };
    for statement in steps.chunk_by(is_one) {
        length += statement.len();
        let looks = |step: &RecordedStep| match step.act {
            Act::Read(read) => recording.reads[read].only_looks.then_some(read),
            Act::Pause | Act::Write(_) => None,
        };
        let free: Vec<usize> = statement.iter().filter_map(looks).collect();
        if free.len() == statement.len() {
            stops.push(Stop { transaction: statement[0].transaction, length, free });
        }
    }
    stops
}

fn relaxed(recording: &Recording, session: usize) -> Vec<Stop> {
    let mut stops: Vec<Stop> = Vec::new();
    for step in &recording.sessions[session].steps {
        let read = match step.act {
            Act::Read(read) => Some(read),
            Act::Pause => None,
            Act::Write(_) => continue,
        };
        match stops.last_mut() {
            Some(stop) if stop.transaction == step.transaction => stop.free.extend(read),
            _ => stops.push(Stop {
                transaction: step.transaction,
                length: recording.transactions[step.transaction].end,
                free: read.into_iter().collect(),
            }),
        }
    }
    stops
}
