//! `--save DIR`: every counterexample as `DIR/<n>-<anomaly>.json`, numbered in the order of the inputs.

use super::Subject;
use crate::command::Show;
use crate::console::Console;
use crate::input::Complaint;
use crate::output::{unwritable, write_finding};
use skew_campaign::replay_line::quote;
use skew_check::Counterexample;
use skew_view::Finding;
use skew_view::finding::FoundIn;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder that counterexamples go to.
pub(super) struct Findings {
    folder: PathBuf,
    saved: Vec<PathBuf>,
}

impl Findings {
    pub(super) fn create(folder: &Path) -> Result<Findings, Complaint> {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        Ok(Findings { folder: folder.to_owned(), saved: Vec::new() })
    }

    pub(super) fn save(&mut self, subject: &Subject, found: &Counterexample, replay: String) -> Result<(), Complaint> {
        let path = self.folder.join(format!("{}-{}.json", self.saved.len() + 1, found.kind.name()));
        let found_in = FoundIn {
            file: subject.name.clone(),
            format: subject.format.name().to_owned(),
            sha256: subject.sha256.clone(),
        };
        write_finding(&path, &Finding::new(found, found_in, replay))?;
        self.saved.push(path);
        Ok(())
    }

    /// Ends the output with the commands that show what was saved.
    pub(super) fn tell(&self, console: &mut Console, show: Show) {
        let commands: Vec<String> =
            self.saved.iter().map(|path| format!("skew view {}\n", quote(&path.to_string_lossy()))).collect();
        if show == Show::Human && !commands.is_empty() {
            console.say(&format!("\n{}", commands.concat()));
        }
    }
}
