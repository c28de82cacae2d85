//! What the runs of a command on a server have shown.

use super::run::WalkedRun;
use crate::command::CommandEnd;
use crate::judge::{Behind, Judged, Judgement};
use skew_check::Counterexample;
use skew_explore::Interleavings;
use skew_history::History;
use skew_mockdb::wire::Overlap;
use std::collections::BTreeMap;

/// A run that shows something.
pub(super) struct KeptRun {
    /// How long it is: the shortest is shown.
    steps: usize,
    pub(super) schedule: String,
    pub(super) failure: Option<String>,
    /// What stands behind the failure where the run is what it is compared with.
    pub(super) behind: Option<String>,
    pub(super) output: String,
    pub(super) found: Option<Counterexample>,
    pub(super) history: Option<History>,
}

/// What one level has shown.
#[derive(Default)]
pub(super) struct WalkTally {
    pub(super) runs: u64,
    /// Those that were in vain: another run comes to the same.
    pub(super) redundant: u64,
    /// How many histories there were, told apart by what was read from whom.
    pub(super) histories: u64,
    pub(super) failed: u64,
    pub(super) violating: u64,
    pub(super) undecided: u64,
    failure: Option<KeptRun>,
    violation: Option<KeptRun>,
    pub(super) overlap: Overlap,
    pub(super) unsupported: BTreeMap<String, u64>,
    /// Why not everything was seen, and how often.
    pub(super) open: BTreeMap<String, u64>,
    pub(super) unfinished: bool,
}

impl WalkTally {
    /// The run that is shown.
    pub(super) fn shown(&self) -> Option<&KeptRun> {
        self.failure.as_ref().or(self.violation.as_ref())
    }

    /// Whether two transactions could overlap in any run.
    pub(super) fn could_race(&self) -> bool {
        self.overlap.could > 0
    }

    pub(super) fn is_open(&self) -> bool {
        self.unfinished || self.undecided > 0 || !self.open.is_empty() || !self.could_race()
    }

    pub(super) fn doubt(&mut self, why: &str) {
        *self.open.entry(why.to_owned()).or_default() += 1;
    }

    /// Counts a run.
    pub(super) fn count(&mut self, run: &WalkedRun, judged: &Judged, behind: Option<Behind>) {
        self.runs += 1;
        self.redundant += u64::from(run.route.is_redundant());
        self.overlap = self.overlap.and(run.contention.overlap);
        for (what, times) in &run.unsupported {
            *self.unsupported.entry(what.clone()).or_default() += times;
        }
        if matches!(judged.own_level, Judgement::Fails(_)) {
            self.doubt("a run is not what its level allows: a mistake of skew, please report it");
        }
        if run.left_behind {
            self.doubt("somebody was silent inside its transaction for longer than is waited: give a longer --stall");
        }
        match judged.against {
            Judgement::Fails(_) => self.violating += 1,
            Judgement::Unknown(_) => self.undecided += 1,
            Judgement::Holds => {}
        }
        if let CommandEnd::Badly(how) = &run.ended {
            if run.unsupported.is_empty() {
                self.failed += 1;
                keep(&mut self.failure, kept(run, judged, Some(how.clone()), behind));
            } else {
                self.doubt("it failed where something was refused that is not supported");
            }
        } else if judged.found().is_some() {
            keep(&mut self.violation, kept(run, judged, None, None));
        }
    }

    /// What the walk says of itself.
    pub(super) fn note_doubts(&mut self, all: &Interleavings) {
        for (times, why) in [
            (
                all.diverged(),
                "the application asked for something else than in another run with the same order of requests",
            ),
            (
                all.unsteady(),
                "transactions that begin alike did different things: give their sessions an application_name, or their statements a comment",
            ),
        ] {
            if times > 0 {
                self.open.insert(why.to_owned(), times);
            }
        }
    }
}

fn kept(run: &WalkedRun, judged: &Judged, failure: Option<String>, behind: Option<Behind>) -> KeptRun {
    let steps: Vec<&str> = run.route.steps().collect();
    let in_words = behind.as_ref().map(|behind| behind.in_words(skew_history::IsolationLevel::Serializable));
    KeptRun {
        steps: steps.len(),
        schedule: steps.join(" "),
        failure,
        behind: in_words,
        output: run.output.clone(),
        found: judged.found().cloned().or_else(|| behind.and_then(Behind::found)),
        history: run.read().ok(),
    }
}

/// Keeps the shorter one.
fn keep(best: &mut Option<KeptRun>, run: KeptRun) {
    if best.as_ref().is_none_or(|best| run.steps < best.steps) {
        *best = Some(run);
    }
}
