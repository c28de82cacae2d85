//! The other half of every answer: code that re-checks certificates and shares nothing with the search.
//!
//! | module | holds |
//! |---|---|
//! | `ledger` | who may have written what was read, looked up anew in plain hash maps |
//! | `holds` | [`crate::CommitOrder::justifies`]: replays an order of begins and commits |
//! | `causality` | the part of that which needs the causal past: causal and psi |
//! | `fails` | [`crate::Anomaly::refutes`]: checks every step of a refutation |
//! | `lists` | the reads of lists that no order explains |
//! | `propagation` | unit propagation, to follow a proof by clauses |
//! | `server` | the levels of the engines, by the definition itself: a walk along a schedule, all lock orders of a few transactions |
//!
//! It is written to be read: straight from the definitions, no cleverness, linear or nearly so. A forged certificate must make it
//! say no, never panic; numbers that do not exist in the history are a no.

mod causality;
mod fails;
mod holds;
mod ledger;
mod lists;
mod propagation;
mod server;

pub(crate) use server::{FEW, Needs, can_be_tried, events_of};
