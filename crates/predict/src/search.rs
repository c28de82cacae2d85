//! Candidates, one after the other, until one is a prediction or none is left.
//!
//! ```text
//!   Problem ── solve ──> candidate ──┬── the level forbids it ────────── exclude what its refutation needs ──┐
//!      ▲                             ├── an order explains it ────────── some read must disagree with it ────┤
//!      │                             └── a prediction                                                        │
//!      └─────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! At a level of an engine the checker is asked about the run as it would have been recorded, with statements and locks ([`Inquiry`]). It
//! says no more than that the level forbids it; so as many steps are left off as can be, the rest being forbidden still, and what contains
//! the rest is excluded. (Of a run that a server can show it can show every beginning: whoever ends earlier holds no lock longer and waits
//! for nobody more.)
//!
//! Every clause excludes the candidate that it comes from, and nothing that is a prediction: so the search ends, and what it does not find
//! is not there. Both questions are answered by the checker, which is exact. The paper asks both at once, with a quantifier over all orders,
//! and has to approximate where a solver gives up on that.

use crate::candidate::{CandidateHistory, CandidateRun};
use crate::fixpoint::is_cyclic;
use crate::problem::{Looked, Problem};
use crate::recording::{Act, RecordedStep, Recording};
use crate::render::told;
use crate::stops::{Boundary, Stops};
use crate::{PredictQuestion, Work};
use skew_check::{Anomaly, Budget, CommitOrder, Doubt, Instant, Term, Verdict, check};
use skew_history::{History, IsolationLevel};

/// What is asked, about what.
#[derive(Clone, Copy)]
pub(crate) struct Inquiry<'a> {
    /// What was observed.
    pub(crate) history: &'a History,
    /// The same, as far as it can change.
    pub(crate) recording: &'a Recording,
    pub(crate) question: &'a PredictQuestion,
    pub(crate) boundary: Boundary,
}

impl Inquiry<'_> {
    /// What the checker says about a candidate at the level that it should keep.
    fn verdict(&self, candidate: &CandidateRun, seen: &CandidateHistory, budget: Budget<'_>) -> Verdict {
        match self.recording.is_on_server {
            false => check(&seen.history, self.question.level, budget),
            true => self.told_verdict(candidate, budget),
        }
    }

    fn told_verdict(&self, candidate: &CandidateRun, budget: Budget<'_>) -> Verdict {
        let recordings = (self.recording, self.recording);
        match told(self.history, recordings, candidate, self.boundary, self.question).0 {
            Some(history) => check(&history, self.question.level, budget),
            None => Verdict::Unknown(Doubt::NoRun),
        }
    }

    /// Whether a session may end there without cutting a statement in two: half of one may ask for more than the whole.
    fn is_between_statements(&self, session: usize, end: usize) -> bool {
        let steps = &self.recording.sessions[session].steps;
        match (end.checked_sub(1).and_then(|last| steps.get(last)), steps.get(end)) {
            (Some(one), Some(other)) => (one.transaction, one.statement) != (other.transaction, other.statement),
            _ => true,
        }
    }

    /// The part of a candidate that no server shows, with sessions as short as can be; nothing if the work is over.
    fn forbidden_part(&self, candidate: &CandidateRun, budget: Budget<'_>) -> Option<CandidateRun> {
        let mut part = candidate.clone();
        for session in 0..part.lengths.len() {
            let with = |length: usize| {
                let mut shorter = part.clone();
                shorter.lengths[session] = length;
                shorter.changed.retain(|&read, _| shorter_has(self.recording, &shorter.lengths, read));
                shorter
            };
            // What contains something forbidden is forbidden, so the places that are enough are the last ones.
            let places: Vec<usize> =
                (0..=part.lengths[session]).filter(|&end| self.is_between_statements(session, end)).collect();
            let mut is_over = false;
            let enough = places.partition_point(|&length| {
                let shorter = with(length);
                let verdict = shorter.is_possible(self.recording).then(|| self.told_verdict(&shorter, budget));
                is_over |=
                    verdict.as_ref().and_then(Verdict::doubt).is_some_and(|doubt| doubt != Doubt::MayGoUnnoticed);
                !matches!(verdict, Some(Verdict::Fails(_) | Verdict::Unknown(Doubt::MayGoUnnoticed)))
            });
            if is_over {
                return None;
            }
            if let Some(&length) = places.get(enough) {
                part = with(length);
            }
        }
        Some(part)
    }
}

/// Looks for predictions with one boundary.
pub(crate) struct CandidateSearch<'a> {
    asked: Inquiry<'a>,
    recording: &'a Recording,
    question: &'a PredictQuestion,
    problem: Problem<'a>,
    /// Whether the approximation has to see it, too.
    approximate: bool,
}

/// What a search came to.
pub(crate) enum NextPrediction {
    /// A candidate, and what has to be different in the next one.
    Prediction(CandidateRun, Vec<Term>),
    Nothing,
    /// The budget ended first.
    Unknown,
}

/// What the checker says about a candidate.
enum Judgement {
    Prediction(Anomaly),
    /// The level does not allow it.
    Forbidden(Anomaly),
    /// The server should not let it happen, and may not notice: not what anybody wants to be told of.
    Unnoticed,
    /// An order explains it.
    Explained(CommitOrder),
    Unknown,
}

impl<'a> CandidateSearch<'a> {
    /// Nothing if somebody wants it to stop before it has begun.
    pub(crate) fn new(
        asked: Inquiry<'a>,
        stops: &'a Stops,
        approximate: bool,
        budget: Budget<'_>,
    ) -> Option<CandidateSearch<'a>> {
        let Inquiry { recording, question, .. } = asked;
        let may_change =
            |session: usize| question.only_session.is_none_or(|only| recording.sessions[session].id == only);
        let problem = Problem::new(recording, stops, &may_change, budget)?;
        Some(CandidateSearch { asked, recording, question, problem, approximate })
    }

    /// The next prediction. Whoever takes it excludes it.
    pub(crate) fn next(&mut self, work: &mut Work<'_>) -> NextPrediction {
        let CandidateSearch { asked, recording, question, ref mut problem, approximate } = *self;
        let budget = work.budget();
        let mut taken = Vec::new();
        let found = problem.search(budget, &mut |problem, candidate| {
            if !work.begin_round() {
                return Looked::GivenUp;
            }
            debug_assert!(candidate.is_possible(recording), "{candidate:?}");
            let seen = candidate.history(recording);
            match judge(&asked, candidate, &seen, budget) {
                Judgement::Forbidden(_) | Judgement::Unnoticed if recording.is_on_server => {
                    match asked.forbidden_part(candidate, budget) {
                        Some(part) => Looked::Different(problem.exclude_part(&part)),
                        None => Looked::GivenUp,
                    }
                }
                Judgement::Unknown | Judgement::Unnoticed => Looked::GivenUp,
                Judgement::Forbidden(anomaly) => Looked::Different(problem.exclude(&anomaly, &seen, candidate)),
                Judgement::Explained(order) if question.against == IsolationLevel::Serializable => {
                    Looked::Different(problem.disagree(&completed(recording, &order, &seen), candidate))
                }
                Judgement::Explained(_) => Looked::Different(problem.exceed(candidate)),
                Judgement::Prediction(_) if approximate && !is_cyclic(recording, candidate) => {
                    Looked::Different(problem.exceed(candidate))
                }
                Judgement::Prediction(anomaly) => {
                    taken = problem.exclude(&anomaly, &seen, candidate);
                    Looked::Taken
                }
            }
        });
        match found {
            None => NextPrediction::Unknown,
            Some(None) => NextPrediction::Nothing,
            Some(Some(candidate)) => NextPrediction::Prediction(candidate, taken),
        }
    }

    /// From now on predictions do not contain what is wrong with one that was made small; where it was made small by a read that may stay,
    /// and this is part of what is wrong, they are different in what was wrong with the whole one.
    pub(crate) fn exclude(
        &mut self,
        whole: &CandidateRun,
        small: &CandidateRun,
        different: Vec<Term>,
        budget: Budget<'_>,
    ) {
        let seen = small.history(self.recording);
        let terms = match check(&seen.history, self.question.against, budget) {
            Verdict::Fails(anomaly) => self.problem.exclude_within(&anomaly, &seen, small, whole),
            Verdict::Holds(_) | Verdict::Unknown(_) => None,
        };
        self.problem.require(terms.unwrap_or(different));
    }

    /// From now on predictions change reads of at most so many sessions.
    pub(crate) fn change_at_most(&mut self, sessions: usize) {
        self.problem.change_at_most(sessions);
    }
}

fn judge(asked: &Inquiry<'_>, candidate: &CandidateRun, seen: &CandidateHistory, budget: Budget<'_>) -> Judgement {
    match asked.verdict(candidate, seen, budget) {
        Verdict::Fails(anomaly) => return Judgement::Forbidden(anomaly),
        Verdict::Unknown(Doubt::MayGoUnnoticed) => return Judgement::Unnoticed,
        Verdict::Unknown(_) => return Judgement::Unknown,
        Verdict::Holds(_) => {}
    }
    match check(&seen.history, asked.question.against, budget) {
        Verdict::Fails(anomaly) => Judgement::Prediction(anomaly),
        Verdict::Unknown(_) => Judgement::Unknown,
        Verdict::Holds(order) => Judgement::Explained(order),
    }
}

/// The place of every transaction of the recording: those of the candidate as it was explained, then the others.
fn completed(recording: &Recording, order: &CommitOrder, seen: &CandidateHistory) -> Vec<usize> {
    let mut places = vec![usize::MAX; recording.transactions.len()];
    let mut next = 0;
    for instant in &order.instants {
        if let Instant::Commit(transaction) = *instant {
            places[seen.transactions[transaction.index()]] = next;
            next += 1;
        }
    }
    for place in places.iter_mut().filter(|place| **place == usize::MAX) {
        *place = next;
        next += 1;
    }
    places
}

/// Makes a prediction small: no session goes on longer than it has to, and no read changes that may stay.
pub(crate) fn shrink(asked: &Inquiry<'_>, mut candidate: CandidateRun, budget: Budget<'_>) -> CandidateRun {
    let Inquiry { recording, question, .. } = *asked;
    let is_one = |candidate: &CandidateRun| {
        candidate.is_possible(recording)
            && matches!(check(&candidate.history(recording).history, question.against, budget), Verdict::Fails(_))
    };
    for session in 0..recording.sessions.len() {
        let places = ends(asked, session, candidate.lengths[session]);
        let with = |length: usize| {
            let mut shorter = candidate.clone();
            shorter.lengths[session] = length;
            shorter.changed.retain(|&read, _| shorter_has(recording, &shorter.lengths, read));
            shorter
        };
        // Fewer events never make a violation, so the places that are enough are the last ones.
        let enough = places.partition_point(|&length| !is_one(&with(length)));
        if let Some(&length) = places.get(enough) {
            candidate = with(length);
        }
    }
    let is_allowed = |candidate: &CandidateRun| {
        matches!(asked.verdict(candidate, &candidate.history(recording), budget), Verdict::Holds(_))
    };
    for read in candidate.changes(recording) {
        let mut closer = candidate.clone();
        closer.changed.remove(&read);
        if is_one(&closer) && is_allowed(&closer) {
            candidate = closer;
        }
    }
    candidate
}

fn shorter_has(recording: &Recording, lengths: &[usize], read: usize) -> bool {
    let read = &recording.reads[read];
    read.place < lengths[recording.transactions[read.transaction].session]
}

/// Where a session may end, up to where it does: before and behind each step, but with a relaxed boundary only between transactions.
fn ends(asked: &Inquiry<'_>, session: usize, length: usize) -> Vec<usize> {
    let Inquiry { recording, boundary, .. } = *asked;
    let steps = &recording.sessions[session].steps[..length];
    let may_end = |&end: &usize| match steps[..end].last() {
        None => true,
        _ if end == length => true,
        Some(_) if recording.is_on_server && !asked.is_between_statements(session, end) => false,
        Some(step) => match boundary {
            Boundary::Strict => !matches!(step.act, Act::Write(_)) || is_between(steps, end),
            Boundary::Relaxed => is_between(steps, end),
        },
    };
    (0..=length).filter(may_end).collect()
}

fn is_between(steps: &[RecordedStep], end: usize) -> bool {
    end == steps.len() || end == 0 || steps[end - 1].transaction != steps[end].transaction
}
