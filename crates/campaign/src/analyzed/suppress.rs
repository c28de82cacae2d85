//! What the author has accepted: in a comment with a reason, or in a baseline of earlier findings.
//!
//! ```sql
//! -- skew: ignore(write-skew) both are paid by the same till, one after the other
//! CREATE PROCEDURE …
//! ```
//!
//! A comment is about the statement or the procedure below it. A baseline is a list of fingerprints. A fingerprint is made from the cycle, the
//! procedures and the texts of their statements, and not from lines: it stays the same while other things are edited.

use super::text::AnalyzedText;
use super::{Analyzed, AnsweredQuestion, KnownFinding};
use crate::Complaint;
use sha2::{Digest, Sha256};
use skew_analyze::Finding;
use skew_program::PartKind;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How an ignoring comment begins, after its dashes.
const DIRECTIVE: &str = "skew:";

/// What findings and rules are called.
const NAMES: [&str; 23] = [
    "causality-violation",
    "circular-information-flow",
    "dependency-cycle",
    "dirty-write",
    "fractured-read",
    "ignored-row-count",
    "long-fork",
    "lost-update",
    "non-repeatable-read",
    "read-only-anomaly",
    "session-violation",
    "stale-update",
    "write-skew",
    "wrong-scope",
    "read-modify-write",
    "check-then-update",
    "late-lock",
    "check-then-insert",
    "next-number",
    "lock-of-nothing",
    "dangling-row",
    "old-snapshot",
    "broken-lock",
];

/// How many bytes of a digest a fingerprint has.
const BYTES: usize = 8;

/// Findings that were there before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Baseline {
    fingerprints: BTreeSet<String>,
}

impl Baseline {
    /// Reads a baseline: a fingerprint at the beginning of each line; `#` begins a comment.
    pub fn read(name: &str, text: &str) -> Result<Baseline, Complaint> {
        let mut fingerprints = BTreeSet::new();
        for (number, line) in text.lines().enumerate() {
            let Some(word) = line.split_whitespace().next().filter(|word| !word.starts_with('#')) else { continue };
            if word.len() != 2 * BYTES || !word.chars().all(|letter| letter.is_ascii_hexdigit()) {
                let message = format!("line {}: `{word}` is no fingerprint", number + 1);
                return Err(Complaint::new(name, message, "use a file that --write-baseline wrote"));
            }
            fingerprints.insert(word.to_owned());
        }
        Ok(Baseline { fingerprints })
    }
}

/// A comment that accepts something.
pub(super) struct Suppression {
    anomalies: Vec<String>,
    reason: String,
    /// The line that it is about.
    line: u32,
    /// The procedure, if it is about one.
    procedure: Option<String>,
}

/// All comments that accept something; one without a reason is an error.
pub(super) fn suppressions(text: &AnalyzedText) -> Result<Vec<Suppression>, Complaint> {
    let lines: Vec<&str> = text.text.lines().collect();
    let procedures: Vec<(u32, String)> = skew_program::parts(&text.text, text.dialect)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|part| match part.kind {
            PartKind::Procedure(name) => Some((part.place.line, name)),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let comment = line.trim_start().strip_prefix("--").map(str::trim_start);
        let Some(directive) = comment.and_then(|comment| comment.strip_prefix(DIRECTIVE)) else { continue };
        let complain = |message: &str| {
            let place = text.location(skew_value::Place { line: number as u32 + 1, column: 1 });
            let advice = "write `-- skew: ignore(write-skew) why it does not matter`";
            Complaint::new(&place.file, format!("line {}: {message}", place.line), advice)
        };
        let asked = directive.trim().strip_prefix("ignore(").and_then(|rest| rest.split_once(')'));
        let Some((names, reason)) = asked else { return Err(complain("this comment is not understood")) };
        if reason.trim().is_empty() {
            return Err(complain("a finding is ignored without a reason"));
        }
        let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("--");
        let below = lines[number..].iter().position(|line| is_code(line)).map_or(number, |more| number + more);
        let line = below as u32 + 1;
        let procedure = procedures.iter().find(|(first, _)| *first == line).map(|(_, name)| name.clone());
        let anomalies: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
        if let Some(name) = anomalies.iter().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(complain(&match name.is_empty() {
                true => "this comment does not say what is ignored".to_owned(),
                false => format!("there is no finding that is called {name}"),
            }));
        }
        found.push(Suppression { anomalies, reason: reason.trim().to_owned(), line, procedure });
    }
    Ok(found)
}

impl Suppression {
    fn is_about(&self, finding: &Finding) -> bool {
        let is_rule =
            |name: &String| finding.sentence.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(": "));
        let is_named = self.anomalies.contains(&finding.anomaly) || self.anomalies.iter().any(is_rule);
        let takes_part = |name: &String| self.procedure.as_ref() == Some(name);
        let at = finding.locations.iter().any(|place| place.line == self.line);
        is_named && (at || finding.transactions.iter().any(takes_part))
    }
}

/// The fingerprint of a finding.
pub(super) fn fingerprint(finding: &Finding) -> String {
    let mut cycle = finding.transactions.join(",");
    for place in &finding.locations {
        let statement = finding.interleaving.iter().find(|statement| statement.place == *place);
        let text = statement.map(|statement| statement.text.split_whitespace().collect::<Vec<&str>>().join(" "));
        let _ = write!(cycle, "\n{}", text.unwrap_or_default());
    }
    Sha256::digest(cycle).iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}

impl Analyzed {
    /// Marks what the author has accepted.
    pub(super) fn accept(&mut self, suppressions: &[Suppression], baseline: &Baseline) {
        for AnsweredQuestion { answer, known } in &mut self.questions {
            for (finding, known) in answer.findings.iter().zip(known) {
                let comment = suppressions.iter().find(|one| one.is_about(finding)).map(|one| one.reason.clone());
                let earlier = baseline.fingerprints.contains(&known.fingerprint).then(|| "in the baseline".to_owned());
                known.accepted = comment.or(earlier);
            }
        }
    }

    /// A baseline with all findings that there are.
    pub fn baseline(&self) -> String {
        let mut text = "# what `skew analyze` found; `--baseline` with this file accepts it\n".to_owned();
        let mut written: BTreeSet<&str> = BTreeSet::new();
        for (_, finding, KnownFinding { fingerprint, .. }) in self.findings() {
            if written.insert(fingerprint) {
                let _ = writeln!(text, "{fingerprint} {} {}", finding.anomaly, finding.transactions.join(" "));
            }
        }
        text
    }
}
