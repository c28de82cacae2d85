//! Other tools' files, one module each, and the native one.
//!
//! ```text
//!   bytes ── detect ──> Format ── read ──> History ── write ──> bytes of another tool
//! ```
//!
//! Readers take bytes and never open files: several [`Source`]s are one history only for Cobra, whose sessions are files of a
//! folder. Whatever is wrong with an input is a [`ReadError`]: the file, the line or byte, what is there and what to do. A read
//! of a value that nobody wrote is *not* wrong with the input; it is a history that no level allows, and a verdict.
//!
//! | format | shape | written too |
//! |---|---|---|
//! | `native` | JSON Lines, a transaction per line | yes |
//! | `notation` | `a: r(x,init) w(x,1)`, a session per line | yes |
//! | `dbcop`, `dbcop-json` | bincode of sessions of transactions of events; its JSON successor | bincode |
//! | `cobra` | a folder of binary logs `T<n>.log`, a session each | |
//! | `plume` | `w(key,value,session,transaction)` per line; PolySI and IsoVista too | yes |
//! | `awdit` | `w key value`, with `---` and `===` between | |
//! | `isopredict` | `READ KEY[k] Txn(s, t) From(s, t)` per line | yes |
//! | `elle-edn`, `elle-json` | Jepsen operations: invocations and completions | yes |
//! | `timekiller`, `viper` | JSON transactions with timestamps; without sessions | |

mod awdit;
mod cobra;
mod datum;
mod dbcop;
mod dbcop_json;
mod detect;
mod edn;
mod elle;
mod elle_write;
mod isopredict;
mod isopredict_write;
mod json;
mod native;
mod native_line;
mod native_scanner;
mod native_write;
mod notation_write;
mod plume;
mod plume_write;
mod text;
mod timekiller;
mod versions;
mod viper;

pub use detect::detect;

use crate::builder::{HistoryBuilder, Place, Problem, Refusal};
use crate::history::History;
use std::fmt;
use std::io;
use std::str::FromStr;

/// The formats that histories come in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// JSON Lines, a transaction per line.
    Native,
    /// The one-line notation of tests and docs.
    Notation,
    /// dbcop's bincode.
    DbcopBincode,
    /// dbcop's newer JSON.
    DbcopJson,
    /// A folder of Cobra logs.
    Cobra,
    /// The text of Plume, PolySI and IsoVista.
    Plume,
    /// The text of AWDIT's tests.
    Awdit,
    /// An IsoPredict trace.
    IsoPredict,
    /// Jepsen operations in EDN, as Elle reads them.
    ElleEdn,
    /// Jepsen operations in JSON, as elle-cli reads them.
    ElleJson,
    /// TimeKiller's JSON.
    TimeKiller,
    /// Viper's JSON Lines.
    Viper,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 12] = [
        Format::Native,
        Format::Notation,
        Format::DbcopBincode,
        Format::DbcopJson,
        Format::Cobra,
        Format::Plume,
        Format::Awdit,
        Format::IsoPredict,
        Format::ElleEdn,
        Format::ElleJson,
        Format::TimeKiller,
        Format::Viper,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Native => "native",
            Format::Notation => "notation",
            Format::DbcopBincode => "dbcop",
            Format::DbcopJson => "dbcop-json",
            Format::Cobra => "cobra",
            Format::Plume => "plume",
            Format::Awdit => "awdit",
            Format::IsoPredict => "isopredict",
            Format::ElleEdn => "elle-edn",
            Format::ElleJson => "elle-json",
            Format::TimeKiller => "timekiller",
            Format::Viper => "viper",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A format name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a history format; use {names}", names = Format::ALL.map(Format::name).join(", "))]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Ok(match text {
            "native" | "skew" | "jsonl" => Format::Native,
            "notation" | "text" => Format::Notation,
            "dbcop" | "dbcop-bincode" | "bincode" => Format::DbcopBincode,
            "dbcop-json" | "hist" => Format::DbcopJson,
            "cobra" | "cobra-log" => Format::Cobra,
            "plume" | "plume-text" | "polysi" | "isovista" => Format::Plume,
            "awdit" | "awdit-test" => Format::Awdit,
            "isopredict" | "monkeydb" => Format::IsoPredict,
            "elle-edn" | "elle" | "edn" | "jepsen" | "jepsen-edn" => Format::ElleEdn,
            "elle-json" | "elle-cli" | "jepsen-json" => Format::ElleJson,
            "timekiller" | "timekiller-json" => Format::TimeKiller,
            "viper" | "viper-json" => Format::Viper,
            _ => return Err(UnknownFormat(text.to_owned())),
        })
    }
}

/// One file: what it is called and what it holds.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its path, for messages and for telling formats and sessions apart.
    pub name: &'a str,
    /// Its content, unpacked.
    pub bytes: &'a [u8],
}

/// An input that cannot be read as a history.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{place}{}{problem}", if *.place == Place::Whole { " " } else { ": " })]
pub struct ReadError {
    /// Which file.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong.
    pub problem: Problem,
}

impl ReadError {
    /// What the user can do about it.
    pub fn advice(&self) -> &'static str {
        self.problem.advice()
    }

    pub(crate) fn new(file: &str, refusal: Refusal) -> ReadError {
        ReadError { file: file.to_owned(), place: refusal.place, problem: refusal.problem }
    }
}

/// Reads one history. Only a Cobra history is more than one file.
pub fn read(files: &[Source<'_>], format: Format) -> Result<History, ReadError> {
    take_in(files, format)?.finish()
}

/// A history that was taken in and waits to be put in order; the bytes it came from may go before that.
pub struct Unfinished {
    builder: HistoryBuilder,
    file: String,
}

impl Unfinished {
    /// The history.
    pub fn finish(self) -> Result<History, ReadError> {
        self.builder.finish().map_err(|refusal| ReadError::new(&self.file, refusal))
    }
}

/// The first half of [`read`], for inputs so large that their bytes should not be kept longer than needed.
pub fn take_in(files: &[Source<'_>], format: Format) -> Result<Unfinished, ReadError> {
    let file = files.first().map_or("", |file| file.name);
    let builder = if format == Format::Cobra {
        cobra::read(files)?
    } else if let [file] = files {
        read_bytes(file.bytes, format).map_err(|refusal| ReadError::new(file.name, refusal))?
    } else {
        let what = format!("{} files for one history, where the format {format} has one file", files.len());
        let problem = Problem::malformed(what, "give each file as a history of its own");
        return Err(ReadError::new(file, Refusal { place: Place::Whole, problem }));
    };
    Ok(Unfinished { builder, file: file.to_owned() })
}

fn read_bytes(bytes: &[u8], format: Format) -> Result<HistoryBuilder, Refusal> {
    if format == Format::DbcopBincode {
        return dbcop::read(bytes);
    }
    let text = text::utf8(bytes)?;
    match format {
        Format::Native => native::read(text),
        Format::Notation => crate::notation::take_in(text),
        Format::DbcopJson => dbcop_json::read(text),
        Format::Plume => plume::read(text),
        Format::Awdit => awdit::read(text),
        Format::IsoPredict => isopredict::read(text),
        Format::ElleEdn => elle::read_edn(text),
        Format::ElleJson => elle::read_json(text),
        Format::TimeKiller => timekiller::read(text),
        Format::Viper => viper::read(text),
        Format::Cobra | Format::DbcopBincode => unreachable!("binary formats were read above"),
    }
}

/// A history that cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The sink failed.
    #[error("cannot write the history: {0}")]
    Io(#[from] io::Error),
    /// The format has no place for what the history says.
    #[error("the format {format} cannot carry this history: {reason}")]
    Unsupported {
        /// The format.
        format: Format,
        /// What it cannot carry.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
}

impl WriteError {
    /// What the user can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            WriteError::Io(_) => "check that there is room and that the file may be written",
            WriteError::Unsupported { advice, .. } => advice,
        }
    }
}

/// Writes a history; returns one sentence for each thing that the format could not carry.
pub fn write(history: &History, format: Format, out: &mut dyn io::Write) -> Result<Vec<String>, WriteError> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    let losses = match format {
        Format::Native => native_write::write(history, &mut out)?,
        Format::Notation => notation_write::write(history, &mut out)?,
        Format::Plume => plume_write::write_plume(history, &mut out)?,
        Format::DbcopBincode => plume_write::write_bincode(history, &mut out)?,
        Format::IsoPredict => isopredict_write::write(history, &mut out)?,
        Format::ElleEdn | Format::ElleJson => elle_write::write(history, format, &mut out)?,
        Format::DbcopJson | Format::Cobra | Format::Awdit | Format::TimeKiller | Format::Viper => {
            return Err(WriteError::Unsupported {
                format,
                reason: "it can be read but not written".to_owned(),
                advice: "write native, plume, dbcop, isopredict, elle-edn or elle-json",
            });
        }
    };
    io::Write::flush(&mut out)?;
    Ok(losses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_read_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert_eq!("polysi".parse(), Ok(Format::Plume));
        let mistake = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(mistake.contains("native, notation, dbcop"), "{mistake}");
    }

    #[test]
    fn mistakes_name_their_file_and_place() {
        let error = read(&[Source { name: "a.txt", bytes: b"w(1,1,1,1)\nx" }], Format::Plume).unwrap_err();
        assert!(error.to_string().starts_with("a.txt:line 2: "), "{error}");
        let error = read(&[Source { name: "a.txt", bytes: b"" }], Format::Plume).unwrap_err();
        assert_eq!(error.to_string(), "a.txt: the input holds no transaction");
        assert!(!error.advice().is_empty());
        assert!(read(&[], Format::Native).is_err());
    }
}
