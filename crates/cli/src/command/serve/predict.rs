//! `skew serve --predict -- command`: one passing run in, a failing one out; and `--foretold`, which makes that one again.

use super::{Arguments, read_text};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{unwritable, write_whole};
use skew_campaign::command::CommandEnd;
use skew_campaign::foreseen::{Foresight, ForesightReport, ForesightSettings, ServedCommand, foresee, repeat};
use skew_campaign::served::ServeSettings;
use skew_campaign::served::database::DatabaseSettings;
use skew_history::IsolationLevel;
use skew_mockdb::Overruled;
use skew_mockdb::wire::{Schedule, WireSettings};
use skew_predict::Strategy;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run that takes longer has failed, where nothing else is said: nobody looks at runs that are made again.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn serve(arguments: &Arguments, console: &mut Console) -> Result<Exit, Complaint> {
    let served = serve_settings(arguments)?;
    let command = ServedCommand { settings: &served, overruled: Overruled::default() };
    let settings = foresight_settings(arguments, &command);
    clock::something_to_keep();
    if let Some(file) = &arguments.foretold {
        return again(settings, file, console);
    }
    if let Some(folder) = &arguments.save {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    console.progress("the command runs with ordinary reads");
    let mut progress =
        |number: u64, words: &str| console.progress(&format!("run {number} of at most {}: {words}", arguments.replays));
    let foresight = foresee(settings, clock::flags(), &mut progress);
    console.progress("");
    let foresight = foresight?;
    let saved = save(arguments, &foresight)?;
    let repeat = |number: usize| Some(arguments.foretold_command(saved.get(number)?));
    let report = ForesightReport { settings, foresight: &foresight, repeat: &repeat };
    console.say(&report.human(console.palette));
    if saved.is_empty() && foresight.failures().next().is_some() {
        console.note("with --save DIR the failing run is kept, and a line that makes it again");
    }
    Ok(report.conclusion().into())
}

pub(super) fn serve_settings(arguments: &Arguments) -> Result<ServeSettings, Complaint> {
    let database = arguments.database(None)?;
    Ok(ServeSettings {
        database: DatabaseSettings { level: Some(level(arguments)), ..database },
        wire: WireSettings { schedule: Schedule::Serial { patience: arguments.patience }, ..arguments.wire(None) },
        command: arguments.command.clone(),
        has_terminal: std::io::stdin().is_terminal(),
        seed: arguments.first_seed(None),
        runs: 1,
        jobs: 1,
        stop_at_first: false,
        timeout: Some(arguments.timeout.unwrap_or(LIMIT)),
        against: arguments.against.unwrap_or(IsolationLevel::Serializable),
        budget: arguments.budget,
    })
}

/// What PostgreSQL's clients get when they ask for nothing.
fn level(arguments: &Arguments) -> IsolationLevel {
    arguments.level.unwrap_or(IsolationLevel::ReadCommitted)
}

fn foresight_settings<'a>(arguments: &Arguments, command: &'a ServedCommand<'a>) -> ForesightSettings<'a> {
    ForesightSettings {
        program: command,
        budget: command.settings.budget,
        strategy: Strategy::Exact,
        stones: arguments.stones,
        level: level(arguments),
        against: command.settings.against,
        updates: arguments.updates.into(),
        replays: arguments.replays,
    }
}

/// Keeps the recorded run and the failing ones; the files of those.
fn save(arguments: &Arguments, foresight: &Foresight) -> Result<Vec<PathBuf>, Complaint> {
    let Some(folder) = &arguments.save else { return Ok(Vec::new()) };
    let keep = |name: String, history: &str| {
        let path = folder.join(name);
        write_whole(&path, history).map_err(|error| unwritable(&path, &error))?;
        Ok(path)
    };
    if foresight.history.is_some() {
        keep("recorded.jsonl".to_owned(), &foresight.recorded.history)?;
    }
    let failures = foresight.failures().enumerate();
    failures.map(|(number, failure)| keep(format!("failing-{}.jsonl", number + 1), &failure.run.history)).collect()
}

/// Makes one run again; its exit is that of the command.
fn again(settings: ForesightSettings<'_>, file: &Path, console: &mut Console) -> Result<Exit, Complaint> {
    let text = read_text(file)?;
    let name = file.to_string_lossy();
    let run = repeat(settings, (&name, &text), clock::flags())?;
    let Some(run) = run else {
        let what = format!("no run at {} has these reads", settings.level);
        return Err(Complaint::new(&name, what, "give the --level with which the file was made"));
    };
    console.result(&run.output);
    if let Some(divergence) = &run.divergence {
        console.note(&format!("not as foretold: {divergence}"));
    }
    Ok(match run.ended {
        CommandEnd::Well => {
            console.note("the command passed");
            Exit::Holds
        }
        CommandEnd::Badly(how) => {
            console.note(&format!("the command failed: {how}"));
            Exit::Found
        }
        CommandEnd::Interrupted | CommandEnd::GivenUp => Exit::Inconclusive,
    })
}
