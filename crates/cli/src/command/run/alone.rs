//! One run: a line of progress, the report, whether the server kept its promise, and the verdicts that `--check` asks for.

use super::Arguments;
use crate::clock;
use crate::command::program::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_campaign::driven::{DriveCampaign, DrivenRun, RunAnswers, json_of_run, milliseconds, told_run};
use skew_check::Budget;
use skew_workload::{End, Progress};
use std::cell::RefCell;
use std::time::Instant;

pub(super) fn run(
    arguments: &Arguments,
    campaign: &DriveCampaign<'_>,
    console: &mut Console,
) -> Result<Exit, Complaint> {
    let ran = watched(campaign, is_asked(arguments, campaign), console)?;
    let mut exit = Exit::from(ran.conclusion());
    let answers = match is_asked(arguments, campaign) && !clock::is_stopped() {
        true => {
            let budget = Budget { stop: Some(clock::stop_flag()), ..Budget::steps(arguments.budget) };
            Some(RunAnswers::new(campaign, &ran, |history| arguments.levels_for(history), budget)?)
        }
        false => None,
    };
    if answers.is_none() && is_asked(arguments, campaign) {
        console.note("the history is not checked: the run was stopped");
    }
    if let Some(answers) = &answers {
        exit.combine(answers.conclusion(|level| arguments.counts(level)).into());
    }
    show(arguments, campaign, (&ran, answers.as_ref()), console);
    match (&ran.report.end, ran.recording_complaint()) {
        (End::Failed(why), None) => console.note(&format!("{why}; what was recorded up to then is a valid history")),
        (End::Failed(why), Some(_)) => console.note(why),
        _ => {}
    }
    if let Some(complaint) = ran.recording_complaint() {
        console.complain(&complaint);
        exit.combine(Exit::BadInput);
    }
    // Whatever was found before, what was not run might be worse.
    Ok(if clock::is_interrupted() { Exit::Inconclusive } else { exit })
}

/// Runs with a line of progress.
fn watched(campaign: &DriveCampaign<'_>, keeps_history: bool, console: &mut Console) -> Result<DrivenRun, Complaint> {
    let (began, all) = (Instant::now(), campaign.operations());
    let shows = console.shows_progress();
    let console = RefCell::new(console);
    let draw = |progress: &Progress| {
        let speed = progress.operations as f64 / began.elapsed().as_secs_f64().max(0.001);
        let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|share| milliseconds(progress.latency.percentile(share)));
        let line = format!(
            "{} of {all} transactions, {speed:.0} a second, p50 {p50} p95 {p95} p99 {p99} ms, {} aborted",
            progress.operations, progress.aborted
        );
        console.borrow_mut().progress(&line);
    };
    let progress: Option<&dyn Fn(&Progress)> = if shows { Some(&draw) } else { None };
    let ran = campaign.drive_once(keeps_history, progress);
    console.borrow_mut().progress("");
    ran
}

/// Whether somebody wants to know something of the history.
fn is_asked(arguments: &Arguments, campaign: &DriveCampaign<'_>) -> bool {
    campaign.promised().is_some() || !arguments.check.is_empty()
}

/// Shows what came of the run and what was asked about it.
fn show(
    arguments: &Arguments,
    campaign: &DriveCampaign<'_>,
    (ran, answers): (&DrivenRun, Option<&RunAnswers>),
    console: &mut Console,
) {
    let record = arguments.record_file(ran.seed).map(|path| path.to_string_lossy().into_owned());
    // How the user knows the history.
    let name = record.clone().unwrap_or_else(|| "the recorded run".to_owned());
    let promise = answers.and_then(|answers| answers.promise.as_ref());
    let verdicts = answers.and_then(|answers| answers.report(&name));
    match arguments.format {
        Format::Human => {
            let promise = promise.map(|promise| promise.human(console.palette)).unwrap_or_default();
            console.say(&format!("{}{promise}", told_run(campaign, ran, console.palette)));
            if let Some(verdicts) = &verdicts {
                console.say(&format!("\n{}", verdicts.human(console.palette)));
            }
        }
        Format::Json => {
            console.result(&format!("{}\n", json_of_run(campaign, ran, promise, verdicts.as_ref(), record)));
        }
    }
}
