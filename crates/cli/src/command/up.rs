//! `skew up`: a throw-away PostgreSQL, MariaDB or Galera cluster, for as long as somebody needs it.
//!
//! ```text
//!   skew up postgres                 starts, prints its URL, stops with Ctrl-C
//!   skew up galera --nodes 3         a line per node
//!   skew up mariadb -- command       runs the command, which finds the server in its environment, then stops
//! ```

use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_campaign::command::name_database;
use skew_campaign::family::{Family, FamilyEnd};
use skew_workload::{Url, servers};
use std::io::{IsTerminal, Write};
use std::process::Command;
use std::time::Duration;

/// How often somebody looks whether to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// Start a throw-away database server on this machine
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    skew up postgres\n  \
    skew up mariadb -- sh -c 'skew run smallbank --db \"$DATABASE_URL\" --check all'\n\n\
    Exit codes: 0 the server was stopped, or the command went well; 1 the command failed; 2 bad usage, or the server does not start")]
pub(crate) struct Arguments {
    /// Which one
    #[arg(value_enum)]
    server: Kind,
    /// How many nodes a cluster has
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=9))]
    nodes: u64,
    /// A command to run meanwhile, which finds the server by DATABASE_URL and, of PostgreSQL, by PGHOST and its like; of a cluster, that is the first node
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What can be started.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(super) enum Kind {
    /// PostgreSQL
    Postgres,
    /// MariaDB
    Mariadb,
    /// MariaDB nodes that replicate to each other
    Galera,
}

impl From<Kind> for servers::Kind {
    fn from(kind: Kind) -> servers::Kind {
        match kind {
            Kind::Postgres => servers::Kind::Postgres,
            Kind::Mariadb => servers::Kind::MariaDb,
            Kind::Galera => servers::Kind::Galera,
        }
    }
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = self.serve(console);
        console.conclude(outcome)
    }

    fn serve(&self, console: &mut Console) -> Result<Exit, Complaint> {
        // A server that is half started must be stopped too.
        clock::something_to_keep();
        let fleet = skew_campaign::servers::start(self.server.into(), self.nodes, &[], "skew up")?;
        let urls = fleet.urls();
        if let Some(first) = urls.first().filter(|_| !self.command.is_empty()) {
            return self.run_command(first);
        }
        urls.iter().for_each(|url| console.result(&format!("{url}\n")));
        console.note("running until Ctrl-C");
        // Whoever started this reads the address before anything else happens.
        let _ = console.flush();
        while !clock::is_interrupted() {
            std::thread::sleep(GLANCE);
        }
        Ok(Exit::Holds)
    }

    fn run_command(&self, url: &Url) -> Result<Exit, Complaint> {
        let program = self.command.first().map_or("", String::as_str);
        let mut command = Command::new(program);
        command.args(&self.command[1..]);
        name_database(&mut command, url);
        let complain =
            |error| Complaint::new(program, format!("cannot be run: {error}"), "check the command behind --");
        let ended = Family::start(command, std::io::stdin().is_terminal(), clock::flags())
            .and_then(|family| family.wait(None, || false))
            .map_err(complain)?;
        Ok(match ended {
            FamilyEnd::Status(status) if status.success() => Exit::Holds,
            FamilyEnd::Interrupted => Exit::Inconclusive,
            _ => Exit::Found,
        })
    }
}
