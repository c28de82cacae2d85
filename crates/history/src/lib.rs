//! What the clients of a database saw.
//!
//! A [`History`] is a set of sessions; a session is a row of transactions in the order in which one client ran them; a
//! transaction is a row of events, each a read or a write of one key:
//!
//! ```text
//!   session a    t1: r(x,0) w(x,1)          t2: r(x,1)
//!   session b    t3: r(x,0) w(x,2)
//! ```
//!
//! This crate holds the nouns and the files they live in. It does not know what any of it *means*: which histories an
//! isolation level allows is for `skew-check`.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@history`] | the immutable history: dense ids, names at the edge |
//! | [`builder`] | the only way to make one; refuses bad input with its place |
//! | [`mod@line`] | a history told line by line, as it happens, to a file or straight into a builder |
//! | [`notation`] | the one-line notation of tests and docs: `a: r(x,init) w(x,1) \| r(x,1)` |
//! | [`json`] | how texts, numbers and values are written in JSON |
//! | [`statement`], [`strength`], [`engine`] | what the statement behind an event asked for; how it locks rows; engines and their levels |
//! | [`scan`] | what a range read covers |
//! | [`mod@format`] | other tools' files, one module each |
//!
//! It uses no clock, no files, no threads and no randomness: the same bytes in give the same bytes out.

pub mod builder;
pub mod engine;
pub mod format;
pub mod history;
mod index_entry;
pub mod json;
pub mod level;
pub mod line;
pub mod name;
pub mod notation;
mod restrict;
pub mod scan;
pub mod statement;
pub mod strength;
pub mod value;

pub use builder::{HistoryBuilder, Place, Problem};
pub use engine::{Engine, EngineLevel};
pub use history::{Action, Event, EventId, Features, History, KeyId, Outcome, SessionId, Times, TransactionId, Writer};
pub use level::IsolationLevel;
pub use name::Name;
pub use statement::{Asked, Refused, StatementKind};
pub use strength::RowStrength;
pub use value::{Value, ValueView};
