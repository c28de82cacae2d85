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

use super::pilot::Pilot;
use super::shown::told_run;
use super::{Arguments, STEPS};
use crate::clock;
use crate::command::anomalies::counted;
use crate::command::serve::run::{self, Ended};
use crate::command::serve::{database, read_text};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use skew_check::Budget;
use skew_explore::{Answer, ExploreError, Path, Remote, RemoteRun, RemoteSearch};
use skew_history::{History, IsolationLevel};
use skew_mockdb::chooser::Latest;
use skew_mockdb::wire::{Schedule, WireServer, WireSettings};
use skew_mockdb::{Database, Store};
use skew_sql::Catalog;
use skew_view::{Palette, words};
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Why there is no other run.
enum Trouble {
    Complaint(Complaint),
    Exploration(ExploreError),
    Interrupted,
}

impl From<ExploreError> for Trouble {
    fn from(error: ExploreError) -> Trouble {
        Trouble::Exploration(error)
    }
}

impl From<Complaint> for Trouble {
    fn from(complaint: Complaint) -> Trouble {
        Trouble::Complaint(complaint)
    }
}

/// The command, at one level.
struct Application<'a> {
    arguments: &'a Arguments,
    initial: Option<&'a (String, String)>,
    level: IsolationLevel,
    /// The sessions that were there before the first transaction of the first run.
    awaited: Option<Vec<String>>,
    /// Runs in which a session was waited for in vain.
    late: u64,
}

/// What a run of the command left.
struct Left {
    /// How it failed, if it did.
    failure: Option<String>,
    output: String,
}

impl Application<'_> {
    fn database(&self, pilot: &Pilot) -> Result<Database, Complaint> {
        let mut options = skew_mockdb::Options::new(self.level, 0);
        options.updates = self.arguments.updates.into();
        let store = Store::new(options, Box::new(Latest));
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        database.obeys_levels = false;
        database.store.prepare_steering(Box::new(pilot.clone()));
        if let Some((file, text)) = self.initial {
            database::load(&mut database, file, text)?;
            let begun = database.store.begin_steering();
            begun.map_err(|error| Complaint::new(file, error.message.to_string(), ""))?;
        }
        Ok(database)
    }
}

impl Remote for Application<'_> {
    type Ended = Left;
    type Error = Trouble;

    fn run(&mut self, path: Path) -> Result<(Path, Left), Trouble> {
        let pilot = Pilot::new(path, self.awaited.clone());
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let schedule = Schedule::Steered { patience: self.arguments.stall };
        let settings = WireSettings { address, password: None, schedule, delay: None };
        let server = WireServer::bind(self.database(&pilot)?, settings).and_then(WireServer::start);
        let server =
            server.map_err(|error| Complaint::new("skew explore", format!("cannot listen: {error}"), "try again"))?;
        let output = run::scratch_file()?;
        let family = run::spawn(&self.arguments.command, server.address(), None, Some(&output))?;
        let ended = run::ended_of(family.wait(None, || pilot.is_stopped() || clock::is_stopped()));
        let summary = server.stop();
        let failure = match ended {
            Ended::Interrupted => return Err(Trouble::Interrupted),
            Ended::GivenUp if !pilot.is_stopped() => return Err(Trouble::Interrupted),
            Ended::Badly(how) => Some(how),
            Ended::Well | Ended::GivenUp => summary.recording_failure,
        };
        let mut cockpit = pilot.cockpit();
        self.awaited = cockpit.awaited.take();
        self.late += u64::from(cockpit.late);
        let path = cockpit.path.take().ok_or(Trouble::Interrupted)?;
        Ok((path, Left { failure, output: run::read_end(output)? }))
    }
}

/// What was found at one level.
#[derive(Default)]
struct Found {
    runs: u64,
    explored: u64,
    /// Runs that could not be made, or whose level is not known: not everything was seen.
    skipped: u64,
    unknown: u64,
    late: u64,
    failed: u64,
    unfinished: bool,
    first: Option<(String, String, Option<History>)>,
}

impl Found {
    fn is_open(&self) -> bool {
        self.unfinished || self.skipped + self.unknown + self.late > 0
    }

    fn count(&mut self, search: &RemoteSearch, run: RemoteRun<Left>) {
        let (answer, history) = search.look(&run, |it| (it.answer(Budget::steps(STEPS)), it.history().ok()));
        match answer {
            _ if !run.complete => return,
            Answer::Fails => return,
            Answer::Unknown => self.unknown += 1,
            Answer::Holds => self.runs += 1,
        }
        if let Some(how) = run.ended.failure.filter(|_| answer == Answer::Holds) {
            self.failed += 1;
            self.first.get_or_insert((how, run.ended.output, history));
        }
    }
}

impl Arguments {
    pub(super) fn explore_command(&self, console: &mut Console) -> Result<Exit, Complaint> {
        let read = |path: &std::path::PathBuf| Ok((path.to_string_lossy().into_owned(), read_text(path)?));
        let initial = self.init.as_ref().map(read).transpose()?;
        if let Some(limit) = self.timeout {
            clock::stop_after(limit);
        }
        clock::something_to_keep();
        let mut exit = Exit::Holds;
        let name = words::clean(&self.command.join(" "));
        console.say(&format!("{}{name}{}\n", console.palette.heading, console.palette.end));
        for &level in self.levels() {
            let application = Application { arguments: self, initial: initial.as_ref(), level, awaited: None, late: 0 };
            let found = self.explore_at(application, console)?;
            exit.combine(match (found.failed > 0, found.is_open()) {
                (true, _) => Exit::Found,
                (false, true) => Exit::Inconclusive,
                (false, false) => Exit::Holds,
            });
            console.say(&self.told_command(level, &found, console.palette));
        }
        Ok(exit)
    }

    fn explore_at(&self, mut application: Application<'_>, console: &mut Console) -> Result<Found, Complaint> {
        let mut search = RemoteSearch::new(self.options(application.level));
        let mut found = Found::default();
        loop {
            if clock::is_stopped() || found.explored >= self.budget || self.stop_at_first && found.failed > 0 {
                found.unfinished = search.waiting() > 0;
                break;
            }
            match search.next_run(&mut application) {
                Ok(None) => break,
                Ok(Some(run)) => found.count(&search, run),
                Err(Trouble::Interrupted) => {
                    found.unfinished = true;
                    break;
                }
                Err(Trouble::Complaint(complaint)) => return Err(complaint),
                Err(Trouble::Exploration(error)) => {
                    return Err(Complaint::new(&self.command.join(" "), error.to_string(), ""));
                }
            }
            found.explored = search.progress().explored;
            if console.shows_progress() {
                let (runs, waiting) = (found.explored, search.waiting());
                console.progress(&format!("{runs} runs, {} failed, {waiting} known to wait", found.failed));
            }
        }
        console.progress("");
        found.skipped = search.skipped();
        found.late = application.late;
        Ok(found)
    }

    fn told_command(&self, level: IsolationLevel, found: &Found, palette: Palette) -> String {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let mut text = format!("  {level}  {}", counted(found.runs, "run"));
        if found.explored != found.runs {
            let _ = write!(text, " of {} explored", found.explored);
        }
        let _ = match found.failed {
            0 if found.is_open() => writeln!(text, "\n    {doubtful}open{end}   fails in none that was seen"),
            0 => writeln!(text, "\n    {good}passes{end} in every run"),
            failed => writeln!(text, "\n    {bad}fails{end}  in {}", counted(failed, "run")),
        };
        if found.skipped > 0 {
            let _ = writeln!(
                text,
                "    {} given up: the application imposes another order on its transactions",
                counted(found.skipped, "run")
            );
        }
        if found.late > 0 {
            let runs = counted(found.late, "run");
            let _ = writeln!(
                text,
                "    in {runs} a session was silent while others waited: not every order may have been seen"
            );
        }
        if found.unknown > 0 {
            let _ = writeln!(text, "    {} not decided", counted(found.unknown, "run"));
        }
        if found.unfinished {
            text.push_str("    interrupted: not everything was seen\n");
        }
        let Some((how, output, history)) = &found.first else { return text };
        let _ = writeln!(text, "    the first: {how}");
        output.lines().for_each(|line| {
            let _ = writeln!(text, "      {}", words::clean(line));
        });
        if let Some(history) = history {
            let _ = write!(text, "\n{}", told_run(history, self.explained(history).as_ref(), palette));
        }
        text
    }
}
