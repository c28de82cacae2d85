//! Runs by their numbers, several at a time.
//!
//! ```text
//!   seeds s, s+1, …  ──> jobs, a thread each ──> runs, as they end ──> whoever looks, in one thread
//! ```
//!
//! What is told of a campaign depends on seeds, never on which run ended first: whoever looks gets the number of each run.

use crate::StopFlags;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// Which runs are still wanted: those before this number.
pub(crate) struct Wanted(AtomicU64);

impl Wanted {
    pub(crate) fn new(runs: u64) -> Wanted {
        Wanted(AtomicU64::new(runs))
    }

    pub(crate) fn wants(&self, number: u64) -> bool {
        number < self.0.load(Ordering::Relaxed)
    }

    /// Gives up all others.
    pub(crate) fn only_before(&self, number: u64) {
        self.0.fetch_min(number, Ordering::Relaxed);
    }
}

/// How far a campaign is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunProgress {
    /// Runs that came to their end.
    pub done: u64,
    /// Runs that were asked for.
    pub runs: u64,
    /// Runs in which something failed.
    pub failed: u64,
}

/// Makes runs until none is wanted any more, with so many jobs, and looks at each as it ends. A job, by its number from 1, is a function
/// that makes the run of a number.
pub(crate) fn run_all<R: Send, J: FnMut(u64) -> R>(
    jobs: u64,
    wanted: &Wanted,
    stop: StopFlags<'_>,
    job: impl Fn(u64) -> J + Sync,
    mut look: impl FnMut(u64, R),
) {
    let (next, job) = (&AtomicU64::new(0), &job);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for number in 1..=jobs {
            let sender = sender.clone();
            scope.spawn(move || {
                let mut run = job(number);
                while !stop.is_stopped() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if !wanted.wants(number) || sender.send((number, run(number))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.into_iter().for_each(|(number, ran)| look(number, ran));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_run_is_made_once_whoever_makes_it() {
        let flag = AtomicBool::new(false);
        let stop = StopFlags { stop: &flag, interrupted: &flag };
        for jobs in [1, 3] {
            let mut seen = BTreeSet::new();
            run_all(
                jobs,
                &Wanted::new(20),
                stop,
                |_| |number| number * 2,
                |number, double| {
                    assert!(double == 2 * number && seen.insert(number));
                },
            );
            assert_eq!(seen, (0..20).collect());
        }
    }

    #[test]
    fn what_is_given_up_is_not_begun() {
        let flag = AtomicBool::new(false);
        let stop = StopFlags { stop: &flag, interrupted: &flag };
        let (wanted, mut seen) = (Wanted::new(20), Vec::new());
        let job = |_| {
            |number| {
                if number == 3 {
                    wanted.only_before(number + 1)
                }
            }
        };
        run_all(1, &wanted, stop, job, |number, ()| seen.push(number));
        assert_eq!(seen, [0, 1, 2, 3]);
        flag.store(true, Ordering::Relaxed);
        run_all(2, &Wanted::new(20), stop, |_| |_| (), |_, ()| panic!("nothing begins after the end"));
    }
}
