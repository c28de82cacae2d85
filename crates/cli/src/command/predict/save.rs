//! `--save DIR`: every prediction as `DIR/<n>-<anomaly>.jsonl`, a history that `skew check` confirms, and as `DIR/<n>-<anomaly>.json`, a
//! counterexample that `skew view` shows; with `--replay` what the command did then, as `DIR/<n>-replayed.jsonl`.

use crate::input::Complaint;
use crate::output::{unwritable, write_finding, write_whole};
use sha2::{Digest, Sha256};
use skew_campaign::predicted::PredictedRun;
use skew_campaign::replay_line::quote;
use skew_history::IsolationLevel;
use skew_history::format::{self, Format};
use skew_view::Finding;
use skew_view::finding::FoundIn;
use std::fs;
use std::path::{Path, PathBuf};

const ADVICE: &str = "choose another folder with --save";

/// The folder that predictions go to.
pub(super) struct SavedRuns {
    folder: PathBuf,
}

impl SavedRuns {
    pub(super) fn create(folder: &Path) -> Result<SavedRuns, Complaint> {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        Ok(SavedRuns { folder: folder.to_owned() })
    }

    /// Writes the files of a run; the name of the history, and the command that confirms it.
    pub(super) fn save(
        &self,
        run: &PredictedRun,
        level: IsolationLevel,
        against: IsolationLevel,
    ) -> Result<(String, String), Complaint> {
        let found = &run.prediction.counterexample;
        let name = format!("{}-{}", run.number, found.kind.name());
        let (history, finding) = (self.folder.join(format!("{name}.jsonl")), self.folder.join(format!("{name}.json")));
        let path = history.to_string_lossy().into_owned();
        let complain = |what: String| Complaint::new(&path, what, ADVICE);
        let mut bytes = Vec::new();
        format::write(&run.prediction.history, Format::Native, &mut bytes)
            .map_err(|error| complain(error.to_string()))?;
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        write_whole(&history, bytes).map_err(|error| unwritable(&history, &error))?;
        let confirm = format!("skew check --level {level},{against} {}", quote(&path));
        let found_in = FoundIn { file: path.clone(), format: Format::Native.name().to_owned(), sha256 };
        write_finding(&finding, &Finding::new(found, found_in, confirm.clone()))?;
        if let Some(replayed) = run.replayed.as_ref().filter(|replayed| !replayed.history.is_empty()) {
            let path = self.folder.join(format!("{}-replayed.jsonl", run.number));
            write_whole(&path, &replayed.history).map_err(|error| unwritable(&path, &error))?;
        }
        Ok((path, confirm))
    }
}
