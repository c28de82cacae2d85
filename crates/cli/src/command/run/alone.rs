//! One run: a line of progress, the report, and the verdicts that `--check` asks for.

use super::Arguments;
use crate::clock;
use crate::command::program::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_campaign::Checked;
use skew_campaign::driven::{DriveCampaign, DrivenRun, json_of_run, milliseconds, told_run};
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
    let ran = watched(arguments, campaign, console)?;
    let mut exit = Exit::from(ran.conclusion());
    let is_checked = !arguments.check.is_empty() && !clock::is_stopped();
    let checked = if is_checked { Some(check(arguments, &ran)?) } else { None };
    if !is_checked && !arguments.check.is_empty() {
        console.note("the history is not checked: the run was stopped");
    }
    if let Some((_, checked)) = &checked {
        exit.combine(checked.conclusion().into());
    }
    let record = arguments.record_file(ran.seed).map(|path| path.to_string_lossy().into_owned());
    // How the user knows the history.
    let name = record.clone().unwrap_or_else(|| "the recorded run".to_owned());
    let verdicts = checked.as_ref().map(|(history, checked)| checked.report(&name, history));
    match arguments.format {
        Format::Human => {
            console.say(&told_run(campaign, &ran, console.palette));
            if let Some(verdicts) = &verdicts {
                console.say(&format!("\n{}", verdicts.human(console.palette)));
            }
        }
        Format::Json => {
            console.result(&format!("{}\n", json_of_run(campaign, &ran, verdicts.as_ref(), record)));
        }
    }
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
fn watched(arguments: &Arguments, campaign: &DriveCampaign<'_>, console: &mut Console) -> Result<DrivenRun, Complaint> {
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
    let ran = campaign.drive_once(!arguments.check.is_empty(), progress);
    console.borrow_mut().progress("");
    ran
}

fn check(arguments: &Arguments, ran: &DrivenRun) -> Result<(History, Checked), Complaint> {
    let source = Source { name: "the recorded run", bytes: ran.history.as_bytes() };
    let history = format::read(&[source], format::Format::Native).map_err(|error| Complaint::of_file(&error))?;
    let levels = arguments.levels_for(&history);
    if let Some((level, why)) =
        levels.iter().find_map(|level| skew_check::cannot_ask(&history, *level).map(|why| (level, why)))
    {
        let what = format!("{level} cannot be checked: {why}");
        return Err(Complaint::new("--check", what, "ask for another level"));
    }
    let budget = Budget { stop: Some(clock::stop_flag()), ..Budget::steps(arguments.budget) };
    let checked = Checked::new(&history, &levels, skew_check::Options::default(), budget, true);
    Ok((history, checked))
}
