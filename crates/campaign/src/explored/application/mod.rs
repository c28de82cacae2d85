//! An unmodified application, run again and again as a command, each time another run that the level allows.
//!
//! ```text
//!   RemoteSearch ── a path ──> AtLevel: a fresh database that follows the path ── the command ── exit code
//!        ▲                                                                                          │
//!        └──────────────── what branches off, the history ─────────────────────────────────────────┘
//! ```
//!
//! A run fails when the command does. What the command does may depend only on what it reads; one that asks for something else than in
//! another run with the same answers is reported, and nothing can be said about it.
//!
//! One command at a time: what a later run is, is known from the runs before it.

mod pilot;
mod roster;
mod run;
mod tally;
mod tell;

use super::{Again, Exhibit, Pace, ReplayOf, STEPS, Terms, compared, told_estimate, told_run};
use crate::command::CommandLine;
use crate::{Complaint, Conclusion, Moment};
use roster::Roster;
use run::{AtLevel, NoOtherRun};
use skew_check::Budget;
use skew_explore::{ExploreError, RemoteSchedule, RemoteSearch, RunAnswer};
use skew_history::IsolationLevel;
use skew_mockdb::wire::Attendance;
use skew_view::{Palette, words};
use std::time::Duration;
use tally::CommandTally;
pub(super) use tell::found_in;

/// A command that is explored.
pub struct Application<'a> {
    /// How it is started.
    pub line: CommandLine<'a>,
    /// The file of the tables and rows that it finds, and what is in it.
    pub initial: Option<&'a (String, String)>,
    /// When its database's time begins.
    pub clock: Moment,
    /// So long a session may be silent while it is its turn.
    pub stall: Duration,
    /// How it is explored.
    pub terms: Terms<'a>,
}

/// What was found at a level.
pub struct ExploredLevel {
    level: IsolationLevel,
    tally: CommandTally,
    /// The smallest run that fails, or else violates what runs are compared with.
    pub exhibit: Option<Exhibit>,
}

impl Application<'_> {
    /// Explores one level after the other; `progress` is told in a line how far it is. A complaint is one only where nothing was found before.
    pub fn explore(
        &self,
        levels: &[IsolationLevel],
        pace: Pace,
        replay: &ReplayOf<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<ExploredLevel>, Complaint> {
        let mut explored = Vec::with_capacity(levels.len());
        let mut roster = Roster::default();
        for &level in levels {
            let mut application = AtLevel { roster, ..self.at(level) };
            let (mut tally, complaint) = application.explore(pace, progress);
            roster = application.roster;
            if let Some(complaint) = &complaint {
                // What was found is found, whatever came after it.
                tally.unfinished = true;
                tally.doubt(complaint.message.clone());
            }
            explored.push(self.explored(level, tally, replay));
            match complaint {
                Some(complaint) if self.conclusion(&explored) != Conclusion::Found => return Err(complaint),
                Some(_) => break,
                None => {}
            }
        }
        Ok(explored)
    }

    fn at(&self, level: IsolationLevel) -> AtLevel<'_> {
        let (roster, seen) = (Roster::default(), Attendance::default());
        AtLevel { application: self, level, roster, shows_output: false, seen }
    }

    /// What is wrong with the smallest run of a level.
    fn explored(&self, level: IsolationLevel, tally: CommandTally, replay: &ReplayOf<'_>) -> ExploredLevel {
        let exhibit = tally.shown().map(|smallest| Exhibit {
            found: smallest.history.as_ref().and_then(|history| self.terms.explained(history)),
            replay: replay(level.name(), &[], &smallest.schedule.to_string()),
            saved: None,
        });
        ExploredLevel { level, tally, exhibit }
    }

    /// What an exploration shows.
    pub fn conclusion(&self, levels: &[ExploredLevel]) -> Conclusion {
        let failed = |tally: &CommandTally| tally.failed() > 0 || self.terms.fails_against && tally.violating > 0;
        Conclusion::judged(levels.iter().any(|it| failed(&it.tally)), levels.iter().any(|it| it.tally.is_open()))
    }

    /// The complaint about a run that could not be made; nothing if somebody interrupted it.
    fn complaint(&self, trouble: NoOtherRun) -> Option<Complaint> {
        match trouble {
            NoOtherRun::Complaint(complaint) => Some(complaint),
            NoOtherRun::Interrupted => None,
            NoOtherRun::Exploration(error) => {
                let advice = match error {
                    ExploreError::NotDeterministic { .. } | ExploreError::Missing { .. } => {
                        "give every session an application_name of its own, and no chance, clock or other session a say in what it does"
                    }
                    _ => "",
                };
                Some(Complaint::new(&words::clean(&self.line.words.join(" ")), error.to_string(), advice))
            }
        }
    }

    /// Makes the run of a schedule again, with all that the command prints.
    pub fn again(&self, level: IsolationLevel, schedule: RemoteSchedule, palette: Palette) -> Result<Again, Complaint> {
        let mut application = AtLevel { shows_output: true, ..self.at(level) };
        let search = RemoteSearch::again(self.terms.options(level), schedule);
        let mut search = search.map_err(|error| Complaint::new("--replay", error.to_string(), ""))?;
        let open = |text: &str| Ok(Again { text: text.to_owned(), conclusion: Conclusion::Inconclusive });
        let run = match search.next_run(&mut application) {
            Ok(Some(run)) if run.complete => run,
            Ok(_) => return open("  the application does not let this run happen\n"),
            Err(trouble) => return self.complaint(trouble).map_or_else(|| open(""), Err),
        };
        let budget = || Budget::steps(STEPS);
        let (answer, compared, history) = search
            .look(&run, |run| (run.answer(budget()), compared(run, self.terms.against, budget()), run.history().ok()));
        let ended = run.ended.failure.clone().unwrap_or_else(|| "exit code 0".to_owned());
        let mut text = format!("  {ended}\n");
        if answer == RunAnswer::Fails {
            text.push_str(&format!("  {level} does not allow this run\n"));
        }
        if let Some(history) = &history {
            let found = self.terms.explained(history);
            text.push_str(&format!("\n{}", told_run(history, found.as_ref(), palette)));
        }
        let failed = run.ended.failure.is_some() || self.terms.fails_against && compared == RunAnswer::Fails;
        let conclusion = Conclusion::judged(failed && answer == RunAnswer::Holds, answer != RunAnswer::Holds);
        Ok(Again { text, conclusion })
    }
}

impl AtLevel<'_> {
    /// What was found, and why it could not go on, if so.
    fn explore(&mut self, pace: Pace, progress: &mut dyn FnMut(&str)) -> (CommandTally, Option<Complaint>) {
        let terms = &self.application.terms;
        let options = terms.options(self.level);
        let mut search = RemoteSearch::new(options);
        let (mut tally, mut is_first, mut complaint) = (CommandTally::default(), true, None);
        loop {
            let enough = tally.explored >= pace.budget || pace.stop_at_first && tally.failed() > 0;
            if terms.stop.is_stopped() || enough {
                tally.unfinished = search.waiting() > 0;
                break;
            }
            let run = match search.next_run(self) {
                Ok(None) => break,
                Ok(Some(run)) => run,
                Err(trouble) => {
                    tally.unfinished = true;
                    let refused = matches!(trouble, NoOtherRun::Exploration(_)) && self.seen.refused.is_some();
                    tally.note_attendance(&self.seen);
                    complaint = self.application.complaint(trouble).filter(|_| !refused);
                    break;
                }
            };
            if is_first && self.roster.learn(&run.ended.attendance, run.disorder.as_ref()) {
                search = RemoteSearch::new(options);
                continue;
            }
            is_first = false;
            if let Some(name) = self.roster.stranger(&run.ended.attendance) {
                tally.doubt(format!("session {name} was not there in the first run, and may have come too late"));
            }
            tally.count(&search, run, terms);
            let (all, explored, failed) = (told_estimate(search.progress()), tally.explored, tally.failed());
            progress(&format!("{}: {explored} histories{all}, {failed} failed", self.level));
        }
        if search.skipped() > 0 {
            let why = "given up: the application imposes another order on its transactions, or hangs".to_owned();
            tally.open.insert(why, search.skipped());
        }
        tally.doubt_the_lonely();
        (tally, complaint)
    }
}
