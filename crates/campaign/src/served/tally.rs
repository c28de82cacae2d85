//! What a campaign of a command found: counted, and told in words.
//!
//! ```text
//!   pytest -q: 200 runs at causal from seed 1
//!     fails  in 37 runs
//!       seed 2: exit code 1; lost update
//!       seed 5: exit code 1; the run is serializable, but not strict-serializable: real-time violation
//!       …
//!     41 runs are not serializable: lost update (39), write skew (2)
//! ```

use super::{Diagnosis, JudgedRun, ServeSettings};
use crate::Conclusion;
use crate::anomalies::counted;
use crate::command::CommandEnd;
use crate::judge::Behind;
use crate::recording::RecordingFailure;
use crate::tally::RunTally;
use serde_json::{Value, json};
use skew_check::Counterexample;
use skew_history::{EventId, IsolationLevel};
use skew_mockdb::wire::Schedule;
use skew_view::report::found_json;
use skew_view::{Palette, Picture, human, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// So many failed runs are listed.
const MOST_LISTED: usize = 20;

/// A run in which the command failed.
struct FailedRun {
    how: String,
    output: Option<String>,
    /// What stands behind it, in words.
    behind: String,
    /// What the run violates, if anything.
    found: Option<Counterexample>,
    /// What it asked for that is not supported.
    refused: Vec<String>,
    /// Whether no level would have prevented it.
    is_strict: bool,
}

/// All runs together.
pub struct ServeTally {
    sum: RunTally,
    failures: BTreeMap<u64, FailedRun>,
    divergences: usize,
    passed: u64,
    recording_failure: Option<String>,
    diagnosis: Diagnosis,
    /// In how many runs that passed an anomaly was seen, by what it is.
    harmless: BTreeMap<String, u64>,
    /// Runs of which there is a file with all choices.
    logged: BTreeSet<u64>,
    /// Somebody pressed Ctrl-C.
    pub(super) interrupted: bool,
}

impl ServeTally {
    pub(super) fn new(against: IsolationLevel) -> ServeTally {
        ServeTally {
            sum: RunTally::new(against),
            failures: BTreeMap::new(),
            divergences: 0,
            passed: 0,
            recording_failure: None,
            diagnosis: Diagnosis::default(),
            harmless: BTreeMap::new(),
            logged: BTreeSet::new(),
            interrupted: false,
        }
    }

    /// Counts a run.
    pub(super) fn count(&mut self, run: JudgedRun) {
        let JudgedRun { ran, judged, behind } = run;
        self.sum.judge(ran.seed, &judged);
        self.divergences += ran.summary.divergences;
        self.passed += ran.summary.passed;
        let passed = ran.ended == CommandEnd::Well;
        self.diagnosis.count(&ran.summary, passed);
        if let Some(found) = judged.found().filter(|_| passed) {
            *self.harmless.entry(signature(found)).or_default() += 1;
        }
        if let Some(failure) = ran.summary.recording_failure {
            self.recording_failure.get_or_insert(failure);
        }
        if ran.has_log {
            self.logged.insert(ran.seed);
        }
        if let CommandEnd::Badly(how) = ran.ended {
            let against = self.sum.anomalies().against();
            let is_strict = matches!(behind, Some(Behind::Nothing(level)) if level.is_strong());
            let (behind, found) = match (judged.found(), behind) {
                (Some(found), _) => (words::anomaly(found.kind), Some(found.clone())),
                (None, Some(behind)) => (behind.in_words(against), behind.found()),
                (None, None) => (format!("the run is {against}"), None),
            };
            let refused = ran.summary.unsupported.into_keys().collect();
            self.failures.insert(ran.seed, FailedRun { how, output: ran.output, behind, found, refused, is_strict });
        }
    }

    /// From some run on nothing was recorded. What the keeper of the files knows is more exact than what servers know.
    pub(super) fn stop_recording(&mut self, failure: Option<RecordingFailure>) {
        if let Some(failure) = failure {
            self.recording_failure = Some(format!("{}; {}", failure.what(), failure.left()));
        }
    }

    /// Whether any run came to its end.
    pub fn has_runs(&self) -> bool {
        self.sum.runs() > 0
    }

    /// Whether from some run on nothing was recorded.
    pub fn has_stopped_recording(&self) -> bool {
        self.recording_failure.is_some()
    }

    /// Whether somebody pressed Ctrl-C.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// What all this says.
    pub fn conclusion(&self, against_was_asked: bool) -> Conclusion {
        let violates = against_was_asked && !self.sum.anomalies().is_empty();
        let is_failure = |failure: &FailedRun| !self.diagnosis.explains(&failure.refused);
        let found = self.failures.values().any(is_failure) || violates || !self.sum.broken().is_empty();
        let undecided = against_was_asked && self.sum.anomalies().undecided > 0;
        let open = undecided || !self.failures.is_empty() || self.diagnosis.nothing_could_race();
        if self.interrupted { Conclusion::Inconclusive } else { Conclusion::judged(found, open) }
    }

    /// The counterexample that is shown: of a mistake of ours, else of the first failed run, else the first that there is.
    fn shown(&self) -> Option<&Counterexample> {
        let broken = self.sum.broken().values().next();
        let failed = || self.failures.values().filter_map(|failure| failure.found.as_ref());
        // What runs show that passed is no reason to fail: another one is, if there is one.
        let telling = failed().find(|found| !self.harmless.contains_key(&signature(found)));
        broken.or(telling).or_else(|| failed().next()).or_else(|| self.sum.shown())
    }

    fn first_of_interest(&self) -> Option<u64> {
        let failed = self.failures.keys().next().copied();
        failed.or_else(|| self.sum.anomalies().first().map(|anomaly| anomaly.seed))
    }
}

/// What an anomaly is, in words that are the same in all runs: its name, and the keys and statements of its events.
fn signature(found: &Counterexample) -> String {
    let history = &found.history;
    let keys: BTreeSet<String> = (0..history.event_count() as u32)
        .map(|number| history.key_name(history.event(EventId(number)).key).to_string())
        .collect();
    format!("{} {keys:?}", found.kind.name())
}

/// Everything that a report tells of.
pub struct ServeReport<'a> {
    /// What was run, and how.
    pub settings: &'a ServeSettings,
    /// What came of it.
    pub tally: &'a ServeTally,
    /// The command that shows the run of a seed again; whether there is a file of its choices.
    pub replay: &'a dyn Fn(u64, bool) -> String,
    /// Whether it was such a command: who has just repeated a run knows how.
    pub is_replay: bool,
}

impl ServeReport<'_> {
    /// The report for programs.
    pub fn json(&self) -> String {
        let (settings, tally) = (self.settings, self.tally);
        let anomalies: Vec<Value> = tally
            .sum
            .anomalies()
            .iter()
            .map(|(kind, seen)| json!({"anomaly": kind.name(), "runs": seen.runs, "seed": seen.seed}))
            .collect();
        let failures: Vec<Value> =
            tally.failures.iter().map(|(seed, failure)| self.failure_json(*seed, failure)).collect();
        let mut result = json!({
            "skew": 1,
            "command": settings.command,
            "level": settings.database.level.map(IsolationLevel::short),
            "seed": settings.seed,
            "runs": tally.sum.runs(),
            "failed": tally.failures.len(),
            "nothing_could_race": tally.diagnosis.nothing_could_race(),
            "anomalies": anomalies,
            "failures": failures,
            "interrupted": tally.interrupted,
        });
        if let (Some(result), Value::Object(more)) = (result.as_object_mut(), tally.diagnosis.json()) {
            result.extend(more);
        }
        result.to_string()
    }

    fn failure_json(&self, seed: u64, failure: &FailedRun) -> Value {
        let found = failure.found.as_ref();
        json!({
            "seed": seed, "how": failure.how, "behind": failure.behind, "unsupported": failure.refused,
            "explained_by_unsupported": self.tally.diagnosis.explains(&failure.refused),
            "in_passing_runs": found.and_then(|found| self.tally.harmless.get(&signature(found))).copied().unwrap_or(0),
            "found": found.map(|found| found_json(Picture::from(found))),
            "replay": self.replay(seed),
        })
    }

    /// The report for people.
    pub fn human(&self, palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let level = self.settings.database.level.map_or_else(|| "its own level".to_owned(), |level| level.to_string());
        let name = words::clean(&self.settings.command.join(" "));
        let (tally, runs) = (self.tally, counted(self.tally.sum.runs(), "run"));
        let mut text = format!("{heading}{name}{end}: {runs} at {level} from seed {}\n", self.settings.seed);
        self.tell_failures(palette, &mut text);
        tally.sum.anomalies().tell(tally.sum.runs(), &mut text);
        tally.diagnosis.tell(&mut text);
        self.tell_mistakes(palette, &mut text);
        if let Some((seed, failure)) = tally.failures.first_key_value()
            && let Some(output) = failure.output.as_deref().filter(|output| !output.trim().is_empty())
        {
            let _ = writeln!(text, "\n{heading}output of seed {seed}{end}");
            output.lines().for_each(|line| {
                let _ = writeln!(text, "  {}", words::clean(line));
            });
        }
        if let Some(found) = tally.shown() {
            let _ = write!(text, "\n{}", human::counterexample(Picture::from(found), palette));
            if let Some(passing) = tally.harmless.get(&signature(found)).filter(|_| !tally.failures.is_empty()) {
                let runs = counted(*passing, "run");
                let _ = writeln!(text, "the same is in {runs} that passed: it need not be why the command failed");
            }
        }
        if let Some(seed) = tally.first_of_interest().filter(|_| !self.is_replay) {
            text.push('\n');
            let holds = matches!(self.settings.wire.schedule, Schedule::Adversary(_));
            if holds && !tally.logged.contains(&seed) {
                text.push_str(
                    "this draws the same again; a run that --record has kept is repeated statement by statement:\n",
                );
            }
            let _ = writeln!(text, "{}", self.replay(seed));
            if self.settings.wire.password.is_some() {
                let _ = writeln!(text, "with the password in the variable SKEW_PASSWORD");
            }
        }
        text
    }

    fn tell_failures(&self, palette: Palette, text: &mut String) {
        let Palette { good, bad, end, .. } = palette;
        let (runs, failures) = (self.tally.sum.runs(), &self.tally.failures);
        if failures.is_empty() {
            let every = if runs == 1 { "" } else { " in every run" };
            let _ = match runs {
                0 => writeln!(text, "  no run came to its end"),
                _ if self.tally.diagnosis.nothing_could_race() => {
                    writeln!(text, "  inconclusive: the command went well{every}, where nothing could go wrong")
                }
                _ => writeln!(text, "  {good}passes{end}{every}"),
            };
            return;
        }
        let _ = writeln!(text, "  {bad}fails{end}  in {}", counted(failures.len() as u64, "run"));
        for (seed, failure) in failures.iter().take(MOST_LISTED) {
            let refused = match self.tally.diagnosis.explains(&failure.refused) {
                true => "; inconclusive: it was refused what is not supported, and runs that pass were not",
                false => "",
            };
            let _ = writeln!(text, "    seed {seed}: {}; {}{refused}", failure.how, failure.behind);
        }
        if failures.len() > MOST_LISTED {
            let _ = writeln!(text, "    … and {} more", failures.len() - MOST_LISTED);
        }
        let by_order = failures.values().any(|failure| failure.is_strict) && runs > failures.len() as u64;
        if by_order && self.tally.diagnosis.something_overlapped() {
            text.push_str("    where the order of requests decides, the race is between transactions, and no isolation level prevents it\n");
        }
    }

    fn tell_mistakes(&self, palette: Palette, text: &mut String) {
        let Palette { bad, end, .. } = palette;
        let tally = self.tally;
        if tally.divergences > 0 {
            let _ = writeln!(
                text,
                "  {} reads were not in the log that is replayed: the command did something else",
                tally.divergences
            );
        }
        if tally.passed > 0 {
            let _ = writeln!(
                text,
                "  {} times a silent client lost its turn to the next: not all was serial",
                tally.passed
            );
        }
        if let Some(failure) = &tally.recording_failure {
            let _ = writeln!(text, "  {bad}recording stopped{end}: {failure}");
        }
        if tally.interrupted {
            let _ = writeln!(text, "  interrupted");
        }
        for (seed, found) in tally.sum.broken() {
            let kind = words::anomaly(found.kind);
            let _ = writeln!(
                text,
                "  {bad}mistake of skew{end}: a run is not what its level allows ({kind}); please report it with"
            );
            let _ = writeln!(text, "    {}", self.replay(*seed));
        }
    }

    fn replay(&self, seed: u64) -> String {
        (self.replay)(seed, self.tally.logged.contains(&seed))
    }
}
