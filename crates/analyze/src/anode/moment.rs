//! When things happen on PostgreSQL: a point in time for every statement, for every row that one takes, and for every commit.
//!
//! ```text
//!   UPDATE t SET v = v + 1 WHERE w = 2        begin      what is looked for is looked for in what is committed now
//!                                               row 1    taken: whoever held it has committed, and it is read as it is now
//!                                               row 7    taken
//!                                             end        before the next statement begins
//!   COMMIT                                    commit     of all points the one that others see; its order is ar
//! ```
//!
//! | | read committed | repeatable read |
//! |---|---|---|
//! | a plain read sees what was committed | before its statement began | before the transaction's snapshot |
//! | a row that is taken is read | as it is when it is taken | as in the snapshot: else it is refused |
//! | two that take one row in modes that exclude each other | one takes it after the other's commit | the same |
//! | who takes a row that another one writes | | has the other's commit in its snapshot, or commits before it |
//! | keys, foreign keys and ON CONFLICT look | at what is there now | keys at what is there now, ON CONFLICT at the snapshot |
//!
//! All of that is said of two instances and a record at a time, so it is true of every few instances of a larger execution. That a row is looked at
//! between the begin and the end of its statement allows more than PostgreSQL does; so no proof rests on it.

/// The levels of PostgreSQL that are a matter of time alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timing {
    ReadCommitted,
    RepeatableRead,
}

/// A point in time; the commit of an instance has its number.
pub(crate) type PointNumber = usize;

/// Who looks: at the papers' levels an instance, at PostgreSQL's a point in time.
pub(crate) type Viewer = usize;

/// When a statement takes its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessMoment {
    pub(crate) begin: PointNumber,
    pub(crate) end: PointNumber,
    /// The one row that it takes is taken then; nothing where it may take several.
    pub(crate) point: Option<PointNumber>,
    /// Whether what it reads of a row is what is there when it takes it.
    pub(crate) reads: bool,
}

/// A statement of an instance on its way through a procedure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementSpan {
    pub(crate) at: usize,
    pub(crate) round: Option<usize>,
    pub(crate) begin: PointNumber,
    pub(crate) end: PointNumber,
}
