//! What a transaction did, as the history file will say it.
//!
//! ```text
//!   r(account/1) from t3      w(account/1)      scan(account/, 1..9): account/3 from t2, all others absent
//! ```
//!
//! These are plain values: whoever reads and writes makes them, an [`OpenTransaction`](crate::transaction::OpenTransaction) keeps them until it ends,
//! and the recorder writes them down.

use skew_check::{GrowingId, Version};
use skew_history::scan::covers;
use skew_history::{Asked, KeyId, Name, StatementKind};
use skew_sql::Row;
use std::sync::Arc;

/// Where a read came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadOrigin {
    /// The transaction's own write.
    Own,
    /// A committed version.
    Version(Version),
    /// Nothing: this transaction deleted the row that was waited for, and another one is there under its key.
    Gone(GrowingId),
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
pub(crate) struct ScannedRow {
    pub(crate) key: KeyId,
    pub(crate) value: Option<Row>,
    pub(crate) source: ReadOrigin,
}

/// What the history file will say.
#[derive(Clone, Debug)]
pub(crate) enum RecordedAction {
    Read {
        key: KeyId,
        value: Option<Row>,
        source: ReadOrigin,
        locking: bool,
    },
    Write {
        key: KeyId,
        value: Option<Row>,
    },
    Scan {
        covered: Covered,
        sealed: usize,
        listed: Vec<ScannedRow>,
        /// Keys that it left out: the statement took them under their lock, or saw what it had written there itself and took back.
        except: Vec<KeyId>,
    },
}

/// What has become of a read since: on a server ROLLBACK TO SAVEPOINT lets locks go, and the read stays without one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum ReadFate {
    /// It is told as it was.
    #[default]
    Stays,
    /// It is told as a plain read of its statement.
    Seen,
    /// The same, where the statement looked at the row later than at what it read plainly: as a plain read in a statement of its own.
    Freed,
    /// It is not told, because no plain read says what it says.
    Untold,
}

/// An action and the statement that it is part of.
#[derive(Clone, Debug)]
pub(crate) struct RecordedOperation {
    pub(crate) action: RecordedAction,
    pub(crate) sql: Option<Arc<str>>,
    /// What the statement asked for, where that matters.
    pub(crate) asked: Asked,
    pub(crate) fate: ReadFate,
}

impl RecordedOperation {
    /// What stays of it when the transaction's writes are taken back: no write, no read of one. A scan that saw a write that is gone did
    /// not see what others wrote there, so it leaves the key out.
    pub(crate) fn without_writes(mut self, is_gone: impl Fn(&ScannedRow) -> bool) -> Option<RecordedOperation> {
        match &mut self.action {
            RecordedAction::Write { .. } | RecordedAction::Read { source: ReadOrigin::Own, .. } => return None,
            RecordedAction::Scan { listed, except, .. } => {
                except.extend(listed.iter().filter(|listed| is_gone(listed)).map(|listed| listed.key));
                listed.retain(|listed| !is_gone(listed));
            }
            RecordedAction::Read { .. } => {}
        }
        Some(self)
    }
}

impl RecordedOperation {
    /// PostgreSQL has let go what the statement locked. A row that was locked was read as it stood then; above read committed, and for its key
    /// only, as the snapshot has it. That a key was free no snapshot says.
    pub(crate) fn let_go(&mut self, is_repeatable: bool) {
        use StatementKind::{ForKeyShare, ForeignKey, Insert, Select, Upsert};
        let RecordedAction::Read { value, source: ReadOrigin::Version(_), .. } = &self.action else { return };
        if self.fate != ReadFate::Stays {
            return;
        }
        let Asked { kind, passed, waited, .. } = self.asked;
        let is_free = value.is_none() && matches!(kind, Insert | Upsert);
        self.fate = match kind {
            Select => ReadFate::Stays,
            ForeignKey => ReadFate::Untold,
            _ if is_free && is_repeatable => ReadFate::Untold,
            // What was in the way was looked at as it stood, whatever the snapshot has.
            Insert if is_repeatable => ReadFate::Untold,
            _ if !is_free && (value.is_none() || passed && !waited) => ReadFate::Stays,
            ForKeyShare => ReadFate::Seen,
            _ if is_repeatable => ReadFate::Seen,
            _ => ReadFate::Freed,
        };
    }
}
