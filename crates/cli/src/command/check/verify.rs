//! `--verify CERT HISTORY`: checks certificates without searching.
//!
//! Every line names the hash of the input it is about. A line about another input, and one whose proof proves nothing, is not valid
//! (exit 1); a line that is no certificate, or whose numbers are not of this history, is bad input (exit 2) with its line.

use super::settings::Settings;
use crate::clock;
use crate::command::Show;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint, Location};
use serde_json::json;
use skew_campaign::verified::{Verification, VerifiedCertificate};
use std::path::Path;

/// Checks all certificates of a file against the histories that are named.
pub(super) fn run(certificates: &Path, settings: &Settings, console: &mut Console) -> Exit {
    let outcome = verify(certificates, settings, console);
    console.conclude(outcome)
}

fn verify(path: &Path, settings: &Settings, console: &mut Console) -> Result<Exit, Complaint> {
    let mut inputs = Vec::new();
    for argument in &settings.files {
        for location in input::locate(argument, input::HISTORIES)? {
            inputs.extend(location.open(settings.limits)?);
        }
    }
    let mut verification = Verification::new(inputs, settings.from);
    let name = path.to_string_lossy();
    let bytes = Location::named(path).bytes(settings.limits)?;
    let mut exit = Exit::Holds;
    let mut answers = Vec::new();
    for line in Verification::lines(&name, &bytes)? {
        if clock::is_stopped() {
            console.note("the time was over before all certificates were checked; raise --timeout");
            exit.combine(Exit::Inconclusive);
            break;
        }
        let answer = verification.line(&name, line)?;
        exit.combine(answer.conclusion().into());
        answers.push(answer);
    }
    show(&answers, settings.show, console);
    Ok(exit)
}

fn show(answers: &[VerifiedCertificate], show: Show, console: &mut Console) {
    if show == Show::Json {
        let certificates: Vec<serde_json::Value> = answers.iter().map(VerifiedCertificate::json).collect();
        return console.result(&format!("{{\"skew\":1,\"certificates\":{}}}\n", json!(certificates)));
    }
    answers.iter().for_each(|answer| console.say(&answer.human()));
}
