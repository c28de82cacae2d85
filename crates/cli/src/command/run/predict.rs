//! `skew run WORKLOAD --predict`: one run with ordinary reads, what could have been instead, and whether an assertion fails then; and the same
//! workload for `skew predict --replay`.

use super::Arguments;
use super::runs::Histories;
use crate::clock;
use crate::command::program::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::RecordKeeper;
use skew_campaign::driven::{DriveCampaign, DriveSettings, WorkloadChoice};
use skew_campaign::foreseen::{ForesightReport, ForesightSettings, foresee};
use skew_campaign::foretold::{ForetoldRun, Prophecy};
use skew_history::IsolationLevel;

pub(super) fn run(
    arguments: &Arguments,
    campaign: &DriveCampaign<'_>,
    console: &mut Console,
) -> Result<Exit, Complaint> {
    let settings = ForesightSettings {
        program: campaign,
        budget: arguments.budget,
        strategy: arguments.strategy,
        stones: arguments.stones,
        level: arguments.level(),
        against: IsolationLevel::Serializable,
        updates: arguments.updates.into(),
        replays: arguments.replays,
    };
    let mut progress =
        |number: u64, words: &str| console.progress(&format!("run {number} of at most {}: {words}", arguments.replays));
    let foresight = foresee(settings, clock::flags(), &mut progress);
    console.progress("");
    let foresight = foresight?;
    let repeat = |number: usize| (number == 0).then(|| arguments.replay(arguments.seed));
    let report = ForesightReport { settings, foresight: &foresight, repeat: &repeat };
    match arguments.format {
        Format::Human => console.say(&report.human(console.palette)),
        Format::Json => console.result(&format!("{}\n", report.json())),
    }
    Ok(if foresight.is_interrupted { Exit::Inconclusive } else { report.conclusion().into() })
}

impl Arguments {
    /// The workload once more on the mock database, at a level, with the reads and in the order that are foretold.
    pub(in crate::command) fn foretold(
        &self,
        level: IsolationLevel,
        prophecy: &Prophecy,
    ) -> Result<ForetoldRun, Complaint> {
        let workload = WorkloadChoice { level, ..self.choice() }.workload()?;
        let settings = DriveSettings { level, ..self.settings() };
        let histories = Histories { arguments: self, keeper: RecordKeeper::new(self.record_errors) };
        let campaign = DriveCampaign::new(workload, settings, Vec::new(), &histories, clock::flags());
        campaign.replay_of_clients(prophecy, clock::flags())
    }
}
