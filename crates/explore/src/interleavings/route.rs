//! One run of something that runs only as a whole: up to a point as it is prescribed, from there on as it comes.

use super::footprint::Footprint;
use std::collections::{BTreeMap, BTreeSet};

/// A decision that a run took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// The steps that could have been taken.
    pub(crate) candidates: BTreeSet<String>,
    /// Those that need not be taken here, because another run has.
    pub(crate) asleep: BTreeMap<String, Footprint>,
    pub(crate) taken: String,
    pub(crate) touched: Footprint,
}

/// A run on its way.
#[derive(Clone, Debug)]
pub struct Route {
    prescribed: Vec<String>,
    asleep: BTreeMap<String, Footprint>,
    decisions: Vec<Decision>,
    /// From this decision on everything that could be done was done in another run.
    redundant_from: Option<usize>,
    /// Where the run could not be as prescribed, and the step that was missing.
    diverged: Option<(usize, String)>,
    /// Whether everybody else is waited for before each step, also where it is known which one is next.
    unhurried: bool,
}

impl Route {
    pub(crate) fn new(prescribed: Vec<String>, asleep: BTreeMap<String, Footprint>) -> Route {
        Route { prescribed, asleep, decisions: Vec::new(), redundant_from: None, diverged: None, unhurried: false }
    }

    /// A run that was written down, to be made again.
    pub fn again(steps: Vec<String>) -> Route {
        Route::new(steps, BTreeMap::new())
    }

    /// The same with all the time that others may need to come.
    pub fn unhurried(steps: Vec<String>) -> Route {
        Route { unhurried: true, ..Route::again(steps) }
    }

    /// Whether there were steps to choose from that another run of the same steps did not have.
    pub fn has_more_candidates(&self, other: &Route) -> bool {
        let mut both = self.decisions.iter().zip(&other.decisions);
        both.any(|(own, other)| !own.candidates.is_subset(&other.candidates))
    }

    /// The step to take next, of those that could be taken; nothing where there is none.
    pub fn choose(&mut self, candidates: &BTreeSet<String>) -> Option<String> {
        let at = self.decisions.len();
        let wanted = self.prescribed.get(at).filter(|_| self.diverged.is_none());
        let taken = match wanted {
            Some(wanted) if candidates.contains(wanted) => wanted.clone(),
            Some(missing) => {
                self.diverged = Some((at, missing.clone()));
                candidates.first()?.clone()
            }
            None => self.first_awake(at, candidates)?,
        };
        let (candidates, asleep) = (candidates.clone(), self.asleep.clone());
        self.decisions.push(Decision { candidates, asleep, taken: taken.clone(), touched: Footprint::default() });
        Some(taken)
    }

    fn first_awake(&mut self, at: usize, candidates: &BTreeSet<String>) -> Option<String> {
        let awake = candidates.iter().find(|step| !self.asleep.contains_key(*step));
        if awake.is_none() && !candidates.is_empty() {
            self.redundant_from.get_or_insert(at);
        }
        awake.or_else(|| candidates.first()).cloned()
    }

    /// Whether a step is the next one of those that are prescribed, so that nobody need be waited for.
    pub fn awaits(&self, step: &str) -> bool {
        let is_in_order = self.diverged.is_none() && !self.unhurried;
        is_in_order && self.prescribed.get(self.decisions.len()).is_some_and(|wanted| wanted == step)
    }

    /// What the step that was chosen last has touched, once it and all that it let go on are at rest.
    pub fn took(&mut self, touched: Footprint) {
        // Before the last prescribed decision those that sleep are known already.
        if self.decisions.len() >= self.prescribed.len() {
            self.asleep.retain(|_, other| !other.conflicts(&touched));
        }
        if let Some(last) = self.decisions.last_mut() {
            last.touched = touched;
        }
    }

    /// The steps in their order.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.decisions.iter().map(|decision| decision.taken.as_str())
    }

    /// Whether every run that begins like this one was made already.
    pub fn is_redundant(&self) -> bool {
        self.redundant_from.is_some()
    }

    /// Where the run could not be as prescribed, and the step that was missing.
    pub fn diverged(&self) -> Option<(usize, &str)> {
        self.diverged.as_ref().map(|(at, step)| (*at, step.as_str()))
    }

    /// The decisions that were not in vain.
    pub(crate) fn into_decisions(mut self) -> Vec<Decision> {
        self.decisions.truncate(self.redundant_from.unwrap_or(usize::MAX));
        self.decisions
    }
}
