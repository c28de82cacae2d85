//! Rows that somebody else has, for who does not wait: SKIP LOCKED leaves them out, NOWAIT is refused.
//!
//! ```text
//!   job 1    another one has it      left out: whether it is still there to be done is for that one to say
//!   job 2    free                    locked
//! ```
//!
//! Each row is tried at a moment of its own, and whoever tries one is never kept. A row that is left out was seen, but nothing follows from what
//! it was: it is not told. Only PostgreSQL's serializable takes notice of it.

use super::{Permit, ServerTurn, Want};
use crate::keys::Keys;
use crate::requests::Interrupt;
use skew_sql::Patience;

impl ServerTurn<'_> {
    /// Whether somebody else has a row that is to be locked without a wait, so that it is left out.
    pub(super) fn is_kept(&mut self, want: &Want, keys: &Keys, scan: Option<usize>) -> Result<bool, Interrupt> {
        if self.permit == Permit::Through {
            // Who has what is seen as it stands.
            self.access.looks_at_present = true;
        }
        if self.database.has_changed_since(self.one, want.key) || self.database.keepers(self.one, want, keys).is_empty()
        {
            return Ok(false);
        }
        if want.patience == Patience::Refuse {
            return Err(self.refuse(if self.database.looks_before_it_locks() { "55P03" } else { "1205" }));
        }
        let (database, mut asking) = self.asking(keys, want.kind, scan);
        database.leave_out(&mut asking, want.key);
        self.dialogue.told.forget_look(self.statement, want.key);
        Ok(true)
    }
}
