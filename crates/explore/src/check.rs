//! Explores a Rust program and says what failed: `explore(&program).level(Causal).check()`.
//!
//! An assertion is asked about every final state of every run that the level allows. A run that the checker could not place within its
//! budget is counted, and never taken for one that passed.

use crate::error::ExploreError;
use crate::final_state::FinalState;
use crate::final_state::MOST_FINAL_STATES;
use crate::outline::{Options, Place};
use crate::program::{End, Program};
use crate::run::{Run, RunAnswer};
use crate::search::Search;
use crate::subtree::Subtree;
use skew_check::{Budget, Verdict};
use skew_history::{History, IsolationLevel, notation};
use std::fmt;

/// So many steps the checker may take for one question.
const STEPS: u64 = 1_000_000;

/// A program that is about to be explored.
pub struct Exploration<'a> {
    program: &'a Program,
    options: Options,
    most_runs: u64,
}

/// Explores a program, at serializable unless told otherwise.
pub fn explore(program: &Program) -> Exploration<'_> {
    Exploration { program, options: Options::new(IsolationLevel::Serializable), most_runs: u64::MAX }
}

/// What an exploration found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ExplorationReport {
    /// Runs that the level allows.
    pub runs: u64,
    /// At a level of an engine: runs in which the server refused somebody. They are not among the others, and assertions are asked in them.
    pub refused: u64,
    /// Runs that were looked at, before any filter.
    pub explored: u64,
    /// Runs of which the checker could not say whether the level allows them, or how they may have ended.
    pub unknown: u64,
    /// Whether there was nothing left to explore.
    pub complete: bool,
}

/// A run in which an assertion is false.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The assertion.
    pub assertion: String,
    /// In how many runs it is false.
    pub runs: u64,
    /// The run with the fewest transactions that committed, and of those the one with the fewest events.
    pub history: Option<History>,
    /// The run written down.
    pub subtree: Subtree,
    /// How it ended.
    pub state: FinalState,
    size: (usize, usize, String),
}

/// Why a check did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ExplorationFailure {
    /// The program cannot be explored.
    #[error(transparent)]
    Program(#[from] ExploreError),
    /// Some assertion is false in some run.
    #[error("{}", told(.level, .report, .violations))]
    Violated {
        /// The level.
        level: IsolationLevel,
        /// What was found in all.
        report: ExplorationReport,
        /// One for each assertion that failed.
        violations: Vec<Violation>,
    },
    /// Nothing failed, but not everything was seen.
    #[error(
        "no assertion failed at {level} in {} runs, but {}; raise the limit, or explore a smaller program",
        .report.runs,
        if .report.complete { format!("{} more were too hard to judge", .report.unknown) } else { "there are more".to_owned() }
    )]
    Inconclusive {
        /// The level.
        level: IsolationLevel,
        /// What was found.
        report: ExplorationReport,
    },
}

impl Exploration<'_> {
    /// The level of all transactions that have none of their own.
    pub fn level(mut self, level: IsolationLevel) -> Self {
        self.options.level = level;
        self
    }

    /// So many events a transaction may have.
    pub fn most_events(mut self, most: usize) -> Self {
        self.options.most_events = most;
        self
    }

    /// So many runs are looked at.
    pub fn most_runs(mut self, most: u64) -> Self {
        self.most_runs = most;
        self
    }

    /// Explores to the end, and asks every assertion about every run.
    pub fn check(self) -> Result<ExplorationReport, ExplorationFailure> {
        let mut search = Search::new(self.program, self.options)?;
        let mut report = ExplorationReport { complete: true, ..ExplorationReport::default() };
        let mut violations: Vec<Option<Violation>> = self.program.assertions().iter().map(|_| None).collect();
        while let Some(run) = search.next_run()? {
            if report.explored == self.most_runs {
                report.complete = false;
                break;
            }
            report.explored += 1;
            match run.answer(Budget::steps(STEPS)) {
                RunAnswer::Fails => continue,
                RunAnswer::Unknown => report.unknown += 1,
                RunAnswer::Holds => {
                    report.runs += u64::from(!run.is_again() && run.refusals().is_empty());
                    report.refused += u64::from(!run.is_again() && !run.refusals().is_empty());
                    report.unknown += u64::from(!self.judge(&run, &mut violations));
                }
            }
        }
        self.conclude(report, violations.into_iter().flatten().collect())
    }

    /// Asks every assertion about every state in which a run may have ended; false if those are not known.
    fn judge(&self, run: &Run<'_, Program>, violations: &mut [Option<Violation>]) -> bool {
        if violations.is_empty() {
            return true;
        }
        let Some(states) = run.final_states(MOST_FINAL_STATES, Budget::steps(STEPS)) else { return false };
        let returned = returned(self.program, run);
        for ((name, holds), violation) in self.program.assertions().iter().zip(violations) {
            let fails = |state: &&FinalState| !holds(&End { program: self.program, state, returned: &returned });
            if let Some(state) = states.iter().find(fails) {
                note(violation, name, run, state);
            }
        }
        true
    }

    fn conclude(
        self,
        report: ExplorationReport,
        violations: Vec<Violation>,
    ) -> Result<ExplorationReport, ExplorationFailure> {
        let level = self.options.level;
        if !violations.is_empty() {
            return Err(ExplorationFailure::Violated { level, report, violations });
        }
        if report.unknown > 0 || !report.complete {
            return Err(ExplorationFailure::Inconclusive { level, report });
        }
        Ok(report)
    }
}

/// What all transactions returned, by session.
fn returned(program: &Program, run: &Run<'_, Program>) -> Vec<<Program as crate::Explorable>::Left> {
    use crate::Explorable;
    let last = |session: usize| {
        let number = program.transaction_count(session).checked_sub(1)?;
        run.left(Place { session, number }).cloned()
    };
    (0..program.session_count()).map(|session| last(session).unwrap_or_default()).collect()
}

/// Counts a run in which an assertion is false, and keeps the smallest.
fn note(violation: &mut Option<Violation>, name: &str, run: &Run<'_, Program>, state: &FinalState) {
    let runs = violation.as_ref().map_or(0, |violation| violation.runs) + 1;
    let size = run.size();
    match violation {
        Some(known) if known.size <= size => known.runs = runs,
        _ => {
            let history = run.history().ok();
            let (assertion, subtree, state) = (name.to_owned(), run.subtree(), state.clone());
            *violation = Some(Violation { assertion, runs, history, subtree, state, size });
        }
    }
}

fn told(level: &IsolationLevel, report: &ExplorationReport, violations: &[Violation]) -> String {
    let mut text = String::new();
    for violation in violations {
        text.push_str(&violation.told(*level, report));
    }
    text
}

impl Violation {
    fn told(&self, level: IsolationLevel, report: &ExplorationReport) -> String {
        let mut text = format!("`{}` fails in {} of {} runs at {level}", self.assertion, self.runs, report.runs);
        let Some(history) = &self.history else {
            text.push_str("; no run is shown, because two sessions or keys have the same name\n");
            return text;
        };
        text.push_str(", for example in this one:\n");
        for line in notation::write(history).lines() {
            text.push_str(&format!("    {line}\n"));
        }
        if let Verdict::Fails(anomaly) = skew_check::check(history, IsolationLevel::Serializable, Budget::steps(STEPS))
        {
            let explained = skew_check::explain(history, IsolationLevel::Serializable, &anomaly, Budget::steps(STEPS));
            text.push_str(&format!(
                "it is not serializable ({}): {}\n",
                explained.kind.name(),
                explained.kind.in_words()
            ));
            for edge in explained.cases.iter().flat_map(|case| &case.edges) {
                text.push_str(&format!("    {}\n", edge.because));
            }
        }
        text
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` fails in {} runs", self.assertion, self.runs)
    }
}
