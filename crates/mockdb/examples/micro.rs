//! The tables of the micro-benchmarks (MonkeyDB §7): iterations until an assertion fails, and states seen against iterations.
//!
//! ```sh
//! cargo run --release -p skew-mockdb --example micro -- failures [ITERATIONS]
//! cargo run --release -p skew-mockdb --example micro -- coverage [HARNESSES] [MOST-RUNS]
//! ```

#[path = "../tests/micro/campaign.rs"]
mod campaign;
#[path = "../tests/micro/courseware.rs"]
mod courseware;
#[path = "../tests/micro/coverage.rs"]
mod coverage;
#[path = "../tests/micro/harness.rs"]
mod harness;
#[path = "../tests/micro/shopping.rs"]
mod shopping;
#[path = "../tests/micro/stack.rs"]
mod stack;
#[path = "../tests/micro/twitter.rs"]
mod twitter;

use courseware::Courseware;
use harness::{Application, Harness, Setting};
use shopping::Shopping;
use skew_mockdb::{ChooserKind, KvError, Level, Updates};
use stack::Stack;
use std::error::Error;
use std::io::{Write, stdout};
use twitter::Twitter;

/// A campaign ends after so many first failures of each assertion, or when its iterations are used up.
const FIRST_FAILURES: usize = 1000;
const LEVELS: [Level; 2] = [Level::Causal, Level::Serializable];
const CHECKPOINTS: [usize; 6] = [10, 30, 100, 300, 1000, 3000];

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: usize| arguments.get(place).map_or(Ok(default), |text| text.parse());
    match arguments.first().map(String::as_str) {
        Some("failures") => all_failures(number(1, 10_000)?),
        Some("coverage") => all_coverage(number(1, 8)?, number(2, 100_000)?),
        _ => Err("say `failures [ITERATIONS]` or `coverage [HARNESSES] [MOST-RUNS]`".into()),
    }
}

fn all_failures(iterations: usize) -> Outcome {
    writeln!(
        stdout(),
        "{:<40} {:>5}  {:<13} {:<7} {:<8} {:>10} {:>8} {:>8} {:>6}",
        "assertion",
        "paper",
        "level",
        "updates",
        "arrival",
        "iterations",
        "failures",
        "mean",
        "ratio"
    )?;
    failures_of::<Stack>(iterations)?;
    failures_of::<Courseware>(iterations)?;
    failures_of::<Shopping>(iterations)?;
    failures_of::<Twitter>(iterations)?;
    writeln!(stdout(), "* no invariant of a level that knows no real time")?;
    Ok(())
}

fn failures_of<A: Application>(iterations: usize) -> Outcome {
    for level in LEVELS {
        for updates in [Updates::Plain, Updates::Atomic] {
            for delay in [false, true] {
                failures_row::<A>(&Setting { updates, delay, ..Setting::plain(level) }, iterations)?;
            }
        }
    }
    Ok(())
}

fn failures_row<A: Application>(setting: &Setting, iterations: usize) -> Outcome {
    let (iterations, failures) = campaign::failures::<A>(setting, iterations, FIRST_FAILURES)?;
    for (assertion, failures) in A::ASSERTIONS.iter().zip(failures) {
        let mean = failures.mean();
        let ratio = mean.zip(assertion.paper).map(|(mean, paper)| mean / paper);
        let shown = |number: Option<f64>| number.map_or("–".to_owned(), |number| format!("{number:.1}"));
        let updates = if setting.updates == Updates::Plain { "plain" } else { "atomic" };
        let arrival = if setting.delay { "delay" } else { "by turns" };
        writeln!(
            stdout(),
            "{:<40} {:>5}  {:<13} {updates:<7} {arrival:<8} {iterations:>10} {:>8} {:>8} {:>6}",
            format!("{}: {}{}", A::NAME, assertion.name, if assertion.invariant { "" } else { " *" }),
            shown(assertion.paper),
            setting.level.to_string(),
            failures.count,
            shown(mean),
            shown(ratio)
        )?;
    }
    Ok(())
}

fn all_coverage(harnesses: usize, most_runs: usize) -> Outcome {
    for level in LEVELS {
        writeln!(stdout(), "\n{level}: states seen after so many iterations, on average over the harnesses")?;
        write!(stdout(), "{:<11} {:<9} {:<8}", "application", "chooser", "arrival")?;
        for checkpoint in CHECKPOINTS {
            write!(stdout(), " {checkpoint:>7}")?;
        }
        writeln!(stdout(), " {:>7}  harnesses", "maximum")?;
        coverage_of::<Stack>(level, harnesses, most_runs)?;
        coverage_of::<Courseware>(level, harnesses, most_runs)?;
        coverage_of::<Shopping>(level, harnesses, most_runs)?;
        coverage_of::<Twitter>(level, harnesses, most_runs)?;
    }
    Ok(())
}

/// A harness with its seed and all its states.
struct Enumerated<A: Application> {
    seed: u64,
    harness: Harness<A>,
    states: coverage::States<A>,
}

/// All states of a harness, where it has them all at both levels: the levels are compared on the same harnesses.
fn enumerate<A: Application>(
    harness: &Harness<A>,
    level: Level,
    most_runs: usize,
) -> Result<Option<coverage::States<A>>, KvError> {
    let mut wanted = None;
    for each in LEVELS {
        let Some(states) = coverage::all_states(harness, &Setting::plain(each), most_runs)? else { return Ok(None) };
        if each == level {
            wanted = Some(states);
        }
    }
    Ok(wanted)
}

/// The harnesses whose states can all be enumerated, and how many had too many runs.
fn enumerated<A: Application>(
    level: Level,
    wanted: usize,
    most_runs: usize,
) -> Result<(Vec<Enumerated<A>>, usize), KvError> {
    let (mut found, mut cut) = (Vec::new(), 0);
    // Two or three sessions with two or three operations each, in turn.
    for (seed, sizes) in (0..).zip([(2, 2), (2, 3), (3, 2), (3, 3)].into_iter().cycle()) {
        if found.len() == wanted || cut > wanted {
            break;
        }
        let harness = Harness::<A>::draw(seed, sizes.0, sizes.1);
        match enumerate(&harness, level, most_runs)? {
            Some(states) => found.push(Enumerated { seed, harness, states }),
            None => cut += 1,
        }
    }
    Ok((found, cut))
}

fn coverage_of<A: Application>(level: Level, wanted: usize, most_runs: usize) -> Outcome {
    let (harnesses, cut) = enumerated::<A>(level, wanted, most_runs)?;
    let mean = |sum: usize| sum as f64 / harnesses.len().max(1) as f64;
    let maximum = mean(harnesses.iter().map(|harness| harness.states.len()).sum());
    for chooser in [ChooserKind::Random, ChooserKind::Novel] {
        for delay in [false, true] {
            let setting = Setting { chooser, delay, ..Setting::plain(level) };
            let mut sums = [0; CHECKPOINTS.len()];
            for Enumerated { seed, harness, states } in &harnesses {
                let (counts, seen) = coverage::seen_states(harness, &setting, *seed, &CHECKPOINTS)?;
                assert!(seen.is_subset(states), "{}: a state that the enumeration does not know", A::NAME);
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            let arrival = if delay { "delay" } else { "by turns" };
            write!(stdout(), "{:<11} {:<9} {arrival:<8}", A::NAME, chooser.name())?;
            for sum in sums {
                write!(stdout(), " {:>7.1}", mean(sum))?;
            }
            writeln!(stdout(), " {maximum:>7.1}  {}, {cut} cut off", harnesses.len())?;
        }
    }
    Ok(())
}
