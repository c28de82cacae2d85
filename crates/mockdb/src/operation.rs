//! What a transaction did, as the history file will say it.
//!
//! ```text
//!   r(account/1) from t3      w(account/1)      scan(account/, 1..9): account/3 from t2, all others absent
//! ```
//!
//! These are plain values: whoever reads and writes makes them, a [`Transaction`](crate::transaction::Transaction) keeps them until it ends,
//! and the recorder writes them down.

use skew_check::Version;
use skew_history::scan::covers;
use skew_history::{KeyId, Name};
use skew_sql::Row;
use std::sync::Arc;

/// Where a read came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The transaction's own write.
    Own,
    /// A committed version.
    Version(Version),
}

/// A bound of a range in the history file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ScanBound {
    Number(i64),
    Text(Arc<str>),
}

impl ScanBound {
    fn name(&self) -> Name<'_> {
        match self {
            ScanBound::Number(number) => Name::Integer(*number),
            // As the reader of the file sees it: a text that spells an integer is one.
            ScanBound::Text(text) => Name::from(&**text),
        }
    }
}

/// The range that a scan covers, as the history file says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Covered {
    pub(crate) prefix: Arc<str>,
    pub(crate) low: Option<ScanBound>,
    pub(crate) high: Option<ScanBound>,
}

impl Covered {
    /// Whether a key of this name is in it, by the very function by which the checker reads the file.
    pub(crate) fn covers(&self, name: &str) -> bool {
        let (low, high) = (self.low.as_ref().map(ScanBound::name), self.high.as_ref().map(ScanBound::name));
        covers(name, &self.prefix, low, high)
    }

    /// The same with other bounds.
    pub(crate) fn with(&self, low: Option<ScanBound>, high: Option<ScanBound>) -> Covered {
        Covered { prefix: Arc::clone(&self.prefix), low, high }
    }

    /// The bounds as numbers, both or neither given; nothing when a bound is a text.
    pub(crate) fn numbers(&self) -> Option<(i64, i64)> {
        match (&self.low, &self.high) {
            (None, None) => Some((i64::MIN, i64::MAX)),
            (Some(ScanBound::Number(low)), Some(ScanBound::Number(high))) => Some((*low, *high)),
            _ => None,
        }
    }
}

/// A key that a scan read.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) key: KeyId,
    pub(crate) value: Option<Row>,
    pub(crate) source: Source,
}

/// What the history file will say.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Read {
        key: KeyId,
        value: Option<Row>,
        source: Source,
        locking: bool,
    },
    Write {
        key: KeyId,
        value: Option<Row>,
    },
    Scan {
        covered: Covered,
        sealed: usize,
        listed: Vec<Listed>,
        /// Keys that it left out: the statement took them under their lock, or saw what it had written there itself and took back.
        except: Vec<KeyId>,
    },
}

/// An action and the statement that it is part of.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) action: Action,
    pub(crate) sql: Option<Arc<str>>,
}

impl Operation {
    /// What stays of it when the transaction's writes are taken back: no write, no read of one. A scan that saw a write that is gone did
    /// not see what others wrote there, so it leaves the key out.
    pub(crate) fn without_writes(mut self, is_gone: impl Fn(&Listed) -> bool) -> Option<Operation> {
        match &mut self.action {
            Action::Write { .. } | Action::Read { source: Source::Own, .. } => return None,
            Action::Scan { listed, except, .. } => {
                except.extend(listed.iter().filter(|listed| is_gone(listed)).map(|listed| listed.key));
                listed.retain(|listed| !is_gone(listed));
            }
            Action::Read { .. } => {}
        }
        Some(self)
    }
}
