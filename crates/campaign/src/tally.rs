//! What many runs add up to: how many there were, what the checker said about them, which assertions failed and where first.
//!
//! ```text
//!   run ── judged ──> anomalies, by kind · runs that are not even what their own level promises
//!       └─ asked  ──> per assertion: how often it failed, and the first run in which it did
//! ```
//!
//! Every campaign counts with this, and adds what only it knows: refused calls, exit codes, faults. Runs are judged in any order, and
//! asked in the order of their seeds.

use crate::anomalies::Anomalies;
use crate::judge::{Judged, Judgement};
use skew_check::{Counterexample, Doubt};
use skew_history::IsolationLevel;
use std::collections::BTreeMap;

/// All runs of a campaign together.
pub struct RunTally {
    runs: u64,
    assertions: Vec<AssertionTally>,
    anomalies: Anomalies,
    /// Runs whose history is not what their own level allows.
    broken: BTreeMap<u64, Counterexample>,
    /// Runs of which that is not known.
    undecided: u64,
    /// Why it was not known the first time.
    doubt: Option<Doubt>,
}

/// One assertion over all runs.
pub struct AssertionTally {
    /// What it is called.
    pub name: String,
    /// In how many runs it was asked.
    pub asked: u64,
    /// In how many it failed.
    pub failures: u64,
    /// In how many nobody knows.
    pub open: u64,
    /// The first run in which it failed.
    pub first: Option<FirstFailure>,
}

/// The first run in which an assertion failed.
pub struct FirstFailure {
    /// Its seed.
    pub seed: u64,
    /// What the assertion found, or why it could not be evaluated.
    pub detail: Option<String>,
    /// What the run violates, if anything.
    pub found: Option<Counterexample>,
    /// What stands behind it where the run is what it is compared with, in words.
    pub behind: Option<String>,
}

/// What an assertion says about a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Says {
    /// It is true.
    Holds,
    /// It is not, or cannot be evaluated: why, if there is more to say.
    Fails(Option<String>),
    /// Nobody knows.
    Open,
}

impl RunTally {
    /// No runs yet, which will be compared with a level.
    pub fn new(against: IsolationLevel) -> RunTally {
        RunTally {
            runs: 0,
            assertions: Vec::new(),
            anomalies: Anomalies::new(against),
            broken: BTreeMap::new(),
            undecided: 0,
            doubt: None,
        }
    }

    /// Counts a run with what the checker says about it.
    pub fn judge(&mut self, seed: u64, judged: &Judged) {
        self.runs += 1;
        self.anomalies.count(seed, &judged.against);
        match &judged.own_level {
            Judgement::Holds => {}
            Judgement::Fails(found) => drop(self.broken.insert(seed, found.as_ref().clone())),
            Judgement::Unknown(doubt) => {
                self.undecided += 1;
                self.doubt.get_or_insert(*doubt);
            }
        }
    }

    /// Not everything that was asked of the last run is known.
    pub fn leave_open(&mut self) {
        self.anomalies.undecided += 1;
    }

    /// The place of an assertion; a new one comes behind the others.
    pub fn place_of(&mut self, name: &str) -> usize {
        let known = self.assertions.iter().position(|tally| tally.name == name);
        known.unwrap_or_else(|| self.add_assertion(name))
    }

    /// Another assertion, and its place.
    pub fn add_assertion(&mut self, name: &str) -> usize {
        let name = name.to_owned();
        self.assertions.push(AssertionTally { name, asked: 0, failures: 0, open: 0, first: None });
        self.assertions.len() - 1
    }

    /// Counts what an assertion says about a run. What there is to say about a failure is kept of the first one only.
    pub fn ask(&mut self, place: usize, says: &Says, first: impl FnOnce(Option<String>) -> FirstFailure) {
        let tally = &mut self.assertions[place];
        tally.asked += 1;
        match says {
            Says::Holds => {}
            Says::Open => tally.open += 1,
            Says::Fails(detail) => {
                tally.failures += 1;
                tally.first.get_or_insert_with(|| first(detail.clone()));
            }
        }
    }

    /// Whether one of these failures, by places, is the first of its assertion.
    pub fn has_first(&self, says: &[Says]) -> bool {
        let mut pairs = self.assertions.iter().zip(says);
        pairs.any(|(tally, says)| matches!(says, Says::Fails(_)) && tally.first.is_none())
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// All assertions, in the order in which they were named first.
    pub fn assertions(&self) -> &[AssertionTally] {
        &self.assertions
    }

    /// What runs show that are not what they are compared with.
    pub fn anomalies(&self) -> &Anomalies {
        &self.anomalies
    }

    /// Runs whose history is not what their own level allows, by their seeds.
    pub fn broken(&self) -> &BTreeMap<u64, Counterexample> {
        &self.broken
    }

    /// Runs of which nobody knows whether they are what their own level allows.
    pub fn undecided(&self) -> u64 {
        self.undecided
    }

    /// Why nobody knows, of the first of them.
    pub fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// Whether an assertion has failed.
    pub fn has_failures(&self) -> bool {
        self.assertions.iter().any(|assertion| assertion.failures > 0)
    }

    /// The smallest seed with which an assertion failed.
    pub fn first_failure(&self) -> Option<u64> {
        self.assertions.iter().filter_map(|assertion| Some(assertion.first.as_ref()?.seed)).min()
    }

    /// The counterexample to show: of a level that is broken, else of the first failed assertion, else the first that there is.
    pub fn shown(&self) -> Option<&Counterexample> {
        let broken = self.broken.values().next();
        let failed = || self.assertions.iter().find_map(|assertion| assertion.first.as_ref()?.found.as_ref());
        broken.or_else(failed).or_else(|| self.anomalies.first().map(|anomaly| &anomaly.found))
    }
}
