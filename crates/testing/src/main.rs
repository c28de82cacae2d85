//! Runs all tests of the workspace, each in a process of its own, as many side by side as there are cores.
//!
//! ```text
//!   cargo test --no-run ── binaries ── --list ── tests ──┬── lane: binary --exact test ── time, output ──┐
//!                                                        ├── lane: …                                    ├──> report
//!                                        doc tests ──────┴── lane: cargo test --doc                     ┘
//! ```
//!
//! `cargo test` runs one binary after the other, so that the longest test of each is waited for with one core at rest; it says nothing
//! about the time of a test, and one that hangs stops everything. Here every test has its time and a limit (`limit`), whoever goes over
//! it is killed with all that it started, and the others go on.
//!
//! Arguments are parts of the names of the tests that are wanted. What is printed at the end: what was skipped, the slowest tests, what
//! failed, and as the last line `N passed, N failed`.
//!
//! | module | what it knows |
//! |---|---|
//! | `binary` | which test binaries there are, and which tests are in them |
//! | `job` | one test, or all doc tests: its command, its limit, how it ended |
//! | `limit` | which tests take long |
//! | `processes` | how to end a process and all that it started |
//! | `report` | what is printed |

mod binary;
mod job;
mod limit;
mod processes;
mod report;

use job::{Ended, Job};
use report::Report;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

fn main() -> ExitCode {
    let filters: Vec<String> = std::env::args().skip(1).collect();
    match run(&filters) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            report::complain(&problem);
            ExitCode::FAILURE
        }
    }
}

/// Runs what the filters ask for; whether all went well. An error is a reason why tests could not run at all.
fn run(filters: &[String]) -> Result<bool, String> {
    let jobs = jobs(filters)?;
    let folder = Folder::new()?;
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let (sender, ended) = mpsc::channel();
    let mut report = Report::new();
    thread::scope(|scope| {
        for lane in 0..lanes {
            let (sender, output, jobs, next) = (sender.clone(), folder.0.join(lane.to_string()), &jobs, &next);
            scope.spawn(move || take_jobs(jobs, next, &output, &sender));
        }
        drop(sender);
        ended.into_iter().for_each(|job| report.add(job));
    });
    Ok(report.close())
}

/// All that is to be run, what takes longest first: whatever is left for the end should be short.
fn jobs(filters: &[String]) -> Result<Vec<Job>, String> {
    let mut jobs = vec![Job::doc_tests(filters)];
    for binary in binary::build()? {
        let names = binary.tests()?;
        let wanted = names.into_iter().filter(|name| is_wanted(name, filters));
        jobs.extend(wanted.map(|name| Job::test(&binary, name)));
    }
    if filters.is_empty() {
        limit::expect_all(&jobs)?;
    }
    jobs.sort_by_key(|job| limit::rank(job.title()));
    Ok(jobs)
}

fn is_wanted(name: &str, filters: &[String]) -> bool {
    filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
}

/// One lane: the next job that nobody has taken, until there is none.
fn take_jobs(jobs: &[Job], next: &AtomicUsize, output: &Path, sender: &Sender<Ended>) {
    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
        // The other end waits for all lanes.
        let _ = sender.send(job.run(output));
    }
}

/// A folder for what tests print, for as long as they run.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("skew-testing-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
