//! `--runs`: the workload, run after run, each with a seed and fresh tables of its own.
//!
//! ```text
//!   seeds s, s+1, …  ──> --jobs workers ──> runs, as they end ──> judge ──> tally, by seed ──> what was found
//! ```
//!
//! What is told depends on seeds, never on which run ended first.

use super::Asked;
use super::plan::{Plan, Ran, Tables};
use super::tally::Tally;
use crate::clock;
use crate::command::program::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::unwritable;
use skew_campaign::judge::{Behind, Judge, Judged};
use skew_history::IsolationLevel;
use skew_workload::{End, Report};
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

/// A run by its number, or why it could not be.
type Told = (u64, Result<Ran, Complaint>);

/// A run with the verdicts on it.
pub(super) struct Looked {
    pub(super) report: Report,
    pub(super) judged: Rc<Judged>,
    /// What stands behind its failure, if an assertion failed and the verdicts do not tell.
    pub(super) behind: Option<Behind>,
}

/// Runs that came to their ends, by number.
type Kept = BTreeMap<u64, Looked>;

/// The level that runs are compared with: that of `--check`, if there is one.
pub(super) fn against(plan: &Plan<'_>) -> IsolationLevel {
    match plan.arguments.check.as_slice() {
        [Asked::Level(level)] => *level,
        _ => IsolationLevel::Serializable,
    }
}

pub(super) fn run(plan: &Plan<'_>, console: &mut Console) -> Result<Exit, Complaint> {
    let arguments = plan.arguments;
    if let Some(folder) = &arguments.record {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let began = Instant::now();
    let (kept, looked) = run_all(plan, console);
    let mut tally = Tally::new(plan, began.elapsed());
    for (number, looked) in kept {
        tally.run(arguments.seed.wrapping_add(number), &looked);
    }
    // What was found before something could not go on was found all the same.
    if looked.is_ok() || tally.has_runs() {
        match arguments.format {
            Format::Human => console.say(&tally.human(plan, console.palette)),
            Format::Json => console.result(&format!("{}\n", tally.json(plan))),
        }
    }
    looked.map(|()| tally.exit(arguments))
}

fn run_all(plan: &Plan<'_>, console: &mut Console) -> (Kept, Result<(), Complaint>) {
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for job in 1..=plan.arguments.jobs.min(plan.arguments.runs) {
            let (sender, next, is_over) = (sender.clone(), &next, &is_over);
            scope.spawn(move || work(plan, job, next, is_over, &sender));
        }
        drop(sender);
        look(plan, &receiver, &is_over, console)
    })
}

fn work(plan: &Plan<'_>, job: u64, next: &AtomicU64, is_over: &AtomicBool, sender: &Sender<Told>) {
    let mut has_tables = false;
    while !clock::is_stopped() && !is_over.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= plan.arguments.runs {
            return;
        }
        let seed = plan.arguments.seed.wrapping_add(number);
        let ran = plan.run(seed, Tables::OfJob(job, has_tables), true, None);
        has_tables |= ran.is_ok();
        if sender.send((number, ran)).is_err() {
            return;
        }
    }
}

/// Looks at what comes, until all is done or something cannot go on.
fn look(
    plan: &Plan<'_>,
    receiver: &Receiver<Told>,
    is_over: &AtomicBool,
    console: &mut Console,
) -> (Kept, Result<(), Complaint>) {
    let arguments = plan.arguments;
    let mut judge = Judge::new(arguments.level, against(plan), arguments.budget, clock::stop_flag());
    let (mut kept, mut trouble, mut failed) = (Kept::new(), None, 0u64);
    for (number, ran) in receiver {
        // Told at once already; here it is what the campaign ends with, when all runs are done or this was the last.
        if let Some(complaint) = ran.as_ref().ok().and_then(Ran::recording_complaint) {
            trouble.get_or_insert(complaint);
        }
        let judged = ran.and_then(|ran| judged(plan, &mut judge, ran));
        match judged {
            Ok(Some(looked)) => {
                failed += u64::from(has_failed(&looked.report));
                kept.insert(number, looked);
            }
            Ok(None) => {}
            Err(complaint) => {
                is_over.store(true, Ordering::Relaxed);
                trouble.get_or_insert(complaint);
            }
        }
        console.progress(&format!("{} of {} runs, {failed} failed", kept.len(), arguments.runs));
    }
    console.progress("");
    (kept, trouble.map_or(Ok(()), Err))
}

fn has_failed(report: &Report) -> bool {
    report.assertions.iter().any(|assertion| !assertion.holds)
}

/// The verdicts on a run; nothing if it was stopped before its end.
fn judged(plan: &Plan<'_>, judge: &mut Judge<'_>, ran: Ran) -> Result<Option<Looked>, Complaint> {
    match &ran.report.end {
        End::Finished => {}
        End::Stopped => return Ok(None),
        End::Failed(why) => {
            let advice = "run it again";
            return Err(Complaint::new(&format!("{}, seed {}", plan.place(), ran.seed), why.clone(), advice));
        }
    }
    let judged = judge.judge(&ran.history).map_err(|what| {
        let advice = "this is a mistake of skew: please report it with the file that --record writes";
        Complaint::new(&format!("the run of seed {}", ran.seed), what, advice)
    })?;
    let behind = if has_failed(&ran.report) { judge.behind(&ran.history, &judged) } else { None };
    Ok(Some(Looked { report: ran.report, judged, behind }))
}
