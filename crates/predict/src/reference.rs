//! The definition itself: every cut of every session, every source of every read that may change, decided by brute force.
//!
//! Nothing is learnt and nothing is left out here, and the levels are those of `check::spec`. It is for histories of a few transactions,
//! and tests hold the search equal to it.

use crate::PredictQuestion;
use crate::candidate::CandidateRun;
use crate::fixpoint::is_cyclic;
use crate::recording::{ReadSource, Recording};
use crate::render::told;
use crate::stops::{Boundary, Stops};
use skew_check::{Budget, spec};
use skew_history::{History, IsolationLevel};
use std::collections::BTreeMap;

/// What there is at a level.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Existing {
    /// A prediction.
    pub exact: bool,
    /// A prediction that the paper's approximation sees.
    pub approximate: bool,
}

/// What predictions there are at each of these levels, by the definition. Nothing if the history is bad already, for the level of the
/// question.
pub fn reference(
    history: &History,
    question: &PredictQuestion,
    boundary: Boundary,
    levels: &[IsolationLevel],
) -> Option<Vec<Existing>> {
    let recording = Recording::new(history, question, Budget::UNLIMITED).ok()?;
    let stops = Stops::new(&recording, boundary);
    let ends: Vec<Vec<Ending>> =
        (0..recording.sessions.len()).map(|session| ends_of(&recording, &stops, session)).collect();
    let mut existing = vec![Existing::default(); levels.len()];
    let mut chosen = vec![0; ends.len()];
    loop {
        let candidate = combined(&ends, &chosen);
        if is_valid(&recording, &stops, &chosen, &candidate) {
            look_at((history, &recording), question, boundary, &candidate, levels, &mut existing);
        }
        // The next combination.
        let Some(session) = (0..chosen.len()).find(|&session| chosen[session] + 1 < ends[session].len()) else {
            return Some(existing);
        };
        chosen[session] += 1;
        chosen[..session].fill(0);
    }
}

fn combined(ends: &[Vec<Ending>], chosen: &[usize]) -> CandidateRun {
    let mut candidate = CandidateRun { lengths: Vec::new(), changed: BTreeMap::new() };
    for (session, &choice) in chosen.iter().enumerate() {
        let (length, changed) = &ends[session][choice];
        candidate.lengths.push(*length);
        candidate.changed.extend(changed.iter().map(|(&read, &source)| (read, source)));
    }
    candidate
}

fn look_at(
    (observed, recording): (&History, &Recording),
    question: &PredictQuestion,
    boundary: Boundary,
    candidate: &CandidateRun,
    levels: &[IsolationLevel],
    existing: &mut [Existing],
) {
    let mut history = candidate.history(recording).history;
    if existing.iter().all(|one| one.exact && one.approximate) || spec::satisfies(&history, question.against) {
        return;
    }
    if recording.is_on_server {
        // What a server shows has statements and locks.
        let Some(told) = told(observed, (recording, recording), candidate, boundary, question).0 else { return };
        history = told;
    }
    let is_seen = is_cyclic(recording, candidate);
    for (&level, one) in levels.iter().zip(existing) {
        let may_be_new = !one.exact || (is_seen && !one.approximate);
        if may_be_new && spec::satisfies(&history, level) {
            one.exact = true;
            one.approximate |= is_seen;
        }
    }
}

type Ending = (usize, BTreeMap<usize, ReadSource>);

/// All ways in which a session may end; the first is that it is not cut.
fn ends_of(recording: &Recording, stops: &Stops, session: usize) -> Vec<Ending> {
    let mut ends = vec![(recording.sessions[session].steps.len(), BTreeMap::new())];
    for stop in &stops.0[session] {
        let mut changes: Vec<BTreeMap<usize, ReadSource>> = vec![BTreeMap::new()];
        for &read in &stop.free {
            let sources = recording.candidates(&recording.reads[read]);
            changes = changes
                .iter()
                .flat_map(|known| {
                    sources
                        .iter()
                        .map(move |&source| known.iter().map(|(&r, &s)| (r, s)).chain([(read, source)]).collect())
                })
                .collect();
        }
        ends.extend(changes.into_iter().map(|changed| (stop.length, changed)));
    }
    ends
}

/// Whoever is read from is there, and is not the transaction in which its session is cut.
fn is_valid(recording: &Recording, stops: &Stops, chosen: &[usize], candidate: &CandidateRun) -> bool {
    let cut = |session: usize| {
        let length = candidate.lengths[session];
        let stop = stops.0[session].iter().find(|stop| stop.length == length);
        stop.filter(|_| chosen[session] > 0).map(|stop| stop.transaction)
    };
    (0..recording.reads.len()).filter(|&read| candidate.has_read(recording, read)).all(|read| {
        let Some(writer) = candidate.source(recording, read) else { return true };
        cut(recording.transactions[writer].session).is_none_or(|cut| writer < cut)
    })
}
