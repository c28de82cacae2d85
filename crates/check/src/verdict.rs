//! The answer.

use crate::anomaly::Anomaly;
use crate::commit_order::CommitOrder;

/// Whether a history satisfies a level. A violation is a value, never an error.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It does, and this order shows it.
    Holds(CommitOrder),
    /// It does not, and this shows it.
    Fails(Anomaly),
    /// The budget ran out first.
    Unknown,
}

impl Verdict {
    /// The word of the JSON output.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds(_) => "holds",
            Verdict::Fails(_) => "fails",
            Verdict::Unknown => "unknown",
        }
    }

    /// Whether the level holds.
    pub fn holds(&self) -> bool {
        matches!(self, Verdict::Holds(_))
    }

    /// Whether the level fails.
    pub fn fails(&self) -> bool {
        matches!(self, Verdict::Fails(_))
    }
}
