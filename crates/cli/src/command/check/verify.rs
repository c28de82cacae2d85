//! `--verify CERT HISTORY`: checks certificates without searching.
//!
//! Every line names the hash of the input it is about. A line about another input, and one whose proof proves nothing, is not valid
//! (exit 1); a line that is no certificate, or whose numbers are not of this history, is bad input (exit 2) with its line.

use super::settings::Settings;
use crate::clock;
use crate::command::Show;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint, Input, Location};
use serde_json::json;
use skew_history::format::Format;
use skew_history::{History, Place, Problem};
use skew_view::certificate::{self, Subject};
use skew_view::words::clean;
use std::collections::BTreeMap;
use std::path::Path;

/// Checks all certificates of a file against the histories that are named.
pub(super) fn run(certificates: &Path, settings: &Settings, console: &mut Console) -> Exit {
    let outcome = Verification::new(settings).and_then(|verification| verification.file(certificates, console));
    console.conclude(outcome)
}

struct Verification<'a> {
    settings: &'a Settings,
    /// By hash.
    inputs: BTreeMap<String, Input>,
    /// By hash and format: one input may be certified as read in two formats.
    histories: BTreeMap<(String, &'static str), History>,
}

impl<'a> Verification<'a> {
    fn new(settings: &'a Settings) -> Result<Verification<'a>, Complaint> {
        let mut inputs = BTreeMap::new();
        for argument in &settings.files {
            for location in input::locate(argument)? {
                let opened = location.open(settings.limits)?;
                inputs.extend(opened.into_iter().map(|input| (input.sha256(), input)));
            }
        }
        Ok(Verification { settings, inputs, histories: BTreeMap::new() })
    }

    fn file(mut self, path: &Path, console: &mut Console) -> Result<Exit, Complaint> {
        let name = path.to_string_lossy().into_owned();
        let location = if path == Path::new("-") { Location::StandardInput } else { Location::File(path.to_owned()) };
        let mut opened = location.open(self.settings.limits)?;
        let bytes = opened.pop().and_then(|mut input| input.files.pop()).map(|file| file.bytes).unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n').enumerate();
        let lines: Vec<(usize, &[u8])> = lines.filter(|(_, line)| !line.trim_ascii().is_empty()).collect();
        if lines.is_empty() {
            let advice = "use a file that `skew check --certificate` wrote";
            return Err(Complaint::new(&name, "it holds no certificate".to_owned(), advice));
        }
        let mut exit = Exit::Holds;
        let mut answers = Vec::new();
        for (number, line) in lines {
            if clock::is_stopped() {
                console.note("the time was over before all certificates were checked; raise --timeout");
                exit.combine(Exit::Inconclusive);
                break;
            }
            let place = Place::Line(number as u64 + 1);
            match self.line(line) {
                Ok(answer) => {
                    exit.combine(answer.exit());
                    answers.push(answer);
                }
                Err(Failure::Certificate(problem)) => return Err(at(&name, place, &problem)),
                Err(Failure::History(complaint)) => return Err(complaint),
            }
        }
        show(&answers, self.settings.show, console);
        Ok(exit)
    }

    fn line(&mut self, line: &[u8]) -> Result<Answer, Failure> {
        let unchecked = certificate::read(line).map_err(Failure::Certificate)?;
        let subject = unchecked.subject.clone();
        if !self.inputs.contains_key(&subject.history_sha256) {
            let hash: String = subject.history_sha256.chars().take(12).collect();
            let words = format!("not valid: it is about another history, whose SHA-256 begins with {hash}");
            return Ok(Answer { subject, valid: Some(false), words });
        }
        let history = self.history(&subject)?;
        let certificate = unchecked.within(history).map_err(Failure::Certificate)?;
        let valid = certificate.is_valid(history);
        let words = match valid {
            Some(true) => format!("valid: it {}", certificate.verdict.word()),
            Some(false) => format!("not valid: it does not show that the level {}", certificate.verdict.word()),
            None => "nothing to check: the verdict is unknown".to_owned(),
        };
        Ok(Answer { subject, valid, words })
    }

    fn history(&mut self, subject: &Subject) -> Result<&History, Failure> {
        let format: Format = self.settings.from.unwrap_or(subject.format);
        let key = (subject.history_sha256.clone(), format.name());
        if !self.histories.contains_key(&key) {
            let input = &self.inputs[&subject.history_sha256];
            let (_, history) = input.read(Some(format)).map_err(Failure::History)?;
            self.histories.insert(key.clone(), history);
        }
        Ok(&self.histories[&key])
    }
}

/// Why verification cannot go on.
enum Failure {
    /// The line is no certificate.
    Certificate(Problem),
    /// The history cannot be read as the certificate says.
    History(Complaint),
}

fn at(name: &str, place: Place, problem: &Problem) -> Complaint {
    Complaint { place, ..Complaint::new(name, problem.to_string(), problem.advice()) }
}

/// What became of one certificate.
struct Answer {
    subject: Subject,
    /// Nothing when it claims nothing.
    valid: Option<bool>,
    words: String,
}

impl Answer {
    fn exit(&self) -> Exit {
        match self.valid {
            Some(true) => Exit::Holds,
            Some(false) => Exit::Found,
            None => Exit::Inconclusive,
        }
    }
}

fn show(answers: &[Answer], show: Show, console: &mut Console) {
    if show == Show::Json {
        let object = |Answer { subject, valid, words }: &Answer| json!({ "file": subject.file, "level": subject.level.name(), "valid": valid, "message": words });
        let certificates: Vec<serde_json::Value> = answers.iter().map(object).collect();
        return console.result(&format!("{{\"skew\":1,\"certificates\":{}}}\n", json!(certificates)));
    }
    for Answer { subject, words, .. } in answers {
        console.say(&format!("{}: {}: {}\n", clean(&subject.file), subject.level, clean(words)));
    }
}
