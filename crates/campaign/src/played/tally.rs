//! What the runs of a program add up to, with what only `play` knows: refused calls, aborts, calls without an end.

use super::stage::{CallAbort, Played};
use crate::Conclusion;
use crate::judge::{Behind, Judged, Judgement};
use crate::tally::{FirstFailure, RunTally, Says};
use skew_history::IsolationLevel;
use skew_program::{Program, ProgramError};
use std::collections::BTreeMap;

/// All runs of a program together.
pub struct PlayTally {
    pub(super) sum: RunTally,
    /// How many patterns there were.
    pub(super) distinct: usize,
    /// Runs whose assertions were asked.
    pub(super) asked: u64,
    pub(super) refusals: u64,
    /// With which codes, on a server.
    pub(super) codes: BTreeMap<&'static str, u64>,
    pub(super) given_up_runs: u64,
    pub(super) given_up_calls: u64,
    pub(super) rollbacks: u64,
    pub(super) signals: BTreeMap<String, u64>,
    pub(super) errors: BTreeMap<String, (u64, ProgramError)>,
    pub(super) endless: Option<(u64, ProgramError)>,
    pub(super) last: Option<Played>,
}

impl PlayTally {
    pub(super) fn new(program: &Program, against: IsolationLevel) -> PlayTally {
        let mut sum = RunTally::new(against);
        for assertion in program.assertions() {
            sum.add_assertion(&assertion.name);
        }
        PlayTally {
            sum,
            distinct: 0,
            asked: 0,
            refusals: 0,
            codes: BTreeMap::new(),
            given_up_runs: 0,
            given_up_calls: 0,
            rollbacks: 0,
            signals: BTreeMap::new(),
            errors: BTreeMap::new(),
            endless: None,
            last: None,
        }
    }

    /// Counts a run; where nothing was said its assertions were not asked.
    pub(super) fn count(&mut self, played: Played, judged: &Judged, says: Option<Vec<Says>>, behind: Option<Behind>) {
        self.sum.judge(played.seed, judged);
        // A run is open when either question is.
        if matches!(judged.own_level, Judgement::Unknown(_)) && !matches!(judged.against, Judgement::Unknown(_)) {
            self.sum.leave_open();
        }
        let told = behind.as_ref().map(|behind| behind.in_words(self.sum.anomalies().against()));
        let found = judged.found().cloned().or_else(|| behind.and_then(Behind::found));
        self.asked += u64::from(says.is_some());
        for (place, says) in says.iter().flatten().enumerate() {
            let (seed, found, behind) = (played.seed, found.clone(), told.clone());
            self.sum.ask(place, says, |detail| FirstFailure { seed, detail, found, behind });
        }
        self.count_calls(&played);
        self.last = Some(played);
    }

    fn count_calls(&mut self, played: &Played) {
        self.refusals += played.refusals;
        for (code, count) in &played.codes {
            *self.codes.entry(code).or_default() += count;
        }
        self.given_up_runs += u64::from(played.given_up > 0);
        self.given_up_calls += played.given_up;
        for abort in &played.aborts {
            match abort {
                CallAbort::Rollback => self.rollbacks += 1,
                CallAbort::Signal(message) => *self.signals.entry(message.clone()).or_default() += 1,
                CallAbort::Error(error) => {
                    self.errors.entry(error.message.clone()).or_insert_with(|| (0, error.clone())).0 += 1;
                }
            }
        }
        if let (None, Some(error)) = (&self.endless, &played.endless) {
            self.endless = Some((played.seed, error.clone()));
        }
    }

    /// Whether any run came to its end.
    pub fn has_runs(&self) -> bool {
        self.sum.runs() > 0
    }

    /// Whether something failed that the conclusion tells of.
    pub(super) fn has_failed(&self, against_was_asked: bool) -> bool {
        self.sum.has_failures() || (against_was_asked && !self.sum.anomalies().is_empty())
    }

    /// What all this says; `is_stopped` if there were to be more runs.
    pub fn conclusion(&self, against_was_asked: bool, is_stopped: bool) -> Conclusion {
        let assertions = self.sum.assertions();
        let open = self.sum.anomalies().undecided > 0
            || self.endless.is_some()
            || assertions.iter().any(|assertion| assertion.open > 0)
            || (self.asked == 0 && !assertions.is_empty())
            || is_stopped;
        Conclusion::judged(self.has_failed(against_was_asked), open)
    }
}
