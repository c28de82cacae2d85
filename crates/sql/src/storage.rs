//! What SQL asks of a store: small, so that every row read can be seen, chosen and recorded.
//!
//! The executor knows tables, indexes and types; a store knows *spaces* of keys and the rows under them. A table's rows live in
//! one space, the entries of each of its indexes in another:
//!
//! ```text
//!   item/7              a row, under its primary key
//!   item@price/30/7     an entry of a secondary index: its columns, then the primary key; its row is empty
//!   item@name/'bolt'    an entry of a unique index: its columns alone; its row is the primary key
//! ```
//!
//! The contract is what makes weak isolation and exploration work with one executor:
//!
//! - *A statement is a function of what it read.* A store may answer [`Interrupt::Wait`](crate::Interrupt) at any call; the caller drops the
//!   statement's writes and runs it again from its start, and the store answers what it answered before.
//! - *A statement reads a key once*: the store answers the second read of a key in one statement as the first, except that a read
//!   that locks may see more than the plain read before it, and that a subquery reads for itself.
//! - *Rows that are sought* (by UPDATE, DELETE, SELECT … FOR UPDATE) are locked only if they fit. The store decides in which version it looks at
//!   one, so it is told which versions fit; [`crate::rows`] has the rules.
//! - *A range is read whole*: the answer of a scan covers keys that do not exist, so the store knows what absence was seen.
//! - *Own writes come first*: a read sees what its own transaction wrote.

use crate::server_fact::{ClientFact, LockFact};
use crate::stop::{Interrupt, Stop};
use crate::table_lock::TableLock;
use core::time::Duration;
use skew_value::{Datum, SqlError, SqlState};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is one key of the history.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Granularity {
    /// A row: `account/7`.
    #[default]
    Row,
    /// A cell: `account/7#balance`. Whether the row exists is the key `account/7` itself, which scans cover and cells are not
    /// part of: a scan reads which rows there are, and then the cells of those it found one by one.
    Cell,
}

/// A part of a key. Numbers order as numbers, texts by their bytes; numbers first, NULL last.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KeyPart {
    /// An integer.
    Number(i128),
    /// Any other value as text, in an order-keeping form where its type has one.
    Text(Arc<str>),
    /// NULL, in index entries only.
    Null,
}

impl fmt::Display for KeyPart {
    /// Without the characters that separate parts (`/`) and cells (`#`), so that keys stay distinct as text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyPart::Number(number) => write!(formatter, "{number}"),
            KeyPart::Text(text) => text.chars().try_for_each(|character| match character {
                '/' | '#' | '%' | '\'' => write!(formatter, "%{:02x}", character as u32),
                character => write!(formatter, "{character}"),
            }),
            // No text is written like this, for its % would be escaped.
            KeyPart::Null => write!(formatter, "%null"),
        }
    }
}

/// A space of keys: the rows of a table, or the entries of an index. Numbers are never used twice, so a table that is dropped
/// and created again is another space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SpaceId(pub u32);

/// The key of a row or of an index entry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowKey {
    /// The space.
    pub space: SpaceId,
    /// The key in it.
    pub parts: Arc<[KeyPart]>,
}

/// The values of a row in the order of the table's physical columns. A row that is older than its table's last columns is shorter.
pub type Row = Arc<[Datum]>;

/// A range of keys: those that start with `prefix`, and whose next part lies between the bounds, both inside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    /// The space.
    pub space: SpaceId,
    /// The parts that are fixed.
    pub prefix: Vec<KeyPart>,
    /// The least next part.
    pub low: Option<KeyPart>,
    /// The greatest next part.
    pub high: Option<KeyPart>,
    /// Whether the greatest key comes first.
    pub descending: bool,
    /// Stop after so many rows that exist.
    pub limit: Option<usize>,
}

impl KeyRange {
    /// All keys of a space that start with a prefix.
    pub fn of_prefix(space: SpaceId, prefix: Vec<KeyPart>) -> KeyRange {
        KeyRange { space, prefix, low: None, high: None, descending: false, limit: None }
    }

    /// Those of some rows that lie in the range, in the order of their keys.
    pub fn among<'a, V>(&'a self, rows: &'a BTreeMap<RowKey, V>) -> impl Iterator<Item = (&'a RowKey, &'a V)> + 'a {
        let first = RowKey { space: self.space, parts: self.prefix.iter().chain(&self.low).cloned().collect() };
        let from = rows.range(first..);
        let from = from.take_while(|(key, _)| {
            key.space == self.space && key.parts.starts_with(&self.prefix) && !self.is_beyond(&key.parts)
        });
        from.filter(|(key, _)| self.contains(key))
    }

    /// Whether the parts of a key that has the prefix lie above the range.
    pub fn is_beyond(&self, parts: &[KeyPart]) -> bool {
        match (&self.high, parts.get(self.prefix.len())) {
            (Some(high), Some(part)) => part > high,
            _ => false,
        }
    }

    /// Whether a key lies in the range.
    pub fn contains(&self, key: &RowKey) -> bool {
        let inside = |next: &KeyPart| {
            self.low.as_ref().is_none_or(|low| low <= next) && self.high.as_ref().is_none_or(|high| next <= high)
        };
        self.space == key.space
            && key.parts.starts_with(&self.prefix)
            && match key.parts.get(self.prefix.len()) {
                Some(next) => inside(next),
                None => self.low.is_none() && self.high.is_none(),
            }
    }
}

/// Physical columns of a table, for stores that keep each column under its own key (`--granularity cell`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Columns {
    /// The whole row.
    All,
    /// These physical columns, ascending. None at all: only whether the row exists.
    Some(Vec<usize>),
}

/// How a read takes the row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lock {
    /// Not at all: a plain read.
    None,
    /// FOR SHARE, and the check that a foreign key's parent exists.
    Share,
    /// FOR UPDATE, the read of an UPDATE or DELETE, the absence read of an INSERT.
    Update,
}

/// What a read does about a row that somebody else has locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Patience {
    /// It waits.
    Wait,
    /// SKIP LOCKED: it leaves the row out.
    Skip,
    /// NOWAIT: it fails.
    Refuse,
}

/// Whether a version of a row is one that a statement seeks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// It is to be locked.
    Yes,
    /// It is to be locked, and the statement will change a key of it: PostgreSQL locks such rows more strongly.
    Moves,
    /// It is passed over.
    No,
    /// That cannot be told: the condition fails on it. The statement ends if this is the version that it reads.
    Fails,
}

impl Fit {
    /// Whether the version is to be locked.
    pub fn is_sought(self) -> bool {
        matches!(self, Fit::Yes | Fit::Moves)
    }
}

/// Which versions of rows a statement seeks: a function of the version, as long as the statement has read nothing else.
pub type Fits<'condition> = dyn FnMut(&RowKey, &Row) -> Fit + 'condition;

/// What happens to a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// It comes into being, or is replaced as a whole.
    Row(Row),
    /// Some of its columns change: the new row and the physical columns that were assigned.
    Columns(Row, Vec<usize>),
    /// It goes.
    Delete,
}

/// A sequence, and the generator of keys for tables without a primary key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SequenceId(pub u32);

/// How a sequence counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceRule {
    /// The first value.
    pub(crate) start: i64,
    /// The step; never 0.
    pub(crate) increment: i64,
    /// The least value.
    pub(crate) least: i64,
    /// The greatest value.
    pub(crate) greatest: i64,
    /// Whether it starts again at the other end.
    pub(crate) cycles: bool,
}

impl SequenceRule {
    /// The value that follows the last one, of which is told whether it was handed out; or the error that the sequence is at its end.
    pub fn next(&self, last: Option<(i64, bool)>) -> Result<i64, SqlError> {
        let next = match last {
            None => Some(self.start),
            Some((value, false)) => Some(value),
            Some((value, true)) => value.checked_add(self.increment),
        };
        match (next.filter(|next| (self.least..=self.greatest).contains(next)), self.cycles, self.increment > 0) {
            (Some(next), _, _) => Ok(next),
            (None, true, true) => Ok(self.least),
            (None, true, false) => Ok(self.greatest),
            (None, false, up) => {
                let (end, bound) = if up { ("maximum", self.greatest) } else { ("minimum", self.least) };
                Err(SqlError::new(SqlState("2200H"), format!("nextval: reached {end} value of sequence ({bound})")))
            }
        }
    }

    /// Where a sequence that counts upwards stands when a value was used without asking it; nothing if it is behind that already.
    pub fn passed(&self, last: Option<(i64, bool)>, value: i64) -> Option<(i64, bool)> {
        let behind = match last {
            None => value < self.start,
            Some((next, false)) => value < next,
            Some((last, true)) => value <= last,
        };
        (!behind).then_some((value, true))
    }
}

/// What a function of advisory locks asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdvisoryRequest {
    /// `pg_advisory_lock` and its kin.
    Take {
        /// Others may share it.
        shared: bool,
        /// Waits until it can be had; else false is the answer.
        waits: bool,
        /// Until the transaction ends, rather than until it is given back.
        transaction: bool,
    },
    /// `pg_advisory_unlock`.
    Free {
        /// The shared one.
        shared: bool,
    },
    /// `pg_advisory_unlock_all`.
    FreeAll,
}

/// What is asked about another connection, by the number under which clients know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionRequest {
    /// `pg_blocking_pids`: for whom it waits.
    Blockers,
    /// `pg_safe_snapshot_blocking_pids`: for whom it waits before it may begin, which here it never does.
    SnapshotBlockers,
    /// `pg_cancel_backend`: its statement is to stop.
    Cancel,
}

/// A savepoint of a transaction: the number that its store gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SavepointId(pub usize);

/// One transaction's view of a store.
pub trait Storage {
    /// The row under a key: one read event, whether the row is there or not.
    fn get(&mut self, key: &RowKey, columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop>;

    /// The row under a key that is to be taken, with a lock: it has to be free, or, where the statement says what becomes of a row that is
    /// there, this key decides about that.
    fn get_taken(&mut self, key: &RowKey, decides: bool) -> Result<Option<Row>, Stop> {
        let _ = decides;
        self.get(key, &Columns::All, Lock::Update)
    }

    /// The entry of a unique index as it stands, for stores in which whoever looks at it waits for who is about to change its row. No event.
    fn standing_entry(&mut self, key: &RowKey) -> Result<Option<Row>, Stop> {
        let _ = key;
        Ok(None)
    }

    /// Waits until nobody is about to change a row that such an entry leads to. No event.
    fn await_row(&mut self, key: &RowKey) -> Result<(), Stop> {
        let _ = key;
        Ok(())
    }

    /// A row that an entry of a unique index leads to decides what an INSERT with ON CONFLICT does: servers refuse that where the transaction does
    /// not see the row as it stands. No event.
    fn decide_by(&mut self, row: &RowKey) -> Result<(), Stop> {
        let _ = row;
        Ok(())
    }

    /// A row that refers to one which is deleted, or whose key changes: the same, but a server looks for it with a snapshot of its own, or
    /// refuses where the transaction may not see it.
    fn get_child(&mut self, key: &RowKey, lock: Lock) -> Result<Option<Row>, Stop> {
        self.get(key, &Columns::All, lock)
    }

    /// Whether a read of this key with this lock would have to wait for somebody. No event; a store for one program alone never waits.
    fn would_wait(&mut self, key: &RowKey, lock: Lock) -> Result<bool, Stop> {
        let _ = (key, lock);
        Ok(false)
    }

    /// What is done from here on about rows that are to be locked and that somebody else has, for stores that decide it when they lock.
    fn locks_with(&mut self, patience: Patience) {
        let _ = patience;
    }

    /// Rows are about to be sought: whether it is one by its key, which depends on no other row. MySQL's servers read such a row before all else,
    /// and keep its lock though it may not qualify.
    fn seeks_one(&mut self, is_one: bool) {
        let _ = is_one;
    }

    /// Whether a row that is found changed when it is locked is asked again with the partners that it had, as PostgreSQL does: only where what
    /// is found before the lock is what the statement saw.
    fn keeps_partners(&self) -> bool {
        false
    }

    /// The rows of a range in the order of their keys: one read event per key of the range. Never locks.
    fn scan(&mut self, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop>;

    /// The entries of an index that lead to rows which the statement seeks. Where what is locked is looked at in its latest state, so are they.
    fn seek_entries(&mut self, range: &KeyRange) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.scan(range, &Columns::All)
    }

    /// The same for the entry under a key.
    fn seek_entry(&mut self, key: &RowKey) -> Result<Option<Row>, Stop> {
        self.get(key, &Columns::All, Lock::None)
    }

    /// The row under a key that the statement seeks: locked if it fits, else passed over and not returned.
    fn seek(
        &mut self,
        key: &RowKey,
        columns: &Columns,
        lock: Lock,
        patience: Patience,
        fits: &mut Fits<'_>,
    ) -> Result<Option<Row>, Stop> {
        Ok(self.take(key, columns, lock, patience)?.filter(|row| fits(key, row) != Fit::No))
    }

    /// The keys of a range under which a row fits, in its order; a limit counts these. Nothing is locked yet: each is then sought by itself.
    fn look_over(&mut self, range: &KeyRange, columns: &Columns, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Stop> {
        look_by_scan(self, range, columns, fits)
    }

    /// A row with its lock; none also if somebody else has it and rows that others have are left out.
    fn take(&mut self, key: &RowKey, columns: &Columns, lock: Lock, patience: Patience) -> Result<Option<Row>, Stop> {
        if patience != Patience::Wait && self.would_wait(key, lock)? {
            return match patience {
                Patience::Refuse => Err(SqlError::new(SqlState("55P03"), "could not obtain lock on row").into()),
                Patience::Skip | Patience::Wait => Ok(None),
            };
        }
        self.get(key, columns, lock)
    }

    /// Takes a row that the statement has read plainly before, as it stands now. Plain reads go on seeing what they saw: what the lock shows
    /// is remembered for a scope of its own.
    fn take_again(&mut self, key: &RowKey, columns: &Columns, lock: Lock, scope: usize) -> Result<Option<Row>, Stop> {
        let before = self.enter(scope);
        let row = self.get(key, columns, lock);
        self.enter(before);
        row
    }

    /// A row that the statement has looked at plainly, and then locked, was not found because of anything that has changed in between: its first
    /// look at the row tells nothing that the second one does not.
    fn forget_look(&mut self, key: &RowKey) {
        let _ = key;
    }

    /// From here on a subquery with this number reads, or, with 0, the statement itself; who read before.
    fn enter(&mut self, scope: usize) -> usize {
        let _ = scope;
        0
    }

    /// The rows of a range as they stand now, own writes included, whatever the level lets this transaction see: for checks that must
    /// miss nothing. No event and no lock: a row that matters is then read with [`Storage::get`] and a lock. `None` where reads do
    /// not lock: then a scan is all there is.
    fn present(&mut self, range: &KeyRange) -> Result<Option<Vec<(RowKey, Row)>>, Stop>;

    /// Writes under a key; visible to later reads of this transaction at once, to others after commit.
    fn put(&mut self, key: &RowKey, write: Write) -> Result<(), Stop>;

    /// The next value of a sequence; outside transactions, as in every database.
    fn next_value(&mut self, sequence: SequenceId, rule: &SequenceRule) -> Result<i64, Stop>;

    /// The sequence goes on after (or, if not `called`, at) this value.
    fn set_value(&mut self, sequence: SequenceId, value: i64, called: bool) -> Result<(), Stop>;

    /// The sequence goes on behind a value that a row has without having asked for it, unless it is there already.
    fn pass_value(&mut self, sequence: SequenceId, rule: &SequenceRule, value: i64) -> Result<(), Stop>;

    /// The value that this session last got from a sequence.
    fn current_value(&mut self, sequence: SequenceId) -> Option<i64>;

    /// A key that no other row of the space has, for tables without a primary key.
    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop>;

    /// Everything committed so far is seen by what begins from now on; where reads are never stale that is nothing to do.
    fn settle(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// Takes or gives back an advisory lock; whether that could be done. A store for one program alone has no use for them.
    fn advisory(&mut self, key: i128, request: AdvisoryRequest) -> Result<bool, Stop> {
        let _ = (key, request);
        Err(SqlError::unsupported("an advisory lock in this store").into())
    }

    /// LOCK TABLE. What statements lock by themselves is for whoever runs them; a store for one program alone has no others.
    fn lock_tables(&mut self, locks: &[TableLock], patience: Patience) -> Result<(), Stop> {
        let _ = (locks, patience);
        Err(SqlError::unsupported("LOCK TABLE in this store").into())
    }

    /// What is asked about another connection: which others the answer names, or, where something is to be done to it, itself if it could be. A
    /// store for one program alone has no others.
    fn connection(&mut self, number: i64, request: ConnectionRequest) -> Result<Vec<i64>, Stop> {
        let _ = (number, request);
        Ok(Vec::new())
    }

    /// All clients of the server; none told where there is no server.
    fn client_facts(&mut self) -> Result<Option<Vec<ClientFact>>, Stop> {
        Ok(None)
    }

    /// All locks of the server; none told where there is no server.
    fn lock_facts(&mut self) -> Result<Option<Vec<LockFact>>, Stop> {
        Ok(None)
    }

    /// A place in the transaction to go back to. A store in which nothing is taken back has none.
    fn savepoint(&mut self) -> Result<SavepointId, Stop> {
        Err(SqlError::unsupported("a savepoint in this store").into())
    }

    /// Takes back what was written since then; what was read has been read. The savepoint stays.
    fn back_to(&mut self, savepoint: SavepointId) -> Result<(), Stop> {
        let _ = savepoint;
        Err(SqlError::unsupported("a savepoint in this store").into())
    }

    /// When the transaction began, in microseconds since 1970: a function of the run's seed, so that runs repeat.
    fn now(&self) -> i64;

    /// The next of a seeded row of random numbers.
    fn random(&mut self) -> u64;

    /// Whether somebody asked to stop.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// A statement says every so many rows that it is still at work: others may go first, and it may be told to stop.
    fn pause(&mut self) -> Result<(), Stop> {
        if self.is_cancelled() { Err(Interrupt::Cancelled.into()) } else { Ok(()) }
    }

    /// `pg_sleep`: nothing is done for so long. Where there is no time, as in a run that is repeated, that is over at once.
    fn sleep(&mut self, time: Duration) -> Result<(), Stop> {
        let _ = time;
        Ok(())
    }
}

/// The rows of a range for a check that must not miss any: as they stand now where updates lock, else what a scan sees. The caller reads
/// those that matter again, with a lock.
pub(crate) fn all_rows(storage: &mut dyn Storage, range: &KeyRange) -> Result<Vec<(RowKey, Row)>, Stop> {
    match storage.present(range)? {
        Some(rows) => Ok(rows),
        None => storage.scan(range, &Columns::All),
    }
}

/// Keys that are sought where a range is read plainly and each row that fits again, with its lock: stores of one version, and rows that
/// are told cell by cell.
pub fn look_by_scan<S: Storage + ?Sized>(
    storage: &mut S,
    range: &KeyRange,
    columns: &Columns,
    fits: &mut Fits<'_>,
) -> Result<Vec<RowKey>, Stop> {
    let mut reached = range.limit;
    loop {
        let found = storage.scan(&KeyRange { limit: reached, ..range.clone() }, columns)?;
        let is_cut = reached.is_some_and(|reached| found.len() >= reached);
        let fitting = found.into_iter().filter(|(key, row)| fits(key, row) != Fit::No);
        let keys: Vec<RowKey> = fitting.map(|(key, _)| key).take(range.limit.unwrap_or(usize::MAX)).collect();
        let missing = range.limit.map_or(0, |limit| limit - keys.len());
        if !is_cut || missing == 0 {
            return Ok(keys);
        }
        // Where most rows do not fit, twice as many at a time, so that the asking has an end.
        reached = reached.map(|reached| reached.saturating_add(missing.max(reached)));
    }
}
