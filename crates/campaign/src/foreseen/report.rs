//! What was foreseen, in words.
//!
//! ```text
//!   pytest -q: passes with ordinary reads (4 sessions, 5 transactions)
//!     fails  by prediction: lost update
//!       laptop's transaction 1 reads cart/ann from shop's transaction 1 instead of phone's transaction 1
//!       exit code 1; the run is within causal and not serializable
//!       | the last lines that the command printed
//!     again: skew serve --level causal --foretold findings/failing-1.jsonl -- pytest -q
//!     3 runs made again: 1 fails, 2 pass (2 of them not serializable)
//! ```
//!
//! Where the command never fails, the last line says what that is worth: predictions are all there are of what the recorded run did,
//! stepping stones are tries.

use super::{ComeBy, ForeseenRun, Foresight, ForesightSettings, SearchLimit, took_part};
use crate::Conclusion;
use crate::command::CommandEnd;
use crate::foretold::Validation;
use serde_json::{Value, json};
use skew_check::AnomalyKind;
use skew_history::History;
use skew_predict::Boundary;
use skew_view::{Palette, words};
use std::fmt::Write;

/// So many lines of what a command printed are shown.
const LINES: usize = 20;

/// What is told.
pub struct ForesightReport<'a> {
    /// What was asked.
    pub settings: ForesightSettings<'a>,
    /// What came of it.
    pub foresight: &'a Foresight,
    /// The lines that make a failing run again, by the number of the failure.
    pub repeat: &'a dyn Fn(usize) -> Option<String>,
}

impl ForesightReport<'_> {
    /// For people.
    pub fn human(&self, palette: Palette) -> String {
        let Foresight { recorded, history, observed, limit, .. } = self.foresight;
        let command = self.settings.program.name();
        match (&recorded.ended, history) {
            (CommandEnd::Badly(how), _) => {
                let shown = last_lines(&recorded.output);
                let advice = "  there is nothing to predict from: a run that passes is needed\n";
                format!("{command}: fails with ordinary reads already: {how}\n{shown}{advice}")
            }
            (CommandEnd::Interrupted | CommandEnd::GivenUp, _) => {
                format!("{command}: interrupted in the run with ordinary reads\n")
            }
            (CommandEnd::Well, None) if *limit == Some(SearchLimit::Time) => {
                format!("{command}: the time was over in the run with ordinary reads; raise --timeout\n")
            }
            (CommandEnd::Well, None) => format!(
                "{command}: passes, and neither reads nor writes anything in the database\n  \
                 it finds the database by DATABASE_URL, PGHOST and PGPORT: does it look there?\n"
            ),
            (CommandEnd::Well, Some(history)) => {
                let (sessions, transactions) = (history.session_count(), history.transaction_count());
                let mut text = format!(
                    "{command}: passes with ordinary reads ({}, {})\n",
                    counted(sessions, "session"),
                    counted(transactions, "transaction")
                );
                if let Some(kind) = observed {
                    let (against, kind) = (self.settings.against, words::anomaly(*kind));
                    writeln!(text, "  observed: this run is not {against} as it is: {kind}").expect("a text");
                }
                for (number, failure) in self.foresight.failures().enumerate() {
                    self.failure(number, failure, palette, &mut text);
                }
                self.ending(history, &mut text);
                text
            }
        }
    }

    fn failure(&self, number: usize, failure: &ForeseenRun, palette: Palette, text: &mut String) {
        let what = failure.anomaly.map_or_else(String::new, |kind| format!(": {}", words::anomaly(kind)));
        let (bad, end) = (palette.bad, palette.end);
        writeln!(text, "  {bad}fails{end}  {}{what}", come_by(failure)).expect("a text");
        for changed in &failure.changed {
            writeln!(text, "    {changed}").expect("a text");
        }
        if let CommandEnd::Badly(how) = &failure.run.ended {
            writeln!(text, "    {how}; the run is {}", self.worth(&failure.validation)).expect("a text");
        }
        text.push_str(&last_lines(&failure.run.output));
        if let Some(line) = (self.repeat)(number) {
            writeln!(text, "  again: {line}").expect("a text");
        }
    }

    fn worth(&self, validation: &Validation) -> String {
        let ForesightSettings { level, against, .. } = self.settings;
        match validation {
            Validation::Validated => format!("within {level} and not {against}"),
            Validation::Diverged(_) | Validation::NotValidated => against.to_string(),
            Validation::Inconclusive => "too large to be judged within the budget".to_owned(),
        }
    }

    fn ending(&self, history: &History, text: &mut String) {
        let Foresight { runs, observed, limit, is_interrupted, .. } = self.foresight;
        if !runs.is_empty() {
            writeln!(text, "  {} made again: {}", counted(runs.len(), "run"), self.tally(runs)).expect("a text");
        }
        if self.foresight.failures().next().is_some() {
            return;
        }
        let ForesightSettings { level, stones, .. } = self.settings;
        let last = match (is_interrupted, limit) {
            (true, _) => "interrupted".to_owned(),
            _ if self.is_alone(history) => alone(history),
            (_, Some(limit)) => format!("inconclusive: {}", open(*limit, runs.len())),
            _ if observed.is_some() => return,
            _ if runs.is_empty() => format!("none: {level} lets no read of this run return anything else"),
            _ => format!(
                "none: the command passes in every run that was predicted of what this one did, and whichever \
                 read returns something else that {level} allows, up to {stones} reads one after the other"
            ),
        };
        writeln!(text, "  {last}").expect("a text");
    }

    fn tally(&self, runs: &[ForeseenRun]) -> String {
        let failed = runs.iter().filter(|run| run.fails()).count();
        let passed: Vec<&Validation> = runs.iter().filter(|run| !run.fails()).map(|run| &run.validation).collect();
        let bad = passed.iter().filter(|validation| matches!(validation, Validation::Validated)).count();
        let mut parts = Vec::new();
        if failed > 0 {
            parts.push(format!("{failed} {}", if failed == 1 { "fails" } else { "fail" }));
        }
        if !passed.is_empty() {
            let against = self.settings.against;
            let of_them = match (bad, passed.len()) {
                (0, _) => String::new(),
                (_, 1) => format!(" (not {against})"),
                _ => format!(" ({bad} of them not {against})"),
            };
            parts.push(format!("{} {}{of_them}", passed.len(), if passed.len() == 1 { "passes" } else { "pass" }));
        }
        parts.join(", ")
    }

    /// For programs.
    pub fn json(&self) -> String {
        let ForesightSettings { level, against, strategy, program, .. } = self.settings;
        let history = self.foresight.history.as_ref();
        let runs: Vec<Value> = self.foresight.runs.iter().map(json_of).collect();
        let object = json!({
            "skew": 1, "program": program.name(), "level": level.name(), "against": against.name(), "strategy": strategy.name(),
            "sessions": history.map(History::session_count), "transactions": history.map(History::transaction_count),
            "verdict": self.verdict(), "complete": !self.is_open(), "runs": runs,
        });
        object.to_string()
    }

    fn verdict(&self) -> &'static str {
        let Foresight { recorded, observed, runs, .. } = self.foresight;
        match &recorded.ended {
            CommandEnd::Badly(_) => "fails-already",
            _ if observed.is_some() => "observed",
            _ if self.foresight.failures().next().is_some() => "fails",
            _ if runs.iter().any(|run| run.by == ComeBy::Prediction) => "found",
            _ if self.is_open() => "unknown",
            _ => "none",
        }
    }

    /// Whether not all was looked at, or there was nothing to look at.
    fn is_open(&self) -> bool {
        let Foresight { history, limit, is_interrupted, .. } = self.foresight;
        *is_interrupted || limit.is_some() || history.as_ref().is_none_or(|history| self.is_alone(history))
    }

    /// Whether nobody could come in between: one session only, or one that set up and another one that did all the rest.
    fn is_alone(&self, history: &History) -> bool {
        let took_part = if self.settings.program.sets_up() { took_part(history) } else { history.session_count() };
        took_part < 2
    }

    /// How it ended. Who was not looked at, or not to the end, is not told that all is well.
    pub fn conclusion(&self) -> Conclusion {
        let Foresight { recorded, observed, .. } = self.foresight;
        let has_failed = matches!(recorded.ended, CommandEnd::Badly(_));
        if has_failed || observed.is_some() || self.foresight.failures().next().is_some() {
            return Conclusion::Found;
        }
        if self.is_open() { Conclusion::Inconclusive } else { Conclusion::Holds }
    }
}

fn json_of(run: &ForeseenRun) -> Value {
    let (validated, divergence) = match &run.validation {
        Validation::Validated => ("validated", run.run.divergence.as_ref()),
        Validation::Diverged(divergence) => ("diverged", Some(divergence)),
        Validation::NotValidated => ("not-validated", None),
        Validation::Inconclusive => ("none", None),
    };
    json!({
        "by": match run.by { ComeBy::Prediction => "prediction", ComeBy::SteppingStone => "stepping-stone" },
        "boundary": run.boundary.map(Boundary::name),
        "anomaly": run.anomaly.map(AnomalyKind::name),
        "changed": run.changed,
        "validated": validated,
        "divergence": divergence.map(ToString::to_string),
        "fails": run.fails(),
        "how": if let CommandEnd::Badly(how) = &run.run.ended { Some(how) } else { None },
    })
}

fn come_by(run: &ForeseenRun) -> String {
    let stones =
        if run.stones == 1 { "one stepping stone".to_owned() } else { format!("{} stepping stones", run.stones) };
    match (run.by, run.stones) {
        (ComeBy::Prediction, 0) => "by prediction".to_owned(),
        (ComeBy::Prediction, _) => format!("by prediction after {stones}"),
        (ComeBy::SteppingStone, _) => format!("by {stones}"),
    }
}

fn open(limit: SearchLimit, runs: usize) -> String {
    match limit {
        SearchLimit::Replays => format!("{} made again, and there are more; raise --replays", counted(runs, "run")),
        SearchLimit::Predictions => "there are more predictions than were looked at".to_owned(),
        SearchLimit::Budget => "the checker came to the end of its budget; raise --budget".to_owned(),
        SearchLimit::Time => format!("the time was over after {}; raise --timeout", counted(runs, "run")),
    }
}

fn alone(history: &History) -> String {
    let who = match history.session_count() {
        0 | 1 => "one session only",
        _ => "one session set up, and one did all the rest",
    };
    format!(
        "inconclusive: {who}, so nobody could come in between; a session is a connection, by its application_name: let each worker have its own"
    )
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("    | {}\n", words::clean(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foretold::ForetoldRun;

    fn foreseen(by: ComeBy, stones: usize) -> String {
        let (history, output) = (String::new(), String::new());
        let run = ForetoldRun { history, output, ended: CommandEnd::Well, divergence: None, passed_over: Vec::new() };
        let (changed, validation) = (Vec::new(), Validation::NotValidated);
        come_by(&ForeseenRun { by, stones, changed, anomaly: None, boundary: None, run, validation })
    }

    #[test]
    fn how_a_run_was_come_by_is_told_in_words() {
        assert_eq!(foreseen(ComeBy::Prediction, 0), "by prediction");
        assert_eq!(foreseen(ComeBy::Prediction, 1), "by prediction after one stepping stone");
        assert_eq!(foreseen(ComeBy::SteppingStone, 1), "by one stepping stone");
        assert_eq!(foreseen(ComeBy::SteppingStone, 2), "by 2 stepping stones");
    }

    #[test]
    fn numbers_go_with_their_nouns() {
        assert_eq!(counted(1, "run"), "1 run");
        assert_eq!(counted(0, "run"), "0 runs");
    }
}
