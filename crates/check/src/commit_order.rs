//! The certificate of a level that holds: the order in which transactions begin and commit.

use skew_history::{EventId, TransactionId, Writer};

/// A moment in the life of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instant {
    /// It takes its snapshot.
    Begin(TransactionId),
    /// Its writes become the latest.
    Commit(TransactionId),
}

/// An order that explains a history.
///
/// Every transaction that counts has one `Commit`; the levels that read from a snapshot also have its `Begin`. A transaction of
/// unknown outcome that has a `Commit` counts as committed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CommitOrder {
    /// The moments, first to last.
    pub instants: Vec<Instant>,
    /// For reads that several writers could explain: the one that does, sorted by event.
    pub choices: Vec<(EventId, Writer)>,
}
