//! Rows as lines: the text format and CSV.
//!
//! ```text
//!   values         1, NULL, "a<tab>b\"     text   1 \t \N \t a\tb\\          a backslash before what would be mistaken
//!   values         1, NULL, 'a,"b'         csv    1,,"a,""b"                  quotes around it; nothing at all is NULL
//! ```
//!
//! A line ends at a line feed, with or without a carriage return before it; in CSV not inside of quotes, in text not behind a
//! backslash. `\.` on a line of its own is the end.

use super::{CopyFormat, CopyKind, CopyReader, CopyWriter, Fields, bad};
use skew_value::SqlError;

/// How far the pending bytes were looked at for the end of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    place: usize,
    quoted: bool,
    escaped: bool,
}

impl CopyReader {
    /// The lines that are complete, and with `all` the last one, which may lack its end.
    pub(super) fn line_rows(&mut self, all: bool) -> Result<Vec<Fields>, SqlError> {
        let mut rows = Vec::new();
        let mut start = 0;
        let pending = std::mem::take(&mut self.pending);
        while !self.ended {
            let Some(end) = self.line_end(&pending, start) else { break };
            self.line_row(&pending[start..end], &mut rows)?;
            start = end + 1;
            self.scanned = Scan { place: start, ..Scan::default() };
        }
        if all && start < pending.len() && !self.ended {
            if self.scanned.quoted {
                return Err(bad("unterminated CSV quoted field"));
            }
            self.line_row(&pending[start..], &mut rows)?;
            start = pending.len();
        }
        self.pending = pending[start..].to_vec();
        self.scanned.place = self.scanned.place.saturating_sub(start);
        Ok(rows)
    }

    /// Where the line that starts here ends.
    fn line_end(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let csv = self.format.kind == CopyKind::Csv;
        let mut scan = self.scanned;
        scan.place = scan.place.max(start);
        while let Some(&byte) = bytes.get(scan.place) {
            if byte == b'\n' && !scan.quoted && (csv || !scan.escaped) {
                return Some(scan.place);
            }
            if csv {
                let escape = self.format.escape;
                match () {
                    () if scan.escaped => scan.escaped = false,
                    () if scan.quoted && byte == escape && escape != self.format.quote => scan.escaped = true,
                    () if byte == self.format.quote => scan.quoted = !scan.quoted,
                    () => {}
                }
            } else {
                scan.escaped = byte == b'\\' && !scan.escaped;
            }
            scan.place += 1;
        }
        self.scanned = scan;
        None
    }

    fn line_row(&mut self, line: &[u8], rows: &mut Vec<Fields>) -> Result<(), SqlError> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.line += 1;
        if line == b"\\." {
            self.ended = true;
            return Ok(());
        }
        if self.format.header && !std::mem::replace(&mut self.started, true) {
            return Ok(());
        }
        let row = match self.format.kind {
            CopyKind::Csv => self.format.csv_fields(line)?,
            _ => self.format.text_fields(line),
        };
        match row.len().cmp(&self.width) {
            std::cmp::Ordering::Equal => rows.push(row),
            std::cmp::Ordering::Less => return Err(bad(format!("missing data for column, in line {}", self.line))),
            // A table without columns has empty lines.
            std::cmp::Ordering::Greater if self.width == 0 && line.is_empty() => rows.push(Vec::new()),
            std::cmp::Ordering::Greater => {
                return Err(bad(format!("extra data after last expected column, in line {}", self.line)));
            }
        }
        Ok(())
    }
}

impl CopyFormat {
    /// NULL is told by how a field is written, before backslashes mean anything.
    fn text_fields(&self, line: &[u8]) -> Fields {
        let mut fields = Vec::new();
        let mut start = 0;
        let mut escaped = false;
        for (place, &byte) in line.iter().enumerate() {
            if byte == self.delimiter && !escaped {
                fields.push(self.text_field(&line[start..place]));
                start = place + 1;
            }
            escaped = byte == b'\\' && !escaped;
        }
        fields.push(self.text_field(&line[start..]));
        fields
    }

    fn text_field(&self, written: &[u8]) -> Option<Vec<u8>> {
        (written != self.null.as_bytes()).then(|| unescaped(written))
    }

    fn csv_fields(&self, line: &[u8]) -> Result<Fields, SqlError> {
        let mut fields = Vec::new();
        let (mut field, mut quoted, mut was_quoted) = (Vec::new(), false, false);
        let mut place = 0;
        while let Some(&byte) = line.get(place) {
            let next = line.get(place + 1);
            if quoted && byte == self.escape && next.is_some_and(|next| *next == self.quote || *next == self.escape) {
                field.extend(next);
                place += 1;
            } else if byte == self.quote {
                quoted = !quoted;
                was_quoted = true;
            } else if byte == self.delimiter && !quoted {
                let complete = std::mem::take(&mut field);
                fields.push(self.csv_field(complete, was_quoted, fields.len()));
                was_quoted = false;
            } else {
                field.push(byte);
            }
            place += 1;
        }
        if quoted {
            return Err(bad("unterminated CSV quoted field"));
        }
        fields.push(self.csv_field(field, was_quoted, fields.len()));
        Ok(fields)
    }

    fn csv_field(&self, field: Vec<u8>, was_quoted: bool, place: usize) -> Option<Vec<u8>> {
        let is_word = field == self.null.as_bytes();
        let is_null = is_word && if was_quoted { self.force_null.has(place) } else { !self.force_not_null.has(place) };
        (!is_null).then_some(field)
    }
}

/// A field of the text format without its backslashes.
fn unescaped(written: &[u8]) -> Vec<u8> {
    let mut field = Vec::with_capacity(written.len());
    let mut bytes = written.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            field.push(byte);
            continue;
        }
        field.push(match bytes.next() {
            None => b'\\',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 11,
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit) = bytes.next_if(|byte| matches!(byte, b'0'..=b'7')) else { break };
                    value = value * 8 + u32::from(digit - b'0');
                }
                value as u8
            }
            Some(b'x') if bytes.peek().is_some_and(u8::is_ascii_hexdigit) => {
                let mut value = 0;
                for _ in 0..2 {
                    let Some(digit) = bytes.next_if(u8::is_ascii_hexdigit) else { break };
                    value = value * 16 + (digit as char).to_digit(16).unwrap_or(0);
                }
                value as u8
            }
            Some(other) => other,
        });
    }
    field
}

impl CopyWriter {
    /// A line; the names of a header are quoted only where they must be.
    pub(super) fn line(&self, fields: &[Option<&[u8]>], is_row: bool) -> Vec<u8> {
        let mut line = Vec::new();
        for (place, field) in fields.iter().enumerate() {
            if place > 0 {
                line.push(self.format.delimiter);
            }
            match (field, self.format.kind) {
                (None, _) => line.extend_from_slice(self.format.null.as_bytes()),
                (Some(field), CopyKind::Csv) => {
                    let forced = is_row && self.format.force_quote.has(place);
                    self.csv(field, forced, fields.len() == 1, &mut line);
                }
                (Some(field), _) => self.text(field, &mut line),
            }
        }
        line.push(b'\n');
        line
    }

    fn text(&self, field: &[u8], line: &mut Vec<u8>) {
        for &byte in field {
            let letter = match byte {
                8 => b'b',
                12 => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                11 => b'v',
                b'\\' => b'\\',
                other if other == self.format.delimiter => other,
                other => {
                    line.push(other);
                    continue;
                }
            };
            line.extend_from_slice(&[b'\\', letter]);
        }
    }

    fn csv(&self, field: &[u8], forced: bool, alone: bool, line: &mut Vec<u8>) {
        let format = &self.format;
        let special = |byte: &u8| *byte == format.delimiter || *byte == format.quote || matches!(byte, b'\n' | b'\r');
        // A line of `\.` alone would be the end.
        let is_end = alone && field == b"\\.";
        if !forced && !is_end && field != format.null.as_bytes() && !field.iter().any(special) {
            line.extend_from_slice(field);
            return;
        }
        line.push(format.quote);
        for &byte in field {
            if byte == format.quote || byte == format.escape {
                line.push(format.escape);
            }
            line.push(byte);
        }
        line.push(format.quote);
    }
}
