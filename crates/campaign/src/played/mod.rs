//! A program on a database as weak as its level allows, again and again: the campaign of `skew play`.
//!
//! ```text
//!   program ──> for every seed: stage (sessions, turns, store) ──> Played: history, results, what was written
//!                                                                    │
//!                        judge          is it what the level allows? is it serializable?
//!                        assertions     are they true in every state in which it may have left the database?
//!                        tally          how often, with which seed first ──> report: text or JSON
//! ```
//!
//! At a level of the papers the database is the mock's, as weak as the level allows; at one of an engine it is the model of a server that `skew
//! explore` uses, and all that chance decides is whose step is next.
//!
//! A seed decides everything about a run: run number n from seed s is the only run from seed s+n. Nothing here looks at a clock.

mod exhibit;
mod report;
mod scheduled;
mod stage;
mod store;
mod tally;

pub use exhibit::{PlayExhibit, exhibits};
pub use report::PlayReport;
pub use scheduled::levels_of;
pub use stage::PlayRules;
pub use store::Weakness;
pub use tally::PlayTally;

use crate::judge::{Judge, Judgement};
use crate::program_file::{ProgramFile, complaint};
use crate::tally::Says;
use crate::{Complaint, StopFlags};
use scheduled::ServerStage;
use skew_history::IsolationLevel;
use skew_mockdb::Campaign;
use skew_program::Assertion;
use skew_sql::Stop;
use skew_value::SqlError;
use stage::Played;

/// How a program is played.
#[derive(Clone, Copy, Debug)]
pub struct PlaySettings {
    /// How every run is made.
    pub rules: PlayRules,
    /// The seed of the first run.
    pub seed: u64,
    /// How many runs.
    pub runs: u64,
    /// Whether to end with the first run in which something failed.
    pub stop_at_first: bool,
    /// The level that runs are compared with; given, a run that violates it is a failure.
    pub against: Option<IsolationLevel>,
    /// So many steps the checker may take for a question about a run.
    pub budget: u64,
}

/// What is done with the history of each run, before anything else can go wrong.
pub type KeepHistory<'a> = dyn FnMut(u64, &str) -> Result<(), Complaint> + 'a;

/// The runs of one program.
pub struct PlayCampaign<'a> {
    file: &'a ProgramFile,
    settings: PlaySettings,
    /// The level that every run is checked against: what each transaction asked for.
    own_level: IsolationLevel,
    stop: StopFlags<'a>,
    replay: &'a dyn Fn(u64) -> String,
    judge: Judge<'a>,
    tally: PlayTally,
}

/// Makes the run of a seed.
type MakeRun<'a> = dyn FnMut(u64) -> Result<Played, Complaint> + 'a;

impl<'a> PlayCampaign<'a> {
    /// Nothing has run yet. `replay` gives the command that shows the run of a seed again.
    pub fn new(
        file: &'a ProgramFile,
        settings: PlaySettings,
        stop: StopFlags<'a>,
        replay: &'a dyn Fn(u64) -> String,
    ) -> PlayCampaign<'a> {
        let level = settings.rules.weakness.level;
        let mut calls = file.program.scripts().iter().flat_map(|script| &script.calls);
        let mixed = calls.any(|call| call.level.is_some_and(|other| other != level));
        let own_level = if mixed { IsolationLevel::Declared } else { level };
        let against = settings.against.unwrap_or(IsolationLevel::Serializable);
        PlayCampaign {
            file,
            settings,
            own_level,
            stop,
            replay,
            judge: Judge::new(own_level, against, settings.budget, stop.stop),
            tally: PlayTally::new(&file.program, against),
        }
    }

    /// Runs until all is done, something cannot go on, or somebody wants to stop. What was found before that was found all the same.
    pub fn play(mut self, keep: &mut KeepHistory<'_>) -> (PlayTally, Result<(), Complaint>) {
        let played = match self.is_scheduled() {
            true => self.on_server(keep),
            false => self.on_store(keep),
        };
        (self.tally, played)
    }

    fn is_scheduled(&self) -> bool {
        scheduled::is_scheduled(&self.file.program, self.settings.rules.weakness.level)
    }

    fn on_store(&mut self, keep: &mut KeepHistory<'_>) -> Result<(), Complaint> {
        let (file, rules, novelty) = (self.file, self.settings.rules, Campaign::default());
        let mut make = |seed| {
            stage::play(&file.program, rules, seed, &novelty)
                .map_err(|error| complaint(&file.name, &file.program.error(error)))
        };
        self.all_runs(&mut make, keep)
    }

    fn on_server(&mut self, keep: &mut KeepHistory<'_>) -> Result<(), Complaint> {
        let program = scheduled::program_of(self.file, &self.settings.rules);
        let mut stage = ServerStage::new(self.file, &program, &self.settings)?;
        self.all_runs(&mut |seed| stage.play(seed), keep)
    }

    fn all_runs(&mut self, make: &mut MakeRun<'_>, keep: &mut KeepHistory<'_>) -> Result<(), Complaint> {
        let PlaySettings { seed, runs, stop_at_first, against, .. } = self.settings;
        for number in 0..runs {
            let has_enough = stop_at_first && self.tally.has_failed(against.is_some());
            if self.stop.is_stopped() || has_enough {
                break;
            }
            self.one_run(seed.wrapping_add(number), make, keep)?;
        }
        Ok(())
    }

    fn one_run(&mut self, seed: u64, make: &mut MakeRun<'_>, keep: &mut KeepHistory<'_>) -> Result<(), Complaint> {
        let played = make(seed)?;
        // What was not kept is judged all the same.
        let kept = keep(seed, &played.history);
        let judged = self
            .judge
            .judge_as(&played.history, played.pattern.as_deref())
            .map_err(|what| self.mistake(seed, &what))?;
        if let Judgement::Fails(found) = &judged.own_level {
            let what = format!("a run is not what {} allows ({})", self.own_level, found.kind.name());
            return Err(self.mistake(seed, &what));
        }
        let says = self.ask(&played);
        // What stands behind a failure is shown for the first of each assertion only, and may take long to find out.
        let is_shown = says.as_deref().is_some_and(|says| self.tally.sum.has_first(says));
        let behind = if is_shown { self.judge.behind(&played.history, &judged) } else { None };
        self.tally.distinct = self.judge.distinct();
        self.tally.count(played, &judged, says, behind);
        kept
    }

    /// What went wrong is ours, not the user's.
    fn mistake(&self, seed: u64, what: &str) -> Complaint {
        let advice = format!("this is a mistake of skew: please report it with the file and `{}`", (self.replay)(seed));
        Complaint::new(&self.file.name, what.to_owned(), &advice)
    }

    /// What the assertions say; none are asked, and there is no answer, after a call that never came through. A server that refuses is an
    /// outcome like any other, which applications have to be prepared for.
    fn ask(&self, played: &Played) -> Option<Vec<Says>> {
        if (played.given_up > 0 && !self.is_scheduled()) || played.endless.is_some() {
            return None;
        }
        Some(self.file.program.assertions().iter().map(|assertion| self.says(assertion, played)).collect())
    }

    /// An assertion fails if it does in some final state.
    fn says(&self, assertion: &Assertion, played: &Played) -> Says {
        let program = &self.file.program;
        let Some(states) = &played.final_states else { return Says::Open };
        for state in states {
            match assertion.holds(&mut program.session(), &played.results, &mut state.clone()) {
                Ok(true) => {}
                Ok(false) => return Says::Fails(None),
                Err(stop) => return Says::Fails(Some(program.error(error_of(stop)).message)),
            }
        }
        Says::Holds
    }
}

fn error_of(stop: Stop) -> SqlError {
    match stop {
        Stop::Error(error) => error,
        Stop::Interrupted(_) => SqlError::unsupported("an assertion that waits"),
    }
}
