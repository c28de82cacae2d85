//! `skew predict --replay 'COMMAND'`: what each prediction is made again with.
//!
//! ```text
//!   skew run smallbank --serial …     a workload: it runs here, on a mock database that is loaded before the first client comes
//!   pytest -q                         anything else: it runs on a served database, which it finds by DATABASE_URL
//! ```
//!
//! A workload names its rows as the mock database does, so what its clients have recorded on any server can be made again.

use super::Arguments;
use crate::clock;
use crate::command::{Command, run, serve};
use crate::input::Complaint;
use clap::Parser;
use skew_campaign::Moment;
use skew_campaign::predicted::{PredictSettings, PredictedFile, command_again};
use skew_campaign::served::ServeSettings;
use skew_campaign::served::database::DatabaseSettings;
use skew_mockdb::ChooserKind;
use skew_mockdb::wire::{Schedule, WireSettings};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// A command that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(60);

/// Makes predictions again.
pub(super) enum Replayer {
    Workload(Box<run::Arguments>),
    Command(Box<ServeSettings>),
}

impl Replayer {
    /// Of the command that was given.
    pub(super) fn new(command: &str, arguments: &Arguments) -> Result<Replayer, Complaint> {
        match workload(command)? {
            Some(workload) => Ok(Replayer::Workload(Box::new(workload))),
            None => Ok(Replayer::Command(Box::new(served(command, arguments)?))),
        }
    }

    /// Whether what it does before its second session begins is a set-up.
    pub(super) fn sets_up(&self) -> bool {
        matches!(self, Replayer::Command(_))
    }

    /// Makes the predictions of a file again.
    pub(super) fn replay(&self, predicted: &mut PredictedFile, settings: &PredictSettings) -> Result<(), Complaint> {
        let stop = clock::flags();
        match self {
            Replayer::Workload(workload) => {
                predicted.replay(&|level, prophecy| workload.foretold(level, prophecy), settings, stop)
            }
            Replayer::Command(command) => {
                predicted.replay(&|level, prophecy| command_again(command, level, prophecy, stop), settings, stop)
            }
        }
    }
}

/// The arguments of `skew run` on the mock database, if that is the command.
fn workload(command: &str) -> Result<Option<run::Arguments>, Complaint> {
    let words = shlex::split(command).unwrap_or_default();
    let is_skew = words.first().is_some_and(|word| Path::new(word).file_name().is_some_and(|name| name == "skew"));
    if !is_skew || words.get(1).is_none_or(|word| word != "run") {
        return Ok(None);
    }
    let parsed = crate::Arguments::try_parse_from(words).map_err(|error| {
        let what = error.to_string();
        let what = what.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Complaint::new("--replay", what, "give it the line that made the recording")
    })?;
    match parsed.command {
        Command::Run(arguments) if arguments.is_mock() => Ok(Some(arguments)),
        _ => Ok(None),
    }
}

/// A served database, and the command on it.
fn served(command: &str, arguments: &Arguments) -> Result<ServeSettings, Complaint> {
    Ok(ServeSettings {
        database: DatabaseSettings {
            level: None,
            updates: arguments.updates.into(),
            horizon: None,
            bare: false,
            abort_rate: 0.0,
            clock: Moment::USUAL,
            chooser: ChooserKind::Latest,
            log: None,
            initial: serve::initial(arguments.init.as_deref())?,
        },
        wire: WireSettings {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            password: None,
            schedule: Schedule::Interleaved,
            delay: None,
        },
        command: ["sh", "-c", command].map(str::to_owned).to_vec(),
        has_terminal: false,
        seed: 1,
        runs: 1,
        jobs: 1,
        stop_at_first: false,
        timeout: Some(LIMIT),
        against: arguments.against,
        budget: u64::MAX,
    })
}
