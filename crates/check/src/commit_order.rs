//! The certificate of a level that holds: the order in which transactions begin and commit.

use skew_history::{EventId, TransactionId, Writer};

/// A moment in the life of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instant {
    /// It takes its snapshot.
    Begin(TransactionId),
    /// Its writes become the latest.
    Commit(TransactionId),
    /// At the levels of the engines: its next moment. It begins; then for each statement this starts, looks at each row and, at PostgreSQL, has
    /// all its locks; it ends.
    Step(TransactionId),
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
