//! Explores a client program of courseware, shopping cart or Twitter, and tells how many runs there are and how long that took.
//!
//! ```text
//!   cargo run --release -p skew-explore --example applications -- FOLDER/courseware/case3 causal [BASE | dfs]
//! ```

#![allow(clippy::print_stdout)]

mod programs;

use skew_check::Budget;
use skew_explore::{Base, Baseline, IsolationLevel, Options, Program, RunAnswer, Search};
use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, level, rest @ ..] = arguments.as_slice() else {
        return Err("a folder and a level are needed".into());
    };
    let program = programs::load(Path::new(folder))?;
    let mut options = Options::new(level.parse()?);
    let start = Instant::now();
    if rest.first().is_some_and(|word| word == "dfs") {
        return baseline(&program, options, start);
    }
    options.base = match rest.first().map(String::as_str) {
        None => None,
        Some("none") => Some(Base::Any),
        Some("rc") => Some(Base::ReadCommitted),
        Some("ra") => Some(Base::ReadAtomic),
        Some(other) => return Err(format!("no base {other}").into()),
    };
    let mut search = Search::new(&program, options)?;
    let mut runs = 0u64;
    while let Some(run) = search.next_run()? {
        runs += u64::from(run.answer(Budget::steps(1_000_000)) == RunAnswer::Holds);
    }
    let (explored, seconds) = (search.progress().explored, start.elapsed().as_secs_f64());
    println!(
        "{runs} runs at {level}, {explored} explored, {seconds:.2} s, {:.0} per second",
        explored as f64 / seconds
    );
    Ok(())
}

fn baseline(program: &Program, options: Options, start: Instant) -> Result<(), Box<dyn std::error::Error>> {
    let mut baseline = Baseline::new(program, options)?;
    let (mut ends, mut distinct) = (0u64, HashSet::new());
    let level: IsolationLevel = options.level;
    while let Some(run) = baseline.next_run()? {
        ends += 1;
        distinct.insert(run.pattern());
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} runs at {level}, {ends} ends of orders, {seconds:.2} s, {:.0} per second",
        distinct.len(),
        ends as f64 / seconds
    );
    Ok(())
}
