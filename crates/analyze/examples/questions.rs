//! What each question about a program costs, and the same questions as texts for another solver.
//!
//! ```sh
//! cargo run --release -p skew-analyze --example questions -- PROGRAM LEVEL,… LONGEST FOLDER
//! ```
//!
//! A level is one of PostgreSQL's (by templates `rc`, `rr`, `lowest` for the level that each procedure needs; by instances
//! `postgres:read-committed`, `postgres:repeatable-read`), one of the papers', or the file of a specification. Of instances these are asked: cycles of 2, 3 and 4, the questions of the inductive proof, and paths of 2 up to LONGEST
//! dependencies. Each question is a line: processor seconds, the level, what was asked, what was answered, and the file in FOLDER that has it as
//! a text in SMT-LIB, or `-`.

use skew_analyze::anode::{BoundedAnalysis, BoundedQuestion, QuestionOutcome, Specification};
use skew_analyze::{Level, Robustness, RobustnessAnalysis, Transactions, UnfoldOptions};
use skew_check::Budget;
use skew_history::EngineLevel;
use skew_program::Program;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Steps of the solver for one question.
const STEPS: u64 = 2_000_000_000;

/// Paths at PostgreSQL's levels are no longer than this: nothing is proved by them there that induction does not prove.
const LONGEST_IN_TIME: usize = 3;

/// A question is asked again until its answers have taken this long together.
const LONG_ENOUGH: Duration = Duration::from_millis(100);

/// The processor time of this thread as the kernel counts it, so that other work on the machine does not count; else the clock.
fn processor_time(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Asks, and says how long that took: on average, where it is so short that the kernel's steps of some milliseconds matter.
fn timed<T>(ask: impl Fn() -> T) -> (Duration, T) {
    let start = Instant::now();
    let before = processor_time(start);
    let mut answer = ask();
    let mut times = 1;
    while times < 1_000 && processor_time(start).saturating_sub(before) < LONG_ENOUGH {
        answer = ask();
        times += 1;
    }
    (processor_time(start).saturating_sub(before) / times, answer)
}

fn told(time: Duration, words: [&str; 4]) -> std::io::Result<()> {
    let [level, question, answer, file] = words;
    writeln!(std::io::stdout(), "{:.6}\t{level}\t{question}\t{answer}\t{file}", time.as_secs_f64())
}

/// The questions about templates: unfolding is a part of each.
fn templates(transactions: &Transactions, level: &str) -> Result<(), Box<dyn Error>> {
    let analysis = || RobustnessAnalysis::new(transactions.clone(), UnfoldOptions::default()).map_err(|many| many.0);
    let count = transactions.procedures.len();
    let robust = |known: Level| match analysis().map(|analysis| analysis.ask(&vec![Some(known); count])) {
        Ok(Robustness::Robust) => "robust".to_owned(),
        Ok(Robustness::NotRobust(_)) => "anomaly".to_owned(),
        Ok(Robustness::Unknown(reason)) | Err(reason) => format!("unknown: {reason}"),
    };
    let lowest = || match analysis().map(|analysis| analysis.lowest()) {
        Ok(Some(levels)) => levels.iter().map(|level| level.of_engine().name()).collect::<Vec<_>>().join(" "),
        Ok(None) => "unknown".to_owned(),
        Err(reason) => format!("unknown: {reason}"),
    };
    let (time, answer) = match level {
        "rc" => timed(|| robust(Level::ReadCommitted)),
        "rr" => timed(|| robust(Level::Snapshot)),
        _ => timed(lowest),
    };
    Ok(told(time, [level, "template", &answer, "-"])?)
}

fn questions(analysis: &BoundedAnalysis, longest: usize) -> Vec<(String, BoundedQuestion)> {
    let all = analysis.everything();
    let mut questions: Vec<(String, BoundedQuestion)> =
        (2..=4).map(|size| (format!("cycle {size}"), BoundedQuestion::Cycle(vec![all.clone(); size]))).collect();
    questions.push(("triple".to_owned(), BoundedQuestion::Triple(all.clone())));
    questions.push(("against".to_owned(), BoundedQuestion::Against(all.clone(), all.clone())));
    questions
        .extend((2..=longest).map(|length| (format!("path {length}"), BoundedQuestion::Path(length, all.clone()))));
    questions
}

/// The questions about a few instances.
fn instances(transactions: &Transactions, level: &str, longest: usize, folder: &Path) -> Result<(), Box<dyn Error>> {
    let engine = EngineLevel::ALL.into_iter().find(|known| known.name() == level).and_then(Specification::of_engine);
    let longest = if engine.is_some() { longest.min(LONGEST_IN_TIME) } else { longest };
    let (name, specification) = match Specification::level(level).or(engine) {
        Some(known) => (level.to_owned(), known),
        None => {
            let name = Path::new(level).file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(level)?;
            (name.clone(), Specification::parse(&name, &text).map_err(|error| error.to_string())?)
        }
    };
    let analysis = BoundedAnalysis::new(transactions.clone(), specification)?;
    for (question, asked) in questions(&analysis, longest) {
        let (time, outcome) = timed(|| analysis.ask(&asked, Budget::steps(STEPS)));
        let answer = match outcome {
            QuestionOutcome::Found(_) => "found",
            QuestionOutcome::None => "none",
            QuestionOutcome::Unknown(_) | QuestionOutcome::Disputed(_) => "unknown",
        };
        let file = folder.join(format!("{name}-{question}.smt2").replace([' ', ':'], "-"));
        std::fs::write(&file, analysis.text(&asked))?;
        told(time, [&name, &question, answer, &file.to_string_lossy()])?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, levels, longest, folder] = &words[..] else {
        return Err("usage: questions PROGRAM LEVEL,… LONGEST FOLDER".into());
    };
    let program = Program::parse(&std::fs::read_to_string(file)?).map_err(|error| format!("{file}: {error:?}"))?;
    let transactions = Transactions::of(&program);
    std::fs::create_dir_all(folder)?;
    for level in levels.split(',') {
        match level {
            "rc" | "rr" | "lowest" => templates(&transactions, level)?,
            _ => instances(&transactions, level, longest.parse()?, Path::new(folder))?,
        }
    }
    Ok(())
}
