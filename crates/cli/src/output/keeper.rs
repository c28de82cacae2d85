//! What is recorded of the runs of a command, and since when nothing is any more.
//!
//! ```text
//!   run 1   claim ── lines … ── the end
//!   run 2   claim ── lin▒ no space left ──┬── stop       the command ends
//!                                         └── continue   told at once; run 2 goes on
//!   run 3   no files: a folder in which some runs are missing is understood, one in which any may be missing is not
//! ```
//!
//! A first file that cannot be made, other than for want of space, is a mistake in the path: it ends the command in any case, before
//! anything happens. What cannot be made later is like a disk that becomes full.

use super::recording::{RecordFile, RecordFiles};
use super::refusal::{is_about_space, unwritable};
use super::whole::{can_write, write_whole};
use crate::console::complain_at_once;
use crate::input::{Complaint, cannot};
use skew_campaign::recording::{Left, RecordingFailure};
use skew_files::is_one_place;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What becomes of a run whose history cannot be written any more.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(crate) enum RecordErrors {
    /// End it, so that nobody takes what is not recorded for recorded
    Stop,
    /// Let it, and all runs after it, go on without recording; the exit code says so at the end
    Continue,
}

/// Who keeps the runs of a command. Clones are the same.
#[derive(Clone)]
pub(crate) struct RecordKeeper {
    pub(super) errors: RecordErrors,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Whether a file is in its place.
    has_begun: bool,
    /// What went wrong first.
    failure: Option<RecordingFailure>,
}

impl RecordKeeper {
    pub(crate) fn new(errors: RecordErrors) -> RecordKeeper {
        RecordKeeper { errors, state: Arc::default() }
    }

    /// Begins the files of a run that are wanted; none once recording has stopped.
    pub(crate) fn claim(&self, history: Option<&Path>, choices: Option<&Path>) -> Result<RecordFiles, Complaint> {
        if let (Some(one), Some(other)) = (history, choices)
            && is_one_place(one, other)
        {
            let what = "--record and --choices name one file".to_owned();
            return Err(Complaint::new(&one.to_string_lossy(), what, "give each a file of its own"));
        }
        let mut files = RecordFiles::default();
        if self.has_stopped()? {
            return Ok(files);
        }
        for (path, file) in [(history, &mut files.history), (choices, &mut files.choices)] {
            let Some(path) = path else { continue };
            match RecordFile::claim(path, self.clone()) {
                Ok(claimed) => *file = Some(claimed),
                Err(error) => return self.go_on_without(path, &error).map(|()| RecordFiles::default()),
            }
        }
        Ok(files)
    }

    /// Writes a small file of a run at once; nothing once recording has stopped.
    pub(crate) fn keep(&self, path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Complaint> {
        if self.has_stopped()? {
            return Ok(());
        }
        match can_write(path).and_then(|()| write_whole(path, bytes)) {
            Ok(()) => self.begins(),
            Err(error) => self.go_on_without(path, &error)?,
        }
        Ok(())
    }

    /// What went wrong first, if anything did.
    pub(crate) fn failure(&self) -> Option<RecordingFailure> {
        self.state().failure.clone()
    }

    /// Whether nothing is recorded any more; if that ends the command, no other run begins.
    fn has_stopped(&self) -> Result<bool, Complaint> {
        match (self.failure(), self.errors) {
            (Some(failure), RecordErrors::Stop) => {
                Err(Complaint::new("skew", format!("recording stopped: {}", failure.what()), failure.left()))
            }
            (failure, _) => Ok(failure.is_some()),
        }
    }

    /// A file is in its place.
    pub(super) fn begins(&self) {
        self.state().has_begun = true;
    }

    /// Nothing more is to be recorded.
    pub(super) fn stop(&self, failure: RecordingFailure) {
        self.state().failure.get_or_insert(failure);
    }

    /// A file cannot be put in its place: the command goes on without it, if it may, and that is told; else the complaint comes back.
    pub(super) fn go_on_without(&self, path: &Path, error: &io::Error) -> Result<(), Complaint> {
        let name = path.to_string_lossy();
        if !self.state().has_begun && !is_about_space(error) {
            return Err(unwritable(path, error));
        }
        self.stop(RecordingFailure { file: name.clone().into_owned(), error: error.to_string(), left: Left::Nothing });
        let complaint = |advice: &str| Complaint::new(&name, cannot("write", error), advice);
        match self.errors {
            RecordErrors::Stop if is_about_space(error) => {
                Err(complaint("free some space; this ends the runs (--record-errors stop)"))
            }
            RecordErrors::Stop => Err(unwritable(path, error)),
            RecordErrors::Continue => {
                complain_at_once(&complaint("the runs go on without recording (--record-errors continue)"));
                Ok(())
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_campaign::recording::RunRecord;
    use std::fs;

    #[test]
    fn a_later_file_that_cannot_be_made_ends_the_recording_and_not_the_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("2")).unwrap();
        for (errors, goes_on) in [(RecordErrors::Continue, true), (RecordErrors::Stop, false)] {
            let keeper = RecordKeeper::new(errors);
            assert!(keeper.claim(Some(&path("2")), None).is_err(), "the first one is a mistake in the path");
            keeper.claim(Some(&path("1")), None).unwrap().publish().unwrap();
            assert!(keeper.failure().is_none());
            assert_eq!(keeper.claim(Some(&path("2")), Some(&path("2.choices"))).is_ok(), goes_on);
            assert!(keeper.failure().is_some());
            let third = keeper.claim(Some(&path("3")), None);
            assert!(third.map_or(!goes_on, |files| goes_on && files.history.is_none()));
            assert_eq!(keeper.keep(&path("3.output"), "").is_ok(), goes_on);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the first run, and what was in the way");
        }
    }
}
