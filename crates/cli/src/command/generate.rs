//! `skew generate`: a random history of a chosen level, streamed to a file.
//!
//! The flags mirror `skew_generate::Parameters`: a preset gives the start, every flag that is given changes one thing of it.

use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{OutputFile, Stoppable, unwritable};
use skew_chance::{Distribution, Preset};
use skew_generate::{GenerateError, InjectedAnomaly, OutputFormat, Parameters};
use skew_history::IsolationLevel;
use std::path::{Path, PathBuf};

/// Make a random history of a chosen level
#[derive(clap::Args)]
#[command(after_help = "Example (a history that is fine at snapshot and not at serializable):\n  \
                        skew generate --anomaly write-skew --seed 1 | skew check -")]
pub(crate) struct Arguments {
    /// Where to write; `-` is standard output
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: PathBuf,
    /// The format to write: native, plume or dbcop
    #[arg(long, default_value = "native")]
    format: OutputFormat,
    /// Where chance begins; the same seed gives the same bytes
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Start from a workload of the PolySI talk: general-rh, general-rw, general-wh or blind-w
    #[arg(long, value_name = "NAME")]
    preset: Option<Preset>,
    /// The level of the database that makes the history, those of the engines included [default: serializable]
    #[arg(long, value_name = "LEVEL")]
    level: Option<IsolationLevel>,
    /// How many clients [default: 20]
    #[arg(long, value_name = "N")]
    sessions: Option<u32>,
    /// How many transactions in all [default: 1000]
    #[arg(long, value_name = "N")]
    transactions: Option<u64>,
    /// How many events in a transaction [default: 8]
    #[arg(long, value_name = "N")]
    events: Option<u32>,
    /// How many keys [default: 1000]
    #[arg(long, value_name = "N")]
    keys: Option<u64>,
    /// The share of reads [default: 0.5]
    #[arg(long, value_name = "SHARE")]
    reads: Option<f64>,
    /// How often each key is used: uniform, zipfian, zipfian:THETA or hotspot [default: uniform]
    #[arg(long, value_name = "KIND")]
    distribution: Option<Distribution>,
    /// Let a key come twice in a transaction
    #[arg(long)]
    repeat_keys: bool,
    /// The share of keys that are lists, which are appended to [default: 0]
    #[arg(long, value_name = "SHARE")]
    lists: Option<f64>,
    /// The length at which a list is left alone [default: 32]
    #[arg(long, value_name = "N")]
    list_length: Option<u32>,
    /// The share of writes that read their key just before [default: 0]
    #[arg(long, value_name = "SHARE")]
    read_modify_write: Option<f64>,
    /// Let no transaction write a key that it read
    #[arg(long)]
    blind_writes: bool,
    /// The share of writes whose value is written over and over [default: 0]
    #[arg(long, value_name = "SHARE")]
    duplicates: Option<f64>,
    /// The share of transactions that abort [default: 0]
    #[arg(long, value_name = "SHARE")]
    aborted: Option<f64>,
    /// The share of transactions whose outcome nobody learns [default: 0]
    #[arg(long, value_name = "SHARE")]
    unknown: Option<f64>,
    /// Also record the attempts that were refused for a conflict
    #[arg(long)]
    refused: bool,
    /// Record when transactions begin and end
    #[arg(long)]
    times: bool,
    /// Let every transaction declare its level
    #[arg(long)]
    declare_level: bool,
    /// How many copies the databases of psi, causal and read-atomic have [default: 4]
    #[arg(long, value_name = "N")]
    sites: Option<u32>,
    /// How many transactions a copy may be behind [default: 32]
    #[arg(long, value_name = "N")]
    lag: Option<u32>,
    /// Let this go wrong, once, in the middle: lost-update, write-skew, long-fork, …
    #[arg(long, value_name = "NAME")]
    anomaly: Option<InjectedAnomaly>,
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let parameters = self.parameters();
        // Before the run, so that a run that is stopped can be repeated too.
        console.note(&format!("seed {}", parameters.seed));
        match self.write(&parameters, console) {
            Ok(()) => Exit::Holds,
            Err(complaint) => {
                console.complain(&complaint);
                if clock::is_interrupted() { Exit::Inconclusive } else { Exit::BadInput }
            }
        }
    }

    /// The preset, with what was asked for changed.
    fn parameters(&self) -> Parameters {
        let start = self.preset.map_or_else(Parameters::default, Parameters::preset);
        Parameters {
            sessions: self.sessions.unwrap_or(start.sessions),
            transactions: self.transactions.unwrap_or(start.transactions),
            events: self.events.unwrap_or(start.events),
            keys: self.keys.unwrap_or(start.keys),
            reads: self.reads.unwrap_or(start.reads),
            distribution: self.distribution.unwrap_or(start.distribution),
            distinct_keys: start.distinct_keys && !self.repeat_keys,
            lists: self.lists.unwrap_or(start.lists),
            list_length: self.list_length.unwrap_or(start.list_length),
            read_modify_write: self.read_modify_write.unwrap_or(start.read_modify_write),
            blind_writes: start.blind_writes || self.blind_writes,
            duplicates: self.duplicates.unwrap_or(start.duplicates),
            aborted: self.aborted.unwrap_or(start.aborted),
            unknown: self.unknown.unwrap_or(start.unknown),
            refused: start.refused || self.refused,
            level: self.level.unwrap_or(start.level),
            declare_level: start.declare_level || self.declare_level,
            times: start.times || self.times,
            sites: self.sites.unwrap_or(start.sites),
            lag: self.lag.unwrap_or(start.lag),
            anomaly: self.anomaly.or(start.anomaly),
            seed: self.seed,
        }
    }

    fn write(&self, parameters: &Parameters, console: &mut Console) -> Result<(), Complaint> {
        let complain = |error: GenerateError| match error {
            GenerateError::Parameters(error) => {
                Complaint::new("skew generate", error.to_string(), "change that option")
            }
            GenerateError::Write(error) => unwritable(&self.output, &error),
        };
        if self.output == Path::new("-") {
            clock::something_to_keep();
            return skew_generate::write(parameters, self.format, &mut Stoppable(console)).map_err(complain);
        }
        // Wishes that contradict each other are told before a file is made.
        parameters.validate().map_err(|error| complain(GenerateError::Parameters(error)))?;
        let mut out = OutputFile::create(&self.output).map_err(|error| unwritable(&self.output, &error))?;
        skew_generate::write(parameters, self.format, &mut out).map_err(complain)?;
        out.keep().map_err(|error| unwritable(&self.output, &error))
    }
}
