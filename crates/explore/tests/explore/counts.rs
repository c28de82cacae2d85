//! Programs whose numbers of runs are known.

use crate::script::{Script, compare, count};
use skew_explore::{IsolationLevel, Options};

/// A program and its numbers of runs at the seven levels, weakest first.
type Row = (&'static str, &'static str, [usize; 7]);

const KNOWN: &[Row] = &[
    ("lost update", "r(x) w(x); r(x) w(x)", [3, 3, 3, 3, 2, 2, 2]),
    ("write skew", "r(x) r(y) w(x); r(x) r(y) w(y)", [3, 3, 3, 3, 3, 3, 2]),
    ("long fork", "w(x); w(y); r(x) r(y); r(x) r(y)", [16, 16, 16, 14, 16, 14, 14]),
    ("store buffer", "w(x) r(y); w(y) r(x)", [3, 3, 3, 3, 3, 3, 2]),
    ("fractured read", "w(x) w(y); r(x) r(y)", [3, 2, 2, 2, 2, 2, 2]),
    ("causality", "w(x); r(x) w(y); r(y) r(x)", [8, 8, 7, 7, 7, 7, 6]),
    ("figure 12a", "r(x); w(x); r(x); w(x)", [9; 7]),
    ("plain select, then update", "r(x) r(x) w(x); r(x) r(x) w(x)", [5, 3, 3, 3, 2, 2, 2]),
    ("select, then update", "r(x) lock r(x) w(x); r(x) lock r(x) w(x)", [4, 4, 4, 4, 2, 2, 2]),
    ("atomic increment", "lock r(x) w(x); lock r(x) w(x)", [2; 7]),
];

#[test]
fn known_programs_have_their_numbers_of_runs() {
    for (name, text, counts) in KNOWN {
        let found: Vec<usize> = IsolationLevel::of_papers().map(|level| count(text, level)).collect();
        assert_eq!(found, *counts, "{name}: {text}");
    }
}

#[test]
fn what_the_condition_on_swapped_reads_would_lose_is_found() {
    use IsolationLevel::{Causal, ReadAtomic, ReadCommitted};
    let levels = [ReadCommitted, ReadAtomic, Causal];
    assert_eq!(levels.map(|level| count("r(y) r(x); w(x); r(x) w(y) | w(x)", level)), [12, 12, 9]);
    for level in levels {
        compare(&Script::parse("r(x) r(y); w(x) r(y) | w(y); w(y)"), Options::new(level));
    }
}
