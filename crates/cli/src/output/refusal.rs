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
use skew_files::Refusal;
use std::io::{self, ErrorKind};
use std::path::Path;

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
