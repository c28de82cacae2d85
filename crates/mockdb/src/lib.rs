//! A database as weak as its isolation level allows.
//!
//! Every read may return any version that the level allows, so that a test sees in a few runs what is rare in production.
//!
//! ```text
//!   SQL session ──┐                                          ┌── growing history: which versions are allowed (skew-check)
//!   Kv, HTTP ─────┼──> Store: keys, versions, locks, turns ──┼── chooser: which of them is returned
//!   scheduler ────┘                                          └── recorder: the history file, the log of choices
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `store`, `life`, `undo` | the parts put together: one transaction's events, one at a time, without threads or clocks |
//! | `sessions`, `past`, `waits`, `choosers`, `sequences`, `chronicle` | the parts; each keeps its fields to itself and knows nothing of the store |
//! | `keys`, `versions`, `live_scans`, `lock`, `table_lock`, `advisory`, `transaction`, `statement`, `operation` | what the parts are made of |
//! | `rows`, `scan`, `final_state` | rows and ranges, as a transaction at a level sees them |
//! | [`chooser`] | the strategies, a page each |
//! | `table_wait` | what a statement waits for before it looks at rows: the tables |
//! | `record`, [`log`] | what is written |
//! | `engine` | PostgreSQL's way with rows: snapshots, tuples, locks, waits, refusals |
//! | [`view`], `engine_view`, `steered`, `steering` | a transaction as `skew_sql::Storage`: the level decides, an engine does, or somebody else: the explorer |
//! | [`connection`], `parameter`, `database` | SQL over it: autocommit, transactions, savepoints, what clients set, the catalog |
//! | `shared`, [`http`] | many tasks and one store; keys and values over HTTP with JSON |
//! | [`wire`] | SQL over the protocol of PostgreSQL |
//! | [`kv`] | keys and values, in a test of five lines and from many threads |
//!
//! Everything but the faces is a function of its seed and of the order in which it is asked: the same requests give the same bytes.

mod advisory;
mod chance;
pub mod chooser;
mod choosers;
mod chronicle;
pub mod connection;
mod database;
mod engine;
mod engine_view;
mod final_state;
pub mod http;
mod keys;
pub mod kv;
mod life;
mod live_scans;
mod lock;
pub mod log;
mod operation;
mod options;
mod parameter;
mod past;
mod record;
mod rows;
mod scan;
mod sequences;
mod sessions;
mod shared;
mod statement;
mod steered;
mod steering;
mod store;
mod table_lock;
mod table_wait;
mod tape;
mod transaction;
mod undo;
mod versions;
pub mod view;
mod waits;
pub mod wire;

pub use chance::{Chance, Stream};
pub use chooser::{Campaign, Chooser, ChooserKind, Script};
pub use chooser::{
    Divergence, Foretelling, Foretold, ForetoldRead, ForetoldTransaction, HowDiverged, TransactionPlace,
};
pub use chronicle::Counts;
pub use connection::{Connection, Status};
pub use database::{Database, Overruled};
pub use kv::{Kv, KvError, KvSession, KvTransaction, KvValue};
pub use log::{Choice, ChoiceLog, LoggedStep};
pub use options::Options;
pub use record::Record;
pub use skew_check::Updates;
pub use skew_sql::Granularity;
pub use skew_sql::rows::SpaceShape;
pub use statement::StatementEnding;
pub use steering::Steering;
pub use store::{Begin, Store};
pub use tape::Tape;
pub use view::SessionView;

/// A level, by the name that tests are written with.
pub use skew_history::IsolationLevel as Level;
