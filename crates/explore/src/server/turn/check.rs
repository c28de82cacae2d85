//! Keys that have to be free, and keys of rows that have to stay: what constraints look at.
//!
//! ```text
//!   INSERT (2, …) where (1, w = 7) is there    primary key 2: free, and taken    entry w = 7: leads to row 1, which somebody may be about to change
//!   INSERT of a child of row 1                 entry of its primary key          InnoDB: row 1 itself
//! ```
//!
//! PostgreSQL's entries lead to versions of rows: whoever looks at one waits for who is about to change the row in any way, and ON CONFLICT is
//! refused above read committed where the row is not as the snapshot has it. InnoDB knows a primary key only as a part of its row.

use super::{RowAnswer, ServerTurn, TurnAnswer, TurnPoint, TurnQuestion, Want, outcome_of, row_of};
use crate::keys::{KeyNumber, Keys};
use crate::requests::Interrupt;
use skew_history::StatementKind;
use skew_sql::{Fit, Row};

impl ServerTurn<'_> {
    /// The check that a key is free, by an INSERT or by what takes a new key: what is there, if it is not.
    ///
    /// `decides`: it says what becomes of a row that is there. `row`: the row to which an entry of an index leads, as it stands.
    pub(crate) fn check(
        &mut self,
        key: KeyNumber,
        keys: &Keys,
        decides: bool,
        row: Option<KeyNumber>,
    ) -> Result<Option<Row>, Interrupt> {
        let is_upsert = decides && self.kind == StatementKind::Upsert;
        let kind = if is_upsert { self.kind } else { StatementKind::Insert };
        let question = TurnQuestion::Key(key);
        if let Some(answer) = self.ask(&question, kind)? {
            return Ok(row_of(&answer));
        }
        // An INSERT looks at what is there; only what later statements see may begin here.
        if self.database.looks_before_it_locks() && self.database.is_repeatable(self.one) {
            self.take_snapshot()?;
        }
        let want = Want { is_check: true, ignores: self.ignores, row, ..Want::of(key, kind) };
        self.point(TurnPoint::Lock(want))?;
        self.access.touches.push(key);
        self.access.touches.extend(row);
        let before = self.database.touched(self.one);
        let (database, mut asking) = self.asking(keys, kind, None);
        let outcome = database.check(&mut asking, key, want);
        self.database.go_on(self.one);
        if matches!(outcome, RowAnswer::Locked(_)) && !self.database.looks_before_it_locks() {
            // What was claimed before is given back.
            self.access.touches.extend(before);
        }
        let outcome = self.settled(outcome)?;
        let row = match &outcome {
            RowAnswer::Locked(row) => Some(row.clone()),
            _ => None,
        };
        self.answer(question, TurnAnswer::Row(outcome));
        Ok(row)
    }

    /// The entry of a unique index as it is committed, where whoever looks at it waits for who is about to change its row: not if the check
    /// of it is answered already.
    pub(crate) fn standing_entry(&mut self, key: KeyNumber, keys: &Keys) -> Option<Row> {
        let is_new = self.cursor == self.dialogue.answers.len() && self.database.looks_before_it_locks();
        if is_new { self.database.latest(self.one, key, keys) } else { None }
    }

    /// The entry of a row's primary key, which InnoDB has nowhere but in the row: that is locked, so that nobody changes it in any way, and
    /// nothing else of it is read.
    pub(super) fn lock_row_of(
        &mut self,
        key: KeyNumber,
        row: KeyNumber,
        keys: &Keys,
        kind: StatementKind,
    ) -> Result<RowAnswer, Interrupt> {
        let question = TurnQuestion::Key(key);
        if let Some(answer) = self.ask(&question, kind)? {
            return Ok(outcome_of(&answer));
        }
        let before = self.dialogue.told.events.len();
        self.sought(row, keys, kind, None, &mut |_, _| Fit::Yes)?;
        self.dialogue.told.events.truncate(before);
        let (database, mut asking) = self.asking(keys, kind, None);
        let outcome = database.read_latest(&mut asking, key);
        self.access.touches.push(key);
        self.answer(question, TurnAnswer::Row(outcome.clone()));
        Ok(outcome)
    }
}
