//! One run of a command: a fresh database, the command with the database in its environment, and what came of it.
//!
//! ```text
//!   database ── server at a free port ── DATABASE_URL, PGHOST, … ── command ── exit code ── server stops ── history
//! ```

use super::family::{End, Family};
use super::{Arguments, database};
use crate::input::{Complaint, cannot};
use crate::output::RecordKeeper;
use skew_mockdb::wire::{RunningServer, WireSummary};
use skew_mockdb::{Campaign, ChoiceLog, Overruled, Record, Tape};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How much of the end of a command's output is shown.
const MOST_SHOWN: u64 = 64 << 10;
/// The user and the database that the command is told.
const NAME: &str = "skew";

/// How the command ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::command) enum Ended {
    /// With this status, in words; 0 is success.
    Well,
    /// Not well, in words.
    Badly(String),
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// Nobody wanted to know any more.
    GivenUp,
}

/// What came of a run.
pub(super) struct Ran {
    pub(super) seed: u64,
    pub(super) ended: Ended,
    /// What the command printed, unless everybody saw it; the end of it.
    pub(super) output: Option<String>,
    /// The history in the native format.
    pub(super) history: String,
    /// Whether the file of its choices holds all of them.
    pub(super) has_log: bool,
    pub(super) summary: WireSummary,
}

/// Where a run is kept.
struct RunFiles {
    history: Option<PathBuf>,
    choices: Option<PathBuf>,
    output: Option<PathBuf>,
}

/// A history that is looked at when the run is over, and a file of it that is there even when nobody comes to look.
struct Both(Tape, Option<Box<dyn Write + Send>>);

impl Write for Both {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(file) = &mut self.1 {
            file.write_all(bytes)?;
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.1.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// What all runs have in common.
pub(super) struct Plan<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) initial: Option<(String, String)>,
    pub(super) log: Option<ChoiceLog>,
    pub(super) novelty: Campaign,
    /// Levels that clients did not get are told of once, not in every run.
    pub(super) overruled: Overruled,
    /// Whether the command's output goes to where ours goes.
    pub(super) shows_output: bool,
    /// Knows whether runs are still recorded.
    pub(super) keeper: RecordKeeper,
}

impl Plan<'_> {
    /// Runs the command once, for as long as somebody wants to know what comes of it.
    pub(super) fn run(&self, seed: u64, is_given_up: impl Fn() -> bool) -> Result<Ran, Complaint> {
        let (history, paths) = (Tape::default(), self.files(seed));
        let files = self.keeper.claim(paths.history.as_deref(), paths.choices.as_deref())?;
        let record = database::record(&files);
        let record = Record { history: Some(Box::new(Both(history.clone(), record.history))), ..record };
        let server = self.serve(seed, record)?;
        files.refuse_failed()?;
        let output = if self.shows_output { None } else { Some(scratch_file()?) };
        let family = self.spawn(server.address(), output.as_ref())?;
        // A command that cannot be run leaves what an earlier one has recorded.
        if let Err(complaint) = files.publish() {
            let _ = family.wait(None, || true);
            return Err(complaint);
        }
        let ended = ended_of(family.wait(self.arguments.timeout, || is_given_up() || files.ends_run()));
        let mut ran = Ran {
            seed,
            ended,
            output: output.map(read_end).transpose()?,
            summary: server.stop(),
            history: history.text(),
            has_log: false,
        };
        ran.has_log = files.choices.is_some() && files.failure().is_none();
        if let Some(failure) = files.failure().filter(|_| files.ends_run()) {
            let what = format!("recording stopped: {}", failure.what());
            return Err(Complaint::new(&format!("the run of seed {seed}"), what, failure.left()));
        }
        if let (Some(path), Some(output)) = (paths.output, &ran.output) {
            self.keeper.keep(&path, output)?;
        }
        Ok(ran)
    }

    /// Where a run is kept, as far as that was asked.
    fn files(&self, seed: u64) -> RunFiles {
        let folder = self.arguments.record_folder();
        let inside = |ending: &str| folder.map(|folder| folder.join(format!("{seed}.{ending}")));
        RunFiles {
            history: inside("jsonl").or_else(|| self.arguments.record.clone()),
            choices: self.arguments.choices_file(seed),
            output: inside("output"),
        }
    }

    fn serve(&self, seed: u64, record: Record) -> Result<RunningServer, Complaint> {
        let mut database =
            database::fresh(self.arguments, self.initial.as_ref(), self.log.as_ref(), seed, &self.novelty, record)?;
        database.overruled = self.overruled.clone();
        self.arguments.listen(database)
    }

    fn spawn(&self, address: SocketAddr, output: Option<&File>) -> Result<Family, Complaint> {
        spawn(&self.arguments.command, address, self.arguments.password.as_deref(), output)
    }
}

/// Starts a command whose database is at this address; what it prints goes into a file, or to where ours goes.
pub(in crate::command) fn spawn(
    words: &[String],
    address: SocketAddr,
    password: Option<&str>,
    output: Option<&File>,
) -> Result<Family, Complaint> {
    let Some((program, words)) = words.split_first() else {
        return Err(Complaint::new("skew", "there is no command".to_owned(), "write it behind --"));
    };
    let mut command = Command::new(program);
    command.args(words);
    name_database(&mut command, address, password);
    if let Some(file) = output {
        let clone = || file.try_clone().map_err(|error| scratch_complaint(&error));
        command.stdin(Stdio::null()).stdout(clone()?).stderr(clone()?);
    }
    Family::start(command, output.is_none())
        .map_err(|error| Complaint::new(program, format!("cannot be run: {error}"), "check the command behind --"))
}

/// Tells a command where its database is, in the words that libraries know.
fn name_database(command: &mut Command, address: SocketAddr, password: Option<&str>) {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let user = match password {
        Some(password) => format!("{NAME}:{}", escaped(password)),
        None => NAME.to_owned(),
    };
    let place = SocketAddr::new(host, address.port());
    command.env("DATABASE_URL", format!("postgresql://{user}@{place}/{NAME}"));
    command.env("PGHOST", host.to_string()).env("PGPORT", address.port().to_string());
    command.env("PGUSER", NAME).env("PGDATABASE", NAME).env("PGSSLMODE", "disable");
    // What would lead elsewhere goes.
    for name in ["PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGPASSFILE", "PGPASSWORD"] {
        command.env_remove(name);
    }
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
}

/// A password as part of a URL.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => (byte as char).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

pub(in crate::command) fn ended_of(end: std::io::Result<End>) -> Ended {
    match end {
        Ok(End::Status(status)) => match status.code() {
            Some(0) => Ended::Well,
            Some(code) => Ended::Badly(format!("exit code {code}")),
            None => Ended::Badly(status.to_string()),
        },
        Ok(End::TooLate) => Ended::Badly("did not end in time".to_owned()),
        Ok(End::Interrupted) => Ended::Interrupted,
        Ok(End::GivenUp) => Ended::GivenUp,
        Err(error) => Ended::Badly(format!("cannot be waited for: {error}")),
    }
}

fn scratch_complaint(error: &std::io::Error) -> Complaint {
    Complaint::new("the folder for temporary files", cannot("use", error), "set TMPDIR to one that can be written")
}

/// A file without a name: it is gone when it is closed.
pub(in crate::command) fn scratch_file() -> Result<File, Complaint> {
    tempfile::tempfile().map_err(|error| scratch_complaint(&error))
}

pub(in crate::command) fn read_end(mut file: File) -> Result<String, Complaint> {
    let mut read = || {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_SHOWN)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().map_err(|error| scratch_complaint(&error))
}
