//! What a server tells of itself while it runs: who is connected, and who has locked what.
//!
//! ```text
//!   pg_stat_activity    a line per client: active, idle, idle in transaction; what it waits for
//!   pg_locks            a line per lock that somebody has or waits for
//! ```
//!
//! A store for one program alone tells nothing: there the catalogs have the one client that asks, and no locks.

use std::sync::Arc;

/// A client of the server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClientFact {
    /// Its number.
    pub process: i64,
    /// Who it is.
    pub user: String,
    /// The database that it asked for.
    pub database: String,
    /// What it calls itself.
    pub application: String,
    /// `active`, `idle`, `idle in transaction`, `idle in transaction (aborted)`.
    pub state: &'static str,
    /// The kind of lock that it waits for.
    pub waits: Option<&'static str>,
    /// Its statement, or the last one.
    pub query: String,
}

/// What is locked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockedThing {
    /// A table, by its name in the catalog.
    Table(Arc<str>),
    /// A number of the application's.
    Advisory(i128),
    /// A transaction: whoever waits for a row waits for the end of who has it.
    Transaction(u32),
}

/// A lock that somebody has or waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockFact {
    /// The number of the client.
    pub process: i64,
    /// What is locked.
    pub thing: LockedThing,
    /// How, in the words of `pg_locks`.
    pub mode: &'static str,
    /// Whether it has it.
    pub granted: bool,
}
