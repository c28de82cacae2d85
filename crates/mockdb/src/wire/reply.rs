//! What the server says: messages become bytes.
//!
//! ```text
//!   'T' length columns · 'D' length values · … · 'C' length "SELECT 2" · 'Z' length 'I'
//! ```
//!
//! Messages are collected in a [`Replies`]; whoever owns the socket sends them, and stops making more while the client does not read.

use super::message::ValueFormat;
use crate::connection::Status;
use skew_sql::session::ResultColumn;
use skew_value::{Place, SqlError};

/// Messages on their way to a client.
#[derive(Default, Debug)]
pub(crate) struct Replies {
    bytes: Vec<u8>,
}

/// How bad an error is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Severity {
    /// The statement failed.
    Error,
    /// The connection is over.
    Fatal,
    /// Nothing failed, but somebody may have meant something else.
    Warning,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Warning => "WARNING",
        }
    }
}

impl Replies {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// A message of a letter, whose body the closure writes.
    pub(crate) fn message(&mut self, letter: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(letter);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        body(&mut self.bytes);
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    pub(crate) fn empty(&mut self, letter: u8) {
        self.message(letter, |_| {});
    }

    /// A byte that is no message: the answer to whoever asks for encryption.
    pub(crate) fn bare(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(crate) fn authentication(&mut self, kind: u32, content: &[u8]) {
        self.message(b'R', |body| {
            body.extend_from_slice(&kind.to_be_bytes());
            body.extend_from_slice(content);
        });
    }

    pub(crate) fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |body| {
            text(body, name);
            text(body, value);
        });
    }

    pub(crate) fn backend_key(&mut self, process: i32, secret: i32) {
        self.message(b'K', |body| {
            body.extend_from_slice(&process.to_be_bytes());
            body.extend_from_slice(&secret.to_be_bytes());
        });
    }

    pub(crate) fn negotiate_version(&mut self, unknown: &[&str]) {
        self.message(b'v', |body| {
            body.extend_from_slice(&(3u32 << 16).to_be_bytes());
            body.extend_from_slice(&(unknown.len() as u32).to_be_bytes());
            unknown.iter().for_each(|name| text(body, name));
        });
    }

    pub(crate) fn ready(&mut self, status: Status) {
        let letter = match status {
            Status::Idle => b'I',
            Status::Open => b'T',
            Status::Failed => b'E',
        };
        self.message(b'Z', |body| body.push(letter));
    }

    pub(crate) fn complete(&mut self, tag: &str) {
        self.message(b'C', |body| text(body, tag));
    }

    pub(crate) fn parameter_types(&mut self, types: &[u32]) {
        self.message(b't', |body| {
            body.extend_from_slice(&(types.len() as u16).to_be_bytes());
            types.iter().for_each(|oid| body.extend_from_slice(&oid.to_be_bytes()));
        });
    }

    pub(crate) fn columns(&mut self, columns: &[ResultColumn], format: impl Fn(usize) -> ValueFormat) {
        self.message(b'T', |body| {
            body.extend_from_slice(&(columns.len() as u16).to_be_bytes());
            for (place, column) in columns.iter().enumerate() {
                text(body, &column.name);
                // Of no table, no place in it.
                body.extend_from_slice(&[0; 6]);
                let (oid, size, modifier) = super::value::description(&column.sql_type);
                body.extend_from_slice(&oid.to_be_bytes());
                body.extend_from_slice(&size.to_be_bytes());
                body.extend_from_slice(&modifier.to_be_bytes());
                body.extend_from_slice(&(format(place) as u16).to_be_bytes());
            }
        });
    }

    /// COPY begins: 'G' the client sends, 'H' the server does.
    pub(crate) fn copy(&mut self, letter: u8, format: ValueFormat, columns: usize) {
        self.message(letter, |body| {
            body.push(format as u8);
            body.extend_from_slice(&(columns as u16).to_be_bytes());
            (0..columns).for_each(|_| body.extend_from_slice(&(format as u16).to_be_bytes()));
        });
    }

    /// An error or a warning about a statement of this text.
    pub(crate) fn error(&mut self, severity: Severity, error: &SqlError, sql: &str) {
        let letter = if severity == Severity::Warning { b'N' } else { b'E' };
        self.message(letter, |body| {
            let mut field = |name: u8, value: &str| {
                body.push(name);
                text(body, value);
            };
            field(b'S', severity.word());
            field(b'V', severity.word());
            field(b'C', error.state.0);
            field(b'M', &error.message);
            if let Some(detail) = &error.detail {
                field(b'D', detail);
            }
            if let Some(hint) = &error.hint {
                field(b'H', hint);
            }
            if let Some(position) = error.place.and_then(|place| position_of(place, sql)) {
                field(b'P', &position.to_string());
            }
            if let Some(constraint) = &error.constraint {
                field(b'n', constraint);
            }
            body.push(0);
        });
    }
}

/// A text and its zero byte; a zero byte inside would end it early, so it ends there.
fn text(body: &mut Vec<u8>, value: &str) {
    let end = value.find('\0').unwrap_or(value.len());
    body.extend_from_slice(&value.as_bytes()[..end]);
    body.push(0);
}

/// The number of the character at a place, counted from 1.
fn position_of(place: Place, sql: &str) -> Option<usize> {
    let before = (place.line as usize).checked_sub(1)?;
    let mut lines = sql.split_inclusive('\n');
    let earlier: usize = lines.by_ref().take(before).map(|line| line.chars().count()).sum();
    let column = (place.column as usize).min(lines.next().unwrap_or("").chars().count() + 1);
    Some(earlier + column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_value::SqlState;

    #[test]
    fn a_message_counts_itself() {
        let mut replies = Replies::default();
        replies.complete("SELECT 1");
        replies.ready(Status::Failed);
        assert_eq!(replies.bytes(), b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05E");
    }

    #[test]
    fn a_place_is_told_as_the_number_of_its_character() {
        assert_eq!(position_of(Place { line: 1, column: 8 }, "SELECT é"), Some(8));
        assert_eq!(position_of(Place { line: 2, column: 2 }, "é\n x"), Some(4));
        assert_eq!(position_of(Place { line: 9, column: 9 }, "x"), Some(2));
    }

    #[test]
    fn an_error_has_its_fields() {
        let mut replies = Replies::default();
        let error = SqlError::new(SqlState::UNIQUE, "a\0b").with_detail("d").with_hint("h").of_constraint("c");
        replies.error(Severity::Error, &error, "");
        assert_eq!(&replies.bytes()[5..], b"SERROR\0VERROR\0C23505\0Ma\0Dd\0Hh\0nc\0\0");
    }
}
