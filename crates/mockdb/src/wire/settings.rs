//! What is set before a client sets anything, what clients are told of, and what the server itself obeys.
//!
//! Most settings mean nothing to a store in memory; the connection keeps and shows them, because clients check that what they set was
//! set. A few are told to the client whenever they change, as the protocol asks.

use crate::connection::Connection;
use crate::database::Database;
use crate::parameter::parse_limit;
use skew_value::{SqlError, SqlState};
use std::time::Duration;

/// What clients are told of at once, as it is told and as it is kept.
pub(crate) const REPORTED: [(&str, &str); 13] = [
    ("application_name", "application_name"),
    ("client_encoding", "client_encoding"),
    ("DateStyle", "datestyle"),
    ("default_transaction_read_only", "default_transaction_read_only"),
    ("in_hot_standby", "in_hot_standby"),
    ("integer_datetimes", "integer_datetimes"),
    ("IntervalStyle", "intervalstyle"),
    ("is_superuser", "is_superuser"),
    ("server_encoding", "server_encoding"),
    ("server_version", "server_version"),
    ("session_authorization", "session_authorization"),
    ("standard_conforming_strings", "standard_conforming_strings"),
    ("TimeZone", "timezone"),
];

/// What is set when nobody set anything.
const DEFAULTS: &[(&str, &str)] = &[
    ("application_name", ""),
    ("bytea_output", "hex"),
    ("check_function_bodies", "on"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("datestyle", "ISO, MDY"),
    ("default_table_access_method", "heap"),
    ("default_tablespace", ""),
    ("deadlock_timeout", "1s"),
    ("default_transaction_deferrable", "off"),
    ("default_transaction_read_only", "off"),
    ("extra_float_digits", "1"),
    ("idle_in_transaction_session_timeout", "0"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("intervalstyle", "postgres"),
    ("is_superuser", "on"),
    ("jit", "off"),
    ("lc_collate", "C.UTF-8"),
    ("lc_ctype", "C.UTF-8"),
    ("lock_timeout", "0"),
    ("max_identifier_length", "63"),
    ("max_index_keys", "32"),
    ("row_security", "on"),
    ("search_path", "\"$user\", public"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("server_version_num", "150000"),
    ("standard_conforming_strings", "on"),
    ("statement_timeout", "0"),
    ("timezone", "UTC"),
    ("work_mem", "4MB"),
];

/// Gives a new connection its settings, and those that its client asks for.
pub(crate) fn begin(
    connection: &mut Connection,
    database: &mut Database,
    user: &str,
    wanted: &[(String, String)],
) -> Result<(), SqlError> {
    for (name, value) in DEFAULTS.iter().chain(&[("session_authorization", user)]) {
        connection.set_first(database, name, value)?;
    }
    for (name, value) in wanted {
        connection.set_first(database, name, value)?;
    }
    Ok(())
}

/// A setting that nobody has ever set.
pub(crate) fn unrecognized(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

/// How long a statement may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) statement: Option<Duration>,
    pub(crate) lock: Option<Duration>,
    /// How long its client may be silent in a transaction.
    pub(crate) idle: Option<Duration>,
}

/// How long a statement of a connection may wait.
pub(crate) fn timeouts(connection: &Connection) -> Timeouts {
    let duration = |name: &str| {
        connection.setting(name).and_then(|value| parse_limit(value).ok().flatten()).map(Duration::from_micros)
    };
    Timeouts {
        statement: duration("statement_timeout"),
        lock: duration("lock_timeout"),
        idle: duration("idle_in_transaction_session_timeout"),
    }
}
