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
        let titles = self.titles(known);
        let columns = titles.len().max(1);
        let _ = writeln!(
            out,
            "{}.\n\n| | {} |\n|{}",
            finding.sentence,
            titles.iter().map(|title| cell(title)).collect::<Vec<String>>().join(" | "),
            "---|".repeat(columns + 1)
        );
        let mut numbered = 0;
        for statement in self.course(finding, known) {
            let told = statement.told.iter().map(|words| format!("; {}", cell(words))).collect::<String>();
            let sql = cell(&statement.sql);
            let (number, text) = match statement.is_end {
                true => (String::new(), format!("`{sql}`{told}")),
                false => {
                    numbered += 1;
                    (numbered.to_string(), format!("`{sql}` ({}{told})", self.text.spot(statement.place)))
                }
            };
            let before = "| ".repeat(statement.instance);
            let after = " |".repeat(columns - statement.instance.min(columns - 1));
            let _ = writeln!(out, "| {number} | {before}{text}{after}");
        }
        if let Some(run) = &known.run {
            let told = |lines: &[String]| if lines.is_empty() { "nothing".to_owned() } else { lines.join("; ") };
            let _ = writeln!(out, "\nIn the end: {}.", told(&run.end));
            for (order, lines) in &run.serial {
                let _ = writeln!(out, "One after the other ({order}): {}.", told(lines));
            }
        }
        if !finding.fixes.is_empty() {
            let verified = finding.fixes.iter().all(|fix| fix.verified);
            out.push_str(if verified { "\nFixes, each verified by another analysis:\n\n" } else { "\nFixes:\n\n" });
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
