//! The verdicts on one history, in words and as JSON.
//!
//! ```text
//!   a.jsonl: 2 sessions, 2 transactions, 4 events
//!     read-committed  holds
//!     …
//!     psi             fails    lost update
//!     snapshot        fails
//!   strongest that holds: prefix
//! ```
//!
//! Only the weakest failing levels are explained: a level that fails settles all stronger ones, and the counterexample of the
//! weaker one is a counterexample of the stronger one too. That is why the JSON repeats it there, with `shown_at` naming the
//! level it was made for.

use crate::Palette;
use crate::human;
use crate::picture::Picture;
use crate::words;
use serde::Serialize;
use skew_check::{Counterexample, LevelReport, Statistics, Told, Verdict};
use skew_history::{History, IsolationLevel, Writer};
use std::fmt::Write as _;

/// Everything there is to say about one history.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// The input, as the user named it.
    pub file: &'a str,
    /// The history.
    pub history: &'a History,
    /// The answers, in the order in which they were asked.
    pub levels: &'a [LevelReport],
    /// The weakest failing levels, explained.
    pub counterexamples: &'a [Counterexample],
    /// Whether no transaction read a key that another one wrote.
    pub nothing_inferred: bool,
}

/// The failing levels below which none fails; `psi` and `prefix` can both be.
pub fn weakest_failing(levels: &[LevelReport]) -> Vec<IsolationLevel> {
    let failing = |report: &&LevelReport| report.verdict.fails();
    let failing: Vec<IsolationLevel> = levels.iter().filter(failing).map(|report| report.level).collect();
    let is_weakest = |&level: &IsolationLevel| !failing.iter().any(|&other| other != level && level.implies(other));
    failing.iter().copied().filter(is_weakest).collect()
}

/// The holding levels above which none holds.
pub fn strongest_holding(levels: &[LevelReport]) -> Vec<IsolationLevel> {
    let holding = |report: &&LevelReport| report.verdict.holds();
    let holding: Vec<IsolationLevel> = levels.iter().filter(holding).map(|report| report.level).collect();
    let is_strongest = |&level: &IsolationLevel| !holding.iter().any(|&other| other != level && other.implies(level));
    holding.iter().copied().filter(is_strongest).collect()
}

/// Whether the history leaves every level without anything to contradict: no transaction read a key that another one wrote.
pub fn infers_nothing(history: &History) -> bool {
    const NOBODY: u32 = u32::MAX;
    const SEVERAL: u32 = u32::MAX - 1;
    let mut writer = vec![NOBODY; history.key_count()];
    for transaction in history.transactions() {
        for event in history.events_of(transaction).iter().filter(|event| !event.is_read()) {
            let known = &mut writer[event.key.index()];
            *known = if [NOBODY, transaction.0].contains(known) { transaction.0 } else { SEVERAL };
        }
    }
    history.transactions().all(|transaction| {
        let reads = history.events_of(transaction).iter().filter(|event| event.is_read());
        reads.map(|event| writer[event.key.index()]).all(|writer| writer == NOBODY || writer == transaction.0)
    })
}

impl<'a> Report<'a> {
    /// The counterexample that shows why `level` fails.
    fn counterexample_of(&self, level: IsolationLevel) -> Option<&'a Counterexample> {
        self.counterexamples.iter().find(|found| level.implies(found.level))
    }

    /// The report as text.
    pub fn human(&self, palette: Palette) -> String {
        let mut out = String::new();
        let Palette { heading, faint, end, .. } = palette;
        line(&mut out, &format!("{heading}{}{end}: {}", words::clean(self.file), self.sizes()));
        for report in self.levels {
            line(&mut out, &self.level_line(report, palette));
        }
        if self.nothing_inferred && self.levels.iter().all(|report| report.verdict.holds()) {
            line(
                &mut out,
                &format!("{faint}nothing could be inferred: no transaction read a key that another one wrote{end}"),
            );
        }
        line(&mut out, &self.strongest());
        for found in self.counterexamples {
            out.push('\n');
            out.push_str(&human::counterexample(Picture::from(found), palette));
        }
        out
    }

    fn sizes(&self) -> String {
        let history = self.history;
        let sizes = [
            count(history.session_count(), "session"),
            count(history.transaction_count(), "transaction"),
            count(history.event_count(), "event"),
        ];
        sizes.join(", ")
    }

    fn level_line(&self, report: &LevelReport, palette: Palette) -> String {
        let colour = match report.verdict {
            Verdict::Holds(_) => palette.good,
            Verdict::Fails(_) => palette.bad,
            Verdict::Unknown(_) => palette.doubtful,
        };
        let found = self.counterexamples.iter().find(|found| found.level == report.level);
        let why = report.verdict.doubt().map_or(String::new(), |doubt| doubt.to_string());
        let name = found.map_or(why, |found| words::anomaly(found.kind));
        let widest = self.levels.iter().map(|report| report.level.name().len()).max().unwrap_or(0);
        let line = format!("  {:widest$}  {colour}{:7}{}  {name}", report.level, report.verdict.word(), palette.end);
        line.trim_end().to_owned()
    }

    fn strongest(&self) -> String {
        let known = if self.levels.iter().any(|report| matches!(report.verdict, Verdict::Unknown(_))) {
            "known to "
        } else {
            ""
        };
        let strongest: Vec<&str> = strongest_holding(self.levels).into_iter().map(IsolationLevel::name).collect();
        match strongest.len() {
            0 if known.is_empty() => "none of these levels holds".to_owned(),
            0 => "none of these levels is known to hold".to_owned(),
            1 if known.is_empty() => format!("strongest that holds: {}", strongest[0]),
            _ => format!("strongest {known}hold: {}", words::enumeration(&strongest)),
        }
    }

    /// The report as a JSON object, with the numbers of each check when they are asked for.
    pub fn json(&self, statistics: Option<RunStatistics>) -> serde_json::Result<String> {
        let with_numbers = statistics.is_some();
        let verdicts = self.levels.iter().map(|report| self.verdict_json(report, with_numbers)).collect();
        serde_json::to_string(&HistoryJson {
            file: self.file,
            sessions: self.history.session_count(),
            transactions: self.history.transaction_count(),
            events: self.history.event_count(),
            inferred: self.nothing_inferred.then_some(false),
            verdicts,
            strongest: strongest_holding(self.levels).into_iter().map(IsolationLevel::name).collect(),
            statistics,
        })
    }

    fn verdict_json(&self, report: &LevelReport, with_numbers: bool) -> VerdictJson {
        let found = if report.verdict.fails() { self.counterexample_of(report.level) } else { None };
        VerdictJson {
            level: report.level.name(),
            verdict: report.verdict.word(),
            reason: report.verdict.doubt().map(|doubt| doubt.to_string()),
            found: found.map(|found| FoundJson::new(Picture::from(found))),
            shown_at: found.map(|found| found.level).filter(|&level| level != report.level).map(IsolationLevel::name),
            statistics: with_numbers.then(|| StatisticsJson::from(report.statistics)),
        }
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string");
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[derive(Serialize)]
struct HistoryJson<'a> {
    file: &'a str,
    sessions: usize,
    transactions: usize,
    events: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    inferred: Option<bool>,
    verdicts: Vec<VerdictJson>,
    strongest: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<RunStatistics>,
}

#[derive(Serialize)]
struct VerdictJson {
    level: &'static str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(flatten)]
    found: Option<FoundJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_at: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<StatisticsJson>,
}

/// What one run cost; only somebody with a clock can say.
#[derive(Clone, Serialize, Debug, Default)]
pub struct RunStatistics {
    /// Seconds per phase, in the order in which the phases first began.
    pub phases: Vec<PhaseTime>,
    /// Seconds in all.
    pub seconds: f64,
    /// The most memory that the process has used so far, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
}

impl RunStatistics {
    /// For people: a table of what each level came across, then time and memory.
    pub fn human(&self, levels: &[LevelReport]) -> String {
        let heads =
            ["constraints", "after pruning", "unknown deps", "after pruning", "rounds", "decisions", "conflicts"];
        let widest = levels.iter().map(|report| report.level.name().len()).max().unwrap_or(0).max(5);
        let columns = |cells: [String; 7]| cells.map(|cell| format!("  {cell:>13}")).concat();
        let mut out = format!("  {:widest$}{}\n", "level", columns(heads.map(str::to_owned)));
        for LevelReport { level, statistics, .. } in levels {
            let numbers = [
                statistics.constraints_before,
                statistics.constraints_after,
                statistics.unknown_dependencies_before,
                statistics.unknown_dependencies_after,
                statistics.rounds,
                statistics.decisions,
                statistics.conflicts,
            ];
            out.push_str(&format!("  {level:widest$}{}\n", columns(numbers.map(|number| number.to_string()))));
        }
        out + &self.cost()
    }

    fn cost(&self) -> String {
        let phase = |time: &PhaseTime| format!("{} {:.3} s", time.phase, time.seconds);
        let phases: Vec<String> = self.phases.iter().map(phase).collect();
        let memory = match self.peak_memory {
            Some(bytes) => format!("  memory: {:.1} MB at most\n", bytes as f64 / 1e6),
            None => String::new(),
        };
        format!("  time: {}; {:.3} s in all\n{memory}", phases.join(", "), self.seconds)
    }
}

/// What one phase took.
#[derive(Clone, Serialize, Debug)]
pub struct PhaseTime {
    /// The phase.
    pub phase: &'static str,
    /// Seconds.
    pub seconds: f64,
}

#[derive(Serialize)]
struct StatisticsJson {
    constraints_before: u64,
    constraints_after: u64,
    unknown_dependencies_before: u64,
    unknown_dependencies_after: u64,
    rounds: u64,
    decisions: u64,
    conflicts: u64,
}

impl From<Statistics> for StatisticsJson {
    fn from(found: Statistics) -> StatisticsJson {
        StatisticsJson {
            constraints_before: found.constraints_before,
            constraints_after: found.constraints_after,
            unknown_dependencies_before: found.unknown_dependencies_before,
            unknown_dependencies_after: found.unknown_dependencies_after,
            rounds: found.rounds,
            decisions: found.decisions,
            conflicts: found.conflicts,
        }
    }
}

/// A counterexample as JSON, for commands that have other words around it: its transactions, edges and cases.
pub fn found_json(picture: Picture<'_>) -> serde_json::Value {
    serde_json::to_value(FoundJson::new(picture)).unwrap_or_default()
}

/// A counterexample as JSON: what was found, without where.
#[derive(Serialize, Debug)]
pub(crate) struct FoundJson {
    anomaly: &'static str,
    pub(crate) transactions: Vec<String>,
    pub(crate) edges: Vec<EdgeJson>,
    pub(crate) cases: Vec<CaseJson>,
}

/// One case: which edges, under which assumption.
#[derive(Serialize, serde::Deserialize, Debug)]
pub(crate) struct CaseJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) assuming: Option<String>,
    /// Indices into the edges.
    pub(crate) edges: Vec<usize>,
}

/// One edge; no name at an end is the initial state.
#[derive(Serialize, serde::Deserialize, Debug)]
pub(crate) struct EdgeJson {
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    pub(crate) because: String,
}

impl FoundJson {
    pub(crate) fn new(picture: Picture<'_>) -> FoundJson {
        let history = picture.history;
        let edges = picture.edges();
        let place = |told: &Told| edges.iter().position(|&known| known == told);
        let cases = picture.cases.iter().map(|case| CaseJson {
            assuming: case.assumption.clone(),
            edges: case.edges.iter().filter_map(place).collect(),
        });
        FoundJson {
            anomaly: picture.kind.name(),
            transactions: picture
                .taking_part()
                .into_iter()
                .map(|id| history.transaction_name(id).to_string())
                .collect(),
            cases: cases.collect(),
            edges: edges.iter().map(|told| EdgeJson::new(history, told)).collect(),
        }
    }
}

impl EdgeJson {
    fn new(history: &History, told: &Told) -> EdgeJson {
        let name = |writer| match writer {
            Writer::Initial => None,
            Writer::Transaction(id) => Some(history.transaction_name(id).to_string()),
        };
        EdgeJson {
            from: name(told.from),
            to: name(told.to),
            kind: told.kind.letters().to_owned(),
            key: told.key.map(|key| history.key_name(key).to_string()),
            because: told.because.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_check::{Anomaly, CommitOrder, Proof, Refutation};
    use skew_history::notation;

    fn reports(failing: &[IsolationLevel]) -> Vec<LevelReport> {
        let verdict = |level: IsolationLevel| match failing.iter().any(|&weaker| level.implies(weaker)) {
            true => Verdict::Fails(Anomaly { level, refutation: Refutation::Proof(Proof::default()) }),
            false => Verdict::Holds(CommitOrder::default()),
        };
        let levels = IsolationLevel::of_papers();
        levels.map(|level| LevelReport { level, verdict: verdict(level), statistics: Statistics::default() }).collect()
    }

    #[test]
    fn psi_and_prefix_can_both_be_the_weakest() {
        use IsolationLevel::*;
        assert_eq!(weakest_failing(&reports(&[Prefix, ParallelSnapshot])), [Prefix, ParallelSnapshot]);
        assert_eq!(strongest_holding(&reports(&[Prefix, ParallelSnapshot])), [Causal]);
        assert_eq!(strongest_holding(&reports(&[Snapshot])), [Prefix, ParallelSnapshot]);
        assert_eq!(weakest_failing(&reports(&[])), []);
    }

    #[test]
    fn reading_what_only_oneself_wrote_infers_nothing() {
        let infers = |text| !infers_nothing(&notation::parse(text).unwrap());
        assert!(!infers("a: w(x,1) | w(y,2); b: w(x,3)"));
        assert!(!infers("a: w(x,1) r(x,1); b: r(z,nil)"));
        assert!(infers("a: w(x,1); b: r(x,init)"));
    }
}
