//! What a command reads: nothing of that is written over.
//!
//! A file is known by what it is, not by its name: `./a`, a link to it and a second name of it are one file.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The files that were read, or will be.
static READ: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// What makes a file the file that it is.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = std::path::PathBuf;

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// Remembers that the command reads this file.
pub(crate) fn is_read(path: &Path) {
    if let Some(file) = identity(path) {
        READ.lock().unwrap_or_else(PoisonError::into_inner).push(file);
    }
}

/// Whether the command reads this file.
pub(super) fn reads(path: &Path) -> bool {
    identity(path).is_some_and(|file| READ.lock().unwrap_or_else(PoisonError::into_inner).contains(&file))
}
