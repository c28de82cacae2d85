//! `skew run`: every workload on the mock database, campaigns, what is recorded and what is refused.

use crate::serve::listening;
use crate::{Folder, Ran};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

fn names(folder: &Folder) -> Vec<String> {
    let list = folder.skew(&["run", "--list"]).expect(0).out;
    list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// A run with JSON output.
fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    folder.skew(&[&["run", "--format", "json"], arguments].concat())
}

#[test]
fn every_workload_keeps_its_assertions_on_a_serializable_mock() {
    let folder = Folder::new("run-serializable");
    let names = names(&folder);
    assert!(names.len() >= 11, "{names:?}");
    for name in &names {
        let file = format!("{name}.jsonl");
        let arguments = [name, "--transactions", "8", "--check", "levels", "--record", &file];
        let ran = run(&folder, &arguments).expect(0);
        assert_eq!(ran.err, "skew: seed 1\n");
        let json = ran.json();
        assert_eq!((&json["end"], &json["operations"]), (&Value::from("finished"), &Value::from(24)), "{name}");
        let assertions = json["assertions"].as_array().unwrap();
        assert!(assertions.iter().all(|assertion| assertion["holds"] == true), "{name}: {assertions:?}");
        let has_assertions = !["registers", "lists"].contains(&name.as_str());
        assert_eq!(!assertions.is_empty(), has_assertions, "{name}");
        assert_eq!(json["history"]["verdicts"].as_array().unwrap().len(), 7, "{name}");
        folder.skew(&["check", "-q", "--level", "serializable", &file]).expect(0);
    }
}

#[test]
fn what_runs_at_a_level_is_recorded_and_keeps_it() {
    let folder = Folder::new("run-weak");
    let shape = ["--keys", "6", "--events", "4", "--transactions", "15", "--sessions", "4", "--record", "weak.jsonl"];
    for (workload, level, updates) in [
        ("lists", "snapshot", "atomic"),
        ("lists", "read-committed", "atomic"),
        ("lists", "causal", "atomic"),
        ("registers", "read-committed", "atomic"),
        ("registers", "causal", "atomic"),
        ("registers", "read-committed", "plain"),
        ("registers", "causal", "plain"),
    ] {
        let arguments = ["run", workload, "--level", level, "--updates", updates, "--check", level];
        let ran = folder.skew(&[&arguments[..], &shape[..]].concat()).expect(0);
        assert!(ran.out.contains("weak.jsonl: 4 sessions, "), "{}", ran.out);
        folder.skew(&["check", "--level", level, "weak.jsonl"]).expect(0);
    }
    assert!(!folder.read("weak.jsonl").contains(r#""lock""#), "plain updates lock nothing");
    let refused = folder.skew(&["run", "lists", "--level", "causal", "--updates", "plain"]).expect(2);
    assert!(refused.err.contains("plain updates lose appends at causal"), "{}", refused.err);
}

/// What the committed transactions of each session did, without what they saw.
fn requests(folder: &Folder, seed: &str) -> Vec<(String, Vec<String>)> {
    let shape = ["--level", "causal", "--transactions", "20", "--keys", "10", "--record", "requests.jsonl"];
    folder.skew(&[&["run", "registers", "--seed", seed], &shape[..]].concat()).expect(0);
    let mut sessions: Vec<(String, Vec<String>)> = Vec::new();
    for line in folder.read("requests.jsonl").lines().skip(1) {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["outcome"] != "committed" {
            continue;
        }
        let session = line["session"].as_str().unwrap().to_owned();
        let event = |event: &Value| format!("{}{}", event["r"], event["w"]);
        let events = line["ops"].as_array().unwrap().iter().map(event);
        match sessions.iter_mut().find(|(name, _)| *name == session) {
            Some((_, all)) => all.extend(events),
            None => sessions.push((session, events.collect())),
        }
    }
    sessions.sort();
    sessions
}

#[test]
fn a_seed_gives_the_same_requests() {
    let folder = Folder::new("run-seed");
    let first = requests(&folder, "7");
    assert_eq!(first.len(), 3);
    assert_eq!(first, requests(&folder, "7"));
    assert_ne!(first, requests(&folder, "8"));
}

#[test]
fn a_campaign_counts_runs_and_says_how_to_repeat_one() {
    let folder = Folder::new("run-campaign");
    let weak = ["smallbank", "--level", "read-committed", "--updates", "plain", "--transactions", "20"];
    let many = ["--runs", "4", "--jobs", "2", "--record", "runs"];
    let ran = folder.skew(&[&["run"], &weak[..], &many[..]].concat()).expect(1);
    let heading =
        "smallbank: 4 runs from seed 1, 3 sessions of 20 transactions at read-committed on the mock database\n";
    assert!(ran.out.starts_with(heading), "{}", ran.out);
    assert!(ran.out.contains("  fails  A13") && ran.out.contains(" not serializable: "), "{}", ran.out);
    let replay = ran.out.lines().last().unwrap();
    assert!(
        replay.starts_with("skew run smallbank --level read-committed --transactions 20 --updates plain --seed "),
        "{replay}"
    );
    for seed in 1..=4 {
        folder.skew(&["check", "-q", "--level", "read-committed", &format!("runs/{seed}.jsonl")]).expect(0);
    }
    let json = run(&folder, &[&weak[..], &many[..]].concat()).expect(1).json();
    assert_eq!((&json["runs"], &json["against"]), (&Value::from(4), &Value::from("serializable")));
    assert!(json["assertions"][0]["failures"].as_u64() > Some(0) && json["broken"].as_array().unwrap().is_empty());
    let strong = folder.skew(&["run", "courseware", "--runs", "3", "--check", "serializable"]).expect(0);
    assert!(strong.out.contains("  every run is serializable\n"), "{}", strong.out);
}

#[test]
fn wrong_input_is_refused_with_what_to_do() {
    let folder = Folder::new("run-wrong");
    let cases: [(&[&str], &str); 8] = [
        (&["bank"], "use one of registers, lists, smallbank, "),
        (&["registers", "--db", "bank"], "`bank` is not the URL of a server"),
        (
            &["registers", "--db", "postgres://127.0.0.1:1/x"],
            "postgresql://postgres@127.0.0.1:1/x: cannot be reached: ",
        ),
        (&["registers", "--db", "mysql://127.0.0.1:1/x"], "mysql://root@127.0.0.1:1/x: "),
        (&["registers", "--db", "postgres://h/x", "--db", "mysql://h/x"], "the servers of one run speak one dialect"),
        (&["smallbank", "--keys", "7"], "--keys 7 is for registers, not for smallbank"),
        (&["registers", "--reads", "2"], "--reads 2 is not a share"),
        (&["registers", "--runs", "2", "--check", "all"], "several runs are compared with one level"),
    ];
    for (arguments, words) in cases {
        let ran = folder.skew(&[&["run"], arguments].concat()).expect(2);
        assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
    folder.skew(&["run"]).expect(2);
}

#[test]
fn tables_that_are_there_are_left_alone_unless_asked() {
    let folder = Folder::new("run-tables");
    let (_server, _out, address) = listening(&folder, &["--level", "serializable"]);
    let url = format!("postgres://skew@{address}/skew");
    let run = |more: &[&str]| {
        folder.skew(&[&["run", "registers", "--transactions", "3", "--keys", "5", "--db", &url], more].concat())
    };
    // It is serializable, and may be staler than the PostgreSQL that it is taken for: whether it is what that one would be is not asked here.
    let checked = run(&["--check", "serializable"]).accepted();
    assert!(checked.out.contains("  serializable  holds"), "{}", checked.out);
    let refused = run(&[]).expect(2);
    assert!(refused.err.contains("table skew_registers is there already"), "{}", refused.err);
    assert!(refused.err.contains("add --drop"), "{}", refused.err);
    run(&["--drop"]).accepted();
    let campaign = run(&["--runs", "3"]).accepted();
    assert!(campaign.out.contains(&format!("on postgresql://skew@{address}/skew\n")), "{}", campaign.out);
    run(&["--runs", "2"]).expect(2);
}

#[test]
fn a_wrong_password_is_not_shown() {
    let folder = Folder::new("run-password");
    let (_server, _out, address) = listening(&folder, &["--password", "right"]);
    let run = |password: &str| {
        let url = format!("postgres://skew:{password}@{address}/skew");
        // The mock is serializable, and may be staler than the PostgreSQL that it is taken for: whether it keeps that level is not asked here.
        folder.skew(&["run", "voter", "--transactions", "2", "--check", "serializable", "--db", &url])
    };
    let refused = run("mistaken").expect(2);
    assert!(refused.err.contains("check user, password, database and rights"), "{}", refused.err);
    assert!(!refused.err.contains("mistaken") && !refused.out.contains("mistaken"), "{}", refused.err);
    run("right").accepted();
}

#[test]
fn an_interrupt_keeps_what_was_recorded() {
    let folder = Folder::new("run-interrupt");
    let child = folder.start(&["run", "registers", "--transactions", "100000000", "--record", "kept.jsonl"]);
    let path = folder.path().join("kept.jsonl");
    while std::fs::read_to_string(&path).unwrap_or_default().lines().count() < 10 {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(3);
    assert!(ran.out.contains("the assertions were not asked"), "{}", ran.out);
    folder.skew(&["check", "-q", "--level", "read-committed", "kept.jsonl"]).expect(0);
}

#[test]
fn a_terminal_shows_how_far_a_run_is() {
    let folder = Folder::new("run-terminal");
    // `script` makes a terminal; where it is missing there is nothing to see.
    let line = "skew run registers --transactions 400 --level causal";
    let ran = folder.shell(&format!("TERM=xterm script -qec '{line}' /dev/null </dev/null"));
    if ran.err.contains("not found") {
        return skew_testing::skipped("there is no `script` here");
    }
    let shown = ran.out.split('\r').find(|part| part.contains("of 1200 transactions"));
    let shown = shown.unwrap_or_else(|| panic!("no progress: {}", ran.out));
    for word in ["a second", "p50", "p95", "p99", "aborted"] {
        assert!(shown.contains(word), "{shown}");
    }
}
