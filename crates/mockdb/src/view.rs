//! A transaction of the store as the SQL engine sees it.
//!
//! ```text
//!   view ──┬── the level decides: LevelView, here
//!          ├── a server's engine decides: EngineView
//!          └── somebody else decides: SteeredView
//! ```
//!
//! Sequences, fresh keys, random numbers and the clock are outside of transactions, as in every database; but a statement that is run
//! again after a wait gets the same ones again, because it must do again what it did.

use crate::engine_view::EngineView;
use crate::life::Life;
use crate::rows::LevelRows;
use crate::statement::Told;
use crate::steered::SteeredView;
use crate::steering::refused;
use crate::store::Store;
use skew_history::SessionId;
use skew_sql::storage::look_by_scan;
use skew_sql::{
    AdvisoryRequest, Columns, Fit, Fits, KeyPart, KeyRange, Lock, Patience, Row, RowKey, SavepointId, SequenceId,
    SequenceRule, SpaceId, Stop, Storage, Write,
};
use std::ops::{Deref, DerefMut};

/// The open transaction of a session: a [`Storage`], whoever decides what it reads.
pub struct SessionView<'a>(Decider<'a>);

enum Decider<'a> {
    Level(LevelView<'a>),
    Engine(EngineView<'a>),
    Steering(SteeredView<'a>),
}

impl<'a> Deref for SessionView<'a> {
    type Target = dyn Storage + 'a;

    fn deref(&self) -> &(dyn Storage + 'a) {
        match &self.0 {
            Decider::Level(view) => view,
            Decider::Engine(view) => view,
            Decider::Steering(view) => view,
        }
    }
}

impl<'a> DerefMut for SessionView<'a> {
    fn deref_mut(&mut self) -> &mut (dyn Storage + 'a) {
        match &mut self.0 {
            Decider::Level(view) => view,
            Decider::Engine(view) => view,
            Decider::Steering(view) => view,
        }
    }
}

impl Store {
    /// The open transaction of a session, for the SQL engine. What was begun while the store was being loaded fills the initial state to its
    /// end, whoever decides meanwhile.
    pub fn view(&mut self, session: SessionId) -> SessionView<'_> {
        let loading = self.transaction(session).map_or(true, |transaction| transaction.is_loading());
        SessionView(match self.life() {
            Life::Steered(_) if !loading => Decider::Steering(SteeredView::new(self, session)),
            _ if self.engine().is_some() && !loading => Decider::Engine(EngineView::new(self, session)),
            _ => Decider::Level(LevelView { store: self, session }),
        })
    }

    /// The row under a key, present or not.
    pub fn get(
        &mut self,
        session: SessionId,
        row: &RowKey,
        columns: &Columns,
        lock: Lock,
    ) -> Result<Option<Row>, Stop> {
        self.view(session).get(row, columns, lock)
    }

    /// The rows of a range, in the order of their keys.
    pub fn scan(
        &mut self,
        session: SessionId,
        range: &KeyRange,
        columns: &Columns,
    ) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.view(session).scan(range, columns)
    }

    /// Writes under a key.
    pub fn put(&mut self, session: SessionId, row: &RowKey, write: Write) -> Result<(), Stop> {
        self.view(session).put(row, write)
    }
}

/// The open transaction of a session that reads what its level allows.
struct LevelView<'a> {
    store: &'a mut Store,
    session: SessionId,
}

impl LevelView<'_> {
    fn rows(&mut self) -> LevelRows<'_> {
        LevelRows::new(self.store, self.session)
    }

    /// Does something once, however often the statement is run.
    fn once(&mut self, work: impl FnOnce(&mut Store)) -> Result<(), Stop> {
        let told = self.store.tell(self.session, |store| {
            work(store);
            Ok(Told::Done)
        });
        told.map(|_| ())
    }
}

impl Storage for LevelView<'_> {
    fn get(&mut self, key: &RowKey, columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop> {
        self.rows().get(key, columns, lock)
    }

    fn would_wait(&mut self, key: &RowKey, lock: Lock) -> Result<bool, Stop> {
        let session = self.session;
        let number = self
            .store
            .tell_number(session, |store| LevelRows::new(store, session).would_wait(key, lock).map(i128::from))?;
        Ok(number != 0)
    }

    fn scan(&mut self, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.rows().scan(range, columns)
    }

    fn seek(
        &mut self,
        key: &RowKey,
        columns: &Columns,
        lock: Lock,
        patience: Patience,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        let mut rows = self.rows();
        if rows.seeks(key.space) {
            return rows.seek(key, (lock, patience), fits);
        }
        // Whether it fits, its cells say, which are read under the lock of a row that is there.
        if rows.locks() && rows.seek(key, (lock, patience), &mut |_, _| Fit::Yes)?.is_none() {
            return Ok(None);
        }
        Ok(self.take(key, columns, lock, patience)?.filter(|row| fits(key, row) != Fit::No))
    }

    fn look_over(&mut self, range: &KeyRange, columns: &Columns, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        let mut rows = self.rows();
        if rows.seeks(range.space) {
            return rows.look_over(range, fits);
        }
        if !rows.locks() {
            return look_by_scan(self, range, columns, fits);
        }
        let wanted = rows.wanted_in(range)?;
        let keys = look_by_scan(self, range, columns, &mut |key, row| {
            if wanted.contains(key) { Fit::Yes } else { fits(key, row) }
        })?;
        self.rows().want(&keys)?;
        Ok(keys)
    }

    fn enter(&mut self, scope: usize) -> usize {
        self.store.statement_mut(self.session).map_or(0, |statement| statement.enter(scope))
    }

    fn present(&mut self, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop> {
        self.store.present(self.session, range)
    }

    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop> {
        if matches!(self.store.life(), Life::Steered(_)) {
            return refused("writing after skew_settle() in the same transaction");
        }
        self.rows().put(key, write)
    }

    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop> {
        let session = self.session;
        let number = self
            .store
            .tell_number(session, |store| Ok(i128::from(store.sequences_mut().next(session, sequence, rule)?)))?;
        Ok(number as i64)
    }

    fn set_value(&mut self, sequence: SequenceId, value: i64, called: bool) -> Result<(), Stop> {
        let session = self.session;
        self.once(|store| store.sequences_mut().set(session, sequence, value, called))
    }

    fn pass_value(&mut self, sequence: SequenceId, rule: &SequenceRule, value: i64) -> Result<(), Stop> {
        self.once(|store| store.sequences_mut().pass(sequence, rule, value))
    }

    fn current_value(&mut self, sequence: SequenceId) -> Option<i64> {
        self.store.sequences_mut().current(self.session, sequence)
    }

    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop> {
        let number = self.store.tell_number(self.session, |store| Ok(store.sequences_mut().fresh_key(space)))?;
        Ok(KeyPart::Number(number))
    }

    fn settle(&mut self) -> Result<(), Stop> {
        if self.store.life().is_setting_up() {
            return Ok(self.store.begin_steering()?);
        }
        self.once(Store::settle)
    }

    fn advisory(&mut self, key: i128, request: AdvisoryRequest) -> Result<bool, Stop> {
        let session = self.session;
        let number = self.store.tell_number(session, |store| store.advisory(session, key, request).map(i128::from))?;
        Ok(number != 0)
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
        let number = self.store.tell_number(self.session, |store| Ok(i128::from(store.sequences_mut().random())));
        number.map_or(0, |number| number as u64)
    }

    fn is_cancelled(&self) -> bool {
        self.store.is_cancelled()
    }
}
