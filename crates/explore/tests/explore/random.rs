//! Random programs: the search finds what brute force finds, once. `SKEW_SEED` and `SKEW_PROGRAMS` repeat or extend.

use crate::random_programs::{Features, Random, program, program_of};
use crate::script::{Op, Script, compare, search};
use skew_explore::{Base, Baseline, IsolationLevel, Options, Search};
use skew_sql::KeyPart;
use std::collections::BTreeSet;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn programs(count: u64, features: Features, mut test: impl FnMut(&Script)) {
    let (seed, count) = (number("SKEW_SEED", 1), number("SKEW_PROGRAMS", count));
    for offset in 0..count {
        let mut random = Random::new((seed + offset) * 8 + u64::from(features.scans) + 2 * u64::from(features.locks));
        test(&program(&mut random, features));
    }
}

/// At all seven levels: the runs are those of brute force; at the first three nothing is explored in vain.
fn compare_at_all_levels(program: &Script, plain: bool) {
    for level in IsolationLevel::of_papers() {
        let found = compare(program, Options::new(level));
        if plain && IsolationLevel::Causal.implies(level) {
            assert_eq!((found.blocked, found.explored), (0, found.runs.len() as u64), "{program:?} at {level}");
        }
    }
}

#[test]
fn plain_programs_have_the_runs_of_brute_force() {
    programs(1_500, Features::default(), |program| compare_at_all_levels(program, true));
}

#[test]
fn programs_with_scans_have_the_runs_of_brute_force() {
    programs(900, Features { scans: true, ..Features::default() }, |program| compare_at_all_levels(program, true));
}

#[test]
fn programs_with_locking_reads_have_the_runs_of_brute_force() {
    programs(500, Features { locks: true, ..Features::default() }, |program| compare_at_all_levels(program, false));
}

#[test]
fn programs_of_mixed_levels_have_the_runs_of_brute_force() {
    let mut directly = 0;
    programs(900, Features { mixed: true, ..Features::default() }, |program| {
        let found = compare(program, Options::new(IsolationLevel::Causal));
        let mut levels = program.sessions.iter().flatten().filter_map(|transaction| transaction.1);
        if levels.all(|level| IsolationLevel::Causal.implies(level)) {
            directly += 1;
            assert_eq!((found.blocked, found.explored), (0, found.runs.len() as u64), "{program:?}");
        }
    });
    assert!(directly > 0, "some programs mix read-committed, read-atomic and causal only");
    let features = Features { mixed: true, scans: true, ..Features::default() };
    programs(300, features, |program| drop(compare(program, Options::new(IsolationLevel::Causal))));
}

#[test]
fn programs_with_everything_have_the_runs_of_brute_force() {
    let features = Features { scans: true, locks: true, mixed: true };
    programs(300, features, |program| drop(compare(program, Options::new(IsolationLevel::Causal))));
    let features = Features { mixed: false, ..features };
    programs(150, features, |program| compare_at_all_levels(program, false));
}

#[test]
fn weaker_bases_find_the_same_runs() {
    programs(150, Features::default(), |program| {
        for level in [IsolationLevel::Causal, IsolationLevel::Serializable] {
            for base in [Base::Any, Base::ReadCommitted, Base::ReadAtomic] {
                compare(program, Options { base: Some(base), ..Options::new(level) });
            }
        }
    });
}

/// Too large for brute force: the search against every order of transactions, both of which keep to the base as they go.
#[test]
fn larger_programs_have_the_runs_of_every_order() {
    let mut runs = 0;
    for seed in 0..number("SKEW_PROGRAMS", 80) {
        let features = Features { scans: seed % 3 == 0, locks: seed % 7 == 0, mixed: seed % 4 == 0 };
        let program = program_of(&mut Random::new(70_000 + seed), features, 5 + seed as usize % 2);
        for level in [IsolationLevel::ReadCommitted, IsolationLevel::ReadAtomic, IsolationLevel::Causal] {
            let mut search = Search::new(&program, Options::new(level)).unwrap();
            let mut found = BTreeSet::new();
            while let Some(run) = search.next_run().unwrap() {
                assert!(found.insert(run.pattern()), "{} comes twice in {program:?} at {level}", run.pattern());
            }
            assert_eq!(search.progress().blocked, 0, "{program:?} at {level}");
            let mut baseline = Baseline::new(&program, Options::new(level)).unwrap();
            let mut all = BTreeSet::new();
            while let Some(run) = baseline.next_run().unwrap() {
                all.insert(run.pattern());
            }
            runs += all.len();
            assert!(all == found, "{} of {} runs of {program:?} at {level}", found.len(), all.len());
        }
    }
    assert!(runs > 1_000, "the programs are worth it: {runs}");
}

/// A scan stands for one read of every key that there could ever be.
#[test]
fn a_scan_is_as_many_reads_as_there_could_be_keys() {
    programs(600, Features { scans: true, ..Features::default() }, |program| {
        let mut whole = program.clone();
        let mut reads = program.clone();
        for (one, other) in whole.sessions.iter_mut().zip(&mut reads.sessions) {
            for (one, other) in one.iter_mut().zip(other) {
                one.0.iter_mut().for_each(without_limit);
                other.0 = one.0.iter().flat_map(as_reads).collect();
                // What a condition looks at differs between a scan and its last read.
                one.0.retain(|op| *op != Op::If);
                other.0.retain(|op| *op != Op::If);
            }
        }
        for level in [IsolationLevel::ReadCommitted, IsolationLevel::Causal, IsolationLevel::Serializable] {
            let counts = [&whole, &reads].map(|program| search(program, Options::new(level)).unwrap().runs.len());
            assert_eq!(counts[0], counts[1], "{whole:?} at {level}");
        }
    });
}

fn without_limit(op: &mut Op) {
    if let Op::Scan(range) = op {
        range.limit = None;
    }
}

fn as_reads(op: &Op) -> Vec<Op> {
    let Op::Scan(range) = op else { return vec![op.clone()] };
    let inside = |number: &i128| {
        let part = KeyPart::Number(*number);
        range.low.as_ref().is_none_or(|low| *low <= part) && range.high.as_ref().is_none_or(|high| part <= *high)
    };
    (1..=3).filter(inside).map(|number| Op::Read(format!("k/{number}"), false)).collect()
}
