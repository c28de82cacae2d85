//! The built `skew`, run as a user runs it: exit codes, output, inputs, errors.
//!
//! One test binary, a module per subject. Here is only how to run it.

mod analyze;
mod analyze_applications;
mod analyze_input;
mod analyze_solver;
mod anomalies;
mod campaign;
mod certificates;
mod conformance;
mod convert;
mod corpus;
mod database_clock;
mod explore;
mod explore_command;
mod explore_confirm;
mod explore_minimal;
mod explore_wire;
mod hostile;
mod inputs;
mod output;
mod play;
mod play_confirm;
mod predict;
mod predict_recorded;
mod predict_workloads;
mod real_time;
mod recording;
mod rolled_back;
mod run;
mod run_faults;
mod run_papers;
mod run_serial;
mod run_servers;
mod schema;
mod serve;
mod serve_predict;
mod signals;
mod up;
mod verdicts;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Two clients update the same version of `x`; one of the updates is lost.
pub(crate) const LOST_UPDATE: &str = "a: r(x,init) w(x,1)\nb: r(x,init) w(x,2)\n";
/// Nothing wrong with it.
pub(crate) const SERIAL: &str = "a: w(x,1)\nb: r(x,1) w(x,2)\n";

/// A folder of its own for a test, empty.
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        signals::let_children_hear_all();
        // A test that runs others beside itself gives them folders of their own.
        let apart = std::env::var("SKEW_TEST_APART").unwrap_or_default();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}{apart}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder { path }
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        name.to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skew"));
        command.args(arguments).current_dir(&self.path).env_remove("NO_COLOR");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `skew` in the folder.
    pub(crate) fn skew(&self, arguments: &[&str]) -> Ran {
        self.skew_on("", arguments)
    }

    /// Runs `skew` in the folder with something on standard input.
    pub(crate) fn skew_on(&self, input: &str, arguments: &[&str]) -> Ran {
        let mut child = self.command(arguments).spawn().unwrap();
        // The program may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::new(child.wait_with_output().unwrap())
    }

    /// Runs `skew` without waiting for it.
    pub(crate) fn start(&self, arguments: &[&str]) -> std::process::Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Runs a line of shell in the folder, with the built `skew` first in the path.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut path = Path::new(env!("CARGO_BIN_EXE_skew")).parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let output = Command::new("sh").args(["-c", line]).current_dir(&self.path).env("PATH", path).output();
        Ran::new(output.unwrap())
    }
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn new(output: Output) -> Ran {
        let ran = Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "\nstdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// Fails when the input was refused; what the verdict is does not matter here.
    #[track_caller]
    pub(crate) fn accepted(self) -> Ran {
        assert!(matches!(self.code, Some(0 | 1 | 3)), "{:?}\nstdout: {}\nstderr: {}", self.code, self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The names of the inputs in the JSON output.
    pub(crate) fn files(&self) -> Vec<String> {
        let json = self.json();
        let histories = json["histories"].as_array().unwrap();
        histories.iter().map(|history| history["file"].as_str().unwrap().to_owned()).collect()
    }
}
