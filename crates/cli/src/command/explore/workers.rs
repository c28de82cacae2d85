//! Several threads on one exploration.
//!
//! ```text
//!   pool of subtrees ──> worker: its own program, its own search ──> tally
//!         ▲                   │  somebody has nothing to do: gives the largest part of what it has left away
//!         └───────────────────┘
//! ```
//!
//! Each worker parses the program for itself and counts for itself; tallies are added in the end. When the exploration is stopped, what is
//! left of every search goes back to the pool, where a later run can take it up.

use super::tally::{Questions, Tally};
use crate::clock;
use crate::console::Console;
use skew_campaign::Moment;
use skew_explore::{ExploreError, Options, Place, Progress, Search, SqlOptions, SqlProgram, Subtree};
use skew_program::Program;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the progress line is drawn.
const DRAWN_EVERY: Duration = Duration::from_millis(200);

/// What is to be explored, and how.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) text: &'a str,
    /// When the program's time begins.
    pub(super) clock: Moment,
    pub(super) sql: SqlOptions,
    pub(super) left_out: &'a BTreeSet<Place>,
    pub(super) options: Options,
    pub(super) questions: Questions,
    pub(super) jobs: usize,
    /// So many histories are looked at.
    pub(super) budget: u64,
    pub(super) stop_at_first: bool,
}

/// What waits, and what is known so far.
struct Pool {
    waiting: Vec<Subtree>,
    /// Workers that have nothing to do.
    idle: usize,
    stopped: bool,
    explored: u64,
    share: f64,
    tally: Tally,
    /// Why the exploration broke off.
    trouble: Option<ExploreError>,
}

struct Shared {
    pool: Mutex<Pool>,
    bell: Condvar,
}

impl Shared {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Explores subtrees; gives what was counted and what is left.
pub(super) fn explore(
    work: Work<'_>,
    start: Vec<Subtree>,
    tally: Tally,
    console: &mut Console,
) -> Result<(Tally, Vec<Subtree>), ExploreError> {
    let share = 1.0 - start.iter().map(Subtree::share).sum::<f64>();
    let explored = tally.explored;
    let stopped = explored >= work.budget;
    let pool = Pool { waiting: start, idle: 0, stopped, explored, share, tally, trouble: None };
    let shared = Shared { pool: Mutex::new(pool), bell: Condvar::new() };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..work.jobs).map(|_| scope.spawn(|| Worker::run(&shared, work))).collect();
        let began = Instant::now();
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(if console.shows_progress() { DRAWN_EVERY } else { Duration::from_millis(5) });
            draw(&shared, work, began, console);
        }
    });
    console.progress("");
    let pool = shared.pool.into_inner().unwrap_or_else(PoisonError::into_inner);
    match pool.trouble {
        Some(trouble) => Err(trouble),
        None => Ok((pool.tally, pool.waiting)),
    }
}

fn draw(shared: &Shared, work: Work<'_>, began: Instant, console: &mut Console) {
    if !console.shows_progress() {
        return;
    }
    let (explored, share) = {
        let pool = shared.pool();
        (pool.explored, pool.share)
    };
    let all = told_estimate(Progress { explored, blocked: 0, share });
    let speed = explored as f64 / began.elapsed().as_secs_f64().max(0.001);
    console.progress(&format!("{}: {explored} histories{all}, {speed:.0} a second", work.options.level));
}

/// How many histories there may be in all, as far as that can be told.
pub(super) fn told_estimate(progress: Progress) -> String {
    progress.estimate().map_or(String::new(), |all| format!(" of about {all:.0}"))
}

/// Stops the others when a thread panics: they would wait for it for ever.
struct Alarm<'a> {
    shared: &'a Shared,
    is_set: bool,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if self.is_set {
            self.shared.pool().stopped = true;
            self.shared.bell.notify_all();
        }
    }
}

/// One thread.
struct Worker<'a> {
    shared: &'a Shared,
    work: Work<'a>,
    program: &'a SqlProgram,
    tally: Tally,
}

impl Worker<'_> {
    fn run(shared: &Shared, work: Work<'_>) {
        // The text was parsed before: it is the same again.
        let Ok(program) = Program::parse_at(work.text, work.clock.0) else { return };
        let assertions = program.assertions().len();
        let program = SqlProgram::new(program, work.sql).without(work.left_out.clone());
        let mut worker = Worker { shared, work, program: &program, tally: Tally::new(assertions) };
        let mut alarm = Alarm { shared, is_set: true };
        let outcome = worker.take_and_explore();
        alarm.is_set = false;
        let mut pool = shared.pool();
        pool.tally.add(std::mem::take(&mut worker.tally));
        if let Err(trouble) = outcome {
            pool.trouble.get_or_insert(trouble);
            pool.stopped = true;
        }
        shared.bell.notify_all();
    }

    /// Takes subtrees until there are none.
    fn take_and_explore(&mut self) -> Result<(), ExploreError> {
        let program = self.program;
        let mut search = Search::nothing(program, self.work.options)?;
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
            if pool.stopped || clock::is_stopped() {
                return None;
            }
            if let Some(subtree) = pool.waiting.pop() {
                pool.idle -= 1;
                return Some(subtree);
            }
            if pool.idle == self.work.jobs {
                self.shared.bell.notify_all();
                return None;
            }
            let waited = self.shared.bell.wait_timeout(pool, DRAWN_EVERY);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Explores all that a search has; what is left when the exploration is stopped goes back.
    fn explore_all(&mut self, search: &mut Search<'_, SqlProgram>) -> Result<(), ExploreError> {
        let mut share = search.progress().share;
        while !self.is_over(search) {
            let Some(run) = search.next_run()? else { return Ok(()) };
            let mut one = Tally::new(self.tally.assertions.len());
            let failed = one.count(self.program, &run, self.work.questions);
            if one.is_open() && clock::is_stopped() {
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
            pool.stopped |= pool.explored >= self.work.budget || (failed && self.work.stop_at_first);
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
        if !pool.stopped && !clock::is_stopped() {
            return false;
        }
        pool.waiting.append(&mut search.frontier());
        true
    }
}
