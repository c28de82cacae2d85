//! How weak the store is, and where its chance begins.

use skew_check::{GrowingOptions, Updates};
use skew_history::IsolationLevel;
use skew_sql::{Granularity, by_place};

/// The settings of a [`Store`](crate::Store).
#[derive(Clone, Debug)]
pub struct Options {
    /// The level of transactions that ask for none.
    pub level: IsolationLevel,
    /// Whether updates read the latest version under a lock, or any version that the level allows.
    pub updates: Updates,
    /// What is one key of the history.
    pub granularity: Granularity,
    /// After this many commits, or this many roll-backs, the past is sealed; nothing is ever sealed without.
    pub horizon: Option<usize>,
    /// The axioms alone: a connection need not see what committed before it connected, nor at read-committed its own commits.
    pub bare: bool,
    /// How much work one question about a version may be.
    pub budget: u64,
    /// Where all chance begins.
    pub seed: u64,
    /// When time begins, in microseconds since 1970; every transaction takes a second.
    pub clock: i64,
    /// How often a commit that could go well is refused (where the level refuses at all), and a wait is called a deadlock.
    pub abort_rate: f64,
    /// Whether every read, every lock and every commit waits for [`Store::grant`](crate::Store::grant).
    pub turns: bool,
}

impl Options {
    /// The defaults at a level.
    pub fn new(level: IsolationLevel, seed: u64) -> Options {
        let defaults = GrowingOptions::default();
        Options {
            level,
            updates: Updates::default(),
            granularity: Granularity::default(),
            horizon: defaults.horizon,
            bare: defaults.bare,
            budget: defaults.budget,
            seed,
            clock: by_place::EPOCH,
            abort_rate: 0.0,
            turns: false,
        }
    }
}

/// Whether a level may refuse a transaction at its writes and at its commit.
pub(crate) fn refuses(level: IsolationLevel) -> bool {
    level.implies(IsolationLevel::ParallelSnapshot)
}
