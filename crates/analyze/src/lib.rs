//! What could go wrong, from the text of transactions alone: all instances of all procedures, with all parameters, in all numbers.
//!
//! ```text
//!   Program ── Transactions: steps with their effects on rows ── unfold ── templates ── search ──┬── robust: a proof
//!                                                                                               └── Witness: who, which statements, in which order
//! ```
//!
//! *Robust* at some levels means that every execution that PostgreSQL allows at these levels is serializable. Only a *template*'s shape counts
//! for that: which of its statements are on which rows, which rows must be one row, what is read, written and locked.
//!
//! | module | holds |
//! |---|---|
//! | [`effect`] | what a statement does to single rows, constraints included |
//! | [`transaction`] | procedures as steps with effects, each with its place and text |
//! | `template`, `unfold`, `live` | paths through procedures; how they are found; which variables matter on the way |
//! | `closure`, `instance` | which terms must be equal once some are; what was found out about that |
//! | `chain` | which instances can stand beside one t1, and which of them share rows |
//! | `split`, `search`, `cycle` | the form of all counterexamples; the search for one, over all first transactions and through one of them |
//! | `steps` | how much work a search may be |
//! | [`robustness`], [`witness`] | the questions and their answers |
//! | [`lint`] | patterns in single transactions that are known to go wrong |
//! | [`log`] | logs of servers, as programs |
//! | [`finding`] | what every engine answers with |

pub mod anode;
mod chain;
mod closure;
mod cycle;
pub mod effect;
pub mod finding;
mod instance;
pub mod lint;
mod live;
pub mod log;
#[cfg(test)]
mod reference;
pub mod robustness;
mod search;
mod split;
mod steps;
mod template;
#[cfg(test)]
mod tests;
pub mod transaction;
mod unfold;
pub mod witness;

pub use finding::{AnalysisEngine, AnalysisVerdict, Answer, Finding, FindingStatus, Fix, FixKind};
pub use robustness::{Conflict, Robustness, RobustnessAnalysis};
pub use split::Level;
pub use transaction::{Transactions, Unsupported};
pub use unfold::{TooMany, UnfoldOptions};
pub use witness::{Dependency, DependencyKind, Witness, WitnessInstance, WitnessStatement};
