//! `skew serve -- command` when things do not go as they should: commands that hang, leave others behind, or fail before one another.

use crate::serve::{Client, as_client_of, listening};
use crate::{Folder, Ran};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Works for long without waiting for anything.
const BUSY: &str = "SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b WHERE a + b = 7";

pub(crate) fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_busy_server_ends_when_it_is_asked_to() {
    for name in ["-INT", "-TERM"] {
        let folder = Folder::new("serve-busy");
        let (mut server, mut out, address) = listening(&folder, &[]);
        let mut client = Client::connect(&address);
        client.query("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
        client.query("INSERT INTO t VALUES (1)").unwrap();
        client.send(BUSY);
        // Usually it is at work by then; if not, it never begins.
        std::thread::sleep(Duration::from_millis(50));
        signal(&server.0, name);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert!(rest.starts_with("1 client, 1 committed, "), "{rest}");
        assert_eq!(server.0.wait().unwrap().code(), Some(0));
    }
}

/// Whether a process is there and does something.
fn lives(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

pub(crate) fn wait_until_gone(processes: &str) {
    for process in processes.split_whitespace() {
        // A test that would wait for ever fails instead.
        let gone = (0..3000).any(|_| {
            let lives = lives(process);
            if lives {
                std::thread::sleep(Duration::from_millis(10));
            }
            !lives
        });
        assert!(gone, "{process} is left behind");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_command_started_ends_with_it() {
    let folder = Folder::new("serve-family");
    let hangs = "sleep 600 & echo $! >> hanging; wait";
    folder.skew(&["serve", "--timeout", "500ms", "--runs", "2", "--", "sh", "-c", hangs]).expect(1);
    assert_eq!(folder.read("hanging").lines().count(), 2);
    wait_until_gone(&folder.read("hanging"));
    let leaves = "sleep 600 & echo $! >> left";
    // It passes, and asks its database for nothing: that nothing could race is inconclusive.
    folder.skew(&["serve", "--runs", "2", "--", "sh", "-c", leaves]).expect(3);
    wait_until_gone(&folder.read("left"));
    let deaf = "trap '' TERM; echo $$ >> deaf; while :; do sleep 0.1; done";
    folder.skew(&["serve", "--timeout", "500ms", "--runs", "2", "--jobs", "2", "--", "sh", "-c", deaf]).expect(1);
    wait_until_gone(&folder.read("deaf"));
}

#[test]
fn an_interrupt_reaches_the_command() {
    let folder = Folder::new("serve-forward");
    let line = "trap 'echo heard it; exit 0' INT; echo up; while :; do sleep 0.05; done";
    let mut child = folder.start(&["serve", "--", "sh", "-c", line]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert_eq!(first, "up\n");
    signal(&child, "-INT");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("heard it\n") && rest.contains("interrupted"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// What the test below runs: it writes something, and goes when the server does.
#[test]
fn writes_and_stays() {
    if std::env::var_os("SKEW_TEST_CLIENT").is_none() {
        return;
    }
    let address = format!("{}:{}", std::env::var("PGHOST").unwrap(), std::env::var("PGPORT").unwrap());
    let mut client = Client::connect(&address);
    client.query("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    writeln!(std::io::stderr(), "written").unwrap();
    client.wait_for_the_end();
}

#[test]
fn a_run_is_recorded_as_it_happens() {
    let folder = Folder::new("serve-run-killed");
    let mut command = as_client_of(&folder, &["--record", "run.jsonl"], "campaign::writes_and_stays");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "written"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.read("run.jsonl").contains("INSERT INTO t"), "{}", folder.read("run.jsonl"));
    folder.skew(&["check", "run.jsonl", "--level", "declared"]).expect(0);
}

fn serve(folder: &Folder, arguments: &[&str], line: &str) -> Ran {
    folder.skew(&[&["serve"], arguments, &["--", "sh", "-c", line]].concat())
}

#[test]
fn the_first_failure_is_that_of_the_smallest_seed() {
    let folder = Folder::new("serve-first");
    // One of the first two runs fails late, the other at once.
    let line = "if mkdir late 2>/dev/null; then sleep 0.5; exit 3; else exit 4; fi";
    let ran = serve(&folder, &["--runs", "9", "--jobs", "2", "--stop-at-first"], line).expect(1);
    assert!(ran.out.contains(": 1 run at its own level from seed 1\n  fails  in 1 run\n    seed 1: "), "{}", ran.out);
}

#[test]
fn what_was_found_is_told_before_what_went_wrong() {
    let folder = Folder::new("serve-wrong");
    folder.write("once", "#!/bin/sh\nrm -- \"$0\"\nexit 3\n");
    folder.shell("chmod +x once").expect(0);
    let ran = folder.skew(&["serve", "--runs", "2", "--", "./once"]).expect(2);
    assert!(ran.out.contains("fails  in 1 run\n    seed 1: exit code 3"), "{}", ran.out);
    assert!(ran.err.contains("./once: cannot be run"), "{}", ran.err);
}

#[test]
fn the_line_that_repeats_a_run_says_all_that_matters() {
    let folder = Folder::new("serve-line");
    let said = ["--timeout", "90s", "--schedule", "serial", "--patience", "2s", "--against", "si"];
    let ran = serve(&folder, &[&["--runs", "2"], &said[..]].concat(), "false").expect(1);
    let line = "\nskew serve --schedule serial --patience 2000ms --timeout 90000ms --against snapshot --clock ";
    assert!(ran.out.contains(line) && ran.out.contains("Z --replay 1 -- sh"), "{}", ran.out);
    let ran =
        serve(&folder, &["--runs", "2", "--level", "rc", "--chooser", "novel", "--record", "kept"], "false").expect(1);
    let line = "\nskew serve --level read-committed --replay kept/1.choices -- sh -c false";
    assert!(ran.out.contains(line), "{}", ran.out);
}

#[test]
fn a_single_run_that_failed_is_told_how_to_repeat_unless_it_is_a_repetition() {
    let folder = Folder::new("serve-single-line");
    let ran = serve(&folder, &["--clock", "2026-01-01"], "false").expect(1);
    let line = "\nskew serve --clock 2026-01-01T00:00:00Z --replay 1 -- sh -c false\n";
    assert!(ran.out.contains(line), "{}", ran.out);
    let ran = serve(&folder, &["--choices", "a.log"], "false").expect(1);
    assert!(ran.out.ends_with("\nskew serve --replay a.log -- sh -c false\n"), "{}", ran.out);
    for again in [&["--clock", "2026-01-01", "--replay", "1"][..], &["--replay", "a.log"]] {
        let ran = serve(&folder, again, "false").expect(1);
        assert!(!ran.out.contains("skew serve"), "{}", ran.out);
    }
    assert!(!serve(&folder, &[], "true").expect(3).out.contains("skew serve"));
}

#[test]
fn what_several_runs_cannot_share_is_refused() {
    let folder = Folder::new("serve-shared");
    let refused = |arguments: &[&str]| serve(&folder, arguments, "true").expect(2).err;
    assert!(refused(&["--runs", "2", "--level", "rc", "--chooser", "novel"]).contains("add --record with a folder"));
    assert!(refused(&["--runs", "2", "--jobs", "2", "--port", "5999"]).contains("leave --port away"));
    assert!(refused(&["--runs", "2", "--choices", "log"]).contains("use --record with a folder"));
}
