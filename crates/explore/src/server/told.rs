//! What a transaction did on a server, event by event, and how it ended.
//!
//! ```text
//!   1 select x from t0 · 2 update x from b#0 · 2 update x := 7        the number of the statement, its kind, the key, whose version
//!   3 refused with 40001                                             what statement 3 had seen until then is not told
//! ```
//!
//! A scan is one read per key of its range. Of the keys that nobody had written when it ran, only those are told that somebody writes in
//! this run; they are added when the run is over.

use crate::keys::KeyNumber;
use crate::log::ScanEnd;
use crate::set::Number;
use skew_history::StatementKind;
use skew_sql::{KeyRange, Row};
use std::sync::Arc;

/// One event.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ToldEvent {
    /// Which statement, from 1.
    pub(crate) statement: u32,
    pub(crate) kind: StatementKind,
    pub(crate) key: KeyNumber,
    pub(crate) deed: ToldDeed,
    /// The row was there and did not qualify.
    pub(crate) passed: bool,
    /// The statement had to wait before it looked.
    pub(crate) waited: bool,
    /// The scan that it belongs to.
    pub(crate) scan: Option<usize>,
}

/// What happened to a key.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ToldDeed {
    /// The version of this transaction was read, which may be the own one.
    Read(Number, Option<Row>),
    /// The row that was waited for is deleted, and another one is there by the same transaction.
    Gone(Number),
    /// It was changed.
    Wrote(Option<Row>),
}

/// A range that was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ToldScan {
    pub(crate) statement: u32,
    pub(crate) kind: StatementKind,
    pub(crate) range: Arc<KeyRange>,
    pub(crate) end: ScanEnd,
    /// It stands before this event.
    pub(crate) place: usize,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToldEnd {
    Committed,
    /// Its own program aborted it.
    RolledBack,
    /// The server refused this statement with this code.
    Refused(u32, &'static str),
}

/// A transaction as it is told.
#[derive(Clone, Default, Debug)]
pub(crate) struct ToldTransaction {
    pub(crate) events: Vec<ToldEvent>,
    pub(crate) scans: Vec<ToldScan>,
    pub(crate) end: Option<ToldEnd>,
    /// What its statements say, from the first on, where that is known.
    pub(crate) texts: Vec<Option<Arc<str>>>,
}

impl ToldTransaction {
    /// Forgets what a statement has seen: it was refused.
    pub(crate) fn forget_statement(&mut self, statement: u32) {
        self.events.retain(|event| event.statement < statement);
        self.scans.retain(|scan| scan.statement < statement);
    }

    /// What a statement says, from 1.
    pub(crate) fn text(&self, statement: u32) -> Option<&str> {
        let place = usize::try_from(statement).ok()?.checked_sub(1)?;
        self.texts.get(place)?.as_deref()
    }

    /// Whether it has changed a key.
    pub(crate) fn has_changed(&self, key: KeyNumber) -> bool {
        self.events.iter().any(|event| event.key == key && matches!(event.deed, ToldDeed::Wrote(_)))
    }

    /// The keys that it has changed, each once.
    pub(crate) fn changes(&self) -> Vec<KeyNumber> {
        let mut keys: Vec<KeyNumber> = self
            .events
            .iter()
            .filter(|event| matches!(event.deed, ToldDeed::Wrote(_)))
            .map(|event| event.key)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
