//! `skew serve -- command`: the command, run after run, each with a seed and a database of its own.
//!
//! ```text
//!   seeds s, s+1, …  ──> --jobs workers ──> runs, as they end ──> judge ──> tally, by seed ──> what was found
//! ```
//!
//! What is told depends on seeds, never on which run ended first. With `--stop-at-first` the first failure is that of the smallest seed:
//! runs of smaller seeds come to their end, those of greater ones are given up and do not count.

use super::run::{Ended, Plan, Ran};
use super::tally::Tally;
use super::{Arguments, database, read_log};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::unwritable;
use skew_campaign::judge::{Behind, Judge, Judged};
use skew_history::IsolationLevel;
use skew_mockdb::{Campaign, Overruled};
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

pub(super) fn serve(arguments: &Arguments, console: &mut Console) -> Result<Exit, Complaint> {
    let log = arguments.replay_file().map(read_log).transpose()?;
    let first = arguments.first_seed(log.as_ref());
    let runs = arguments.runs;
    if let Some(folder) = arguments.record_folder() {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let plan = Plan {
        arguments,
        initial: database::initial(arguments.init.as_deref())?,
        log,
        novelty: Campaign::default(),
        overruled: Overruled::default(),
        shows_output: runs == 1,
        keeper: arguments.keeper(),
    };
    console.note(&format!("seed {first}"));
    clock::something_to_keep();
    let (mut tally, looked) = run_all(&plan, first, console);
    tally.stop_recording(plan.keeper.failure().filter(|_| looked.is_ok()));
    // What was found before something could not go on was found all the same.
    if looked.is_ok() || tally.has_runs() {
        console.say(&tally.human(arguments, console.palette));
    }
    looked.map(|()| tally.exit(arguments.against.is_some()))
}

/// Which runs are still wanted: those before this number.
struct Wanted(AtomicU64);

impl Wanted {
    fn wants(&self, number: u64) -> bool {
        number < self.0.load(Ordering::Relaxed)
    }

    fn only_before(&self, number: u64) {
        self.0.fetch_min(number, Ordering::Relaxed);
    }
}

/// A run by its number, or why it could not be.
type Told = (u64, Result<Ran, Complaint>);

/// Runs everything and looks at what comes, until all is done, something cannot go on, or somebody presses Ctrl-C.
fn run_all(plan: &Plan<'_>, first: u64, console: &mut Console) -> (Tally, Result<(), Complaint>) {
    let against = plan.arguments.against.unwrap_or(IsolationLevel::Serializable);
    let mut tally = Tally::new(first, against);
    let (next, wanted) = (AtomicU64::new(0), Wanted(AtomicU64::new(plan.arguments.runs)));
    let (sender, receiver) = mpsc::channel();
    let jobs = plan.arguments.jobs.clamp(1, plan.arguments.runs.max(1));
    let looked = std::thread::scope(|scope| {
        for _ in 0..jobs {
            let sender = sender.clone();
            scope.spawn(|| work(plan, first, &next, &wanted, sender));
        }
        drop(sender);
        let looked = look(&receiver, plan.arguments, &wanted, &mut tally, console);
        wanted.only_before(0);
        looked
    });
    (tally, looked)
}

fn work(plan: &Plan<'_>, first: u64, next: &AtomicU64, wanted: &Wanted, sender: Sender<Told>) {
    while !clock::is_stopped() {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if !wanted.wants(number) {
            return;
        }
        let ran = plan.run(first.wrapping_add(number), || !wanted.wants(number));
        let failed = ran.as_ref().is_ok_and(|ran| matches!(ran.ended, Ended::Badly(_)));
        if plan.arguments.stop_at_first && failed {
            wanted.only_before(number + 1);
        }
        if sender.send((number, ran)).is_err() {
            return;
        }
    }
}

fn look(
    receiver: &Receiver<Told>,
    arguments: &Arguments,
    wanted: &Wanted,
    tally: &mut Tally,
    console: &mut Console,
) -> Result<(), Complaint> {
    let mut judge = Judge::new(IsolationLevel::Declared, tally.against(), arguments.budget, clock::stop_flag());
    // Whether a run counts is known for sure only when those before it have ended.
    let mut kept: BTreeMap<u64, Looked> = BTreeMap::new();
    let (mut done, mut failed) = (0u64, 0u64);
    let mut trouble = None;
    for (number, ran) in receiver {
        let judged = ran.and_then(|ran| judged(&mut judge, ran));
        match judged {
            Ok(Looked { ran, .. }) if ran.ended == Ended::Interrupted => tally.interrupted = true,
            Ok(Looked { ran, .. }) if ran.ended == Ended::GivenUp => {}
            Ok(looked) => {
                done += 1;
                failed += u64::from(looked.ran.ended != Ended::Well);
                match arguments.stop_at_first {
                    true => drop(kept.insert(number, looked)),
                    false => tally.run(looked),
                }
            }
            Err(complaint) => {
                wanted.only_before(0);
                trouble.get_or_insert(complaint);
            }
        }
        if console.shows_progress() && arguments.runs > 1 {
            console.progress(&format!("{done} of {} runs, {failed} failed", arguments.runs));
        }
    }
    console.progress("");
    let first_failure = kept.iter().find(|(_, looked)| looked.ran.ended != Ended::Well).map(|(number, _)| *number);
    let counts = |number: &u64| first_failure.is_none_or(|failure| *number <= failure);
    kept.into_iter().filter(|(number, _)| counts(number)).for_each(|(_, looked)| tally.run(looked));
    tally.interrupted |= clock::is_interrupted();
    trouble.map_or(Ok(()), Err)
}

/// A run with the verdicts on it.
pub(super) struct Looked {
    pub(super) ran: Ran,
    pub(super) judged: Rc<Judged>,
    /// What stands behind its failure, if it failed and is not told by the verdicts.
    pub(super) behind: Option<Behind>,
}

/// The verdicts on a run, and no more of it than will be told.
fn judged(judge: &mut Judge<'_>, ran: Ran) -> Result<Looked, Complaint> {
    let counts = matches!(ran.ended, Ended::Well | Ended::Badly(_));
    let judged = judge.judge(if counts { &ran.history } else { "" }).map_err(|what| {
        let advice = "this is a mistake of skew: please report it with the file that --record writes";
        Complaint::new(&format!("the run of seed {}", ran.seed), what, advice)
    })?;
    let failed = matches!(ran.ended, Ended::Badly(_));
    let behind = if failed { judge.behind(&ran.history, &judged) } else { None };
    let output = ran.output.filter(|_| ran.ended != Ended::Well);
    Ok(Looked { ran: Ran { history: String::new(), output, ..ran }, judged, behind })
}
