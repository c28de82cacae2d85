//! One file as a stream: unpacked if it is packed, taken apart if it is a `.tar`.
//!
//! ```text
//!   runs.tar.xz ── xz ── tar ──┬── first/T0.log  first/T1.log   one Cobra history, `runs.tar.xz/first`
//!                              └── second.jsonl                 one history, `runs.tar.xz/second.jsonl`
//! ```
//!
//! Archives are known by the word `ustar` in their first header, very old ones by their name. Files inside an archive may be packed
//! themselves, and may be archives in turn, a few deep.

use super::unpack::{self, Bound, UnpackError};
use super::{Complaint, Input, InputLimits, NamedBytes, base_name};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::rc::Rc;
use tar::Archive;

/// The size of a header in a `.tar`, and where its magic word stands.
const HEADER: u64 = 512;
const MAGIC: std::ops::Range<usize> = 257..262;
/// How deep archives may lie in archives.
const DEEPEST: usize = 3;

/// Reads one file or standard input.
pub(super) fn open(
    name: &str,
    bytes: Box<dyn Read>,
    size: Option<u64>,
    limits: InputLimits,
) -> Result<Vec<Input>, Complaint> {
    let bound = Bound::new(limits);
    let fail = |error: UnpackError| bound.explain(error).complaint(name);
    let bytes = bound.drawn(bytes);
    let mut bytes = unpack::unpacked(bytes, &bound).map_err(|error| fail(UnpackError::Broken(0, error)))?;
    let start = unpack::read_all(bytes.by_ref().take(HEADER), None, HEADER).map_err(fail)?;
    let is_archive = has_magic(&start) || is_named_archive(name);
    let whole = Cursor::new(start).chain(bytes);
    if is_archive {
        let mut contents = Contents { folders: BTreeMap::new(), left: limits.size, bound: Rc::clone(&bound) };
        contents.take_apart(name, "", Box::new(whole), DEEPEST)?;
        return not_empty(name, contents.into_inputs(name));
    }
    let bytes = unpack::read_all(whole, size, limits.size).map_err(fail)?;
    let file = NamedBytes { name: without_packing(name).to_owned(), bytes };
    Ok(vec![Input { name: name.to_owned(), files: vec![file] }])
}

fn not_empty(name: &str, inputs: Vec<Input>) -> Result<Vec<Input>, Complaint> {
    match inputs.is_empty() {
        true => {
            Err(Complaint::new(name, "the archive holds no files".to_owned(), "check that this is the file you meant"))
        }
        false => Ok(inputs),
    }
}

fn has_magic(bytes: &[u8]) -> bool {
    bytes.get(MAGIC).is_some_and(|magic| magic == b"ustar")
}

/// The files of an archive, by folder and name.
struct Contents {
    folders: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// How many bytes may still come.
    left: u64,
    /// How many may come out of the whole file.
    bound: Rc<Bound>,
}

impl Contents {
    /// Takes an archive apart, which stands in the folder `within` of the whole.
    fn take_apart(&mut self, name: &str, within: &str, bytes: Box<dyn Read>, depth: usize) -> Result<(), Complaint> {
        let bound = Rc::clone(&self.bound);
        let broken = |error| bound.explain(UnpackError::Broken(0, error)).complaint(name);
        let mut archive = Archive::new(bytes);
        for entry in archive.entries().map_err(broken)? {
            let entry = entry.map_err(broken)?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let path = path.trim_start_matches("./");
            if !entry.header().entry_type().is_file() || base_name(path).starts_with('.') {
                continue;
            }
            let inside = format!("{name}/{path}");
            let path = if within.is_empty() { path.to_owned() } else { format!("{within}/{path}") };
            let bytes = read_entry(entry, self.left, &bound).map_err(|error| match bound.explain(error) {
                // What counts is what the whole archive unpacks to.
                UnpackError::TooLarge(_) => UnpackError::TooLarge(bound.limits().size).complaint(name),
                packed @ UnpackError::TooPacked(_) => packed.complaint(name),
                broken => broken.complaint(&inside),
            })?;
            match has_magic(&bytes) {
                true if depth == 0 => {
                    let what = "archives lie too deep within one another".to_owned();
                    return Err(Complaint::new(&inside, what, "unpack the outer ones first"));
                }
                true => self.take_apart(&inside, &path, Box::new(Cursor::new(bytes)), depth - 1)?,
                false => self.add(&path, bytes),
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &str, bytes: Vec<u8>) {
        self.left -= bytes.len() as u64;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        self.folders.entry(folder.to_owned()).or_default().insert(file.to_owned(), bytes);
    }
}

/// The unpacker asks for a stream of its own, which an entry is not: a packed entry is small enough to hold twice.
fn read_entry(mut entry: impl Read, left: u64, bound: &Rc<Bound>) -> Result<Vec<u8>, UnpackError> {
    let packed = unpack::read_all(&mut entry, None, left)?;
    if !unpack::is_packed(&packed) {
        return Ok(packed);
    }
    let packed: Box<dyn Read> = Box::new(Cursor::new(packed));
    let bytes = unpack::unpacked(packed, bound).map_err(|error| UnpackError::Broken(0, error))?;
    unpack::read_all(bytes, None, left)
}

impl Contents {
    fn into_inputs(self, archive: &str) -> Vec<Input> {
        let mut inputs = Vec::new();
        for (folder, files) in self.folders {
            let name = if folder.is_empty() { archive.to_owned() } else { format!("{archive}/{folder}") };
            if files.keys().any(|file| is_cobra_log(file)) {
                inputs.push(cobra_input(name, files));
                continue;
            }
            for (file, bytes) in files {
                let file = format!("{name}/{file}");
                let files = vec![NamedBytes { name: without_packing(&file).to_owned(), bytes }];
                inputs.push(Input { name: file, files });
            }
        }
        inputs
    }
}

fn cobra_input(name: String, files: BTreeMap<String, Vec<u8>>) -> Input {
    let logs = files.into_iter().filter_map(|(file, bytes)| Some((cobra_log_number(&file)?, file, bytes)));
    let mut logs: Vec<(u64, String, Vec<u8>)> = logs.collect();
    logs.sort();
    let named = |(_, file, bytes)| NamedBytes { name: format!("{name}/{file}"), bytes };
    Input { files: logs.into_iter().map(named).collect(), name }
}

/// The number of a log of Cobra: 3 for `T3.log`.
pub fn cobra_log_number(name: &str) -> Option<u64> {
    let digits = base_name(name).strip_prefix('T')?.strip_suffix(".log")?;
    let is_number = digits.bytes().all(|letter| letter.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// Whether the name is that of a log of Cobra.
pub(super) fn is_cobra_log(name: &str) -> bool {
    cobra_log_number(name).is_some()
}

fn without_packing(name: &str) -> &str {
    let endings = [".gz", ".xz", ".zst", ".zstd"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

fn is_named_archive(name: &str) -> bool {
    let name = without_packing(name);
    [".tar", ".tgz", ".txz"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_cobra_are_known_by_their_names() {
        assert_eq!(cobra_log_number("a/b/T12.log"), Some(12));
        for other in ["T.log", "T1.log.error", "T+1.log", "xT1.log", "T1/x", "T99999999999999999999.log"] {
            assert_eq!(cobra_log_number(other), None, "{other}");
        }
    }

    #[test]
    fn an_archive_of_folders_is_a_history_per_folder() {
        let file = |name: &str| (name.to_owned(), Vec::new());
        let folders = BTreeMap::from([
            ("b".to_owned(), BTreeMap::from([file("T10.log"), file("T9.log"), file("T9.error")])),
            (String::new(), BTreeMap::from([file("x.jsonl.gz")])),
        ]);
        let inputs = Contents { folders, left: 0, bound: Bound::new(InputLimits::USUAL) }.into_inputs("a.tar");
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["a.tar/x.jsonl.gz", "a.tar/b"]);
        let files: Vec<&str> = inputs[1].files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(files, ["a.tar/b/T9.log", "a.tar/b/T10.log"]);
        assert_eq!(inputs[0].files[0].name, "a.tar/x.jsonl");
    }
}
