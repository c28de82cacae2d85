//! Counterexamples: named, minimal, certified.

mod support;

use skew_check::spec::satisfies;
use skew_check::{Budget, Counterexample, IsolationLevel, Verdict, cannot_ask, check, explain};
use skew_history::format::{self, Format, Source};
use skew_history::{History, notation};
use support::{Random, Shape, describe, random_history};

fn weakest_failing(history: &History) -> Option<(IsolationLevel, skew_check::Anomaly)> {
    let levels =
        IsolationLevel::all().filter(|&level| level != IsolationLevel::Declared && level.of_engine().is_none());
    let mut asked = levels.filter(|&level| cannot_ask(history, level).is_none());
    asked.find_map(|level| match check(history, level, Budget::UNLIMITED) {
        Verdict::Fails(anomaly) => Some((level, anomaly)),
        _ => None,
    })
}

fn explained(text: &str) -> Counterexample {
    let history = notation::parse(text).unwrap();
    let (level, anomaly) = weakest_failing(&history).expect("a history that violates something");
    explain(&history, level, &anomaly, Budget::UNLIMITED)
}

/// Each line: the name, the weakest level that fails, the history.
const NAMED: &[(&str, &str, &str)] = &[
    ("lost-update", "psi", "r(x,init) w(x,1); r(x,init) w(x,2)"),
    ("lost-update", "psi", "w(x,1); r(x,1) w(x,2); r(x,1) w(x,3)"),
    ("stale-update", "psi", "w(x,1); r(x,init) lock r(x,1) w(x,2)"),
    ("stale-update", "psi", "lock r(x,init) r(x,init) w(x,1); r(x,init) lock r(x,1) w(x,2)"),
    ("write-skew", "serializable", "r(x,init) w(y,1); r(y,init) w(x,2)"),
    ("long-fork", "prefix", "w(x,1); w(y,1); r(x,1) r(y,init); r(x,init) r(y,1)"),
    ("causality-violation", "causal", "w(x,1); r(x,1) w(y,2); r(y,2) r(x,init)"),
    ("session-violation", "causal", "w(x,1); r(x,1) | r(x,init)"),
    ("session-violation", "read-atomic", "w(x,1) | r(x,init)"),
    ("fractured-read", "read-atomic", "w(x,1) w(y,1); r(x,init) r(y,1)"),
    ("fractured-read", "read-committed", "w(x,1) w(y,1); r(x,1) r(y,init)"),
    ("non-repeatable-read", "read-atomic", "w(x,1); r(x,init) r(x,1)"),
    ("non-repeatable-read", "read-committed", "w(x,1); r(x,1) r(x,init)"),
    ("stale-update", "read-atomic", "w(x,1)@1:update; r(x,init)@1:select r(x,1)@2:update w(x,2)@2:update"),
    ("non-repeatable-read", "read-atomic", "w(x,1)@1:update; r(x,init)@1:select r(x,1)@2:for-update"),
    ("non-repeatable-read", "read-atomic", "w(x,1)@1:update; r(x,init)@1:select r(x,1)@2:select w(x,2)@3:update"),
    ("read-only-anomaly", "serializable", "r(x,init) r(y,init) w(x,1); r(y,init) w(y,2); r(x,init) r(y,2)"),
    ("dirty-write", "read-committed", "append(x,1) append(y,1); append(x,2) append(y,2); r(x,[1 2]) | r(y,[2 1])"),
    ("aborted-read", "read-committed", "w(x,1) !; r(x,1)"),
    ("intermediate-read", "read-committed", "w(x,1) w(x,2); r(x,1)"),
    ("circular-information-flow", "read-committed", "r(y,1) w(x,1); r(x,1) w(y,1)"),
    ("internal", "read-committed", "w(x,1) r(x,2); w(x,2)"),
    ("thin-air-read", "read-committed", "r(x,9); w(x,1)"),
    ("thin-air-read", "read-committed", "r(x,found); w(x,nil)"),
    ("intermediate-read", "read-committed", "a: w(x,nil) w(x,7); b: r(x,gone)<-a#0"),
    ("write-skew", "serializable", "a: r(x,found)<-c#0 w(y,1); b: r(y,found)<-c#0 w(x,2); c: w(x,1) w(y,2)"),
    ("incompatible-lists", "read-committed", "append(x,1); append(x,2); r(x,[1 2]); r(x,[2])"),
    ("real-time-violation", "strong-snapshot", "w(x,1) @1..2; r(x,init) @3..4"),
];

#[test]
fn anomalies_have_their_names() {
    for (name, level, text) in NAMED {
        let counterexample = explained(text);
        assert_eq!(counterexample.kind.name(), *name, "{text}");
        assert_eq!(counterexample.level.name(), *level, "{text}");
        assert!(!counterexample.cases.is_empty() && counterexample.cases.iter().all(|case| !case.edges.is_empty()));
    }
}

#[test]
fn an_update_that_came_too_late_is_lost_when_its_text_puts_something_else_in_the_place_of_what_it_found() {
    let named = |update: &str| {
        let lines = format!(
            r#"{{"session":"a","id":"a","ops":[{{"r":"x","v":null,"s":1}},{{"r":"x","v":1,"from":"b","s":2,"kind":"update"}},{{"w":"x","v":2,"s":2,"kind":"update","sql":"{update}"}}]}}
{{"session":"b","id":"b","ops":[{{"w":"x","v":1,"s":1,"kind":"update","sql":"UPDATE t SET n = 1"}}]}}"#
        );
        let source = Source { name: "h", bytes: lines.as_bytes() };
        let history = format::read(&[source], Format::Native).expect("a history");
        let (level, anomaly) = weakest_failing(&history).expect("a history that violates something");
        explain(&history, level, &anomaly, Budget::UNLIMITED).kind.name()
    };
    assert_eq!(named(r#"UPDATE t SET n = 2 WHERE \"id\" = 1"#), "lost-update");
    assert_eq!(named("UPDATE t SET n = n + 1 WHERE id = 1"), "stale-update");
    assert_eq!(named("no SQL at all"), "stale-update");
}

fn sentences(text: &str) -> Vec<String> {
    let counterexample = explained(text);
    let edges = counterexample.cases.iter().flat_map(|case| &case.edges);
    edges.map(|told| format!("{}: {}", told.kind.letters(), told.because)).collect()
}

#[test]
fn a_forced_edge_is_told_as_the_cycle_through_the_reader() {
    assert_eq!(
        sentences("a: w(x,1); b: r(x,1) w(y,2); c: r(y,2) r(x,init)"),
        [
            "wr: b#0 read x = 1, which a#0 wrote",
            "wr: c#0 read y = 2, which b#0 wrote",
            "rw: c#0 read x = nil, which a#0 overwrote with 1",
        ]
    );
}

#[test]
fn rows_that_were_found_or_gone_are_told_as_such() {
    assert_eq!(sentences("a: r(x,found); b: w(x,nil)"), ["wr: a#0 found x, which nobody wrote"]);
    assert_eq!(sentences("a: w(x,1) !; b: r(x,found)"), ["wr: b#0 found x, which a#0 wrote before it aborted"]);
    assert_eq!(sentences("init(x,5)\na: w(x,nil) r(x,found)"), ["wr: a#0 found x after it had itself written nil"]);
    assert_eq!(
        sentences("init(x,5)\na: w(x,nil) w(x,7); b: r(x,gone)@1:update,waited<-a#0"),
        ["wr: b#0 found x gone: a#0 had deleted it, and inserted it anew before it committed"]
    );
    assert_eq!(
        sentences("init(x,5)\na: w(x,nil) w(x,7) !; b: r(x,gone)<-a#0"),
        ["wr: b#0 found x gone: a#0 had deleted it before it aborted"]
    );
    assert_eq!(
        sentences("a: w(x,1) w(y,1); b: r(x,found) r(y,init)"),
        ["wr: b#0 found x, which a#0 wrote", "rw: b#0 read y = nil, which a#0 overwrote with 1"]
    );
}

#[test]
fn appends_are_told_as_appends() {
    assert_eq!(
        sentences("a: append(l,1); b: append(l,2); c: r(l,[1]) r(l,[1 2])"),
        ["wr: c#0 read l = [1 2], whose last element is b#0's", "rw: c#0 read l = [1], to which b#0 appended 2"]
    );
    assert_eq!(
        sentences("a: append(l,1) !; b: r(l,[1])"),
        ["wr: b#0 read l = [1]; a#0, which aborted, had appended 1"]
    );
    assert_eq!(
        sentences("a: append(l,1) append(l,2); b: r(l,[1])"),
        ["wr: b#0 read l = [1], which ends between the appends of a#0"]
    );
}

#[test]
fn a_lost_update_is_told_in_two_cases() {
    let counterexample = explained("a: r(x,init) w(x,1) w(y,7); b: r(x,init) w(x,2); c: w(z,1)");
    let told: Vec<String> = counterexample
        .cases
        .iter()
        .map(|case| {
            let edges: Vec<&str> = case.edges.iter().map(|edge| edge.because.as_str()).collect();
            format!("{}: {}", case.assumption.as_deref().unwrap_or("certain"), edges.join("; "))
        })
        .collect();
    assert_eq!(
        told,
        [
            "a#0's write of x came before b#0's: a#0's write of x (1) came before b#0's (2); b#0 read x = nil, which a#0 overwrote with 1",
            "b#0's write of x came before a#0's: b#0's write of x (2) came before a#0's (1); a#0 read x = nil, which b#0 overwrote with 2",
        ]
    );
    assert_eq!(notation::write(&counterexample.history), "a: r(x,init) w(x,1)\nb: r(x,init) w(x,2)\n");
}

#[test]
fn whoever_wrote_the_overwritten_version_stays() {
    let counterexample = explained("w: w(x,1); a: r(x,1) w(x,2); b: r(x,1) w(x,3); c: w(y,4) | r(y,4)");
    assert_eq!(notation::write(&counterexample.history), "w: w(x,1)\na: r(x,1) w(x,2)\nb: r(x,1) w(x,3)\n");
}

#[test]
fn counterexamples_of_random_histories_are_minimal_and_certified() {
    for number in 0..1_500 {
        let mut random = Random::new(41_000 + number);
        let shape = if number % 3 == 0 { Shape::PLAIN } else { Shape { declared: false, ..Shape::any(&mut random) } };
        let history = random_history(&mut random, &shape);
        let Some((level, anomaly)) = weakest_failing(&history) else { continue };
        let counterexample = explain(&history, level, &anomaly, Budget::UNLIMITED);
        let small = &counterexample.history;
        let words = || format!("{level} of\n{}made from\n{}", describe(small), describe(&history));
        assert!(!satisfies(small, level), "the part does not fail: {}", words());
        assert!(counterexample.anomaly.refutes(small, level), "{}", words());
        assert!(small.transaction_count() <= history.transaction_count());
    }
}

/// A lost update among many transactions on other keys, and somebody of unknown outcome.
fn crowded() -> History {
    let others: Vec<String> = (0..300).map(|number| format!("r(k{number},init) w(k{number},{number})")).collect();
    let text = format!("a: r(x,init) w(x,1); b: r(x,init) w(x,2); c: {}; d: w(y,1) ?; e: r(y,1)", others.join(" | "));
    notation::parse(&text).unwrap()
}

#[test]
fn whoever_has_no_time_or_budget_left_still_gets_a_small_counterexample() {
    let history = crowded();
    let (level, anomaly) = weakest_failing(&history).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    for budget in [Budget::steps(0), Budget::steps(1), Budget { stop: Some(&stop), ..Budget::UNLIMITED }] {
        let counterexample = explain(&history, level, &anomaly, budget);
        assert_eq!(notation::write(&counterexample.history), "a: r(x,init) w(x,1)\nb: r(x,init) w(x,2)\n");
        assert!(counterexample.anomaly.refutes(&counterexample.history, level));
    }
}
