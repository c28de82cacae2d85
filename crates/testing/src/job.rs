//! One test, or all doc tests: its command, its limit, how it ended.
//!
//! Output goes into files, not through pipes: a server that a test has left behind holds a pipe open, and nobody would know the end.

use crate::binary::{Binary, cargo};
use crate::limit::limit;
use crate::processes;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Something to run.
pub(crate) struct Job {
    title: String,
    program: OsString,
    arguments: Vec<String>,
    folder: PathBuf,
    is_doc: bool,
}

/// How a job ended.
pub(crate) struct Ended {
    pub(crate) title: String,
    pub(crate) took: Duration,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Why it failed, when its output does not say so.
    pub(crate) reason: Option<String>,
    /// What it printed.
    pub(crate) output: String,
    /// What it said for whoever runs the tests.
    pub(crate) said: String,
}

impl Ended {
    /// What stands in the table of limits, and is no test any more.
    pub(crate) fn without_test(title: &str) -> Ended {
        Ended {
            title: title.to_owned(),
            took: Duration::ZERO,
            passed: 0,
            failed: 1,
            reason: Some("crates/testing/src/limit.rs has a limit for it, and there is no such test".to_owned()),
            output: String::new(),
            said: String::new(),
        }
    }
}

impl Job {
    /// One test of a binary.
    pub(crate) fn test(binary: &Binary, name: String) -> Job {
        Job {
            title: format!("{} {name}", binary.title),
            program: binary.executable.clone().into_os_string(),
            arguments: vec!["--exact".to_owned(), name],
            folder: binary.folder.clone(),
            is_doc: false,
        }
    }

    /// The examples in the documentation, which only cargo can run.
    pub(crate) fn doc_tests(filters: &[String]) -> Job {
        let words = ["test", "--workspace", "--doc", "--no-fail-fast", "--quiet", "--"].map(str::to_owned);
        Job {
            title: "doc tests".to_owned(),
            program: cargo().get_program().to_owned(),
            arguments: words.into_iter().chain(filters.iter().cloned()).collect(),
            folder: PathBuf::from("."),
            is_doc: true,
        }
    }

    /// Binary and name.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Runs it to its end or its limit. What it prints is kept beside `path` until then.
    pub(crate) fn run(&self, path: &Path) -> Ended {
        let begun = Instant::now();
        let (out, err) = (path.with_extension("out"), path.with_extension("err"));
        let finished = self.start(&out, &err).and_then(|child| within(child, limit(&self.title)));
        let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        let (printed, said) = (read(&out), read(&err));
        let (went_well, reason) = match finished {
            Ok(Some(status)) => (status.success(), unusual(status)),
            Ok(None) => (false, Some(format!("killed: it took more than {} s", limit(&self.title).as_secs()))),
            Err(error) => (false, Some(format!("it does not run: {error}"))),
        };
        let (passed, failed) = self.counts(&printed, went_well);
        let output = format!("{printed}{said}");
        Ended { title: self.title.clone(), took: begun.elapsed(), passed, failed, reason, output, said }
    }

    fn start(&self, out: &Path, err: &Path) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.stdin(Stdio::null()).stdout(File::create(out)?).stderr(File::create(err)?).spawn()
    }

    /// How many tests passed and failed. A name that is no test any more is a failure.
    fn counts(&self, printed: &str, went_well: bool) -> (usize, usize) {
        let results = printed.lines().filter_map(|line| line.strip_prefix("test result: "));
        let number = |result: &str, word: &str| {
            let (before, _) = result.split_once(word)?;
            before.rsplit([' ', '.']).next()?.parse::<usize>().ok()
        };
        let sum = |word: &str| results.clone().filter_map(|result| number(result, word)).sum::<usize>();
        match (sum(" passed"), sum(" failed")) {
            (passed, 0) if went_well && (self.is_doc || passed == 1) => (passed, 0),
            (passed, failed) if self.is_doc => (passed, failed.max(1)),
            _ => (0, 1),
        }
    }
}

/// Waits for the end, at most so long. Nothing when it had to be killed.
fn within(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let process = child.id();
    let (sender, end) = mpsc::channel();
    let waiter = thread::spawn(move || sender.send(child.wait()));
    let ended = match end.recv_timeout(limit) {
        Ok(status) => status.map(Some),
        Err(_) => {
            processes::end_with_children(process);
            Ok(None)
        }
    };
    // It has sent the end, or the process that it waits for was killed.
    let _ = waiter.join();
    ended
}

/// What a status says beyond "some test failed".
fn unusual(status: ExitStatus) -> Option<String> {
    (!status.success() && status.code() != Some(101)).then(|| status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Job {
        Job {
            title: "a test".to_owned(),
            program: "sh".into(),
            arguments: vec!["-c".to_owned(), line.to_owned()],
            folder: ".".into(),
            is_doc: false,
        }
    }

    fn ended(line: &str) -> Ended {
        let name = format!("skew-testing-job-{}-{}", std::process::id(), line.len());
        let path = std::env::temp_dir().join(name);
        let ended = shell(line).run(&path);
        for ending in ["out", "err"] {
            std::fs::remove_file(path.with_extension(ending)).unwrap();
        }
        ended
    }

    #[test]
    fn a_test_that_passes_is_counted_and_what_it_says_is_kept() {
        let passed = ended("echo 'test result: ok. 1 passed; 0 failed; 0 ignored'; echo 'skipped: a' >&2");
        assert_eq!((passed.passed, passed.failed, passed.said.as_str()), (1, 0, "skipped: a\n"));
    }

    #[test]
    fn what_does_not_run_or_does_not_end_well_has_failed() {
        let failed = ended("echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'; exit 101");
        assert_eq!((failed.passed, failed.failed, failed.reason), (0, 1, None));
        let nothing = ended("echo 'test result: ok. 0 passed; 0 failed; 0 ignored'");
        assert_eq!((nothing.passed, nothing.failed), (0, 1));
        let killed = ended("kill -KILL $$");
        assert!(killed.failed == 1 && killed.reason.is_some_and(|reason| reason.contains("signal: 9")));
    }

    #[test]
    fn all_results_of_the_doc_tests_are_added_up() {
        let job = Job { is_doc: true, ..shell("") };
        let printed = "test result: ok. 3 passed; 0 failed; 0\n\ntest result: FAILED. 4 passed; 2 failed; 0\n";
        assert_eq!(job.counts(printed, false), (7, 2));
        assert_eq!(job.counts("", false), (0, 1));
        assert_eq!(job.counts("", true), (0, 0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_goes_over_its_limit_is_killed_with_its_children() {
        let child = Command::new("sh").args(["-c", "sleep 3217 & sleep 3217"]).spawn().unwrap();
        assert!(within(child, Duration::from_millis(200)).unwrap().is_none());
        let is_there = |line: &[u8]| {
            let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
            processes.map(|path| std::fs::read(path).unwrap_or_default()).any(|other| other == line)
        };
        // Who is killed is gone a moment later.
        let mut looks = 0..1000;
        while is_there(b"sleep\x003217\0") && looks.next().is_some() {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_there(b"sleep\x003217\0"));
    }
}
