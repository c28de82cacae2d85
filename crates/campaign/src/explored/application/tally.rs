//! What the runs of a command have shown at one level.
//!
//! A history may have left several states; then each gets a run of the command, and the history is counted once. Of the runs that fail the
//! smallest is kept, as for programs: fewest transactions that committed, then fewest events.

use super::run::CommandRun;
use crate::counted;
use crate::explored::{STEPS, Terms, compared};
use skew_check::Budget;
use skew_explore::{RemoteRun, RemoteSchedule, RemoteSearch, RunAnswer};
use skew_history::History;
use skew_mockdb::wire::Attendance;
use std::collections::{BTreeMap, BTreeSet};

/// The smallest run that shows something.
pub(super) struct KeptRun {
    size: (usize, usize, String, usize),
    pub(super) schedule: RemoteSchedule,
    /// How the command failed, if it did, and what it printed.
    pub(super) failure: Option<String>,
    pub(super) output: String,
    pub(super) history: Option<History>,
}

/// How many there are, from run to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FewestAndMost {
    pub(super) fewest: u64,
    pub(super) most: u64,
}

impl FewestAndMost {
    /// `1 transaction`, `1 to 3 transactions`.
    pub(super) fn told(self) -> String {
        match self.fewest == self.most {
            true => counted(self.most, "transaction"),
            false => format!("{} to {}", self.fewest, counted(self.most, "transaction")),
        }
    }
}

/// FewestAndMost what the sessions of one more run did.
fn add(known: &mut BTreeMap<String, FewestAndMost>, run: BTreeMap<String, u64>, is_first: bool) {
    for (name, counts) in &mut *known {
        counts.fewest = counts.fewest.min(run.get(name).copied().unwrap_or(0));
    }
    for (name, most) in run {
        let fewest = if is_first { most } else { 0 };
        let counts = known.entry(name).or_insert(FewestAndMost { fewest, most });
        counts.most = counts.most.max(most);
    }
}

/// What one level has shown.
#[derive(Default)]
pub(super) struct CommandTally {
    /// Complete histories, before any filter.
    pub(super) explored: u64,
    /// Those that the level allows.
    pub(super) histories: u64,
    /// Runs of the command in which one of these was seen, with each state that it may have left.
    pub(super) runs: u64,
    /// The patterns of the histories in which the command failed.
    failed: BTreeSet<String>,
    pub(super) failure: Option<KeptRun>,
    /// How many histories violate the level that all are compared with.
    pub(super) violating: u64,
    pub(super) violation: Option<KeptRun>,
    /// Of how many it is not known whether the level allows them, or the one that they are compared with does.
    pub(super) unknown: u64,
    pub(super) undecided: u64,
    /// Why not everything was seen, and in how many runs.
    pub(super) open: BTreeMap<String, u64>,
    /// The sessions that set up, and in how many transactions.
    pub(super) set_up: BTreeMap<String, FewestAndMost>,
    /// The sessions that took part, and with how many transactions.
    pub(super) took_part: BTreeMap<String, FewestAndMost>,
    /// Sessions that came after the end of what is explored.
    pub(super) afterwards: BTreeSet<String>,
    /// Levels that sessions asked for and did not get.
    pub(super) overruled: BTreeSet<String>,
    /// Whether the exploration ended early.
    pub(super) unfinished: bool,
    /// The patterns of all histories, where they are to be listed.
    pub(super) listed: BTreeSet<String>,
}

impl CommandTally {
    /// The run that is shown of the level.
    pub(super) fn shown(&self) -> Option<&KeptRun> {
        self.failure.as_ref().or(self.violation.as_ref())
    }

    pub(super) fn is_open(&self) -> bool {
        self.unfinished || self.unknown + self.undecided > 0 || !self.open.is_empty()
    }

    /// In how many histories the command failed.
    pub(super) fn failed(&self) -> u64 {
        self.failed.len() as u64
    }

    /// FewestAndMost a run.
    pub(super) fn count(&mut self, search: &RemoteSearch, run: RemoteRun<CommandRun>, terms: &Terms<'_>) {
        self.note_doubts(&run);
        if !run.complete {
            return;
        }
        let budget = || Budget::steps(STEPS);
        let is_new = run.final_state == 0;
        self.explored += u64::from(is_new);
        let answer = search.look(&run, |run| run.answer(budget()));
        if answer != RunAnswer::Holds {
            self.unknown += u64::from(answer == RunAnswer::Unknown);
            return;
        }
        self.histories += u64::from(is_new);
        let is_first = self.runs == 0;
        self.runs += 1;
        let (size, compared, history) =
            search.look(&run, |run| (run.size(), compared(run, terms.against, budget()), run.history().ok()));
        add(&mut self.set_up, run.ended.attendance.set_up.clone(), is_first);
        add(&mut self.took_part, history.as_ref().map(sessions_of).unwrap_or_default(), is_first);
        if terms.list {
            self.listed.insert(size.2.clone());
        }
        let fails = run.ended.failure.is_some() && run.ended.attendance.refused.is_none();
        let schedule = search.schedule(&run);
        let CommandRun { failure, output, .. } = run.ended;
        let pattern = size.2.clone();
        let size = (size.0, size.1, size.2, run.final_state);
        let smallest = || KeptRun { size, schedule, failure, output, history };
        match compared {
            RunAnswer::Fails => self.violating += u64::from(is_new),
            RunAnswer::Unknown => self.undecided += u64::from(is_new),
            RunAnswer::Holds => {}
        }
        if fails {
            self.failed.insert(pattern);
            keep(&mut self.failure, smallest());
        } else if compared == RunAnswer::Fails {
            keep(&mut self.violation, smallest());
        }
    }

    fn note_doubts(&mut self, run: &RemoteRun<CommandRun>) {
        if let Some(name) = &run.disorder {
            self.doubt(format!("session {name} came too late for its place: not every order may have been seen"));
        }
        self.note_attendance(&run.ended.attendance);
    }

    /// What those who were there in a run leave open.
    pub(super) fn note_attendance(&mut self, seen: &Attendance) {
        self.overruled.extend(seen.overruled.iter().cloned());
        self.afterwards.extend(seen.afterwards.iter().cloned());
        if let Some(name) = &seen.silent {
            self.doubt(format!("session {name} was silent while others waited: not every order may have been seen"));
        }
        if let Some(name) = &seen.unclear {
            self.doubt(format!(
                "session {name} set up while others were connected, and may have been at work already (a pool gives the connection of the \
                 set-up to the first who works); say where the set-up ends: --init, or SELECT skew_settle() behind it"
            ));
        }
        if let Some((name, what)) = &seen.defined {
            self.doubt(format!(
                "session {name} said {what} among what is explored, and who sees that is not; set tables up before, or with --init"
            ));
        }
        if let Some((name, what)) = &seen.refused {
            self.doubt(format!("session {name} asked for what cannot be explored: {what}"));
        }
        if let Some(name) = &seen.went_on {
            self.doubt(format!("session {name} went on after the end of what is explored"));
        }
        if seen.goes_on() {
            let names: Vec<&str> = seen.afterwards.iter().map(String::as_str).collect();
            self.doubt(format!(
                "sessions {} came when all others had left, and wrote; their orders are not explored (if what came before is the \
                 set-up: --init, or SELECT skew_settle() behind it)",
                names.join(", ")
            ));
        }
    }

    /// Where fewer than two sessions took part nothing was ever at the same time, and that a command passes says nothing.
    pub(super) fn doubt_the_lonely(&mut self) {
        let who = match self.took_part.len() {
            0 => "no session took part in what is explored".to_owned(),
            1 => format!("only session {} took part", self.took_part.keys().next().map_or("", String::as_str)),
            _ => return,
        };
        if self.runs > 0 {
            let why = format!(
                "{who}, so that nothing ran beside anything else. A session is a connection, and a pool may give one to all workers, or the \
                 one of the set-up to the first of them: let every worker have a connection of its own, end the set-up with --init or \
                 SELECT skew_settle(), or use `skew serve`"
            );
            self.open.insert(why, self.runs);
        }
    }

    /// Something because of which not everything may have been seen.
    pub(super) fn doubt(&mut self, why: String) {
        *self.open.entry(why).or_default() += 1;
    }
}

/// How many transactions each session has.
fn sessions_of(history: &History) -> BTreeMap<String, u64> {
    let count = |session| history.transactions_of(session).count() as u64;
    history.sessions().map(|session| (history.session_name(session).to_string(), count(session))).collect()
}

fn keep(place: &mut Option<KeptRun>, other: KeptRun) {
    if place.as_ref().is_none_or(|known| other.size < known.size) {
        *place = Some(other);
    }
}
