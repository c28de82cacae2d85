//! What playing a program has found, in words and as JSON.
//!
//! ```text
//!   withdraw.sql: 100 runs at causal (seeds 1 to 100), 14 different histories
//!     money adds up  fails in 37 runs, first with seed 2
//!   37 runs are not serializable: lost update (37)
//! ```

use super::{PlayExhibit, PlaySettings, PlayTally};
use crate::anomalies::{SeenAnomaly, counted};
use crate::confirmed::Confirmation;
use crate::program_file::{ProgramFile, shown};
use crate::said::SaidRun;
use crate::tally::AssertionTally;
use serde_json::{Value, json};
use skew_check::{AnomalyKind, Counterexample};
use skew_mockdb::{Granularity, Updates};
use skew_program::ProgramError;
use skew_view::finding::FoundIn;
use skew_view::{Finding, Palette, Picture, human, words};
use std::fmt::Write;

/// A longer run is not shown statement by statement, unless it is the only one.
const MOST_STATEMENTS: usize = 60;

/// Everything that a report tells of.
pub struct PlayReport<'a> {
    /// What was played.
    pub file: &'a ProgramFile,
    /// How.
    pub settings: &'a PlaySettings,
    /// What came of it.
    pub tally: &'a PlayTally,
    /// At a level of an engine: the runs that are shown.
    pub exhibits: &'a [PlayExhibit],
    /// The command that shows the run of a seed again.
    pub replay: &'a dyn Fn(u64) -> String,
}

impl PlayReport<'_> {
    /// The counterexamples to keep: of each failed assertion, and one of each anomaly, no two of one run and kind.
    pub fn findings(&self) -> Vec<(AnomalyKind, Finding)> {
        let sum = &self.tally.sum;
        let failed = sum.assertions().iter().filter_map(|assertion| assertion.first.as_ref());
        let failed = failed.filter_map(|first| Some((first.seed, first.found.as_ref()?)));
        let anomalies = sum.anomalies().iter().map(|(_, anomaly)| (anomaly.seed, &anomaly.found));
        let mut kept: Vec<(u64, &Counterexample)> = Vec::new();
        for (seed, found) in failed.chain(anomalies) {
            if !kept.iter().any(|known| (known.0, known.1.kind) == (seed, found.kind)) {
                kept.push((seed, found));
            }
        }
        let sha256 = self.file.sha256();
        let finding = |(seed, found): (u64, &Counterexample)| {
            let found_in =
                FoundIn { file: self.file.name.clone(), format: "program".to_owned(), sha256: sha256.clone() };
            (found.kind, Finding::new(found, found_in, (self.replay)(seed)))
        };
        kept.into_iter().map(finding).collect()
    }

    /// The report for people.
    pub fn human(&self, palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let (tally, sum) = (self.tally, &self.tally.sum);
        let name = words::clean(&self.file.name);
        let runs = counted(sum.runs(), "run");
        let histories = match tally.distinct {
            1 => "1 history".to_owned(),
            count => format!("{count} different histories"),
        };
        let (level, seed) = (self.settings.rules.weakness.level, self.settings.seed);
        let mut text = format!("{heading}{name}{end}: {runs} at {level} from seed {seed}, {histories}\n");
        self.tell_assertions(palette, &mut text);
        self.tell_counts(&mut text);
        if let Some((seed, error)) = &tally.endless {
            let place = error.place;
            let _ = writeln!(text, "  line {}, column {}: {} (seed {seed})", place.line, place.column, error.message);
            let _ = writeln!(text, "    {}", error.line.trim());
        }
        if sum.runs() == 1 {
            self.tell_calls(&mut text);
        }
        if let Some(found) = sum.shown() {
            let _ = write!(text, "\n{}", human::counterexample(Picture::from(found), palette));
        }
        self.tell_exhibits(palette, &mut text);
        let anomaly = sum.anomalies().first().map(|anomaly| anomaly.seed);
        if let Some(seed) = sum.first_failure().or(anomaly).filter(|_| sum.runs() > 1) {
            let _ = writeln!(text, "\n{}", (self.replay)(seed));
        }
        text
    }

    /// The statements of the first run that is shown, and what a server showed of all of them.
    fn tell_exhibits(&self, palette: Palette, text: &mut String) {
        let Some((first, others)) = self.exhibits.split_first() else { return };
        let is_short = |said: &&SaidRun| said.typed.statements.len() <= MOST_STATEMENTS || self.tally.sum.runs() == 1;
        if let Some(said) = first.said.as_ref().ok().filter(is_short) {
            let _ = write!(text, "\n{}", said.typed.shown(palette));
        }
        if let Some(confirmed) = &first.confirmed {
            let _ = write!(text, "\n{}", confirmed.told(first.assertion.is_some(), palette));
        }
        for other in others {
            let Some(confirmed) = &other.confirmed else { continue };
            let assertion = other.assertion.and_then(|place| self.tally.sum.assertions().get(place));
            let what = assertion.map_or_else(|| "an anomaly".to_owned(), |assertion| words::clean(&assertion.name));
            let told = confirmed.told(other.assertion.is_some(), palette);
            let _ = write!(text, "\n{what}, with seed {}:\n{told}", other.seed);
        }
    }

    /// What a server showed of the run of a seed in which an assertion fails, or of any run of that seed.
    fn confirmed(&self, seed: Option<u64>, assertion: Option<usize>) -> Option<Value> {
        let of_seed = || self.exhibits.iter().filter(|exhibit| Some(exhibit.seed) == seed);
        let exhibit = of_seed().find(|exhibit| exhibit.assertion == assertion).or_else(|| of_seed().next())?;
        exhibit.confirmed.as_ref().map(Confirmation::json)
    }

    fn is_on_server(&self) -> bool {
        super::scheduled::is_scheduled(&self.file.program, self.settings.rules.weakness.level)
    }

    fn tell_assertions(&self, palette: Palette, text: &mut String) {
        let Palette { good, bad, doubtful, end, .. } = palette;
        for assertion in self.tally.sum.assertions() {
            let name = words::clean(&assertion.name);
            let _ = match &assertion.first {
                Some(first) => {
                    let runs = counted(assertion.failures, "run");
                    let behind = first.behind.as_ref().map(|behind| format!("; {behind}")).unwrap_or_default();
                    let seed = first.seed;
                    let _ = writeln!(text, "  {bad}fails{end}  {name}: in {runs}, first with seed {seed}{behind}");
                    first.detail.as_ref().map_or(Ok(()), |error| {
                        writeln!(text, "         because it cannot be evaluated: {}", words::clean(error))
                    })
                }
                None if assertion.open > 0 => {
                    let runs = counted(assertion.open, "run");
                    writeln!(
                        text,
                        "  {doubtful}inconclusive{end}  {name}: {runs} may have left other final states than were looked at"
                    )
                }
                None if self.tally.asked == 0 => {
                    writeln!(text, "  {doubtful}inconclusive{end}  {name}: no run was judged")
                }
                None => writeln!(text, "  {good}holds{end}  {name}"),
            };
        }
    }

    fn tell_counts(&self, text: &mut String) {
        let tally = self.tally;
        tally.sum.anomalies().tell(tally.sum.runs(), text);
        if tally.refusals > 0 {
            let codes: Vec<String> = tally.codes.iter().map(|(code, count)| format!("{code} ({count})")).collect();
            let codes = if codes.is_empty() { String::new() } else { format!(": {}", codes.join(", ")) };
            let _ = writeln!(text, "  refused by the database: {}{codes}", counted(tally.refusals, "transaction"));
        }
        if tally.given_up_calls > 0 && self.is_on_server() {
            let calls = counted(tally.given_up_calls, "call");
            let _ = writeln!(text, "  refused for good: {calls}, as --retry {} has it", self.settings.rules.retries);
        } else if tally.given_up_runs > 0 {
            let runs = counted(tally.given_up_runs, "run");
            let _ = writeln!(text, "  not judged: {runs} with a call that was refused for good; raise --retry");
        }
        if tally.rollbacks > 0 {
            let _ = writeln!(text, "  rolled back by their program: {}", counted(tally.rollbacks, "call"));
        }
        for (message, count) in &tally.signals {
            let _ = writeln!(text, "  aborted by SIGNAL: {}: {}", counted(*count, "call"), words::clean(message));
        }
        for (count, error) in tally.errors.values() {
            let (calls, place) = (counted(*count, "call"), error.place);
            let message = words::clean(&error.message);
            let _ = writeln!(
                text,
                "  aborted by an error: {calls}: line {}, column {}: {message}",
                place.line, place.column
            );
        }
    }

    /// Who called what, and what came back.
    fn tell_calls(&self, text: &mut String) {
        let (Some(played), program) = (&self.tally.last, &self.file.program) else { return };
        for (session, script) in program.scripts().iter().enumerate() {
            for (number, call) in script.calls.iter().enumerate() {
                let procedure = &program.procedures()[call.procedure];
                let _ = write!(text, "  {}[{}] {}: ", script.name, number + 1, procedure.name);
                let Some(result) = played.results.get(session, number) else {
                    let _ = writeln!(text, "did not end");
                    continue;
                };
                let _ = write!(text, "{}", result.outcome.word());
                for (field, value) in procedure.fields.iter().zip(&result.fields) {
                    let _ = write!(text, ", {} = {}", field.name, words::clean(&shown(value, field, program)));
                }
                let _ = writeln!(text);
            }
        }
    }

    /// The report for programs.
    pub fn json(&self) -> String {
        let (tally, sum, weakness) = (self.tally, &self.tally.sum, self.settings.rules.weakness);
        let assertions: Vec<Value> =
            sum.assertions().iter().enumerate().map(|(place, one)| self.assertion_json(place, one)).collect();
        let anomalies: Vec<Value> =
            sum.anomalies().iter().map(|(kind, anomaly)| self.anomaly_json(kind, anomaly)).collect();
        let errors: Vec<Value> = tally.errors.values().map(|(count, error)| error_json(error, *count)).collect();
        let signals: Vec<Value> =
            tally.signals.iter().map(|(message, count)| json!({"message": message, "calls": count})).collect();
        let object = json!({
            "skew": 1,
            "file": self.file.name,
            "level": weakness.level.name(),
            "updates": if weakness.updates == Updates::Atomic { "atomic" } else { "plain" },
            "granularity": if weakness.granularity == Granularity::Row { "row" } else { "cell" },
            "chooser": (!self.is_on_server()).then(|| weakness.chooser.name()),
            "seed": self.settings.seed,
            "runs": sum.runs(),
            "judged": tally.asked,
            "histories": tally.distinct,
            "assertions": assertions,
            "against": sum.anomalies().against().name(),
            "violating": sum.anomalies().runs(),
            "anomalies": anomalies,
            "undecided": sum.anomalies().undecided,
            "refused": {
                "transactions": tally.refusals,
                "codes": tally.codes,
                "calls": tally.given_up_calls,
                "runs_not_judged": if self.is_on_server() { 0 } else { tally.given_up_runs },
            },
            "aborted": {"rollback": tally.rollbacks, "signals": signals, "errors": errors},
            "endless": tally.endless.as_ref().map(|(_, error)| error_json(error, 1)),
        });
        object.to_string()
    }

    fn assertion_json(&self, place: usize, assertion: &AssertionTally) -> Value {
        let first = assertion.first.as_ref();
        json!({
            "name": assertion.name,
            "violations": assertion.failures,
            "open": assertion.open,
            "seed": first.map(|first| first.seed),
            "error": first.and_then(|first| first.detail.clone()),
            "behind": first.and_then(|first| first.behind.as_deref()),
            "replay": first.map(|first| (self.replay)(first.seed)),
            "confirmed": self.confirmed(first.map(|first| first.seed), Some(place)),
        })
    }

    fn anomaly_json(&self, kind: AnomalyKind, anomaly: &SeenAnomaly) -> Value {
        let found = skew_view::report::found_json(Picture::from(&anomaly.found));
        json!({
            "anomaly": kind.name(),
            "runs": anomaly.runs,
            "seed": anomaly.seed,
            "replay": (self.replay)(anomaly.seed),
            "confirmed": self.confirmed(Some(anomaly.seed), None),
            "transactions": found["transactions"],
            "edges": found["edges"],
        })
    }
}

fn error_json(error: &ProgramError, count: u64) -> Value {
    let place = error.place;
    json!({"message": error.message, "state": error.state.0, "line": place.line, "column": place.column, "calls": count})
}
