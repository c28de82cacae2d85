//! Statements that change rows: INSERT, REPLACE, UPDATE, DELETE, and the upserts of both dialects.
//!
//! What is read and written *is* the result that matters, so the events are part of the contract:
//!
//! ```text
//!   INSERT INTO item VALUES (7, …)         get item/7 for update (absent), put item/7, put its index entries
//!   UPDATE item SET price = 3 WHERE id = 7 get item/7 for update, put item/7 [price], delete and put the entries that change
//!   UPDATE item SET price = 3              scan item/, then for each row that qualifies: lock it, read it again, look again
//!   DELETE FROM item WHERE id = 7          get item/7 for update, delete item/7 and its entries
//!   REPLACE INTO item VALUES (7, …)        put item/7: a blind write, where nothing else is unique, indexed or referenced
//! ```
//!
//! A [`Change`] is bound once and carried out as often as the statement runs. Rows that break a constraint stop
//! it with an error; whoever runs it then forgets the statement's writes.

mod insert;
mod rows;
mod settle;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use settle::check_deferred;
pub(crate) use writer::Writer;

use crate::execute::Execution;
use crate::stop::Stop;
use crate::tree::change::{Change, Outcome};

/// Carries a change out. Foreign keys are looked at in the end, except those that wait for the commit.
pub(crate) fn carry_out(change: &Change, execution: &mut Execution<'_>) -> Result<Outcome, Stop> {
    let mut outcome = Outcome::default();
    let catalog = execution.catalog().clone();
    let mut writer = Writer::new(execution, catalog);
    match change {
        Change::Insert(insert) => writer.carry_out_insert(insert, &mut outcome)?,
        Change::Update(update) => writer.carry_out_update(update, &mut outcome)?,
        Change::Delete(delete) => writer.carry_out_delete(delete, &mut outcome)?,
    }
    outcome.deferred = writer.settle()?;
    Ok(outcome)
}
