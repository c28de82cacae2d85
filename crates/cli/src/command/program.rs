//! A program file as `play`, `explore` and `predict` read it, and the choices that they have in common.

use crate::input::{Complaint, cannot};
use crate::output::note_input;
use skew_campaign::confirmed::{ConfirmOn, LiveServers};
use skew_campaign::{Moment, ProgramFile};
use skew_history::IsolationLevel;
use skew_mockdb::Updates;
use skew_sql::Granularity;
use std::fs;
use std::io::Read;
use std::path::Path;

/// The largest program that is read.
const LARGEST_PROGRAM: u64 = 16 << 20;

/// Reads a file, whose time begins at a moment, and which is asked at these levels; `-` is standard input.
pub(super) fn read(path: &Path, clock: Moment, levels: &[IsolationLevel]) -> Result<ProgramFile, Complaint> {
    let name = path.to_string_lossy().into_owned();
    let text = text_of(path, &name)?;
    ProgramFile::parse(name, text, clock, levels)
}

/// What is in a file of SQL.
pub(super) fn text_of(path: &Path, name: &str) -> Result<String, Complaint> {
    let bytes = bytes_of(path, name, LARGEST_PROGRAM + 1)?;
    if bytes.len() as u64 > LARGEST_PROGRAM {
        let message = "the program has more than 16 MiB".to_owned();
        return Err(Complaint::new(name, message, "is it the right file?"));
    }
    String::from_utf8(bytes)
        .map_err(|_| Complaint::new(name, "the program is not UTF-8".to_owned(), "convert it to UTF-8"))
}

/// What is in a file, up to so many bytes.
pub(super) fn bytes_of(path: &Path, name: &str, most: u64) -> Result<Vec<u8>, Complaint> {
    let advice = "check the name; `-` is standard input";
    let complain = |error: std::io::Error| Complaint::new(name, cannot("read", &error), advice);
    note_input(path);
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map(|_| bytes).map_err(complain)
}

/// Whether what was found is made once more.
#[derive(clap::Args)]
pub(super) struct Confirming {
    /// At levels of engines: make counterexamples once more on a real server, at this URL or on throw-away ones that are started for it
    #[arg(long, value_name = "URL|up")]
    pub(super) confirm: Option<ConfirmOn>,
}

impl Confirming {
    /// The servers, if they are asked for; of a level that is no engine's there are none.
    pub(super) fn servers(&self, name: &str, levels: &[IsolationLevel]) -> Result<Option<LiveServers>, Complaint> {
        self.confirm.as_ref().map(|on| LiveServers::new(on, name, levels)).transpose()
    }
}

/// Whether updates lock.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(super) enum UpdatesArgument {
    /// Every write and locking read takes the row's lock and reads its latest version
    Atomic,
    /// Ordinary reads and writes, as in the papers
    Plain,
}

impl From<UpdatesArgument> for Updates {
    fn from(argument: UpdatesArgument) -> Updates {
        match argument {
            UpdatesArgument::Atomic => Updates::Atomic,
            UpdatesArgument::Plain => Updates::Plain,
        }
    }
}

/// What is one key.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(super) enum GranularityArgument {
    /// A row
    Row,
    /// A column of a row
    Cell,
}

impl From<GranularityArgument> for Granularity {
    fn from(argument: GranularityArgument) -> Granularity {
        match argument {
            GranularityArgument::Row => Granularity::Row,
            GranularityArgument::Cell => Granularity::Cell,
        }
    }
}

/// Text or JSON.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(super) enum Format {
    /// Text for people
    Human,
    /// JSON for programs
    Json,
}
