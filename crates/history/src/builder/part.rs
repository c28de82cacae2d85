//! What an input says of a read, a write or a scan, before it has numbers.
//!
//! ```text
//!   {"r":"x","v":1,"from":"t2","lock":true,"s":2,"kind":"update","sql":"SELECT …"}
//!    │   │    │      │           │           │                   └ note    members that are kept and not looked at
//!    │   │    │      │           │           └ asked                       `found` besides, which stands instead of a value
//!    │   │    │      │           └ locking
//!    │   │    │      └ from, or gone                                       who wrote it may stand further below
//!    action, key, value
//! ```
//!
//! Whoever takes these apart names every field, and whoever puts one together gives all of them: so a new member of the file is a
//! field here, and the compiler lists the places that have to know of it.

use crate::history::{Action, KeyId};
use crate::json;
use crate::name::Name;
use crate::statement::Asked;
use crate::value::Value;

/// Who wrote what a read returned, as the input says it: the transaction may come later in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimedWriter<'a> {
    /// The initial state.
    Initial,
    /// The transaction with this name.
    Transaction(Name<'a>),
}

/// A read, a write or an append. The key and the value are a [`Name`] and a [`Content`](crate::line::Content) on the way in, numbers
/// of the builder inside.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation<'a, K, V> {
    /// Read, write or append.
    pub action: Action,
    /// The key.
    pub key: K,
    /// The value read, written or appended.
    pub value: V,
    /// Who wrote what a read returned, where the input says so.
    pub from: Option<ClaimedWriter<'a>>,
    /// Whether a read locks what it reads.
    pub locking: bool,
    /// What its statement asked for. Where that says that a row was found, the value is nobody's business.
    pub asked: Asked,
    /// Who deleted the row that a read waited for and inserted its key anew, where the read found nothing because of that.
    pub gone: Option<Name<'a>>,
    /// What else stands there.
    pub note: Note<'a>,
}

impl<'a, K, V> Operation<'a, K, V> {
    /// One of which nothing else is said.
    pub fn new(action: Action, key: K, value: V) -> Self {
        let asked = Asked::default();
        Operation { action, key, value, from: None, locking: false, asked, gone: None, note: Note::Nothing }
    }

    /// The same with the numbers that its key and value got.
    pub(crate) fn numbered(&self, key: KeyId, value: Value) -> Operation<'a, KeyId, Value> {
        let Operation { action, key: _, value: _, from, locking, asked, gone, note } = *self;
        Operation { action, key, value, from, locking, asked, gone, note }
    }
}

/// JSON members that are kept and shown, and that nobody looks into.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Note<'a> {
    /// There are none.
    #[default]
    Nothing,
    /// One with a text, such as `"sql":"SELECT 1"`: its name and the text.
    Text(&'static str, &'a str),
    /// Some, as they stand in an input: `"sql":"SELECT 1","at":5`.
    Members(&'a str),
}

impl Note<'_> {
    /// Adds the members, with a comma in front.
    #[inline]
    pub(crate) fn push(self, bytes: &mut Vec<u8>) {
        match self {
            Note::Nothing => {}
            Note::Text(name, text) => {
                bytes.extend_from_slice(b",\"");
                bytes.extend_from_slice(name.as_bytes());
                bytes.extend_from_slice(b"\":");
                json::push_text(bytes, text);
            }
            Note::Members(members) => {
                bytes.push(b',');
                bytes.extend_from_slice(members.as_bytes());
            }
        }
    }

    /// The members.
    pub(crate) fn members(self) -> Option<Box<str>> {
        match self {
            Note::Nothing => None,
            Note::Text(name, text) => Some(format!("\"{name}\":{}", json::quoted(text)).into()),
            Note::Members(members) => Some(members.into()),
        }
    }
}

/// The range of a range read.
#[derive(Clone, Copy, Default, Debug)]
pub struct ScanSpec<'a> {
    /// What all keys of the range start with.
    pub prefix: &'a str,
    /// The least rest of a key that is in the range.
    pub low: Option<Name<'a>>,
    /// The greatest rest of a key that is in the range.
    pub high: Option<Name<'a>>,
    /// How many seal lines were in force; without it, those that stand before the scan.
    pub sealed: Option<usize>,
    /// Whether the scan locks what it reads.
    pub locking: bool,
    /// Keys of the range that it left out: the statement locked them and read them so, or had written them itself and took that back.
    pub except: &'a [&'a str],
    /// What its statement asked for; it goes with every key that the scan read.
    pub asked: Asked,
    /// What else stands there; it goes with the first key that the scan read.
    pub note: Note<'a>,
}

/// A key that a range read listed.
#[derive(Clone, Copy, Debug)]
pub struct ScannedKey<'a, V = Value> {
    /// The key.
    pub key: &'a str,
    /// What it read.
    pub value: V,
    /// Who wrote it, where the input says so.
    pub writer: Option<ClaimedWriter<'a>>,
}
