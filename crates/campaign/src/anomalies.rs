//! The anomalies that the runs of a campaign show, by kind, with the first run of each: what every campaign counts and tells.
//!
//! ```text
//!   41 runs are not serializable: lost update (39), write skew (2)
//!   1 run is inconclusive: the budget ran out before there was an answer; raise --budget
//! ```

use crate::judge::Judgement;
use skew_check::{AnomalyKind, Counterexample, Doubt};
use skew_history::IsolationLevel;
use skew_view::words;
use std::collections::BTreeMap;
use std::fmt::Write;

/// An anomaly, how many runs show it, and the one with the smallest seed.
pub struct SeenAnomaly {
    /// How many runs show it.
    pub runs: u64,
    /// The smallest seed of those.
    pub seed: u64,
    /// What the run of that seed shows.
    pub found: Counterexample,
}

/// All of a campaign.
pub struct Anomalies {
    against: IsolationLevel,
    by_kind: BTreeMap<AnomalyKind, SeenAnomaly>,
    /// Runs about which the checker is not certain.
    pub undecided: u64,
    /// Why it was not the first time that it told.
    doubt: Option<Doubt>,
}

impl Anomalies {
    /// None yet, of runs that are compared with a level.
    pub fn new(against: IsolationLevel) -> Anomalies {
        Anomalies { against, by_kind: BTreeMap::new(), undecided: 0, doubt: None }
    }

    /// The level that runs are compared with.
    pub fn against(&self) -> IsolationLevel {
        self.against
    }

    /// Counts a run. Runs end in any order; the first is the one with the smallest seed.
    pub fn count(&mut self, seed: u64, answer: &Judgement) {
        let found = match answer {
            Judgement::Holds => return,
            Judgement::Unknown(doubt) => {
                self.doubt.get_or_insert(*doubt);
                return self.undecided += 1;
            }
            Judgement::Fails(found) => found.as_ref(),
        };
        let new = || SeenAnomaly { runs: 0, seed, found: found.clone() };
        let anomaly = self.by_kind.entry(found.kind).or_insert_with(new);
        anomaly.runs += 1;
        if seed < anomaly.seed {
            (anomaly.seed, anomaly.found) = (seed, found.clone());
        }
    }

    /// Whether no run shows one.
    pub fn is_empty(&self) -> bool {
        self.by_kind.is_empty()
    }

    /// Each kind, in its order.
    pub fn iter(&self) -> impl Iterator<Item = (AnomalyKind, &SeenAnomaly)> {
        self.by_kind.iter().map(|(kind, anomaly)| (*kind, anomaly))
    }

    /// The one with the smallest seed.
    pub fn first(&self) -> Option<&SeenAnomaly> {
        self.by_kind.values().min_by_key(|anomaly| anomaly.seed)
    }

    /// How many runs show one.
    pub fn runs(&self) -> u64 {
        self.by_kind.values().map(|anomaly| anomaly.runs).sum()
    }

    /// A line of how many runs of all are not what they are compared with, and one of those that are inconclusive.
    pub fn tell(&self, all: u64, text: &mut String) {
        let kinds: Vec<String> =
            self.iter().map(|(kind, anomaly)| format!("{} ({})", words::anomaly(kind), anomaly.runs)).collect();
        if !kinds.is_empty() {
            let _ = writeln!(text, "  {} not {}: {}", counted_are(self.runs()), self.against, kinds.join(", "));
        } else if self.undecided == 0 && all > 0 {
            let every = if all == 1 { "the run" } else { "every run" };
            let _ = writeln!(text, "  {every} is {}", self.against);
        }
        if self.undecided > 0 {
            let why = self.doubt.map_or(String::new(), |doubt| format!(": {doubt}"));
            let _ = writeln!(text, "  {} inconclusive{why}", counted_are(self.undecided));
        }
    }
}

/// `1 run`, `3 runs`.
pub fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn counted_are(count: u64) -> String {
    if count == 1 { "1 run is".to_owned() } else { format!("{count} runs are") }
}
