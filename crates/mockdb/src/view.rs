//! A transaction of the store as the SQL engine sees it.
//!
//! Sequences, fresh keys, random numbers and the clock are outside of transactions, as in every database; but a statement that is run
//! again after a wait gets the same ones again, because it must do again what it did.

use crate::steering::refused;
use crate::store::Store;
use crate::transaction::Told;
use skew_check::Updates;
use skew_history::SessionId;
use skew_sql::storage::look_by_scan;
use skew_sql::{
    AdvisoryRequest, Columns, Fit, Fits, KeyPart, KeyRange, Lock, Patience, Row, RowKey, SequenceId, SequenceRule,
    SpaceId, Stop, Storage, Write,
};
use skew_value::{SqlError, SqlState};

/// The open transaction of a session.
pub struct View<'a> {
    store: &'a mut Store,
    session: SessionId,
}

impl Store {
    /// The open transaction of a session, for the SQL engine.
    pub fn view(&mut self, session: SessionId) -> View<'_> {
        View { store: self, session }
    }

    /// When the open transaction of a session began.
    pub(crate) fn time_of(&self, session: SessionId) -> i64 {
        if self.is_steered(session) {
            return self.steered_time(session);
        }
        self.transaction(session).map_or(self.time(), |transaction| transaction.began_at)
    }
}

impl View<'_> {
    fn is_steered(&self) -> bool {
        self.store.is_steered(self.session)
    }

    /// What the statement was told at this place when it ran before, or what it is told now.
    fn tell(&mut self, now: impl FnOnce(&mut Store, SessionId) -> Result<Told, Stop>) -> Result<Told, Stop> {
        let statement = self.store.transaction_mut(self.session).ok().and_then(|it| it.statement.as_mut());
        if let Some(statement) = statement
            && let Some(told) = statement.told.get(statement.asked).cloned()
        {
            statement.asked += 1;
            return Ok(told);
        }
        let told = now(self.store, self.session)?;
        if let Some(statement) = self.store.transaction_mut(self.session).ok().and_then(|it| it.statement.as_mut()) {
            statement.told.push(told.clone());
            statement.asked += 1;
        }
        Ok(told)
    }

    /// Whether the statement has not yet slept at this place; when it is run again it has.
    pub(crate) fn may_sleep(&mut self) -> Result<bool, Stop> {
        let mut is_first = false;
        self.tell(|_, _| {
            is_first = true;
            Ok(Told::Done)
        })?;
        Ok(is_first)
    }

    fn tell_number(&mut self, now: impl FnOnce(&mut Store, SessionId) -> Result<i128, Stop>) -> Result<i128, Stop> {
        match self.tell(|store, session| now(store, session).map(Told::Number))? {
            Told::Number(number) => Ok(number),
            Told::Done => Err(SqlError::new(SqlState::INTERNAL, "a statement asked otherwise than before").into()),
        }
    }
}

impl Storage for View<'_> {
    fn get(&mut self, key: &RowKey, columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        if self.is_steered() {
            return self.store.steered_get(self.session, key, lock);
        }
        self.store.get(self.session, key, columns, lock)
    }

    fn would_wait(&mut self, key: &RowKey, lock: Lock) -> Result<bool, Stop> {
        if self.is_steered() {
            return refused("SKIP LOCKED or NOWAIT");
        }
        let number = self.tell_number(|store, session| store.would_wait(session, key, lock).map(i128::from))?;
        Ok(number != 0)
    }

    fn scan(&mut self, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        if self.is_steered() {
            return self.store.steered_scan(self.session, range, false);
        }
        self.store.scan(self.session, range, columns)
    }

    fn seek(
        &mut self,
        key: &RowKey,
        columns: &Columns,
        lock: Lock,
        patience: Patience,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        if self.is_steered() {
            if patience != Patience::Wait {
                return refused("SKIP LOCKED or NOWAIT");
            }
            return self.store.steered_seek(self.session, key, fits);
        }
        if self.store.seeks(self.session, key.space) {
            return self.store.seek(self.session, key, (lock, patience), fits);
        }
        // Whether it fits, its cells say, which are read under the lock of a row that is there.
        if self.store.locks(self.session)
            && self.store.seek(self.session, key, (lock, patience), &mut |_, _| Fit::Yes)?.is_none()
        {
            return Ok(None);
        }
        Ok(self.take(key, columns, lock, patience)?.filter(|row| fits(key, row) != Fit::No))
    }

    fn look_over(&mut self, range: &KeyRange, columns: &Columns, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        let is_atomic = self.store.options().updates == Updates::Atomic;
        if self.is_steered() && is_atomic {
            return self.store.steered_look_over(self.session, range, fits);
        }
        if !self.is_steered() && self.store.seeks(self.session, range.space) {
            return self.store.look_over(self.session, range, fits);
        }
        if self.is_steered() || !self.store.locks(self.session) {
            return look_by_scan(self, range, columns, fits);
        }
        let wanted = self.store.wanted_in(self.session, range)?;
        let keys = look_by_scan(self, range, columns, &mut |key, row| {
            if wanted.contains(key) { Fit::Yes } else { fits(key, row) }
        })?;
        self.store.want(self.session, &keys)?;
        Ok(keys)
    }

    fn enter(&mut self, scope: usize) -> usize {
        if self.is_steered() {
            return self.store.steered_enter(self.session, scope);
        }
        self.store.enter(self.session, scope)
    }

    fn present(&mut self, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        if self.is_steered() {
            return self.store.steered_present(self.session, range);
        }
        self.store.present(self.session, range)
    }

    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop> {
        if self.is_steered() {
            return self.store.steered_put(self.session, key, write);
        }
        if self.store.is_between(self.session) {
            return refused("writing after skew_settle() in the same transaction");
        }
        self.store.put(self.session, key, write)
    }

    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop> {
        if self.is_steered() {
            return self.store.steered_value(self.session, sequence, rule);
        }
        let number = self.tell_number(|store, session| {
            let next = rule.next(store.sequences.get(&sequence).copied())?;
            store.sequences.insert(sequence, (next, true));
            store.sessions[session.index()].current_values.insert(sequence, next);
            Ok(i128::from(next))
        })?;
        Ok(number as i64)
    }

    fn set_value(&mut self, sequence: SequenceId, value: i64, called: bool) -> Result<(), Stop> {
        if self.is_steered() {
            return refused("setting a sequence");
        }
        let set = |store: &mut Store, session: SessionId| {
            store.sequences.insert(sequence, (value, called));
            if called {
                store.sessions[session.index()].current_values.insert(sequence, value);
            }
            Ok(Told::Done)
        };
        self.tell(set).map(|_| ())
    }

    fn pass_value(&mut self, sequence: SequenceId, rule: &SequenceRule, value: i64) -> Result<(), Stop> {
        if self.is_steered() {
            // Where a sequence stands is no part of a history.
            return Ok(());
        }
        let pass = |store: &mut Store, _| {
            if let Some(passed) = rule.passed(store.sequences.get(&sequence).copied(), value) {
                store.sequences.insert(sequence, passed);
            }
            Ok(Told::Done)
        };
        self.tell(pass).map(|_| ())
    }

    fn current_value(&mut self, sequence: SequenceId) -> Option<i64> {
        self.store.sessions[self.session.index()].current_values.get(&sequence).copied()
    }

    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop> {
        if self.is_steered() {
            return self.store.steered_key(self.session, space);
        }
        let number = self.tell_number(|store, _| {
            let last = store.fresh_keys.entry(space).or_default();
            *last += 1;
            Ok(*last)
        })?;
        Ok(KeyPart::Number(number))
    }

    fn settle(&mut self) -> Result<(), Stop> {
        if self.is_steered() {
            return Ok(self.store.end_steering(Some(self.session))?);
        }
        if self.store.is_setting_up() {
            return Ok(self.store.begin_steering()?);
        }
        let settle = |store: &mut Store, _| {
            store.settle();
            Ok(Told::Done)
        };
        self.tell(settle).map(|_| ())
    }

    fn advisory(&mut self, key: i128, request: AdvisoryRequest) -> Result<bool, Stop> {
        if self.is_steered() {
            return refused("an advisory lock");
        }
        let number = self.tell_number(|store, session| store.advisory(session, key, request).map(i128::from))?;
        Ok(number != 0)
    }

    fn now(&self) -> i64 {
        self.store.time_of(self.session)
    }

    fn random(&mut self) -> u64 {
        if self.is_steered() {
            return self.store.steered_random(self.session);
        }
        let number = self.tell_number(|store, _| Ok(i128::from(store.numbers.number())));
        number.map_or(0, |number| number as u64)
    }

    fn is_cancelled(&self) -> bool {
        self.store.is_cancelled()
    }
}
