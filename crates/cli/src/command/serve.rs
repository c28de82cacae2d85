//! `skew serve`: a database as weak as its level allows, for programs to connect to.
//!
//! It prints where it listens and serves until Ctrl-C; then it says how transactions ended. Everything that was recorded up to any
//! moment is a valid history, so nothing has to be finished.

use super::play::UpdatesArgument;
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{Complaint, cannot};
use skew_history::IsolationLevel;
use skew_mockdb::http::{HttpServer, HttpSettings, HttpSummary};
use skew_mockdb::{Campaign, ChoiceLog, Chooser, ChooserKind, Options, Record, Script, Store, Updates};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Serve a database as weak as its level allows
#[derive(clap::Args)]
#[command(after_help = "Example (keys and values over HTTP; every transaction is recorded):\n  \
    skew serve --http --level causal --record run.jsonl\n  \
    curl -d '{\"session\":\"ann\",\"key\":\"x\",\"value\":1}' http://127.0.0.1:PORT/put")]
pub(crate) struct Arguments {
    /// Speak HTTP with JSON: POST /begin, /get, /put, /delete, /cas, /commit, /abort
    #[arg(long, required = true)]
    http: bool,
    /// The address to listen at; only this machine unless another is given
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    host: IpAddr,
    /// The port to listen at; 0 is any that is free
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,
    /// How weak the database is: rc, ra, cc, pc, psi, si, ser or their long names
    #[arg(short, long, default_value = "causal", value_name = "LEVEL")]
    level: IsolationLevel,
    /// Where chance begins [default: 1, or that of --replay]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Which version a read returns: random, latest, stalest, latest-per-session or novel
    #[arg(long, default_value = "random", value_name = "NAME")]
    chooser: ChooserKind,
    /// Whether updates lock their rows and read the latest version, or are plain reads and writes
    #[arg(long, value_enum, default_value_t = UpdatesArgument::Atomic)]
    updates: UpdatesArgument,
    /// After so many commits the past is sealed; 0 is never
    #[arg(long, value_name = "N")]
    horizon: Option<usize>,
    /// The axioms alone: a session need not see what committed before it connected
    #[arg(long)]
    bare: bool,
    /// How often a commit that could go well is refused, and a wait called a deadlock
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    abort_rate: f64,
    /// Write the history to this file, as it happens
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write what chance decided to this file, for --replay
    #[arg(long, value_name = "FILE")]
    choices: Option<PathBuf>,
    /// Choose what this file says was chosen
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// How long a request waits for a lock
    #[arg(long, default_value = "10s", value_parser = clock::parse_duration, value_name = "TIME")]
    lock_wait: Duration,
    /// After so long a silence a transaction is rolled back
    #[arg(long, default_value = "60s", value_parser = clock::parse_duration, value_name = "TIME")]
    idle: Duration,
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        match self.serve(console) {
            Ok(summary) => tell(&summary, console),
            Err(complaint) => {
                console.complain(&complaint);
                Exit::BadInput
            }
        }
    }

    fn serve(&self, console: &mut Console) -> Result<HttpSummary, Complaint> {
        self.refuse_nonsense()?;
        let log = self.replay.as_deref().map(read_log).transpose()?;
        let seed = self.seed.unwrap_or_else(|| log.as_ref().map_or(1, |log| log.seed));
        let chooser: Box<dyn Chooser> = match &log {
            Some(log) => Box::new(Script::new(log)),
            None => self.chooser.build(seed, &Campaign::default()),
        };
        let record = Record {
            history: self.record.as_deref().map(create).transpose()?,
            choices: self.choices.as_deref().map(create).transpose()?,
        };
        let address = SocketAddr::new(self.host, self.port);
        let settings = HttpSettings { address, lock_wait: self.lock_wait, idle: self.idle };
        let server = HttpServer::bind(Store::new(self.options(seed), chooser), record, settings).map_err(|error| {
            Complaint::new(
                "skew serve",
                format!("cannot listen at {address}: {error}"),
                "give another --host or --port",
            )
        })?;
        console.note(&format!("seed {seed}"));
        console.result(&format!("serving {} over HTTP at http://{}\n", self.level, server.address()));
        // Whoever started this reads the address before anything else happens.
        let _ = console.flush();
        clock::something_to_keep();
        let served = server.run(clock::is_interrupted);
        served.map_err(|error| Complaint::new("skew serve", format!("cannot go on: {error}"), "start it again"))
    }

    fn refuse_nonsense(&self) -> Result<(), Complaint> {
        if !IsolationLevel::SEVEN.contains(&self.level) {
            let advice = "use rc, ra, cc, pc, psi, si or ser";
            return Err(Complaint::new(
                "skew serve",
                format!("{} is not a level that can be served", self.level),
                advice,
            ));
        }
        if !(0.0..=1.0).contains(&self.abort_rate) {
            let what = format!("--abort-rate {} is not a share", self.abort_rate);
            return Err(Complaint::new("skew serve", what, "use a number from 0 to 1"));
        }
        Ok(())
    }

    fn options(&self, seed: u64) -> Options {
        let defaults = Options::new(self.level, seed);
        Options {
            updates: match self.updates {
                UpdatesArgument::Atomic => Updates::Atomic,
                UpdatesArgument::Plain => Updates::Plain,
            },
            horizon: self.horizon.map_or(defaults.horizon, |horizon| (horizon > 0).then_some(horizon)),
            bare: self.bare,
            abort_rate: self.abort_rate,
            ..defaults
        }
    }
}

fn read_log(path: &Path) -> Result<ChoiceLog, Complaint> {
    let name = path.to_string_lossy();
    let text =
        fs::read_to_string(path).map_err(|error| Complaint::new(&name, cannot("read", &error), "check the path"))?;
    ChoiceLog::parse(&text)
        .map_err(|error| Complaint::new(&name, error.to_string(), "give a file that --choices wrote"))
}

fn create(path: &Path) -> Result<Box<dyn Write + Send>, Complaint> {
    let name = path.to_string_lossy();
    let file = File::create(path)
        .map_err(|error| Complaint::new(&name, cannot("write", &error), "check the path and the space that is left"))?;
    Ok(Box::new(BufWriter::new(file)))
}

fn tell(summary: &HttpSummary, console: &mut Console) -> Exit {
    let counts = summary.counts;
    console.say(&format!(
        "{} committed, {} rolled back, {} refused, {} deadlocks\n",
        counts.committed, counts.rolled_back, counts.refused, counts.deadlocks
    ));
    match &summary.recording_failure {
        None => Exit::Holds,
        Some(failure) => {
            let advice = "what was written before is a valid history";
            console.complain(&Complaint::new("skew serve", format!("recording stopped: {failure}"), advice));
            Exit::BadInput
        }
    }
}
