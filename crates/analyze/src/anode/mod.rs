//! Cycles among a few instances, and proofs that there are none among any number: for programs with loops, conditionals and searches.
//!
//! ```text
//!   Transactions ── walk ── accesses ──┐
//!                                      ├── encoding ── claims ──┬── solve:   the solver of this project
//!   Specification: vis and ar ─────────┘                        └── smtlib:  a text for another one
//! ```
//!
//! An execution is some instances of procedures, who sees whom, and one order of all. Its dependencies go round if and only if it is not
//! serializable. A *question* asks for a few instances whose dependencies have a certain form. What is asked is true of every few instances of a
//! larger execution as well, because nothing is said about the others: what was read may have been written by any of them. So "none" is an
//! answer about all executions, and some such answers together are a proof (`question`).
//!
//! What is outside the solver (a condition on columns, whether a row is there) is a claim of which nothing is known, the same one wherever it
//! matters: for an edge that is there and for one that is not.
//!
//! | module | holds |
//! |---|---|
//! | `claims`, `solve`, `smtlib` | what is said, and two ways to find out whether it can be true |
//! | `shape`, `access` | tables; what statements do to rows |
//! | `walk`, `statement` | how an instance goes through its procedure, and what it does there |
//! | `ground`, `conflict` | who sees which rows; when two accesses are a dependency |
//! | `counter` | numbers that only grow |
//! | `moment`, `turns` | levels of PostgreSQL: points in time, and who waits for whom |
//! | `opinion` | another solver that is asked the same |
//! | `specification` | levels, and a user's own |
//! | `encoding`, `question`, `prove` | instances and edges; what is asked; what the answers prove |

mod access;
mod claims;
mod conflict;
mod counter;
mod encoding;
mod ground;
mod moment;
mod opinion;
mod prove;
mod question;
mod shape;
mod smtlib;
mod solve;
mod specification;
mod statement;
mod turns;
mod walk;

pub use opinion::OtherSolver;
pub use prove::{BoundedOptions, InductiveProof, SmallestCycle};
pub use question::{BoundedAnalysis, BoundedQuestion, FoundEdge, FoundInstances, QuestionOutcome};
pub use smtlib::SmtAnswer;
pub use specification::{PAPER_LEVELS, Specification, SpecificationError};
