//! A step that goes back to a savepoint.
//!
//! ```text
//!   SAVEPOINT a      2 statements so far: that is the savepoint
//!   UPDATE x         statement 3
//!   ROLLBACK TO a    statement 4: what came behind 2 is taken back, and who waits for x may go on
//! ```

use super::{RowAnswer, ServerTurn, TurnAnswer, TurnPoint, TurnQuestion};
use crate::keys::Keys;
use crate::requests::Interrupt;
use skew_history::StatementKind;

impl ServerTurn<'_> {
    /// A place to go back to: behind the statements so far.
    pub(crate) fn savepoint(&self) -> usize {
        self.statement as usize
    }

    /// Takes back what came behind a savepoint. It is a moment of its own, because others wait until then.
    pub(crate) fn back_to(&mut self, savepoint: usize, keys: &Keys) -> Result<(), Interrupt> {
        let since = u32::try_from(savepoint).unwrap_or(u32::MAX);
        let question = TurnQuestion::BackTo(since);
        if self.ask(&question, StatementKind::Select)?.is_some() {
            return Ok(());
        }
        self.point(TurnPoint::Open)?;
        self.access.touches.extend(self.database.touched(self.one));
        self.access.touches_gaps.extend(self.database.touched_gaps(self.one, keys));
        let is_whole = since <= self.dialogue.began_anew && self.database.may_begin_anew();
        if is_whole {
            self.dialogue.began_anew = self.statement;
        }
        self.database.back_to(self.one, if is_whole { None } else { Some(since) }, keys);
        let (database, one) = (&*self.database, self.one);
        let begun = is_whole.then_some(self.statement);
        self.dialogue
            .told
            .take_back(since, self.statement, one, |kind, row, passed| database.fate(one, (kind, row, passed), begun));
        self.answer(question, TurnAnswer::Row(RowAnswer::Passed(None)));
        Ok(())
    }
}
