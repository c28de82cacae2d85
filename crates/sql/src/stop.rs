//! Why a statement does not come to its end.
//!
//! Two kinds, kept apart because callers treat them differently:
//!
//! ```text
//!   SqlError    the statement is wrong: its session is told, with SQLSTATE and place, and lives on
//!   Interrupt   the store wants something: wait for a lock, end the transaction, stop; the statement did nothing yet
//! ```

use skew_value::SqlError;

/// What a store wants of whoever runs the statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// Not now: another transaction holds the lock, or it is another session's turn. Run the statement again when told; all that it
    /// has read so far is answered as before.
    Wait,
    /// The transaction is over: it could not be serialized.
    SerializationFailure,
    /// The transaction is over: it waited for itself.
    Deadlock,
    /// Somebody asked to stop.
    Cancelled,
}

/// Why a statement did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The statement is wrong.
    Error(SqlError),
    /// The store interrupted it.
    Interrupted(Interrupt),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Error(error)
    }
}

impl From<Interrupt> for Stop {
    fn from(interrupt: Interrupt) -> Stop {
        Stop::Interrupted(interrupt)
    }
}
