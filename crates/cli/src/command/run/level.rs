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

use super::Arguments;
use crate::input::Complaint;
use skew_campaign::driven::engine_level;
use skew_history::level::listed;
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_value::Dialect;
use skew_workload::Url;
use std::fmt;
use std::str::FromStr;

/// A level as somebody names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LevelArgument {
    /// One that means something by itself.
    Named(IsolationLevel),
    /// REPEATABLE READ, of whichever server.
    RepeatableRead,
}

const REPEATABLE_READ: &str = "repeatable-read";

impl FromStr for LevelArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<LevelArgument, String> {
        match text {
            REPEATABLE_READ | "rr" => Ok(LevelArgument::RepeatableRead),
            level => level
                .parse()
                .map(LevelArgument::Named)
                .map_err(|error: <IsolationLevel as FromStr>::Err| error.to_string()),
        }
    }
}

impl fmt::Display for LevelArgument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelArgument::Named(level) => out.pad(level.name()),
            LevelArgument::RepeatableRead => out.pad(REPEATABLE_READ),
        }
    }
}

/// The name of a level in one way for all ways to say it.
pub(super) fn written(text: &str) -> Option<String> {
    text.parse::<LevelArgument>().ok().map(|level| level.to_string())
}

impl Arguments {
    /// The level that transactions run at: on a server that has it, the server's own.
    pub(super) fn level(&self) -> IsolationLevel {
        let asked = self.named_level();
        let Some(dialect) = self.dialect() else { return asked };
        engine_level(dialect, asked).map_or(asked, IsolationLevel::Engine)
    }

    /// The level in the words of whoever asked for it, or what is usual.
    pub(super) fn named_level(&self) -> IsolationLevel {
        let of_cluster = IsolationLevel::Engine(EngineLevel::MysqlRepeatableRead);
        match self.level {
            Some(LevelArgument::Named(level)) => level,
            Some(LevelArgument::RepeatableRead) => match self.dialect() {
                Some(Dialect::Postgres) => IsolationLevel::Engine(EngineLevel::PostgresRepeatableRead),
                Some(Dialect::MySql) | None => of_cluster,
            },
            None if self.is_galera() => of_cluster,
            None => IsolationLevel::Serializable,
        }
    }

    /// What the server speaks; nothing of the mock database.
    fn dialect(&self) -> Option<Dialect> {
        let first = self.servers.first().and_then(|url| url.parse::<Url>().ok());
        first.map(|url| url.dialect).or_else(|| self.own.dialect())
    }

    /// Whether sessions are spread over several servers that speak as MariaDB does.
    fn is_galera(&self) -> bool {
        self.own.is_cluster() || self.servers.len() > 1 && self.dialect() == Some(Dialect::MySql)
    }

    /// A level that nothing here can run at.
    pub(super) fn refuse_level(&self) -> Result<(), Complaint> {
        let refuse = |what: String, advice: &str| Err(Complaint::new("skew run", what, advice));
        let level = self.named_level();
        let engine = self.dialect().map(|dialect| match dialect {
            Dialect::Postgres => Engine::Postgres,
            Dialect::MySql => Engine::Mysql,
        });
        match (level.of_engine(), engine) {
            (Some(own), None) => {
                let named = self.level.map_or_else(|| own.to_string(), |level| level.to_string());
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

    /// Whether the exit code is about a level that --check asks for. On a server `levels` and `all` are a look around, and nobody has
    /// promised what is above the level that transactions asked for.
    pub(super) fn counts(&self, level: IsolationLevel) -> bool {
        let is_named = self.check.contains(&super::AskedLevels::Level(level));
        self.is_mock() || is_named || self.named_level().implies(level)
    }
}
