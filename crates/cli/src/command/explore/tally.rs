//! What is counted at one level. Tallies add up in any order to the same sum, so it does not matter who explored what.
//!
//! Of all runs in which something is wrong the smallest is kept, as the schedule that leads to it: fewest transactions that committed, then
//! fewest events, then the first by its pattern. So the counterexample is the same for every number of jobs.

use serde::{Deserialize, Serialize};
use skew_check::Budget;
use skew_explore::{Abort, Answer, Place, Run, SqlProgram, Subtree};
use skew_history::IsolationLevel;
use skew_sql::program::ProgramError;
use std::collections::{BTreeMap, BTreeSet};

/// So many final states of one run are looked at.
const MOST_STATES: usize = 1_000;

/// What one level has shown so far.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    /// Complete histories, before any filter.
    pub(super) explored: u64,
    /// Branches that led nowhere.
    pub(super) blocked: u64,
    /// Histories that the level allows.
    pub(super) histories: u64,
    /// Histories of which the checker could not say whether the level allows them.
    pub(super) unknown: u64,
    /// Histories whose final states could not all be looked at.
    pub(super) open: u64,
    /// By assertion, in the order of the program.
    pub(super) assertions: Vec<Found>,
    /// Those that violate the level that all are compared with.
    pub(super) violating: Found,
    /// Those of which that is not known.
    pub(super) undecided: u64,
    /// Why calls were aborted, and in how many histories.
    pub(super) aborts: BTreeMap<String, u64>,
    /// The patterns of all histories, where they are to be listed.
    pub(super) listed: BTreeSet<String>,
}

/// Something wrong: how often, and the smallest run that shows it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) runs: u64,
    pub(super) smallest: Option<Smallest>,
}

/// A run by its size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Smallest {
    size: (usize, usize, String),
    pub(super) schedule: Subtree,
}

/// What every run is asked.
#[derive(Clone, Copy)]
pub(super) struct Questions {
    pub(super) against: IsolationLevel,
    /// So many steps the checker may take for one question.
    pub(super) steps: u64,
    pub(super) list: bool,
}

impl Tally {
    pub(super) fn new(assertions: usize) -> Tally {
        Tally { assertions: vec![Found::default(); assertions], ..Tally::default() }
    }

    /// Counts a run; false if there is nothing wrong with it.
    pub(super) fn count(
        &mut self,
        program: &SqlProgram,
        run: &Run<'_, SqlProgram>,
        questions: Questions,
    ) -> Result<bool, ProgramError> {
        let budget = Budget { stop: Some(crate::clock::stop_flag()), ..Budget::steps(questions.steps) };
        self.explored += 1;
        match run.answer(budget) {
            Answer::Fails => return Ok(false),
            Answer::Unknown => {
                self.unknown += 1;
                return Ok(false);
            }
            Answer::Holds => self.histories += 1,
        }
        if questions.list {
            self.listed.insert(run.pattern());
        }
        self.count_aborts(program, run);
        match run.answer_at(questions.against, budget) {
            Answer::Holds => {}
            Answer::Fails => self.violating.add(run),
            Answer::Unknown => self.undecided += 1,
        }
        self.ask(program, run, budget)
    }

    /// Asks every assertion about every state in which a run may have ended; says whether one of them failed.
    fn ask(
        &mut self,
        program: &SqlProgram,
        run: &Run<'_, SqlProgram>,
        budget: Budget<'_>,
    ) -> Result<bool, ProgramError> {
        if self.assertions.is_empty() {
            return Ok(false);
        }
        let Some(states) = run.final_states(MOST_STATES, budget) else {
            self.open += 1;
            return Ok(false);
        };
        let mut violated = BTreeSet::new();
        for state in states {
            violated.extend(program.violated(left(program, run), state)?);
        }
        for &number in &violated {
            self.assertions[number].add(run);
        }
        Ok(!violated.is_empty())
    }

    fn count_aborts(&mut self, program: &SqlProgram, run: &Run<'_, SqlProgram>) {
        let causes: BTreeSet<String> =
            left(program, run).filter_map(|(_, left)| left.abort.as_ref()).filter_map(cause).collect();
        for cause in causes {
            *self.aborts.entry(cause).or_default() += 1;
        }
    }

    /// Adds what somebody else counted.
    pub(super) fn add(&mut self, other: Tally) {
        self.explored += other.explored;
        self.blocked += other.blocked;
        self.histories += other.histories;
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

    /// Whether some answer is missing.
    pub(super) fn is_open(&self) -> bool {
        self.unknown > 0 || self.open > 0 || self.undecided > 0
    }
}

impl Found {
    fn add(&mut self, run: &Run<'_, SqlProgram>) {
        let smallest = Smallest { size: run.size(), schedule: run.subtree() };
        self.merge(Found { runs: 1, smallest: Some(smallest) });
    }

    fn merge(&mut self, other: Found) {
        self.runs += other.runs;
        let known = [self.smallest.take(), other.smallest];
        self.smallest = known.into_iter().flatten().min_by(|one, other| one.size.cmp(&other.size));
    }
}

/// What the calls of a run left, by their places.
pub(super) fn left<'run>(
    program: &SqlProgram,
    run: &'run Run<'_, SqlProgram>,
) -> impl Iterator<Item = (Place, &'run skew_explore::Left)> {
    let scripts = program.program().scripts().iter().enumerate();
    let places: Vec<Place> = scripts
        .flat_map(|(session, script)| (0..script.calls.len()).map(move |number| Place { session, number }))
        .collect();
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
