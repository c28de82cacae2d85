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

use super::DriveCampaign;
use super::report::{extend, heading, notes_json, setting_json, tell_aborts, tell_notes};
use super::runs::JudgedReport;
use crate::Conclusion;
use crate::anomalies::counted;
use crate::tally::{AssertionTally, FirstFailure, RunTally, Says};
use serde_json::{Value, json};
use skew_history::IsolationLevel;
use skew_view::{Palette, Picture, human, words};
use skew_workload::{Notes, Report};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// All runs of a workload together.
pub struct DriveTally {
    sum: RunTally,
    elapsed: Duration,
    wanted: u64,
    /// Runs in which some assertion failed.
    failed: u64,
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

impl DriveTally {
    pub(super) fn new(wanted: u64, against: IsolationLevel, elapsed: Duration) -> DriveTally {
        DriveTally {
            sum: RunTally::new(against),
            elapsed,
            wanted,
            failed: 0,
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
    pub(super) fn count(&mut self, seed: u64, run: &JudgedReport) {
        let JudgedReport { report, judged, behind } = run;
        self.sum.judge(seed, judged);
        self.count_transactions(report);
        let behind = behind.as_ref().map(|behind| behind.in_words(self.sum.anomalies().against()));
        self.failed += u64::from(super::has_failed(report));
        for assertion in &report.assertions {
            let place = self.sum.place_of(&assertion.name);
            let says = if assertion.holds { Says::Holds } else { Says::Fails(Some(assertion.detail.clone())) };
            let first = |detail| FirstFailure { seed, detail, found: None, behind: behind.clone() };
            self.sum.ask(place, &says, first);
        }
    }

    fn count_transactions(&mut self, report: &Report) {
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
    }

    /// Whether any run came to its end.
    pub fn has_runs(&self) -> bool {
        self.sum.runs() > 0
    }

    /// What all this says; whether a run that violates what runs are compared with is a failure.
    pub fn conclusion(&self, against_was_asked: bool) -> Conclusion {
        let (sum, anomalies) = (&self.sum, self.sum.anomalies());
        let found = sum.has_failures() || !sum.broken().is_empty() || (against_was_asked && !anomalies.is_empty());
        let open = sum.runs() < self.wanted
            || sum.undecided() > 0
            || self.not_asked > 0
            || (against_was_asked && anomalies.undecided > 0);
        Conclusion::judged(found, open)
    }

    fn first_of_interest(&self) -> Option<u64> {
        let broken = self.sum.broken().keys().next().copied();
        let anomaly = || self.sum.anomalies().first().map(|anomaly| anomaly.seed);
        self.sum.first_failure().or(broken).or_else(anomaly)
    }
}

/// Everything that a report tells of.
pub struct DriveReport<'a> {
    /// What was run, and how.
    pub campaign: &'a DriveCampaign<'a>,
    /// What came of it.
    pub tally: &'a DriveTally,
    /// The command that makes the requests of the run of a seed again.
    pub replay: &'a dyn Fn(u64) -> String,
}

impl DriveReport<'_> {
    /// The report for people.
    pub fn human(&self, palette: Palette) -> String {
        let Palette { heading: bold, end, .. } = palette;
        let (campaign, tally, sum) = (self.campaign, self.tally, &self.tally.sum);
        let (name, runs) = (campaign.workload.name(), counted(sum.runs(), "run"));
        let seed = campaign.settings.seed;
        let mut text = format!("{bold}{name}{end}: {runs} from seed {seed}, {}\n", heading(campaign));
        if sum.runs() < tally.wanted {
            let _ = writeln!(text, "  stopped: {} of {} came to their end", sum.runs(), tally.wanted);
        }
        self.tell_assertions(palette, &mut text);
        sum.anomalies().tell(sum.runs(), &mut text);
        self.tell_broken(palette, &mut text);
        let (committed, retried) = (tally.committed, tally.retried);
        let _ = write!(text, "  {committed} committed, {retried} retried");
        for (count, what) in [
            (tally.rolled_back, "rolled back by their program"),
            (tally.given_up, "given up"),
            (tally.unknown, "with an unknown outcome"),
        ] {
            let _ = if count > 0 { write!(text, ", {count} {what}") } else { Ok(()) };
        }
        let _ = writeln!(text);
        tell_aborts(tally.aborted.iter().map(|(kind, count)| (*kind, *count)), &mut text);
        let faults: Vec<String> = tally.faults.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        if !faults.is_empty() {
            let _ = writeln!(text, "  faults: {}", faults.join(", "));
        }
        if tally.not_asked > 0 {
            let _ = writeln!(text, "  not all assertions were asked in {}", counted(tally.not_asked, "run"));
        }
        tell_notes(tally.notes, &mut text);
        let _ = writeln!(text, "  in {:.1} s", tally.elapsed.as_secs_f64());
        if let Some(found) = sum.shown() {
            let _ = write!(text, "\n{}", human::counterexample(Picture::from(found), palette));
        }
        if let Some(seed) = tally.first_of_interest() {
            let _ = writeln!(text, "\n{}", (self.replay)(seed));
        }
        text
    }

    fn tell_assertions(&self, palette: Palette, text: &mut String) {
        let Palette { good, bad, end, .. } = palette;
        let runs_in_all = self.tally.sum.runs();
        for assertion in self.tally.sum.assertions() {
            let name = words::clean(&assertion.name);
            let _ = match &assertion.first {
                None => writeln!(text, "  {good}holds{end}  {name}"),
                Some(FirstFailure { seed, detail, behind, .. }) => {
                    let (runs, detail) =
                        (counted(assertion.failures, "run"), words::clean(detail.as_deref().unwrap_or_default()));
                    let behind = behind.as_ref().map(|behind| format!("; {behind}")).unwrap_or_default();
                    writeln!(text, "  {bad}fails{end}  {name}: in {runs}, first with seed {seed}: {detail}{behind}")
                }
            };
            if assertion.asked < runs_in_all {
                let _ = writeln!(text, "         not asked in {}", counted(runs_in_all - assertion.asked, "run"));
            }
        }
    }

    fn tell_broken(&self, palette: Palette, text: &mut String) {
        let Palette { good, bad, end, .. } = palette;
        let (sum, level) = (&self.tally.sum, self.campaign.settings.level);
        let is_promised = self.campaign.promised().is_some();
        if let Some((seed, found)) = sum.broken().first_key_value() {
            let (runs, kind) = (counted(sum.broken().len() as u64, "run"), words::anomaly(found.kind));
            let broken = match is_promised {
                true => format!("asked for {level}: {bad}not kept{end}"),
                false => format!("{bad}{level} is broken{end}"),
            };
            let _ = writeln!(text, "  {broken} in {runs}, first with seed {seed}: {kind}");
        } else if is_promised && sum.undecided() == 0 && sum.runs() > 0 {
            let _ = writeln!(text, "  asked for {level}: {good}kept{end}");
        }
        if sum.undecided() > 0 {
            let runs = counted(sum.undecided(), "run");
            let why = sum.doubt().map_or(String::new(), |doubt| format!(": {doubt}"));
            let _ = writeln!(text, "  inconclusive whether {runs} keep {level}{why}");
        }
    }

    /// The report for programs.
    pub fn json(&self) -> String {
        let (tally, sum, anomalies) = (self.tally, &self.tally.sum, self.tally.sum.anomalies());
        let shown = anomalies.iter().map(
            |(kind, anomaly)| json!({"anomaly": kind.name(), "runs": anomaly.runs, "seed": anomaly.seed, "replay": (self.replay)(anomaly.seed)}),
        );
        let assertions = sum.assertions().iter().map(|assertion| self.assertion_json(assertion));
        let mut object = setting_json(self.campaign);
        let result = json!({
            "seed": self.campaign.settings.seed,
            "runs": sum.runs(),
            "failed": tally.failed,
            "assertions": assertions.collect::<Vec<Value>>(),
            "against": anomalies.against().name(),
            "violating": anomalies.runs(),
            "anomalies": shown.collect::<Vec<Value>>(),
            "broken": sum.broken().keys().collect::<Vec<_>>(),
            "undecided": {"own_level": sum.undecided(), "against": anomalies.undecided},
            "not_asked": tally.not_asked,
            "notes": notes_json(tally.notes),
            "committed": tally.committed,
            "retried": tally.retried,
            "rolled_back": tally.rolled_back,
            "given_up": tally.given_up,
            "unknown": tally.unknown,
            "aborted": tally.aborted,
            "faults": tally.faults,
            "seconds": tally.elapsed.as_secs_f64(),
        });
        extend(&mut object, result);
        object.to_string()
    }

    fn assertion_json(&self, assertion: &AssertionTally) -> Value {
        let first = assertion.first.as_ref();
        json!({
            "name": assertion.name,
            "runs": assertion.asked,
            "failures": assertion.failures,
            "seed": first.map(|first| first.seed),
            "detail": first.and_then(|first| first.detail.clone()),
            "behind": first.and_then(|first| first.behind.as_deref()),
            "replay": first.map(|first| (self.replay)(first.seed)),
        })
    }
}
