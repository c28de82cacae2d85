//! Predictions for people.
//!
//! ```text
//!   two-deposits.jsonl: 2 sessions, 2 transactions, 4 events
//!     causal          found: a run that could have been is not serializable (prediction 1)
//!     read-committed  found: a run that could have been is not serializable (prediction 1)
//!
//!   prediction 1, at causal: …          what changed · both runs side by side · what is wrong · the command that confirms it
//! ```

use super::confirmed::ConfirmedRun;
use super::sentences::sentences;
use super::{KnownRuns, LevelAnswer, PredictSettings, PredictedFile, PredictedLevel, PredictedRun, Replayed};
use crate::counted;
use skew_history::IsolationLevel;
use skew_predict::Strategy;
use skew_view::{Palette, Picture, human, words};
use std::fmt::Write;

impl PredictedFile {
    /// The report for people. All runs have been joined.
    pub fn human(&self, settings: &PredictSettings, known: &KnownRuns, palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let history = &self.history;
        let sizes = [
            counted(history.session_count() as u64, "session"),
            counted(history.transaction_count() as u64, "transaction"),
            counted(history.event_count() as u64, "event"),
        ];
        let mut text = format!("{heading}{}{end}: {}\n", words::clean(&self.file), sizes.join(", "));
        let widest = self.levels.iter().map(|level| level.level.name().len()).max().unwrap_or(0);
        for level in &self.levels {
            let told = self.level(level, settings, known, palette);
            let _ = writeln!(text, "  {:widest$}  {told}", level.level.name());
        }
        let is_none = |level: &PredictedLevel| matches!(level.answer, LevelAnswer::Nothing(None));
        if self.levels.iter().any(is_none) {
            text.push_str(&guarantee(settings, palette));
        }
        self.tell_observed(palette, &mut text);
        for (level, run) in self.new_runs() {
            text.push_str(&self.run(level, run, settings, known, palette));
        }
        text
    }

    fn level(&self, level: &PredictedLevel, settings: &PredictSettings, known: &KnownRuns, palette: Palette) -> String {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let candidates = counted(level.candidates, "candidate");
        match &level.answer {
            LevelAnswer::Found(runs, is_all) => {
                let more = if settings.most > 1 && !is_all { "; there may be more" } else { "" };
                let found = self.found(runs, settings.against, known);
                format!("{bad}found{end}: {found}{more}")
            }
            LevelAnswer::Nothing(None) => format!("{good}none{end}: no such run within what this one did"),
            LevelAnswer::Nothing(Some(why)) => format!("{good}none{end}: {why}"),
            LevelAnswer::Observed(found) => {
                format!("{bad}observed{end}: the run itself {}: {}", breaks(found.level), words::anomaly(found.kind))
            }
            LevelAnswer::Open(why) => format!("{doubtful}unknown{end}: no such run was found; {why}"),
            LevelAnswer::Unknown if level.is_spent => {
                format!("{doubtful}unknown{end}: the budget ended after {candidates}")
            }
            LevelAnswer::Unknown => format!("{doubtful}unknown{end}: stopped after {candidates}"),
        }
    }

    fn found(&self, runs: &[PredictedRun], against: IsolationLevel, known: &KnownRuns) -> String {
        let elsewhere = |run: &PredictedRun| match known.first(run.number) {
            Some((file, _)) if run.is_repeated && file != self.file => format!(" of {}", words::clean(file)),
            _ => String::new(),
        };
        let numbers: Vec<String> = runs.iter().map(|run| format!("{}{}", run.number, elsewhere(run))).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let numbers = words::enumeration(&numbers);
        match (runs, against) {
            ([_], _) => format!("a run that could have been {} (prediction {numbers})", breaks(against)),
            (_, IsolationLevel::Serializable) => {
                format!("{} runs that could have been are not serializable (predictions {numbers})", runs.len())
            }
            _ => format!("{} runs that could have been break {against} (predictions {numbers})", runs.len()),
        }
    }

    /// Why the run itself is bad: the weakest levels that it breaks, each once.
    fn tell_observed(&self, palette: Palette, text: &mut String) {
        let observed = |level: &'_ PredictedLevel| match &level.answer {
            LevelAnswer::Observed(found) => Some(found.level),
            _ => None,
        };
        let broken: Vec<IsolationLevel> = self.levels.iter().filter_map(observed).collect();
        let is_weakest = |level: IsolationLevel| !broken.iter().any(|&other| other != level && level.implies(other));
        let mut told: Vec<IsolationLevel> = Vec::new();
        for level in &self.levels {
            let LevelAnswer::Observed(found) = &level.answer else { continue };
            if is_weakest(found.level) && !told.contains(&found.level) {
                told.push(found.level);
                let _ = write!(text, "\n{}", human::counterexample(Picture::from(&**found), palette));
            }
        }
        if !told.is_empty() {
            let Palette { faint, end, .. } = palette;
            let why = "nothing is predicted from a run that is bad already, unless --even-if-bad";
            let _ = writeln!(text, "\n{faint}{why}{end}");
        }
    }

    fn run(
        &self,
        level: IsolationLevel,
        run: &PredictedRun,
        settings: &PredictSettings,
        known: &KnownRuns,
        palette: Palette,
    ) -> String {
        let Palette { heading, faint, end, .. } = palette;
        let prediction = &run.prediction;
        let boundary = prediction.boundary.name();
        let mut text = format!("\n{heading}prediction {}{end}, at {level} ({boundary}):\n", run.number);
        for sentence in sentences(&self.history, prediction) {
            let _ = writeln!(text, "  {sentence}");
        }
        let _ = write!(text, "\n{}\n", self.beside(run).text(palette));
        text.push_str(&human::counterexample(Picture::from(&prediction.counterexample), palette));
        if let Some(replayed) = &run.replayed {
            text.push_str(&told_replay(replayed, palette));
        }
        if let Some(ConfirmedRun { said, confirmation }) = &run.confirmed {
            let shown = said.as_ref().map(|said| format!("\n{}", said.typed.shown(palette))).unwrap_or_default();
            let _ = write!(text, "{shown}\n{}", confirmation.told(false, palette));
        }
        let _ = match known.confirm(run.number) {
            Some(confirm) => writeln!(text, "\n{confirm}"),
            None => writeln!(
                text,
                "\n{faint}to keep this run, add --save DIR; then{end} skew check --level {level},{} DIR/{}-{}.jsonl {faint}confirms it{end}",
                settings.against,
                run.number,
                prediction.counterexample.kind.name(),
            ),
        };
        text
    }
}

/// What became of a prediction when the command ran again.
fn told_replay(replayed: &Replayed, palette: Palette) -> String {
    let Palette { good, bad, doubtful, end, .. } = palette;
    let what = match replayed.validated {
        "validated" => format!(
            "{bad}validated{end}: the command was run again, and its run keeps the level and is not serializable"
        ),
        "diverged" => format!("{doubtful}diverged{end}: the command was run again, and went another way"),
        "not-validated" => {
            format!("{good}not validated{end}: the command was run again as foretold, and its run is serializable")
        }
        _ => format!("{doubtful}not replayed{end}: it was stopped, or the budget ended"),
    };
    let mut text = format!("\n{what}\n");
    if let Some(divergence) = &replayed.divergence {
        let _ = writeln!(text, "  {divergence}");
    }
    if let Some(failure) = &replayed.failure {
        let _ = writeln!(text, "  the command {bad}failed{end}: {failure}");
    }
    text
}

fn breaks(level: IsolationLevel) -> String {
    match level {
        IsolationLevel::Serializable => "is not serializable".to_owned(),
        level => format!("breaks {level}"),
    }
}

/// What `none` means, and what it does not.
fn guarantee(settings: &PredictSettings, palette: Palette) -> String {
    let Palette { faint, end, .. } = palette;
    let means = match settings.strategy {
        Strategy::Exact | Strategy::ExactRelaxed => {
            "none: whatever the level lets these reads return, and wherever the sessions end, what was done stays "
        }
        Strategy::ExactStrict => {
            "none: whatever the level lets the last read of each session return (--strategy exact tries more), what was done stays "
        }
        Strategy::ApproximateStrict | Strategy::ApproximateRelaxed => {
            "none that the approximation sees (--strategy exact misses nothing): what was done stays "
        }
    };
    let kept = match settings.against {
        IsolationLevel::Serializable => "serializable".to_owned(),
        against => format!("within {against}"),
    };
    let only = match &settings.only_session {
        Some(name) => format!("; only reads of session {} were changed", words::clean(name)),
        None => String::new(),
    };
    format!(
        "{faint}{means}{kept}{only}{end}\n\
         {faint}what the program would do next is in no recording: skew serve --predict -- COMMAND runs it to see{end}\n"
    )
}
