//! A run of an application that is walked: at every point somebody else says whose request is next.
//!
//! ```text
//!   a: SELECT x ─ held ─┐                        ┌─ a.0 ──> the database ── a: UPDATE x ─ held ─┐
//!                       ├─ nobody else comes ── guide                                          ├─ nobody else comes ── guide ── …
//!   b: SELECT x ─ held ─┘                        └─ b.0 stays ─────────────────────────────────┘
//! ```
//!
//! One step is taken at a time, and before the next one everybody has had the time to ask for theirs: until no byte has come from anybody for a
//! while (half of it, where all who are connected are held or wait for a lock). The [`Guide`] then chooses among the steps that are asked for, which it knows by
//! names that are the same in other runs ([`labels`]), and is told what each step touched ([`touches`]), with whatever it let go on.
//!
//! This page knows no clock and no socket: it is told what happens and when.

mod labels;
mod touches;
mod walking;

pub(crate) use labels::question;
pub use touches::Touched;
pub use walking::WalkSettings;
pub(crate) use walking::{Isolation, Touch, Walking};

use labels::{Labels, TransactionLabel};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Of the patience so much is for those who are not connected yet, where nobody else could come.
const NEWCOMERS: u32 = 2;

/// Who says which step is next.
pub trait Guide: Send {
    /// The step to take of those that are asked for; nothing to take any.
    fn choose(&mut self, candidates: &BTreeSet<String>) -> Option<String>;
    /// Whether this step is known to be the next, so that nobody else need be waited for.
    fn awaits(&self, step: &str) -> bool;
    /// What the step that was chosen last has touched.
    fn took(&mut self, touched: Touched);
    /// A step is chosen though somebody whose transaction is open has been silent for so long: it may have come first.
    fn leave_behind(&mut self);
}

/// What a client does.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Standing {
    /// Anything but a step, or nothing.
    Free,
    /// Its step is at work.
    Stepping,
    /// Its statement waits for a lock.
    Blocked,
    /// It asks for a step: what it asks.
    Asking(u64),
    /// It asks for the step of this name.
    Held(String),
}

#[derive(Debug)]
struct Walker {
    state: Standing,
    /// Its transaction, and how many steps it has asked for.
    transaction: Option<(TransactionLabel, u32)>,
}

/// A run on its way.
pub(crate) struct StepWalk {
    guide: Box<dyn Guide>,
    /// After so long without a byte nobody else comes.
    patience: Duration,
    walkers: BTreeMap<i32, Walker>,
    labels: Labels,
    /// The last byte, or the last answer.
    stirred: Duration,
    /// Whether a step was chosen whose end the guide has not heard of, and what it has touched so far.
    stepping: Option<Touched>,
}

impl StepWalk {
    pub(crate) fn new(guide: Box<dyn Guide>, patience: Duration) -> StepWalk {
        let (walkers, labels) = (BTreeMap::new(), Labels::default());
        StepWalk { guide, patience, walkers, labels, stirred: Duration::ZERO, stepping: None }
    }

    fn state(&mut self, client: i32, state: Standing) {
        let new = || Walker { state: Standing::Free, transaction: None };
        self.walkers.entry(client).or_insert_with(new).state = state;
    }

    /// Somebody begins to connect.
    pub(crate) fn stir(&mut self, now: Duration) {
        self.stirred = now;
    }

    /// A client is connected, or says something.
    pub(crate) fn hear(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        self.walkers.entry(client).or_insert_with(|| Walker { state: Standing::Free, transaction: None });
    }

    /// A client asks for a step.
    pub(crate) fn ask(&mut self, client: i32, question: u64, now: Duration) {
        self.stirred = now;
        self.state(client, Standing::Asking(question));
    }

    /// It waits for a lock.
    pub(crate) fn block(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        self.state(client, Standing::Blocked);
    }

    /// It need not wait any more.
    pub(crate) fn go_on(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        self.state(client, Standing::Stepping);
    }

    /// A step, or a part of one, has touched this.
    pub(crate) fn touch(&mut self, touched: Touched) {
        if let Some(sum) = &mut self.stepping {
            touches::add(sum, touched);
        }
    }

    /// It was answered; whether its transaction goes on.
    pub(crate) fn rest(&mut self, client: i32, open: bool, now: Duration) {
        self.stirred = now;
        self.state(client, Standing::Free);
        if let Some(walker) = self.walkers.get_mut(&client).filter(|_| !open) {
            walker.transaction = None;
        }
    }

    /// It is gone.
    pub(crate) fn leave(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        self.walkers.remove(&client);
    }

    /// It does not ask any more.
    pub(crate) fn withdraw(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        self.state(client, Standing::Free);
    }

    fn is_at_rest(&self) -> bool {
        self.walkers.values().all(|walker| walker.state != Standing::Stepping)
    }

    /// Whether anybody who is connected could still ask for something.
    fn could_come(&self) -> bool {
        self.walkers.values().any(|walker| walker.state == Standing::Free)
    }

    /// Whether somebody is silent inside its transaction.
    fn is_anybody_silent(&self) -> bool {
        self.walkers.values().any(|walker| walker.state == Standing::Free && walker.transaction.is_some())
    }

    /// Who may go now, by its number and the name of its step.
    pub(crate) fn decide(&mut self, now: Duration) -> Option<(i32, String)> {
        if !self.is_at_rest() {
            return None;
        }
        if let Some(touched) = self.stepping.take() {
            self.guide.took(touched);
        }
        // Somebody who is not connected yet may still come.
        let patience = if self.could_come() { self.patience } else { self.patience / NEWCOMERS };
        let is_quiet = now.saturating_sub(self.stirred) >= patience;
        self.name_askers(is_quiet);
        let held = || {
            self.walkers.iter().filter_map(|(client, walker)| match &walker.state {
                Standing::Held(step) => Some((*client, step.clone())),
                _ => None,
            })
        };
        let known = held().find(|(_, step)| self.guide.awaits(step));
        let candidates: BTreeSet<String> = held().map(|(_, step)| step).collect();
        if candidates.is_empty() || known.is_none() && !is_quiet {
            return None;
        }
        if known.is_none() && self.is_anybody_silent() {
            self.guide.leave_behind();
        }
        let chosen = self.guide.choose(&candidates)?;
        let client = held().find(|(_, step)| *step == chosen).map(|(client, _)| client)?;
        self.stirred = now;
        self.state(client, Standing::Stepping);
        self.stepping = Some(Touched::default());
        Some((client, chosen))
    }

    /// Gives names to the steps that are asked for. Those that begin a transaction get theirs when nobody else comes, in the order of what they
    /// ask: in which order requests of several clients arrive is nobody's choice.
    fn name_askers(&mut self, is_quiet: bool) {
        let mut asking: Vec<(u64, i32)> = Vec::new();
        for (client, walker) in &mut self.walkers {
            let Standing::Asking(question) = walker.state else { continue };
            match &mut walker.transaction {
                Some((label, steps)) => {
                    *steps += 1;
                    walker.state = Standing::Held(label.step(*steps));
                }
                None => asking.push((question, *client)),
            }
        }
        // A single one that is waited for may go at once.
        let is_awaited = |labels: &Labels, question: u64| {
            let mut guess = labels.clone();
            self.guide.awaits(&guess.begin(question).step(0))
        };
        if !is_quiet {
            let labels = &self.labels;
            asking.retain(|(question, _)| is_awaited(labels, *question));
        }
        asking.sort_unstable();
        for (question, client) in asking {
            let label = self.labels.begin(question);
            let walker = self.walkers.get_mut(&client);
            if let Some(walker) = walker {
                walker.state = Standing::Held(label.step(0));
                walker.transaction = Some((label, 0));
            }
        }
    }
}

#[cfg(test)]
mod tests;
