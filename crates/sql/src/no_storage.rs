//! The storage of what has none: BEGIN, SET, SHOW, all that a failed transaction is told, and conditions that look at one row alone.
//!
//! ```text
//!   BEGIN ── execute over NoStorage ── Answer::Transaction(Begin) ── the connection begins one
//! ```

use crate::stop::Stop;
use crate::storage::{
    Columns, KeyPart, KeyRange, Lock, Row, RowKey, SequenceId, SequenceRule, SpaceId, Storage, Write,
};
use skew_value::{SqlError, SqlState};

/// What may be read and written without a transaction: nothing. It knows only whether somebody asked to stop.
pub struct NoStorage<Cancelled>(pub Cancelled);

impl<Cancelled: Fn() -> bool> Storage for NoStorage<Cancelled> {
    fn get(&mut self, _: &RowKey, _: &Columns, _: Lock) -> Result<Option<Row>, Stop> {
        nothing()
    }

    fn scan(&mut self, _: &KeyRange, _: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        nothing()
    }

    fn present(&mut self, _: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        nothing()
    }

    fn put(&mut self, _: &RowKey, _: Write) -> Result<(), Stop> {
        nothing()
    }

    fn next_value(&mut self, _: SequenceId, _: &SequenceRule) -> Result<i64, Stop> {
        nothing()
    }

    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<(), Stop> {
        nothing()
    }

    fn pass_value(&mut self, _: SequenceId, _: &SequenceRule, _: i64) -> Result<(), Stop> {
        nothing()
    }

    fn current_value(&mut self, _: SequenceId) -> Option<i64> {
        None
    }

    fn fresh_key(&mut self, _: SpaceId) -> Result<KeyPart, Stop> {
        nothing()
    }

    fn now(&self) -> i64 {
        0
    }

    fn random(&mut self) -> u64 {
        0
    }

    fn is_cancelled(&self) -> bool {
        (self.0)()
    }
}

fn nothing<T>() -> Result<T, Stop> {
    Err(SqlError::new(SqlState::INTERNAL, "a statement without a transaction reads or writes").into())
}
