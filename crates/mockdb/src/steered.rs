//! The transaction of a steered store as the SQL engine sees it: whoever steers decides what it reads.
//!
//! Nothing waits here and no statement runs again, so nothing needs to be told twice. The store knows of nothing that the transaction does
//! but how often it asked for a number.

use crate::steering::{Numbered, Wheel, refused};
use crate::store::Store;
use skew_check::Updates;
use skew_history::SessionId;
use skew_sql::storage::look_by_scan;
use skew_sql::{
    AdvisoryRequest, Columns, Fit, Fits, KeyPart, KeyRange, Lock, Patience, Row, RowKey, SavepointId, SequenceId,
    SequenceRule, SpaceId, Stop, Storage, Write, by_place,
};
use skew_value::{SqlError, SqlState};

/// The open transaction of a session for which somebody else decides.
pub(crate) struct SteeredView<'a> {
    store: &'a mut Store,
    session: SessionId,
}

impl<'a> SteeredView<'a> {
    pub(crate) fn new(store: &'a mut Store, session: SessionId) -> SteeredView<'a> {
        SteeredView { store, session }
    }

    fn locks(&self) -> bool {
        self.store.options().updates == Updates::Atomic
    }

    /// The wheel, in the hands of a transaction that touches something.
    fn steer(&mut self) -> Result<&mut Wheel, Stop> {
        self.store.steer(self.session)
    }

    /// The same for a key, with its name.
    fn steer_to(&mut self, key: &RowKey) -> Result<(&mut Wheel, String), Stop> {
        let name = self.store.steered_name(key)?;
        Ok((self.steer()?, name))
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Stop> {
        let (wheel, name) = self.steer_to(key)?;
        Ok(wheel.steering().read(key, &name, locking)?)
    }

    fn read_range(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, Stop> {
        Ok(self.steer()?.steering().scan(range, locking)?)
    }
}

impl Storage for SteeredView<'_> {
    fn get(&mut self, key: &RowKey, _: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        let locking = lock != Lock::None && self.locks();
        self.read(key, locking)
    }

    fn would_wait(&mut self, _: &RowKey, _: Lock) -> Result<bool, Stop> {
        refused("SKIP LOCKED or NOWAIT")
    }

    fn scan(&mut self, range: &KeyRange, _: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.read_range(range, false)
    }

    fn seek(
        &mut self,
        key: &RowKey,
        _: &Columns,
        _: Lock,
        patience: Patience,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        if patience != Patience::Wait {
            return refused("SKIP LOCKED or NOWAIT");
        }
        if !self.locks() {
            return Ok(self.read(key, false)?.filter(|row| fits(key, row) != Fit::No));
        }
        let (wheel, name) = self.steer_to(key)?;
        Ok(wheel.steering().seek(key, &name, fits)?)
    }

    fn look_over(&mut self, range: &KeyRange, columns: &Columns, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        if !self.locks() {
            return look_by_scan(self, range, columns, fits);
        }
        Ok(self.steer()?.steering().look_over(range, fits)?)
    }

    fn enter(&mut self, scope: usize) -> usize {
        let session = self.session;
        self.store.wheel_mut().map_or(0, |wheel| wheel.enter(session, scope))
    }

    fn present(&mut self, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        if self.locks() { self.read_range(range, true).map(Some) } else { Ok(None) }
    }

    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop> {
        if self.store.transaction(self.session)?.is_read_only() {
            let message = "cannot write in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY, message).into());
        }
        let value = match write {
            Write::Row(row) | Write::Columns(row, _) => Some(row),
            Write::Delete => None,
        };
        let (wheel, name) = self.steer_to(key)?;
        Ok(wheel.write(key, &name, value)?)
    }

    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop> {
        let place = self.steer()?.place(Numbered::Sequence(sequence))?;
        let sequences = self.store.sequences_mut();
        let value = by_place::sequence_value(rule, sequences.last(sequence), place)?;
        sequences.hand_out(self.session, sequence, value);
        Ok(value)
    }

    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<(), Stop> {
        refused("setting a sequence")
    }

    /// Where a sequence stands is no part of a history.
    fn pass_value(&mut self, _: SequenceId, _: &SequenceRule, _: i64) -> Result<(), Stop> {
        Ok(())
    }

    fn current_value(&mut self, sequence: SequenceId) -> Option<i64> {
        self.store.sequences_mut().current(self.session, sequence)
    }

    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop> {
        let place = self.steer()?.place(Numbered::FreshKey(space))?;
        Ok(by_place::fresh_key(self.store.sequences_mut().last_key(space), place))
    }

    fn settle(&mut self) -> Result<(), Stop> {
        Ok(self.store.end_steering(Some(self.session))?)
    }

    fn advisory(&mut self, _: i128, _: AdvisoryRequest) -> Result<bool, Stop> {
        refused("an advisory lock")
    }

    fn savepoint(&mut self) -> Result<SavepointId, Stop> {
        self.store.numbered_savepoint(self.session)
    }

    fn back_to(&mut self, savepoint: SavepointId) -> Result<(), Stop> {
        self.store.rollback_to_savepoint(self.session, &savepoint.0.to_string())
    }

    fn now(&self) -> i64 {
        self.store.time_of(self.session)
    }

    fn random(&mut self) -> u64 {
        self.store.steered_random(self.session)
    }

    fn is_cancelled(&self) -> bool {
        self.store.is_cancelled()
    }
}
