//! Servers that a run starts for itself, and what happens to them meanwhile.
//!
//! ```text
//!   --up galera --nodes 3                    three nodes; sessions are spread over them
//!   --fault kill,partition                   each once in every run, in this order, at moments that the seed decides
//!   --heal 5s | --heal never                 how long; without it, the seed decides this too
//! ```

use super::Arguments;
use crate::clock;
use crate::command::up::{self, Kind};
use crate::input::Complaint;
use serde_json::{Value, json};
use skew_workload::fault::{Injected, Moment};
use skew_workload::servers::Fleet;
use skew_workload::{Fault, Lasting};
use std::fmt::Write;
use std::time::Duration;

/// How long a session waits for a server that comes back: a node of a cluster may have to fetch all tables first.
const RECONNECT: Duration = Duration::from_secs(60);

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

    pub(super) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(super) fn lasting(&self) -> Lasting {
        self.heal.unwrap_or(Lasting::BySeed)
    }

    /// Starts what is wanted.
    pub(super) fn start(&self) -> Result<Option<Fleet>, Complaint> {
        let start = |kind: Kind| up::start(kind, self.nodes, &self.faults, "skew run");
        self.up.map(start).transpose()
    }

    /// For how long sessions try to reach a server again that is away.
    pub(super) fn reconnect(&self) -> Duration {
        let comes_back = !self.faults.is_empty() && self.lasting() != Lasting::Forever;
        if comes_back { RECONNECT } else { skew_workload::driver::RECONNECT }
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

    /// What was started, for people.
    pub(super) fn place(&self) -> Option<String> {
        self.up.map(|kind| match kind {
            Kind::Postgres => "a PostgreSQL of its own".to_owned(),
            Kind::Mariadb => "a MariaDB of its own".to_owned(),
            Kind::Galera => format!("a Galera cluster of its own with {} nodes", self.nodes),
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

/// A line per fault: what happened, to whom and when.
pub(super) fn tell(faults: &[Injected], nodes: usize, text: &mut String) {
    for injected in faults {
        let _ = writeln!(text, "  {}", told(injected, nodes));
    }
}

fn told(injected: &Injected, nodes: usize) -> String {
    let planned = &injected.planned;
    let numbers: Vec<String> = planned.nodes.iter().map(|node| (node + 1).to_string()).collect();
    let whom = match numbers.as_slice() {
        _ if nodes == 1 => "the server".to_owned(),
        [one] => format!("node {one}"),
        several => format!("nodes {}", several.join(" and ")),
    };
    let moment =
        |moment: &Moment| format!("after {} transactions ({:.1} s)", moment.operations, moment.time.as_secs_f64());
    let began = injected.began.as_ref().map_or_else(|| "not injected, the run was over".to_owned(), moment);
    let ended = match (&injected.ended, &injected.problem) {
        (_, Some(problem)) => format!(", could not be healed: {}", problem.lines().next().unwrap_or_default()),
        (Some(ended), None) => format!(", healed {}", moment(ended)),
        (None, None) if injected.began.is_some() => ", never healed".to_owned(),
        (None, None) => String::new(),
    };
    format!("{} of {whom}: {began}{ended}", planned.fault)
}

/// Every fault as JSON.
pub(super) fn json(faults: &[Injected]) -> Value {
    let moment = |moment: &Moment| json!({"transactions": moment.operations, "seconds": moment.time.as_secs_f64()});
    let one = |injected: &Injected| {
        json!({
            "fault": injected.planned.fault.name(),
            "nodes": injected.planned.nodes.iter().map(|node| node + 1).collect::<Vec<_>>(),
            "began": injected.began.as_ref().map(moment),
            "healed": injected.ended.as_ref().map(moment),
            "problem": injected.problem,
        })
    };
    faults.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_workload::fault::Planned;

    #[test]
    fn a_fault_is_told_with_its_moments() {
        let planned = Planned { fault: Fault::Kill, nodes: vec![1], moment: 5, lasts: None };
        let moment = |operations| Some(Moment { operations, time: Duration::from_millis(1_230) });
        let mut injected = Injected { planned, began: moment(5), ended: None, problem: None };
        assert_eq!(told(&injected, 3), "kill of node 2: after 5 transactions (1.2 s), never healed");
        injected.ended = moment(9);
        assert_eq!(
            told(&injected, 1),
            "kill of the server: after 5 transactions (1.2 s), healed after 9 transactions (1.2 s)"
        );
        injected.problem = Some("mariadbd ended\nits log".to_owned());
        assert!(told(&injected, 1).ends_with(", could not be healed: mariadbd ended"));
        let never = Injected { began: None, ended: None, problem: None, ..injected };
        assert_eq!(told(&never, 3), "kill of node 2: not injected, the run was over");
    }
}
