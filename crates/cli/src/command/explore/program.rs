//! A program file: what is explored of it, what of that is in files, and what is reported.

use super::super::program::{self, Format, GranularityArgument, UpdatesArgument};
use super::{AlgorithmArgument, Arguments};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{Complaint, cannot};
use crate::output::{can_write, unwritable, write_whole};
use skew_campaign::ProgramFile;
use skew_campaign::confirmed::LiveServers;
use skew_campaign::explored::{Algorithm, CallName, ExploredProgram, Unfinished};
use skew_campaign::program_file::LEVELS_OF_PAPERS;
use skew_explore::NoSchedule;
use skew_history::IsolationLevel;
use std::fs;
use std::path::{Path, PathBuf};

impl Arguments {
    pub(super) fn explore_program(&self, path: &Path, console: &mut Console) -> Result<Exit, Complaint> {
        let file = program::read(path, self.clock, &self.level)?;
        file.warnings().for_each(|warning| console.note(&warning));
        self.refuse_for_programs(&file)?;
        let left_out = CallName::places(&self.without, &file)?;
        let mut servers = self.confirming.servers(&file.name, &self.levels_of(&file))?;
        let subject = ExploredProgram {
            file: &file,
            clock: self.clock,
            most_steps: self.max_steps,
            left_out,
            terms: self.terms(),
        };
        if let Some(line) = &self.replay {
            return self.show_again(&subject, line, console);
        }
        if let Some(parts) = self.split {
            return self.write_parts(&subject, parts as usize, console);
        }
        let kept_in = self.part.as_ref().or(self.resume.as_ref());
        kept_in.map_or(Ok(()), |path| can_write(path).map_err(|error| unwritable(path, &error)))?;
        self.make_folder()?;
        self.begin();
        let mut explored = self.start(&subject)?;
        if self.merge.is_empty() {
            let outcome =
                subject.explore(&mut explored, self.algorithm(), self.pace(), &mut |line| console.progress(line));
            console.progress("");
            outcome?;
        }
        let kept = kept_in.map_or(Ok(()), |path| write(&explored, path));
        let exit = self.report(&subject, &explored, servers.as_mut(), console)?;
        kept.map(|()| exit)
    }

    /// The levels that were asked for, or those of the program's engine; those of the papers with what only they have.
    fn levels_of(&self, file: &ProgramFile) -> Vec<IsolationLevel> {
        let in_parts = self.resume.is_some() || self.split.is_some() || self.part.is_some() || !self.merge.is_empty();
        let is_told_otherwise = self.updates == UpdatesArgument::Plain || self.granularity == GranularityArgument::Cell;
        let is_of_papers =
            in_parts || is_told_otherwise || self.base.is_some() || self.algorithm == AlgorithmArgument::Dfs;
        match (&self.level[..], is_of_papers) {
            ([], true) => LEVELS_OF_PAPERS.to_vec(),
            ([], false) => file.usual_levels(),
            (levels, _) => levels.to_vec(),
        }
    }

    /// Which of several threads is first would be chance.
    fn algorithm(&self) -> Algorithm {
        match self.algorithm {
            AlgorithmArgument::Swaps if self.stop_at_first || self.budget < u64::MAX => Algorithm::Swaps { jobs: 1 },
            AlgorithmArgument::Swaps => Algorithm::Swaps { jobs: self.jobs as usize },
            AlgorithmArgument::Dfs => Algorithm::EveryOrder,
        }
    }

    /// What has no meaning for a program, or not together.
    fn refuse_for_programs(&self, file: &ProgramFile) -> Result<(), Complaint> {
        let is_baseline = self.algorithm == AlgorithmArgument::Dfs;
        let in_parts = self.resume.is_some() || self.split.is_some() || self.part.is_some() || !self.merge.is_empty();
        let is_replay = self.replay.is_some();
        let of_engine = self.level.iter().any(|level| level.of_engine().is_some());
        let refusals = [
            (
                of_engine && in_parts,
                "at the level of an engine a program is explored in one go: it cannot be interrupted or split",
            ),
            (
                of_engine && is_baseline,
                "--algorithm dfs is for levels of the papers: at that of an engine every schedule is explored",
            ),
            (
                of_engine && self.base.is_some(),
                "--base is for levels of the papers: that of an engine is explored as it is",
            ),
            (self.init.is_some(), "--init is for commands: a program has its tables and rows in its file"),
            (is_baseline && in_parts, "--algorithm dfs explores in one go: it cannot be interrupted or split"),
            (is_baseline && self.jobs > 1, "--algorithm dfs explores with one thread"),
            (is_replay && self.format == Format::Json, "--replay shows a run in words, not as JSON"),
            (
                is_replay && (self.list || self.save.is_some()),
                "--replay shows one run: there is nothing to list or to keep",
            ),
        ];
        match refusals.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, message)) => Err(Complaint::new(&file.name, message.to_owned(), "leave it out")),
            None => Ok(()),
        }
    }

    /// Everything that is to be explored, or what is left of it.
    fn start(&self, subject: &ExploredProgram<'_>) -> Result<Unfinished, Complaint> {
        let nothing_done = subject.nothing_done(&self.levels_of(subject.file));
        let read = |path: &PathBuf| {
            let name = path.to_string_lossy();
            let text = fs::read_to_string(path).map_err(|error| {
                Complaint::new(&name, cannot("read", &error), "use a file that --resume or --split wrote")
            })?;
            Unfinished::read(&name, &text, &nothing_done, &self.level)
        };
        match (self.resume.as_ref().filter(|path| path.exists()), &self.part, self.merge.split_first()) {
            (Some(path), _, _) | (None, Some(path), _) => read(path),
            (None, None, Some((first, others))) => others.iter().try_fold(read(first)?, |sum, path| {
                let advice = "give each file of one --split once";
                let foreign = |message: String| Complaint::new(&path.to_string_lossy(), message, advice);
                sum.merge(read(path)?).map_err(foreign)
            }),
            (None, None, None) => Ok(nothing_done),
        }
    }

    /// Writes the files of `--split`.
    fn write_parts(
        &self,
        subject: &ExploredProgram<'_>,
        parts: usize,
        console: &mut Console,
    ) -> Result<Exit, Complaint> {
        let parts = subject.in_parts(&self.levels_of(subject.file), parts)?;
        let path = |number: usize| PathBuf::from(format!("{}.part-{number}.json", subject.file.name));
        // A part may hold days of work. None is written where one would be lost.
        if let Some(path) = (1..=parts.len()).map(path).find(|path| fs::symlink_metadata(path).is_ok()) {
            let what = "this is there already, and may hold what was explored".to_owned();
            return Err(Complaint::new(&path.to_string_lossy(), what, "remove the parts of the earlier --split first"));
        }
        for (number, part) in parts.iter().enumerate() {
            let path = path(number + 1);
            write(part, &path)?;
            console.say(&format!("{}\n", path.display()));
        }
        Ok(Exit::Holds)
    }

    fn report(
        &self,
        subject: &ExploredProgram<'_>,
        explored: &Unfinished,
        servers: Option<&mut LiveServers>,
        console: &mut Console,
    ) -> Result<Exit, Complaint> {
        let replay = |level: &str, without: &[String], schedule: &str| self.replay_line(level, without, schedule);
        let mut shown = subject.counterexamples(explored, &replay)?;
        servers.map_or(Ok(()), |servers| subject.confirm(explored, &mut shown, servers))?;
        self.keep(shown.iter_mut().map(|one| &mut one.exhibit), &subject.found_in())?;
        match self.format {
            Format::Human => console.say(&subject.human(explored, &shown, console.palette)),
            Format::Json => console.result(&format!("{}\n", subject.json(explored, &shown))),
        }
        let mut exit = Exit::from(subject.conclusion(explored));
        // What one part says is of that part; all of them are the whole.
        if !self.merge.is_empty() && explored.is_partial() {
            exit.combine(Exit::Inconclusive);
        }
        Ok(exit)
    }

    /// `--replay`: one run, what its calls handed out, which assertions fail in it.
    fn show_again(&self, subject: &ExploredProgram<'_>, line: &str, console: &mut Console) -> Result<Exit, Complaint> {
        let schedule = line.parse().map_err(|error: NoSchedule| Complaint::new("--replay", error.to_string(), ""))?;
        let level = self.level_of_replay(&subject.file.name, "shows")?;
        let again = subject.again(level, &schedule, self.wire, console.palette)?;
        console.say(&again.text);
        Ok(again.conclusion.into())
    }
}

/// Writes an exploration as a whole, so that whoever is interrupted has the old one or the new one.
fn write(explored: &Unfinished, path: &Path) -> Result<(), Complaint> {
    let complain = |error: std::io::Error| unwritable(path, &error);
    let text = explored.to_json().map_err(|error| complain(error.into()))?;
    write_whole(path, text).map_err(complain)
}
