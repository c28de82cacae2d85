//! Files that a command writes: never over its own input, and never half of one.
//!
//! ```text
//!   create ──> write … ──┬── keep      everything is there
//!                        └── discard   a full disk, Ctrl-C: half a history would be mistaken for a whole one
//! ```
//!
//! Only plain files are removed: `/dev/full` and pipes are not ours.

use crate::clock;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file on its way.
pub(crate) struct OutputFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl OutputFile {
    pub(crate) fn create(path: &Path) -> io::Result<OutputFile> {
        clock::something_to_keep();
        Ok(OutputFile { path: path.to_owned(), out: BufWriter::with_capacity(1 << 16, File::create(path)?) })
    }

    /// Writes what is still to be written.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        let outcome = self.out.flush();
        if outcome.is_err() {
            self.discard();
        }
        outcome
    }

    /// Leaves nothing behind.
    pub(crate) fn discard(self) {
        let (file, _) = self.out.into_parts();
        if file.metadata().is_ok_and(|kind| kind.is_file()) {
            // Whoever reads through a link to it, or has it open, sees no half either.
            let _ = file.set_len(0);
            if fs::symlink_metadata(&self.path).is_ok_and(|kind| kind.is_file()) {
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        refuse_interrupted()?;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A writer that ends with Ctrl-C.
pub(crate) struct Stoppable<W>(pub(crate) W);

impl<W: Write> Write for Stoppable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        refuse_interrupted()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

// Not `ErrorKind::Interrupted`, after which everybody tries again.
fn refuse_interrupted() -> io::Result<()> {
    if clock::is_interrupted() { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

/// Whether writing to the one would destroy the other.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
