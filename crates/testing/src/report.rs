//! What is printed: a line per test as it ends, and at the end what was skipped, what was slow and what failed.
// Whoever runs the tests reads this.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use crate::job::Ended;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many of the slowest tests are named.
const SLOWEST: usize = 20;

/// What is known so far.
pub(crate) struct Report {
    passed: usize,
    failed: usize,
    failures: Vec<String>,
    /// Each line about something that was skipped, and how many tests said it.
    skipped: BTreeMap<String, usize>,
    times: Vec<(Duration, String)>,
}

impl Report {
    pub(crate) fn new() -> Report {
        Report { passed: 0, failed: 0, failures: Vec::new(), skipped: BTreeMap::new(), times: Vec::new() }
    }

    /// A job has ended. A failure is shown whole.
    pub(crate) fn add(&mut self, ended: Ended) {
        let word = if ended.failed == 0 { "ok    " } else { "FAILED" };
        println!("{word} {:>7.2} s  {}", ended.took.as_secs_f64(), ended.title);
        let (skipped, said): (Vec<&str>, Vec<&str>) =
            ended.said.lines().partition(|line| line.starts_with("skipped: "));
        for line in skipped {
            *self.skipped.entry(line.to_owned()).or_default() += 1;
        }
        if ended.failed > 0 {
            println!("{}", ended.output.trim_end());
            ended.reason.iter().for_each(|reason| println!("{reason}"));
            self.failures.push(ended.title.clone());
        } else {
            said.iter().for_each(|line| println!("{line}"));
        }
        self.passed += ended.passed;
        self.failed += ended.failed;
        self.times.push((ended.took, ended.title));
    }

    /// The end of the report; whether all went well.
    pub(crate) fn close(mut self) -> bool {
        for (line, tests) in &self.skipped {
            println!("{line}{}", if *tests > 1 { format!(" ({tests} tests)") } else { String::new() });
        }
        self.times.sort_by(|one, other| other.cmp(one));
        let all: Duration = self.times.iter().map(|(took, _)| *took).sum();
        println!("the slowest, of {:.0} s in all:", all.as_secs_f64());
        for (took, title) in self.times.iter().take(SLOWEST) {
            println!("{:>7.2} s  {title}", took.as_secs_f64());
        }
        self.failures.iter().for_each(|title| println!("failed: {title}"));
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed == 0 && self.passed > 0
    }
}

/// Says why no test ran.
pub(crate) fn complain(problem: &str) {
    eprintln!("failed: {problem}");
    println!("0 passed, 1 failed");
}
