//! The engines whose levels are known exactly, and the names of these levels.
//!
//! ```text
//!   postgres:read-committed      mysql:read-committed
//!   postgres:repeatable-read     mysql:repeatable-read      mysql:snapshot-isolation
//!   postgres:serializable        mysql:serializable
//! ```
//!
//! A level of an engine says what one server of that kind can really show, which is neither more nor less than what some level of the
//! papers allows. So these levels are no steps of one ladder: repeatable read of either engine has histories that its read committed
//! lacks. The one exception is PostgreSQL's serializable, which is its repeatable read and more ([`IsolationLevel::implies`](crate::IsolationLevel::implies)).
//!
//! A name is that of the engine, a colon and that of the level; both have short forms, so that `pg:rc` is `postgres:read-committed`.
//! MySQL and MariaDB are one engine here, because InnoDB is what locks and reads.

use crate::level::listed;
use std::fmt;
use std::str::FromStr;

/// A kind of database server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB, with InnoDB.
    Mysql,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 2] = [Engine::Postgres, Engine::Mysql];

    /// What the names of its levels begin with.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Its name, and what else it is called.
    fn names(self) -> &'static [&'static str] {
        match self {
            Engine::Postgres => &["postgres", "postgresql", "pg"],
            Engine::Mysql => &["mysql", "mariadb", "innodb"],
        }
    }

    /// Its levels, in the order in which they are listed.
    pub fn levels(self) -> impl DoubleEndedIterator<Item = EngineLevel> + Clone {
        EngineLevel::ALL.into_iter().filter(move |level| level.engine() == self)
    }

    /// Those that are asked when nobody says which: the three of the standard. MariaDB's snapshot isolation is a switch that few turn on.
    pub fn usual_levels(self) -> impl DoubleEndedIterator<Item = EngineLevel> + Clone {
        self.levels().filter(|&level| level != MysqlSnapshotIsolation)
    }

    fn called(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.names().iter().any(|known| known.eq_ignore_ascii_case(name)))
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A text that begins with the name of no engine.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no engine whose levels are known; use postgres, mysql or mariadb, with a version if you like")]
pub struct UnknownEngine(pub String);

impl FromStr for Engine {
    type Err = UnknownEngine;

    /// The engine of a history's header, such as `postgres 15.20`: what follows the first word is for people.
    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        let name = text.split_whitespace().next().unwrap_or_default();
        Engine::called(name).ok_or_else(|| UnknownEngine(text.to_owned()))
    }
}

/// What one server of an engine can show at one of its levels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EngineLevel {
    /// Each statement reads one state of the database, never older than the one before; writes act on the latest.
    PostgresReadCommitted,
    /// Each transaction reads one state, taken at its first statement; who changes a row that changed since is refused.
    PostgresRepeatableRead,
    /// The same, and no run that is not serializable.
    PostgresSerializable,
    /// As PostgreSQL's, and what a locking statement looks at is the latest state.
    MysqlReadCommitted,
    /// Plain reads of a transaction share one state, taken at its first plain read; locking statements act on the latest.
    MysqlRepeatableRead,
    /// The same, and who locks a row that changed since is refused: MariaDB's `innodb_snapshot_isolation=ON`.
    MysqlSnapshotIsolation,
    /// Plain reads lock, too.
    MysqlSerializable,
}

use EngineLevel::*;

impl EngineLevel {
    /// All of them, engine by engine, in the order in which they are listed.
    pub const ALL: [EngineLevel; 7] = [
        PostgresReadCommitted,
        PostgresRepeatableRead,
        PostgresSerializable,
        MysqlReadCommitted,
        MysqlRepeatableRead,
        MysqlSnapshotIsolation,
        MysqlSerializable,
    ];

    /// The name used on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            PostgresReadCommitted => "postgres:read-committed",
            PostgresRepeatableRead => "postgres:repeatable-read",
            PostgresSerializable => "postgres:serializable",
            MysqlReadCommitted => "mysql:read-committed",
            MysqlRepeatableRead => "mysql:repeatable-read",
            MysqlSnapshotIsolation => "mysql:snapshot-isolation",
            MysqlSerializable => "mysql:serializable",
        }
    }

    /// The shortest of its names.
    pub const fn short(self) -> &'static str {
        match self {
            PostgresReadCommitted => "pg:rc",
            PostgresRepeatableRead => "pg:rr",
            PostgresSerializable => "pg:ser",
            MysqlReadCommitted => "mysql:rc",
            MysqlRepeatableRead => "mysql:rr",
            MysqlSnapshotIsolation => "mysql:si",
            MysqlSerializable => "mysql:ser",
        }
    }

    /// The engine whose level it is.
    pub fn engine(self) -> Engine {
        match self {
            PostgresReadCommitted | PostgresRepeatableRead | PostgresSerializable => Engine::Postgres,
            MysqlReadCommitted | MysqlRepeatableRead | MysqlSnapshotIsolation | MysqlSerializable => Engine::Mysql,
        }
    }

    /// Whether somebody who leaves the engine out may mean this level.
    pub(crate) fn is_called(self, name: &str) -> bool {
        self.own_names().contains(&name)
    }

    /// What may stand behind the colon. PostgreSQL takes "read uncommitted" for "read committed".
    fn own_names(self) -> &'static [&'static str] {
        match self {
            PostgresReadCommitted => &["read-committed", "rc", "read-uncommitted"],
            MysqlReadCommitted => &["read-committed", "rc"],
            PostgresRepeatableRead | MysqlRepeatableRead => &["repeatable-read", "rr"],
            MysqlSnapshotIsolation => &["snapshot-isolation", "si"],
            PostgresSerializable | MysqlSerializable => &["serializable", "ser"],
        }
    }
}

impl fmt::Display for EngineLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A name that is no level of an engine.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no level of an engine; use {names}", names = listed(EngineLevel::ALL.map(EngineLevel::name), "or"))]
pub struct UnknownEngineLevel(pub String);

impl FromStr for EngineLevel {
    type Err = UnknownEngineLevel;

    fn from_str(text: &str) -> Result<Self, UnknownEngineLevel> {
        let found = text.split_once(':').and_then(|(engine, level)| {
            let mut levels = Engine::called(engine)?.levels();
            levels.find(|known| known.own_names().contains(&level))
        });
        found.ok_or_else(|| UnknownEngineLevel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_read_back() {
        for level in EngineLevel::ALL {
            assert_eq!(level.name().parse(), Ok(level));
            assert_eq!(level.short().parse(), Ok(level));
            assert!(level.name().starts_with(level.engine().name()));
        }
        assert_eq!("mariadb:repeatable-read".parse(), Ok(MysqlRepeatableRead));
        assert_eq!("innodb:si".parse(), Ok(MysqlSnapshotIsolation));
        assert_eq!("postgres:read-uncommitted".parse(), Ok(PostgresReadCommitted));
    }

    #[test]
    fn what_is_no_level_of_an_engine_is_answered_with_those_that_are() {
        for wrong in ["pg:si", "repeatable-read", "oracle:serializable", "pg:", ":rc", ""] {
            let refusal = wrong.parse::<EngineLevel>().unwrap_err().to_string();
            assert!(refusal.ends_with("mysql:snapshot-isolation or mysql:serializable"), "{refusal}");
        }
    }

    #[test]
    fn the_first_word_of_a_header_names_the_engine() {
        assert_eq!("postgres 15.20".parse(), Ok(Engine::Postgres));
        assert_eq!("PostgreSQL 16".parse(), Ok(Engine::Postgres));
        assert_eq!("mysql 8.0".parse(), Ok(Engine::Mysql));
        assert_eq!("mariadb 10.11.6".parse(), Ok(Engine::Mysql));
        assert!("oracle 19".parse::<Engine>().is_err() && "".parse::<Engine>().is_err());
    }
}
