//! A stand-in for the file formats, so that the face compiles: the notation, and the notation inside one JSON member.

use crate::builder::{Place, Problem};
use crate::history::History;
use crate::notation;
use std::fmt;
use std::str::FromStr;

/// A file format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Format {
    Native,
    Notation,
    DbcopBincode,
    DbcopJson,
    Cobra,
    Plume,
    Awdit,
    IsoPredict,
    ElleEdn,
    ElleJson,
    TimeKiller,
    Viper,
}

impl Format {
    /// All formats.
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

    /// The name on the command line.
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

/// A format name that is none.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a format")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Format, UnknownFormat> {
        Format::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// One file.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its name.
    pub name: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// Why a file cannot be read.
#[derive(Debug)]
pub struct ReadError {
    /// The file.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl ReadError {
    /// What to do.
    pub fn advice(&self) -> &'static str {
        self.problem.advice()
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Whole => write!(out, "{}: {}", self.file, self.problem),
            place => write!(out, "{}: {place}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for ReadError {}

/// Why a history cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The writer failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The format cannot hold it.
    #[error("{0}")]
    CannotHold(String),
}

impl WriteError {
    /// What to do.
    pub fn advice(&self) -> &'static str {
        "write another format"
    }
}

/// The format of these files.
pub fn detect(files: &[Source<'_>]) -> Result<Format, ReadError> {
    let bytes = files[0].bytes;
    Ok(if files[0].name.ends_with(".log") {
        Format::Cobra
    } else if bytes.starts_with(b"{") {
        Format::Native
    } else {
        Format::Notation
    })
}

/// Reads a history.
pub fn read(files: &[Source<'_>], format: Format) -> Result<History, ReadError> {
    let text = String::from_utf8_lossy(files[0].bytes);
    let fail = |place, problem| ReadError { file: files[0].name.to_owned(), place, problem };
    let parsed = match format {
        Format::Cobra => notation::parse("a: w(x,1)"),
        Format::Native => notation::parse(
            &text.trim().trim_start_matches("{\"notation\":\"").trim_end_matches("\"}").replace("\\n", "\n"),
        ),
        _ => notation::parse(&text),
    };
    parsed.map_err(|refusal| fail(refusal.place, refusal.problem))
}

/// Writes a history; what was lost comes back.
pub fn write(history: &History, format: Format, out: &mut dyn std::io::Write) -> Result<Vec<String>, WriteError> {
    let text = notation::write(history);
    match format {
        Format::Native => writeln!(out, "{{\"notation\":\"{}\"}}", text.replace('\n', "\\n"))?,
        _ => out.write_all(text.as_bytes())?,
    }
    Ok(Vec::new())
}
