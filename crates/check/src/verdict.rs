//! The answer.

use crate::anomaly::Anomaly;
use crate::commit_order::CommitOrder;
use std::fmt;

/// Whether a history satisfies a level. A violation is a value, never an error.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It does, and this order shows it.
    Holds(CommitOrder),
    /// It does not, and this shows it.
    Fails(Anomaly),
    /// Neither is certain.
    Unknown(Doubt),
}

impl Verdict {
    /// The word of the JSON output.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds(_) => "holds",
            Verdict::Fails(_) => "fails",
            Verdict::Unknown(_) => "unknown",
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

    /// Why there is no answer, where there is none.
    pub fn doubt(&self) -> Option<Doubt> {
        match *self {
            Verdict::Holds(_) | Verdict::Fails(_) => None,
            Verdict::Unknown(doubt) => Some(doubt),
        }
    }
}

/// Why there is no answer. Its text is a clause that says so to people, with what to do where something can be done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Doubt {
    /// All steps of the budget are spent.
    OutOfBudget,
    /// Somebody asked to stop.
    Stopped,
    /// Too much depends on what the history does not say.
    TooManyQuestions,
    /// A contradiction was found among more transactions than the definition can try.
    TooLargeToConfirm,
    /// Orders were found that the definition does not accept, and not all of them can be tried.
    TooManyOrders,
    /// No serial order explains the history, and PostgreSQL may not notice that.
    MayGoUnnoticed,
    /// Whoever asked could not tell the run that was meant.
    NoRun,
    /// It was written down without a reason.
    Unsaid,
}

impl fmt::Display for Doubt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Doubt::OutOfBudget => "the budget ran out before there was an answer; raise --budget",
            Doubt::Stopped => "it was stopped before there was an answer",
            Doubt::TooManyQuestions => {
                "too many transactions of unknown outcome, or equal elements of lists, would have to be tried one inside the other"
            }
            Doubt::TooLargeToConfirm => {
                "a contradiction was found, among too many transactions to try all their orders and be certain"
            }
            Doubt::TooManyOrders => "the locks have more orders than can be tried, and none that was tried explains every wait",
            Doubt::MayGoUnnoticed => {
                "no order of the transactions, one after another, explains it, and PostgreSQL may miss that: it depends on the indexes by which rows were found"
            }
            Doubt::NoRun => "the run that was asked for cannot be written down",
            Doubt::Unsaid => "no reason was written down",
        })
    }
}
