//! What must be true of the oracle on every history, on random ones.
//!
//! ```text
//!   axioms  =  graphs            at prefix, snapshot, serializable and the strong levels
//!   stronger  ⇒  weaker          at all levels, declared ones between
//!   made at a level  ⇒  holds    the generator knows a commit order
//!   renamed  =  as it was
//! ```
//!
//! The examples are in `spec.rs`.

mod support;

use skew_check::spec::{satisfies, satisfies_by_graphs};
use skew_history::{Action, Event, History, HistoryBuilder, IsolationLevel, IsolationLevel::*, Value};
use support::{Random, Shape, ambiguity, describe, random_history, rename, truthful_history};

const SEED: u64 = 2019;

/// Calls `test` with many random histories of all shapes, and with a source of chance of their own.
fn for_random_histories(count: u64, mut test: impl FnMut(&History, &mut Random)) {
    for number in 0..count {
        let mut random = Random::new(SEED + number);
        let shape = if number % 4 == 0 { Shape::PLAIN } else { Shape::any(&mut random) };
        let history = random_history(&mut random, &shape);
        test(&history, &mut random);
    }
}

fn all_levels() -> impl Iterator<Item = IsolationLevel> {
    IsolationLevel::all().filter(|&level| level != IsolationLevel::Declared && level.of_engine().is_none())
}

/// The levels that hold, of all but `Declared`.
fn holding(history: &History) -> Vec<IsolationLevel> {
    all_levels().filter(|&level| satisfies(history, level)).collect()
}

#[test]
fn axioms_and_graphs_agree() {
    for_random_histories(6000, |history, _| {
        for level in [Prefix, Snapshot, Serializable, StrongSnapshot, StrictSerializable] {
            let by_graphs = satisfies_by_graphs(history, level);
            assert_eq!(satisfies(history, level), by_graphs, "{level} of\n{}", describe(history));
        }
    });
}

#[test]
fn stronger_levels_imply_weaker_ones() {
    for_random_histories(6000, |history, _| {
        let holding = holding(history);
        for weaker in holding.iter().flat_map(|level| level.next_weaker()) {
            assert!(holding.contains(weaker), "{weaker} fails below {holding:?} of\n{}", describe(history));
        }
    });
}

#[test]
fn declared_levels_lie_between_the_strongest_and_the_weakest() {
    let mut between = 0;
    for number in 0..4000 {
        let mut random = Random::new(SEED + number);
        let shape = Shape { declared: true, locking: random.chance(30), ..Shape::PLAIN };
        let history = random_history(&mut random, &shape);
        let [weakest, declared, strongest] =
            [ReadCommitted, Declared, Serializable].map(|level| satisfies(&history, level));
        assert!(!strongest || declared, "serializable holds, declared fails of\n{}", describe(&history));
        assert!(!declared || weakest, "declared holds, read-committed fails of\n{}", describe(&history));
        between += usize::from(weakest && !strongest);
    }
    assert!(between > 400, "only {between} histories tell declared levels from uniform ones");
}

#[test]
fn renaming_changes_nothing() {
    for_random_histories(3000, |history, random| {
        let renamed = rename(random, history);
        assert_eq!(holding(history), holding(&renamed), "{}\nrenamed\n{}", describe(history), describe(&renamed));
        assert_eq!(satisfies(history, Declared), satisfies(&renamed, Declared), "{}", describe(history));
    });
}

#[test]
#[allow(clippy::print_stdout, reason = "the shares are what somebody who tunes the generator looks at")]
fn every_level_both_holds_and_fails_on_random_histories() {
    let count = 3000;
    let mut holds = [0; 9];
    let (mut forks, mut skews) = (0, 0);
    for_random_histories(count, |history, _| {
        let holding = holding(history);
        all_levels().zip(&mut holds).for_each(|(level, holds)| *holds += u64::from(holding.contains(&level)));
        forks += u64::from(holding.contains(&ParallelSnapshot) && !holding.contains(&Prefix));
        skews += u64::from(holding.contains(&Snapshot) && !holding.contains(&Serializable));
    });
    for (level, holds) in all_levels().zip(holds) {
        println!("{level:>20} holds on {holds} of {count}");
        assert!(holds > count / 4 && holds < count * 9 / 10, "{level} holds on {holds} of {count}");
    }
    println!("psi without prefix on {forks}, snapshot without serializable on {skews}");
    assert!(forks > 5 && skews > 30, "psi without prefix on {forks}, snapshot without serializable on {skews}");
}

#[test]
fn a_run_satisfies_the_level_that_it_was_made_at() {
    for number in 0..6000 {
        let mut random = Random::new(SEED + number);
        let shape = Shape::any(&mut random);
        let (history, level) = truthful_history(&mut random, &shape);
        if ambiguity(&history) <= 256 {
            assert!(satisfies(&history, level), "{level} of\n{}", describe(&history));
        }
    }
}

/// The same transactions with registers for lists: an append writes its element, a read returns the last one.
fn forget_lists(history: &History) -> History {
    let mut builder = HistoryBuilder::new();
    for transaction in history.transactions() {
        let session = builder.session(history.session_name(history.session_of(transaction)));
        builder.begin(session, None).unwrap();
        builder.outcome(history.outcome(transaction));
        let mut appended = false;
        for event in history.events_of(transaction) {
            let key = builder.key(history.key_name(event.key));
            match (event.action, event.value.is_list()) {
                (Action::Append, _) => builder.write(key, event.value),
                (Action::Read, true) if !appended => {
                    builder.read(key, history.elements(event.value).last().copied().unwrap_or(Value::ABSENT));
                }
                // What precedes an own append was read as well; without its list that cannot be said.
                (Action::Read, true) => {}
                _ => builder.event(Event { key, ..*event }),
            }
            appended |= event.action == Action::Append;
        }
    }
    builder.finish().unwrap()
}

#[test]
fn forgetting_the_order_of_lists_never_hurts() {
    let mut helped = 0;
    for number in 0..3000 {
        let mut random = Random::new(SEED + number);
        let history = random_history(&mut random, &Shape { lists: true, outcomes: true, keys: 1, ..Shape::PLAIN });
        if history.keys().any(|key| !history.initial(key).is_absent()) {
            continue;
        }
        let forgotten = forget_lists(&history);
        for level in IsolationLevel::of_papers() {
            let (with, without) = (satisfies(&history, level), satisfies(&forgotten, level));
            assert!(!with || without, "{level} of\n{}\nforgotten\n{}", describe(&history), describe(&forgotten));
            helped += usize::from(with != without);
        }
    }
    assert!(helped > 100, "the order of lists mattered {helped} times only");
}

#[test]
fn the_same_seed_gives_the_same_histories() {
    let describe_all = || {
        let mut all = String::new();
        for_random_histories(50, |history, _| all += &describe(history));
        all
    };
    assert_eq!(describe_all(), describe_all());
}
