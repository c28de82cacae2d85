//! Which tests take long.
//!
//! A test has five minutes. One that takes a good part of a minute stands here with the limit that it has, the longest first: these begin
//! first, so that at the end no core waits for one of them.

use crate::job::Job;
use std::time::Duration;

/// What a test has that is not in the table.
const USUAL: Duration = Duration::from_secs(300);

/// Tests and their limits in seconds.
const LONG: [(&str, u64); 16] = [
    ("cli clients every_client_works_at_every_level_whatever_is_read", 900),
    ("cli clients every_client_works_in_latest", 600),
    ("workload servers promises::postgresql_keeps_snapshot_on_every_workload", 600),
    ("workload servers promises::postgresql_keeps_serializable_on_every_workload", 600),
    ("workload servers promises::postgresql_keeps_read_committed_on_every_workload", 600),
    ("cli agree what_postgresql_does_the_explorer_has", 600),
    ("cli clients the_programs_are_right_because_they_pass_on_postgresql", 600),
    ("cli house console::console_blocks_print_what_they_say", 600),
    ("cli agree failures_that_clients_take_back_are_read_like_everything_else", 600),
    ("doc tests", 600),
    ("check properties the_fast_checker_agrees_with_the_definitions_and_certifies_it", 300),
    ("cli skew explore::parts_add_up_to_the_whole", 300),
    ("cli skew corpus::every_label_of_the_corpus_is_our_verdict", 300),
    ("cli clients ordinary_suites_on_one_connection_pass_whatever_is_read", 300),
    ("cli skew up::a_cluster_ends_with_skew_even_when_it_is_asked_twice", 300),
    ("cli skew up::servers_end_with_skew_however_it_ends", 300),
];

/// How long a test may take.
pub(crate) fn limit(title: &str) -> Duration {
    LONG.iter().find(|(long, _)| *long == title).map_or(USUAL, |(_, seconds)| Duration::from_secs(*seconds))
}

/// The place of a test in the table, or after it.
pub(crate) fn rank(title: &str) -> usize {
    LONG.iter().position(|(long, _)| *long == title).unwrap_or(LONG.len())
}

/// The names in the table that nobody has any more, among all tests: limits for nothing, which count as a failure.
pub(crate) fn idle(jobs: &[Job]) -> Vec<&'static str> {
    let names = LONG.iter().map(|(long, _)| *long);
    names.filter(|long| jobs.iter().all(|job| job.title() != *long)).collect()
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
