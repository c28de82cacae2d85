//! More of a prediction: what others may have seen of it.
//!
//! ```text
//!   predicted     phone: r(cart,shop) w(cart)     laptop: r(cart,shop) w(cart)           an update is lost
//!   viewer        observed r(cart,laptop): but what laptop writes now, nobody knows
//!   companions    the same, and viewer: r(cart,shop)  ·  the same, and viewer: r(cart,phone)
//! ```
//!
//! A prediction is as small as it gets, so those who are not needed for its cycle are not in it. Whoever makes the run again lets them go on
//! with what is there. Often it takes one of them, at the right moment, to notice.

use crate::candidate::CandidateRun;
use crate::recording::{Act, Recording};
use crate::render::Prediction;
use crate::{PredictQuestion, Work};
use skew_history::History;

/// Predictions that have one more changed read, where a session could not go on as observed.
pub fn companions(
    history: &History,
    question: &PredictQuestion,
    prediction: &Prediction,
    work: &mut Work<'_>,
) -> Vec<Prediction> {
    let question = PredictQuestion { even_if_bad: true, ..question.clone() };
    let Ok(whole) = Recording::new(history, &question, work.budget()) else { return Vec::new() };
    let reduced = whole.reduced(question.level);
    let mut found = Vec::new();
    for candidate in extended(&reduced, &prediction.candidate) {
        if !work.begin_round() {
            break;
        }
        let recordings = (&whole, &reduced);
        found.extend(Prediction::new(history, recordings, &candidate, prediction.boundary, &question, work.budget()));
    }
    found
}

/// The candidate with the next read of one session that is cut, from everybody but whom it was observed to read from.
fn extended(recording: &Recording, candidate: &CandidateRun) -> Vec<CandidateRun> {
    let mut all = Vec::new();
    for (session, steps) in recording.sessions.iter().map(|session| &session.steps).enumerate() {
        let length = candidate.lengths[session];
        let next = steps[length..].iter().position(|step| matches!(step.act, Act::Read(_)));
        let Some(place) = next.map(|next| length + next) else { continue };
        let Act::Read(read) = steps[place].act else { continue };
        let is_cut = candidate
            .changes(recording)
            .iter()
            .any(|&changed| recording.transactions[recording.reads[changed].transaction].session == session);
        let sources = recording.candidates(&recording.reads[read]).into_iter();
        for source in sources.filter(|&source| source != recording.reads[read].source && !is_cut) {
            let mut longer = candidate.clone();
            longer.lengths[session] = place + 1;
            longer.changed.insert(read, source);
            if longer.is_possible(recording) {
                all.push(longer);
            }
        }
    }
    all
}
