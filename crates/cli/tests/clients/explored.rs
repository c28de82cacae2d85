//! An application with a race, explored run by run: the race is found, and its fix is explored to the end. Where a pool of connections hides
//! who works, nobody is told that all is well.

use crate::clients;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn explore(python: &Path, words: &[&str]) -> Output {
    let application = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/withdraw-app");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skew"));
    command.current_dir(application).args(["explore", "--level", "read-committed", "--"]).arg(python);
    command.arg("withdraw.py").args(words).output().unwrap()
}

#[test]
fn a_race_is_found_and_its_fix_explored_to_the_end() {
    let Some(clients) = clients() else { return };
    let python = clients.join("python/bin/python");
    let raced = explore(&python, &[]);
    let text = String::from_utf8_lossy(&raced.stdout).into_owned();
    assert_eq!(raced.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&raced.stderr));
    assert!(text.contains("read-committed  4 histories of 5 explored"), "{text}");
    assert!(text.contains("fails   in 2 histories") && text.contains("stale update"), "{text}");
    let fixed = explore(&python, &["fixed"]);
    let text = String::from_utf8_lossy(&fixed.stdout).into_owned();
    assert_eq!(fixed.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&fixed.stderr));
    assert!(text.contains("2 histories of 3 explored") && text.contains("passes  in every run"), "{text}");
}

fn explore_pool(clients: &Path, words: &[&str]) -> Output {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/programs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skew"));
    command.current_dir(programs).env("NODE_PATH", clients.join("node/node_modules"));
    command.args(["explore", "--level", "read-committed", "--", "node", "pooled_bank.js"]).args(words).output().unwrap()
}

#[test]
fn a_race_behind_a_pool_of_connections_is_open_until_the_set_up_has_an_end() {
    let Some(clients) = clients() else { return };
    let pooled = explore_pool(&clients, &[]);
    let text = String::from_utf8_lossy(&pooled.stdout).into_owned();
    assert_eq!(pooled.status.code(), Some(3), "{text}{}", String::from_utf8_lossy(&pooled.stderr));
    assert!(text.contains("set up by client (") && text.contains("took part: "), "{text}");
    assert!(!text.contains("passes"), "{text}");
    let settled = explore_pool(&clients, &["settled"]);
    let text = String::from_utf8_lossy(&settled.stdout).into_owned();
    assert_eq!(settled.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&settled.stderr));
    assert!(text.contains("took part: client (") && text.contains("client:2 ("), "{text}");
}
