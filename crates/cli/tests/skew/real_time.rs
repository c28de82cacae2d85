//! What the mock database knows about time: a read of what was overwritten before its transaction began is serializable and not strict.
//!
//! The command is this test binary, told by `SKEW_TEST_REAL_TIME` whether to mind:
//!
//! ```text
//!   reader   connects                                      reads ── 100, with the chooser `stalest`
//!   writer              connects ── writes 40 ── is gone
//! ```

use crate::explore_command::raw::Raw;
use crate::{Folder, Ran};
use std::net::SocketAddr;
use std::process::Stdio;

const VARIABLE: &str = "SKEW_TEST_REAL_TIME";
const SCHEMA: &str = "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100);
";

fn connect(name: &str) -> Raw {
    let variable = |name: &str| std::env::var(name).unwrap();
    let address: SocketAddr = format!("{}:{}", variable("PGHOST"), variable("PGPORT")).parse().unwrap();
    Raw::connect(address, &[("user", "skew"), ("application_name", name)])
}

/// What the command does. By itself it is no test.
#[test]
fn application() {
    let Ok(minds) = std::env::var(VARIABLE) else { return };
    let (mut reader, mut writer) = (connect("reader"), connect("writer"));
    writer.query("UPDATE account SET balance = 40 WHERE id = 1");
    let told = reader.query("SELECT balance FROM account WHERE id = 1");
    if minds == "yes" && told[0] != "D 40" {
        std::process::exit(1);
    }
}

fn serve(folder: &Folder, minds: &str, arguments: &[&str]) -> Ran {
    folder.write("schema.sql", SCHEMA);
    let this = std::env::current_exe().unwrap();
    let command = ["--init", "schema.sql", "--", this.to_str().unwrap(), "--exact", "real_time::application"];
    let words = [&["serve", "--level", "serializable"], arguments, &command].concat();
    Ran::new(folder.command(&words).env(VARIABLE, minds).stdin(Stdio::null()).output().unwrap())
}

#[test]
fn a_stale_read_is_not_strict_serializable() {
    let folder = Folder::new("real-time-serve");
    let strict = ["--against", "strict-serializable"];
    let stale = serve(&folder, "no", &[&["--chooser", "stalest"], &strict[..]].concat()).expect(1);
    assert!(stale.out.contains("1 run is not strict-serializable: real-time violation (1)"), "{}", stale.out);
    assert!(stale.out.contains("ended at 1, before") && stale.out.contains("began at 2"), "{}", stale.out);
    let fresh = serve(&folder, "no", &[&["--chooser", "latest"], &strict[..]].concat()).expect(0);
    assert!(fresh.out.contains("the run is strict-serializable"), "{}", fresh.out);
}

#[test]
fn a_stale_read_behind_a_failure_is_told() {
    let folder = Folder::new("real-time-failure");
    let stale = serve(&folder, "yes", &["--chooser", "stalest"]).expect(1);
    let told = "seed 1: exit code 1; the run is serializable, but not strict-serializable: real-time violation";
    assert!(stale.out.contains(told) && stale.out.contains("the run is serializable\n"), "{}", stale.out);
}

#[test]
fn a_recorded_run_has_the_times_of_its_transactions() {
    let folder = Folder::new("real-time-record");
    serve(&folder, "no", &["--chooser", "stalest", "--record", "run.jsonl"]).expect(0);
    let lines = folder.read("run.jsonl");
    let times: Vec<&str> = lines.lines().skip(1).map(|line| line.split_once("\"begin\"").unwrap().1).collect();
    assert_eq!(times, [":0,\"end\":1}", ":2,\"end\":3}"], "{lines}");
    folder.skew(&["check", "run.jsonl", "--level", "serializable"]).expect(0);
    folder.skew(&["check", "run.jsonl", "--level", "strict-serializable"]).expect(1);
}

#[test]
fn played_runs_have_times_too() {
    let program = "CREATE PROCEDURE put() BEGIN UPDATE account SET balance = 40 WHERE id = 1; END;
CREATE PROCEDURE look(OUT seen INT) BEGIN SELECT balance INTO seen FROM account WHERE id = 1; END;
SESSION a: CALL put();
SESSION b: CALL look(@seen);
";
    let folder = Folder::new("real-time-play");
    folder.write("program.sql", format!("{SCHEMA}{program}"));
    let play = |arguments: &[&str]| {
        let usual = ["play", "program.sql", "--level", "ser", "--schedule", "serial", "--against", "sser"];
        folder.skew(&[&usual, arguments].concat())
    };
    let stale = play(&["--chooser", "stalest"]).expect(1);
    assert!(stale.out.contains("not strict-serializable: real-time violation"), "{}", stale.out);
    let fresh = play(&["--chooser", "latest"]).expect(0);
    assert!(fresh.out.contains("every run is strict-serializable"), "{}", fresh.out);
}
