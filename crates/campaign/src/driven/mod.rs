//! A workload on a server, or on the mock database: the campaign of `skew run`.
//!
//! ```text
//!   mock      a fresh one for every run
//!   own       servers that end with the campaign; the same tables as of others
//!   others    one run: tables skew_…; many: tables skew_1_…, skew_2_… of each job, dropped and made anew between its runs
//!             (a prefix stands in place of skew_)
//! ```
//!
//! A seed gives the same requests. What they meet is up to the server, so a second run with the same seed may end otherwise, unless there is one
//! transaction at a time.

mod answers;
mod choice;
mod completed;
mod faults;
mod mock;
mod named_level;
mod promise;
mod report;
mod rerun;
mod runs;
mod tally;

pub use answers::RunAnswers;
pub use choice::{RegistersChoice, WorkloadChoice};
pub use mock::MockSettings;
pub use named_level::{Destination, NamedLevel};
pub use promise::{LevelPromise, engine_level};
pub use report::{json_of_run, milliseconds, told_run};
pub use tally::{DriveReport, DriveTally};

use crate::recording::{Archive, RecordingFailure, RunRecord};
use crate::{Complaint, Conclusion, StopFlags, servers};
use mock::Mock;
use skew_history::IsolationLevel;
use skew_mockdb::Campaign;
use skew_value::Dialect;
use skew_workload::catalog::Harness;
use skew_workload::servers::{Fleet, Kind};
use skew_workload::{
    End, Failure, Fault, Faults, Lasting, Names, Options, Outside, Prepare, Progress, Report, RunError, Turns, Url,
    Workload, fault,
};
use std::io::{self, Write};
use std::time::Duration;

/// How long a session waits for a server that comes back: a node of a cluster may have to fetch all tables first.
const RECONNECT: Duration = Duration::from_secs(60);

/// How often a workload is run, on what, and what is asked of its histories.
#[derive(Clone, Debug)]
pub struct DriveSettings {
    /// The seed of the first run.
    pub seed: u64,
    /// How many runs, each with fresh tables.
    pub runs: u64,
    /// How many of them at a time.
    pub jobs: u64,
    /// The level that transactions ask for; a server that is asked for one of its own is held to it.
    pub level: IsolationLevel,
    /// The level that the histories of many runs are compared with; given, a run that violates it is a failure.
    pub against: Option<IsolationLevel>,
    /// So many steps the checker may take for a question about a run.
    pub budget: u64,
    /// How often a transaction that the database refused is tried again.
    pub retries: u32,
    /// How long an answer of a server may take before its connection counts as lost.
    pub patience: Duration,
    /// What the names of the tables start with.
    pub prefix: String,
    /// Whether to drop the tables of earlier runs first.
    pub drop: bool,
    /// What the mock database is like, where there are no servers.
    pub mock: MockSettings,
    /// Servers to start, if any.
    pub own: Option<OwnServers>,
    /// In which order transactions come; where there is one at a time, a seed gives the same history every time.
    pub order: Turns,
    /// Whether every lookup of a row reads every row of its table first.
    pub scan: bool,
}

/// Servers that a campaign starts for itself, and what happens to them meanwhile.
#[derive(Clone, Debug)]
pub struct OwnServers {
    /// Which.
    pub kind: Kind,
    /// How many nodes a cluster has.
    pub nodes: u64,
    /// What happens to them in every run, in this order, at moments that the seed decides.
    pub faults: Vec<Fault>,
    /// For how long.
    pub lasting: Lasting,
}

impl OwnServers {
    /// For how long sessions try to reach a server again that is away.
    fn reconnect(&self) -> Duration {
        let comes_back = !self.faults.is_empty() && self.lasting != Lasting::Forever;
        if comes_back { RECONNECT } else { skew_workload::driver::RECONNECT }
    }

    /// What was started, for people.
    fn place(&self) -> String {
        match self.kind {
            Kind::Postgres => "a PostgreSQL of its own".to_owned(),
            Kind::MariaDb => "a MariaDB of its own".to_owned(),
            Kind::Galera => format!("a Galera cluster of its own with {} nodes", self.nodes),
        }
    }
}

/// What all runs have in common.
pub struct DriveCampaign<'a> {
    settings: DriveSettings,
    workload: Box<dyn Workload>,
    harness: Harness,
    /// The servers; none is the mock database.
    urls: Vec<Url>,
    /// Servers that end with the campaign.
    fleet: Option<Fleet>,
    novelty: Campaign,
    archive: &'a dyn Archive,
    stop: StopFlags<'a>,
}

/// Whose tables a run uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tables {
    /// The usual ones.
    Usual,
    /// Those of a job, by its number; whether it has made them already.
    OfJob(u64, bool),
}

/// A run that came to an end.
pub struct DrivenRun {
    /// Its seed.
    pub seed: u64,
    /// What came of it.
    pub report: Report,
    /// What its clients saw; empty if nobody asked.
    pub history: String,
    /// Why the file does not hold all of it, or why there is none, if recording has stopped.
    recording_failure: Option<RecordingFailure>,
}

impl DrivenRun {
    /// Tells that the file does not hold everything, if that is so.
    pub fn recording_complaint(&self) -> Option<Complaint> {
        self.recording_failure.as_ref().map(recording_stopped)
    }

    /// What the report says, without any check.
    pub fn conclusion(&self) -> Conclusion {
        let is_open = self.report.end != End::Finished || self.report.not_asked.is_some();
        Conclusion::judged(has_failed(&self.report), is_open)
    }
}

fn has_failed(report: &Report) -> bool {
    report.assertions.iter().any(|assertion| !assertion.holds)
}

/// A reader may have ended, and be in the file, before the transaction that it read from.
fn recording_stopped(failure: &RecordingFailure) -> Complaint {
    let reads = if failure.has_file() { "; reads in it may be of transactions that are missing" } else { "" };
    let advice = format!("{}{reads}", failure.left());
    Complaint::new("skew run", format!("recording stopped: {}", failure.what()), &advice)
}

impl<'a> DriveCampaign<'a> {
    /// Nothing has run yet; these servers are there, or are to be started, or the mock database is meant.
    pub fn new(
        (workload, harness): (Box<dyn Workload>, Harness),
        settings: DriveSettings,
        urls: Vec<Url>,
        archive: &'a dyn Archive,
        stop: StopFlags<'a>,
    ) -> DriveCampaign<'a> {
        DriveCampaign { settings, workload, harness, urls, fleet: None, novelty: Campaign::default(), archive, stop }
    }

    /// Starts the servers that end with the campaign, if there are to be any.
    pub fn start_servers(&mut self) -> Result<(), Complaint> {
        let start = |own: &OwnServers| servers::start(own.kind, own.nodes, &own.faults, "skew run");
        self.fleet = self.settings.own.as_ref().map(start).transpose()?;
        if let Some(fleet) = &self.fleet {
            self.urls = fleet.urls().to_vec();
        }
        Ok(())
    }

    /// What the user may not expect.
    pub fn warning(&self) -> Option<String> {
        let level = self.settings.level;
        let is_mock = self.urls.is_empty() && self.settings.own.is_none();
        // Whichever dialect it is, SQL has the same names.
        let unknown = !is_mock && engine_level(Dialect::Postgres, level).is_none();
        unknown.then(|| format!("no SQL asks for {level}: transactions run at the default level of the server"))
    }

    /// Where it runs, for people.
    fn place(&self) -> String {
        if let Some(own) = &self.settings.own {
            return own.place();
        }
        let urls: Vec<String> = self.urls.iter().map(Url::to_string).collect();
        if urls.is_empty() { "the mock database".to_owned() } else { urls.join(" ") }
    }

    /// How many operations a run has.
    pub fn operations(&self) -> u64 {
        self.harness.operations.saturating_mul(self.harness.sessions as u64)
    }

    /// Runs the workload once.
    pub fn drive_once(
        &self,
        keeps_history: bool,
        progress: Option<&dyn Fn(&Progress)>,
    ) -> Result<DrivenRun, Complaint> {
        self.run(self.settings.seed, Tables::Usual, keeps_history, progress)
    }

    fn run(
        &self,
        seed: u64,
        tables: Tables,
        keeps_history: bool,
        progress: Option<&dyn Fn(&Progress)>,
    ) -> Result<DrivenRun, Complaint> {
        let (settings, mut options) = (&self.settings, self.options(seed, tables));
        let mock = match self.urls.is_empty() {
            true => Some(Mock::start(&settings.mock, settings.level, &*self.workload, seed, &self.novelty)?),
            false => None,
        };
        if let Some(mock) = &mock {
            mock.adapt(&settings.mock, &mut options);
        }
        let record = self.archive.begin(seed)?;
        let mut recording = Recording::new(&*record, keeps_history);
        let planned = settings
            .own
            .as_ref()
            .map(|own| fault::plan(&own.faults, own.lasting, seed, self.operations(), self.urls.len()));
        let planned = planned.unwrap_or_default();
        let faults = self.fleet.as_ref().filter(|_| !planned.is_empty());
        let faults = faults.map(|fleet| Faults { planned: &planned, servers: fleet });
        let outside = Outside { record: recording.wanted(), stop: Some(self.stop.stop), progress, faults };
        let ran = skew_workload::run(&*self.workload, &options, outside);
        if let Some(mock) = mock {
            mock.stop();
        }
        let recording_failure = self.archive.failure();
        let report = ran.map_err(|error| complaint(&error, recording_failure.as_ref()))?;
        let history = String::from_utf8(recording.memory.unwrap_or_default()).unwrap_or_default();
        Ok(DrivenRun { seed, report, history, recording_failure })
    }

    fn options(&self, seed: u64, tables: Tables) -> Options {
        let settings = &self.settings;
        let (names, again) = match tables {
            Tables::Usual => (Names::with_prefix(&settings.prefix), false),
            Tables::OfJob(job, again) => (Names::with_prefix(&format!("{}{job}_", settings.prefix)), again),
        };
        let prepare = if settings.drop || again { Prepare::DropAndCreate } else { Prepare::Create };
        Options {
            urls: self.urls.clone(),
            sessions: self.harness.sessions,
            operations: self.harness.operations,
            seed,
            level: settings.level,
            retries: settings.retries,
            timeout: settings.patience,
            reconnect: settings.own.as_ref().map_or(skew_workload::driver::RECONNECT, OwnServers::reconnect),
            prepare,
            names: names.unwrap_or_default(),
            asking: None,
            locks: true,
            rows: true,
            order: settings.order.clone(),
            scan: settings.scan,
        }
    }
}

/// Takes a history to where it is wanted. The file is put in its place with the first line: a run that is refused leaves what an earlier
/// one has recorded.
struct Recording<'a> {
    memory: Option<Vec<u8>>,
    file: Option<Box<dyn Write + Send>>,
    record: &'a dyn RunRecord,
    has_begun: bool,
}

impl<'a> Recording<'a> {
    fn new(record: &'a dyn RunRecord, keeps_history: bool) -> Recording<'a> {
        let memory = keeps_history.then(Vec::new);
        Recording { memory, file: record.writers().history, record, has_begun: false }
    }

    /// Itself, if there is anywhere to write to.
    fn wanted(&mut self) -> Option<&mut dyn Write> {
        let is_wanted = self.memory.is_some() || self.file.is_some();
        if is_wanted { Some(self) } else { None }
    }
}

impl Write for Recording<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            let mut rest = bytes;
            if !std::mem::replace(&mut self.has_begun, true) {
                // Where not even the first line has room, what was there stays there.
                let first = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| end + 1);
                file.write_all(&bytes[..first])?;
                self.record.publish().map_err(|complaint| io::Error::other(complaint.to_string()))?;
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
