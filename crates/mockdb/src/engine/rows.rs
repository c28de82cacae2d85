//! What statements do to rows.
//!
//! ```text
//!   UPDATE kv SET v = 1 WHERE v = 0      the snapshot shows kv/1 = 0: wanted ── its lock is another's: wait
//!                                        the other one commits kv/1 = 7 ── asked again: passed over, and locked all the same
//! ```
//!
//! A statement sees the tuples of its snapshot (its own at read committed, that of the first statement above), then locks the last tuple
//! of that life: after whoever holds it has ended, and if it is another tuple by then, at read committed the condition is asked again,
//! above the transaction is refused. INSERT looks at what is there, not at the snapshot.

use super::ServerEngine;
use super::queue::Want;
use super::tuple::{Tuple, TupleEnd, TupleSight};
use crate::operation::ReadOrigin;
use skew_check::Version;
use skew_history::{KeyId, RowStrength, SessionId, StatementKind};
use skew_sql::{Fit, Fits, Row, RowKey};
use skew_value::{SqlError, SqlState};

/// What is told of a look at a row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EngineRead {
    pub(crate) kind: StatementKind,
    pub(crate) key: KeyId,
    pub(crate) source: ReadOrigin,
    pub(crate) value: Option<Row>,
    /// The row was there and did not qualify.
    pub(crate) passed: bool,
    /// The statement had to wait before it looked.
    pub(crate) waited: bool,
}

/// What came of a row that a statement seeks, or of a key that has to be free.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Sought {
    /// There is none, or it is left alone.
    Passed(EngineRead),
    /// It is locked; where a key had to be free, it is taken.
    Locked(EngineRead, Row),
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum NotNow {
    /// Somebody else has it.
    Wait,
    /// The server refuses.
    Refused(SqlError),
}

/// How what is there is locked before a key is written.
pub(super) fn strength_of(want: Want) -> Option<RowStrength> {
    match want {
        Want::Row { strength, .. } => Some(strength),
        Want::Free { locks } => locks.then_some(RowStrength::NoKeyUpdate),
        Want::Write => Some(RowStrength::Update),
    }
}

/// Whether a statement of this kind only holds on to a row's key.
fn is_key_share(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::ForKeyShare | StatementKind::ForeignKey)
}

/// How a row that fits is locked: more strongly where a key of it will change.
fn sought_strength(kind: StatementKind, fit: Fit) -> RowStrength {
    if fit == Fit::Moves { RowStrength::Update } else { RowStrength::of(kind) }
}

fn concurrent(what: &str) -> NotNow {
    let message = format!("could not serialize access due to concurrent {what}");
    NotNow::Refused(SqlError::new(SqlState("40001"), message))
}

/// Why a transaction is refused that has to act on a row that ended like this since its snapshot.
fn changed_by(end: &TupleEnd) -> NotNow {
    concurrent(if end.deletes && end.moved.is_none() { "delete" } else { "update" })
}

fn read_of(kind: StatementKind, key: KeyId, tuple: &Tuple) -> EngineRead {
    let (source, value) = (ReadOrigin::Version(tuple.by.version), Some(tuple.row.clone()));
    EngineRead { kind, key, source, value, passed: false, waited: false }
}

fn absent(kind: StatementKind, key: KeyId, version: Version) -> EngineRead {
    let source = ReadOrigin::Version(version);
    EngineRead { kind, key, source, value: None, passed: false, waited: false }
}

impl ServerEngine {
    /// A key is looked at for the first time, with its initial row.
    pub(crate) fn meet(&mut self, key: KeyId, initial: Option<&Row>) {
        self.tuples.meet(key, initial);
    }

    /// Whether a key was looked at.
    pub(crate) fn knows(&self, key: KeyId) -> bool {
        self.tuples.knows(key)
    }

    /// A plain read.
    pub(crate) fn select(&mut self, session: SessionId, key: KeyId) -> EngineRead {
        let sight = self.sight(session);
        let visible = self.tuples.visible(sight, key);
        match visible.last() {
            Some(&place) => read_of(StatementKind::Select, key, &self.tuples.of(key)[place]),
            None => absent(StatementKind::Select, key, self.tuples.absence(sight, key)),
        }
    }

    /// The row as it stands, committed.
    pub(crate) fn latest(&self, key: KeyId) -> Option<Row> {
        self.tuples.latest(key).map(|tuple| tuple.row.clone())
    }

    /// The same, if it is not what the snapshot of a transaction above read committed shows.
    pub(crate) fn unseen(&mut self, session: SessionId, key: KeyId) -> Option<Row> {
        if !self.is_repeatable(session) {
            return None;
        }
        let sight = self.sight(session);
        let row = self.latest(key)?;
        let seen = self.tuples.visible(sight, key);
        (!seen.iter().any(|&place| self.tuples.of(key)[place].row == row)).then_some(row)
    }

    /// A change that a transaction may not see and would have to lock.
    pub(crate) fn refusal_of_unseen() -> SqlError {
        SqlError::new(SqlState("40001"), "could not serialize access due to concurrent update")
    }

    /// Looks whether a statement wants a row: what is told of it if it does not.
    pub(crate) fn look(
        &mut self,
        session: SessionId,
        kind: StatementKind,
        (key, row_key): (KeyId, &RowKey),
        fits: &mut Fits<'_>,
    ) -> Option<EngineRead> {
        let sight = self.sight(session);
        let Some(first) = self.first(sight, key) else {
            return Some(absent(kind, key, self.tuples.absence(sight, key)));
        };
        let tuple = &self.tuples.of(key)[first];
        let is_sought = fits(row_key, &tuple.row).is_sought();
        (!is_sought).then(|| EngineRead { passed: true, ..read_of(kind, key, tuple) })
    }

    /// The tuple that a statement which seeks looks at.
    fn first(&self, sight: TupleSight, key: KeyId) -> Option<usize> {
        self.tuples.visible(sight, key).last().copied()
    }

    /// Whether who seeks a row would have to wait for it.
    pub(crate) fn seek_would_wait(&mut self, session: SessionId, kind: StatementKind, key: KeyId) -> bool {
        let sight = self.sight(session);
        let Some(first) = self.first(sight, key) else { return false };
        let want = Want::Row { life: self.tuples.of(key)[first].life, strength: RowStrength::of(kind) };
        self.would_wait(session, key, want)
    }

    /// Seeks a row and locks it if it fits.
    pub(crate) fn seek(
        &mut self,
        session: SessionId,
        kind: StatementKind,
        (key, row_key): (KeyId, &RowKey),
        fits: &mut Fits<'_>,
    ) -> Result<Sought, NotNow> {
        let (sight, repeatable) = (self.sight(session), self.is_repeatable(session));
        let Some(first) = self.first(sight, key) else {
            return Ok(Sought::Passed(absent(kind, key, self.tuples.absence(sight, key))));
        };
        let tuple = &self.tuples.of(key)[first];
        let (life, fit) = (tuple.life, fits(row_key, &tuple.row));
        if !fit.is_sought() {
            return Ok(Sought::Passed(EngineRead { passed: true, ..read_of(kind, key, tuple) }));
        }
        // What has changed since is refused at once, whoever has it now.
        if let Some(end) = tuple.end.filter(|end| repeatable && !end.by.is_open())
            && (!is_key_share(kind) || end.deletes)
        {
            return Err(changed_by(&end));
        }
        let strength = sought_strength(kind, fit);
        self.pass(session, key, Want::Row { life, strength })?;
        let last = self.tuples.last_of(key, life).unwrap_or(first);
        let found = self.found(session, (kind, strength), (key, row_key), (Some(first), last), fits);
        self.stop_waiting(session);
        found
    }

    /// What is found of a row that nobody else has any more.
    fn found(
        &mut self,
        session: SessionId,
        (kind, strength): (StatementKind, RowStrength),
        (key, row_key): (KeyId, &RowKey),
        (first, last): (Option<usize>, usize),
        fits: &mut Fits<'_>,
    ) -> Result<Sought, NotNow> {
        let (repeatable, statement) = (self.is_repeatable(session), self.statement(session));
        let tuple = self.tuples.of(key)[last].clone();
        if let Some(end) = tuple.end.filter(|end| end.deletes) {
            // Nobody looks for another row with its key.
            if repeatable {
                return Err(changed_by(&end));
            }
            if let Some(to) = end.moved.filter(|to| self.tuples.standing(*to).is_some()) {
                return self.follow(session, (kind, strength), (to, row_key), fits);
            }
            let gone = match end.by.version {
                Version::Of(by) if self.tuples.left_another(key, end.by.version) => ReadOrigin::Gone(by),
                version => ReadOrigin::Version(version),
            };
            return Ok(Sought::Passed(EngineRead { source: gone, ..absent(kind, key, end.by.version) }));
        }
        let is_changed = first.is_none_or(|first| last != first && !is_key_share(kind));
        if is_changed && repeatable {
            return Err(concurrent("update"));
        }
        self.queues.hold(session, key, tuple.life, strength, statement);
        // Who only holds on to the key waits for nobody who leaves it alone, and has the row that it sees.
        let tuple = match first.filter(|_| is_key_share(kind)) {
            Some(first) => self.tuples.of(key)[first].clone(),
            None => tuple,
        };
        let read = read_of(kind, key, &tuple);
        let again = if is_changed { fits(row_key, &tuple.row) } else { Fit::Yes };
        if !again.is_sought() {
            return Ok(Sought::Passed(EngineRead { passed: true, waited: true, ..read }));
        }
        if again == Fit::Moves {
            self.strengthen(session, key, tuple.life)?;
        }
        Ok(Sought::Locked(read, tuple.row))
    }

    /// A row that was waited for has another key now: it is the same row.
    fn follow(
        &mut self,
        session: SessionId,
        (kind, strength): (StatementKind, RowStrength),
        (to, row_key): (KeyId, &RowKey),
        fits: &mut Fits<'_>,
    ) -> Result<Sought, NotNow> {
        let life = self.tuples.standing(to).map_or(0, |tuple| tuple.life);
        self.pass(session, to, Want::Row { life, strength })?;
        let last = self.tuples.last_of(to, life).unwrap_or_default();
        self.found(session, (kind, strength), (to, row_key), (None, last), fits)
    }

    /// A row that is locked is to go, or to get another key: nobody may hold on to that.
    fn strengthen(&mut self, session: SessionId, key: KeyId, life: u32) -> Result<(), NotNow> {
        let strength = RowStrength::Update;
        self.pass(session, key, Want::Row { life, strength })?;
        self.queues.hold(session, key, life, strength, self.statement(session));
        Ok(())
    }

    /// A foreign key holds on to the key of a row, if the transaction sees the row and it is still there.
    pub(crate) fn hold_key(&mut self, session: SessionId, key: KeyId) -> Result<(), NotNow> {
        let (sight, strength) = (self.sight(session), RowStrength::KeyShare);
        let Some(first) = self.first(sight, key) else { return Ok(()) };
        let life = self.tuples.of(key)[first].life;
        self.pass(session, key, Want::Row { life, strength })?;
        let last = self.tuples.last_of(key, life).unwrap_or(first);
        if !self.tuples.of(key)[last].is_deleted() {
            self.queues.hold(session, key, life, strength, self.statement(session));
        }
        self.stop_waiting(session);
        Ok(())
    }

    /// The check that a key is free, after nobody is about to change what is there any more; with ON CONFLICT it may decide what becomes of a
    /// row that is there.
    pub(crate) fn check(&mut self, session: SessionId, key: KeyId, decides: bool) -> Result<Sought, NotNow> {
        let repeatable = self.is_repeatable(session);
        let Some(transaction) = self.open.get(&session) else { return Err(NotNow::Wait) };
        let (id, statement) = (transaction.id, transaction.statement);
        let is_upsert = decides && transaction.kind == StatementKind::Upsert;
        let locks = is_upsert && !transaction.ignores;
        let kind = if is_upsert { StatementKind::Upsert } else { StatementKind::Insert };
        let sight = if repeatable { self.sight(session) } else { TupleSight { id, commits: self.commits } };
        self.pass(session, key, Want::Free { locks })?;
        let last = self.tuples.of(key).len().checked_sub(1);
        let last = last.filter(|&last| !self.tuples.of(key)[last].is_deleted());
        let found = match last {
            None => {
                let known = TupleSight { id, commits: self.commits };
                let read = absent(kind, key, self.tuples.absence(known, key));
                self.claim(session, key);
                Ok(Sought::Passed(read))
            }
            Some(last) if is_upsert && repeatable && !self.tuples.visible(sight, key).contains(&last) => {
                Err(concurrent("update"))
            }
            Some(last) => {
                let tuple = self.tuples.of(key)[last].clone();
                if is_upsert {
                    self.give_up_claims(session);
                }
                if locks {
                    self.queues.hold(session, key, tuple.life, RowStrength::NoKeyUpdate, statement);
                }
                Ok(Sought::Locked(read_of(kind, key, &tuple), tuple.row))
            }
        };
        self.stop_waiting(session);
        found
    }

    /// Waits until nobody is about to change a row that an entry of a unique index leads to.
    pub(crate) fn await_change(&mut self, session: SessionId, key: KeyId) -> Result<(), NotNow> {
        self.pass(session, key, Want::Free { locks: false })?;
        self.stop_waiting(session);
        Ok(())
    }

    /// A row decides what an INSERT with ON CONFLICT does: above read committed the transaction has to see it as it stands.
    pub(crate) fn decide_by(&mut self, session: SessionId, key: KeyId) -> Result<(), NotNow> {
        let is_upsert = self.kind(session) == StatementKind::Upsert;
        if !is_upsert || !self.is_repeatable(session) {
            return Ok(());
        }
        let sight = self.sight(session);
        let last = self.tuples.of(key).len().checked_sub(1);
        let last = last.filter(|&last| !self.tuples.of(key)[last].is_deleted());
        let is_seen = last.is_none_or(|last| self.tuples.visible(sight, key).contains(&last));
        if is_seen { Ok(()) } else { Err(concurrent("update")) }
    }

    /// The row of somebody else that the snapshot of a transaction above read committed still has under a key.
    pub(crate) fn beside(&mut self, session: SessionId, key: KeyId) -> Option<Row> {
        if !self.is_repeatable(session) {
            return None;
        }
        let sight = self.sight(session);
        let visible = self.tuples.visible(sight, key);
        let tuples = visible.iter().map(|&place| &self.tuples.of(key)[place]);
        tuples.filter(|tuple| tuple.by.version != Version::Of(sight.id)).map(|tuple| tuple.row.clone()).next()
    }

    /// What is told of a row that somebody else has deleted.
    pub(crate) fn refusal_of_deleted() -> NotNow {
        concurrent("delete")
    }

    /// A row is about to be inserted.
    fn claim(&mut self, session: SessionId, key: KeyId) {
        let Some(transaction) = self.open.get_mut(&session) else { return };
        let life = self.tuples.claim(key, transaction.id, transaction.statement);
        transaction.touch(key);
        self.queues.hold(session, key, life, RowStrength::Update, transaction.statement);
    }

    /// The row is not inserted after all, since another of its keys is taken: the others are free again.
    fn give_up_claims(&mut self, session: SessionId) {
        let Some(transaction) = self.open.get(&session) else { return };
        let given_up = self.tuples.give_up_claims(&transaction.touched, transaction.id, transaction.statement);
        self.queues.give_up(session, &given_up);
        self.wake_all(given_up.into_iter().map(|(key, _)| key).collect());
    }

    /// The row that stands under a key, whoever made it.
    pub(crate) fn standing(&self, key: KeyId) -> Option<&Row> {
        self.tuples.standing(key).map(|tuple| &tuple.row)
    }

    /// Writes under a key that nobody else has. A row whose keys change, or that goes, is locked more strongly than others.
    pub(crate) fn write(
        &mut self,
        session: SessionId,
        key: KeyId,
        value: Option<Row>,
        moves: bool,
    ) -> Result<(), NotNow> {
        let is_held = self.queues.holds(session, key);
        // What a statement changes it has locked, but for entries of indexes and keys that it moves.
        if !is_held {
            self.pass(session, key, Want::Write)?;
        } else if let Some(life) = self.tuples.standing(key).filter(|_| moves).map(|last| last.life) {
            self.strengthen(session, key, life)?;
        }
        let Some(transaction) = self.open.get_mut(&session) else { return Ok(()) };
        let (id, statement) = (transaction.id, transaction.statement);
        transaction.touch(key);
        match self.tuples.standing(key) {
            // Whoever wants it waits for that.
            Some(last) if !is_held => {
                let life = last.life;
                self.queues.hold(session, key, life, RowStrength::Update, statement);
            }
            None if value.is_some() => self.claim(session, key),
            _ => {}
        }
        self.tuples.write(key, id, statement, value);
        self.stop_waiting(session);
        Ok(())
    }

    /// An UPDATE ends a row under one key and begins it under another.
    pub(crate) fn note_move(&mut self, session: SessionId, key: KeyId, is_there: bool) {
        let Some(transaction) = self.open.get_mut(&session) else { return };
        if transaction.kind != StatementKind::Update {
            return;
        }
        match (is_there, transaction.moving.take()) {
            (false, _) => transaction.moving = Some(key),
            (true, Some(from)) => self.tuples.note_move(from, key, transaction.id),
            (true, None) => {}
        }
    }

    /// Whether the place of a row is taken by this transaction, and it is not written yet.
    pub(crate) fn is_claimed(&self, session: SessionId, key: KeyId) -> bool {
        let own = self.open.get(&session).map(|transaction| transaction.id);
        let is_own = |tuple: &Tuple| own.is_some_and(|own| tuple.by.version == Version::Of(own)) && tuple.claimed;
        self.tuples.of(key).iter().any(is_own)
    }
}
