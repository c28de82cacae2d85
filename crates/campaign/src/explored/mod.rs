//! Explorations of many runs: of a program on several threads, of a command run by run, and what is said about them.
//!
//! ```text
//!   ExploredProgram ──> per level: workers (threads on subtrees) ──> LevelTally ──> tell: text or JSON
//!                           │                                            │
//!                           └── Unfinished: what is left                 └── minimal: the fewest calls that still fail
//!                                                                            └── shown: the smallest run of those, explained
//!   Application     ──> per level: a path, a steered database, the command ──> CommandTally ──> tell
//! ```
//!
//! The report is the same for every number of threads, whether the exploration went through in one go, was interrupted and taken up again,
//! or was split over machines. Which files these are, and where a report goes, is for the caller to say.
//!
//! | module | what it knows |
//! |---|---|
//! | `left_out` | calls by their names |
//! | `workers`, `baseline` | the threads of an exploration; every order, for comparison |
//! | `tally`, `unfinished` | what is counted at a level; an exploration that is not over, as text |
//! | `minimal`, `shown` | the fewest calls that fail, and the run that shows it |
//! | `typing` | at levels of engines: the same as people type it, and on real servers |
//! | `again`, `wire`, `client` | one run once more, by the explorer or over PostgreSQL's protocol |
//! | `steered` | databases that follow a run |
//! | `application`, `walked` | commands at the papers' levels, read by read; on a server, request by request |
//! | `tell` | the report |

mod again;
pub mod application;
mod baseline;
mod client;
mod left_out;
mod minimal;
mod shown;
mod steered;
mod tally;
mod tell;
mod typing;
mod unfinished;
pub mod walked;
mod wire;
mod workers;

pub use again::Again;
pub use left_out::CallName;
pub use shown::{Exhibit, ReplayOf, Shown};
pub use steered::Following;
pub use unfinished::Unfinished;
pub use workers::{Algorithm, Pace};

use crate::judge::{self, Judgement};
use crate::{Complaint, Moment, ProgramFile, StopFlags};
use skew_check::{Budget, Counterexample, Updates, Verdict};
use skew_explore::{Base, Explorable, ExploreError, Options, Place, Progress, Run, RunAnswer, SqlOptions, SqlProgram};
use skew_history::{History, IsolationLevel, notation};
use skew_program::Program;
use skew_sql::Granularity;
use skew_view::{Palette, Picture, human};
use std::collections::BTreeSet;

/// So many steps the checker may take for one question about one run.
const STEPS: u64 = 1_000_000;

/// How runs are explored, and what every one of them is asked.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// What the search itself keeps to; nothing is the strongest base that each level allows.
    pub base: Option<Base>,
    /// Whether updates lock.
    pub updates: Updates,
    /// What is one key.
    pub granularity: Granularity,
    /// The level that all runs are compared with.
    pub against: IsolationLevel,
    /// Whether a run that is not of that level is a failure.
    pub fails_against: bool,
    /// Whether all histories are listed.
    pub list: bool,
    /// Raised when the exploration has to end.
    pub stop: StopFlags<'a>,
}

/// A program that is explored.
pub struct ExploredProgram<'a> {
    /// The program.
    pub file: &'a ProgramFile,
    /// When its time begins.
    pub clock: Moment,
    /// So many steps a call may take.
    pub most_steps: u64,
    /// The calls that do not run.
    pub left_out: BTreeSet<Place>,
    /// How it is explored.
    pub terms: Terms<'a>,
}

impl Terms<'_> {
    /// For one question about one run, which somebody may end early.
    fn budget(&self) -> Budget<'_> {
        Budget { stop: Some(self.stop.stop), ..Budget::steps(STEPS) }
    }

    fn options(&self, level: IsolationLevel) -> Options {
        Options { base: self.base, ..Options::new(level) }
    }

    /// Why a run is not what runs are compared with; where only transactions that were rolled back saw what it forbids, what they saw.
    fn explained(&self, history: &History) -> Option<Counterexample> {
        match judge::compare(history, self.against, Budget::steps(STEPS)) {
            (Judgement::Fails(found), _) | (_, Some(found)) => Some(*found),
            (Judgement::Holds | Judgement::Unknown(_), None) => None,
        }
    }

    /// What the search kept to at a level, in the words of its argument.
    fn base_name(&self, level: IsolationLevel) -> &'static str {
        if level.of_engine().is_some() {
            return level.name();
        }
        match self.options(level).search_base() {
            Base::Any => "none",
            Base::ReadCommitted => "read-committed",
            Base::ReadAtomic => "read-atomic",
            Base::Causal => "causal",
        }
    }

    fn updates_name(&self) -> &'static str {
        match self.updates {
            Updates::Atomic => "atomic",
            Updates::Plain => "plain",
        }
    }

    fn granularity_name(&self) -> &'static str {
        match self.granularity {
            Granularity::Row => "row",
            Granularity::Cell => "cell",
        }
    }
}

impl ExploredProgram<'_> {
    fn program(&self) -> &Program {
        &self.file.program
    }

    fn complain(&self, message: String, advice: &str) -> Complaint {
        Complaint::new(&self.file.name, message, advice)
    }

    /// The program cannot be explored.
    fn trouble(&self, error: &ExploreError) -> Complaint {
        self.complain(error.to_string(), "")
    }

    /// The program as the explorer knows it, without some of its calls.
    fn explorable(&self, left_out: BTreeSet<Place>) -> SqlProgram {
        SqlProgram::new(self.program().clone(), self.sql_options()).without(left_out)
    }

    fn sql_options(&self) -> SqlOptions {
        let Terms { updates, granularity, .. } = self.terms;
        SqlOptions { updates, granularity, most_steps: self.most_steps }
    }
}

/// Whether the transactions of a run that committed are what a level allows.
pub(crate) fn compared<P: Explorable + ?Sized>(
    run: &Run<'_, P>,
    level: IsolationLevel,
    budget: Budget<'_>,
) -> RunAnswer {
    let whole = run.answer_at(level, budget);
    let has_aborted = || run.order().len() > run.size().0;
    // Fewer transactions are never harder to allow.
    if whole == RunAnswer::Holds || !has_aborted() {
        return whole;
    }
    let part = run.history().ok().and_then(|history| judge::of_committed(&history));
    match part.map(|part| skew_check::check(&part, level, budget)) {
        None => whole,
        Some(Verdict::Holds(_)) => RunAnswer::Holds,
        Some(Verdict::Fails(_)) => RunAnswer::Fails,
        Some(Verdict::Unknown(_)) => RunAnswer::Unknown,
    }
}

/// A run in words where it is not what it is compared with, else as it is.
fn told_run(history: &History, found: Option<&Counterexample>, palette: Palette) -> String {
    match found {
        Some(found) => human::counterexample(Picture::from(found), palette),
        None => notation::write(history).lines().map(|line| format!("  {line}\n")).collect(),
    }
}

/// How many histories there may be in all, as far as that can be told.
fn told_estimate(progress: Progress) -> String {
    progress.estimate().map_or(String::new(), |all| format!(" of about {all:.0}"))
}

/// `1 history`, `3 histories`.
fn histories_of(count: u64) -> String {
    if count == 1 { "1 history".to_owned() } else { format!("{count} histories") }
}
