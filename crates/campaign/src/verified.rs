//! Certificates, checked against the histories that they are about, without searching.
//!
//! ```text
//!   line ── certificate ── which history? by its hash ── does it show what it says? ──┬── valid
//!                            └── another one: not valid                               ├── not valid
//!                                                                                     └── nothing to check: it says unknown
//! ```
//!
//! A line that is no certificate, or whose numbers are not of its history, is no answer but a [`Complaint`] with its place.

use crate::input::Input;
use crate::{Complaint, Conclusion};
use serde_json::json;
use skew_history::format::Format;
use skew_history::{History, Place, Problem};
use skew_view::certificate::{self, Subject};
use skew_view::words::clean;
use std::collections::BTreeMap;

/// The histories that certificates may be about.
pub struct Verification {
    /// The format of all of them, whatever certificates say.
    from: Option<Format>,
    /// By hash.
    inputs: BTreeMap<String, Input>,
    /// By hash and format: one input may be certified as read in two formats.
    histories: BTreeMap<(String, &'static str), History>,
}

/// Why verification cannot go on.
enum Failure {
    /// The line is no certificate.
    Certificate(Problem),
    /// The history cannot be read as the certificate says.
    History(Complaint),
}

impl Verification {
    /// Of certificates about these inputs.
    pub fn new(inputs: impl IntoIterator<Item = Input>, from: Option<Format>) -> Verification {
        let inputs = inputs.into_iter().map(|input| (input.sha256(), input)).collect();
        Verification { from, inputs, histories: BTreeMap::new() }
    }

    /// The lines of a file that hold something, with their numbers.
    pub fn lines<'a>(file: &str, bytes: &'a [u8]) -> Result<Vec<(u64, &'a [u8])>, Complaint> {
        let lines = (1..).zip(bytes.split(|&byte| byte == b'\n'));
        let lines: Vec<(u64, &[u8])> = lines.filter(|(_, line)| !line.trim_ascii().is_empty()).collect();
        if lines.is_empty() {
            let advice = "use a file that `skew check --certificate` wrote";
            return Err(Complaint::new(file, "it holds no certificate".to_owned(), advice));
        }
        Ok(lines)
    }

    /// Checks the certificate in a line of a file.
    pub fn line(&mut self, file: &str, (number, line): (u64, &[u8])) -> Result<VerifiedCertificate, Complaint> {
        self.certificate(line).map_err(|failure| match failure {
            Failure::History(complaint) => complaint,
            Failure::Certificate(problem) => {
                let complaint = Complaint::new(file, problem.to_string(), problem.advice());
                Complaint { place: Place::Line(number), ..complaint }
            }
        })
    }

    fn certificate(&mut self, line: &[u8]) -> Result<VerifiedCertificate, Failure> {
        let unchecked = certificate::read(line).map_err(Failure::Certificate)?;
        let subject = unchecked.subject.clone();
        if !self.inputs.contains_key(&subject.history_sha256) {
            let hash: String = subject.history_sha256.chars().take(12).collect();
            let words = format!("not valid: it is about another history, whose SHA-256 begins with {hash}");
            return Ok(VerifiedCertificate { subject, valid: Some(false), words });
        }
        let history = self.history(&subject)?;
        let certificate = unchecked.within(history).map_err(Failure::Certificate)?;
        let valid = certificate.is_valid(history);
        let words = match valid {
            Some(true) => format!("valid: it {}", certificate.verdict.word()),
            Some(false) => format!("not valid: it does not show that the level {}", certificate.verdict.word()),
            None => "nothing to check: the verdict is unknown".to_owned(),
        };
        Ok(VerifiedCertificate { subject, valid, words })
    }

    fn history(&mut self, subject: &Subject) -> Result<&History, Failure> {
        let format: Format = self.from.unwrap_or(subject.format);
        let key = (subject.history_sha256.clone(), format.name());
        if !self.histories.contains_key(&key) {
            let input = &self.inputs[&subject.history_sha256];
            let (_, history) = input.read(Some(format)).map_err(Failure::History)?;
            self.histories.insert(key.clone(), history);
        }
        Ok(&self.histories[&key])
    }
}

/// What became of one certificate.
pub struct VerifiedCertificate {
    subject: Subject,
    /// Nothing when it claims nothing.
    valid: Option<bool>,
    words: String,
}

impl VerifiedCertificate {
    /// What that means for whoever asked.
    pub fn conclusion(&self) -> Conclusion {
        match self.valid {
            Some(true) => Conclusion::Holds,
            Some(false) => Conclusion::Found,
            None => Conclusion::Inconclusive,
        }
    }

    /// A line.
    pub fn human(&self) -> String {
        format!("{}: {}: {}\n", clean(&self.subject.file), self.subject.level, clean(&self.words))
    }

    /// An object of JSON.
    pub fn json(&self) -> serde_json::Value {
        let VerifiedCertificate { subject, valid, words } = self;
        json!({ "file": subject.file, "level": subject.level.name(), "valid": valid, "message": words })
    }
}
