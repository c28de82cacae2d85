//! The report for a comment on a pull request.

use super::{Analyzed, AnsweredQuestion, KnownFinding};
use skew_analyze::{AnalysisVerdict, Finding};
use std::fmt::Write;

impl Analyzed {
    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = "| level | verdict | engine |\n|---|---|---|\n".to_owned();
        for AnsweredQuestion { answer, .. } in &self.questions {
            let verdict = match &answer.verdict {
                AnalysisVerdict::Unknown(reason) => format!("unknown: {}", cell(reason)),
                other => other.name().to_owned(),
            };
            let _ = writeln!(out, "| `{}` | {verdict} | {} |", answer.level, answer.engine.name());
        }
        for (question, finding, known) in self.findings() {
            self.section(question, finding, known, &mut out);
        }
        if let Some(lowest) = &self.lowest {
            out.push_str("\n| transaction | lowest safe level |\n|---|---|\n");
            for (name, level) in lowest {
                let _ = writeln!(out, "| `{}` | `{level}` |", cell(name));
            }
        }
        for one in &self.unsupported {
            let _ = writeln!(out, "\nNot understood: {}, {}", self.text.spot(one.place), one.construct);
        }
        out
    }

    fn section(&self, question: &AnsweredQuestion, finding: &Finding, known: &KnownFinding, out: &mut String) {
        let _ = writeln!(out, "\n### {} at `{}`: {}\n", finding.anomaly, question.answer.level, finding.status.name());
        if let Some(reason) = &known.accepted {
            let _ = writeln!(out, "Accepted: {reason}");
            return;
        }
        let _ = writeln!(
            out,
            "{}.\n\n| | {} |\n|{}",
            finding.sentence,
            known.calls.join(" | "),
            "---|".repeat(known.calls.len() + 1)
        );
        for (number, statement) in finding.interleaving.iter().enumerate() {
            let text = format!("`{}` ({})", cell(&self.text.shown(&statement.text)), self.text.spot(statement.place));
            let before = "| ".repeat(statement.instance);
            let after = " |".repeat(known.calls.len() - statement.instance.min(known.calls.len() - 1));
            let _ = writeln!(out, "| {} | {before}{text}{after}", number + 1);
        }
        if !finding.fixes.is_empty() {
            out.push_str("\nFixes, each verified by another analysis:\n\n");
        }
        for fix in &finding.fixes {
            let _ = writeln!(out, "- {}", fix.sentence);
        }
    }
}

/// A text that fits into a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ").replace('|', "\\|")
}
