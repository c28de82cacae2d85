//! What there is to know of a format: an entry of the table of [`super::Format`].
//!
//! ```text
//!   names ── recognised: by the names of files, by what they say first ── read ── written, where it can be
//! ```
//!
//! Each format looks at a file by itself and says how much it looks like its own. Nobody knows the others, but for one thing: a weak sign,
//! like a member called `value`, counts only where nobody sees a strong one. Of several with the same sign the first of the table has it.

use super::{ReadError, Source, WriteError};
use crate::builder::{HistoryBuilder, Refusal};
use crate::history::History;
use std::io::Write;

pub(super) struct KnownFormat {
    /// The name used on the command line.
    pub(super) name: &'static str,
    /// Other names that it goes by.
    pub(super) aliases: &'static [&'static str],
    /// What it is, in a few words.
    pub(super) description: &'static str,
    /// What the names of its files end with, where nobody else's do: then mistakes inside are told as mistakes of this format.
    pub(super) extension: Option<&'static str>,
    /// How much a file looks like it.
    pub(super) likeness: fn(&Look<'_>) -> Likeness,
    pub(super) read: FormatReader,
    pub(super) write: Option<FormatWriter>,
}

/// How a format is read.
pub(super) enum FormatReader {
    Text(fn(&str) -> Result<HistoryBuilder, Refusal>),
    Bytes(fn(&[u8]) -> Result<HistoryBuilder, Refusal>),
    /// One history is several files.
    Folder {
        /// Whether a file of this name is one of them.
        has: fn(&str) -> bool,
        read: fn(&[Source<'_>]) -> Result<HistoryBuilder, ReadError>,
    },
}

/// How a format is written.
pub(super) struct FormatWriter {
    /// Its place among those that are offered.
    pub(super) place: u8,
    /// Returns a sentence for each thing that the format could not carry.
    pub(super) write: fn(&History, &mut dyn Write) -> Result<Vec<String>, WriteError>,
}

/// How much a file looks like a format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Likeness {
    No,
    /// If nobody else claims it.
    Weak,
    Strong,
}

impl Likeness {
    pub(super) fn strong(is_so: bool) -> Likeness {
        if is_so { Likeness::Strong } else { Likeness::No }
    }

    pub(super) fn weak(is_so: bool) -> Likeness {
        if is_so { Likeness::Weak } else { Likeness::No }
    }
}

/// A file, as far as one looks at it to recognise it.
pub(super) struct Look<'a> {
    /// All of it.
    pub(super) bytes: &'a [u8],
    /// Whether there are zeros in its first bytes, as in no text.
    pub(super) is_binary: bool,
    pub(super) start: FileStart<'a>,
}

/// What a file begins with, after blanks.
pub(super) enum FileStart<'a> {
    /// An object of JSON; the names of its members.
    Object(Vec<&'a str>),
    /// A list of JSON with an object in it; the names of its members.
    ListOfObjects(Vec<&'a str>),
    /// A list without elements.
    EmptyList,
    /// A map or a tag of EDN, alone or in a list.
    Edn,
    /// A list of something else.
    OtherList,
    /// Anything else.
    Words {
        /// The first line, up to a bound.
        line: String,
        /// As much as one looks at.
        text: String,
    },
}

/// Whether one of these names is among those of an object's members.
pub(super) fn has_any(names: &[&str], wanted: &[&str]) -> bool {
    wanted.iter().any(|name| names.contains(name))
}

impl Look<'_> {
    /// Whether the first line is one that this accepts.
    pub(super) fn first_line(&self, accepts: impl Fn(&str) -> bool) -> bool {
        matches!(&self.start, FileStart::Words { line, .. } if accepts(line))
    }

    /// Whether it begins with an object of JSON that has one of these members.
    pub(super) fn object_with(&self, wanted: &[&str]) -> bool {
        matches!(&self.start, FileStart::Object(names) if has_any(names, wanted))
    }
}
