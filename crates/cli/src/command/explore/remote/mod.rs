//! `skew explore -- command`: an unmodified application, run again and again, each time another run that the level allows.
//!
//! ```text
//!   RemoteSearch ── a path ──> Application: a fresh database that follows the path ── the command ── exit code
//!        ▲                                                                                              │
//!        └──────────────── what branches off, the history ─────────────────────────────────────────────┘
//! ```
//!
//! A run fails when the command does. What the command does may depend only on what it reads; one that asks for something else than in
//! another run with the same answers is reported, and nothing can be said about it.
//!
//! One command at a time: what a later run is, is known from the runs before it.

mod application;
mod found;
mod pilot;
mod tell;

use super::shown::{compared, told_run};
use super::workers::told_estimate;
use super::{Arguments, Format};
use crate::clock;
use crate::command::serve::database::{self, Initial};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use application::{Application, Roster, Trouble};
use found::Found;
use skew_campaign::Conclusion;
use skew_explore::{Answer, ExploreError, NoRemoteSchedule, RemoteSchedule, RemoteSearch};
use skew_history::IsolationLevel;
use skew_mockdb::wire::Attendance;
use skew_view::words;

impl Arguments {
    pub(super) fn explore_command(&self, console: &mut Console) -> Result<Exit, Complaint> {
        let initial = database::initial(self.init.as_deref())?;
        if let Some(limit) = self.timeout {
            clock::stop_after(limit);
        }
        clock::something_to_keep();
        if let Some(line) = &self.replay {
            return self.run_again(line, &initial, console);
        }
        let mut levels = Vec::with_capacity(self.levels().len());
        let mut roster = Roster::default();
        for &level in self.levels() {
            let mut application = self.application(&initial, level);
            application.roster = roster;
            let (mut found, complaint) = self.explore_at(&mut application, console);
            roster = application.roster;
            let Some(complaint) = complaint else {
                levels.push((level, found));
                continue;
            };
            // What was found is found, whatever came after it.
            found.unfinished = true;
            found.doubt(complaint.message.clone());
            levels.push((level, found));
            if self.exit_of(&levels) != Exit::Found {
                return Err(complaint);
            }
            break;
        }
        let shown = self.keep_shown(&levels, &initial)?;
        match self.format {
            Format::Human => console.say(&self.human_command(&levels, &shown, console.palette)),
            Format::Json => console.result(&format!("{}\n", self.json_command(&levels, &shown))),
        }
        Ok(self.exit_of(&levels))
    }

    fn application<'a>(&'a self, initial: &'a Initial, level: IsolationLevel) -> Application<'a> {
        let initial = initial.as_ref();
        Application {
            arguments: self,
            initial,
            level,
            roster: Roster::default(),
            shows_output: false,
            seen: Attendance::default(),
        }
    }

    fn exit_of(&self, levels: &[(IsolationLevel, Found)]) -> Exit {
        let failed = |found: &Found| found.failed() > 0 || self.against.is_some() && found.violating > 0;
        Conclusion::judged(levels.iter().any(|it| failed(&it.1)), levels.iter().any(|it| it.1.is_open())).into()
    }

    /// The complaint about a run that could not be made; nothing if somebody interrupted it.
    fn command_trouble(&self, trouble: Trouble) -> Option<Complaint> {
        match trouble {
            Trouble::Complaint(complaint) => Some(complaint),
            Trouble::Interrupted => None,
            Trouble::Exploration(error) => {
                let advice = match error {
                    ExploreError::NotDeterministic { .. } | ExploreError::Missing { .. } => {
                        "give every session an application_name of its own, and no chance, clock or other session a say in what it does"
                    }
                    _ => "",
                };
                Some(Complaint::new(&words::clean(&self.command.join(" ")), error.to_string(), advice))
            }
        }
    }

    /// What was found, and why it could not go on, if so.
    fn explore_at(&self, application: &mut Application<'_>, console: &mut Console) -> (Found, Option<Complaint>) {
        let options = self.options(application.level);
        let mut search = RemoteSearch::new(options);
        let (mut found, mut is_first, mut complaint) = (Found::default(), true, None);
        loop {
            let enough = found.explored >= self.budget || self.stop_at_first && found.failed() > 0;
            if clock::is_stopped() || enough {
                found.unfinished = search.waiting() > 0;
                break;
            }
            let run = match search.next_run(application) {
                Ok(None) => break,
                Ok(Some(run)) => run,
                Err(trouble) => {
                    found.unfinished = true;
                    let refused = matches!(trouble, Trouble::Exploration(_)) && application.seen.refused.is_some();
                    found.note_attendance(&application.seen);
                    complaint = self.command_trouble(trouble).filter(|_| !refused);
                    break;
                }
            };
            if is_first && application.roster.learn(&run.ended.attendance, run.disorder.as_ref()) {
                search = RemoteSearch::new(options);
                continue;
            }
            is_first = false;
            if let Some(name) = application.roster.stranger(&run.ended.attendance) {
                found.doubt(format!("session {name} was not there in the first run, and may have come too late"));
            }
            found.count(&search, run, self.against(), self.list);
            if console.shows_progress() {
                let all = told_estimate(search.progress());
                console.progress(&format!(
                    "{}: {} histories{all}, {} failed",
                    options.level,
                    found.explored,
                    found.failed()
                ));
            }
        }
        console.progress("");
        if search.skipped() > 0 {
            let why = "given up: the application imposes another order on its transactions, or hangs".to_owned();
            found.open.insert(why, search.skipped());
        }
        found.doubt_the_lonely();
        (found, complaint)
    }

    /// `--replay`: one run, with all that the command prints.
    fn run_again(&self, line: &str, initial: &Initial, console: &mut Console) -> Result<Exit, Complaint> {
        let name = words::clean(&self.command.join(" "));
        let [level] = self.level[..] else {
            let message = "--replay makes one run at one level".to_owned();
            return Err(Complaint::new(&name, message, "give the --level of the report"));
        };
        let schedule: RemoteSchedule =
            line.parse().map_err(|error: NoRemoteSchedule| Complaint::new("--replay", error.to_string(), ""))?;
        let mut application = self.application(initial, level);
        application.shows_output = true;
        let search = RemoteSearch::again(self.options(level), schedule);
        let mut search = search.map_err(|error| Complaint::new("--replay", error.to_string(), ""))?;
        let run = match search.next_run(&mut application) {
            Ok(Some(run)) if run.complete => run,
            Ok(_) => {
                console.say("  the application does not let this run happen\n");
                return Ok(Exit::Inconclusive);
            }
            Err(trouble) => return self.command_trouble(trouble).map_or(Ok(Exit::Inconclusive), Err),
        };
        let budget = || skew_check::Budget::steps(super::STEPS);
        let (answer, compared, history) = search
            .look(&run, |run| (run.answer(budget()), compared(run, self.against(), budget()), run.history().ok()));
        let ended = run.ended.failure.clone().unwrap_or_else(|| "exit code 0".to_owned());
        let mut text = format!("  {ended}\n");
        if answer == Answer::Fails {
            text.push_str(&format!("  {level} does not allow this run\n"));
        }
        let found = history.as_ref().and_then(|history| self.explained(history));
        if let Some(history) = &history {
            text.push_str(&format!("\n{}", told_run(history, found.as_ref(), console.palette)));
        }
        console.say(&text);
        let failed = run.ended.failure.is_some() || self.against.is_some() && compared == Answer::Fails;
        Ok(Conclusion::judged(failed && answer == Answer::Holds, answer != Answer::Holds).into())
    }
}
