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
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().and_then(|file| of_metadata(&file))
}

#[cfg(unix)]
fn of_metadata(file: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    file.is_file().then(|| (file.dev(), file.ino()))
}

/// The file that comes by standard input, if it is one.
#[cfg(unix)]
fn identity_of_standard_input() -> Option<Identity> {
    use std::os::fd::AsFd;
    let input = fs::File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    of_metadata(&input.metadata().ok()?)
}

/// Elsewhere nobody tells its name.
#[cfg(not(unix))]
fn identity_of_standard_input() -> Option<Identity> {
    None
}

#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// Remembers that the command reads this file; `-` is standard input.
pub fn note_input(path: &Path) {
    let file = if path == Path::new("-") { identity_of_standard_input() } else { identity(path) };
    if let Some(file) = file {
        READ.lock().unwrap_or_else(PoisonError::into_inner).push(file);
    }
}

/// Forgets a file before it is removed: the next one that is made may be the same in the eyes of the system, and of another test.
#[cfg(test)]
pub(crate) fn forget(path: &Path) {
    let file = identity(path);
    READ.lock().unwrap_or_else(PoisonError::into_inner).retain(|read| Some(read) != file.as_ref());
}

/// Whether the command reads this file.
pub(crate) fn reads(path: &Path) -> bool {
    identity(path).is_some_and(|file| READ.lock().unwrap_or_else(PoisonError::into_inner).contains(&file))
}
