//! The search against the definition, on random small histories.

use crate::{LEVELS, ask, history, word};
use skew_chance::Random;
use skew_check::Updates;
use skew_history::IsolationLevel;
use skew_predict::{Boundary, PredictQuestion, Strategy, reference};
use std::fmt::Write;

/// How many histories; `benchmarks/predict_reference` asks for more.
fn histories() -> u64 {
    std::env::var("SKEW_PREDICT_HISTORIES").ok().and_then(|number| number.parse().ok()).unwrap_or(300)
}

/// A run of two or three sessions, one transaction after the other: what is read is the latest, or by chance an older version.
fn serial_run(random: &mut Random, staleness: f64) -> String {
    let sessions = 2 + random.index(2);
    let keys = 2 + random.index(2);
    let mut texts = vec![String::new(); sessions];
    let mut versions = vec![vec!["init".to_owned()]; keys];
    let mut version = 0;
    for _ in 0..3 + random.index(3) {
        let session = random.index(sessions);
        if !texts[session].is_empty() {
            texts[session].push_str(" | ");
        }
        let mut own = vec![None; keys];
        for _ in 0..1 + random.index(3) {
            let key = random.index(keys);
            let name = ["x", "y", "z"][key];
            if random.chance(0.6) {
                let lock = if random.chance(0.15) { "lock " } else { "" };
                let all = &versions[key];
                let stale = random.chance(staleness);
                let seen = if stale { &all[random.index(all.len())] } else { &all[all.len() - 1] };
                let seen = own[key].as_ref().unwrap_or(seen);
                write!(texts[session], "{lock}r({name},{seen}) ").expect("a text");
            } else {
                version += 1;
                own[key] = Some(version.to_string());
                write!(texts[session], "w({name},{version}) ").expect("a text");
            }
        }
        if random.chance(0.1) {
            texts[session].push_str("!!");
        } else {
            own.into_iter().zip(&mut versions).for_each(|(own, all)| all.extend(own));
        }
    }
    let named = texts.iter().enumerate().filter(|(_, text)| !text.is_empty());
    named.map(|(number, text)| format!("s{number}: {text}")).collect::<Vec<String>>().join("; ")
}

/// Holds the search against the definition at all levels, with one boundary; how many are predicted.
fn compare(text: &str, asked: &PredictQuestion, boundary: Boundary) -> [u32; 2] {
    let observed = history(text);
    let mut counts = [0, 0];
    let Some(expected) = reference(&observed, asked, boundary, &LEVELS) else { return counts };
    let (exact, approximate) = match boundary {
        Boundary::Strict => (Strategy::ExactStrict, Strategy::ApproximateStrict),
        Boundary::Relaxed => (Strategy::ExactRelaxed, Strategy::ApproximateRelaxed),
    };
    for (level, expected) in LEVELS.into_iter().zip(expected) {
        let answer = |strategy| {
            let question = PredictQuestion { strategy, level, ..asked.clone() };
            word(&ask(&observed, &question))
        };
        let told = format!("{level}, {boundary:?}, {asked:?}: {text}");
        // Of a history that breaks the level nothing is predicted, unless that was asked.
        if answer(exact) == "observed" {
            assert!(!asked.even_if_bad, "{told}");
            continue;
        }
        let word = |found| if found { "found" } else { "none" };
        assert_eq!(answer(exact), word(expected.exact), "exact: {told}");
        // The forced order is about serializability.
        if asked.against == IsolationLevel::Serializable {
            assert_eq!(answer(approximate), word(expected.approximate), "approximate: {told}");
        }
        counts[usize::from(expected.exact)] += 1;
    }
    counts
}

fn compare_all(what: &str, question: impl Fn(u64, &mut Random) -> (String, PredictQuestion)) {
    let mut counts = [0, 0];
    for seed in 0..histories() {
        let mut random = Random::new(seed);
        let (text, asked) = question(seed, &mut random);
        for boundary in [Boundary::Strict, Boundary::Relaxed] {
            let found = compare(&text, &asked, boundary);
            counts.iter_mut().zip(found).for_each(|(count, found)| *count += found);
        }
    }
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    skew_testing::say(&format!("{what}: {} histories, {} answers none, {} found", histories(), counts[0], counts[1]));
}

fn updates(seed: u64) -> Updates {
    if seed.is_multiple_of(2) { Updates::Atomic } else { Updates::Plain }
}

#[test]
fn the_search_finds_what_the_definition_says() {
    compare_all("serial runs", |seed, random| {
        let asked = PredictQuestion { updates: updates(seed), ..PredictQuestion::new(IsolationLevel::ReadCommitted) };
        (serial_run(random, 0.0), asked)
    });
}

#[test]
fn the_search_finds_what_the_definition_says_from_bad_runs() {
    compare_all("bad runs", |seed, random| {
        let level = IsolationLevel::ReadCommitted;
        (
            serial_run(random, 0.4),
            PredictQuestion { updates: updates(seed), even_if_bad: true, ..PredictQuestion::new(level) },
        )
    });
}

#[test]
fn the_search_finds_what_the_definition_says_against_other_levels() {
    compare_all("against other levels", |seed, random| {
        let against = LEVELS[1 + random.index(LEVELS.len() - 1)];
        let question =
            PredictQuestion { updates: updates(seed), against, ..PredictQuestion::new(IsolationLevel::ReadCommitted) };
        (serial_run(random, 0.0), question)
    });
}
