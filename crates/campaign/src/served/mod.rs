//! A command on a served database, run after run, each with a seed and a database of its own: the campaign of `skew serve -- command`.
//!
//! ```text
//!   seeds ──> jobs ──> database ── server at a free port ── command ── exit code ── server stops ── history
//!                                                                                                     │
//!                                                              report <── tally, by seed <── judge <──┘
//! ```
//!
//! With `stop_at_first` the first failure is that of the smallest seed: runs of smaller seeds come to their end, those of greater ones
//! are given up and do not count.

pub mod database;
mod diagnosis;
mod listened;
mod tally;

pub(crate) use diagnosis::PAGE;
pub use diagnosis::{Diagnosis, tell_contention};
pub use listened::{ListenedRun, listen_to};
pub use tally::{ServeReport, ServeTally};

use crate::command::{self, CommandEnd, CommandLine};
use crate::judge::{Behind, Judge, Judged};
use crate::recording::Archive;
use crate::seeds::{RunProgress, Wanted, run_all};
use crate::{Complaint, StopFlags};
use database::{DatabaseSettings, listen};
use skew_history::IsolationLevel;
use skew_mockdb::wire::{Learned, RunningServer, Schedule, WireSettings, WireSummary};
use skew_mockdb::{Campaign, Overruled, Record, Tape};
use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What is run, how often, and on what.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// What every database is like.
    pub database: DatabaseSettings,
    /// How it is served.
    pub wire: WireSettings,
    /// The command, word by word.
    pub command: Vec<String>,
    /// Whether there is a terminal that the command may read from.
    pub has_terminal: bool,
    /// The seed of the first run.
    pub seed: u64,
    /// How many runs; the output of a single one goes to where ours goes.
    pub runs: u64,
    /// How many of them at a time.
    pub jobs: u64,
    /// Whether to end with the first run in which the command fails.
    pub stop_at_first: bool,
    /// A run that takes longer has failed.
    pub timeout: Option<Duration>,
    /// The level that runs are compared with.
    pub against: IsolationLevel,
    /// So many steps the checker may take for a question about a run.
    pub budget: u64,
}

/// What came of a run.
struct ServedRun {
    seed: u64,
    ended: CommandEnd,
    /// What the command printed, unless everybody saw it; the end of it.
    output: Option<String>,
    /// The history in the native format.
    history: String,
    /// Whether the file of its choices holds all of them.
    has_log: bool,
    summary: WireSummary,
}

/// A run with the verdicts on it.
struct JudgedRun {
    ran: ServedRun,
    judged: Rc<Judged>,
    /// What stands behind its failure, if it failed and is not told by the verdicts.
    behind: Option<Behind>,
}

/// What all runs have in common.
struct ServeCampaign<'a> {
    settings: &'a ServeSettings,
    archive: &'a dyn Archive,
    stop: StopFlags<'a>,
    novelty: Campaign,
    /// Levels that clients did not get are told of once, not in every run.
    overruled: Overruled,
    /// What the last run has shown of how long runs are and how long clients think.
    learned: Mutex<Learned>,
}

/// Runs the command until all is done, something cannot go on, or somebody presses Ctrl-C. What was found before that was found all the
/// same.
pub fn serve(
    settings: &ServeSettings,
    archive: &dyn Archive,
    stop: StopFlags<'_>,
    progress: &mut dyn FnMut(RunProgress),
) -> (ServeTally, Result<(), Complaint>) {
    let (novelty, overruled) = (Campaign::default(), Overruled::default());
    let campaign = ServeCampaign { settings, archive, stop, novelty, overruled, learned: Mutex::default() };
    let (mut tally, looked) = campaign.run_all(progress);
    tally.stop_recording(archive.failure().filter(|_| looked.is_ok()));
    (tally, looked)
}

impl ServeCampaign<'_> {
    fn run_all(&self, progress: &mut dyn FnMut(RunProgress)) -> (ServeTally, Result<(), Complaint>) {
        let ServeSettings { seed, runs, jobs, against, budget, .. } = *self.settings;
        let wanted = Wanted::new(runs);
        let job = |_| |number: u64| self.numbered(seed.wrapping_add(number), number, &wanted);
        let mut judge = Judge::new(IsolationLevel::Declared, against, budget, self.stop.stop);
        let mut tally = ServeTally::new(against);
        let (mut kept, mut trouble) = (BTreeMap::new(), None);
        let mut at = RunProgress { done: 0, runs, failed: 0 };
        run_all(jobs.clamp(1, runs.max(1)), &wanted, self.stop, job, |number, ran: Result<ServedRun, Complaint>| {
            match ran.and_then(|ran| judged(&mut judge, ran)) {
                Ok(JudgedRun { ran, .. }) if ran.ended == CommandEnd::Interrupted => tally.interrupted = true,
                Ok(JudgedRun { ran, .. }) if ran.ended == CommandEnd::GivenUp => {}
                Ok(judged) => {
                    at.done += 1;
                    at.failed += u64::from(judged.ran.ended != CommandEnd::Well);
                    match self.settings.stop_at_first {
                        true => drop(kept.insert(number, judged)),
                        false => tally.count(judged),
                    }
                }
                Err(complaint) => {
                    wanted.only_before(0);
                    trouble.get_or_insert(complaint);
                }
            }
            progress(at);
        });
        count_up_to_failure(kept, &mut tally);
        tally.interrupted |= self.stop.is_interrupted();
        (tally, trouble.map_or(Ok(()), Err))
    }

    /// A run by its number; after a failure later ones may not be wanted.
    fn numbered(&self, seed: u64, number: u64, wanted: &Wanted) -> Result<ServedRun, Complaint> {
        let ran = self.run(seed, || !wanted.wants(number));
        let failed = ran.as_ref().is_ok_and(|ran| matches!(ran.ended, CommandEnd::Badly(_)));
        if self.settings.stop_at_first && failed {
            wanted.only_before(number + 1);
        }
        ran
    }

    /// Runs the command once, for as long as somebody wants to know what comes of it.
    fn run(&self, seed: u64, is_given_up: impl Fn() -> bool) -> Result<ServedRun, Complaint> {
        let (history, files) = (Tape::default(), self.archive.begin(seed)?);
        let record = files.writers();
        let keeps_choices = record.choices.is_some();
        let record = Record { history: Some(Box::new(Both(history.clone(), record.history))), ..record };
        let server = self.server(seed, record)?;
        files.refuse_failed()?;
        let keeps_output = self.settings.runs != 1;
        // A command that cannot be run leaves what an earlier one has recorded.
        let started = || files.publish();
        let is_over = || is_given_up() || files.ends_run();
        let EndedRun { ended, output, summary } =
            run_on(server, self.settings, self.stop, keeps_output, started, is_over)?;
        if let Some(contention) = &summary.contention {
            let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
            // A race that one run has shown is there in all of them.
            *learned = Learned { races: learned.races || contention.learned.races, ..contention.learned };
        }
        let mut ran = ServedRun { seed, ended, output, summary, history: history.text(), has_log: false };
        ran.has_log = keeps_choices && files.failure().is_none();
        if let Some(failure) = files.failure().filter(|_| files.ends_run()) {
            let what = format!("recording stopped: {}", failure.what());
            return Err(Complaint::new(&format!("the run of seed {seed}"), what, failure.left()));
        }
        ran.output.as_ref().map_or(Ok(()), |output| self.archive.keep_output(seed, output))?;
        Ok(ran)
    }

    fn server(&self, seed: u64, record: Record) -> Result<RunningServer, Complaint> {
        let mut database = self.settings.database.fresh(seed, &self.novelty, record)?;
        database.overruled = self.overruled.clone();
        let mut wire = self.settings.wire.clone();
        if let Schedule::Adversary(adversary) = &mut wire.schedule {
            adversary.learned = *self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        }
        listen(database, wire)
    }
}

/// What came of a command on one database.
pub(crate) struct EndedRun {
    pub(crate) ended: CommandEnd,
    /// The end of what it printed, where that was kept.
    pub(crate) output: Option<String>,
    pub(crate) summary: WireSummary,
}

/// Runs the command once on a database that is there for it alone. What has to follow its start may end it, and so may whoever does not
/// want to know any more.
pub(crate) fn run_on(
    server: RunningServer,
    settings: &ServeSettings,
    stop: StopFlags<'_>,
    keeps_output: bool,
    started: impl FnOnce() -> Result<(), Complaint>,
    is_over: impl Fn() -> bool,
) -> Result<EndedRun, Complaint> {
    let ServeSettings { command, wire, has_terminal, timeout, .. } = settings;
    let line = CommandLine { words: command, password: wire.password.as_deref(), has_terminal: *has_terminal };
    let output = if keeps_output { Some(command::scratch_file()?) } else { None };
    let family = command::spawn(line, server.address(), output.as_ref(), stop)?;
    if let Err(complaint) = started() {
        let _ = family.wait(None, || true);
        return Err(complaint);
    }
    let ended = command::ended_of(family.wait(*timeout, is_over));
    let output = output.map(command::read_end).transpose()?;
    Ok(EndedRun { ended, output, summary: server.stop() })
}

/// A history that is looked at when the run is over, and a file of it that is there even when nobody comes to look.
struct Both(Tape, Option<Box<dyn Write + Send>>);

impl Write for Both {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(file) = &mut self.1 {
            file.write_all(bytes)?;
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.1.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Whether a run counts is known for sure only when those before it have ended.
fn count_up_to_failure(kept: BTreeMap<u64, JudgedRun>, tally: &mut ServeTally) {
    let failed = kept.iter().find(|(_, judged)| judged.ran.ended != CommandEnd::Well).map(|(number, _)| *number);
    let counts = |number: &u64| failed.is_none_or(|failure| *number <= failure);
    kept.into_iter().filter(|(number, _)| counts(number)).for_each(|(_, judged)| tally.count(judged));
}

/// The verdicts on a run, and no more of it than will be told.
fn judged(judge: &mut Judge<'_>, ran: ServedRun) -> Result<JudgedRun, Complaint> {
    let counts = matches!(ran.ended, CommandEnd::Well | CommandEnd::Badly(_));
    let judged = judge.judge(if counts { &ran.history } else { "" }).map_err(|what| mistake(ran.seed, what))?;
    let failed = matches!(ran.ended, CommandEnd::Badly(_));
    let behind = if failed { judge.behind(&ran.history, &judged) } else { None };
    let output = ran.output.filter(|_| ran.ended != CommandEnd::Well);
    Ok(JudgedRun { ran: ServedRun { history: String::new(), output, ..ran }, judged, behind })
}

/// What was recorded is no history: that is ours, not the user's.
pub(crate) fn mistake(seed: u64, what: String) -> Complaint {
    let advice = "this is a mistake of skew: please report it with the file that --record writes";
    Complaint::new(&format!("the run of seed {seed}"), what, advice)
}
