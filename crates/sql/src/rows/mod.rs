//! Rows as a history sees them: which keys a row is, what they are called, and what a statement has read of them.
//!
//! The mock database and the explorer answer the reads of one executor, each in its own way. What a read *is* must not depend on who
//! answers it, so it is decided here, once:
//!
//! | module | decides |
//! |---|---|
//! | `layout` | whether a row is one key or one per cell, the names of keys, how versions are told |
//! | `reads` | when a read is an event, and when it was answered before in the same statement |
//! | `ranges` | which ranges were read, by the keys that they contain |

mod layout;
mod ranges;
mod reads;

pub use layout::{Layout, SpaceShape, text};
pub use reads::{Found, Looked, Memory, Reader, Scanned};
