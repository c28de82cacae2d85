//! A program on the mock: `skew serve --level L --chooser C --runs N -- program`.
//!
//! The server is started for the program alone and checks its own history at the end; so a run whose history breaks its level fails here
//! as well. A program that hangs is stopped after some minutes, which is a failure like another.

use crate::program::{Outcome, Program, outcome};
use std::path::Path;
use std::process::Command;

/// How the mock is to behave.
pub(crate) struct Served<'a> {
    pub(crate) chooser: &'a str,
    pub(crate) level: &'a str,
    pub(crate) runs: usize,
}

impl Served<'_> {
    pub(crate) fn run(&self, program: &Program, clients: &Path) -> Outcome {
        let runs = self.runs.to_string();
        let mut command = Command::new("timeout");
        command.args(["600", env!("CARGO_BIN_EXE_skew"), "serve", "--seed", "1"]);
        command.args(["--level", self.level, "--chooser", self.chooser, "--runs", &runs, "--"]);
        command.args(program.words(clients));
        program.prepare(&mut command, clients);
        outcome(command)
    }
}
