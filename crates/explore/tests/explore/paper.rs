//! The programs of the figures of Bouajjani, Enea, Román-Calvo (PLDI 2023).

use crate::script::{Script, compare, count};
use skew_explore::IsolationLevel::{self, *};
use skew_explore::Options;

/// The search agrees with brute force at all seven levels; the numbers of runs.
fn counts(text: &str) -> Vec<usize> {
    IsolationLevel::of_papers().map(|level| compare(&Script::parse(text), Options::new(level)).runs.len()).collect()
}

#[test]
fn figure_6_snapshot_and_serializable_are_not_causally_extensible() {
    // Without the last write every run of these reads is allowed; with it, not the one in which both read the initial x.
    let (without, with) = ("r(x) w(x); r(x)", "r(x) w(x); r(x) w(x)");
    assert_eq!([count(without, Snapshot), count(with, Snapshot)], [2, 2]);
    assert_eq!([count(without, Serializable), count(with, Serializable)], [2, 2]);
    // At causal the write adds a run: the search goes through it, although snapshot does not allow it.
    let found = compare(&Script::parse(with), Options::new(Snapshot));
    assert_eq!((found.explored, found.runs.len()), (3, 2));
}

#[test]
fn figure_10_a_swap_drops_what_is_pending_and_is_never_blocked() {
    let found = compare(&Script::parse("r(x) r(y); w(x) w(y)"), Options::new(ReadCommitted));
    assert_eq!((found.runs.len(), found.explored, found.blocked), (3, 3, 0));
}

#[test]
fn figure_11_a_reader_that_aborted_may_commit_after_a_swap() {
    // a#0 aborts unless it sees d's x: `if` lets the rest of a transaction run only after an even value.
    let text = "r(x) if abort; r(x) w(y); r(z); w(x)";
    let found = counts(text);
    assert_eq!(found[..3], [4, 4, 4]);
    let runs = compare(&Script::parse(text), Options::new(Causal)).runs;
    let aborted = runs.iter().filter(|run| run.contains("!; b#0")).count();
    assert!(aborted > 0 && aborted < runs.len(), "{runs:#?}");
}

#[test]
fn figure_12_dropped_reads_read_the_latest() {
    assert_eq!(counts("r(x); w(x); r(x); w(x)"), [9; 7]);
}

#[test]
fn figure_13_one_read_swapped_on_two_branches_gives_one_run() {
    let found = counts("r(x); r(y); w(y); w(x)");
    assert_eq!(found, [4; 7]);
}

#[test]
fn section_6_no_search_is_strongly_optimal_at_snapshot_and_serializable() {
    // Two transactions, each of which may read what the other writes: whatever comes first, one run is explored in vain.
    let text = "r(x) w(y); r(y) w(x)";
    assert_eq!(counts(text), [3, 3, 3, 3, 3, 3, 2]);
    assert_eq!(counts("r(x) w(x); r(x) w(x)")[4..], [2, 2, 2]);
    assert_eq!(compare(&Script::parse(text), Options::new(Serializable)).explored, 3);
}
