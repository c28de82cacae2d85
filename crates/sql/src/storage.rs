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
//!   that locks may see more than the plain read before it.
//! - *A range is read whole*: the answer of a scan covers keys that do not exist, so the store knows what absence was seen.
//! - *Own writes come first*: a read sees what its own transaction wrote.

use crate::error::Stop;
use crate::value::Datum;
use std::fmt;
use std::sync::Arc;

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
    pub start: i64,
    /// The step; never 0.
    pub increment: i64,
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub greatest: i64,
    /// Whether it starts again at the other end.
    pub cycles: bool,
}

/// One transaction's view of a store.
pub trait Storage {
    /// The row under a key: one read event, whether the row is there or not.
    fn get(&mut self, key: &RowKey, columns: &Columns, lock: Lock) -> Result<Option<Row>, Stop>;

    /// The rows of a range in the order of their keys: one read event per key of the range. Never locks.
    fn scan(&mut self, range: &KeyRange, columns: &Columns) -> Result<Vec<(RowKey, Row)>, Stop>;

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

    /// The value that this session last got from a sequence.
    fn current_value(&mut self, sequence: SequenceId) -> Option<i64>;

    /// A key that no other row of the space has, for tables without a primary key.
    fn fresh_key(&mut self, space: SpaceId) -> Result<KeyPart, Stop>;

    /// When the transaction began, in microseconds since 1970: a function of the run's seed, so that runs repeat.
    fn now(&self) -> i64;

    /// The next of a seeded row of random numbers.
    fn random(&mut self) -> u64;
}

/// The rows of a range for a check that must not miss any: as they stand now where updates lock, else what a scan sees. The caller reads
/// those that matter again, with a lock.
pub(crate) fn all_rows(storage: &mut dyn Storage, range: &KeyRange) -> Result<Vec<(RowKey, Row)>, Stop> {
    match storage.present(range)? {
        Some(rows) => Ok(rows),
        None => storage.scan(range, &Columns::All),
    }
}
