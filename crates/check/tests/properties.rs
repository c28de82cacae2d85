//! The fast checker says what the oracle says, on random histories of every kind; and its certificates check.
//!
//! The seed is printed; `SKEW_SEED` and `SKEW_HISTORIES` repeat or extend a run.

#![allow(clippy::print_stderr)]

mod support;

use skew_check::spec::{might_allow_engine_levels, satisfies};
use skew_check::{Budget, IsolationLevel, LevelReport, Options, Verdict, cannot_ask, check, check_levels};
use skew_history::format::{self, Format};
use skew_history::{EngineLevel, History};
use support::{Random, Shape, describe, random_history, rename, truthful_history};

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Calls `test` with random histories of all shapes.
#[allow(clippy::print_stderr, reason = "the seed repeats a failure")]
fn for_random_histories(name: &str, count: u64, mut test: impl FnMut(&History, &mut Random)) {
    let seed = environment("SKEW_SEED", 2023);
    let count = environment("SKEW_HISTORIES", count);
    eprintln!("{name}: {count} histories from seed {seed}");
    for number in 0..count {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let shape = if number % 4 == 0 { Shape::PLAIN } else { Shape::any(&mut random) };
        let history = random_history(&mut random, &shape);
        test(&history, &mut random);
    }
}

fn levels(history: &History) -> Vec<IsolationLevel> {
    let of_papers = IsolationLevel::all().filter(|level| level.of_engine().is_none());
    of_papers.filter(|&level| cannot_ask(history, level).is_none()).collect()
}

fn is_certified(history: &History, report: &LevelReport) -> bool {
    match &report.verdict {
        Verdict::Holds(order) => order.justifies(history, report.level),
        Verdict::Fails(anomaly) => anomaly.refutes(history, report.level),
        Verdict::Unknown(_) => false,
    }
}

#[test]
fn the_fast_checker_agrees_with_the_definitions_and_certifies_it() {
    for_random_histories("fast = spec", 20_000, |history, _| {
        for level in levels(history) {
            for prune in [true, false] {
                let options = Options { prune };
                let report = &check_levels(history, &[level], options, Budget::UNLIMITED)[0];
                let expected = if satisfies(history, level) { "holds" } else { "fails" };
                let words = || format!("{level}, prune {prune}, of\n{}\n{:?}", describe(history), report.verdict);
                assert_eq!(report.verdict.word(), expected, "{}", words());
                assert!(is_certified(history, report), "the certificate does not check: {}", words());
            }
        }
    });
}

/// A history for the levels of the engines: smaller, because there the definition tries all lock orders, and mostly with statements, of kinds that
/// need not make sense on their events.
fn history_of_statements(random: &mut Random, number: u64) -> History {
    loop {
        let any = if number.is_multiple_of(4) { Shape::PLAIN } else { Shape::any(random) };
        let statements = any.statements || number.is_multiple_of(2);
        let history = random_history(random, &Shape { transactions: 4, events: 4, statements, ..any });
        if support::lock_orders(&history) <= 600 {
            return history;
        }
    }
}

#[test]
fn the_fast_checker_agrees_with_the_definitions_of_the_engines_and_certifies_it() {
    let (seed, count) = (environment("SKEW_SEED", 2023), environment("SKEW_HISTORIES", 20_000));
    eprintln!("fast = spec at the levels of the engines: {count} histories from seed {seed}");
    let mut held = 0;
    for number in 0..count {
        let random = &mut Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let history = history_of_statements(random, number);
        let engine_level = random.pick(&EngineLevel::ALL);
        let level = IsolationLevel::Engine(engine_level);
        let report = &check_levels(&history, &[level], Options::default(), Budget::UNLIMITED)[0];
        let might_be = || might_allow_engine_levels(&history, &vec![engine_level; history.transaction_count()], true);
        let expected = match satisfies(&history, level) {
            true => "holds",
            false if might_be() => "unknown",
            false => "fails",
        };
        let words = || format!("history {number}: {level} of\n{}\n{:?}", native(&history), report.verdict);
        assert_eq!(report.verdict.word(), expected, "{}", words());
        let is_open = report.verdict.doubt().is_some();
        assert!(is_open || is_certified(&history, report), "the certificate does not check: {}", words());
        held += u64::from(report.verdict.holds());
    }
    eprintln!("{held} hold");
    assert!(held > count / 10 && held < count - count / 10, "{held} of {count} hold");
}

/// All that is told of a history, statements included.
fn native(history: &History) -> String {
    let mut bytes = Vec::new();
    format::write(history, Format::Native, &mut bytes).expect("a history can be written");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn levels_asked_together_get_the_verdicts_they_get_alone() {
    for_random_histories("together = alone", 4_000, |history, _| {
        let levels = levels(history);
        let together = check_levels(history, &levels, Options::default(), Budget::UNLIMITED);
        assert_eq!(together.iter().map(|report| report.level).collect::<Vec<_>>(), levels);
        for report in &together {
            let alone = check(history, report.level, Budget::UNLIMITED);
            assert_eq!(report.verdict.word(), alone.word(), "{} of\n{}", report.level, describe(history));
            assert!(is_certified(history, report), "{} of\n{}", report.level, describe(history));
        }
        for weaker in
            together.iter().filter(|report| report.verdict.holds()).flat_map(|report| report.level.next_weaker())
        {
            let fails = together.iter().any(|report| report.level == *weaker && report.verdict.fails());
            assert!(!fails, "a stronger level than {weaker} holds of\n{}", describe(history));
        }
    });
}

#[test]
fn renaming_changes_no_verdict() {
    for_random_histories("renaming", 4_000, |history, random| {
        let renamed = rename(random, history);
        for level in levels(history) {
            let (one, other) = (check(history, level, Budget::UNLIMITED), check(&renamed, level, Budget::UNLIMITED));
            assert_eq!(one.word(), other.word(), "{level} of\n{}and\n{}", describe(history), describe(&renamed));
        }
    });
}

#[test]
fn a_budget_of_nothing_is_inconclusive_and_never_wrong() {
    for_random_histories("no budget", 2_000, |history, _| {
        for level in levels(history) {
            let little = check(history, level, Budget::steps(3));
            let expected = check(history, level, Budget::UNLIMITED);
            assert!(
                little.word() == "unknown" || little.word() == expected.word(),
                "{level} of\n{}",
                describe(history)
            );
        }
    });
}

/// Too large for the oracle: here pruning and search are what agree, and the certificates are what is trusted.
#[test]
fn larger_histories_are_certified_with_and_without_pruning() {
    for number in 0..600 {
        let mut random = Random::new(77_000 + number);
        let small = if number % 3 == 0 { Shape::PLAIN } else { Shape::any(&mut random) };
        let shape = Shape { transactions: 40, sessions: 8, keys: 6, outcomes: false, ..small };
        // Equal elements of lists are tried one by one, which takes too long here.
        let shape = Shape { duplicates: shape.duplicates && !shape.lists, ..shape };
        let (history, made_at) = truthful_history(&mut random, &shape);
        for level in levels(&history) {
            let verdicts = [true, false].map(|prune| {
                let report = check_levels(&history, &[level], Options { prune }, Budget::UNLIMITED).remove(0);
                assert!(is_certified(&history, &report), "{level} of\n{}", describe(&history));
                report.verdict.word()
            });
            assert_eq!(verdicts[0], verdicts[1], "{level} of\n{}", describe(&history));
            let implied = level != IsolationLevel::Declared && made_at.implies(level);
            assert!(!implied || verdicts[0] == "holds", "made at {made_at}, fails {level}:\n{}", describe(&history));
        }
    }
}

#[test]
fn rows_that_were_found_or_gone_are_drawn_often_enough() {
    let (mut found, mut ambiguous, mut gone, mut holds) = (0, 0, 0, 0);
    for_random_histories("found and gone", 4_000, |history, _| {
        gone += usize::from(!history.all_gone().is_empty());
        if history.features().found_reads {
            found += 1;
            ambiguous += usize::from(support::ambiguity(history) > 1);
            holds += usize::from(check(history, IsolationLevel::Causal, Budget::UNLIMITED).holds());
        }
    });
    eprintln!("found {found}, of which {ambiguous} ambiguous and {holds} causal; gone {gone}");
    assert!(found > 500 && ambiguous > 200 && holds > 100 && holds < found - 100 && gone > 40);
}
