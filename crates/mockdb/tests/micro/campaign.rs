//! Campaigns: run after run with fresh seeds, and how many iterations it takes until an assertion fails.
//!
//! ```text
//!   iterations   1 2 3 4 5 6 7 8 9 …        failed: 4, 5, 9        3 first failures after 4, 1, 4 iterations: 3.0 on average
//! ```
//!
//! Runs are independent, so every failure ends one search and begins the next.

use crate::harness::{Application, Harness, Setting};
use skew_mockdb::KvError;

const SESSIONS: usize = 3;
const OPERATIONS: usize = 3;

/// How an assertion fared.
#[derive(Clone, Copy, Default)]
pub(crate) struct Failures {
    pub(crate) count: usize,
    /// The last iteration that failed, counted from 1.
    last: usize,
}

impl Failures {
    /// Iterations until it failed, on average.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.last as f64 / self.count as f64)
    }
}

/// Runs until every assertion that can fail has failed often enough, or the iterations are used up.
pub(crate) fn failures<A: Application>(
    setting: &Setting,
    iterations: usize,
    enough: usize,
) -> Result<(usize, Vec<Failures>), KvError> {
    let mut found = vec![Failures::default(); A::ASSERTIONS.len()];
    for iteration in 1..=iterations {
        let seed = iteration as u64;
        let run = Harness::<A>::draw(seed, SESSIONS, OPERATIONS).run(setting, seed)?;
        for (failures, _) in found.iter_mut().zip(A::failures(&run)).filter(|found| found.1) {
            *failures = Failures { count: failures.count + 1, last: iteration };
        }
        if found.iter().all(|failures| failures.count >= enough) {
            return Ok((iteration, found));
        }
    }
    Ok((iterations, found))
}
