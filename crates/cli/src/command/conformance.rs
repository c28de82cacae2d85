//! `skew conformance`: what the levels of a server really prevent, case by case.
//!
//! ```text
//!   skew conformance postgresql://…                 a table per level
//!   skew conformance --up mariadb                 on a throw-away server
//!   skew conformance URL --case P4                the statements of one case, as two people would type them
//! ```

use super::program::Format;
use super::up::Kind;
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_campaign::conformance::{Conformance, ConformanceSettings, LEVELS, try_server};
use skew_workload::{BadUrl, Url};
use std::time::Duration;

/// Find out what the isolation levels of a server prevent
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    skew conformance --up postgres\n  \
    skew conformance mysql://root@127.0.0.1:3306/test --level repeatable-read --case P4\n\n\
    Exit codes: 0 every level is what its engine is known for, 1 one is not, 2 bad usage or no server, 3 inconclusive")]
pub(crate) struct Arguments {
    /// A server, postgresql://user:password@host:port/database or mysql://…; a table is made there, and dropped afterwards
    #[arg(value_name = "URL", required_unless_present = "up", conflicts_with = "up")]
    server: Option<String>,
    /// Start a throw-away server for this, as `skew up` does: postgres, mariadb, or galera with one node
    #[arg(long, value_enum, value_name = "SERVER")]
    up: Option<Kind>,
    /// Levels [default: all that the server has]
    #[arg(short, long = "level", value_delimiter = ',', value_name = "LEVEL", value_parser = clap::builder::PossibleValuesParser::new(LEVELS))]
    levels: Vec<String>,
    /// Cases, such as P4 or G2-item, with their statements [default: all]
    #[arg(long = "case", value_delimiter = ',', value_name = "NAME")]
    cases: Vec<String>,
    /// Show the statements of every case, a column per session
    #[arg(short, long)]
    verbose: bool,
    /// How long an answer may take that no lock holds up
    #[arg(long, default_value = "10s", value_parser = clock::parse_duration, value_name = "TIME")]
    patience: Duration,
    /// How to show the results
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = self.start(console);
        console.conclude(outcome)
    }

    fn start(&self, console: &mut Console) -> Result<Exit, Complaint> {
        // The table, and a server that is half started, must not be left behind.
        clock::something_to_keep();
        let fleet = self.up.map(|kind| skew_campaign::servers::start(kind.into(), 1, &[], "skew conformance"));
        let fleet = fleet.transpose()?;
        let url = match fleet.as_ref().and_then(|fleet| fleet.urls().first()) {
            Some(url) => url.clone(),
            None => self.url()?,
        };
        let tried = self.tried(&url, console)?;
        match self.format {
            Format::Human => {
                console.say(&tried.told(self.verbose || !self.cases.is_empty(), console.palette));
            }
            Format::Json => console.result(&format!("{}\n", tried.json())),
        }
        Ok(Exit::from(tried.conclusion()))
    }

    fn url(&self) -> Result<Url, Complaint> {
        let text = self.server.as_deref().unwrap_or_default();
        text.parse().map_err(|error: BadUrl| Complaint::new("skew conformance", error.to_string(), "check the URL"))
    }

    fn tried(&self, url: &Url, console: &mut Console) -> Result<Conformance, Complaint> {
        let settings =
            ConformanceSettings { cases: self.cases.clone(), levels: self.levels.clone(), patience: self.patience };
        let mut draw = |done: usize, all: usize| console.progress(&format!("{done} of {all} cases"));
        let tried = try_server(url, &settings, clock::flags(), &mut draw);
        console.progress("");
        tried
    }
}
