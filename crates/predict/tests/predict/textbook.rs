//! The bugs of every textbook, from the serial run that a test makes of them.

use crate::{LEVELS, ask, history, word};
use skew_check::{Verdict, check};
use skew_history::IsolationLevel;
use skew_predict::{Outlook, PredictQuestion, Strategy};

/// A bug, its serial run, and the levels at which each boundary finds it.
const BUGS: [(&str, &str, &str, &str); 6] = [
    ("lost update", "a: r(x,init) w(x,1); b: r(x,1) w(x,2)", "", "rc ra cc pc"),
    ("write skew", "a: r(x,init) r(y,init) w(x,1); b: r(x,1) r(y,init) w(y,1)", "", "rc ra cc pc psi si"),
    ("long fork", "a: w(x,1); b: w(y,1); c: r(x,1) r(y,1); d: r(x,1) r(y,1)", "", "rc ra cc psi"),
    (
        "shopping cart",
        "a: r(cart,init) w(cart,1) | r(cart,2) | r(cart,2); b: r(cart,1) w(cart,2)",
        "rc ra",
        "rc ra cc pc",
    ),
    ("guarded withdrawal, the second was refused", "a: r(x,init) w(x,1); b: r(x,1)", "", ""),
    (
        "count, then insert, the second was refused",
        "a: r(n/1,init) r(n/2,init) w(n/1,1); b: r(n/1,1) r(n/2,init)",
        "",
        "",
    ),
];

fn found(text: &str, strategy: Strategy) -> String {
    let observed = history(text);
    let finds = |level: &IsolationLevel| {
        let question = PredictQuestion { strategy, ..PredictQuestion::new(*level) };
        word(&ask(&observed, &question)) == "found"
    };
    LEVELS.into_iter().filter(finds).map(IsolationLevel::short).collect::<Vec<&str>>().join(" ")
}

#[test]
fn textbook_bugs_are_predicted_from_serial_runs() {
    for (name, text, strict, relaxed) in BUGS {
        assert_eq!(found(text, Strategy::ExactStrict), strict, "{name}, strict");
        assert_eq!(found(text, Strategy::ExactRelaxed), relaxed, "{name}, relaxed");
    }
}

#[test]
fn the_right_fixes_are_not_accused() {
    for fixed in
        ["a: lock r(x,init) w(x,1); b: lock r(x,1) w(x,2)", "a: r(x,init) lock r(x,init) w(x,1); b: lock r(x,1) w(x,2)"]
    {
        let locked = history(fixed);
        for level in LEVELS {
            let question = PredictQuestion { strategy: Strategy::ExactRelaxed, ..PredictQuestion::new(level) };
            let answer = ask(&locked, &question);
            if let Outlook::Found(runs, _) = &answer {
                // Only a plain read before the lock may be stale.
                assert!(fixed.contains("r(x,init) lock"), "{fixed} at {level}: {:?}", runs[0].changed);
            }
        }
    }
}

#[test]
fn a_prediction_is_a_history_that_the_checker_confirms() {
    let observed = history("a: r(x,init) w(x,1); b: r(x,1) w(x,2)");
    let question = PredictQuestion::new(IsolationLevel::Causal);
    let Outlook::Found(runs, _) = ask(&observed, &question) else { panic!("a lost update") };
    let run = &runs[0];
    assert!(matches!(check(&run.history, IsolationLevel::Causal, skew_check::Budget::UNLIMITED), Verdict::Holds(_)));
    assert!(matches!(
        check(&run.history, IsolationLevel::Serializable, skew_check::Budget::UNLIMITED),
        Verdict::Fails(_)
    ));
    assert_eq!(run.counterexample.kind.name(), "lost-update");
    assert_eq!(run.changed.len(), 1);
}

#[test]
fn what_is_bad_already_is_said_and_not_predicted_from() {
    let lost = history("a: r(x,init) w(x,1); b: r(x,init) w(x,2)");
    assert_eq!(word(&ask(&lost, &PredictQuestion::new(IsolationLevel::Causal))), "observed");
    assert_eq!(word(&ask(&lost, &PredictQuestion::new(IsolationLevel::Snapshot))), "observed");
    let alone = history("a: r(x,init) w(x,1) | r(x,1)");
    assert_eq!(word(&ask(&alone, &PredictQuestion::new(IsolationLevel::Snapshot))), "none");
}

#[test]
fn lists_are_predicted_as_registers() {
    let observed = history("a: append(x,1) r(y,init) w(z,1); b: r(x,[1]) append(x,2) w(y,1); c: r(x,[1 2]) r(z,1)");
    for level in LEVELS {
        let question = PredictQuestion { updates: skew_check::Updates::Plain, ..PredictQuestion::new(level) };
        if let Outlook::Found(runs, _) = ask(&observed, &question) {
            assert!(!runs[0].history.features().lists, "{level}");
        }
    }
}

#[test]
fn each_of_two_bugs_in_one_run_is_found() {
    let observed = history("a: r(x,init) w(x,1) r(y,init) w(y,1); b: r(x,1) w(x,2); c: r(y,1) w(y,2)");
    for level in [IsolationLevel::ReadCommitted, IsolationLevel::Causal, IsolationLevel::Prefix] {
        let question = PredictQuestion { most: 100, ..PredictQuestion::new(level) };
        let Outlook::Found(runs, true) = ask(&observed, &question) else { panic!("two lost updates at {level}") };
        let names = |run: &skew_predict::Prediction| -> Vec<String> {
            run.changed.iter().map(|read| observed.key_name(read.key).to_string()).collect()
        };
        let mut found: Vec<Vec<String>> = runs.iter().map(names).collect();
        found.sort();
        assert!(found.contains(&vec!["x".to_owned()]) && found.contains(&vec!["y".to_owned()]), "{level}: {found:?}");
    }
}

#[test]
fn where_nobody_took_part_there_is_nothing_to_predict() {
    for text in ["a: r(x,init) w(x,1) !; b: r(x,init) w(x,2) !", "a: r(x,init) w(x,1) !"] {
        assert_eq!(word(&ask(&history(text), &PredictQuestion::new(IsolationLevel::Causal))), "none");
    }
}

/// Sessions in a ring, each of which reads what the one before it writes: wrong only if nobody sees anything.
fn rings(rings: usize, size: usize) -> String {
    let mut text = String::new();
    for ring in 0..rings {
        for place in 0..size {
            let seen = if place == 0 { "init".to_owned() } else { place.to_string() };
            let next = (place + 1) % size;
            text.push_str(&format!("s{ring}.{place}: r(k{ring}.{place},{seen}) w(k{ring}.{next},{})\n", place + 1));
        }
    }
    text
}

#[test]
fn of_many_sessions_those_are_found_that_it_takes() {
    let observed = history(&rings(2, 20));
    let Outlook::Found(runs, is_complete) = ask(&observed, &PredictQuestion::new(IsolationLevel::Snapshot)) else {
        panic!("a ring")
    };
    assert_eq!((runs.len(), runs[0].changed.len(), is_complete), (1, 19, false));
}

#[test]
fn one_run_of_several_is_not_all_there_are() {
    let observed = history("a: r(x,init) w(y,1) | r(p,init); b: r(y,1) w(z,2); c: r(z,2) w(x,3); d: w(p,1)");
    for strategy in Strategy::ALL {
        for level in LEVELS {
            let question = PredictQuestion { strategy, ..PredictQuestion::new(level) };
            assert!(!matches!(ask(&observed, &question), Outlook::Found(_, true)), "{strategy} at {level}");
        }
    }
    let all = PredictQuestion { most: 100, ..PredictQuestion::new(IsolationLevel::Snapshot) };
    assert!(matches!(ask(&observed, &all), Outlook::Found(_, true)));
}

#[test]
fn a_read_has_one_source_of_many() {
    let mut sessions = vec![Vec::new(); 4];
    for number in 1..=24 {
        let seen = if number == 1 { "init".to_owned() } else { (number - 1).to_string() };
        sessions[number % 4].push(format!("r(x,{seen}) w(x,{number})"));
    }
    let lines = sessions.iter().enumerate().map(|(number, own)| format!("s{number}: {}\n", own.join(" | ")));
    assert_eq!(found(&lines.collect::<String>(), Strategy::Exact), "rc ra cc pc");
}
