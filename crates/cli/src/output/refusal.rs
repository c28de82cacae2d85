//! Why a file cannot be written, in words, with advice that fits.
//!
//! ```text
//!   error: run.jsonl: cannot write it: another skew is writing it
//!     end that one, or choose another file
//! ```
//!
//! The system says one half of the reasons, we the other ([`Refusal`]). Both come as an [`io::Error`], because whoever writes a history
//! knows nothing of files.

use crate::input::{Complaint, cannot};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::{error, fmt};

/// Why we do not write a file that the system would let us write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// The command reads it.
    Input,
    /// Another one has it.
    Busy,
    /// Under the name that is for the new file stands something that no skew has left there.
    InTheWay(PathBuf),
    /// Links that go round and round.
    Links,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl Refusal {
    fn advice(&self) -> &'static str {
        match self {
            Refusal::Input => "choose another file",
            Refusal::Busy => "end that one, or choose another file",
            Refusal::InTheWay(_) => "look at what it is and remove it, or choose another file",
            Refusal::Links => "check where the links lead, or choose another file",
            Refusal::Interrupted => "nothing of it was written, and what was there before is still there",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Input => write!(out, "this is an input of the command, which would be lost"),
            Refusal::Busy => write!(out, "another skew is writing it"),
            Refusal::InTheWay(path) => write!(out, "{} is in the way, which no skew has left there", path.display()),
            Refusal::Links => write!(out, "too many links lead to it"),
            Refusal::Interrupted => write!(out, "interrupted"),
        }
    }
}

impl error::Error for Refusal {}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        io::Error::other(refusal)
    }
}

/// Whether there is no room: nothing is wrong with the path.
pub(super) fn is_about_space(error: &io::Error) -> bool {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, WriteZero};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull | WriteZero)
}

/// A file, or a folder, that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Complaint {
    Complaint::new(&path.to_string_lossy(), cannot("write", error), advice(error))
}

fn advice(error: &io::Error) -> &'static str {
    if let Some(refusal) = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()) {
        return refusal.advice();
    }
    match error.kind() {
        _ if is_about_space(error) => "free some space, or choose another path",
        ErrorKind::NotFound => "check that the folder is there, or choose another path",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => "a file is in the way; choose another path",
        ErrorKind::IsADirectory => "name a file in this folder, or choose another path",
        _ => "check that you may write there, or choose another path",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_reason() {
        let advice = |error: io::Error| unwritable(Path::new("a"), &error).advice;
        assert!(advice(Refusal::Busy.into()).contains("end that one"));
        assert!(!advice(Refusal::Input.into()).contains("space"));
        assert!(advice(ErrorKind::StorageFull.into()).contains("free some space"));
        assert!(advice(ErrorKind::IsADirectory.into()).contains("name a file"));
        assert!(advice(ErrorKind::PermissionDenied.into()).contains("you may write"));
    }
}
