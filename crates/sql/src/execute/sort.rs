//! Sorting rows with pauses, so that a sort of a million of them can be stopped.
//!
//! ```text
//!   runs of some thousand rows, each sorted at once ── merged two and two, pausing every so many rows ── one run
//! ```
//!
//! Equal rows stay in their order: of two runs the earlier one goes first.

use super::Execution;
use crate::stop::Stop;
use std::cmp::Ordering;

/// So many rows are sorted without a pause, which takes about a millisecond.
const RUN: usize = 4096;

impl Execution<'_> {
    /// The rows in order.
    pub(super) fn sorted<T>(
        &mut self,
        mut rows: Vec<T>,
        compare: impl Fn(&T, &T) -> Ordering + Copy,
    ) -> Result<Vec<T>, Stop> {
        if rows.len() <= RUN {
            rows.sort_by(compare);
            return Ok(rows);
        }
        let mut runs: Vec<Vec<T>> = Vec::with_capacity(rows.len() / RUN + 1);
        let mut rows = rows.into_iter();
        loop {
            let mut run: Vec<T> = rows.by_ref().take(RUN).collect();
            if run.is_empty() {
                break;
            }
            run.sort_by(compare);
            self.storage.pause()?;
            runs.push(run);
        }
        while runs.len() > 1 {
            let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
            let mut pairs = runs.into_iter();
            while let Some(first) = pairs.next() {
                merged.push(match pairs.next() {
                    Some(second) => self.merged(first, second, compare)?,
                    None => first,
                });
            }
            runs = merged;
        }
        Ok(runs.pop().unwrap_or_default())
    }

    fn merged<T>(
        &mut self,
        first: Vec<T>,
        second: Vec<T>,
        compare: impl Fn(&T, &T) -> Ordering,
    ) -> Result<Vec<T>, Stop> {
        let mut rows = Vec::with_capacity(first.len() + second.len());
        let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
        loop {
            let next = match (first.peek(), second.peek()) {
                (Some(one), Some(other)) if compare(other, one) == Ordering::Less => second.next(),
                (Some(_), _) => first.next(),
                (None, _) => second.next(),
            };
            let Some(next) = next else { return Ok(rows) };
            rows.push(next);
            if rows.len().is_multiple_of(RUN) {
                self.storage.pause()?;
            }
        }
    }
}
