//! `skew serve -- command`: what the campaign is told, where its runs are kept, and what is said at its end.

use super::Arguments;
use crate::clock;
use crate::command::program::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{RecordKeeper, unwritable};
use skew_campaign::RunProgress;
use skew_campaign::recording::{Archive, RecordingFailure, RunRecord};
use skew_campaign::served::{self, ServeReport, ServeSettings};
use skew_history::IsolationLevel;
use std::fs;
use std::io::IsTerminal;
use std::path::PathBuf;

pub(super) fn serve(arguments: &Arguments, console: &mut Console) -> Result<Exit, Complaint> {
    let log = arguments.log()?;
    let seed = arguments.first_seed(log.as_ref());
    if let Some(folder) = arguments.record_folder() {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let settings = ServeSettings {
        wire: arguments.wire(log.as_ref()),
        database: arguments.database(log)?,
        command: arguments.command.clone(),
        has_terminal: std::io::stdin().is_terminal(),
        seed,
        runs: arguments.runs,
        jobs: arguments.jobs,
        stop_at_first: arguments.stop_at_first,
        timeout: arguments.timeout,
        against: arguments.against.unwrap_or(IsolationLevel::Serializable),
        budget: arguments.budget,
    };
    console.note(&format!("seed {seed}"));
    clock::something_to_keep();
    let files = RunFiles { arguments, keeper: arguments.keeper() };
    let (tally, looked) = served::serve(&settings, &files, clock::flags(), &mut |progress| show(progress, console));
    console.progress("");
    // What was found before something could not go on was found all the same.
    if looked.is_ok() || tally.has_runs() {
        let replay = |seed, has_log| arguments.replay_command(seed, has_log);
        let is_replay = arguments.replay.is_some();
        let report = ServeReport { settings: &settings, tally: &tally, replay: &replay, is_replay };
        match arguments.format {
            Format::Human => console.say(&report.human(console.palette)),
            Format::Json => console.result(&format!("{}\n", report.json())),
        }
    }
    looked.map(|()| match tally.is_interrupted() {
        false if tally.has_stopped_recording() => Exit::BadInput,
        _ => tally.conclusion(arguments.against.is_some()).into(),
    })
}

fn show(progress: RunProgress, console: &mut Console) {
    if progress.runs > 1 {
        console.runs(progress);
    }
}

/// Where runs are kept, as far as that was asked.
struct RunFiles<'a> {
    arguments: &'a Arguments,
    /// Knows whether runs are still recorded.
    keeper: RecordKeeper,
}

impl RunFiles<'_> {
    /// A file of a run in the folder of all runs, if there is one.
    fn inside(&self, seed: u64, ending: &str) -> Option<PathBuf> {
        self.arguments.record_folder().map(|folder| folder.join(format!("{seed}.{ending}")))
    }
}

impl Archive for RunFiles<'_> {
    fn begin(&self, seed: u64) -> Result<Box<dyn RunRecord + '_>, Complaint> {
        let history = self.inside(seed, "jsonl").or_else(|| self.arguments.record.clone());
        let files = self.keeper.claim(history.as_deref(), self.arguments.choices_file(seed).as_deref())?;
        Ok(Box::new(files))
    }

    fn keep_output(&self, seed: u64, output: &str) -> Result<(), Complaint> {
        self.inside(seed, "output").map_or(Ok(()), |path| self.keeper.keep(&path, output))
    }

    fn failure(&self) -> Option<RecordingFailure> {
        self.keeper.failure()
    }
}
