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

pub(crate) use skew_campaign::Complaint;
pub(crate) use skew_campaign::input::Input;

use crate::clock;
use crate::output::note_input;
use skew_campaign::input::{InputLimits, NamedBytes, cobra_log_number, read_all};
use skew_history::format::Format;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How much an input may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::Args)]
pub(crate) struct Limits {
    /// How large an input may be once unpacked
    #[arg(long, value_parser = InputLimits::parse_size, default_value = "16GiB", value_name = "SIZE")]
    max_size: u64,
    /// How many times its size a packed input may unpack to, beyond 8 MiB
    #[arg(long, default_value_t = InputLimits::USUAL.ratio, value_name = "N")]
    max_ratio: u64,
}

impl From<Limits> for InputLimits {
    fn from(limits: Limits) -> InputLimits {
        InputLimits { size: limits.max_size, ratio: limits.max_ratio }
    }
}

/// The help of `--from`.
pub(crate) fn from_help() -> String {
    format!("The format of the input, where it is not recognised: {}", Format::list(&Format::ALL))
}

/// Where an input is.
#[derive(Debug)]
pub(crate) enum Location {
    StandardInput,
    File(PathBuf),
    /// A folder and the logs in it.
    Cobra(PathBuf, Vec<PathBuf>),
}

/// The inputs that an argument names; `advice` is for a folder that holds none.
pub(crate) fn locate(argument: &Path, advice: &str) -> Result<Vec<Location>, Complaint> {
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
        return Err(Complaint::new(&named, "the folder holds no files".to_owned(), advice));
    }
    Ok(locations)
}

/// What to name where histories are wanted.
pub(crate) const HISTORIES: &str = "name a file, or a folder that holds history files or the T<n>.log files of Cobra";

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
    let number = |file: &PathBuf| cobra_log_number(&file.to_string_lossy());
    let mut logs: Vec<(u64, &PathBuf)> = files.iter().filter_map(|file| Some((number(file)?, file))).collect();
    logs.sort();
    logs.into_iter().map(|(_, file)| file.clone()).collect()
}

impl Location {
    /// A file of this name, or standard input.
    pub(crate) fn named(path: &Path) -> Location {
        if path == Path::new("-") { Location::StandardInput } else { Location::File(path.to_owned()) }
    }

    /// What a file holds, unpacked; of an archive its last one.
    pub(crate) fn bytes(&self, limits: impl Into<InputLimits>) -> Result<Vec<u8>, Complaint> {
        let file = self.open(limits)?.pop().and_then(|mut input| input.files.pop());
        Ok(file.map(|file| file.bytes).unwrap_or_default())
    }

    /// What the user calls it.
    pub(crate) fn name(&self) -> String {
        match self {
            Location::StandardInput => "-".to_owned(),
            Location::File(path) | Location::Cobra(path, _) => path.to_string_lossy().into_owned(),
        }
    }

    /// Reads what is there: one input, or several from an archive. The limits are on the bytes after unpacking.
    pub(crate) fn open(&self, limits: impl Into<InputLimits>) -> Result<Vec<Input>, Complaint> {
        let limits = limits.into();
        match self {
            Location::StandardInput => {
                note_input(Path::new("-"));
                Input::all(&self.name(), Box::new(Stoppable(io::stdin().lock())), None, limits)
            }
            Location::File(path) => {
                let (file, size) = open_file(path)?;
                Input::all(&self.name(), file, size, limits)
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
    let bytes = read_all(&name, file, size, limit)?;
    Ok(NamedBytes { name, bytes })
}

pub(crate) fn cannot(what: &str, error: &io::Error) -> String {
    format!("cannot {what} it: {error}")
}
