//! Which tests take long.
//!
//! A test has five minutes. One that takes a good part of a minute stands here with the limit that it has, the longest first: these begin
//! first, so that at the end no core waits for one of them.

use crate::job::Job;
use std::time::Duration;

/// What a test has that is not in the table.
const USUAL: Duration = Duration::from_secs(300);

/// Tests and their limits in seconds.
const LONG: [(&str, u64); 1] = [("doc tests", 600)];

/// How long a test may take.
pub(crate) fn limit(title: &str) -> Duration {
    LONG.iter().find(|(long, _)| *long == title).map_or(USUAL, |(_, seconds)| Duration::from_secs(*seconds))
}

/// The place of a test in the table, or after it.
pub(crate) fn rank(title: &str) -> usize {
    LONG.iter().position(|(long, _)| *long == title).unwrap_or(LONG.len())
}

/// A name that nobody has any more is an error: it would be a limit for nothing.
pub(crate) fn expect_all(jobs: &[Job]) -> Result<(), String> {
    match LONG.iter().find(|(long, _)| jobs.iter().all(|job| job.title() != *long)) {
        Some((long, _)) => Err(format!("crates/testing/src/limit.rs names a test that is not there: {long}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_comes_later_and_has_the_usual_limit() {
        assert!(rank("doc tests") < rank("check spec a"));
        assert_eq!(limit("check spec a"), USUAL);
    }
}
