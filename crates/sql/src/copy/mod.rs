//! COPY: many rows at once, in a client's own text.
//!
//! ```text
//!   COPY item FROM STDIN    prepare ── Copy { In, columns, format }       the caller asks the client for bytes
//!                           reader.feed(bytes) ── rows of fields          as often as bytes come, then finish()
//!                           prepared.with_text_rows(rows) ── execute      one INSERT of them all: the same events, checks, waits
//!
//!   COPY item TO STDOUT     execute ── Answer::Rows                       as the query that it is
//!                           writer.header(), row(fields), trailer()       the caller has turned values into fields
//! ```
//!
//! What a field means is text here, and bytes of a type's binary form for `FORMAT binary`: those are the protocol's, which decodes them
//! and gives values ([`Prepared::with_rows`](crate::Prepared::with_rows)).

mod binary;
mod lines;

use crate::answer::ResultColumn;
use skew_value::{SqlError, SqlState};
use sqlparser::ast::CopyOption;
use std::sync::Arc;

/// One row as it travels: a field per column, `None` for NULL.
pub type Fields = Vec<Option<Vec<u8>>>;

/// How long the text of one row may be.
const ROW_LIMIT: usize = 64 << 20;

/// What a COPY statement wants of whoever talks to the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copy {
    /// Where the rows go.
    pub direction: CopyDirection,
    /// How they are written.
    pub format: CopyFormat,
    /// The columns that travel.
    pub columns: Arc<[ResultColumn]>,
}

/// Where the rows of a COPY go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyDirection {
    /// FROM STDIN: the client sends them.
    In,
    /// TO STDOUT: the client gets them.
    Out,
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyKind {
    /// One row per line, backslashes before what would be mistaken.
    Text,
    /// One row per line, quotes around what would be mistaken.
    Csv,
    /// Lengths and bytes.
    Binary,
}

/// The options of a COPY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyFormat {
    /// How rows are written.
    pub kind: CopyKind,
    /// What stands between two fields.
    pub(crate) delimiter: u8,
    /// What stands for NULL.
    pub(crate) null: String,
    /// Whether the first line names the columns.
    pub(crate) header: bool,
    quote: u8,
    escape: u8,
    /// Columns that are always quoted.
    force_quote: Forced,
    /// Columns in which the NULL word is a text.
    force_not_null: Forced,
    /// Columns in which even the quoted NULL word is NULL.
    force_null: Forced,
}

/// Some columns by their place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Forced(Vec<usize>);

impl Forced {
    fn has(&self, place: usize) -> bool {
        self.0.contains(&place)
    }
}

impl CopyFormat {
    /// The options as they are written, for columns of these names.
    pub(crate) fn of(
        options: &[CopyOption],
        columns: &[String],
        direction: CopyDirection,
    ) -> Result<CopyFormat, SqlError> {
        let kind = kind_of(options)?;
        let csv = kind == CopyKind::Csv;
        let mut format = CopyFormat {
            kind,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { String::new() } else { "\\N".to_owned() },
            header: false,
            quote: b'"',
            escape: b'"',
            force_quote: Forced::default(),
            force_not_null: Forced::default(),
            force_null: Forced::default(),
        };
        let mut escape = None;
        for option in options {
            match option {
                CopyOption::Format(_) | CopyOption::Freeze(_) => {}
                CopyOption::Delimiter(letter) => format.delimiter = byte(*letter),
                CopyOption::Null(text) => format.null.clone_from(text),
                CopyOption::Header(header) => format.header = *header,
                CopyOption::Quote(letter) => format.quote = byte(*letter),
                CopyOption::Escape(letter) => escape = Some(byte(*letter)),
                CopyOption::ForceQuote(names) => format.force_quote = forced(names, columns)?,
                CopyOption::ForceNotNull(names) => format.force_not_null = forced(names, columns)?,
                CopyOption::ForceNull(names) => format.force_null = forced(names, columns)?,
                CopyOption::Encoding(name) => check_encoding(name)?,
            }
        }
        format.escape = escape.unwrap_or(format.quote);
        format.check(options, direction)?;
        Ok(format)
    }

    /// Refuses options that contradict one another.
    fn check(&self, options: &[CopyOption], direction: CopyDirection) -> Result<(), SqlError> {
        let invalid = |message: &str| Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        let has = |test: fn(&CopyOption) -> bool| options.iter().any(test);
        let bound_to_csv = has(|option| {
            use CopyOption::*;
            matches!(option, Quote(_) | Escape(_) | ForceQuote(_) | ForceNotNull(_) | ForceNull(_))
        });
        let bound_to_text = has(|option| matches!(option, CopyOption::Delimiter(_) | CopyOption::Null(_)));
        if self.kind != CopyKind::Csv && bound_to_csv {
            return invalid("COPY with QUOTE, ESCAPE or FORCE available only in CSV mode");
        }
        if self.kind == CopyKind::Binary && (bound_to_text || self.header) {
            return invalid("cannot specify DELIMITER, NULL or HEADER in BINARY mode");
        }
        if direction == CopyDirection::In && has(|option| matches!(option, CopyOption::ForceQuote(_))) {
            return invalid("COPY force quote only available using COPY TO");
        }
        let letters = "\\.abcdefghijklmnopqrstuvwxyz0123456789";
        if self.kind == CopyKind::Text && letters.as_bytes().contains(&self.delimiter) {
            return invalid("COPY delimiter cannot be a lower-case letter, a digit, a dot or a backslash");
        }
        if self.kind == CopyKind::Csv && self.delimiter == self.quote {
            return invalid("COPY delimiter and quote must be different");
        }
        if matches!(self.delimiter, b'\n' | b'\r') || self.null.contains(['\n', '\r']) {
            return invalid("COPY delimiter and null cannot use newline or carriage return");
        }
        Ok(())
    }
}

fn kind_of(options: &[CopyOption]) -> Result<CopyKind, SqlError> {
    let name = options.iter().find_map(|option| match option {
        CopyOption::Format(name) => Some(name.value.to_lowercase()),
        _ => None,
    });
    match name.as_deref() {
        None | Some("text") => Ok(CopyKind::Text),
        Some("csv") => Ok(CopyKind::Csv),
        Some("binary") => Ok(CopyKind::Binary),
        Some(other) => {
            Err(SqlError::new(SqlState::INVALID_PARAMETER, format!("COPY format \"{other}\" not recognized")))
        }
    }
}

fn byte(letter: char) -> u8 {
    u8::try_from(letter).unwrap_or(b'?')
}

/// The places of columns; `*`, told as none, is all of them.
fn forced(names: &[sqlparser::ast::Ident], columns: &[String]) -> Result<Forced, SqlError> {
    if names.is_empty() {
        return Ok(Forced((0..columns.len()).collect()));
    }
    let place = |name: &sqlparser::ast::Ident| {
        let name = crate::catalog::name::identifier(name, skew_value::Dialect::Postgres);
        columns.iter().position(|column| *column == name).ok_or_else(|| {
            let message = format!("FORCE column \"{name}\" not referenced by COPY");
            SqlError::new(SqlState("42P10"), message)
        })
    };
    names.iter().map(place).collect::<Result<_, _>>().map(Forced)
}

fn check_encoding(name: &str) -> Result<(), SqlError> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_lowercase().as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => Err(SqlError::unsupported(format!("COPY with ENCODING '{name}'"))),
    }
}

impl Copy {
    /// Reads what the client sends.
    pub fn reader(&self) -> CopyReader {
        CopyReader {
            format: self.format.clone(),
            width: self.columns.len(),
            pending: Vec::new(),
            scanned: lines::Scan::default(),
            line: 0,
            started: false,
            ended: false,
        }
    }

    /// Writes what the client gets.
    pub fn writer(&self) -> CopyWriter {
        let names = self.columns.iter().map(|column| column.name.clone()).collect();
        CopyWriter { format: self.format.clone(), names }
    }
}

/// Bytes of a client, as they come, to rows.
#[derive(Clone, Debug)]
pub struct CopyReader {
    format: CopyFormat,
    width: usize,
    /// Bytes that are no whole row yet.
    pending: Vec<u8>,
    /// How far they were looked at.
    scanned: lines::Scan,
    /// How many lines were read.
    line: u64,
    /// Whether the signature of the binary format, or the header, is behind us.
    started: bool,
    /// Whether the end was marked.
    ended: bool,
}

impl CopyReader {
    /// The rows that these bytes complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Fields>, SqlError> {
        if self.ended && self.format.kind != CopyKind::Binary {
            return Ok(Vec::new());
        }
        self.pending.extend_from_slice(bytes);
        let rows = match self.format.kind {
            CopyKind::Binary => self.binary_rows()?,
            CopyKind::Text | CopyKind::Csv => self.line_rows(false)?,
        };
        if self.pending.len() > ROW_LIMIT {
            return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, "a row of COPY is too long"));
        }
        Ok(rows)
    }

    /// The client has sent everything: the rows that were not complete yet.
    pub fn finish(&mut self) -> Result<Vec<Fields>, SqlError> {
        match self.format.kind {
            CopyKind::Binary => self.binary_end().map(|()| Vec::new()),
            CopyKind::Text | CopyKind::Csv => self.line_rows(true),
        }
    }
}

/// The bytes are no rows.
fn bad(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState("22P04"), message)
}

/// Rows to the bytes that a client gets.
#[derive(Clone, Debug)]
pub struct CopyWriter {
    format: CopyFormat,
    names: Vec<String>,
}

impl CopyWriter {
    /// What comes before the rows.
    pub fn header(&self) -> Option<Vec<u8>> {
        match self.format.kind {
            CopyKind::Binary => Some(binary::header()),
            _ if self.format.header => {
                let names: Vec<Option<&[u8]>> = self.names.iter().map(|name| Some(name.as_bytes())).collect();
                Some(self.line(&names, false))
            }
            _ => None,
        }
    }

    /// One row; the fields are texts, or values in their binary form.
    pub fn row(&self, fields: &[Option<&[u8]>]) -> Vec<u8> {
        match self.format.kind {
            CopyKind::Binary => binary::row(fields),
            _ => self.line(fields, true),
        }
    }

    /// What comes behind the rows.
    pub fn trailer(&self) -> Option<Vec<u8>> {
        (self.format.kind == CopyKind::Binary).then(binary::trailer)
    }
}

#[cfg(test)]
mod tests;
