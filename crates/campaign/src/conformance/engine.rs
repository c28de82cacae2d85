//! Servers: how they say who they are, which levels they have, and what is known of these.
//!
//! ```text
//!   version()  "PostgreSQL 15.20 (Debian …)"   PostgreSQL 15.20     three levels
//!              "10.11.19-MariaDB-…"            MariaDB 10.11.19     four, and one of them with innodb_snapshot_isolation
//!              "8.4.2"                         MySQL 8.4.2          four
//!              anything else                   by its own words     the levels of its protocol, of which nothing is known
//! ```
//!
//! What is known of PostgreSQL and MariaDB was seen on PostgreSQL 15 and MariaDB 10.11, and a test sees it again; MySQL's manual promises what
//! MariaDB's does.

use super::cases::Case;
use skew_value::Dialect;
use skew_workload::connection::Connection;
use skew_workload::{Failure, Row};

/// Who a server says that it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Engine {
    /// What it is.
    pub kind: EngineKind,
    /// What it speaks.
    pub dialect: Dialect,
    /// `PostgreSQL 15.20`.
    pub words: String,
    /// The name of the level that transactions have which ask for none.
    default: String,
    /// Whether updates of what changed since the snapshot are refused by default; nothing where that cannot be chosen.
    refuses_changed: Option<bool>,
}

/// Servers of which something is known, and all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
    /// Something that speaks like one of them.
    Other,
}

impl EngineKind {
    /// As JSON calls it.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Postgres => "postgres",
            EngineKind::MariaDb => "mariadb",
            EngineKind::MySql => "mysql",
            EngineKind::Other => "other",
        }
    }

    /// As people call it, whatever its version.
    pub(super) fn title(self) -> &'static str {
        match self {
            EngineKind::Postgres => "PostgreSQL",
            EngineKind::MariaDb => "MariaDB",
            EngineKind::MySql => "MySQL",
            EngineKind::Other => "this server",
        }
    }
}

/// A level of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerLevel {
    /// As it is chosen by `--level`.
    pub name: &'static str,
    /// Whether transactions have it that ask for none.
    pub is_default: bool,
    /// What every session says first.
    pub opening: Vec<String>,
    /// The cases that are known to happen at it; nothing where nothing is known.
    known: Option<&'static [&'static str]>,
}

/// The names of all levels that some server has.
pub const LEVELS: [&str; 5] =
    [READ_UNCOMMITTED, READ_COMMITTED, REPEATABLE_READ, WITH_SNAPSHOT_ISOLATION, SERIALIZABLE];

const READ_UNCOMMITTED: &str = "read-uncommitted";
const READ_COMMITTED: &str = "read-committed";
const REPEATABLE_READ: &str = "repeatable-read";
const WITH_SNAPSHOT_ISOLATION: &str = "repeatable-read+innodb_snapshot_isolation";
const SERIALIZABLE: &str = "serializable";

/// Read committed of both: each statement sees what was committed when it began.
const OF_READ_COMMITTED: &[&str] =
    &["PMP", "PMP-write", "P4", "G-single", "G-single-predicate", "G-single-write", "G2-item", "G2", "G2-two-edges"];

/// Reads come from a snapshot, and whoever changes what changed since is refused.
const OF_SNAPSHOTS: &[&str] = &["G2-item", "G2", "G2-two-edges"];

/// Reads come from a snapshot, and changes act on the latest state.
const OF_REPEATABLE_READ_OF_INNODB: &[&str] = &["PMP-write", "P4", "G-single-write", "G2-item", "G2", "G2-two-edges"];

/// Everything is read as it stands there; only writes wait for each other.
const OF_READ_UNCOMMITTED: &[&str] = &[
    "G1a",
    "G1b",
    "G1c",
    "OTV",
    "PMP",
    "PMP-write",
    "P4",
    "G-single",
    "G-single-predicate",
    "G-single-write",
    "G2-item",
    "G2",
    "G2-two-edges",
];

impl ServerLevel {
    /// A level of which nothing is known.
    #[cfg(test)]
    pub(super) fn unknown(name: &'static str) -> ServerLevel {
        ServerLevel { name, is_default: false, opening: Vec::new(), known: None }
    }

    /// Whether a case is known to happen at this level; nothing where nothing is known.
    pub fn is_known_to_happen(&self, case: &Case) -> Option<bool> {
        self.known.map(|known| known.contains(&case.name))
    }
}

impl Engine {
    /// Asks a server who it is.
    pub fn ask(connection: &mut dyn Connection) -> Result<Engine, Failure> {
        let dialect = connection.dialect();
        let version = text(connection, "SELECT version()")?;
        let (default, refuses_changed) = match dialect {
            Dialect::Postgres => (text(connection, "SHOW default_transaction_isolation")?, None),
            Dialect::MySql => {
                // Called `tx_isolation` by MariaDB before version 11.1.
                let asked = text(connection, "SELECT @@transaction_isolation");
                let default = asked.or_else(|_| text(connection, "SELECT @@tx_isolation"))?;
                let setting = text(connection, "SELECT @@innodb_snapshot_isolation").ok();
                (default, setting.map(|value| value == "1"))
            }
        };
        let (kind, words) = recognise(dialect, &version);
        let default = default.to_lowercase().replace([' ', '_'], "-");
        Ok(Engine { kind, dialect, words, default, refuses_changed })
    }

    /// Its levels, the weakest first.
    pub fn levels(&self) -> Vec<ServerLevel> {
        LEVELS.into_iter().filter(|name| self.has(name)).map(|name| self.level(name)).collect()
    }

    /// PostgreSQL takes `READ UNCOMMITTED` and does as if it had heard `READ COMMITTED`.
    fn has(&self, level: &str) -> bool {
        match level {
            READ_UNCOMMITTED => self.dialect == Dialect::MySql,
            WITH_SNAPSHOT_ISOLATION => self.refuses_changed.is_some(),
            _ => true,
        }
    }

    fn level(&self, name: &'static str) -> ServerLevel {
        let plain = name.split('+').next().unwrap_or(name);
        let with_setting = name == WITH_SNAPSHOT_ISOLATION;
        let level = plain.replace('-', " ");
        let mut opening = vec![match self.dialect {
            Dialect::Postgres => format!("SET default_transaction_isolation = '{level}'"),
            Dialect::MySql => format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.to_uppercase()),
        }];
        if self.refuses_changed.is_some() && plain == REPEATABLE_READ {
            let value = if with_setting { "ON" } else { "OFF" };
            opening.push(format!("SET SESSION innodb_snapshot_isolation = {value}"));
        }
        let is_setting = plain != REPEATABLE_READ || self.refuses_changed.unwrap_or(false) == with_setting;
        ServerLevel { name, is_default: plain == self.default && is_setting, opening, known: self.known(name) }
    }

    fn known(&self, level: &str) -> Option<&'static [&'static str]> {
        let is_postgres = match self.kind {
            EngineKind::Postgres => true,
            EngineKind::MariaDb | EngineKind::MySql => false,
            EngineKind::Other => return None,
        };
        Some(match level {
            READ_UNCOMMITTED => OF_READ_UNCOMMITTED,
            READ_COMMITTED => OF_READ_COMMITTED,
            REPEATABLE_READ if is_postgres => OF_SNAPSHOTS,
            REPEATABLE_READ => OF_REPEATABLE_READ_OF_INNODB,
            WITH_SNAPSHOT_ISOLATION => OF_SNAPSHOTS,
            _ => &[],
        })
    }
}

/// What a server is, by its version.
fn recognise(dialect: Dialect, version: &str) -> (EngineKind, String) {
    let number = |text: &str| text.split([' ', '-', '(']).next().unwrap_or_default().to_owned();
    let is_number = |text: &str| text.bytes().all(|letter| letter.is_ascii_digit() || letter == b'.');
    match (dialect, version.strip_prefix("PostgreSQL ")) {
        // Those who have built their own on it say so in the number: 11.2-YB-2.25.
        (Dialect::Postgres, Some(rest)) if is_number(rest.split(' ').next().unwrap_or_default()) => {
            (EngineKind::Postgres, format!("PostgreSQL {}", number(rest)))
        }
        (Dialect::MySql, _) if version.contains("MariaDB") => {
            (EngineKind::MariaDb, format!("MariaDB {}", number(version)))
        }
        (Dialect::MySql, _) if is_number(&number(version)) && !version.to_lowercase().contains("tidb") => {
            (EngineKind::MySql, format!("MySQL {}", number(version)))
        }
        _ => (EngineKind::Other, version.to_owned()),
    }
}

/// The first value of an answer.
fn text(connection: &mut dyn Connection, sql: &str) -> Result<String, Failure> {
    let answer = connection.type_in(sql).map_err(|objection| Failure::Other(format!("{objection}: {sql}")))?;
    Ok(answer.rows.first().and_then(|Row(values)| values.first()).map(ToString::to_string).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_their_versions() {
        let kind = |dialect, version| recognise(dialect, version);
        let debian = "PostgreSQL 15.20 (Debian 15.20-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc";
        assert_eq!(kind(Dialect::Postgres, debian), (EngineKind::Postgres, "PostgreSQL 15.20".to_owned()));
        let mariadb = kind(Dialect::MySql, "10.11.19-MariaDB-deb12-log");
        assert_eq!(mariadb, (EngineKind::MariaDb, "MariaDB 10.11.19".to_owned()));
        assert_eq!(kind(Dialect::MySql, "8.4.2-log"), (EngineKind::MySql, "MySQL 8.4.2".to_owned()));
        for other in ["CockroachDB CCL v23.1", "PostgreSQL 11.2-YB-2.25.0.0-b0 on x86_64"] {
            assert_eq!(kind(Dialect::Postgres, other), (EngineKind::Other, other.to_owned()));
        }
        assert_eq!(kind(Dialect::MySql, "5.7.25-TiDB-v6.5").0, EngineKind::Other);
    }

    fn engine(kind: EngineKind, dialect: Dialect, default: &str, refuses_changed: Option<bool>) -> Engine {
        Engine { kind, dialect, words: String::new(), default: default.to_owned(), refuses_changed }
    }

    #[test]
    fn a_server_has_the_levels_that_it_tells_apart() {
        let postgres = engine(EngineKind::Postgres, Dialect::Postgres, "read-committed", None).levels();
        let names: Vec<(&str, bool)> = postgres.iter().map(|level| (level.name, level.is_default)).collect();
        assert_eq!(names, [("read-committed", true), ("repeatable-read", false), ("serializable", false)]);
        let mysql = engine(EngineKind::MySql, Dialect::MySql, "repeatable-read", None).levels();
        assert_eq!(mysql.len(), 4);
        for is_on in [false, true] {
            let mariadb = engine(EngineKind::MariaDb, Dialect::MySql, "repeatable-read", Some(is_on)).levels();
            let defaults: Vec<&str> = mariadb.iter().filter(|level| level.is_default).map(|level| level.name).collect();
            assert_eq!(defaults, [if is_on { WITH_SNAPSHOT_ISOLATION } else { REPEATABLE_READ }]);
            assert_eq!(mariadb.len(), 5);
        }
    }

    #[test]
    fn what_is_known_is_about_cases() {
        for known in [OF_READ_COMMITTED, OF_SNAPSHOTS, OF_REPEATABLE_READ_OF_INNODB, OF_READ_UNCOMMITTED] {
            assert!(known.iter().all(|name| super::super::CASES.iter().any(|case| case.name == *name)), "{known:?}");
        }
        let other = engine(EngineKind::Other, Dialect::Postgres, "", None).levels();
        assert!(other.iter().all(|level| level.is_known_to_happen(&super::super::CASES[0]).is_none()));
    }
}
