//! The locks of the engines: what an event takes and keeps, and who has to wait for whom.
//!
//! ```text
//!                 KEY SHARE  SHARE  NO KEY UPDATE  exclusive  insertion  gap  look
//!   KEY SHARE                                          ×          ×
//!   SHARE                                 ×            ×          ×
//!   NO KEY UPDATE              ×          ×            ×          ×
//!   exclusive         ×        ×          ×            ×          ×
//!   insertion         ×        ×          ×            ×          ×       ×
//!   look              whatever changes the row
//! ```
//!
//! InnoDB has SHARE, exclusive, insertion and gap. A *look* is the check for duplicates, and at InnoDB's read committed the search of a row that
//! is not there: it waits for changes and keeps nothing.

use super::looks::{Deed, EngineLook};
use skew_history::{Engine, EngineLevel, StatementKind};

/// How a row, or the place where it would be, is locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum EngineLock {
    KeyShare,
    Share,
    NoKeyUpdate,
    Exclusive,
    /// Exclusive, on a row that was not there.
    Insertion,
    /// Nobody else may insert here.
    Gap,
    /// Nobody may be about to change the row.
    Look,
}

use EngineLock::*;

/// A lock that is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Taken {
    pub(super) mode: EngineLock,
    /// Whether it is kept to the end of the transaction.
    pub(super) is_kept: bool,
}

/// A lock, as far as others notice it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockStrength {
    pub(super) mode: EngineLock,
    /// Whether the key is changed under it.
    pub(super) changes: bool,
}

impl LockStrength {
    /// Whether two transactions cannot have these at the same time.
    pub(super) fn conflicts(self, other: LockStrength) -> bool {
        if self.mode == Look || other.mode == Look {
            return if self.mode == Look { other.changes } else { self.changes };
        }
        let (weaker, stronger) = (self.mode.min(other.mode), self.mode.max(other.mode));
        match (weaker, stronger) {
            (_, Gap) => weaker == Insertion,
            (KeyShare, _) => stronger >= Exclusive,
            (Share, _) => stronger >= NoKeyUpdate,
            _ => true,
        }
    }
}

/// The lock that an event takes.
pub(super) fn taken(look: &EngineLook, level: EngineLevel) -> Option<Taken> {
    let kept = |mode| Some(Taken { mode, is_kept: true });
    match look.deed {
        Deed::Change { .. } => kept(of_change(look, level.engine())),
        Deed::Read { absent, passed, waited } => match level.engine() {
            Engine::Postgres => of_postgres_read(look.kind, look.changes_it, absent).filter(|taken| {
                let has_row = !absent && (!passed || waited && level == EngineLevel::PostgresReadCommitted);
                has_row || matches!(taken.mode, Look | Insertion)
            }),
            Engine::Mysql => of_innodb_read(look.kind, level, absent, passed && !waited, look.is_alone)
                .filter(|_| !is_glance(look, level, absent || passed && !waited)),
        },
    }
}

/// Whether an UPDATE goes along the rows and does not wait for this one: nothing that qualifies is committed there.
fn is_glance(look: &EngineLook, level: EngineLevel, finds_nothing: bool) -> bool {
    let goes_along = look.kind == StatementKind::Update && !look.is_alone;
    goes_along && level == EngineLevel::MysqlReadCommitted && finds_nothing
}

fn of_change(look: &EngineLook, engine: Engine) -> EngineLock {
    use StatementKind::{Insert, Select, Update, Upsert};
    match (engine, look.kind) {
        (_, Insert) => Insertion,
        (_, Upsert) if !look.found_row => Insertion,
        (Engine::Postgres, Update | Upsert) => NoKeyUpdate,
        // A write of which nothing is said may insert.
        (Engine::Mysql, Select) => Insertion,
        _ => Exclusive,
    }
}

fn of_postgres_read(kind: StatementKind, changes_it: bool, absent: bool) -> Option<Taken> {
    let mode = match kind {
        StatementKind::Select => return None,
        StatementKind::Insert | StatementKind::Upsert if absent => Insertion,
        StatementKind::Insert => Look,
        StatementKind::Upsert if !changes_it => Look,
        StatementKind::Update | StatementKind::Upsert | StatementKind::ForNoKeyUpdate => NoKeyUpdate,
        StatementKind::Delete | StatementKind::ForUpdate => Exclusive,
        StatementKind::ForShare => Share,
        StatementKind::ForKeyShare | StatementKind::ForeignKey => KeyShare,
    };
    Some(Taken { mode, is_kept: mode != Look })
}

fn of_innodb_read(
    kind: StatementKind,
    level: EngineLevel,
    absent: bool,
    passed_at_once: bool,
    is_alone: bool,
) -> Option<Taken> {
    let keeps_all = level != EngineLevel::MysqlReadCommitted;
    let (mode, may_let_go) = match kind {
        StatementKind::Select if level != EngineLevel::MysqlSerializable => return None,
        StatementKind::Insert | StatementKind::Upsert if absent => {
            return Some(Taken { mode: Insertion, is_kept: true });
        }
        StatementKind::Select | StatementKind::Insert | StatementKind::ForeignKey => (Share, false),
        // SELECT … FOR UPDATE of one row by its key keeps what it has looked at.
        StatementKind::ForShare | StatementKind::ForKeyShare => (Share, !is_alone),
        StatementKind::ForUpdate | StatementKind::ForNoKeyUpdate => (Exclusive, !is_alone),
        StatementKind::Update | StatementKind::Delete => (Exclusive, true),
        StatementKind::Upsert => (Exclusive, false),
    };
    Some(match absent {
        true if keeps_all => Taken { mode: Gap, is_kept: true },
        true => Taken { mode: Look, is_kept: false },
        false => Taken { mode, is_kept: keeps_all || !(passed_at_once && may_let_go) },
    })
}
