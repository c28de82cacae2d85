//! What the statement behind an event asked for.
//!
//! A level of an engine depends on more than what was read and written: a SELECT and a SELECT … FOR UPDATE return the same row and lock
//! differently, and a row that an UPDATE passed over was read, too.
//!
//! ```text
//!   {"r":"kv/5","v":null,"s":1,"kind":"update"}          the first statement, an UPDATE, found no row
//!   {"r":"kv/5","found":true,"s":2,"kind":"insert"}      the second, an INSERT, found one that is there
//! ```
//!
//! What a client knows is written down here, and which locks that means is for the level to say. Most histories say nothing of all
//! this, and [`Asked::default`] is what then holds for every event: a plain SELECT, a statement of its own.

use crate::level::listed;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// What a statement asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum StatementKind {
    /// A plain SELECT.
    #[default]
    Select,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// INSERT: its check for duplicates, or its write.
    Insert,
    /// INSERT … ON CONFLICT DO UPDATE, or ON DUPLICATE KEY UPDATE.
    Upsert,
    /// SELECT … FOR UPDATE.
    ForUpdate,
    /// SELECT … FOR NO KEY UPDATE.
    ForNoKeyUpdate,
    /// SELECT … FOR SHARE.
    ForShare,
    /// SELECT … FOR KEY SHARE.
    ForKeyShare,
    /// The check of a foreign key.
    ForeignKey,
}

use StatementKind::*;

impl StatementKind {
    /// All of them, in the order in which they are listed.
    pub const ALL: [StatementKind; 10] =
        [Select, Update, Delete, Insert, Upsert, ForUpdate, ForNoKeyUpdate, ForShare, ForKeyShare, ForeignKey];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Select => "select",
            Update => "update",
            Delete => "delete",
            Insert => "insert",
            Upsert => "upsert",
            ForUpdate => "for-update",
            ForNoKeyUpdate => "for-no-key-update",
            ForShare => "for-share",
            ForKeyShare => "for-key-share",
            ForeignKey => "fk",
        }
    }
}

/// What to do about a kind that is none.
pub(crate) static KINDS: LazyLock<String> =
    LazyLock::new(|| format!("a kind is {}", listed(StatementKind::ALL.map(StatementKind::name), "or")));

impl fmt::Display for StatementKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A name that is no kind of statement.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no kind of statement")]
pub struct UnknownKind(pub String);

impl FromStr for StatementKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        StatementKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// What is known of the statement behind an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Asked {
    /// Which statement of its transaction, from 1; 0 where the file does not say, and the event is a statement of its own.
    pub statement: u32,
    /// What the statement asked for.
    pub kind: StatementKind,
    /// The row was there and did not qualify.
    pub passed: bool,
    /// The statement had to wait for another transaction.
    pub waited: bool,
    /// A row was there, and which version of it is not known; the event's value is [`Value::FOUND`](crate::Value::FOUND).
    pub found: bool,
}

/// How the database refused a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Refused<'a> {
    /// What the database calls it, such as `40001`.
    pub error: &'a str,
    /// Which statement of the transaction was refused, from 1; 0 where the file does not say.
    pub statement: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_read_back() {
        for kind in StatementKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!("lock".parse::<StatementKind>(), Err(UnknownKind("lock".to_owned())));
    }

    #[test]
    fn an_event_of_which_nothing_is_said_is_a_select_of_its_own() {
        let silent = Asked { statement: 0, kind: Select, passed: false, waited: false, found: false };
        assert_eq!(Asked::default(), silent);
    }
}
