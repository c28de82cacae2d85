//! Which lock a statement takes by an event, and which locks exclude each other.
//!
//! ```text
//!                 KEY SHARE  SHARE  NO KEY UPDATE  exclusive  insertion  gap  look
//!   KEY SHARE                                          ×          ×
//!   SHARE                                 ×            ×          ×
//!   NO KEY UPDATE              ×          ×            ×          ×
//!   exclusive         ×        ×          ×            ×          ×
//!   insertion         ×        ×          ×            ×          ×       ×
//! ```
//!
//! InnoDB knows SHARE, exclusive, insertion and gap. A *look* is what a check for duplicates does, which nobody has to wait for: it
//! waits until nobody is about to change the row.

use super::story::{Deed, Touch};
use skew_history::{Engine, EngineLevel, StatementKind};

/// How a row, or the place where it would be, is locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Mode {
    /// Only the key is to stay.
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

/// For how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// Not at all.
    Nothing,
    /// The lock is got and let go again.
    ForAMoment(Mode),
    /// To the end of the transaction.
    ToTheEnd(Mode),
}

impl Mode {
    /// All of them.
    pub(super) const ALL: [Mode; 7] =
        [Mode::KeyShare, Mode::Share, Mode::NoKeyUpdate, Mode::Exclusive, Mode::Insertion, Mode::Gap, Mode::Look];
}

/// One lock of a transaction on a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lock {
    pub(super) mode: Mode,
    /// When it is got.
    pub(super) moment: usize,
    /// Whether the key is changed under it.
    pub(super) changes: bool,
}

impl Lock {
    /// Whether InnoDB asks for nothing more of who has this lock and wants another.
    pub(super) fn is_enough(&self, wanted: Mode) -> bool {
        matches!(self.mode, Mode::Exclusive | Mode::Insertion) || self.mode == wanted
    }

    /// Whether two transactions cannot have these locks at the same time.
    pub(super) fn conflicts(&self, other: &Lock) -> bool {
        let strength = |mode| mode as usize;
        match (self.mode, other.mode) {
            (Mode::Look, _) => other.changes,
            (_, Mode::Look) => self.changes,
            (Mode::Gap, mode) | (mode, Mode::Gap) => mode == Mode::Insertion,
            (Mode::KeyShare, mode) | (mode, Mode::KeyShare) => strength(mode) >= strength(Mode::Exclusive),
            (Mode::Share, mode) | (mode, Mode::Share) => strength(mode) >= strength(Mode::NoKeyUpdate),
            _ => true,
        }
    }
}

/// The lock that an event takes.
pub(super) fn hold(touch: &Touch, level: EngineLevel) -> Hold {
    match (level.engine(), &touch.deed) {
        (_, Deed::Change { .. }) => Hold::ToTheEnd(change(touch, level.engine())),
        (Engine::Postgres, _) => postgres_read(touch, level),
        (Engine::Mysql, _) => innodb_read(touch, level),
    }
}

fn change(touch: &Touch, engine: Engine) -> Mode {
    match touch.kind {
        StatementKind::Insert => Mode::Insertion,
        StatementKind::Upsert if !touch.found_row => Mode::Insertion,
        StatementKind::Update | StatementKind::Upsert if engine == Engine::Postgres => Mode::NoKeyUpdate,
        // A write of which nothing is said: where a gap is held there is no row, and it inserts one.
        StatementKind::Select if engine == Engine::Mysql => Mode::Insertion,
        _ => Mode::Exclusive,
    }
}

fn postgres_read(touch: &Touch, level: EngineLevel) -> Hold {
    let Deed::Read { absent, passed, waited, .. } = touch.deed else { return Hold::Nothing };
    let asked = match touch.kind {
        StatementKind::Select => return Hold::Nothing,
        StatementKind::Insert | StatementKind::Upsert if absent => Mode::Insertion,
        StatementKind::Insert => Mode::Look,
        StatementKind::Upsert if !touch.changes_it => Mode::Look,
        StatementKind::Update | StatementKind::Upsert | StatementKind::ForNoKeyUpdate => Mode::NoKeyUpdate,
        StatementKind::Delete | StatementKind::ForUpdate => Mode::Exclusive,
        StatementKind::ForShare => Mode::Share,
        StatementKind::ForKeyShare | StatementKind::ForeignKey => Mode::KeyShare,
    };
    let asked_again = passed && waited && level == EngineLevel::PostgresReadCommitted;
    match asked {
        Mode::Look => Hold::ForAMoment(asked),
        Mode::Insertion => Hold::ToTheEnd(asked),
        _ if absent || passed && !asked_again => Hold::Nothing,
        _ => Hold::ToTheEnd(asked),
    }
}

fn innodb_read(touch: &Touch, level: EngineLevel) -> Hold {
    let Deed::Read { absent, passed, waited, .. } = touch.deed else { return Hold::Nothing };
    let keeps_all = level != EngineLevel::MysqlReadCommitted;
    let asked = match touch.kind {
        StatementKind::Select if level != EngineLevel::MysqlSerializable => return Hold::Nothing,
        StatementKind::Insert | StatementKind::Upsert if absent => return Hold::ToTheEnd(Mode::Insertion),
        StatementKind::Select
        | StatementKind::Insert
        | StatementKind::ForShare
        | StatementKind::ForKeyShare
        | StatementKind::ForeignKey => Mode::Share,
        StatementKind::Update
        | StatementKind::Upsert
        | StatementKind::Delete
        | StatementKind::ForUpdate
        | StatementKind::ForNoKeyUpdate => Mode::Exclusive,
    };
    // SELECT … FOR UPDATE of one row by its key keeps what it has looked at.
    let may_let_go = matches!(touch.kind, StatementKind::Update | StatementKind::Delete)
        || matches!(
            touch.kind,
            StatementKind::ForUpdate
                | StatementKind::ForNoKeyUpdate
                | StatementKind::ForShare
                | StatementKind::ForKeyShare
        ) && !touch.is_alone;
    // An UPDATE that goes along the rows does not wait for one whose last committed version does not qualify, or for one that is being inserted.
    let glances = touch.kind == StatementKind::Update && !touch.is_alone && !keeps_all;
    match absent {
        _ if glances && (absent || passed && !waited) => Hold::Nothing,
        true if keeps_all => Hold::ToTheEnd(Mode::Gap),
        true => Hold::ForAMoment(Mode::Look),
        false if passed && may_let_go && !waited && !keeps_all => Hold::ForAMoment(asked),
        false => Hold::ToTheEnd(asked),
    }
}
