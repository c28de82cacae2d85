//! What the search itself keeps to at each level, and who decides about the rest: one row per level.
//!
//! ```text
//!   read-committed, read-atomic, causal     the base is the level, and nothing is explored in vain
//!   prefix, snapshot, serializable          causal; then transactions are lined up
//!   psi                                     causal; then the checker is asked
//! ```
//!
//! The levels of the engines are searched in another way (`schedules`), which keeps to them by itself.

use skew_history::IsolationLevel;

/// The level that the search itself keeps to, per transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Base {
    /// Nothing but that causes come before effects: `so ∪ wr` has no cycle.
    Any,
    /// Read committed.
    ReadCommitted,
    /// Read atomic.
    ReadAtomic,
    /// Causal.
    Causal,
}

/// What is placed when transactions are lined up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placing {
    /// A transaction as a whole.
    Whole,
    /// Commits; whoever has all it needs has begun.
    Commits,
    /// Beginnings and ends.
    Halves,
}

/// Who decides whether a run that the base allows is one of the level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Filter {
    /// Nobody has to.
    Nobody,
    /// The transactions are lined up.
    Lineup(Placing),
    /// The checker.
    Checker,
}

/// How the runs of a level are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    /// The strongest base that the level implies.
    pub(crate) base: Base,
    pub(crate) filter: Filter,
    /// Whether the level has a rule for single transactions, so that others may be at other levels.
    pub(crate) mixes: bool,
}

/// The table of levels; nothing for those that say nothing about runs without a clock.
pub(crate) fn way(level: IsolationLevel) -> Option<Way> {
    let exact = |base| Some(Way { base, filter: Filter::Nobody, mixes: true });
    let lined_up = |placing| Some(Way { base: Base::Causal, filter: Filter::Lineup(placing), mixes: true });
    match level {
        IsolationLevel::ReadCommitted => exact(Base::ReadCommitted),
        IsolationLevel::ReadAtomic => exact(Base::ReadAtomic),
        IsolationLevel::Causal => exact(Base::Causal),
        IsolationLevel::Prefix => lined_up(Placing::Commits),
        IsolationLevel::ParallelSnapshot => Some(Way { base: Base::Causal, filter: Filter::Checker, mixes: false }),
        IsolationLevel::Snapshot => lined_up(Placing::Halves),
        IsolationLevel::Serializable => lined_up(Placing::Whole),
        IsolationLevel::StrongSnapshot | IsolationLevel::StrictSerializable | IsolationLevel::Declared => None,
        IsolationLevel::Engine(_) => exact(Base::Any),
    }
}
