//! Which histories does an isolation level allow?
//!
//! [`check`] answers with a [`Verdict`]: `Holds` with a commit order, `Fails` with a refutation, or `Unknown` when the budget ran
//! out. Both certificates are re-checked by small code that shares nothing with the search: [`CommitOrder::justifies`] and
//! [`Anomaly::refutes`].
//!
//! Every axiom has one shape (Biswas & Enea 2019): a read of `x` by `reader` returned the version of `writer`; `other` also wrote
//! `x`; *if `reader` must have seen `other`, then `other` committed before `writer`.* Levels differ only in "must have seen".
//!
//! ```text
//!   History ── resolve ──> who wrote what was read ──> bad reads, cycles of so ∪ wr          (violate every level)
//!                                 │
//!                                 ├──> forced edges and one cycle test                        rc, ra, cc
//!                                 └──> constraints ── pruning ── search                       pc, psi, si, ser, strong
//!                                                  │
//!                                                  └──> Verdict + certificate ──> shrink ──> Counterexample
//! ```

pub mod anomaly;
pub mod budget;
pub mod commit_order;
pub mod counterexample;
pub mod spec;
pub mod verdict;

pub use anomaly::{Anomaly, BadRead, Edge, EdgeKind, Literal, Proof, Refutation, Step};
pub use budget::{Budget, Phase, Progress, Statistics};
pub use commit_order::{CommitOrder, Instant};
pub use counterexample::{AnomalyKind, Case, Counterexample, DependencyKind, Told};
pub use skew_history::IsolationLevel;
pub use verdict::Verdict;
