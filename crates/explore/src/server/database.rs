//! One server, of one of the two kinds.

use super::gap::Gap;
use super::innodb::Innodb;
use super::part::StateParts;
use super::postgres::PostgresServer;
use super::told::{ToldFate, ToldTransaction};
use super::turn::{Asking, RowAnswer, Want};
use crate::keys::{KeyNumber, Keys};
use crate::set::{Number, Set};
use skew_history::{Engine, EngineLevel, StatementKind};
use skew_sql::{Fits, KeyRange, Patience, Row};

/// The state of a server.
#[derive(Clone, Debug)]
pub(crate) enum ServerState {
    Postgres(PostgresServer),
    Innodb(Innodb),
}

impl ServerState {
    /// Before anything; the levels of all transactions by number, that of t0 means nothing.
    pub(crate) fn new(levels: Vec<EngineLevel>) -> ServerState {
        match levels.last().map(|level| level.engine()) {
            Some(Engine::Mysql) => ServerState::Innodb(Innodb::new(levels)),
            _ => {
                let repeatable = levels.into_iter().map(|level| level != EngineLevel::PostgresReadCommitted).collect();
                ServerState::Postgres(PostgresServer::new(repeatable))
            }
        }
    }

    /// One more transaction, behind all others.
    pub(crate) fn add(&mut self, level: EngineLevel) {
        match self {
            ServerState::Postgres(postgres) => postgres.add(level != EngineLevel::PostgresReadCommitted),
            ServerState::Innodb(innodb) => innodb.add(level),
        }
    }

    /// Whether plain reads of a transaction lock.
    pub(crate) fn locks_all(&self, one: Number) -> bool {
        matches!(self, ServerState::Innodb(innodb) if innodb.locks_all(one))
    }

    /// Whether a plain read needs a snapshot that is not taken yet.
    pub(crate) fn needs_snapshot(&self, one: Number, statement: u32) -> bool {
        match self {
            ServerState::Postgres(postgres) => postgres.needs_snapshot(one, statement),
            ServerState::Innodb(innodb) => innodb.needs_view(one, statement),
        }
    }

    /// What was taken for an earlier statement, and serves no later one, is gone when the later one stands somewhere.
    pub(crate) fn drop_old_snapshot(&mut self, one: Number, statement: u32) {
        match self {
            ServerState::Postgres(postgres) => postgres.drop_old_snapshot(one, statement),
            ServerState::Innodb(innodb) => innodb.drop_old_view(one, statement),
        }
    }

    /// Takes it; says whether it serves later statements, too.
    pub(crate) fn take_snapshot(&mut self, one: Number, statement: u32) -> bool {
        match self {
            ServerState::Postgres(postgres) => {
                postgres.take_snapshot(one, statement);
                postgres.is_repeatable(one)
            }
            ServerState::Innodb(innodb) => {
                innodb.make_view(one, statement);
                innodb.is_repeatable(one)
            }
        }
    }

    /// Whether one snapshot serves all plain reads of a transaction.
    pub(crate) fn is_repeatable(&self, one: Number) -> bool {
        match self {
            ServerState::Postgres(postgres) => postgres.is_repeatable(one),
            ServerState::Innodb(innodb) => innodb.is_repeatable(one),
        }
    }

    /// Whether whatever a transaction is answered is of one snapshot, or a refusal, but for keys that have to be free. InnoDB's locking
    /// statements look at what stands.
    pub(crate) fn sees_one_snapshot(&self, one: Number) -> bool {
        matches!(self, ServerState::Postgres(postgres) if postgres.is_repeatable(one))
    }

    pub(crate) fn select(&mut self, asking: &mut Asking<'_>, key: KeyNumber) -> Option<Row> {
        match self {
            ServerState::Postgres(postgres) => postgres.select(asking, key),
            ServerState::Innodb(innodb) => innodb.select(asking, key),
        }
    }

    pub(crate) fn latest(&mut self, one: Number, key: KeyNumber, keys: &Keys) -> Option<Row> {
        match self {
            ServerState::Postgres(postgres) => postgres.latest(one, key, keys),
            ServerState::Innodb(innodb) => innodb.latest(one, key, keys),
        }
    }

    /// A committed row that a transaction's snapshot does not have, where there are snapshots for what is locked.
    pub(crate) fn unseen(&mut self, one: Number, key: KeyNumber, keys: &Keys) -> Option<Row> {
        match self {
            ServerState::Postgres(postgres) => postgres.unseen(one, key, keys),
            ServerState::Innodb(_) => None,
        }
    }

    /// What is committed under a key, or own, of whose row a lock is held.
    pub(crate) fn read_latest(&mut self, asking: &mut Asking<'_>, key: KeyNumber) -> RowAnswer {
        match self {
            ServerState::Postgres(_) => RowAnswer::Passed(None),
            ServerState::Innodb(innodb) => innodb.read_latest(asking, key),
        }
    }

    /// Whether statements that lock look at a snapshot first.
    pub(crate) fn looks_before_it_locks(&self) -> bool {
        matches!(self, ServerState::Postgres(_))
    }

    /// Looks at a row that is sought, and locks it if that is asked for: [`RowAnswer::Later`] if there is something to lock and it is not.
    pub(crate) fn seek(
        &mut self,
        asking: &mut Asking<'_>,
        key: KeyNumber,
        fits: &mut Fits<'_>,
        may_lock: bool,
    ) -> RowAnswer {
        match self {
            ServerState::Postgres(postgres) => postgres.seek(asking, key, fits, may_lock),
            ServerState::Innodb(_) if !may_lock => RowAnswer::Later,
            ServerState::Innodb(innodb) => {
                let waited = innodb.waits(asking.one);
                innodb.seek(asking, key, fits, waited)
            }
        }
    }

    pub(crate) fn check(&mut self, asking: &mut Asking<'_>, key: KeyNumber, want: Want) -> RowAnswer {
        match self {
            ServerState::Postgres(postgres) => postgres.check(asking, key, want),
            ServerState::Innodb(innodb) => innodb.check(asking, key, want),
        }
    }

    pub(crate) fn write(
        &mut self,
        asking: &mut Asking<'_>,
        key: KeyNumber,
        value: Option<Row>,
        is_blind: bool,
    ) -> RowAnswer {
        match self {
            ServerState::Postgres(postgres) => postgres.write(asking, key, value, is_blind),
            ServerState::Innodb(innodb) => innodb.write(asking, key, value, is_blind),
        }
    }

    /// Who keeps somebody from going on: nobody, where it does not wait.
    pub(crate) fn blockers(&mut self, one: Number, want: &Want, keys: &Keys) -> Set {
        if want.patience == Patience::Wait { self.keepers(one, want, keys) } else { Set::EMPTY }
    }

    /// Who has what somebody wants.
    pub(crate) fn keepers(&mut self, one: Number, want: &Want, keys: &Keys) -> Set {
        match self {
            ServerState::Postgres(postgres) => postgres.blockers(one, want, keys),
            ServerState::Innodb(innodb) => innodb.blockers(one, want, keys),
        }
    }

    /// Whether a row that a snapshot shows which serves a whole transaction was changed since: it is refused, whoever has it now.
    pub(crate) fn has_changed_since(&self, one: Number, key: KeyNumber) -> bool {
        matches!(self, ServerState::Postgres(postgres) if postgres.has_changed_since(one, key))
    }

    /// A row that the statement sees is left out, because somebody else has it.
    pub(crate) fn leave_out(&mut self, asking: &mut Asking<'_>, key: KeyNumber) {
        match self {
            ServerState::Postgres(postgres) => postgres.leave_out(asking, key),
            ServerState::Innodb(innodb) => innodb.leave_out(asking, key),
        }
    }

    /// Whether one of two who wait may have to wait for the other one, which has asked before. InnoDB's queues are among its locks.
    pub(crate) fn may_queue(&self, one: (Number, &Want), before: (Number, &Want)) -> bool {
        matches!(self, ServerState::Postgres(postgres) if postgres.may_queue(one, before))
    }

    /// Whether it is told that somebody waits. PostgreSQL lets anybody overtake, so who cannot go on waits.
    pub(crate) fn waits(&self, one: Number) -> bool {
        match self {
            ServerState::Postgres(_) => true,
            ServerState::Innodb(innodb) => innodb.waits(one),
        }
    }

    /// Whether somebody stands in a queue, which only InnoDB has.
    pub(crate) fn is_queued(&self, one: Number) -> bool {
        self.awaited(one).is_some()
    }

    /// What somebody waits for in a queue.
    pub(crate) fn awaited(&self, one: Number) -> Option<KeyNumber> {
        match self {
            ServerState::Postgres(_) => None,
            ServerState::Innodb(innodb) => innodb.awaited(one),
        }
    }

    /// Whether somebody looks at what is committed of a row before it waits for it.
    pub(crate) fn glances(&self, one: Number, want: &Want, keys: &Keys) -> bool {
        matches!(self, ServerState::Innodb(innodb) if innodb.glances(one, want, keys))
    }

    /// Passes over a row that somebody else has, if what is committed there need not be locked.
    pub(crate) fn glance(&mut self, asking: &mut Asking<'_>, key: KeyNumber, fits: &mut Fits<'_>) -> Option<RowAnswer> {
        match self {
            ServerState::Postgres(_) => None,
            ServerState::Innodb(innodb) => innodb.glance(asking, key, fits),
        }
    }

    /// Whether there is a record under a key, as far as who goes along an index meets it.
    pub(crate) fn is_there(&self, key: KeyNumber, keys: &Keys) -> bool {
        matches!(self, ServerState::Innodb(innodb) if innodb.is_there(key, keys))
    }

    /// Somebody waits from now on; with the gaps that this has to do with.
    pub(crate) fn wait(&mut self, one: Number, want: &Want, keys: &Keys) -> Vec<Gap> {
        match self {
            ServerState::Postgres(_) => Vec::new(),
            ServerState::Innodb(innodb) => innodb.wait(one, want, keys),
        }
    }

    pub(crate) fn go_on(&mut self, one: Number) {
        if let ServerState::Innodb(innodb) = self {
            innodb.go_on(one);
        }
    }

    /// The gap that comes with a lock.
    pub(crate) fn gap_wanted(&self, one: Number, want: &Want, keys: &Keys) -> Option<Gap> {
        match self {
            ServerState::Postgres(_) => None,
            ServerState::Innodb(innodb) => innodb.gap_wanted(one, want, keys),
        }
    }

    /// A range is about to be looked over: the gap that is taken at once.
    pub(crate) fn begin_range(&mut self, one: Number, range: &KeyRange, keys: &Keys) -> Option<Gap> {
        match self {
            ServerState::Postgres(_) => None,
            ServerState::Innodb(innodb) => innodb.begin_range(one, range, keys),
        }
    }

    /// What a range that is looked over depends on, where each key is looked at when its turn comes.
    pub(crate) fn around(&self, range: &KeyRange, keys: &Keys) -> Option<Gap> {
        match self {
            ServerState::Postgres(_) => None,
            ServerState::Innodb(innodb) => Some(innodb.around(range, keys)),
        }
    }

    /// The record behind a range that is locked with it.
    pub(crate) fn end_of(&self, range: &KeyRange, keys: &Keys) -> Option<KeyNumber> {
        match self {
            ServerState::Postgres(_) => None,
            ServerState::Innodb(innodb) => innodb.end_of(range, keys),
        }
    }

    /// A range was looked over to its end: the gap that is taken then, with the record behind it.
    pub(crate) fn end_range(&mut self, one: Number, range: &KeyRange, end: Option<&Want>, keys: &Keys) -> Option<Gap> {
        match self {
            ServerState::Postgres(_) => None,
            ServerState::Innodb(innodb) => innodb.end_range(one, range, end, keys),
        }
    }

    /// The keys that are being written, as far as who locks sees that.
    pub(crate) fn written(&self) -> Vec<KeyNumber> {
        match self {
            ServerState::Postgres(_) => Vec::new(),
            ServerState::Innodb(innodb) => innodb.written().collect(),
        }
    }

    pub(crate) fn touched(&self, one: Number) -> Vec<KeyNumber> {
        match self {
            ServerState::Postgres(postgres) => postgres.touched(one),
            ServerState::Innodb(innodb) => innodb.touched(one),
        }
    }

    pub(crate) fn touched_gaps(&self, one: Number, keys: &Keys) -> Vec<Gap> {
        match self {
            ServerState::Postgres(_) => Vec::new(),
            ServerState::Innodb(innodb) => innodb.touched_gaps(one, keys),
        }
    }

    pub(crate) fn commit(&mut self, one: Number, told: &ToldTransaction, keys: &Keys) {
        match self {
            ServerState::Postgres(postgres) => postgres.commit(one, told),
            ServerState::Innodb(innodb) => innodb.commit(one, told, keys),
        }
    }

    pub(crate) fn forget(&mut self, one: Number, keys: &Keys) {
        match self {
            ServerState::Postgres(postgres) => postgres.forget(one),
            ServerState::Innodb(innodb) => innodb.forget(one, keys),
        }
    }

    /// Whether a transaction that goes back to a savepoint before its first look at a row begins anew. MariaDB tells InnoDB of no such savepoint.
    pub(crate) fn may_begin_anew(&self) -> bool {
        matches!(self, ServerState::Innodb(_))
    }

    /// As if the statements of a transaction behind this one had never been, but for the locks that an engine keeps; without one it begins anew.
    pub(crate) fn back_to(&mut self, one: Number, since: Option<u32>, keys: &Keys) {
        match (self, since) {
            (ServerState::Postgres(postgres), since) => postgres.back_to(one, since.unwrap_or(0)),
            (ServerState::Innodb(innodb), Some(since)) => innodb.back_to(one, since, keys),
            (ServerState::Innodb(innodb), None) => innodb.begin_anew(one, keys),
        }
    }

    /// What becomes of a read whose statement is taken back: its kind, what was there, and whether it was passed over at once. `begun`: the
    /// statement with which the transaction begins anew.
    pub(crate) fn fate(&self, one: Number, read: (StatementKind, &Option<Row>, bool), begun: Option<u32>) -> ToldFate {
        match self {
            ServerState::Postgres(postgres) => postgres.fate(one, read),
            ServerState::Innodb(innodb) => innodb.fate(one, read, begun),
        }
    }

    /// Per key that was changed, who changed it, in order.
    pub(crate) fn versions(&self) -> Vec<(KeyNumber, Number)> {
        match self {
            ServerState::Postgres(postgres) => postgres.versions(),
            ServerState::Innodb(innodb) => innodb.versions(),
        }
    }

    /// What tells this state from others, for whatever comes when these are over.
    pub(crate) fn parts(&self, over: Set) -> StateParts {
        match self {
            ServerState::Postgres(postgres) => postgres.parts(over),
            ServerState::Innodb(innodb) => innodb.parts(over),
        }
    }

    /// Whether a committed transaction has written a key.
    pub(crate) fn has_version(&self, key: KeyNumber) -> bool {
        self.versions().iter().any(|version| version.0 == key)
    }
}
