//! Runs files of the public sqllogictest corpus: what other databases answered, asked of Skew's SQL.
//!
//! ```text
//!   cargo run --release -p skew-sql --example sqllogictest -- [--dialect mysql] [--seconds 600] [--failures 20] FOLDER|FILE…
//! ```
//!
//! A record is a statement that must succeed or fail, or a query with its rows (or their MD5). A record that names other databases
//! only is not applicable. Failures are counted by cause; a file after whose failed *statement* nothing makes sense goes on all the
//! same, so the share is a lower bound. Exit 1 when less than 99 % of the applicable records are right.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program, not a library")]

mod record;
mod run;

use run::{Runner, Tally};
use skew_value::Dialect;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

struct Arguments {
    dialect: Dialect,
    seconds: Option<u64>,
    failures: usize,
    paths: Vec<PathBuf>,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments { dialect: Dialect::Postgres, seconds: None, failures: 10, paths: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--dialect" if value()? == "mysql" => found.dialect = Dialect::MySql,
            "--dialect" => {}
            "--seconds" => found.seconds = Some(value()?.parse().map_err(|_| "--seconds takes a number".to_owned())?),
            "--failures" => found.failures = value()?.parse().map_err(|_| "--failures takes a number".to_owned())?,
            path => found.paths.push(path.into()),
        }
    }
    if found.paths.is_empty() { Err("give a folder or files of the corpus".to_owned()) } else { Ok(found) }
}

/// The files below a path, sorted.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "test"))
        .flat_map(|path| files(path))
        .collect()
}

fn main() {
    let arguments = arguments().unwrap_or_else(|problem| {
        eprintln!("error: {problem}");
        std::process::exit(2);
    });
    let begin = Instant::now();
    let over = || arguments.seconds.is_some_and(|seconds| begin.elapsed() > Duration::from_secs(seconds));
    let mut total = Tally::default();
    let (mut done, mut left) = (0, 0);
    for path in arguments.paths.iter().flat_map(|path| files(path)) {
        if over() {
            left += 1;
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_else(|problem| {
            eprintln!("error: {}: {problem}", path.display());
            std::process::exit(2);
        });
        let mut runner = Runner::new(arguments.dialect);
        runner.run(&record::parse(&text), &over);
        let tally = runner.tally;
        if tally.failed() > 0 {
            println!("{}: {} of {} wrong", path.display(), tally.failed(), tally.applicable());
        }
        for failure in tally.failures.iter().take(arguments.failures.saturating_sub(total.failures.len())) {
            println!("  line {}: {}\n    {}", failure.line, failure.cause, failure.sql.replace('\n', " "));
        }
        total.add(tally);
        done += 1;
    }
    report(&total, done, left);
}

fn report(total: &Tally, done: usize, left: usize) {
    println!("{done} files, {left} left for lack of time");
    println!("{} applicable records, {} right, {} for other databases", total.applicable(), total.right, total.other);
    for (cause, count) in &total.causes {
        println!("  {count:8}  {cause}");
    }
    let share = 100.0 * total.right as f64 / total.applicable().max(1) as f64;
    println!("{share:.3} %");
    std::process::exit(if share < 99.0 { 1 } else { 0 });
}
