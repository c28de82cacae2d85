//! Programs that run only as a whole: an application behind a socket, explored run by run.
//!
//! [`Search`](crate::Search) runs one transaction again and again. A command that was started somewhere cannot be asked for one
//! transaction: it runs from its beginning to its end. So a run of it is a whole path of the tree. Up to where the path branched off it
//! repeats what is known, from there on it takes the first choice everywhere, and on the way it learns what else there is:
//!
//! ```text
//!   stack: the root        run 1    a#0  b#0  b#1            learns: b#0 may read from t0 · a#0 may read from b#1
//!   stack: two histories   run 2    b#0  b#1 │ a#0           before the bar prescribed, after it as it comes
//!   stack: one history     run 3    a#0  b#0 │ b#1           …
//! ```
//!
//! A history that waits is the same as in [`Search`](crate::Search), and so are the choices of a read and the swaps of a commit: there is one run
//! of the command per history, and at read-committed, read-atomic and causal none is in vain. What is not known before is how many
//! sessions and transactions there are. A transaction is named by its session and its place in it; sessions go in the order of their
//! names, which is the oracle order.
//!
//! **The end.** An application looks at the end whether all is well. What it then reads is no part of the history but one of the states
//! that the history may have left ([`Path::finish`]); where there are several, each gets a run of its own.
//!
//! Whoever runs the command (a [`Remote`]) lets transactions run one at a time and asks the [`Path`] who goes next and what each read returns.

mod habits;
mod learned;
mod path;
mod schedule;

pub use learned::Learned;
pub use path::{Path, PathError};
pub use schedule::{NoRemoteSchedule, RemoteSchedule};

use crate::error::ExploreError;
use crate::ordered::Ordered;
use crate::outline::Options;
use crate::run::Run;
use crate::runner::{Node, Runner};
use crate::search::Progress;
use crate::set::{MOST_TRANSACTIONS, Number};
use std::sync::Arc;

/// A program that runs as a whole.
pub trait Remote {
    /// What a run leaves besides its history: an exit code, an output.
    type Ended;
    /// Why a run could not be made.
    type Error: From<ExploreError>;

    /// Runs the program once, as the path says, and hands the path back.
    fn run(&mut self, path: Path) -> Result<(Path, Self::Ended), Self::Error>;
}

/// Where the run of a history starts to be new.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    /// After this.
    History(Ordered),
    /// Nowhere: these transactions, which read from these, are all of it.
    Written(Vec<(Number, Vec<Number>)>),
}

/// A history that waits for its run.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) start: Start,
    /// Which of the states that it may have left is wanted, where there are several.
    pub(crate) final_state: usize,
    pub(crate) share: f64,
}

/// A run that was made.
pub struct RemoteRun<E> {
    /// What it left.
    pub ended: E,
    /// Whether its history is complete: else it could not go on, or not as prescribed.
    pub complete: bool,
    /// Which of the states that its history may have left it found, from 0. Those after the first are runs of a history that was counted.
    pub final_state: usize,
    /// A session that came too late for the order of names, if one did: runs may be missed.
    pub disorder: Option<String>,
    history: Ordered,
}

/// An exploration of a program that runs as a whole.
pub struct RemoteSearch {
    learned: Learned,
    stack: Vec<Waiting>,
    progress: Progress,
    skipped: u64,
}

impl RemoteSearch {
    /// An exploration of the whole program.
    pub fn new(options: Options) -> RemoteSearch {
        let whole = Waiting { start: Start::History(Ordered::new(MOST_TRANSACTIONS)), final_state: 0, share: 1.0 };
        RemoteSearch { learned: Learned::new(options), stack: vec![whole], progress: Progress::default(), skipped: 0 }
    }

    /// One run and no other: the one that was written down.
    pub fn again(options: Options, schedule: RemoteSchedule) -> Result<RemoteSearch, ExploreError> {
        let learned = schedule.learned(options)?;
        let final_state = schedule.final_state();
        let waiting = Waiting { start: Start::Written(schedule.into_transactions()), final_state, share: 1.0 };
        // The states after the first wait only for the run that finds the first.
        Ok(RemoteSearch { learned, stack: vec![waiting], progress: Progress::default(), skipped: 0 })
    }

    /// What was done so far.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// How many histories were given up because the program did not let them happen.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// How many histories are known to wait.
    pub fn waiting(&self) -> usize {
        self.stack.len()
    }

    /// Makes the next run; nothing when there is no other.
    pub fn next_run<R: Remote>(&mut self, remote: &mut R) -> Result<Option<RemoteRun<R::Ended>>, R::Error> {
        let Some(waiting) = self.stack.pop() else { return Ok(None) };
        let nothing = Learned::new(self.learned.options());
        let learned = std::mem::replace(&mut self.learned, nothing);
        let final_state = waiting.final_state;
        let (path, ended) = remote.run(Path::new(learned, waiting))?;
        let share = path.share();
        let path::Travelled { learned, history, branches, disorder, stop } = path.travelled();
        self.learned = learned;
        let complete = stop.is_none();
        match stop {
            Some(PathError::Explore(error)) => return Err(error.into()),
            Some(PathError::Blocked) => self.progress.blocked += 1,
            Some(PathError::Skipped) => self.skipped += 1,
            None if self.learned.is_empty() => return Err(ExploreError::NoTransactions.into()),
            None => self.progress.explored += 1,
        }
        self.progress.share += share;
        self.stack.extend(branches);
        Ok(Some(RemoteRun { ended, complete, final_state, disorder, history }))
    }

    /// A run written down, so that [`RemoteSearch::again`] makes it again.
    pub fn schedule<E>(&self, run: &RemoteRun<E>) -> RemoteSchedule {
        RemoteSchedule::of(&self.learned, &run.history, run.final_state)
    }

    /// Looks at the history of a run.
    pub fn look<E, T>(&self, run: &RemoteRun<E>, look: impl FnOnce(&Run<'_, Learned>) -> T) -> T {
        self.learned.look(&run.history, look)
    }
}

impl Learned {
    /// Looks at a history of this program.
    pub(crate) fn look<T>(&self, history: &Ordered, look: impl FnOnce(&Run<'_, Learned>) -> T) -> T {
        let runner = Runner::of(self, Arc::new(self.outline.clone()), self.keys.clone());
        let node = Node { history: history.clone(), left: vec![None; MOST_TRANSACTIONS + 1], share: 1.0, server: None };
        look(&Run::new(&runner, node))
    }
}
