//! From what the user names to histories.
//!
//! ```text
//!   -                   standard input                        one history
//!   a.jsonl             a file, packed or not                 one history, or several when it is a .tar
//!   logs/               a folder that holds T0.log, T1.log …  one Cobra history
//!   runs/               any other folder                      its files and folders, sorted, each as above
//! ```
//!
//! [`locate`] looks at names only; [`Location::open`] reads. So of a folder with many files only one is in memory at a time, and its
//! bytes go as soon as the history is built.

mod archive;
mod complaint;
mod unpack;

pub(crate) use skew_campaign::Complaint;

use crate::clock;
use crate::output::note_input;
use sha2::{Digest, Sha256};
use skew_history::History;
use skew_history::format::{self, Format, Source, Unfinished};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How much an input may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::Args)]
pub(crate) struct Limits {
    /// How large an input may be once unpacked
    #[arg(id = "max_size", long = "max-size", value_parser = parse_size, default_value = "16GiB", value_name = "SIZE")]
    pub(crate) size: u64,
    /// How many times its size a packed input may unpack to, beyond 8 MiB
    #[arg(id = "max_ratio", long = "max-ratio", default_value_t = LARGEST_RATIO, value_name = "N")]
    pub(crate) ratio: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { size: LARGEST_INPUT, ratio: LARGEST_RATIO }
    }
}

/// The default limit on what an input may unpack to.
const LARGEST_INPUT: u64 = 16 << 30;
/// The default limit on how many times its size that is.
const LARGEST_RATIO: u64 = 200;

/// One file in memory.
pub(crate) struct NamedBytes {
    /// Its name without the ending that says how it is packed: formats are recognised by it.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The files of one history.
pub(crate) struct Input {
    /// What the user calls it.
    pub(crate) name: String,
    pub(crate) files: Vec<NamedBytes>,
}

impl Input {
    /// The hash that binds a certificate to this input: of the bytes for a file, of all names and bytes for a folder. Packing changes
    /// neither, so a certificate of a file is one of the packed file too.
    pub(crate) fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        match self.files.as_slice() {
            [file] if !archive::is_cobra_log(&file.name) => hash.update(&file.bytes),
            files => files.iter().for_each(|file| {
                let name = base_name(&file.name);
                // Lengths first, or `a` + `bc` would be `ab` + `c`.
                hash.update((name.len() as u64).to_be_bytes());
                hash.update(name);
                hash.update((file.bytes.len() as u64).to_be_bytes());
                hash.update(&file.bytes);
            }),
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The history, and the format it was in.
    pub(crate) fn read(&self, from: Option<Format>) -> Result<(Format, History), Complaint> {
        let (format, unfinished) = self.take_in(from)?;
        let history = unfinished.finish().map_err(|error| complaint::of_input(self, &error))?;
        Ok((format, history))
    }

    /// The same, letting go of the bytes as early as possible.
    pub(crate) fn into_history(mut self, from: Option<Format>) -> Result<(Format, History), Complaint> {
        let (format, unfinished) = self.take_in(from)?;
        // The bytes of a small input may still be shown beside a complaint; those of a large one are in the way.
        if self.files.iter().map(|file| file.bytes.len()).sum::<usize>() > LARGE {
            self.files.iter_mut().for_each(|file| file.bytes = Vec::new());
        }
        let history = unfinished.finish().map_err(|error| complaint::of_input(&self, &error))?;
        Ok((format, history))
    }

    fn take_in(&self, from: Option<Format>) -> Result<(Format, Unfinished), Complaint> {
        let sources: Vec<Source<'_>> =
            self.files.iter().map(|file| Source { name: &file.name, bytes: &file.bytes }).collect();
        let outcome = from.map_or_else(|| format::detect(&sources), Ok);
        let outcome = outcome.and_then(|format| Ok((format, format::take_in(&sources, format)?)));
        outcome.map_err(|error| complaint::of_input(self, &error))
    }
}

/// Inputs beyond this size are dropped before their history is put in order.
const LARGE: usize = 64 << 20;

/// Where an input is.
#[derive(Debug)]
pub(crate) enum Location {
    StandardInput,
    File(PathBuf),
    /// A folder and the logs in it.
    Cobra(PathBuf, Vec<PathBuf>),
}

/// The inputs that an argument names.
pub(crate) fn locate(argument: &Path) -> Result<Vec<Location>, Complaint> {
    if argument == Path::new("-") {
        return Ok(vec![Location::StandardInput]);
    }
    let named = argument.to_string_lossy().into_owned();
    let kind = fs::metadata(argument)
        .map_err(|error| Complaint::new(&named, cannot("read", &error), "check the name; `-` is standard input"))?;
    if !kind.is_dir() {
        return Ok(vec![Location::File(argument.to_owned())]);
    }
    let locations = walk(argument).map_err(|(folder, error)| {
        Complaint::new(&folder.to_string_lossy(), cannot("read", &error), "check that you may read all of this folder")
    })?;
    if locations.is_empty() {
        let advice = "name a file, or a folder that holds history files or the T<n>.log files of Cobra";
        return Err(Complaint::new(&named, "the folder holds no files".to_owned(), advice));
    }
    Ok(locations)
}

/// All inputs below a folder, sorted by path. Hidden files are not ours; a linked folder could lead round and round.
/// What cannot be read comes back by name.
fn walk(folder: &Path) -> Result<Vec<Location>, (PathBuf, io::Error)> {
    let mut found: Vec<(PathBuf, Location)> = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let mut files = Vec::new();
        let broken = |error| (folder.clone(), error);
        for entry in fs::read_dir(&folder).map_err(broken)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))).map_err(broken)?;
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            match hidden {
                true => {}
                false if kind.is_dir() => open.push(path),
                false if path.is_file() => files.push(path),
                false => {}
            }
        }
        let logs = cobra_logs(&files);
        if logs.is_empty() {
            found.extend(files.into_iter().map(|file| (file.clone(), Location::File(file))));
        } else {
            found.push((folder.clone(), Location::Cobra(folder, logs)));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found.into_iter().map(|(_, location)| location).collect())
}

/// The logs among these files, by their number.
fn cobra_logs(files: &[PathBuf]) -> Vec<PathBuf> {
    let number = |file: &PathBuf| archive::cobra_log_number(&file.to_string_lossy());
    let mut logs: Vec<(u64, &PathBuf)> = files.iter().filter_map(|file| Some((number(file)?, file))).collect();
    logs.sort();
    logs.into_iter().map(|(_, file)| file.clone()).collect()
}

impl Location {
    /// What the user calls it.
    pub(crate) fn name(&self) -> String {
        match self {
            Location::StandardInput => "-".to_owned(),
            Location::File(path) | Location::Cobra(path, _) => path.to_string_lossy().into_owned(),
        }
    }

    /// Reads what is there: one input, or several from an archive. The limits are on the bytes after unpacking.
    pub(crate) fn open(&self, limits: Limits) -> Result<Vec<Input>, Complaint> {
        match self {
            Location::StandardInput => {
                note_input(Path::new("-"));
                archive::open(&self.name(), Box::new(Stoppable(io::stdin().lock())), None, limits)
            }
            Location::File(path) => {
                let (file, size) = open_file(path)?;
                archive::open(&self.name(), file, size, limits)
            }
            Location::Cobra(_, logs) => {
                let files = logs.iter().map(|log| read_log(log, limits.size)).collect::<Result<_, _>>()?;
                Ok(vec![Input { name: self.name(), files }])
            }
        }
    }
}

/// A reader that ends when time is over.
struct Stoppable<R>(R);

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A large buffer is filled in pieces, or nobody would look at the flag for seconds.
        const PIECE: usize = 1 << 23;
        if clock::is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        let end = buffer.len().min(PIECE);
        self.0.read(&mut buffer[..end])
    }
}

fn open_file(path: &Path) -> Result<(Box<dyn Read>, Option<u64>), Complaint> {
    let open = || {
        let file = File::open(path)?;
        note_input(path);
        let size = file.metadata()?.len();
        Ok((Box::new(Stoppable(file)) as Box<dyn Read>, Some(size)))
    };
    open().map_err(|error: io::Error| {
        Complaint::new(&path.to_string_lossy(), cannot("read", &error), "check the name and that you may read it")
    })
}

fn read_log(path: &Path, limit: u64) -> Result<NamedBytes, Complaint> {
    let (file, size) = open_file(path)?;
    let name = path.to_string_lossy().into_owned();
    let bytes = unpack::read_all(file, size, limit).map_err(|error| error.complaint(&name))?;
    Ok(NamedBytes { name, bytes })
}

pub(crate) fn cannot(what: &str, error: &io::Error) -> String {
    format!("cannot {what} it: {error}")
}

fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Reads `16GiB`, `100MB` or a number of bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let units: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("B", 1),
        ("", 1),
    ];
    let parsed = units.into_iter().find_map(|(unit, bytes)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(bytes)
    });
    parsed.ok_or_else(|| format!("`{text}` is not a size; write it like 16GiB, 100MB or 4096"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(files: &[(&str, &str)]) -> Input {
        let file = |&(name, text): &(&str, &str)| NamedBytes { name: name.to_owned(), bytes: text.into() };
        Input { name: String::new(), files: files.iter().map(file).collect() }
    }

    #[test]
    fn the_hash_of_a_file_is_the_usual_one() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(input(&[("x", "abc")]).sha256(), expected);
    }

    #[test]
    fn the_hash_of_a_folder_depends_on_names_and_on_where_files_end() {
        let one = input(&[("a/T0.log", "ab"), ("a/T1.log", "c")]).sha256();
        assert_eq!(one, input(&[("b/T0.log", "ab"), ("b/T1.log", "c")]).sha256());
        assert_ne!(one, input(&[("a/T0.log", "a"), ("a/T1.log", "bc")]).sha256());
        assert_ne!(one, input(&[("a/T0.log", "ab"), ("a/T2.log", "c")]).sha256());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("16GiB"), Ok(LARGEST_INPUT));
        assert_eq!(parse_size("3 kB"), Ok(3000));
        assert_eq!(parse_size("7"), Ok(7));
        assert!(parse_size("much").is_err() && parse_size("99999999999TiB").is_err());
    }
}
