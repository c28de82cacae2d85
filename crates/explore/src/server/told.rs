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
use std::hash::{Hash, Hasher};
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
    pub(crate) fate: ToldFate,
}

/// What has become of an event since.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToldFate {
    /// It is told as it was.
    Stays,
    /// Its lock was let go with a savepoint: it is told as a plain read of its statement.
    Seen,
    /// The same, where the statement looked at the row later than at what it read plainly: as a plain read in a statement of its own.
    Freed,
    /// The statement of this number gave up its view: it is told if no plain read follows, which would be of another one.
    OldView(u32),
    /// It is not told, because no plain read says what it says.
    Untold,
    /// It is not told, because its row was left out: somebody else had it.
    LeftOut,
    /// It is not told, because the statement of this number took it back, or has looked at it once more.
    TakenBack(u32),
}

impl ToldEvent {
    /// Whether it has changed its key, and that was not taken back.
    fn is_change(&self) -> bool {
        matches!(self.deed, ToldDeed::Wrote(_)) && self.fate == ToldFate::Stays
    }

    /// The same without its lock, in this statement.
    pub(crate) fn as_plain_read(&self, statement: u32) -> ToldEvent {
        let kind = StatementKind::Select;
        ToldEvent { statement, kind, passed: false, waited: false, fate: ToldFate::Stays, ..self.clone() }
    }
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
    /// What has become of its reads of keys that were not there.
    pub(crate) fate: ToldFate,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ToldEnd {
    Committed,
    /// Its own program aborted it.
    RolledBack,
    /// The server refused this statement with this code.
    Refused(u32, &'static str),
}

/// A transaction as it is told.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct ToldTransaction {
    pub(crate) events: Vec<ToldEvent>,
    pub(crate) scans: Vec<ToldScan>,
    /// What it read, and what is not told because it was taken back: its client has heard it all the same.
    pub(crate) untold: Vec<ToldEvent>,
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

    /// A statement has taken back all that was written in statements behind another one, and the own reads of that. `fate` says what becomes of
    /// reads of others, by their kind, what was there, and whether it was passed over at once.
    pub(crate) fn take_back(
        &mut self,
        since: u32,
        statement: u32,
        own: Number,
        fate: impl Fn(StatementKind, &Option<Row>, bool) -> ToldFate,
    ) {
        let mut gone: Vec<KeyNumber> = Vec::new();
        for event in self.events.iter_mut().filter(|event| event.statement > since && event.fate == ToldFate::Stays) {
            event.fate = match &event.deed {
                ToldDeed::Wrote(_) => {
                    gone.push(event.key);
                    ToldFate::TakenBack(statement)
                }
                ToldDeed::Read(source, row) if *source != own => fate(event.kind, row, event.passed && !event.waited),
                ToldDeed::Read(..) if gone.contains(&event.key) => ToldFate::TakenBack(statement),
                ToldDeed::Read(..) | ToldDeed::Gone(_) => ToldFate::Stays,
            };
        }
        for scan in self.scans.iter_mut().filter(|scan| scan.statement > since && scan.fate == ToldFate::Stays) {
            scan.fate = fate(scan.kind, &None, false);
        }
    }

    /// A statement has looked at a row plainly, once, and then locked another version of it: the first look is not told.
    pub(crate) fn forget_look(&mut self, statement: u32, key: KeyNumber) {
        let is_plain = |event: &ToldEvent| event.kind == StatementKind::Select;
        let is_of = |event: &ToldEvent| (event.statement, event.key) == (statement, key);
        let Some(lock) = self.events.iter().position(|event| is_of(event) && !is_plain(event)) else { return };
        let looks: Vec<usize> = (0..lock).filter(|&place| is_of(&self.events[place])).collect();
        let [look] = looks[..] else { return };
        let (before, after) = (&self.events[look], &self.events[lock]);
        if after.fate == ToldFate::LeftOut {
            self.events[look].fate = ToldFate::LeftOut;
        } else if before.deed != after.deed && matches!(before.deed, ToldDeed::Read(..)) {
            self.events[look].fate = ToldFate::TakenBack(statement);
        }
    }

    /// What a statement says, from 1.
    pub(crate) fn text(&self, statement: u32) -> Option<&str> {
        let place = usize::try_from(statement).ok()?.checked_sub(1)?;
        self.texts.get(place)?.as_deref()
    }

    /// Whether a plain read stands behind a statement.
    pub(crate) fn looks_plainly_after(&self, statement: u32) -> bool {
        let is_plain = |fate| matches!(fate, ToldFate::Stays | ToldFate::OldView(_));
        let after = self.events.iter().filter(|event| event.statement > statement);
        after.into_iter().any(|event| event.kind == StatementKind::Select && is_plain(event.fate))
    }

    /// Whether it has changed a key.
    pub(crate) fn has_changed(&self, key: KeyNumber) -> bool {
        self.events.iter().any(|event| event.key == key && event.is_change())
    }

    /// Much of what tells it from others, without what stands in rows.
    pub(crate) fn hash_roughly(&self, hasher: &mut impl Hasher) {
        self.end.hash(hasher);
        for event in &self.events {
            let deed = match &event.deed {
                ToldDeed::Read(source, _) => (0, *source),
                ToldDeed::Gone(by) => (1, *by),
                ToldDeed::Wrote(_) => (2, 0),
            };
            (event.statement, event.key, deed, event.passed, event.waited).hash(hasher);
        }
    }

    /// The keys that it has changed, each once.
    pub(crate) fn changes(&self) -> Vec<KeyNumber> {
        let mut keys: Vec<KeyNumber> =
            self.events.iter().filter(|event| event.is_change()).map(|event| event.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
