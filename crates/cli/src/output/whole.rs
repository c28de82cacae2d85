//! Results: whole, or as if nobody had begun.
//!
//! ```text
//!   create ──> write … ──┬── keep      everything is there
//!                        └── dropped   a full disk, Ctrl-C: half a history would be mistaken for a whole one
//! ```

use super::refusal::unwritable;
use crate::clock;
use crate::input::Complaint;
use skew_files::{Draft, Refusal};
use skew_view::Finding;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A file on its way.
pub(crate) struct OutputFile {
    draft: Draft,
    out: BufWriter<File>,
}

impl OutputFile {
    pub(crate) fn create(path: &Path) -> io::Result<OutputFile> {
        clock::something_to_keep();
        let draft = Draft::new(path)?;
        let out = BufWriter::with_capacity(1 << 16, draft.file.try_clone()?);
        Ok(OutputFile { draft, out })
    }

    /// Writes what is still to be written, and puts the file in its place.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.draft.publish()
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

/// Writes a small file at once.
pub(crate) fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut draft = Draft::new(path)?;
    draft.file.write_all(bytes.as_ref())?;
    draft.publish()
}

/// Writes a counterexample, for `skew view`.
pub(crate) fn write_finding(path: &Path, finding: &Finding) -> Result<(), Complaint> {
    let text = finding.to_json().map_err(|error| io::Error::other(error.to_string()));
    text.and_then(|text| write_whole(path, text)).map_err(|error| unwritable(path, &error))
}

/// Fails when a file could not be written there.
pub(crate) fn can_write(path: &Path) -> io::Result<()> {
    Draft::new(path).map(drop)
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
    if clock::is_interrupted() { Err(Refusal::Interrupted.into()) } else { Ok(()) }
}
