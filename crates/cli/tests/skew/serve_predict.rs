//! `skew serve --predict -- command`: one passing run in, a failing one out, and a clear answer where there is nothing to go by.

use crate::campaign::{signal, wait_until_gone};
use crate::serve::{Client, as_client_of};
use crate::{Folder, Ran};
use std::process::Command;
use std::time::Duration;

/// Two deposits, one after the other, each over a connection of its own: the second is read by no one before it begins.
#[test]
fn two_clients_deposit() {
    let Some(way) = std::env::var("SKEW_TEST_DEPOSIT").ok() else { return };
    let address = format!("{}:{}", std::env::var("PGHOST").unwrap(), std::env::var("PGPORT").unwrap());
    let mut bank = Client::connect(&address);
    bank.query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)").unwrap();
    bank.query("INSERT INTO account VALUES (1, 100)").unwrap();
    let lock = if way == "locked" { " FOR UPDATE" } else { "" };
    let (mut ann, mut bob) = (Client::connect(&address), Client::connect(&address));
    if way == "pooled" {
        std::mem::swap(&mut bank, &mut ann);
    }
    for client in [&mut ann, &mut bob] {
        client.query("BEGIN").unwrap();
        let balance = client.query(&format!("SELECT balance FROM account WHERE id = 1{lock}")).unwrap();
        let more = balance.parse::<i32>().unwrap() + 10;
        client.query(&format!("UPDATE account SET balance = {more} WHERE id = 1")).unwrap();
        client.query("COMMIT").unwrap();
    }
    let last = if way == "pooled" { &mut bob } else { &mut bank };
    let balance = last.query("SELECT balance FROM account WHERE id = 1 FOR UPDATE").unwrap();
    assert_eq!(balance, "120", "a deposit is lost");
}

fn deposit(folder: &Folder, way: &str, arguments: &[&str]) -> Ran {
    let mut command = as_client_of(folder, arguments, "serve_predict::two_clients_deposit");
    // What is shown is the end of what was printed.
    Ran::new(command.env("SKEW_TEST_DEPOSIT", way).env("RUST_BACKTRACE", "0").output().unwrap())
}

#[test]
fn a_deposit_is_lost_by_prediction_and_again_by_its_line() {
    let folder = Folder::new("serve-predict");
    let ran = deposit(&folder, "plain", &["--predict", "--level", "causal", "--save", "found"]).expect(1);
    assert!(ran.out.contains("passes with ordinary reads (3 sessions, "), "{}", ran.out);
    assert!(ran.out.contains("  fails  by prediction: ") && ran.out.contains("a deposit is lost"), "{}", ran.out);
    assert!(ran.out.contains("the run is within causal and not serializable"), "{}", ran.out);
    let line = ran.out.lines().find_map(|line| line.strip_prefix("  again: ")).unwrap();
    let again = folder.shell(&format!("export SKEW_TEST_DEPOSIT=plain; {line}"));
    assert_eq!(again.code, Some(1), "{line}\n{}{}", again.out, again.err);
    assert!(again.out.contains("a deposit is lost") && again.err.contains("the command failed: exit code 101"));
    folder.skew(&["check", "-q", "--level", "causal", "found/failing-1.jsonl"]).expect(0);
    folder.skew(&["check", "-q", "--level", "serializable", "found/failing-1.jsonl"]).expect(1);
    folder.skew(&["check", "-q", "--level", "strict-serializable", "found/recorded.jsonl"]).expect(0);
    let kept = deposit(&folder, "plain", &["--predict", "--level", "causal"]).expect(1);
    assert!(kept.err.contains("with --save DIR the failing run is kept"), "{}", kept.err);
}

#[test]
fn a_lock_leaves_no_run_that_fails_and_it_is_told_what_was_tried() {
    let folder = Folder::new("serve-predict-locked");
    let ran = deposit(&folder, "locked", &["--predict", "--level", "causal"]).expect(0);
    assert!(ran.out.contains("  none: ") && ran.out.contains("causal"), "{}", ran.out);
}

/// One client reads, another one deposits meanwhile, and the first goes on: the run that is recorded is bad, and nobody notices.
#[test]
fn two_clients_overlap() {
    if std::env::var_os("SKEW_TEST_CLIENT").is_none() {
        return;
    }
    let address = format!("{}:{}", std::env::var("PGHOST").unwrap(), std::env::var("PGPORT").unwrap());
    let mut bank = Client::connect(&address);
    bank.query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)").unwrap();
    bank.query("INSERT INTO account VALUES (1, 100)").unwrap();
    let (mut ann, mut bob) = (Client::connect(&address), Client::connect(&address));
    ann.query("BEGIN").unwrap();
    ann.query("SELECT balance FROM account WHERE id = 1").unwrap();
    bob.query("BEGIN; SELECT balance FROM account WHERE id = 1; UPDATE account SET balance = 110; COMMIT").unwrap();
    ann.query("UPDATE account SET balance = 120 WHERE id = 1").unwrap();
    ann.query("COMMIT").unwrap();
}

#[test]
fn a_run_that_is_bad_by_itself_is_told_as_it_is() {
    let folder = Folder::new("serve-predict-observed");
    let arguments = ["--predict", "--patience", "50ms", "--save", "found"];
    let mut command = as_client_of(&folder, &arguments, "serve_predict::two_clients_overlap");
    let ran = Ran::new(command.output().unwrap()).expect(1);
    assert!(ran.out.contains("observed: this run is not serializable as it is: "), "{}", ran.out);
    assert!(!ran.out.contains("none: "), "{}", ran.out);
    folder.skew(&["check", "-q", "--level", "serializable", "found/recorded.jsonl"]).expect(1);
}

#[test]
fn too_few_runs_are_no_answer() {
    let folder = Folder::new("serve-predict-few");
    let ran = deposit(&folder, "plain", &["--predict", "--level", "causal", "--replays", "0"]).expect(3);
    assert!(ran.out.contains("raise --replays"), "{}", ran.out);
}

#[test]
fn where_there_is_nothing_to_go_by_that_is_said() {
    let folder = Folder::new("serve-predict-nothing");
    let serve = |words: &[&str]| folder.skew(&[&["serve"], words].concat());
    let fails = serve(&["--predict", "--", "sh", "-c", "echo broken; exit 7"]).expect(1);
    assert!(fails.out.contains("fails with ordinary reads already: exit code 7\n    | broken\n"), "{}", fails.out);
    let late = serve(&["--predict", "--timeout", "300ms", "--", "sleep", "60"]).expect(1);
    assert!(late.out.contains("fails with ordinary reads already: did not end in time"), "{}", late.out);
    let idle = serve(&["--predict", "--", "true"]).expect(3);
    assert!(idle.out.contains("neither reads nor writes anything in the database"), "{}", idle.out);
    let absent = serve(&["--predict", "--", "./absent"]).expect(2);
    assert!(absent.err.contains("./absent: cannot be run"), "{}", absent.err);
    folder.write("empty.jsonl", "{\"skew\":1}\n");
    let empty = serve(&["--foretold", "empty.jsonl", "--", "true"]).expect(2);
    assert!(empty.err.contains("empty.jsonl: the input holds no transaction"), "{}", empty.err);
    folder.write("wrong.jsonl", "wrong\n");
    let wrong = serve(&["--foretold", "wrong.jsonl", "--", "true"]).expect(2);
    assert!(wrong.err.contains("wrong.jsonl"), "{}", wrong.err);
    let serializable = serve(&["--predict", "--level", "serializable", "--", "true"]).expect(2);
    assert!(serializable.err.contains("the database keeps serializable itself"), "{}", serializable.err);
    let timed = serve(&["--predict", "--against", "strict-serializable", "--", "true"]).expect(2);
    assert!(timed.err.contains("a predicted run has no times"), "{}", timed.err);
    let workload = folder.skew(&["run", "smallbank", "--predict"]).expect(2);
    assert!(workload.err.contains("nothing could be predicted at serializable"), "{}", workload.err);
    for words in [&["--predict"][..], &["--predict", "--runs", "2", "--", "true"], &["--save", "x", "--", "true"]] {
        serve(words).expect(2);
    }
}

#[test]
fn one_session_alone_is_no_answer() {
    let folder = Folder::new("serve-predict-alone");
    let mut command = as_client_of(&folder, &["--predict"], "serve_predict::one_client_writes");
    let ran = Ran::new(command.output().unwrap()).expect(3);
    assert!(ran.out.contains("inconclusive: one session only"), "{}", ran.out);
    // What a session wrote itself it sees, so there is nothing to try.
    assert!(!ran.out.contains("made again"), "{}", ran.out);
}

/// As a pool has it that gives the connection of the set-up to the first who asks.
#[test]
fn whoever_sets_up_and_takes_part_is_no_answer() {
    let folder = Folder::new("serve-predict-pool");
    let ran = deposit(&folder, "pooled", &["--predict", "--level", "causal"]).expect(3);
    assert!(ran.out.contains("inconclusive: one session set up, and one did all the rest"), "{}", ran.out);
}

/// What the test above runs.
#[test]
fn one_client_writes() {
    if std::env::var_os("SKEW_TEST_CLIENT").is_none() {
        return;
    }
    let address = format!("{}:{}", std::env::var("PGHOST").unwrap(), std::env::var("PGPORT").unwrap());
    let mut client = Client::connect(&address);
    client.query("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    client.query("SELECT id FROM t").unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_command_with_all_that_it_started() {
    let folder = Folder::new("serve-predict-interrupted");
    let line = "sleep 600 & echo $! > started.part; mv started.part started; wait";
    let child = folder.start(&["serve", "--predict", "--", "sh", "-c", line]);
    while !folder.path().join("started").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "-INT");
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(3);
    assert!(ran.out.contains("interrupted in the run with ordinary reads"), "{}", ran.out);
    wait_until_gone(&folder.read("started"));
}

/// The second time, the command waits to be interrupted.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_while_runs_are_made_again_keeps_what_was_recorded() {
    let folder = Folder::new("serve-predict-interrupted-later");
    let this = std::env::current_exe().unwrap();
    let test = format!("'{}' --exact serve_predict::two_clients_deposit", this.display());
    let line =
        format!("if [ -e ran ]; then echo $$ > again.part; mv again.part again; sleep 600; fi; {test} && : > ran");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skew"));
    command.args(["serve", "--predict", "--save", "found", "--", "sh", "-c", &line]).current_dir(folder.path());
    command.env("SKEW_TEST_DEPOSIT", "plain").stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    while !folder.path().join("again").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "-INT");
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(3);
    assert!(ran.out.contains("passes with ordinary reads") && ran.out.ends_with("  interrupted\n"), "{}", ran.out);
    wait_until_gone(&folder.read("again"));
    folder.skew(&["check", "-q", "found/recorded.jsonl"]).expect(0);
}

#[test]
fn a_recorded_run_is_predicted_from_and_made_again_with_its_command() {
    let folder = Folder::new("predict-replay");
    let record = ["--level", "causal", "--schedule", "serial", "--chooser", "latest", "--record", "run.jsonl"];
    deposit(&folder, "plain", &record).expect(0);
    let client = std::env::current_exe().unwrap();
    let command = format!("{} --exact serve_predict::two_clients_deposit --quiet", client.display());
    let predict = |way: &str, command: &str| {
        let mut skew = folder.command(&["predict", "run.jsonl", "--level", "causal", "--replay", command]);
        Ran::new(skew.env("SKEW_TEST_DEPOSIT", way).env("RUST_BACKTRACE", "0").output().unwrap()).expect(1)
    };
    let ran = predict("plain", &command);
    assert!(ran.out.contains("\nvalidated: ") && ran.out.contains("the command failed: exit code 101"), "{}", ran.out);
    // Another program does something else.
    let other = predict("plain", "true");
    assert!(other.out.contains("\ndiverged: ") && other.out.contains("did not ask for it"), "{}", other.out);
}

#[test]
fn predictions_of_a_workload_are_made_again() {
    let folder = Folder::new("run-predict");
    let run = |workload: &str, more: &[&str]| {
        let usual = ["--predict", "--updates", "plain", "--transactions", "4", "--level", "causal", "--format", "json"];
        folder.skew(&[&["run", workload][..], &usual, more].concat())
    };
    let found = run("smallbank", &["--replays", "3", "--strategy", "exact-relaxed"]);
    let json: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert!(!runs.is_empty() && runs.iter().all(|run| run["validated"] == "validated"), "{}", found.out);
    assert_eq!(run("smallbank", &["--replays", "3", "--strategy", "exact-relaxed"]).out, found.out, "the same twice");
    let none = run("voter", &["--limit", "1", "--stones", "0"]).expect(0);
    assert!(none.out.contains("\"verdict\":\"none\""), "{}", none.out);
}
