//! `skew analyze --solver`: a second opinion of z3, and programs that are not z3 or do not behave.

use crate::signals::let_children_hear_all;
use crate::{Folder, Ran};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const WITHDRAW: &str = "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE withdraw(IN number INT, IN amount INT, OUT paid INT)
BEGIN
  DECLARE held INT;
  SELECT balance INTO held FROM account WHERE id = number;
  IF held >= amount THEN
    UPDATE account SET balance = held - amount WHERE id = number;
    SET paid = amount;
  END IF;
END;
";

/// A program that says that it is z3 and then does this.
fn pretender(folder: &Folder, name: &str, does: &str) -> String {
    let text =
        format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Z3 version 9.9.9 - 64 bit'; exit 0; fi\n{does}\n");
    folder.write(name, &text);
    let path = folder.path().join(name);
    let status = Command::new("chmod").arg("+x").arg(&path).status().expect("chmod");
    assert!(status.success());
    path.to_string_lossy().into_owned()
}

fn asked(folder: &Folder, level: &str, solver: &str, time: &str) -> Ran {
    folder.skew(&["analyze", "withdraw.sql", "--level", level, "--solver", solver, "--solver-time", time])
}

#[test]
fn a_solver_that_is_not_there_or_is_none_is_complained_about() {
    let folder = Folder::new("analyze-solver-none");
    folder.write("withdraw.sql", WITHDRAW);
    for solver in ["there-is-no-such-solver", "/there/is/none", "/", "true", "cat"] {
        let ran = asked(&folder, "psi", solver, "10s");
        assert_eq!(ran.code, Some(2), "{solver}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("--solver") && ran.err.contains("install z3"), "{solver}: {}", ran.err);
    }
}

#[test]
fn a_solver_that_crashes_or_prints_nonsense_leaves_the_answer_unknown() {
    let folder = Folder::new("analyze-solver-nonsense");
    folder.write("withdraw.sql", WITHDRAW);
    let does = [
        ("crashes", "kill -SEGV $$", "gives no answer"),
        ("fails", "echo unsat; exit 1", "exit code 1"),
        ("nonsense", "cat > /dev/null; echo perhaps", "printed: perhaps"),
        ("silent", "exit 0", "printed nothing"),
        ("errs", "echo '(error \"line 1\")'; echo unsat", "(error"),
        ("wrong", "echo sat", "one of them is wrong"),
        ("undecided", "echo unknown", "finds no answer"),
        ("endless", "while :; do sleep 1; done", "finds no answer"),
    ];
    for (name, does, told) in does {
        let solver = pretender(&folder, name, does);
        let ran = asked(&folder, "psi", &solver, "300ms");
        assert_eq!(ran.code, Some(3), "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("unknown") && ran.out.contains(told), "{name}: {}", ran.out);
    }
    // A cycle that is found needs the other one's word as well.
    let ran = asked(&folder, "read-atomic", &pretender(&folder, "denies", "echo unsat"), "10s");
    assert_eq!(ran.code, Some(3), "{}", ran.out);
    assert!(ran.out.contains("one of them is wrong"), "{}", ran.out);
    let ran = asked(&folder, "read-atomic", &pretender(&folder, "agrees", "echo sat"), "10s");
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.contains("z3 9.9.9 gives the same answer to 2 questions at read-atomic"), "{}", ran.out);
}

#[test]
fn an_installed_z3_agrees() {
    if !Command::new("z3").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        skew_testing::skipped("z3 is not installed");
        return;
    }
    let folder = Folder::new("analyze-solver-z3");
    folder.write("withdraw.sql", WITHDRAW);
    let ran = asked(&folder, "read-atomic,psi,snapshot", "z3", "60s");
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    for told in
        ["read-atomic  anomaly: 1 confirmed", "psi          robust", "snapshot     robust", "gives the same answer"]
    {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
}

/// Ctrl-C ends both: the question, and the other solver that thinks about it.
#[test]
#[cfg(unix)]
fn an_interrupt_ends_the_other_solver() {
    let_children_hear_all();
    let folder = Folder::new("analyze-solver-interrupt");
    folder.write("withdraw.sql", WITHDRAW);
    let solver = pretender(&folder, "slow", "echo $$ > started; exec sleep 600");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skew"));
    command.args(["analyze", "withdraw.sql", "--level", "psi", "--solver", &solver, "--solver-time", "10m"]);
    let mut child =
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("skew");
    let started = folder.path().join("started");
    let process = patiently(|| std::fs::read_to_string(&started).ok().filter(|text| text.ends_with('\n')));
    let kill = |signal: &str, process: &str| {
        let status = Command::new("kill").args([signal, process]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    assert!(kill("-INT", &child.id().to_string()));
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let is_gone = || {
        let status = std::fs::read_to_string(Path::new("/proc").join(process.trim()).join("stat"));
        let is_dead = status.map_or(!kill("-0", process.trim()), |text| text.contains(") Z"));
        is_dead.then_some(())
    };
    patiently(is_gone);
}

/// Waits for something that happens sooner or later.
fn patiently<T>(look: impl Fn() -> Option<T>) -> T {
    for _ in 0..3_000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not happen within a minute");
}

/// Findings at the papers' levels are run, and the line that repeats a run does.
#[test]
fn what_is_found_at_the_papers_levels_is_tried() {
    let folder = Folder::new("analyze-papers-tried");
    folder.write("withdraw.sql", WITHDRAW);
    folder.write("own.txt", "causal\n");
    folder.write("other.txt", "forall a b: a is withdraw and ar(a, b) and vis(b, a) => vis(a, b)\n");
    let ran = folder.skew(&[
        "analyze",
        "withdraw.sql",
        "--level",
        "read-atomic,causal,prefix",
        "--keep",
        "found",
        "--specification",
        "own.txt",
    ]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_eq!(ran.out.matches("confirmed by a run that ends as no serial order does").count(), 4, "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().filter_map(|line| line.trim().strip_prefix("See it: skew ")).collect();
    assert_eq!(lines.len(), 4, "{}", ran.out);
    for line in lines {
        let replayed = Command::new("sh")
            .args(["-c", &format!("\"$0\" {line}"), env!("CARGO_BIN_EXE_skew")])
            .current_dir(folder.path())
            .output();
        let replayed = replayed.expect("a shell");
        let out = String::from_utf8_lossy(&replayed.stdout);
        assert!(replayed.status.success(), "{line}: {out}{}", String::from_utf8_lossy(&replayed.stderr));
        assert!(out.contains("lost update") && out.contains("serializable forbids this"), "{line}: {out}");
    }
    let ran = folder.skew(&["analyze", "withdraw.sql", "--level", "serializable", "--specification", "other.txt"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("the explorer has no such level, so no run was tried"), "{}", ran.out);
}

/// Loops, searches and many paths: what templates cannot decide is asked of a few transactions.
#[test]
fn what_templates_do_not_know_a_few_transactions_may() {
    let folder = Folder::new("analyze-instances");
    let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/analyze/tpcc-full.sql");
    folder.write("tpcc.sql", std::fs::read_to_string(example).expect("an example"));
    let ran = folder.skew(&["analyze", "tpcc.sql", "--level", "postgres:repeatable-read", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(json["questions"][0]["verdict"], "robust", "{}", ran.out);
    assert_eq!(json["questions"][0]["engine"], "inductive", "{}", ran.out);
    assert_eq!(json["lowest"]["delivery"], "postgres:repeatable-read", "{}", ran.out);
}
