//! Answers about the papers' levels, and about a level of the user's own: cycles among a few instances, and proofs about any number.
//!
//! What is found there is *potential*: the levels are those of papers, and the server that a user has may allow less.

use super::ask::Asking;
use super::{AnsweredQuestion, KnownFinding, suppress};
use skew_analyze::anode::{BoundedAnalysis, BoundedOptions, Specification};
use skew_analyze::{AnalysisEngine, AnalysisVerdict, Answer, Transactions};
use skew_history::IsolationLevel;
use std::rc::Rc;

/// The levels of papers, with the names that their constraints have.
pub(super) const LEVELS: [(IsolationLevel, &str); 6] = [
    (IsolationLevel::ReadAtomic, "eventual"),
    (IsolationLevel::Causal, "causal"),
    (IsolationLevel::Prefix, "prefix"),
    (IsolationLevel::ParallelSnapshot, "psi"),
    (IsolationLevel::Snapshot, "snapshot"),
    (IsolationLevel::Serializable, "serializable"),
];

/// The constraints of a level, if it is one of the papers'.
pub(super) fn specification(level: IsolationLevel) -> Option<Specification> {
    let (_, name) = LEVELS.iter().find(|(known, _)| *known == level)?;
    let mut specification = Specification::level(name)?;
    specification.name = level.to_string();
    Some(specification)
}

impl Asking<'_> {
    /// The strongest answer about a level by its constraints.
    pub(super) fn by_instances(&self, specification: Specification) -> AnsweredQuestion {
        let level = specification.name.clone();
        let unknown = |reason: String| {
            let verdict = AnalysisVerdict::Unknown(reason);
            let (engine, k, findings, covers) = (AnalysisEngine::Bounded, None, Vec::new(), Vec::new());
            AnsweredQuestion {
                answer: Answer { level: level.clone(), verdict, engine, k, findings, covers },
                known: Vec::new(),
            }
        };
        if !self.settings.options.cells || !self.settings.options.atomic {
            return unknown("at the papers' levels columns and atomic updates are what is known".to_owned());
        }
        let analysis = match BoundedAnalysis::new(Transactions::of(&self.text.program), specification) {
            Ok(analysis) => analysis,
            Err(reason) => return unknown(reason),
        };
        let analysis = match &self.settings.solver {
            Some(solver) => analysis.with_second(Rc::clone(solver)),
            None => analysis,
        };
        let options = BoundedOptions { up_to: self.settings.up_to, ..BoundedOptions::default() };
        let Some(mut answer) = analysis.answers(options).pop() else { return unknown("nothing was asked".to_owned()) };
        if answer.verdict != AnalysisVerdict::Anomaly
            && let Some(reason) = self.not_covered(None).pop()
        {
            answer.verdict = AnalysisVerdict::Unknown(reason);
        }
        let known = answer.findings.iter().map(|finding| {
            let calls = finding.transactions.iter().enumerate();
            KnownFinding {
                run: None,
                kept: None,
                calls: calls.map(|(number, name)| format!("t{} {name}", number + 1)).collect(),
                safe_at: Vec::new(),
                fingerprint: suppress::fingerprint(finding),
                accepted: None,
            }
        });
        let known = known.collect();
        AnsweredQuestion { answer, known }
    }
}
