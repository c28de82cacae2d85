//! Why a statement did not go well, and what one may do about it.
//!
//! ```text
//!   Refused      the database gave up this transaction; the same again may work        retried
//!   Constraint   a unique or foreign key, a check: the same again fails again          not retried
//!   Lost         no answer any more; during a commit nobody knows how it ended         a new connection, then retried
//!   RolledBack   the program itself wants to undo what it did                          not retried
//!   NoTable      a table is not there                                                  ends the run
//!   Other        the statement is wrong, or the server cannot do it                    ends the run
//! ```

/// Why a statement, or a whole transaction, did not go well.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The database refused because of others that ran at the same time; its kind, as reports count it.
    #[error("{0}")]
    Refused(&'static str),
    /// A constraint of the schema would be violated; its kind.
    #[error("{0}")]
    Constraint(&'static str),
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

impl Failure {
    /// How reports and the history call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Refused(kind) | Failure::Constraint(kind) => kind,
            Failure::Lost(_) => "connection lost",
            Failure::RolledBack => "rolled back by the program",
            Failure::NoTable(_) | Failure::Other(_) => "error",
        }
    }

    /// Whether a node of a cluster takes no statements at the moment, whoever asks.
    pub(crate) fn is_not_ready(&self) -> bool {
        *self == Failure::Refused(NOT_READY)
    }

    /// What PostgreSQL means by a five-letter code.
    pub(crate) fn of_postgres(code: &str, message: String) -> Failure {
        match code {
            "40001" => Failure::Refused("serialization failure"),
            "40P01" => Failure::Refused("deadlock"),
            "55P03" => Failure::Refused("lock not available"),
            "57014" => Failure::Refused("statement timeout"),
            "23505" => Failure::Constraint("unique violation"),
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
            1062 | 1586 => Failure::Constraint("unique violation"),
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
    fn a_node_that_is_not_ready_is_asked_again_and_a_wrong_statement_is_not() {
        let not_ready = Failure::of_mysql(1047, "08S01", "WSREP has not yet prepared node".to_owned());
        assert_eq!(not_ready, Failure::Refused("node not ready"));
        assert!(matches!(Failure::of_mysql(1064, "42000", "syntax".to_owned()), Failure::Other(_)));
        assert!(matches!(Failure::of_postgres("57P01", "shutdown".to_owned()), Failure::Lost(_)));
    }
}
