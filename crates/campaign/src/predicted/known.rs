//! Predictions by number: equal ones have one, over all levels and files.
//!
//! ```text
//!   number   signature                              first at             kept as
//!   1        lost update, account, strict           a.jsonl, causal      findings/1-lost-update.jsonl
//!   2        write skew, duty, relaxed              c.jsonl, snapshot    nothing
//! ```

use super::PredictedFile;
use skew_check::{Budget, Verdict, check};
use skew_history::{History, IsolationLevel};
use skew_predict::{Boundary, Prediction};
use std::collections::BTreeSet;

/// So much work the checker does to find out whether two predictions are one.
const BUDGET: u64 = 1_000_000;

/// What equal predictions have in common.
type PredictionSignature = (&'static str, BTreeSet<String>, Boundary);

/// All predictions so far, each once.
#[derive(Default, Debug)]
pub struct KnownRuns {
    runs: Vec<KnownRun>,
}

#[derive(Debug)]
struct KnownRun {
    signature: PredictionSignature,
    file: String,
    level: IsolationLevel,
    history: History,
    kept: Option<(String, String)>,
}

impl KnownRuns {
    /// Gives each run of a file its number.
    pub fn join(&mut self, file: &mut PredictedFile) {
        let PredictedFile { file, history, levels } = file;
        for level in levels {
            let at = level.level;
            for run in level.runs_mut() {
                let signature = signature(&run.prediction, history);
                let known = self.runs.iter().position(|known| known.signature == signature && known.keeps(at));
                run.is_repeated = known.is_some();
                run.number = known.unwrap_or(self.runs.len()) + 1;
                if known.is_none() {
                    let history = run.prediction.history.clone();
                    self.runs.push(KnownRun { signature, file: file.clone(), level: at, history, kept: None });
                }
            }
        }
    }

    /// Notes that a prediction is kept as a file, and the command that confirms it.
    pub fn keep(&mut self, number: usize, path: String, confirm: String) {
        if let Some(run) = number.checked_sub(1).and_then(|place| self.runs.get_mut(place)) {
            run.kept = Some((path, confirm));
        }
    }

    /// The file of a prediction.
    pub fn path(&self, number: usize) -> Option<&str> {
        self.kept(number).map(|(path, _)| path.as_str())
    }

    /// The command that confirms a prediction that is kept.
    pub fn confirm(&self, number: usize) -> Option<&str> {
        self.kept(number).map(|(_, confirm)| confirm.as_str())
    }

    /// Where a prediction was met first: its file and its level.
    pub fn first(&self, number: usize) -> Option<(&str, IsolationLevel)> {
        let run = self.runs.get(number.checked_sub(1)?)?;
        Some((&run.file, run.level))
    }

    fn kept(&self, number: usize) -> Option<&(String, String)> {
        self.runs.get(number.checked_sub(1)?)?.kept.as_ref()
    }
}

impl KnownRun {
    /// Whether it is a run of this level, too: one that was found at a weaker one need not be.
    fn keeps(&self, level: IsolationLevel) -> bool {
        self.level.implies(level) || matches!(check(&self.history, level, Budget::steps(BUDGET)), Verdict::Holds(_))
    }
}

fn signature(prediction: &Prediction, history: &History) -> PredictionSignature {
    let (kind, places) = prediction.signature(history);
    (kind.name(), places, prediction.boundary)
}
