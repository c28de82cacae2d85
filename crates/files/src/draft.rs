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
//! Only a file that a killed one can have left is used again. Anything else under that name, above all a link, would lead to a file of
//! somebody who never heard of us: it is refused.
//!
//! A device, a pipe and what is open already (`/dev/stdout`) are written as they are, behind what is there. A file in a folder that takes
//! no other file, or that cannot be replaced because it is mounted by itself, is overwritten when the new content is there.

use crate::inputs;
use crate::refusal::Refusal;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// As many links may lead to a file; more of them go round and round.
const MOST_LINKS: usize = 40;

/// A file that is not in its place yet.
pub struct Draft {
    /// What to write to.
    pub file: File,
    /// Whether others write to it too, so that nothing in it can be taken back.
    pub is_shared: bool,
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
    pub fn new(path: &Path) -> io::Result<Draft> {
        loop {
            let draft = Draft::begin(without_links(path)?)?;
            // Between our looking and our locking another skew may have published its own.
            if draft.replaces_what_is_there() {
                return Ok(draft);
            }
        }
    }

    fn begin(target: PathBuf) -> io::Result<Draft> {
        refuse_input(&target)?;
        let replaced = match fs::metadata(&target) {
            Ok(kind) if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(kind) if !kind.is_file() || is_descriptor(&target) => {
                let file = open_as_it_is(&target, &kind)?;
                return Ok(Draft { file, is_shared: true, place: Place::Reached });
            }
            // Not cut off, and refused where it could not be written.
            Ok(_) => Some(OpenOptions::new().append(true).open(&target)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        replaced.as_ref().map_or(Ok(()), lock)?;
        let temporary = beside(&target)?;
        let (file, place) = match (open_locked(&temporary), replaced) {
            (Ok(file), replaced) => {
                let old = replaced.as_ref().and_then(|file| file.metadata().ok());
                old.iter().for_each(|old| keep_rights(&file, old));
                (file, Place::Beside { temporary, target, replaced })
            }
            (Err(error), Some(replaced)) if error.kind() == io::ErrorKind::PermissionDenied => {
                (tempfile::tempfile()?, Place::Nameless { target, replaced })
            }
            (Err(error), _) => return Err(error),
        };
        Ok(Draft { file, is_shared: false, place })
    }

    /// Whether the path still leads to what was there when we looked.
    fn replaces_what_is_there(&self) -> bool {
        match &self.place {
            Place::Reached => true,
            Place::Beside { target, replaced: Some(replaced), .. } | Place::Nameless { target, replaced } => {
                is_named(replaced, target)
            }
            Place::Beside { target, replaced: None, .. } => fs::symlink_metadata(target).is_err(),
        }
    }

    /// Puts the file in its place, with what was written so far. More can be written afterwards.
    pub fn publish(&mut self) -> io::Result<()> {
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
        true => Err(Refusal::Input.into()),
        false => Ok(()),
    }
}

/// Whether a path names what somebody has open, as `/dev/fd/1` does. Replaced, nobody would see what is written.
fn is_descriptor(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    folder
        .is_some_and(|folder| folder == Path::new("/dev/fd") || (folder.starts_with("/proc") && folder.ends_with("fd")))
}

/// Opens a device, a pipe or a descriptor. Our own standard output goes on where it is: whoever else writes to it does so behind us.
fn open_as_it_is(path: &Path, kind: &Metadata) -> io::Result<File> {
    if let Some(file) = standard_stream(path) {
        return file;
    }
    // What is in a file already stays there; a device has no end.
    OpenOptions::new().write(true).append(kind.is_file()).open(path)
}

#[cfg(unix)]
fn standard_stream(path: &Path) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    let is_ours = |folder: &Path| fs::canonicalize(folder).ok() == fs::canonicalize("/dev/fd").ok();
    let name = path.file_name().filter(|_| path.parent().is_some_and(is_ours))?;
    let stream = match name.to_str()? {
        "1" => io::stdout().as_fd().try_clone_to_owned(),
        "2" => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(stream.map(File::from))
}

#[cfg(not(unix))]
fn standard_stream(_: &Path) -> Option<io::Result<File>> {
    None
}

/// Whether both paths lead to one file, be it there or not.
pub fn is_one_place(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let path = without_links(path).ok()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some((fs::canonicalize(folder).ok()?, path.file_name()?.to_owned()))
    };
    let is_same_file = || Some(inputs::identity(one)? == inputs::identity(other)?);
    one == other || place(one).is_some_and(|one| place(other) == Some(one)) || is_same_file() == Some(true)
}

/// The path of the file itself, whether it is there or not: a link stays a link.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if is_descriptor(&path) {
            return Ok(path);
        }
        match fs::read_link(&path) {
            // A relative link is relative to the folder that it is in.
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(Refusal::Links.into())
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
        let Some(file) = open_new(path).or_else(|| open_left(path)) else { continue };
        let file = file?;
        lock(&file)?;
        // Whoever had it may have published or removed it between our opening and locking it.
        if is_named(&file, path) {
            refuse_foreign(path, &file.metadata()?)?;
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

/// Makes a file, unless there is one; this follows no link.
fn open_new(path: &Path) -> Option<io::Result<File>> {
    let opened = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    let is_there = opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
    (!is_there).then_some(opened)
}

/// Opens what a killed skew has left, unless somebody has just used it up.
fn open_left(path: &Path) -> Option<io::Result<File>> {
    let foreign = fs::symlink_metadata(path).and_then(|kind| refuse_foreign(path, &kind));
    let opened = foreign.and_then(|()| OpenOptions::new().read(true).write(true).open(path));
    let is_gone = opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    (!is_gone).then_some(opened)
}

/// What a skew leaves is a file of one name. Emptied, a link would lose the content of a file that has another one.
fn refuse_foreign(path: &Path, kind: &Metadata) -> io::Result<()> {
    if kind.is_file() && has_one_name(kind) { Ok(()) } else { Err(Refusal::InTheWay(path.to_owned()).into()) }
}

#[cfg(unix)]
fn has_one_name(file: &Metadata) -> bool {
    // None at all if it was removed this moment.
    std::os::unix::fs::MetadataExt::nlink(file) <= 1
}

#[cfg(not(unix))]
fn has_one_name(_: &Metadata) -> bool {
    true
}

/// The new one is for those whom the old one was for, and belongs to whom that belonged; where that cannot be it is for whoever writes it.
fn keep_rights(file: &File, old: &Metadata) {
    // Rights come last, because another owner takes some of them away.
    keep_owner(file, old);
    let _ = file.set_permissions(old.permissions());
}

#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(file, None, Some(old.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

/// Whether a path is the name of a file that is open; a link to it is not.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: Metadata| (file.dev(), file.ino());
    file.metadata().ok().map(identity) == fs::symlink_metadata(path).ok().map(identity)
}

/// Elsewhere an open file is neither renamed nor removed by others.
#[cfg(not(unix))]
fn is_named(_: &File, _: &Path) -> bool {
    true
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Refusal::Busy.into()),
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
        inputs::note_input(&path);
        for name in [&path, &link, &second, &folder.path().join("./a")] {
            assert!(Draft::new(name).is_err_and(|error| error.to_string().contains("would be lost")));
        }
        inputs::forget(&path);
    }

    #[test]
    #[cfg(unix)]
    fn what_no_skew_has_left_under_the_name_beside_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let [path, beside, victim] = ["a", ".a.skew", "victim"].map(|name| folder.path().join(name));
        let nowhere = folder.path().join("nowhere");
        fs::write(&victim, "secret").unwrap();
        let in_the_way = || Draft::new(&path).is_err_and(|error| error.to_string().contains(".a.skew is in the way"));
        for target in [&victim, &nowhere] {
            std::os::unix::fs::symlink(target, &beside).unwrap();
            assert!(in_the_way());
            fs::remove_file(&beside).unwrap();
        }
        assert!(!nowhere.exists());
        fs::hard_link(&victim, &beside).unwrap();
        assert!(in_the_way());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "secret");
        fs::remove_file(&beside).unwrap();
        fs::write(&beside, "half a history").unwrap();
        Draft::new(&path).unwrap().publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "", "what a killed one left is used again");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_in_memory_is_a_file_like_any_other() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = folder.path().join("a");
        fs::write(&path, "longer than what comes").unwrap();
        let mut draft = Draft::new(&path).unwrap();
        assert!(Draft::new(&path).is_err(), "it is locked");
        draft.file.write_all(b"new").unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_open_already_is_written_behind_its_end() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old ").unwrap();
        let open = File::open(&path).unwrap();
        for name in [format!("/dev/fd/{}", open.as_raw_fd()), format!("/proc/self/fd/{}", open.as_raw_fd())] {
            let mut draft = Draft::new(Path::new(&name)).unwrap();
            assert!(draft.is_shared);
            draft.file.write_all(b"new ").unwrap();
            draft.publish().unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "old new new ");
    }

    #[test]
    #[cfg(unix)]
    fn what_another_has_published_meanwhile_is_not_replaced_unseen() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["a", "other"].map(|name| folder.path().join(name));
        for is_there in [false, true] {
            if is_there {
                fs::write(&path, "old").unwrap();
            }
            let draft = Draft::begin(path.clone()).unwrap();
            assert!(draft.replaces_what_is_there());
            fs::write(&other, "of another").unwrap();
            fs::rename(&other, &path).unwrap();
            assert!(!draft.replaces_what_is_there(), "so that it is begun again");
            drop(draft);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_owner_stays_the_owner_where_we_may_give_files_away() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // Only root may; for others the rights are what is left to look at.
        let _ = chown(&path, Some(4711), Some(4712));
        let rights = |file: Metadata| (file.uid(), file.gid(), file.mode());
        let before = rights(fs::metadata(&path).unwrap());
        Draft::new(&path).unwrap().publish().unwrap();
        assert_eq!(rights(fs::metadata(&path).unwrap()), before);
    }

    #[test]
    fn one_place_has_many_names() {
        let folder = tempfile::tempdir().unwrap();
        let [path, dotted, other] = ["a", "./a", "b"].map(|name| folder.path().join(name));
        assert!(is_one_place(&path, &dotted) && !is_one_place(&path, &other), "while nothing is there");
        fs::write(&path, "").unwrap();
        fs::hard_link(&path, &other).unwrap();
        assert!(is_one_place(&path, &other), "a second name of it");
    }
}
