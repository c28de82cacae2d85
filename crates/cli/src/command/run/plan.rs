//! What all runs of a command have in common, and one run: its server, its tables, its recording.
//!
//! ```text
//!   mock      a fresh one for every run
//!   --up      servers that end with the command; the same tables as of --db
//!   --db      one run: tables skew_…; many: tables skew_1_…, skew_2_… of each job, dropped and made anew between its runs
//!             (--prefix says what stands in place of skew_)
//! ```

use super::mock::Mock;
use super::{Arguments, parameters};
use crate::clock;
use crate::input::Complaint;
use crate::output::{RecordFile, RecordKeeper, RecordingFailure};
use skew_history::IsolationLevel;
use skew_mockdb::Campaign;
use skew_workload::catalog::Harness;
use skew_workload::servers::Fleet;
use skew_workload::{
    BadUrl, Failure, Faults, Names, Options, Outside, Prepare, Progress, Report, RunError, Url, Workload, fault,
};
use std::io::{self, Write};

/// What all runs have in common.
pub(super) struct Plan<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) workload: Box<dyn Workload + 'a>,
    pub(super) harness: Harness,
    /// The servers; none is the mock database.
    pub(super) urls: Vec<Url>,
    /// Servers that end with the command.
    own: Option<Fleet>,
    novelty: Campaign,
    /// Knows whether runs are still recorded.
    keeper: RecordKeeper,
}

/// Whose tables a run uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tables {
    /// The usual ones.
    Usual,
    /// Those of a job, by its number; whether it has made them already.
    OfJob(u64, bool),
}

/// A run that came to an end.
pub(super) struct Ran {
    pub(super) seed: u64,
    pub(super) report: Report,
    /// What its clients saw; empty if nobody asked.
    pub(super) history: String,
    /// Why the file does not hold all of it, or why there is none, if recording has stopped.
    pub(super) recording_failure: Option<RecordingFailure>,
}

impl Ran {
    /// Tells that the file does not hold everything, if that is so.
    pub(super) fn recording_complaint(&self) -> Option<Complaint> {
        self.recording_failure.as_ref().map(recording_stopped)
    }
}

/// A reader may have ended, and be in the file, before the transaction that it read from.
fn recording_stopped(failure: &RecordingFailure) -> Complaint {
    let reads = if failure.has_file() { "; reads in it may be of transactions that are missing" } else { "" };
    let advice = format!("{}{reads}", failure.left());
    Complaint::new("skew run", format!("recording stopped: {}", failure.what()), &advice)
}

impl<'a> Plan<'a> {
    pub(super) fn new(arguments: &'a Arguments) -> Result<Plan<'a>, Complaint> {
        let (workload, harness) = parameters::workload(arguments)?;
        let url = |text: &String| {
            text.parse().map_err(|error: BadUrl| Complaint::new("--db", error.to_string(), "check the URL"))
        };
        let urls = arguments.servers.iter().map(url).collect::<Result<Vec<Url>, Complaint>>()?;
        let (novelty, keeper) = (Campaign::default(), RecordKeeper::new(arguments.record_errors));
        Ok(Plan { arguments, workload, harness, urls, own: None, novelty, keeper })
    }

    /// Starts the servers that end with the command, if there are to be any.
    pub(super) fn start_servers(&mut self) -> Result<(), Complaint> {
        self.own = self.arguments.own.start()?;
        if let Some(fleet) = &self.own {
            self.urls = fleet.urls().to_vec();
        }
        Ok(())
    }

    /// What the user may not expect.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        use IsolationLevel::{ReadCommitted, Serializable, Snapshot};
        let level = self.arguments.level;
        let is_mock = self.urls.is_empty() && !self.arguments.own.is_wanted();
        let unknown = !is_mock && ![ReadCommitted, Snapshot, Serializable].contains(&level);
        let text = format!("no SQL asks for {level}: transactions run at the default level of the server");
        unknown.then_some(text).into_iter()
    }

    /// Where it runs, for people.
    pub(super) fn place(&self) -> String {
        if let Some(place) = self.arguments.own.place() {
            return place;
        }
        let urls: Vec<String> = self.urls.iter().map(Url::to_string).collect();
        if urls.is_empty() { "the mock database".to_owned() } else { urls.join(" ") }
    }

    /// How many operations a run has.
    pub(super) fn operations(&self) -> u64 {
        self.harness.operations.saturating_mul(self.harness.sessions as u64)
    }

    /// Runs the workload once.
    pub(super) fn run(
        &self,
        seed: u64,
        tables: Tables,
        keeps_history: bool,
        progress: Option<&dyn Fn(&Progress)>,
    ) -> Result<Ran, Complaint> {
        let mut options = self.options(seed, tables);
        let mock = match self.urls.is_empty() {
            true => Some(Mock::start(self.arguments, &*self.workload, seed, &self.novelty)?),
            false => None,
        };
        if let Some(mock) = &mock {
            mock.adapt(self.arguments, &mut options);
        }
        let file = self.keeper.claim(self.arguments.record_file(seed).as_deref(), None)?.history;
        let mut recording = Recording { memory: keeps_history.then(Vec::new), file, has_begun: false };
        let is_wanted = recording.memory.is_some() || recording.file.is_some();
        let record: Option<&mut dyn Write> = if is_wanted { Some(&mut recording) } else { None };
        let own = &self.arguments.own;
        let planned = fault::plan(own.faults(), own.lasting(), seed, self.operations(), self.urls.len());
        let faults = self.own.as_ref().filter(|_| !planned.is_empty());
        let faults = faults.map(|fleet| Faults { planned: &planned, servers: fleet });
        let outside = Outside { record, stop: Some(clock::stop_flag()), progress, faults };
        let ran = skew_workload::run(&*self.workload, &options, outside);
        if let Some(mock) = mock {
            mock.stop();
        }
        let failure = self.keeper.failure();
        let report = ran.map_err(|error| complaint(&error, failure.as_ref()))?;
        let history = String::from_utf8(recording.memory.unwrap_or_default()).unwrap_or_default();
        Ok(Ran { seed, report, history, recording_failure: failure })
    }

    fn options(&self, seed: u64, tables: Tables) -> Options {
        let arguments = self.arguments;
        let (names, again) = match tables {
            Tables::Usual => (Names::with_prefix(&arguments.prefix), false),
            Tables::OfJob(job, again) => (Names::with_prefix(&format!("{}{job}_", arguments.prefix)), again),
        };
        let prepare = if arguments.drop || again { Prepare::DropAndCreate } else { Prepare::Create };
        Options {
            urls: self.urls.clone(),
            sessions: self.harness.sessions,
            operations: self.harness.operations,
            seed,
            level: arguments.level,
            retries: arguments.retries,
            timeout: arguments.patience,
            reconnect: arguments.own.reconnect(),
            prepare,
            names: names.unwrap_or_default(),
            asking: None,
            locks: true,
            rows: true,
        }
    }
}

/// Takes a history to where it is wanted. The file is put in its place with the first line: a run that is refused leaves what an earlier
/// one has recorded.
struct Recording {
    memory: Option<Vec<u8>>,
    file: Option<RecordFile>,
    has_begun: bool,
}

impl Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            let mut rest = bytes;
            if !std::mem::replace(&mut self.has_begun, true) {
                // Where not even the first line has room, what was there stays there.
                let first = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| end + 1);
                file.write_all(&bytes[..first])?;
                file.publish().map_err(|complaint| io::Error::other(complaint.to_string()))?;
                rest = &bytes[first..];
            }
            file.write_all(rest)?;
        }
        if let Some(memory) = &mut self.memory {
            memory.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Why a run did not begin, and what to do.
fn complaint(error: &RunError, failure: Option<&RecordingFailure>) -> Complaint {
    if let Some(failure) = failure {
        return recording_stopped(failure);
    }
    match error {
        RunError::Options(what) => Complaint::new("skew run", what.clone(), "check --db, --sessions and --level"),
        RunError::TableExists { table, url } => {
            let advice = "add --drop to drop the tables of earlier runs, or use another database";
            Complaint::new(&url.to_string(), format!("table {table} is there already"), advice)
        }
        RunError::NotOurs { table, url } => {
            let what = format!("table {table} was not made by a run, and is left alone");
            Complaint::new(&url.to_string(), what, "use another database")
        }
        RunError::InUse { prefix, url } => {
            let what = format!("another run has the tables {prefix}… now");
            Complaint::new(&url.to_string(), what, "wait for its end, or give this one another --prefix")
        }
        RunError::NotReplicated { table, url } => {
            let what = format!("the rows of {table} do not arrive here");
            Complaint::new(&url.to_string(), what, "is it a node of the same cluster as the first --db?")
        }
        RunError::Server { url, failure: Failure::Lost(what) } => {
            let advice = "is a server running there? `skew up postgres` or `skew up mariadb` starts one";
            Complaint::new(&url.to_string(), format!("cannot be reached: {what}"), advice)
        }
        RunError::Server { url, failure } => {
            let advice = "check user, password, database and rights";
            Complaint::new(&url.to_string(), failure.to_string(), advice)
        }
        RunError::Record(error) => {
            Complaint::new("skew run", error.to_string(), "check the path of --record and the space that is left")
        }
    }
}
