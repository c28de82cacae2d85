//! The smallest run that shows something, run again from its schedule and explained.

use super::tally::{self, Smallest};
use super::unfinished::Unfinished;
use super::{Arguments, STEPS, named, numbered};
use crate::command::check::quote;
use crate::command::program::shown as shown_value;
use crate::command::program::{GranularityArgument, ProgramFile, UpdatesArgument, complaint, unwritable};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_check::{Budget, Counterexample, Verdict};
use skew_explore::{ExploreError, Run, Search, SqlProgram, Subtree};
use skew_history::{History, IsolationLevel, notation};
use skew_sql::program::MOST_STEPS;
use skew_view::finding::FoundIn;
use skew_view::{Finding, Palette, Picture, human, words};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

/// Something that failed, and a run that shows it.
pub(super) struct Shown {
    /// The place of its level.
    pub(super) level: usize,
    /// The assertion; nothing for a run that only violates what runs are compared with.
    pub(super) assertion: Option<usize>,
    pub(super) history: History,
    /// Why it is not what runs are compared with, if it is not.
    pub(super) found: Option<Counterexample>,
    pub(super) replay: String,
    /// The file that it was kept in.
    pub(super) saved: Option<String>,
}

impl Arguments {
    /// One for each assertion that failed at a level, and one of those that violate what they are compared with where no assertion
    /// failed.
    pub(super) fn counterexamples(&self, file: &ProgramFile, explored: &Unfinished) -> Result<Vec<Shown>, Complaint> {
        let program = SqlProgram::new(file.program.clone(), self.sql_options());
        let mut shown = Vec::new();
        for (number, level) in explored.levels.iter().enumerate() {
            let failed = level.tally.assertions.iter().enumerate().map(|(assertion, found)| (Some(assertion), found));
            let mut wanted: Vec<(Option<usize>, &Smallest)> =
                failed.filter_map(|(assertion, found)| Some((assertion, found.smallest.as_ref()?))).collect();
            if wanted.is_empty() {
                wanted.extend(level.tally.violating.smallest.as_ref().map(|smallest| (None, smallest)));
            }
            for (assertion, smallest) in wanted {
                let history = self.history(file, &program, named(&level.level, file)?, &smallest.schedule)?;
                let replay = self.replay_command(file, &level.level, &smallest.schedule);
                let found = self.explained(&history);
                shown.push(Shown { level: number, assertion, history, found, replay, saved: None });
            }
        }
        self.keep(file, &mut shown)?;
        Ok(shown)
    }

    pub(super) fn explained(&self, history: &History) -> Option<Counterexample> {
        let (level, budget) = (self.against(), Budget::steps(STEPS));
        match skew_check::check(history, level, budget) {
            Verdict::Fails(anomaly) => Some(skew_check::explain(history, level, &anomaly, budget)),
            Verdict::Holds(_) | Verdict::Unknown => None,
        }
    }

    fn history(
        &self,
        file: &ProgramFile,
        program: &SqlProgram,
        level: IsolationLevel,
        schedule: &Subtree,
    ) -> Result<History, Complaint> {
        self.with_run(file, program, level, schedule, |run| {
            run.history().map_err(|refusal| {
                let message = format!("a run cannot be written as a history: {refusal}");
                Complaint::new(&file.name, message, "give sessions and keys distinct names")
            })
        })?
    }

    /// Runs a schedule again.
    fn with_run<T>(
        &self,
        file: &ProgramFile,
        program: &SqlProgram,
        level: IsolationLevel,
        schedule: &Subtree,
        ask: impl FnOnce(&Run<'_, SqlProgram>) -> T,
    ) -> Result<T, Complaint> {
        let trouble = |error: ExploreError| self.trouble(file, error.into());
        let mut search = Search::nothing(program, self.options(level)).map_err(trouble)?;
        search.add(schedule).map_err(trouble)?;
        let run = search.next_run().map_err(trouble)?;
        let run = run.ok_or_else(|| self.trouble(file, ExploreError::ForeignSubtree.into()))?;
        Ok(ask(&run))
    }

    /// Writes the counterexamples into the folder of `--save`.
    fn keep(&self, file: &ProgramFile, shown: &mut [Shown]) -> Result<(), Complaint> {
        let Some(folder) = &self.save else { return Ok(()) };
        let mut number = 0;
        for one in shown {
            let Some(found) = &one.found else { continue };
            number += 1;
            let path = numbered(folder, number, found.kind.name());
            let found_in = FoundIn { file: file.name.clone(), format: "program".to_owned(), sha256: file.sha256() };
            let text = Finding::new(found, found_in, one.replay.clone()).to_json();
            let text = text.map_err(|error| unwritable(&path, &std::io::Error::other(error.to_string())))?;
            fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
            one.saved = Some(path.to_string_lossy().into_owned());
        }
        Ok(())
    }

    fn replay_command(&self, file: &ProgramFile, level: &str, schedule: &Subtree) -> String {
        let mut command = format!("skew explore {} --level {level}", quote(&file.name));
        if self.updates == UpdatesArgument::Plain {
            command.push_str(" --updates plain");
        }
        if self.granularity == GranularityArgument::Cell {
            command.push_str(" --granularity cell");
        }
        if self.max_steps != MOST_STEPS {
            let _ = write!(command, " --max-steps {}", self.max_steps);
        }
        if let Some(against) = self.against {
            let _ = write!(command, " --against {against}");
        }
        format!("{command} --replay '{schedule}'")
    }

    /// `--replay`: one run, what its calls handed out, which assertions fail in it.
    pub(super) fn show_again(
        &self,
        file: &ProgramFile,
        schedule: &Subtree,
        console: &mut Console,
    ) -> Result<Exit, Complaint> {
        let [level] = self.level[..] else {
            let message = "--replay shows one run at one level".to_owned();
            return Err(Complaint::new(&file.name, message, "give the --level of the report"));
        };
        let program = SqlProgram::new(file.program.clone(), self.sql_options());
        let told = self.with_run(file, &program, level, schedule, |run| self.told(file, &program, run))??;
        let (mut text, violated) = told;
        let history = self.history(file, &program, level, schedule)?;
        text.push('\n');
        text.push_str(&told_run(&history, self.explained(&history).as_ref(), console.palette));
        console.say(&text);
        Ok(if violated { Exit::Found } else { Exit::Holds })
    }

    /// The calls and the assertions of a run.
    fn told(
        &self,
        file: &ProgramFile,
        program: &SqlProgram,
        run: &Run<'_, SqlProgram>,
    ) -> Result<(String, bool), Complaint> {
        let mut text = String::new();
        for (place, left) in tally::left(program, run) {
            let call = &file.program.scripts()[place.session].calls[place.number];
            let procedure = &file.program.procedures()[call.procedure];
            let session = &file.program.scripts()[place.session].name;
            let _ =
                write!(text, "  {session}[{}] {}: {}", place.number + 1, procedure.name, left.result.outcome.word());
            for (field, value) in procedure.fields.iter().zip(&left.result.fields) {
                let _ = write!(text, ", {} = {}", field.name, words::clean(&shown_value(value, field, &file.program)));
            }
            text.push('\n');
        }
        let states = run.final_states(1_000, Budget::steps(STEPS)).unwrap_or_default();
        let mut violated = BTreeSet::new();
        for state in states {
            let found = program.violated(tally::left(program, run), state);
            violated.extend(found.map_err(|error| complaint(&file.name, &error))?);
        }
        for (number, assertion) in file.program.assertions().iter().enumerate() {
            let word = if violated.contains(&number) { "fails" } else { "holds" };
            let _ = writeln!(text, "  {word}  {}", words::clean(&assertion.name));
        }
        Ok((text, !violated.is_empty()))
    }
}

/// A run in words where it is not what it is compared with, else as it is.
pub(super) fn told_run(history: &History, found: Option<&Counterexample>, palette: Palette) -> String {
    match found {
        Some(found) => human::counterexample(Picture::from(found), palette),
        None => notation::write(history).lines().map(|line| format!("  {line}\n")).collect(),
    }
}
