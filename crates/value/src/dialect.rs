//! Which SQL is spoken.
//!
//! The two dialects share the binder, the planner and the executor. Where they differ (names of types and functions, quoting, the
//! meaning of `||`, integer division, upserts, what a comparison of text with a number means), the code asks the dialect at that place.

/// A dialect of SQL.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Dialect {
    /// PostgreSQL 15.
    #[default]
    Postgres,
    /// MySQL 8 and MariaDB 10.11, in their default modes.
    MySql,
}
