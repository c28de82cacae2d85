//! A history told line by line, as it happens: what the lines are made of, and who takes them.
//!
//! ```text
//!   put_header      {"skew":1,"engine":"postgres 15.20","initial":{"x":0},"about":"two withdrawals"}
//!   put_opening     {"session":"a","id":"t1","ops":[
//!   put_operation     {"r":"x","v":0,"from":null},
//!   put_scan          {"scan":"item/","reads":[{"k":"item/3","v":7}]}
//!   put_ending      ],"outcome":"aborted","by":"program","level":"causal","begin":0,"end":1}
//!   put_seal        {"sealed":{"item/3":"t7"}}
//! ```
//!
//! Two take them: a [`LineWriter`] makes the bytes of the native format, a [`HistoryBuilder`](crate::HistoryBuilder) the history that
//! these bytes would be read as; a test holds the two equal. So whoever makes histories (the generator, the mock database, workloads, the
//! conversion of one that is there) tells them once, and they go to a file or straight into memory.
//!
//! The parts mirror the members of a line: what may be left out of a line is an `Option`, or a variant that says so. What they are told
//! has to be a history: an event comes between an opening and an ending, only reads have `from` and lists. Bytes that are none are
//! refused when they are read, not when they are written.

mod build;
mod writer;

pub use crate::builder::{ClaimedWriter, Note, Operation, ScanSpec, ScannedKey};
pub use writer::LineWriter;

use crate::history::{Outcome, Times};
use crate::level::IsolationLevel;
use crate::name::Name;
use crate::statement::Refused;
use crate::value::{Value, Values};
use std::borrow::Cow;
use std::iter::Empty;

/// Takes a history in, line by line.
pub trait HistorySink {
    /// Why it may not take something.
    type Error;

    /// The first line.
    fn put_header<'a, I>(&mut self, header: Header<'a, I>) -> Result<(), Self::Error>
    where
        I: Iterator<Item = (Name<'a>, Content<'a>)>;

    /// A transaction begins; the operations and scans that follow are its own.
    fn put_opening(&mut self, opening: &Opening<'_>) -> Result<(), Self::Error>;

    /// A read, a write or an append.
    fn put_operation(&mut self, operation: &Operation<'_, Name<'_>, Content<'_>>) -> Result<(), Self::Error>;

    /// A range read, and the keys that it lists.
    fn put_scan(&mut self, scan: &ScanSpec<'_>, listed: &[ScannedKey<'_, Content<'_>>]) -> Result<(), Self::Error>;

    /// The transaction has ended.
    fn put_ending(&mut self, ending: &Closing<'_>) -> Result<(), Self::Error>;

    /// From here on, the absence of these keys is the deletion by these transactions.
    fn put_seal(&mut self, deletions: &[(Name<'_>, Name<'_>)]) -> Result<(), Self::Error>;
}

/// The first line.
#[derive(Clone, Debug)]
pub struct Header<'a, I> {
    /// The server that it comes from, such as `postgres 15.20`.
    pub engine: Option<&'a str>,
    /// Keys and what they hold before everything.
    pub initial: Option<I>,
    /// What the history is about.
    pub about: Option<&'a str>,
}

impl<'a> Header<'a, Empty<(Name<'a>, Content<'a>)>> {
    /// A header without initial values.
    pub fn about(about: &'a str) -> Self {
        Header { engine: None, initial: None, about: Some(about) }
    }
}

/// What stands in front of a transaction's events. A [`Name::Text`] is written between quotes, also where it spells a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Opening<'a> {
    /// Its session.
    pub session: Name<'a>,
    /// Its own name; without one it is called by its place in its session.
    pub id: Option<Name<'a>>,
    /// What else stands there.
    pub note: Note<'a>,
}

/// What stands behind a transaction's events.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Closing<'a> {
    /// How it ended.
    pub outcome: Ended<'a>,
    /// The level that it declares.
    pub level: Option<IsolationLevel>,
    /// When it ran.
    pub times: Times,
    /// What else stands there.
    pub note: Note<'a>,
}

/// How a line says that its transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended<'a> {
    /// It says nothing: the transaction committed.
    Unsaid,
    /// It committed.
    Committed,
    /// It was rolled back.
    Aborted {
        /// By whom; where a line does not say, by the database.
        by: Option<Aborter>,
        /// How the database refused it.
        refused: Option<Refused<'a>>,
    },
    /// The client never learnt.
    Unknown,
}

/// Who rolls a transaction back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aborter {
    /// Its own program.
    Program,
    /// The database.
    Database,
}

impl Ended<'_> {
    /// What that means.
    pub fn outcome(self) -> Outcome {
        match self {
            Ended::Unsaid | Ended::Committed => Outcome::Committed,
            Ended::Aborted { by: Some(Aborter::Program), .. } => Outcome::AbortedByProgram,
            Ended::Aborted { by: None | Some(Aborter::Database), .. } => Outcome::AbortedByDatabase,
            Ended::Unknown => Outcome::Unknown,
        }
    }
}

impl From<Outcome> for Ended<'_> {
    /// As few words as say it.
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Committed => Ended::Unsaid,
            Outcome::AbortedByDatabase => Ended::Aborted { by: None, refused: None },
            Outcome::AbortedByProgram => Ended::Aborted { by: Some(Aborter::Program), refused: None },
            Outcome::Unknown => Ended::Unknown,
        }
    }
}

/// What a key holds, as those who tell a history have it.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Nothing: the key does not exist.
    Absent,
    /// An integer.
    Integer(i64),
    /// A truth value.
    Boolean(bool),
    /// A text.
    Text(Cow<'a, str>),
    /// A list of integers, first appended first.
    Integers(&'a [i64]),
    /// A value of another history.
    Pooled(&'a Values, Value),
}
