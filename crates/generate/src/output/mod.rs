//! Where a generated history goes: a file of some format, or a [`History`] in memory.
//!
//! Native lines and Plume text are written as the transactions come; dbcop's file has one session after the other, so it is
//! gathered first.

mod dbcop;
mod native;
mod plume;

use crate::attempt::Content;
use crate::parameters::{ParameterError, Parameters};
use crate::{GenerateError, InjectedAnomaly, generate};
use skew_history::{History, HistoryBuilder};
use std::fmt;
use std::io;
use std::str::FromStr;

/// A file format that histories are generated in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputFormat {
    /// JSON lines.
    Native,
    /// The text of Plume and PolySI.
    Plume,
    /// The bincode of dbcop.
    Dbcop,
}

impl OutputFormat {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            OutputFormat::Native => "native",
            OutputFormat::Plume => "plume",
            OutputFormat::Dbcop => "dbcop",
        }
    }

    /// Refuses parameters whose histories the format has no place for.
    pub fn validate(self, parameters: &Parameters) -> Result<(), ParameterError> {
        if self == OutputFormat::Native {
            return Ok(());
        }
        let lists = parameters.lists > 0.0 || parameters.anomaly == Some(InjectedAnomaly::DirtyWrite);
        let wishes = [
            (lists, "lists"),
            (parameters.unknown > 0.0, "unknown outcomes"),
            (parameters.times, "times"),
            (parameters.declare_level, "declared levels"),
            (parameters.level.of_engine().is_some(), "statements"),
        ];
        match wishes.iter().find(|(wished, _)| *wished) {
            Some(&(_, what)) => Err(ParameterError::FormatCannotHold { format: self.name(), what }),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A format's name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a format to generate; use native, plume or dbcop, and `skew convert` for others")]
pub struct UnknownFormat(pub String);

impl FromStr for OutputFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let all = [OutputFormat::Native, OutputFormat::Plume, OutputFormat::Dbcop];
        all.into_iter().find(|format| format.name() == text).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// Generates a history into a file.
pub fn write(parameters: &Parameters, format: OutputFormat, out: &mut dyn io::Write) -> Result<(), GenerateError> {
    format.validate(parameters)?;
    match format {
        OutputFormat::Native => native::write(parameters, out),
        OutputFormat::Plume => plume::write(parameters, out),
        OutputFormat::Dbcop => dbcop::write(parameters, out),
    }
}

/// Generates a history into memory: the same that reading the native file would give.
pub fn to_history(parameters: &Parameters) -> Result<History, GenerateError> {
    let mut builder = HistoryBuilder::new();
    native::tell_header(&mut builder, parameters).map_err(io::Error::other)?;
    generate(parameters, &mut |transaction| native::tell(&mut builder, transaction).map_err(io::Error::other))?;
    Ok(builder.finish().map_err(io::Error::other)?)
}

/// The value in formats where 0 is the initial value of every key. Lists were refused before.
fn scalar(content: &Content) -> i64 {
    match content {
        Content::Integer(number) => *number,
        Content::Absent | Content::List(_) => 0,
    }
}
