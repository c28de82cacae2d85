//! One run once more: what its calls handed out, which assertions fail in it, its history, and what was said over the wire.

use super::left_out::{CallName, names};
use super::{ExploredProgram, STEPS, tally, told_run};
use crate::program_file::shown;
use crate::{Complaint, Conclusion};
use skew_check::Budget;
use skew_explore::{Place, Run, RunAnswer, SqlProgram, Subtree};
use skew_history::IsolationLevel;
use skew_view::{Palette, words};
use std::collections::BTreeSet;
use std::fmt::Write;

/// One run, told.
pub struct Again {
    /// What is to be said about it.
    pub text: String,
    /// Whether an assertion fails in it; it is open where that is not known, or the run is another one over the wire.
    pub conclusion: Conclusion,
}

impl ExploredProgram<'_> {
    /// Makes the run of a schedule again; over PostgreSQL's protocol, too, if it is to be.
    pub fn again(
        &self,
        level: IsolationLevel,
        schedule: &Subtree,
        over_the_wire: bool,
        palette: Palette,
    ) -> Result<Again, Complaint> {
        let program = self.explorable(self.left_out.clone());
        let program = if over_the_wire { program.remembering() } else { program };
        let again = |run: &Run<'_, SqlProgram>| {
            self.refuse_no_run(run, level, schedule)?;
            self.told_again(&program, run, over_the_wire.then_some(level), palette)
        };
        let mut again = self.with_run(&program, level, schedule, again)??;
        if let Some(Ok(said)) = self.said(&self.left_out, level, schedule, None)? {
            let _ = write!(again.text, "\n{}", said.typed.shown(palette));
        }
        Ok(again)
    }

    /// One run: what was said over the wire, if it was at a level, its calls and assertions, and its history.
    fn told_again(
        &self,
        program: &SqlProgram,
        run: &Run<'_, SqlProgram>,
        wire: Option<IsolationLevel>,
        palette: Palette,
    ) -> Result<Again, Complaint> {
        let mut text = String::new();
        if let Some(level) = wire {
            let said = self.over_the_wire(program, run, level)?;
            let _ = writeln!(text, "{}", said.told());
            if let Some(difference) = said.difference {
                let _ = writeln!(text, "  over the wire this is another run: {}", words::clean(&difference));
                return Ok(Again { text, conclusion: Conclusion::Inconclusive });
            }
        }
        self.tell_calls(program, run, &mut text);
        let conclusion = self.tell_assertions(program, run, &mut text);
        let history = self.history(run)?;
        let explained = self.terms.explained(&history);
        let _ = write!(text, "\n{}", told_run(&history, explained.as_ref(), palette));
        Ok(Again { text, conclusion })
    }

    /// A schedule that is only the beginning of a run, or a run that the level does not allow, shows nothing about the program.
    fn refuse_no_run(
        &self,
        run: &Run<'_, SqlProgram>,
        level: IsolationLevel,
        schedule: &Subtree,
    ) -> Result<(), Complaint> {
        let whole = run.subtree().to_string();
        Err(self.no_run(match run.answer(Budget::steps(STEPS)) {
            _ if whole != schedule.to_string() => format!("this is no whole run; one that begins so is `{whole}`"),
            RunAnswer::Fails => format!("{level} does not allow this run"),
            RunAnswer::Unknown => format!("it is not known whether {level} allows this run"),
            RunAnswer::Holds => return Ok(()),
        }))
    }

    /// What the calls of a run handed out.
    fn tell_calls(&self, program: &SqlProgram, run: &Run<'_, SqlProgram>, text: &mut String) {
        for (place, left) in tally::left(program, run) {
            let call = &self.program().scripts()[place.session].calls[place.number];
            let procedure = &self.program().procedures()[call.procedure];
            let call = CallName::at(self.program(), place);
            let _ = write!(text, "  {call} {}: {}", procedure.name, left.result.outcome.word());
            for (field, value) in procedure.fields.iter().zip(&left.result.fields) {
                let _ = write!(text, ", {} = {}", field.name, words::clean(&shown(value, field, self.program())));
            }
            text.push('\n');
        }
    }

    /// The assertions of a run.
    fn tell_assertions(&self, program: &SqlProgram, run: &Run<'_, SqlProgram>, text: &mut String) -> Conclusion {
        let (mut fails, mut is_open) = (false, false);
        let violated = tally::violated(program, run, Budget::steps(STEPS));
        for (number, assertion) in self.program().assertions().iter().enumerate() {
            let name = words::clean(&assertion.name);
            let missing = program.missing(number);
            let (word, why) = match violated.as_ref().map(|violated| violated.get(&number)) {
                _ if !missing.is_empty() => ("inconclusive", self.unasked(&missing)),
                None => ("inconclusive", ": not all final states looked at".to_owned()),
                Some(None) => ("holds", String::new()),
                Some(Some(error)) => ("fails", error.as_deref().map(|error| cannot(error, 9)).unwrap_or_default()),
            };
            let _ = writeln!(text, "  {word}  {name}{why}");
            fails |= word == "fails";
            is_open |= word == "inconclusive";
        }
        Conclusion::judged(fails, is_open)
    }

    /// Why an assertion is not asked.
    pub(super) fn unasked(&self, missing: &BTreeSet<Place>) -> String {
        format!(": it speaks of {}, left out", names(self.program(), missing).join(", "))
    }
}

/// An assertion fails because of an error.
pub(super) fn cannot(error: &str, indentation: usize) -> String {
    format!("\n{:indentation$}because it cannot be evaluated: {}", "", words::clean(error))
}
