//! What a statement becomes when it is bound: a tree of expressions and operators.
//!
//! ```text
//!   bind ── makes ──> Expression · Plan · Change <── carries out ── execute, change
//!                               ▲
//!                             plan: the same rows by fewer keys
//! ```
//!
//! Here the tree only stands: no module above that makes, changes or reads it is known.

pub(crate) mod change;
pub(crate) mod expression;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod visit;
