//! An unmodified application on a PostgreSQL server that is explored: every order of its requests, of those orders that come to the same.
//!
//! ```text
//!   Interleavings ── a route ──> a fresh server, whose next step the route says ── the command ── exit code, history
//!        ▲                                                                                              │
//!        └─────────────── who else could have gone, and what each step touched ─────────────────────────┘
//! ```
//!
//! The server is as PostgreSQL is: nothing is read that is stale, refusals are errors that the application sees, and levels are those that its
//! clients ask for. Sessions are not connections here: a transaction is known by what it asks, so that a pool may give it any connection. Whether
//! a request could have come before another one shows by waiting: nobody goes before all have been quiet for a while. That is time, and who is
//! slower than that is missed; so the first run is made once more with four times the patience, and has to show the same choices.

mod run;
mod tally;
mod tell;

use super::{Again, Exhibit, Pace, ReplayOf, STEPS, Terms, told_run};
use crate::command::{CommandEnd, CommandLine};
use crate::judge::{Judge, Judgement};
use crate::served::database::Initial;
use crate::served::mistake;
use crate::{Complaint, Conclusion, Moment};
use run::WalkedRun;
use skew_explore::{Interleavings, Route};
use skew_history::IsolationLevel;
use skew_view::{Palette, words};
use std::time::Duration;
use tally::WalkTally;

/// Of the time that somebody may be silent so much is waited before each step.
const PATIENCE: u32 = 40;
/// The first run is made once more with so many times the patience.
const MORE_PATIENCE: u32 = 4;
/// A command may take so many times as long as somebody may be silent.
const LONGEST: u32 = 30;
/// What the level is called where clients decide.
pub const OWN_LEVELS: &str = "postgres";

/// A command that is explored on a server.
pub struct WalkedApplication<'a> {
    /// How it is started.
    pub line: CommandLine<'a>,
    /// The file of the tables and rows that it finds, and what is in it.
    pub initial: Initial,
    /// When its database's time begins.
    pub clock: Moment,
    /// So long a client that could go on may be silent, forty steps together.
    pub stall: Duration,
    /// How it is explored.
    pub terms: Terms<'a>,
}

/// What was found at a level.
pub struct WalkedLevel {
    /// The level; nothing where clients ask for theirs.
    level: Option<IsolationLevel>,
    tally: WalkTally,
    /// The first run that fails, or else violates what runs are compared with.
    pub exhibit: Option<Exhibit>,
}

impl WalkedLevel {
    fn name(&self) -> &'static str {
        self.level.map_or(OWN_LEVELS, |level| level.name())
    }
}

impl WalkedApplication<'_> {
    /// Explores one level after the other, or without any those that the application asks for.
    pub fn explore(
        &self,
        levels: &[IsolationLevel],
        pace: Pace,
        replay: &ReplayOf<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<WalkedLevel>, Complaint> {
        let levels: Vec<Option<IsolationLevel>> =
            if levels.is_empty() { vec![None] } else { levels.iter().copied().map(Some).collect() };
        let mut explored = Vec::with_capacity(levels.len());
        for level in levels {
            let tally = self.explore_at(level, pace, progress)?;
            explored.push(self.explored(level, tally, replay));
        }
        Ok(explored)
    }

    fn explore_at(
        &self,
        level: Option<IsolationLevel>,
        pace: Pace,
        progress: &mut dyn FnMut(&str),
    ) -> Result<WalkTally, Complaint> {
        let mut judge = Judge::new(IsolationLevel::Declared, self.terms.against, STEPS, self.terms.stop.stop);
        let (mut all, mut tally, mut first) = (Interleavings::default(), WalkTally::default(), None);
        while let Some(route) = all.next_route() {
            let enough = tally.runs >= pace.budget || pace.stop_at_first && tally.failed > 0;
            if self.terms.stop.is_stopped() || enough {
                tally.unfinished = true;
                break;
            }
            let run = self.run(level, route, self.patience(), true)?;
            match run.ended {
                CommandEnd::Interrupted | CommandEnd::GivenUp => {
                    tally.unfinished = true;
                    break;
                }
                CommandEnd::Well | CommandEnd::Badly(_) => {}
            }
            self.count(&mut tally, &mut judge, &run)?;
            first.get_or_insert_with(|| run.route.clone());
            all.made(run.route);
            let done = (100.0 * all.share_done()) as u32;
            progress(&format!("{} runs, about {done} % of all, {} failed", tally.runs, tally.failed));
        }
        tally.histories = judge.distinct() as u64;
        tally.note_doubts(&all);
        if let Some(first) = first.filter(|_| !tally.unfinished) {
            self.look_again(level, &first, &mut tally)?;
        }
        Ok(tally)
    }

    fn patience(&self) -> Duration {
        self.stall / PATIENCE
    }

    /// Makes the first run again with more patience: whoever could have come sooner comes now.
    fn look_again(&self, level: Option<IsolationLevel>, first: &Route, tally: &mut WalkTally) -> Result<(), Complaint> {
        let route = Route::unhurried(first.steps().map(str::to_owned).collect());
        let again = self.run(level, route, self.patience() * MORE_PATIENCE, true)?;
        if again.route.diverged().is_some() {
            tally.doubt("the same order of requests made the application ask for something else");
        } else if again.route.has_more_candidates(first) {
            tally.doubt("a request came later than is waited for, so not every order was seen: give a longer --stall");
        }
        Ok(())
    }

    fn count(&self, tally: &mut WalkTally, judge: &mut Judge<'_>, run: &WalkedRun) -> Result<(), Complaint> {
        let judged = judge.judge(&run.history).map_err(|what| mistake(tally.runs, what))?;
        let behind = match run.ended {
            CommandEnd::Badly(_) => judge.behind(&run.history, &judged),
            _ => None,
        };
        tally.count(run, &judged, behind);
        Ok(())
    }

    /// What is wrong with the run of a level that is shown.
    fn explored(&self, level: Option<IsolationLevel>, tally: WalkTally, replay: &ReplayOf<'_>) -> WalkedLevel {
        let name = level.map_or("", |level| level.name());
        let exhibit = tally.shown().map(|kept| Exhibit {
            found: kept.found.clone(),
            replay: replay(name, &[], &kept.schedule),
            saved: None,
        });
        WalkedLevel { level, tally, exhibit }
    }

    /// What an exploration shows.
    pub fn conclusion(&self, levels: &[WalkedLevel]) -> Conclusion {
        let failed = |tally: &WalkTally| tally.failed > 0 || self.terms.fails_against && tally.violating > 0;
        Conclusion::judged(levels.iter().any(|it| failed(&it.tally)), levels.iter().any(|it| it.tally.is_open()))
    }

    /// Makes the run of a schedule again, with all that the command prints.
    pub fn again(&self, level: Option<IsolationLevel>, schedule: &str, palette: Palette) -> Result<Again, Complaint> {
        let Some(steps) = steps_of(schedule) else {
            let advice = "give the one of the last line of a report, whole";
            return Err(Complaint::new("--replay", format!("`{schedule}` is no schedule"), advice));
        };
        let run = self.run(level, Route::again(steps), self.patience(), false)?;
        let mut judge = Judge::new(IsolationLevel::Declared, self.terms.against, STEPS, self.terms.stop.stop);
        let judged = judge.judge(&run.history).map_err(|what| mistake(0, what))?;
        let mut text = match &run.ended {
            CommandEnd::Badly(how) => format!("  {}\n", words::clean(how)),
            CommandEnd::Well => "  exit code 0\n".to_owned(),
            CommandEnd::Interrupted | CommandEnd::GivenUp => String::new(),
        };
        if let Some((at, step)) = run.route.diverged() {
            text.push_str(&format!("  the run is another one: step {step} did not come at its place, {}\n", at + 1));
        }
        if let Ok(history) = run.read() {
            text.push_str(&format!("\n{}", told_run(&history, judged.found(), palette)));
        }
        let fails = matches!(run.ended, CommandEnd::Badly(_))
            || self.terms.fails_against && matches!(judged.against, Judgement::Fails(_));
        let open = run.route.diverged().is_some() || matches!(run.ended, CommandEnd::Interrupted | CommandEnd::GivenUp);
        Ok(Again { text, conclusion: Conclusion::judged(fails && !open, open) })
    }
}

/// The steps of a schedule as a report writes it.
pub fn steps_of(schedule: &str) -> Option<Vec<String>> {
    let is_step = |word: &str| {
        let mut parts = word.split('.');
        let asks =
            parts.next().is_some_and(|part| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
        asks && parts.clone().count() == 2 && parts.all(|part| part.parse::<u32>().is_ok())
    };
    let steps: Vec<String> = schedule.split_whitespace().map(str::to_owned).collect();
    steps.iter().all(|step| is_step(step)).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_steps_and_nothing_else() {
        assert_eq!(steps_of("3fa9.1.0 00b2.12.3").map(|steps| steps.len()), Some(2));
        // One that asked for nothing.
        assert_eq!(steps_of(""), Some(Vec::new()));
        for bad in ["3fa9.1", "alice,bob 2:0.0.0", "3fa9.1.x", "zzzz.1.1", "3fa91.1.0"] {
            assert!(steps_of(bad).is_none(), "{bad}");
        }
    }
}
