//! Several threads on one exploration.
//!
//! ```text
//!   pool of subtrees ──> worker: its own program, its own search ──> tally
//!         ▲                   │  somebody has nothing to do: gives the largest part of what it has left away
//!         └───────────────────┘
//! ```
//!
//! At the levels of engines a search knows which histories it has met, and is not split: there a thread explores a whole level.
//!
//! Each worker parses the program for itself and counts for itself; tallies are added in the end. When the exploration is stopped, what is
//! left of every search goes back to the pool, where a later run can take it up.

use super::tally::LevelTally;
use super::unfinished::{Unfinished, UnfinishedLevel};
use super::{ExploredProgram, baseline, told_estimate};
use crate::Complaint;
use skew_explore::{ExploreError, Options, Progress, Search, SqlProgram, Subtree};
use skew_program::Program;
use std::panic::resume_unwind;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// How often somebody is told how far it is.
const TOLD_EVERY: Duration = Duration::from_millis(200);

/// How much is explored.
#[derive(Clone, Copy)]
pub struct Pace {
    /// So many histories are looked at.
    pub budget: u64,
    /// Whether the first run in which an assertion fails is the last.
    pub stop_at_first: bool,
}

/// How it is explored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Each history once, by swaps.
    Swaps {
        /// So many threads; at levels of engines each explores a level of its own. Who wants to stop early takes one, because which of several is first would be chance.
        jobs: usize,
    },
    /// Every order of transactions.
    EveryOrder,
}

impl ExploredProgram<'_> {
    /// Explores what is left at every level; `progress` is told in a line how far it is.
    pub fn explore(
        &self,
        unfinished: &mut Unfinished,
        algorithm: Algorithm,
        pace: Pace,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), Complaint> {
        let is_of_engine =
            |level: &UnfinishedLevel| self.isolation(level).is_ok_and(|level| level.of_engine().is_some());
        if let Algorithm::Swaps { jobs: 2.. } = algorithm
            && unfinished.levels.iter().all(is_of_engine)
        {
            return self.explore_side_by_side(unfinished, algorithm, pace, progress);
        }
        unfinished.levels.iter_mut().try_for_each(|level| self.explore_level(level, algorithm, pace, progress))
    }

    fn explore_level(
        &self,
        level: &mut UnfinishedLevel,
        algorithm: Algorithm,
        pace: Pace,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), Complaint> {
        let options = self.terms.options(self.isolation(level)?);
        let (start, tally) = (std::mem::take(&mut level.left), std::mem::take(&mut level.tally));
        (level.tally, level.left) = match algorithm {
            Algorithm::Swaps { jobs } => explore(self, options, pace, jobs, start, tally, progress)?,
            Algorithm::EveryOrder => baseline::explore(self, options, pace, tally)?,
        };
        Ok(())
    }

    /// The same where an exploration is not split, because it knows which histories it has met: several levels at a time.
    fn explore_side_by_side(
        &self,
        unfinished: &mut Unfinished,
        algorithm: Algorithm,
        pace: Pace,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), Complaint> {
        let Algorithm::Swaps { jobs } = algorithm else { return Ok(()) };
        let alone = Algorithm::Swaps { jobs: 1 };
        let waiting = Mutex::new(unfinished.levels.iter_mut());
        let (lines, told) = channel::<String>();
        let work = |lines: Sender<String>| -> Result<(), Complaint> {
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(level) = next() {
                // Who tells has gone only when everything is over.
                self.explore_level(level, alone, pace, &mut |line| drop(lines.send(line.to_owned())))?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let work = &work;
            let spawn = |_| {
                let lines = lines.clone();
                scope.spawn(move || work(lines))
            };
            let workers: Vec<_> = (0..jobs).map(spawn).collect();
            drop(lines);
            told.iter().for_each(|line| progress(&line));
            let join = |worker: ScopedJoinHandle<'_, Result<(), Complaint>>| {
                worker.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            workers.into_iter().map(join).collect::<Vec<_>>().into_iter().collect()
        })
    }
}

/// What waits, and what is known so far.
struct Pool {
    waiting: Vec<Subtree>,
    /// Workers that are there,
    workers: usize,
    /// and those of them that have nothing to do.
    idle: usize,
    stopped: bool,
    explored: u64,
    share: f64,
    tally: LevelTally,
    /// Why the exploration broke off.
    trouble: Option<ExploreError>,
}

struct Workshop {
    pool: Mutex<Pool>,
    /// There is something for those who have nothing to do.
    bell: Condvar,
    /// A worker is gone.
    gone: Condvar,
}

impl Workshop {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Explores subtrees; gives what was counted and what is left.
fn explore(
    subject: &ExploredProgram<'_>,
    options: Options,
    pace: Pace,
    jobs: usize,
    start: Vec<Subtree>,
    tally: LevelTally,
    progress: &mut dyn FnMut(&str),
) -> Result<(LevelTally, Vec<Subtree>), Complaint> {
    let share = 1.0 - start.iter().map(Subtree::share).sum::<f64>();
    let explored = tally.explored;
    let stopped = explored >= pace.budget;
    let pool = Pool { waiting: start, workers: jobs, idle: 0, stopped, explored, share, tally, trouble: None };
    let shared = Workshop { pool: Mutex::new(pool), bell: Condvar::new(), gone: Condvar::new() };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| Worker::run(&shared, subject, options, pace, jobs));
        }
        shared.tell(options, progress);
    });
    let pool = shared.pool.into_inner().unwrap_or_else(PoisonError::into_inner);
    match pool.trouble {
        Some(trouble) => Err(subject.trouble(&trouble)),
        None => Ok((pool.tally, pool.waiting)),
    }
}

impl Workshop {
    /// Tells how far it is, until nobody works any more.
    fn tell(&self, options: Options, progress: &mut dyn FnMut(&str)) {
        let began = Instant::now();
        let mut pool = self.pool();
        while pool.workers > 0 {
            let waited = self.gone.wait_timeout(pool, TOLD_EVERY).unwrap_or_else(PoisonError::into_inner);
            pool = waited.0;
            let (explored, share) = (pool.explored, pool.share);
            if waited.1.timed_out() {
                drop(pool);
                let all = told_estimate(Progress { explored, blocked: 0, share });
                let speed = explored as f64 / began.elapsed().as_secs_f64().max(0.001);
                progress(&format!("{}: {explored} histories{all}, {speed:.0} a second", options.level));
                pool = self.pool();
            }
        }
    }
}

/// Somebody who is there. One who leaves in a panic stops the others: they would wait for it for ever.
struct Attendant<'a>(&'a Workshop);

impl Drop for Attendant<'_> {
    fn drop(&mut self) {
        let mut pool = self.0.pool();
        pool.workers -= 1;
        pool.stopped |= std::thread::panicking();
        self.0.bell.notify_all();
        self.0.gone.notify_all();
    }
}

/// One thread.
struct Worker<'a> {
    shared: &'a Workshop,
    subject: &'a ExploredProgram<'a>,
    options: Options,
    pace: Pace,
    jobs: usize,
    program: &'a SqlProgram,
    tally: LevelTally,
}

impl Worker<'_> {
    fn run(shared: &Workshop, subject: &ExploredProgram<'_>, options: Options, pace: Pace, jobs: usize) {
        let _attendant = Attendant(shared);
        // The text was parsed before: it is the same again.
        let dialect = subject.program().dialect();
        let Ok(program) = Program::parse_in(&subject.file.text, subject.clock.0, dialect) else { return };
        let tally = LevelTally::new(program.assertions().len());
        let program = &SqlProgram::new(program, subject.sql_options()).without(subject.left_out.clone());
        let mut worker = Worker { shared, subject, options, pace, jobs, program, tally };
        let outcome = worker.take_and_explore();
        let mut pool = shared.pool();
        pool.tally.add(worker.tally);
        if let Err(trouble) = outcome {
            pool.trouble.get_or_insert(trouble);
            pool.stopped = true;
        }
    }

    /// Takes subtrees until there are none.
    fn take_and_explore(&mut self) -> Result<(), ExploreError> {
        let program = self.program;
        let mut search = Search::nothing(program, self.options)?;
        while let Some(subtree) = self.take() {
            search.add(&subtree)?;
            self.explore_all(&mut search)?;
        }
        Ok(())
    }

    /// The next subtree; nothing when everything is done, or the exploration was stopped.
    fn take(&self) -> Option<Subtree> {
        let mut pool = self.shared.pool();
        pool.idle += 1;
        loop {
            if pool.stopped || self.subject.terms.stop.is_stopped() {
                return None;
            }
            if let Some(subtree) = pool.waiting.pop() {
                pool.idle -= 1;
                return Some(subtree);
            }
            if pool.idle == self.jobs {
                self.shared.bell.notify_all();
                return None;
            }
            let waited = self.shared.bell.wait_timeout(pool, TOLD_EVERY);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Explores all that a search has; what is left when the exploration is stopped goes back.
    fn explore_all(&mut self, search: &mut Search<'_, SqlProgram>) -> Result<(), ExploreError> {
        let mut share = search.progress().share;
        while !self.is_over(search) {
            let Some(run) = search.next_run_unless(&|| self.subject.terms.stop.is_stopped())? else {
                match self.subject.terms.stop.is_stopped() {
                    true => continue,
                    false => return Ok(()),
                }
            };
            let mut one = LevelTally::new(self.tally.assertions.len());
            let failed = one.count(self.program, &run, &self.subject.terms);
            if one.is_open() && self.subject.terms.stop.is_stopped() {
                // It was not looked at to the end: it is left for whoever goes on.
                let run = run.subtree();
                self.shared.pool().waiting.push(run);
                continue;
            }
            self.tally.add(one);
            let now = search.progress().share;
            let mut pool = self.shared.pool();
            pool.explored += 1;
            pool.share += now - share;
            share = now;
            pool.stopped |= pool.explored >= self.pace.budget || (failed && self.pace.stop_at_first);
            if pool.idle > pool.waiting.len()
                && let Some(subtree) = search.give_away()
            {
                pool.waiting.push(subtree);
                self.shared.bell.notify_one();
            }
        }
        Ok(())
    }

    /// Whether the exploration was stopped; what the search has left goes back then.
    fn is_over(&self, search: &mut Search<'_, SqlProgram>) -> bool {
        let mut pool = self.shared.pool();
        if !pool.stopped && !self.subject.terms.stop.is_stopped() {
            return false;
        }
        pool.waiting.append(&mut search.frontier());
        true
    }
}
