//! What an analysis answers: one [`Answer`] for each question, whichever engine gives it, with what it found.
//!
//! ```text
//!   question            engine         verdict                                  findings
//!   at this level,      lint           anomaly, or nothing to say               places that are known to go wrong
//!   is every execution  template       robust · anomaly · unknown: why          a witness
//!   serializable?       bounded        none-up-to-k · anomaly · unknown         a cycle of k instances
//!                       shortest-path  robust · unknown
//!                       inductive      robust · unknown
//! ```
//!
//! An answer says what it covers, because "nothing was found" is worth as much as what was looked at. Places are places of the text that was
//! analysed; who has joined several files to one text knows which line is whose.

use crate::witness::WitnessStatement;
use skew_value::Place;

/// What one engine says to one question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The level that was asked about, as people write it: `postgres:read-committed`, `psi`.
    pub level: String,
    /// What is known now.
    pub verdict: AnalysisVerdict,
    /// Who says so.
    pub engine: AnalysisEngine,
    /// How many instances were looked at together, where that is a number.
    pub k: Option<usize>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What the answer covers and rests on, in sentences: `transactions are independent`, `account.custid never changes`.
    pub covers: Vec<String>,
}

/// What is known of a program at some level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnalysisVerdict {
    /// Every execution is serializable: a proof.
    Robust,
    /// Some execution is not, as far as the engine knows.
    Anomaly,
    /// Nothing was found among `k` instances; more of them were not looked at.
    NoneUpToK,
    /// It is not known, for this reason.
    Unknown(String),
}

impl AnalysisVerdict {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            AnalysisVerdict::Robust => "robust",
            AnalysisVerdict::Anomaly => "anomaly",
            AnalysisVerdict::NoneUpToK => "none-up-to-k",
            AnalysisVerdict::Unknown(_) => "unknown",
        }
    }
}

/// Who gives an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AnalysisEngine {
    /// Patterns in the text that are known to go wrong.
    Lint,
    /// Templates and split schedules: exact for programs that go by key.
    Template,
    /// Cycles of up to k instances.
    Bounded,
    /// No path without chords is long enough for a longer cycle.
    ShortestPath,
    /// Procedures that no cycle can pass, taken away one after the other.
    Inductive,
}

impl AnalysisEngine {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            AnalysisEngine::Lint => "lint",
            AnalysisEngine::Template => "template",
            AnalysisEngine::Bounded => "bounded",
            AnalysisEngine::ShortestPath => "shortest-path",
            AnalysisEngine::Inductive => "inductive",
        }
    }
}

/// Something that can go wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its name, as `skew check` has it: `lost-update`, `write-skew`.
    pub anomaly: String,
    /// How certain it is.
    pub status: FindingStatus,
    /// The procedures that take part, an instance each; one may take part twice.
    pub transactions: Vec<String>,
    /// The statements that it is about, the most important one first.
    pub locations: Vec<Place>,
    /// The statements of all instances in the order in which it goes wrong; `instance` is a number in `transactions`. Empty where none is known.
    pub interleaving: Vec<WitnessStatement>,
    /// What helps.
    pub fixes: Vec<Fix>,
    /// What goes wrong, in a sentence.
    pub sentence: String,
}

/// How certain a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FindingStatus {
    /// A run shows it, and its outcome is that of no serial order.
    Confirmed,
    /// Runs are not serializable, but all end as a serial order does.
    Harmless,
    /// No run has shown it.
    Potential,
}

impl FindingStatus {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            FindingStatus::Confirmed => "confirmed",
            FindingStatus::Harmless => "harmless",
            FindingStatus::Potential => "potential",
        }
    }
}

/// A change that helps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// Which kind of change.
    pub kind: FixKind,
    /// The statement that it is about; a level is about the first one of its procedure.
    pub place: Place,
    /// Whether the analysis of the changed text says that the finding is gone.
    pub verified: bool,
    /// What to do, in a sentence.
    pub sentence: String,
}

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FixKind {
    /// FOR UPDATE on a SELECT.
    ForUpdate,
    /// An UPDATE that changes nothing, before a SELECT.
    IdentityUpdate,
    /// One UPDATE that computes in place of SELECT and UPDATE.
    AtomicUpdate,
    /// A higher level for a procedure.
    HigherLevel,
    /// A constraint that lets the database refuse it.
    Constraint,
    /// Something else, told in its sentence.
    Other,
}

impl FixKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            FixKind::ForUpdate => "for-update",
            FixKind::IdentityUpdate => "identity-update",
            FixKind::AtomicUpdate => "atomic-update",
            FixKind::HigherLevel => "higher-level",
            FixKind::Constraint => "constraint",
            FixKind::Other => "other",
        }
    }
}
