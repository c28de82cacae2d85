//! `skew run --up`: servers of a run's own, and what happens to them meanwhile.

use crate::Folder;
use crate::up::is_missing;
use serde_json::Value;

/// Transactions that meet.
const HOT: [&str; 6] = ["--keys", "5", "--events", "4", "--distribution", "hotspot"];

#[test]
fn faults_are_for_servers_that_the_run_started() {
    let folder = Folder::new("fault-refused");
    let cases: [(&[&str], &str); 7] = [
        (&["--fault", "kill", "--db", "postgres://h/x"], "not for the servers of --db"),
        (&["--fault", "kill"], "not for the mock database"),
        (&["--fault", "partition", "--up", "mariadb"], "a single server cannot be partitioned"),
        (&["--fault", "fire", "--up", "mariadb"], "`fire` is not a fault; use kill, pause or partition"),
        (&["--heal", "3s", "--up", "mariadb"], "--heal is for a fault, and there is none"),
        (&["--fault", "kill", "--up", "mariadb", "--runs", "4", "--jobs", "2"], "use --jobs 1"),
        (&["--fault", "kill,pause", "--up", "mariadb", "--heal", "never"], "nothing else can be tried"),
    ];
    for (arguments, words) in cases {
        let ran = folder.skew(&[&["run", "registers"], arguments].concat()).expect(2);
        assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
    folder.skew(&["run", "registers", "--up", "mariadb", "--db", "mysql://h/x"]).expect(2);
    folder.skew(&["run", "registers", "--up", "mariadb", "--updates", "plain"]).expect(2);
}

/// A server is killed and comes back; then one that does not.
fn killed(kind: &str) {
    let folder = Folder::new(&format!("fault-{kind}"));
    let shape = ["run", "registers", "--up", kind, "--fault", "kill", "--sessions", "6", "--transactions", "50"];
    let ran = folder.skew(&[&shape[..], &HOT, &["--check", "serializable", "--format", "json"]].concat());
    if is_missing(&ran) {
        return;
    }
    let (code, json) = (ran.code, ran.accepted().json());
    // A commit that was under way when the server went may have been seen, and be gone afterwards: then somebody has no answer to it.
    assert!(code == Some(0) || json["unknown"].as_u64() > Some(0), "{json}");
    assert_eq!((&json["end"], &json["operations"]), (&Value::from("finished"), &Value::from(300)));
    let fault = &json["faults"][0];
    assert_eq!((&fault["fault"], &fault["nodes"]), (&Value::from("kill"), &Value::from(vec![1])));
    // While the server is down nobody need get anything done.
    let (began, healed) = (&fault["began"]["transactions"], &fault["healed"]["transactions"]);
    assert!(began.as_u64() <= healed.as_u64() && began.as_u64() < Some(300) && healed.is_u64(), "{fault}");

    let more = ["--heal", "never", "--check", "serializable", "--record", "kept.jsonl"];
    let ran = folder.skew(&[&shape[..], &HOT, &more].concat()).expect(3);
    assert!(ran.out.contains("  stopped after ") && ran.out.contains(" of 300 transactions"), "{}", ran.out);
    assert!(ran.out.contains("  kill of the server: after ") && ran.out.contains(", never healed\n"), "{}", ran.out);
    assert!(ran.out.contains("  serializable  holds"), "{}", ran.out);
    assert!(ran.err.contains("what was recorded up to then is a valid history"), "{}", ran.err);
    folder.skew(&["check", "-q", "--level", "serializable", "kept.jsonl"]).expect(0);
}

#[test]
fn a_postgresql_is_killed() {
    killed("postgres");
}

#[test]
fn a_mariadb_is_killed() {
    killed("mariadb");
}

#[test]
fn a_cluster_loses_updates_across_its_nodes() {
    let folder = Folder::new("galera");
    let shape = ["run", "registers", "--up", "galera", "--level", "snapshot", "--sessions", "6", "--runs", "10"];
    let ran = folder.skew(&[&shape[..], &HOT, &["--transactions", "40", "--check", "snapshot"]].concat());
    if is_missing(&ran) {
        return;
    }
    let ran = ran.expect(1);
    assert!(ran.out.contains("at mysql:repeatable-read on a Galera cluster of its own with 3 nodes\n"), "{}", ran.out);
    assert!(ran.out.contains(" not snapshot: ") && ran.out.contains("lost update"), "{}", ran.out);
    assert!(ran.out.contains("\nskew run registers --level snapshot --up galera --sessions 6 "), "{}", ran.out);
}

#[test]
fn for_update_is_no_mutex_between_the_nodes_of_a_cluster() {
    let folder = Folder::new("galera-tickets");
    let ran = folder.skew(&["run", "tickets", "--up", "galera", "--sessions", "6", "--runs", "5", "--format", "json"]);
    if is_missing(&ran) {
        return;
    }
    let json = ran.expect(1).json();
    assert_eq!(json["level"], "mysql:repeatable-read");
    assert!(json["broken"].as_array().is_some_and(|broken| !broken.is_empty()), "{json}");
    assert!(json["assertions"][0]["failures"].as_u64() > Some(0), "{json}");
}

#[test]
fn a_cluster_is_cut_in_two_and_grows_together_again() {
    let folder = Folder::new("galera-partition");
    let shape = ["run", "registers", "--up", "galera", "--fault", "partition", "--level", "read-committed"];
    let more = ["--sessions", "6", "--transactions", "50", "--format", "json", "--record", "kept.jsonl"];
    let ran = folder.skew(&[&shape[..], &HOT, &more].concat());
    if is_missing(&ran) {
        return;
    }
    // Several nodes are not what one server would be, cut in two or not.
    let json = ran.accepted().json();
    assert_eq!((&json["end"], &json["operations"]), (&Value::from("finished"), &Value::from(300)));
    let fault = &json["faults"][0];
    assert_eq!(fault["fault"], "partition");
    assert!(fault["healed"].is_object() && fault["problem"].is_null(), "{fault}");
    // Those who are cut off say so, or do not answer: the run goes on when they are back.
    assert!(json["aborted"]["node not ready"].as_u64() > Some(0), "{json}");
    folder.skew(&["check", "-q", "--level", "read-committed", "kept.jsonl"]).accepted();
}
