//! The report for people.
//!
//! ```text
//!   bank.sql: 5 transactions
//!     postgres:read-committed   anomaly: 3 findings, 2 of them confirmed
//!     postgres:serializable     robust
//!
//!   lost-update at postgres:read-committed, confirmed            who reads what before whom · the statements side by side
//!                                                                what is there in the end · what helps
//!   lowest safe levels
//!     balance    postgres:serializable
//! ```

use super::{Analyzed, AnsweredQuestion, KnownFinding};
use crate::counted;
use skew_analyze::{AnalysisEngine, AnalysisVerdict, Conflict, Finding, FindingStatus};
use skew_view::Palette;
use skew_view::terminals::terminals;
use skew_view::words::{clean, wrap};
use std::fmt::Write;

/// How wide sentences are.
const WIDEST: usize = 116;

impl Analyzed {
    /// The report.
    pub fn human(&self, palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let files = clean(&self.text.files().join(", "));
        let mut out = format!("{heading}{files}{end}: {}\n", counted(self.procedures.len() as u64, "transaction"));
        let widest = self.questions.iter().map(|question| question.answer.level.len()).max().unwrap_or(0);
        for question in &self.questions {
            let _ = writeln!(out, "  {:widest$}  {}", question.answer.level, verdict(question, palette));
        }
        let full = self.in_full();
        for (_, (question, finding, known)) in self.findings().enumerate().filter(|(number, _)| full.contains(number)) {
            self.finding(question, finding, known, palette, &mut out);
        }
        let others = self.in_lines(&full);
        if !others.is_empty() {
            let more = counted(others.len() as u64, "more finding");
            let _ = writeln!(out, "\n{heading}{more}{end} that no run confirms; {}", self.how_to_have_all());
        }
        others.iter().for_each(|line| paragraph(line, &mut out));
        self.tell_lowest(palette, &mut out);
        self.tell_grounds(&mut out);
        self.tell_unsupported(palette, &mut out);
        out
    }

    fn finding(
        &self,
        question: &AnsweredQuestion,
        finding: &Finding,
        known: &KnownFinding,
        palette: Palette,
        out: &mut String,
    ) {
        let Palette { heading, faint, end, .. } = palette;
        let level = &question.answer.level;
        let _ = writeln!(
            out,
            "\n{heading}{} at {level}{end}: {}",
            finding.anomaly,
            told_status(question, finding, palette)
        );
        if let Some(reason) = &known.accepted {
            let _ = writeln!(out, "  accepted: {}", clean(reason));
            return;
        }
        paragraph(&format!("{}.", finding.sentence), out);
        let (columns, lines) = self.columns(finding, known);
        out.push_str(&terminals(&columns, &lines, palette));
        tell_run(known, out);
        if !known.safe_at.is_empty() {
            let levels: Vec<&str> = known.safe_at.iter().map(|level| level.name()).collect();
            let _ = writeln!(out, "  Gone with all of them at {}.", levels.join(" or "));
        }
        for fix in &finding.fixes {
            let word = if fix.verified { "Fix, verified" } else { "Fix" };
            paragraph(&format!("{word}: {}.", fix.sentence), out);
        }
        let _ = match known.replay() {
            Some(line) if known.kept.is_some() => writeln!(out, "  {faint}See it: {line}{end}"),
            Some(_) if self.settings.keeps_programs => {
                writeln!(out, "  {faint}To have the program that shows it: --keep DIR{end}")
            }
            _ => Ok(()),
        };
    }

    fn tell_lowest(&self, Palette { heading, end, .. }: Palette, out: &mut String) {
        let Some(lowest) = self.lowest.as_ref().filter(|lowest| !lowest.is_empty()) else { return };
        let _ = writeln!(out, "\n{heading}lowest safe levels{end}");
        let widest = lowest.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, level) in lowest {
            let _ = writeln!(out, "  {:widest$}  {level}", clean(name));
        }
    }

    /// What answers rest on.
    fn tell_grounds(&self, out: &mut String) {
        let mut grounds: Vec<&String> = Vec::new();
        for covered in self.questions.iter().flat_map(|question| &question.answer.covers) {
            if !grounds.contains(&covered) {
                grounds.push(covered);
            }
        }
        if !grounds.is_empty() {
            out.push_str("\nassumes that\n");
        }
        grounds.iter().for_each(|ground| paragraph(&format!("- {ground}"), out));
        let is_robust = |question: &AnsweredQuestion| question.answer.verdict == AnalysisVerdict::Robust;
        if self.questions.iter().any(is_robust) && !self.conflicts.is_empty() {
            let told: Vec<String> = self.conflicts.iter().map(|conflict| self.conflict(conflict)).collect();
            out.push_str("\nconflicts that were considered\n");
            told.iter().for_each(|line| paragraph(line, out));
        }
    }

    pub(super) fn conflict(&self, conflict: &Conflict) -> String {
        let name = |number: usize| self.procedures.get(number).map_or("", String::as_str);
        let (one, other) = conflict.between;
        match one == other {
            true => format!("{} with another {} in {}", name(one), name(one), conflict.table),
            false => format!("{} with {} in {}", name(one), name(other), conflict.table),
        }
    }

    fn tell_unsupported(&self, Palette { heading, end, .. }: Palette, out: &mut String) {
        if self.unsupported.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{heading}not understood{end}, so that nothing is called robust where it could matter");
        for one in &self.unsupported {
            let _ = writeln!(out, "  {}: {}", self.text.spot(one.place), clean(&one.construct));
        }
    }
}

/// A sentence in lines that fit.
fn paragraph(text: &str, out: &mut String) {
    for (number, line) in wrap(&clean(text), WIDEST).into_iter().enumerate() {
        let _ = writeln!(out, "  {}{line}", if number == 0 { "" } else { "  " });
    }
}

/// What is there at the end of the run that shows it.
fn tell_run(known: &KnownFinding, out: &mut String) {
    let Some(run) = &known.run else { return };
    let told = |lines: &[String]| if lines.is_empty() { "nothing".to_owned() } else { lines.join("; ") };
    if run.calls.len() != known.calls.len() && run.typed.is_none() {
        paragraph(&format!("It takes more of them to see it: {}.", run.numbered_calls().join(", ")), out);
    }
    paragraph(&format!("In the end: {}.", told(&run.end)), out);
    for (order, lines) in &run.serial {
        paragraph(&format!("One after the other ({order}): {}.", told(lines)), out);
    }
}

/// How certain a finding is; nobody has looked for a run of what a rule has found.
fn told_status(question: &AnsweredQuestion, finding: &Finding, palette: Palette) -> String {
    let Palette { doubtful, end, .. } = palette;
    match question.answer.engine {
        AnalysisEngine::Lint => format!("{doubtful}potential{end}: a pattern that is known to go wrong"),
        _ => status(finding.status, palette),
    }
}

pub(super) fn status(status: FindingStatus, palette: Palette) -> String {
    let Palette { good, bad, doubtful, end, .. } = palette;
    match status {
        FindingStatus::Confirmed => format!("{bad}confirmed{end} by a run that ends as no serial order does"),
        FindingStatus::Harmless => {
            format!("{good}harmless{end} as far as was tried: such runs end as some serial order does")
        }
        FindingStatus::Potential => format!("{doubtful}potential{end}: no run was found that shows it"),
    }
}

fn verdict(question: &AnsweredQuestion, palette: Palette) -> String {
    let Palette { good, bad, doubtful, end, .. } = palette;
    let answer = &question.answer;
    match &answer.verdict {
        AnalysisVerdict::Robust => format!("{good}robust{end}: every execution is serializable"),
        AnalysisVerdict::NoneUpToK => format!("{good}none-up-to-k{end}: nothing with k = {}", answer.k.unwrap_or(0)),
        AnalysisVerdict::Unknown(reason) => format!("{doubtful}unknown{end}: {reason}"),
        AnalysisVerdict::Anomaly if answer.engine == AnalysisEngine::Lint => {
            format!("{doubtful}lint{end}: {}", counted(answer.findings.len() as u64, "pattern"))
        }
        AnalysisVerdict::Anomaly => {
            let mut parts = Vec::new();
            for status in [FindingStatus::Confirmed, FindingStatus::Harmless, FindingStatus::Potential] {
                let count = answer.findings.iter().filter(|finding| finding.status == status).count();
                parts.extend((count > 0).then(|| format!("{count} {}", status.name())));
            }
            let accepted = question.known.iter().filter(|known| known.accepted.is_some()).count();
            parts.extend((accepted > 0).then(|| format!("{accepted} of them accepted")));
            format!("{bad}anomaly{end}: {}", parts.join(", "))
        }
    }
}
