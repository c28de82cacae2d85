//! Servers that a run starts for itself, and what happens to them meanwhile.
//!
//! ```text
//!   --up galera --nodes 3                    three nodes; sessions are spread over them
//!   --fault kill,partition                   each once in every run, in this order, at moments that the seed decides
//!   --heal 5s | --heal never                 how long; without it, the seed decides this too
//! ```

use super::Arguments;
use crate::clock;
use crate::command::up::Kind;
use crate::input::Complaint;
use skew_campaign::driven::OwnServers;
use skew_value::Dialect;
use skew_workload::{Fault, Lasting};

/// The arguments about servers of one's own.
#[derive(clap::Args, Debug)]
pub(super) struct OwnArguments {
    /// Start throw-away servers for this, as `skew up` does
    #[arg(long, value_enum, value_name = "SERVER", conflicts_with = "servers")]
    up: Option<Kind>,
    /// Of --up galera: how many nodes the cluster has
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=9))]
    nodes: u64,
    /// What happens to the servers of --up during a run: kill, pause or partition; several come one after the other
    #[arg(long = "fault", value_delimiter = ',', value_name = "FAULT")]
    faults: Vec<Fault>,
    /// How long a fault lasts, such as 5s, or never: until the end of the servers [default: up to some seconds, by the seed]
    #[arg(long, value_parser = parse_lasting, value_name = "TIME")]
    heal: Option<Lasting>,
}

fn parse_lasting(text: &str) -> Result<Lasting, String> {
    if text == "never" { Ok(Lasting::Forever) } else { clock::parse_duration(text).map(Lasting::For) }
}

impl OwnArguments {
    pub(super) fn is_wanted(&self) -> bool {
        self.up.is_some()
    }

    fn lasting(&self) -> Lasting {
        self.heal.unwrap_or(Lasting::BySeed)
    }

    /// The servers that are wanted.
    pub(super) fn servers(&self) -> Option<OwnServers> {
        let (nodes, faults, lasting) = (self.nodes, self.faults.clone(), self.lasting());
        self.up.map(|kind| OwnServers { kind: kind.into(), nodes, faults, lasting })
    }

    /// How many jobs and runs there are matters: all of them have the same servers.
    pub(super) fn refuse_nonsense(&self, arguments: &Arguments) -> Result<(), Complaint> {
        let refuse = |what: String, advice: &str| Err(Complaint::new("skew run", what, advice));
        let Some(first) = self.faults.first() else {
            let alone = "--heal is for a fault, and there is none".to_owned();
            return if self.heal.is_some() { refuse(alone, "add --fault, or leave it away") } else { Ok(()) };
        };
        if !self.is_wanted() {
            let where_from = if arguments.servers.is_empty() { "the mock database" } else { "the servers of --db" };
            let what = format!("--fault {first} is for servers that the run itself started, not for {where_from}");
            return refuse(what, "use --up postgres, --up mariadb or --up galera");
        }
        if self.faults.contains(&Fault::Partition) && self.up != Some(Kind::Galera) {
            return refuse("a single server cannot be partitioned".to_owned(), "use --up galera");
        }
        if arguments.jobs > 1 {
            let what = "a fault meets all runs that use the servers at that time".to_owned();
            return refuse(what, "use --jobs 1");
        }
        if self.lasting() == Lasting::Forever && (self.faults.len() > 1 || arguments.is_campaign()) {
            let what = "after a fault that is never healed nothing else can be tried".to_owned();
            return refuse(what, "use one --fault and one run, or give --heal a time");
        }
        Ok(())
    }

    /// What they speak, where there are any.
    pub(super) fn dialect(&self) -> Option<Dialect> {
        self.up.map(|kind| match kind {
            Kind::Postgres => Dialect::Postgres,
            Kind::Mariadb | Kind::Galera => Dialect::MySql,
        })
    }

    /// Whether there are nodes.
    pub(super) fn is_cluster(&self) -> bool {
        self.up == Some(Kind::Galera)
    }
}

/// How long a fault lasts, in one way for all ways to say it.
pub(super) fn written(text: &str) -> Option<String> {
    match parse_lasting(text).ok()? {
        Lasting::For(time) => Some(format!("{}s", time.as_secs_f64())),
        _ => Some("never".to_owned()),
    }
}
