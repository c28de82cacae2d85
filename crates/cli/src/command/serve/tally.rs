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

use super::Arguments;
use super::campaign::Looked;
use super::run::Ended;
use crate::exit::Exit;
use crate::output::RecordingFailure;
use skew_campaign::anomalies::{Anomalies, counted};
use skew_campaign::judge::Judgement;
use skew_check::Counterexample;
use skew_history::IsolationLevel;
use skew_view::{Palette, Picture, human, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// So many failed runs are listed.
const MOST_LISTED: usize = 20;

/// A run in which the command failed.
struct Failure {
    how: String,
    output: Option<String>,
    /// What stands behind it, in words.
    behind: String,
    /// What the run violates, if anything.
    found: Option<Counterexample>,
}

/// All runs together.
pub(super) struct Tally {
    first: u64,
    runs: u64,
    failures: BTreeMap<u64, Failure>,
    anomalies: Anomalies,
    /// Runs whose history is not what their own levels allow: a mistake of ours.
    broken: BTreeMap<u64, Counterexample>,
    divergences: usize,
    passed: u64,
    recording_failure: Option<String>,
    /// Runs of which there is a file with all choices.
    logged: BTreeSet<u64>,
    /// Somebody pressed Ctrl-C.
    pub(super) interrupted: bool,
}

impl Tally {
    pub(super) fn new(first: u64, against: IsolationLevel) -> Tally {
        Tally {
            first,
            runs: 0,
            failures: BTreeMap::new(),
            anomalies: Anomalies::new(against),
            broken: BTreeMap::new(),
            divergences: 0,
            passed: 0,
            recording_failure: None,
            logged: BTreeSet::new(),
            interrupted: false,
        }
    }

    /// Counts a run.
    pub(super) fn run(&mut self, looked: Looked) {
        let Looked { ran, judged, behind } = looked;
        self.runs += 1;
        self.divergences += ran.summary.divergences;
        self.passed += ran.summary.passed;
        if let Some(failure) = ran.summary.recording_failure {
            self.recording_failure.get_or_insert(failure);
        }
        if ran.has_log {
            self.logged.insert(ran.seed);
        }
        if let Judgement::Fails(found) = &judged.own_level {
            self.broken.insert(ran.seed, found.as_ref().clone());
        }
        self.anomalies.count(ran.seed, &judged.against);
        if let Ended::Badly(how) = ran.ended {
            let (behind, found) = match (&judged.against, behind) {
                (Judgement::Fails(found), _) => (words::anomaly(found.kind), Some(found.as_ref().clone())),
                (_, Some(behind)) => (behind.in_words(self.against()), behind.found()),
                (_, None) => (format!("the run is {}", self.against()), None),
            };
            self.failures.insert(ran.seed, Failure { how, output: ran.output, behind, found });
        }
    }

    /// From some run on nothing was recorded. What the keeper of the files knows is more exact than what servers know.
    pub(super) fn stop_recording(&mut self, failure: Option<RecordingFailure>) {
        if let Some(failure) = failure {
            self.recording_failure = Some(format!("{}; {}", failure.what(), failure.left()));
        }
    }

    /// The level that runs are compared with.
    pub(super) fn against(&self) -> IsolationLevel {
        self.anomalies.against()
    }

    /// Whether any run came to its end.
    pub(super) fn has_runs(&self) -> bool {
        self.runs > 0
    }

    pub(super) fn exit(&self, against_was_asked: bool) -> Exit {
        let found = !self.failures.is_empty() || (against_was_asked && !self.anomalies.is_empty());
        if self.interrupted {
            Exit::Inconclusive
        } else if self.recording_failure.is_some() {
            Exit::BadInput
        } else if found || !self.broken.is_empty() {
            Exit::Found
        } else if against_was_asked && self.anomalies.undecided > 0 {
            Exit::Inconclusive
        } else {
            Exit::Holds
        }
    }

    pub(super) fn human(&self, arguments: &Arguments, palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let level = arguments.level.map_or_else(|| "its own level".to_owned(), |level| level.to_string());
        let name = words::clean(&arguments.command.join(" "));
        let mut text =
            format!("{heading}{name}{end}: {} at {level} from seed {}\n", counted(self.runs, "run"), self.first);
        self.tell_failures(palette, &mut text);
        self.anomalies.tell(self.runs, &mut text);
        self.tell_mistakes(arguments, palette, &mut text);
        if let Some((seed, failure)) = self.failures.first_key_value()
            && let Some(output) = failure.output.as_deref().filter(|output| !output.trim().is_empty())
        {
            let _ = writeln!(text, "\n{heading}output of seed {seed}{end}");
            output.lines().for_each(|line| {
                let _ = writeln!(text, "  {}", words::clean(line));
            });
        }
        if let Some(found) = self.shown() {
            let _ = write!(text, "\n{}", human::counterexample(Picture::from(found), palette));
        }
        // Who has just repeated a run knows how.
        if let Some(seed) = self.first_of_interest().filter(|_| arguments.replay.is_none()) {
            let _ = writeln!(text, "\n{}", self.replay_command(arguments, seed));
            if arguments.password.is_some() {
                let _ = writeln!(text, "with the password in the variable SKEW_PASSWORD");
            }
        }
        text
    }

    fn tell_failures(&self, palette: Palette, text: &mut String) {
        let Palette { good, bad, end, .. } = palette;
        if self.failures.is_empty() {
            let every = if self.runs == 1 { "" } else { " in every run" };
            let _ = match self.runs {
                0 => writeln!(text, "  no run came to its end"),
                _ => writeln!(text, "  {good}passes{end}{every}"),
            };
            return;
        }
        let _ = writeln!(text, "  {bad}fails{end}  in {}", counted(self.failures.len() as u64, "run"));
        for (seed, failure) in self.failures.iter().take(MOST_LISTED) {
            let _ = writeln!(text, "    seed {seed}: {}; {}", failure.how, failure.behind);
        }
        if self.failures.len() > MOST_LISTED {
            let _ = writeln!(text, "    … and {} more", self.failures.len() - MOST_LISTED);
        }
    }

    fn tell_mistakes(&self, arguments: &Arguments, palette: Palette, text: &mut String) {
        let Palette { bad, end, .. } = palette;
        if self.divergences > 0 {
            let _ = writeln!(
                text,
                "  {} reads were not in the log that is replayed: the command did something else",
                self.divergences
            );
        }
        if self.passed > 0 {
            let _ =
                writeln!(text, "  {} times a silent client lost its turn to the next: not all was serial", self.passed);
        }
        if let Some(failure) = &self.recording_failure {
            let _ = writeln!(text, "  {bad}recording stopped{end}: {failure}");
        }
        if self.interrupted {
            let _ = writeln!(text, "  interrupted");
        }
        for (seed, found) in &self.broken {
            let kind = words::anomaly(found.kind);
            let _ = writeln!(
                text,
                "  {bad}mistake of skew{end}: a run is not what its level allows ({kind}); please report it with"
            );
            let _ = writeln!(text, "    {}", self.replay_command(arguments, *seed));
        }
    }

    fn replay_command(&self, arguments: &Arguments, seed: u64) -> String {
        arguments.replay_command(seed, self.logged.contains(&seed))
    }

    /// The counterexample that is shown: of a mistake of ours, else of the first failed run, else the first that there is.
    fn shown(&self) -> Option<&Counterexample> {
        let broken = self.broken.values().next();
        let failed = self.failures.values().find_map(|failure| failure.found.as_ref());
        let any = self.anomalies.first().map(|anomaly| &anomaly.found);
        broken.or(failed).or(any)
    }

    fn first_of_interest(&self) -> Option<u64> {
        let failed = self.failures.keys().next().copied();
        failed.or_else(|| self.anomalies.first().map(|anomaly| anomaly.seed))
    }
}
