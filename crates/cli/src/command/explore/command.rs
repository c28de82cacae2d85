//! A command: an unmodified application, run by run.

use super::super::program::Format;
use super::Arguments;
use crate::command::serve;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_campaign::command::CommandLine;
use skew_campaign::explored::application::Application;
use skew_explore::NoRemoteSchedule;
use skew_view::words;
use std::io::{self, IsTerminal};

impl Arguments {
    pub(super) fn explore_command(&self, console: &mut Console) -> Result<Exit, Complaint> {
        self.refuse_for_commands()?;
        let initial = serve::initial(self.init.as_deref())?;
        self.begin();
        let application = Application {
            line: CommandLine { words: &self.command, password: None, has_terminal: io::stdin().is_terminal() },
            initial: initial.as_ref(),
            clock: self.clock,
            stall: self.stall,
            terms: self.terms(),
        };
        if let Some(line) = &self.replay {
            return self.run_again(&application, line, console);
        }
        let replay = |level: &str, without: &[String], schedule: &str| self.replay_line(level, without, schedule);
        let outcome = application.explore(self.levels(), self.pace(), &replay, &mut |line| console.progress(line));
        console.progress("");
        let mut levels = outcome?;
        self.make_folder()?;
        self.keep(levels.iter_mut().filter_map(|level| level.exhibit.as_mut()), &application.found_in())?;
        match self.format {
            Format::Human => console.say(&application.human(&levels, console.palette)),
            Format::Json => console.result(&format!("{}\n", application.json(&levels))),
        }
        Ok(application.conclusion(&levels).into())
    }

    /// What a run of a command is, is known from the runs before it: there is one at a time.
    fn refuse_for_commands(&self) -> Result<(), Complaint> {
        if self.jobs > 1 {
            let message = "--jobs is for programs: a command runs once at a time, because each run is found by the runs before it";
            return Err(Complaint::new("skew explore", message.to_owned(), "leave it out, or explore a program file"));
        }
        Ok(())
    }

    /// `--replay`: one run, with all that the command prints.
    fn run_again(&self, application: &Application<'_>, line: &str, console: &mut Console) -> Result<Exit, Complaint> {
        let level = self.level_of_replay(&words::clean(&self.command.join(" ")), "makes")?;
        let schedule =
            line.parse().map_err(|error: NoRemoteSchedule| Complaint::new("--replay", error.to_string(), ""))?;
        let again = application.again(level, schedule, console.palette)?;
        console.say(&again.text);
        Ok(again.conclusion.into())
    }
}
