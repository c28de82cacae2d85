//! The frames of `FORMAT binary`: lengths before bytes. What the bytes of a field mean is the protocol's to know.
//!
//! ```text
//!   PGCOPY\n\377\r\n\0   flags (4)   length of an extension (4)     once
//!   count of fields (2)   length (4, -1 for NULL)   bytes …         per row
//!   -1 (2)                                                          the end, which may be left out
//! ```

use super::{CopyReader, Fields, bad};
use skew_value::SqlError;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The flag that says that rows carry object identifiers, which nobody has any more.
const HAS_IDENTIFIERS: u32 = 1 << 16;

pub(super) fn header() -> Vec<u8> {
    let mut bytes = SIGNATURE.to_vec();
    bytes.extend_from_slice(&[0; 8]);
    bytes
}

pub(super) fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
    let mut bytes = (fields.len() as i16).to_be_bytes().to_vec();
    for field in fields {
        match field {
            None => bytes.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(value) => {
                bytes.extend_from_slice(&(value.len() as i32).to_be_bytes());
                bytes.extend_from_slice(value);
            }
        }
    }
    bytes
}

pub(super) fn trailer() -> Vec<u8> {
    (-1i16).to_be_bytes().to_vec()
}

/// A place in bytes that may end too early.
struct Cursor<'bytes> {
    bytes: &'bytes [u8],
    place: usize,
}

impl<'bytes> Cursor<'bytes> {
    fn take(&mut self, count: usize) -> Option<&'bytes [u8]> {
        let taken = self.bytes.get(self.place..self.place.checked_add(count)?)?;
        self.place += count;
        Some(taken)
    }

    fn short(&mut self) -> Option<i16> {
        self.take(2)?.try_into().ok().map(i16::from_be_bytes)
    }

    fn long(&mut self) -> Option<i32> {
        self.take(4)?.try_into().ok().map(i32::from_be_bytes)
    }
}

impl CopyReader {
    /// The rows that are complete.
    pub(super) fn binary_rows(&mut self) -> Result<Vec<Fields>, SqlError> {
        let pending = std::mem::take(&mut self.pending);
        let mut cursor = Cursor { bytes: &pending, place: 0 };
        let mut rows = Vec::new();
        let mut done = 0;
        if !self.started {
            self.started = start(&mut cursor)?;
            done = if self.started { cursor.place } else { 0 };
        }
        while self.started && !self.ended {
            match self.binary_row(&mut cursor)? {
                Some(row) => rows.push(row),
                None if self.ended => {}
                None => break,
            }
            done = cursor.place;
        }
        self.pending = pending[done..].to_vec();
        match self.ended && !self.pending.is_empty() {
            true => Err(bad("received copy data after EOF marker")),
            false => Ok(rows),
        }
    }

    /// Nothing more comes. As in PostgreSQL that ends the data as well as the mark does, wherever the count of a row is expected.
    pub(super) fn binary_end(&self) -> Result<(), SqlError> {
        let count = self.pending.len();
        match (self.ended, self.started) {
            (true, _) => Ok(()),
            (false, true) if count < 2 => Ok(()),
            (false, true) => Err(bad("unexpected EOF in COPY data")),
            (false, false) if count < SIGNATURE.len() => Err(bad("COPY file signature not recognized")),
            (false, false) if count < SIGNATURE.len() + 4 => Err(bad("invalid COPY file header (missing flags)")),
            (false, false) if count < SIGNATURE.len() + 8 => Err(bad("invalid COPY file header (missing length)")),
            (false, false) => Err(bad("invalid COPY file header (wrong length)")),
        }
    }

    /// One row; nothing if it is not whole yet, or if this is the end.
    fn binary_row(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Fields>, SqlError> {
        let Some(count) = cursor.short() else { return Ok(None) };
        if count == -1 {
            self.ended = true;
            return Ok(None);
        }
        if usize::try_from(count) != Ok(self.width) {
            return Err(bad(format!("row field count is {count}, expected {}", self.width)));
        }
        let mut row = Vec::with_capacity(self.width);
        for _ in 0..self.width {
            let Some(length) = cursor.long() else { return Ok(None) };
            row.push(match usize::try_from(length) {
                Ok(length) => match cursor.take(length) {
                    Some(value) => Some(value.to_vec()),
                    None => return Ok(None),
                },
                Err(_) if length == -1 => None,
                Err(_) => return Err(bad("invalid field size")),
            });
        }
        Ok(Some(row))
    }
}

/// The signature; false if it is not whole yet.
fn start(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    let seen = &cursor.bytes[..cursor.bytes.len().min(SIGNATURE.len())];
    if !SIGNATURE.starts_with(seen) {
        return Err(bad("COPY file signature not recognized"));
    }
    let Some((flags, extension)) = cursor.take(SIGNATURE.len()).and_then(|_| Some((cursor.long()?, cursor.long()?)))
    else {
        return Ok(false);
    };
    if flags as u32 & HAS_IDENTIFIERS != 0 {
        return Err(bad("invalid COPY file header (WITH OIDS)"));
    }
    let extension = usize::try_from(extension).map_err(|_| bad("invalid COPY file header (wrong length)"))?;
    Ok(cursor.take(extension).is_some())
}
