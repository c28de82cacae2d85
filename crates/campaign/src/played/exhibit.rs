//! The runs that a report shows at a level of an engine, made once more from their seeds: what is said in them, and on a real server.
//!
//! ```text
//!   first failure of each assertion ──┐
//!   first run of each anomaly ────────┴── seeds, each once ──> SaidRun ──> terminals · LiveServers: is it so there?
//! ```

use super::scheduled::{ServerStage, engine_level, program_of};
use super::{PlaySettings, PlayTally};
use crate::confirmed::{Confirmation, LiveServers};
use crate::said::{SaidRun, confirm};
use crate::{Complaint, ProgramFile};
use skew_history::EngineLevel;
use skew_program::ProgramError;

/// A run that is shown.
pub struct PlayExhibit {
    pub(super) seed: u64,
    /// The assertion that fails in it; nothing for a run that only violates what runs are compared with.
    pub(super) assertion: Option<usize>,
    /// Its statements, or why they have no text.
    pub(super) said: Result<SaidRun, ProgramError>,
    /// What a real server showed of it, if one was asked.
    pub(super) confirmed: Option<Confirmation>,
}

/// The runs to show, the first of which is shown as a whole; all that a report names where servers are asked about them. None at levels
/// of the papers, which no server has.
pub fn exhibits(
    file: &ProgramFile,
    settings: &PlaySettings,
    tally: &PlayTally,
    servers: Option<&mut LiveServers>,
) -> Result<Vec<PlayExhibit>, Complaint> {
    let Some(level) = engine_level(&file.program, settings.rules.weakness.level) else { return Ok(Vec::new()) };
    let mut named = named(tally);
    if servers.is_none() {
        named.truncate(1);
    }
    let mut exhibits = Vec::new();
    for (seed, assertion) in named {
        let said = said(file, settings, level, seed, assertion)?;
        exhibits.push(PlayExhibit { seed, assertion, said, confirmed: None });
    }
    if let Some(servers) = servers {
        for exhibit in &mut exhibits {
            exhibit.confirmed = Some(confirm(&exhibit.said, level, &file.program, servers)?);
        }
    }
    Ok(exhibits)
}

/// The seeds that a report names, that of the first failure first, with the assertions that fail there; one that cannot be evaluated is
/// asked nowhere, because each server says that in words of its own.
fn named(tally: &PlayTally) -> Vec<(u64, Option<usize>)> {
    let assertions = tally.sum.assertions().iter().enumerate();
    let failed = assertions.filter_map(|(number, assertion)| Some((number, assertion.first.as_ref()?)));
    let failed = failed.map(|(number, first)| (first.seed, Some(number).filter(|_| first.detail.is_none())));
    let mut named: Vec<(u64, Option<usize>)> = failed.collect();
    named.sort_by_key(|(seed, assertion)| (*seed, assertion.is_none()));
    for (_, anomaly) in tally.sum.anomalies().iter() {
        if !named.iter().any(|(seed, _)| *seed == anomaly.seed) {
            named.push((anomaly.seed, None));
        }
    }
    named
}

/// What is said in the run of a seed.
fn said(
    file: &ProgramFile,
    settings: &PlaySettings,
    level: EngineLevel,
    seed: u64,
    assertion: Option<usize>,
) -> Result<Result<SaidRun, ProgramError>, Complaint> {
    let program = program_of(file, &settings.rules).remembering();
    let mut stage = ServerStage::new(file, &program, settings)?;
    stage.with_beats(seed, |run, beats| SaidRun::new(run, &file.program, level, beats, assertion))
}
