//! What is counted at one level. Tallies add up in any order to the same sum, so it does not matter who explored what.
//!
//! Of all runs in which something is wrong the smallest is kept, as the schedule that leads to it: fewest transactions that committed, then
//! fewest events, then the first by its pattern. So the counterexample is the same for every number of jobs. One in which an assertion is
//! false comes before one in which it cannot be evaluated.

use super::{Terms, compared, left_out};
use serde::{Deserialize, Serialize};
use skew_check::Budget;
use skew_explore::{Abort, CallLeft, MOST_FINAL_STATES, Place, Run, RunAnswer, SqlProgram, Subtree, Violated};
use skew_history::Engine;
use skew_value::SqlState;
use std::collections::{BTreeMap, BTreeSet};

/// What one level has shown so far.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct LevelTally {
    /// Complete histories, before any filter.
    pub(super) explored: u64,
    /// Histories that the level allows; at a level of an engine those in which the server refuses nobody.
    pub(super) histories: u64,
    /// At a level of an engine: histories in which the server refuses somebody.
    #[serde(default)]
    pub(super) refused_histories: u64,
    /// In how many of them with which code.
    #[serde(default)]
    pub(super) refused: BTreeMap<String, u64>,
    /// Histories of which the checker could not say whether the level allows them.
    pub(super) unknown: u64,
    /// Histories whose final states could not all be looked at.
    pub(super) open: u64,
    /// By assertion, in the order of the program.
    pub(super) assertions: Vec<Defect>,
    /// Those that violate the level that all are compared with.
    pub(super) violating: Defect,
    /// Those of which that is not known.
    pub(super) undecided: u64,
    /// Why calls were aborted, and in how many histories.
    pub(super) aborts: BTreeMap<String, u64>,
    /// The patterns of all histories, where they are to be listed.
    pub(super) listed: BTreeSet<String>,
}

/// Something wrong: how often, and the smallest run that shows it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Defect {
    pub(super) runs: u64,
    /// Those of them that the level which all are compared with is not known to forbid.
    #[serde(default)]
    pub(super) allowed: u64,
    pub(super) smallest: Option<SmallestRun>,
}

/// A run by its size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct SmallestRun {
    /// Why the assertion could not be evaluated, if that is what is wrong.
    #[serde(default)]
    pub(super) error: Option<String>,
    size: (usize, usize, String),
    pub(super) schedule: Subtree,
}

impl LevelTally {
    pub(super) fn new(assertions: usize) -> LevelTally {
        LevelTally { assertions: vec![Defect::default(); assertions], ..LevelTally::default() }
    }

    /// Counts a run; says whether an assertion failed in it.
    pub(super) fn count(&mut self, program: &SqlProgram, run: &Run<'_, SqlProgram>, terms: &Terms<'_>) -> bool {
        let budget = terms.budget();
        self.explored += u64::from(!run.is_again());
        match run.answer(budget) {
            RunAnswer::Fails => return false,
            RunAnswer::Unknown => {
                self.unknown += 1;
                return false;
            }
            RunAnswer::Holds => self.count_refusals(program, run),
        }
        if run.is_again() {
            // Its history is counted; what it left may be what an assertion forbids.
            return self.ask(program, run, budget, compared(run, terms.against, budget) != RunAnswer::Fails);
        }
        if terms.list {
            self.listed.insert(run.pattern());
        }
        self.count_aborts(program, run);
        let compared = compared(run, terms.against, budget);
        match compared {
            RunAnswer::Holds => {}
            RunAnswer::Fails => self.violating.add(run, None, false),
            RunAnswer::Unknown => self.undecided += 1,
        }
        self.ask(program, run, budget, compared != RunAnswer::Fails)
    }

    /// Asks every assertion about every state in which a run may have ended; says whether one of them failed.
    fn ask(&mut self, program: &SqlProgram, run: &Run<'_, SqlProgram>, budget: Budget<'_>, allowed: bool) -> bool {
        if self.assertions.is_empty() {
            return false;
        }
        let Some(violated) = violated(program, run, budget) else {
            self.open += 1;
            return false;
        };
        let failed = !violated.is_empty();
        for (number, error) in violated {
            self.assertions[number].add(run, error, allowed);
        }
        failed
    }

    /// Counts a history as one in which nobody is refused, or by the codes with which somebody is.
    fn count_refusals(&mut self, program: &SqlProgram, run: &Run<'_, SqlProgram>) {
        let codes = refusals(program, run);
        match run.is_again() {
            true => {}
            false if codes.is_empty() => self.histories += 1,
            false => {
                self.refused_histories += 1;
                codes.into_iter().for_each(|code| *self.refused.entry(code.to_owned()).or_default() += 1);
            }
        }
    }

    fn count_aborts(&mut self, program: &SqlProgram, run: &Run<'_, SqlProgram>) {
        let causes: BTreeSet<String> =
            left(program, run).filter_map(|(_, left)| left.abort.as_ref()).filter_map(cause).collect();
        for cause in causes {
            *self.aborts.entry(cause).or_default() += 1;
        }
    }

    /// Adds what somebody else counted.
    pub(super) fn add(&mut self, other: LevelTally) {
        self.explored += other.explored;
        self.histories += other.histories;
        self.refused_histories += other.refused_histories;
        for (code, runs) in other.refused {
            *self.refused.entry(code).or_default() += runs;
        }
        self.unknown += other.unknown;
        self.open += other.open;
        self.undecided += other.undecided;
        for (found, other) in self.assertions.iter_mut().zip(other.assertions) {
            found.merge(other);
        }
        self.violating.merge(other.violating);
        for (cause, runs) in other.aborts {
            *self.aborts.entry(cause).or_default() += runs;
        }
        self.listed.extend(other.listed);
    }

    /// How many histories satisfy what all are compared with, and an assertion, too.
    pub(super) fn allowed_and_passing(&self, assertion: usize) -> u64 {
        let others = self.violating.runs + self.undecided + self.open + self.assertions[assertion].allowed;
        (self.histories + self.refused_histories).saturating_sub(others)
    }

    /// Whether some answer is missing.
    pub(super) fn is_open(&self) -> bool {
        self.unknown > 0 || self.open > 0 || self.undecided > 0
    }
}

impl Defect {
    fn add(&mut self, run: &Run<'_, SqlProgram>, error: Option<String>, allowed: bool) {
        let smallest = SmallestRun { error, size: run.size(), schedule: run.subtree() };
        self.merge(Defect { runs: 1, allowed: u64::from(allowed), smallest: Some(smallest) });
    }

    fn merge(&mut self, other: Defect) {
        self.runs += other.runs;
        self.allowed += other.allowed;
        let known = [self.smallest.take(), other.smallest];
        self.smallest = known.into_iter().flatten().min_by(|one, other| one.rank().cmp(&other.rank()));
    }
}

impl SmallestRun {
    fn rank(&self) -> (bool, &(usize, usize, String)) {
        (self.error.is_some(), &self.size)
    }
}

/// The assertions that fail in a state in which a run may have ended, with the error where they only fail because they cannot be
/// evaluated. Nothing if not all states can be looked at.
pub(super) fn violated(
    program: &SqlProgram,
    run: &Run<'_, SqlProgram>,
    budget: Budget<'_>,
) -> Option<BTreeMap<usize, Option<String>>> {
    let mut found: BTreeMap<usize, Option<String>> = BTreeMap::new();
    for state in run.final_states(MOST_FINAL_STATES, budget)? {
        for Violated { assertion, error } in program.violated(left(program, run), state) {
            let error = error.map(|error| error.message);
            let known = found.entry(assertion).or_insert_with(|| error.clone());
            if error.is_none() {
                *known = None;
            }
        }
    }
    Some(found)
}

/// At a level of an engine: the codes with which the server refused calls of a run, duplicates among them.
fn refusals(program: &SqlProgram, run: &Run<'_, SqlProgram>) -> BTreeSet<&'static str> {
    let Some(engine) = run.engine() else { return BTreeSet::new() };
    let duplicate = match engine {
        Engine::Postgres => "23505",
        Engine::Mysql => "1062",
    };
    let is_duplicate =
        |left: &CallLeft| matches!(&left.abort, Some(Abort::Error(error)) if error.state == SqlState::UNIQUE);
    let duplicates = left(program, run).filter(|(_, left)| is_duplicate(left)).map(|_| duplicate);
    run.refusals().into_iter().map(|(_, code)| code).chain(duplicates).collect()
}

/// What the calls of a run left, by their places.
pub(super) fn left<'run>(
    program: &SqlProgram,
    run: &'run Run<'_, SqlProgram>,
) -> impl Iterator<Item = (Place, &'run skew_explore::CallLeft)> {
    let places: Vec<Place> = left_out::calls(program.program()).collect();
    places.into_iter().filter_map(|place| Some((place, run.left(place)?)))
}

/// A rollback is what the program means to do; the rest is told.
fn cause(abort: &Abort) -> Option<String> {
    match abort {
        Abort::Rollback => None,
        Abort::Signal(message) => Some(format!("SIGNAL: {message}")),
        Abort::Error(error) => {
            Some(format!("line {}, column {}: {}", error.place.line, error.place.column, error.message))
        }
    }
}
