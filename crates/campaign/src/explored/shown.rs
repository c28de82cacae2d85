//! The smallest run of the fewest calls that show something, run again from its schedule and explained.

use super::ExploredProgram;
use super::left_out::{calls, names};
use super::minimal::{Minimal, Reduction};
use super::tally::SmallestRun;
use super::unfinished::{Unfinished, UnfinishedLevel};
use crate::Complaint;
use crate::confirmed::Confirmation;
use crate::said::SaidRun;
use skew_check::Counterexample;
use skew_explore::{ExploreError, Place, Run, Search, SqlProgram, Subtree};
use skew_history::{History, IsolationLevel};
use skew_program::ProgramError;
use skew_view::finding::FoundIn;

/// Something that failed, and a run that shows it.
pub struct Shown {
    /// The place of its level.
    pub(super) level: usize,
    /// The assertion; nothing for a run that only violates what runs are compared with.
    pub(super) assertion: Option<usize>,
    /// The calls without which it was found, by their names.
    pub(super) without: Vec<String>,
    /// Those that are left, if the user's program has more.
    pub(super) enough: Option<Vec<String>>,
    /// Whether it is known that no call can be left out any more.
    pub(super) is_minimal: bool,
    /// Why the assertion could not be evaluated, if that is what is wrong.
    pub(super) error: Option<String>,
    pub(super) history: History,
    /// At a level of an engine: its statements, or why they have no text.
    pub(super) said: Option<Result<SaidRun, ProgramError>>,
    /// What a real server showed of it, if one was asked.
    pub(super) confirmed: Option<Confirmation>,
    /// What is wrong with the run, and how to see it again.
    pub exhibit: Exhibit,
}

/// What is told and kept of a run that is shown.
pub struct Exhibit {
    /// Why it is not what runs are compared with, if it is not.
    pub found: Option<Counterexample>,
    /// The command that shows it again.
    pub replay: String,
    /// The file that it was kept in, for the report to say.
    pub saved: Option<String>,
}

/// The line that shows a run again: of this level, without these calls, by this schedule.
pub type ReplayOf<'a> = dyn Fn(&str, &[String], &str) -> String + 'a;

impl ExploredProgram<'_> {
    /// One for each assertion that failed at a level, and one of those that violate what they are compared with where no assertion
    /// failed.
    pub fn counterexamples(&self, explored: &Unfinished, replay: &ReplayOf<'_>) -> Result<Vec<Shown>, Complaint> {
        let mut shown = Vec::new();
        for (number, level) in explored.levels.iter().enumerate() {
            let failed = level.tally.assertions.iter().enumerate().map(|(assertion, found)| (Some(assertion), found));
            let mut wanted: Vec<(Option<usize>, &SmallestRun)> =
                failed.filter_map(|(assertion, found)| Some((assertion, found.smallest.as_ref()?))).collect();
            if wanted.is_empty() {
                wanted.extend(level.tally.violating.smallest.as_ref().map(|smallest| (None, smallest)));
            }
            for (assertion, smallest) in wanted {
                shown.push(self.shown((number, level), assertion, smallest, replay)?);
            }
        }
        Ok(shown)
    }

    /// The counterexample of an assertion, or of what runs are compared with, from the smallest run of the whole program.
    fn shown(
        &self,
        (number, level): (usize, &UnfinishedLevel),
        assertion: Option<usize>,
        smallest: &SmallestRun,
        replay: &ReplayOf<'_>,
    ) -> Result<Shown, Complaint> {
        let isolation = self.isolation(level)?;
        let program = self.explorable(self.left_out.clone());
        let whole = self.with_run(&program, isolation, &smallest.schedule, |run| self.history(run))??;
        let (options, tally) = (self.terms.options(isolation), &level.tally);
        let reduction = Reduction { subject: self, options, whole: tally, assertion, smallest, spent: 0.into() };
        let Minimal { left_out, smallest, is_certain } = reduction.minimal(self.terms.explained(&whole).as_ref());
        let program = self.explorable(left_out.clone());
        let history = self.with_run(&program, isolation, &smallest.schedule, |run| self.history(run))??;
        let kept = || calls(self.program()).filter(|place| !left_out.contains(place));
        let enough = (left_out != self.left_out).then(|| names(self.program(), &kept().collect::<Vec<Place>>()));
        let without = names(self.program(), &left_out);
        let asked = assertion.filter(|_| smallest.error.is_none());
        let said = self.said(&left_out, isolation, &smallest.schedule, asked)?;
        Ok(Shown {
            said,
            confirmed: None,
            level: number,
            assertion,
            exhibit: Exhibit {
                found: self.terms.explained(&history),
                replay: replay(&level.level, &without, &smallest.schedule.to_string()),
                saved: None,
            },
            error: smallest.error,
            is_minimal: is_certain,
            without,
            enough,
            history,
        })
    }

    /// The program's text.
    pub fn found_in(&self) -> FoundIn {
        FoundIn { file: self.file.name.clone(), format: "program".to_owned(), sha256: self.file.sha256() }
    }

    /// Runs a schedule again.
    pub(super) fn with_run<T>(
        &self,
        program: &SqlProgram,
        level: IsolationLevel,
        schedule: &Subtree,
        ask: impl FnOnce(&Run<'_, SqlProgram>) -> T,
    ) -> Result<T, Complaint> {
        let complain = |error: ExploreError| match error {
            ExploreError::ForeignSubtree => self.no_run(format!("this program has no such run at {level}")),
            other => self.trouble(&other),
        };
        let mut search = Search::nothing(program, self.terms.options(level)).map_err(complain)?;
        search.add(schedule).map_err(complain)?;
        let run = search.next_run().map_err(complain)?;
        let run = run.ok_or_else(|| complain(ExploreError::ForeignSubtree))?;
        Ok(ask(&run))
    }

    pub(super) fn no_run(&self, message: String) -> Complaint {
        self.complain(message, "copy the schedule and its --level from a report")
    }

    /// A run as a history.
    pub(super) fn history(&self, run: &Run<'_, SqlProgram>) -> Result<History, Complaint> {
        run.history().map_err(|refusal| {
            let message = format!("a run cannot be written as a history: {refusal}");
            self.complain(message, "give sessions and keys distinct names")
        })
    }
}
