//! One run of a command: a fresh database that follows a path, and the command that is told where it is.

use super::Application;
use super::pilot::Pilot;
use super::roster::Roster;
use crate::Complaint;
use crate::command::{self, CommandEnd};
use crate::explored::steered::{listen, steered};
use crate::served::database::load;
use skew_explore::{ExploreError, Path, Remote};
use skew_history::IsolationLevel;
use skew_mockdb::Database;
use skew_mockdb::wire::{Attendance, Schedule, WireActivity};
use skew_sql::Catalog;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After so many times its patience without a transaction or a connection a command hangs.
const QUIET: u32 = 30;

/// Why there is no other run.
pub(super) enum NoOtherRun {
    Complaint(Complaint),
    Exploration(ExploreError),
    Interrupted,
}

impl From<ExploreError> for NoOtherRun {
    fn from(error: ExploreError) -> NoOtherRun {
        NoOtherRun::Exploration(error)
    }
}

impl From<Complaint> for NoOtherRun {
    fn from(complaint: Complaint) -> NoOtherRun {
        NoOtherRun::Complaint(complaint)
    }
}

/// The command, at one level.
pub(super) struct AtLevel<'a> {
    pub(super) application: &'a Application<'a>,
    pub(super) level: IsolationLevel,
    pub(super) roster: Roster,
    /// Whether the command's output goes to where ours goes.
    pub(super) shows_output: bool,
    /// Who was there in the last run.
    pub(super) seen: Attendance,
}

/// What a run of the command left.
pub(super) struct CommandRun {
    /// How it failed, if it did.
    pub(super) failure: Option<String>,
    pub(super) output: String,
    pub(super) attendance: Attendance,
}

impl AtLevel<'_> {
    fn database(&self, pilot: &Pilot) -> Result<Database, Complaint> {
        let Application { initial, clock, terms, .. } = self.application;
        let mut database = steered(terms, self.level, clock.0, Arc::new(Catalog::default()), pilot.clone());
        if let Some((file, text)) = initial {
            load(&mut database, file, text)?;
            let begun = database.store.begin_steering();
            begun.map_err(|error| Complaint::new(file, error.message.to_string(), ""))?;
        }
        Ok(database)
    }
}

impl Remote for AtLevel<'_> {
    type Ended = CommandRun;
    type Error = NoOtherRun;

    fn run(&mut self, path: Path) -> Result<(Path, CommandRun), NoOtherRun> {
        let Application { line, stall, terms, .. } = self.application;
        let pilot = Pilot::new(path);
        let roll = Arc::new(self.roster.roll.clone());
        let server = listen(self.database(&pilot)?, Schedule::Steered { patience: *stall, roll })?;
        let output = if self.shows_output { None } else { Some(command::scratch_file()?) };
        let family = command::spawn(*line, server.address(), output.as_ref(), terms.stop)?;
        let quiet = Quiet::new(stall.saturating_mul(QUIET));
        let is_over = || {
            if quiet.is_too_long(server.activity()) {
                pilot.give_up();
            }
            pilot.is_stopped() || terms.stop.is_stopped()
        };
        let ended = command::ended_of(family.wait(None, is_over));
        let summary = server.stop();
        self.seen = summary.attendance.clone();
        let failure = match ended {
            CommandEnd::Interrupted => return Err(NoOtherRun::Interrupted),
            CommandEnd::GivenUp if !pilot.is_stopped() => return Err(NoOtherRun::Interrupted),
            CommandEnd::Badly(how) => Some(how),
            CommandEnd::Well | CommandEnd::GivenUp => summary.recording_failure,
        };
        let path = pilot.land().ok_or(NoOtherRun::Interrupted)?;
        let output = output.map(command::read_end).transpose()?.unwrap_or_default();
        Ok((path, CommandRun { failure, output, attendance: summary.attendance }))
    }
}

/// How long a command asks its database for nothing.
struct Quiet {
    limit: Duration,
    since: Cell<Instant>,
    last: Cell<Option<WireActivity>>,
}

impl Quiet {
    fn new(limit: Duration) -> Quiet {
        Quiet { limit, since: Cell::new(Instant::now()), last: Cell::new(None) }
    }

    /// Whether nothing has changed for longer than the limit; while a statement is at work, something does.
    fn is_too_long(&self, now: Option<WireActivity>) -> bool {
        if now.is_none() || now != self.last.get() {
            self.last.set(now);
            self.since.set(Instant::now());
        }
        self.since.get().elapsed() > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_asks_for_nothing_is_quiet() {
        let quiet = Quiet::new(Duration::ZERO);
        let counts = skew_mockdb::Counts::default();
        assert!(!Quiet::new(Duration::from_secs(3600)).is_too_long(None));
        let activity = Some(WireActivity { clients: 0, connections: 1, working: 0, counts });
        quiet.is_too_long(activity);
        std::thread::sleep(Duration::from_millis(2));
        assert!(quiet.is_too_long(activity));
    }
}
