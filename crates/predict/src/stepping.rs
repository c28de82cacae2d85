//! Stepping stones: one read that may change although nothing is wrong yet.
//!
//! ```text
//!   observed      alice: r(balance,100) w(balance,40)       bob: r(balance,40)              refused: nothing more to record
//!   stone         alice: r(balance,100) w(balance,40)       bob: r(balance,100) …           serializable so far; and then?
//! ```
//!
//! What a program did not do is in no recording. Whoever can run it again lets one read return what the level allows, and looks at what comes
//! of it.

use crate::candidate::CandidateRun;
use crate::recording::{NoRecording, Recording};
use crate::render::{ChangedRead, told};
use crate::stops::Boundary;
use crate::{PredictQuestion, Work};
use skew_check::{Budget, CommitOrder, Verdict, check};
use skew_history::History;

/// A run with one changed read, up to it.
#[derive(Clone, Debug)]
pub struct SteppingStone {
    /// The run.
    pub history: History,
    /// An order that the level allows.
    pub order: CommitOrder,
    /// The read.
    pub changed: ChangedRead,
}

/// All stepping stones of a history, those first that keep most of it.
pub fn stepping_stones(history: &History, question: &PredictQuestion, work: &mut Work<'_>) -> Vec<SteppingStone> {
    if question.level.of_engine().is_some() {
        // A run on a server cannot be made again with another read.
        return Vec::new();
    }
    let question = PredictQuestion { even_if_bad: true, ..question.clone() };
    let whole = match Recording::new(history, &question, work.budget()) {
        Ok(recording) => recording,
        Err(NoRecording::Observed(_) | NoRecording::Unknown) => return Vec::new(),
    };
    let reduced = whole.reduced(question.level);
    let mut candidates = Vec::new();
    for (number, read) in reduced.reads.iter().enumerate() {
        let session = reduced.sessions[reduced.transactions[read.transaction].session].id;
        if question.only_session.is_some_and(|only| only != session) {
            continue;
        }
        for source in reduced.candidates(read).into_iter().filter(|&source| source != read.source) {
            if let Some(candidate) = with_change(&reduced, number, source) {
                let kept: usize = candidate.lengths.iter().sum();
                candidates.push((std::cmp::Reverse(kept), candidate));
            }
        }
    }
    candidates.sort();
    let mut stones = Vec::new();
    for (_, candidate) in candidates {
        if !work.begin_round() {
            break;
        }
        let seen = candidate.history(&reduced);
        if !matches!(check(&seen.history, question.level, work.budget()), Verdict::Holds(_)) {
            continue;
        }
        stones.extend(stone(history, (&whole, &reduced), &candidate, &question, work.budget()));
    }
    stones
}

/// The longest run in which a read has another source: its session is cut behind it, others before they read what hangs on it.
fn with_change(recording: &Recording, read: usize, source: Option<usize>) -> Option<CandidateRun> {
    let mut candidate = CandidateRun::observed(recording);
    let changed = &recording.reads[read];
    candidate.lengths[recording.transactions[changed.transaction].session] = changed.place + 1;
    candidate.changed.insert(read, source);
    loop {
        let mut is_stable = true;
        for (number, other) in recording.reads.iter().enumerate() {
            let session = recording.transactions[other.transaction].session;
            let is_there = other.place < candidate.lengths[session];
            let Some(writer) = candidate.source(recording, number).filter(|_| is_there) else { continue };
            let written = &recording.transactions[writer];
            if written.end <= candidate.lengths[written.session] && writer != changed.transaction {
                continue;
            }
            if number == read {
                return None;
            }
            // A session that is cut before its changed read has no change any more.
            if session == recording.transactions[changed.transaction].session {
                return None;
            }
            candidate.lengths[session] = other.place;
            is_stable = false;
        }
        if is_stable {
            return Some(candidate);
        }
    }
}

/// A candidate told, with an order that the level allows.
fn stone(
    history: &History,
    recordings: (&Recording, &Recording),
    candidate: &CandidateRun,
    question: &PredictQuestion,
    budget: Budget<'_>,
) -> Option<SteppingStone> {
    let (run, changed) = told(history, recordings, candidate, Boundary::Strict, question);
    let run = run?;
    let Verdict::Holds(order) = check(&run, question.level, budget) else { return None };
    Some(SteppingStone { history: run, order, changed: *changed.first()? })
}
