//! What a campaign found: which assertions failed in how many runs, and how many histories are not serializable.
//!
//! ```text
//!   smallbank: 100 runs from seed 1, 3 sessions of 100 transactions at causal on the mock database
//!     fails  A13 money: in 37 runs, first with seed 3: …
//!     41 runs are not serializable: lost update (39), write skew (2)
//!     29812 committed, 12 retried
//!     in 12.3 s
//!
//!   skew run smallbank --level causal --seed 3
//! ```

use super::campaign::Looked;
use super::plan::Plan;
use super::{Arguments, campaign, tell};
use crate::clock;
use crate::exit::Exit;
use serde_json::{Value, json};
use skew_campaign::anomalies::{Anomalies, counted};
use skew_campaign::judge::Judgement;
use skew_check::Counterexample;
use skew_view::{Palette, Picture, human, words};
use skew_workload::Notes;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// An assertion over all runs.
struct AssertionTally {
    name: String,
    runs: u64,
    failures: u64,
    first: Option<FirstFailure>,
}

/// The run of the smallest seed in which an assertion failed.
struct FirstFailure {
    seed: u64,
    /// What the assertion found.
    detail: String,
    /// What stands behind it where the run is what it is compared with, in words.
    behind: Option<String>,
}

/// All runs together.
pub(super) struct Tally {
    elapsed: Duration,
    runs: u64,
    wanted: u64,
    assertions: Vec<AssertionTally>,
    /// Runs in which some assertion failed.
    failed: u64,
    anomalies: Anomalies,
    /// Runs whose history is not what the level of its transactions allows.
    broken: BTreeMap<u64, Counterexample>,
    /// Runs of which that is not known.
    undecided: u64,
    committed: u64,
    retried: u64,
    rolled_back: u64,
    given_up: u64,
    unknown: u64,
    /// Runs that did not ask all assertions.
    not_asked: u64,
    notes: Notes,
    aborted: BTreeMap<&'static str, u64>,
    /// What happened to the servers, by name; and what was planned and came too late.
    faults: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub(super) fn new(plan: &Plan<'_>, elapsed: Duration) -> Tally {
        Tally {
            elapsed,
            runs: 0,
            wanted: plan.arguments.runs,
            assertions: Vec::new(),
            failed: 0,
            anomalies: Anomalies::new(campaign::against(plan)),
            broken: BTreeMap::new(),
            undecided: 0,
            committed: 0,
            retried: 0,
            rolled_back: 0,
            given_up: 0,
            unknown: 0,
            not_asked: 0,
            notes: Notes::default(),
            aborted: BTreeMap::new(),
            faults: BTreeMap::new(),
        }
    }

    /// Counts a run; runs come in the order of their seeds.
    pub(super) fn run(&mut self, seed: u64, looked: &Looked) {
        let Looked { report, judged, behind } = looked;
        self.runs += 1;
        self.committed += report.committed;
        self.retried += report.retried;
        self.rolled_back += report.rolled_back;
        self.given_up += report.given_up;
        self.unknown += report.unknown;
        self.not_asked += u64::from(report.not_asked.is_some());
        self.notes.add(&report.notes);
        report.aborted.iter().for_each(|(kind, count)| *self.aborted.entry(kind).or_default() += count);
        for injected in &report.faults {
            let name = if injected.began.is_some() { injected.planned.fault.name() } else { "not injected" };
            *self.faults.entry(name).or_default() += 1;
        }
        self.anomalies.count(seed, &judged.against);
        match &judged.own_level {
            Judgement::Holds => {}
            Judgement::Fails(found) => drop(self.broken.insert(seed, found.as_ref().clone())),
            Judgement::Unknown => self.undecided += 1,
        }
        self.failed += u64::from(report.assertions.iter().any(|assertion| !assertion.holds));
        let behind = behind.as_ref().map(|behind| behind.in_words(self.anomalies.against()));
        for assertion in &report.assertions {
            let tally = self.assertion(&assertion.name);
            tally.runs += 1;
            if !assertion.holds {
                tally.failures += 1;
                let first = || FirstFailure { seed, detail: assertion.detail.clone(), behind: behind.clone() };
                tally.first.get_or_insert_with(first);
            }
        }
    }

    fn assertion(&mut self, name: &str) -> &mut AssertionTally {
        let place = self.assertions.iter().position(|tally| tally.name == name).unwrap_or_else(|| {
            self.assertions.push(AssertionTally { name: name.to_owned(), runs: 0, failures: 0, first: None });
            self.assertions.len() - 1
        });
        &mut self.assertions[place]
    }

    pub(super) fn has_runs(&self) -> bool {
        self.runs > 0
    }

    pub(super) fn exit(&self, arguments: &Arguments) -> Exit {
        let asked = !arguments.check.is_empty();
        let failed = self.assertions.iter().any(|assertion| assertion.failures > 0);
        if clock::is_interrupted() {
            Exit::Inconclusive
        } else if failed || !self.broken.is_empty() || (asked && !self.anomalies.is_empty()) {
            Exit::Found
        } else if self.runs < self.wanted
            || self.undecided > 0
            || self.not_asked > 0
            || (asked && self.anomalies.undecided > 0)
        {
            Exit::Inconclusive
        } else {
            Exit::Holds
        }
    }

    pub(super) fn human(&self, plan: &Plan<'_>, palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let (name, runs) = (plan.workload.name(), counted(self.runs, "run"));
        let seed = plan.arguments.seed;
        let mut text = format!("{heading}{name}{end}: {runs} from seed {seed}, {}\n", tell::heading(plan));
        if self.runs < self.wanted {
            let _ = writeln!(text, "  stopped: {} of {} came to their end", self.runs, self.wanted);
        }
        self.tell_assertions(palette, &mut text);
        self.anomalies.tell(self.runs, &mut text);
        self.tell_broken(plan, palette, &mut text);
        let (committed, retried) = (self.committed, self.retried);
        let _ = write!(text, "  {committed} committed, {retried} retried");
        for (count, what) in [
            (self.rolled_back, "rolled back by their program"),
            (self.given_up, "given up"),
            (self.unknown, "with an unknown outcome"),
        ] {
            let _ = if count > 0 { write!(text, ", {count} {what}") } else { Ok(()) };
        }
        let _ = writeln!(text);
        tell::tell_aborts(self.aborted.iter().map(|(kind, count)| (*kind, *count)), &mut text);
        let faults: Vec<String> = self.faults.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        if !faults.is_empty() {
            let _ = writeln!(text, "  faults: {}", faults.join(", "));
        }
        if self.not_asked > 0 {
            let _ = writeln!(text, "  not all assertions were asked in {}", counted(self.not_asked, "run"));
        }
        tell::tell_notes(self.notes, &mut text);
        let _ = writeln!(text, "  in {:.1} s", self.elapsed.as_secs_f64());
        if let Some(found) = self.shown() {
            let _ = write!(text, "\n{}", human::counterexample(Picture::from(found), palette));
        }
        if let Some(seed) = self.first_of_interest() {
            let _ = writeln!(text, "\n{}", plan.arguments.replay(seed));
        }
        text
    }

    fn tell_assertions(&self, palette: Palette, text: &mut String) {
        let Palette { good, bad, end, .. } = palette;
        for assertion in &self.assertions {
            let name = words::clean(&assertion.name);
            let _ = match &assertion.first {
                None => writeln!(text, "  {good}holds{end}  {name}"),
                Some(FirstFailure { seed, detail, behind }) => {
                    let (runs, detail) = (counted(assertion.failures, "run"), words::clean(detail));
                    let behind = behind.as_ref().map(|behind| format!("; {behind}")).unwrap_or_default();
                    writeln!(text, "  {bad}fails{end}  {name}: in {runs}, first with seed {seed}: {detail}{behind}")
                }
            };
            if assertion.runs < self.runs {
                let _ = writeln!(text, "         not asked in {}", counted(self.runs - assertion.runs, "run"));
            }
        }
    }

    fn tell_broken(&self, plan: &Plan<'_>, palette: Palette, text: &mut String) {
        let Palette { bad, end, .. } = palette;
        if let Some((seed, found)) = self.broken.first_key_value() {
            let (runs, level) = (counted(self.broken.len() as u64, "run"), plan.arguments.level);
            let kind = words::anomaly(found.kind);
            let _ = writeln!(text, "  {bad}{level} is broken{end} in {runs}, first with seed {seed}: {kind}");
        }
        if self.undecided > 0 {
            let runs = counted(self.undecided, "run");
            let _ = writeln!(text, "  inconclusive within the budget whether {runs} keep {}", plan.arguments.level);
        }
    }

    /// The counterexample that is shown: of a level that is broken, else the first that there is.
    fn shown(&self) -> Option<&Counterexample> {
        self.broken.values().next().or_else(|| self.anomalies.first().map(|anomaly| &anomaly.found))
    }

    fn first_of_interest(&self) -> Option<u64> {
        let failed =
            self.assertions.iter().filter_map(|assertion| assertion.first.as_ref()).map(|first| first.seed).min();
        let broken = self.broken.keys().next().copied();
        failed.or(broken).or_else(|| self.anomalies.first().map(|anomaly| anomaly.seed))
    }

    pub(super) fn json(&self, plan: &Plan<'_>) -> String {
        let arguments = plan.arguments;
        let assertion = |assertion: &AssertionTally| {
            let first = assertion.first.as_ref();
            json!({
                "name": assertion.name,
                "runs": assertion.runs,
                "failures": assertion.failures,
                "seed": first.map(|first| first.seed),
                "detail": first.map(|first| first.detail.clone()),
                "behind": first.and_then(|first| first.behind.as_deref()),
                "replay": first.map(|first| arguments.replay(first.seed)),
            })
        };
        let anomalies = self.anomalies.iter().map(
            |(kind, anomaly)| json!({"anomaly": kind.name(), "runs": anomaly.runs, "seed": anomaly.seed, "replay": arguments.replay(anomaly.seed)}),
        );
        let mut object = tell::setting_json(plan);
        let result = json!({
            "seed": arguments.seed,
            "runs": self.runs,
            "failed": self.failed,
            "assertions": self.assertions.iter().map(assertion).collect::<Vec<Value>>(),
            "against": self.anomalies.against().name(),
            "violating": self.anomalies.runs(),
            "anomalies": anomalies.collect::<Vec<Value>>(),
            "broken": self.broken.keys().collect::<Vec<_>>(),
            "undecided": {"own_level": self.undecided, "against": self.anomalies.undecided},
            "not_asked": self.not_asked,
            "notes": tell::notes_json(self.notes),
            "committed": self.committed,
            "retried": self.retried,
            "rolled_back": self.rolled_back,
            "given_up": self.given_up,
            "unknown": self.unknown,
            "aborted": self.aborted,
            "faults": self.faults,
            "seconds": self.elapsed.as_secs_f64(),
        });
        tell::extend(&mut object, result);
        object.to_string()
    }
}
