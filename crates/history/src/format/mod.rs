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
//! All that is known of a format stands in its own module, as a `KnownFormat`: its names, how it is recognised, how it is read and written.
//! A line of the table below makes it one of them; the command line, the errors that list formats and the tests go by the table.

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
mod known;
mod native;
mod native_line;
mod native_scanner;
mod native_write;
mod notation;
mod notation_write;
mod plume;
mod plume_write;
mod text;
mod timekiller;
mod versions;
mod viper;

pub use detect::detect;

use crate::builder::{HistoryBuilder, Place, Problem, Refusal};
use crate::history::{EventId, History};
use known::{FormatReader, KnownFormat};
use std::fmt;
use std::io;
use std::str::FromStr;

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $known:path,)*) => {
        /// The formats that histories come in.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All of them.
            pub const ALL: [Format; [$(Format::$format),*].len()] = [$(Format::$format),*];

            fn known(self) -> &'static KnownFormat {
                match self {
                    $(Format::$format => &$known,)*
                }
            }
        }
    };
}

formats! {
    /// JSON Lines, a transaction per line.
    Native = native::KNOWN,
    /// The one-line notation of tests and docs.
    Notation = notation::KNOWN,
    /// dbcop's bincode.
    DbcopBincode = dbcop::KNOWN,
    /// dbcop's newer JSON.
    DbcopJson = dbcop_json::KNOWN,
    /// A folder of Cobra logs.
    Cobra = cobra::KNOWN,
    /// The text of Plume, PolySI and IsoVista.
    Plume = plume::KNOWN,
    /// The text of AWDIT's tests.
    Awdit = awdit::KNOWN,
    /// An IsoPredict trace.
    IsoPredict = isopredict::KNOWN,
    /// Jepsen operations in EDN, as Elle reads them.
    ElleEdn = elle::EDN,
    /// Jepsen operations in JSON, as elle-cli reads them.
    ElleJson = elle::JSON,
    /// TimeKiller's JSON.
    TimeKiller = timekiller::KNOWN,
    /// Viper's JSON Lines.
    Viper = viper::KNOWN,
}

impl Format {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        self.known().name
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        self.known().description
    }

    /// Whether a history is text, which people may write by hand.
    pub fn is_text(self) -> bool {
        matches!(self.known().read, FormatReader::Text(_))
    }

    /// Those that can be written too, the most usual first.
    pub fn written() -> Vec<Format> {
        let mut written: Vec<(u8, Format)> =
            Format::ALL.iter().filter_map(|format| Some((format.known().write.as_ref()?.place, *format))).collect();
        written.sort_unstable();
        written.into_iter().map(|(_, format)| format).collect()
    }

    /// The names of some, as a sentence lists them.
    pub fn list(formats: &[Format]) -> String {
        match formats {
            [] => String::new(),
            [only] => only.to_string(),
            [most @ .., last] => {
                let most: Vec<&str> = most.iter().map(|format| format.name()).collect();
                format!("{} or {last}", most.join(", "))
            }
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
        let is_called = |format: &Format| format.name() == text || format.known().aliases.contains(&text);
        Format::ALL.into_iter().find(is_called).ok_or_else(|| UnknownFormat(text.to_owned()))
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
    let one = |read: &dyn Fn(&[u8]) -> Result<HistoryBuilder, Refusal>| match files {
        [file] => read(file.bytes).map_err(|refusal| ReadError::new(file.name, refusal)),
        _ => {
            let what = format!("{} files for one history, where the format {format} has one file", files.len());
            let problem = Problem::malformed(what, "give each file as a history of its own");
            Err(ReadError::new(file, Refusal { place: Place::Whole, problem }))
        }
    };
    let builder = match format.known().read {
        FormatReader::Folder { read, .. } => read(files)?,
        FormatReader::Bytes(read) => one(&read)?,
        FormatReader::Text(read) => one(&|bytes| read(text::utf8(bytes)?))?,
    };
    Ok(Unfinished { builder, file: file.to_owned() })
}

/// The text of the statement behind an event, where the file has it: its member `sql`.
pub fn statement_text(history: &History, event: EventId) -> Option<String> {
    let members = format!("{{{}}}", history.event_note(event)?);
    let object = json::Json::new(&members, 1).value().ok()?;
    object.member("sql")?.word().map(str::to_owned)
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
    let Some(written) = &format.known().write else {
        let reason = "it can be read but not written".to_owned();
        return Err(WriteError::Unsupported { format, reason, advice: "write native, which holds everything" });
    };
    let losses = (written.write)(history, &mut out)?;
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
