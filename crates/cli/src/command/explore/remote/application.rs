//! The command: one run of it, and who takes part in its runs.
//!
//! ```text
//!   first run      alice, bob take part · audit came when they were gone ── a suspect
//!   first run      everybody is held back for audit; it does not come ── cleared: it looks at the end
//!   from here on   nothing begins before alice and bob are there
//! ```
//!
//! Only the first run of a level may begin anew like this. Whoever turns up later than that is told of, and the result is open.

use super::super::Arguments;
use super::super::steered::listen;
use super::pilot::Pilot;
use crate::clock;
use crate::input::Complaint;
use skew_campaign::command::{self, CommandEnd, CommandLine};
use skew_campaign::served::database;
use skew_explore::{ExploreError, Path, Remote};
use skew_history::IsolationLevel;
use skew_mockdb::Database;
use skew_mockdb::wire::{Attendance, Roll, Schedule, WireActivity};
use skew_sql::Catalog;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After so many times `--stall` without a transaction or a connection a command hangs.
const QUIET: u32 = 30;

/// Why there is no other run.
pub(super) enum Trouble {
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
pub(super) struct Application<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) initial: Option<&'a (String, String)>,
    pub(super) level: IsolationLevel,
    pub(super) roster: Roster,
    /// Whether the command's output goes to where ours goes.
    pub(super) shows_output: bool,
    /// Who was there in the last run.
    pub(super) seen: Attendance,
}

/// What a run of the command left.
pub(super) struct Left {
    /// How it failed, if it did.
    pub(super) failure: Option<String>,
    pub(super) output: String,
    pub(super) attendance: Attendance,
}

impl Application<'_> {
    fn database(&self, pilot: &Pilot) -> Result<Database, Complaint> {
        let mut database = self.arguments.steered(self.level, Arc::new(Catalog::default()), pilot.clone());
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
        let pilot = Pilot::new(path);
        let roll = Arc::new(self.roster.roll.clone());
        let schedule = Schedule::Steered { patience: self.arguments.stall, roll };
        let server = listen(self.database(&pilot)?, schedule)?;
        let output = if self.shows_output { None } else { Some(command::scratch_file()?) };
        let has_terminal = std::io::stdin().is_terminal();
        let line = CommandLine { words: &self.arguments.command, password: None, has_terminal };
        let family = command::spawn(line, server.address(), output.as_ref(), clock::flags())?;
        let quiet = Quiet::new(self.arguments.stall.saturating_mul(QUIET));
        let is_over = || {
            if quiet.is_too_long(server.activity()) {
                pilot.give_up();
            }
            pilot.is_stopped() || clock::is_stopped()
        };
        let ended = command::ended_of(family.wait(None, is_over));
        let summary = server.stop();
        self.seen = summary.attendance.clone();
        let failure = match ended {
            CommandEnd::Interrupted => return Err(Trouble::Interrupted),
            CommandEnd::GivenUp if !pilot.is_stopped() => return Err(Trouble::Interrupted),
            CommandEnd::Badly(how) => Some(how),
            CommandEnd::Well | CommandEnd::GivenUp => summary.recording_failure,
        };
        let path = pilot.land().ok_or(Trouble::Interrupted)?;
        let output = output.map(command::read_end).transpose()?.unwrap_or_default();
        Ok((path, Left { failure, output, attendance: summary.attendance }))
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

/// Who takes part, as far as it is known from the runs so far.
#[derive(Clone, Default)]
pub(super) struct Roster {
    roll: Roll,
    /// Those that were suspects, and only look at the end, or come late in whatever run.
    cleared: BTreeSet<String>,
}

impl Roster {
    /// Learns from the first run of a level; whether there is somebody new, so that it has to be made again.
    pub(super) fn learn(&mut self, seen: &Attendance, disorder: Option<&String>) -> bool {
        let suspects = std::mem::take(&mut self.roll.suspects);
        let first = self.roll.awaited.is_none();
        let awaited = self.roll.awaited.get_or_insert_default();
        let came_early = seen.awaited.iter().filter(|name| first || suspects.contains(*name));
        awaited.extend(came_early.cloned());
        self.roll.others.extend(seen.latecomers.difference(awaited).cloned());
        let came = |name: &&String| seen.awaited.contains(*name);
        let news = suspects.iter().any(|name| came(&name) || seen.latecomers.contains(name));
        self.cleared.extend(suspects.iter().filter(|name| !came(name)).cloned());
        let strangers = seen.afterwards.iter().chain(disorder);
        self.roll.suspects = strangers.filter(|name| !self.is_known(name)).cloned().collect();
        news || !self.roll.suspects.is_empty()
    }

    fn is_known(&self, name: &str) -> bool {
        self.cleared.contains(name) || self.roll.awaited.as_ref().is_some_and(|awaited| awaited.contains(name))
    }

    /// Somebody who looked at the end in a later run, and may for all that is known have taken part.
    pub(super) fn stranger<'a>(&self, seen: &'a Attendance) -> Option<&'a String> {
        seen.afterwards.iter().find(|name| !self.is_known(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> BTreeSet<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn seen(awaited: &str, latecomers: &str, afterwards: &str) -> Attendance {
        Attendance {
            awaited: names(awaited),
            latecomers: names(latecomers),
            afterwards: names(afterwards),
            ..Attendance::default()
        }
    }

    #[test]
    fn who_looks_at_the_end_is_waited_for_once() {
        let mut roster = Roster::default();
        assert!(roster.learn(&seen("alice bob", "", "audit"), None));
        assert_eq!(roster.roll.suspects, names("audit"));
        assert!(!roster.learn(&seen("alice bob", "", "audit"), None), "it did not come");
        assert_eq!((roster.roll.awaited.clone(), roster.roll.suspects.len()), (Some(names("alice bob")), 0));
        assert!(!roster.learn(&seen("alice bob", "", "audit"), None), "at the next level nothing is new");
        assert_eq!(roster.stranger(&seen("", "", "audit")), None);
        assert_eq!(roster.stranger(&seen("", "", "audit other")), Some(&"other".to_owned()));
    }

    #[test]
    fn who_was_only_slow_takes_part() {
        let mut roster = Roster::default();
        assert!(roster.learn(&seen("alice", "", "bob"), None));
        assert!(roster.learn(&seen("alice bob", "", "audit"), None), "bob comes when it is waited for");
        assert!(!roster.learn(&seen("alice bob", "", "audit"), None));
        assert_eq!(roster.roll.awaited, Some(names("alice bob")));
    }

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

    #[test]
    fn who_comes_out_of_order_is_waited_for_once() {
        let mut roster = Roster::default();
        let late = "anna".to_owned();
        assert!(roster.learn(&seen("bob", "anna", ""), Some(&late)));
        assert_eq!(roster.roll.suspects, names("anna"));
        let again = seen("bob", "anna", "");
        assert!(roster.learn(&again, Some(&late)), "it came, but late");
        assert!(!roster.learn(&again, Some(&late)), "nothing more can be learned");
        assert!(roster.roll.has("anna") && roster.roll.suspects.is_empty());
    }
}
