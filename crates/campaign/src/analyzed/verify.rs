//! What a change of the text repairs: the findings before it, held against the answers after it.

use super::Analyzed;
use crate::Conclusion;
use skew_analyze::{AnalysisEngine, AnalysisVerdict, Finding};
use skew_view::Palette;
use std::collections::BTreeSet;
use std::fmt::Write;

impl Analyzed {
    /// In words what is gone, what is left and what is new, compared with an earlier text. It holds if no finding is left or new, and every
    /// answer is known. Nothing is gone from a level at which the answer is not known any more.
    pub fn compared_with(&self, before: &Analyzed, palette: Palette) -> (String, Conclusion) {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let (earlier, now) = (before.cycles(), self.cycles());
        let mut out = String::new();
        let is_known = |level: &str| {
            let mut questions = self.questions.iter().filter(|question| question.answer.level == level);
            questions.all(|question| !matches!(question.answer.verdict, AnalysisVerdict::Unknown(_)))
        };
        for (level, anomaly, names) in earlier.difference(&now).filter(|(level, ..)| is_known(level)) {
            let _ = writeln!(out, "  {good}gone{end}  {anomaly} at {level}: {names}");
        }
        for (level, anomaly, names) in &now {
            let is_old = earlier.iter().any(|(at, _, of)| at == level && of == names);
            let word = if is_old { "left" } else { "new " };
            let _ = writeln!(out, "  {bad}{word}{end}  {anomaly} at {level}: {names}");
        }
        let mut conclusion = if now.is_empty() { Conclusion::Holds } else { Conclusion::Found };
        for question in &self.questions {
            if let AnalysisVerdict::Unknown(reason) = &question.answer.verdict {
                let _ = writeln!(out, "  {doubtful}unknown{end} at {}: {reason}", question.answer.level);
                conclusion = if conclusion == Conclusion::Holds { Conclusion::Inconclusive } else { conclusion };
            }
        }
        let names = |analyzed: &Analyzed| analyzed.text.files().join(", ");
        (format!("{} after {}:\n{out}", names(self), names(before)), conclusion)
    }

    /// Level, anomaly and procedures of every finding.
    fn cycles(&self) -> BTreeSet<(String, String, String)> {
        let told = |level: &str, finding: &Finding| {
            let mut names = finding.transactions.clone();
            names.sort();
            (level.to_owned(), finding.anomaly.clone(), names.join(", "))
        };
        // That a rule of the lint is silent says nothing, so that its word does not count here.
        let proved = self.findings().filter(|(question, ..)| question.answer.engine != AnalysisEngine::Lint);
        proved.map(|(question, finding, _)| told(&question.answer.level, finding)).collect()
    }
}
