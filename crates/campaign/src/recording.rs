//! What is kept of runs while they happen, by whoever knows files.
//!
//! ```text
//!   begin ── writers ── the run can start ── publish ── lines … ──┬── the end
//!            nothing is in its place yet                          └── failure: the run ends, or goes on without
//! ```
//!
//! A campaign calls these in that order. [`NoArchive`] keeps nothing.

use crate::Complaint;
use skew_mockdb::Record;

/// Where the runs of a campaign are kept, if anywhere.
pub trait Archive: Sync {
    /// Begins what is kept of the run of a seed. Nothing is in its place yet: a run that cannot start leaves what an earlier one has
    /// recorded.
    fn begin(&self, seed: u64) -> Result<Box<dyn RunRecord + '_>, Complaint>;

    /// Keeps what the command of a run has printed.
    fn keep_output(&self, seed: u64, output: &str) -> Result<(), Complaint>;

    /// Why nothing is kept any more, if that is so.
    fn failure(&self) -> Option<RecordingFailure>;
}

/// What is kept of one run.
pub trait RunRecord {
    /// What to write to, as far as something is wanted.
    fn writers(&self) -> Record;

    /// Fails when it cannot be put in its place, as far as that is known: what was to happen then need not begin.
    fn refuse_failed(&self) -> Result<(), Complaint>;

    /// Puts it in its place, in which it grows from now on.
    fn publish(&self) -> Result<(), Complaint>;

    /// Whether the run is to end because it cannot be recorded.
    fn ends_run(&self) -> bool;

    /// What went wrong, if anything did.
    fn failure(&self) -> Option<RecordingFailure>;
}

/// Keeps nothing.
pub struct NoArchive;

impl Archive for NoArchive {
    fn begin(&self, _: u64) -> Result<Box<dyn RunRecord + '_>, Complaint> {
        Ok(Box::new(NoArchive))
    }

    fn keep_output(&self, _: u64, _: &str) -> Result<(), Complaint> {
        Ok(())
    }

    fn failure(&self) -> Option<RecordingFailure> {
        None
    }
}

impl RunRecord for NoArchive {
    fn writers(&self) -> Record {
        Record { history: None, choices: None }
    }

    fn refuse_failed(&self) -> Result<(), Complaint> {
        Ok(())
    }

    fn publish(&self) -> Result<(), Complaint> {
        Ok(())
    }

    fn ends_run(&self) -> bool {
        false
    }

    fn failure(&self) -> Option<RecordingFailure> {
        None
    }
}

/// Why nothing is written any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordingFailure {
    /// As the user calls it.
    pub file: String,
    /// What the system said.
    pub error: String,
    /// What there is of the recording.
    pub left: Left,
}

/// What there is of a recording that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// All lines up to the failure.
    WholeLines,
    /// Perhaps half a line more.
    HalfALine,
    /// No file.
    Nothing,
}

impl RecordingFailure {
    /// The file and what the system said.
    pub fn what(&self) -> String {
        format!("{}: {}", self.file, self.error)
    }

    /// Whether there is a file, if not of everything.
    pub fn has_file(&self) -> bool {
        self.left != Left::Nothing
    }

    /// What is left of the recording.
    pub fn left(&self) -> &'static str {
        match self.left {
            Left::WholeLines => "the file ends with the last line that was written whole",
            Left::HalfALine => "the file may end in half a line, which could not be cut off",
            Left::Nothing => "it is not there, and neither are the files of later runs",
        }
    }
}
