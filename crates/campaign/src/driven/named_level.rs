//! The level that transactions ask for, by its name and by where they run.
//!
//! ```text
//!   --level                     on the mock database    on PostgreSQL                 on MariaDB and MySQL
//!   read-committed              read-committed          postgres:read-committed       mysql:read-committed
//!   repeatable-read, snapshot   – , snapshot            postgres:repeatable-read      mysql:repeatable-read
//!   serializable                serializable            postgres:serializable         mysql:serializable
//!   causal, …                   causal, …               the server's default, and a note
//!   postgres:…, mysql:…         –                       its own, and no other's
//!   nothing                     serializable            postgres:serializable         mysql:serializable; of a cluster mysql:repeatable-read
//! ```
//!
//! SQL names three levels, and what a server makes of them is its own affair. So a server is held to its own level of that name.

use crate::Complaint;
use skew_history::level::listed;
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_value::Dialect;
use std::fmt;
use std::str::FromStr;

/// A level as somebody names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedLevel {
    /// One that means something by itself.
    Itself(IsolationLevel),
    /// REPEATABLE READ, of whichever server.
    RepeatableRead,
}

const REPEATABLE_READ: &str = "repeatable-read";

impl FromStr for NamedLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<NamedLevel, String> {
        match text {
            REPEATABLE_READ | "rr" => Ok(NamedLevel::RepeatableRead),
            level => level
                .parse()
                .map(NamedLevel::Itself)
                .map_err(|error: <IsolationLevel as FromStr>::Err| error.to_string()),
        }
    }
}

impl fmt::Display for NamedLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamedLevel::Itself(level) => out.pad(level.name()),
            NamedLevel::RepeatableRead => out.pad(REPEATABLE_READ),
        }
    }
}

/// Where transactions run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destination {
    /// What the servers speak; nothing of the mock database.
    pub dialect: Option<Dialect>,
    /// Whether sessions are spread over several servers that speak as MariaDB does.
    pub is_galera: bool,
}

impl Destination {
    /// The level in the words of whoever asked for it, or what is usual.
    pub fn meant(self, named: Option<NamedLevel>) -> IsolationLevel {
        let of_cluster = IsolationLevel::Engine(EngineLevel::MysqlRepeatableRead);
        match named {
            Some(NamedLevel::Itself(level)) => level,
            Some(NamedLevel::RepeatableRead) => match self.dialect {
                Some(Dialect::Postgres) => IsolationLevel::Engine(EngineLevel::PostgresRepeatableRead),
                Some(Dialect::MySql) | None => of_cluster,
            },
            None if self.is_galera => of_cluster,
            None => IsolationLevel::Serializable,
        }
    }

    /// What is wrong with a level that nothing there can run at, and what to do about it.
    pub fn refuse(self, named: Option<NamedLevel>) -> Result<(), Complaint> {
        let refuse = |what: String, advice: &str| Err(Complaint::new("skew run", what, advice));
        let level = self.meant(named);
        let engine = self.dialect.map(|dialect| match dialect {
            Dialect::Postgres => Engine::Postgres,
            Dialect::MySql => Engine::Mysql,
        });
        match (level.of_engine(), engine) {
            (Some(own), None) => {
                let named = named.map_or_else(|| own.to_string(), |level| level.to_string());
                let what =
                    format!("{named} is for servers, and the mock database of a run has the levels of the papers");
                refuse(what, "give --db or --up, or a level of the papers")
            }
            (Some(own), Some(engine)) if own.engine() != engine => {
                let levels = listed(engine.levels().map(EngineLevel::name), "or");
                refuse(format!("{own} is no level of this server"), &format!("use {levels}"))
            }
            (None, _) if !level.is_of_papers() => {
                let levels = listed(IsolationLevel::of_papers().map(IsolationLevel::short), "or");
                refuse(format!("no transaction runs at {level}"), &format!("use {levels}"))
            }
            _ => Ok(()),
        }
    }
}
