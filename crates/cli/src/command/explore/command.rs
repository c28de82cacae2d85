//! A command: an unmodified application, run by run.

use super::super::program::Format;
use super::Arguments;
use crate::command::serve;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use serde_json::Value;
use skew_campaign::command::CommandLine;
use skew_campaign::explored::Exhibit;
use skew_campaign::explored::application::Application;
use skew_campaign::explored::walked::WalkedApplication;
use skew_explore::NoRemoteSchedule;
use skew_history::{Engine, IsolationLevel};
use skew_view::finding::FoundIn;
use skew_view::{Palette, words};
use std::io::{self, IsTerminal};

impl Arguments {
    pub(super) fn explore_command(&self, console: &mut Console) -> Result<Exit, Complaint> {
        self.refuse_for_commands()?;
        if self.is_on_server() { self.explore_on_server(console) } else { self.explore_weakly(console) }
    }

    /// Whether the command's database is a server, rather than as weak as a level of the papers.
    fn is_on_server(&self) -> bool {
        self.level.iter().all(|level| level.of_engine().is_some())
    }

    fn line(&self) -> CommandLine<'_> {
        CommandLine { words: &self.command, password: None, has_terminal: io::stdin().is_terminal() }
    }

    /// On a server: every order of requests.
    fn explore_on_server(&self, console: &mut Console) -> Result<Exit, Complaint> {
        let initial = serve::initial(self.init.as_deref())?;
        self.begin();
        let (line, clock, stall, terms) = (self.line(), self.clock, self.stall, self.terms());
        let application = WalkedApplication { line, initial, clock, stall, terms };
        if let Some(schedule) = &self.replay {
            let again = application.again(self.level.first().copied(), schedule, console.palette)?;
            console.say(&again.text);
            return Ok(again.conclusion.into());
        }
        let replay = |level: &str, without: &[String], schedule: &str| self.replay_line(level, without, schedule);
        let outcome = application.explore(&self.level, self.pace(), &replay, &mut |line| console.progress(line));
        console.progress("");
        let mut levels = outcome?;
        self.keep_all(levels.iter_mut().filter_map(|level| level.exhibit.as_mut()), &application.found_in())?;
        self.show(console, |palette| application.human(&levels, palette), || application.json(&levels));
        Ok(application.conclusion(&levels).into())
    }

    /// On a database as weak as its level allows: every history.
    fn explore_weakly(&self, console: &mut Console) -> Result<Exit, Complaint> {
        let initial = serve::initial(self.init.as_deref())?;
        self.begin();
        let application = Application {
            line: self.line(),
            initial: initial.as_ref(),
            clock: self.clock,
            stall: self.stall,
            terms: self.terms(),
        };
        if let Some(line) = &self.replay {
            return self.run_again(&application, line, console);
        }
        let replay = |level: &str, without: &[String], schedule: &str| self.replay_line(level, without, schedule);
        let outcome = application.explore(&self.level, self.pace(), &replay, &mut |line| console.progress(line));
        console.progress("");
        let mut levels = outcome?;
        self.keep_all(levels.iter_mut().filter_map(|level| level.exhibit.as_mut()), &application.found_in())?;
        self.show(console, |palette| application.human(&levels, palette), || application.json(&levels));
        Ok(application.conclusion(&levels).into())
    }

    /// Keeps what `--save` wants, in a folder that is there.
    fn keep_all<'a>(
        &self,
        exhibits: impl IntoIterator<Item = &'a mut Exhibit>,
        found_in: &FoundIn,
    ) -> Result<(), Complaint> {
        self.make_folder()?;
        self.keep(exhibits, found_in)
    }

    fn show(&self, console: &mut Console, human: impl FnOnce(Palette) -> String, json: impl FnOnce() -> Value) {
        match self.format {
            Format::Human => console.say(&human(console.palette)),
            Format::Json => console.result(&format!("{}\n", json())),
        }
    }

    /// What a run of a command is, is known from the runs before it: there is one at a time.
    fn refuse_for_commands(&self) -> Result<(), Complaint> {
        if self.jobs > 1 {
            let message = "--jobs is for programs: a command runs once at a time, because each run is found by the runs before it";
            return Err(Complaint::new("skew explore", message.to_owned(), "leave it out, or explore a program file"));
        }
        let is_of_engine = |level: &IsolationLevel| level.of_engine().is_some();
        let mysql = |level: &&IsolationLevel| level.of_engine().is_some_and(|level| level.engine() == Engine::Mysql);
        if let Some(level) = self.level.iter().find(mysql) {
            let message =
                format!("a command speaks PostgreSQL's protocol here, and {level} is not a level of PostgreSQL's");
            return Err(Complaint::new("skew explore", message, "explore a program file at that level"));
        }
        if self.level.iter().any(is_of_engine) && !self.level.iter().all(is_of_engine) {
            let message =
                "a command runs on a server or on a database as weak as a level of the papers, not on both".to_owned();
            return Err(Complaint::new("skew explore", message, "explore it twice"));
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
