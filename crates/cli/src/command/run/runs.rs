//! `--runs`: what is said of many runs, and where the histories of all runs go.

use super::Arguments;
use crate::clock;
use crate::command::program::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{RecordKeeper, unwritable};
use skew_campaign::driven::{DriveCampaign, DriveReport};
use skew_campaign::recording::{Archive, RecordingFailure, RunRecord};
use std::fs;

pub(super) fn run(
    arguments: &Arguments,
    campaign: &DriveCampaign<'_>,
    console: &mut Console,
) -> Result<Exit, Complaint> {
    if let Some(folder) = &arguments.record {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let (tally, looked) = campaign.drive(&mut |progress| console.runs(progress));
    console.progress("");
    // What was found before something could not go on was found all the same.
    if looked.is_ok() || tally.has_runs() {
        let report = DriveReport { campaign, tally: &tally, replay: &|seed| arguments.replay(seed) };
        match arguments.format {
            Format::Human => console.say(&report.human(console.palette)),
            Format::Json => console.result(&format!("{}\n", report.json())),
        }
    }
    looked.map(|()| match clock::is_interrupted() {
        true => Exit::Inconclusive,
        false => tally.conclusion(!arguments.check.is_empty()).into(),
    })
}

/// Where the history of each run goes, if anywhere.
pub(super) struct Histories<'a> {
    pub(super) arguments: &'a Arguments,
    /// Knows whether runs are still recorded.
    pub(super) keeper: RecordKeeper,
}

impl Archive for Histories<'_> {
    fn begin(&self, seed: u64) -> Result<Box<dyn RunRecord + '_>, Complaint> {
        let files = self.keeper.claim(self.arguments.record_file(seed).as_deref(), None)?;
        Ok(Box::new(files))
    }

    /// A workload prints nothing.
    fn keep_output(&self, _: u64, _: &str) -> Result<(), Complaint> {
        Ok(())
    }

    fn failure(&self) -> Option<RecordingFailure> {
        self.keeper.failure()
    }
}
