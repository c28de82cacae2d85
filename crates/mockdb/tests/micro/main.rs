//! The micro-benchmarks of the MonkeyDB paper (§7) through the key-value face, in a form that is short enough for every day.
//!
//! `cargo run --release -p skew-mockdb --example micro` prints the whole tables.
//!
//! | module | holds |
//! |---|---|
//! | [`harness`] | sessions, operations, arrival |
//! | [`stack`], [`courseware`], [`shopping`], [`twitter`] | the applications, a page each |
//! | [`campaign`] | iterations until an assertion fails |
//! | [`coverage`] | how much of what can be seen is seen |

mod campaign;
mod courseware;
mod coverage;
mod harness;
mod shopping;
mod stack;
mod twitter;

use courseware::Courseware;
use harness::{Application, Harness, Setting};
use shopping::Shopping;
use skew_mockdb::{ChooserKind, Level, Updates};
use stack::Stack;
use twitter::Twitter;

/// Every assertion fails under causal after at most ten times the iterations of the paper, and never at serializable.
fn assert_order_of_magnitude<A: Application>(iterations: usize) {
    let (_, failures) = campaign::failures::<A>(&Setting::plain(Level::Causal), iterations, 5).expect("runs");
    for (assertion, failures) in A::ASSERTIONS.iter().zip(failures) {
        let (Some(paper), true) = (assertion.paper, assertion.invariant) else { continue };
        let mean = failures.mean().unwrap_or(f64::INFINITY);
        assert!(mean <= 10.0 * paper, "{}: {mean} iterations, {paper} in the paper", assertion.name);
    }
    for updates in [Updates::Plain, Updates::Atomic] {
        for delay in [false, true] {
            let setting = Setting { updates, delay, ..Setting::plain(Level::Serializable) };
            let (_, failures) = campaign::failures::<A>(&setting, iterations / 10, usize::MAX).expect("runs");
            for (assertion, failures) in A::ASSERTIONS.iter().zip(failures) {
                assert!(!assertion.invariant || failures.count == 0, "{} at serializable", assertion.name);
            }
        }
    }
}

#[test]
fn an_element_is_soon_popped_twice_under_causal_and_never_at_serializable() {
    assert_order_of_magnitude::<Stack>(1000);
}

#[test]
fn courses_soon_overflow_and_outlive_their_removal_under_causal_and_never_at_serializable() {
    assert_order_of_magnitude::<Courseware>(2000);
}

#[test]
fn a_deleted_item_soon_reappears_under_causal_and_never_at_serializable() {
    assert_order_of_magnitude::<Shopping>(2000);
}

#[test]
fn a_tweet_is_soon_missing_under_causal_and_never_at_serializable() {
    assert_order_of_magnitude::<Twitter>(2000);
}

/// Sums over harnesses of two sessions with two operations: random, novel, and all that there is.
fn coverage_of<A: Application>(level: Level, delay: bool) -> [usize; 3] {
    const MOST_RUNS: usize = 3000;
    let mut sums = [0; 3];
    for seed in 0..4 {
        let harness = Harness::<A>::draw(seed, 2, 2);
        let setting = Setting { delay, ..Setting::plain(level) };
        let Some(all) = coverage::all_states(&harness, &setting, MOST_RUNS).expect("runs") else { continue };
        for (place, chooser) in [ChooserKind::Random, ChooserKind::Novel].into_iter().enumerate() {
            let setting = Setting { chooser, ..setting };
            let (_, seen) = coverage::seen_states(&harness, &setting, seed, &[300]).expect("runs");
            assert!(seen.is_subset(&all), "{}: {chooser} at {level}", A::NAME);
            sums[place] += seen.len();
        }
        sums[2] += all.len();
    }
    sums
}

#[test]
fn the_novel_chooser_sees_at_least_as_much_as_the_random_one_and_nothing_impossible() {
    let mut sums = [0; 3];
    for level in [Level::Causal, Level::Serializable] {
        for delay in [false, true] {
            let applications = [
                coverage_of::<Courseware>(level, delay),
                coverage_of::<Shopping>(level, delay),
                coverage_of::<Twitter>(level, delay),
            ];
            applications
                .iter()
                .flat_map(|counts| counts.iter().enumerate())
                .for_each(|(place, count)| sums[place] += count);
        }
    }
    let [random, novel, all] = sums;
    assert!(all > 0 && random <= novel && novel <= all, "random {random}, novel {novel} of {all}");
}
