//! Every interleaving of a program, and where each session stands.
//!
//! A simulator is a state and the states that one step of somebody leads to. All states are visited, each once; where everybody has
//! ended, the run is noted.

use crate::program::{Program, Script, Statement};
use crate::run::{Code, End, Run, Saw, Told};
use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;

/// An engine at work.
pub trait Simulator: Clone + Eq + Hash {
    /// The states after one step.
    fn steps(&self, program: &Program) -> Vec<Self>;
    /// Where the transactions stand.
    fn progress(&self) -> Vec<&Progress>;
}

/// All runs from a state on.
pub fn all_runs(program: &Program, start: impl Simulator) -> BTreeSet<Run> {
    let mut runs = BTreeSet::new();
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let steps = state.steps(program);
        if steps.is_empty() {
            let told = state.progress().into_iter().map(|progress| Told {
                events: progress.events.clone(),
                end: progress.end.expect("who can take no step has ended"),
            });
            runs.insert(Run(told.collect()));
        }
        open.extend(steps.into_iter().filter(|state| seen.insert(state.clone())));
    }
    runs
}

/// Where a transaction stands.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Progress {
    /// Statements that are done.
    pub done: usize,
    /// Whether the next has started.
    pub started: bool,
    /// Rows of it that are done.
    pub rows_done: usize,
    /// Whether it waits for a lock.
    pub waiting: bool,
    pub events: Vec<Saw>,
    pub end: Option<End>,
}

impl Progress {
    /// The statement that is next or under way.
    pub fn statement<'a>(&self, script: &'a Script) -> Option<&'a Statement> {
        script.statements.get(self.done)
    }

    /// The number of that statement.
    pub fn number(&self) -> u8 {
        self.done as u8 + 1
    }

    /// One row less to do; true when the statement is done.
    pub fn row_is_done(&mut self, statement: &Statement) -> bool {
        self.waiting = false;
        self.rows_done += 1;
        let done = self.rows_done == statement.rows().len();
        if done {
            self.statement_is_done();
        }
        done
    }

    pub fn statement_is_done(&mut self) {
        *self = Progress { done: self.done + 1, started: false, rows_done: 0, waiting: false, ..self.clone() };
    }

    /// The transaction is over; what the statement under way had seen is not told.
    pub fn refuse(&mut self, code: Code) {
        let number = self.number();
        self.events.retain(|saw| saw.statement < number);
        self.waiting = false;
        self.end = Some(End::Refused(number, code));
    }
}

/// Per session the transaction that is under way or next.
pub fn active(program: &Program, progress: &[&Progress]) -> Vec<usize> {
    let session_of = program.session_of();
    let first_open =
        |session| (0..session_of.len()).find(|&one| session_of[one] == session && progress[one].end.is_none());
    (0..program.sessions.len()).filter_map(first_open).collect()
}

/// Whether somebody waits for itself, by way of others who wait.
pub fn is_deadlocked(transaction: usize, waits_for: &dyn Fn(usize) -> Vec<usize>) -> bool {
    let mut reached = BTreeSet::new();
    let mut open = waits_for(transaction);
    while let Some(one) = open.pop() {
        if one == transaction {
            return true;
        }
        if reached.insert(one) {
            open.extend(waits_for(one));
        }
    }
    false
}
