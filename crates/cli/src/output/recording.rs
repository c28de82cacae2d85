//! A history as it happens: in its place from the moment at which serving begins, and whole lines at every moment.
//!
//! ```text
//!   claim ── header … ── publish ── line ── line ── lin▒ no space left ── cut: line ── line ── told at once ──┬── stop
//!            what is there stays there                                                                        └── continue
//! ```
//!
//! After the first failure nothing more is written, whatever becomes of the disk: a history with a hole in it is no history.

use super::keeper::{RecordErrors, RecordKeeper};
use crate::console;
use crate::input::Complaint;
use skew_campaign::recording::{Left, RecordingFailure, RunRecord};
use skew_files::Draft;
use skew_mockdb::Record;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file that a history, or a log of choices, is written to while it happens. Clones are the same file.
#[derive(Clone)]
pub(crate) struct RecordFile(Arc<Mutex<Writing>>);

struct Writing {
    draft: Draft,
    /// As the user calls it.
    name: String,
    keeper: RecordKeeper,
    /// Where the last whole line ends.
    whole: u64,
    failure: Option<RecordingFailure>,
    /// Whether the run has begun, so that somebody is to be told at once.
    has_begun: bool,
}

impl RecordFile {
    /// Begins a file, which is not in its place yet.
    pub(super) fn claim(path: &Path, keeper: RecordKeeper) -> io::Result<RecordFile> {
        let (draft, name) = (Draft::new(path)?, path.to_string_lossy().into_owned());
        let writing = Writing { draft, name, keeper, whole: 0, failure: None, has_begun: false };
        Ok(RecordFile(Arc::new(Mutex::new(writing))))
    }

    /// Puts it in its place, in which it grows from now on.
    pub(crate) fn publish(&self) -> Result<(), Complaint> {
        let mut writing = self.writing();
        writing.refuse_failed()?;
        if writing.failure.is_none() {
            writing.publish()?;
        }
        writing.has_begun = true;
        Ok(())
    }

    /// What went wrong, if anything did.
    pub(crate) fn failure(&self) -> Option<RecordingFailure> {
        self.writing().failure.clone()
    }

    /// Whether the run is to end because of that.
    fn ends_run(&self) -> bool {
        let writing = self.writing();
        writing.keeper.errors == RecordErrors::Stop && writing.failure.is_some()
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for RecordFile {
    /// Takes all bytes or fails; with `continue` it does not fail, because whoever else gets them should.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut writing = self.writing();
        if writing.failure.is_none() {
            writing.write(bytes);
        }
        match (&writing.failure, writing.keeper.errors) {
            (Some(failure), RecordErrors::Stop) => Err(io::Error::other(failure.what())),
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
        let left = match written == lines || self.cut().is_ok() {
            _ if !self.has_begun => Left::Nothing,
            true => Left::WholeLines,
            false => Left::HalfALine,
        };
        let failure = RecordingFailure { file: self.name.clone(), error: error.to_string(), left };
        if self.has_begun {
            self.tell(&failure, &format!("cannot write it any more: {error}"));
        }
        self.fail(failure);
    }

    /// Ends the file with its last whole line, if it is ours alone.
    fn cut(&mut self) -> io::Result<()> {
        if self.draft.is_shared {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.draft.file.set_len(self.whole)?;
        self.draft.file.seek(SeekFrom::Start(self.whole)).map(drop)
    }

    fn fail(&mut self, failure: RecordingFailure) {
        self.keeper.stop(failure.clone());
        self.failure = Some(failure);
    }

    /// Tells of a failure while the run goes on.
    fn tell(&self, failure: &RecordingFailure, message: &str) {
        let then = match self.keeper.errors {
            RecordErrors::Stop => "this ends the run (--record-errors stop)",
            RecordErrors::Continue => "the run goes on without recording (--record-errors continue)",
        };
        let advice = format!("{}; {then}", failure.left());
        console::complain_at_once(&Complaint::new(&self.name, message.to_owned(), &advice));
    }

    /// Where not even the first line could be written, nothing begins, or it begins without recording.
    fn refuse_failed(&self) -> Result<(), Complaint> {
        let Some(failure) = self.failure.as_ref().filter(|_| !self.has_begun) else { return Ok(()) };
        let message = format!("cannot write it: {}", failure.error);
        match self.keeper.errors {
            RecordErrors::Stop => {
                let advice = "nothing was begun; free some space, or choose another path";
                Err(Complaint::new(&self.name, message, advice))
            }
            // Of several files of a run the first is enough.
            RecordErrors::Continue => {
                if self.keeper.failure().as_ref() == Some(failure) {
                    self.tell(failure, &message);
                }
                Ok(())
            }
        }
    }

    fn publish(&mut self) -> Result<(), Complaint> {
        let Err(error) = self.draft.publish() else {
            self.keeper.begins();
            return Ok(());
        };
        let failure = RecordingFailure { file: self.name.clone(), error: error.to_string(), left: Left::Nothing };
        self.failure = Some(failure);
        self.keeper.go_on_without(Path::new(&self.name), &error)
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

/// The files of one run: its history and its choices, as far as they are wanted.
#[derive(Clone, Default)]
pub(crate) struct RecordFiles {
    pub(crate) history: Option<RecordFile>,
    pub(crate) choices: Option<RecordFile>,
}

impl RecordFiles {
    fn all(&self) -> impl Iterator<Item = &RecordFile> {
        self.history.iter().chain(&self.choices)
    }
}

impl RunRecord for RecordFiles {
    fn writers(&self) -> Record {
        let boxed = |file: &RecordFile| Box::new(file.clone()) as Box<dyn Write + Send>;
        Record { history: self.history.as_ref().map(boxed), choices: self.choices.as_ref().map(boxed) }
    }

    fn refuse_failed(&self) -> Result<(), Complaint> {
        self.all().filter(|file| file.ends_run()).try_for_each(RecordFile::publish)
    }

    fn publish(&self) -> Result<(), Complaint> {
        self.all().try_for_each(RecordFile::publish)
    }

    fn failure(&self) -> Option<RecordingFailure> {
        self.all().find_map(RecordFile::failure)
    }

    fn ends_run(&self) -> bool {
        self.all().any(RecordFile::ends_run)
    }
}
