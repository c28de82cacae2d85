//! A search in pieces finds what it finds in one piece, however it is cut.

use crate::random_programs::{Features, Random, program};
use crate::script::{Script, search};
use skew_explore::{ExploreError, IsolationLevel, Options, Search, Subtree};

fn rest(search: &mut Search<'_, Script>) -> Vec<String> {
    let mut runs = Vec::new();
    while let Some(run) = search.next_run().unwrap() {
        runs.push(run.pattern());
    }
    runs
}

/// There and back through text, as between two processes.
fn through_text(subtrees: &[Subtree]) -> Vec<Subtree> {
    serde_json::from_str(&serde_json::to_string(subtrees).unwrap()).unwrap()
}

fn sorted(mut runs: Vec<String>) -> Vec<String> {
    runs.sort();
    runs
}

#[test]
fn a_search_that_is_interrupted_anywhere_goes_on_from_its_frontier() {
    for seed in 0..60 {
        let features = Features { scans: seed % 3 == 0, locks: seed % 5 == 0, mixed: seed % 2 == 0 };
        let program = program(&mut Random::new(900 + seed), features);
        let options = Options::new(IsolationLevel::Causal);
        let mut whole = Search::new(&program, options).unwrap();
        let whole = rest(&mut whole);
        for stop in 0..whole.len() {
            let mut first = Search::new(&program, options).unwrap();
            let mut runs = Vec::new();
            for _ in 0..stop {
                runs.push(first.next_run().unwrap().unwrap().pattern());
            }
            let mut second = Search::nothing(&program, options).unwrap();
            for subtree in through_text(&first.frontier()) {
                second.add(&subtree).unwrap();
            }
            runs.extend(rest(&mut second));
            assert_eq!(sorted(runs), sorted(whole.clone()), "stopped after {stop} of {program:?}");
            let mut progress = first.progress();
            progress += second.progress();
            assert_eq!(progress.explored, whole.len() as u64);
            assert!((progress.share - 1.0).abs() < 1e-9, "{progress:?}");
        }
    }
}

#[test]
fn the_parts_of_a_split_search_are_the_whole() {
    for seed in 0..60 {
        let features = Features { scans: seed % 2 == 0, ..Features::default() };
        let program = program(&mut Random::new(1_900 + seed), features);
        let options = Options::new(IsolationLevel::ReadCommitted);
        let whole = sorted(search(&program, options).unwrap().runs);
        for parts in [1, 2, 3, 5, 8, 100] {
            let mut split = Search::new(&program, options).unwrap();
            split.split(parts).unwrap();
            let subtrees = split.frontier();
            assert!(subtrees.len() >= parts.min(whole.len()), "{} parts", subtrees.len());
            let share: f64 = subtrees.iter().map(Subtree::share).sum();
            assert!((share - 1.0).abs() < 1e-9, "{share}");
            let explored = through_text(&subtrees).into_iter().map(|subtree| {
                let mut part = Search::nothing(&program, options).unwrap();
                part.add(&subtree).unwrap();
                rest(&mut part)
            });
            assert_eq!(sorted(explored.flatten().collect()), whole, "{parts} parts of {program:?}");
        }
    }
}

#[test]
fn what_is_given_away_is_missing_here_and_found_there() {
    let program = Script::parse("r(x) w(x); r(x) w(y) | r(y) w(x); r(y) r(x)");
    let options = Options::new(IsolationLevel::Causal);
    let whole = sorted(search(&program, options).unwrap().runs);
    let (mut here, mut there) = (Search::new(&program, options).unwrap(), Search::nothing(&program, options).unwrap());
    let mut runs = Vec::new();
    let mut given = 0;
    while let Some(run) = here.next_run().unwrap() {
        runs.push(run.pattern());
        if let Some(subtree) = here.give_away() {
            given += 1;
            there.add(&subtree).unwrap();
        }
    }
    assert!(given > 1);
    runs.extend(rest(&mut there));
    assert_eq!(sorted(runs), whole);
}

#[test]
fn a_run_written_down_is_found_again_alone() {
    let program = Script::parse("r(x) w(x); scan w(y) | del(x); r(y) scan");
    let options = Options::new(IsolationLevel::Causal);
    let mut whole = Search::new(&program, options).unwrap();
    while let Some(run) = whole.next_run().unwrap() {
        let mut again = Search::nothing(&program, options).unwrap();
        again.add(&through_text(&[run.subtree()])[0]).unwrap();
        assert_eq!(rest(&mut again), [run.pattern()]);
    }
}

#[test]
fn a_subtree_of_another_program_is_refused() {
    let (one, other) = (Script::parse("w(x); r(x); r(x)"), Script::parse("w(y); r(x) r(y)"));
    let options = Options::new(IsolationLevel::Causal);
    let mut search = Search::new(&one, options).unwrap();
    let mut subtrees = Vec::new();
    while let Some(run) = search.next_run().unwrap() {
        subtrees.push(run.subtree());
    }
    let mut elsewhere = Search::nothing(&other, options).unwrap();
    for subtree in subtrees {
        assert_eq!(elsewhere.add(&subtree), Err(ExploreError::ForeignSubtree));
    }
    let wrong: Subtree = serde_json::from_str(r#"{"transactions":[[9,[0]]],"pending":true,"share":1.0}"#).unwrap();
    assert_eq!(elsewhere.add(&wrong), Err(ExploreError::ForeignSubtree));
}
