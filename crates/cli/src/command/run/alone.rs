//! One run: a line of progress, the report, whether the server kept its promise, and the verdicts that `--check` asks for.

use super::Arguments;
use crate::clock;
use crate::command::program::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_campaign::Checked;
use skew_campaign::driven::{DriveCampaign, DrivenRun, LevelPromise, json_of_run, milliseconds, told_run};
use skew_check::Budget;
use skew_history::History;
use skew_history::format::{self, Source};
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
        true => Some(Answers::new(arguments, campaign, &ran)?),
        false => None,
    };
    if answers.is_none() && is_asked(arguments, campaign) {
        console.note("the history is not checked: the run was stopped");
    }
    if let Some(answers) = &answers {
        exit.combine(answers.exit(arguments));
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

/// What the checker says about the history of the run.
struct Answers {
    history: History,
    /// Whether the server kept what its level promises.
    promise: Option<LevelPromise>,
    /// What `--check` asks for.
    checked: Option<Checked>,
}

impl Answers {
    fn new(arguments: &Arguments, campaign: &DriveCampaign<'_>, ran: &DrivenRun) -> Result<Answers, Complaint> {
        let source = Source { name: "the recorded run", bytes: ran.history.as_bytes() };
        let history = format::read(&[source], format::Format::Native).map_err(|error| Complaint::of_file(&error))?;
        let budget = Budget { stop: Some(clock::stop_flag()), ..Budget::steps(arguments.budget) };
        let promise = campaign.promised().map(|level| LevelPromise::new(&history, level, budget));
        let checked = if arguments.check.is_empty() { None } else { Some(check(arguments, &history, budget)?) };
        Ok(Answers { history, promise, checked })
    }

    fn exit(&self, arguments: &Arguments) -> Exit {
        let mut exit = Exit::Holds;
        if let Some(promise) = &self.promise {
            exit.combine(promise.conclusion().into());
        }
        if let Some(checked) = &self.checked {
            exit.combine(checked.conclusion_about(|level| arguments.counts(level)).into());
        }
        exit
    }
}

fn check(arguments: &Arguments, history: &History, budget: Budget<'_>) -> Result<Checked, Complaint> {
    let levels = arguments.levels_for(history);
    if let Some((level, why)) =
        levels.iter().find_map(|level| skew_check::cannot_ask(history, *level).map(|why| (level, why)))
    {
        let what = format!("{level} cannot be checked: {why}");
        return Err(Complaint::new("--check", what, "ask for another level"));
    }
    Ok(Checked::new(history, &levels, skew_check::Options::default(), budget, true))
}

/// Shows what came of the run and what was asked about it.
fn show(
    arguments: &Arguments,
    campaign: &DriveCampaign<'_>,
    (ran, answers): (&DrivenRun, Option<&Answers>),
    console: &mut Console,
) {
    let record = arguments.record_file(ran.seed).map(|path| path.to_string_lossy().into_owned());
    // How the user knows the history.
    let name = record.clone().unwrap_or_else(|| "the recorded run".to_owned());
    let promise = answers.and_then(|answers| answers.promise.as_ref());
    let verdicts = answers.and_then(|answers| Some(answers.checked.as_ref()?.report(&name, &answers.history)));
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
