//! A file on its way to its place.
//!
//! ```text
//!   runs/a.jsonl          what is there stays there, locked against others, until the new one is published
//!   runs/.a.jsonl.skew    the new one, locked too; renamed to its place
//! ```
//!
//! Locks end with the process that holds them, however it ends, and go with the file when it is renamed. So a second `skew` that is told
//! to write the same file finds it locked while the first one starts, records or ends. All of them use the same name beside the place,
//! so that of two that start at once one is refused; what a killed one left there is used again by the next.
//!
//! A device or a pipe is written as it is. A file in a folder that takes no other file, or that cannot be replaced because it is mounted
//! by itself, is overwritten when the new content is there.

use super::inputs;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// As many links may lead to a file; more of them go round and round.
const MOST_LINKS: usize = 40;

/// A file that is not in its place yet.
pub(super) struct Draft {
    /// What to write to.
    pub(super) file: File,
    place: Place,
}

enum Place {
    /// The file is where it belongs.
    Reached,
    /// The file has a name beside its place.
    Beside {
        temporary: PathBuf,
        target: PathBuf,
        /// What it replaces: open, because the lock is.
        replaced: Option<File>,
    },
    /// The file has no name, and its content is to go into this one.
    Nameless { target: PathBuf, replaced: File },
}

impl Draft {
    /// Begins a file for this path, and refuses when that would destroy something.
    pub(super) fn new(path: &Path) -> io::Result<Draft> {
        let target = without_links(path)?;
        refuse_input(&target)?;
        let replaced = match fs::metadata(&target) {
            Ok(kind) if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(kind) if !kind.is_file() || is_of_the_system(&target) => {
                let file = OpenOptions::new().write(true).open(&target)?;
                return Ok(Draft { file, place: Place::Reached });
            }
            // Not cut off, and refused where it could not be written.
            Ok(_) => Some(OpenOptions::new().append(true).open(&target)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        replaced.as_ref().map_or(Ok(()), lock)?;
        let temporary = beside(&target)?;
        match (open_locked(&temporary), replaced) {
            (Ok(file), replaced) => {
                let rights = replaced.as_ref().and_then(|file| file.metadata().ok());
                if let Some(rights) = rights {
                    // The new one is for those whom the old one was for; where that cannot be it is for whoever writes it.
                    let _ = file.set_permissions(rights.permissions());
                }
                Ok(Draft { file, place: Place::Beside { temporary, target, replaced } })
            }
            (Err(error), Some(replaced)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Draft { file: tempfile::tempfile()?, place: Place::Nameless { target, replaced } })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Puts the file in its place, with what was written so far. More can be written afterwards.
    pub(super) fn publish(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.place, Place::Reached) {
            Place::Reached => Ok(()),
            Place::Beside { temporary, target, replaced } => {
                let moved = refuse_input(&target).and_then(|()| fs::rename(&temporary, &target));
                let Err(error) = moved else { return Ok(()) };
                let overwritten = match replaced {
                    Some(replaced) if error.kind() == io::ErrorKind::ResourceBusy => self.overwrite(replaced),
                    _ => Err(error),
                };
                let _ = fs::remove_file(&temporary);
                overwritten
            }
            Place::Nameless { target, replaced } => refuse_input(&target).and_then(|()| self.overwrite(replaced)),
        }
    }

    fn overwrite(&mut self, mut replaced: File) -> io::Result<()> {
        self.file.rewind()?;
        replaced.set_len(0)?;
        io::copy(&mut self.file, &mut replaced)?;
        self.file = replaced;
        Ok(())
    }
}

impl Drop for Draft {
    /// What was not published leaves nothing behind.
    fn drop(&mut self) {
        if let Place::Beside { temporary, .. } = &self.place {
            let _ = fs::remove_file(temporary);
        }
    }
}

fn refuse_input(target: &Path) -> io::Result<()> {
    match inputs::reads(target) {
        true => Err(io::Error::other("this is an input of the command, which would be lost")),
        false => Ok(()),
    }
}

/// `/dev/stdout` leads to a file that somebody else has open: replaced, nobody would see what is written.
fn is_of_the_system(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// The path of the file itself, whether it is there or not: a link stays a link.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if is_of_the_system(&path) {
            return Ok(path);
        }
        match fs::read_link(&path) {
            // A relative link is relative to the folder that it is in.
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links lead to it"))
}

fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".skew");
    Ok(target.with_file_name(hidden))
}

/// An empty file of this name that nobody else has.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file)?;
        // Whoever had it may have published or removed it between our opening and locking it.
        if is_named(&file, path) {
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    file.metadata().ok().map(identity) == fs::metadata(path).ok().map(identity)
}

/// Elsewhere an open file is neither renamed nor removed by others.
#[cfg(not(unix))]
fn is_named(_: &File, _: &Path) -> bool {
    true
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another skew is writing it; end that one, or choose another file"))
        }
        // A file system without locks is no reason to write nothing.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_there_stays_until_the_new_one_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let mut draft = Draft::new(&path).unwrap();
        draft.file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        draft.publish().unwrap();
        draft.file.write_all(b"er").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
        drop(draft);
        drop(Draft::new(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn one_file_is_written_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut first = Draft::new(&path).unwrap();
        assert!(Draft::new(&path).is_err(), "while it begins");
        first.publish().unwrap();
        assert!(Draft::new(&path).is_err(), "while it is written");
        drop(first);
        assert!(Draft::new(&path).is_ok(), "when it is over");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_stays_a_link_and_an_input_is_known_by_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link, second, dangling] = ["a", "link", "second", "dangling"].map(|name| folder.path().join(name));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink("a", &link).unwrap();
        std::os::unix::fs::symlink("new", &dangling).unwrap();
        for link in [&link, &dangling] {
            Draft::new(link).unwrap().publish().unwrap();
            assert!(fs::symlink_metadata(link).unwrap().is_symlink() && fs::read(link).unwrap().is_empty());
        }
        fs::hard_link(&path, &second).unwrap();
        inputs::is_read(&path);
        for name in [&path, &link, &second, &folder.path().join("./a")] {
            assert!(Draft::new(name).is_err_and(|error| error.to_string().contains("would be lost")));
        }
    }
}
