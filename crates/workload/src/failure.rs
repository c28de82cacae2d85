//! Why a statement did not go well, and what one may do about it.
//!
//! ```text
//!   Refused      the database gave up this transaction; the same again may work        retried
//!   Constraint   a unique or foreign key, a check: the same again fails again          not retried
//!   Duplicate    the same, and it was the primary key: a row is there                  not retried
//!   Lost         no answer any more; during a commit nobody knows how it ended         a new connection, then retried
//!   RolledBack   the program itself wants to undo what it did                          not retried
//!   NoTable      a table is not there                                                  ends the run
//!   Other        the statement is wrong, or the server cannot do it                    ends the run
//! ```

use skew_value::Dialect;

/// Why a statement, or a whole transaction, did not go well.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The database refused because of others that ran at the same time; its kind, as reports count it.
    #[error("{0}")]
    Refused(&'static str),
    /// A constraint of the schema would be violated; its kind.
    #[error("{0}")]
    Constraint(&'static str),
    /// A row with this primary key is there already.
    #[error("{UNIQUE}")]
    Duplicate,
    /// The connection is gone.
    #[error("the connection is lost: {0}")]
    Lost(String),
    /// The program decided to roll back.
    #[error("rolled back by the program")]
    RolledBack,
    /// There is no such table, with the server's words.
    #[error("{0}")]
    NoTable(String),
    /// Anything else, with the server's words.
    #[error("{0}")]
    Other(String),
}

/// What a node of a cluster says that is alone, or still catching up.
pub(crate) const NOT_READY: &str = "node not ready";

/// How reports call it when a key is there already.
const UNIQUE: &str = "unique violation";

/// How failures are called here, by PostgreSQL, and by MySQL and MariaDB.
const CODES: [(&str, &str, &str); 11] = [
    ("serialization failure", "40001", "40001"),
    ("deadlock", "40P01", "1213"),
    ("lock not available", "55P03", "1205"),
    ("lock wait timeout", "55P03", "1205"),
    ("statement timeout", "57014", "1969"),
    ("record changed", "40001", "1020"),
    (NOT_READY, "57P03", "1047"),
    (UNIQUE, "23505", "1062"),
    ("foreign key violation", "23503", "1452"),
    ("check violation", "23514", "4025"),
    ("not-null violation", "23502", "1048"),
];

impl Failure {
    /// How reports call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Refused(kind) | Failure::Constraint(kind) => kind,
            Failure::Duplicate => UNIQUE,
            Failure::Lost(_) => "connection lost",
            Failure::RolledBack => "rolled back by the program",
            Failure::NoTable(_) | Failure::Other(_) => "error",
        }
    }

    /// How the history calls it: by the server's own code, such as `40001` or `1213`, where it has one.
    pub(crate) fn code(&self, dialect: Dialect) -> &'static str {
        let kind = self.kind();
        let known = CODES.iter().find(|(name, ..)| *name == kind);
        known.map_or(kind, |(_, postgres, mysql)| match dialect {
            Dialect::Postgres => postgres,
            Dialect::MySql => mysql,
        })
    }

    /// Whether a node of a cluster takes no statements at the moment, whoever asks.
    pub(crate) fn is_not_ready(&self) -> bool {
        *self == Failure::Refused(NOT_READY)
    }

    /// The same, of a statement that violates the constraint of this name. Nobody but the server names the constraint of a primary key.
    pub(crate) fn of_postgres_constraint(code: &str, constraint: Option<&str>, message: String) -> Failure {
        match constraint {
            Some(name) if code == "23505" && name.ends_with("_pkey") => Failure::Duplicate,
            _ => Failure::of_postgres(code, message),
        }
    }

    /// What PostgreSQL means by a five-letter code.
    pub(crate) fn of_postgres(code: &str, message: String) -> Failure {
        match code {
            "40001" => Failure::Refused("serialization failure"),
            "40P01" => Failure::Refused("deadlock"),
            "55P03" => Failure::Refused("lock not available"),
            "57014" => Failure::Refused("statement timeout"),
            "23505" => Failure::Constraint(UNIQUE),
            "23503" => Failure::Constraint("foreign key violation"),
            "23514" => Failure::Constraint("check violation"),
            "23502" => Failure::Constraint("not-null violation"),
            "42P01" => Failure::NoTable(message),
            "57P01" | "57P02" | "57P03" | "57P05" => Failure::Lost(message),
            _ if code.starts_with("08") => Failure::Lost(message),
            _ => Failure::Other(format!("{message} ({code})")),
        }
    }

    /// What MySQL and MariaDB mean by an error number; Galera speaks through the same numbers.
    pub(crate) fn of_mysql(code: u16, state: &str, message: String) -> Failure {
        match code {
            1213 => Failure::Refused("deadlock"),
            1205 => Failure::Refused("lock wait timeout"),
            // MariaDB with innodb_snapshot_isolation.
            1020 => Failure::Refused("record changed"),
            1317 => Failure::Refused("interrupted"),
            1047 if message.contains("WSREP") => Failure::Refused(NOT_READY),
            // MySQL has the name of the table in front.
            1062 if ["'PRIMARY'", ".PRIMARY'"].iter().any(|name| message.contains(name)) => Failure::Duplicate,
            1062 | 1586 => Failure::Constraint(UNIQUE),
            1216 | 1217 | 1451 | 1452 => Failure::Constraint("foreign key violation"),
            3819 | 4025 => Failure::Constraint("check violation"),
            1048 => Failure::Constraint("not-null violation"),
            1146 => Failure::NoTable(message),
            1053 | 1077 | 1079 | 1927 | 2006 | 2013 => Failure::Lost(message),
            _ if state == "40001" => Failure::Refused("serialization failure"),
            _ => Failure::Other(format!("{message} ({code})")),
        }
    }
}

/// Why a server did not do what was typed, with the code that its manual has for it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Objection {
    /// It said no.
    #[error("{message} ({code})")]
    Refused {
        /// Five letters on PostgreSQL (`40001`), a number on MySQL and MariaDB (`1213`).
        code: String,
        /// The server's words.
        message: String,
    },
    /// The connection is gone, or nothing came back in time.
    #[error("the connection is lost: {0}")]
    Lost(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_servers_call_a_deadlock_by_the_same_name() {
        let postgres = Failure::of_postgres("40P01", String::new());
        assert_eq!(postgres, Failure::of_mysql(1213, "40001", String::new()));
        assert_eq!(postgres.kind(), "deadlock");
    }

    #[test]
    fn the_history_calls_a_failure_as_its_server_does() {
        for (postgres, mysql) in [("40P01", 1213), ("23505", 1062), ("23503", 1452), ("23514", 4025), ("23502", 1048)] {
            assert_eq!(Failure::of_postgres(postgres, String::new()).code(Dialect::Postgres), postgres);
            assert_eq!(Failure::of_mysql(mysql, "", String::new()).code(Dialect::MySql), mysql.to_string());
        }
        assert_eq!(Failure::of_mysql(1020, "HY000", String::new()).code(Dialect::MySql), "1020");
        assert_eq!(Failure::of_postgres("40001", String::new()).code(Dialect::Postgres), "40001");
        assert_eq!(Failure::Lost("away".to_owned()).code(Dialect::Postgres), "connection lost");
    }

    #[test]
    fn only_the_primary_key_tells_which_row_is_there() {
        let entry = |key: &str| Failure::of_mysql(1062, "23000", format!("Duplicate entry '1' for key {key}"));
        assert_eq!([entry("'PRIMARY'"), entry("'shops.PRIMARY'")], [Failure::Duplicate, Failure::Duplicate]);
        assert_eq!(entry("'name'"), Failure::Constraint("unique violation"));
        let of = |name| Failure::of_postgres_constraint("23505", Some(name), String::new());
        assert_eq!((of("skew_shops_pkey"), of("shops_name_key")), (Failure::Duplicate, entry("'name'")));
        assert_eq!(Failure::Duplicate.to_string(), "unique violation");
    }

    #[test]
    fn a_node_that_is_not_ready_is_asked_again_and_a_wrong_statement_is_not() {
        let not_ready = Failure::of_mysql(1047, "08S01", "WSREP has not yet prepared node".to_owned());
        assert_eq!(not_ready, Failure::Refused("node not ready"));
        assert!(matches!(Failure::of_mysql(1064, "42000", "syntax".to_owned()), Failure::Other(_)));
        assert!(matches!(Failure::of_postgres("57P01", "shutdown".to_owned()), Failure::Lost(_)));
    }
}
