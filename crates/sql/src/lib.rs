//! SQL over a store that sees every row it reads.
//!
//! ```text
//!   text ── syntax ──> statement ── bind ──> typed expressions ── plan ──> point reads, ranges, joins ── execute ──> rows
//!                                     ▲                                                                     │
//!                                  catalog                                                        Storage: get scan put
//! ```
//!
//! Ordinary engines read what they like; here what a statement reads *is* the result that matters: a lookup by key must read that
//! one row and nothing else, a range must say which keys it covered, an UPDATE must tell its read from its write. So access paths
//! follow from rules, never from costs, and everything goes through the small [`Storage`] trait, behind which
//! stand the mock database and the explorer.
//!
//! | module | holds |
//! |---|---|
//! | `stop`, `violation` | why a statement does not come to its end; the words of refusals |
//! | `answer` | what it answers otherwise |
//! | [`catalog`] | what exists |
//! | [`storage`] | what is asked of a store |
//! | `virtual_tables` | what exists, as tables and functions that drivers ask |
//! | `tree` | bound statements as data: expressions, plans, changes |
//! | `syntax`, `bind`, `plan`, `execute` | the way of a statement from its text to its rows |
//! | `change`, `constraint` | rows that are written, and what they must keep |
//! | `define` | how tables come and go |
//! | [`copy`] | COPY: rows in a client's own text |
//! | [`session`] | parse, prepare, execute |
//! | `key` | how values become keys |
//! | [`memory`], `no_storage` | the simplest store; one that has nothing |
//! | [`rows`] | rows as keys of a history, and what a statement has read of them |
//! | [`touched`], `origin`, `known` | what a statement would touch, told without running it; what values are made of |
//! | `server_fact` | what a server tells of its clients and locks |
//! | `table_lock` | how PostgreSQL locks whole tables |
//! | [`by_place`] | sequences, clocks and random numbers that do not depend on the order of runs |

mod answer;
mod bind;
pub mod by_place;
pub mod catalog;
mod change;
mod constraint;
pub mod copy;
mod define;
mod execute;
mod key;
mod known;
pub mod memory;
mod no_storage;
mod origin;
mod plan;
pub mod rows;
mod server_fact;
pub mod session;
mod stop;
pub mod storage;
mod syntax;
mod table_lock;
pub mod touched;
mod tree;
mod violation;
mod virtual_tables;

pub use catalog::Catalog;
pub use memory::MemoryStorage;
pub use no_storage::NoStorage;
pub use server_fact::{ClientFact, LockFact, LockedThing};
pub use session::{Answer, Prepared, Session};
pub use stop::{Interrupt, Stop};
pub use storage::{
    AdvisoryRequest, Columns, ConnectionRequest, Fit, Fits, Granularity, KeyPart, KeyRange, Lock, Patience, Row,
    RowKey, SavepointId, SequenceId, SequenceRule, SpaceId, Storage, Write,
};
pub use syntax::{Lexeme, LexemeKind, Purpose, Statement, lexemes};
pub use table_lock::{TableLock, TableMode};
