//! A command that uses a database: how it is told where that is, how it ended, what it printed.
//!
//! ```text
//!   server at a free port ── DATABASE_URL, PGHOST, … ── command ── exit code
//! ```

use crate::family::{Family, FamilyEnd};
use crate::{Complaint, StopFlags};
use skew_value::Dialect;
use skew_workload::Url;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Command, Stdio};

/// How much of the end of a command's output is shown.
const MOST_SHOWN: u64 = 64 << 10;
/// The user and the database that the command is told.
const NAME: &str = "skew";

/// How the command ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommandEnd {
    /// With exit code 0.
    Well,
    /// Not well, in words.
    Badly(String),
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// Nobody wanted to know any more.
    GivenUp,
}

/// A command as it is started.
#[derive(Clone, Copy, Debug)]
pub struct CommandLine<'a> {
    /// Its words.
    pub words: &'a [String],
    /// What its database asks for.
    pub password: Option<&'a str>,
    /// Whether there is a terminal that it may read from, where its output goes to where ours goes.
    pub has_terminal: bool,
}

/// Starts a command whose database is at this address; what it prints goes into a file, or to where ours goes.
pub fn spawn<'a>(
    line: CommandLine<'_>,
    address: SocketAddr,
    output: Option<&File>,
    stop: StopFlags<'a>,
) -> Result<Family<'a>, Complaint> {
    let Some((program, words)) = line.words.split_first() else {
        return Err(Complaint::new("skew", "there is no command".to_owned(), "write it behind --"));
    };
    let mut command = Command::new(program);
    command.args(words);
    name_database(&mut command, &reached(address, line.password));
    if let Some(file) = output {
        let clone = || file.try_clone().map_err(|error| scratch_complaint(&error));
        command.stdin(Stdio::null()).stdout(clone()?).stderr(clone()?);
    }
    Family::start(command, output.is_none() && line.has_terminal, stop)
        .map_err(|error| Complaint::new(program, format!("cannot be run: {error}"), "check the command behind --"))
}

/// The server at an address, as a command on this machine reaches it.
fn reached(address: SocketAddr, password: Option<&str>) -> Url {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    Url {
        dialect: Dialect::Postgres,
        user: NAME.to_owned(),
        password: password.map(str::to_owned),
        host: host.to_string(),
        port: address.port(),
        database: NAME.to_owned(),
    }
}

/// Tells a command where its database is, in the words that libraries know.
pub fn name_database(command: &mut Command, server: &Url) {
    command.env("DATABASE_URL", server.with_password());
    if server.dialect != Dialect::Postgres {
        return;
    }
    command.env("PGHOST", &server.host).env("PGPORT", server.port.to_string());
    command.env("PGUSER", &server.user).env("PGDATABASE", &server.database).env("PGSSLMODE", "disable");
    // What would lead elsewhere goes.
    for name in ["PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGPASSFILE", "PGPASSWORD"] {
        command.env_remove(name);
    }
    if let Some(password) = &server.password {
        command.env("PGPASSWORD", password);
    }
}

/// What its end says about a command.
pub fn ended_of(end: std::io::Result<FamilyEnd>) -> CommandEnd {
    match end {
        Ok(FamilyEnd::Status(status)) => match status.code() {
            Some(0) => CommandEnd::Well,
            Some(code) => CommandEnd::Badly(format!("exit code {code}")),
            None => CommandEnd::Badly(status.to_string()),
        },
        Ok(FamilyEnd::TooLate) => CommandEnd::Badly("did not end in time".to_owned()),
        Ok(FamilyEnd::Interrupted) => CommandEnd::Interrupted,
        Ok(FamilyEnd::GivenUp) => CommandEnd::GivenUp,
        Err(error) => CommandEnd::Badly(format!("cannot be waited for: {error}")),
    }
}

fn scratch_complaint(error: &std::io::Error) -> Complaint {
    let what = format!("cannot use it: {error}");
    Complaint::new("the folder for temporary files", what, "set TMPDIR to one that can be written")
}

/// A file without a name: it is gone when it is closed.
pub fn scratch_file() -> Result<File, Complaint> {
    tempfile::tempfile().map_err(|error| scratch_complaint(&error))
}

/// The end of what a command printed.
pub fn read_end(mut file: File) -> Result<String, Complaint> {
    let mut read = || {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_SHOWN)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().map_err(|error| scratch_complaint(&error))
}
