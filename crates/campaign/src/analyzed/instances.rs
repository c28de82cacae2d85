//! Answers about the papers' levels, about a level of the user's own, and about PostgreSQL's where templates do not know: cycles among a few
//! instances, and proofs about any number.
//!
//! What is found is run by the explorer at the level, where that has one that allows the same. Who confirms it is the level of a paper: the server
//! that a user has may allow less.

use super::ask::Asking;
use super::concrete::{CalledInstance, programs_of};
use super::confirm::{Confirmed, confirm};
use super::{AnsweredQuestion, KnownFinding, suppress};
use skew_analyze::anode::{BoundedAnalysis, BoundedOptions, FoundInstances, Specification};
use skew_analyze::{AnalysisEngine, AnalysisVerdict, Answer, Finding, Transactions};
use skew_history::{EngineLevel, IsolationLevel};
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
    /// What instances say to a question about PostgreSQL where templates do not know, for a reason.
    pub(super) fn in_place_of_templates(&self, level: EngineLevel, reason: String) -> AnsweredQuestion {
        let asked = Specification::of_engine(level).map(|specification| self.by_instances(specification));
        match asked {
            Some(AnsweredQuestion { answer: Answer { verdict: AnalysisVerdict::Unknown(other), .. }, .. })
                if other != reason =>
            {
                self.unknown(IsolationLevel::Engine(level), format!("{reason}; and of a few instances: {other}"))
            }
            Some(question) => question,
            None => self.unknown(IsolationLevel::Engine(level), reason),
        }
    }

    /// What instances say of cycles that templates think possible and that no run has shown: nothing, unless none of up to so many transactions is.
    pub(super) fn disproved(&self, level: EngineLevel, sizes: usize) -> Option<AnsweredQuestion> {
        let question = self.by_instances(Specification::of_engine(level)?);
        let answer = &question.answer;
        let is_none = match answer.verdict {
            AnalysisVerdict::Robust => true,
            AnalysisVerdict::NoneUpToK => answer.k.is_some_and(|looked_at| looked_at >= sizes),
            AnalysisVerdict::Anomaly | AnalysisVerdict::Unknown(_) => false,
        };
        is_none.then_some(question)
    }

    /// The strongest answer about a level by its constraints.
    pub(super) fn by_instances(&self, specification: Specification) -> AnsweredQuestion {
        let (level, engine) = (specification.name.clone(), specification.engine().map(IsolationLevel::Engine));
        let unknown = |reason: String| {
            let verdict = AnalysisVerdict::Unknown(reason);
            let (engine, k, findings, covers) = (AnalysisEngine::Bounded, None, Vec::new(), Vec::new());
            AnsweredQuestion {
                answer: Answer { level: level.clone(), verdict, engine, k, findings, covers },
                known: Vec::new(),
            }
        };
        if !self.settings.options.cells || !self.settings.options.atomic {
            return unknown("of instances only columns and atomic updates are known".to_owned());
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
        let asked = explored_as(analysis.specification());
        let (mut answers, found) = analysis.told_answers(options);
        let Some(mut answer) = answers.pop() else { return unknown("nothing was asked".to_owned()) };
        if answer.verdict != AnalysisVerdict::Anomaly
            && let Some(reason) = self.not_covered(engine).pop()
        {
            answer.verdict = AnalysisVerdict::Unknown(reason);
        }
        answer.covers.extend(self.covered());
        let findings = answer.findings.iter_mut().zip(&found);
        let known = findings.map(|(finding, found)| self.tried(finding, found, asked)).collect();
        AnsweredQuestion { answer, known }
    }

    /// A finding, tried at the level of the explorer that allows the same.
    fn tried(&self, finding: &mut Finding, found: &FoundInstances, level: Option<IsolationLevel>) -> KnownFinding {
        let called = |(name, parameters): (&String, &Vec<(String, usize)>)| CalledInstance {
            name: name.clone(),
            parameters: parameters.clone(),
        };
        let called: Vec<CalledInstance> = finding.transactions.iter().zip(&found.parameters).map(called).collect();
        let confirmed = level.map(|level| confirm(programs_of(self.text, &called), level));
        let mut run = None;
        match confirmed {
            None => finding.sentence.push_str("; the explorer has no such level, so no run was tried"),
            Some(Confirmed { status, shown, reason }) => {
                finding.status = status;
                if let Some(anomaly) = shown.as_ref().and_then(|run| run.anomaly) {
                    finding.anomaly = anomaly.to_owned();
                }
                let doubt = reason.map(|reason| format!("; runs could not be tried to their end: {reason}"));
                finding.sentence.push_str(&doubt.unwrap_or_default());
                run = shown;
            }
        }
        let shown = run.as_ref().map(|run| &run.calls).filter(|calls| calls.len() == called.len());
        let calls = shown.unwrap_or(&finding.transactions).iter().enumerate();
        KnownFinding {
            calls: calls.map(|(number, call)| format!("t{} {call}", number + 1)).collect(),
            run,
            changes: Vec::new(),
            kept: None,
            safe_at: Vec::new(),
            fingerprint: suppress::fingerprint(finding),
            accepted: None,
        }
    }
}

/// The level at which the explorer runs what a specification allows, if it has one.
fn explored_as(specification: &Specification) -> Option<IsolationLevel> {
    if let Some(level) = specification.engine() {
        return Some(IsolationLevel::Engine(level));
    }
    let name = specification.same_as()?;
    LEVELS.iter().find(|(_, known)| *known == name).map(|(level, _)| *level)
}

#[cfg(test)]
mod tests {
    //! Programs that were once called robust and are not, asked of instances alone: nothing is proved about them either.

    use super::*;
    use crate::analyzed::AnalyzedText;
    use std::path::Path;

    /// The table of the test that asks all engines about them.
    const TABLE: &str = include_str!("../../tests/false_proofs.rs");

    #[test]
    fn instances_prove_nothing_that_was_once_proved_wrongly() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/false_proofs");
        let (mut wrong, mut found) = (Vec::new(), 0);
        let quoted = TABLE.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.strip_suffix("\"),"));
        for (name, levels) in
            quoted.filter_map(|row| row.split_once("\", \"")).filter(|(_, levels)| !levels.contains('"'))
        {
            let file = folder.join(format!("{name}.sql"));
            let text = std::fs::read_to_string(&file).expect("a program");
            let text = AnalyzedText::new(&[(name.to_owned(), text)]).expect("a text");
            for level in levels.split(' ') {
                let level: IsolationLevel = level.parse().expect("a level");
                let specification = level.of_engine().and_then(Specification::of_engine);
                let Some(specification) = specification.or_else(|| super::specification(level)) else { continue };
                let analysis = BoundedAnalysis::new(Transactions::of(&text.program), specification);
                let Some(analysis) = analysis.ok().filter(|_| text.unsupported.is_empty()) else { continue };
                match analysis.answers(BoundedOptions::default()).last().map(|answer| answer.verdict.clone()) {
                    Some(AnalysisVerdict::Anomaly) => found += 1,
                    Some(AnalysisVerdict::Unknown(_)) => {}
                    other => wrong.push(format!("{name} at {level}: {other:?}")),
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(found > 80, "{found} anomalies");
    }
}
