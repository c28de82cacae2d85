//! What a store writes, kept in memory: for tests, for [`Kv`](crate::Kv), and for whoever judges a run when it is over.

use skew_history::History;
use skew_history::format::{self, Format, ReadError, Source};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are written here and looked at there; clones share them.
#[derive(Clone, Default, Debug)]
pub struct Tape(Arc<Mutex<Vec<u8>>>);

impl Tape {
    /// What was written so far.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The same as a history; one without any transaction is none.
    pub fn history(&self) -> Result<History, ReadError> {
        let text = self.text();
        format::read(&[Source { name: "history.jsonl", bytes: text.as_bytes() }], Format::Native)
    }
}

impl io::Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
