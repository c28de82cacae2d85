//! A history as it happens: in its place from the moment at which serving begins, and whole lines at every moment.
//!
//! ```text
//!   claim ── header … ── publish ── line ── line ── lin▒ no space left ── cut: line ── line ── told at once ──┬── stop
//!            what is there stays there                                                                        └── continue
//! ```
//!
//! After the first failure nothing more is written, whatever becomes of the disk: a history with a hole in it is no history.

use super::draft::Draft;
use crate::console;
use crate::input::{Complaint, cannot};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What becomes of a run whose history cannot be written any more.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(crate) enum RecordErrors {
    /// End it, so that nobody takes what is not recorded for recorded
    Stop,
    /// Let it go on without recording; the exit code says so at the end
    Continue,
}

/// A file that a history, or a log of choices, is written to while it happens. Clones are the same file.
#[derive(Clone)]
pub(crate) struct RecordFile(Arc<Mutex<Writing>>);

struct Writing {
    draft: Draft,
    /// As the user calls it.
    name: String,
    errors: RecordErrors,
    /// Where the last whole line ends.
    whole: u64,
    failure: Option<RecordingFailure>,
    /// Whether the run has begun, so that somebody is to be told at once.
    has_begun: bool,
}

/// Why nothing is written any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RecordingFailure {
    /// The file and what the system said.
    pub(crate) what: String,
    /// Whether the file ends with a whole line.
    is_whole: bool,
}

impl RecordingFailure {
    /// What is left of the recording.
    pub(crate) fn left(&self) -> &'static str {
        match self.is_whole {
            true => "the file ends with the last line that was written whole",
            false => "the file may end in half a line, which could not be cut off",
        }
    }
}

impl RecordFile {
    /// Begins a file, which is not in its place yet.
    pub(crate) fn claim(path: &Path, errors: RecordErrors) -> Result<RecordFile, Complaint> {
        let draft = Draft::new(path).map_err(|error| unwritable(path, &error))?;
        let name = path.to_string_lossy().into_owned();
        let writing = Writing { draft, name, errors, whole: 0, failure: None, has_begun: false };
        Ok(RecordFile(Arc::new(Mutex::new(writing))))
    }

    /// Puts it in its place, in which it grows from now on.
    pub(crate) fn publish(&self) -> Result<(), Complaint> {
        let mut writing = self.writing();
        if let Some(failure) = &writing.failure {
            let what = format!("cannot be recorded: {}", failure.what);
            return Err(Complaint::new("skew", what, "nothing was begun; free some space, or choose another path"));
        }
        writing.has_begun = true;
        let published = writing.draft.publish();
        published.map_err(|error| unwritable(Path::new(&writing.name), &error))
    }

    /// What went wrong, if anything did.
    pub(crate) fn failure(&self) -> Option<RecordingFailure> {
        self.writing().failure.clone()
    }

    /// Whether the run is to end because of that.
    fn ends_run(&self) -> bool {
        let writing = self.writing();
        writing.errors == RecordErrors::Stop && writing.failure.is_some()
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Complaint {
    Complaint::new(&path.to_string_lossy(), cannot("write", error), "check the path and the space that is left")
}

impl Write for RecordFile {
    /// Takes all bytes or fails; with `continue` it does not fail, because whoever else gets them should.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut writing = self.writing();
        if writing.failure.is_none() {
            writing.write(bytes);
        }
        match (&writing.failure, writing.errors) {
            (Some(failure), RecordErrors::Stop) => Err(io::Error::other(failure.what.clone())),
            _ => Ok(bytes.len()),
        }
    }

    /// Nothing waits to be written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writing {
    fn write(&mut self, bytes: &[u8]) {
        let (written, outcome) = write_some(&mut self.draft.file, bytes);
        let Err(error) = outcome else {
            self.whole += written as u64;
            return;
        };
        // What was written of this before ends with its last line.
        let lines = bytes[..written].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.whole += lines as u64;
        let is_whole = written == lines || cut(&mut self.draft.file, self.whole).is_ok();
        let failure = RecordingFailure { what: format!("{}: {error}", self.name), is_whole };
        if self.has_begun {
            let then = match self.errors {
                RecordErrors::Stop => "this ends the run (--record-errors stop)",
                RecordErrors::Continue => "the run goes on without recording (--record-errors continue)",
            };
            let message = format!("cannot write it any more: {error}");
            console::complain_at_once(&Complaint::new(&self.name, message, &format!("{}; {then}", failure.left())));
        }
        self.failure = Some(failure);
    }
}

/// How many bytes were written before something went wrong.
fn write_some(file: &mut File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

fn cut(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length)).map(drop)
}

/// The files of one run: its history and its choices, as far as they are wanted.
#[derive(Clone, Default)]
pub(crate) struct RecordFiles {
    pub(crate) history: Option<RecordFile>,
    pub(crate) choices: Option<RecordFile>,
}

impl RecordFiles {
    /// Begins the files that are wanted.
    pub(crate) fn claim(
        history: Option<&Path>,
        choices: Option<&Path>,
        errors: RecordErrors,
    ) -> Result<RecordFiles, Complaint> {
        let claim = |path: &Path| RecordFile::claim(path, errors);
        Ok(RecordFiles { history: history.map(claim).transpose()?, choices: choices.map(claim).transpose()? })
    }

    /// Puts them in their places.
    pub(crate) fn publish(&self) -> Result<(), Complaint> {
        self.all().try_for_each(RecordFile::publish)
    }

    /// What went wrong first, if anything did.
    pub(crate) fn failure(&self) -> Option<RecordingFailure> {
        self.all().find_map(RecordFile::failure)
    }

    /// Whether the run is to end because it cannot be recorded.
    pub(crate) fn ends_run(&self) -> bool {
        self.all().any(RecordFile::ends_run)
    }

    fn all(&self) -> impl Iterator<Item = &RecordFile> {
        self.history.iter().chain(&self.choices)
    }
}
