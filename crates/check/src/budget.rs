//! How much work a check may do, who may stop it, and what it tells while it works.
//!
//! A budget counts steps, not seconds: the same history and budget give the same verdict on every machine. A caller that wants
//! a time limit sets the stop flag from outside.

use crate::verdict::Doubt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The work that is left.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// Steps of the search: decisions, and edges of the graph that it walks.
    pub steps: u64,
    /// Set by somebody else to end the search early.
    pub stop: Option<&'a AtomicBool>,
    /// Told when a phase begins.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

impl Budget<'_> {
    /// No limit.
    pub const UNLIMITED: Budget<'static> = Budget { steps: u64::MAX, stop: None, progress: None };

    /// A limit in steps.
    pub fn steps(steps: u64) -> Budget<'static> {
        Budget { steps, ..Budget::UNLIMITED }
    }

    /// Takes steps off; false when none are left or somebody asked to stop.
    pub(crate) fn spend(&mut self, steps: u64) -> bool {
        let enough = self.steps >= steps;
        self.steps = self.steps.saturating_sub(steps);
        enough && !self.is_stopped()
    }

    /// Whether somebody asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Why there is no answer when no step could be taken off.
    pub(crate) fn doubt(&self) -> Doubt {
        if self.is_stopped() { Doubt::Stopped } else { Doubt::OutOfBudget }
    }

    pub(crate) fn enter(&self, phase: Phase, size: usize) {
        if let Some(progress) = self.progress {
            progress(Progress { phase, size });
        }
    }
}

/// What a check is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Who wrote what was read.
    Resolve,
    /// The polynomial levels.
    Saturate,
    /// Building constraints.
    Construct,
    /// Pruning constraints.
    Prune,
    /// Searching.
    Search,
    /// Re-checking certificates.
    Certify,
    /// Shrinking a counterexample.
    Shrink,
}

impl Phase {
    /// The word shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Resolve => "resolve",
            Phase::Saturate => "saturate",
            Phase::Construct => "construct",
            Phase::Prune => "prune",
            Phase::Search => "search",
            Phase::Certify => "certify",
            Phase::Shrink => "shrink",
        }
    }
}

/// A phase begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Which.
    pub phase: Phase,
    /// How many things it has before it: transactions, constraints.
    pub size: usize,
}

/// What a check of one level came across.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Pairs of writers whose order was open before pruning.
    pub constraints_before: u64,
    /// Pairs of writers whose order was open after pruning.
    pub constraints_after: u64,
    /// Edges that the open pairs might bring, before pruning.
    pub unknown_dependencies_before: u64,
    /// Edges that the open pairs might bring, after pruning.
    pub unknown_dependencies_after: u64,
    /// Rounds of pruning.
    pub rounds: u64,
    /// Decisions of the search.
    pub decisions: u64,
    /// Conflicts of the search.
    pub conflicts: u64,
}
