//! The smallest run of the fewest calls that show something, run again from its schedule and explained.

use super::left_out::{calls, name, names};
use super::minimal::{Minimal, Reduction};
use super::tally::{self, Smallest};
use super::unfinished::{Level, Unfinished};
use super::{Arguments, STEPS, named, numbered, trouble};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{unwritable, write_whole};
use skew_campaign::ProgramFile;
use skew_campaign::judge;
use skew_campaign::program_file::shown as shown_value;
use skew_check::{Budget, Counterexample, Verdict};
use skew_explore::{Answer, Explorable, ExploreError, Place, Run, Search, SqlProgram, Subtree};
use skew_history::{History, IsolationLevel, notation};
use skew_view::finding::FoundIn;
use skew_view::{Finding, Palette, Picture, human, words};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Something that failed, and a run that shows it.
pub(super) struct Shown {
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
        let mut shown = Vec::new();
        for (number, level) in explored.levels.iter().enumerate() {
            let failed = level.tally.assertions.iter().enumerate().map(|(assertion, found)| (Some(assertion), found));
            let mut wanted: Vec<(Option<usize>, &Smallest)> =
                failed.filter_map(|(assertion, found)| Some((assertion, found.smallest.as_ref()?))).collect();
            if wanted.is_empty() {
                wanted.extend(level.tally.violating.smallest.as_ref().map(|smallest| (None, smallest)));
            }
            for (assertion, smallest) in wanted {
                shown.push(self.shown(file, (number, level), assertion, smallest)?);
            }
        }
        self.keep(file, &mut shown)?;
        Ok(shown)
    }

    /// The counterexample of an assertion, or of what runs are compared with, from the smallest run of the whole program.
    fn shown(
        &self,
        file: &ProgramFile,
        (number, level): (usize, &Level),
        assertion: Option<usize>,
        smallest: &Smallest,
    ) -> Result<Shown, Complaint> {
        let isolation = named(&level.level, file)?;
        let given = self.left_out(&file.program);
        let program = self.program(file, given.clone());
        let whole = self.with_run(file, &program, isolation, &smallest.schedule, |run| history(file, run))??;
        let (options, tally) = (self.options(isolation), &level.tally);
        let reduction =
            Reduction { arguments: self, file, options, whole: tally, assertion, smallest, spent: 0.into() };
        let Minimal { left_out, smallest, is_certain } = reduction.minimal(self.explained(&whole).as_ref());
        let program = self.program(file, left_out.clone());
        let history = self.with_run(file, &program, isolation, &smallest.schedule, |run| history(file, run))??;
        let kept = || calls(&file.program).filter(|place| !left_out.contains(place));
        let enough = (left_out != given).then(|| kept().map(|place| name(&file.program, place)).collect());
        let without = names(&file.program, &left_out);
        Ok(Shown {
            level: number,
            assertion,
            replay: self.replay_line(&level.level, &without, &smallest.schedule.to_string()),
            found: self.explained(&history),
            error: smallest.error,
            is_minimal: is_certain,
            without,
            enough,
            history,
            saved: None,
        })
    }

    /// Why a run is not what runs are compared with; where only transactions that were rolled back saw what it forbids, what they saw.
    pub(super) fn explained(&self, history: &History) -> Option<Counterexample> {
        match judge::compare(history, self.against(), Budget::steps(STEPS)) {
            (judge::Judgement::Fails(found), _) | (_, Some(found)) => Some(*found),
            (judge::Judgement::Holds | judge::Judgement::Unknown, None) => None,
        }
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
        let complain = |error: ExploreError| match error {
            ExploreError::ForeignSubtree => no_run(file, format!("this program has no such run at {level}")),
            other => trouble(file, &other),
        };
        let mut search = Search::nothing(program, self.options(level)).map_err(complain)?;
        search.add(schedule).map_err(complain)?;
        let run = search.next_run().map_err(complain)?;
        let run = run.ok_or_else(|| complain(ExploreError::ForeignSubtree))?;
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
            write_whole(&path, text).map_err(|error| unwritable(&path, &error))?;
            one.saved = Some(path.to_string_lossy().into_owned());
        }
        Ok(())
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
        let program = self.program(file, self.left_out(&file.program));
        let program = if self.wire { program.remembering() } else { program };
        let again = |run: &Run<'_, SqlProgram>| {
            refuse_no_run(file, run, level, schedule)?;
            self.told_again(file, &program, run, level, console.palette)
        };
        let (text, exit) = self.with_run(file, &program, level, schedule, again)??;
        console.say(&text);
        Ok(exit)
    }

    /// One run: what was said over the wire, if it was, its calls and assertions, and its history.
    fn told_again(
        &self,
        file: &ProgramFile,
        program: &SqlProgram,
        run: &Run<'_, SqlProgram>,
        level: IsolationLevel,
        palette: Palette,
    ) -> Result<(String, Exit), Complaint> {
        let mut text = String::new();
        if self.wire {
            let said = self.over_the_wire(file, program, run, level)?;
            let _ = writeln!(text, "{}", said.told());
            if let Some(difference) = said.difference {
                let _ = writeln!(text, "  over the wire this is another run: {}", words::clean(&difference));
                return Ok((text, Exit::Inconclusive));
            }
        }
        let (calls, exit) = self.told(file, program, run);
        let history = history(file, run)?;
        let explained = self.explained(&history);
        let _ = write!(text, "{calls}\n{}", told_run(&history, explained.as_ref(), palette));
        Ok((text, exit))
    }

    /// The calls and the assertions of a run.
    fn told(&self, file: &ProgramFile, program: &SqlProgram, run: &Run<'_, SqlProgram>) -> (String, Exit) {
        let mut text = String::new();
        for (place, left) in tally::left(program, run) {
            let call = &file.program.scripts()[place.session].calls[place.number];
            let procedure = &file.program.procedures()[call.procedure];
            let call = name(&file.program, place);
            let _ = write!(text, "  {call} {}: {}", procedure.name, left.result.outcome.word());
            for (field, value) in procedure.fields.iter().zip(&left.result.fields) {
                let _ = write!(text, ", {} = {}", field.name, words::clean(&shown_value(value, field, &file.program)));
            }
            text.push('\n');
        }
        let mut exit = Exit::Holds;
        let violated = tally::violated(program, run, Budget::steps(STEPS));
        for (number, assertion) in file.program.assertions().iter().enumerate() {
            let name = words::clean(&assertion.name);
            let missing = program.missing(number);
            let failure = violated.as_ref().map(|violated| violated.get(&number));
            let (word, why, means) = match failure {
                _ if !missing.is_empty() => ("inconclusive", unasked(file, &missing), Exit::Inconclusive),
                None => ("inconclusive", ": not all final states looked at".to_owned(), Exit::Inconclusive),
                Some(None) => ("holds", String::new(), Exit::Holds),
                Some(Some(error)) => {
                    ("fails", error.as_deref().map(|error| cannot(error, 9)).unwrap_or_default(), Exit::Found)
                }
            };
            let _ = writeln!(text, "  {word}  {name}{why}");
            exit.combine(means);
        }
        (text, exit)
    }
}

/// Whether the transactions of a run that committed are what a level allows.
pub(super) fn compared<P: Explorable + ?Sized>(run: &Run<'_, P>, level: IsolationLevel, budget: Budget<'_>) -> Answer {
    let whole = run.answer_at(level, budget);
    let has_aborted = || run.order().len() > run.size().0;
    // Fewer transactions are never harder to allow.
    if whole == Answer::Holds || !has_aborted() {
        return whole;
    }
    let part = run.history().ok().and_then(|history| judge::of_committed(&history));
    match part.map(|part| skew_check::check(&part, level, budget)) {
        None => whole,
        Some(Verdict::Holds(_)) => Answer::Holds,
        Some(Verdict::Fails(_)) => Answer::Fails,
        Some(Verdict::Unknown) => Answer::Unknown,
    }
}

/// A run as a history.
fn history(file: &ProgramFile, run: &Run<'_, SqlProgram>) -> Result<History, Complaint> {
    run.history().map_err(|refusal| {
        let message = format!("a run cannot be written as a history: {refusal}");
        Complaint::new(&file.name, message, "give sessions and keys distinct names")
    })
}

/// A schedule that is only the beginning of a run, or a run that the level does not allow, shows nothing about the program.
fn refuse_no_run(
    file: &ProgramFile,
    run: &Run<'_, SqlProgram>,
    level: IsolationLevel,
    schedule: &Subtree,
) -> Result<(), Complaint> {
    let whole = run.subtree().to_string();
    Err(no_run(
        file,
        match run.answer(Budget::steps(STEPS)) {
            _ if whole != schedule.to_string() => format!("this is no whole run; one that begins so is `{whole}`"),
            Answer::Fails => format!("{level} does not allow this run"),
            Answer::Unknown => format!("it is not known whether {level} allows this run"),
            Answer::Holds => return Ok(()),
        },
    ))
}

fn no_run(file: &ProgramFile, message: String) -> Complaint {
    Complaint::new(&file.name, message, "copy the schedule and its --level from a report")
}

/// Why an assertion is not asked.
pub(super) fn unasked(file: &ProgramFile, missing: &BTreeSet<Place>) -> String {
    format!(": it speaks of {}, left out", names(&file.program, missing).join(", "))
}

/// An assertion fails because of an error.
pub(super) fn cannot(error: &str, indentation: usize) -> String {
    format!("\n{:indentation$}because it cannot be evaluated: {}", "", words::clean(error))
}

/// A run in words where it is not what it is compared with, else as it is.
pub(super) fn told_run(history: &History, found: Option<&Counterexample>, palette: Palette) -> String {
    match found {
        Some(found) => human::counterexample(Picture::from(found), palette),
        None => notation::write(history).lines().map(|line| format!("  {line}\n")).collect(),
    }
}
